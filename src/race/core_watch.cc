#include "race/core_watch.hh"

#include <algorithm>
#include <utility>

namespace furlong::race {

CoreWatch::CoreWatch(std::function<double()> probe) : probe_(std::move(probe)) {}

void CoreWatch::learn(double quiet_s) {
  if (!probe_ || quiet_s_ != kNever) return;
  if (quiet_s > 0) {
    quiet_s_ = quiet_s;
    return;
  }
  for (int look = 0; look < kFirstLooks; ++look) quiet_s_ = std::min(quiet_s_, probe_());
}

bool CoreWatch::disturbed(int looks) {
  if (!probe_) return false;
  learn();
  for (int i = 0; i < looks; ++i) {
    if (look()) return true;
  }
  return false;
}

bool CoreWatch::look() {
  const double seconds = probe_();
  quiet_s_ = std::min(quiet_s_, seconds);
  if (seconds > kDisturbed * quiet_s_) {
    lately_s_ = std::min(lately_s_, seconds);
    return true;
  }
  lately_s_ = kNever;
  in_vain_ = 0;
  return false;
}

void CoreWatch::gave_up() {
  if (lately_s_ == kNever || ++in_vain_ < kWaitsInVain) return;
  quiet_s_ = std::exchange(lately_s_, kNever);
  in_vain_ = 0;
}

}  // namespace furlong::race
