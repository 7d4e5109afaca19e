// Clock: what time it is, with a fake for tests; and UTC date text.
#pragma once

#include <chrono>
#include <string>

namespace furlong::host {

/// Thread rule: the system clock may be read from any thread; a fake belongs to one.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Time of day.
  virtual std::chrono::system_clock::time_point now() const = 0;
  /// Time since some fixed moment; never goes back.
  virtual std::chrono::nanoseconds steady() const = 0;
};

/// The machine's clock; lives as long as the process.
const Clock& system_clock();

/// Stands still until it is told otherwise.
class FakeClock : public Clock {
 public:
  explicit FakeClock(std::chrono::system_clock::time_point now) : now_(now) {}
  std::chrono::system_clock::time_point now() const override { return now_; }
  std::chrono::nanoseconds steady() const override { return steady_; }
  void advance(std::chrono::nanoseconds by) {
    now_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(by);
    steady_ += by;
  }

 private:
  std::chrono::system_clock::time_point now_;
  std::chrono::nanoseconds steady_{0};
};

/// UTC `YYYY-MM-DD`, whatever the time zone of the process.
std::string utc_date(std::chrono::system_clock::time_point time);

/// UTC `YYYYmmddTHHMMSS`.
std::string utc_stamp(std::chrono::system_clock::time_point time);

}  // namespace furlong::host
