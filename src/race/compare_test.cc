#include "race/compare.hh"

#include <gtest/gtest.h>

#include <chrono>

namespace furlong::race {
namespace {

/// Each candidate takes a fixed time of a fake clock.
class TimedProblem : public Problem {
 public:
  TimedProblem(host::FakeClock& clock, std::vector<int> call_us)
      : clock_(clock), call_us_(std::move(call_us)) {}
  select::Refusal can_run(int) override { return {}; }
  std::int64_t copy_bytes() const override { return 100; }
  void resize_ring(int copies) override { ring_ = copies; }
  void restore(int copies) override {
    EXPECT_LE(copies, ring_);
    restored_ = copies;
    clock_.advance(std::chrono::seconds(1));  // outside the interval: must not count
  }
  void run(int candidate, int first, int count) override {
    EXPECT_EQ(first, 0);
    EXPECT_EQ(count, restored_);
    restored_ = 0;  // a second run without restore() would fail the line above
    clock_.advance(std::chrono::microseconds(call_us_[static_cast<std::size_t>(candidate + 1)]) *
                   count);
  }
  void move_ring(int place) override {
    EXPECT_EQ(place, places);
    ++places;
  }
  std::string verify(int) override { return ""; }
  void adopt_witness(int) override {}

  int places = 0;

 private:
  host::FakeClock& clock_;
  std::vector<int> call_us_;
  int ring_ = 0;
  int restored_ = 0;
};

TEST(Compare, TimesPerCallAndPairsRounds) {
  host::FakeClock clock{std::chrono::system_clock::time_point{}};
  TimedProblem problem(clock, {2, 2, 4, 50});
  CoreWatch unwatched({});
  const auto result = compare(problem, {Problem::kAuto, 0, 1, 2}, {.rounds = 5}, clock, unwatched);
  ASSERT_EQ(result.size(), 4u);
  EXPECT_EQ(problem.places, 6) << "one a round, and one for the round that warms up";
  EXPECT_NEAR(result[0].median_ms, 0.002, 1e-9);
  EXPECT_NEAR(result[2].median_ms, 0.004, 1e-9);
  EXPECT_EQ(result[3].ms.size(), 5u);
  EXPECT_NEAR(paired_ratio(result[3].ms, result[0].ms), 25, 1e-6);
  const auto regret = held_out_regret(result[2], result);
  EXPECT_EQ(regret.best, Problem::kAuto);
  EXPECT_NEAR(regret.ratio, 2, 1e-6);
}

TEST(Compare, ALuckyRoundIsNotItsOwnProof) {
  // Candidate 1 shines in the even rounds only; judged on the odd ones, nothing was lost, and the
  // odd rounds do not name it.
  const Contender picked{0, {1, 1, 1, 1}, 1};
  const Contender lucky{1, {0.5, 1, 0.5, 1}, 0.75};
  const auto regret = held_out_regret(picked, {picked, lucky});
  EXPECT_EQ(regret.best, 1);
  EXPECT_DOUBLE_EQ(regret.ratio, 1);
}

}  // namespace
}  // namespace furlong::race
