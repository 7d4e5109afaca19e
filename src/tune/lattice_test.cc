#include "tune/lattice.hh"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tune/tiers.hh"

namespace furlong::tune {
namespace {

std::vector<Axis> some_axes() {
  return {{"uplo", AxisKind::kExact, {"L", "U"}},
          log_axis("n", {1, 2, 4, 8, 16, 32}),
          {"diag", AxisKind::kHidden, {"N", "U", "X"}}};
}

std::string error_of(const std::vector<std::string>& arguments) {
  try {
    override_axes(some_axes(), parse_grid_override(arguments));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Lattice, TiersAreTheTable) {
  EXPECT_EQ(parameters_of(Tier::kPreview).stride, 2);
  EXPECT_EQ(parameters_of(Tier::kPreview).refine, RefineMode::kIndex);
  EXPECT_EQ(parameters_of(Tier::kPreview).margin, 0.10);
  EXPECT_EQ(parameters_of(Tier::kPreview).refine_cap, 3);
  EXPECT_EQ(parameters_of(Tier::kPreview).rules, (race::Rules{3, 6, 0.80, false}));
  EXPECT_EQ(parameters_of(Tier::kPreview).patience_s, 0.25);
  EXPECT_EQ(parameters_of(Tier::kCoarse).patience_s, 2);
  EXPECT_EQ(parameters_of(Tier::kDeep).patience_s, 2);
  EXPECT_EQ(parameters_of(Tier::kCoarse).refine_cap, 1);
  EXPECT_EQ(parameters_of(Tier::kCoarse).rules, (race::Rules{4, 12, 0.90, false}));
  EXPECT_EQ(parameters_of(Tier::kCustom).rules, parameters_of(Tier::kCoarse).rules);
  EXPECT_EQ(parameters_of(Tier::kDeep).refine_cap, 2);
  EXPECT_EQ(parameters_of(Tier::kDeep).audit_share, 0.10);
  EXPECT_EQ(parameters_of(Tier::kDeep).rules, (race::Rules{6, 16, 0.98, true}));
}

TEST(Lattice, BothEndsOfLogAxesStayAndOthersAreNotThinned) {
  const auto axes = thin_axes(some_axes(), 2);
  EXPECT_EQ(axes[0].values.size(), 2u);
  EXPECT_EQ(axes[1].values, (std::vector<std::string>{"1", "4", "16", "32"}));
  EXPECT_EQ(axes[2].values.size(), 3u);
  const auto cells = lattice(some_axes(), 2);
  ASSERT_EQ(cells.size(), 24u);
  EXPECT_EQ(cells[0].text(), "uplo=L,n=1,diag=N");
  EXPECT_EQ(cells[1].text(), "uplo=L,n=1,diag=U");
  EXPECT_EQ(cells[3].text(), "uplo=L,n=4,diag=N");
  EXPECT_EQ(cells.back().text(), "uplo=U,n=32,diag=X");
  EXPECT_THROW(thin_axes(some_axes(), 0), std::invalid_argument);
  EXPECT_TRUE(product({}).empty());
}

TEST(Lattice, Fnv1a64IsThePublishedOne) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8ull);
}

TEST(Lattice, AGridThatIsNoLatticeIsThinnedByHash) {
  const auto all = lattice(some_axes(), 1);
  const auto half = thin_cells(all, 2);
  EXPECT_GT(half.size(), 0u);
  EXPECT_LT(half.size(), all.size());
  for (const auto& cell : half) EXPECT_EQ(fnv1a64(cell.text()) % 2, 0u);
  EXPECT_EQ(thin_cells(all, 1).size(), all.size());
}

TEST(Lattice, OverridesReplaceAxesOrFilterCells) {
  const auto grid = parse_grid_override(std::vector<std::string>{"n=64:08:8", "uplo=U"});
  const auto axes = override_axes(some_axes(), grid);
  EXPECT_EQ(axes[0].values, std::vector<std::string>{"U"});
  EXPECT_EQ(axes[1].values, (std::vector<std::string>{"8", "64"}));
  const auto kept = filter_cells(some_axes(), lattice(some_axes(), 1), grid);
  EXPECT_EQ(kept.size(), 3u);
  const auto none = parse_grid_override(std::vector<std::string>{"n=64"});
  EXPECT_THROW(filter_cells(some_axes(), lattice(some_axes(), 1), none), std::invalid_argument);
}

TEST(Lattice, BadOverridesAreErrorsThatSayWhatIsAllowed) {
  EXPECT_EQ(error_of({"m=4"}), "--grid: unknown axis \"m\"; allowed are uplo, n, diag");
  EXPECT_NE(error_of({"n"}), "");
  EXPECT_NE(error_of({"=4"}), "");
  EXPECT_NE(error_of({"n="}), "");
  EXPECT_NE(error_of({"n=4:"}), "");
  EXPECT_NE(error_of({"n=4", "n=8"}), "");
  EXPECT_NE(error_of({"n=0"}), "");
  EXPECT_NE(error_of({"n=-4"}), "");
  EXPECT_NE(error_of({"n=4.0"}), "");
  EXPECT_EQ(error_of({"uplo=X"}), "--grid: axis uplo has no value \"X\"; allowed are L, U");
  EXPECT_EQ(error_of({"n=5"}), "");
}

TEST(Lattice, TheBoxOfCellsIsTheirRange) {
  const std::vector<CellKey> cells = {*CellKey::parse("uplo=U,n=16,diag=N"),
                                      *CellKey::parse("uplo=U,n=4,diag=U")};
  const auto axes = axes_of_cells(some_axes(), cells);
  EXPECT_EQ(axes[0].values, std::vector<std::string>{"U"});
  EXPECT_EQ(axes[1].values, (std::vector<std::string>{"4", "16"}));
  EXPECT_TRUE(in_box(axes, *CellKey::parse("uplo=U,n=9,diag=N")));
  EXPECT_FALSE(in_box(axes, *CellKey::parse("uplo=U,n=17,diag=N")));
  EXPECT_FALSE(in_box(axes, *CellKey::parse("uplo=L,n=9,diag=N")));
  EXPECT_FALSE(in_box(axes, *CellKey::parse("uplo=U,n=9")));
  EXPECT_FALSE(in_box(axes, *CellKey::parse("uplo=U,n=9,other=N")));
}

}  // namespace
}  // namespace furlong::tune
