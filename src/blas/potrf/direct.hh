// Family direct: plain loops, one matrix after the other.
#pragma once

#include "blas/potrf/part.hh"

namespace furlong::blas::potrf {

/// Order <= kMaxSmallOrder. Needs no workspace.
void potrf_direct(const Part<float>& part);
void potrf_direct(const Part<double>& part);

}  // namespace furlong::blas::potrf
