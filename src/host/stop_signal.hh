// Ctrl-C and SIGTERM as a flag, so that work in flight can be finished and written.
#pragma once

namespace furlong::host {

/// While it lives, SIGINT and SIGTERM set a flag instead of ending the process; a second one ends
/// it at once. From its start on, a reader that went away is an error of the write (EPIPE), not the
/// end of the process. One at a time per process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool requested();
};

/// From now on a write over the process's file size limit is an error of the write (EFBIG), not the
/// end of the process.
void survive_file_size_limit();

}  // namespace furlong::host
