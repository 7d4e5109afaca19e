#include "ledger/rehash.hh"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/freshness.hh"
#include "ledger/sample_records.hh"
#include "support/git_repository.hh"

namespace furlong::ledger {
namespace {

using testing::sample_cell;
using testing::sample_run;

constexpr const char* kToml = "include = [\"include\"]\n";
constexpr const char* kSpec = R"(
// kernel-sources-begin
    "src/common/simd.hh"
// family: direct
    "src/blas/potrf/direct.cc"
// family: lanes
    "src/blas/potrf/lanes.cc" "src/blas/potrf/lanes.hh"
// kernel-sources-end
)";

/// Text that git recognises after a move although its includes change.
std::string body(const std::string& name) {
  std::string text;
  for (int i = 0; i < 30; ++i) {
    text += "int " + name + "_" + std::to_string(i) + "() { return " + std::to_string(i) + "; }\n";
  }
  return text;
}

/// A project in a repository, with a ledger that is measured at its commits.
class RehashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    repository_.write("furlong.toml", kToml);
    repository_.write("src/blas/potrf/spec.cc", kSpec);
    repository_.write("src/common/simd.hh", "#pragma once\n" + body("simd"));
    repository_.write("include/api.hh", body("api"));
    repository_.write("src/blas/potrf/direct.cc",
                      "#include <vector>\n#include \"direct.cc.notes\"\n" + body("direct"));
    repository_.write("src/blas/potrf/lanes.hh",
                      "#include \"src/common/simd.hh\"  // lanes of\n" + body("lanes_hh"));
    repository_.write("src/blas/potrf/lanes.cc",
                      "#include \"lanes.hh\"\n#include <api.hh>\n" + body("lanes"));
  }

  const std::filesystem::path& root() const { return repository_.folder(); }
  Project project() const { return Project::load(root()); }

  KernelHashes hashes() const {
    return hashes_of_sources(root(), project().spec_file("potrf"))({"direct", "lanes"});
  }
  std::string v1(const std::string& family) const {
    const auto spec = project().spec_file("potrf");
    const auto lists = parse_source_lists(host::read_file(spec), spec.string());
    return hash_list_v1(lists.files_of(family), read_sources_under(root()));
  }

  /// Records a run at `commit` with these hashes of direct and lanes.
  void measure(const std::string& commit, const std::string& direct, const std::string& lanes,
               const std::string& run_id = "20261201T000000-h-1") {
    ledger::Run run = sample_run(run_id);
    run.commit = commit;
    run.candidates = {"direct", "lanes:w=16"};
    Cell cell = sample_cell(8, run_id);
    cell.outcomes.pop_back();
    cell.outcomes[0].hash = direct;
    cell.outcomes[1].hash = lanes;
    text_ += to_line(run, "furlong") + "\n" + to_line(cell) + "\n";
  }
  /// Commits everything and measures it: hashes v2.
  std::string commit_and_measure() {
    const std::string commit = repository_.commit().substr(0, 8);
    const auto now = hashes();
    measure(commit, *now.find("direct"), *now.find("lanes"));
    return commit;
  }

  Ledger ledger() const { return Ledger::parse(text_, "potrf.jsonl", {project().dtypes}); }
  RehashPlan moved(const std::string& base) const {
    return prove_moved(ledger(), project(), "potrf", host::GitHistory(root()), base);
  }
  RehashPlan normalized_plan() const {
    return prove_normalized(ledger(), project(), "potrf", host::GitHistory(root()));
  }
  void append(const RehashPlan& plan) {
    for (const auto& line : plan.lines) text_ += to_line(line) + "\n";
  }
  Standing standing() const {
    const auto read = ledger();
    const auto now = now_of_newest_runs(read, project().dtypes,
                                        hashes_of_sources(root(), project().spec_file("potrf")));
    return Freshness(read, project().dtypes, now).standing(0);
  }

  /// Moves every source of lanes into src/lanes and the spec's list with it.
  void move_lanes() {
    repository_.move("src/blas/potrf/lanes.cc", "src/lanes/lanes.cc");
    repository_.move("src/blas/potrf/lanes.hh", "src/lanes/lanes.hh");
    std::string spec = kSpec;
    for (auto at = spec.find("potrf/lanes"); at != std::string::npos;
         at = spec.find("potrf/lanes")) {
      spec.replace(spec.rfind("src/blas", at), at + 6 - spec.rfind("src/blas", at), "src/lanes/");
    }
    repository_.write("src/blas/potrf/spec.cc", spec);
  }

  furlong::testing::TemporaryFolder folder_;
  furlong::testing::GitRepository repository_{folder_.path() / "project"};
  std::string text_;
};

