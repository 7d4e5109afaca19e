// Migration: the older layout, one table and one ledger folder per (op, dtype, device), becomes one
// ledger and one table per (op, device).
//
// Read: `OLD/tuned/<op>.<dtype>.<device>.txt` (rows without a dtype key) and
// `OLD/ledger/<op>.<dtype>.<device>/<run>.jsonl` (lines without dtype). Everything is prepared in
// memory and proved before anything is written: each new table, restricted to one dtype, has
// exactly the rows of the old one. The functions keep no state; may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "furlong/result.hh"
#include "ledger/project.hh"

namespace furlong::tune {

struct MigrateOptions {
  std::filesystem::path old;  ///< the folder that holds `tuned` and `ledger`
  /// Timed rows whose ledger is not there become converted records; without it they are refused.
  bool as_converted = false;
};

/// One (op, device), ready to be written.
struct MigratedOp {
  std::string op;
  std::string device;
  std::filesystem::path ledger_file;
  std::filesystem::path table_file;
  std::string ledger;            ///< bytes
  std::string table;             ///< bytes; empty when no table can be derived yet
  std::int64_t lines = 0;        ///< taken over from old ledgers
  std::int64_t converted = 0;    ///< cells made from table rows
  std::int64_t transcribed = 0;  ///< cells made from table rows
  std::int64_t proved = 0;       ///< rows of old tables found again
};

struct Migration {
  std::vector<MigratedOp> ops;        ///< by op, then device
  std::vector<std::string> warnings;  ///< one line each
};

/// Reads, derives and proves; writes nothing. The tables are derived with the kernel hashes that
/// the old tables name. Refuses, naming the first differing row, when a new table is not the old
/// ones put together. Throws Error for input that cannot be read and for target files that exist.
Result<Migration> prepare_migration(const ledger::Project& project, const MigrateOptions& options);

/// Writes every file, or (throwing Error) none. Never replaces a file.
void write_migration(const Migration& migration);

}  // namespace furlong::tune
