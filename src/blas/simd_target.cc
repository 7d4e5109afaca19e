#include "blas/simd_target.hh"

#include "blas/simd_targets.hh"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "blas/simd_target.cc"
// clang-format off: what follows is compiled once a target
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace furlong::blas {
namespace HWY_NAMESPACE {

std::int64_t bytes_of_vectors() {
  return static_cast<std::int64_t>(
      hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<std::uint8_t>()));
}

const char* name_of_target() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace HWY_NAMESPACE
}  // namespace furlong::blas
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace furlong::blas {

HWY_EXPORT(bytes_of_vectors);
HWY_EXPORT(name_of_target);

std::int64_t vector_bytes() {
  return HWY_DYNAMIC_DISPATCH(bytes_of_vectors)();
}

const char* simd_target_name() {
  return HWY_DYNAMIC_DISPATCH(name_of_target)();
}

}  // namespace furlong::blas
#endif
