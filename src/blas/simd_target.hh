// The SIMD target that kernels run on here, picked at run time from those compiled.
#pragma once

#include <cstdint>

namespace furlong::blas {

/// Bytes of its vectors.
std::int64_t vector_bytes();

/// Highway's name of it, e.g. `AVX3` (AVX-512).
const char* simd_target_name();

}  // namespace furlong::blas
