#include "race/screen.hh"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace furlong::race {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A synthetic space that counts what is asked of it.
class Space {
 public:
  using Noise = std::function<double(int candidate, int round)>;
  Space(std::vector<double> true_times, Noise noise)
      : true_times_(std::move(true_times)), noise_(std::move(noise)) {}

  Feed feed() {
    return [this](int candidate, int round) -> std::optional<double> {
      EXPECT_TRUE(asked_.emplace(candidate, round).second) << "one run is asked for once";
      const double time =
          true_times_[static_cast<std::size_t>(candidate)] * noise_(candidate, round);
      (round == 0 ? first_ : later_) += time;
      ++runs_[candidate];
      return time;
    };
  }
  int count() const { return static_cast<int>(true_times_.size()); }
  double later_share() const { return later_ / first_; }
  int runs(int candidate) const { return runs_.at(candidate); }

 private:
  std::vector<double> true_times_;
  Noise noise_;
  std::set<std::pair<int, int>> asked_;
  std::map<int, int> runs_;
  double first_ = 0;
  double later_ = 0;
};

double unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1.0p-53;
}

/// From 1 up, `count` of them, in a mixed-up order; the fastest is number `best`.
std::vector<double> mixed_up(int count, double spread, int best) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    times.push_back(1 + spread * ((i * 7919 + 1) % count + 1) / count);
  }
  times[static_cast<std::size_t>(best)] = 1;
  return times;
}

