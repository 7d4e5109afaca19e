#include "verdict/merge.hh"

#include <algorithm>
#include <unordered_map>

namespace furlong::verdict {
namespace {

std::string key_text(const Verdict& verdict) {
  const auto version = verdict.entry_version();
  return std::to_string(verdict.device().size()) + ':' + verdict.device() + verdict.computation() +
         '\0' + (version ? std::to_string(*version) : "");
}

/// The fastest measured side; nothing when none is.
std::optional<std::size_t> fastest(const std::vector<Conflict::Side>& sides) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const auto time = sides[i].verdict.measured_ns();
    if (time && (!best || *time < *sides[*best].verdict.measured_ns())) best = i;
  }
  return best;
}

void resolve(Conflict& conflict, OnConflict policy) {
  const auto& sides = conflict.sides;
  conflict.winner_differs = std::any_of(sides.begin(), sides.end(), [&](const auto& side) {
    return !side.verdict.same_winner(sides.front().verdict);
  });
  if (policy == OnConflict::kFail) {
    conflict.reason =
        conflict.winner_differs ? "the winners differ" : "only time or metadata differ";
    return;
  }
  if (policy == OnConflict::kFirst) {
    conflict.taken = 0;
    conflict.reason = "first";
    return;
  }
  const bool all_timed = std::all_of(sides.begin(), sides.end(), [](const auto& side) {
    return side.verdict.measured_ns().has_value();
  });
  if (conflict.winner_differs && !all_timed) {
    conflict.reason = "the winners differ and not every side has a measured run time";
    return;
  }
  const auto best = fastest(sides);
  conflict.taken = best.value_or(0);
  conflict.reason = best ? "fastest" : "same winner, no measured run time; first";
}

}  // namespace

Merged merge(std::span<const MergeInput> inputs, OnConflict policy) {
  Merged merged;
  struct Group {
    std::vector<Conflict::Side> sides;
  };
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> group_of;
  for (std::size_t s = 0; s < inputs.size(); ++s) {
    for (const auto& verdict : inputs[s].verdicts) {
      const auto [at, is_new] = group_of.emplace(key_text(verdict), groups.size());
      if (is_new) groups.emplace_back();
      auto& sides = groups[at->second].sides;
      const bool known = std::any_of(sides.begin(), sides.end(), [&](const auto& side) {
        return side.verdict.same_result(verdict);
      });
      if (known) {
        ++merged.collapsed;
      } else {
        sides.push_back({s, verdict});
      }
    }
  }
  for (auto& group : groups) {
    if (group.sides.size() == 1) {
      merged.verdicts.push_back(group.sides.front().verdict);
      continue;
    }
    Conflict conflict;
    conflict.sides = std::move(group.sides);
    resolve(conflict, policy);
    if (conflict.taken) {
      merged.verdicts.push_back(conflict.sides[*conflict.taken].verdict);
    } else {
      ++merged.unresolved;
    }
    merged.conflicts.push_back(std::move(conflict));
  }
  return merged;
}

}  // namespace furlong::verdict
