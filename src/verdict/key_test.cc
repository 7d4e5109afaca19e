#include <gtest/gtest.h>

#include "furlong/error.hh"
#include "support/real_caches.hh"
#include "support/temporary.hh"
#include "verdict/device_line.hh"
#include "verdict/folder.hh"
#include "verdict/line_diff.hh"
#include "verdict/lookup.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

using furlong::testing::rank_file;
using furlong::testing::real_caches;
using furlong::testing::TemporaryFolder;
using furlong::testing::xla_folder;

constexpr std::string_view kA100 =
    "CUDA: 8.0, Cores: 108, GPU clock: 1.41 GHz, Memory bandwidth: 1555 GB/s, L2 cache: 40 MB";

TEST(device_line, every_dialect_prints_back) {
  for (const std::string& text :
       {std::string(kA100), std::string(kA100) + ", DNN version: 9.10.0",
        std::string("ROCM: gfx90a, Cores: 104, GPU clock: 1.7 GHz, Memory bandwidth: 1638 GB/s, "
                    "L2 cache: 8 MB"),
        std::string("oneAPI: 12.60, Cores: 448"),
        std::string("sm_8.0 with 42505273344B RAM, 108 cores, 1410000KHz clock, 1215000KHz mem "
                    "clock, 41943040B L2$"),
        std::string(
            "OpenCL: pthread-INTEL(R) XEON(R) 8592+, odd: name, Cores: 2, Local memory: 256 kB, "
            "Driver: 3.1+debian"),
        std::string("CPU: avx512_zen5, Cores: 2, L2 cache: 1 MB, L3 cache: 32 MB, Compiler: g++ "
                    "12.2.0")}) {
    const auto line = DeviceLine::parse(text);
    ASSERT_TRUE(line) << text << ": " << line.reason();
    EXPECT_EQ(line->text(), text);
  }
  const auto old = DeviceLine::parse(
      "sm_8.0 with 42505273344B RAM, 108 cores, 1410000KHz clock, 1215000KHz mem clock, "
      "41943040B L2$");
  EXPECT_EQ(old->dialect, Dialect::kOldCuda);
  EXPECT_EQ(*old->find("sm"), "8.0");
  EXPECT_EQ(*old->find("mem clock"), "1215000");
  const auto opencl = DeviceLine::parse("OpenCL: a, b: c, Cores: 2, Driver: 1, 2");
  EXPECT_EQ(*opencl->find("OpenCL"), "a, b: c");
  EXPECT_EQ(*opencl->find("Driver"), "1, 2");
  for (const char* bad : {"", "CUDA", "Vulkan: 1", "sm_8.0", "sm_8.0 with 1B RAM",
                          "sm_8.0 with 1 RAM, 2 cores, 3KHz clock, 4KHz mem clock, 5B L2$"}) {
    EXPECT_FALSE(DeviceLine::parse(bad)) << bad;
  }
}

TEST(device_line, ours) {
  EXPECT_EQ(device_line(CpuDevice{"avx512_zen5", 2, 1 << 20, 32 << 20, "g++ 12.2.0"}),
            "CPU: avx512_zen5, Cores: 2, L2 cache: 1 MB, L3 cache: 32 MB, Compiler: g++ 12.2.0");
  EXPECT_EQ(device_line(OpenClDevice{"cpu-haswell", 4, 512 << 10, "3.1"}),
            "OpenCL: cpu-haswell, Cores: 4, Local memory: 512 kB, Driver: 3.1");
  EXPECT_EQ(six_digits(126.5), "126.5");
  EXPECT_EQ(six_digits(1.4805), "1.4805");
  EXPECT_EQ(six_digits(40), "40");
  EXPECT_EQ(six_digits(1.41), "1.41");
}

