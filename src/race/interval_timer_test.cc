#include "race/interval_timer.hh"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace furlong::race {
namespace {

constexpr double kLook = 1e-6;

/// A machine with one core and somebody else who works on it now and then: `busy_from` to
/// `busy_to`, in its own time. Everything takes twice as long then.
struct FakeMachine : Problem {
  double now_s = 0;
  double busy_from = 1e9;
  double busy_to = 1e9;
  double call_s = 20e-6;
  double restore_s = 0;
  int runs = 0;
  int restores = 0;
  int ring = 0;
  int throw_at_run = 0;
  bool fresh = false;

  void work(double seconds) {
    const bool busy = now_s >= busy_from && now_s < busy_to;
    now_s += busy ? 2 * seconds : seconds;
  }
  Now clock = [this] { return now_s; };
  CoreWatch watch{[this] {
    const double start = now_s;
    work(kLook);
    return now_s - start;
  }};

  FakeMachine() { watch.learn(); }

  select::Refusal can_run(int) override { return {}; }
  std::int64_t copy_bytes() const override { return 100; }
  void resize_ring(int copies) override { ring = copies; }
  void restore(int copies) override {
    ASSERT_LE(copies, ring);
    ++restores;
    fresh = true;
    work(restore_s);
  }
  void run(int, int, int count) override {
    EXPECT_TRUE(fresh);
    fresh = false;
    if (++runs == throw_at_run) throw std::runtime_error("no");
    for (int i = 0; i < count; ++i) work(call_s);
  }
  std::string verify(int) override { return ""; }
  void adopt_witness(int) override {}
};

TEST(IntervalTimer, AShortIntervalFollowsAnUntimedOne) {
  FakeMachine machine;
  IntervalTimer timer(machine, machine.clock, machine.watch);
  Patience patience{1};
  EXPECT_NEAR(timer.time_quietly(0, 3, 60e-6, patience).seconds, 60e-6, 1e-9);
  EXPECT_EQ(machine.runs, 2);
  EXPECT_EQ(machine.restores, 2);
  timer.time_quietly(0, 3, IntervalTimer::kPrimed, patience);
  EXPECT_EQ(machine.runs, 3);
  timer.time(0, 3);
  EXPECT_EQ(machine.runs, 4);
  EXPECT_EQ(patience.repeated, 0);
  EXPECT_EQ(patience.disturbed, 0);
}

TEST(IntervalTimer, WaitsForAQuietCore) {
  FakeMachine machine;
  IntervalTimer timer(machine, machine.clock, machine.watch);
  Patience patience{1};
  machine.busy_from = machine.now_s;
  machine.busy_to = machine.now_s + 1e-3;
  EXPECT_NEAR(timer.time_quietly(0, 1, 20e-6, patience).seconds, 20e-6, 1e-9);
  EXPECT_EQ(machine.runs, 2);
  EXPECT_EQ(patience.repeated, 0);
  EXPECT_NEAR(patience.spent_s, 1e-3, 0.1e-3);
  EXPECT_NEAR(patience.left_s + patience.spent_s, 1, 1e-9);
}

TEST(IntervalTimer, ADisturbedIntervalIsTimedAgain) {
  // Somebody comes while the timed interval is on its way, and stays for a millisecond.
  for (const double comes : {25e-6, 45e-6, 65e-6, 75e-6}) {
    FakeMachine machine;
    IntervalTimer timer(machine, machine.clock, machine.watch);
    Patience patience{1};
    machine.busy_from = machine.now_s + comes;
    machine.busy_to = machine.busy_from + 1e-3;
    EXPECT_NEAR(timer.time_quietly(0, 2, 40e-6, patience).seconds, 40e-6, 1e-9) << comes;
    EXPECT_EQ(patience.repeated, 1) << comes;
    EXPECT_EQ(patience.disturbed, 0) << comes;
    EXPECT_GT(patience.spent_s, 1e-3) << comes;
  }
}

TEST(IntervalTimer, WhatIsDisturbedBeforeItIsNotRun) {
  FakeMachine machine;
  IntervalTimer timer(machine, machine.clock, machine.watch);
  Patience patience{1};
  machine.restore_s = 1e-4;
  machine.busy_from = machine.now_s + 5e-5;  // after the looks that come first
  machine.busy_to = machine.busy_from + 1e-3;
  timer.time_quietly(0, 100, 2e-3, patience);
  EXPECT_EQ(patience.repeated, 1);
  EXPECT_EQ(machine.runs, 1);
}

TEST(IntervalTimer, WithoutPatienceADisturbedIntervalCounts) {
  FakeMachine machine;
  IntervalTimer timer(machine, machine.clock, machine.watch);
  Patience patience{1e-3};
  machine.busy_from = machine.now_s;
  EXPECT_NEAR(timer.time_quietly(0, 1, 20e-6, patience).seconds, 40e-6, 1e-9);
  EXPECT_EQ(patience.disturbed, 1);
  EXPECT_LE(patience.left_s, 0);
  EXPECT_NEAR(patience.spent_s, 1e-3, 0.1e-3);
  timer.time_quietly(0, 1, 20e-6, patience);
  EXPECT_EQ(patience.disturbed, 2);
  EXPECT_EQ(patience.repeated, 0);
}

TEST(IntervalTimer, WhatACandidateThrowsIsHandedOn) {
  for (const int run : {1, 2}) {
    FakeMachine machine;
    machine.throw_at_run = run;
    IntervalTimer timer(machine, machine.clock, machine.watch);
    Patience patience{1};
    const Interval interval = timer.time_quietly(0, 1, 20e-6, patience);
    ASSERT_TRUE(interval.thrown) << run;
    EXPECT_THROW(std::rethrow_exception(interval.thrown), std::runtime_error);
    EXPECT_EQ(machine.runs, run);
  }
}

TEST(IntervalTimer, AWatchWithoutAProbeCostsNoPatience) {
  FakeMachine machine;
  CoreWatch blind({});
  IntervalTimer timer(machine, machine.clock, blind);
  Patience patience;
  machine.busy_from = machine.now_s;
  EXPECT_NEAR(timer.time_quietly(0, 1, 20e-6, patience).seconds, 40e-6, 1e-9);
  EXPECT_EQ(patience.repeated + patience.disturbed, 0);
  EXPECT_EQ(patience.spent_s, 0);
}

}  // namespace
}  // namespace furlong::race
