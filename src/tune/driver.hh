// The tune driver: from ops and a tier to ledger lines.
//
// It plans every cell of the requested ops (what is recorded is skipped), has the rest raced in a
// worker process, and appends each cell's record as soon as it is known, so that a run stopped at
// any moment loses at most the cell in flight, and the same command goes on from there. The whole
// lattice of every (op, dtype) comes before any refinement.
//
// Thread rule: one driver at a time per device (a lock file sees to that); the observer is called
// from the calling thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "furlong/device_key.hh"
#include "furlong/op_spec.hh"
#include "furlong/tier.hh"
#include "host/clock.hh"
#include "ledger/project.hh"
#include "ledger/record.hh"
#include "tune/guard.hh"
#include "tune/lattice.hh"
#include "tune/worker.hh"

namespace furlong::tune {

/// A cell named by a line `<op> <dtype> <cell key>`.
struct NamedCell {
  std::string op;
  std::string dtype;
  CellKey key;
  std::string place = {};  ///< `<file>:<line>`
};

/// What may stand behind the cell key of a line.
enum class CellLines {
  kNamed,    ///< nothing
  kCoverage  ///< the choice and where it came from, which are skipped
};

/// Reads such lines; blank ones and those that begin with `#` are skipped. Throws Error
/// `<file>:<line>: <what>` for any other.
std::vector<NamedCell> parse_named_cells(std::string_view text, std::string_view file,
                                         CellLines lines);

struct TuneRequest {
  std::vector<const OpSpec*> ops;                ///< dependencies first
  std::vector<std::vector<std::string>> dtypes;  ///< per op
  Tier tier = Tier::kCoarse;
  /// `--grid`: axis name to the values that replace it.
  GridOverride grid;
  /// To be measured whatever is recorded; of these ops and dtypes.
  std::vector<NamedCell> named;
  /// Join the lattice, planned as any cell of it; those of other ops and dtypes are left out.
  std::vector<NamedCell> covered;
  bool only_named = false;  ///< no lattice and no refinement; implied by tier custom
  double cap_gib = 4;
  std::int64_t max_dim = 2048;
  std::optional<double> budget_s;  ///< stops refinement; the lattice always completes
  bool allow_dirty = false;
  std::string argv;  ///< the command line, for the run lines
  std::filesystem::path lock_dir;
  std::optional<std::filesystem::path> record_repetitions;  ///< of one op, dtype and grid
  std::chrono::milliseconds cell_timeout{300'000};
  bool guard = true;
  double guard_ceiling = 0.05;  ///< share of the core that others may take during a cell
  double guard_wait_s = 300;    ///< how long a busy machine is waited for, a cell
};

/// What the driver measures with. Tests put simulations in their places.
struct Machine {
  StartWorker start_worker;
  LoadMeter meter;  ///< own_seconds: without the workers, which the driver adds
  std::function<void(double seconds)> sleep;
};

/// Counts of one (op, dtype).
struct PlanCount {
  std::string op;
  std::string dtype;
  int cells = 0;                     ///< on the grid
  int measure = 0;                   ///< to be raced, partly or whole
  std::map<std::string, int> skips;  ///< reason to count
  double estimate_s = 0;             ///< of the lattice
  double refined_s = 0;              ///< with refinement up to its cap: at most
};

struct Plan {
  std::vector<PlanCount> counts;
  int measure = 0;
  double estimate_s = 0;
  double refined_s = 0;
};

struct CellEvent {
  const std::string& op;
  const std::string& dtype;
  const std::string& key;
  int round = 0;                       ///< of refinement; 0 = lattice
  int done = 0;                        ///< cells finished before this event
  int total = 0;                       ///< cells to measure that are known by now
  const ledger::Cell* cell = nullptr;  ///< the record, once it is written
};

/// Hears what happens. Every function may be left as it is.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  virtual void planned(const Plan&) {}
  virtual void cell_started(const CellEvent&) {}
  virtual void cell_done(const CellEvent&) {}
  virtual void eliminated(const CellEvent&, const std::string& /*candidate*/, int /*round*/) {}
  virtual void audited(const CellEvent&, const ledger::Audit&) {}
  virtual void worker_restarted(const CellEvent&, const std::string& /*how*/) {}
  virtual void refinement_capped(const std::string& /*op*/, const std::string& /*dtype*/) {}
  /// The cell is discarded and will be tried again; or, `waiting`, the machine is still busy.
  virtual void disturbed(const CellEvent&, const Disturbance&, bool /*waiting*/) {}
  virtual bool stop_requested() { return false; }
};

/// What became of the run.
struct TuneSummary {
  Plan plan;
  std::string device;
  std::string run_id;
  std::vector<std::filesystem::path> ledgers;
  int measured = 0;                     ///< records written, lattice and refinement
  int refined = 0;                      ///< of these, refinement's
  std::map<std::string, int> winners;   ///< family to cells won
  std::map<std::string, int> unusable;  ///< "candidate status: reason" to count
  std::map<std::string, int> audits;    ///< verdict of fresh audits to count
  int restarts = 0;                     ///< workers that ended badly
  int discards = 0;                     ///< measurements thrown away because the machine was busy
  int repeated = 0;                     ///< repetitions timed again: the core was disturbed
  int disturbed = 0;                    ///< repetitions that count though it was
  bool capped = false;                  ///< refinement of some (op, dtype) hit its cap
  bool budget_spent = false;            ///< the budget ended refinement
  bool stopped = false;                 ///< asked to stop before the end
  std::string stop_reason;              ///< empty where the user asked
  double seconds = 0;
  double probe_s = 0;
  double verify_s = 0;
  double warm_s = 0;
  double timing_s = 0;
  double audit_s = 0;  ///< raced again in fresh processes
  double guard_s = 0;  ///< discarded and waited, whole cells and repetitions
};

/// Plans only. Throws Error for a ledger that cannot be read, and `<file>:<line>: <what>` for a
/// named or covered cell that is none of its op and a named one of an op or dtype that is not
/// tuned; std::invalid_argument for a bad grid.
Plan make_plan(const TuneRequest& request, const ledger::Project& project);

/// Plans and measures. Beside make_plan's errors: Error when the sources are newer than this
/// program (rebuild first), when the tree has uncommitted changes (unless allow_dirty), when
/// another tuner runs on this device, when the ledger cannot be written, and, before anything is
/// measured, when the repetitions file cannot take this run's.
TuneSummary run_tune(const TuneRequest& request, const ledger::Project& project,
                     const host::Clock& clock, const Machine& machine, TuneObserver& observer);

/// Throws Error when an embedded kernel hash differs from the sources of the project; does nothing
/// without a source tree.
void require_current_program(const OpSpec& op, const ledger::Project& project);

}  // namespace furlong::tune
