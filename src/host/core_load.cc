#include "host/core_load.hh"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/number.hh"
#include "base/text.hh"

namespace furlong::host {
namespace {

/// Of a file of /proc; empty when it cannot be read.
std::string proc_text(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<CoreTimes> parse_core_times(std::string_view stat, int core, double tick_s) {
  const std::string name = core < 0 ? "cpu" : fmt::format("cpu{}", core);
  for (const std::string_view line : split(stat, '\n')) {
    const auto fields = words(line);
    if (fields.empty() || fields[0] != name) continue;
    // user nice system idle iowait irq softirq steal; guest times are part of user and nice.
    constexpr std::size_t kIdle = 4, kIoWait = 5, kSteal = 8;
    if (fields.size() <= kSteal) return std::nullopt;
    CoreTimes times;
    times.tick_s = tick_s;
    for (std::size_t i = 1; i <= kSteal; ++i) {
      const auto ticks = parse_int64(fields[i]);
      if (!ticks) return std::nullopt;
      if (i == kIdle || i == kIoWait) continue;
      times.busy_s += static_cast<double>(*ticks) * tick_s;
      if (i == kSteal) times.steal_s = static_cast<double>(*ticks) * tick_s;
    }
    return times;
  }
  return std::nullopt;
}

std::optional<CoreTimes> core_times(int core) {
  return parse_core_times(proc_text("/proc/stat"), core,
                          1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

std::optional<double> process_seconds(int pid) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  if (pid != 0 && ::clock_getcpuclockid(pid, &clock) != 0) return std::nullopt;
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::int64_t memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? static_cast<std::int64_t>(pages) * size : 0;
}

}  // namespace furlong::host
