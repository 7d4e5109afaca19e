// Repetitions file: every timed interval of a run, in the form that replay reads.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/op_spec.hh"
#include "host/append_file.hh"
#include "race/runner.hh"

namespace furlong::tune {

/// Appends the repetitions of one (op, dtype) of this machine. A cell that the file holds already
/// gets the next pass. One object per file; belongs to one thread.
class RepetitionsFile {
 public:
  /// Opens the file, creating it when it is missing; a new one stays empty until the first add().
  /// Throws Error for a file that cannot be opened, or that holds something else than repetitions
  /// of this op, dtype, device, these candidates and this grid: replay sees one grid per file.
  RepetitionsFile(std::filesystem::path file, const OpSpec& op, const std::string& dtype,
                  const std::vector<Axis>& axes);

  void add(const CellKey& key, std::span<const race::Repetition> repetitions);

 private:
  void read_stored(const std::string& text, const OpSpec& op, const std::string& dtype,
                   const std::vector<Axis>& axes);
  void append(std::string_view text);

  std::filesystem::path file_;
  std::unique_ptr<host::AppendFile> out_;
  std::string meta_line_;  ///< what a new file begins with; empty once it is there
  std::vector<std::string> candidates_;
  std::map<std::string, int> passes_;  ///< by cell key
};

}  // namespace furlong::tune