TEST_F(RehashTest, MovedFilesAreProvedOnceAndTheRecordIsCurrentAgain) {
  const std::string base = commit_and_measure();
  const auto before = hashes();
  move_lanes();
  repository_.write(
      "src/lanes/lanes.cc",
      "// moved\n#include  \"src/lanes/lanes.hh\"\n#include <api.hh>\n" + body("lanes"));
  const std::string head = repository_.commit().substr(0, 8);
  ASSERT_EQ(standing(), Standing::kStale);

  const auto plan = moved(base);
  EXPECT_TRUE(plan.refused.empty()) << plan.refused.front().reason;
  ASSERT_EQ(plan.lines.size(), 1u);
  const auto& line = plan.lines[0];
  EXPECT_EQ(line.family, "lanes");
  EXPECT_EQ(line.from, *before.find("lanes"));
  EXPECT_EQ(line.to, *hashes().find("lanes"));
  EXPECT_EQ(line.at, head);
  EXPECT_EQ(line.proof, "moved:" + base);
  EXPECT_EQ(line.why, "2 files moved, equal modulo comments, whitespace and include paths");

  append(plan);
  EXPECT_EQ(standing(), Standing::kCurrent);
  const auto again = moved(base);
  EXPECT_TRUE(again.lines.empty());
  EXPECT_TRUE(again.refused.empty());
}

TEST_F(RehashTest, MovesChain) {
  const std::string base = commit_and_measure();
  move_lanes();
  const std::string middle = repository_.commit();
  append(moved(base));
  ASSERT_EQ(standing(), Standing::kCurrent);
  // Back again: the second line starts from what the first leads to.
  repository_.move("src/lanes/lanes.cc", "src/blas/potrf/lanes.cc");
  repository_.move("src/lanes/lanes.hh", "src/blas/potrf/lanes.hh");
  repository_.write("src/blas/potrf/spec.cc", kSpec);
  repository_.commit();
  ASSERT_EQ(standing(), Standing::kStale);
  append(moved(middle));
  EXPECT_EQ(standing(), Standing::kCurrent);
}

TEST_F(RehashTest, ASharedHeaderThatMovesIsFollowedThroughIncludes) {
  const std::string base = commit_and_measure();
  repository_.move("src/common/simd.hh", "src/base/simd.hh");
  repository_.write("src/blas/potrf/lanes.hh",
                    "#include \"src/base/simd.hh\"  // lanes of\n" + body("lanes_hh"));
  std::string spec = kSpec;
  spec.replace(spec.find("src/common"), 10, "src/base");
  repository_.write("src/blas/potrf/spec.cc", spec);
  repository_.commit();
  const auto plan = moved(base);
  EXPECT_TRUE(plan.refused.empty()) << plan.refused.front().reason;
  EXPECT_EQ(plan.lines.size(), 2u) << "common: both families hash it";
}

TEST_F(RehashTest, AnAngledIncludeNeverReachesTheFolderOfItsFile) {
  // Beside the includer at the base, not beside it now; <api.hh> is include/api.hh both times.
  repository_.write("src/blas/potrf/api.hh", body("other"));
  const std::string base = commit_and_measure();
  move_lanes();
  repository_.commit();
  const auto plan = moved(base);
  EXPECT_TRUE(plan.refused.empty()) << plan.refused.front().reason;
  EXPECT_EQ(plan.lines.size(), 1u);
}

TEST_F(RehashTest, TheSpecItselfMayMove) {
  const std::string base = commit_and_measure();
  move_lanes();
  repository_.move("src/blas/potrf/spec.cc", "src/ops/potrf/spec.cc");
  repository_.write("furlong.toml", std::string(kToml) + "specs = \"src/ops/{op}/spec.cc\"\n");
  repository_.commit();
  EXPECT_EQ(moved(base).lines.size(), 1u);
}

