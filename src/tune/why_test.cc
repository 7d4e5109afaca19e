#include "tune/why.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace furlong::tune {
namespace {

std::string run_line(const std::string& run_id, const std::string& tier, const std::string& date,
                     const std::string& commit = "0a1b2c3d") {
  return fmt::format(
      R"({{"kind": "run", "format": 1, "run_id": "{}", "dtype": "float", "device": "cpu", )"
      R"("furlong": "{}", "date": "{}", "tier": "{}", "keys": "n:log", )"
      R"("candidates": "fast:w=8|slow"}})"
      "\n",
      run_id, commit, date, tier);
}

std::string cell_line(const std::string& run_id, const std::string& tier, const std::string& key,
                      const std::string& ranked, const std::string& fast_hash,
                      const std::string& slow_hash, const std::string& status = "ok",
                      const std::string& cands = "fast:w=8|slow") {
  return fmt::format(
      R"({{"kind": "cell", "run_id": "{}", "dtype": "float", "tier": "{}", "key": "{}", )"
      R"("round": 0, "date": "2026-05-04", "ranked": "{}", "cands": "{}", "h0": "{}", )"
      R"("s0": "{}", "m0": 0.25, "h1": "{}", "s1": "{}", "m1": 0.5}})"
      "\n",
      run_id, tier, key, ranked, cands, fast_hash, status, slow_hash, status);
}

KernelHashes hashes_now(const std::vector<std::string>&) {
  return {"99999999", {{"fast", "11111111"}, {"slow", "22222222"}}};
}

Why explain_cell(const std::string& bytes, const std::string& key = "n=16") {
  return explain(bytes, "demo.cpu.jsonl", {}, hashes_now, "float", CellKey::parse(key).value());
}

const std::string kBoth = "fast:w=8|slow";

TEST(Why, TellsEveryVerdictOfACell) {
  const std::string bytes =
      run_line("a", "deep", "2026-05-04") + run_line("b", "coarse", "2026-05-03") +
      run_line("d", "deep", "2026-05-05", "0a1b2c3d-dirty") +
      run_line("i", "converted", "2026-05-01") +
      cell_line("a", "deep", "n=16", kBoth, "11111111", "22222222") +        // line 5
      cell_line("a", "deep", "n=16", kBoth, "11111111", "33333333") +        // line 6
      cell_line("b", "coarse", "n=16", kBoth, "11111111", "22222222") +      // line 7
      cell_line("a", "deep", "n=16", kBoth, "44444444", "22222222") +        // line 8
      cell_line("a", "deep", "n=16", "", "11111111", "22222222", "error") +  // line 9
      cell_line("d", "deep", "n=16", kBoth, "11111111", "22222222") +        // line 10
      cell_line("x", "deep", "n=16", kBoth, "11111111", "22222222") +        // line 11
      cell_line("i", "converted", "n=16", kBoth, "", "") +                   // line 12
      cell_line("a", "deep", "n=16", "gone|slow", "11111111", "22222222", "ok",
                "gone|slow") +                                        // line 13
      cell_line("a", "deep", "n=32", kBoth, "11111111", "22222222");  // line 14
  const Why why = explain_cell(bytes);
  EXPECT_TRUE(why.counted());
  EXPECT_EQ(why.warnings.size(), 2u);
  ASSERT_EQ(why.records.size(), 9u);
  const auto& records = why.records;
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].line, static_cast<std::int32_t>(i) + 5);
  }
  const Verdict verdicts[] = {Verdict::kBeaten, Verdict::kCounts,    Verdict::kBeaten,
                              Verdict::kStale,  Verdict::kAllErrors, Verdict::kDirty,
                              Verdict::kNoRun,  Verdict::kBeaten,    Verdict::kStale};
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(verdict_name(records[i].verdict), verdict_name(verdicts[i])) << records[i].line;
  }
  const auto reason = [&](std::size_t i) { return records[i].reasons.at(0); };
  EXPECT_EQ(reason(0), "line 6 is a later record of the same tier");
  EXPECT_EQ(records[1].standing, "partly stale");
  EXPECT_EQ(reason(1), "family slow changed: hash 33333333, now 22222222");
  EXPECT_EQ(records[1].winner, "fast:w=8");
  EXPECT_EQ(records[1].ms, 0.25);
  EXPECT_EQ(reason(2), "line 6 has the better tier deep");
  EXPECT_EQ(reason(3), "the winner's family fast changed: hash 44444444, now 11111111");
  EXPECT_EQ(reason(4), "every candidate is an error");
  EXPECT_EQ(reason(5), "its run is of a tree with uncommitted changes (0a1b2c3d-dirty)");
  EXPECT_EQ(reason(6), "its run line is missing");
  EXPECT_EQ(reason(7), "measured here since: line 6 (deep)");
  EXPECT_EQ(reason(8), "the winner gone is no candidate now");
}

