// furlong tune: race the candidates of ops at every cell of their grids, and record it.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/text.hh"
#include "cli/command.hh"
#include "cli/grid_option.hh"
#include "cli/progress.hh"
#include "cli/tune_reporter.hh"
#include "furlong/device_key.hh"
#include "furlong/error.hh"
#include "host/affinity.hh"
#include "host/core_load.hh"
#include "host/files.hh"
#include "host/process.hh"
#include "host/stop_signal.hh"
#include "report/text_table.hh"
#include "tune/driver.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string ops;
  std::string tier = "coarse";
  std::string dtype;
  std::string device = "cpu";
  std::vector<std::string> grid;
  std::optional<std::string> project;
  std::optional<std::string> ledger;
  std::optional<std::string> remeasure_keys;
  std::optional<std::string> from_coverage;
  std::optional<std::string> record_reps;
  std::optional<double> budget_hours;
  std::optional<double> worker_memory_gib;
  std::optional<int> progress_fd;
  std::string lock_dir;
  double cap_gib = 4;
  std::int64_t max_dim = 2048;
  int threads = 1;
  double cell_timeout_s = 300;
  double util_ceiling_percent = 5;
  double guard_wait_s = 300;
  bool only_named = false;
  bool no_guard = false;
  bool plan = false;
  bool allow_dirty = false;
  bool json = false;
};

void require_positive(const char* flag, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw UsageError(fmt::format("{}: must be a number > 0", flag));
  }
}

/// The cells that a file names. Error `<file>:<line>: <what>` for an op or dtype that there is none
/// of.
std::vector<tune::NamedCell> read_cells(const Context& context, const std::string& file,
                                        tune::CellLines lines) {
  auto cells = tune::parse_named_cells(host::read_file(file), file, lines);
  for (const auto& cell : cells) {
    try {
      dtype_list(context.op(cell.op), cell.dtype);
    } catch (const UsageError& error) {
      throw Error(cell.place, error.what());
    }
  }
  return cells;
}

/// Bytes that a worker may take; 0 = its default.
std::int64_t worker_memory_bytes(const std::optional<double>& gib) {
  if (!gib) return 0;
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return static_cast<std::int64_t>(std::clamp(*gib * kGib, 1.0, 0x1p62));
}

tune::TuneRequest make_request(const Context& context, const Options& options) {
  if (options.device != "cpu" && options.device != this_cpu().text) {
    throw UsageError(
        fmt::format("--device: unknown device {}; allowed are cpu (this machine is {})",
                    quoted(options.device), this_cpu().text));
  }
  require_positive("--cap-gib", options.cap_gib);
  require_positive("--cell-timeout", options.cell_timeout_s);
  require_positive("--util-ceiling", options.util_ceiling_percent);
  require_positive("--guard-wait", options.guard_wait_s);
  if (options.budget_hours) require_positive("--budget", *options.budget_hours);
  if (options.worker_memory_gib) {
    require_positive("--worker-memory-gib", *options.worker_memory_gib);
  }
  if (options.max_dim < 1) throw UsageError("--max-dim: must be a whole number > 0");
  if (options.threads != 1) {
    throw UsageError("--threads: these ops race single-threaded; allowed is 1");
  }
  if (options.progress_fd && ::fcntl(*options.progress_fd, F_GETFD) < 0) {
    throw UsageError(
        fmt::format("--progress-fd: {} is no open file descriptor", *options.progress_fd));
  }
  tune::TuneRequest request;
  request.ops = context.op_list(options.ops);
  for (const OpSpec* op : request.ops) {
    std::vector<std::string> names;
    for (const int d : dtype_list(*op, options.dtype)) {
      names.push_back(op->vocabulary.dtypes[static_cast<std::size_t>(d)]);
    }
    request.dtypes.push_back(std::move(names));
  }
  if (options.tier == tier_name(Tier::kCustom)) {
    request.tier = Tier::kCustom;
  } else {
    request.tier = raced_tier(options.tier);
  }
  request.only_named = options.only_named || request.tier == Tier::kCustom;
  if (options.remeasure_keys) {
    request.named = read_cells(context, *options.remeasure_keys, tune::CellLines::kNamed);
  }
  if (request.only_named && !options.remeasure_keys) {
    throw UsageError(
        "--tier custom and --only-named measure the cells that --remeasure-keys names");
  }
  if (options.from_coverage) {
    request.covered = read_cells(context, *options.from_coverage, tune::CellLines::kCoverage);
  }
  request.grid = parse_grid(options.grid);
  request.cap_gib = options.cap_gib;
  request.max_dim = options.max_dim;
  if (options.budget_hours) request.budget_s = *options.budget_hours * 3600;
  request.allow_dirty = options.allow_dirty;
  request.argv = join(context.arguments, " ");
  if (options.record_reps) request.record_repetitions = *options.record_reps;
  request.cell_timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(options.cell_timeout_s * 1000));
  request.guard = !options.no_guard;
  request.guard_ceiling = options.util_ceiling_percent / 100;
  request.guard_wait_s = options.guard_wait_s;
  if (!options.lock_dir.empty()) {
    request.lock_dir = options.lock_dir;
  } else {
    const auto runtime = host::environment("XDG_RUNTIME_DIR");
    request.lock_dir = runtime && !runtime->empty() ? std::filesystem::path(*runtime) / "furlong"
                                                    : std::filesystem::temp_directory_path();
  }
  return request;
}