TEST(device_line, every_real_line_prints_back) {
  FURLONG_NEEDS_SHARED("real/xla");
  for (const auto& path : real_caches()) {
    for (const auto& verdict : load_verdicts(path).verdicts()) {
      const auto line = DeviceLine::parse(verdict.device());
      ASSERT_TRUE(line) << line.reason();
      EXPECT_EQ(line->text(), verdict.device());
    }
  }
}

TEST(device_line, differences_by_clause) {
  const auto text = std::string(kA100);
  EXPECT_TRUE(compare_devices(text, text).empty());
  auto other = text;
  other.replace(other.find("1555"), 4, "2039");
  const auto changed = compare_devices(text, other + ", DNN version: 9.1.0");
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[0].clause, "Memory bandwidth");
  EXPECT_EQ(changed[0].wanted, "1555 GB/s");
  EXPECT_EQ(changed[0].found, "2039 GB/s");
  EXPECT_EQ(changed[1].clause, "DNN version");
  EXPECT_FALSE(changed[1].wanted);
  EXPECT_EQ(compare_devices(text, "ROCM: gfx90a").front().clause, "device");
  EXPECT_EQ(compare_devices("CUDA: 8.0, A: 1, B: 2", "CUDA: 8.0, B: 2, A: 1").size(), 1U);
  EXPECT_EQ(without_clauses(text + ", DNN version: 9.1.0", {"DNN version"}), text);
}

TEST(line_diff, changed_added_removed) {
  EXPECT_TRUE(diff_lines("a\nb", "a\nb").empty());
  const auto lines = diff_lines("a\nb\nc\nd", "a\nB\nc\nd\ne");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].line_a, 2);
  EXPECT_EQ(lines[0].a, "b");
  EXPECT_EQ(lines[0].b, "B");
  EXPECT_FALSE(lines[1].a);
  EXPECT_EQ(lines[1].line_b, 5);
  EXPECT_DOUBLE_EQ(line_distance(lines), 2);
  EXPECT_DOUBLE_EQ(line_distance(diff_lines("abcd", "abXd")), 0.25);
  EXPECT_EQ(diff_lines("a\nb\nc", "c").size(), 2U);
  EXPECT_EQ(diff_lines("", "a").size(), 1U);
  const auto window = differing_window(std::string(100, 'x') + "A" + std::string(100, 'y'),
                                       std::string(100, 'x') + "B", 12);
  EXPECT_EQ(window.column, 101U);
  EXPECT_EQ(window.a, "...xxxxAyyyyyyy...");
  EXPECT_EQ(window.b, "...xxxxB");
}

TEST(line_diff, what_is_common_is_counted_once) {
  // The last line of one is not both the first and the last common one.
  const auto lines = diff_lines("a\na", "a");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].line_a, 2);
  EXPECT_EQ(lines[0].a, "a");
  EXPECT_FALSE(lines[0].b);
  EXPECT_EQ(diff_lines("a", "a\na\na").size(), 2U);
  // Nor is a byte of a line.
  EXPECT_DOUBLE_EQ(line_distance(diff_lines("aa", "a")), 0.5);
  EXPECT_DOUBLE_EQ(line_distance(diff_lines("abab", "ab")), 0.5);
  EXPECT_DOUBLE_EQ(line_distance(diff_lines("aaaa", "aaaaa")), 0.2);
  EXPECT_DOUBLE_EQ(line_distance(diff_lines("abcd", "abXcd")), 0.2);
  EXPECT_DOUBLE_EQ(line_distance(diff_lines("Xbcd", "Ybcd")), 0.25);
  EXPECT_DOUBLE_EQ(line_distance(diff_lines("abcX", "abcY")), 0.25);
  EXPECT_DOUBLE_EQ(line_distance(diff_lines("ab", "cd")), 1);
}

/// `<first>\n<first + 1>\n ...`, `count` lines.
std::string numbered(int first, int count) {
  std::string text = std::to_string(first);
  for (int i = 1; i < count; ++i) text += '\n' + std::to_string(first + i);
  return text;
}

