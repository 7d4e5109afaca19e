// Workers: the processes that measure, so that a kernel can take down no more than its own.
//
// The driver talks to a Worker; a ProcessWorker is this program started again with the hidden
// command `worker`, pinned to one core. Tests put a simulation in its place.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "furlong/op_spec.hh"
#include "host/clock.hh"
#include "tune/wire.hh"

namespace furlong::tune {

/// What came of one request.
struct WorkerAnswer {
  enum class End {
    kDone,   ///< `result` holds
    kDied,   ///< the process ended: `how` says how
    kHung,   ///< a turn took too long; the process was killed
    kFailed  ///< an error that is no candidate's: `how` says which
  };
  End end = End::kDone;
  WorkResult result;
  std::string how;
};

using OnEliminated = std::function<void(int candidate, int round)>;

/// One process. After any answer but kDone it is of no more use.
class Worker {
 public:
  virtual ~Worker() = default;
  /// `turn_limit`: what one turn of a candidate may take (CellRequest::on_turn). How long all of
  /// the request takes is no limit: many candidates take their time, and none of them hangs.
  virtual WorkerAnswer run(const WorkRequest& request, std::chrono::milliseconds turn_limit,
                           const OnEliminated& on_eliminated) = 0;
  /// CPU seconds it used so far.
  virtual double cpu_seconds() const = 0;
};

using StartWorker = std::function<std::unique_ptr<Worker>()>;

/// Starts `command` for each worker. Throws Error when it cannot be started.
StartWorker process_workers(std::vector<std::string> command);

/// The worker's side: answers requests on the channel until it closes. `core`: the one to pin to,
/// or -1. `watch`: time while nobody else works on that core. `memory_bytes`: what it may take; 0 =
/// nine tenths of the machine's. Returns the exit code.
int serve_worker(const std::vector<const OpSpec*>& ops, int core, bool watch,
                 std::int64_t memory_bytes, const host::Clock& clock);

}  // namespace furlong::tune
