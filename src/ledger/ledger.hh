// Ledger: one `<op>.<device>.jsonl` file as it counts, for readers.
//
// Lines are kept in file order. Text that repeats (spellings, hashes, keys, reasons) is interned:
// a cell line costs a few numbers. Runs are those after replacement ("a later run line with the
// same (run_id, dtype) replaces the earlier one"); dirty runs, their cells and cells without a run
// line are left out, each kind with one warning per file.
//
// A Ledger is a value: read once, immutable after, safe to share between threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/dtype.hh"
#include "furlong/tier.hh"
#include "ledger/interner.hh"
#include "ledger/record.hh"

namespace furlong::ledger {

struct StoredOutcome {
  NameId candidate = 0;
  NameId family = 0;  ///< of the candidate's spelling
  NameId hash = 0;    ///< as stored; empty in imported records
  NameId reason = 0;
  Status status = Status::kOk;
  std::int32_t repetitions = 0;
  std::int64_t calls = 1;
  double median_ms = std::numeric_limits<double>::quiet_NaN();
  double min_ms = std::numeric_limits<double>::quiet_NaN();
  double max_ms = std::numeric_limits<double>::quiet_NaN();

  bool timed() const { return std::isfinite(median_ms) && median_ms > 0; }
};

struct StoredCell {
  std::int32_t run = -1;   ///< position in runs()
  std::int32_t dtype = 0;  ///< position in the project's dtype list
  NameId key = 0;
  NameId date = 0;
  Tier tier = Tier::kCustom;
  std::int32_t round = 0;
  std::int32_t line = 0;   ///< 1-based
  std::uint32_t part = 0;  ///< of the file, as it was read; says where the rest lies
  std::uint32_t first_ranked = 0;
  std::uint32_t ranked_count = 0;
  std::uint32_t first_outcome = 0;
  std::uint32_t outcome_count = 0;
};

struct StoredRun {
  Run run;
  std::int32_t dtype = 0;
  std::int32_t line = 0;
};

struct StoredRehash {
  NameId family = 0;
  NameId from = 0;
  NameId to = 0;
  std::int32_t line = 0;
};

struct ReadOptions {
  DtypeList dtypes;
  std::string library = "furlong";  ///< names the commit field; `batchlas` is read too
};

class Ledger {
 public:
  /// Reads a file. Throws Error `<file>:<line>: <reason>` for a malformed line (but a torn last one
  /// without its newline, which is a warning), for a Git LFS pointer, and for a file that cannot be
  /// read. A file that does not exist is an error too: ask exists() first.
  static Ledger read(const std::filesystem::path& file, const ReadOptions& options);
  /// The same over bytes; `file` is only named in messages.
  static Ledger parse(std::string_view bytes, std::string_view file, const ReadOptions& options);

  const std::string& file() const { return file_; }
  std::span<const StoredRun> runs() const { return runs_; }
  std::span<const StoredCell> cells() const { return cells_; }
  std::span<const Audit> audits() const { return audits_; }
  std::span<const StoredRehash> rehashes() const { return rehashes_; }
  /// What a stored hash of a family reads as: the rehash lines walked in file order.
  NameId effective(NameId family, NameId hash) const {
    for (const StoredRehash& rehash : rehashes_) {
      if (rehash.family == family && rehash.from == hash) hash = rehash.to;
    }
    return hash;
  }
  /// One line each, `<file>: ...` or `<file>:<line>: ...`.
  std::span<const std::string> warnings() const { return warnings_; }

  std::span<const NameId> ranked(const StoredCell& cell) const {
    return std::span(parts_[cell.part].ranked).subspan(cell.first_ranked, cell.ranked_count);
  }
  std::span<const StoredOutcome> outcomes(const StoredCell& cell) const {
    return std::span(parts_[cell.part].outcomes).subspan(cell.first_outcome, cell.outcome_count);
  }

  std::string_view text(NameId id) const { return names_.text(id); }
  /// The id of a text that the ledger holds, or -1 as NameId.
  NameId find(std::string_view text) const { return names_.find(text); }
  std::size_t name_count() const { return names_.size(); }

 private:
  friend class LedgerReader;
  std::string file_;
  std::vector<StoredRun> runs_;
  std::vector<StoredCell> cells_;
  std::vector<Audit> audits_;
  std::vector<StoredRehash> rehashes_;
  std::vector<std::string> warnings_;
  /// What cells refer to, by part: parts that were read side by side are joined without a copy.
  struct Part {
    std::vector<NameId> ranked;
    std::vector<StoredOutcome> outcomes;
  };
  std::vector<Part> parts_;
  Interner names_;
};

}  // namespace furlong::ledger
