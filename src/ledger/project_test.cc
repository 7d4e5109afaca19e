#include "ledger/project.hh"

#include <gtest/gtest.h>

#include <cstdlib>

#include "furlong/error.hh"
#include "host/files.hh"
#include "support/temporary.hh"

namespace furlong::ledger {
namespace {

class ProjectTest : public ::testing::Test {
 protected:
  Project load(const std::string& text) const {
    host::write_file_atomically(folder_.path() / "furlong.toml", text);
    return Project::load(folder_.path());
  }
  std::string refusal(const std::string& text) const {
    try {
      load(text);
    } catch (const Error& error) {
      const std::string what = error.what();
      const std::string place = (folder_.path() / "furlong.toml").string() + ":";
      EXPECT_TRUE(what.starts_with(place)) << what;
      return what.substr(place.size());
    }
    return "accepted";
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ProjectTest, EveryFieldIsOptional) {
  const Project project = load("");
  EXPECT_EQ(project.library, "furlong");
  EXPECT_EQ(project.ledger_file("gemm", "cpu"), folder_.path() / "ledger" / "gemm.cpu.jsonl");
  EXPECT_EQ(project.table_file("gemm", "cpu"), folder_.path() / "tuned" / "gemm.cpu.txt");
  EXPECT_EQ(project.spec_file("gemm"), folder_.path() / "src" / "blas" / "gemm" / "spec.cc");
  EXPECT_TRUE(project.include.empty());
  EXPECT_EQ(project.dtypes.text(), DtypeList().text());
  EXPECT_EQ(project.ledger_source("gemm", "cpu"), "ledger/gemm.cpu.jsonl");
  EXPECT_TRUE(project.has_sources());
}

TEST_F(ProjectTest, ReadsAllFields) {
  const Project project = load(R"(
library = "lib"
ledger = "data/l"
tables = "data/t"
specs = "s/{op}/{op}.cc"
include = ["i", "j"]
dtypes = ["f16", "s8"]
)");
  EXPECT_EQ(project.library, "lib");
  EXPECT_EQ(project.ledger_source("a", "b"), "data/l/a.b.jsonl");
  EXPECT_EQ(project.tables_dir(), folder_.path() / "data/t");
  EXPECT_EQ(project.spec_file("qr"), folder_.path() / "s/qr/qr.cc");
  EXPECT_EQ(project.include, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(project.dtypes.index("s8"), 1);
}

TEST_F(ProjectTest, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(refusal("\nlibary = \"x\"\n").find("2: unknown field \"libary\""), std::string::npos);
  EXPECT_NE(refusal("[table]\n").find("unknown field"), std::string::npos);
  EXPECT_NE(refusal("library = 3\n").find("1: library is no text"), std::string::npos);
  EXPECT_NE(refusal("include = \"x\"\n").find("include is no list"), std::string::npos);
  EXPECT_NE(refusal("include = [1]\n").find("include is no text"), std::string::npos);
  EXPECT_NE(refusal("dtypes = []\n").find("dtypes"), std::string::npos);
  EXPECT_NE(refusal("dtypes = [\"f\", \"f\"]\n").find("dtypes"), std::string::npos);
  EXPECT_NE(refusal("library = \"a b\"\n").find("allowed"), std::string::npos);
  EXPECT_NE(refusal("library = \"date\"\n").find("means something else"), std::string::npos);
  EXPECT_NE(refusal("library = \n").find("no TOML"), std::string::npos);
  EXPECT_NE(refusal("library = \"a\"\nlibrary = \"b\"\n").find("2: no TOML"), std::string::npos);
}

TEST_F(ProjectTest, NamedFolderMustHoldTheFile) {
  EXPECT_THROW(Project::load(folder_.path()), Error);
}

TEST_F(ProjectTest, StoredLedgersByName) {
  const Project project = load("");
  EXPECT_TRUE(project.stored().empty());
  for (const char* name : {"b.cpu.jsonl", "a.sm_90.jsonl", "a.cpu.jsonl", "a.cpu.jsonl.damaged",
                           "x.jsonl", "a.CPU.jsonl"}) {
    host::write_file_atomically(project.ledger_dir() / name, "");
  }
  EXPECT_EQ(project.stored(),
            (std::vector<Project::Stored>{{"a", "cpu"}, {"a", "sm_90"}, {"b", "cpu"}}));
}

TEST_F(ProjectTest, ALedgerFolderThatCannotBeListed) {
  const Project project = load("");
  host::write_file_atomically(project.ledger_dir(), "a file");
  try {
    project.stored();
    ADD_FAILURE() << "listed a file";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              project.ledger_dir().string() + ": cannot be listed: Not a directory");
  }
}

TEST_F(ProjectTest, OutsideAProject) {
  const auto before = std::filesystem::current_path();
  const char* had = std::getenv("XDG_DATA_HOME");
  const std::string old = had == nullptr ? "" : had;
  ::setenv("XDG_DATA_HOME", "/data/home", 1);
  std::filesystem::current_path(folder_.path());
  const Project project = Project::load({});
  ::setenv("XDG_DATA_HOME", "data/home", 1);
  EXPECT_THROW(Project::load({}), Error);
  ::setenv("XDG_DATA_HOME", "/data/home", 1);
  host::write_file_atomically(folder_.path() / "furlong.toml", "library = \"near\"");
  std::filesystem::create_directories(folder_.path() / "a" / "b");
  std::filesystem::current_path(folder_.path() / "a" / "b");
  const Project near = Project::load({});
  std::filesystem::current_path(before);
  if (had == nullptr) {
    ::unsetenv("XDG_DATA_HOME");
  } else {
    ::setenv("XDG_DATA_HOME", old.c_str(), 1);
  }
  EXPECT_FALSE(project.has_sources());
  EXPECT_EQ(project.ledger_file("gemm", "cpu"), "/data/home/furlong/ledger/gemm.cpu.jsonl");
  EXPECT_EQ(project.tables_dir(), "/data/home/furlong/tuned");
  EXPECT_EQ(project.ledger_source("gemm", "cpu"), "gemm.cpu.jsonl");
  EXPECT_EQ(near.library, "near");
}

}  // namespace
}  // namespace furlong::ledger
