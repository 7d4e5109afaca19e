// Interval timer: how long calls of a candidate take, at a moment when nobody else is at work on
// the core.
//
// Inputs are restored before each interval, outside it. A short interval follows an untimed one of
// the same candidate, so that what was on the core before (another candidate, a check of results, a
// wait) is not what is measured. Belongs to one thread.
#pragma once

#include <exception>
#include <functional>

#include "furlong/op_spec.hh"
#include "race/core_watch.hh"

namespace furlong::race {

/// Steady time in seconds from any origin.
using Now = std::function<double()>;

/// What may be spent on waiting for a quiet core, and what was.
struct Patience {
  double left_s = 0;
  double spent_s = 0;                  ///< waited, and intervals that were disturbed
  int repeated = 0;                    ///< intervals that were disturbed, and timed again
  int disturbed = 0;                   ///< intervals that count though they were: nothing was left
  std::function<void()> on_wait = {};  ///< called again and again while it waits; may be empty
};

struct Interval {
  double seconds = 0;         ///< > 0
  std::exception_ptr thrown;  ///< by the candidate; then there is no time
};

class IntervalTimer {
 public:
  /// An interval shorter than this follows an untimed one.
  static constexpr double kPrimed = 1e-3;

  /// All of them must outlive the timer; the problem's ring is the timer's from now on.
  IntervalTimer(Problem& problem, const Now& now, CoreWatch& watch);

  /// One interval of so many calls, whatever happens on the core.
  Interval time(int candidate, int calls);

  /// The same while nobody else is at work on the core, as long as patience lasts. `expected_s`:
  /// about how long it takes.
  Interval time_quietly(int candidate, int calls, double expected_s, Patience& patience);

 private:
  Interval run(int candidate, int calls);
  void restore(int calls);
  void spend(Patience& patience, double seconds);

  Problem& problem_;
  const Now& now_;
  CoreWatch& watch_;
  int ring_ = 0;
};

}  // namespace furlong::race
