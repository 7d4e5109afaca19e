#include "host/git.hh"

#include <git2.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "host/files.hh"
#include "support/temporary.hh"

namespace furlong::host {
namespace {

namespace fs = std::filesystem;

/// A repository in a temporary folder, driven through libgit2 (no git program is needed).
class GitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    git_libgit2_init();
    ASSERT_EQ(git_repository_init(&repository_, root().c_str(), 0), 0);
  }
  void TearDown() override {
    git_repository_free(repository_);
    git_libgit2_shutdown();
  }
  fs::path root() const { return folder_.path() / "project"; }

  void write(const std::string& name, const std::string& text) {
    write_file_atomically(root() / name, text);
  }

  /// Stages everything.
  void add() {
    git_index* index = nullptr;
    ASSERT_EQ(git_repository_index(&index, repository_), 0);
    ASSERT_EQ(git_index_add_all(index, nullptr, 0, nullptr, nullptr), 0);
    ASSERT_EQ(git_index_write(index), 0);
    git_index_free(index);
  }

  /// Commits the index; 40 hex digits.
  std::string commit() {
    add();
    git_index* index = nullptr;
    git_oid tree_id, id, parent_id;
    git_tree* tree = nullptr;
    git_signature* who = nullptr;
    git_commit* parent = nullptr;
    git_repository_index(&index, repository_);
    git_index_write_tree(&tree_id, index);
    git_tree_lookup(&tree, repository_, &tree_id);
    git_signature_new(&who, "t", "t@example.org", 0, 0);
    if (git_reference_name_to_id(&parent_id, repository_, "HEAD") == 0) {
      git_commit_lookup(&parent, repository_, &parent_id);
    }
    const git_commit* parents[] = {parent};
    EXPECT_EQ(git_commit_create(&id, repository_, "HEAD", who, who, nullptr, "m", tree,
                                parent != nullptr ? 1 : 0, parents),
              0);
    git_commit_free(parent);
    git_signature_free(who);
    git_tree_free(tree);
    git_index_free(index);
    return git_oid_tostr_s(&id);
  }

 private:
  testing::TemporaryFolder folder_;
  git_repository* repository_ = nullptr;
};

TEST_F(GitTest, UnknownOutsideGitAndBeforeACommit) {
  const testing::TemporaryFolder elsewhere;
  EXPECT_EQ(git_state(elsewhere.path()).text(), "unknown");
  EXPECT_EQ(git_state(elsewhere.path() / "missing").text(), "unknown");
  EXPECT_EQ(git_state(root()).text(), "unknown");
}

TEST_F(GitTest, CommitAndDirt) {
  write("src/a.cc", "1");
  write("ledger/x.jsonl", "1");
  write("tuned/x.txt", "1");
  const std::string head = commit().substr(0, 8);
  const std::vector<fs::path> except = {root() / "ledger", root() / "tuned"};

  EXPECT_EQ(git_state(root(), except).text(), head);
  EXPECT_EQ(git_state(root() / "src", except).text(), head) << "from a folder inside";

  write("untracked.cc", "1");
  write("ledger/x.jsonl", "2");
  write("tuned/new.txt", "2");
  EXPECT_EQ(git_state(root(), except).text(), head) << "untracked and exempt files do not count";
  EXPECT_EQ(git_state(root()).text(), head + "-dirty");

  write("src/a.cc", "2");
  EXPECT_EQ(git_state(root(), except).text(), head + "-dirty");
  const std::string next = commit().substr(0, 8);
  EXPECT_NE(next, head);
  EXPECT_EQ(git_state(root(), except).text(), next);

  fs::remove(root() / "src/a.cc");
  EXPECT_EQ(git_state(root(), except).text(), next + "-dirty") << "a deleted file differs";
}

TEST_F(GitTest, StagedChangesAreDirt) {
  write("src/a.cc", "1");
  const std::string head = commit().substr(0, 8);
  write("src/b.cc", "1");
  EXPECT_EQ(git_state(root()).text(), head);
  add();
  EXPECT_EQ(git_state(root()).text(), head + "-dirty");
}

TEST_F(GitTest, AnotherUsersRepositoryIsRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write("a.cc", "1");
  const std::string head = commit().substr(0, 8);
  for (const auto& path : {root(), root() / ".git"}) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  }
  EXPECT_EQ(git_state(root()).text(), head);
}

TEST_F(GitTest, FolderNamesAreWhole) {
  write("ledger-tools/a.cc", "1");
  commit();
  write("ledger-tools/a.cc", "2");
  const std::vector<fs::path> except = {root() / "ledger"};
  EXPECT_TRUE(git_state(root(), except).dirty) << "ledger-tools is not in ledger";
}

}  // namespace
}  // namespace furlong::host
