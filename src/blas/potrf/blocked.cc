#include "blas/potrf/blocked.hh"

#include "blas/simd_targets.hh"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "blas/potrf/blocked.cc"
// clang-format off: what follows is compiled once a target
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on
#include <algorithm>
#include <cmath>

#include "blas/simd.hh"

// The layout of the workspace, shared by all targets.
#ifndef FURLONG_BLAS_POTRF_BLOCKED_LAYOUT
#define FURLONG_BLAS_POTRF_BLOCKED_LAYOUT
namespace furlong::blas::potrf {

constexpr std::ptrdiff_t kStrip = 8;

/// Rows of the padded triangle: whole vectors of the widest target, never a multiple of 1 KiB, so
/// that the columns of a strip do not fall on the same cache sets.
constexpr std::ptrdiff_t padded_rows(std::ptrdiff_t n, std::ptrdiff_t element_bytes) {
  const std::ptrdiff_t widest = 64 / element_bytes;
  const std::ptrdiff_t rows = (n + widest - 1) / widest * widest;
  return rows * element_bytes % 1024 == 0 ? rows + widest : rows;
}

}  // namespace furlong::blas::potrf
#endif

HWY_BEFORE_NAMESPACE();
namespace furlong::blas::potrf {
namespace HWY_NAMESPACE {

using namespace furlong::blas::HWY_NAMESPACE;  // NOLINT

template <class T>
HWY_INLINE std::ptrdiff_t vector_lanes() {
  return static_cast<std::ptrdiff_t>(hn::Lanes(Wide<T>()));
}

// ---- Copies between a matrix and the padded triangle.

/// `count` < lanes elements, zeros after them; reads no further.
template <class T>
HWY_INLINE WideVec<T> load_first(const T* from, std::ptrdiff_t count) {
  const Wide<T> d;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
#else
  HWY_ALIGN T element[hn::MaxLanes(Wide<T>())] = {};
  for (std::ptrdiff_t l = 0; l < count; ++l) element[l] = from[l];
  return hn::Load(d, element);
#endif
}

template <class T>
HWY_INLINE void copy_in_lower(std::ptrdiff_t n, const T* a, std::ptrdiff_t lda, T* w,
                              std::ptrdiff_t ldw) {
  const Wide<T> d;
  const std::ptrdiff_t lanes = vector_lanes<T>();
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const T* from = a + j * lda;
    T* to = w + j * ldw;
    std::ptrdiff_t i = j & ~(lanes - 1);
    for (; i + lanes <= n; i += lanes) hn::Store(hn::LoadU(d, from + i), d, to + i);
    if (i < n) {
      hn::Store(load_first<T>(from + i, n - i), d, to + i);
      i += lanes;
    }
    for (; i < ldw; i += lanes) hn::Store(hn::Zero(d), d, to + i);
  }
}

template <class T>
HWY_INLINE void copy_out_lower(std::ptrdiff_t n, T* a, std::ptrdiff_t lda, const T* w,
                               std::ptrdiff_t ldw) {
  const Wide<T> d;
  const std::ptrdiff_t lanes = vector_lanes<T>();
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const T* from = w + j * ldw;
    T* to = a + j * lda;
    std::ptrdiff_t i = j;
#if HWY_TARGET == HWY_AVX3
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i < n) {
      hn::BlendedStore(hn::LoadU(d, from + i), hn::FirstN(d, static_cast<std::size_t>(n - i)), d,
                       to + i);
    }
#else
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    for (; i < n; ++i) to[i] = from[i];
#endif
  }
}

/// Transposes a block of 16 bytes squared from `from` to `to`.
template <class T>
HWY_INLINE void transpose_block(const T* from, std::ptrdiff_t ld_from, T* to,
                                std::ptrdiff_t ld_to) {
  const Block<T> d;
  if constexpr (sizeof(T) == 4) {
    const hn::Repartition<double, Block<T>> pairs;
    const auto r0 = hn::LoadU(d, from);
    const auto r1 = hn::LoadU(d, from + ld_from);
    const auto r2 = hn::LoadU(d, from + 2 * ld_from);
    const auto r3 = hn::LoadU(d, from + 3 * ld_from);
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + ld_to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * ld_to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * ld_to);
  } else {
    const auto r0 = hn::LoadU(d, from);
    const auto r1 = hn::LoadU(d, from + ld_from);
    hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
    hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + ld_to);
  }
}

