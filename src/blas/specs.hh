// What a tuner must know of the ops of this pack. Only tuners and benches link it: a program that
// calls the ops does not.
#pragma once

#include "furlong/op_spec.hh"

namespace furlong::blas {

/// Problems, verification, grid and kernel hashes of potrf.
const OpSpec& potrf_spec();

}  // namespace furlong::blas
