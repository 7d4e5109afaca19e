// Plan: what to do at each cell, and why.
//
// Pure. The caller says what is known of a cell (its size, how many candidates can run, the best
// record that the ledger holds); the plan answers with an action, its reason and the candidates to
// race. Every skip has a reason, so a plan can be printed before anything is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/cell_key.hh"
#include "furlong/tier.hh"
#include "ledger/record.hh"
#include "tune/tiers.hh"

namespace furlong::tune {

/// The best record of a cell that counts and is not stale.
struct StoredRecord {
  Tier tier = Tier::kCustom;
  std::vector<std::string> changed;  ///< families changed or added; empty = the record is current
  std::vector<std::string> ranked;   ///< spellings, winner first
};

struct CellFacts {
  CellKey key;
  bool named = false;  ///< by `--remeasure-keys`
  std::int64_t max_dim = 0;
  std::int64_t input_bytes = 0;
  int runnable = 0;  ///< candidates not known to be unable to run here
  std::optional<StoredRecord> best;
};

struct PlanLimits {
  Tier tier = Tier::kCoarse;
  std::int64_t max_dim = 2048;  ///< named cells are exempt
  double cap_gib = 4;
};

enum class Action {
  kSkip,     ///< nothing to do
  kSingle,   ///< at most one candidate can run: to be recorded untimed
  kMeasure,  ///< race every candidate
  kPartial,  ///< race some of them and merge with the stored record
};

struct CellPlan {
  CellKey key;
  Action action = Action::kSkip;
  /// `skip:dim`, `skip:cap`, `skip:single`, `skip:current`, `remeasure`, `partial:<families>` or
  /// `measure`.
  std::string reason;
  Tier tier = Tier::kCoarse;    ///< to race at and to record
  std::vector<int> candidates;  ///< to race, positions in list order; empty for kSkip
};

/// `candidates`: the dtype's list now, long spellings in order.
CellPlan plan_cell(const CellFacts& facts, const PlanLimits& limits,
                   std::span<const std::string> candidates);

/// How many cells have each reason; all `partial:` ones count as `partial`.
std::map<std::string, int> count_reasons(std::span<const CellPlan> plans);

/// Does the hash of a stored outcome still hold (its effective hash is that of its family now)?
using HashHolds = std::function<bool(const ledger::Outcome&)>;

/// The record of a partial re-race: what was raced, then the stored outcomes of the other
/// candidates of now whose hash holds, ranked behind in their stored order; a stored `skipped` one
/// is kept, a removed candidate goes. Tier, key, dtype and round are the stored record's, the rest
/// is raced's.
ledger::Cell merge_partial(const ledger::Cell& stored, const ledger::Cell& raced,
                           std::span<const std::string> candidates, const HashHolds& holds);

/// Seconds that cells will take, told from what the ledger timed before.
class Estimator {
 public:
  /// `axes`: those of the op; log axes measure the distance of cells, the others must be equal.
  Estimator(std::span<const Axis> axes, TierParameters parameters, double warm_up_s);

  /// A median that the ledger holds.
  void add(const CellKey& key, int candidate, double median_ms);

  /// Of one cell: 0.02 s, and for each candidate max rounds of its nearest time (without one, the
  /// time to move the input bytes at 20 GB/s), warm-up and verification.
  double seconds(const CellKey& key, std::int64_t input_bytes,
                 std::span<const int> candidates) const;

 private:
  struct Timed {
    std::vector<double> logs;  ///< log2, per log axis
    double seconds = 0;
  };
  std::string fixed_part(const CellKey& key) const;
  std::vector<double> log_part(const CellKey& key) const;
  std::optional<double> nearest(const CellKey& key, int candidate) const;

  std::vector<Axis> axes_;
  TierParameters parameters_;
  double warm_up_s_;
  std::map<std::pair<std::string, int>, std::vector<Timed>> timed_;
};

}  // namespace furlong::tune
