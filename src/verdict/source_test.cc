#include "verdict/source.hh"

#include <gtest/gtest.h>

#include "furlong/error.hh"
#include "support/temporary.hh"
#include "verdict/folder.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

using furlong::testing::put_file;
using furlong::testing::TemporaryFolder;

const std::string kCache =
    "version: 3\nresults {\n  device: \"d\"\n  hlo: \"x\"\n  result {\n    gemm {\n    }\n  }\n}\n";

std::string failure_of(const std::vector<std::filesystem::path>& paths) {
  try {
    load_sources(paths);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(source, a_folder_beside_a_file_is_its_file_of_that_name) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a" / "rank.pbtxt";
  const auto caches = folder.path() / "b";
  put_file(file, kCache);
  put_file(caches / "rank.pbtxt", kCache);
  put_file(caches / "other.pbtxt", kCache);
  const auto loaded = load_sources({file, caches});
  ASSERT_EQ(loaded.size(), 2U);
  EXPECT_EQ(loaded[1].source.name, (caches / "rank.pbtxt").string());
  const std::vector<Source> sources{loaded[0].source, loaded[1].source};
  const auto comparison = compare(sources, {});
  EXPECT_EQ(comparison.rows.size(), 1U);
  EXPECT_EQ(comparison.equal, 1U);

  EXPECT_EQ(load_sources({caches, caches})[0].source.items.size(), 2U);
  put_file(folder.path() / "c" / "lone.pbtxt", kCache);
  EXPECT_NE(
      failure_of({folder.path() / "c" / "lone.pbtxt", caches}).find("holds no \"lone.pbtxt\""),
      std::string::npos);
  EXPECT_NE(failure_of({folder.path() / "c" / "lone.pbtxt", file, caches}).find("several names"),
            std::string::npos);
}

TEST(source, results_without_keys_meet_no_verdicts_with_keys) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "rank.pbtxt";
  const auto results = folder.path() / "results";
  const auto caches = folder.path() / "caches";
  put_file(file, kCache);
  put_file(caches / "rank.pbtxt", kCache);
  write_folder(plan_folder(read_verdicts(kCache, "cache").verdicts(), results), results);
  for (const auto& other : {file, caches}) {
    const auto failure = failure_of({other, results});
    EXPECT_EQ(failure.find(results.string() + ": holds results without keys"), 0U) << failure;
  }
  EXPECT_EQ(load_sources({results, results}).size(), 2U);
  // One file of such a folder is compared with that of its name.
  const auto result = results / (folder_name("d", "x", std::nullopt) + ".textproto");
  EXPECT_EQ(load_sources({result, results})[1].source.name, result.string());
}

TEST(source, a_broken_cache_in_a_folder_is_an_error) {
  const auto whole = read_verdicts(kCache, "cache").binary();
  const std::vector<std::pair<std::string, std::string>> broken{
      {"cut.pbtxt", kCache.substr(0, kCache.size() - 4)},
      {"cut.txt", kCache.substr(0, kCache.size() - 4)},
      {"cut.pb", whole.substr(0, whole.size() - 2)},
      {"cut", whole.substr(0, whole.size() - 2)},
      {"wrong.textproto", "version: 3\nresults { device: 5 }\n"},
      {"empty.textproto", ""}};
  for (const auto& [name, bytes] : broken) {
    const TemporaryFolder folder;
    put_file(folder.path() / "whole.pb", whole);
    put_file(folder.path() / name, bytes);
    const auto failure = failure_of({folder.path(), folder.path()});
    EXPECT_EQ(failure.find((folder.path() / name).string()), 0U) << name << ": " << failure;
  }
  const TemporaryFolder folder;
  std::filesystem::create_symlink("nowhere", folder.path() / "rank.pbtxt");
  EXPECT_THROW(load_source(folder.path()), Error);
}

TEST(source, strangers_in_a_folder_are_skipped_with_their_reason) {
  const TemporaryFolder folder;
  put_file(folder.path() / "rank.pbtxt", kCache);
  put_file(folder.path() / "README.md", "# Dumps\nof one job\n");
  put_file(folder.path() / "module.txt", "HloModule jit_f, is_scheduled=true\n");
  put_file(folder.path() / "target.pbtxt", "gpu_device_info {\n}\n");
  put_file(folder.path() / "within" / "cut.pb", "\x08");
  put_file(folder.path() / ".hidden.pb", "\x08");
  const auto loaded = load_source(folder.path());
  EXPECT_EQ(loaded.source.items.size(), 1U);
  EXPECT_EQ(loaded.skipped.size(), 3U);
}

}  // namespace
}  // namespace furlong::verdict