/// This program again as the worker, on the core that is measured on.
tune::Machine this_machine(const std::optional<double>& worker_memory_gib, bool guard) {
  const int core = host::last_usable_core();
  tune::Machine machine;
  const std::int64_t memory = worker_memory_bytes(worker_memory_gib);
  std::vector<std::string> command = {"/proc/self/exe", std::string(kWorkerCommand),
                                      "--core",         std::to_string(core),
                                      "--memory-bytes", std::to_string(memory)};
  if (guard) command.push_back("--watch-core");
  machine.start_worker = tune::process_workers(std::move(command));
  machine.meter.core = [core] { return host::core_times(core); };
  machine.meter.own_seconds = [] { return host::process_seconds(0).value_or(0); };
  machine.meter.now = [] {
    return std::chrono::duration<double>(host::system_clock().steady()).count();
  };
  machine.sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  return machine;
}

nlohmann::ordered_json plan_json(const tune::Plan& plan) {
  nlohmann::ordered_json counts = nlohmann::ordered_json::array();
  for (const auto& count : plan.counts) {
    counts.push_back({{"op", count.op},
                      {"dtype", count.dtype},
                      {"cells", count.cells},
                      {"measure", count.measure},
                      {"skips", count.skips},
                      {"estimate_s", count.estimate_s},
                      {"estimate_with_refinement_s", count.refined_s}});
  }
  return counts;
}

std::string plan_text(const tune::Plan& plan) {
  report::TextTable table({{"op"},
                           {"dtype"},
                           {"cells", report::Align::kRight},
                           {"to measure", report::Align::kRight},
                           {"lattice", report::Align::kRight},
                           {"refined, at most", report::Align::kRight},
                           {"skipped"}});
  for (const auto& count : plan.counts) {
    std::string skips;
    for (const auto& [reason, n] : count.skips) {
      skips += fmt::format("{}{} {}", skips.empty() ? "" : ", ", n, reason);
    }
    table.add({count.op, count.dtype, std::to_string(count.cells), std::to_string(count.measure),
               duration_text(count.estimate_s), duration_text(count.refined_s), skips});
  }
  return table.text();
}