template <class T>
HWY_INLINE void copy_in_upper(std::ptrdiff_t n, const T* a, std::ptrdiff_t lda, T* w,
                              std::ptrdiff_t ldw) {
  constexpr std::ptrdiff_t kSide = 16 / sizeof(T);
  const std::ptrdiff_t whole = n / kSide * kSide;
  for (std::ptrdiff_t i = 0; i < whole; i += kSide) {
    for (std::ptrdiff_t j = 0; j <= i; j += kSide) {
      transpose_block<T>(a + i * lda + j, lda, w + j * ldw + i, ldw);
    }
  }
  for (std::ptrdiff_t i = whole; i < n; ++i) {
    for (std::ptrdiff_t j = 0; j <= i; ++j) w[j * ldw + i] = a[i * lda + j];
  }
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    for (std::ptrdiff_t i = n; i < ldw; ++i) w[j * ldw + i] = T(0);
  }
}

template <class T>
HWY_INLINE void copy_out_upper(std::ptrdiff_t n, T* a, std::ptrdiff_t lda, const T* w,
                               std::ptrdiff_t ldw) {
  constexpr std::ptrdiff_t kSide = 16 / sizeof(T);
  const std::ptrdiff_t whole = n / kSide * kSide;
  for (std::ptrdiff_t i = 0; i < whole; i += kSide) {
    for (std::ptrdiff_t j = 0; j < i; j += kSide) {
      transpose_block<T>(w + j * ldw + i, ldw, a + i * lda + j, lda);
    }
    for (std::ptrdiff_t c = i; c < i + kSide; ++c) {
      for (std::ptrdiff_t r = i; r <= c; ++r) a[c * lda + r] = w[r * ldw + c];
    }
  }
  for (std::ptrdiff_t i = whole; i < n; ++i) {
    for (std::ptrdiff_t j = 0; j <= i; ++j) a[i * lda + j] = w[j * ldw + i];
  }
}

// ---- Tiles of the padded triangle: a few vectors of rows by one strip of columns.

/// One vector of rows in each of the strip's columns.
template <class T>
struct Strip {
  WideVec<T> c0, c1, c2, c3, c4, c5, c6, c7;
};

template <class T>
HWY_INLINE Strip<T> load_strip(const T* w, std::ptrdiff_t ldw) {
  const Wide<T> d;
  return {hn::Load(d, w),           hn::Load(d, w + ldw),     hn::Load(d, w + 2 * ldw),
          hn::Load(d, w + 3 * ldw), hn::Load(d, w + 4 * ldw), hn::Load(d, w + 5 * ldw),
          hn::Load(d, w + 6 * ldw), hn::Load(d, w + 7 * ldw)};
}

template <class T>
HWY_INLINE void store_strip(const Strip<T>& s, T* w, std::ptrdiff_t ldw) {
  const Wide<T> d;
  hn::Store(s.c0, d, w);
  hn::Store(s.c1, d, w + ldw);
  hn::Store(s.c2, d, w + 2 * ldw);
  hn::Store(s.c3, d, w + 3 * ldw);
  hn::Store(s.c4, d, w + 4 * ldw);
  hn::Store(s.c5, d, w + 5 * ldw);
  hn::Store(s.c6, d, w + 6 * ldw);
  hn::Store(s.c7, d, w + 7 * ldw);
}

template <class T>
HWY_INLINE void subtract_outer(Strip<T>& s, WideVec<T> a, const T* b) {
  const Wide<T> d;
  s.c0 = hn::NegMulAdd(a, hn::Set(d, b[0]), s.c0);
  s.c1 = hn::NegMulAdd(a, hn::Set(d, b[1]), s.c1);
  s.c2 = hn::NegMulAdd(a, hn::Set(d, b[2]), s.c2);
  s.c3 = hn::NegMulAdd(a, hn::Set(d, b[3]), s.c3);
  s.c4 = hn::NegMulAdd(a, hn::Set(d, b[4]), s.c4);
  s.c5 = hn::NegMulAdd(a, hn::Set(d, b[5]), s.c5);
  s.c6 = hn::NegMulAdd(a, hn::Set(d, b[6]), s.c6);
  s.c7 = hn::NegMulAdd(a, hn::Set(d, b[7]), s.c7);
}

