#include <gtest/gtest.h>

#include <algorithm>

#include "furlong/error.hh"
#include "support/temporary.hh"
#include "verdict/folder.hh"
#include "verdict/source.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

using furlong::testing::put_file;
using furlong::testing::TemporaryFolder;

constexpr const char* kNewer = "device_scope: \"CUDA: 8.0\"";

Verdict made(const std::string& computation) {
  return Verdict::own({"CPU: a", computation, 1}, {"cpu", {{"tile", 8}}, "00", {}}, 100);
}

/// A cache of one verdict, whose computation is the file's name.
void put_cache(const std::filesystem::path& path) {
  const std::vector<Verdict> verdicts{made(path.filename().string())};
  put_file(path, to_bytes(VerdictFile(verdicts), format_of_extension(path)));
}

std::string failure_of(const std::filesystem::path& path) {
  try {
    load_source(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(load_source, a_folder_of_caches) {
  const TemporaryFolder folder;
  for (const char* name : {"m.txt", "c.pb", "z.textproto", "a.txt", "k.txt", "b.txt", "y.txt",
                           ".hidden.txt", "d.txt", "e.txt", "x.txt", "f.txt"}) {
    put_cache(folder.path() / name);
  }
  put_cache(folder.path() / "inner" / "cache.txt");
  put_file(folder.path() / "result.textproto", "gemm { }");
  put_file(folder.path() / "newer.txt", kNewer);

  const auto loaded = load_source(folder.path());
  EXPECT_EQ(loaded.source.name, folder.path().string());
  std::vector<std::string> files;
  for (const auto& item : loaded.source.items) {
    files.push_back(item.file);
    EXPECT_EQ(item.bare, item.file == "result.textproto");
    EXPECT_EQ(item.verdict.computation(), item.bare ? "" : item.file);
  }
  EXPECT_EQ(files, (std::vector<std::string>{"a.txt", "b.txt", "c.pb", "d.txt", "e.txt", "f.txt",
                                             "k.txt", "m.txt", "result.textproto", "x.txt", "y.txt",
                                             "z.textproto"}));
  ASSERT_EQ(loaded.skipped.size(), 1U);
  EXPECT_EQ(loaded.skipped[0],
            (folder.path() / "newer.txt").string() +
                ": holds an AutotuneCache (the newer kind of cache), which can be shown only");
}

TEST(load_source, an_empty_folder) {
  const TemporaryFolder folder;
  const auto loaded = load_source(folder.path());
  EXPECT_TRUE(loaded.source.items.empty());
  EXPECT_TRUE(loaded.skipped.empty());
}

TEST(load_source, a_file) {
  const TemporaryFolder folder;
  put_cache(folder.path() / "cache.pb");
  const auto cache = load_source(folder.path() / "cache.pb");
  EXPECT_EQ(cache.source.name, (folder.path() / "cache.pb").string());
  ASSERT_EQ(cache.source.items.size(), 1U);
  EXPECT_EQ(cache.source.items[0].file, "");
  EXPECT_FALSE(cache.source.items[0].bare);
  EXPECT_TRUE(cache.skipped.empty());

  put_file(folder.path() / "result.textproto", "gemm { }");
  const auto result = load_source(folder.path() / "result.textproto");
  ASSERT_EQ(result.source.items.size(), 1U);
  EXPECT_EQ(result.source.items[0].file, "result.textproto");
  EXPECT_TRUE(result.source.items[0].bare);

  const auto newer = folder.path() / "newer.txt";
  put_file(newer, kNewer);
  EXPECT_EQ(failure_of(newer),
            newer.string() +
                ": holds an AutotuneCache (the newer kind of cache), which can be shown only");
  EXPECT_NE(failure_of(folder.path() / "none.txt").find("none.txt"), std::string::npos);
}

TEST(load_source, a_folder_of_results) {
  const TemporaryFolder folder;
  const std::vector<Verdict> verdicts{made("a"), made("b"), made("c")};
  write_folder(plan_folder(verdicts, folder.path()), folder.path());
  put_file(folder.path() / "notes.txt", "mine");
  const auto loaded = load_source(folder.path());
  std::vector<std::string> names;
  for (const auto& verdict : verdicts) names.push_back(folder_name(verdict.key()));
  std::sort(names.begin(), names.end());
  ASSERT_EQ(loaded.source.items.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(loaded.source.items[i].file, names[i]);
    EXPECT_TRUE(loaded.source.items[i].bare);
    EXPECT_TRUE(loaded.source.items[i].verdict.same_result(verdicts[0]));
  }
  EXPECT_EQ(loaded.skipped, std::vector<std::string>{(folder.path() / "notes.txt").string() +
                                                     ": no result of this folder"});
  put_file(folder.path() / (names[1] + ".textproto"), "gemm {");
  EXPECT_NE(failure_of(folder.path()).find(names[1]), std::string::npos);
}

}  // namespace
}  // namespace furlong::verdict
