// Core load: how much time others took on the cores that we measure on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace furlong::host {

/// Times since boot, in seconds.
struct CoreTimes {
  double busy_s = 0;   ///< not idle, stolen time included
  double steal_s = 0;  ///< taken by the machine's other guests; part of busy_s
  double tick_s = 0;   ///< resolution of both
};

/// Of one core; of all with -1. Nothing where the system does not say.
std::optional<CoreTimes> core_times(int core);
/// The same from the text of /proc/stat.
std::optional<CoreTimes> parse_core_times(std::string_view stat, int core, double tick_s);

/// CPU seconds that a process used so far, its threads included; of this process with 0. Nothing
/// when there is no such process.
std::optional<double> process_seconds(int pid);

/// Bytes of memory that this machine has; 0 when unknown.
std::int64_t memory_bytes();

}  // namespace furlong::host
