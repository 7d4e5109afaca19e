#include "blas/potrf/lanes.hh"

#include "blas/simd_targets.hh"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "blas/potrf/lanes.cc"
// clang-format off: what follows is compiled once a target
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace furlong::blas::potrf {
namespace HWY_NAMESPACE {

std::int64_t vector_bytes() {
  return static_cast<std::int64_t>(
      hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<std::uint8_t>()));
}

}  // namespace HWY_NAMESPACE
}  // namespace furlong::blas::potrf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace furlong::blas::potrf {

HWY_EXPORT(vector_bytes);

std::int64_t lanes_per_vector(int element_bytes) {
  return HWY_DYNAMIC_DISPATCH(vector_bytes)() / element_bytes;
}

std::int64_t lanes_workspace(std::int64_t n, int u) {
  const std::int64_t blocks = (n + 3) / 4;
  return u * blocks * (blocks + 1) / 2 * 16 * HWY_DYNAMIC_DISPATCH(vector_bytes)();
}

}  // namespace furlong::blas::potrf
#endif
