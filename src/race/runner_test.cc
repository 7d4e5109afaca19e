#include "race/runner.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

namespace furlong::race {
namespace {

constexpr int kItems = 64;
constexpr int kZone = 4;
constexpr double kRed = -12345.0;

/// What a candidate of the toy op does wrong.
enum class Fault {
  kNone,
  kWrongValue,
  kWrongAtOneItem,
  kWrongAtLd,
  kNan,
  kRedZone,
  kPartialWrite,
  kStaleOutput,
  kTwiceInPlace,
  kNondeterministic,
  kWrongLater,
  kThrows,
  kThrowsAnInt,
  kThrowsInTheRace,
  kRefuses,
  kProbeThrows,
};

/// The toy op: x -> 3x + 1 in place, item by item. Its candidates cost time of a fake clock.
struct Toy {
  struct Candidate {
    std::string name;
    double cost_s = 1e-3;
    Fault fault = Fault::kNone;
  };
  std::vector<Candidate> candidates;
  double now = 0;
  std::map<int, int> runs;  ///< per candidate
  int problems = 0;
  std::int64_t copy_bytes = 4096;
  int largest_ring = 0;
  std::map<int, std::set<int>> at_place;    ///< candidates that ran there; place -1 until told
  std::function<double(double now)> scale;  ///< of costs; empty: 1
  bool exhaustive = true;                   ///< the problem can check every item

  OpSpec spec() {
    OpSpec spec;
    spec.vocabulary.op = "toy";
    spec.vocabulary.dtypes = {"float"};
    spec.vocabulary.candidates.resize(1);
    for (const auto& c : candidates) spec.vocabulary.candidates[0].push_back(c.name);
    spec.hashes.families = {{"good", "0badcafe"}};
    spec.make_problem = [this](const std::string&, const CellKey&, const ProblemOptions& options) {
      return std::make_unique<ToyProblem>(*this, options.extra_ld);
    };
    return spec;
  }

  class ToyProblem : public Problem {
   public:
    ToyProblem(Toy& toy, std::int64_t extra_ld) : toy_(toy), extra_ld_(extra_ld) {
      ++toy_.problems;
    }

    select::Refusal can_run(int candidate) override {
      const Fault fault = fault_of(candidate);
      if (fault == Fault::kProbeThrows) throw std::runtime_error("probe broke");
      return {fault == Fault::kRefuses ? "order > 64" : nullptr};
    }
    std::int64_t copy_bytes() const override { return toy_.copy_bytes; }
    void resize_ring(int copies) override {
      ring_.assign(static_cast<std::size_t>(copies), {});
      toy_.largest_ring = std::max(toy_.largest_ring, copies);
    }
    void move_ring(int place) override {
      place_ = place;
      for (auto& copy : ring_) copy.clear();
    }
    void restore(int copies) override {
      for (int c = 0; c < copies; ++c) {
        auto& copy = ring_.at(static_cast<std::size_t>(c));
        copy.assign(kItems + 2 * kZone, kRed);
        for (int i = 0; i < kItems; ++i) copy[index(i)] = input(i);
      }
    }

    void run(int candidate, int first, int count) override {
      for (int c = first; c < first + count; ++c) call(candidate, c);
    }

    std::string verify(int copy) override {
      const auto& data = ring_.at(static_cast<std::size_t>(copy));
      if (red(data)) return "red_zone";
      for (const int i : {0, kItems / 2, kItems - 1, 3, 9, 14, 22, 27, 40, 51, 60}) {
        if (auto reason = wrong(data, i); !reason.empty()) return reason;
      }
      if (witness_.empty()) return {};
      for (int i = 0; i < kItems; ++i) {
        if (!(std::abs(data[index(i)] - witness_[index(i)]) <= 1e-9)) return "witness";
      }
      return {};
    }

    std::string verify_every(int copy) override {
      if (!toy_.exhaustive) return verify(copy);
      const auto& data = ring_.at(static_cast<std::size_t>(copy));
      if (red(data)) return "red_zone";
      for (int i = 0; i < kItems; ++i) {
        if (auto reason = wrong(data, i); !reason.empty()) return reason;
      }
      return {};
    }

