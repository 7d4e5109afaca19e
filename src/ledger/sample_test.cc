#include "ledger/sample.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "furlong/cell_key.hh"
#include "furlong/error.hh"
#include "ledger/freshness.hh"
#include "ledger/sample_records.hh"

namespace furlong::ledger {
namespace {

using testing::sample_run;

constexpr const char* kSample = "20261203T000000-h-9";

std::string key_text(const std::string& uplo, int n, int batch) {
  return "uplo=" + uplo + ",n=" + std::to_string(n) + ",batch=" + std::to_string(batch);
}

/// An op with the families a and b, tuned at deep over 2 dtypes x 2 uplo x 6 n x 5 batch; then a
/// was edited.
struct Tuned {
  Tuned() {
    for (const std::string dtype : {"float", "double"}) {
      add_run("20261201T000000-h-1", dtype, Tier::kDeep, "2026-12-01");
      for (const std::string uplo : {"L", "U"}) {
        for (const int n : {1, 2, 4, 8, 16, 32}) {
          for (const int batch : {1, 8, 64, 512, 4096}) {
            add_cell("20261201T000000-h-1", dtype, Tier::kDeep, key_text(uplo, n, batch), 1.0, 2.0,
                     "a0");
          }
        }
      }
    }
  }

  void add_run(const std::string& run_id, const std::string& dtype, Tier tier,
               const std::string& date = "2026-12-03") {
    ledger::Run run = sample_run(run_id, date);
    run.dtype = dtype;
    run.tier = tier;
    run.candidates = {"a", "b"};
    text_ += to_line(run, "furlong") + "\n";
  }
  /// A record with the medians of a and b, and the hash of a.
  static Cell cell_of(const std::string& run_id, const std::string& dtype, Tier tier,
                      const std::string& key, double a, double b,
                      const std::string& hash_of_a = "a1") {
    Cell cell;
    cell.run_id = run_id;
    cell.dtype = dtype;
    cell.tier = tier;
    cell.key = key;
    cell.date = "2026-12-03";
    const auto outcome = [&](const char* name, const std::string& hash, double ms) {
      Outcome one;
      one.candidate = name;
      one.hash = hash;
      one.median_ms = ms;
      one.status = ms > 0 ? Status::kOk : Status::kError;
      if (ms > 0) one.min_ms = one.max_ms = ms;
      one.repetitions = 7;
      return one;
    };
    cell.outcomes = {outcome("a", hash_of_a, a), outcome("b", "b0", b)};
    if (a > 0) cell.ranked = {"a", "b"};
    if (a > b) cell.ranked = {"b", "a"};
    return cell;
  }
  void add(const Cell& cell) { text_ += to_line(cell) + "\n"; }
  void add_cell(const std::string& run_id, const std::string& dtype, Tier tier,
                const std::string& key, double a, double b, const std::string& hash_of_a = "a1") {
    add(cell_of(run_id, dtype, tier, key, a, b, hash_of_a));
  }

  Ledger ledger() const { return Ledger::parse(text_, "op.dev.jsonl", {dtypes_}); }
  static KernelHashes hashes(const std::vector<std::string>&) {
    return {"0000", {{"a", "a1"}, {"b", "b0"}}};
  }
  std::vector<SampleCell> draw(std::size_t cells = kSampleCells) const {
    return draw_sample(ledger(), dtypes_, hashes, cells);
  }
  SampleVerdict judge(const std::vector<std::string>& families = {}) const {
    return judge_sample(ledger(), dtypes_, hashes, kSample, families, "0123abcd");
  }
  /// Measures the sample; `time_of_a` says how long a takes now (b: 2 ms).
  void measure(const std::function<double(const std::string& key)>& time_of_a,
               std::vector<SampleCell> cells) {
    for (const std::string dtype : {"float", "double"}) add_run(kSample, dtype, Tier::kCustom);
    for (const SampleCell& cell : cells) {
      add_cell(kSample, dtypes_.names()[static_cast<std::size_t>(cell.dtype)], Tier::kCustom,
               cell.key, time_of_a(cell.key), 2.0);
    }
  }
  std::map<Standing, int> standings() const {
    const auto read = ledger();
    const Freshness freshness(read, dtypes_, now_of_newest_runs(read, dtypes_, hashes));
    std::map<Standing, int> count;
    for (std::size_t i = 0; i < read.cells().size(); ++i) {
      if (read.cells()[i].tier == Tier::kDeep) ++count[freshness.standing(i)];
    }
    return count;
  }

