// Records: the lines of a ledger as values.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/tier.hh"

namespace furlong::ledger {

/// What became of one candidate at one cell.
enum class Status { kOk, kEliminated, kBad, kSkipped, kError };

std::string_view status_name(Status status);
std::optional<Status> parse_status(std::string_view name);

struct Outcome {
  std::string candidate;  ///< long spelling
  std::string hash;       ///< of its family; empty in imported records
  Status status = Status::kOk;
  std::string reason;
  double median_ms = std::numeric_limits<double>::quiet_NaN();
  double min_ms = std::numeric_limits<double>::quiet_NaN();
  double max_ms = std::numeric_limits<double>::quiet_NaN();
  int repetitions = 0;
  std::int64_t calls = 1;  ///< per repetition; times are per call

  bool timed() const { return std::isfinite(median_ms) && median_ms > 0; }
};

struct Run {
  std::string run_id;
  std::string dtype;
  std::string host;
  std::string device;
  std::string device_name;
  std::string commit;
  std::string argv;
  std::string date;  ///< UTC YYYY-MM-DD
  Tier tier = Tier::kCustom;
  std::string keys;                     ///< the op's key spec without dtype
  std::vector<std::string> candidates;  ///< the dtype's full list, in order
  std::string env;
  std::string worker;  ///< `worker` or `fresh`; empty in older files
};

struct Cell {
  std::string run_id;
  std::string dtype;
  Tier tier = Tier::kCustom;
  std::string key;  ///< cell key text
  int round = 0;
  std::string date;
  std::vector<std::string> ranked;  ///< spellings, winner first
  std::vector<Outcome> outcomes;    ///< in the order of `cands`
};

struct Audit {
  std::string run_id;
  std::string dtype;
  std::string key;
  std::string what;                                            ///< `ld` or `fresh`
  std::string candidate;                                       ///< of `ld`
  double warm_ms = std::numeric_limits<double>::quiet_NaN();   ///< of `fresh`
  double fresh_ms = std::numeric_limits<double>::quiet_NaN();  ///< of `fresh`
  std::string verdict;
};

struct Rehash {
  std::string family;
  std::string from;
  std::string to;
  std::string at;
  std::string proof;
  std::string why;
};

}  // namespace furlong::ledger
