// furlong bench: what a caller gets, against the vendor and against every candidate.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/text.hh"
#include "cli/command.hh"
#include "cli/grid_option.hh"
#include "cli/progress.hh"
#include "furlong/device_key.hh"
#include "host/affinity.hh"
#include "host/clock.hh"
#include "host/core_probe.hh"
#include "host/json.hh"
#include "race/compare.hh"
#include "report/text_table.hh"
#include "select/black_box.hh"
#include "tune/lattice.hh"
#include "tune/tiers.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string op;
  std::string dtype;
  std::string tier = "coarse";
  std::string against = "all";
  std::vector<std::string> grid;
  int rounds = 21;
  bool json = false;
};

/// One shape, measured.
struct Row {
  std::string dtype;
  std::string key;
  std::string winner;
  double auto_ms = 0;
  double vendor_ms = std::numeric_limits<double>::quiet_NaN();
  double speedup = std::numeric_limits<double>::quiet_NaN();  ///< vendor / auto, paired
  std::string best;  ///< of all candidates, on held-out rounds
  double regret = std::numeric_limits<double>::quiet_NaN();  ///< auto / best, paired
  std::string failure;                                       ///< why it was not timed
};

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.2f}", ratio) : std::string("-");
}

/// The first verification failure among the contenders; empty when all are right.
std::string verify(Problem& problem, const std::vector<int>& contenders,
                   const std::vector<std::string>& names) {
  problem.resize_ring(1);
  for (const int candidate : contenders) {
    problem.restore(1);
    problem.run(candidate, 0, 1);
    if (const std::string reason = problem.verify(0); !reason.empty()) {
      return fmt::format("{}: {}",
                         candidate == Problem::kAuto ? std::string("auto")
                                                     : names[static_cast<std::size_t>(candidate)],
                         reason);
    }
  }
  return "";
}

Row measure(const OpSpec& op, int dtype, const CellKey& key, const Options& options,
            race::CoreWatch& watch) {
  const auto& vocabulary = op.vocabulary;
  const auto& names = vocabulary.candidates[static_cast<std::size_t>(dtype)];
  Row row;
  row.dtype = vocabulary.dtypes[static_cast<std::size_t>(dtype)];
  row.key = key.text();
  const select::BlackBoxQuery query{vocabulary.op, row.dtype, this_cpu().text, row.key, {}, {}};
  const auto can_run = [&](int candidate) { return op.can_run(row.dtype, key, candidate); };
  try {
    row.winner = select::choose_for_op(op.selector(), query, can_run).spelling;
  } catch (const select::NoCandidate&) {
    row.failure = "no candidate can run";
    return row;
  }

  std::vector<int> contenders = {Problem::kAuto};
  for (std::size_t c = 0; c < names.size(); ++c) {
    const bool vendor = family_of(names[c]) == "vendor";
    if (options.against == "vendor" && !vendor) continue;
    if (!can_run(static_cast<int>(c))) contenders.push_back(static_cast<int>(c));
  }
  const auto problem = op.make_problem(row.dtype, key, {});
  row.failure = verify(*problem, contenders, names);
  if (!row.failure.empty()) return row;
  race::CompareOptions how;
  how.rounds = options.rounds;
  const auto timed = race::compare(*problem, contenders, how, host::system_clock(), watch);
  row.auto_ms = timed.front().median_ms;
  for (const auto& contender : timed) {
    if (contender.candidate == Problem::kAuto) continue;
    if (family_of(names[static_cast<std::size_t>(contender.candidate)]) != "vendor") continue;
    row.vendor_ms = contender.median_ms;
    row.speedup = race::paired_ratio(contender.ms, timed.front().ms);
    break;
  }
  if (options.against == "all") {
    const auto regret = race::held_out_regret(timed.front(), timed);
    row.regret = regret.ratio;
    row.best =
        regret.best == Problem::kAuto ? row.winner : names[static_cast<std::size_t>(regret.best)];
  }
  return row;
}

struct Totals {
  double geometric_mean = std::numeric_limits<double>::quiet_NaN();
  int timed = 0;
  int over_five_percent = 0;
  double worst_regret = std::numeric_limits<double>::quiet_NaN();
  std::string worst;
};

Totals total(const std::vector<Row>& rows) {
  Totals totals;
  double log_sum = 0;
  int with_vendor = 0;
  for (const Row& row : rows) {
    if (!row.failure.empty()) continue;
    ++totals.timed;
    if (std::isfinite(row.speedup)) {
      log_sum += std::log(row.speedup);
      ++with_vendor;
    }
    if (std::isfinite(row.regret)) {
      if (row.regret > 1.05) ++totals.over_five_percent;
      if (!(row.regret <= totals.worst_regret)) {
        totals.worst_regret = row.regret;
        totals.worst = row.dtype + " " + row.key;
      }
    }
  }
  if (with_vendor > 0) totals.geometric_mean = std::exp(log_sum / with_vendor);
  return totals;
}

