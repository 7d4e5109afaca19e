// The op potrf inside the library: its vocabulary, its key, and how a candidate is launched.
#pragma once

#include <cstdint>
#include <string>

#include "blas/exec.hh"
#include "blas/items.hh"
#include "blas/potrf/choice.hh"
#include "furlong/blas.hh"
#include "furlong/select.hh"

namespace furlong::blas::potrf {

/// One call, its arguments already checked.
template <class T>
struct Call {
  Uplo uplo = Uplo::kLower;
  std::int64_t n = 0;
  Items<T> items;
  std::int64_t lda = 0;
  std::int64_t batch = 0;
  int* info = nullptr;
};

/// What selection must know of potrf.
const select::OpVocabulary& vocabulary();

/// The number of the first bad argument in LAPACK's order, 0 when all are good. With `pointers`
/// (the array variant) the numbers are 1 uplo, 2 n, 3 a, 4 lda, 5 batch, 6 info.
template <class T>
int bad_argument(const Call<T>& call, bool pointers);

/// `potrf: argument 4 (lda): 2; allowed is at least 3`.
template <class T>
std::string bad_argument_text(const Call<T>& call, bool pointers, int argument);

/// Threads that a call is worth: at most `threads`, and none for less than some microseconds.
std::int64_t pieces_of(std::int64_t n, std::int64_t batch, std::int64_t threads);

/// The key of a call: `batch` is what one thread gets.
select::Query query_of(int dtype, Uplo uplo, std::int64_t n, std::int64_t batch,
                       std::int64_t threads);

/// Why the choice cannot factor matrices of order n with this leading dimension, if so.
select::Refusal can_run(const Choice& choice, std::int64_t n, std::int64_t lda);

/// Runs one candidate that can_run accepts; n and batch >= 1.
template <class T>
void launch(const Choice& choice, const Call<T>& call, Exec& exec);

/// Checks, chooses and runs. `call` comes from a caller of the library.
template <class T>
void run(const Call<T>& call, bool pointers, Exec& exec);

/// The op's own selector.
select::Selector& selector();

}  // namespace furlong::blas::potrf
