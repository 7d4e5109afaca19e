// Family vendor: a loop over OpenBLAS.
#pragma once

#include "blas/potrf/part.hh"

namespace furlong::blas::potrf {

/// n and lda fit the vendor's integers. Needs no workspace.
void potrf_vendor(const Part<float>& part);
void potrf_vendor(const Part<double>& part);

}  // namespace furlong::blas::potrf
