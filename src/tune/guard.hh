// Guard: was the core that a cell was measured on used by somebody else meanwhile?
//
// Pure over a meter. A busy machine is waited for, never averaged in.
#pragma once

#include <functional>
#include <optional>

#include "host/core_load.hh"

namespace furlong::tune {

/// Reads the load of the measuring core. Tests have a fake.
struct LoadMeter {
  std::function<std::optional<host::CoreTimes>()> core;
  std::function<double()> own_seconds;  ///< CPU seconds of the tuner's own processes
  std::function<double()> now;          ///< steady seconds
};

/// What somebody else took between two looks.
struct Disturbance {
  double share = 0;        ///< of the time between them, others' and stolen; 0 where unknown
  double steal_share = 0;  ///< the part that was stolen
};

class Guard {
 public:
  /// `ceiling`: the share of others that is borne, 0.05 for 5 %.
  Guard(LoadMeter meter, double ceiling);

  /// Looks: the interval begins.
  void begin();
  /// The disturbance since begin(). The resolution of the core's times is left out: a cell shorter
  /// than a few ticks is hard to disturb.
  Disturbance end() const;
  bool disturbed(const Disturbance& disturbance) const { return disturbance.share > ceiling_; }

 private:
  LoadMeter meter_;
  double ceiling_;
  std::optional<host::CoreTimes> before_;
  double own_before_ = 0;
  double then_ = 0;
};

}  // namespace furlong::tune
