// Tiers: how carefully a record was measured, best first.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace furlong {

enum class Tier { kDeep, kCoarse, kPreview, kCustom, kConverted, kTranscribed };

inline constexpr std::array<std::string_view, 6> kTierNames = {
    "deep", "coarse", "preview", "custom", "converted", "transcribed"};

constexpr std::string_view tier_name(Tier tier) {
  return kTierNames[static_cast<std::size_t>(tier)];
}

constexpr std::optional<Tier> parse_tier(std::string_view name) {
  for (std::size_t i = 0; i < kTierNames.size(); ++i) {
    if (kTierNames[i] == name) return static_cast<Tier>(i);
  }
  return std::nullopt;
}

/// Raced on this device with hashed kernels; converted and transcribed records are not.
constexpr bool is_measured(Tier tier) {
  return tier <= Tier::kCustom;
}

}  // namespace furlong
