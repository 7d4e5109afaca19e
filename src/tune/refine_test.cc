#include "tune/refine.hh"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "furlong/key_spec.hh"
#include "support/shared.hh"

namespace furlong::tune {
namespace {

using furlong::testing::shared_folder;
using furlong::testing::slurp;

std::vector<std::string> texts(const std::vector<CellKey>& keys) {
  std::vector<std::string> out;
  for (const CellKey& key : keys) out.push_back(key.text());
  return out;
}

TEST(Refine, Vectors) {
  FURLONG_NEEDS_SHARED("vectors/refine.jsonl");
  std::istringstream lines(slurp(shared_folder() / "vectors/refine.jsonl"));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto item = nlohmann::ordered_json::parse(line);
    const auto spec = KeySpec::parse(item["keys"].get<std::string>());
    ASSERT_TRUE(spec);
    std::vector<Axis> axes;
    for (const auto& axis : item["axes"]) {
      const auto name = axis[0].get<std::string>();
      const int key = spec->index(name);
      const AxisKind kind = key < 0 ? AxisKind::kHidden
                            : spec->keys()[static_cast<std::size_t>(key)].kind == KeyKind::kLog
                                ? AxisKind::kLog
                                : AxisKind::kExact;
      axes.push_back({name, kind, axis[1].get<std::vector<std::string>>()});
    }
    std::vector<KnownCell> cells;
    for (const auto& [key, value] : item["cells"].items()) {
      cells.push_back({*CellKey::parse(key), value["ranked"].get<std::vector<std::string>>(),
                       value["ms"].get<std::map<std::string, double>>(),
                       value["out"].get<std::set<std::string>>(),
                       value["lattice"].get<bool>() ? Origin::kLattice : Origin::kOther});
    }
    const Tier tier = *parse_tier(item["tier"].get<std::string>());
    const auto proposals = propose(axes, cells, refine_rules_of(parameters_of(tier)));
    EXPECT_EQ(texts(proposals), item["expected"].get<std::vector<std::string>>()) << number;
  }
  EXPECT_EQ(number, 60);
}

KnownCell cell(const std::string& key, const std::string& winner, const std::string& other,
               double ratio, Origin origin = Origin::kLattice) {
  return {*CellKey::parse(key), {winner, other}, {{winner, 1.0}, {other, ratio}}, {}, origin};
}

TEST(Refine, AFlipWithinTheTieIsNone) {
  const std::vector<Axis> axes = {log_axis("n", {4, 8, 64})};
  const RefineRules geometric;
  EXPECT_EQ(texts(propose(axes, std::vector{cell("n=4", "a", "b", 2), cell("n=64", "b", "a", 2)},
                          geometric)),
            std::vector<std::string>{"n=16"});
  EXPECT_TRUE(propose(axes, std::vector{cell("n=4", "a", "b", 1.02), cell("n=64", "b", "a", 1.02)},
                      geometric)
                  .empty());
}

TEST(Refine, BatchTakesGridValuesOnly) {
  const std::vector<Axis> axes = {log_axis("batch", {16, 128, 1024})};
  const std::vector ends = {cell("batch=16", "a", "b", 2), cell("batch=1024", "b", "a", 2)};
  EXPECT_EQ(texts(propose(axes, ends, {})), std::vector<std::string>{"batch=128"});
  const std::vector neighbours = {cell("batch=16", "a", "b", 2), cell("batch=128", "b", "a", 2)};
  EXPECT_TRUE(propose(axes, neighbours, {}).empty());
}

TEST(Refine, StaysInsideTheBoxAndStopsWhereNothingIsBetween) {
  const std::vector<Axis> axes = {log_axis("n", {8, 64})};
  EXPECT_TRUE(
      propose(axes, std::vector{cell("n=4", "a", "b", 2), cell("n=64", "b", "a", 2)}, {}).empty());
  EXPECT_TRUE(
      propose(axes, std::vector{cell("n=8", "a", "b", 2), cell("n=9", "b", "a", 2)}, {}).empty());
  // Known but unranked: stalled.
  const std::vector<KnownCell> stalled = {cell("n=8", "a", "b", 2),
                                          cell("n=64", "b", "a", 2),
                                          {*CellKey::parse("n=23"), {}, {}, {}, Origin::kOther}};
  EXPECT_TRUE(propose(axes, stalled, {}).empty());
}

TEST(Refine, NearNeedsTheMarginAndLatticeEnds) {
  const std::vector<Axis> axes = {log_axis("n", {4, 8, 64})};
  const RefineRules preview = refine_rules_of(parameters_of(Tier::kPreview));
  const std::vector ends = {cell("n=4", "a", "b", 1.05), cell("n=64", "a", "b", 2)};
  EXPECT_EQ(texts(propose(axes, ends, preview)), std::vector<std::string>{"n=8"});
  EXPECT_TRUE(propose(axes, ends, {}).empty());
  const std::vector refined = {cell("n=4", "a", "b", 1.05),
                               cell("n=64", "a", "b", 2, Origin::kRefined)};
  EXPECT_TRUE(propose(axes, refined, preview).empty());
}

TEST(Refine, AllowanceIsWhatTheCapLeaves) {
  EXPECT_EQ(allowance(3, 10, 4), 26);
  EXPECT_EQ(allowance(1, 10, 40), 0);
  EXPECT_EQ(allowance(0.1, 10, 0), 1);
}

TEST(Refinement, RoundsGoOnUntilNothingIsNewOrTheCapIsHit) {
  TierParameters parameters = parameters_of(Tier::kCoarse);
  const std::vector<Axis> axes = {log_axis("n", {1, 1024})};
  // The winner changes at 100; every midpoint is measured.
  const auto measured = [](const CellKey& key, Origin origin) {
    const bool small = std::stoi(*key.find("n")) < 100;
    return cell(key.text(), small ? "a" : "b", small ? "b" : "a", 2, origin);
  };
  parameters.refine_cap = 100;
  Refinement refinement(axes, parameters);
  refinement.add(measured(*CellKey::parse("n=1"), Origin::kLattice));
  refinement.add(measured(*CellKey::parse("n=1024"), Origin::kLattice));
  std::vector<std::string> order;
  for (auto round = refinement.next(); !round.empty(); round = refinement.next()) {
    for (const auto& key : round) {
      order.push_back(key.text());
      refinement.add(measured(key, Origin::kRefined));
    }
  }
  EXPECT_EQ(order,
            (std::vector<std::string>{"n=32", "n=181", "n=76", "n=117", "n=94", "n=105", "n=99"}));
  EXPECT_FALSE(refinement.capped());

  parameters.refine_cap = 1;
  Refinement capped(axes, parameters);
  capped.add(measured(*CellKey::parse("n=1"), Origin::kLattice));
  capped.add(measured(*CellKey::parse("n=1024"), Origin::kLattice));
  int cells = 0;
  for (auto round = capped.next(); !round.empty(); round = capped.next()) {
    for (const auto& key : round) {
      ++cells;
      capped.add(measured(key, Origin::kRefined));
    }
  }
  EXPECT_EQ(cells, 2);
  EXPECT_TRUE(capped.capped());
}

TEST(Refinement, AnUnavailableCellIsCountedOnceAndTakesNoAllowance) {
  const std::vector<Axis> axes = {log_axis("n", {4, 64})};
  Refinement refinement(axes, parameters_of(Tier::kCoarse));
  refinement.add(cell("n=4", "a", "b", 2));
  refinement.add(cell("n=64", "b", "a", 2));
  EXPECT_TRUE(refinement.next([](const CellKey&) { return false; }).empty());
  EXPECT_EQ(refinement.unavailable(), 1);
  EXPECT_FALSE(refinement.capped());
  EXPECT_TRUE(refinement.next().empty());
}

}  // namespace
}  // namespace furlong::tune