/// The factor of a strip's diagonal block: `l[c][r]` below the diagonal, and the reciprocals of the
/// diagonal.
template <class T>
struct StripFactor {
  alignas(64) T l[kStrip][kStrip];
  alignas(64) T reciprocal[kStrip];
};

/// Rows below the diagonal block: x := x * L^-T.
template <class T>
HWY_INLINE void solve(Strip<T>& s, const StripFactor<T>& f) {
  const Wide<T> d;
  const auto times = [](WideVec<T> x, T y) HWY_ATTR { return hn::Mul(x, hn::Set(Wide<T>(), y)); };
  const auto less = [](WideVec<T> x, WideVec<T> y, T z)
                        HWY_ATTR { return hn::NegMulAdd(y, hn::Set(Wide<T>(), z), x); };
  s.c0 = times(s.c0, f.reciprocal[0]);
  s.c1 = less(s.c1, s.c0, f.l[0][1]);
  s.c2 = less(s.c2, s.c0, f.l[0][2]);
  s.c3 = less(s.c3, s.c0, f.l[0][3]);
  s.c4 = less(s.c4, s.c0, f.l[0][4]);
  s.c5 = less(s.c5, s.c0, f.l[0][5]);
  s.c6 = less(s.c6, s.c0, f.l[0][6]);
  s.c7 = less(s.c7, s.c0, f.l[0][7]);
  s.c1 = times(s.c1, f.reciprocal[1]);
  s.c2 = less(s.c2, s.c1, f.l[1][2]);
  s.c3 = less(s.c3, s.c1, f.l[1][3]);
  s.c4 = less(s.c4, s.c1, f.l[1][4]);
  s.c5 = less(s.c5, s.c1, f.l[1][5]);
  s.c6 = less(s.c6, s.c1, f.l[1][6]);
  s.c7 = less(s.c7, s.c1, f.l[1][7]);
  s.c2 = times(s.c2, f.reciprocal[2]);
  s.c3 = less(s.c3, s.c2, f.l[2][3]);
  s.c4 = less(s.c4, s.c2, f.l[2][4]);
  s.c5 = less(s.c5, s.c2, f.l[2][5]);
  s.c6 = less(s.c6, s.c2, f.l[2][6]);
  s.c7 = less(s.c7, s.c2, f.l[2][7]);
  s.c3 = times(s.c3, f.reciprocal[3]);
  s.c4 = less(s.c4, s.c3, f.l[3][4]);
  s.c5 = less(s.c5, s.c3, f.l[3][5]);
  s.c6 = less(s.c6, s.c3, f.l[3][6]);
  s.c7 = less(s.c7, s.c3, f.l[3][7]);
  s.c4 = times(s.c4, f.reciprocal[4]);
  s.c5 = less(s.c5, s.c4, f.l[4][5]);
  s.c6 = less(s.c6, s.c4, f.l[4][6]);
  s.c7 = less(s.c7, s.c4, f.l[4][7]);
  s.c5 = times(s.c5, f.reciprocal[5]);
  s.c6 = less(s.c6, s.c5, f.l[5][6]);
  s.c7 = less(s.c7, s.c5, f.l[5][7]);
  s.c6 = times(s.c6, f.reciprocal[6]);
  s.c7 = less(s.c7, s.c6, f.l[6][7]);
  s.c7 = times(s.c7, f.reciprocal[7]);
  (void)d;
}

