// What a tune run says while it goes on: the progress line, and events for programs.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/progress.hh"
#include "host/json.hh"
#include "host/stop_signal.hh"
#include "tune/driver.hh"

namespace furlong::cli {

/// One per run; belongs to one thread.
class TuneReporter : public tune::TuneObserver {
 public:
  /// `events`: an open file descriptor that gets one JSON object a line (`event` = plan,
  /// cell_start, cell_done, eliminated, audit, worker_restart, refine_cap, guard or done). The
  /// first event that cannot be written is the last one, which a note says; the program ignores
  /// SIGPIPE.
  explicit TuneReporter(std::optional<int> events);

  std::function<void(const tune::Plan&)> on_plan;

  void planned(const tune::Plan& plan) override;
  void cell_started(const tune::CellEvent& event) override;
  void cell_done(const tune::CellEvent& event) override;
  void eliminated(const tune::CellEvent& event, const std::string& candidate, int round) override;
  void audited(const tune::CellEvent& event, const ledger::Audit& audit) override;
  void worker_restarted(const tune::CellEvent& event, const std::string& how) override;
  void refinement_capped(const std::string& op, const std::string& dtype) override;
  void disturbed(const tune::CellEvent& event, const tune::Disturbance& disturbance,
                 bool waiting) override;
  bool stop_requested() override { return host::StopSignal::requested(); }
  /// The end: takes the progress line away.
  void done(const host::Json& summary);

 private:
  void show(const tune::CellEvent& event, int finished, const std::string& text);
  void send(const char* name, const tune::CellEvent* event, host::Json fields);
  void end_events(int error_number);

  std::optional<int> events_;
  Progress progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace furlong::cli
