// Family lanes: one matrix per SIMD lane.
//
// A group of `u` vectors of matrices is factored together, left-looking in tiles of 4 x 4: each
// tile is loaded once from the matrices, transposed in registers, finished, stored once, and kept
// interleaved in the workspace for the tiles to its right.
#pragma once

#include <cstdint>

#include "blas/potrf/part.hh"

namespace furlong::blas::potrf {

/// Bytes of workspace that one thread needs. Order <= kMaxSmallOrder.
std::int64_t lanes_workspace(std::int64_t n, int u);

/// Matrices in one vector on the SIMD target in use; `element_bytes` is 4 or 8.
std::int64_t lanes_per_vector(int element_bytes);

/// Order <= kMaxSmallOrder.
void potrf_lanes(const Part<float>& part, int u);
void potrf_lanes(const Part<double>& part, int u);

}  // namespace furlong::blas::potrf
