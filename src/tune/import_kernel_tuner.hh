// Import of Kernel Tuner's files: a complete tuning space becomes one cell of an op.
//
// Read are cache files (`cache`: one entry a configuration) and files of the T4 interchange format
// (`results`). A configuration is a candidate: the kernel is its family, the tuned parameters are
// its fields in declared order. Candidates stand in the file's order, which is then the tie order.
// Pure: text in, values and lines out. The functions keep no state; may be called from any thread.
//
// A record of an import has the tier `converted`: it was timed, but on kernels whose sources this
// project does not have, so there is no hash that freshness could compare.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/cell_key.hh"
#include "furlong/key_spec.hh"
#include "ledger/record.hh"

namespace furlong::tune {

/// What the user says where a file says nothing, or instead of what it says.
struct ImportNames {
  std::optional<std::string> op;      ///< default: the kernel's name
  std::optional<std::string> device;  ///< default: made from the device's name
  std::optional<std::string> cell;    ///< default: `size_x=..,size_y=..` of the problem size
  std::optional<std::string> date;    ///< YYYY-MM-DD; default: of the newest configuration
};

struct ImportedConfiguration {
  std::string spelling;  ///< long form
  ledger::Status status = ledger::Status::kOk;
  std::string reason;           ///< of a failure, as the file says it
  std::vector<double> runs_ms;  ///< in the order in which they were made; empty for a failure
};

/// One file.
struct ImportedSpace {
  std::string file;
  std::string op;
  std::string device;       ///< device key
  std::string device_name;  ///< as the file has it; may be empty
  KeySpec keys;             ///< every item of the cell, log
  CellKey cell;
  std::string date;  ///< YYYY-MM-DD
  std::vector<ImportedConfiguration> configurations;
};

/// Reads one file; `file` is only named in messages. A configuration is
///   ok       with its runs (a file without the raw runs gives its one time as the only run),
///   skipped  for `InvalidConfig`, `constraints`: it cannot run there,
///   bad      for `correctness`,
///   error    for every other failure (compile, runtime, timeout, ...).
/// Throws Error `<file>: <what>` for text that is neither format, a missing or malformed field, a
/// parameter whose value is no whole number of 32 bits, a configuration twice, a time that is not
/// > 0, a name that nothing gives, and a space without any configuration.
ImportedSpace read_kernel_tuner(std::string_view text, std::string_view file,
                                const ImportNames& names);

/// Spaces of one (op, device): what a ledger gets.
struct ImportedLedger {
  std::string op;
  std::string device;
  ledger::Run run;
  std::vector<ledger::Cell> cells;  ///< one a space, in their order
};

/// By op and device, in order of first appearance; the candidates of a run are those of all its
/// spaces, in order of first appearance. The run id is made of the content alone, so importing the
/// same files again gives the same lines. Throws Error for two spaces with one cell and for keys
/// that differ inside an (op, device).
std::vector<ImportedLedger> import_ledgers(const std::vector<ImportedSpace>& spaces,
                                           const std::string& dtype);

/// The runs as a repetitions file, which parse_recording() reads: run 0, 2, 4, ... are pass 1, the
/// others pass 2, so that replay without holdout sees them in the order in which they were made.
/// The spaces share (op, device, keys); Error otherwise.
std::string repetitions_text(const std::vector<ImportedSpace>& spaces, const std::string& dtype);

}  // namespace furlong::tune
