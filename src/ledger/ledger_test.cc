#include "ledger/ledger.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/sample_records.hh"
#include "ledger/writer.hh"
#include "support/shared.hh"
#include "support/temporary.hh"

namespace furlong::ledger {
namespace {

namespace fs = std::filesystem;

using testing::cell_line;
using testing::run_line;
using testing::sample_cell;
using testing::sample_run;
using testing::with_crc;
using testing::without_crc;

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
       fs::recursive_directory_iterator(furlong::testing::shared_folder() / "vectors/table")) {
    if (entry.path().extension() != ".jsonl") continue;
    ++read;
    const auto project = entry.path().parent_path().parent_path();
    std::string want;
    if (fs::exists(project / "expected/refused.txt")) {
      want = furlong::testing::slurp(project / "expected/refused.txt");
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

/// The message of the error that reading `bytes` ends with, after the file's name.
std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("demo.cpu.jsonl", 0), 0u) << message;
    return message.substr(14);
  }
  return "no error";
}

/// The sample cell's line with `from` replaced by `to`, without crc.
std::string changed(const std::string& from, const std::string& to) {
  std::string line = without_crc(cell_line());
  const auto at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

std::string changed_run(const std::string& from, const std::string& to) {
  std::string line = without_crc(run_line());
  const auto at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

TEST(Reader, MalformedLinesAreErrorsWithTheirPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {changed("\"tier\": \"deep\"", "\"tier\": \"deeper\""), "unknown tier \"deeper\"; allowed"},
      {changed("\"tier\": \"deep\"", "\"tier\": 1"), "field tier is no text"},
      {changed("\"s1\": \"ok\"", "\"s1\": \"fine\""), "field s1: unknown status \"fine\""},
      {changed("\"s1\": \"ok\"", "\"s1\": 1"), "field s1: unknown status"},
      {changed("\"s1\": \"ok\", ", ""), "no field s1"},
      {changed("\"dtype\": \"float\"", "\"dtype\": \"f8\""),
       "unknown dtype \"f8\"; the project has"},
      {changed("\"key\": \"uplo=L,n=8,batch=128\"", "\"key\": \"\""), "bad key \"\": empty"},
      {changed("n=8,", "n,"), "bad key"},
      {changed("n=8,", "=8,"), "bad key"},
      {changed("n=8,", "n=,"), "bad key"},
      {changed("n=8,", "n=8,n=8,"), "bad key"},
      {changed("n=8,", "n= 8,"), "bad key"},
      {changed("\"round\": 0", "\"round\": -1"), "field round is no whole number"},
      {changed("\"round\": 0", "\"round\": 0.0"), "field round is no whole number"},
      {changed("\"round\": 0", "\"round\": 4294967296"), "field round is no whole number"},
      {changed("\"round\": 0, ", ""), "no field round"},
      {changed("\"cands\": \"direct|lanes", "\"cands\": \"direct||lanes"), "holds an empty name"},
      {changed("\"cands\": \"direct|lanes", "\"cands\": \"direct|direct|lanes"),
       "\"direct\" twice"},
      {changed("\"ranked\": \"lanes:w=16|direct\"", "\"ranked\": \"direct|direct\""), "twice"},
      {changed("\"ranked\": \"lanes:w=16|direct\", ", ""), "no field ranked"},
      {changed("\"m0\": 2.0", "\"m0\": \"2.0\""), "field m0 is no number or null"},
      {changed("\"n0\": 7", "\"n0\": 7.5"), "field n is no whole number"},
      {changed("\"h0\": \"cd1d2e92\"", "\"h0\": true"), "field h0 is no text"},
      {changed("\"kind\": \"cell\"", "\"kin\": \"cell\""), "no field kind"},
      {changed("\"kind\": \"cell\"", "\"kind\": 1"), "no field kind"},
      {changed("\"round\": 0", "\"round\": 0, \"round\": 0"), "field \"round\" stands twice"},
      {changed("\"round\": 0", "\"round\": 0, \"x\": 1, \"\\u0078\": 1"),
       "field \"x\" stands twice"},
      {changed("\"round\": 0", "\"round\": 0, \"x\": [1]"), "one flat JSON object"},
      {changed("\"round\": 0", "\"round\": 0, \"x\": {}"), "one flat JSON object"},
      {changed("\"m0\": 2.0", "\"m0\": 02.0"), "bad JSON: no text, number"},
      {changed("\"m0\": 2.0", "\"m0\": 2."), "bad JSON: no text, number"},
      {changed("\"m0\": 2.0", "\"m0\": 2.0x"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\": +2.0"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\": .5"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\": 1e999"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\": NaN"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\": nul"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\": nulls"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\": 2.0,"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\" 2.0"), "bad JSON"},
      {changed("\"m0\": 2.0", "\"m0\": "), "bad JSON"},
      {changed("\"round\": 0", "\"round\": 0, \"unknown\": 01"), "bad JSON: no text, number"},
      {changed("\"round\": 0", "\"round\": 0, \"unknown\": tru"), "bad JSON"},
      {changed("\"round\": 0", "\"round\": 0, \"unknown\": \"\\x\""), "bad JSON"},
      {changed("\"round\": 0", "\"round\": 0, \"unknown\": \"\\ud800\""), "bad JSON"},
      {changed("\"round\": 0", "\"round\": 0, \"unknown\": \"a\xff\""), "a byte that is not UTF-8"},
      {changed("\"round\": 0", "\"round\": 0, \"\xc3\": 1"), "a byte that is not UTF-8"},
      {changed("\"round\": 0", std::string("\"round\": 0, \"unknown\": \"\0\"", 27)), "bad JSON"},
      {changed("\"round\": 0", "\"round\": 0, \"unknown\": \"\t\""), "bad JSON"},
      {changed("\"round\": 0", std::string("\"round\": 0\0", 11)), "bad JSON"},
      {changed("\n", " {}\n"), "more text after the object"},
      {changed("\n", "}\n"), "more text after the object"},
      {changed("{", "[{"), "one flat JSON object"},
      {"\"kind\"\n", "one flat JSON object"},
      {"x\n", "one flat JSON object"},
      {"{\n", "bad JSON"},
      {"\xef\xbb\xbf" + without_crc(cell_line()), "begins with a byte-order mark"},
      {changed_run("0123abcd", "0123abcd\", \"format\": \"1"), "stands twice"},
      {changed_run("\"format\": 1", "\"format\": 2"), "unknown format"},
      {changed_run("\"furlong\"", "\"other\""), "no field furlong"},
      {changed_run("n:log:3", "n:lag"), "key"},
      {changed_run("\"date\": \"2026-12-01\", ", ""), "no field date"},
      {changed_run("\"candidates\": \"direct|", "\"candidates\": \"|"), "holds an empty name"},
      {"{\"kind\": \"rehash\", \"from\": \"a\", \"to\": \"b\"}\n", "no field family"},
  };
  for (const auto& [line, reason] : cases) {
    const std::string error = error_of(run_line() + "\n" + line + cell_line());
    EXPECT_EQ(error.rfind(":3: ", 0), 0u) << line << error;
    EXPECT_NE(error.find(reason), std::string::npos) << line << error << "\nwanted " << reason;
    // Without its newline at the end of the file it is a torn line.
    const Ledger torn = parse(run_line() + cell_line() + line.substr(0, line.size() - 1));
    ASSERT_EQ(torn.warnings().size(), 1u) << line;
    EXPECT_EQ(torn.warnings()[0].rfind("demo.cpu.jsonl:3: the last line is torn", 0), 0u);
    EXPECT_EQ(torn.cells().size(), 1u);
  }
}

TEST(Reader, CrcIsCheckedWhereItStands) {
  const std::string line = cell_line();
  EXPECT_EQ(parse(run_line() + without_crc(line)).cells().size(), 1u) << "older writers have none";
  const std::string crc = line.substr(line.rfind("\"crc\""));
  const auto with = [&](const std::string& end) {
    return error_of(run_line() + line.substr(0, line.size() - crc.size()) + end);
  };
  std::string other = crc;
  other[9] = other[9] == '0' ? '1' : '0';
  EXPECT_NE(with(other).find(":2: the crc does not match"), std::string::npos);
  EXPECT_NE(with("\"crc\":" + crc.substr(7)).find("bad crc field"), std::string::npos);
  EXPECT_NE(with(crc.substr(0, 15) + "\"}\n").find("bad crc field"), std::string::npos);
  EXPECT_NE(with("\"\\u0063rc\"" + crc.substr(5)).find("bad crc field"), std::string::npos);
  EXPECT_NE(with(crc.substr(0, crc.size() - 2) + " }\n").find("bad crc field"), std::string::npos);
  EXPECT_NE(with(crc.substr(0, crc.size() - 2) + ", \"x\": 1}\n").find("bad crc field"),
            std::string::npos);
  EXPECT_NE(with("\"cRc\"" + crc.substr(5)).find("the name of the crc field is damaged"),
            std::string::npos);
  EXPECT_EQ(with("\"cRc\": \"00000000\"}\n"), "no error") << "an unknown field";
}

TEST(Reader, AnyOrderAnySpaceUnknownThings) {
  const Ledger ledger = parse(
      "\r\n \t\n"
      "{ \"cands\":\"direct|vendor\",\t\"s1\":\"bad\" , "
      "\"s0\":\"ok\",\"m0\":1,\"ranked\":\"direct\","
      "\"round\":3,\"key\":\"n=8\",\"tier\":\"coarse\",\"dtype\":\"double\",\"run_id\":\"r\","
      "\"kind\":\"cell\",\"s9\":\"what\",\"s01\":7,\"s999999999999\":1,\"zz\":null,\"\":false } "
      "\r\n"
      "{\"kind\": \"weather\", \"run_id\": 7}\n"
      "{\"kind\":\"run\",\"run_id\":\"r\",\"dtype\":\"double\",\"batchlas\":\"abc\",\"tier\":"
      "\"coarse\","
      "\"keys\":\"n:log\",\"candidates\":\"direct|vendor\",\"date\":\"2026-01-01\"}\n");
  EXPECT_TRUE(ledger.warnings().empty());
  ASSERT_EQ(ledger.runs().size(), 1u);
  EXPECT_EQ(ledger.runs()[0].run.commit, "abc");
  EXPECT_EQ(ledger.runs()[0].run.worker, "");
  ASSERT_EQ(ledger.cells().size(), 1u) << "a run line may follow its cells";
  const StoredCell& cell = ledger.cells()[0];
  EXPECT_EQ(cell.round, 3);
  EXPECT_EQ(cell.line, 3);
  EXPECT_EQ(cell.dtype, 1);
  const auto outcomes = ledger.outcomes(cell);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].median_ms, 1);
  EXPECT_EQ(outcomes[0].hash, 0u) << "a missing hash is empty";
  EXPECT_EQ(outcomes[1].status, Status::kBad);
  EXPECT_TRUE(std::isnan(outcomes[1].median_ms));
  EXPECT_EQ(outcomes[1].calls, 1);
}

