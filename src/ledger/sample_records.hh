// Records for the tests of this part.
#pragma once

#include <string>
#include <vector>

#include "host/crc32.hh"
#include "ledger/writer.hh"

namespace furlong::ledger::testing {

inline Run sample_run(const std::string& run_id = "20261201T000000-h-1",
                      const std::string& date = "2026-12-01") {
  Run run;
  run.run_id = run_id;
  run.dtype = "float";
  run.host = "h";
  run.device = "cpu_avx512";
  run.device_name = "Some \"Processor\"";
  run.commit = "0123abcd";
  run.argv = "furlong tune potrf";
  run.date = date;
  run.tier = Tier::kDeep;
  run.keys = "uplo:exact n:log:3 batch:log";
  run.candidates = {"direct", "lanes:w=16", "vendor"};
  run.env = "g++ 12, 1 thread";
  run.worker = "worker";
  return run;
}

inline Cell sample_cell(int n = 8, const std::string& run_id = "20261201T000000-h-1") {
  Cell cell;
  cell.run_id = run_id;
  cell.dtype = "float";
  cell.tier = Tier::kDeep;
  cell.key = "uplo=L,n=" + std::to_string(n) + ",batch=128";
  cell.date = "2026-12-01";
  cell.ranked = {"lanes:w=16", "direct"};
  Outcome direct;
  direct.candidate = "direct";
  direct.hash = "cd1d2e92";
  direct.status = Status::kEliminated;
  direct.median_ms = 2;
  direct.min_ms = 0.1;
  direct.max_ms = 1e-7;
  direct.repetitions = 7;
  direct.calls = 64;
  Outcome lanes = direct;
  lanes.candidate = "lanes:w=16";
  lanes.hash = "faa6087b";
  lanes.status = Status::kOk;
  lanes.median_ms = 1.0 / 3;
  Outcome vendor;
  vendor.candidate = "vendor";
  vendor.hash = "894a9de0";
  vendor.status = Status::kSkipped;
  vendor.reason = "refused: too\tbig\x01";
  cell.outcomes = {direct, lanes, vendor};
  return cell;
}

inline std::string run_line(const std::string& run_id = "20261201T000000-h-1",
                            const std::string& date = "2026-12-01") {
  return to_line(sample_run(run_id, date), "furlong") + "\n";
}

inline std::string cell_line(int n = 8, const std::string& run_id = "20261201T000000-h-1") {
  return to_line(sample_cell(n, run_id)) + "\n";
}

inline std::string rehash_line(const std::string& from) {
  return to_line(Rehash{"lanes", from, "b", "0123abcd", "normalized", "why"}) + "\n";
}

/// An object as a line with the right crc.
inline std::string with_crc(std::string fields) {
  fields.pop_back();
  const std::string crc = host::crc32_hex(fields);
  return fields + ", \"crc\": \"" + crc + "\"}";
}

/// `line` (with its newline) without its crc field.
inline std::string without_crc(const std::string& line) {
  return line.substr(0, line.rfind(", \"crc\"")) + "}\n";
}

}  // namespace furlong::ledger::testing
