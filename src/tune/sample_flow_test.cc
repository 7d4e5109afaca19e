// From a kernel edit to current records, by a sample: the tuner, the ledger and git together.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "host/git_history.hh"
#include "ledger/freshness.hh"
#include "ledger/rehash.hh"
#include "ledger/writer.hh"
#include "support/git_repository.hh"
#include "support/simulated_worker.hh"
#include "support/temporary.hh"
#include "tune/driver.hh"

namespace furlong::tune {
namespace {

using testing::SimulatedWorker;

constexpr const char* kSpec = R"(
// kernel-sources-begin
// family: a
    "src/a.cc"
// family: b
    "src/b.cc"
// kernel-sources-end
)";

class SampleFlowTest : public ::testing::Test, public TuneObserver {
 protected:
  SampleFlowTest() {
    repository_.write("furlong.toml", "specs = \"src/{op}.cc\"\n");
    repository_.write("src/fault.cc", kSpec);
    repository_.write("src/b.cc", "int b();\n");
    project_ = ledger::Project::load(repository_.folder());
    request_.ops = {&shared_.spec};
    request_.dtypes = {{"float", "double"}};
    request_.grid = {{"n", {"1", "2", "4", "8", "16"}},
                     {"batch", {"2", "4", "8", "16", "32", "64", "128"}}};
    request_.lock_dir = folder_.path() / "lock";
    request_.guard = false;
    machine_.start_worker = shared_.start();
    machine_.meter.core = [] { return host::CoreTimes{0, 0, 0.01}; };
    machine_.meter.own_seconds = [] { return 0.0; };
    machine_.meter.now = [this] { return shared_.now; };
    machine_.sleep = [](double) {};
  }

  /// Another version of family a, and the program that is built from it.
  void edit(const std::string& text, double seconds) {
    repository_.write("src/a.cc", text);
    repository_.commit();
    shared_.spec.hashes =
        ledger::hashes_of_sources(repository_.folder(), project_.spec_file("fault"))({"a", "b"});
    shared_.world.candidates[0].cost_s = seconds;
  }
  TuneSummary tune(Tier tier) {
    clock_.advance(std::chrono::hours(1));
    request_.tier = tier;
    return run_tune(request_, project_, clock_, machine_, *this);
  }
  /// Measures exactly these cells; the run's id.
  std::string tune_named(Tier tier, const std::vector<ledger::SampleCell>& cells) {
    request_.named.clear();
    for (const auto& cell : cells) {
      request_.named.push_back({"fault",
                                project_.dtypes.names()[static_cast<std::size_t>(cell.dtype)],
                                CellKey::parse(cell.key).value()});
    }
    request_.only_named = true;
    EXPECT_EQ(tune(tier).measured, static_cast<int>(cells.size()));
    request_.only_named = false;
    request_.named.clear();
    return ledger().runs().back().run.run_id;
  }
  std::filesystem::path file() const { return project_.ledger_file("fault", this_cpu().text); }
  ledger::Ledger ledger() const {
    return ledger::Ledger::read(file(), {project_.dtypes, project_.library});
  }
  std::vector<ledger::SampleCell> draw() const {
    return ledger::draw_sample(
        ledger(), project_.dtypes,
        ledger::hashes_of_sources(project_.root, project_.spec_file("fault")));
  }
  ledger::SampleVerdict prove(const std::string& run_id) const {
    return ledger::prove_sample(ledger(), project_, "fault", host::GitHistory(repository_.folder()),
                                run_id, {});
  }
  void append(const std::vector<ledger::Rehash>& lines) {
    ledger::Appender appender(file());
    for (const auto& line : lines) appender.append(ledger::to_line(line));
  }
  /// Cells with a record that counts.
  std::size_t current_cells() const {
    const auto read = ledger();
    const auto now = ledger::now_of_newest_runs(
        read, project_.dtypes,
        ledger::hashes_of_sources(project_.root, project_.spec_file("fault")));
    return ledger::Freshness(read, project_.dtypes, now).best().size();
  }

  testing::TemporaryFolder folder_;
  testing::GitRepository repository_{folder_.path() / "project"};
  ledger::Project project_;
  SimulatedWorker::Shared shared_{{{"a", 20e-6}, {"b", 30e-6}}};
  host::FakeClock clock_{std::chrono::sys_days(std::chrono::year(2026) / 12 / 1)};
  TuneRequest request_;
  Machine machine_;
};

TEST_F(SampleFlowTest, AnEditThatChangesNothingIsSettledBySampling) {
  edit("int a() { return 1; }\n", 20e-6);
  ASSERT_EQ(tune(Tier::kCoarse).measured, 70);
  ASSERT_EQ(current_cells(), 70u);

  edit("int a() { return 2 - 1; }\n", 21e-6);
  ASSERT_EQ(current_cells(), 0u) << "the winner's family was edited";
  const auto cells = draw();
  ASSERT_EQ(cells.size(), 64u);
  const std::string run_id = tune_named(Tier::kCustom, cells);
  ASSERT_EQ(current_cells(), 64u);
  const auto verdict = prove(run_id);
  ASSERT_TRUE(verdict.refused.empty()) << verdict.refused.front();
  ASSERT_EQ(verdict.lines.size(), 1u);
  append(verdict.lines);
  EXPECT_EQ(current_cells(), 70u);
  EXPECT_TRUE(prove(run_id).lines.empty()) << "a second run writes nothing";
  EXPECT_EQ(tune(Tier::kCoarse).measured, 0);
}

TEST_F(SampleFlowTest, AnEditThatChangesWinnersIsSettledAtDeep) {
  edit("int a() { return 1; }\n", 20e-6);
  tune(Tier::kCoarse);
  edit("int a() { return slowly(); }\n", 40e-6);
  const std::string run_id = tune_named(Tier::kCustom, draw());
  auto verdict = prove(run_id);
  ASSERT_TRUE(verdict.refused.empty()) << verdict.refused.front();
  EXPECT_TRUE(verdict.lines.empty());
  ASSERT_EQ(verdict.unsettled.size(), 64u);
  EXPECT_EQ(current_cells(), 64u) << "nothing was taken over";

  // As `--remeasure-keys` of the cells printed does.
  std::string text;
  for (const auto& cell : verdict.unsettled) {
    text += "fault " + project_.dtypes.names()[static_cast<std::size_t>(cell.dtype)] + " " +
            cell.key + "\n";
  }
  request_.named = parse_named_cells(text, "unsettled", CellLines::kNamed);
  request_.only_named = true;
  EXPECT_EQ(tune(Tier::kDeep).measured, 64);
  verdict = prove(run_id);
  ASSERT_EQ(verdict.lines.size(), 1u);
  EXPECT_EQ(verdict.lines[0].why, "0 cells agree, 64 re-measured at deep");
  append(verdict.lines);
  EXPECT_EQ(current_cells(), 70u);
}

TEST_F(SampleFlowTest, AnUncommittedEditIsRefused) {
  edit("int a() { return 1; }\n", 20e-6);
  tune(Tier::kCoarse);
  edit("int a() { return 2 - 1; }\n", 20e-6);
  const std::string run_id = tune_named(Tier::kCustom, draw());
  repository_.write("src/a.cc", "int a() { return 3 - 2; }\n");
  EXPECT_THROW(prove(run_id), Error);
}

}  // namespace
}  // namespace furlong::tune