TEST(Screen, QuietTimeIsAThirdOfTheWayUp) {
  const auto quiet = [](std::vector<double> runs) { return quiet_time(runs); };
  EXPECT_TRUE(std::isnan(quiet({})));
  EXPECT_TRUE(std::isnan(quiet({kNaN})));
  EXPECT_EQ(quiet({3}), 3);
  EXPECT_EQ(quiet({4, 3}), 3);
  EXPECT_EQ(quiet({4, 3, 2}), 3);
  EXPECT_EQ(quiet({4, kNaN, 1, 2, 3}), 2);
  EXPECT_EQ(quiet({7, 1, 6, 2, 5, 3, 4, 8}), 3);
  EXPECT_EQ(quiet({16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 6);
}

TEST(Screen, QuietTimeStandsLuckyShotsAndALowClock) {
  std::vector<double> runs(16, 1.0);
  for (int i = 0; i < 5; ++i) runs[static_cast<std::size_t>(i)] = 0.5;
  EXPECT_EQ(quiet_time(runs), 1.0) << "up to a third lucky";
  runs.assign(16, 1.0);
  for (int i = 0; i < 10; ++i) runs[static_cast<std::size_t>(i)] = 1.1;
  EXPECT_EQ(quiet_time(runs), 1.0) << "nearly two thirds slow";
}

TEST(Screen, FindsTheBestOfThousandsForAFifthMore) {
  std::mt19937_64 random(7);
  int found = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const int best = static_cast<int>(random() % 3000);
    const std::vector<double> true_times = mixed_up(3000, 2, best);
    Space space(true_times, [&](int, int) {
      const double u = unit(random);  // every tenth run is up to 30 % slower
      return 1 + 0.002 * unit(random) + (u < 0.1 ? 3 * u : 0);
    });
    const Screened screened = screen(space.count(), {}, space.feed());
    const int first = screened.kept.front();
    found += first == best ? 1 : 0;
    EXPECT_LE(true_times[static_cast<std::size_t>(first)], 1.005) << trial;
    EXPECT_LE(space.later_share(), 0.21);
    for (const int candidate : screened.kept) EXPECT_EQ(space.runs(candidate), 16);
    EXPECT_TRUE(std::is_sorted(screened.kept.begin(), screened.kept.end(), [&](int a, int b) {
      return screened.quiet[static_cast<std::size_t>(a)] <
             screened.quiet[static_cast<std::size_t>(b)];
    }));
  }
  EXPECT_GE(found, 18);
}

TEST(Screen, AFlatSpaceCostsNoMore) {
  Space space(std::vector<double>(5000, 2.0), [](int, int) { return 1.0; });
  const Screened screened = screen(space.count(), {}, space.feed());
  EXPECT_LE(space.later_share(), 0.2 + 1e-12);
  EXPECT_GE(space.later_share(), 0.19);
  EXPECT_EQ(screened.kept.front(), 0) << "equal times stand in list order";
  EXPECT_GE(screened.kept.size(), 4u);
}

TEST(Screen, ADriftThatAllShareChangesNothing) {
  const auto still = [](int candidate, int round) {
    return 1 + 0.001 * ((candidate * 31 + round * 17) % 7);
  };
  const auto drifting = [&](int candidate, int round) {
    return still(candidate, round) * (1 + 0.05 * round);
  };
  Space a(mixed_up(1000, 1, 600), still);
  Space b(mixed_up(1000, 1, 600), drifting);
  EXPECT_EQ(screen(a.count(), {}, a.feed()).kept.front(), 600);
  EXPECT_EQ(screen(b.count(), {}, b.feed()).kept.front(), 600);
}

TEST(Screen, OneLuckyShotWinsNothing) {
  Space space(mixed_up(500, 1, 3),
              [](int candidate, int round) { return candidate == 400 && round == 0 ? 0.3 : 1.0; });
  const Screened screened = screen(space.count(), {}, space.feed());
  EXPECT_EQ(screened.kept.front(), 3);
}

TEST(Screen, TheHopelessGoAtOnceHoweverFew) {
  Space space({1.0, 4.5, 1.01, 5.0}, [](int, int) { return 1.0; });
  const Screened screened = screen(space.count(), {}, space.feed());
  EXPECT_EQ(screened.kept, (std::vector<int>{0, 2}));
  EXPECT_EQ(space.runs(1), 1);
  EXPECT_EQ(space.runs(0), 16);
}

TEST(Screen, FewAreKeptWhateverTheyCost) {
  Space space({1.0, 1.1, 1.2, 1.3, 1.4, 1.5}, [](int, int) { return 1.0; });
  EXPECT_EQ(screen(space.count(), {}, space.feed()).kept, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Screen, WhatGivesNoTimeIsOut) {
  const Feed feed = [](int candidate, int round) -> std::optional<double> {
    if (candidate == 1 || (candidate == 0 && round == 5)) return std::nullopt;
    return 1.0 + candidate;
  };
  const Screened screened = screen(4, {}, feed);
  EXPECT_EQ(screened.kept, (std::vector<int>{2, 3}));
  EXPECT_TRUE(screened.times[0].empty());
  EXPECT_TRUE(std::isnan(screened.quiet[0]));
  EXPECT_TRUE(std::isnan(screened.quiet[1]));
  EXPECT_TRUE(screen(0, {}, feed).kept.empty());
  EXPECT_TRUE(screen(3, {}, [](int, int) { return std::nullopt; }).kept.empty());
  EXPECT_EQ(screen(1, {}, [](int, int) { return 1.0; }).kept, (std::vector<int>{0}));
}

TEST(Screen, RaceGoesOverWhatWasRun) {
  Space space({1.02, 1.5, 1.0, 1.01}, [](int, int) { return 1.0; });
  const Screened screened = screen(space.count(), {}, space.feed());
  ASSERT_EQ(screened.kept, (std::vector<int>{2, 3, 0, 1}));
  const Rules coarse = rules_of(Tier::kCoarse);
  const Result result = race_screened(screened, coarse, [](int, int) -> std::optional<double> {
    ADD_FAILURE() << "16 runs are enough";
    return std::nullopt;
  });
  EXPECT_EQ(ranking(result), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(result.eliminated_after, (std::vector<int>{0, 0, 0, 4}));
  EXPECT_EQ(result.verdict, Verdict::kTie);

  ScreenRules two;
  two.most_runs = 2;
  const Screened early = screen(2, two, [](int c, int) { return 1.0 + 0.01 * c; });
  std::vector<std::pair<int, int>> asked;
  const Result more = race_screened(early, coarse, [&](int c, int r) -> std::optional<double> {
    asked.emplace_back(c, r);
    return 1.0 + 0.01 * c;
  });
  EXPECT_EQ(more.rounds, 4);
  EXPECT_EQ(asked, (std::vector<std::pair<int, int>>{{0, 2}, {1, 2}, {1, 3}, {0, 3}}));
}

RC_GTEST_PROP(Screen, NeverInventsOrForgets, ()) {
  const int count = *rc::gen::inRange(1, 60);
  ScreenRules rules;
  rules.most_runs = *rc::gen::inRange(1, 17);
  rules.least_kept = *rc::gen::inRange(0, 6);
  rules.extra = *rc::gen::inRange(0, 40) / 20.0;
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const Feed feed = [&](int candidate, int round) -> std::optional<double> {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(candidate) * 64 +
                           static_cast<std::uint64_t>(round));
    random.discard(3);
    if (unit(random) < 0.01) return std::nullopt;
    return 0.5 + unit(random);
  };
  const Screened screened = screen(count, rules, feed);
  RC_ASSERT(static_cast<int>(screened.times.size()) == count);
  bool any = false;
  for (std::size_t c = 0; c < screened.times.size(); ++c) {
    const auto& runs = screened.times[c];
    RC_ASSERT(runs.empty() == std::isnan(screened.quiet[c]));
    if (!runs.empty()) RC_ASSERT(screened.quiet[c] == quiet_time(runs));
    any = any || !runs.empty();
    for (std::size_t r = 0; r < runs.size(); ++r) {
      RC_ASSERT(runs[r] == feed(static_cast<int>(c), static_cast<int>(r)));
    }
  }
  RC_ASSERT(any || screened.kept.empty());
  const std::set<int> distinct(screened.kept.begin(), screened.kept.end());
  RC_ASSERT(distinct.size() == screened.kept.size());
  for (const int candidate : screened.kept) {
    RC_ASSERT(screened.times[static_cast<std::size_t>(candidate)].size() ==
              screened.times[static_cast<std::size_t>(screened.kept.front())].size());
  }
}

}  // namespace
}  // namespace furlong::race