TEST(Reader, OneKindOfLineDoesNotLeakIntoTheNext) {
  // The second cell lacks what the first has.
  const std::string bare =
      "{\"kind\":\"cell\",\"run_id\":\"20261201T000000-h-1\",\"dtype\":\"float\",\"tier\":\"deep\","
      "\"key\":\"n=9\",\"round\":0,\"ranked\":\"\",\"cands\":\"direct|lanes:w=16|vendor\","
      "\"s0\":\"error\",\"s1\":\"error\",\"s2\":\"error\"}\n";
  const Ledger ledger = parse(run_line() + cell_line() + bare);
  ASSERT_EQ(ledger.cells().size(), 2u);
  EXPECT_EQ(ledger.ranked(ledger.cells()[1]).size(), 0u);
  EXPECT_EQ(ledger.text(ledger.cells()[1].date), "");
  for (const StoredOutcome& outcome : ledger.outcomes(ledger.cells()[1])) {
    EXPECT_EQ(ledger.text(outcome.hash), "");
    EXPECT_TRUE(std::isnan(outcome.median_ms));
    EXPECT_EQ(outcome.repetitions, 0);
  }
}

TEST(Reader, DirtyRunsAndLoneCellsAreLeftOut) {
  auto dirty = sample_run("dirty");
  dirty.commit = "0123abcd-dirty";
  auto dirty_double = dirty;
  dirty_double.dtype = "double";
  Audit audit;
  audit.run_id = "dirty";
  audit.dtype = "float";
  audit.key = "n=8";
  const Ledger ledger =
      parse(to_line(dirty, "furlong") + "\n" + cell_line(1, "dirty") + cell_line(2, "lone") +
            to_line(audit) + "\n" + run_line() + cell_line(3) + to_line(dirty_double, "furlong") +
            "\n" + cell_line(4, "lone"));
  ASSERT_EQ(ledger.runs().size(), 1u);
  ASSERT_EQ(ledger.cells().size(), 1u);
  EXPECT_EQ(ledger.text(ledger.cells()[0].key), "uplo=L,n=3,batch=128");
  EXPECT_EQ(ledger.cells()[0].run, 0);
  EXPECT_EQ(ledger.audits().size(), 0u);
  ASSERT_EQ(ledger.warnings().size(), 2u);
  EXPECT_EQ(
      ledger.warnings()[0],
      "demo.cpu.jsonl: left out 2 run line(s) of a dirty tree with 1 cell(s), first run dirty");
  EXPECT_EQ(ledger.warnings()[1],
            "demo.cpu.jsonl:3: left out 2 cell(s) without a run line, first here");
}

