#include "blas/potrf/vendor.hh"

#include <cmath>

#include "blas/vendor.hh"

namespace furlong::blas::potrf {
namespace {

/// OpenBLAS 0.3.21 stays on the calling thread below this order.
constexpr std::int64_t kThreadedOrder = 32;

/// OpenBLAS takes a pivot that is not a number for a good one; it leaves it on the diagonal.
template <class T>
int with_nan_pivot(int info, std::int64_t n, const T* a, std::int64_t lda) {
  const std::int64_t done = info > 0 ? info - 1 : n;
  for (std::int64_t j = 0; j < done; ++j) {
    if (std::isnan(a[j * lda + j])) return static_cast<int>(j + 1);
  }
  return info;
}

template <class T>
void factor_items(const Part<T>& part) {
  const VendorSingleThread single(part.n >= kThreadedOrder);
  const char uplo = part.uplo == Uplo::kLower ? 'L' : 'U';
  for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
    T* a = part.items[i];
    const int info = vendor_potrf(uplo, static_cast<int>(part.n), a, static_cast<int>(part.lda));
    part.info[i] = with_nan_pivot(info, part.n, a, part.lda);
  }
}

}  // namespace

void potrf_vendor(const Part<float>& part) {
  factor_items(part);
}

void potrf_vendor(const Part<double>& part) {
  factor_items(part);
}

}  // namespace furlong::blas::potrf
