// Why: which record of a cell counts, and why the others do not.
//
// Pure; the judgement is Freshness's own, told for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/cell_key.hh"
#include "ledger/freshness.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/ledger.hh"

namespace furlong::tune {

enum class Verdict {
  kCounts,
  kBeaten,    ///< holds, but another record of the cell is better
  kUnranked,  ///< holds, but names no winner, and an imported record or none stands instead
  kStale,
  kAllErrors,  ///< no candidate ran
  kDirty,      ///< of a tree with uncommitted changes
  kNoRun,      ///< its run line is missing
};

/// One word for programs: `counts`, `beaten`, `unranked`, `stale`, `all_errors`, `dirty`, `no_run`.
std::string_view verdict_name(Verdict verdict);

struct WhyRecord {
  std::int32_t line = 0;  ///< 1-based, in the ledger file
  Verdict verdict = Verdict::kStale;
  std::string key;
  std::string tier;
  std::string run_id;
  std::string commit;
  std::string date;
  std::string winner;                 ///< empty without a ranking
  std::optional<double> ms;           ///< of the winner
  std::string standing;               ///< `current`, `partly stale`, `stale`; empty when left out
  std::vector<ledger::Cause> causes;  ///< of a stale or partly stale record
  std::vector<std::string> reasons;   ///< one line each; empty for a current record that counts
};

struct Why {
  std::vector<WhyRecord> records;  ///< in file order
  std::vector<std::string> warnings;
  bool counted() const;  ///< does a record count?
};

/// The records of a dtype whose keys agree with `key` wherever both name a value, so that records
/// with other axes are told too. `bytes` are those of the ledger file; `file` is only named in
/// messages. Throws std::invalid_argument for an unknown dtype or a key that lacks a table key, and
/// Error as Ledger::parse() does.
Why explain(std::string_view bytes, std::string_view file, const ledger::ReadOptions& options,
            const ledger::HashesNow& hashes, const std::string& dtype, const CellKey& key);

}  // namespace furlong::tune
