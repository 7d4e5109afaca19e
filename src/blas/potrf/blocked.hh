// Family blocked: one matrix at a time, vectorised inside, right-looking in panels of `nb` columns.
//
// The referenced triangle is copied to a padded, aligned lower triangle in the workspace, factored
// there in strips of eight columns, and copied back: so the kernels need no masks and never touch
// the other triangle.
#pragma once

#include <cstdint>

#include "blas/potrf/part.hh"

namespace furlong::blas::potrf {

/// Bytes of workspace that one thread needs; `element_bytes` is 4 or 8.
std::int64_t blocked_workspace(std::int64_t n, int element_bytes);

/// `nb` is a multiple of 8. Any order.
void potrf_blocked(const Part<float>& part, int nb);
void potrf_blocked(const Part<double>& part, int nb);

}  // namespace furlong::blas::potrf
