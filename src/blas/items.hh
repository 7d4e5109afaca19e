// Items: where the matrices of a batch are, by stride or by pointer.
#pragma once

#include <cstdint>

namespace furlong::blas {

/// A view of the matrices; owns nothing. `pointers` null: item i is at `base + i * stride`.
template <class T>
struct Items {
  T* base = nullptr;
  std::int64_t stride = 0;
  T* const* pointers = nullptr;

  T* operator[](std::int64_t i) const {
    return pointers == nullptr ? base + i * stride : pointers[i];
  }
};

}  // namespace furlong::blas
