// Screening: from thousands of candidates to the few that a race is worth its time.
//
// Pure, as the race: times come from a feed. Every candidate is timed once; then, look by look, the
// number of runs doubles for those that are kept, and their number falls. How many are kept is a
// matter of cost alone: all runs after the first together take about a fixed share of what the
// first ones took, whatever the space looks like. docs/measuring.md says what came of it on
// recorded spaces.
//
// Thread rule: values and free functions; no shared state.
#pragma once

#include <span>
#include <vector>

#include "race/race.hh"

namespace furlong::race {

struct ScreenRules {
  int most_runs = 16;  ///< of one candidate
  double extra = 0.2;  ///< time for all runs after the first, as a share of the first ones' time
  int least_kept = 4;  ///< at every look, whatever they cost

  bool operator==(const ScreenRules&) const = default;
};

/// The screening statistic: of n runs in ascending order, the one at position floor(n / 3) from 0;
/// NaN for none. NaN is left out.
///
/// What disturbs a run mostly adds to it: a first run, other work, a lower clock for a while. Up to
/// a third of lucky runs and nearly two thirds of slow ones leave this value among the undisturbed
/// ones. The minimum would believe a single lucky run; the median gives way when a lower clock
/// lasts for half of the runs.
double quiet_time(std::span<const double> runs);

struct Screened {
  /// Per candidate its runs, run r made in round r; an empty row: the feed gave no time.
  Times times;
  std::vector<double> quiet;  ///< per candidate: quiet_time(); NaN where the feed gave no time
  /// Those that were kept to the last look, by (quiet time, list order). All of them have the same
  /// number of runs.
  std::vector<int> kept;
};

/// Screens candidates 0 .. count-1. Looks come after 1, 2, 4, ... and `most_runs` runs. After each
/// look but the last, candidates are kept in the order of (quiet time, list order) while their next
/// runs fit into half of the time that is left (all of it before the last look), at least
/// `least_kept` of them, and nobody more than kHopeless times slower than the first. The runs until
/// the next look are rounds in the order of round_order(). A candidate without a time is out.
Screened screen(int count, const ScreenRules& rules, const Feed& feed);

/// Races the kept ones, in screened order as their list order: inside a tie the quiet time decides.
/// Runs that screening made are the first rounds; the feed, which knows candidates by their own
/// numbers, is asked only for later ones. Positions in the result are those of `kept`.
Result race_screened(const Screened& screened, const Rules& rules, const Feed& feed);

}  // namespace furlong::race
