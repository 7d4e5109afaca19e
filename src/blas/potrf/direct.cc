#include "blas/potrf/direct.hh"

#include <cmath>

namespace furlong::blas::potrf {
namespace {

template <class T>
int factor_lower(std::int64_t n, T* a, std::int64_t lda) {
  for (std::int64_t j = 0; j < n; ++j) {
    T* column = a + j * lda;
    for (std::int64_t k = 0; k < j; ++k) {
      const T* earlier = a + k * lda;
      const T factor = earlier[j];
      for (std::int64_t i = j; i < n; ++i) column[i] -= factor * earlier[i];
    }
    if (!(column[j] > T(0))) return static_cast<int>(j + 1);
    const T pivot = std::sqrt(column[j]);
    column[j] = pivot;
    for (std::int64_t i = j + 1; i < n; ++i) column[i] /= pivot;
  }
  return 0;
}

template <class T>
int factor_upper(std::int64_t n, T* a, std::int64_t lda) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T* left = a + j * lda;
    T pivot = T(0);
    for (std::int64_t i = j; i < n; ++i) {
      T* column = a + i * lda;
      T rest = column[j];
      for (std::int64_t k = 0; k < j; ++k) rest -= left[k] * column[k];
      if (i == j) {
        if (!(rest > T(0))) return static_cast<int>(j + 1);
        pivot = std::sqrt(rest);
        column[j] = pivot;
      } else {
        column[j] = rest / pivot;
      }
    }
  }
  return 0;
}

template <class T>
void factor_items(const Part<T>& part) {
  for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
    T* a = part.items[i];
    part.info[i] = part.uplo == Uplo::kLower ? factor_lower(part.n, a, part.lda)
                                             : factor_upper(part.n, a, part.lda);
  }
}

}  // namespace

void potrf_direct(const Part<float>& part) {
  factor_items(part);
}

void potrf_direct(const Part<double>& part) {
  factor_items(part);
}

}  // namespace furlong::blas::potrf
