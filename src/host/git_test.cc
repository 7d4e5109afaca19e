#include "host/git.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <vector>

#include "furlong/error.hh"
#include "host/files.hh"
#include "host/git_history.hh"
#include "support/git_repository.hh"

namespace furlong::host {
namespace {

namespace fs = std::filesystem;

class GitTest : public ::testing::Test {
 protected:
  const fs::path& root() const { return repository_.folder(); }
  void write(const std::string& name, const std::string& text) { repository_.write(name, text); }
  void add() { repository_.add(); }
  std::string commit() { return repository_.commit(); }

 private:
  testing::TemporaryFolder folder_;

 protected:
  testing::GitRepository repository_{folder_.path() / "project"};
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

TEST_F(GitTest, HistoryShowsFilesAtCommits) {
  EXPECT_THROW(GitHistory{root()}, Error) << "no commit yet";
  write("lib/a.cc", "old");
  write("lib/same.hh", "same");
  const std::string first = commit();
  write("lib/a.cc", "new");
  const std::string second = commit();
  for (const std::string prefix : {"", "lib/"}) {
    const GitHistory history(root() / prefix);
    const auto path = [&](const std::string& name) {
      return (prefix.empty() ? "lib/" : "") + name;
    };
    EXPECT_EQ(history.head(), second);
    EXPECT_EQ(history.commit(first.substr(0, 8)), first);
    EXPECT_EQ(history.commit("HEAD~1"), first);
    EXPECT_EQ(history.commit("nothing"), std::nullopt);
    EXPECT_EQ(history.file(first, path("a.cc")), "old");
    EXPECT_EQ(history.file(second, path("a.cc")), "new");
    EXPECT_EQ(history.file(second, path("b.cc")), std::nullopt);
    EXPECT_TRUE(history.has_file(first, path("same.hh")));
    EXPECT_FALSE(history.has_file(first, path("")));
    EXPECT_TRUE(history.uncommitted({path("a.cc"), path("same.hh"), path("none")}).empty());
    write("lib/a.cc", "newer");
    EXPECT_EQ(history.uncommitted({path("same.hh"), path("a.cc")}),
              std::vector<std::string>{path("a.cc")});
    write("lib/a.cc", "new");
  }
}

TEST_F(GitTest, HistorySeesRenames) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "line " + std::to_string(i) + "\n";
  write("old/a.cc", text);
  write("old/b.cc", "short");
  const std::string first = commit();
  repository_.move("old/a.cc", "new/a.cc");
  write("new/a.cc", text + "and one more\n");
  repository_.remove("old/b.cc");
  write("new/c.cc", "something else entirely, and longer");
  const std::string second = commit();
  const std::map<std::string, std::string> expected = {{"old/a.cc", "new/a.cc"}};
  EXPECT_EQ(GitHistory(root()).renames(first, second), expected);
}

}  // namespace
}  // namespace furlong::host
