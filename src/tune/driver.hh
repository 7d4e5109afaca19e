// The tune driver: from ops and a tier to ledger lines.
//
// It plans every cell of the requested ops (what is recorded is skipped), races the rest on one
// pinned core, and appends each cell's record as soon as it is known, so that a run stopped at any
// moment loses at most the cell in flight, and the same command goes on from there.
//
// Thread rule: one driver at a time per device (a lock file sees to that); the observer is called
// from the calling thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "furlong/device_key.hh"
#include "furlong/op_spec.hh"
#include "furlong/tier.hh"
#include "host/clock.hh"
#include "ledger/project.hh"
#include "ledger/record.hh"
#include "tune/lattice.hh"

namespace furlong::tune {

struct TuneRequest {
  std::vector<const OpSpec*> ops;                ///< dependencies first
  std::vector<std::vector<std::string>> dtypes;  ///< per op
  Tier tier = Tier::kCoarse;
  /// `--grid`: axis name to the values that replace it.
  GridOverride grid;
  double cap_gib = 4;
  std::int64_t max_dim = 2048;
  bool allow_dirty = false;
  std::string argv;  ///< the command line, for the run lines
  std::filesystem::path lock_dir;
};

/// Counts of one (op, dtype).
struct PlanCount {
  std::string op;
  std::string dtype;
  int cells = 0;                     ///< on the grid
  int measure = 0;                   ///< to be raced, partly or whole
  std::map<std::string, int> skips;  ///< reason to count
  double estimate_s = 0;             ///< of the lattice
};

struct Plan {
  std::vector<PlanCount> counts;
  int measure = 0;
  double estimate_s = 0;
};

struct CellEvent {
  const std::string& op;
  const std::string& dtype;
  const std::string& key;
  int done = 0;                        ///< cells finished before this event
  int total = 0;                       ///< cells to measure
  const ledger::Cell* cell = nullptr;  ///< the record, once it is written
};

/// What became of the run.
struct TuneSummary {
  Plan plan;
  std::string device;
  std::string run_id;
  std::vector<std::filesystem::path> ledgers;
  int measured = 0;
  std::map<std::string, int> winners;   ///< family to cells won
  std::map<std::string, int> unusable;  ///< "candidate status: reason" to count
  bool stopped = false;                 ///< asked to stop before the end
  double seconds = 0;
  double probe_s = 0;
  double verify_s = 0;
  double warm_s = 0;
  double timing_s = 0;
};

struct TuneHooks {
  std::function<void(const Plan&)> planned;
  std::function<void(const CellEvent&)> cell_started;
  std::function<void(const CellEvent&)> cell_done;
  std::function<bool()> stop_requested;
};

/// Plans only. Throws Error for a ledger that cannot be read, std::invalid_argument for a bad grid.
Plan make_plan(const TuneRequest& request, const ledger::Project& project);

/// Plans and measures. Beside make_plan's errors: Error when the sources are newer than this
/// program (rebuild first), when the tree has uncommitted changes (unless allow_dirty), when
/// another tuner runs on this device, and when the ledger cannot be written.
TuneSummary run_tune(const TuneRequest& request, const ledger::Project& project,
                     const host::Clock& clock, const TuneHooks& hooks);

/// Throws Error when an embedded kernel hash differs from the sources of the project; does nothing
/// without a source tree.
void require_current_program(const OpSpec& op, const ledger::Project& project);

}  // namespace furlong::tune
