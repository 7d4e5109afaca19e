#include "verdict/post_order.hh"

#include <utility>

namespace furlong::verdict {

std::vector<std::size_t> post_order(const std::vector<std::vector<std::size_t>>& operands) {
  std::vector<bool> used(operands.size());
  for (const auto& list : operands) {
    for (const auto operand : list) used[operand] = true;
  }
  std::vector<bool> placed(operands.size());
  std::vector<std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> open;  // position, operands seen
  for (std::size_t end = 0; end < operands.size(); ++end) {
    if (used[end]) continue;
    open.emplace_back(end, 0);
    while (!open.empty()) {
      auto& [at, seen] = open.back();
      if (seen < operands[at].size()) {
        const auto operand = operands[at][seen++];
        if (!placed[operand]) open.emplace_back(operand, 0);
      } else {
        placed[at] = true;
        order.push_back(at);
        open.pop_back();
      }
    }
  }
  return order;
}

}  // namespace furlong::verdict
