#include "tune/tiers.hh"

namespace furlong::tune {

TierParameters parameters_of(Tier tier) {
  TierParameters parameters;
  parameters.rules = race::rules_of(tier);
  if (tier == Tier::kPreview) {
    parameters.stride = 2;
    parameters.refine = RefineMode::kIndex;
    parameters.margin = 0.10;
    parameters.refine_cap = 3;
    parameters.patience_s = 0.25;
  } else if (tier == Tier::kDeep) {
    parameters.refine_cap = 2;
    parameters.audit_share = 0.10;
  }
  return parameters;
}

}  // namespace furlong::tune
