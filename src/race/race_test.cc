#include "race/race.hh"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

#include "support/shared.hh"

namespace furlong::race {
namespace {

using testing::shared_folder;
using testing::slurp;

TEST(Race, Vectors) {
  FURLONG_NEEDS_SHARED("vectors/race.jsonl");
  std::istringstream lines(slurp(shared_folder() / "vectors/race.jsonl"));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto item = nlohmann::ordered_json::parse(line);
    const auto names = item["candidates"].get<std::vector<std::string>>();
    const Rules rules = rules_of(*parse_tier(item["tier"].get<std::string>()));
    const auto feed = [&](int c, int r) -> std::optional<double> {
      return item["ms"][names[static_cast<std::size_t>(c)]][static_cast<std::size_t>(r)]
          .get<double>();
    };
    const Result result = race(static_cast<int>(names.size()), rules, feed);
    const auto& want = item["expected"];
    EXPECT_EQ(verdict_name(result.verdict), want["verdict"].get<std::string>()) << number;
    EXPECT_EQ(result.rounds, want["rounds"].get<int>()) << number;
    nlohmann::json eliminated = nlohmann::json::object();
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (result.eliminated_after[c] != 0) eliminated[names[c]] = result.eliminated_after[c];
    }
    EXPECT_EQ(eliminated, nlohmann::json(want["eliminated"])) << number;
    std::vector<std::string> ranked;
    for (const int c : ranking(result)) ranked.push_back(names[static_cast<std::size_t>(c)]);
    EXPECT_EQ(ranked, want["ranked"].get<std::vector<std::string>>()) << number;
  }
  EXPECT_EQ(number, 150);
}

TEST(Race, SignBoundIsTheBinomialQuantile) {
  EXPECT_EQ(sign_bound(3, 0.80), 1);  // 1/8 <= 0.2, 4/8 > 0.2
  EXPECT_EQ(sign_bound(2, 0.80), 0);
  EXPECT_EQ(sign_bound(4, 0.90), 1);
  EXPECT_EQ(sign_bound(6, 0.98), 1);
  EXPECT_EQ(sign_bound(16, 0.98), 4);  // P(< 4) = 697/65536
}

TEST(Race, RoundsRotateAndReverse) {
  const std::vector<int> live = {2, 5, 7};
  EXPECT_EQ(round_order(live, 0, false), (std::vector<int>{2, 5, 7}));
  EXPECT_EQ(round_order(live, 1, false), (std::vector<int>{5, 7, 2}));
  EXPECT_EQ(round_order(live, 1, true), (std::vector<int>{7, 5, 2}));
  EXPECT_EQ(round_order(live, 2, true), (std::vector<int>{5, 7, 2}));
  EXPECT_EQ(round_order(live, 3, true), (std::vector<int>{2, 7, 5}));
}

TEST(Race, RankKeepsListOrderWithinTheTie) {
  EXPECT_EQ(rank(std::vector<double>{1.03, 2.0, 1.0, 1.5}), (std::vector<int>{0, 2, 3, 1}));
  EXPECT_EQ(rank(std::vector<double>{1.0301, 1.0}), (std::vector<int>{1, 0}));
  EXPECT_TRUE(rank({}).empty());
}

TEST(Race, AFailureInTheMiddleIsOutAndTheRestGoesOn) {
  const Rules rules = rules_of(Tier::kCoarse);
  const Result result = race(3, rules, [](int c, int r) -> std::optional<double> {
    if (c == 0 && r == 2) return std::nullopt;
    return c == 2 ? 1.2 : 1.0;
  });
  EXPECT_TRUE(result.failed[0]);
  EXPECT_EQ(ranking(result), (std::vector<int>{1, 2}));
  const Result none = race(1, rules, [](int, int) { return std::optional<double>(); });
  EXPECT_TRUE(ranking(none).empty());
}

/// Log-normal noise around a median of 1 with spikes upwards.
class Noise {
 public:
  Noise(unsigned seed, double sigma, double spikes)
      : engine_(seed), sigma_(sigma), spikes_(spikes) {}
  double operator()() {
    const double base = std::exp(sigma_ * normal_(engine_));
    return uniform_(engine_) < spikes_ ? base * 3 : base;
  }

 private:
  std::mt19937 engine_;
  double sigma_;
  double spikes_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

TEST(RaceNoise, EqualCandidatesAreRarelyEliminated) {
  int eliminated = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Noise noise(seed, 0.02, 0.05);
    const Result result =
        race(2, rules_of(Tier::kDeep), [&](int, int) { return std::optional(noise()); });
    for (const int after : result.eliminated_after) eliminated += after != 0;
  }
  EXPECT_LE(eliminated, 15);
}

