#include "ledger/ledger.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "furlong/error.hh"
#include "host/crc32.hh"
#include "ledger/writer.hh"
#include "support/shared.hh"

namespace furlong::ledger {
namespace {

namespace fs = std::filesystem;

Run sample_run() {
  Run run;
  run.run_id = "20261201T000000-h-1";
  run.dtype = "float";
  run.host = "h";
  run.device = "cpu_avx512";
  run.device_name = "Some \"Processor\"";
  run.commit = "0123abcd";
  run.argv = "furlong tune potrf";
  run.date = "2026-12-01";
  run.tier = Tier::kDeep;
  run.keys = "uplo:exact n:log:3 batch:log";
  run.candidates = {"direct", "lanes:w=16", "vendor"};
  run.env = "g++ 12, 1 thread";
  run.worker = "worker";
  return run;
}

Cell sample_cell() {
  Cell cell;
  cell.run_id = "20261201T000000-h-1";
  cell.dtype = "float";
  cell.tier = Tier::kDeep;
  cell.key = "uplo=L,n=8,batch=128";
  cell.date = "2026-12-01";
  cell.ranked = {"lanes:w=16", "direct"};
  Outcome direct;
  direct.candidate = "direct";
  direct.hash = "cd1d2e92";
  direct.status = Status::kEliminated;
  direct.median_ms = 2;
  direct.min_ms = 0.1;
  direct.max_ms = 1e-7;
  direct.repetitions = 7;
  direct.calls = 64;
  Outcome lanes = direct;
  lanes.candidate = "lanes:w=16";
  lanes.hash = "faa6087b";
  lanes.status = Status::kOk;
  lanes.median_ms = 1.0 / 3;
  Outcome vendor;
  vendor.candidate = "vendor";
  vendor.hash = "894a9de0";
  vendor.status = Status::kSkipped;
  vendor.reason = "refused: too\tbig\x01";
  cell.outcomes = {direct, lanes, vendor};
  return cell;
}

/// `fields` as a line with the right crc.
std::string with_crc(std::string fields) {
  fields.pop_back();
  const std::string crc = host::crc32_hex(fields);
  return fields + ", \"crc\": \"" + crc + "\"}";
}

Ledger parse(const std::string& bytes) {
  return Ledger::parse(bytes, "demo.cpu.jsonl", {});
}

TEST(Writer, LinesLookLikeThis) {
  EXPECT_EQ(to_line(sample_run(), "furlong"),
            with_crc(R"({"kind": "run", "format": 1, "run_id": "20261201T000000-h-1", )"
                     R"("dtype": "float", "host": "h", "device": "cpu_avx512", )"
                     R"("device_name": "Some \"Processor\"", "furlong": "0123abcd", )"
                     R"("argv": "furlong tune potrf", "date": "2026-12-01", "tier": "deep", )"
                     R"("keys": "uplo:exact n:log:3 batch:log", )"
                     R"("candidates": "direct|lanes:w=16|vendor", "env": "g++ 12, 1 thread", )"
                     R"("worker": "worker"})"));
  EXPECT_EQ(
      to_line(sample_cell()),
      with_crc(
          R"({"kind": "cell", "run_id": "20261201T000000-h-1", "dtype": "float", "tier": "deep", )"
          R"("key": "uplo=L,n=8,batch=128", "round": 0, "date": "2026-12-01", )"
          R"("ranked": "lanes:w=16|direct", "cands": "direct|lanes:w=16|vendor", )"
          R"("h0": "cd1d2e92", "s0": "eliminated", "r0": "", "m0": 2.0, "lo0": 0.1, "hi0": 1e-07, )"
          R"("n0": 7, "k0": 64, "h1": "faa6087b", "s1": "ok", "r1": "", "m1": 0.3333333333333333, )"
          R"("lo1": 0.1, "hi1": 1e-07, "n1": 7, "k1": 64, "h2": "894a9de0", "s2": "skipped", )"
          R"("r2": "refused: too\tbig\u0001", "m2": null, "lo2": null, "hi2": null, "n2": 0, )"
          R"("k2": 1})"));
  Audit ld;
  ld.run_id = "r";
  ld.dtype = "float";
  ld.key = "n=8";
  ld.what = "ld";
  ld.candidate = "direct";
  ld.verdict = "passed";
  EXPECT_EQ(to_line(ld),
            with_crc(R"({"kind": "audit", "run_id": "r", "dtype": "float", "key": "n=8", )"
                     R"("what": "ld", "verdict": "passed", "cand": "direct"})"));
  ld.what = "fresh";
  ld.warm_ms = 1.5;
  EXPECT_EQ(to_line(ld),
            with_crc(R"({"kind": "audit", "run_id": "r", "dtype": "float", "key": "n=8", )"
                     R"("what": "fresh", "verdict": "passed", "warm_ms": 1.5, "fresh_ms": null})"));
  EXPECT_EQ(to_line(Rehash{"lanes", "a", "b", "0123abcd", "normalized", "why"}),
            with_crc(R"({"kind": "rehash", "family": "lanes", "from": "a", "to": "b", )"
                     R"("at": "0123abcd", "proof": "normalized", "why": "why"})"));
}

TEST(Writer, TextThatIsNoUtf8IsReplaced) {
  auto run = sample_run();
  run.argv = "a\xff\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\x80\xc3";
  const std::string r = "\xef\xbf\xbd";
  const Ledger ledger = parse(to_line(run, "furlong") + "\n");
  EXPECT_EQ(ledger.runs()[0].run.argv, "a" + r + "\xc3\xa9" + r + r + r + "\xf0\x9f\x98\x80" + r);
}

TEST(Writer, NamesThatCannotBeListed) {
  Cell cell = sample_cell();
  cell.ranked = {"a|b"};
  EXPECT_THROW(to_line(cell), std::invalid_argument);
  cell.ranked = {""};
  EXPECT_THROW(to_line(cell), std::invalid_argument);
}

TEST(Reader, ReadsWhatTheWriterWrote) {
  const auto run = sample_run();
  const Cell cell = sample_cell();
  const Ledger ledger = parse(to_line(run, "furlong") + "\n" + to_line(cell) + "\n" +
                              to_line(Rehash{"lanes", "a", "b", "c", "normalized", "w"}) + "\n");
  EXPECT_TRUE(ledger.warnings().empty());
  ASSERT_EQ(ledger.runs().size(), 1u);
  const auto& read = ledger.runs()[0].run;
  EXPECT_EQ(to_line(read, "furlong"), to_line(run, "furlong"));
  EXPECT_EQ(ledger.runs()[0].line, 1);
  ASSERT_EQ(ledger.cells().size(), 1u);
  const StoredCell& stored = ledger.cells()[0];
  EXPECT_EQ(stored.run, 0);
  EXPECT_EQ(stored.line, 2);
  EXPECT_EQ(stored.dtype, 0);
  EXPECT_EQ(stored.tier, Tier::kDeep);
  EXPECT_EQ(ledger.text(stored.key), cell.key);
  EXPECT_EQ(ledger.text(stored.date), cell.date);
  ASSERT_EQ(ledger.ranked(stored).size(), 2u);
  EXPECT_EQ(ledger.text(ledger.ranked(stored)[0]), "lanes:w=16");
  ASSERT_EQ(ledger.outcomes(stored).size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const StoredOutcome& got = ledger.outcomes(stored)[i];
    const Outcome& want = cell.outcomes[i];
    EXPECT_EQ(ledger.text(got.candidate), want.candidate);
    EXPECT_EQ(ledger.text(got.family), want.candidate.substr(0, want.candidate.find(':')));
    EXPECT_EQ(ledger.text(got.hash), want.hash);
    EXPECT_EQ(ledger.text(got.reason), want.reason);
    EXPECT_EQ(got.status, want.status);
    EXPECT_EQ(got.repetitions, want.repetitions);
    EXPECT_EQ(got.calls, want.calls);
    EXPECT_EQ(got.timed(), want.timed());
    if (want.timed()) {
      EXPECT_EQ(got.median_ms, want.median_ms);
      EXPECT_EQ(got.min_ms, want.min_ms);
      EXPECT_EQ(got.max_ms, want.max_ms);
    }
  }
  ASSERT_EQ(ledger.rehashes().size(), 1u);
  EXPECT_EQ(ledger.text(ledger.rehashes()[0].to), "b");
  EXPECT_EQ(ledger.rehashes()[0].line, 3);
  EXPECT_EQ(ledger.find("lanes:w=16"), ledger.ranked(stored)[0]);
  EXPECT_EQ(ledger.find("never seen"), static_cast<NameId>(-1));
}

TEST(Reader, GoldenLedgers) {
  FURLONG_NEEDS_SHARED("vectors/table/index.json");
  int read = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(testing::shared_folder() / "vectors/table")) {
    if (entry.path().extension() != ".jsonl") continue;
    ++read;
    const auto project = entry.path().parent_path().parent_path();
    std::string want;
    if (fs::exists(project / "expected/refused.txt")) {
      want = testing::slurp(project / "expected/refused.txt");
    }
    std::string got;
    try {
      Ledger::read(entry.path(), {});
    } catch (const Error& error) {
      got = error.what();
    }
    if (want.find(".jsonl:") != std::string::npos) {
      want.erase(want.find_last_not_of(" \n") + 1);
      EXPECT_NE(got.find(want + ": "), std::string::npos) << project << ": " << got;
    } else if (want.find("lfs") != std::string::npos) {
      EXPECT_NE(got.find("pull"), std::string::npos) << got;
    } else {
      EXPECT_EQ(got, "") << project;
    }
  }
  EXPECT_GT(read, 40);
}

}  // namespace
}  // namespace furlong::ledger
