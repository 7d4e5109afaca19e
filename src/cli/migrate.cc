// furlong migrate: the older layout of tables and ledgers into the project's.
#include "tune/migrate.hh"

#include <fmt/format.h>

#include "cli/command.hh"
#include "report/text_table.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string old;
  std::optional<std::string> project;
  bool as_converted = false;
  bool json = false;
};

int migrate(const Options& options) {
  const auto project = load_project(options.project);
  const auto prepared = tune::prepare_migration(project, {options.old, options.as_converted});
  if (!prepared) {
    note(fmt::format("furlong: {}; nothing was written", prepared.reason()));
    if (options.json) print_json({{"schema", 1}, {"refused", prepared.reason()}});
    return kFindings;
  }
  for (const auto& warning : prepared->warnings) note("furlong: " + warning);
  tune::write_migration(*prepared);
  nlohmann::ordered_json written = nlohmann::ordered_json::array();
  report::TextTable rows(
      {{"ledger"}, {"old lines"}, {"converted"}, {"transcribed"}, {"rows proved"}, {"table"}});
  for (const auto& op : prepared->ops) {
    const std::string table = op.table.empty() ? "" : op.table_file.string();
    rows.add({op.ledger_file.string(), std::to_string(op.lines), std::to_string(op.converted),
              std::to_string(op.transcribed), std::to_string(op.proved),
              table.empty() ? "-" : table});
    written.push_back({{"op", op.op},
                       {"device", op.device},
                       {"ledger", op.ledger_file.string()},
                       {"table", table},
                       {"lines", op.lines},
                       {"converted", op.converted},
                       {"transcribed", op.transcribed},
                       {"proved", op.proved}});
  }
  if (options.json) {
    print_json({{"schema", 1}, {"migrated", written}, {"warnings", prepared->warnings}});
  } else {
    print(rows.text());
  }
  return kOk;
}

}  // namespace

void add_migrate(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("migrate", "Take over tables and ledgers of the older layout");
  app->footer(
      "OLD holds tuned/<op>.<dtype>.<device>.txt and ledger/<op>.<dtype>.<device>/<run>.jsonl.\n"
      "Nothing is written unless every new table is proved to have exactly the old rows, and no\n"
      "file is replaced.\n"
      "Example: furlong migrate ../old --as-converted");
  auto options = std::make_shared<Options>();
  app->add_option("OLD", options->old, "Folder of the older layout")->required();
  app->add_flag("--as-converted", options->as_converted,
                "Take timed rows without a ledger over as converted records");
  add_project_option(*app, options->project);
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [options] { return migrate(*options); };
}

}  // namespace furlong::cli