TEST(line_diff, long_texts) {
  constexpr int kMost = 4000;
  EXPECT_EQ(diff_lines(numbered(0, kMost), "x").size(), std::size_t{kMost});
  EXPECT_EQ(diff_lines("x", numbered(0, kMost)).size(), std::size_t{kMost});
  const auto longer = diff_lines(numbered(0, kMost + 1), "x\ny");
  ASSERT_EQ(longer.size(), 1U);
  EXPECT_EQ(longer[0].line_a, 1);
  EXPECT_EQ(longer[0].line_b, 1);
  EXPECT_EQ(longer[0].a, "0");
  EXPECT_EQ(longer[0].b, "x");
  EXPECT_EQ(diff_lines("x\ny", numbered(0, kMost + 1)).size(), 1U);
  // One that goes on where the other ends.
  const auto rest = diff_lines("0\n1", numbered(0, kMost + 3));
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].line_b, 3);
  EXPECT_EQ(rest[0].b, "2");
  EXPECT_FALSE(rest[0].a);

  // What is common before and after the first and the last difference is no matter.
  const auto before = numbered(0, kMost + 100);
  const auto after = numbered(10'000, kMost + 100);
  const auto lines =
      diff_lines(before + "\nold\nsame\nleft out\n" + after, before + "\nnew\nsame\n" + after);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].line_a, kMost + 101);
  EXPECT_EQ(lines[0].a, "old");
  EXPECT_EQ(lines[0].b, "new");
  EXPECT_EQ(lines[1].line_a, kMost + 103);
  EXPECT_EQ(lines[1].a, "left out");
  EXPECT_FALSE(lines[1].b);
}

TEST(look_up, finds_exactly_and_explains_a_miss) {
  FURLONG_NEEDS_SHARED("real/xla");
  const LookUp cache(load_verdicts(rank_file(3)).verdicts());
  ASSERT_EQ(cache.size(), 29U);
  for (const auto& verdict : cache.verdicts()) {
    const auto* found = cache.find(verdict.key());
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->computation(), verdict.computation());
    EXPECT_EQ(cache.find(verdict.device(), verdict.computation() + " ", std::nullopt), nullptr);
    EXPECT_EQ(cache.find(verdict.device(), verdict.computation(), 1), nullptr);
    EXPECT_EQ(cache.find_any_version(verdict.device(), verdict.computation()).size(), 1U);
  }
  auto wanted = cache.verdicts()[27].key();
  wanted.device.replace(wanted.device.find("108"), 3, "104");
  auto miss = nearest_miss(cache.verdicts(), wanted);
  ASSERT_TRUE(miss);
  EXPECT_EQ(miss->nearest->computation(), wanted.computation);
  EXPECT_EQ(explain(*miss, wanted),
            (std::vector<std::string>{"clause cores: wanted 104, here 108"}));

  wanted = cache.verdicts()[27].key();
  const auto at = wanted.computation.find("parameter(1)");
  ASSERT_NE(at, std::string::npos);
  wanted.computation.replace(at, 12, "parameter(2)");
  wanted.version = 7;
  miss = nearest_miss(cache.verdicts(), wanted);
  ASSERT_TRUE(miss);
  EXPECT_EQ(miss->nearest, &cache.verdicts()[27]);
  ASSERT_EQ(miss->lines.size(), 1U);
  EXPECT_TRUE(miss->version_differs);
  const auto lines = explain(*miss, wanted);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "entry version: wanted 7, here none");
  EXPECT_NE(lines[1].find("parameter(2)"), std::string::npos) << lines[1];
  EXPECT_FALSE(nearest_miss({}, wanted));
}

