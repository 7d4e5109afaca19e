// furlong tune: race the candidates of ops at every cell of their grids, and record it.
#include <fmt/format.h>

#include <cmath>

#include "base/text.hh"
#include "cli/command.hh"
#include "cli/grid_option.hh"
#include "cli/progress.hh"
#include "furlong/device_key.hh"
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
  std::string lock_dir;
  double cap_gib = 4;
  std::int64_t max_dim = 2048;
  bool plan = false;
  bool allow_dirty = false;
  bool json = false;
};

tune::TuneRequest make_request(const Context& context, const Options& options) {
  if (options.device != "cpu" && options.device != this_cpu().text) {
    throw UsageError(
        fmt::format("--device: unknown device {}; allowed are cpu (this machine is {})",
                    quoted(options.device), this_cpu().text));
  }
  if (!(options.cap_gib > 0) || !std::isfinite(options.cap_gib)) {
    throw UsageError("--cap-gib: must be a number > 0");
  }
  if (options.max_dim < 1) throw UsageError("--max-dim: must be a whole number > 0");
  tune::TuneRequest request;
  request.ops = context.op_list(options.ops);
  for (const OpSpec* op : request.ops) {
    std::vector<std::string> names;
    for (const int d : dtype_list(*op, options.dtype)) {
      names.push_back(op->vocabulary.dtypes[static_cast<std::size_t>(d)]);
    }
    request.dtypes.push_back(std::move(names));
  }
  request.tier = raced_tier(options.tier);
  request.grid = parse_grid(options.grid);
  request.cap_gib = options.cap_gib;
  request.max_dim = options.max_dim;
  request.allow_dirty = options.allow_dirty;
  request.argv = join(context.arguments, " ");
  if (!options.lock_dir.empty()) {
    request.lock_dir = options.lock_dir;
  } else {
    const auto runtime = host::environment("XDG_RUNTIME_DIR");
    request.lock_dir = runtime && !runtime->empty() ? std::filesystem::path(*runtime) / "furlong"
                                                    : std::filesystem::temp_directory_path();
  }
  return request;
}

nlohmann::ordered_json plan_json(const tune::Plan& plan) {
  nlohmann::ordered_json counts = nlohmann::ordered_json::array();
  for (const auto& count : plan.counts) {
    counts.push_back({{"op", count.op},
                      {"dtype", count.dtype},
                      {"cells", count.cells},
                      {"measure", count.measure},
                      {"skips", count.skips},
                      {"estimate_s", count.estimate_s}});
  }
  return counts;
}

std::string plan_text(const tune::Plan& plan) {
  report::TextTable table({{"op"},
                           {"dtype"},
                           {"cells", report::Align::kRight},
                           {"to measure", report::Align::kRight},
                           {"estimate", report::Align::kRight},
                           {"skipped"}});
  for (const auto& count : plan.counts) {
    std::string skips;
    for (const auto& [reason, n] : count.skips) {
      skips += fmt::format("{}{} {}", skips.empty() ? "" : ", ", n, reason);
    }
    table.add({count.op, count.dtype, std::to_string(count.cells), std::to_string(count.measure),
               duration_text(count.estimate_s), skips});
  }
  return table.text();
}

std::string summary_text(const tune::TuneSummary& summary) {
  std::string text =
      fmt::format("{} cell{} measured on {} in {}", summary.measured,
                  summary.measured == 1 ? "" : "s", summary.device, duration_text(summary.seconds));
  if (summary.measured > 0) {
    const double timed = summary.timing_s + summary.warm_s + summary.verify_s;
    text += fmt::format(" (verification {}, warm-up {}, timing {}, other {})",
                        duration_text(summary.verify_s), duration_text(summary.warm_s),
                        duration_text(summary.timing_s), duration_text(summary.seconds - timed));
  }
  text += '\n';
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
          {"winners", summary.winners},
          {"unusable", summary.unusable},
          {"stopped", summary.stopped},
          {"seconds",
           {{"total", summary.seconds},
            {"probe", summary.probe_s},
            {"verify", summary.verify_s},
            {"warm", summary.warm_s},
            {"timing", summary.timing_s}}},
          {"ledgers", ledgers}};
}

