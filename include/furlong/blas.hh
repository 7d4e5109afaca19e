// Batched linear algebra on the CPU: many small matrices at once, column-major, strided batches.
//
// Every function picks its kernel from the tuned tables (furlong/select.hh). LAPACK's rules hold:
// order of argument checks, `info` per item, the unreferenced triangle is neither read nor written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace furlong {

enum class Uplo { kLower, kUpper };

/// How a call runs: its workspace and its threads. One per calling thread; not shared.
///
/// A batch is split over the threads. After the first call of a shape nothing allocates.
class Exec {
 public:
  /// Runs `body(i)` for i in [0, count), in any order, and returns when all are done.
  using ParallelFor =
      std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;

  /// `threads` 0 = every core this process may run on; 1 = the calling thread alone.
  explicit Exec(int threads = 0);
  /// The caller's own parallel-for, asked for at most `threads` >= 1 pieces.
  Exec(ParallelFor parallel_for, int threads);
  ~Exec();
  Exec(Exec&&) noexcept;
  Exec& operator=(Exec&&) noexcept;

  int threads() const;

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Cholesky factorisation of `batch` symmetric positive definite matrices of order `n`, in place:
/// A = L L^T (kLower) or A = U^T U (kUpper).
///
/// Item i is the n x n column-major matrix at `a + i * stride_a`; only the `uplo` triangle is
/// referenced, and it is overwritten by the factor. `info[i]` is 0, or j > 0 when the leading minor
/// of order j is not positive definite (or not a number): then the triangle of order j - 1 holds
/// the factor of its part, the rest of that item's triangle is unspecified, and the other items are
/// still done.
///
/// Throws std::invalid_argument before anything is written, naming the argument by its number:
/// 1 uplo; 2 n >= 0; 3 a (not null unless nothing to do); 4 lda >= max(1, n); 5 stride_a, which
/// must keep items apart: >= lda * (n - 1) + n when batch > 1; 6 batch >= 0; 7 info (not null).
/// n = 0 sets every info to 0; batch = 0 returns at once.
void potrf(Uplo uplo, std::int64_t n, float* a, std::int64_t lda, std::int64_t stride_a,
           std::int64_t batch, int* info, Exec& exec);
void potrf(Uplo uplo, std::int64_t n, double* a, std::int64_t lda, std::int64_t stride_a,
           std::int64_t batch, int* info, Exec& exec);

}  // namespace furlong