/// `kVectors` vectors of rows at `w`: less the outer products of `depth` earlier columns, whose
/// elements stand at `a` (these rows) and at `b` (the strip's rows), then solved if asked for.
template <int kVectors, bool kSolve, class T>
HWY_INLINE void finish_rows(T* w, const T* a, const T* b, std::ptrdiff_t ldw, std::ptrdiff_t depth,
                            const StripFactor<T>& f) {
  const Wide<T> d;
  const std::ptrdiff_t lanes = vector_lanes<T>();
  Strip<T> s0 = load_strip<T>(w, ldw);
  Strip<T> s1 = s0;
  Strip<T> s2 = s0;
  if constexpr (kVectors > 1) s1 = load_strip<T>(w + lanes, ldw);
  if constexpr (kVectors > 2) s2 = load_strip<T>(w + 2 * lanes, ldw);
  for (std::ptrdiff_t k = 0; k < depth; ++k, a += ldw, b += ldw) {
    subtract_outer<T>(s0, hn::Load(d, a), b);
    if constexpr (kVectors > 1) subtract_outer<T>(s1, hn::Load(d, a + lanes), b);
    if constexpr (kVectors > 2) subtract_outer<T>(s2, hn::Load(d, a + 2 * lanes), b);
  }
  if constexpr (kSolve) solve<T>(s0, f);
  store_strip<T>(s0, w, ldw);
  if constexpr (kVectors > 1) {
    if constexpr (kSolve) solve<T>(s1, f);
    store_strip<T>(s1, w + lanes, ldw);
  }
  if constexpr (kVectors > 2) {
    if constexpr (kSolve) solve<T>(s2, f);
    store_strip<T>(s2, w + 2 * lanes, ldw);
  }
}

/// Rows [from, to), whole vectors, of the strip at column `strip`, by columns [first, first +
/// depth).
template <bool kSolve, class T>
HWY_INLINE void finish_strip(T* w, std::ptrdiff_t ldw, std::ptrdiff_t from, std::ptrdiff_t to,
                             std::ptrdiff_t strip, std::ptrdiff_t first, std::ptrdiff_t depth,
                             const StripFactor<T>& f) {
  const std::ptrdiff_t lanes = vector_lanes<T>();
  T* column = w + strip * ldw;
  const T* earlier = w + first * ldw;
  const T* b = earlier + strip;
  std::ptrdiff_t i = from;
#if HWY_TARGET == HWY_AVX3
  for (; i + 3 * lanes <= to; i += 3 * lanes) {
    finish_rows<3, kSolve, T>(column + i, earlier + i, b, ldw, depth, f);
  }
  if (i + 2 * lanes <= to) {
    finish_rows<2, kSolve, T>(column + i, earlier + i, b, ldw, depth, f);
    i += 2 * lanes;
  }
#endif
  for (; i < to; i += lanes) {
    finish_rows<1, kSolve, T>(column + i, earlier + i, b, ldw, depth, f);
  }
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
/// Eight rows in one vector: float on AVX2, float and double on AVX-512.
template <class T>
using Rows8 = hn::Simd<T, 8, 0>;

template <int kRow, class T>
HWY_INLINE hn::Vec<Rows8<T>> broadcast_row(hn::Vec<Rows8<T>> v) {
  const Rows8<T> d;
  const hn::RebindToSigned<Rows8<T>> di;
  return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::Set(di, kRow)));
}

/// Less the outer product of the finished column kColumn, columns from kTo on.
template <int kColumn, int kTo, class T>
HWY_INLINE void update_columns(hn::Vec<Rows8<T>> (&v)[kStrip]) {
  if constexpr (kTo < kStrip) {
    v[kTo] = hn::NegMulAdd(v[kColumn], broadcast_row<kTo, T>(v[kColumn]), v[kTo]);
    update_columns<kColumn, kTo + 1, T>(v);
  }
}

/// Columns from kColumn on; the number of good pivots before the first bad one comes back.
template <int kColumn, class T>
HWY_INLINE std::ptrdiff_t factor_columns(hn::Vec<Rows8<T>> (&v)[kStrip], std::ptrdiff_t width,
                                         StripFactor<T>& f) {
  if constexpr (kColumn < kStrip) {
    if (kColumn >= width) return kColumn;
    const Rows8<T> d;
    const auto pivot = broadcast_row<kColumn, T>(v[kColumn]);
    if (!(hn::GetLane(pivot) > T(0))) return kColumn;
    const auto root = hn::Sqrt(pivot);
    const auto reciprocal = hn::Div(hn::Set(d, T(1)), root);
    f.reciprocal[kColumn] = hn::GetLane(reciprocal);
    const auto below = hn::Mul(v[kColumn], reciprocal);
    const auto is_pivot = hn::Eq(hn::Iota(d, T(0)), hn::Set(d, T(kColumn)));
    v[kColumn] = hn::IfThenElse(is_pivot, root, below);
    update_columns<kColumn, kColumn + 1, T>(v);
    return factor_columns<kColumn + 1, T>(v, width, f);
  } else {
    return kStrip;
  }
}

