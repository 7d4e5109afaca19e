// Repetitions file: every timed interval of a run, in the form that replay reads.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/op_spec.hh"
#include "race/runner.hh"

namespace furlong::tune {

/// Appends the repetitions of one (op, dtype) of this machine. A cell that the file holds already
/// gets the next pass. One object per file; belongs to one thread.
class RepetitionsFile {
 public:
  /// Writes the meta line of a new file. Throws Error for a file that cannot be written or holds
  /// something else than repetitions of this op, dtype, device and these candidates.
  RepetitionsFile(std::filesystem::path file, const OpSpec& op, const std::string& dtype,
                  const std::vector<Axis>& axes);

  void add(const CellKey& key, std::span<const race::Repetition> repetitions);

 private:
  std::filesystem::path file_;
  std::vector<std::string> candidates_;
  std::map<std::string, int> passes_;  ///< by cell key
};

}  // namespace furlong::tune
