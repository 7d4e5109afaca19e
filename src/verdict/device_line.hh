// DeviceLine: the device of a key, clause by clause.
//
// Dialects, newest first:
//   CUDA: 8.0, Cores: 108, GPU clock: 1.41 GHz, Memory bandwidth: 1555 GB/s, L2 cache: 40 MB
//     [, DNN version: a.b.c]       also `ROCM: gfx90a, ...` and `oneAPI: ...`
//   CPU: avx512_zen5, Cores: 2, L2 cache: 1 MB, L3 cache: 32 MB, Compiler: g++ 12.2.0
//   OpenCL: <device name>, Cores: <n>, Local memory: <kB> kB, Driver: <driver version>
//   sm_8.0 with <bytes>B RAM, <n> cores, <kHz>KHz clock, <kHz>KHz mem clock, <bytes>B L2$
// A line is a key: printing what was parsed gives the same bytes. Pure values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/result.hh"
#include "verdict/verdict.hh"

namespace furlong::verdict {

enum class Dialect { kCuda, kRocm, kOneApi, kCpu, kOpenCl, kOldCuda };

/// `CUDA`, ..., `sm_` for the old dialect.
std::string_view name_of(Dialect dialect);

struct DeviceLine {
  Dialect dialect = Dialect::kCuda;
  /// In the order of the line; the first is the device itself (`CUDA` `8.0`). The old dialect's
  /// clauses are named `sm`, `RAM`, `cores`, `clock`, `mem clock` and `L2$`.
  std::vector<Field> clauses;

  /// No: which clause cannot be read.
  static Result<DeviceLine> parse(std::string_view text);
  std::string text() const;
  /// The value of a clause.
  const std::string* find(std::string_view name) const;
};

/// One clause that is not the same in two lines; nothing on the side that lacks it.
struct ClauseDifference {
  std::string clause;
  std::optional<std::string> wanted;
  std::optional<std::string> found;
};

/// Clauses that differ, in the order of `wanted`. Lines of different dialects, and lines that
/// cannot be parsed, differ as a whole: one difference named `device`.
std::vector<ClauseDifference> compare_devices(std::string_view wanted, std::string_view found);

/// The line without the clauses named: `DNN version`. A line that cannot be parsed stays as it is.
std::string without_clauses(std::string_view device, const std::vector<std::string>& names);

/// A number as device lines print it: six significant digits, no trailing zeros.
std::string six_digits(double value);

/// The lines of our own devices.
struct CpuDevice {
  std::string arch;
  int cores = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;
  std::string compiler;
};
struct OpenClDevice {
  std::string name;
  int cores = 0;
  std::int64_t local_bytes = 0;
  std::string driver;
};
std::string device_line(const CpuDevice& device);
std::string device_line(const OpenClDevice& device);

}  // namespace furlong::verdict
