#include "verdict/compare.hh"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/real_caches.hh"
#include "verdict/lint.hh"
#include "verdict/merge.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

using furlong::testing::rank_file;
using furlong::testing::xla_folder;

Source source_of(std::string name, const std::vector<Verdict>& verdicts) {
  Source source{std::move(name), {}};
  for (const auto& verdict : verdicts) source.items.push_back({verdict, "", false});
  return source;
}

Verdict made(const std::string& device, const std::string& computation, std::int64_t tile,
             std::int64_t ns, std::optional<std::int32_t> version = std::nullopt) {
  return Verdict::own({device, computation, version}, {"cpu", {{"tile", tile}}, "00", {}}, ns);
}

std::vector<Source> ranks() {
  std::vector<Source> sources;
  for (int rank = 0; rank < 4; ++rank) {
    sources.push_back(
        source_of("rank " + std::to_string(rank), load_verdicts(rank_file(rank)).verdicts()));
  }
  return sources;
}

TEST(compare, four_ranks_differ_in_one_winner) {
  FURLONG_NEEDS_SHARED("real/xla");
  const auto sources = ranks();
  const auto comparison = compare(sources, {});
  EXPECT_EQ(comparison.rows.size(), 29U);
  EXPECT_EQ(comparison.incomplete, 0U);
  EXPECT_EQ(comparison.winners, 1U);
  const auto row = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                [](const Row& r) { return r.winner_differs(); });
  ASSERT_EQ(row->camps.size(), 2U);
  EXPECT_EQ(row->camps[0].sources, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(row->camps[1].sources, (std::vector<std::size_t>{3}));
  ASSERT_EQ(row->fields.size(), 3U);
  const std::pair<const char*, std::pair<const char*, const char*>> expected[] = {
      {"block_m", {"128", "256"}}, {"num_stages", {"4", "3"}}, {"num_warps", {"4", "8"}}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(row->fields[i].name, expected[i].first);
    EXPECT_EQ(row->fields[i].values[0], expected[i].second.first);
    EXPECT_EQ(row->fields[i].values[1], expected[i].second.second);
  }
  const auto three = compare(std::span(sources).first(3), {});
  EXPECT_EQ(three.winners, 0U);
}

TEST(compare, times_below_the_noise_floor_are_no_difference) {
  const std::vector<Source> sources{
      source_of("a", {made("d", "x", 1, 100), made("d", "y", 1, 100), made("d", "z", 1, 1)}),
      source_of("b", {made("d", "x", 1, 130), made("d", "y", 1, 131), made("d", "z", 1, 500)})};
  const auto comparison = compare(sources, {});
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_FALSE(comparison.rows[0].time_differs);
  EXPECT_TRUE(comparison.rows[1].time_differs);
  EXPECT_FALSE(comparison.rows[2].time_ratio);
  EXPECT_TRUE(comparison.rows[2].equal());
  EXPECT_EQ(comparison.metadata, 0U);
  EXPECT_EQ(comparison.equal, 2U);
  CompareOptions strict;
  strict.noise = 0.2;
  EXPECT_EQ(compare(sources, strict).times, 2U);
}

TEST(compare, only_in_one) {
  const std::vector<Source> sources{source_of("a", {made("d", "x", 1, 100)}),
                                    source_of("b", {made("d", "x", 1, 100, 4)})};
  const auto comparison = compare(sources, {});
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.rows[0].missing, std::vector<std::size_t>{1});
  EXPECT_EQ(comparison.rows[1].missing, std::vector<std::size_t>{0});
  EXPECT_EQ(comparison.incomplete, 2U);
}

TEST(compare, by_computation_and_by_shape) {
  const std::vector<Source> sources{
      source_of("a", {made("d1", "x", 1, 100), made("d2", "x", 2, 100)}),
      source_of("b", {made("d2", "x", 3, 100, 4), made("d3", "X", 1, 100)})};
  CompareOptions options;
  options.match = Match::kComputation;
  auto comparison = compare(sources, options);
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[0].joined_by, "computation; device, entry version differ");

  options.match = Match::kShape;
  comparison = compare(sources, options);
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[1].joined_by, "shape; entry version differs");
  EXPECT_TRUE(comparison.rows[1].winner_differs());
  EXPECT_THROW(compare(std::span(sources).first(1), {}), std::invalid_argument);
}

