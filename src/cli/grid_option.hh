// Options about grids and tiers that several commands take.
#pragma once

#include <string>
#include <vector>

#include "furlong/tier.hh"
#include "tune/lattice.hh"

namespace furlong::cli {

/// A tier that can be raced by name: preview, coarse or deep; UsageError otherwise.
Tier raced_tier(const std::string& text);

/// `name=v1:v2` texts of `--grid`; UsageError for another form.
tune::GridOverride parse_grid(const std::vector<std::string>& texts);

}  // namespace furlong::cli
