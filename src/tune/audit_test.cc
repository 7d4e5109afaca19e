#include "tune/audit.hh"

#include <gtest/gtest.h>

#include "tune/guard.hh"

namespace furlong::tune {
namespace {

ledger::Cell cell(const std::vector<std::pair<std::string, double>>& times) {
  ledger::Cell made;
  made.dtype = "float";
  made.key = "n=8";
  for (const auto& [name, ms] : times) {
    ledger::Outcome outcome;
    outcome.candidate = name;
    outcome.median_ms = ms;
    outcome.status = ms > 0 ? ledger::Status::kOk : ledger::Status::kBad;
    made.outcomes.push_back(outcome);
    if (ms > 0) made.ranked.push_back(name);
  }
  return made;
}

TEST(Audit, ComparesTheWinnerInBothProcesses) {
  const auto warm = cell({{"a", 1.0}, {"b", 2.0}, {"c", 3.0}});
  const auto verdict = [&](const ledger::Cell& fresh) {
    return compare_fresh(warm, &fresh).verdict;
  };
  EXPECT_EQ(verdict(cell({{"a", 1.09}, {"b", 2.0}, {"c", 3.0}})), "ok");
  EXPECT_EQ(verdict(cell({{"a", 0.5}, {"b", 2.0}, {"c", 3.0}})), "ok");
  EXPECT_EQ(verdict(cell({{"a", 1.11}, {"b", 2.0}, {"c", 3.0}})), "mismatch:slower");
  EXPECT_EQ(verdict(cell({{"a", 1.5}, {"b", 3.0}, {"c", 4.5}})), "inconclusive");
  EXPECT_EQ(verdict(cell({{"a", 1.0}, {"b", 2.0}, {"c", 0}})), "mismatch:candidates");
  // The winner is none of the others that say whether everything is slower.
  const auto two = cell({{"a", 1.0}, {"b", 2.0}});
  const auto slower = cell({{"a", 1.5}, {"b", 2.0}});
  EXPECT_EQ(compare_fresh(two, &slower).verdict, "mismatch:slower");
  EXPECT_EQ(compare_fresh(two, &slower).warm_ms, 1.0);
  EXPECT_EQ(compare_fresh(two, &slower).fresh_ms, 1.5);
  EXPECT_EQ(compare_fresh(warm, nullptr).verdict, "inconclusive");
  EXPECT_EQ(compare_fresh(cell({}), &warm).verdict, "inconclusive");
  const auto audit = compare_fresh(warm, &warm);
  EXPECT_EQ(audit.what, "fresh");
  EXPECT_EQ(audit.key, "n=8");
  EXPECT_EQ(audit.warm_ms, 1.0);
  EXPECT_EQ(audit.fresh_ms, 1.0);
}

TEST(Audit, AShareOfTheCellsAndAlwaysTheFirst) {
  int audited = 0;
  for (int n = 1; n <= 5000; ++n) {
    const auto key = CellKey::parse("n=" + std::to_string(n)).value();
    EXPECT_TRUE(is_audited(key, 0, true));
    EXPECT_FALSE(is_audited(key, 0, false));
    EXPECT_EQ(is_audited(key, 0.1, false), is_audited(key, 0.1, false));
    audited += is_audited(key, 0.1, false) ? 1 : 0;
  }
  EXPECT_GT(audited, 400);
  EXPECT_LT(audited, 600);
}

/// A core whose times are told.
struct Core {
  host::CoreTimes times{100, 1, 0.01};
  double own = 5;
  double now = 0;
  LoadMeter meter() {
    return {[this] { return times; }, [this] { return own; }, [this] { return now; }};
  }
};

TEST(Guard, OthersAndStolenTimeCountOwnDoesNot) {
  Core core;
  Guard guard(core.meter(), 0.05);
  const auto after = [&](double wall, double busy, double steal, double own) {
    guard.begin();
    core.now += wall;
    core.times.busy_s += busy;
    core.times.steal_s += steal;
    core.own += own;
    return guard.end();
  };
  EXPECT_FALSE(guard.disturbed(after(1, 1, 0, 1)));
  EXPECT_FALSE(guard.disturbed(after(1, 0.06, 0, 0))) << "within the resolution";
  EXPECT_TRUE(guard.disturbed(after(1, 0.08, 0, 0)));
  EXPECT_FALSE(guard.disturbed(after(0.03, 0.05, 0, 0.03))) << "one tick proves nothing";
  const auto stolen = after(1, 1, 0.2, 0.8);
  EXPECT_TRUE(guard.disturbed(stolen));
  EXPECT_NEAR(stolen.share, 0.18, 1e-9);
  EXPECT_NEAR(stolen.steal_share, 0.18, 1e-9);
  EXPECT_EQ(after(0, 1, 0, 0).share, 0) << "no time passed";
}

TEST(Guard, WhatTheSystemDoesNotSayDisturbsNothing) {
  Guard guard({[] { return std::nullopt; }, [] { return 0.0; }, [] { return 0.0; }}, 0.05);
  guard.begin();
  EXPECT_FALSE(guard.disturbed(guard.end()));
}

TEST(CoreTimes, OfAStatText) {
  const std::string stat =
      "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 10 20 30 1000 50 60 70 80 5 5\ncpu1 1 1\n";
  const auto core = host::parse_core_times(stat, 0, 0.01);
  ASSERT_TRUE(core);
  EXPECT_NEAR(core->busy_s, 2.7, 1e-12);
  EXPECT_NEAR(core->steal_s, 0.8, 1e-12);
  EXPECT_TRUE(host::parse_core_times(stat, -1, 0.01));
  EXPECT_FALSE(host::parse_core_times(stat, 1, 0.01)) << "too few fields";
  EXPECT_FALSE(host::parse_core_times(stat, 2, 0.01)) << "no such core";
  EXPECT_FALSE(host::parse_core_times("", 0, 0.01));
  EXPECT_TRUE(host::process_seconds(0));
  EXPECT_FALSE(host::process_seconds((1 << 22) + 1));
}

}  // namespace
}  // namespace furlong::tune