TEST_F(RehashTest, NoProofForAnythingElse) {
  struct Case {
    const char* what;
    std::function<void()> change;
    const char* reason;
  };
  const std::vector<Case> cases = {
      {"an edit",
       [&] {
         repository_.write(
             "src/lanes/lanes.cc",
             "#include \"lanes.hh\"\n#include <api.hh>\nint edited;\n" + body("lanes"));
       },
       "src/lanes/lanes.cc: was edited since the base"},
      {"another file name",
       [&] {
         repository_.move("src/lanes/lanes.hh", "src/lanes/wide.hh");
         repository_.write("src/lanes/lanes.cc",
                           "#include \"wide.hh\"\n#include <api.hh>\n" + body("lanes"));
         std::string spec = host::read_file(root() / "src/blas/potrf/spec.cc");
         spec.replace(spec.find("lanes/lanes.hh"), 14, "lanes/wide.hh");
         repository_.write("src/blas/potrf/spec.cc", spec);
       },
       "the file name changed"},
      {"an include that reaches another file",
       [&] {
         repository_.write("src/lanes/api.hh", body("other"));
         repository_.write("src/lanes/lanes.cc",
                           "#include \"lanes.hh\"\n#include \"api.hh\"\n" + body("lanes"));
       },
       "an include reaches another file"},
      {"an include that another file now catches",
       [&] { repository_.write("api.hh", body("other")); }, "an include reaches another file"},
      {"a longer list",
       [&] {
         std::string spec = host::read_file(root() / "src/blas/potrf/spec.cc");
         spec.insert(spec.find("// kernel-sources-end"), "\"include/api.hh\"\n");
         repository_.write("src/blas/potrf/spec.cc", spec);
       },
       "4 files, 3 at the base"},
      {"another order",
       [&] {
         std::string spec = host::read_file(root() / "src/blas/potrf/spec.cc");
         const std::string one = "\"src/lanes/lanes.cc\"";
         const std::string two = "\"src/lanes/lanes.hh\"";
         spec.replace(spec.find(one), one.size() + 1 + two.size(), two + " " + one);
         repository_.write("src/blas/potrf/spec.cc", spec);
       },
       "git sees no rename"},
      {"an include of a macro",
       [&] {
         repository_.write("src/lanes/lanes.cc",
                           "#include \"lanes.hh\"\n#include API\n" + body("lanes"));
       },
       "an include of a macro, which is not modelled"},
      {"an include that leaves the project",
       [&] {
         repository_.write("src/lanes/lanes.cc",
                           "#include \"lanes.hh\"\n#include \"../../../api.hh\"\n" + body("lanes"));
       },
       "leaves the project"},
  };
  const std::string base = commit_and_measure();
  const auto whole = text_;
  for (const Case& one : cases) {
    for (const auto& folder : {"src", "api.hh"}) std::filesystem::remove_all(root() / folder);
    SetUp();
    move_lanes();
    one.change();
    repository_.commit();
    text_ = whole;
    const auto plan = moved(base);
    EXPECT_TRUE(plan.lines.empty()) << one.what;
    ASSERT_EQ(plan.refused.size(), 1u) << one.what;
    EXPECT_EQ(plan.refused[0].family, "lanes");
    EXPECT_NE(plan.refused[0].reason.find(one.reason), std::string::npos)
        << one.what << ": " << plan.refused[0].reason;
    EXPECT_EQ(standing(), Standing::kStale) << one.what;
  }
}

TEST_F(RehashTest, OtherHashesAndDirtyRunsAreLeftAlone) {
  const std::string base = repository_.commit();
  measure("0123abcd", "11111111", "22222222");
  const auto now = hashes();
  measure(base.substr(0, 8) + "-dirty", *now.find("direct"), *now.find("lanes"),
          "20261201T000001-h-2");
  move_lanes();
  repository_.commit();
  const auto plan = moved(base);
  EXPECT_TRUE(plan.lines.empty());
  EXPECT_TRUE(plan.refused.empty());
}

TEST_F(RehashTest, RefusesADirtyTreeAndABadBase) {
  const std::string base = commit_and_measure();
  move_lanes();
  repository_.commit();
  EXPECT_THROW(moved("0000000"), Error);
  repository_.write("unrelated.txt", "x");
  EXPECT_EQ(moved(base).lines.size(), 1u) << "only hashed files matter";
  for (const std::string file :
       {"src/lanes/lanes.hh", "src/common/simd.hh", "src/blas/potrf/spec.cc"}) {
    const std::string before = host::read_file(root() / file);
    repository_.write(file, before + "// comment\n");
    EXPECT_THROW(moved(base), Error) << file;
    EXPECT_THROW(normalized_plan(), Error) << file;
    repository_.write(file, before);
  }
}

TEST_F(RehashTest, NormalizedTakesOverHashesOfRawFiles) {
  const std::string commit = repository_.commit().substr(0, 8);
  measure(commit, v1("direct"), v1("lanes"));
  // The same sources but for comments, at another commit, gave another v1 hash.
  repository_.write("src/blas/potrf/direct.cc",
                    "// new\n" + host::read_file(root() / "src/blas/potrf/direct.cc"));
  const std::string second = repository_.commit().substr(0, 8);
  measure(second, v1("direct"), v1("lanes"), "20261201T000001-h-2");
  const auto plan = normalized_plan();
  EXPECT_TRUE(plan.refused.empty()) << plan.refused.front().reason;
  ASSERT_EQ(plan.lines.size(), 3u) << "two hashes of direct, one of lanes";
  for (const auto& line : plan.lines) {
    EXPECT_EQ(line.to, *hashes().find(line.family));
    EXPECT_EQ(line.proof, "normalized");
    EXPECT_EQ(line.at, second);
  }
  EXPECT_EQ(standing(), Standing::kStale);
  append(plan);
  EXPECT_EQ(standing(), Standing::kCurrent);
  EXPECT_TRUE(normalized_plan().lines.empty());
  EXPECT_TRUE(normalized_plan().refused.empty());
}

