#include "host/stop_signal.hh"

#include <signal.h>

#include <atomic>

namespace furlong::host {
namespace {

std::atomic<int> signals_seen{0};
static_assert(std::atomic<int>::is_always_lock_free);
struct sigaction previous_int;
struct sigaction previous_term;

extern "C" void on_stop_signal(int number) {
  if (signals_seen.fetch_add(1) == 0) return;
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

StopSignal::StopSignal() {
  signals_seen = 0;
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &previous_int);
  sigaction(SIGTERM, &action, &previous_term);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &previous_int, nullptr);
  sigaction(SIGTERM, &previous_term, nullptr);
}

bool StopSignal::requested() {
  return signals_seen.load() > 0;
}

void survive_file_size_limit() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  sigemptyset(&action.sa_mask);
  sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace furlong::host
