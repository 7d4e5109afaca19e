// Race: which of several candidates is fastest at one cell, decided round by round.
//
// Pure: times come from a feed, no clock and no device. A round times one repetition of each live
// candidate; after it `race_step` drops who is confidently slower than the leader and says whether
// to go on. Statements about two candidates rest on the paired ratios of their rounds (a sign-test
// bound of their median), so a drift that both see cancels and one lucky repetition decides
// nothing. docs/measuring.md says what the numbers promise.
//
// Thread rule: values and free functions; no shared state.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "furlong/tier.hh"

namespace furlong::race {

/// Two times within this factor are a tie.
inline constexpr double kTieFactor = 1.03;

/// A candidate this many times slower than the leader goes before the minimum of rounds.
inline constexpr double kHopeless = 4;

/// How a tier races.
struct Rules {
  int min_rounds = 4;
  int max_rounds = 12;
  double confidence = 0.90;  ///< one-sided, per look
  bool reverse_odd = false;  ///< odd rounds run in reversed order

  bool operator==(const Rules&) const = default;
};

/// The rules of a tier; `custom` and the imported tiers race as coarse.
Rules rules_of(Tier tier);

enum class Verdict { kWinner, kTie, kCap, kMore };
std::string_view verdict_name(Verdict verdict);

/// times[c][r] = time of candidate c in round r; NaN = did not run then. A row may be shorter than
/// the rounds so far.
using Times = std::vector<std::vector<double>>;

struct Step {
  Verdict verdict = Verdict::kMore;
  std::vector<int> eliminated;  ///< in list order
};

/// The middle value, the mean of the middle two for an even count; NaN for none. NaN is left out.
double median(std::span<const double> values);

/// The largest k with P(Bin(n, 1/2) < k) <= 1 - confidence.
int sign_bound(int n, double confidence);

/// Looks at the times after `rounds` rounds. `live` in list order.
Step race_step(const Times& times, std::span<const int> live, int rounds, const Rules& rules);

/// The order in which round `round` (from 0) runs the live candidates.
std::vector<int> round_order(std::span<const int> live, int round, bool reverse_odd);

/// Positions of `times`, which is in list order: everyone within the tie of the best in list order,
/// then the rest by (time, list order). Times are finite.
std::vector<int> rank(std::span<const double> times);

/// What became of the candidates of a race.
struct Result {
  Verdict verdict = Verdict::kWinner;
  int rounds = 0;
  Times times;
  std::vector<int> eliminated_after;  ///< per candidate: the round, from 1; 0 = not eliminated
  std::vector<bool> failed;           ///< per candidate: the feed gave no time
  std::vector<double> medians;        ///< per candidate; NaN without a time

  bool survived(int candidate) const {
    const auto i = static_cast<std::size_t>(candidate);
    return eliminated_after[i] == 0 && !failed[i];
  }
};

/// Time of one repetition of a candidate in a round (from 0); nothing = it failed and is out.
using Feed = std::function<std::optional<double>(int candidate, int round)>;

/// Hears of eliminations after each round; may be empty.
using OnRound = std::function<void(int round, std::span<const int> eliminated)>;

/// Races candidates 0 .. count-1 (their list order). A lone one runs min rounds.
Result race(int count, const Rules& rules, const Feed& feed, const OnRound& on_round = {});

/// The record's ranking: survivors by rank(), then the eliminated by (median, list order).
/// Candidates in `out` are left out.
std::vector<int> ranking(const Result& result, std::span<const int> out = {});

}  // namespace furlong::race
