// Ledger tools: verify, repair and merge whole files.
//
// The functions on text are pure; `*_file(s)` do the same to files, atomically and under the
// ledger's lock, so that a running tuner loses nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/ledger.hh"

namespace furlong::ledger {

/// Why a line is no whole record (malformed JSON, no kind, a crc that does not match); empty when
/// it is one. Knows nothing of a project: dtypes and the like are not looked at.
std::string line_damage(std::string_view line);

/// A line that counts as malformed.
struct DamagedLine {
  std::int32_t line = 0;  ///< 1-based
  std::string reason;
  std::string text;   ///< without the newline
  bool torn = false;  ///< the last line, without a newline: readers ignore it with a warning
  int kept = 0;       ///< by repair: whole records found inside it (a damaged newline joined them)
};

struct Verification {
  std::int64_t records = 0;    ///< lines that are neither blank nor damaged
  std::int64_t unchecked = 0;  ///< of these, without a crc (older writers)
  std::vector<DamagedLine> damaged;
  std::vector<std::string> warnings;  ///< those of a reader
};

/// Looks at every line. Throws Error for a Git LFS pointer; `file` is only named in messages.
Verification verify(std::string_view bytes, std::string_view file, const ReadOptions& options);
Verification verify_file(const std::filesystem::path& file, const ReadOptions& options);

struct Repaired {
  std::string bytes;    ///< every undamaged record, each with its newline; blank lines as they were
  std::string damaged;  ///< the malformed lines, each with a newline
  std::vector<DamagedLine> lines;
};

/// Takes malformed lines out. A malformed line that is whole records with a right crc, joined by a
/// damaged newline, gives these back.
Repaired repair(std::string_view bytes, std::string_view file, const ReadOptions& options);
/// Moves the malformed lines of a file to the end of `<file>.damaged`, which is on disk before the
/// file is replaced. Does not touch a file without damage whose last line has its newline.
std::vector<DamagedLine> repair_file(const std::filesystem::path& file, const ReadOptions& options);

/// One input of a merge.
struct LedgerText {
  std::string name;  ///< for messages
  std::string bytes;
};

/// Unites ledgers: every distinct line once; run by run in order of (date, run id), a run's date
/// being the earliest of its run lines (without one, of its cells); the lines of a run in the order
/// of the inputs, lines that only a later input has behind those that precede them there; then
/// lines of unknown kinds without a run; rehash lines last, in input order. Merging a result again,
/// alone or with its inputs, changes nothing. Throws Error `<file>:<line>: <reason>` for a
/// malformed line, a torn last one included.
std::string merge(const std::vector<LedgerText>& inputs, const ReadOptions& options);
/// Writes the union of `inputs` to `out`, which may be one of them. Throws Error when `out` holds a
/// line that the union would lose.
void merge_files(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& out,
                 const ReadOptions& options);

}  // namespace furlong::ledger
