#include "tune/isolate.hh"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "furlong/error.hh"
#include "furlong/spelling.hh"

namespace furlong::tune {
namespace {

using End = WorkerAnswer::End;

bool survived(const WorkerAnswer& answer) {
  return answer.end == End::kDone;
}

std::vector<int> without(std::vector<int> candidates, int one) {
  std::erase(candidates, one);
  return candidates;
}

}  // namespace

Isolation::Isolation(StartWorker start, std::chrono::milliseconds cell_timeout,
                     IsolationHooks hooks)
    : start_(std::move(start)), timeout_(cell_timeout), hooks_(std::move(hooks)) {}

Isolation::Group& Isolation::group(const OpSpec& op, const std::string& dtype) {
  Group& found = groups_[{op.vocabulary.op, dtype}];
  if (found.ld.empty()) {
    const auto& dtypes = op.vocabulary.dtypes;
    const auto at = std::find(dtypes.begin(), dtypes.end(), dtype) - dtypes.begin();
    const auto count = op.vocabulary.candidates.at(static_cast<std::size_t>(at)).size();
    found.ld.assign(count, race::LdVerdict::kUnknown);
    found.streak.assign(count, 0);
  }
  return found;
}

void Isolation::drop_worker() {
  if (worker_ == nullptr) return;
  ended_cpu_s_ += worker_->cpu_seconds();
  worker_.reset();
}

double Isolation::cpu_seconds() const {
  return ended_cpu_s_ + (worker_ != nullptr ? worker_->cpu_seconds() : 0);
}

std::string Isolation::reason_of(const WorkerAnswer& answer) const {
  if (answer.end == End::kHung) {
    return fmt::format("timed out: no answer within {:g} s",
                       std::chrono::duration<double>(timeout_).count());
  }
  return "crashed: " + answer.how;
}

WorkerAnswer Isolation::send(Worker& worker, WorkRequest& work, const OnEliminated& on_eliminated) {
  const double each = work.cell.patience_s;
  patience_s_ = std::min(patience_s_ + each, kSavedRaces * each);
  work.cell.patience_s = patience_s_;
  work.cell.quiet_s = quiet_s_;
  auto answer = worker.run(work, timeout_, on_eliminated);
  if (answer.end == End::kFailed) throw Error(work.op, answer.how);
  if (survived(answer)) {
    patience_s_ = std::max(patience_s_ - answer.result.cell.phases.disturbed_s, 0.0);
    if (answer.result.cell.quiet_s > 0) quiet_s_ = answer.result.cell.quiet_s;
  }
  return answer;
}

WorkerAnswer Isolation::run(const OpSpec& op, const std::string& dtype, Group& group,
                            const race::CellRequest& request, std::vector<int> candidates,
                            bool partial) {
  if (worker_ == nullptr) worker_ = start_();
  WorkRequest work{op.vocabulary.op, dtype, request, group.ld};
  work.cell.candidates = std::move(candidates);
  work.cell.partial = partial;
  auto answer = send(*worker_, work, hooks_.eliminated);
  if (survived(answer)) {
    group.ld = answer.result.ld;
  } else {
    ++restarts_;
    drop_worker();
    if (hooks_.restarted) hooks_.restarted(reason_of(answer), request.key.text());
  }
  return answer;
}

race::CellResult Isolation::measure(const OpSpec& op, const std::string& dtype,
                                    const race::CellRequest& request) {
  Group& known = group(op, dtype);
  if (known.one_process_a_cell) drop_worker();
  std::vector<Culprit> culprits;
  std::vector<Culprit> dropped;
  std::vector<int> racing;
  const auto streak = [&](int candidate) -> int& {
    return known.streak.at(static_cast<std::size_t>(candidate));
  };
  const auto alone = [&](int candidate) {
    auto answer = run(op, dtype, known, request, {candidate}, true);
    if (!survived(answer)) culprits.push_back({candidate, reason_of(answer)});
    return survived(answer);
  };
  for (const int candidate : request.candidates) {
    if (streak(candidate) >= kDroppedAfter) {
      dropped.push_back({candidate, fmt::format("dropped: took its process down in {} cells in a "
                                                "row of this run",
                                                kDroppedAfter)});
    } else if (streak(candidate) < kBenchedAfter || alone(candidate)) {
      racing.push_back(candidate);
    }
  }

  race::CellResult result;
  result.verdict = race::Verdict::kWinner;
  const auto take = [&](WorkerAnswer& answer) {
    result = std::move(answer.result.cell);
    return true;
  };
  const auto race_together = [&](const std::vector<int>& candidates) {
    auto answer = run(op, dtype, known, request, candidates, request.partial);
    return survived(answer) && take(answer);
  };
  bool raced = racing.empty() || race_together(racing) || race_together(racing);
  if (!raced) {
    for (const int candidate : std::vector<int>(racing)) {
      if (!alone(candidate)) std::erase(racing, candidate);
    }
    raced = racing.empty() || race_together(racing);
  }
  if (!raced) {
    // Each is well alone: the culprit is whoever the others live without.
    for (const int candidate : racing) {
      const auto others = without(racing, candidate);
      if (others.empty() || !race_together(others)) continue;
      culprits.push_back({candidate, "crashed: takes the process down beside other candidates"});
      racing = others;
      raced = true;
      break;
    }
  }
  if (!raced) {
    for (const int candidate : racing) {
      culprits.push_back({candidate, "crashed: no race of this cell was survived"});
    }
    racing.clear();
    result = {};
  }

  for (const int candidate : racing) streak(candidate) = 0;
  for (const Culprit& culprit : culprits) ++streak(culprit.candidate);
  culprits.insert(culprits.end(), dropped.begin(), dropped.end());

  // Everyone asked for, in list order.
  const auto& dtypes = op.vocabulary.dtypes;
  const auto d =
      static_cast<std::size_t>(std::find(dtypes.begin(), dtypes.end(), dtype) - dtypes.begin());
  const auto& names = op.vocabulary.candidates[d];
  std::vector<ledger::Outcome> outcomes;
  for (const int candidate : request.candidates) {
    const std::string& name = names[static_cast<std::size_t>(candidate)];
    const auto culprit = std::find_if(culprits.begin(), culprits.end(), [&](const Culprit& one) {
      return one.candidate == candidate;
    });
    if (culprit == culprits.end()) {
      const auto found =
          std::find_if(result.cell.outcomes.begin(), result.cell.outcomes.end(),
                       [&](const ledger::Outcome& outcome) { return outcome.candidate == name; });
      if (found != result.cell.outcomes.end()) outcomes.push_back(std::move(*found));
      continue;
    }
    ledger::Outcome outcome;
    outcome.candidate = name;
    outcome.status = ledger::Status::kError;
    outcome.reason = culprit->reason;
    const std::string* hash = op.hashes.find(family_of(name));
    if (hash != nullptr) outcome.hash = *hash;
    outcomes.push_back(std::move(outcome));
  }
  result.cell.outcomes = std::move(outcomes);
  result.cell.dtype = dtype;
  result.cell.tier = request.tier;
  result.cell.key = request.key.text();
  result.cell.round = request.round;
  return result;
}

std::optional<race::CellResult> Isolation::measure_fresh(const OpSpec& op, const std::string& dtype,
                                                         const race::CellRequest& request) {
  Group& known = group(op, dtype);
  std::vector<int> candidates;
  for (const int candidate : request.candidates) {
    if (known.streak.at(static_cast<std::size_t>(candidate)) == 0) candidates.push_back(candidate);
  }
  if (candidates.empty()) return std::nullopt;
  // The standing worker waits meanwhile: it is idle, and goes on afterwards.
  const auto fresh = start_();
  WorkRequest work{op.vocabulary.op, dtype, request, known.ld};
  work.cell.candidates = std::move(candidates);
  auto answer = send(*fresh, work, {});
  ended_cpu_s_ += fresh->cpu_seconds();
  if (!survived(answer)) return std::nullopt;
  return std::move(answer.result.cell);
}

void Isolation::use_one_process_a_cell(const std::string& op, const std::string& dtype) {
  groups_[{op, dtype}].one_process_a_cell = true;
}

}  // namespace furlong::tune
