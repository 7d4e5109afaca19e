#include "race/interval_timer.hh"

#include <algorithm>

namespace furlong::race {
namespace {

// Looks at the core, each of about two microseconds. A core that was quiet for a while mostly stays
// so for another.
constexpr int kLooksFirst = 16;  // before an interval is prepared
constexpr int kLooks = 3;        // right before it, and right after it

}  // namespace

IntervalTimer::IntervalTimer(Problem& problem, const Now& now, CoreWatch& watch)
    : problem_(problem), now_(now), watch_(watch) {}

void IntervalTimer::restore(int calls) {
  if (calls > ring_) {
    problem_.resize_ring(calls);
    ring_ = calls;
  }
  problem_.restore(calls);
}

Interval IntervalTimer::run(int candidate, int calls) {
  try {
    const double start = now_();
    problem_.run(candidate, 0, calls);
    return {std::max(now_() - start, 1e-12), nullptr};
  } catch (...) {
    return {0, std::current_exception()};
  }
}

Interval IntervalTimer::time(int candidate, int calls) {
  restore(calls);
  return run(candidate, calls);
}

Interval IntervalTimer::time_quietly(int candidate, int calls, double expected_s,
                                     Patience& patience) {
  for (;;) {
    const double began = now_();
    while (patience.left_s > now_() - began && watch_.disturbed(kLooksFirst)) {
      if (patience.on_wait) patience.on_wait();
    }
    spend(patience, now_() - began);
    const bool patient = watch_.watches() && patience.left_s > 0;
    const double start = now_();
    if (expected_s < kPrimed) {
      Interval primer = time(candidate, calls);
      if (primer.thrown) return primer;
    }
    restore(calls);
    bool disturbed = watch_.disturbed(kLooks);
    if (!disturbed || !patient) {
      Interval interval = run(candidate, calls);
      if (interval.thrown) return interval;
      if (watch_.disturbed(kLooks)) disturbed = true;
      if (!disturbed || !patient) {
        if (disturbed) ++patience.disturbed;
        return interval;
      }
    }
    ++patience.repeated;
    spend(patience, now_() - start);
    if (patience.on_wait) patience.on_wait();
  }
}

void IntervalTimer::spend(Patience& patience, double seconds) {
  if (!watch_.watches()) return;
  const bool had_some = patience.left_s > 0;
  patience.left_s -= seconds;
  patience.spent_s += seconds;
  if (had_some && patience.left_s <= 0) watch_.gave_up();
}

}  // namespace furlong::race