std::string summary_text(const tune::TuneSummary& summary) {
  std::string text =
      fmt::format("{} cell{} measured on {} in {}", summary.measured,
                  summary.measured == 1 ? "" : "s", summary.device, duration_text(summary.seconds));
  if (summary.measured > 0) {
    const double known =
        summary.timing_s + summary.warm_s + summary.verify_s + summary.audit_s + summary.guard_s;
    text += fmt::format(
        " (verification {}, warm-up {}, timing {}, audit {}, busy machine {}, other {})",
        duration_text(summary.verify_s), duration_text(summary.warm_s),
        duration_text(summary.timing_s), duration_text(summary.audit_s),
        duration_text(summary.guard_s), duration_text(summary.seconds - known));
  }
  text += '\n';
  if (summary.refined > 0 || summary.capped || summary.budget_spent) {
    text += fmt::format("{} of them by refinement{}{}\n", summary.refined,
                        summary.capped ? ", which hit its cap" : "",
                        summary.budget_spent ? ", which the budget ended" : "");
  }
  if (summary.discards > 0) {
    text += fmt::format("{} measurements discarded, the machine was busy\n", summary.discards);
  }
  if (summary.repeated > 0 || summary.disturbed > 0) {
    text += fmt::format(
        "{} repetitions timed again and {} counted though somebody else worked on the core\n",
        summary.repeated, summary.disturbed);
  }
  if (summary.restarts > 0) text += fmt::format("{} workers lost\n", summary.restarts);
  if (!summary.audits.empty()) {
    text += "fresh audits:";
    for (const auto& [verdict, n] : summary.audits) text += fmt::format(" {} {}", n, verdict);
    text += '\n';
  }
  if (!summary.winners.empty()) {
    text += "winners by family:";
    for (const auto& [family, n] : summary.winners) text += fmt::format(" {} {}", family, n);
    text += '\n';
  }
  for (const auto& [reason, n] : summary.unusable) {
    text += fmt::format("unusable at {} cells: {}\n", n, reason);
  }
  for (const auto& path : summary.ledgers) text += fmt::format("ledger: {}\n", path.string());
  return text;
}

nlohmann::ordered_json summary_json(const tune::TuneSummary& summary) {
  std::vector<std::string> ledgers;
  for (const auto& path : summary.ledgers) ledgers.push_back(path.string());
  return {{"schema", 1},
          {"device", summary.device},
          {"run_id", summary.run_id},
          {"plan", plan_json(summary.plan)},
          {"measured", summary.measured},
          {"refined", summary.refined},
          {"refinement_capped", summary.capped},
          {"budget_spent", summary.budget_spent},
          {"winners", summary.winners},
          {"unusable", summary.unusable},
          {"audits", summary.audits},
          {"discards", summary.discards},
          {"repeated", summary.repeated},
          {"disturbed", summary.disturbed},
          {"worker_restarts", summary.restarts},
          {"stopped", summary.stopped},
          {"stop_reason", summary.stop_reason},
          {"seconds",
           {{"total", summary.seconds},
            {"probe", summary.probe_s},
            {"verify", summary.verify_s},
            {"warm", summary.warm_s},
            {"timing", summary.timing_s},
            {"audit", summary.audit_s},
            {"guard", summary.guard_s}}},
          {"ledgers", ledgers}};
}

int run_plan(const tune::TuneRequest& request, const ledger::Project& project, bool json) {
  const auto plan = tune::make_plan(request, project);
  if (json) {
    print_json({{"schema", 1},
                {"plan", plan_json(plan)},
                {"measure", plan.measure},
                {"estimate_s", plan.estimate_s},
                {"estimate_with_refinement_s", plan.refined_s}});
  } else {
    print(plan_text(plan));
    print(fmt::format(
        "{} cells to measure, about {}, with refinement at most {}; nothing was measured\n",
        plan.measure, duration_text(plan.estimate_s), duration_text(plan.refined_s)));
  }
  return kOk;
}

int run(const Context& context, const Options& options) {
  const auto request = make_request(context, options);
  ledger::Project project = load_project(options.project);
  if (options.ledger) project.ledger = std::filesystem::absolute(*options.ledger);
  if (options.plan) return run_plan(request, project, options.json);

  const host::StopSignal stop;
  TuneReporter reporter(options.progress_fd);
  // Whoever stopped reading stdout hears of it at the end: what was asked for is recorded first.
  std::optional<Error> unprinted;
  reporter.on_plan = [&](const tune::Plan& plan) {
    if (options.json) return;
    try {
      print(plan_text(plan));
    } catch (const Error& error) {
      unprinted = error;
    }
  };
  const auto summary =
      tune::run_tune(request, project, host::system_clock(),
                     this_machine(options.worker_memory_gib, !options.no_guard), reporter);
  reporter.done(summary_json(summary));
  if (unprinted) throw *unprinted;
  if (options.json) {
    print_json(summary_json(summary));
  } else {
    print(summary_text(summary));
  }
  if (summary.stopped) {
    note(fmt::format(
        "furlong: stopped{}; the same command goes on, what is recorded is skipped{}",
        summary.stop_reason.empty() ? "" : ", " + summary.stop_reason,
        options.allow_dirty ? " (but the records of a dirty tree, which no reader takes)" : ""));
    return kFindings;
  }
  return kOk;
}

}  // namespace