TEST(look_up, versions_of_one_key) {
  const OwnWinner winner{"cpu", {{"tile", 8}}, "00", std::nullopt};
  std::vector<Verdict> verdicts;
  for (const int version : {3, 1, 2}) {
    verdicts.push_back(Verdict::own({"CPU: a", "{\n}", version}, winner, 100 + version));
  }
  const LookUp cache(verdicts);
  EXPECT_EQ(cache.find("CPU: a", "{\n}", 2)->run_time_ns(), 102);
  EXPECT_EQ(cache.find("CPU: a", "{\n}", std::nullopt), nullptr);
  const auto all = cache.find_any_version("CPU: a", "{\n}");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]->entry_version(), 3);
  EXPECT_EQ(LookUp().find("", "", std::nullopt), nullptr);
}

Verdict own(const Key& key, std::int64_t ns = 100, std::int64_t tile = 8) {
  return Verdict::own(key, {"cpu", {{"tile", tile}}, "00", std::nullopt}, ns);
}

TEST(look_up, the_nearest_miss) {
  const Key wanted{"CPU: a, Cores: 2, L2 cache: 1 MB, L3 cache: 32 MB, Compiler: g++ 12.2.0",
                   "{\n  " + std::string(400, 'x') + " = one\n}", 1};
  const auto nearest = [&](const std::vector<Key>& keys) {
    std::vector<Verdict> verdicts;
    for (const auto& key : keys) verdicts.push_back(own(key));
    const auto miss = nearest_miss(verdicts, wanted);
    return miss ? miss->nearest - verdicts.data() : -1;
  };
  const auto on = [&](std::string_view device) {
    return Key{std::string(device), wanted.computation, 1};
  };
  const auto one_clause =
      on("CPU: a, Cores: 4, L2 cache: 1 MB, L3 cache: 32 MB, Compiler: g++ 12.2.0");
  const auto every_clause =
      on("CPU: b, Cores: 4, L2 cache: 2 MB, L3 cache: 64 MB, Compiler: clang 14.0.6");
  const auto other_dialect = on("OpenCL: a, Cores: 2, Local memory: 256 kB, Driver: 3.1");
  const Key other_line{wanted.device, "{\n  y = two\n}", 1};
  auto other_byte = wanted;
  other_byte.computation.replace(other_byte.computation.find("one"), 3, "ons");
  auto other_version = wanted;
  other_version.version = 2;

  // Fewer clauses are nearer, whatever the order.
  EXPECT_EQ(nearest({every_clause, one_clause}), 1);
  EXPECT_EQ(nearest({one_clause, every_clause}), 0);
  // Another dialect is further than all clauses of the same one.
  EXPECT_EQ(nearest({other_dialect, every_clause}), 1);
  EXPECT_EQ(nearest({every_clause, other_dialect}), 0);
  // The version counts less than a clause.
  EXPECT_EQ(nearest({one_clause, other_version}), 1);
  EXPECT_EQ(nearest({other_version, one_clause}), 0);
  // The computation counts before the device: one byte of a long line is another kernel.
  for (const auto& device : {one_clause, every_clause, other_dialect}) {
    EXPECT_EQ(nearest({other_line, device}), 1) << device.device;
    EXPECT_EQ(nearest({device, other_line}), 0) << device.device;
    EXPECT_EQ(nearest({other_byte, device}), 1) << device.device;
    EXPECT_EQ(nearest({device, other_byte}), 0) << device.device;
  }
  EXPECT_EQ(nearest({other_line, other_byte}), 1);
  // Of equally distant ones, the first.
  EXPECT_EQ(nearest({one_clause, one_clause}), 0);
  EXPECT_EQ(nearest({}), -1);
}

TEST(folder, names) {
  EXPECT_EQ(folder_name("m", "h", 1), "KZ9sdqC_1CS4TSpjl-BU3TAYCeXOS4bYx2gCxLGK78Q");
  EXPECT_NE(folder_name("m", "h", std::nullopt), folder_name("m", "h", 1));
  EXPECT_EQ(folder_name("m", "h", std::nullopt).size(), 43U);
}

