// furlong replay: what a tier would have found and cost, over recorded repetitions.
#include "tune/replay.hh"

#include <fmt/format.h>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/tier.hh"
#include "host/files.hh"
#include "report/text_table.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string reps;
  std::string tier;
  std::optional<double> confidence;
  bool holdout = false;
  bool json = false;
};

nlohmann::ordered_json report_json(const Options& options, const tune::Recording& recording,
                                   const tune::ReplayReport& report) {
  nlohmann::ordered_json value = {{"schema", 1},
                                  {"op", recording.op},
                                  {"dtype", recording.dtype},
                                  {"device", recording.device},
                                  {"tier", options.tier},
                                  {"holdout", options.holdout},
                                  {"cells_measured", report.measured.size()},
                                  {"cells", report.cells},
                                  {"rounds", report.rounds},
                                  {"refine_unavailable", report.refine_unavailable},
                                  {"capped", report.capped},
                                  {"unrunnable", report.unrunnable},
                                  {"reps_used", report.reps_used},
                                  {"reps_fraction", report.reps_fraction},
                                  {"measure_ms", report.measure_ms},
                                  {"exhaustive_ms", report.exhaustive_ms},
                                  {"race_misrank", report.race_misrank},
                                  {"table_misrank", report.table_misrank},
                                  {"floor_misrank", report.floor_misrank}};
  const auto add_loss = [&](const std::string& prefix, const tune::Loss& loss) {
    value[prefix + "mean_loss"] = loss.mean;
    value[prefix + "p95_loss"] = loss.p95;
    value[prefix + "p99_loss"] = loss.p99;
    value[prefix + "max_loss"] = loss.max;
    value[prefix + "time_weighted_loss"] = loss.time_weighted;
  };
  add_loss("", report.loss);
  add_loss("floor_", report.floor_loss);
  value["measured"] = report.measured;
  return value;
}

std::string percent(double share) {
  return fmt::format("{:.3f} %", 100 * share);
}

std::string report_text(const Options& options, const tune::Recording& recording,
                        const tune::ReplayReport& report) {
  using report::Align;
  const auto seconds = [](double ms) { return fmt::format("{:.3f} s", ms / 1000); };
  std::string text =
      fmt::format("{} {} {}, tier {}{}\n", recording.op, recording.dtype, recording.device,
                  options.tier, options.holdout ? ", judged on the second pass" : "");
  text += fmt::format("  cells      {} of {} measured in {} rounds{}\n", report.measured.size(),
                      report.cells, report.rounds, report.capped ? ", capped" : "");
  text += fmt::format("  lacking    {} refined cells, {} cells whose row did not run\n",
                      report.refine_unavailable, report.unrunnable);
  text += fmt::format("  used       {} repetitions ({}), {} of {}\n", report.reps_used,
                      percent(report.reps_fraction), seconds(report.measure_ms),
                      seconds(report.exhaustive_ms));
  text += fmt::format("  misrank    race {} (of measured cells)\n\n", percent(report.race_misrank));
  report::TextTable table({{"over all cells"},
                           {"misrank", Align::kRight},
                           {"mean loss", Align::kRight},
                           {"p95", Align::kRight},
                           {"p99", Align::kRight},
                           {"max", Align::kRight},
                           {"time-weighted", Align::kRight}});
  const auto add = [&](const char* name, double misrank, const tune::Loss& loss) {
    table.add({name, percent(misrank), percent(loss.mean), percent(loss.p95), percent(loss.p99),
               percent(loss.max), percent(loss.time_weighted)});
  };
  add("table", report.table_misrank, report.loss);
  add("noise floor", report.floor_misrank, report.floor_loss);
  return text + table.text();
}

int run(const Options& options) {
  const auto tier = parse_tier(options.tier);
  if (!tier || !is_measured(*tier)) {
    throw UsageError(
        fmt::format("--tier: unknown tier {}; allowed are deep, coarse, preview, "
                    "custom",
                    quoted(options.tier)));
  }
  tune::ReplayOptions replay;
  replay.parameters = tune::parameters_of(*tier);
  replay.holdout = options.holdout;
  if (options.confidence) {
    if (!(*options.confidence > 0.5 && *options.confidence < 1)) {
      throw UsageError(
          fmt::format("--confidence: {} is out of range; allowed is above 0.5 and "
                      "below 1",
                      *options.confidence));
    }
    replay.parameters.rules.confidence = *options.confidence;
  }
  auto recording = tune::parse_recording(host::read_file(options.reps), options.reps);
  if (options.holdout) {
    int left_out = 0;
    const auto cells = recording.cells.size();
    recording = tune::held_out(recording, options.reps, left_out);
    if (left_out > 0) {
      note(
          fmt::format("furlong: {}: {} of {} cells lack one of the passes 1 and 2 and are left out",
                      options.reps, left_out, cells));
    }
  }
  const auto report = tune::replay(recording, replay);
  if (options.json) {
    print_json(report_json(options, recording, report));
  } else {
    print(report_text(options, recording, report));
  }
  return kOk;
}

}  // namespace

void add_replay(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("replay", "Judge a tier on recorded repetitions");
  app->footer(
      "Runs the very lattice, race and refinement of tune over a file that tune --record-reps\n"
      "wrote; measures nothing. With --holdout the race sees pass 1 and is judged on pass 2,\n"
      "which a second run over the same cells appends to the file. That run goes into another\n"
      "ledger folder: what a ledger holds is not measured again.\n"
      "Example:\n"
      "  furlong tune potrf --dtype float --grid n=8:16:32 --record-reps r.jsonl --ledger one\n"
      "  furlong tune potrf --dtype float --grid n=8:16:32 --record-reps r.jsonl --ledger two\n"
      "  furlong replay --reps r.jsonl --tier preview --holdout");
  auto options = std::make_shared<Options>();
  app->add_option("--reps", options->reps, "Recorded repetitions")->required()->type_name("FILE");
  app->add_option("--tier", options->tier, "deep, coarse, preview or custom")->required();
  app->add_flag("--holdout", options->holdout, "Race over pass 1, judge on pass 2");
  app->add_option("--confidence", options->confidence,
                  "One-sided elimination confidence (default: the tier's)");
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [options] { return run(*options); };
}

}  // namespace furlong::cli