template <class T>
HWY_INLINE std::ptrdiff_t factor_diagonal_in_vectors(T* w, std::ptrdiff_t ldw, std::ptrdiff_t width,
                                                     StripFactor<T>& f) {
  const Rows8<T> d;
  hn::Vec<Rows8<T>> v[kStrip] = {hn::LoadU(d, w),           hn::LoadU(d, w + ldw),
                                 hn::LoadU(d, w + 2 * ldw), hn::LoadU(d, w + 3 * ldw),
                                 hn::LoadU(d, w + 4 * ldw), hn::LoadU(d, w + 5 * ldw),
                                 hn::LoadU(d, w + 6 * ldw), hn::LoadU(d, w + 7 * ldw)};
  hn::StoreU(hn::Zero(d), d, f.reciprocal);
  const std::ptrdiff_t good = factor_columns<0, T>(v, width, f);
  for (std::ptrdiff_t c = 0; c < kStrip; ++c) {
    hn::StoreU(v[c], d, w + c * ldw);
    hn::StoreU(v[c], d, f.l[c]);
  }
  return good;
}
#endif

/// Factors the diagonal block at `w` (column stride ldw), `width` columns; the number of good
/// pivots before the first bad one comes back. What stands above the diagonal is lost.
template <class T>
HWY_INLINE std::ptrdiff_t factor_diagonal(T* w, std::ptrdiff_t ldw, std::ptrdiff_t width,
                                          StripFactor<T>& f) {
#if HWY_TARGET == HWY_AVX3
  return factor_diagonal_in_vectors<T>(w, ldw, width, f);
#elif HWY_TARGET == HWY_AVX2
  if constexpr (sizeof(T) == 4) return factor_diagonal_in_vectors<T>(w, ldw, width, f);
#endif
  for (std::ptrdiff_t c = 0; c < kStrip; ++c) {
    f.reciprocal[c] = T(0);
    for (std::ptrdiff_t r = c; r < kStrip; ++r) f.l[c][r] = w[c * ldw + r];
  }
  std::ptrdiff_t c = 0;
  for (; c < width; ++c) {
    const T pivot = f.l[c][c];
    if (!(pivot > T(0))) break;
    const T root = std::sqrt(pivot);
    const T reciprocal = T(1) / root;
    f.l[c][c] = root;
    f.reciprocal[c] = reciprocal;
    for (std::ptrdiff_t r = c + 1; r < kStrip; ++r) f.l[c][r] *= reciprocal;
    for (std::ptrdiff_t k = c + 1; k < kStrip; ++k) {
      const T factor = f.l[c][k];
      for (std::ptrdiff_t r = k; r < kStrip; ++r) f.l[k][r] -= f.l[c][r] * factor;
    }
  }
  for (std::ptrdiff_t k = 0; k < kStrip; ++k) {
    for (std::ptrdiff_t r = k; r < kStrip; ++r) w[k * ldw + r] = f.l[k][r];
  }
  return c;
}

