// Writing a ledger: whole lines, appended under a lock.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ledger/record.hh"

namespace furlong::host {
class AppendFiles;
class Clock;
}  // namespace furlong::host

namespace furlong::ledger {

/// One line each, without newline, the `crc` field last. Doubles are shortest round-trip.
std::string to_line(const Run& run, std::string_view library);
std::string to_line(const Cell& cell);
std::string to_line(const Audit& audit);
std::string to_line(const Rehash& rehash);

/// Appends lines to one file: open for append, flock, repair the tail, one write() per line,
/// unlock. Several processes may append to one file; none loses or interleaves a line. A file that
/// was replaced meanwhile (a repair, a checkout) is opened anew. One Appender belongs to one
/// thread.
///
/// Tail: a last line without newline that is a whole record gets its newline, any other is cut off.
class Appender {
 public:
  /// Creates the folder and the file when they are missing. Throws Error naming the path when it
  /// cannot be written or holds a Git LFS pointer.
  explicit Appender(std::filesystem::path file);
  /// The same through a file layer and a clock, which outlive it: for tests of failing disks.
  Appender(std::filesystem::path file, host::AppendFiles& files, const host::Clock& clock);
  /// Syncs what is not synced yet, as far as that works.
  ~Appender();
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  /// Appends one line (its newline is added). Syncs when 10 seconds have passed since the last
  /// sync. Throws Error when the line could not be written whole; the file then still ends with a
  /// whole line.
  void append(std::string_view line);
  /// fdatasync.
  void sync();

 private:
  struct State;
  State* state_;
};

}  // namespace furlong::ledger
