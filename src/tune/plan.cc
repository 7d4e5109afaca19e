#include "tune/plan.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/spelling.hh"

namespace furlong::tune {

namespace {

std::vector<int> everyone(std::span<const std::string> candidates) {
  std::vector<int> all(candidates.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// The candidates of changed families, and the stored winner and runner-up.
std::vector<int> partial_field(const StoredRecord& best, std::span<const std::string> candidates) {
  const auto ahead = std::min<std::size_t>(best.ranked.size(), 2);
  std::vector<int> field;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& name = candidates[i];
    const bool changed =
        std::find(best.changed.begin(), best.changed.end(), family_of(name)) != best.changed.end();
    const auto end = best.ranked.begin() + static_cast<std::ptrdiff_t>(ahead);
    if (changed || std::find(best.ranked.begin(), end, name) != end) {
      field.push_back(static_cast<int>(i));
    }
  }
  return field;
}

}  // namespace

CellPlan plan_cell(const CellFacts& facts, const PlanLimits& limits,
                   std::span<const std::string> candidates) {
  CellPlan plan;
  plan.key = facts.key;
  plan.tier = limits.tier;
  const auto decide = [&](Action action, std::string reason, std::vector<int> field = {}) {
    plan.action = action;
    plan.reason = std::move(reason);
    plan.candidates = std::move(field);
    return plan;
  };
  const bool covered = facts.best && facts.best->tier <= limits.tier;
  const bool current = covered && facts.best->changed.empty();

  if (!facts.named && facts.max_dim > limits.max_dim) return decide(Action::kSkip, "skip:dim");
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  if (static_cast<double>(facts.input_bytes) > limits.cap_gib * kGib) {
    return decide(Action::kSkip, "skip:cap");
  }
  if (facts.runnable <= 1) {
    if (current) return decide(Action::kSkip, "skip:single");
    return decide(Action::kSingle, "skip:single", everyone(candidates));
  }
  if (facts.named) return decide(Action::kMeasure, "remeasure", everyone(candidates));
  if (current) return decide(Action::kSkip, "skip:current");
  if (covered) {
    plan.tier = facts.best->tier;
    return decide(Action::kPartial, "partial:" + join(facts.best->changed, ","),
                  partial_field(*facts.best, candidates));
  }
  return decide(Action::kMeasure, "measure", everyone(candidates));
}

std::map<std::string, int> count_reasons(std::span<const CellPlan> plans) {
  std::map<std::string, int> counts;
  for (const CellPlan& plan : plans) {
    ++counts[plan.action == Action::kPartial ? "partial" : plan.reason];
  }
  return counts;
}

ledger::Cell merge_partial(const ledger::Cell& stored, const ledger::Cell& raced,
                           std::span<const std::string> candidates, const HashHolds& holds) {
  const auto find = [](const ledger::Cell& cell, const std::string& name) {
    const auto found =
        std::find_if(cell.outcomes.begin(), cell.outcomes.end(),
                     [&](const ledger::Outcome& outcome) { return outcome.candidate == name; });
    return found == cell.outcomes.end() ? nullptr : &*found;
  };
  ledger::Cell merged = raced;
  merged.dtype = stored.dtype;
  merged.tier = stored.tier;
  merged.key = stored.key;
  merged.round = stored.round;
  merged.outcomes.clear();
  std::set<std::string> kept;
  for (const std::string& name : candidates) {
    if (const auto* again = find(raced, name)) {
      merged.outcomes.push_back(*again);
    } else if (const auto* before = find(stored, name)) {
      const bool skipped = before->status == ledger::Status::kSkipped;
      if (!skipped && !holds(*before)) continue;
      merged.outcomes.push_back(*before);
      if (!skipped) kept.insert(name);
    }
  }
  for (const std::string& name : stored.ranked) {
    if (kept.count(name) != 0) merged.ranked.push_back(name);
  }
  return merged;
}

Estimator::Estimator(std::span<const Axis> axes, TierParameters parameters, double warm_up_s)
    : axes_(axes.begin(), axes.end()), parameters_(parameters), warm_up_s_(warm_up_s) {}

std::string Estimator::fixed_part(const CellKey& key) const {
  CellKey fixed;
  for (const Axis& axis : axes_) {
    const std::string* value = key.find(axis.name);
    if (axis.kind != AxisKind::kLog && value != nullptr) fixed.items.push_back({axis.name, *value});
  }
  return fixed.text();
}

std::vector<double> Estimator::log_part(const CellKey& key) const {
  std::vector<double> logs;
  for (const Axis& axis : axes_) {
    if (axis.kind != AxisKind::kLog) continue;
    const std::string* value = key.find(axis.name);
    const auto number = value == nullptr ? std::nullopt : parse_positive(*value);
    logs.push_back(number ? std::log2(static_cast<double>(*number)) : 0);
  }
  return logs;
}

void Estimator::add(const CellKey& key, int candidate, double median_ms) {
  if (!std::isfinite(median_ms) || median_ms <= 0) return;
  timed_[{fixed_part(key), candidate}].push_back({log_part(key), median_ms * 1e-3});
}

std::optional<double> Estimator::nearest(const CellKey& key, int candidate) const {
  const auto found = timed_.find({fixed_part(key), candidate});
  if (found == timed_.end()) return std::nullopt;
  const auto here = log_part(key);
  std::optional<double> seconds;
  double best = std::numeric_limits<double>::infinity();
  for (const Timed& timed : found->second) {
    double distance = 0;
    for (std::size_t i = 0; i < here.size(); ++i) distance += std::abs(here[i] - timed.logs[i]);
    if (distance < best) {
      best = distance;
      seconds = timed.seconds;
    }
  }
  return seconds;
}

double Estimator::seconds(const CellKey& key, std::int64_t input_bytes,
                          std::span<const int> candidates) const {
  constexpr double kPerCell = 0.02;
  constexpr double kBytesPerSecond = 20e9;
  constexpr double kShortestRepetition = 20e-6;
  constexpr double kVerificationRuns = 4;
  double sum = kPerCell;
  for (const int candidate : candidates) {
    const double call =
        nearest(key, candidate).value_or(static_cast<double>(input_bytes) / kBytesPerSecond);
    sum += parameters_.rules.max_rounds * std::max(call, kShortestRepetition) + warm_up_s_ +
           kVerificationRuns * call;
  }
  return sum;
}

}  // namespace furlong::tune