TEST(compare, by_shape_over_drift_of_the_printed_text) {
  FURLONG_NEEDS_SHARED("real/xla");
  const auto before = load_verdicts(
      xla_folder() /
      "2024-07-20_d669e2bcd6__xla_service_gpu__gpu_compiler_test_autotune_db.textproto");
  const auto after = load_verdicts(
      xla_folder() /
      "2024-08-02_feb1231a1c__xla_service_gpu__gpu_compiler_test_autotune_db.textproto");
  const std::vector<Source> sources{source_of("before", before.verdicts()),
                                    source_of("after", after.verdicts())};
  EXPECT_GT(compare(sources, {}).incomplete, 0U);
  CompareOptions options;
  options.match = Match::kShape;
  const auto comparison = compare(sources, options);
  EXPECT_EQ(comparison.incomplete, 0U);
  EXPECT_EQ(comparison.rows.size(), before.size());
  EXPECT_TRUE(std::any_of(comparison.rows.begin(), comparison.rows.end(), [](const Row& row) {
    return row.joined_by == "shape; printed text differs";
  }));
  // The same device, but for its DNN version.
  const auto with_dnn = load_verdicts(
      xla_folder() /
      "2025-09-12_9b1dd1817c__xla_service_gpu__gpu_compiler_test_autotune_db.textproto");
  const auto without_dnn = load_verdicts(
      xla_folder() /
      "2025-05-05_03d995ffbc__xla_service_gpu__gpu_compiler_test_autotune_db.textproto");
  const std::vector<Source> versions{source_of("before", without_dnn.verdicts()),
                                     source_of("after", with_dnn.verdicts())};
  const auto strict = compare(versions, options);
  options.ignore = *IgnoreList::parse("dnn");
  const auto lenient = compare(versions, options);
  EXPECT_LT(lenient.incomplete, strict.incomplete);
  options.ignore = *IgnoreList::parse("device");
  EXPECT_LE(compare(versions, options).incomplete, lenient.incomplete);
}

TEST(compare, equal_keys_meet_first) {
  const std::vector<Source> sources{
      source_of("a", {made("d1", "x", 1, 100), made("d2", "x", 2, 100)}),
      source_of("b", {made("d2", "x", 2, 100), made("d1", "x", 1, 100)})};
  CompareOptions options;
  options.match = Match::kComputation;
  const auto comparison = compare(sources, options);
  EXPECT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.equal, 2U);
}

TEST(compare, another_provider_is_another_winner) {
  const Key key{"d", "x", std::nullopt};
  const auto cpu = Verdict::own(key, {"cpu", {{"tile", 8}}, "00", {}}, 100);
  const auto opencl = Verdict::own(key, {"opencl", {{"tile", 8}}, "00", {}}, 100);
  EXPECT_EQ(cpu.winner_fields(), opencl.winner_fields());
  EXPECT_FALSE(cpu.same_winner(opencl));
  EXPECT_FALSE(cpu.same_result(opencl));
  const std::vector<Source> sources{source_of("a", {cpu}), source_of("b", {opencl})};
  EXPECT_EQ(compare(sources, {}).winners, 1U);
  const std::vector<MergeInput> inputs{{"a", {cpu}}, {"b", {opencl}}};
  EXPECT_EQ(merge(inputs, OnConflict::kFail).unresolved, 1U);

  // Neither is a winner of another kind that has the same name.
  const auto named = read_verdicts(
      "version: 3 results { result { gemm { } } } results { result { other { name: 'gemm' } } }",
      "file");
  EXPECT_EQ(named.verdict(0).winner_text(), named.verdict(1).winner_text());
  EXPECT_FALSE(named.verdict(0).same_winner(named.verdict(1)));
}

TEST(merge, policies) {
  const std::vector<MergeInput> inputs{
      {"a", {made("d", "x", 1, 100), made("d", "y", 1, 100), made("d", "z", 1, 1)}},
      {"b", {made("d", "x", 1, 100), made("d", "y", 2, 90), made("d", "z", 2, 90)}},
      {"c", {made("d", "w", 1, 7)}}};
  const auto strict = merge(inputs, OnConflict::kFail);
  EXPECT_EQ(strict.collapsed, 1U);
  EXPECT_EQ(strict.unresolved, 2U);
  EXPECT_EQ(strict.verdicts.size(), 2U);
  ASSERT_EQ(strict.conflicts.size(), 2U);
  EXPECT_TRUE(strict.conflicts[0].winner_differs);

  const auto first = merge(inputs, OnConflict::kFirst);
  EXPECT_EQ(first.unresolved, 0U);
  ASSERT_EQ(first.verdicts.size(), 4U);
  EXPECT_EQ(first.verdicts[1].run_time_ns(), 100);

  const auto fastest = merge(inputs, OnConflict::kFastest);
  EXPECT_EQ(fastest.unresolved, 1U);
  ASSERT_EQ(fastest.verdicts.size(), 3U);
  EXPECT_EQ(fastest.verdicts[1].run_time_ns(), 90);
  EXPECT_EQ(fastest.conflicts[1].sides.front().verdict.computation(), "z");
  EXPECT_FALSE(fastest.conflicts[1].taken);

  const std::vector<MergeInput> same{{"a", {made("d", "x", 1, 1)}}, {"b", {made("d", "x", 1, 80)}}};
  const auto timed = merge(same, OnConflict::kFastest);
  EXPECT_EQ(timed.unresolved, 0U);
  EXPECT_EQ(timed.verdicts.at(0).run_time_ns(), 80);
}

