#include "tune/audit.hh"

#include <algorithm>
#include <set>
#include <vector>

#include "race/race.hh"
#include "tune/lattice.hh"

namespace furlong::tune {
namespace {

std::set<std::string> usable(const ledger::Cell& cell) {
  std::set<std::string> names;
  for (const auto& outcome : cell.outcomes) {
    if (outcome.status == ledger::Status::kOk || outcome.status == ledger::Status::kEliminated) {
      names.insert(outcome.candidate);
    }
  }
  return names;
}

double time_of(const ledger::Cell& cell, const std::string& candidate) {
  for (const auto& outcome : cell.outcomes) {
    if (outcome.candidate == candidate) return outcome.timed() ? outcome.median_ms : 0;
  }
  return 0;
}

}  // namespace

bool is_audited(const CellKey& key, double share, bool first) {
  constexpr std::uint64_t kParts = 10'000;
  return first || static_cast<double>(fnv1a64(key.text()) % kParts) < share * kParts;
}

ledger::Audit compare_fresh(const ledger::Cell& warm, const ledger::Cell* fresh) {
  ledger::Audit audit;
  audit.dtype = warm.dtype;
  audit.key = warm.key;
  audit.what = "fresh";
  audit.verdict = "inconclusive";
  if (fresh == nullptr || warm.ranked.empty()) return audit;
  if (usable(warm) != usable(*fresh)) {
    audit.verdict = "mismatch:candidates";
    return audit;
  }
  const std::string& winner = warm.ranked.front();
  const double here = time_of(warm, winner);
  const double there = time_of(*fresh, winner);
  if (!(here > 0) || !(there > 0)) return audit;
  audit.warm_ms = here;
  audit.fresh_ms = there;
  if (there <= kAuditFactor * here) {
    audit.verdict = "ok";
    return audit;
  }
  std::vector<double> others;
  for (const auto& outcome : warm.outcomes) {
    const double other = time_of(*fresh, outcome.candidate);
    if (outcome.candidate == winner || !outcome.timed() || !(other > 0)) continue;
    others.push_back(other / outcome.median_ms);
  }
  const bool all_slower = !others.empty() && race::median(others) > kAuditFactor;
  if (!all_slower) audit.verdict = "mismatch:slower";
  return audit;
}

}  // namespace furlong::tune