void print_rows(const std::vector<Row>& rows, const Options& options) {
  using report::Align;
  std::vector<report::TextTable::Column> columns = {{"dtype"},
                                                    {"shape"},
                                                    {"winner"},
                                                    {"ms", Align::kRight},
                                                    {"vendor ms", Align::kRight},
                                                    {"speedup", Align::kRight}};
  const bool all = options.against == "all";
  if (all) {
    columns.push_back({"best candidate"});
    columns.push_back({"auto/best", Align::kRight});
  }
  report::TextTable table(columns);
  for (const Row& row : rows) {
    const bool timed = row.failure.empty();
    std::vector<std::string> cells = {
        row.dtype,
        row.key,
        timed ? row.winner : row.failure,
        timed ? format_ms(row.auto_ms) : "-",
        timed && std::isfinite(row.vendor_ms) ? format_ms(row.vendor_ms) : "-",
        ratio_text(row.speedup)};
    if (all) {
      cells.push_back(row.best);
      cells.push_back(ratio_text(row.regret));
    }
    table.add(cells);
  }
  print(table.text());
}

nlohmann::ordered_json row_json(const Row& row) {
  return {{"dtype", row.dtype},
          {"key", row.key},
          {"winner", row.winner},
          {"ms", host::json_number(row.auto_ms)},
          {"vendor_ms", host::json_number(row.vendor_ms)},
          {"speedup", host::json_number(row.speedup)},
          {"best", row.best},
          {"auto_over_best", host::json_number(row.regret)},
          {"failure", row.failure}};
}

int run(const Context& context, const Options& options) {
  const OpSpec& op = context.op(options.op);
  if (options.against != "all" && options.against != "vendor") {
    throw UsageError(
        fmt::format("--against: unknown {}; allowed are all, vendor", quoted(options.against)));
  }
  if (options.rounds < 2) throw UsageError("--rounds: at least 2 (one picks the best, one judges)");
  const Tier tier = raced_tier(options.tier);
  const auto grid = parse_grid(options.grid);
  const host::ScopedCore core;
  Progress progress;

  std::vector<std::pair<int, CellKey>> cells;
  for (const int d : dtype_list(op, options.dtype)) {
    const std::string& dtype = op.vocabulary.dtypes[static_cast<std::size_t>(d)];
    const auto axes = tune::override_axes(op.axes(dtype), grid);
    for (const CellKey& key : tune::lattice(axes, tune::parameters_of(tier).stride)) {
      if (op.grid_bytes > 0 && op.input_bytes(dtype, key) > op.grid_bytes) continue;
      cells.emplace_back(d, key);
    }
  }
  race::CoreWatch watch([] { return host::core_probe_s(host::system_clock()); });
  std::vector<Row> rows;
  for (const auto& [d, key] : cells) {
    progress.show(fmt::format("[{}/{}] {} {} {}", rows.size(), cells.size(), options.op,
                              op.vocabulary.dtypes[static_cast<std::size_t>(d)], key.text()));
    rows.push_back(measure(op, d, key, options, watch));
  }
  progress.clear();

  const Totals totals = total(rows);
  if (options.json) {
    nlohmann::ordered_json shapes = nlohmann::ordered_json::array();
    for (const Row& row : rows) shapes.push_back(row_json(row));
    print_json({{"schema", 1},
                {"op", options.op},
                {"device", this_cpu().text},
                {"environment", op.environment()},
                {"threads", 1},
                {"core", core.core()},
                {"shapes", shapes},
                {"geometric_mean", host::json_number(totals.geometric_mean)},
                {"worst_auto_over_best", host::json_number(totals.worst_regret)},
                {"over_five_percent", totals.over_five_percent}});
  } else {
    print_rows(rows, options);
    print(fmt::format("\n{} on {} ({}), one thread on core {}; {}\n", options.op, this_cpu().text,
                      this_cpu_name(), core.core(), op.environment()));
    print(fmt::format("geometric mean of the speedup over the vendor loop: {:.2f}x ({} shapes)\n",
                      totals.geometric_mean, totals.timed));
    if (options.against == "all") {
      print(
          fmt::format("auto against the best candidate, held out: worst {:.3f} at {}; {} of {} "
                      "shapes more than 5 % slower\n",
                      totals.worst_regret, totals.worst, totals.over_five_percent, totals.timed));
    }
  }
  const bool failed = totals.timed != static_cast<int>(rows.size());
  return failed ? kFindings : kOk;
}

}  // namespace

void add_bench(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("bench", "Time automatic selection against the candidates");
  app->footer(
      "Every contender is verified, then runs once a round in shuffled order; half a second a "
      "shape\n"
      "may go into waiting until nobody else works on the core. Ratios are medians of paired "
      "rounds.\n"
      "The best candidate is named on one half of the rounds and judged on the other.\n"
      "Example: furlong bench potrf --dtype float --grid n=4:8:16 --grid batch=8192");
  auto options = std::make_shared<Options>();
  app->add_option("op", options->op, "Op")->required();
  app->add_option("--dtype", options->dtype, "Dtypes, comma-separated (default: all of the op)");
  app->add_option("--tier", options->tier,
                  "Whose lattice gives the shapes: preview, coarse or deep")
      ->capture_default_str();
  app->add_option("--grid", options->grid, "Axis values that replace the grid's: name=v1:v2");
  app->add_option("--against", options->against, "all candidates, or the vendor alone: all, vendor")
      ->capture_default_str();
  app->add_option("--rounds", options->rounds, "Timed rounds a shape")->capture_default_str();
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [options, &context] { return run(context, *options); };
}

}  // namespace furlong::cli