    void adopt_witness(int copy) override { witness_ = ring_.at(static_cast<std::size_t>(copy)); }

   private:
    using Copy = std::vector<double>;
    static std::size_t index(int item) { return static_cast<std::size_t>(item + kZone); }
    static double input(int item) { return 0.5 * item + 1; }
    static double output(int item) { return 3 * input(item) + 1; }
    Fault fault_of(int candidate) const {
      return toy_.candidates.at(static_cast<std::size_t>(candidate)).fault;
    }
    static bool red(const Copy& data) {
      for (int i = 0; i < kZone; ++i) {
        if (data[static_cast<std::size_t>(i)] != kRed || data[index(kItems + i)] != kRed) {
          return true;
        }
      }
      return false;
    }
    static std::string wrong(const Copy& data, int item) {
      const double value = data[index(item)];
      if (!std::isfinite(value)) return "residual_nonfinite";
      return std::abs(value - output(item)) <= 1e-9 ? "" : "residual";
    }

    void call(int candidate, int copy) {
      auto& data = ring_.at(static_cast<std::size_t>(copy));
      const auto& self = toy_.candidates.at(static_cast<std::size_t>(candidate));
      const int run = toy_.runs[candidate]++;
      toy_.at_place[place_].insert(candidate);
      toy_.now += self.cost_s * (toy_.scale ? toy_.scale(toy_.now) : 1);
      if (self.fault == Fault::kThrows) throw std::runtime_error("no\nkernel");
      if (self.fault == Fault::kThrowsAnInt) throw 7;
      if (self.fault == Fault::kThrowsInTheRace && run == 24) throw std::bad_alloc();
      if (self.fault == Fault::kStaleOutput && run % 2 == 1) return;
      int last = kItems;
      if (self.fault == Fault::kPartialWrite) last = kItems / 2 + 2;
      for (int i = 0; i < last; ++i) data[index(i)] = 3 * data[index(i)] + 1;
      switch (self.fault) {
        case Fault::kWrongValue:
          for (int i = 0; i < kItems; ++i) data[index(i)] *= 1.001;
          break;
        case Fault::kWrongAtOneItem:
          data[index(17)] += 1;
          break;
        case Fault::kWrongAtLd:
          if (extra_ld_ != 0) data[index(9)] = 0;
          break;
        case Fault::kNan:
          data[index(5)] = std::numeric_limits<double>::quiet_NaN();
          break;
        case Fault::kRedZone:
          data[index(kItems)] = 0;
          break;
        case Fault::kTwiceInPlace:
          if (run > 0) {
            for (int i = 0; i < kItems; ++i) data[index(i)] = 3 * data[index(i)] + 1;
          }
          break;
        case Fault::kNondeterministic:
          data[index(17)] += 1e-3 * run;
          break;
        case Fault::kWrongLater:
          if (run > 24) data[index(9)] += 1;
          break;
        default:
          break;
      }
    }

