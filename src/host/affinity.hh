// Pinning the calling thread to one core while something is measured.
#pragma once

namespace furlong::host {

/// Pins the calling thread to the last core that it may run on (the first ones take most
/// interrupts), and gives it its cores back at the end. Where the system refuses, core() is -1 and
/// nothing changes.
class ScopedCore {
 public:
  ScopedCore();
  ~ScopedCore();
  ScopedCore(const ScopedCore&) = delete;
  ScopedCore& operator=(const ScopedCore&) = delete;

  int core() const { return core_; }

 private:
  int core_ = -1;
  struct Saved;
  Saved* saved_ = nullptr;
};

/// Pins the calling thread to one core for good; false where the system refuses.
bool pin_to_core(int core);

/// The core that ScopedCore would take; -1 when the system does not say.
int last_usable_core();

/// How many cores the calling thread may run on; at least 1.
int usable_cores();

}  // namespace furlong::host
