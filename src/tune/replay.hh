// Replay: tuning over recorded repetitions, to learn what a tier would have found and cost.
//
// Pure: the very same lattice, race and refinement code runs over a recording, so a change of any
// of them is judged on real noise in milliseconds, without a device. docs/measuring.md defines the
// numbers.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/cell_key.hh"
#include "furlong/key_spec.hh"
#include "tune/tiers.hh"

namespace furlong::tune {

/// One recorded repetition.
struct RecordedTime {
  int pass = 1;  ///< 1 or 2
  int repetition = 0;
  double ms = 0;
};

struct RecordedCell {
  CellKey key;                                   ///< in axis order
  std::vector<std::vector<RecordedTime>> times;  ///< per candidate; by (repetition, pass)
};

/// A recording of one (op, dtype, device): JSON lines, first `meta`, then one `rep` a repetition.
struct Recording {
  std::string op;
  std::string dtype;
  std::string device;
  KeySpec keys;  ///< without dtype
  std::vector<std::string> candidates;
  std::vector<Axis> axes;
  std::vector<RecordedCell> cells;                     ///< in file order
  std::unordered_map<std::string, std::size_t> index;  ///< key text to position in cells
};

/// Reads a recording. Throws Error `<file>:<line>: <reason>` for a line that is no JSON object, a
/// missing or malformed field, an unknown candidate or kind, a key with other names than the axes,
/// a repetition recorded twice, and text without a `meta` line first.
Recording parse_recording(std::string_view text, std::string_view file);

/// The recording as a replay with holdout needs it: without the cells that have no repetition of
/// both passes (refinement proposes others in every run), which are counted in `left_out`. Throws
/// Error `<file>: <reason>` when no cell is left.
Recording held_out(const Recording& recording, std::string_view file, int& left_out);

struct ReplayOptions {
  TierParameters parameters;
  bool holdout = false;  ///< race over pass 1, score against pass 2: see held_out()
};

/// How much slower a way of picking is than the best candidate: chosen / best - 1 over the cells
/// where its pick ran. Percentiles by nearest rank; all 0 without a cell.
struct Loss {
  double mean = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
  double time_weighted = 0;  ///< sum of chosen / sum of best - 1
};

struct ReplayReport {
  std::vector<std::string> measured;  ///< cell keys, sorted as bytes
  int cells = 0;                      ///< of the recording
  int rounds = 1;                     ///< 1 + the refinement rounds that measured something
  int refine_unavailable = 0;         ///< proposed cells that the recording lacks
  bool capped = false;
  int unrunnable = 0;  ///< cells where no entry of the nearest row ran
  int reps_used = 0;
  double reps_fraction = 0;  ///< of all repetitions that the race may see
  double measure_ms = 0;     ///< sum of the used ones
  double exhaustive_ms = 0;  ///< sum of all that the race may see
  double race_misrank = 0;   ///< share of measured cells with a winner > 3 % slower than the best
  double table_misrank = 0;  ///< the same for the nearest row's pick, over all cells
  double floor_misrank = 0;  ///< the same for an oracle that uses every repetition
  Loss loss;                 ///< of the table
  Loss floor_loss;           ///< of the oracle
};

ReplayReport replay(const Recording& recording, const ReplayOptions& options);

}  // namespace furlong::tune
