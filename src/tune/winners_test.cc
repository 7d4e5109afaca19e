#include "tune/winners.hh"

#include <gtest/gtest.h>

#include <stdexcept>

#include "host/gzip.hh"
#include "support/shared.hh"
#include "tune/import_kernel_tuner.hh"

namespace furlong::tune {
namespace {

using Runs = std::vector<std::vector<double>>;

Strategy always(int candidate, int runs) {
  return {"always", [candidate, runs](int, const race::Feed& feed) {
            for (int run = 0; run < runs; ++run) feed(candidate, run);
            return candidate;
          }};
}

TEST(Winners, RegretCostAndFlips) {
  const Runs runs = {{2, 2, 2, 2}, {3, 3, 3, 3}, {4, 4, 4, 4}};
  const std::vector<Strategy> strategies = {always(0, 1), always(1, 2)};
  const auto reports = judge(runs, strategies, Shuffle::kApart, 5, 1);
  EXPECT_DOUBLE_EQ(reports[0].regret, 0);
  EXPECT_DOUBLE_EQ(reports[0].flips, 0);
  EXPECT_DOUBLE_EQ(reports[0].cost_share, 2.0 / 63);
  EXPECT_DOUBLE_EQ(reports[1].regret, 0.5);
  EXPECT_DOUBLE_EQ(reports[1].flips, 1);
  EXPECT_DOUBLE_EQ(reports[1].cost_share, 6.0 / 63);
  EXPECT_DOUBLE_EQ(reports[1].largest_share, 6.0 / 63);
}

TEST(Winners, AStrategySeesHalfAndTheOtherHalfJudges) {
  Runs runs(2);
  for (int run = 0; run < 32; ++run) {
    runs[0].push_back(run);
    runs[1].push_back(100 + run);
  }
  for (const Shuffle shuffle : {Shuffle::kTogether, Shuffle::kApart}) {
    int equal = 0;
    double seen = 0;
    const Strategy look = {"look", [&](int, const race::Feed& feed) {
                             for (int run = 0; run < 16; ++run) {
                               equal += *feed(0, run) + 100 == *feed(1, run) ? 1 : 0;
                               seen += *feed(0, run);
                             }
                             return 0;
                           }};
    judge(runs, std::vector<Strategy>{look}, shuffle, 10, 3);
    EXPECT_EQ(equal == 160, shuffle == Shuffle::kTogether);
    EXPECT_NEAR(seen / 160, 15.5, 2);
    EXPECT_THROW(judge(runs, std::vector<Strategy>{always(0, 17)}, shuffle, 1, 3),
                 std::invalid_argument);
  }
  EXPECT_THROW(judge(Runs{{1, 2, 3}}, strategies(), Shuffle::kApart, 1, 1), std::invalid_argument);
  EXPECT_THROW(judge(Runs{{1, 2}, {1}}, strategies(), Shuffle::kApart, 1, 1),
               std::invalid_argument);
  EXPECT_THROW(judge(Runs{}, strategies(), Shuffle::kApart, 1, 1), std::invalid_argument);
}

TEST(Winners, WhatWasShownDoesNotJudge) {
  // Who saw the slow run of the first candidate knows that its fast one is left to judge.
  const Strategy opposite = {"opposite",
                             [](int, const race::Feed& feed) { return *feed(0, 0) > 5 ? 0 : 1; }};
  const auto report =
      judge(Runs{{1, 9}, {5, 5}}, std::vector<Strategy>{opposite}, Shuffle::kApart, 20, 1).front();
  EXPECT_EQ(report.regret, 0);
  EXPECT_EQ(report.flips, 0);
}

TEST(Winners, EveryStrategyFindsAClearWinner) {
  Runs runs;
  for (int c = 0; c < 40; ++c) runs.emplace_back(32, c == 23 ? 1.0 : 2.0 + c);
  const auto all = strategies();
  const auto reports = judge(runs, all, Shuffle::kApart, 3, 1);
  ASSERT_EQ(reports.size(), 5u);
  const std::vector<double> costs = {1.0 / 7, 10.0 / 7, 1.0};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(reports[i].flips, 0) << all[i].name;
    if (i < costs.size()) {
      EXPECT_NEAR(reports[i].cost_share, costs[i], 1e-12) << all[i].name;
    } else {
      EXPECT_LT(reports[i].cost_share, 0.25) << all[i].name;
    }
  }
}

/// The limits that the project sets itself, on recorded spaces.
TEST(Winners, ScreeningKeepsItsLimitsOnRealSpaces) {
  FURLONG_NEEDS_SHARED("real/benchmark_hub");
  const std::vector<std::string> names = {"convolution.A100",   "convolution.A4000",
                                          "convolution.MI250X", "convolution.W6600",
                                          "dedispersion.A100",  "dedispersion.MI250X"};
  const std::vector<Strategy> screening = {strategies().back()};
  std::vector<PickReport> sums(2);
  for (const std::string& name : names) {
    const auto file = testing::shared_folder() / "real/benchmark_hub" / (name + ".json.gz");
    ImportNames any;
    any.device = "any";
    const auto space = read_kernel_tuner(host::gunzip(testing::slurp(file), name), name, any);
    Runs runs;
    for (const auto& one : space.configurations) {
      if (!one.runs_ms.empty()) runs.push_back(one.runs_ms);
    }
    for (const Shuffle shuffle : {Shuffle::kTogether, Shuffle::kApart}) {
      const auto report = judge(runs, screening, shuffle, 60, 1).front();
      PickReport& sum = sums[static_cast<std::size_t>(shuffle)];
      sum.regret += report.regret / static_cast<double>(names.size());
      sum.cost_share += report.cost_share / static_cast<double>(names.size());
      sum.flips += report.flips / static_cast<double>(names.size());
      EXPECT_LE(report.cost_share, 0.18) << name;
    }
  }
  for (const PickReport& mean : sums) {
    EXPECT_LE(mean.regret, 0.0018);
    EXPECT_LE(mean.cost_share, 0.18);
    EXPECT_LE(mean.flips, 0.16);
  }
}

}  // namespace
}  // namespace furlong::tune
