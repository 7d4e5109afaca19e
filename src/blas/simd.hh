// SIMD building blocks shared by the kernels, compiled once a target (no include guard of the usual
// kind): moves between column-major matrices and interleaved vectors, square roots.
//
// An interleaved vector holds one element of `lanes` matrices, matrix l in lane l. Matrices are
// reached through a *spot*: StridedSpot (base and stride) or PointerSpot (one pointer a lane).
#include "hwy/highway.h"

#if defined(FURLONG_BLAS_SIMD_HH) == defined(HWY_TARGET_TOGGLE)
#ifdef FURLONG_BLAS_SIMD_HH
#undef FURLONG_BLAS_SIMD_HH
#else
#define FURLONG_BLAS_SIMD_HH
#endif

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace furlong::blas {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Wide = hn::ScalableTag<T>;
template <class T>
using WideVec = hn::Vec<Wide<T>>;
template <class T>
using Block = hn::Simd<T, 16 / sizeof(T), 0>;
template <class T>
using BlockVec = hn::Vec<Block<T>>;

/// Matrix l at `base + l * stride`.
template <class T>
struct StridedSpot {
  T* base;
  std::ptrdiff_t stride;
  HWY_INLINE T* operator()(std::ptrdiff_t lane) const { return base + lane * stride; }
};

/// Matrix l at `lanes[l]`.
template <class T>
struct PointerSpot {
  T* const* lanes;
  HWY_INLINE T* operator()(std::ptrdiff_t lane) const { return lanes[lane]; }
};

/// The vector whose 16-byte block b is `where(lane + b * (16 / sizeof(T)))[offset ...]`.
template <class T, class Spot>
HWY_INLINE WideVec<T> load_blocks(const Spot& where, std::ptrdiff_t lane, std::ptrdiff_t offset) {
  [[maybe_unused]] constexpr std::ptrdiff_t kStep = 16 / sizeof(T);
  [[maybe_unused]] const Block<T> block;
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(where(lane) + offset));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(where(lane + kStep) + offset), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(where(lane + 2 * kStep) + offset), 2);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(where(lane + 3 * kStep) + offset), 3);
    return WideVec<T>{v};
  } else {
    __m512d v = _mm512_castpd128_pd512(_mm_loadu_pd(where(lane) + offset));
    v = _mm512_insertf64x2(v, _mm_loadu_pd(where(lane + kStep) + offset), 1);
    v = _mm512_insertf64x2(v, _mm_loadu_pd(where(lane + 2 * kStep) + offset), 2);
    v = _mm512_insertf64x2(v, _mm_loadu_pd(where(lane + 3 * kStep) + offset), 3);
    return WideVec<T>{v};
  }
#elif HWY_TARGET == HWY_AVX2
  return hn::Combine(Wide<T>(), hn::LoadU(block, where(lane + kStep) + offset),
                     hn::LoadU(block, where(lane) + offset));
#else
  return hn::LoadU(block, where(lane) + offset);
#endif
}

/// 16-byte block `kIndex` of `v`.
template <int kIndex, class T>
HWY_INLINE BlockVec<T> block_of(WideVec<T> v) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    return BlockVec<T>{_mm512_extractf32x4_ps(v.raw, kIndex)};
  } else {
    return BlockVec<T>{_mm512_extractf64x2_pd(v.raw, kIndex)};
  }
#elif HWY_TARGET == HWY_AVX2
  if constexpr (kIndex == 0) {
    return hn::LowerHalf(Block<T>(), v);
  } else {
    return hn::UpperHalf(Block<T>(), v);
  }
#else
  static_assert(kIndex == 0);
  return v;
#endif
}

/// Elements [kFrom, kTo) of the block to `to[kFrom ...]`; nothing else is touched.
template <int kFrom, int kTo, class T>
HWY_INLINE void store_part(BlockVec<T> v, T* to) {
  constexpr int kSize = 16 / sizeof(T);
  const Block<T> d;
  if constexpr (kFrom >= kTo) {
    return;
  } else if constexpr (kFrom == 0 && kTo == kSize) {
    hn::StoreU(v, d, to);
  } else {
#if HWY_TARGET == HWY_AVX3
    constexpr unsigned kMask = ((1u << kTo) - 1u) & ~((1u << kFrom) - 1u);
    if constexpr (sizeof(T) == 4) {
      _mm_mask_storeu_ps(to, static_cast<__mmask8>(kMask), v.raw);
    } else {
      _mm_mask_storeu_pd(to, static_cast<__mmask8>(kMask), v.raw);
    }
#else
    alignas(16) T element[kSize];
    hn::Store(v, d, element);
    for (int e = kFrom; e < kTo; ++e) to[e] = element[e];
#endif
  }
}

