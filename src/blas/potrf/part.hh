// Part: the share of a potrf batch that one thread gets; what every family's kernel is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blas/items.hh"
#include "furlong/blas.hh"

namespace furlong::blas::potrf {

/// Items [first, first + count) of the batch, n >= 1, arguments already checked. A kernel writes
/// the `uplo` triangle and `info[i]` of these items, and its own workspace.
template <class T>
struct Part {
  Uplo uplo = Uplo::kLower;
  std::int64_t n = 0;
  Items<T> items;
  std::int64_t lda = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  int* info = nullptr;
  std::byte* workspace = nullptr;  ///< 64-byte aligned, as large as the family asked for
};

}  // namespace furlong::blas::potrf
