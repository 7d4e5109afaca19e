// Isolation: cells are raced in worker processes, and a candidate that takes its process down is
// found, recorded as an error, and kept from costing the others their measurements.
//
// A worker that dies or hangs costs one process: the cell is tried once more on a fresh one, then
// each candidate alone, to find the culprits; the others are raced together. A culprit of two cells
// in a row is benched: it runs alone first, and joins the race only when it survives that. After
// five it is dropped for the rest of the run.
//
// Pure over the workers it is given. One object per run and device; belongs to one thread.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "furlong/op_spec.hh"
#include "tune/worker.hh"

namespace furlong::tune {

struct IsolationHooks {
  /// A worker ended: how, and in which cell.
  std::function<void(const std::string& how, const std::string& key)> restarted;
  OnEliminated eliminated;
};

class Isolation {
 public:
  static constexpr int kBenchedAfter = 2;
  static constexpr int kDroppedAfter = 5;
  /// A request's patience is what a race may spend on average. What one leaves is saved for later
  /// ones, whichever process runs them, at most that of so many races; a run starts with as much.
  static constexpr double kSavedRaces = 16;

  Isolation(StartWorker start, std::chrono::milliseconds cell_timeout, IsolationHooks hooks);

  /// Races the cell in the standing worker. The outcomes are those of every requested candidate, in
  /// list order. Throws Error for a failure that is no candidate's.
  race::CellResult measure(const OpSpec& op, const std::string& dtype,
                           const race::CellRequest& request);

  /// Races the cell once more in a fresh process, which ends with it: for audits. Nothing when that
  /// process ended badly.
  std::optional<race::CellResult> measure_fresh(const OpSpec& op, const std::string& dtype,
                                                const race::CellRequest& request);

  /// From now on a fresh process for each cell of (op, dtype).
  void use_one_process_a_cell(const std::string& op, const std::string& dtype);

  /// CPU seconds of all workers so far.
  double cpu_seconds() const;
  int restarts() const { return restarts_; }

 private:
  /// What is known of the candidates of one (op, dtype).
  struct Group {
    std::vector<race::LdVerdict> ld;
    std::vector<int> streak;  ///< cells in a row that the candidate spoilt
    bool one_process_a_cell = false;
  };
  struct Culprit {
    int candidate = 0;
    std::string reason;
  };

  Group& group(const OpSpec& op, const std::string& dtype);
  WorkerAnswer run(const OpSpec& op, const std::string& dtype, Group& group,
                   const race::CellRequest& request, std::vector<int> candidates, bool partial);
  WorkerAnswer send(Worker& worker, WorkRequest& work, const OnEliminated& on_eliminated);
  void drop_worker();
  std::string reason_of(const WorkerAnswer& answer) const;

  StartWorker start_;
  std::chrono::milliseconds timeout_;
  IsolationHooks hooks_;
  std::unique_ptr<Worker> worker_;
  std::map<std::pair<std::string, std::string>, Group> groups_;
  double ended_cpu_s_ = 0;
  double patience_s_ = std::numeric_limits<double>::infinity();  ///< saved
  double quiet_s_ = 0;  ///< what the last process that raced knows of its core
  int restarts_ = 0;
};

}  // namespace furlong::tune