    int place_ = -1;
    Toy& toy_;
    std::int64_t extra_ld_;
    std::vector<Copy> ring_;
    Copy witness_;
  };
};

CellRequest request_for(const Toy& toy, Tier tier = Tier::kCoarse) {
  CellRequest request;
  request.key = CellKey{{{"n", "8"}, {"batch", "64"}}};
  request.tier = tier;
  request.rules = rules_of(tier);
  for (int c = 0; c < static_cast<int>(toy.candidates.size()); ++c) request.candidates.push_back(c);
  return request;
}

CellResult run_toy(Toy& toy, const CellRequest& request) {
  const OpSpec spec = toy.spec();
  Runner runner(spec, "float", [&toy] { return toy.now; });
  return runner.run(request);
}

bool ranks(const CellResult& result, const std::string& name) {
  const auto& ranked = result.cell.ranked;
  return std::find(ranked.begin(), ranked.end(), name) != ranked.end();
}

const ledger::Outcome& outcome_of(const CellResult& result, const std::string& name) {
  for (const auto& outcome : result.cell.outcomes) {
    if (outcome.candidate == name) return outcome;
  }
  throw std::logic_error("no outcome of " + name);
}

TEST(Runner, RanksByTimeAndRecordsWhatItSaw) {
  Toy toy;
  toy.candidates = {{"slow", 2e-3}, {"good", 1e-3}, {"tied:w=4", 1.01e-3}, {"hopeless", 9e-3}};
  const CellResult result = run_toy(toy, request_for(toy));
  EXPECT_EQ(result.cell.ranked, (std::vector<std::string>{"good", "tied:w=4", "slow", "hopeless"}));
  EXPECT_EQ(result.cell.key, "n=8,batch=64");
  EXPECT_EQ(result.cell.dtype, "float");
  EXPECT_EQ(result.verdict, Verdict::kTie);
  EXPECT_EQ(outcome_of(result, "good").hash, "0badcafe");
  EXPECT_EQ(outcome_of(result, "good").status, ledger::Status::kOk);
  EXPECT_EQ(outcome_of(result, "slow").status, ledger::Status::kEliminated);
  EXPECT_EQ(outcome_of(result, "hopeless").repetitions, 2);
  EXPECT_NEAR(outcome_of(result, "good").median_ms, 1.0, 1e-9);
  EXPECT_EQ(outcome_of(result, "good").calls, 1);
  ASSERT_EQ(result.audits.size(), 4u);
  for (const auto& audit : result.audits) EXPECT_EQ(audit.verdict, "passed");
  EXPECT_GT(result.phases.verify_s, 0);
  EXPECT_GT(result.phases.warm_s, 0);
  EXPECT_GT(result.phases.timing_s, 0);
  std::size_t repetitions = 0;
  for (const auto& outcome : result.cell.outcomes) {
    repetitions += static_cast<std::size_t>(outcome.repetitions);
  }
  EXPECT_EQ(result.repetitions.size(), repetitions);
}

TEST(Runner, EachRoundHasItsPlaceForAll) {
  Toy toy;
  toy.candidates = {{"good", 1e-3}, {"tied:w=4", 1e-3}};
  const CellResult result = run_toy(toy, request_for(toy));
  ASSERT_GE(result.rounds, 3);
  for (int round = 0; round < result.rounds; ++round) {
    EXPECT_EQ(toy.at_place[round], (std::set<int>{0, 1})) << round;
  }
  EXPECT_EQ(toy.at_place.size(), static_cast<std::size_t>(result.rounds) + 1);
}

TEST(Runner, ShortCallsAreRepeatedOnABoundedRing) {
  Toy toy;
  toy.candidates = {{"good", 1e-6}, {"other", 2e-7}};
  CellResult result = run_toy(toy, request_for(toy));
  EXPECT_GE(outcome_of(result, "good").calls, 20);
  EXPECT_GE(outcome_of(result, "other").calls, 100);
  EXPECT_NEAR(outcome_of(result, "other").median_ms, 2e-4, 1e-10);
  EXPECT_LT(toy.largest_ring, 300);

  toy.largest_ring = 0;
  toy.copy_bytes = std::int64_t{16} << 20;
  result = run_toy(toy, request_for(toy));
  EXPECT_EQ(toy.largest_ring, 4);
  toy.copy_bytes = std::int64_t{1} << 30;
  toy.largest_ring = 0;
  result = run_toy(toy, request_for(toy));
  EXPECT_EQ(toy.largest_ring, 1);
}

TEST(Runner, AClockThatStandsStillEnds) {
  Toy toy;
  toy.candidates = {{"good", 0}, {"other", 0}};
  const OpSpec spec = toy.spec();
  RunnerOptions options;
  options.max_calls = 16;
  Runner runner(
      spec, "float", [] { return 0.0; }, options);
  EXPECT_EQ(runner.run(request_for(toy)).cell.ranked.size(), 2u);
}

TEST(Runner, NoFaultyCandidateIsEverRankedAndTheRunGoesOn) {
  const std::vector<std::pair<Fault, ledger::Status>> pack = {
      {Fault::kWrongValue, ledger::Status::kBad},
      {Fault::kWrongAtOneItem, ledger::Status::kBad},
      {Fault::kWrongAtLd, ledger::Status::kBad},
      {Fault::kNan, ledger::Status::kBad},
      {Fault::kRedZone, ledger::Status::kBad},
      {Fault::kPartialWrite, ledger::Status::kBad},
      {Fault::kStaleOutput, ledger::Status::kBad},
      {Fault::kTwiceInPlace, ledger::Status::kBad},
      {Fault::kNondeterministic, ledger::Status::kBad},
      {Fault::kWrongLater, ledger::Status::kBad},
      {Fault::kThrows, ledger::Status::kError},
      {Fault::kThrowsAnInt, ledger::Status::kError},
      {Fault::kThrowsInTheRace, ledger::Status::kError},
      {Fault::kRefuses, ledger::Status::kSkipped},
      {Fault::kProbeThrows, ledger::Status::kError},
  };
  for (const auto& [fault, status] : pack) {
    for (std::size_t place = 0; place < 3; ++place) {
      Toy toy;
      toy.candidates = {{"good", 2e-3}, {"other", 2e-3}};
      toy.candidates.insert(toy.candidates.begin() + static_cast<std::ptrdiff_t>(place),
                            {"faulty", 1e-3, fault});
      CellRequest request = request_for(toy, Tier::kDeep);
      const CellResult result = run_toy(toy, request);
      const auto where = testing::Message() << static_cast<int>(fault) << " at " << place;
      EXPECT_FALSE(ranks(result, "faulty")) << where;
      EXPECT_EQ(outcome_of(result, "faulty").status, status) << where;
      EXPECT_FALSE(outcome_of(result, "faulty").reason.empty()) << where;
      EXPECT_EQ(outcome_of(result, "faulty").reason.find('\n'), std::string::npos);
      EXPECT_EQ(outcome_of(result, "faulty").repetitions, 0) << where;
      EXPECT_EQ(result.cell.ranked, (std::vector<std::string>{"good", "other"})) << where;
    }
  }
}

TEST(Runner, AFailedCandidateIsNeverCalledAgain) {
  Toy toy;
  toy.candidates = {{"good"},
                    {"other"},
                    {"throws", 1e-3, Fault::kThrows},
                    {"bad", 1e-3, Fault::kWrongValue},
                    {"refuses", 1e-3, Fault::kRefuses}};
  run_toy(toy, request_for(toy));
  EXPECT_EQ(toy.runs[2], 1);
  EXPECT_EQ(toy.runs[3], 1);
  EXPECT_EQ(toy.runs[4], 0);
}

TEST(Runner, LdIsCheckedOnceAndAFailureStays) {
  Toy toy;
  toy.candidates = {{"good"}, {"other"}, {"ld", 1e-4, Fault::kWrongAtLd}};
  const OpSpec spec = toy.spec();
  Runner runner(spec, "float", [&toy] { return toy.now; });
  const CellResult first = runner.run(request_for(toy));
  EXPECT_EQ(outcome_of(first, "ld").reason, "ld: residual");
  ASSERT_EQ(first.audits.size(), 3u);
  EXPECT_EQ(first.audits[2].verdict, "failed");
  EXPECT_EQ(first.audits[2].what, "ld");
  const int problems = toy.problems;
  const CellResult second = runner.run(request_for(toy));
  EXPECT_TRUE(second.audits.empty());
  EXPECT_EQ(toy.problems, problems + 1);
  EXPECT_EQ(outcome_of(second, "ld").status, ledger::Status::kBad);
  EXPECT_EQ(runner.ld_verdict(2), LdVerdict::kFailed);

  Runner told(spec, "float", [&toy] { return toy.now; });
  for (const int c : {0, 1}) told.set_ld_verdict(c, LdVerdict::kPassed);
  told.set_ld_verdict(2, LdVerdict::kFailed);
  EXPECT_FALSE(ranks(told.run(request_for(toy)), "ld"));
}

TEST(Runner, ALoneCandidateIsUntimedButInAPartialReRace) {
  Toy toy;
  toy.candidates = {{"good"}, {"refuses", 1e-3, Fault::kRefuses}};
  CellRequest request = request_for(toy);
  CellResult result = run_toy(toy, request);
  EXPECT_EQ(result.cell.ranked, std::vector<std::string>{"good"});
  EXPECT_FALSE(outcome_of(result, "good").timed());
  EXPECT_EQ(outcome_of(result, "good").repetitions, 0);
  EXPECT_EQ(outcome_of(result, "good").status, ledger::Status::kOk);
  request.partial = true;
  result = run_toy(toy, request);
  EXPECT_TRUE(outcome_of(result, "good").timed());
  EXPECT_EQ(outcome_of(result, "good").repetitions, 4);
}

TEST(Runner, NothingLeftIsStillARecord) {
  Toy toy;
  toy.candidates = {{"a", 1e-3, Fault::kThrows}, {"b", 1e-3, Fault::kNan}};
  const CellResult result = run_toy(toy, request_for(toy));
  EXPECT_TRUE(result.cell.ranked.empty());
  EXPECT_EQ(result.cell.outcomes.size(), 2u);
}

TEST(Runner, WithoutAnExhaustiveCheckTheWitnessIsBelieved) {
  Toy toy;
  toy.exhaustive = false;
  toy.candidates = {{"good"}, {"faulty", 1e-4, Fault::kWrongAtOneItem}, {"other"}};
  EXPECT_EQ(run_toy(toy, request_for(toy)).cell.ranked,
            (std::vector<std::string>{"good", "other"}));
}

TEST(Runner, RepetitionsAreTimedWhileNobodyElseWorksOnTheCore) {
  // Somebody works on the core in the first half of each 5 ms: the clock runs twice as fast then.
  Toy toy;
  toy.candidates = {{"good", 1e-3}, {"slower", 1.1e-3}};
  const auto busy = [](double now) { return std::fmod(now, 5e-3) < 2.5e-3; };
  toy.scale = [&](double now) { return busy(now) ? 2.0 : 1.0; };
  const OpSpec spec = toy.spec();
  RunnerOptions options;
  options.core_probe = [&] {
    const double took = busy(toy.now) ? 4e-6 : 2e-6;
    toy.now += took;
    return took;
  };
  Runner runner(
      spec, "float", [&toy] { return toy.now; }, options);
  const CellResult result = runner.run(request_for(toy));
  EXPECT_NEAR(outcome_of(result, "good").max_ms, 1.0, 1e-6);
  EXPECT_NEAR(outcome_of(result, "slower").max_ms, 1.1, 1e-6);
  EXPECT_GT(result.repeated, 0);
  EXPECT_EQ(result.disturbed, 0);
  EXPECT_GT(result.phases.disturbed_s, 2.5e-3);
  EXPECT_GT(result.phases.timing_s, 0);

  // Without patience it counts what it gets.
  CellRequest impatient = request_for(toy);
  impatient.patience_s = 0;
  int disturbed = 0;
  for (int cell = 0; cell < 10; ++cell) {
    const CellResult one = runner.run(impatient);
    disturbed += one.disturbed;
    EXPECT_EQ(one.repeated, 0);
    EXPECT_EQ(one.phases.disturbed_s, 0);
  }
  EXPECT_GT(disturbed, 0);
}

TEST(Runner, BadRequestsAreTheCallersMistake) {
  Toy toy;
  toy.candidates = {{"good"}, {"other"}};
  const OpSpec spec = toy.spec();
  EXPECT_THROW(Runner(spec, "f16", [] { return 0.0; }), std::invalid_argument);
  Runner runner(spec, "float", [&toy] { return toy.now; });
  CellRequest request = request_for(toy);
  request.candidates = {1, 0};
  EXPECT_THROW(runner.run(request), std::invalid_argument);
  request.candidates = {0, 2};
  EXPECT_THROW(runner.run(request), std::invalid_argument);
}

}  // namespace
}  // namespace furlong::race
