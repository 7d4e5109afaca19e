// A worker that is no process: runs cells of the op `fault` here, on a clock of its own, and
// pretends to die with its fatal candidates.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "race/runner.hh"
#include "support/fault_op.hh"
#include "tune/worker.hh"

namespace furlong::testing {

using tune::OnEliminated;
using tune::StartWorker;
using tune::Worker;
using tune::WorkerAnswer;
using tune::WorkerLine;
using tune::WorkRequest;
using tune::WorkResult;

/// Runs cells in this process and pretends to die with its fatal candidates.
class SimulatedWorker : public Worker {
 public:
  struct Shared {
    FaultWorld world;
    OpSpec spec;
    double now = 0;
    Fault died = Fault::kNone;
    int started = 0;
    std::function<void(int started)> on_start;  ///< may change the world
    std::function<double()> core_probe;         ///< of the workers; empty: none
    int repeated = 0;                           ///< repetitions of all results so far

    explicit Shared(std::vector<FaultCandidate> candidates) {
      world.candidates = std::move(candidates);
      world.spend = [this](double seconds) { now += seconds; };
      world.fatal = [this](Fault fault) {
        died = fault;
        throw 1;
      };
      spec = fault_spec(world);
    }

    StartWorker start() {
      return [this] {
        ++started;
        if (on_start) on_start(started);
        world.calls.assign(world.candidates.size(), 0);
        return std::make_unique<SimulatedWorker>(*this);
      };
    }
  };

  explicit SimulatedWorker(Shared& shared) : shared_(shared) {}

  WorkerAnswer run(const WorkRequest& sent, std::chrono::milliseconds turn_limit,
                   const OnEliminated&) override {
    const double began = shared_.now;
    auto answer = answer_to(sent, turn_limit);
    cpu_s_ += shared_.now - began;
    return answer;
  }
  /// The time that its candidates spent.
  double cpu_seconds() const override { return cpu_s_; }

 private:
  WorkerAnswer answer_to(const WorkRequest& sent, std::chrono::duration<double> turn_limit) {
    WorkRequest request = tune::parse_request(tune::to_line(sent));
    shared_.died = Fault::kNone;
    race::Runner runner(shared_.spec, request.dtype, [this] { return shared_.now; },
                        {.warm_up_s = 1e-4, .core_probe = shared_.core_probe});
    for (std::size_t i = 0; i < request.ld.size(); ++i) {
      runner.set_ld_verdict(static_cast<int>(i), request.ld[i]);
    }
    double turn_began = shared_.now;
    bool hung = false;
    const auto end_turn = [&] {
      hung = hung || shared_.now - turn_began > turn_limit.count();
      turn_began = shared_.now;
    };
    request.cell.on_turn = end_turn;
    WorkResult result;
    result.cell = runner.run(request.cell);
    end_turn();
    shared_.repeated += result.cell.repeated;
    if (hung || shared_.died == Fault::kHangs) return {WorkerAnswer::End::kHung, {}, "SIGKILL"};
    if (shared_.died != Fault::kNone) return {WorkerAnswer::End::kDied, {}, "SIGSEGV"};
    for (std::size_t i = 0; i < request.ld.size(); ++i) {
      result.ld.push_back(runner.ld_verdict(static_cast<int>(i)));
    }
    // Through the wire, as a real worker's.
    auto line = tune::parse_worker_line(tune::to_line(WorkerLine{{}, result, {}}));
    return {WorkerAnswer::End::kDone, std::move(*line.result), {}};
  }

  Shared& shared_;
  double cpu_s_ = 0;
};

}  // namespace furlong::testing