TEST(RaceNoise, DriftCancels) {
  for (const Tier tier : {Tier::kPreview, Tier::kCoarse, Tier::kDeep}) {
    double step = 1;
    const Result result = race(3, rules_of(tier), [&](int c, int) {
      step *= 1.01;
      return std::optional((c == 1 ? 1.0 : 1.5) * step);
    });
    EXPECT_EQ(ranking(result).front(), 1);
    EXPECT_TRUE(result.survived(1));
  }
}

TEST(RaceNoise, OneLuckyShotDecidesNothing) {
  for (const Tier tier : {Tier::kPreview, Tier::kCoarse, Tier::kDeep}) {
    for (int lucky = 0; lucky < rules_of(tier).min_rounds; ++lucky) {
      const Result result = race(2, rules_of(tier), [&](int c, int r) {
        if (c == 1) return std::optional(r == lucky ? 0.5 : 1.2);
        return std::optional(1.0);
      });
      EXPECT_EQ(ranking(result).front(), 0) << tier_name(tier) << lucky;
    }
  }
}

TEST(RaceNoise, ClearDifferencesAreFound) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Noise noise(seed, 0.02, 0.05);
    const Result result = race(2, rules_of(Tier::kDeep), [&](int c, int) {
      return std::optional((c == 0 ? 1.3 : 1.0) * noise());
    });
    EXPECT_EQ(ranking(result).front(), 1) << seed;
  }
}

Times some_times(int count, int rounds) {
  Times times(static_cast<std::size_t>(count));
  for (auto& row : times) {
    const int base = *rc::gen::inRange(80, 200);
    for (int r = 0; r < rounds; ++r) row.push_back(base + *rc::gen::inRange(0, 20) + 0.0);
  }
  return times;
}

Result race_over(const Times& times, const Rules& rules) {
  return race(static_cast<int>(times.size()), rules, [&](int c, int r) {
    return std::optional(times[static_cast<std::size_t>(c)][static_cast<std::size_t>(r)]);
  });
}

RC_GTEST_PROP(RaceProperty, EliminatedStayOutAndTheRankingIsComplete, ()) {
  const int count = *rc::gen::inRange(1, 7);
  const Times times = some_times(count, 16);
  const Result result = race_over(times, rules_of(Tier::kDeep));
  RC_ASSERT(result.rounds >= 6);
  RC_ASSERT(result.rounds <= 16);
  for (int c = 0; c < count; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const int last = result.eliminated_after[i] != 0 ? result.eliminated_after[i] : result.rounds;
    RC_ASSERT(result.times[i].size() == static_cast<std::size_t>(last));
  }
  auto ranked = ranking(result);
  RC_ASSERT(result.survived(ranked.front()));
  bool seen_eliminated = false;
  for (const int c : ranked) {
    if (!result.survived(c)) seen_eliminated = true;
    RC_ASSERT(!(seen_eliminated && result.survived(c)));
  }
  std::sort(ranked.begin(), ranked.end());
  RC_ASSERT(static_cast<int>(ranked.size()) == count);
}

/// With distinct medians, no step depends on where in the list a candidate stands.
RC_GTEST_PROP(RaceProperty, StepsAreEquivariantUnderRelabelling, ()) {
  const int count = *rc::gen::inRange(2, 6);
  const int rounds = *rc::gen::inRange(1, 13);
  Times times = some_times(count, rounds);
  for (std::size_t c = 0; c < times.size(); ++c) {
    for (double& time : times[c]) time += 1e-3 * static_cast<double>(c);
  }
  std::vector<int> permutation(static_cast<std::size_t>(count));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::mt19937 engine(static_cast<unsigned>(*rc::gen::inRange(0, 1 << 20)));
  std::shuffle(permutation.begin(), permutation.end(), engine);
  Times moved(times.size());
  for (std::size_t c = 0; c < times.size(); ++c) {
    moved[static_cast<std::size_t>(permutation[c])] = times[c];
  }
  std::vector<int> live(static_cast<std::size_t>(count));
  std::iota(live.begin(), live.end(), 0);
  const Step plain = race_step(times, live, rounds, rules_of(Tier::kCoarse));
  const Step other = race_step(moved, live, rounds, rules_of(Tier::kCoarse));
  std::vector<int> expected;
  for (const int c : plain.eliminated) expected.push_back(permutation[static_cast<std::size_t>(c)]);
  std::sort(expected.begin(), expected.end());
  RC_ASSERT(other.eliminated == expected);
  RC_ASSERT(other.verdict == plain.verdict);
}

}  // namespace
}  // namespace furlong::race
