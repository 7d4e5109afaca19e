#include "host/affinity.hh"

#include <sched.h>

#include <algorithm>

namespace furlong::host {

struct ScopedCore::Saved {
  cpu_set_t cores;
};

ScopedCore::ScopedCore() {
  auto saved = new Saved;
  CPU_ZERO(&saved->cores);
  saved_ = saved;
  if (sched_getaffinity(0, sizeof(cpu_set_t), &saved->cores) != 0) return;
  const int last = last_usable_core();
  if (last >= 0 && pin_to_core(last)) core_ = last;
}

ScopedCore::~ScopedCore() {
  if (core_ >= 0) sched_setaffinity(0, sizeof(cpu_set_t), &saved_->cores);
  delete saved_;
}

bool pin_to_core(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  return sched_setaffinity(0, sizeof(one), &one) == 0;
}

int last_usable_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return -1;
  int last = -1;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &cores)) last = i;
  }
  return last;
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace furlong::host
