#include "blas/potrf/lanes.hh"
#include "blas/simd_targets.hh"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "blas/potrf/lanes_float.cc"
// clang-format off: what follows is compiled once a target
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on
#include "blas/potrf/lanes-inl.hh"

HWY_BEFORE_NAMESPACE();
namespace furlong::blas::potrf {
namespace HWY_NAMESPACE {

void factor_lanes_float(const Part<float>& part, int u) {
  factor_lanes<float>(part, u);
}

}  // namespace HWY_NAMESPACE
}  // namespace furlong::blas::potrf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace furlong::blas::potrf {

HWY_EXPORT(factor_lanes_float);

void potrf_lanes(const Part<float>& part, int u) {
  HWY_DYNAMIC_DISPATCH(factor_lanes_float)(part, u);
}

}  // namespace furlong::blas::potrf
#endif
