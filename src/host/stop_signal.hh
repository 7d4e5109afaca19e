// Ctrl-C and SIGTERM as a flag, so that work in flight can be finished and written.
#pragma once

namespace furlong::host {

/// While it lives, SIGINT and SIGTERM set a flag instead of ending the process; a second one ends
/// it at once. One at a time per process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool requested();
};

}  // namespace furlong::host