TEST(folder, export_look_up_and_join) {
  FURLONG_NEEDS_SHARED("real/xla");
  const auto verdicts = load_verdicts(rank_file(0)).verdicts();
  const TemporaryFolder folder;
  const auto plan = plan_folder(verdicts, folder.path());
  EXPECT_EQ(plan.writes.size(), 29U);
  EXPECT_TRUE(plan.conflicts.empty());
  write_folder(plan, folder.path());
  testing::put_file(folder.path() / ".x.textproto.1.2.tmp", "half");
  const auto again = plan_folder(verdicts, folder.path());
  EXPECT_TRUE(again.writes.empty());
  EXPECT_EQ(again.unchanged, 29U);

  const auto loaded = load_folder(folder.path());
  ASSERT_EQ(loaded.files.size(), 29U);
  EXPECT_EQ(loaded.leftovers, std::vector<std::string>{".x.textproto.1.2.tmp"});
  const auto found = find_in_folder(loaded, verdicts[28].key());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->same_result(verdicts[28]));
  EXPECT_FALSE(find_in_folder(loaded, {"m", "h", {}}));

  const auto joined = join_with_keys(loaded, verdicts, std::nullopt);
  EXPECT_EQ(joined.verdicts.size(), 29U);
  EXPECT_TRUE(joined.orphans.empty());
  EXPECT_TRUE(joined.missing.empty());
  const auto few = join_with_keys(loaded, std::span(verdicts).first(20), std::nullopt);
  EXPECT_EQ(few.verdicts.size(), 20U);
  EXPECT_EQ(few.orphans.size(), 9U);

  const auto other = load_verdicts(rank_file(3)).verdicts();
  EXPECT_FALSE(plan_folder(other, folder.path()).conflicts.empty());
  testing::put_file(folder.path() / (folder_name(verdicts[0].key()) + ".textproto"), "triton {");
  EXPECT_THROW(load_folder(folder.path()), Error);
}

std::vector<std::optional<std::int32_t>> versions_of(const std::vector<Verdict>& verdicts) {
  std::vector<std::optional<std::int32_t>> versions;
  for (const auto& verdict : verdicts) versions.push_back(verdict.entry_version());
  return versions;
}

TEST(folder, joins_by_the_own_version_by_none_and_by_the_one_given) {
  const TemporaryFolder folder;
  const std::vector<Verdict> written{own({"m", "h", {}}, 10), own({"m", "h", 3}, 13),
                                     own({"m", "h", 7}, 17), own({"m", "h", 9}, 19)};
  write_folder(plan_folder(written, folder.path()), folder.path());
  const auto loaded = load_folder(folder.path());
  using Versions = std::vector<std::optional<std::int32_t>>;
  const auto name = [](std::optional<std::int32_t> version) {
    return folder_name("m", "h", version);
  };

  const std::vector<Verdict> third{own({"m", "h", 3})};
  const auto plain = join_with_keys(loaded, third, std::nullopt);
  EXPECT_EQ(versions_of(plain.verdicts), (Versions{3, std::nullopt}));
  EXPECT_EQ(plain.verdicts.at(0).run_time_ns(), 13);
  EXPECT_EQ(plain.verdicts.at(1).run_time_ns(), 10);
  EXPECT_EQ(plain.verdicts.at(0).key(), third[0].key());
  EXPECT_EQ(plain.orphans.size(), 2U);
  EXPECT_TRUE(plain.missing.empty());

  const auto given = join_with_keys(loaded, third, 7);
  EXPECT_EQ(versions_of(given.verdicts), (Versions{3, std::nullopt, 7}));
  EXPECT_EQ(given.orphans, std::vector<std::string>{name(9)});

  // A key without a version has no other, unless one is given.
  const std::vector<Verdict> none{own({"m", "h", {}})};
  EXPECT_EQ(versions_of(join_with_keys(loaded, none, std::nullopt).verdicts),
            (Versions{std::nullopt}));
  EXPECT_EQ(versions_of(join_with_keys(loaded, none, 9).verdicts), (Versions{std::nullopt, 9}));

  // Several keys: each file once, the keys without a file in order.
  const std::vector<Verdict> keys{own({"m", "h", 3}), own({"m", "other", 3}), own({"m", "h", 3}),
                                  own({"m", "h", 9}), own({"n", "h", {}})};
  const auto joined = join_with_keys(loaded, keys, 3);
  EXPECT_EQ(versions_of(joined.verdicts), (Versions{3, std::nullopt, 9}));
  EXPECT_EQ(joined.orphans, std::vector<std::string>{name(7)});
  EXPECT_EQ(joined.missing, (std::vector<Key>{{"m", "other", 3}, {"n", "h", {}}}));
}