int run_plan(const tune::TuneRequest& request, const ledger::Project& project, bool json) {
  const auto plan = tune::make_plan(request, project);
  if (json) {
    print_json({{"schema", 1},
                {"plan", plan_json(plan)},
                {"measure", plan.measure},
                {"estimate_s", plan.estimate_s}});
  } else {
    print(plan_text(plan));
    print(fmt::format("{} cells to measure, about {}; nothing was measured\n", plan.measure,
                      duration_text(plan.estimate_s)));
  }
  return kOk;
}

int run(const Context& context, const Options& options) {
  const auto request = make_request(context, options);
  ledger::Project project = load_project(options.project);
  if (options.ledger) project.ledger = std::filesystem::absolute(*options.ledger);
  if (options.plan) return run_plan(request, project, options.json);

  Progress progress;
  const host::StopSignal stop;
  const auto& clock = host::system_clock();
  const auto start = clock.steady();
  const auto left_text = [&](int done, int total) -> std::string {
    if (done == 0) return "";
    const double spent = std::chrono::duration<double>(clock.steady() - start).count();
    return ", about " + duration_text(spent / done * (total - done)) + " left";
  };
  tune::TuneHooks hooks;
  hooks.planned = [&](const tune::Plan& plan) {
    if (!options.json) print(plan_text(plan));
  };
  hooks.cell_started = [&](const tune::CellEvent& event) {
    progress.show(fmt::format("[{}/{}{}] {} {} {}", event.done, event.total,
                              left_text(event.done, event.total), event.op, event.dtype,
                              event.key));
  };
  hooks.cell_done = [&](const tune::CellEvent& event) {
    const auto& ranked = event.cell->ranked;
    progress.show(fmt::format("[{}/{}{}] {} {} {} -> {}", event.done + 1, event.total,
                              left_text(event.done + 1, event.total), event.op, event.dtype,
                              event.key, ranked.empty() ? "nothing can run" : ranked.front()));
  };
  hooks.stop_requested = [] { return host::StopSignal::requested(); };
  const auto summary = tune::run_tune(request, project, clock, hooks);
  progress.clear();
  if (options.json) {
    print_json(summary_json(summary));
  } else {
    print(summary_text(summary));
  }
  if (summary.stopped) {
    note("furlong: stopped; the same command goes on, what is recorded is skipped");
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
      "Example: furlong tune potrf --tier preview --dtype float --grid n=8:16:32");
  auto options = std::make_shared<Options>();
  app->add_option("ops", options->ops, "Ops, comma-separated, or all")->required();
  app->add_option("--tier", options->tier, "preview, coarse or deep")->capture_default_str();
  app->add_option("--dtype", options->dtype, "Dtypes, comma-separated (default: all of the op)");
  app->add_option("--device", options->device, "Device to tune: cpu")->capture_default_str();
  app->add_option("--grid", options->grid, "Axis values that replace the grid's: name=v1:v2");
  app->add_option("--cap-gib", options->cap_gib, "Skip cells with more GiB of inputs")
      ->capture_default_str();
  app->add_option("--max-dim", options->max_dim, "Skip cells with a larger matrix dimension")
      ->capture_default_str();
  app->add_flag("--plan", options->plan, "Print what would be measured, and measure nothing");
  app->add_flag("--allow-dirty", options->allow_dirty,
                "Measure with uncommitted changes; such records never reach a table");
  app->add_option("--ledger", options->ledger, "Ledger folder (default: the project's)")
      ->type_name("DIR");
  app->add_option("--lock-dir", options->lock_dir, "Folder of the per-device lock")
      ->type_name("DIR");
  add_project_option(*app, options->project);
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [options, &context] { return run(context, *options); };
}

}  // namespace furlong::cli
