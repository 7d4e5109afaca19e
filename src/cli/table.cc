// furlong table: fold ledgers into tables, or check that the tables equal their ledgers.
#include "furlong/table.hh"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "report/text_table.hh"
#include "tune/generate.hh"
#include "tune/golden_cases.hh"

namespace furlong::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string op;
  std::string device;
  std::optional<std::string> out;
  std::optional<std::string> ledger;
  std::optional<std::string> project;
  bool check = false;
  bool self_test = false;
  bool json = false;
};

struct LedgerName {
  std::string op;
  std::string device;
};

bool wanted(const Options& options, const std::string& op, const std::string& device) {
  return (options.op.empty() || options.op == op) &&
         (options.device.empty() || options.device == device);
}

/// The (op, device) of every file `<op>.<device><ending>` in a folder, by name. Files with that
/// ending and another form of name go to `misnamed`.
std::vector<LedgerName> names_in(const fs::path& folder, const std::string& ending,
                                 const Options& options, std::vector<std::string>& misnamed) {
  std::vector<LedgerName> names;
  for (const std::string& file : names_in_folder(folder)) {
    if (file.size() <= ending.size() ||
        file.compare(file.size() - ending.size(), ending.size(), ending) != 0) {
      continue;
    }
    // Both kinds of file share the form of their names; a table's is checked by its parser.
    const auto name = parse_table_name(file.substr(0, file.size() - ending.size()) + ".txt");
    if (!name) misnamed.push_back(file);
    if (!name || !wanted(options, name->first, name->second.text)) continue;
    names.push_back({name->first, name->second.text});
  }
  return names;
}

ledger::Project project_of(const Options& options) {
  auto project = load_project(options.project);
  if (options.ledger) project.ledger = fs::absolute(*options.ledger);
  if (options.out) project.tables = fs::absolute(*options.out);
  return project;
}

