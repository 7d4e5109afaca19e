// Core watch: is somebody else at work on the core right now?
//
// Pure over a probe, a fixed piece of work that takes longer then. The watch knows the shortest
// time that the probe took, and calls the core disturbed while it takes clearly longer. Belongs to
// one thread.
#pragma once

#include <functional>
#include <limits>

namespace furlong::race {

class CoreWatch {
 public:
  /// A probe this many times slower than the quietest one is disturbed. Two threads on a core make
  /// it about 1.8; the clock of a core that nobody disturbs moves by less than this.
  static constexpr double kDisturbed = 1.2;

  /// Looks that find out what quiet is where nobody said so: a few tenths of a second, as others
  /// can be at work for longer than a moment.
  static constexpr int kFirstLooks = 200000;
  /// After so many waits in vain, one after the other, quiet is what it was at best since then: the
  /// core got slower for good. A quieter look takes it back.
  static constexpr int kWaitsInVain = 8;

  /// `probe` gives seconds; an empty one never says that anything is disturbed.
  explicit CoreWatch(std::function<double()> probe);

  bool watches() const { return static_cast<bool>(probe_); }

  /// Makes sure that the watch knows what quiet is: from an earlier watch of the same core (its
  /// quiet_s()), or with 0 by its own first looks. Changes nothing later; disturbed() begins so.
  void learn(double quiet_s = 0);
  /// Seconds of the quietest look; 0 before the first look.
  double quiet_s() const { return quiet_s_ == kNever ? 0 : quiet_s_; }

  /// Looks up to so many times, until one is disturbed.
  bool disturbed(int looks);

  /// A wait came to its end before the work was done.
  void gave_up();

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  bool look();

  std::function<double()> probe_;
  double quiet_s_ = kNever;
  double lately_s_ = kNever;  ///< the best look since the core was quiet, or since quiet was set
  int in_vain_ = 0;
};

}  // namespace furlong::race
