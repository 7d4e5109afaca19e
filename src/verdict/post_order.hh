// The canonical order of instructions.
#pragma once

#include <cstddef>
#include <vector>

namespace furlong::verdict {

/// A permutation of the positions: each position after those in `operands[position]`, which are
/// earlier ones; found depth first, operands in order, from every position that no other one uses,
/// in order. Does not recurse.
std::vector<std::size_t> post_order(const std::vector<std::vector<std::size_t>>& operands);

}  // namespace furlong::verdict
