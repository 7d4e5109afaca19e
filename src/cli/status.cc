// furlong status: what the ledgers hold, what of it is stale, and the state of the tables.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/device_key.hh"
#include "furlong/error.hh"
#include "furlong/table.hh"
#include "host/clock.hh"
#include "host/files.hh"
#include "ledger/freshness.hh"
#include "report/text_table.hh"
#include "tune/generate.hh"

namespace furlong::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string op;
  std::optional<std::string> ledger;
  std::optional<std::string> project;
  bool json = false;
};

/// One op x dtype x device.
struct Line {
  std::string op;
  std::string dtype;
  std::string device;
  int runs = 0;
  int cells = 0;  ///< distinct cell keys with a record that counts, or any record
  std::array<int, kTierNames.size()> tiers{};  ///< best records
  int current = 0;
  int partly = 0;
  int stale = 0;  ///< cells without a record that counts
  std::string newest_run;
  std::string newest_date;
  int age_days = 0;
  bool env_changed = false;
  std::string table;  ///< its tiers and date, or why there is none
};

int days_between(const std::string& from, const std::string& to) {
  const auto days = [](const std::string& date) -> std::optional<std::chrono::sys_days> {
    int y = 0;
    unsigned m = 0;
    unsigned d = 0;
    if (std::sscanf(date.c_str(), "%d-%u-%u", &y, &m, &d) != 3) return std::nullopt;
    return std::chrono::sys_days(std::chrono::year(y) / std::chrono::month(m) /
                                 std::chrono::day(d));
  };
  const auto a = days(from);
  const auto b = days(to);
  return a && b ? static_cast<int>((*b - *a).count()) : 0;
}

/// What went wrong with files, to be told beside what could be read.
struct Findings {
  std::vector<std::string> warnings;
  std::vector<std::string> errors;
};

/// A table file, or why there is none.
struct TableState {
  std::optional<TableFile> table;
  std::string otherwise;

  std::string text(const std::string& dtype) const {
    if (!table) return otherwise;
    std::size_t rows = 0;
    for (const auto& one : table->tables) {
      if (one.dtype == dtype) rows = one.rows.size();
    }
    const std::string* date = table->find("date");
    return fmt::format("{} rows{}{}", rows, date != nullptr ? " of " : "",
                       date != nullptr ? *date : "");
  }
};

TableState table_state(const ledger::Project& project, const std::string& op,
                       const std::string& device, Findings& findings) {
  const auto file = project.table_file(op, device);
  try {
    if (!path_is_there(file)) return {std::nullopt, "none (furlong table)"};
    return {parse_tables(host::read_file(file), file.string(), project.dtypes), ""};
  } catch (const Error& error) {
    findings.errors.emplace_back(error.what());
    return {std::nullopt, "unreadable"};
  }
}

