// Refinement: where between two measured cells the winner changes, and which cell to measure next.
//
// Pure. Along every log axis, neighbouring cells whose winners differ (or, with a margin, whose
// runner-up is close) propose a cell between them; rounds go on until nothing new is proposed.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/cell_key.hh"
#include "tune/tiers.hh"

namespace furlong::tune {

/// Where a known cell comes from.
enum class Origin {
  kLattice,  ///< a round-0 record of the running tier
  kRefined,  ///< a refined record of the running tier
  kOther,    ///< a record of a better tier, or no record at all
};

/// What is known of one cell.
struct KnownCell {
  CellKey key;
  std::vector<std::string> ranked;   ///< empty: known, and no end of any line
  std::map<std::string, double> ms;  ///< medians of the timed candidates
  std::set<std::string> out;         ///< cannot win there: untimed and not `ok`
  Origin origin = Origin::kOther;
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

/// Refinement of one (op, dtype), round by round: what is known goes in, cells to measure come out.
/// A value of its own; one thread.
class Refinement {
 public:
  /// Is a proposed cell one that can be measured at all (not over a limit)?
  using Available = std::function<bool(const CellKey&)>;

  /// `axes`: the requested grid, whose box refinement never leaves.
  Refinement(std::vector<Axis> axes, const TierParameters& parameters);

  /// Keys in axis order. A cell added again replaces what was known, so stored records go first.
  void add(KnownCell cell);

  /// The cells of the next round, to be measured and added with Origin::kRefined; empty when
  /// refinement has ended. A cell that is not available is known from then on and takes no
  /// allowance.
  std::vector<CellKey> next(const Available& available = {});

  bool capped() const { return capped_; }           ///< the allowance cut proposals off
  int unavailable() const { return unavailable_; }  ///< proposals that were not available

 private:
  std::vector<Axis> axes_;
  TierParameters parameters_;
  std::vector<KnownCell> cells_;
  std::unordered_map<std::string, std::size_t> index_;
  bool capped_ = false;
  int unavailable_ = 0;
};

}  // namespace furlong::tune