TEST(folder, of_one_key_twice_the_first_counts) {
  const TemporaryFolder folder;
  const Key key{"m", "h", 1};
  const auto file = folder_name(key) + ".textproto";
  const std::vector<Verdict> equal{own(key, 10), own(key, 10)};
  const auto once = plan_folder(equal, folder.path());
  EXPECT_EQ(once.writes.size(), 1U);
  EXPECT_TRUE(once.conflicts.empty());

  const std::vector<Verdict> different{own(key, 10, 8), own(key, 5, 16), own({"m", "i", 1}, 7)};
  const auto plan = plan_folder(different, folder.path());
  EXPECT_EQ(plan.conflicts, std::vector<std::string>{file});
  ASSERT_EQ(plan.writes.size(), 2U);
  EXPECT_EQ(plan.writes[0].file, file);
  EXPECT_EQ(plan.writes[0].text, different[0].result_text());
  write_folder(plan, folder.path());
  EXPECT_TRUE(find_in_folder(load_folder(folder.path()), key)->same_result(different[0]));

  // The same with the first already there.
  const auto again = plan_folder(different, folder.path());
  EXPECT_TRUE(again.writes.empty());
  EXPECT_EQ(again.unchanged, 2U);
  EXPECT_EQ(again.conflicts, std::vector<std::string>{file});
}

TEST(folder, versions_to_999_are_tried) {
  const TemporaryFolder folder;
  const std::vector<Verdict> written{own({"m", "first", 1}), own({"m", "last", 999}),
                                     own({"m", "beyond", 1000}), own({"m", "both", {}}),
                                     own({"m", "both", 2})};
  write_folder(plan_folder(written, folder.path()), folder.path());
  const auto loaded = load_folder(folder.path());
  const auto found = [&](std::string_view computation) {
    return find_in_folder(loaded, {"m", std::string(computation), {}});
  };
  ASSERT_TRUE(found("first"));
  EXPECT_EQ(found("first")->entry_version(), 1);
  ASSERT_TRUE(found("last"));
  EXPECT_EQ(found("last")->entry_version(), 999);
  EXPECT_FALSE(found("beyond"));
  EXPECT_TRUE(find_in_folder(loaded, {"m", "beyond", 1000}));
  ASSERT_TRUE(found("both"));
  EXPECT_FALSE(found("both")->entry_version());
}

TEST(folder, versions_are_found_without_being_named) {
  const TemporaryFolder folder;
  const std::vector<Verdict> verdicts{
      Verdict::own({"m", "h", 23}, {"cpu", {}, "00", std::nullopt}, 5)};
  write_folder(plan_folder(verdicts, folder.path()), folder.path());
  const auto loaded = load_folder(folder.path());
  EXPECT_EQ(find_in_folder(loaded, {"m", "h", {}})->entry_version(), 23);
  EXPECT_FALSE(find_in_folder(loaded, {"m", "h", 22}));
  EXPECT_TRUE(is_verdict_folder(folder.path()));
}

}  // namespace
}  // namespace furlong::verdict
