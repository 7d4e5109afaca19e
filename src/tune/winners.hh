// Winners: how well ways of picking one of many candidates do on recorded runs.
//
// Pure and reproducible: runs are shuffled with a fixed seed, one half is shown to a strategy, the
// other half judges what it picked. docs/measuring.md shows the figures.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "race/race.hh"

namespace furlong::tune {

/// Picks one of `count` candidates. The feed gives run `round` of a candidate, from 0; every call
/// costs the run's time.
struct Strategy {
  std::string name;
  std::function<int(int count, const race::Feed& feed)> pick;
};

/// In this order: one run each; the smallest minimum of ten; the smallest mean of seven; plain
/// halving; screen() and race_screened() at tier coarse.
///
/// Plain halving here: one run each, then again and again the better quarter by median goes on with
/// twice the runs, up to 16: each look costs about half of what the one before did.
std::vector<Strategy> strategies();

/// How the runs of a space are shuffled.
enum class Shuffle {
  kTogether,  ///< one order for all candidates: what one round had in common stays in one round
  kApart,     ///< each candidate has its own order
};

struct PickReport {
  double regret = 0;      ///< mean over shuffles of judged(picked) / judged(best) - 1
  double cost_share = 0;  ///< time of the runs asked for, to that of seven runs of each candidate
  double flips = 0;       ///< share of shuffles where another candidate than the judges' best won
  double largest_share = 0;  ///< the largest cost share of a shuffle
};

/// Lets each strategy pick in `shuffles` shuffles of `runs` ([candidate][run], all rows of one even
/// size). The first half of the shuffled runs is what a strategy may ask for; a candidate's judged
/// time is the median of the second half. Seven runs of a candidate cost seven times the mean of
/// all its runs. Throws std::invalid_argument for rows that are empty, odd or of different sizes,
/// and for a strategy that asks for what it may not see.
std::vector<PickReport> judge(std::span<const std::vector<double>> runs,
                              std::span<const Strategy> strategies, Shuffle shuffle, int shuffles,
                              std::uint64_t seed);

}  // namespace furlong::tune