TEST_F(RehashTest, NormalizedRefusesWhatGitDoesNotShow) {
  const auto refusal = [&] {
    const auto plan = normalized_plan();
    EXPECT_EQ(plan.lines.size(), 1u) << "direct is proved";
    return plan.refused.empty() ? std::string("none") : plan.refused[0].reason;
  };
  const std::string commit = repository_.commit().substr(0, 8);
  measure(commit, v1("direct"), v1("lanes"));
  repository_.write("src/blas/potrf/lanes.hh",
                    host::read_file(root() / "src/blas/potrf/lanes.hh") + "int edited;\n");
  repository_.commit();
  EXPECT_EQ(refusal(), "src/blas/potrf/lanes.hh was edited since " + commit);

  text_.clear();
  measure(commit, v1("direct"), "deadbeef");
  EXPECT_NE(refusal().find("the v1 hash of its sources at " + commit), std::string::npos);

  text_.clear();
  measure(commit, v1("direct"), v1("lanes"));
  measure("00000000", *hashes().find("direct"), v1("lanes"), "20261201T000001-h-2");
  EXPECT_EQ(refusal(), "commit \"00000000\" of a run is not in the repository");
}

TEST_F(RehashTest, NormalizedAsksEveryCommit) {
  const std::string commit = repository_.commit().substr(0, 8);
  measure(commit, v1("direct"), v1("lanes"));
  ASSERT_EQ(normalized_plan().lines.size(), 2u);
  // It sorts behind the good one.
  measure("ffffffff", v1("direct"), v1("lanes"), "20261201T000001-h-2");
  const auto plan = normalized_plan();
  EXPECT_TRUE(plan.lines.empty());
  ASSERT_EQ(plan.refused.size(), 2u);
  for (const auto& one : plan.refused) {
    EXPECT_EQ(one.reason, "commit \"ffffffff\" of a run is not in the repository");
  }
}

TEST_F(RehashTest, NormalizedRefusesAnotherSourceList) {
  const std::string commit = repository_.commit().substr(0, 8);
  measure(commit, v1("direct"), v1("lanes"));
  const std::vector<std::string> lists = {
      "    \"src/blas/potrf/lanes.cc\"\n",
      "    \"src/blas/potrf/lanes.hh\" \"src/blas/potrf/lanes.cc\"\n",
      "    \"src/blas/potrf/lanes.cc\" \"src/blas/potrf/lanes.hh\" \"include/api.hh\"\n"};
  for (const std::string& list : lists) {
    std::string spec = kSpec;
    const auto begin = spec.find("    \"src/blas/potrf/lanes.cc");
    spec.replace(begin, spec.find('\n', begin) + 1 - begin, list);
    repository_.write("src/blas/potrf/spec.cc", spec);
    repository_.commit();
    const auto plan = normalized_plan();
    ASSERT_EQ(plan.lines.size(), 1u) << list;
    EXPECT_EQ(plan.lines[0].family, "direct");
    ASSERT_EQ(plan.refused.size(), 1u) << list;
    EXPECT_EQ(plan.refused[0].family, "lanes");
    EXPECT_EQ(plan.refused[0].reason, "its source list at " + commit + " is not today's") << list;
  }
}

TEST_F(RehashTest, NormalizedRefusesWhatAnEarlierLineReadsAsAnother) {
  const std::string commit = repository_.commit().substr(0, 8);
  measure(commit, v1("direct"), v1("lanes"));
  ASSERT_EQ(normalized_plan().lines.size(), 2u);
  text_ += testing::rehash_line(v1("lanes"));
  const auto plan = normalized_plan();
  ASSERT_EQ(plan.lines.size(), 1u);
  EXPECT_EQ(plan.lines[0].family, "direct");
  ASSERT_EQ(plan.refused.size(), 1u);
  EXPECT_EQ(plan.refused[0].family, "lanes");
  EXPECT_EQ(plan.refused[0].from, v1("lanes"));
  EXPECT_EQ(plan.refused[0].reason, "an earlier rehash line reads it as b");
}

}  // namespace
}  // namespace furlong::ledger
