// compare() where caches say a key more than once.
#include <gtest/gtest.h>

#include "verdict/compare.hh"

namespace furlong::verdict {
namespace {

Verdict made(const std::string& device, std::int64_t tile, std::int64_t ns = 100) {
  return Verdict::own({device, "x", {}}, {"cpu", {{"tile", tile}}, "00", {}}, ns);
}

Source source_of(std::string name, const std::vector<Verdict>& verdicts) {
  Source source{std::move(name), {}};
  for (const auto& verdict : verdicts) source.items.push_back({verdict, "", false});
  return source;
}

TEST(pairing, a_repeated_verdict_counts_once) {
  const std::vector<Source> sources{
      source_of("a", {made("d", 1), made("e", 2), made("d", 1), made("e", 2), made("e", 2)}),
      source_of("b", {made("e", 2), made("d", 1)})};
  const auto comparison = compare(sources, {});
  EXPECT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.equal, 2U);
  EXPECT_EQ(comparison.incomplete, 0U);
  EXPECT_EQ(comparison.repeats, (std::vector<std::size_t>{3, 0}));
  const std::vector<Source> turned{sources[1], sources[0]};
  EXPECT_EQ(compare(turned, {}).equal, 2U);
  EXPECT_EQ(compare(turned, {}).repeats, (std::vector<std::size_t>{0, 3}));
}

TEST(pairing, each_of_several_results_meets_the_other_cache) {
  const std::vector<Source> sources{source_of("a", {made("d", 1), made("d", 2)}),
                                    source_of("b", {made("d", 1)}),
                                    source_of("c", {made("other", 1)})};
  const auto comparison = compare(sources, {});
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_FALSE(comparison.rows[0].winner_differs());
  EXPECT_TRUE(comparison.rows[1].winner_differs());
  EXPECT_EQ(comparison.rows[1].items[1], sources[1].items.data());
  for (const auto row : {0U, 1U}) {
    // The third cache has the key nowhere, and only that is said of it.
    EXPECT_EQ(comparison.rows[row].missing, std::vector<std::size_t>{2});
    EXPECT_EQ(comparison.rows[row].repeated, std::vector<std::size_t>{0});
  }
  EXPECT_EQ(comparison.rows[2].missing, (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(comparison.rows[2].repeated.empty());
}

TEST(pairing, a_computation_of_one_machine_meets_those_of_all) {
  const std::vector<Source> sources{source_of("a", {made("d1", 1), made("d2", 2)}),
                                    source_of("b", {made("d2", 2)})};
  CompareOptions options;
  options.match = Match::kComputation;
  const auto comparison = compare(sources, options);
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.incomplete, 0U);
  EXPECT_EQ(comparison.rows[0].joined_by, "computation; device differs");
  EXPECT_TRUE(comparison.rows[1].equal());
  EXPECT_TRUE(comparison.rows[0].repeated.empty());
}

}  // namespace
}  // namespace furlong::verdict
