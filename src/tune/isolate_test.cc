#include "tune/isolate.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "furlong/error.hh"
#include "support/simulated_worker.hh"

namespace furlong::tune {
namespace {

using testing::Fault;
using testing::is_correct;
using testing::SimulatedWorker;
using Status = ledger::Status;
using std::chrono::milliseconds;

race::CellRequest request_of(int n, std::size_t candidates) {
  race::CellRequest request;
  request.key = CellKey::parse("n=" + std::to_string(n) + ",batch=16").value();
  for (std::size_t i = 0; i < candidates; ++i) request.candidates.push_back(static_cast<int>(i));
  return request;
}

const ledger::Outcome& outcome(const race::CellResult& result, const std::string& name) {
  for (const auto& one : result.cell.outcomes) {
    if (one.candidate == name) return one;
  }
  throw std::runtime_error("no outcome of " + name);
}

TEST(Isolation, ACrashCostsOneCandidateNotTheCell) {
  SimulatedWorker::Shared shared(
      {{"good", 30e-6}, {"crash", 1e-6, Fault::kSegfault}, {"better", 20e-6}});
  std::vector<std::string> losses;
  Isolation isolation(
      shared.start(), milliseconds(1000),
      {[&](const std::string& how, const std::string&) { losses.push_back(how); }, {}});
  const auto result = isolation.measure(shared.spec, "float", request_of(4, 3));
  EXPECT_EQ(result.cell.ranked.front(), "better");
  EXPECT_EQ(outcome(result, "crash").status, Status::kError);
  EXPECT_EQ(outcome(result, "crash").reason, "crashed: SIGSEGV");
  EXPECT_EQ(outcome(result, "crash").hash, "0badcafe");
  EXPECT_EQ(outcome(result, "good").status, Status::kEliminated);
  // Twice together, then alone.
  EXPECT_EQ(losses.size(), 3u);
  EXPECT_EQ(isolation.restarts(), 3);
}

TEST(Isolation, WhatQuietIsNeedNotBeFoundOutAgain) {
  SimulatedWorker::Shared shared({{"good", 30e-6}, {"better", 20e-6}});
  bool busy = false;
  int looks = 0;
  shared.core_probe = [&] {
    ++looks;
    const double took = busy ? 4e-6 : 2e-6;
    shared.now += took;
    return took;
  };
  Isolation isolation(shared.start(), milliseconds(1000), {});
  EXPECT_EQ(isolation.measure(shared.spec, "float", request_of(4, 2)).quiet_s, 2e-6);
  EXPECT_GT(looks, race::CoreWatch::kFirstLooks);
  looks = 0;
  const auto fresh = isolation.measure_fresh(shared.spec, "float", request_of(4, 2));
  ASSERT_TRUE(fresh);
  EXPECT_LT(looks, race::CoreWatch::kFirstLooks);
  // A process that is never alone on its core knows it.
  busy = true;
  const auto disturbed = isolation.measure_fresh(shared.spec, "float", request_of(5, 2));
  ASSERT_TRUE(disturbed);
  EXPECT_EQ(disturbed->quiet_s, 2e-6);
  EXPECT_GT(disturbed->disturbed, 0);
}

TEST(Isolation, PatienceIsSavedForLaterRacesWhicheverProcessRunsThem) {
  SimulatedWorker::Shared shared({{"good", 30e-6}, {"better", 20e-6}});
  int looks = 0;
  shared.core_probe = [&] {
    // Never quiet for long; the quiet looks tell each new process what quiet is.
    const double took = ++looks % 5000 == 1 ? 2e-6 : 4e-6;
    shared.now += took;
    return took;
  };
  Isolation isolation(shared.start(), milliseconds(1000), {});
  const auto spent = [&](const race::CellResult& result) { return result.phases.disturbed_s; };
  constexpr double kSlack = 1e-3;
  const double each = request_of(4, 2).patience_s;
  EXPECT_NEAR(spent(isolation.measure(shared.spec, "float", request_of(4, 2))),
              Isolation::kSavedRaces * each, kSlack);
  isolation.use_one_process_a_cell("fault", "float");
  for (const int n : {5, 6}) {
    EXPECT_NEAR(spent(isolation.measure(shared.spec, "float", request_of(n, 2))), each, kSlack);
    const auto fresh = isolation.measure_fresh(shared.spec, "float", request_of(n, 2));
    ASSERT_TRUE(fresh);
    EXPECT_NEAR(spent(*fresh), each, kSlack);
  }
}

TEST(Isolation, AHangIsTold) {
  SimulatedWorker::Shared shared({{"good", 30e-6}, {"hang", 1e-6, Fault::kHangs}});
  Isolation isolation(shared.start(), milliseconds(1500), {});
  const auto result = isolation.measure(shared.spec, "float", request_of(4, 2));
  EXPECT_EQ(outcome(result, "hang").reason, "timed out: no answer within 1.5 s");
  EXPECT_EQ(result.cell.ranked.front(), "good");
}

TEST(Isolation, ManyThatTakeTheirTimeAreNoHang) {
  // Each turn of one takes half a second at most, all of them together many seconds.
  std::vector<testing::FaultCandidate> candidates;
  for (int c = 0; c < 8; ++c) candidates.push_back({fmt::format("c{}", c), 0.1 + 0.005 * c});
  SimulatedWorker::Shared shared(candidates);
  Isolation isolation(shared.start(), milliseconds(1000), {});
  const auto result = isolation.measure(shared.spec, "float", request_of(4, 8));
  ASSERT_EQ(isolation.restarts(), 0);
  EXPECT_EQ(result.cell.ranked.front(), "c0");
  EXPECT_GT(shared.now, 5);
}

TEST(Isolation, NeitherIsWaitingForTheCore) {
  SimulatedWorker::Shared shared({{"good", 30e-6}, {"better", 20e-6}});
  int looks = 0;
  shared.core_probe = [&] {
    const double took = ++looks % 5000 == 1 ? 2e-6 : 4e-6;
    shared.now += took;
    return took;
  };
  Isolation isolation(shared.start(), milliseconds(1000), {});
  const auto result = isolation.measure(shared.spec, "float", request_of(4, 2));
  EXPECT_EQ(isolation.restarts(), 0);
  EXPECT_GT(result.phases.disturbed_s, 2);
}

TEST(Isolation, ATurnThatIsTooLongIsAHang) {
  SimulatedWorker::Shared shared({{"good", 30e-6}, {"long", 2}, {"better", 20e-6}});
  Isolation isolation(shared.start(), milliseconds(1000), {});
  const auto result = isolation.measure(shared.spec, "float", request_of(4, 3));
  EXPECT_EQ(outcome(result, "long").reason, "timed out: no answer within 1 s");
  EXPECT_EQ(outcome(result, "good").status, Status::kEliminated);
  EXPECT_EQ(result.cell.ranked.front(), "better");
}

TEST(Isolation, TwoCellsBenchFiveDrop) {
  SimulatedWorker::Shared shared({{"good", 30e-6}, {"crash", 1e-6, Fault::kSegfault}});
  Isolation isolation(shared.start(), milliseconds(1000), {});
  std::vector<int> losses;
  std::string reason;
  for (int cell = 0; cell < 7; ++cell) {
    const int before = isolation.restarts();
    const auto result = isolation.measure(shared.spec, "float", request_of(1 + cell, 2));
    EXPECT_EQ(result.cell.ranked, std::vector<std::string>{"good"});
    EXPECT_EQ(outcome(result, "crash").status, Status::kError);
    reason = outcome(result, "crash").reason;
    losses.push_back(isolation.restarts() - before);
  }
  EXPECT_EQ(losses, (std::vector<int>{3, 3, 1, 1, 1, 0, 0}));
  EXPECT_TRUE(reason.starts_with("dropped: ")) << reason;
  // Another dtype starts anew.
  isolation.measure(shared.spec, "double", request_of(1, 2));
  EXPECT_EQ(isolation.restarts(), 12);
}

TEST(Isolation, ABenchedCandidateThatSurvivesAloneRacesAgain) {
  SimulatedWorker::Shared shared({{"good", 30e-6}, {"moody", 10e-6, Fault::kSegfault}});
  Isolation isolation(shared.start(), milliseconds(1000), {});
  for (int cell = 0; cell < 2; ++cell) {
    isolation.measure(shared.spec, "float", request_of(1 + cell, 2));
  }
  shared.world.candidates[1].fault = Fault::kNone;
  EXPECT_EQ(isolation.measure(shared.spec, "float", request_of(8, 2)).cell.ranked.front(), "moody");
  // Its streak is over: it takes two cells to be benched again.
  shared.world.candidates[1].fault = Fault::kSegfault;
  const int before = isolation.restarts();
  isolation.measure(shared.spec, "float", request_of(9, 2));
  EXPECT_EQ(isolation.restarts() - before, 3);
}

TEST(Isolation, NobodyIsLeft) {
  SimulatedWorker::Shared shared({{"a", 1e-6, Fault::kSegfault}, {"b", 1e-6, Fault::kHangs}});
  Isolation isolation(shared.start(), milliseconds(1000), {});
  const auto result = isolation.measure(shared.spec, "float", request_of(4, 2));
  EXPECT_TRUE(result.cell.ranked.empty());
  ASSERT_EQ(result.cell.outcomes.size(), 2u);
  for (const auto& one : result.cell.outcomes) EXPECT_EQ(one.status, Status::kError);
  EXPECT_EQ(result.cell.key, "n=4,batch=16");
  EXPECT_EQ(isolation.measure_fresh(shared.spec, "float", request_of(4, 2)), std::nullopt);
}

TEST(Isolation, OneProcessACell) {
  SimulatedWorker::Shared shared({{"good", 30e-6}, {"other", 20e-6}});
  Isolation isolation(shared.start(), milliseconds(1000), {});
  for (int cell = 0; cell < 3; ++cell) {
    isolation.measure(shared.spec, "float", request_of(4 + cell, 2));
  }
  EXPECT_EQ(shared.started, 1);
  isolation.use_one_process_a_cell("fault", "float");
  for (int cell = 0; cell < 3; ++cell) {
    isolation.measure(shared.spec, "float", request_of(4 + cell, 2));
  }
  EXPECT_EQ(shared.started, 4);
}

TEST(Isolation, AFailureThatIsNoCandidatesIsThrown) {
  class Failing : public Worker {
    WorkerAnswer run(const WorkRequest&, milliseconds, const OnEliminated&) override {
      return {WorkerAnswer::End::kFailed, {}, "no such cell"};
    }
    double cpu_seconds() const override { return 0; }
  };
  SimulatedWorker::Shared shared({{"good", 30e-6}});
  Isolation isolation([] { return std::make_unique<Failing>(); }, milliseconds(1000), {});
  EXPECT_THROW(isolation.measure(shared.spec, "float", request_of(4, 1)), Error);
}

std::string faults_text(const std::vector<testing::FaultCandidate>& candidates) {
  std::string text;
  for (const auto& one : candidates) text += std::to_string(static_cast<int>(one.fault)) + " ";
  return text;
}

// 10,000 faults: none is ranked first, or at all, unless it is right, and every cell is recorded.
TEST(Isolation, NoFaultIsEverRankedFirst) {
  std::mt19937_64 random(20261201);
  int injected = 0;
  std::set<Fault> seen;
  while (injected < 10'000) {
    std::vector<testing::FaultCandidate> candidates;
    const std::size_t count = 2 + random() % 6;
    for (std::size_t c = 0; c < count; ++c) {
      const auto fault = static_cast<Fault>(random() % testing::kFaultCount);
      // A wrong candidate is often the fastest: that is what must not matter.
      const double cost = is_correct(fault) ? 20e-6 + 1e-6 * static_cast<double>(random() % 20)
                                            : 5e-6 + 1e-6 * static_cast<double>(random() % 40);
      candidates.push_back({"c" + std::to_string(c), cost, fault});
    }
    SimulatedWorker::Shared shared(candidates);
    Isolation isolation(shared.start(), milliseconds(1000), {});
    for (int cell = 0; cell < 3; ++cell) {
      const auto request = request_of(1 << cell, count);
      const auto result = isolation.measure(shared.spec, "float", request);
      ASSERT_EQ(result.cell.outcomes.size(), count);
      for (std::size_t c = 0; c < count; ++c) {
        const Fault fault = candidates[c].fault;
        const auto& one = result.cell.outcomes[c];
        ASSERT_EQ(one.candidate, candidates[c].name);
        if (is_correct(fault)) {
          ASSERT_TRUE(one.status == Status::kOk || one.status == Status::kEliminated)
              << one.candidate << ": " << one.reason << " beside " << faults_text(candidates);
          continue;
        }
        seen.insert(fault);
        ++injected;
        const auto& ranked = result.cell.ranked;
        // A candidate that breaks while it is timed keeps no rank either.
        ASSERT_EQ(std::count(ranked.begin(), ranked.end(), one.candidate), 0)
            << "fault " << static_cast<int>(fault);
        ASSERT_TRUE(one.status == Status::kBad || one.status == Status::kError)
            << "fault " << static_cast<int>(fault);
      }
    }
  }
  EXPECT_EQ(static_cast<int>(seen.size()), testing::kFaultCount - 3);
}

}  // namespace
}  // namespace furlong::tune
