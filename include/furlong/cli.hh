// The command line as a library: an adopter's tuner is main() plus its list of ops.
#pragma once

#include <vector>

#include "furlong/op_spec.hh"

namespace furlong::cli {

/// Runs `furlong <arguments>` over `ops` and returns the exit code: 0 ok, 1 findings or refused,
/// 2 wrong usage. Prints to stdout and stderr; never exits by itself. `ops` must outlive the call.
int run(int argc, const char* const* argv, const std::vector<const OpSpec*>& ops);

}  // namespace furlong::cli
