// The store's folder where something else stands in its place.
#include <gtest/gtest.h>
#include <unistd.h>

#include "furlong/error.hh"
#include "support/temporary.hh"
#include "verdict/store.hh"

namespace furlong::verdict {
namespace {

using furlong::testing::put_file;
using furlong::testing::TemporaryFolder;

TEST(cache_folder, a_file_in_its_place_is_an_error) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  put_file(file, "mine");
  for (const auto& cache : {file, file / "within"}) {
    EXPECT_THROW(store_size(cache), Error) << cache;
    EXPECT_THROW(clear_store(cache), Error) << cache;
    StoreOptions options;
    options.folder = cache;
    EXPECT_THROW(Store{options}, Error) << cache;
  }
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(cache_folder, a_folder_in_the_place_of_the_verdicts_is_an_error_and_stays) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "verdicts.pb");
  put_file(folder.path() / ".verdicts.pb.1.0.tmp", "half");
  EXPECT_THROW(store_size(folder.path()), Error);
  EXPECT_THROW(clear_store(folder.path()), Error);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "verdicts.pb"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / ".verdicts.pb.1.0.tmp"));
}

TEST(cache_folder, a_folder_named_like_what_a_killed_writer_left_stays) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / ".verdicts.pb.1.0.tmp");
  EXPECT_EQ(clear_store(folder.path()), 0U);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / ".verdicts.pb.1.0.tmp"));
}

TEST(cache_folder, one_that_cannot_be_listed_is_an_error) {
  if (::geteuid() == 0) GTEST_SKIP() << "root lists everything";
  const TemporaryFolder folder;
  std::filesystem::permissions(
      folder.path(), std::filesystem::perms::owner_write | std::filesystem::perms::owner_exec);
  EXPECT_THROW(store_size(folder.path()), Error);
  EXPECT_THROW(clear_store(folder.path()), Error);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace furlong::verdict
