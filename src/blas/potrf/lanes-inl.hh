// The kernel of family lanes, compiled once a SIMD target; included by lanes_float.cc and
// lanes_double.cc.
#include "blas/simd.hh"

#if defined(FURLONG_BLAS_POTRF_LANES_INL_HH) == defined(HWY_TARGET_TOGGLE)
#ifdef FURLONG_BLAS_POTRF_LANES_INL_HH
#undef FURLONG_BLAS_POTRF_LANES_INL_HH
#else
#define FURLONG_BLAS_POTRF_LANES_INL_HH
#endif

#include <algorithm>
#include <array>

#include "blas/potrf/part.hh"

HWY_BEFORE_NAMESPACE();
namespace furlong::blas::potrf {
namespace HWY_NAMESPACE {

using namespace furlong::blas::HWY_NAMESPACE;  // NOLINT

/// L(i + r, j + c) of a 4 x 4 tile is member `q<c>.e<r>`: one Quad a column of the lower factor.
template <class T>
struct Tile {
  Quad<T> q0, q1, q2, q3;
};

template <class T>
HWY_INLINE void transpose(Tile<T>& t) {
  std::swap(t.q0.e1, t.q1.e0);
  std::swap(t.q0.e2, t.q2.e0);
  std::swap(t.q0.e3, t.q3.e0);
  std::swap(t.q1.e2, t.q2.e1);
  std::swap(t.q1.e3, t.q3.e1);
  std::swap(t.q2.e3, t.q3.e2);
}

/// Tile (i, j) of the lower factor; for kUpper its transpose is what the matrix holds.
template <Uplo kUplo, class T, class Spot>
HWY_INLINE Tile<T> load_tile(const Spot& where, std::ptrdiff_t lda, std::ptrdiff_t i,
                             std::ptrdiff_t j) {
  const std::ptrdiff_t at = kUplo == Uplo::kLower ? j * lda + i : i * lda + j;
  Tile<T> t = {load_quad<T>(where, at), load_quad<T>(where, at + lda),
               load_quad<T>(where, at + 2 * lda), load_quad<T>(where, at + 3 * lda)};
  if constexpr (kUplo == Uplo::kUpper) transpose(t);
  return t;
}

template <Uplo kUplo, class T, class Spot>
HWY_INLINE void store_tile(Tile<T> t, const Spot& where, std::ptrdiff_t lda, std::ptrdiff_t i,
                           std::ptrdiff_t j) {
  const std::ptrdiff_t at = kUplo == Uplo::kLower ? j * lda + i : i * lda + j;
  if constexpr (kUplo == Uplo::kUpper) transpose(t);
  store_quad<0, 4, T>(t.q0, where, at);
  store_quad<0, 4, T>(t.q1, where, at + lda);
  store_quad<0, 4, T>(t.q2, where, at + 2 * lda);
  store_quad<0, 4, T>(t.q3, where, at + 3 * lda);
}

/// The triangle of a tile on the diagonal.
template <Uplo kUplo, class T, class Spot>
HWY_INLINE void store_diagonal(Tile<T> t, const Spot& where, std::ptrdiff_t lda, std::ptrdiff_t j) {
  const std::ptrdiff_t at = j * lda + j;
  if constexpr (kUplo == Uplo::kLower) {
    store_quad<0, 4, T>(t.q0, where, at);
    store_quad<1, 4, T>(t.q1, where, at + lda);
    store_quad<2, 4, T>(t.q2, where, at + 2 * lda);
    store_quad<3, 4, T>(t.q3, where, at + 3 * lda);
  } else {
    transpose(t);
    store_quad<0, 1, T>(t.q0, where, at);
    store_quad<0, 2, T>(t.q1, where, at + lda);
    store_quad<0, 3, T>(t.q2, where, at + 2 * lda);
    store_quad<0, 4, T>(t.q3, where, at + 3 * lda);
  }
}

template <class T>
HWY_INLINE Quad<T> load_kept(const T* from) {
  const Wide<T> d;
  const std::size_t lanes = hn::Lanes(d);
  return {hn::Load(d, from), hn::Load(d, from + lanes), hn::Load(d, from + 2 * lanes),
          hn::Load(d, from + 3 * lanes)};
}

template <class T>
HWY_INLINE void keep(const Quad<T>& q, T* to) {
  const Wide<T> d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Store(q.e0, d, to);
  hn::Store(q.e1, d, to + lanes);
  hn::Store(q.e2, d, to + 2 * lanes);
  hn::Store(q.e3, d, to + 3 * lanes);
}

template <class T>
HWY_INLINE void subtract(Quad<T>& from, const Quad<T>& column, WideVec<T> factor) {
  from.e0 = hn::NegMulAdd(column.e0, factor, from.e0);
  from.e1 = hn::NegMulAdd(column.e1, factor, from.e1);
  from.e2 = hn::NegMulAdd(column.e2, factor, from.e2);
  from.e3 = hn::NegMulAdd(column.e3, factor, from.e3);
}

template <class T>
HWY_INLINE void scale(Quad<T>& q, WideVec<T> factor) {
  q.e0 = hn::Mul(q.e0, factor);
  q.e1 = hn::Mul(q.e1, factor);
  q.e2 = hn::Mul(q.e2, factor);
  q.e3 = hn::Mul(q.e3, factor);
}

/// One pivot: its root, the reciprocal, and one more for `good` in every lane where it is > 0. A
/// pivot that is not makes every later one of its lane not > 0 either, so that `good` counts the
/// pivots before the first bad one.
template <class T>
HWY_INLINE WideVec<T> take_pivot(WideVec<T>& pivot, WideVec<T>& good) {
  const Wide<T> d;
  good = hn::Add(good, hn::IfThenElseZero(hn::Gt(pivot, hn::Zero(d)), hn::Set(d, T(1))));
  WideVec<T> root;
  WideVec<T> reciprocal;
  root_and_reciprocal<T>(pivot, root, reciprocal);
  pivot = root;
  return reciprocal;
}

/// Factors the lower triangle of a diagonal tile; the reciprocals of its diagonal come back.
template <class T>
HWY_INLINE Quad<T> factor_tile(Tile<T>& t, WideVec<T>& good) {
  Quad<T> reciprocal;
  reciprocal.e0 = take_pivot<T>(t.q0.e0, good);
  t.q0.e1 = hn::Mul(t.q0.e1, reciprocal.e0);
  t.q1.e1 = hn::NegMulAdd(t.q0.e1, t.q0.e1, t.q1.e1);
  t.q0.e2 = hn::Mul(t.q0.e2, reciprocal.e0);
  t.q0.e3 = hn::Mul(t.q0.e3, reciprocal.e0);
  t.q1.e2 = hn::NegMulAdd(t.q0.e2, t.q0.e1, t.q1.e2);
  t.q1.e3 = hn::NegMulAdd(t.q0.e3, t.q0.e1, t.q1.e3);
  t.q2.e2 = hn::NegMulAdd(t.q0.e2, t.q0.e2, t.q2.e2);
  t.q2.e3 = hn::NegMulAdd(t.q0.e3, t.q0.e2, t.q2.e3);
  t.q3.e3 = hn::NegMulAdd(t.q0.e3, t.q0.e3, t.q3.e3);
  reciprocal.e1 = take_pivot<T>(t.q1.e1, good);
  t.q1.e2 = hn::Mul(t.q1.e2, reciprocal.e1);
  t.q2.e2 = hn::NegMulAdd(t.q1.e2, t.q1.e2, t.q2.e2);
  t.q1.e3 = hn::Mul(t.q1.e3, reciprocal.e1);
  t.q2.e3 = hn::NegMulAdd(t.q1.e3, t.q1.e2, t.q2.e3);
  t.q3.e3 = hn::NegMulAdd(t.q1.e3, t.q1.e3, t.q3.e3);
  reciprocal.e2 = take_pivot<T>(t.q2.e2, good);
  t.q2.e3 = hn::Mul(t.q2.e3, reciprocal.e2);
  t.q3.e3 = hn::NegMulAdd(t.q2.e3, t.q2.e3, t.q3.e3);
  reciprocal.e3 = take_pivot<T>(t.q3.e3, good);
  return reciprocal;
}

/// Workspace of one vector of matrices: rows of tiles, row I holding tiles (I, 0) to (I, I), a tile
/// its 16 vectors column by column. A diagonal tile keeps its reciprocals in place of its diagonal.
/// When the order is no multiple of 4, the first block has `order % 4` rows and columns and uses
/// the last columns of its tiles, so that the columns before a tile always stand without a gap.
template <class T>
struct Kept {
  T* base;
  static HWY_INLINE std::size_t vector() { return hn::Lanes(Wide<T>()); }
  HWY_INLINE T* row(std::size_t block) const {
    return base + block * (block + 1) / 2 * 16 * vector();
  }
  HWY_INLINE T* tile(std::size_t block_row, std::size_t block_column) const {
    return row(block_row) + block_column * 16 * vector();
  }
};

/// acc -= sum over `columns` earlier columns of (row tiles) * (column tiles)^T.
template <class T>
HWY_INLINE void subtract_columns(Tile<T>& acc, const T* rows, const T* cols,
                                 std::ptrdiff_t columns) {
  const std::size_t step = 4 * Kept<T>::vector();
#if HWY_TARGET == HWY_AVX3
  Tile<T> t = acc;
  for (std::ptrdiff_t k = 0; k < columns; ++k, rows += step, cols += step) {
    const Quad<T> a = load_kept<T>(rows);
    const Quad<T> b = load_kept<T>(cols);
    subtract<T>(t.q0, a, b.e0);
    subtract<T>(t.q1, a, b.e1);
    subtract<T>(t.q2, a, b.e2);
    subtract<T>(t.q3, a, b.e3);
  }
  acc = t;
#else
  const T* rows_again = rows;
  const T* cols_again = cols;
  Quad<T> x = acc.q0;
  Quad<T> y = acc.q1;
  for (std::ptrdiff_t k = 0; k < columns; ++k, rows += step, cols += step) {
    const Quad<T> a = load_kept<T>(rows);
    const Wide<T> d;
    subtract<T>(x, a, hn::Load(d, cols));
    subtract<T>(y, a, hn::Load(d, cols + Kept<T>::vector()));
  }
  acc.q0 = x;
  acc.q1 = y;
  x = acc.q2;
  y = acc.q3;
  for (std::ptrdiff_t k = 0; k < columns; ++k, rows_again += step, cols_again += step) {
    const Quad<T> a = load_kept<T>(rows_again);
    const Wide<T> d;
    subtract<T>(x, a, hn::Load(d, cols_again + 2 * Kept<T>::vector()));
    subtract<T>(y, a, hn::Load(d, cols_again + 3 * Kept<T>::vector()));
  }
  acc.q2 = x;
  acc.q3 = y;
#endif
}

/// The same for a tile on the diagonal: its lower triangle only.
template <class T>
HWY_INLINE void subtract_columns_diagonal(Tile<T>& acc, const T* rows, std::ptrdiff_t columns) {
  const std::size_t step = 4 * Kept<T>::vector();
  Tile<T> t = acc;
  for (std::ptrdiff_t k = 0; k < columns; ++k, rows += step) {
    const Quad<T> a = load_kept<T>(rows);
    subtract<T>(t.q0, a, a.e0);
    t.q1.e1 = hn::NegMulAdd(a.e1, a.e1, t.q1.e1);
    t.q1.e2 = hn::NegMulAdd(a.e2, a.e1, t.q1.e2);
    t.q1.e3 = hn::NegMulAdd(a.e3, a.e1, t.q1.e3);
    t.q2.e2 = hn::NegMulAdd(a.e2, a.e2, t.q2.e2);
    t.q2.e3 = hn::NegMulAdd(a.e3, a.e2, t.q2.e3);
    t.q3.e3 = hn::NegMulAdd(a.e3, a.e3, t.q3.e3);
  }
  acc = t;
}

/// The group being factored: where its vectors of matrices and their workspaces are.
template <class T, class Spot>
struct Group {
  std::array<Spot, 4> spots;
  std::array<Kept<T>, 4> kept;
  std::array<WideVec<T>, 4> good;
  std::ptrdiff_t vectors = 0;  ///< live ones
};

/// The first block column when its width kP is 1, 2 or 3, by the group's vectors; order >= 4.
template <int kP, Uplo kUplo, class T, class Spot>
HWY_NOINLINE void factor_first(Group<T, Spot>& group, std::ptrdiff_t n, std::ptrdiff_t lda) {
  const Wide<T> d;
  const std::size_t quad = 4 * Kept<T>::vector();
  for (std::ptrdiff_t v = 0; v < group.vectors; ++v) {
    const Spot spot = group.spots[v];
    const Kept<T> kept = group.kept[v];
    Quad<T> c0 = load_quad<T>(spot, 0);
    Quad<T> c1 = c0;
    Quad<T> c2 = c0;
    if constexpr (kP > 1) c1 = load_quad<T>(spot, lda);
    if constexpr (kP > 2) c2 = load_quad<T>(spot, 2 * lda);
    if constexpr (kUplo == Uplo::kUpper) {
      if constexpr (kP > 1) std::swap(c0.e1, c1.e0);
      if constexpr (kP > 2) {
        std::swap(c0.e2, c2.e0);
        std::swap(c1.e2, c2.e1);
      }
    }
    const auto r0 = take_pivot<T>(c0.e0, group.good[v]);
    auto r1 = r0;
    auto r2 = r0;
    if constexpr (kP > 1) {
      c0.e1 = hn::Mul(c0.e1, r0);
      c1.e1 = hn::NegMulAdd(c0.e1, c0.e1, c1.e1);
      r1 = take_pivot<T>(c1.e1, group.good[v]);
    }
    if constexpr (kP > 2) {
      c0.e2 = hn::Mul(c0.e2, r0);
      c1.e2 = hn::Mul(hn::NegMulAdd(c0.e2, c0.e1, c1.e2), r1);
      c2.e2 = hn::NegMulAdd(c0.e2, c0.e2, c2.e2);
      c2.e2 = hn::NegMulAdd(c1.e2, c1.e2, c2.e2);
      r2 = take_pivot<T>(c2.e2, group.good[v]);
    }
    const auto l10 = c0.e1;
    const auto l20 = c0.e2;
    const auto l21 = c1.e2;
    if constexpr (kUplo == Uplo::kLower) {
      store_quad<0, kP, T>(c0, spot, 0);
      if constexpr (kP > 1) store_quad<1, kP, T>(c1, spot, lda);
      if constexpr (kP > 2) store_quad<2, kP, T>(c2, spot, 2 * lda);
    } else {
      store_quad<0, 1, T>(c0, spot, 0);
      if constexpr (kP > 1) store_quad<0, 2, T>({c0.e1, c1.e1, c0.e1, c1.e1}, spot, lda);
      if constexpr (kP > 2) store_quad<0, 3, T>({c0.e2, c1.e2, c2.e2, c2.e2}, spot, 2 * lda);
    }
    std::size_t block = 1;
    for (std::ptrdiff_t i = kP; i < n; i += 4, ++block) {
      Tile<T> t;
      if constexpr (kUplo == Uplo::kLower) {
        t.q0 = load_quad<T>(spot, i);
        if constexpr (kP > 1) t.q1 = load_quad<T>(spot, lda + i);
        if constexpr (kP > 2) t.q2 = load_quad<T>(spot, 2 * lda + i);
      } else {
        t = load_tile<kUplo, T>(spot, lda, i, 0);
      }
      scale<T>(t.q0, r0);
      if constexpr (kP > 1) {
        subtract<T>(t.q1, t.q0, l10);
        scale<T>(t.q1, r1);
      }
      if constexpr (kP > 2) {
        subtract<T>(t.q2, t.q0, l20);
        subtract<T>(t.q2, t.q1, l21);
        scale<T>(t.q2, r2);
      }
      T* to = kept.tile(block, 0) + (4 - kP) * quad;
      keep<T>(t.q0, to);
      if constexpr (kP > 1) keep<T>(t.q1, to + quad);
      if constexpr (kP > 2) keep<T>(t.q2, to + 2 * quad);
      if constexpr (kUplo == Uplo::kLower) {
        store_quad<0, 4, T>(t.q0, spot, i);
        if constexpr (kP > 1) store_quad<0, 4, T>(t.q1, spot, lda + i);
        if constexpr (kP > 2) store_quad<0, 4, T>(t.q2, spot, 2 * lda + i);
      } else {
        if constexpr (kP < 2) t.q1 = t.q0;
        if constexpr (kP < 3) t.q2 = t.q0;
        t.q3 = t.q0;
        transpose(t);
        store_quad<0, kP, T>(t.q0, spot, i * lda);
        store_quad<0, kP, T>(t.q1, spot, (i + 1) * lda);
        store_quad<0, kP, T>(t.q2, spot, (i + 2) * lda);
        store_quad<0, kP, T>(t.q3, spot, (i + 3) * lda);
      }
    }
  }
  (void)d;
}

/// Order 4: one tile and no workspace.
template <Uplo kUplo, class T, class Spot>
HWY_INLINE WideVec<T> factor_order4(const Spot& spot, std::ptrdiff_t lda) {
  auto good = hn::Zero(Wide<T>());
  Tile<T> t = load_tile<kUplo, T>(spot, lda, 0, 0);
  factor_tile<T>(t, good);
  store_diagonal<kUplo, T>(t, spot, lda, 0);
  return good;
}

/// The block column of four that starts at column j, block number `block`.
template <Uplo kUplo, class T, class Spot>
HWY_INLINE void factor_block(Group<T, Spot>& group, std::ptrdiff_t n, std::ptrdiff_t lda,
                             std::ptrdiff_t j, std::size_t block, std::size_t skip) {
  const Wide<T> d;
  const std::size_t vector = Kept<T>::vector();
  for (std::ptrdiff_t v = 0; v < group.vectors; ++v) {
    const Spot spot = group.spots[v];
    const Kept<T> kept = group.kept[v];
    Tile<T> t = load_tile<kUplo, T>(spot, lda, j, j);
    subtract_columns_diagonal<T>(t, kept.row(block) + skip, j);
    const Quad<T> reciprocal = factor_tile<T>(t, group.good[v]);
    store_diagonal<kUplo, T>(t, spot, lda, j);
    if (j + 4 < n) {
      T* to = kept.tile(block, block);
      hn::Store(reciprocal.e0, d, to);
      hn::Store(t.q0.e1, d, to + vector);
      hn::Store(t.q0.e2, d, to + 2 * vector);
      hn::Store(t.q0.e3, d, to + 3 * vector);
      hn::Store(reciprocal.e1, d, to + 4 * vector);
      hn::Store(t.q1.e2, d, to + 5 * vector);
      hn::Store(t.q1.e3, d, to + 6 * vector);
      hn::Store(reciprocal.e2, d, to + 7 * vector);
      hn::Store(t.q2.e3, d, to + 8 * vector);
      hn::Store(reciprocal.e3, d, to + 9 * vector);
    }
  }
  std::size_t row_block = block + 1;
  for (std::ptrdiff_t i = j + 4; i < n; i += 4, ++row_block) {
    for (std::ptrdiff_t v = 0; v < group.vectors; ++v) {
      const Spot spot = group.spots[v];
      const Kept<T> kept = group.kept[v];
      Tile<T> t = load_tile<kUplo, T>(spot, lda, i, j);
      subtract_columns<T>(t, kept.row(row_block) + skip, kept.row(block) + skip, j);
      const T* l = kept.tile(block, block);
      scale<T>(t.q0, hn::Load(d, l));
      subtract<T>(t.q1, t.q0, hn::Load(d, l + vector));
      scale<T>(t.q1, hn::Load(d, l + 4 * vector));
      subtract<T>(t.q2, t.q0, hn::Load(d, l + 2 * vector));
      subtract<T>(t.q2, t.q1, hn::Load(d, l + 5 * vector));
      scale<T>(t.q2, hn::Load(d, l + 7 * vector));
      subtract<T>(t.q3, t.q0, hn::Load(d, l + 3 * vector));
      subtract<T>(t.q3, t.q1, hn::Load(d, l + 6 * vector));
      subtract<T>(t.q3, t.q2, hn::Load(d, l + 8 * vector));
      scale<T>(t.q3, hn::Load(d, l + 9 * vector));
      store_tile<kUplo, T>(t, spot, lda, i, j);
      if (i + 4 <= n && j + 4 < n) {
        T* to = kept.tile(row_block, block);
        const std::size_t quad = 4 * vector;
        keep<T>(t.q0, to);
        keep<T>(t.q1, to + quad);
        keep<T>(t.q2, to + 2 * quad);
        keep<T>(t.q3, to + 3 * quad);
      }
    }
  }
}

/// Orders below 4: element by element through a small buffer.
template <class T, class Spot>
HWY_INLINE WideVec<T> gather_element(const Spot& spot, std::ptrdiff_t offset) {
  const Wide<T> d;
  HWY_ALIGN T element[hn::MaxLanes(Wide<T>())];
  for (std::size_t l = 0; l < hn::Lanes(d); ++l) {
    element[l] = spot(static_cast<std::ptrdiff_t>(l))[offset];
  }
  return hn::Load(d, element);
}

template <class T, class Spot>
HWY_INLINE void scatter_element(WideVec<T> v, const Spot& spot, std::ptrdiff_t offset) {
  const Wide<T> d;
  HWY_ALIGN T element[hn::MaxLanes(Wide<T>())];
  hn::Store(v, d, element);
  for (std::size_t l = 0; l < hn::Lanes(d); ++l) {
    spot(static_cast<std::ptrdiff_t>(l))[offset] = element[l];
  }
}

template <int kN, Uplo kUplo, class T, class Spot>
HWY_INLINE WideVec<T> factor_tiny(const Spot& spot, std::ptrdiff_t lda) {
  static_assert(kN >= 1 && kN <= 3);
  const std::ptrdiff_t down = kUplo == Uplo::kLower ? 1 : lda;
  const std::ptrdiff_t right = kUplo == Uplo::kLower ? lda : 1;
  auto good = hn::Zero(Wide<T>());
  auto l00 = gather_element<T>(spot, 0);
  const auto r0 = take_pivot<T>(l00, good);
  scatter_element<T>(l00, spot, 0);
  if constexpr (kN > 1) {
    const auto l10 = hn::Mul(gather_element<T>(spot, down), r0);
    auto l11 = hn::NegMulAdd(l10, l10, gather_element<T>(spot, down + right));
    const auto r1 = take_pivot<T>(l11, good);
    scatter_element<T>(l10, spot, down);
    scatter_element<T>(l11, spot, down + right);
    if constexpr (kN > 2) {
      const auto l20 = hn::Mul(gather_element<T>(spot, 2 * down), r0);
      const auto l21 =
          hn::Mul(hn::NegMulAdd(l20, l10, gather_element<T>(spot, 2 * down + right)), r1);
      auto l22 = hn::NegMulAdd(l20, l20, gather_element<T>(spot, 2 * (down + right)));
      l22 = hn::NegMulAdd(l21, l21, l22);
      take_pivot<T>(l22, good);
      scatter_element<T>(l20, spot, 2 * down);
      scatter_element<T>(l21, spot, 2 * down + right);
      scatter_element<T>(l22, spot, 2 * (down + right));
    }
  }
  return good;
}

template <Uplo kUplo, class T, class Spot>
HWY_INLINE void factor_group(Group<T, Spot>& group, std::ptrdiff_t n, std::ptrdiff_t lda) {
  for (std::ptrdiff_t v = 0; v < group.vectors; ++v) group.good[v] = hn::Zero(Wide<T>());
  if (n <= 4) {
    for (std::ptrdiff_t v = 0; v < group.vectors; ++v) {
      const Spot spot = group.spots[v];
      group.good[v] = n == 4   ? factor_order4<kUplo, T>(spot, lda)
                      : n == 3 ? factor_tiny<3, kUplo, T>(spot, lda)
                      : n == 2 ? factor_tiny<2, kUplo, T>(spot, lda)
                               : factor_tiny<1, kUplo, T>(spot, lda);
    }
    return;
  }
  const std::ptrdiff_t first = n % 4;
  if (first == 1) factor_first<1, kUplo, T>(group, n, lda);
  if (first == 2) factor_first<2, kUplo, T>(group, n, lda);
  if (first == 3) factor_first<3, kUplo, T>(group, n, lda);
  const std::size_t skip =
      first == 0 ? 0 : static_cast<std::size_t>(4 - first) * 4 * Kept<T>::vector();
  std::size_t block = first == 0 ? 0 : 1;
  for (std::ptrdiff_t j = first; j < n; j += 4, ++block) {
    factor_block<kUplo, T>(group, n, lda, j, block, skip);
  }
}

/// `good` counts of a vector to the `info` of its first `count` matrices.
template <class T>
HWY_INLINE void write_info(WideVec<T> good, std::ptrdiff_t n, int* info, std::ptrdiff_t count) {
  const Wide<T> d;
  const auto all = hn::Eq(good, hn::Set(d, static_cast<T>(n)));
  const auto value = hn::IfThenZeroElse(all, hn::Add(good, hn::Set(d, T(1))));
  const hn::Rebind<std::int32_t, Wide<T>> di;
  const auto whole = [&]() HWY_ATTR {
    if constexpr (sizeof(T) == 4) {
      return hn::ConvertTo(di, value);
    } else {
      return hn::DemoteTo(di, value);
    }
  }();
  if (count == static_cast<std::ptrdiff_t>(hn::Lanes(d))) {
    hn::StoreU(whole, di, info);
  } else {
    HWY_ALIGN std::int32_t element[hn::MaxLanes(Wide<T>())];
    hn::Store(whole, di, element);
    for (std::ptrdiff_t l = 0; l < count; ++l) info[l] = element[l];
  }
}

template <Uplo kUplo, class T>
HWY_INLINE void factor_part(const Part<T>& part, int u) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Wide<T>()));
  const std::ptrdiff_t n = part.n;
  const std::ptrdiff_t lda = part.lda;
  const std::size_t blocks = static_cast<std::size_t>((n + 3) / 4);
  const std::size_t kept_size = blocks * (blocks + 1) / 2 * 16 * Kept<T>::vector();
  T* kept = reinterpret_cast<T*>(part.workspace);
  const std::int64_t end = part.first + part.count;
  std::int64_t at = part.first;
  if (part.items.pointers == nullptr) {
    Group<T, StridedSpot<T>> group;
    while (at + lanes <= end) {
      group.vectors = std::min<std::int64_t>(u, (end - at) / lanes);
      for (std::ptrdiff_t v = 0; v < group.vectors; ++v) {
        group.spots[v] = {part.items[at + v * lanes], part.items.stride};
        group.kept[v] = {kept + static_cast<std::size_t>(v) * kept_size};
      }
      factor_group<kUplo, T>(group, n, lda);
      for (std::ptrdiff_t v = 0; v < group.vectors; ++v) {
        write_info<T>(group.good[v], n, part.info + at + v * lanes, lanes);
      }
      at += group.vectors * lanes;
    }
  }
  std::array<T*, 4 * hn::MaxLanes(Wide<T>())> pointers;
  Group<T, PointerSpot<T>> group;
  while (at < end) {
    group.vectors = std::min<std::int64_t>(u, (end - at + lanes - 1) / lanes);
    for (std::int64_t l = 0; l < group.vectors * lanes; ++l) {
      // Lanes beyond the last matrix do its work again, in step with it.
      pointers[static_cast<std::size_t>(l)] = part.items[std::min(at + l, end - 1)];
    }
    for (std::ptrdiff_t v = 0; v < group.vectors; ++v) {
      group.spots[v] = {pointers.data() + v * lanes};
      group.kept[v] = {kept + static_cast<std::size_t>(v) * kept_size};
    }
    factor_group<kUplo, T>(group, n, lda);
    for (std::ptrdiff_t v = 0; v < group.vectors; ++v) {
      const std::int64_t from = at + v * lanes;
      write_info<T>(group.good[v], n, part.info + from, std::min(lanes, end - from));
    }
    at += group.vectors * lanes;
  }
}

template <class T>
HWY_INLINE void factor_lanes(const Part<T>& part, int u) {
  if (part.uplo == Uplo::kLower) {
    factor_part<Uplo::kLower, T>(part, u);
  } else {
    factor_part<Uplo::kUpper, T>(part, u);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace furlong::blas::potrf
HWY_AFTER_NAMESPACE();

#endif