TEST(Why, ShowsDirtyRecordsWhereNoRunIsClean) {
  const Why why = explain_cell(run_line("d", "deep", "2026-05-05", "0a1b2c3d-dirty") +
                               cell_line("d", "deep", "n=016", kBoth, "11111111", "22222222"));
  EXPECT_FALSE(why.counted());
  ASSERT_EQ(why.records.size(), 1u);
  EXPECT_EQ(why.records[0].verdict, Verdict::kDirty);
}

TEST(Why, ARunLineThatReplacesADirtyOneClears) {
  const Why why = explain_cell(run_line("d", "deep", "2026-05-05", "0a1b2c3d-dirty") +
                               cell_line("d", "deep", "n=16", kBoth, "11111111", "22222222") +
                               run_line("d", "deep", "2026-05-05"));
  ASSERT_EQ(why.records.size(), 1u);
  EXPECT_EQ(why.records[0].verdict, Verdict::kCounts);
}

TEST(Why, AnEmptyRankingGivesWayToAnImportedRecord) {
  const std::string empty = run_line("a", "deep", "2026-05-04") +
                            cell_line("a", "deep", "n=16", "", "11111111", "22222222", "bad");
  EXPECT_EQ(explain_cell(empty).records.at(0).verdict, Verdict::kCounts);
  const Why why = explain_cell(empty + run_line("i", "converted", "2026-05-01") +
                               cell_line("i", "converted", "n=16", kBoth, "", ""));
  ASSERT_EQ(why.records.size(), 2u);
  EXPECT_EQ(why.records[0].verdict, Verdict::kUnranked);
  EXPECT_EQ(why.records[1].verdict, Verdict::kCounts);
}

TEST(Why, ShowsRecordsWithOtherAxes) {
  const Why why = explain_cell(run_line("a", "deep", "2026-05-04") +
                               cell_line("a", "deep", "n=16", kBoth, "11111111", "22222222") +
                               cell_line("a", "deep", "n=16,ld=17", kBoth, "11111111", "22222222"));
  ASSERT_EQ(why.records.size(), 2u);
  EXPECT_EQ(why.records[0].verdict, Verdict::kStale);
  EXPECT_EQ(why.records[0].reasons.at(0), "the record has the axes n, newer ones have ld,n");
  EXPECT_EQ(why.records[1].verdict, Verdict::kCounts);
}

TEST(Why, RefusesAMissingKeyAndAnUnknownDtype) {
  const std::string bytes = run_line("a", "deep", "2026-05-04") +
                            cell_line("a", "deep", "n=16", kBoth, "11111111", "22222222");
  EXPECT_THROW(explain_cell(bytes, "batch=4"), std::invalid_argument);
  EXPECT_THROW(explain(bytes, "f", {}, hashes_now, "half", CellKey::parse("n=16").value()),
               std::invalid_argument);
  EXPECT_TRUE(explain_cell(bytes, "n=8").records.empty());
}

}  // namespace
}  // namespace furlong::tune
