// The SIMD targets that are compiled: SSE4, AVX2 and AVX-512, beside portable code on 128-bit
// vectors for processors below. Included before anything of Highway.
#pragma once

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif

// Highway falls back to one-lane vectors, which lack what the kernels need, because g++ 12.2
// miscompiles an integer multiplication of its portable vectors. No kernel here multiplies
// integers.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
