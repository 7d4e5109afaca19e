#include "cli/tune_reporter.hh"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "cli/command.hh"

namespace furlong::cli {

TuneReporter::TuneReporter(std::optional<int> events) : events_(events) {}

void TuneReporter::end_events(int error_number) {
  progress_.clear();
  note(
      fmt::format("furlong: --progress-fd: cannot write to {}: {}; no more events are sent, tuning "
                  "goes on",
                  *events_, std::strerror(error_number)));
  events_.reset();
}

/// A reader that went away ends the events, never the run.
void TuneReporter::send(const char* name, const tune::CellEvent* event, host::Json fields) {
  if (!events_) return;
  host::Json object = {{"event", name}};
  if (event != nullptr) {
    object.update({{"op", event->op},
                   {"dtype", event->dtype},
                   {"key", event->key},
                   {"round", event->round},
                   {"done", event->done},
                   {"total", event->total}});
  }
  object.update(fields);
  const std::string line = host::dump_json(object) + "\n";
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t n = ::write(*events_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return end_events(n < 0 ? errno : EIO);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

void TuneReporter::show(const tune::CellEvent& event, int finished, const std::string& text) {
  std::string left;
  if (finished > 0) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    left =
        ", about " + duration_text(spent.count() / finished * (event.total - finished)) + " left";
  }
  const std::string round = event.round > 0 ? fmt::format(", refinement {}", event.round) : "";
  progress_.show(fmt::format("[{}/{}{}{}] {} {} {}{}", finished, event.total, round, left, event.op,
                             event.dtype, event.key, text));
}

void TuneReporter::planned(const tune::Plan& plan) {
  if (on_plan) on_plan(plan);
  send("plan", nullptr,
       {{"measure", plan.measure},
        {"estimate_s", plan.estimate_s},
        {"estimate_with_refinement_s", plan.refined_s}});
  start_ = std::chrono::steady_clock::now();
}

void TuneReporter::cell_started(const tune::CellEvent& event) {
  show(event, event.done, "");
  send("cell_start", &event, host::Json::object());
}

void TuneReporter::cell_done(const tune::CellEvent& event) {
  const auto& ranked = event.cell->ranked;
  show(event, event.done + 1, " -> " + (ranked.empty() ? "nothing can run" : ranked.front()));
  send("cell_done", &event, {{"ranked", ranked}});
}

void TuneReporter::eliminated(const tune::CellEvent& event, const std::string& candidate,
                              int round) {
  send("eliminated", &event, {{"candidate", candidate}, {"race_round", round}});
}

void TuneReporter::audited(const tune::CellEvent& event, const ledger::Audit& audit) {
  send("audit", &event,
       {{"verdict", audit.verdict},
        {"warm_ms", host::json_number(audit.warm_ms)},
        {"fresh_ms", host::json_number(audit.fresh_ms)}});
}

void TuneReporter::worker_restarted(const tune::CellEvent& event, const std::string& how) {
  show(event, event.done, ": worker lost, " + how);
  send("worker_restart", &event, {{"how", how}});
}

void TuneReporter::refinement_capped(const std::string& op, const std::string& dtype) {
  send("refine_cap", nullptr, {{"op", op}, {"dtype", dtype}});
}

void TuneReporter::disturbed(const tune::CellEvent& event, const tune::Disturbance& disturbance,
                             bool waiting) {
  show(event, event.done,
       fmt::format(": waiting, others take {:.0f} % of the core", 100 * disturbance.share));
  send("guard", &event,
       {{"share", disturbance.share},
        {"steal_share", disturbance.steal_share},
        {"waiting", waiting}});
}

void TuneReporter::done(const host::Json& summary) {
  progress_.clear();
  send("done", nullptr, {{"summary", summary}});
}

}  // namespace furlong::cli