std::string tier_text(const tune::GeneratedTable& table) {
  std::string text;
  for (std::size_t t = 0; t < table.rows.size(); ++t) {
    if (table.rows[t] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", table.rows[t], kTierNames[t]);
  }
  return text.empty() ? "no rows" : text;
}

int generate(const Context& context, const Options& options) {
  const auto project = project_of(options);
  std::vector<std::string> misnamed;
  const auto names = names_in(project.ledger_dir(), ".jsonl", options, misnamed);
  for (const std::string& file : misnamed) {
    note(fmt::format("furlong: {}: bad ledger name; allowed is <op>.<device>.jsonl; skipped",
                     (project.ledger_dir() / file).string()));
  }
  if (names.empty()) {
    throw Error(project.ledger_dir().string(),
                fmt::format("holds no ledger{}{}; furlong tune writes <op>.<device>.jsonl there",
                            options.op.empty() ? "" : " of " + options.op,
                            options.device.empty() ? "" : " for " + options.device));
  }
  // Everything is derived before anything is written: a refusal leaves no half-new folder.
  std::vector<tune::GeneratedTable> tables;
  for (const auto& name : names) {
    tables.push_back(
        tune::generate_table(project, name.op, name.device, hashes_now(context, project, name.op)));
    for (const auto& warning : tables.back().warnings) note("furlong: " + warning);
  }
  nlohmann::ordered_json written = nlohmann::ordered_json::array();
  report::TextTable rows({{"table"}, {"rows"}});
  for (const auto& table : tables) {
    const auto path = project.table_file(table.op, table.device);
    host::write_file_atomically(path, table.text);
    rows.add({path.string(), tier_text(table)});
    nlohmann::ordered_json tiers = nlohmann::ordered_json::object();
    for (std::size_t t = 0; t < table.rows.size(); ++t) {
      tiers[std::string(kTierNames[t])] = table.rows[t];
    }
    written.push_back(
        {{"op", table.op}, {"device", table.device}, {"file", path.string()}, {"rows", tiers}});
  }
  if (options.json) {
    print_json({{"schema", 1}, {"tables", written}});
  } else {
    print(rows.text());
  }
  return kOk;
}

int check(const Context& context, const Options& options) {
  const auto project = project_of(options);
  std::vector<std::string> misnamed;
  auto names = names_in(project.tables_dir(), ".txt", options, misnamed);
  if (names.empty() && misnamed.empty()) {
    throw Error(project.tables_dir().string(),
                fmt::format("holds no table{}{} to check; tables are named <op>.<device>.txt",
                            options.op.empty() ? "" : " of " + options.op,
                            options.device.empty() ? "" : " for " + options.device));
  }
  nlohmann::ordered_json checked = nlohmann::ordered_json::array();
  report::TextTable rows({{"table"}, {"equals its ledger"}});
  int differing = 0;
  for (const std::string& file : misnamed) {
    const std::string reason = "bad table name; allowed is <op>.<device>.txt";
    ++differing;
    rows.add({(project.tables_dir() / file).string(), "no: " + reason});
    checked.push_back({{"file", file}, {"equal", false}, {"difference", reason}});
  }
  for (const auto& name : names) {
    const auto file = project.table_file(name.op, name.device);
    std::string difference;
    std::vector<std::string> warnings;
    try {
      const auto result = tune::check_table(project, name.op, name.device);
      difference = result.equal ? "" : result.difference;
      warnings = result.warnings;
    } catch (const Error& error) {
      difference = error.what();
    }
    try {
      const auto stale =
          tune::stale_kernel_warnings(tune::TableHeader(host::read_file(file)), file.string(),
                                      hashes_now(context, project, name.op));
      warnings.insert(warnings.end(), stale.begin(), stale.end());
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
    }
    for (const auto& warning : warnings) note("furlong: " + warning);
    differing += difference.empty() ? 0 : 1;
    rows.add({file.string(), difference.empty() ? "yes" : "no: " + difference});
    checked.push_back({{"op", name.op},
                       {"device", name.device},
                       {"equal", difference.empty()},
                       {"difference", difference},
                       {"warnings", warnings}});
  }
  if (options.json) {
    print_json({{"schema", 1}, {"checked", checked}});
  } else {
    print(rows.text());
  }
  return differing == 0 ? kOk : kFindings;
}

int self_test(const Options& options) {
  const auto results = tune::self_test(tune::golden_cases());
  nlohmann::ordered_json cases = nlohmann::ordered_json::array();
  std::size_t right = 0;
  for (const auto& [name, difference] : results) {
    right += difference.empty() ? 1 : 0;
    cases.push_back({{"case", name}, {"right", difference.empty()}, {"difference", difference}});
    if (!options.json && !difference.empty()) print(fmt::format("{}: {}\n", name, difference));
  }
  if (options.json) {
    print_json({{"schema", 1}, {"right", right}, {"cases", cases}});
  } else {
    print(fmt::format("{} of {} cases right\n", right, results.size()));
  }
  return right == results.size() ? kOk : kFindings;
}

}  // namespace

void add_table(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("table", "Derive the tables from the ledgers, or check them");
  app->footer(
      "A table is a pure function of its ledger and the kernel hashes: byte for byte the same on\n"
      "every machine. --check derives each table again with the hashes of its own header; kernels\n"
      "that were edited since are warnings.\n"
      "Example: furlong table --op potrf && furlong table --check");
  auto options = std::make_shared<Options>();
  app->add_option("--op", options->op, "Only this op")->check(not_empty);
  app->add_option("--device", options->device, "Only this device")->check(not_empty);
  app->add_option("--out", options->out, "Folder of the tables (default: the project's)")
      ->type_name("DIR")
      ->check(not_empty);
  app->add_option("--ledger", options->ledger, "Folder of the ledgers (default: the project's)")
      ->type_name("DIR")
      ->check(not_empty);
  app->add_flag("--check", options->check, "Write nothing; exit 1 where a table differs");
  auto* self_test_flag = app->add_flag("--self-test", options->self_test,
                                       "Derive built-in golden cases; needs no project");
  add_project_option(*app, options->project);
  for (const char* name : {"--op", "--device", "--out", "--ledger", "--check", "--project"}) {
    self_test_flag->excludes(app->get_option(name));
  }
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [&context, options] {
    if (options->self_test) return self_test(*options);
    return options->check ? check(context, *options) : generate(context, *options);
  };
}

}  // namespace furlong::cli
