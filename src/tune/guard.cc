#include "tune/guard.hh"

#include <algorithm>
#include <utility>

namespace furlong::tune {

Guard::Guard(LoadMeter meter, double ceiling) : meter_(std::move(meter)), ceiling_(ceiling) {}

void Guard::begin() {
  before_ = meter_.core();
  own_before_ = meter_.own_seconds();
  then_ = meter_.now();
}

Disturbance Guard::end() const {
  const auto after = meter_.core();
  const double wall = meter_.now() - then_;
  if (!before_ || !after || wall <= 0) return {};
  // Both ends of an interval are known to a tick only.
  const double slack = 2 * after->tick_s;
  const double own = meter_.own_seconds() - own_before_;
  const double others = after->busy_s - before_->busy_s - own;
  const double stolen = after->steal_s - before_->steal_s;
  Disturbance disturbance;
  disturbance.share = std::clamp((others - slack) / wall, 0.0, 1.0);
  disturbance.steal_share = std::clamp((stolen - slack) / wall, 0.0, 1.0);
  return disturbance;
}

}  // namespace furlong::tune
