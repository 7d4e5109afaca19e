// Refinement: where between two measured cells the winner changes, and which cell to measure next.
//
// Pure. Along every log axis, neighbouring cells whose winners differ (or, with a margin, whose
// runner-up is close) propose a cell between them; rounds go on until nothing new is proposed.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/cell_key.hh"
#include "tune/tiers.hh"

namespace furlong::tune {

/// What is known of one cell.
struct KnownCell {
  CellKey key;
  std::vector<std::string> ranked;   ///< empty: known, and no end of any line
  std::map<std::string, double> ms;  ///< medians of the timed candidates
  std::set<std::string> out;         ///< cannot win there: untimed and not `ok`
  bool lattice = false;              ///< of the running tier's own lattice
};

struct RefineRules {
  RefineMode mode = RefineMode::kGeometric;
  double midpoint_ratio = 1.1;
  double margin = 0;
};
RefineRules refine_rules_of(const TierParameters& parameters);

/// The cells to measure next, in order: flips before nears, each once, none known, all inside the
/// box of the axes, their keys in axis order. Of two known cells with one key the first counts.
std::vector<CellKey> propose(std::span<const Axis> axes, std::span<const KnownCell> cells,
                             const RefineRules& rules);

/// How many more cells refinement may measure: `factor` x lattice cells, less those refined
/// already; never below 0.
int allowance(double factor, int lattice_cells, int refined_cells);

}  // namespace furlong::tune