TEST(merge, keys_that_differ_in_one_part_stay_apart) {
  const std::vector<MergeInput> versions{
      {"a", {made("d", "x", 1, 100), made("d", "x", 2, 100, 1)}},
      {"b", {made("d", "x", 3, 100, 2), made("d", "x", 2, 100, 1)}}};
  for (const auto policy : {OnConflict::kFail, OnConflict::kFirst, OnConflict::kFastest}) {
    const auto merged = merge(versions, policy);
    EXPECT_TRUE(merged.conflicts.empty());
    EXPECT_EQ(merged.collapsed, 1U);
    ASSERT_EQ(merged.verdicts.size(), 3U);
    EXPECT_FALSE(merged.verdicts[0].entry_version());
    EXPECT_EQ(merged.verdicts[1].entry_version(), 1);
    EXPECT_EQ(merged.verdicts[2].entry_version(), 2);
  }
  // Where one part ends and the next begins counts, too.
  const std::vector<MergeInput> borders{
      {"a", {made("d", "x", 1, 100, 1), made("d", "x1", 2, 100), made("dx", "1", 3, 100)}}};
  const auto merged = merge(borders, OnConflict::kFail);
  EXPECT_TRUE(merged.conflicts.empty());
  EXPECT_EQ(merged.verdicts.size(), 3U);
}

TEST(merge, the_four_ranks) {
  FURLONG_NEEDS_SHARED("real/xla");
  std::vector<MergeInput> inputs;
  for (int rank = 0; rank < 4; ++rank) {
    inputs.push_back({std::to_string(rank), load_verdicts(rank_file(rank)).verdicts()});
  }
  const auto merged = merge(inputs, OnConflict::kFastest);
  EXPECT_EQ(merged.unresolved, 0U);
  ASSERT_EQ(merged.verdicts.size(), 29U);
  for (const auto& verdict : merged.verdicts) {
    for (const auto& input : inputs) {
      for (const auto& other : input.verdicts) {
        if (other.key() == verdict.key()) {
          EXPECT_LE(verdict.run_time_ns(), other.run_time_ns());
        }
      }
    }
  }
}

std::vector<std::string> rules(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const auto& finding : findings) names.emplace_back(finding.rule);
  return names;
}

TEST(lint, each_rule) {
  const auto file = read_verdicts(
      "version: 2\n"
      "results { device: 'CUDA: 8.0' hlo: 'a' result { triton { split_k: 2 } } }\n"
      "results { device: 'CUDA: 8.0' hlo: 'a' result { gemm { } run_time { nanos: 1 } } }\n"
      "results { device: 'sm_8.0 with 1B RAM, 2 cores, 3KHz clock, 4KHz mem clock, 5B L2$' hlo: "
      "'b' result { run_time { nanos: 10 } } version: 49 }\n"
      "results { device: 'x' hlo: 'b' result { triton { num_ctas: 1 } run_time { nanos: 10 } } "
      "version: 50 }\n",
      "file");
  const auto findings = lint(file, "cache.pb");
  EXPECT_EQ(
      rules(findings),
      (std::vector<std::string>{"file_version", "extension", "dialects", "entry_version",
                                "run_time", "num_ctas", "split_k", "duplicate_key", "entry_version",
                                "run_time", "entry_version", "no_winner", "device_line"}));
  EXPECT_EQ(findings[3].line, 2);
  EXPECT_EQ(findings[3].entry, 1U);
  EXPECT_EQ(findings[7].message, "the key of entry 1 again, with another result");
  EXPECT_EQ(rules(lint(file, "cache.txt", 51)).back(), "device_line");
  EXPECT_TRUE(lint(read_verdicts("version: 3", "file"), "a.txtpb").empty());
  EXPECT_EQ(lint(VerdictFile(), "a.pb").size(), 1U);
}

TEST(lint, only_the_whole_key_is_a_duplicate) {
  const auto entry = [](std::string_view device, std::string_view computation,
                        std::string_view version) {
    return "results { device: 'CUDA: " + std::string(device) + "' hlo: '" +
           std::string(computation) +
           "' result { gemm { } run_time { nanos: 10 } } version: " + std::string(version) + " }\n";
  };
  const auto apart = "version: 3\n" + entry("8.0", "a", "50") + entry("8.0", "a", "51") +
                     entry("8.0", "b", "50") + entry("9.0", "a", "50");
  EXPECT_TRUE(lint(read_verdicts(apart, "file"), "a.txt").empty());
  const auto twice = lint(read_verdicts(apart + entry("8.0", "a", "51"), "file"), "a.txt");
  ASSERT_EQ(rules(twice), std::vector<std::string>{"duplicate_key"});
  EXPECT_EQ(twice[0].entry, 5U);
  EXPECT_EQ(twice[0].message, "the key of entry 2 again, with the same result");
}

TEST(lint, real_files) {
  FURLONG_NEEDS_SHARED("real/xla");
  const auto rank = lint(load_verdicts(rank_file(0)), rank_file(0).string());
  EXPECT_EQ(rank.size(), 29U);
  for (const auto& finding : rank) EXPECT_EQ(finding.rule, "entry_version");
  const auto old = rules(lint(
      load_verdicts(xla_folder() /
                    "2023-10-16_891081383b__xla_service_gpu_tests__test_autotune_cache.textproto"),
      "a.textproto"));
  EXPECT_EQ(old, (std::vector<std::string>{"file_version", "entry_version", "num_ctas"}));
}

}  // namespace
}  // namespace furlong::verdict