/// Factors the padded lower triangle; returns LAPACK's info.
template <class T>
HWY_INLINE std::ptrdiff_t factor_padded(std::ptrdiff_t n, T* w, std::ptrdiff_t ldw,
                                        std::ptrdiff_t nb) {
  const Wide<T> d;
  const std::ptrdiff_t lanes = vector_lanes<T>();
  const std::ptrdiff_t end = (n + lanes - 1) / lanes * lanes;
  StripFactor<T> f;
  for (std::ptrdiff_t panel = 0; panel < n; panel += nb) {
    const std::ptrdiff_t panel_end = std::min(panel + nb, n);
    for (std::ptrdiff_t s = panel; s < panel_end; s += kStrip) {
      const std::ptrdiff_t width = std::min(kStrip, n - s);
      const std::ptrdiff_t top = s & ~(lanes - 1);
      const std::ptrdiff_t below = std::max(top + lanes, s + kStrip);
      const std::ptrdiff_t below_end = std::min(below, end);
      finish_strip<false, T>(w, ldw, top, below_end, s, panel, s - panel, f);
      const std::ptrdiff_t good = factor_diagonal<T>(w + s * ldw + s, ldw, width, f);
      if (s + kStrip < std::min(below, n)) {
        // The rest of the vectors that hold the diagonal block.
        const std::ptrdiff_t i = below - lanes;
        Strip<T> x = load_strip<T>(w + s * ldw + i, ldw);
        const Strip<T> before = x;
        solve<T>(x, f);
        const auto keep = hn::FirstN(d, static_cast<std::size_t>(s + kStrip - i));
        x.c0 = hn::IfThenElse(keep, before.c0, x.c0);
        x.c1 = hn::IfThenElse(keep, before.c1, x.c1);
        x.c2 = hn::IfThenElse(keep, before.c2, x.c2);
        x.c3 = hn::IfThenElse(keep, before.c3, x.c3);
        x.c4 = hn::IfThenElse(keep, before.c4, x.c4);
        x.c5 = hn::IfThenElse(keep, before.c5, x.c5);
        x.c6 = hn::IfThenElse(keep, before.c6, x.c6);
        x.c7 = hn::IfThenElse(keep, before.c7, x.c7);
        store_strip<T>(x, w + s * ldw + i, ldw);
      }
      finish_strip<true, T>(w, ldw, below, end, s, panel, s - panel, f);
      if (good < width) return s + good + 1;
    }
    for (std::ptrdiff_t s = panel_end; s < n; s += kStrip) {
      finish_strip<false, T>(w, ldw, s & ~(lanes - 1), end, s, panel, panel_end - panel, f);
    }
  }
  return 0;
}

template <class T>
HWY_INLINE void factor_items(const Part<T>& part, int nb) {
  const std::ptrdiff_t n = part.n;
  const std::ptrdiff_t lda = part.lda;
  const std::ptrdiff_t ldw = padded_rows(n, sizeof(T));
  T* w = reinterpret_cast<T*>(part.workspace);
  // Columns that pad the last strip: read by its tiles, never part of a result.
  for (std::ptrdiff_t j = n; j < (n + kStrip - 1) / kStrip * kStrip; ++j) {
    for (std::ptrdiff_t i = 0; i < ldw; ++i) w[j * ldw + i] = T(0);
  }
  for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
    T* a = part.items[i];
    if (part.uplo == Uplo::kLower) {
      copy_in_lower<T>(n, a, lda, w, ldw);
    } else {
      copy_in_upper<T>(n, a, lda, w, ldw);
    }
    part.info[i] = static_cast<int>(factor_padded<T>(n, w, ldw, nb));
    if (part.uplo == Uplo::kLower) {
      copy_out_lower<T>(n, a, lda, w, ldw);
    } else {
      copy_out_upper<T>(n, a, lda, w, ldw);
    }
  }
}

void factor_blocked_float(const Part<float>& part, int nb) {
  factor_items<float>(part, nb);
}

void factor_blocked_double(const Part<double>& part, int nb) {
  factor_items<double>(part, nb);
}

}  // namespace HWY_NAMESPACE
}  // namespace furlong::blas::potrf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace furlong::blas::potrf {

HWY_EXPORT(factor_blocked_float);
HWY_EXPORT(factor_blocked_double);

std::int64_t blocked_workspace(std::int64_t n, int element_bytes) {
  // A whole vector is read at the foot of the last column, of which less may be used.
  constexpr std::int64_t kWidestVectorBytes = 64;
  return padded_rows(n, element_bytes) * ((n + kStrip - 1) / kStrip * kStrip) * element_bytes +
         kWidestVectorBytes;
}

void potrf_blocked(const Part<float>& part, int nb) {
  HWY_DYNAMIC_DISPATCH(factor_blocked_float)(part, nb);
}

void potrf_blocked(const Part<double>& part, int nb) {
  HWY_DYNAMIC_DISPATCH(factor_blocked_double)(part, nb);
}

}  // namespace furlong::blas::potrf
#endif
