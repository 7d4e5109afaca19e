#include "tune/driver.hh"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/ledger.hh"
#include "support/simulated_worker.hh"
#include "support/temporary.hh"
#include "tune/replay.hh"

namespace furlong::tune {
namespace {

using testing::Fault;
using testing::SimulatedWorker;

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

}  // namespace
}  // namespace furlong::tune
