// Tier parameters: how densely and how carefully each tier measures.
#pragma once

#include "furlong/tier.hh"
#include "race/race.hh"

namespace furlong::tune {

/// Which value between two neighbours is measured next.
enum class RefineMode {
  kIndex,      ///< a grid value between them, else the geometric midpoint
  kGeometric,  ///< the geometric midpoint
};

struct TierParameters {
  int stride = 1;  ///< of the lattice's log axes
  RefineMode refine = RefineMode::kGeometric;
  double midpoint_ratio = 1.1;  ///< geometric midpoints while hi/lo is at least this
  double margin = 0;            ///< a runner-up this close asks for refinement; 0 = off
  int refine_cap = 1;           ///< refined cells, in round-0 cells
  race::Rules rules;
  double audit_share = 0.02;  ///< of the cells, raced again in a fresh process
  double patience_s = 2;      ///< a race, on average, for waiting until nobody disturbs the core
};

/// `custom` and the imported tiers have coarse values.
TierParameters parameters_of(Tier tier);

}  // namespace furlong::tune