  DtypeList dtypes_;
  std::string text_;
};

class SampleTest : public ::testing::Test, protected Tuned {};

double same(const std::string&) {
  return 1.0;
}

TEST_F(SampleTest, CoversEveryStratumAndTheEndsOfEveryLogKey) {
  const auto cells = draw();
  EXPECT_EQ(cells.size(), 64u);
  EXPECT_EQ(draw(), cells) << "the same cells each time";
  std::map<std::string, std::map<std::string, std::set<std::string>>> values;
  std::set<std::string> distinct;
  for (const SampleCell& cell : cells) {
    const auto key = CellKey::parse(cell.key).value();
    const std::string stratum = std::to_string(cell.dtype) + *key.find("uplo");
    for (const char* name : {"n", "batch"}) values[stratum][name].insert(*key.find(name));
    EXPECT_TRUE(distinct.insert(std::to_string(cell.dtype) + cell.key).second) << cell.key;
  }
  ASSERT_EQ(values.size(), 4u);
  for (const auto& [stratum, of_key] : values) {
    for (const char* n : {"1", "4", "32"}) EXPECT_TRUE(of_key.at("n").contains(n)) << stratum;
    for (const char* b : {"1", "64", "4096"}) EXPECT_TRUE(of_key.at("batch").contains(b));
  }
  EXPECT_EQ(draw(100).size(), 100u);
  EXPECT_EQ(draw(1000).size(), 120u) << "no more than there are";
}

TEST_F(SampleTest, OfManyCellsTheStrataAndThenEvenlySpreadOnes) {
  // 2 strata of 40 n x 10 batch, in no order.
  text_.clear();
  add_run("r", "float", Tier::kDeep);
  for (int i = 0; i < 800; ++i) {
    const int cell = i * 37 % 800;
    add_cell("r", "float", Tier::kDeep,
             key_text(cell % 2 == 0 ? "U" : "L", cell / 2 % 40 + 1, cell / 80 + 1), 1, 2);
  }
  std::vector<std::string> all;
  for (const char* uplo : {"L", "U"}) {
    for (int n = 1; n <= 40; ++n) {
      for (int batch = 1; batch <= 10; ++batch) all.push_back(key_text(uplo, n, batch));
    }
  }
  const auto keys = [&](std::size_t cells) {
    std::vector<std::string> drawn;
    for (const SampleCell& cell : draw(cells)) drawn.push_back(cell.key);
    return drawn;
  };
  ASSERT_EQ(keys(1000), all) << "in the order of their keys, numbers as numbers";

  // The min, median and max of n at a middle batch, and of batch at a middle n; no more.
  std::vector<std::string> strata;
  for (const char* uplo : {"L", "U"}) {
    for (const auto& [n, batch] :
         std::vector<std::pair<int, int>>{{1, 6}, {20, 6}, {21, 1}, {21, 5}, {21, 10}, {40, 6}}) {
      strata.push_back(key_text(uplo, n, batch));
    }
  }
  EXPECT_EQ(keys(1), strata);
  EXPECT_EQ(keys(12), strata);

  const auto drawn = keys(64);
  ASSERT_EQ(drawn.size(), 64u);
  const std::set<std::string> sample(drawn.begin(), drawn.end());
  for (const std::string& key : strata) EXPECT_TRUE(sample.contains(key)) << key;
  // 52 of the other 788: one in the middle of each of 52 equal parts.
  const std::set<std::string> in_strata(strata.begin(), strata.end());
  std::vector<int> gaps;
  int gap = 0;
  for (const std::string& key : all) {
    if (in_strata.contains(key)) continue;
    if (sample.contains(key)) {
      gaps.push_back(gap);
      gap = 0;
    }
    ++gap;
  }
  ASSERT_EQ(gaps.size(), 52u);
  EXPECT_EQ(gaps[0], 7);
  EXPECT_EQ(gap, 8) << "behind the last one, that one included";
  for (std::size_t i = 1; i < gaps.size(); ++i) {
    EXPECT_TRUE(gaps[i] == 15 || gaps[i] == 16) << gaps[i] << " at " << i;
  }
}

TEST_F(SampleTest, StrataComeBeforeTheNumberAsked) {
  // 30 more strata of one cell each.
  for (int i = 0; i < 30; ++i) {
    add_cell("20261201T000000-h-1", "float", Tier::kDeep, key_text(fmt::format("X{}", i), 8, 64),
             1.0, 2.0, "a0");
  }
  const auto cells = draw();
  std::set<std::string> strata;
  for (const SampleCell& cell : cells) strata.insert(cell.key.substr(0, cell.key.find(',')));
  EXPECT_EQ(strata.size(), 32u);
}

TEST_F(SampleTest, TooFewCellsAreNoSample) {
  text_.clear();
  add_run("r", "float", Tier::kDeep);
  for (int n = 1; n <= 63; ++n) add_cell("r", "float", Tier::kDeep, key_text("L", n, 1), 1, 2);
  try {
    draw();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "op.dev.jsonl: 63 cells with a measured record; a sample needs at least 64");
  }
  add_cell("r", "float", Tier::kDeep, key_text("L", 64, 1), 1, 2);
  EXPECT_EQ(draw().size(), 64u);
}

TEST_F(SampleTest, AnAgreeingSampleMakesTheRecordsCurrentAgain) {
  EXPECT_EQ(standings(), (std::map<Standing, int>{{Standing::kStale, 120}}));
  measure(same, draw());
  const auto verdict = judge();
  EXPECT_TRUE(verdict.refused.empty()) << verdict.refused.front();
  EXPECT_TRUE(verdict.unsettled.empty());
  ASSERT_EQ(verdict.lines.size(), 1u);
  const auto& line = verdict.lines[0];
  EXPECT_EQ(line.family, "a");
  EXPECT_EQ(line.from, "a0");
  EXPECT_EQ(line.to, "a1");
  EXPECT_EQ(line.at, "0123abcd");
  EXPECT_EQ(line.proof, std::string("sample:") + kSample);
  EXPECT_EQ(line.why, "64 cells agree, 0 re-measured at deep");

  text_ += to_line(line) + "\n";
  EXPECT_EQ(standings(), (std::map<Standing, int>{{Standing::kCurrent, 120}}));
  const auto again = judge();
  EXPECT_TRUE(again.lines.empty() && again.refused.empty() && again.unsettled.empty());
}

TEST_F(SampleTest, AnOldWinnerWithinThreePercentAgrees) {
  measure([](const std::string&) { return 2.06; }, draw());
  EXPECT_EQ(judge().agree, 64) << "2.06 ms is exactly 3 % over b's 2 ms";
  static_cast<Tuned&>(*this) = Tuned();
  measure([](const std::string&) { return 2.07; }, draw());
  EXPECT_EQ(judge().agree, 0);
  EXPECT_EQ(judge().unsettled.size(), 64u);
}

TEST_F(SampleTest, ADeepRecordOfTodaySettlesWhatDisagrees) {
  const auto cells = draw();
  const std::string odd = cells[10].key;
  const std::string gone = cells[20].key;
  ASSERT_NE(odd, gone);
  // b is now the best at one key of both dtypes, and a fails at another.
  std::set<std::string> two;
  for (const auto& cell : cells) {
    if (cell.key == odd || cell.key == gone) two.insert(std::to_string(cell.dtype) + cell.key);
  }
  measure([&](const std::string& key) { return key == odd    ? 3.0
                                               : key == gone ? -1.0
                                                             : 1.0; },
          cells);
  const auto verdict = judge();
  EXPECT_TRUE(verdict.lines.empty());
  EXPECT_TRUE(verdict.refused.empty());
  EXPECT_EQ(verdict.unsettled.size(), two.size());
  EXPECT_EQ(verdict.agree, static_cast<int>(64 - two.size()));

  // A deep record of the old kernels, or a coarse one, settles nothing.
  for (const auto& cell : verdict.unsettled) {
    const std::string& dtype = dtypes_.names()[static_cast<std::size_t>(cell.dtype)];
    add_run("20261204T000000-h-1", dtype, Tier::kDeep);
    add_cell("20261204T000000-h-1", dtype, Tier::kDeep, cell.key, 1.0, 2.0, "a0");
    add_cell("20261204T000000-h-1", dtype, Tier::kCoarse, cell.key, 3.0, 2.0);
  }
  EXPECT_TRUE(judge().lines.empty());
  for (const auto& cell : verdict.unsettled) {
    const std::string& dtype = dtypes_.names()[static_cast<std::size_t>(cell.dtype)];
    add_cell("20261204T000000-h-1", dtype, Tier::kDeep, cell.key, 3.0, 2.0);
  }
  const auto settled = judge();
  ASSERT_EQ(settled.lines.size(), 1u);
  EXPECT_EQ(settled.lines[0].why, std::to_string(64 - two.size()) + " cells agree, " +
                                      std::to_string(two.size()) + " re-measured at deep");
}

TEST_F(SampleTest, RefusesWhatIsNoSample) {
  const auto cells = draw();
  const auto refusal = [&](std::vector<SampleCell> some) {
    Tuned copy;
    copy.measure(same, std::move(some));
    const auto verdict = copy.judge();
    EXPECT_TRUE(verdict.lines.empty());
    EXPECT_TRUE(verdict.unsettled.empty());
    std::string text;
    for (const auto& one : verdict.refused) text += one + "\n";
    return text;
  };
  auto some = cells;
  some.pop_back();
  EXPECT_EQ(refusal(some), "63 of its cells are held by old records; at least 64 are needed\n");
  // A cell that no old record holds proves nothing.
  some.push_back({0, key_text("L", 64, 1)});
  EXPECT_EQ(refusal(some), "63 of its cells are held by old records; at least 64 are needed\n");

  const auto all = draw(120);
  const auto without = [&](const std::function<bool(const SampleCell&)>& out) {
    auto left = all;
    std::erase_if(left, out);
    return left;
  };
  EXPECT_EQ(refusal(without([](const SampleCell& cell) {
              return cell.dtype == 1 && cell.key.starts_with("uplo=U");
            })),
            "no cell of dtype=double uplo=U, which old records hold\n");
  EXPECT_EQ(refusal(without(
                [](const SampleCell& cell) { return cell.key.find("n=32") != std::string::npos; })),
            "n goes from 1 to 16; old records go from 1 to 32\n");
  EXPECT_EQ(refusal(without([](const SampleCell& cell) {
              return cell.key.ends_with("batch=1") || cell.key.ends_with("batch=4096");
            })),
            "batch goes from 8 to 512; old records go from 1 to 4096\n");
  EXPECT_EQ(refusal(without(
                [](const SampleCell& cell) { return cell.key.find("n=1,") != std::string::npos; })),
            "n goes from 2 to 32; old records go from 1 to 32\n");
}

TEST_F(SampleTest, RefusesOtherKernelsOtherTiersAndUnknownRuns) {
  const auto cells = draw();
  EXPECT_THROW(judge(), Error) << "no such run";
  for (const std::string dtype : {"float", "double"}) add_run(kSample, dtype, Tier::kCoarse);
  for (const auto& cell : cells) {
    add_cell(kSample, dtypes_.names()[static_cast<std::size_t>(cell.dtype)], Tier::kCoarse,
             cell.key, 1, 2, "a7");
  }
  const auto verdict = judge();
  ASSERT_EQ(verdict.refused.size(), 2u);
  EXPECT_EQ(verdict.refused[0],
            std::string("run ") + kSample + " is of tier coarse; a sample is of tier custom");
  EXPECT_EQ(verdict.refused[1],
            std::string("run ") + kSample +
                " was measured with other kernels than today's: the winner's family a changed: "
                "hash a7, now a1");
  EXPECT_THROW(judge({"c"}), Error);
}

TEST_F(SampleTest, RefusesAnEditOfAFamilyThatDidNotWin) {
  for (const std::string dtype : {"float", "double"}) add_run(kSample, dtype, Tier::kCustom);
  for (const auto& cell : draw()) {
    add_cell(kSample, dtypes_.names()[static_cast<std::size_t>(cell.dtype)], Tier::kCustom,
             cell.key, 3, 2, "a7");
  }
  const auto verdict = judge();
  EXPECT_TRUE(verdict.lines.empty());
  ASSERT_EQ(verdict.refused.size(), 1u);
  EXPECT_EQ(verdict.refused[0], std::string("run ") + kSample +
                                    " was measured with other kernels than today's: family a "
                                    "changed: hash a7, now a1");
}

TEST_F(SampleTest, ASampleOfEveryCellIsOneToo) {
  measure(same, draw(1000));
  const auto verdict = judge();
  EXPECT_TRUE(verdict.refused.empty()) << verdict.refused.front();
  ASSERT_EQ(verdict.lines.size(), 1u) << "what is of tier custom takes no record's place";
  EXPECT_EQ(verdict.lines[0].why, "120 cells agree, 0 re-measured at deep");
}

TEST_F(SampleTest, CellsMeasuredAnewMakeNothingStale) {
  for (const std::string dtype : {"float", "double"}) {
    add_run("20261202T000000-h-2", dtype, Tier::kCoarse);
  }
  for (const auto& cell : draw(1000)) {
    add_cell("20261202T000000-h-2", dtypes_.names()[static_cast<std::size_t>(cell.dtype)],
             Tier::kCoarse, cell.key, 1, 2);
  }
  measure(same, {{0, key_text("L", 1, 1)}});
  const auto verdict = judge();
  EXPECT_TRUE(verdict.lines.empty());
  EXPECT_TRUE(verdict.refused.empty()) << "nothing to prove";
}

TEST_F(SampleTest, TheOldRecordIsOfTheBestTierThenTheLaterOne) {
  const std::string run = "20261201T000000-h-1";
  const std::string of_first_line = key_text("L", 1, 1);
  const std::string of_last_line = key_text("L", 1, 8);
  const std::string twice = key_text("U", 32, 4096);
  const std::string recorded = text_;
  text_.clear();
  add_run(run, "float", Tier::kDeep, "2026-12-01");
  // b wins here, a in the deep records: those are what counts, before and behind.
  add_cell(run, "float", Tier::kCoarse, of_last_line, 3, 2, "a0");
  text_ += recorded;
  add_cell(run, "float", Tier::kCoarse, of_first_line, 3, 2, "a0");
  // Deep twice, and b wins in the later one.
  add_cell(run, "float", Tier::kDeep, twice, 3, 2, "a0");
  const auto cells = draw(1000);
  ASSERT_EQ(cells.size(), 120u);
  for (const std::string dtype : {"float", "double"}) add_run(kSample, dtype, Tier::kCustom);
  for (const SampleCell& cell : cells) {
    const bool b_wins = cell.dtype == 0 && cell.key == twice;
    add_cell(kSample, dtypes_.names()[static_cast<std::size_t>(cell.dtype)], Tier::kCustom,
             cell.key, b_wins ? 3 : 1, 2);
  }
  const auto verdict = judge();
  EXPECT_TRUE(verdict.refused.empty()) << verdict.refused.front();
  EXPECT_EQ(verdict.agree, 120);
  for (const SampleCell& cell : verdict.unsettled) ADD_FAILURE() << cell.dtype << " " << cell.key;
}

TEST_F(SampleTest, TheHashOfWhatWasSkippedSaysNothing) {
  const std::string run = "20261201T000000-h-1";
  const auto skipped = [](Outcome& outcome, const std::string& hash) {
    Outcome none;
    none.candidate = outcome.candidate;
    none.hash = hash;
    none.status = Status::kSkipped;
    none.reason = "refused: too big";
    outcome = none;
  };
  // The last old record: b could not run, under another hash than b's of today.
  auto without_b = cell_of(run, "float", Tier::kDeep, key_text("L", 64, 1), 1, 2, "a0");
  skipped(without_b.outcomes[1], "b7");
  without_b.ranked = {"a"};
  add(without_b);
  // And one where a could not run, under today's hash: as old as all others.
  auto without_a = cell_of(run, "float", Tier::kDeep, key_text("U", 64, 1), 1, 2);
  skipped(without_a.outcomes[0], "a1");
  without_a.ranked = {"b"};
  add(without_a);
  const auto cells = draw(1000);
  EXPECT_EQ(cells.size(), 122u);
  measure([](const std::string& key) { return key.starts_with("uplo=U,n=64") ? 3.0 : 1.0; }, cells);
  const auto verdict = judge();
  EXPECT_TRUE(verdict.refused.empty()) << verdict.refused.front();
  EXPECT_EQ(verdict.agree, 122);
  ASSERT_EQ(verdict.lines.size(), 1u);
  EXPECT_EQ(verdict.lines[0].family, "a");
  EXPECT_EQ(verdict.lines[0].from, "a0");
}

TEST_F(SampleTest, OnlyRecordsThatNewKernelsMadeStaleSayWhichHashesWereBefore) {
  const std::string run = "20261201T000000-h-1";
  const auto odd = [&](const std::string& dtype, const std::string& key) {
    return cell_of(run, dtype, Tier::kDeep, key, 1, 2, "a9");
  };
  const auto cells = draw();
  const auto from_with = [&](const Cell& cell) {
    Tuned copy;
    copy.add_run(cell.run_id, "cfloat", Tier::kDeep, "2026-12-01");
    copy.add(cell);
    copy.measure(same, cells);
    const auto verdict = copy.judge();
    return verdict.lines.size() == 1 ? verdict.lines[0].from : "no line";
  };
  EXPECT_EQ(from_with(odd("float", key_text("L", 3, 3))), "no line")
      << "nothing else is wrong with it: the hash before is a9, which no other record has";
  auto removed = odd("float", key_text("L", 3, 3));
  removed.outcomes.push_back(removed.outcomes[0]);
  removed.outcomes.back().candidate = "c";
  removed.ranked = {"c", "a", "b"};
  EXPECT_EQ(from_with(removed), "a0") << "the winner is no candidate now";
  auto outside = odd("float", key_text("L", 3, 3));
  outside.outcomes.pop_back();
  outside.ranked = {"b", "a"};
  EXPECT_EQ(from_with(outside), "a0") << "the winner has no outcome";
  EXPECT_EQ(from_with(odd("float", key_text("L", 3, 3) + ",side=R")), "a0") << "of other axes";
  EXPECT_EQ(from_with(odd("cfloat", "uplo=L,n=3")), "a0") << "a key is missing";
}

TEST_F(SampleTest, OnlyTheFamiliesAskedFor) {
  measure(same, draw());
  const auto verdict = judge({"b"});
  EXPECT_TRUE(verdict.lines.empty());
  EXPECT_TRUE(verdict.refused.empty()) << "b is not stale: nothing to prove";
  EXPECT_EQ(judge({"a", "b"}).lines.size(), 1u);
}

TEST_F(SampleTest, RecordsOfStillOlderKernelsStayStale) {
  // One cell was measured before an earlier edit and never since.
  const std::string old_text = text_;
  text_.clear();
  add_run("20261101T000000-h-1", "float", Tier::kDeep, "2026-11-01");
  add_cell("20261101T000000-h-1", "float", Tier::kDeep, key_text("L", 3, 3), 1, 2, "a9");
  text_ += old_text;
  measure(same, draw());
  const auto verdict = judge();
  ASSERT_EQ(verdict.lines.size(), 1u);
  EXPECT_EQ(verdict.lines[0].from, "a0");
  text_ += to_line(verdict.lines[0]) + "\n";
  EXPECT_EQ(standings(),
            (std::map<Standing, int>{{Standing::kCurrent, 120}, {Standing::kStale, 1}}));
}

}  // namespace
}  // namespace furlong::ledger
