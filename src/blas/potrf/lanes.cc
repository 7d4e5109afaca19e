#include "blas/potrf/lanes.hh"

#include "blas/simd_target.hh"

namespace furlong::blas::potrf {

std::int64_t lanes_per_vector(int element_bytes) {
  return vector_bytes() / element_bytes;
}

std::int64_t lanes_workspace(std::int64_t n, int u) {
  const std::int64_t blocks = (n + 3) / 4;
  return u * blocks * (blocks + 1) / 2 * 16 * vector_bytes();
}

}  // namespace furlong::blas::potrf
