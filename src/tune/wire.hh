// Wire: what the driver asks a worker, and what it answers, one JSON object a line.
//
// Both sides are the same program, so the form is no format: it may change with any release.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "race/runner.hh"

namespace furlong::tune {

/// One cell to race.
struct WorkRequest {
  std::string op;
  std::string dtype;
  race::CellRequest cell;  ///< what it calls is not sent
  /// Per candidate of the list: what is known of its leading-dimension check.
  std::vector<race::LdVerdict> ld;
};

std::string to_line(const WorkRequest& request);
/// Throws Error for a line that is no request.
WorkRequest parse_request(std::string_view line);

/// A cell that a worker finished.
struct WorkResult {
  race::CellResult cell;
  std::vector<race::LdVerdict> ld;  ///< as after it
};

/// One line of a worker: a sign that it goes on, or an elimination, as it happens; then a result or
/// a failure that is no candidate's.
struct WorkerLine {
  struct Eliminated {
    int candidate = 0;
    int round = 0;  ///< from 1
  };
  std::optional<Eliminated> eliminated;
  std::optional<WorkResult> result;
  std::string failure;
  bool goes_on = false;
};

std::string to_line(const WorkerLine& line);
WorkerLine parse_worker_line(std::string_view line);

}  // namespace furlong::tune
