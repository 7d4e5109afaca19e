#include "tune/driver.hh"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/ledger.hh"
#include "support/git_repository.hh"
#include "support/simulated_worker.hh"
#include "support/temporary.hh"
#include "tune/isolate.hh"
#include "tune/replay.hh"

namespace furlong::tune {
namespace {

using testing::Fault;
using testing::SimulatedWorker;

/// What the call throws; empty when it throws nothing.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// A tune run of the op `fault` with nothing real in it but the ledger file.
class DriverTest : public ::testing::Test, public TuneObserver {
 protected:
  DriverTest() {
    project_.root = folder_.path();
    request_.ops = {&shared_.spec};
    request_.dtypes = {{"float"}};
    request_.tier = Tier::kCoarse;
    request_.lock_dir = folder_.path() / "lock";
    machine_.start_worker = shared_.start();
    machine_.meter.core = [this] { return core_; };
    machine_.meter.own_seconds = [] { return 0.0; };
    machine_.meter.now = [this] { return shared_.now + slept_; };
    machine_.sleep = [this](double seconds) {
      slept_ += seconds;
      clock_.advance(std::chrono::milliseconds(static_cast<int>(seconds * 1000)));
      core_.busy_s += waiting_busy_ * seconds;
    };
  }

  TuneSummary run() { return run_tune(request_, project_, clock_, machine_, *this); }
  std::filesystem::path file() const { return project_.ledger_file("fault", this_cpu().text); }
  static std::vector<NamedCell> named(const std::string& text) {
    return parse_named_cells(text, "keys.txt", CellLines::kNamed);
  }
  ledger::Ledger ledger() const { return ledger::Ledger::read(file(), {}); }
  int lines_of(const std::string& text) const {
    const std::string bytes = host::read_file(file());
    int count = 0;
    for (auto at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
      ++count;
    }
    return count;
  }

  void cell_started(const CellEvent& event) override {
    if (disturb_ > 0 && --disturb_ == 0) core_.busy_s += 1e6;
    (void)event;
  }
  void cell_done(const CellEvent& event) override {
    done_.push_back({event.dtype, event.round});
    clock_.advance(std::chrono::seconds(1));
  }
  void disturbed(const CellEvent&, const Disturbance&, bool waiting) override {
    ++(waiting ? waits_ : discards_);
  }
  bool stop_requested() override { return stop_after_ >= 0 && int(done_.size()) >= stop_after_; }

