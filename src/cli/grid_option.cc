#include "cli/grid_option.hh"

#include <fmt/format.h>

#include <stdexcept>

#include "base/text.hh"
#include "cli/command.hh"

namespace furlong::cli {

Tier raced_tier(const std::string& text) {
  const auto tier = parse_tier(text);
  if (!tier || !is_measured(*tier) || *tier == Tier::kCustom) {
    throw UsageError(
        fmt::format("--tier: unknown tier {}; allowed are preview, coarse, deep", quoted(text)));
  }
  return *tier;
}

tune::GridOverride parse_grid(const std::vector<std::string>& texts) {
  try {
    return tune::parse_grid_override(texts);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

}  // namespace furlong::cli