std::vector<Line> lines_of(const Context& context, const ledger::Project& project,
                           const std::string& op, const std::string& device, Findings& findings) {
  const auto file = project.ledger_file(op, device);
  const auto ledger = ledger::Ledger::read(file, {project.dtypes, project.library});
  findings.warnings.insert(findings.warnings.end(), ledger.warnings().begin(),
                           ledger.warnings().end());
  if (ledger.runs().empty()) return {};
  const auto hashes = hashes_now(context, project, op);
  const ledger::Freshness freshness(ledger, project.dtypes,
                                    ledger::now_of_newest_runs(ledger, project.dtypes, hashes));

  const TableState table = table_state(project, op, device, findings);
  std::vector<Line> lines;
  for (std::size_t d = 0; d < project.dtypes.names().size(); ++d) {
    const auto dtype = static_cast<std::int32_t>(d);
    Line line;
    line.op = op;
    line.dtype = project.dtypes.names()[d];
    line.device = device;
    std::set<std::string> envs;
    for (const auto& run : ledger.runs()) {
      if (run.dtype != dtype) continue;
      ++line.runs;
      if (is_measured(run.run.tier)) envs.insert(run.run.env);
    }
    if (line.runs == 0) continue;
    line.env_changed = envs.size() > 1;
    std::set<std::uint32_t> all;
    for (std::size_t r = 0; r < ledger.cells().size(); ++r) {
      if (ledger.cells()[r].dtype == dtype) all.insert(freshness.cell_id(r));
    }
    std::set<std::uint32_t> held;
    for (const auto best : freshness.best()) {
      const auto record = static_cast<std::size_t>(best);
      const auto& cell = ledger.cells()[record];
      if (cell.dtype != dtype) continue;
      held.insert(freshness.cell_id(record));
      ++line.tiers[static_cast<std::size_t>(cell.tier)];
      if (freshness.standing(record) == ledger::Standing::kCurrent) ++line.current;
      if (freshness.standing(record) == ledger::Standing::kPartlyStale) ++line.partly;
    }
    line.cells = static_cast<int>(all.size());
    line.stale = static_cast<int>(all.size()) - static_cast<int>(held.size());
    const auto* newest = ledger::newest_run(ledger, dtype);
    line.newest_run = newest->run.run_id;
    line.newest_date = newest->run.date;
    line.age_days = days_between(line.newest_date, host::utc_date(host::system_clock().now()));
    line.table = table.text(line.dtype);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string tier_mix(const Line& line) {
  std::string text;
  for (std::size_t t = 0; t < line.tiers.size(); ++t) {
    if (line.tiers[t] == 0) continue;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", kTierNames[t], line.tiers[t]);
  }
  return text.empty() ? "-" : text;
}

int run(const Context& context, const Options& options) {
  auto project = load_project(options.project);
  if (options.ledger) project.ledger = fs::absolute(*options.ledger);
  if (options.ledger && !path_is_there(project.ledger_dir())) {
    throw Error(project.ledger_dir().string(), "is no folder; ledgers are files in a folder");
  }
  std::vector<Line> lines;
  Findings findings;
  for (const std::string& file : names_in_folder(project.ledger_dir())) {
    const auto parts = split(file, '.');
    if (parts.back() == "jsonl" && (parts.size() != 3 || !DeviceKey::parse(parts[1]))) {
      findings.warnings.push_back(
          fmt::format("{}: bad ledger name; allowed is <op>.<device>.jsonl; skipped",
                      (project.ledger_dir() / file).string()));
      continue;
    }
    if (parts.size() != 3 || parts[2] != "jsonl") continue;
    if (!options.op.empty() && parts[0] != options.op) continue;
    try {
      for (auto& line :
           lines_of(context, project, std::string(parts[0]), std::string(parts[1]), findings)) {
        lines.push_back(std::move(line));
      }
    } catch (const Error& error) {
      findings.errors.emplace_back(error.what());
    }
  }
  for (const auto& error : findings.errors) note("furlong: " + error);
  for (const auto& warning : findings.warnings) note("furlong: " + warning);
  if (options.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Line& line : lines) {
      nlohmann::ordered_json tiers = nlohmann::ordered_json::object();
      for (std::size_t t = 0; t < line.tiers.size(); ++t) {
        tiers[std::string(kTierNames[t])] = line.tiers[t];
      }
      all.push_back({{"op", line.op},
                     {"dtype", line.dtype},
                     {"device", line.device},
                     {"runs", line.runs},
                     {"cells", line.cells},
                     {"tiers", tiers},
                     {"current", line.current},
                     {"partly_stale", line.partly},
                     {"stale", line.stale},
                     {"newest_run", line.newest_run},
                     {"newest_date", line.newest_date},
                     {"age_days", line.age_days},
                     {"env_changed", line.env_changed},
                     {"table", line.table}});
    }
    print_json({{"schema", 1},
                {"ledgers", all},
                {"warnings", findings.warnings},
                {"errors", findings.errors}});
  } else if (lines.empty()) {
    // Where something could not be read, nobody knows.
    if (findings.errors.empty()) {
      print(fmt::format("no records in {}\n", project.ledger_dir().string()));
    }
  } else {
    using report::Align;
    report::TextTable table({{"op"},
                             {"dtype"},
                             {"device"},
                             {"runs", Align::kRight},
                             {"cells", Align::kRight},
                             {"tiers"},
                             {"current", Align::kRight},
                             {"partly stale", Align::kRight},
                             {"stale", Align::kRight},
                             {"newest run"},
                             {"age"},
                             {"table"}});
    for (const Line& line : lines) {
      table.add({line.op, line.dtype, line.device, std::to_string(line.runs),
                 std::to_string(line.cells), tier_mix(line), std::to_string(line.current),
                 std::to_string(line.partly), std::to_string(line.stale), line.newest_run,
                 fmt::format("{} d", line.age_days), line.table});
    }
    print(table.text());
    for (const Line& line : lines) {
      if (line.env_changed) {
        print(
            fmt::format("note: {} {} {}: runs were made in different environments (compiler, "
                        "SIMD target or vendor library changed); see env in the run lines\n",
                        line.op, line.dtype, line.device));
      }
    }
  }
  return findings.errors.empty() ? kOk : kFindings;
}

}  // namespace

void add_status(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("status", "Show what the ledgers hold and what of it is stale");
  app->footer(
      "A cell is stale when no record of it holds with today's kernels; partly stale when its "
      "winner\n"
      "holds but other candidates changed.\n"
      "Example: furlong status --op potrf");
  auto options = std::make_shared<Options>();
  app->add_option("--op", options->op, "Only this op")->check(not_empty);
  app->add_option("--ledger", options->ledger, "Folder of the ledgers (default: the project's)")
      ->type_name("DIR")
      ->check(not_empty);
  add_project_option(*app, options->project);
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [&context, options] { return run(context, *options); };
}

}  // namespace furlong::cli
