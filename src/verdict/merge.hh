// merge: several caches into one, every conflict known before anything is written.
//
// Pure: loaded values in, values out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verdict/verdict.hh"

namespace furlong::verdict {

enum class OnConflict {
  kFail,     ///< every pair of different results is unresolved
  kFirst,    ///< the earliest source counts
  kFastest,  ///< the smaller run time counts
};

struct MergeInput {
  std::string name;
  std::vector<Verdict> verdicts;
};

/// One key with results that are not equal.
struct Conflict {
  struct Side {
    std::size_t source = 0;
    Verdict verdict;
  };
  std::vector<Side> sides;  ///< in the order of the sources, different results only
  /// The side that counts; nothing when the policy cannot tell.
  std::optional<std::size_t> taken;
  /// Why it cannot, or why that side.
  std::string reason;
  bool winner_differs = false;
};

struct Merged {
  std::vector<Verdict> verdicts;  ///< in the order of first appearance
  std::vector<Conflict> conflicts;
  std::size_t collapsed = 0;   ///< duplicates with equal values
  std::size_t unresolved = 0;  ///< conflicts without a taken side; then nothing should be written
};

/// With kFastest, a conflict of winners in which not every side has a run time that can have been
/// measured is unresolved; where the winner is the same, the fastest measured time counts, and
/// without any the first side. Of equal times the earlier side counts.
Merged merge(std::span<const MergeInput> inputs, OnConflict policy);

}  // namespace furlong::verdict