TEST(Reader, ALaterRunLineReplaces) {
  auto dirty = sample_run();
  dirty.commit = "0123abcd-dirty";
  auto other = sample_run("other");
  auto later = sample_run();
  later.date = "2026-12-05";
  const std::string dirty_line = to_line(dirty, "furlong") + "\n";
  const std::string later_line = to_line(later, "furlong") + "\n";
  const Ledger clean = parse(dirty_line + cell_line(1) + to_line(other, "furlong") + "\n" +
                             later_line + cell_line(2));
  ASSERT_EQ(clean.runs().size(), 2u);
  EXPECT_EQ(clean.runs()[1].run.date, "2026-12-05");
  EXPECT_EQ(clean.runs()[1].line, 4);
  ASSERT_EQ(clean.cells().size(), 2u);
  EXPECT_EQ(clean.cells()[0].run, 1);
  EXPECT_EQ(parse(later_line + cell_line(1) + dirty_line).cells().size(), 0u);
}

TEST(Reader, LfsPointerSaysPull) {
  EXPECT_NE(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
                .find(":1: a Git LFS pointer"),
            std::string::npos);
}

TEST(Reader, FilesAreReadInPieces) {
  const furlong::testing::TemporaryFolder folder;
  const auto file = folder.path() / "demo.cpu.jsonl";
  // One line is longer than any piece, others straddle pieces.
  auto wide = sample_cell();
  for (int i = 0; i < 12000; ++i) {
    Outcome outcome;
    outcome.candidate = "wide:i=" + std::to_string(i);
    outcome.status = Status::kError;
    outcome.reason = std::string(100, 'r');
    wide.outcomes.push_back(outcome);
  }
  std::string bytes = run_line();
  for (int n = 1; n <= 3000; ++n) bytes += cell_line(n);
  bytes += to_line(wide) + "\n";
  for (int n = 3001; n <= 4000; ++n) bytes += cell_line(n);
  bytes += "{\"kind\": \"cell\", \"ru";
  furlong::testing::put_file(file, bytes);
  const Ledger pieces = Ledger::read(file, {});
  const Ledger whole = Ledger::parse(bytes, file.string(), {});
  ASSERT_EQ(pieces.cells().size(), 4001u);
  ASSERT_EQ(whole.cells().size(), 4001u);
  EXPECT_EQ(pieces.outcomes(pieces.cells()[3000]).size(), 12003u);
  for (std::size_t i = 0; i < 4001; ++i) {
    EXPECT_EQ(pieces.cells()[i].line, static_cast<std::int32_t>(i) + 2);
    EXPECT_EQ(pieces.text(pieces.cells()[i].key), whole.text(whole.cells()[i].key));
  }
  ASSERT_EQ(pieces.warnings().size(), 1u);
  EXPECT_EQ(pieces.warnings()[0], whole.warnings()[0]);
  EXPECT_THROW(Ledger::read(folder.path() / "missing.jsonl", {}), Error);
}