void add_tune(CLI::App& root, Context& context) {
  auto* app =
      root.add_subcommand("tune", "Race candidates and append what was measured to the ledger");
  app->footer(
      "Tiers, from quick to careful: preview, coarse, deep. What is recorded at the same or a "
      "better\n"
      "tier with today's kernels is skipped, so a stopped run goes on with the same command.\n"
      "A worker process measures, pinned to one core; what is measured while somebody else uses\n"
      "that core is thrown away and measured again.\n"
      "Example: furlong tune potrf --tier preview --dtype float --grid n=8:16:32");
  auto options = std::make_shared<Options>();
  app->add_option("ops", options->ops, "Ops, comma-separated, or all")->required();
  app->add_option("--tier", options->tier,
                  "preview, coarse or deep; or custom, for the cells of --remeasure-keys alone")
      ->capture_default_str();
  app->add_option("--dtype", options->dtype, "Dtypes, comma-separated (default: all of the op)");
  app->add_option("--device", options->device, "Device to tune: cpu")->capture_default_str();
  app->add_option("--grid", options->grid, "Axis values that replace the grid's: name=v1:v2");
  app->add_option("--cap-gib", options->cap_gib, "Skip cells with more GiB of inputs")
      ->capture_default_str();
  app->add_option("--max-dim", options->max_dim, "Skip cells with a larger matrix dimension")
      ->capture_default_str();
  app->add_option("--budget", options->budget_hours,
                  "Hours after which refinement ends; the lattice always completes");
  app->add_option("--remeasure-keys", options->remeasure_keys,
                  "Measure the cells of this file whatever is recorded: <op> <dtype> <cell key>")
      ->type_name("FILE");
  app->add_flag("--only-named", options->only_named,
                "Only the cells of --remeasure-keys: no lattice, no refinement");
  app->add_option("--from-coverage", options->from_coverage,
                  "Tune the shapes of a coverage file too")
      ->type_name("FILE");
  app->add_option("--record-reps", options->record_reps,
                  "Append every repetition to this file, for furlong replay")
      ->type_name("FILE");
  app->add_option("--threads", options->threads, "Threads of one call; these ops race with 1")
      ->capture_default_str();
  app->add_option("--cell-timeout", options->cell_timeout_s,
                  "Seconds that one turn of a candidate (a few calls and their check) may take")
      ->capture_default_str();
  app->add_option("--worker-memory-gib", options->worker_memory_gib,
                  "Memory that a worker may take (default: nine tenths of the machine's)");
  app->add_option("--util-ceiling", options->util_ceiling_percent,
                  "Percent of the core that others may take while a cell is measured")
      ->capture_default_str();
  app->add_option("--guard-wait", options->guard_wait_s,
                  "Seconds that a busy machine is waited for before the run ends")
      ->capture_default_str();
  app->add_flag("--no-guard", options->no_guard, "Measure on a busy machine too");
  app->add_option("--progress-fd", options->progress_fd,
                  "File descriptor that gets one JSON event a line");
  app->add_flag("--plan", options->plan, "Print what would be measured, and measure nothing");
  app->add_flag("--allow-dirty", options->allow_dirty,
                "Measure with uncommitted changes; such records never reach a table");
  app->add_option("--ledger", options->ledger, "Ledger folder (default: the project's)")
      ->type_name("DIR");
  app->add_option("--lock-dir", options->lock_dir, "Folder of the per-device lock")
      ->type_name("DIR");
  add_project_option(*app, options->project);
  app->add_flag("--json", options->json, "Print JSON");
  for (CLI::Option* option : app->get_options()) option->check(not_empty);
  context.actions[app] = [options, &context] { return run(context, *options); };
}

}  // namespace furlong::cli
