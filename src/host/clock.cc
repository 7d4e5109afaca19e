#include "host/clock.hh"

#include <fmt/format.h>

namespace furlong::host {
namespace {

class SystemClock : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::now();
  }
  std::chrono::nanoseconds steady() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

struct Utc {
  int year;
  unsigned month, day;
  std::int64_t hour, minute, second;
};

Utc utc(std::chrono::system_clock::time_point time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(time - day).count();
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          seconds / 3600,
          seconds / 60 % 60,
          seconds % 60};
}

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

std::string utc_date(std::chrono::system_clock::time_point time) {
  const Utc at = utc(time);
  return fmt::format("{:04}-{:02}-{:02}", at.year, at.month, at.day);
}

std::string utc_stamp(std::chrono::system_clock::time_point time) {
  const Utc at = utc(time);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}", at.year, at.month, at.day, at.hour,
                     at.minute, at.second);
}

}  // namespace furlong::host
