#include "ledger/freshness.hh"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ledger/sample_records.hh"

namespace furlong::ledger {
namespace {

using testing::sample_cell;
using testing::sample_run;

/// Hashes of the sample cell's outcomes: direct, lanes and vendor (skipped).
KernelHashes sample_hashes() {
  return {"00000000", {{"direct", "cd1d2e92"}, {"lanes", "faa6087b"}, {"vendor", "894a9de0"}}};
}

/// A ledger in the making.
struct Text {
  std::string bytes = to_line(sample_run(), "furlong") + "\n";

  Text& run(const Run& run) { return line(to_line(run, "furlong")); }
  Text& cell(const Cell& cell) { return line(to_line(cell)); }
  Text& line(const std::string& text) {
    bytes += text + "\n";
    return *this;
  }
};

struct Judged {
  Ledger ledger;
  Freshness freshness;
  explicit Judged(const Text& text, const KernelHashes& hashes = sample_hashes())
      : ledger(Ledger::parse(text.bytes, "potrf.jsonl", {})),
        freshness(ledger, DtypeList(),
                  now_of_newest_runs(ledger, DtypeList(), [&](const auto&) { return hashes; })) {}
};

TEST(FreshnessTest, StandingOfOneRecord) {
  using Kind = Cause::Kind;
  struct Case {
    const char* what;
    std::function<void(Cell&, KernelHashes&)> change;
    Standing standing;
    Kind kind;
  };
  const auto hash = [](KernelHashes& hashes, std::size_t at) -> std::string& {
    return hashes.families[at].second;
  };
  const std::vector<Case> cases = {
      {"the winner's family was edited",
       [&](Cell&, KernelHashes& hashes) { hash(hashes, 1) = "11111111"; }, Standing::kStale,
       Kind::kWinnerChanged},
      {"another family was edited",
       [&](Cell&, KernelHashes& hashes) { hash(hashes, 0) = "11111111"; }, Standing::kPartlyStale,
       Kind::kFamilyChanged},
      {"the family of a bad candidate was edited",
       [&](Cell& cell, KernelHashes& hashes) {
         cell.ranked.pop_back();
         cell.outcomes[0].status = Status::kBad;
         hash(hashes, 0) = "11111111";
       },
       Standing::kPartlyStale, Kind::kFamilyChanged},
      {"the winner is no candidate now",
       [](Cell& cell, KernelHashes&) { cell.ranked[0] = cell.outcomes[1].candidate = "lanes:w=8"; },
       Standing::kStale, Kind::kWinnerRemoved},
      {"the winner was not raced",
       [](Cell& cell, KernelHashes&) {
         cell.ranked = {"vendor"};
         cell.outcomes.pop_back();
       },
       Standing::kStale, Kind::kWinnerOutside},
      {"a key is missing", [](Cell& cell, KernelHashes&) { cell.key = "uplo=L,n=8"; },
       Standing::kStale, Kind::kKeyMissing},
      {"a candidate was added", [](Cell& cell, KernelHashes&) { cell.outcomes.pop_back(); },
       Standing::kPartlyStale, Kind::kCandidateAdded},
      {"a candidate was never tried",
       [](Cell& cell, KernelHashes&) { cell.outcomes[2].reason = "dominated: by lanes"; },
       Standing::kPartlyStale, Kind::kDominated},
  };
  for (const Case& one : cases) {
    Cell cell = sample_cell();
    KernelHashes hashes = sample_hashes();
    one.change(cell, hashes);
    // A second cell, last in the file, keeps the axes of the dtype as they were.
    const Judged judged(Text().cell(cell).cell(sample_cell(16)), hashes);
    EXPECT_EQ(judged.freshness.standing(0), one.standing) << one.what;
    const auto causes = judged.freshness.causes(0);
    ASSERT_FALSE(causes.empty()) << one.what;
    EXPECT_EQ(causes.front().kind, one.kind) << one.what << ": " << causes.front().text();
    EXPECT_EQ(judged.freshness.counts(0), one.standing != Standing::kStale) << one.what;
  }
}

TEST(FreshnessTest, WhatLeavesARecordCurrent) {
  KernelHashes hashes = sample_hashes();
  hashes.families[2].second = "11111111";
  const Judged skipped(Text().cell(sample_cell()), hashes);
  EXPECT_EQ(skipped.freshness.standing(0), Standing::kCurrent) << "vendor was skipped";
  EXPECT_TRUE(skipped.freshness.causes(0).empty());

  Cell unranked = sample_cell();
  unranked.ranked.clear();
  for (auto& outcome : unranked.outcomes) outcome.status = Status::kBad;
  EXPECT_EQ(Judged(Text().cell(unranked)).freshness.standing(0), Standing::kCurrent);
}

TEST(FreshnessTest, AnAxisThatCameOrWentMakesOlderRecordsStale) {
  Cell hidden = sample_cell();
  hidden.key += ",lda=8";
  const Judged added(Text().cell(sample_cell()).cell(hidden));
  EXPECT_EQ(added.freshness.standing(0), Standing::kStale);
  EXPECT_EQ(added.freshness.causes(0).front().kind, Cause::Kind::kAxesDiffer);
  EXPECT_EQ(added.freshness.standing(1), Standing::kCurrent);
  const Judged dropped(Text().cell(hidden).cell(sample_cell()));
  EXPECT_EQ(dropped.freshness.standing(0), Standing::kStale);
  // The order of a key's items is no axis.
  Cell turned = sample_cell();
  turned.key = "batch=128,n=8,uplo=L";
  const Judged same(Text().cell(turned).cell(sample_cell()));
  EXPECT_EQ(same.freshness.standing(0), Standing::kCurrent);
  EXPECT_EQ(same.freshness.cell_id(0), same.freshness.cell_id(1));
}

TEST(FreshnessTest, BestIsTheBetterTierThenTheLaterLine) {
  Cell deep = sample_cell();
  Cell coarse = sample_cell();
  coarse.tier = Tier::kCoarse;
  const auto best = [](const Text& text, const KernelHashes& hashes = sample_hashes()) {
    const Judged judged(text, hashes);
    const auto found = judged.freshness.best();
    return std::vector<std::int32_t>(found.begin(), found.end());
  };
  using Records = std::vector<std::int32_t>;
  EXPECT_EQ(best(Text().cell(deep).cell(coarse)), Records{0});
  EXPECT_EQ(best(Text().cell(deep).cell(deep)), Records{1});
  EXPECT_EQ(best(Text().cell(deep).cell(sample_cell(16))), (Records{0, 1}));
  // A partly stale deep record beats a current coarse one, a stale one never.
  Cell partly = deep;
  partly.outcomes[0].hash = "11111111";
  EXPECT_EQ(best(Text().cell(partly).cell(coarse)), Records{0});
  Cell stale = deep;
  stale.outcomes[1].hash = "11111111";
  EXPECT_EQ(best(Text().cell(stale).cell(coarse)), Records{1});
  EXPECT_EQ(best(Text().cell(stale)), Records{});
  // Nothing but errors is no record.
  Cell errors = deep;
  errors.ranked.clear();
  for (auto& outcome : errors.outcomes) outcome.status = Status::kError;
  EXPECT_EQ(best(Text().cell(coarse).cell(errors)), Records{0});
  errors.outcomes[2].status = Status::kSkipped;
  EXPECT_EQ(best(Text().cell(coarse).cell(errors)), Records{1});
}

TEST(FreshnessTest, ImportedRecordsStandInWhereNothingIsMeasured) {
  const auto imported = [](Tier tier, int n) {
    Cell cell = sample_cell(n);
    cell.tier = tier;
    for (auto& outcome : cell.outcomes) outcome.hash.clear();
    return cell;
  };
  const auto best_line = [](const Text& text) {
    const Judged judged(text);
    std::vector<std::int32_t> lines;
    for (const auto record : judged.freshness.best()) {
      lines.push_back(judged.ledger.cells()[static_cast<std::size_t>(record)].line);
    }
    return lines;
  };
  using Lines = std::vector<std::int32_t>;
  EXPECT_EQ(best_line(Text().cell(imported(Tier::kTranscribed, 8)).cell(sample_cell())), Lines{3});
  EXPECT_EQ(best_line(Text()
                          .cell(imported(Tier::kConverted, 8))
                          .cell(imported(Tier::kTranscribed, 8))
                          .cell(sample_cell(16))),
            (Lines{2, 4}));
  Cell unranked = sample_cell();
  unranked.ranked.clear();
  EXPECT_EQ(best_line(Text().cell(imported(Tier::kConverted, 8)).cell(unranked)), Lines{2});
}

TEST(FreshnessTest, RehashLinesAreWalkedInFileOrder) {
  const auto rehash = [](const std::string& from, const std::string& to) {
    return to_line(Rehash{"lanes", from, to, "0123abcd", "normalized", "why"});
  };
  KernelHashes hashes = sample_hashes();
  hashes.families[1].second = "33333333";
  const auto standing = [&](const Text& text) {
    return Judged(text, hashes).freshness.standing(0);
  };
  const Cell cell = sample_cell();
  EXPECT_EQ(standing(Text().cell(cell)), Standing::kStale);
  EXPECT_EQ(standing(Text().cell(cell).line(rehash("faa6087b", "33333333"))), Standing::kCurrent);
  EXPECT_EQ(standing(Text()
                         .line(rehash("faa6087b", "22222222"))
                         .cell(cell)
                         .line(rehash("22222222", "33333333"))),
            Standing::kCurrent);
  EXPECT_EQ(standing(Text()
                         .line(rehash("22222222", "33333333"))
                         .cell(cell)
                         .line(rehash("faa6087b", "22222222"))),
            Standing::kStale)
      << "the line from 22222222 was passed before";
  EXPECT_EQ(standing(Text().cell(cell).line(
                to_line(Rehash{"direct", "faa6087b", "33333333", "0123abcd", "x", "y"}))),
            Standing::kStale)
      << "of another family";
}

TEST(FreshnessTest, NewestRunIsTheGreatestDateThenIdThenLine) {
  ledger::Run later = sample_run("20261202T000000-h-1", "2026-12-02");
  later.candidates = {"direct", "lanes:w=16", "vendor", "blocked:nb=8"};
  ledger::Run imported = sample_run("zzz", "2027-01-01");
  imported.tier = Tier::kConverted;
  imported.candidates = {"direct"};
  // File order does not matter, and an imported run only where there is no other.
  Text text;
  text.bytes.clear();
  text.run(later).run(imported).run(sample_run()).cell(sample_cell());
  const Judged judged(text);
  EXPECT_EQ(newest_run(judged.ledger)->run.run_id, later.run_id);
  EXPECT_EQ(judged.freshness.now().candidates[0].size(), 4u);
  EXPECT_EQ(judged.freshness.standing(0), Standing::kPartlyStale) << "blocked:nb=8 was added";
  EXPECT_EQ(judged.freshness.changed_families(0), std::vector<std::string>{"blocked"});
}

}  // namespace
}  // namespace furlong::ledger