  testing::TemporaryFolder folder_;
  ledger::Project project_;
  // `flip` wins on small cells only once its cost is per value: see the tests.
  SimulatedWorker::Shared shared_{{{"a", 40e-6}, {"b", 30e-6}, {"bad", 1e-6, Fault::kNan}}};
  host::FakeClock clock_{std::chrono::sys_days(std::chrono::year(2026) / 12 / 1)};
  host::CoreTimes core_{0, 0, 0.01};
  double slept_ = 0;
  double waiting_busy_ = 0;
  int disturb_ = 0;
  int stop_after_ = -1;
  int waits_ = 0;
  int discards_ = 0;
  std::vector<std::pair<std::string, int>> done_;
  TuneRequest request_;
  Machine machine_;
};

TEST_F(DriverTest, RecordsEveryCellOnce) {
  const auto summary = run();
  EXPECT_EQ(summary.measured, 12);
  EXPECT_EQ(summary.winners.at("b"), 12);
  EXPECT_EQ(summary.refined, 0) << "the same winner everywhere";
  ASSERT_EQ(ledger().cells().size(), 12u);
  EXPECT_EQ(ledger().runs().size(), 1u);
  EXPECT_EQ(summary.unusable.size(), 1u);
  EXPECT_GE(summary.audits.at("ok"), 1);
  EXPECT_EQ(run().measured, 0);
  EXPECT_EQ(run_tune(request_, project_, clock_, machine_, *this).plan.counts[0].skips,
            (std::map<std::string, int>{{"skip:current", 12}}));
}

TEST_F(DriverTest, APartlyStaleCellRacesWhatChangedAndKeepsTheRest) {
  shared_.world.candidates = {{"kept", 90e-6},
                              {"winner", 30e-6},
                              {"second", 40e-6},
                              {"bad", 1e-6, Fault::kNan},
                              {"edited", 60e-6}};
  shared_.spec = testing::fault_spec(shared_.world);
  request_.tier = Tier::kDeep;
  ASSERT_EQ(run().measured, 12);

  shared_.spec.hashes.families.back().second = "0ddba115";
  shared_.world.candidates[4].cost_s = 20e-6;
  // Were they raced again, kept would win and bad be right.
  shared_.world.candidates[0].cost_s = 1e-6;
  shared_.world.candidates[3] = {"bad", 80e-6};
  request_.tier = Tier::kCoarse;
  const auto plan = make_plan(request_, project_);
  EXPECT_EQ(plan.measure, 12);
  EXPECT_TRUE(plan.counts[0].skips.empty());
  const auto summary = run();
  EXPECT_EQ(summary.measured, 12);
  EXPECT_EQ(summary.winners, (std::map<std::string, int>{{"edited", 12}}));
  EXPECT_EQ(shared_.world.calls[0], 0);
  EXPECT_EQ(shared_.world.calls[3], 0);
  EXPECT_GT(shared_.world.calls[1], 0) << "the stored winner races too";
  EXPECT_GT(shared_.world.calls[2], 0) << "and the runner-up";

  const auto read = ledger();
  ASSERT_EQ(read.cells().size(), 24u);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto& before = read.cells()[i];
    const auto& after = read.cells()[12 + i];
    ASSERT_EQ(read.text(after.key), read.text(before.key));
    EXPECT_EQ(after.tier, Tier::kDeep) << "the stored record's";
    EXPECT_NE(after.run, before.run);
    std::vector<std::string> ranked;
    for (const auto name : read.ranked(after)) ranked.emplace_back(read.text(name));
    EXPECT_EQ(ranked, (std::vector<std::string>{"edited", "winner", "second", "kept"}));
    const auto old = read.outcomes(before);
    const auto merged = read.outcomes(after);
    ASSERT_EQ(merged.size(), 5u);
    for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(merged[c].candidate, old[c].candidate);
    for (const std::size_t c : {0u, 3u}) {
      EXPECT_EQ(merged[c].hash, old[c].hash);
      EXPECT_EQ(merged[c].status, old[c].status);
      EXPECT_EQ(merged[c].reason, old[c].reason);
      EXPECT_EQ(merged[c].repetitions, old[c].repetitions);
      EXPECT_EQ(merged[c].calls, old[c].calls);
    }
    EXPECT_EQ(merged[0].status, ledger::Status::kEliminated);
    EXPECT_EQ(merged[0].median_ms, old[0].median_ms);
    EXPECT_EQ(merged[0].min_ms, old[0].min_ms);
    EXPECT_EQ(merged[0].max_ms, old[0].max_ms);
    EXPECT_EQ(merged[3].status, ledger::Status::kBad);
    EXPECT_EQ(read.text(merged[4].hash), "0ddba115");
    EXPECT_NEAR(merged[4].median_ms, 20e-3, 1e-9);
  }
  EXPECT_EQ(run().measured, 0) << "the merged records are current";
}

TEST_F(DriverTest, TheLatticeOfEveryDtypeComesBeforeRefinement) {
  request_.dtypes = {{"float", "double"}};
  // A costs per value, b per call: the winner flips along n.
  int n = 0;
  shared_.spec.make_problem = [&, make = shared_.spec.make_problem](const std::string& dtype,
                                                                    const CellKey& key,
                                                                    const ProblemOptions& options) {
    n = std::stoi(*key.find("n"));
    shared_.world.candidates[0].cost_s = 8e-6 * n;
    return make(dtype, key, options);
  };
  const auto summary = run();
  EXPECT_EQ(summary.plan.measure, 24);
  ASSERT_GT(summary.refined, 0);
  EXPECT_EQ(summary.measured, 24 + summary.refined);
  int last = 0;
  for (const auto& [dtype, round] : done_) {
    EXPECT_GE(round, last) << "round by round over all dtypes";
    last = round;
  }
  EXPECT_EQ(done_[23].second, 0);
  EXPECT_EQ(std::set<std::string>({done_[0].first, done_[12].first}),
            std::set<std::string>({"float", "double"}));
  const std::size_t records = ledger().cells().size();
  EXPECT_EQ(run().measured, 0) << "refinement is recorded too";
  EXPECT_EQ(ledger().cells().size(), records);
}

TEST_F(DriverTest, ABudgetEndsRefinementNotTheLattice) {
  shared_.spec.make_problem = [&, make = shared_.spec.make_problem](const std::string& dtype,
                                                                    const CellKey& key,
                                                                    const ProblemOptions& options) {
    shared_.world.candidates[0].cost_s = 8e-6 * std::stoi(*key.find("n"));
    return make(dtype, key, options);
  };
  request_.budget_s = 0.5;
  const auto summary = run();
  EXPECT_EQ(summary.measured, 12);
  EXPECT_TRUE(summary.budget_spent);
  EXPECT_FALSE(summary.stopped);
}

TEST_F(DriverTest, AStoppedRunGoesOn) {
  stop_after_ = 5;
  const auto first = run();
  EXPECT_TRUE(first.stopped);
  EXPECT_EQ(first.measured, 5);
  stop_after_ = -1;
  const auto second = run();
  EXPECT_EQ(second.measured, 7);
  EXPECT_FALSE(second.stopped);
}

TEST_F(DriverTest, ADisturbedCellIsMeasuredAgain) {
  disturb_ = 3;
  // Disturbed while it was measured: the time jumps between the guard's looks.
  shared_.spec.make_problem = [&, make = shared_.spec.make_problem](const std::string& dtype,
                                                                    const CellKey& key,
                                                                    const ProblemOptions& options) {
    if (std::exchange(disturb_, 0) > 0) core_.busy_s += 10;
    return make(dtype, key, options);
  };
  const auto summary = run();
  EXPECT_EQ(summary.discards, 1);
  EXPECT_EQ(discards_, 1);
  EXPECT_EQ(summary.measured, 12);
  EXPECT_EQ(ledger().cells().size(), 12u);
  EXPECT_FALSE(summary.stopped);
}

TEST_F(DriverTest, RepetitionsOfADisturbedCoreAreCounted) {
  std::mt19937 random(1);
  shared_.core_probe = [&] {
    const double took = random() % 30 == 0 ? 4e-6 : 2e-6;
    shared_.now += took;
    return took;
  };
  const auto some = run();
  EXPECT_EQ(some.measured, 12);
  EXPECT_GT(some.repeated, 0);
  EXPECT_EQ(some.repeated, shared_.repeated) << "those of the audits, too";
  EXPECT_EQ(some.disturbed, 0);
  EXPECT_EQ(some.discards, 0);
  EXPECT_GT(some.guard_s, 0);
}

TEST_F(DriverTest, PatienceIsThatOfTheTier) {
  for (const Tier tier : {Tier::kPreview, Tier::kCoarse}) {
    // Quiet for a moment, never again.
    int looks = 0;
    shared_.core_probe = [&] {
      const double took = ++looks > 100 ? 4e-6 : 2e-6;
      shared_.now += took;
      return took;
    };
    request_.tier = tier;
    const double each = parameters_of(tier).patience_s;
    const auto summary = run();
    EXPECT_GT(summary.disturbed, 0);
    EXPECT_GT(summary.guard_s, 0.99 * Isolation::kSavedRaces * each);
    EXPECT_LT(summary.guard_s, 3 * Isolation::kSavedRaces * each);
  }
}

TEST_F(DriverTest, AMachineThatStaysBusyEndsTheRun) {
  waiting_busy_ = 1;
  shared_.spec.make_problem = [&, make = shared_.spec.make_problem](const std::string& dtype,
                                                                    const CellKey& key,
                                                                    const ProblemOptions& options) {
    core_.busy_s += 10;
    return make(dtype, key, options);
  };
  request_.guard_wait_s = 60;
  const auto summary = run();
  EXPECT_TRUE(summary.stopped);
  EXPECT_EQ(summary.stop_reason, "the machine was busy for 60 s");
  EXPECT_EQ(summary.measured, 0);
  EXPECT_GT(waits_, 100);
  request_.guard = false;
  EXPECT_EQ(run().measured, 12);
}

TEST_F(DriverTest, TheTimeOfTheWorkersIsNoStrangers) {
  core_.tick_s = 0;
  double strangers = 0;
  shared_.world.spend = [&](double seconds) {
    shared_.now += seconds;
    core_.busy_s += (1 + strangers) * seconds;
  };
  const auto alone = run();
  EXPECT_EQ(alone.measured, 12);
  EXPECT_EQ(alone.discards, 0);
  // As much of the core's time, and a tenth more.
  strangers = 0.1;
  request_.dtypes = {{"double"}};
  request_.guard_wait_s = 5;
  const auto together = run();
  EXPECT_EQ(together.measured, 0);
  EXPECT_GT(together.discards, 0);
  EXPECT_TRUE(together.stopped);
}

TEST_F(DriverTest, AMismatchInAFreshProcessMeansOneProcessACell) {
  shared_.on_start = [this](int started) {
    shared_.world.candidates[1].cost_s = started == 1 ? 30e-6 : 38e-6;
  };
  const auto summary = run();
  EXPECT_GE(summary.audits.at("mismatch:slower"), 1);
  EXPECT_GE(shared_.started, 12) << "one process a cell";
  EXPECT_EQ(ledger().runs()[0].run.worker, "fresh");
  EXPECT_EQ(lines_of("\"what\": \"fresh\""),
            summary.audits.at("mismatch:slower") +
                (summary.audits.count("ok") > 0 ? summary.audits.at("ok") : 0));
}

TEST_F(DriverTest, NamedCellsAreMeasuredWhateverIsRecorded) {
  run();
  request_.named = named("# two\nfault float n=4,batch=16\n\nfault float batch=5,n=3\n");
  request_.only_named = true;
  EXPECT_EQ(run().measured, 2);
  request_.tier = Tier::kCustom;
  EXPECT_EQ(run().measured, 2);
  const auto read = ledger();
  EXPECT_EQ(read.cells().back().tier, Tier::kCustom);
  EXPECT_EQ(read.text(read.cells().back().key), "n=3,batch=5");
}

TEST_F(DriverTest, NamedCellsThatCannotBeMeasuredNameTheirLine) {
  const auto error_of = [&](const std::string& line) -> std::string {
    try {
      request_.named = named("# cells\n" + line + "\n");
      make_plan(request_, project_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("fault float n=4,batch=16"), "");
  for (const char* line :
       {"fault float", "fault float n=", "fault float n=4,batch=16 b", "fault float n=4",
        "fault float n=4,batch=x", "fault float n=4,batch=16,m=1"}) {
    EXPECT_EQ(error_of(line).substr(0, 12), "keys.txt:2: ") << line;
  }
  EXPECT_EQ(error_of("fault double n=4,batch=16"),
            "keys.txt:2: fault double is not tuned in this run; its dtypes are float");
  EXPECT_EQ(error_of("other float n=4,batch=16"),
            "keys.txt:2: other is not tuned in this run; its ops are fault");
}

TEST_F(DriverTest, CoveredCellsJoinTheLattice) {
  request_.covered = parse_named_cells(
      "fault float n=5,batch=7 b [nearest]\nfault double n=5,batch=7 b [nearest]\n", "coverage",
      CellLines::kCoverage);
  EXPECT_EQ(run().measured, 13);
  EXPECT_EQ(run().measured, 0);
}

TEST_F(DriverTest, RepetitionsAreRecordedForReplay) {
  request_.record_repetitions = folder_.path() / "reps.jsonl";
  run();
  const auto read = [&] {
    return parse_recording(host::read_file(*request_.record_repetitions), "reps.jsonl");
  };
  EXPECT_EQ(read().cells.size(), 12u);
  EXPECT_EQ(read().candidates, shared_.spec.vocabulary.candidates[0]);
  EXPECT_GE(read().cells[0].times[1].size(), 4u);
  // Measured again: the next pass.
  request_.named = named("fault float n=4,batch=16\n");
  request_.only_named = true;
  run();
  const auto recording = read();
  const auto& cell = recording.cells[recording.index.at("n=4,batch=16")];
  EXPECT_EQ(cell.times[1].back().pass, 2);
  request_.dtypes = {{"double"}};
  request_.named[0].dtype = "double";
  EXPECT_THROW(run(), Error) << "of another dtype";
}

TEST_F(DriverTest, ARepetitionsFileThatCannotTakeARunIsRefusedFirst) {
  request_.record_repetitions = folder_.path() / "reps.jsonl";
  request_.grid = {{"n", {"4"}}};
  run();
  const std::string recorded = host::read_file(*request_.record_repetitions);
  const std::string measured = host::read_file(file());
  const auto refuses = [&](const std::string& reason) {
    done_.clear();
    try {
      run();
      ADD_FAILURE() << "accepted; wanted: " << reason;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
    EXPECT_TRUE(done_.empty());
    EXPECT_EQ(host::read_file(file()), measured) << "nothing is measured";
  };
  request_.grid = {{"n", {"8"}}};
  refuses("a file takes those of one grid");
  EXPECT_EQ(host::read_file(*request_.record_repetitions), recorded);
  request_.record_repetitions = folder_.path();
  refuses("cannot open");
  request_.record_repetitions = folder_.path() / "missing" / "reps.jsonl";
  refuses("cannot open");
  // An empty file is a new one.
  request_.record_repetitions = folder_.path() / "empty.jsonl";
  host::write_file_atomically(*request_.record_repetitions, "");
  EXPECT_GT(run().measured, 0);
  EXPECT_EQ(
      parse_recording(host::read_file(*request_.record_repetitions), "").axes[0].values.size(), 1u);
}

TEST_F(DriverTest, OneTunerADevice) {
  host::make_folders(request_.lock_dir);
  const auto lock =
      host::FileLock::try_lock(request_.lock_dir / ("furlong-" + this_cpu().text + ".lock"));
  ASSERT_TRUE(lock);
  EXPECT_THROW(run(), Error);
}

/// The same, with the sources of a, b and bad in a git repository.
class DriverInGitTest : public DriverTest {
 protected:
  DriverInGitTest() {
    repository_.write("furlong.toml", "specs = \"src/{op}.cc\"\n");
    repository_.write("src/fault.cc",
                      "// kernel-sources-begin\n"
                      "// family: a\n    \"src/a.cc\"\n"
                      "// family: b\n    \"src/b.cc\"\n"
                      "// family: bad\n    \"src/bad.cc\"\n"
                      "// kernel-sources-end\n");
    repository_.write("src/a.cc", "int a();\n");
    repository_.write("src/b.cc", "int b();\n");
    repository_.write("src/bad.cc", "int bad();\n");
    repository_.write("notes.txt", "notes\n");
    repository_.write("tuned/fault.txt", "a table\n");
    commit_ = repository_.commit().substr(0, 8);
    project_ = ledger::Project::load(repository_.folder());
    shared_.spec.hashes = hashes();
  }
  KernelHashes hashes() const {
    return ledger::hashes_of_sources(project_.root, project_.spec_file("fault"))({"a", "b", "bad"});
  }

  testing::GitRepository repository_{folder_.path() / "project"};
  std::string commit_;
};

TEST_F(DriverInGitTest, ATreeWithUncommittedChangesIsRefused) {
  repository_.write("untracked.txt", "x");
  repository_.write("notes.txt", "other notes\n");
  const auto error = error_of([&] { run(); });
  EXPECT_TRUE(
      error.starts_with(project_.root.string() + ": tracked files have uncommitted changes"))
      << error;
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_EQ(shared_.started, 0);

  request_.allow_dirty = true;
  EXPECT_EQ(run().measured, 12);
  EXPECT_EQ(lines_of("\"" + commit_ + "-dirty\""), 1);
  EXPECT_TRUE(ledger().runs().empty()) << "no reader takes them";

  request_.allow_dirty = false;
  repository_.write("notes.txt", "notes\n");
  EXPECT_EQ(run().measured, 12) << "what is untracked does not matter";
  ASSERT_EQ(ledger().runs().size(), 1u);
  EXPECT_EQ(ledger().runs()[0].run.commit, commit_);
}

TEST_F(DriverInGitTest, LedgersAndTablesMayDifferFromTheCommit) {
  ASSERT_EQ(run().measured, 12);
  repository_.commit();
  repository_.write("tuned/fault.txt", "another table\n");
  request_.named = named("fault float n=4,batch=16\n");
  request_.only_named = true;
  EXPECT_EQ(run().measured, 1);
  EXPECT_EQ(run().measured, 1) << "with a ledger that the run before appended to";
}

TEST_F(DriverInGitTest, AnOlderProgramIsToBeRebuiltFirst) {
  const std::string built = *hashes().find("b");
  repository_.write("src/b.cc", "int b();\nint more();\n");
  repository_.commit();
  request_.allow_dirty = true;
  const std::string expected = project_.spec_file("fault").string() +
                               ": this program was built from other sources of family b (" + built +
                               ") than the tree holds now (" + *hashes().find("b") +
                               "); rebuild first";
  EXPECT_EQ(error_of([&] { run(); }), expected);
  EXPECT_EQ(error_of([&] { make_plan(request_, project_); }), expected);
  EXPECT_FALSE(std::filesystem::exists(file()));

  repository_.write("src/b.cc", "// the same\nint b();\n");
  EXPECT_EQ(make_plan(request_, project_).measure, 12) << "as the hash sees it";
  std::erase_if(shared_.spec.hashes.families, [](const auto& one) { return one.first == "a"; });
  EXPECT_NE(error_of([&] { make_plan(request_, project_); }).find("of family a (none)"),
            std::string::npos);
}

}  // namespace
}  // namespace furlong::tune