TEST(Reader, ManyRankings) {
  // More different lists than are remembered, each twice and with others between.
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h"};
  auto run = sample_run();
  run.candidates = names;
  std::string bytes = to_line(run, "furlong") + "\n";
  auto cell = sample_cell();
  cell.outcomes.resize(names.size(), cell.outcomes[0]);
  for (std::size_t i = 0; i < names.size(); ++i) cell.outcomes[i].candidate = names[i];
  std::vector<std::vector<std::string>> rankings;
  for (auto order = names; rankings.size() < 10000;
       std::next_permutation(order.begin(), order.end())) {
    rankings.push_back(order);
    rankings.push_back(rankings[rankings.size() / 2]);
  }
  for (const auto& ranking : rankings) {
    cell.ranked = ranking;
    bytes += to_line(cell) + "\n";
  }
  const Ledger ledger = parse(bytes);
  ASSERT_EQ(ledger.cells().size(), rankings.size());
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    std::vector<std::string> ranking;
    for (const NameId id : ledger.ranked(ledger.cells()[i])) ranking.emplace_back(ledger.text(id));
    ASSERT_EQ(ranking, rankings[i]);
  }
}

TEST(Reader, LongFilesAreReadInPartsWithTheSameAnswer) {
  const furlong::testing::TemporaryFolder folder;
  const auto file = folder.path() / "demo.cpu.jsonl";
  std::string bytes = run_line("r0");
  int n = 0;
  for (int r = 0; bytes.size() < (std::size_t{30} << 20); ++r) {
    const std::string id = "r" + std::to_string(r);
    for (int i = 0; i < 4000; ++i) bytes += cell_line(++n, id);
    bytes += testing::rehash_line(std::to_string(r)) + "\n";
    bytes += run_line(id, "2026-12-0" + std::to_string(r % 9 + 1));
    if (r == 3) bytes += run_line("r1", "2027-01-01");
  }
  const auto compare = [&] {
    furlong::testing::put_file(file, bytes);
    const Ledger parts = Ledger::read(file, {});
    const Ledger whole = Ledger::parse(bytes, file.string(), {});
    ASSERT_EQ(parts.name_count(), whole.name_count());
    for (NameId id = 0; id < whole.name_count(); ++id) ASSERT_EQ(parts.text(id), whole.text(id));
    ASSERT_EQ(parts.runs().size(), whole.runs().size());
    for (std::size_t i = 0; i < whole.runs().size(); ++i) {
      EXPECT_EQ(to_line(parts.runs()[i].run, "l"), to_line(whole.runs()[i].run, "l"));
      EXPECT_EQ(parts.runs()[i].line, whole.runs()[i].line);
    }
    ASSERT_EQ(parts.cells().size(), whole.cells().size());
    for (std::size_t i = 0; i < whole.cells().size(); ++i) {
      const StoredCell& a = parts.cells()[i];
      const StoredCell& b = whole.cells()[i];
      // Where the rest lies differs: each part keeps its own.
      ASSERT_EQ(std::tie(a.run, a.dtype, a.key, a.date, a.tier, a.round, a.line),
                std::tie(b.run, b.dtype, b.key, b.date, b.tier, b.round, b.line));
      const auto x = parts.outcomes(a);
      const auto y = whole.outcomes(b);
      ASSERT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end(), [](auto& p, auto& q) {
        return p.candidate == q.candidate && p.family == q.family && p.hash == q.hash &&
               p.reason == q.reason && p.status == q.status && p.calls == q.calls &&
               (p.median_ms == q.median_ms || !q.timed());
      }));
      const auto v = parts.ranked(a);
      const auto w = whole.ranked(b);
      ASSERT_TRUE(std::equal(v.begin(), v.end(), w.begin(), w.end()));
    }
    ASSERT_EQ(parts.rehashes().size(), whole.rehashes().size());
    for (std::size_t i = 0; i < whole.rehashes().size(); ++i) {
      EXPECT_EQ(parts.rehashes()[i].from, whole.rehashes()[i].from);
      EXPECT_EQ(parts.rehashes()[i].line, whole.rehashes()[i].line);
    }
    EXPECT_TRUE(std::equal(parts.warnings().begin(), parts.warnings().end(),
                           whole.warnings().begin(), whole.warnings().end()));
  };
  compare();
  bytes += cell_line(1, "lone") + "{\"kind";
  compare();
  // Damage late in the file is told with the file's line number.
  const auto at = bytes.find('\n', bytes.size() - 4096);
  const auto line =
      std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  bytes[at + 1] = 'x';
  furlong::testing::put_file(file, bytes);
  try {
    Ledger::read(file, {});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string place = file.string() + ":" + std::to_string(line + 2) + ": ";
    EXPECT_EQ(std::string(error.what()).rfind(place, 0), 0u) << error.what();
  }
}

}  // namespace
}  // namespace furlong::ledger