/// Elements [kFrom, kTo) of each block b to `where(lane + b * (16 / sizeof(T)))[offset ...]`.
template <int kFrom, int kTo, class T, class Spot>
HWY_INLINE void store_blocks(WideVec<T> v, const Spot& where, std::ptrdiff_t lane,
                             std::ptrdiff_t offset) {
  [[maybe_unused]] constexpr std::ptrdiff_t kStep = 16 / sizeof(T);
  store_part<kFrom, kTo, T>(block_of<0, T>(v), where(lane) + offset);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  store_part<kFrom, kTo, T>(block_of<1, T>(v), where(lane + kStep) + offset);
#endif
#if HWY_TARGET == HWY_AVX3
  store_part<kFrom, kTo, T>(block_of<2, T>(v), where(lane + 2 * kStep) + offset);
  store_part<kFrom, kTo, T>(block_of<3, T>(v), where(lane + 3 * kStep) + offset);
#endif
}

/// Four consecutive elements of a column, interleaved.
template <class T>
struct Quad {
  WideVec<T> e0, e1, e2, e3;
};

/// `(offset + e)` of every matrix for e = 0..3; reads all four of each.
template <class T, class Spot>
HWY_INLINE Quad<T> load_quad(const Spot& where, std::ptrdiff_t offset) {
  if constexpr (sizeof(T) == 4) {
    const Wide<T> d;
    const hn::Repartition<double, Wide<T>> pairs;
    const auto r0 = load_blocks<T>(where, 0, offset);
    const auto r1 = load_blocks<T>(where, 1, offset);
    const auto r2 = load_blocks<T>(where, 2, offset);
    const auto r3 = load_blocks<T>(where, 3, offset);
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
    return {hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)),
            hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)),
            hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)),
            hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23))};
  } else {
    const Wide<T> d;
    const auto a0 = load_blocks<T>(where, 0, offset);
    const auto a1 = load_blocks<T>(where, 1, offset);
    const auto b0 = load_blocks<T>(where, 0, offset + 2);
    const auto b1 = load_blocks<T>(where, 1, offset + 2);
    return {hn::InterleaveLower(d, a0, a1), hn::InterleaveUpper(d, a0, a1),
            hn::InterleaveLower(d, b0, b1), hn::InterleaveUpper(d, b0, b1)};
  }
}

/// The reverse of load_quad for elements [kFrom, kTo); the others are not touched.
template <int kFrom, int kTo, class T, class Spot>
HWY_INLINE void store_quad(const Quad<T>& q, const Spot& where, std::ptrdiff_t offset) {
  const Wide<T> d;
  if constexpr (sizeof(T) == 4) {
    const hn::Repartition<double, Wide<T>> pairs;
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, q.e0, q.e1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, q.e2, q.e3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, q.e0, q.e1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, q.e2, q.e3));
    store_blocks<kFrom, kTo, T>(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), where, 0,
                                offset);
    store_blocks<kFrom, kTo, T>(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), where, 1,
                                offset);
    store_blocks<kFrom, kTo, T>(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), where,
                                2, offset);
    store_blocks<kFrom, kTo, T>(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), where,
                                3, offset);
  } else {
    constexpr int kLowTo = kTo < 2 ? kTo : 2;
    constexpr int kHighFrom = kFrom < 2 ? 0 : kFrom - 2;
    if constexpr (kFrom < 2) {
      store_blocks<kFrom, kLowTo, T>(hn::InterleaveLower(d, q.e0, q.e1), where, 0, offset);
      store_blocks<kFrom, kLowTo, T>(hn::InterleaveUpper(d, q.e0, q.e1), where, 1, offset);
    }
    if constexpr (kTo > 2) {
      store_blocks<kHighFrom, kTo - 2, T>(hn::InterleaveLower(d, q.e2, q.e3), where, 0, offset + 2);
      store_blocks<kHighFrom, kTo - 2, T>(hn::InterleaveUpper(d, q.e2, q.e3), where, 1, offset + 2);
    }
  }
}

/// The square root of each lane and its reciprocal, both within 2 ulp for positive finite lanes.
/// Infinity gives infinity and 0; a lane that is not > 0 gives a reciprocal that is not finite.
template <class T>
HWY_INLINE void root_and_reciprocal(WideVec<T> x, WideVec<T>& root, WideVec<T>& reciprocal) {
  const Wide<T> d;
#if HWY_TARGET == HWY_AVX3
  const auto one = hn::Set(d, T(1));
  const auto half = hn::Set(d, T(0.5));
  WideVec<T> y;
  if constexpr (sizeof(T) == 4) {
    y = WideVec<T>{_mm512_rsqrt14_ps(x.raw)};
  } else {
    y = WideVec<T>{_mm512_rsqrt14_pd(x.raw)};
    y = hn::MulAdd(hn::Mul(y, half), hn::NegMulAdd(hn::Mul(x, y), y, one), y);
  }
  y = hn::MulAdd(hn::Mul(y, half), hn::NegMulAdd(hn::Mul(x, y), y, one), y);
  const auto r = hn::Mul(x, y);
  const auto corrected = hn::MulAdd(hn::NegMulAdd(r, r, x), hn::Mul(y, half), r);
  const auto infinite = hn::Eq(x, hn::Inf(d));
  root = hn::IfThenElse(infinite, x, corrected);
  reciprocal = hn::IfThenZeroElse(infinite, y);
#else
  root = hn::Sqrt(x);
  reciprocal = hn::Div(hn::Set(d, T(1)), root);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace furlong::blas
HWY_AFTER_NAMESPACE();

#endif
