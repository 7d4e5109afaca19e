// Comparing candidates of one problem for a bench: every contender in every round, medians of
// paired ratios, and a best candidate picked and judged on different rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "furlong/op_spec.hh"
#include "host/clock.hh"
#include "race/core_watch.hh"

namespace furlong::race {

struct CompareOptions {
  int rounds = 11;              ///< timed rounds, after one that warms up
  double min_interval_us = 50;  ///< a repetition repeats the call until it lasts this long
  std::uint32_t seed = 1;       ///< of the order of the contenders
  double patience_s = 0.5;      ///< spent on waiting for a quiet core, at most
};

struct Contender {
  int candidate = Problem::kAuto;
  std::vector<double> ms;  ///< per round, per call
  double median_ms = 0;
};

/// Times every contender once a round, in an order shuffled anew each round, on fresh copies of the
/// inputs restored outside the interval, while nobody disturbs the core that `watch` watches. All
/// contenders must be able to run and have been verified.
std::vector<Contender> compare(Problem& problem, const std::vector<int>& candidates,
                               const CompareOptions& options, const host::Clock& clock,
                               CoreWatch& watch);

/// Median over rounds of a/b; NaN without rounds.
double paired_ratio(const std::vector<double>& a, const std::vector<double>& b);

/// How much slower `picked` is than the best of `contenders`. The best one is named by its median
/// over one half of the rounds, the ratio is the paired median over the other half, so that a lucky
/// round cannot make a candidate the best and then be its proof; the result is the geometric mean
/// of both ways round. 1 or less: nothing was faster. At least two rounds.
struct Regret {
  double ratio = 1;
  int best = -1;  ///< the fastest candidate by the median of all rounds
};
Regret held_out_regret(const Contender& picked, const std::vector<Contender>& contenders);

}  // namespace furlong::race
