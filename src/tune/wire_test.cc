#include "tune/wire.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "furlong/error.hh"

namespace furlong::tune {
namespace {

using race::LdVerdict;
using Status = ledger::Status;

TEST(Wire, ARequestArrivesWhole) {
  WorkRequest sent;
  sent.op = "potrf";
  sent.dtype = "cdouble";
  sent.cell.key = CellKey::parse("uplo=L,n=12,batch=3").value();
  sent.cell.tier = Tier::kPreview;
  sent.cell.rules = {3, 17, 0.8125, true};
  sent.cell.round = 5;
  sent.cell.candidates = {0, 2, 7};
  sent.ld = {LdVerdict::kSkipped, LdVerdict::kUnknown, LdVerdict::kFailed, LdVerdict::kPassed};
  for (const bool partial : {false, true}) {
    sent.cell.partial = partial;
    sent.cell.patience_s = 1.5;
    sent.cell.quiet_s = 2.5e-6;
    const WorkRequest got = parse_request(to_line(sent));
    EXPECT_EQ(got.op, "potrf");
    EXPECT_EQ(got.dtype, "cdouble");
    EXPECT_EQ(got.cell.key.text(), "uplo=L,n=12,batch=3");
    EXPECT_EQ(got.cell.tier, Tier::kPreview);
    EXPECT_EQ(got.cell.rules, sent.cell.rules);
    EXPECT_EQ(got.cell.round, 5);
    EXPECT_EQ(got.cell.candidates, sent.cell.candidates);
    EXPECT_EQ(got.cell.partial, partial);
    EXPECT_EQ(got.cell.patience_s, 1.5);
    EXPECT_EQ(got.cell.quiet_s, 2.5e-6);
    EXPECT_EQ(got.ld, sent.ld);
  }
  sent.cell.rules.reverse_odd = false;
  EXPECT_FALSE(parse_request(to_line(sent)).cell.rules.reverse_odd);
  EXPECT_THROW(parse_request("{}"), Error);
  EXPECT_THROW(parse_request("[1"), Error);
}

/// One outcome of each status, no two numbers equal; what is unusable has no times.
std::vector<ledger::Outcome> outcomes() {
  std::vector<ledger::Outcome> all;
  double next = 1.0 / 3;
  for (const Status status :
       {Status::kOk, Status::kEliminated, Status::kBad, Status::kSkipped, Status::kError}) {
    const int number = static_cast<int>(all.size());
    ledger::Outcome one;
    one.candidate = "lanes:w=" + std::to_string(number);
    one.hash = "cd1d2e9" + std::to_string(number);
    one.status = status;
    one.reason = "why \"" + std::to_string(number) + "\"\n";
    if (status == Status::kOk || status == Status::kEliminated) {
      one.median_ms = next;
      one.min_ms = next / 7;
      one.max_ms = next * 7;
      one.repetitions = 10 + number;
      one.calls = (std::int64_t{1} << 40) + number;
      next *= 1.7;
    }
    all.push_back(std::move(one));
  }
  return all;
}

void expect_time(double got, double sent) {
  EXPECT_TRUE(got == sent || (std::isnan(got) && std::isnan(sent))) << got << " for " << sent;
}

TEST(Wire, AResultArrivesWhole) {
  WorkResult sent;
  auto& result = sent.cell;
  result.cell.dtype = "cfloat";
  result.cell.tier = Tier::kDeep;
  result.cell.key = "n=12,batch=3";
  result.cell.round = 4;
  result.cell.ranked = {"lanes:w=1", "lanes:w=0"};
  result.cell.outcomes = outcomes();
  for (const char* verdict : {"passed", "failed"}) {
    ledger::Audit audit;
    audit.dtype = "cfloat";
    audit.key = std::string("n=12,batch=") + verdict;
    audit.what = std::string("ld ") + verdict;
    audit.candidate = std::string("candidate ") + verdict;
    audit.verdict = verdict;
    result.audits.push_back(audit);
  }
  result.repetitions = {{1, 0, 0.1}, {0, 2, 1.0 / 7}, {3, 5, 1e-7}};
  result.verdict = race::Verdict::kCap;
  result.rounds = 11;
  result.repeated = 12;
  result.quiet_s = 1.75e-6;
  result.disturbed = 13;
  result.phases = {0.1, 0.2, 0.3, 0.4, 0.5};
  sent.ld = {LdVerdict::kPassed, LdVerdict::kFailed, LdVerdict::kSkipped, LdVerdict::kUnknown};

  const WorkerLine line = parse_worker_line(to_line(WorkerLine{{}, sent, {}}));
  EXPECT_FALSE(line.eliminated);
  EXPECT_EQ(line.failure, "");
  ASSERT_TRUE(line.result);
  const auto& got = line.result->cell;
  EXPECT_EQ(got.cell.dtype, "cfloat");
  EXPECT_EQ(got.cell.tier, Tier::kDeep);
  EXPECT_EQ(got.cell.key, "n=12,batch=3");
  EXPECT_EQ(got.cell.round, 4);
  EXPECT_EQ(got.cell.ranked, result.cell.ranked);
  ASSERT_EQ(got.cell.outcomes.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto& is = got.cell.outcomes[i];
    const auto& was = result.cell.outcomes[i];
    EXPECT_EQ(is.candidate, was.candidate);
    EXPECT_EQ(is.hash, was.hash);
    EXPECT_EQ(is.status, was.status);
    EXPECT_EQ(is.reason, was.reason);
    expect_time(is.median_ms, was.median_ms);
    expect_time(is.min_ms, was.min_ms);
    expect_time(is.max_ms, was.max_ms);
    EXPECT_EQ(is.repetitions, was.repetitions);
    EXPECT_EQ(is.calls, was.calls);
  }
  ASSERT_EQ(got.audits.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got.audits[i].dtype, "cfloat");
    EXPECT_EQ(got.audits[i].key, result.audits[i].key);
    EXPECT_EQ(got.audits[i].what, result.audits[i].what);
    EXPECT_EQ(got.audits[i].candidate, result.audits[i].candidate);
    EXPECT_EQ(got.audits[i].verdict, result.audits[i].verdict);
  }
  ASSERT_EQ(got.repetitions.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got.repetitions[i].candidate, result.repetitions[i].candidate);
    EXPECT_EQ(got.repetitions[i].round, result.repetitions[i].round);
    EXPECT_EQ(got.repetitions[i].ms, result.repetitions[i].ms);
  }
  EXPECT_EQ(got.verdict, race::Verdict::kCap);
  EXPECT_EQ(got.rounds, 11);
  EXPECT_EQ(got.phases.probe_s, 0.1);
  EXPECT_EQ(got.phases.verify_s, 0.2);
  EXPECT_EQ(got.phases.warm_s, 0.3);
  EXPECT_EQ(got.phases.timing_s, 0.4);
  EXPECT_EQ(got.phases.disturbed_s, 0.5);
  EXPECT_EQ(got.repeated, 12);
  EXPECT_EQ(got.quiet_s, 1.75e-6);
  EXPECT_EQ(got.disturbed, 13);
  EXPECT_EQ(line.result->ld, sent.ld);
}

TEST(Wire, AnEliminationAndAFailureArrive) {
  const WorkerLine eliminated =
      parse_worker_line(to_line(WorkerLine{WorkerLine::Eliminated{3, 5}, {}, {}}));
  ASSERT_TRUE(eliminated.eliminated);
  EXPECT_EQ(eliminated.eliminated->candidate, 3);
  EXPECT_EQ(eliminated.eliminated->round, 5);
  EXPECT_FALSE(eliminated.result);
  EXPECT_EQ(eliminated.failure, "");

  const WorkerLine failed = parse_worker_line(to_line(WorkerLine{{}, {}, "no \"cell\"\n"}));
  EXPECT_FALSE(failed.eliminated);
  EXPECT_FALSE(failed.result);
  EXPECT_EQ(failed.failure, "no \"cell\"\n");
  EXPECT_THROW(parse_worker_line("{}"), Error);
  EXPECT_THROW(parse_worker_line("{\"eliminated\": 1}"), Error);
}

}  // namespace
}  // namespace furlong::tune
