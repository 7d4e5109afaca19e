// furlong sample: names the cells that speak for all old records after an edit.
#include "ledger/sample.hh"

#include <fmt/format.h>

#include <filesystem>

#include "cli/command.hh"
#include "furlong/device_key.hh"
#include "furlong/error.hh"
#include "ledger/ledger.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string op;
  std::string device;
  std::int64_t cells = static_cast<std::int64_t>(ledger::kSampleCells);
  std::optional<std::string> project;
  bool json = false;
};

int run(const Context& context, const Options& options) {
  if (options.cells < static_cast<std::int64_t>(ledger::kSampleCells)) {
    throw UsageError(fmt::format("--cells: must be a whole number >= {}", ledger::kSampleCells));
  }
  const std::string device = options.device.empty() ? this_cpu().text : options.device;
  const auto project = load_project(options.project);
  const auto file = project.ledger_file(options.op, device);
  if (!path_is_there(file)) {
    throw Error(file.string(), fmt::format("no such ledger; furlong tune {} writes it on a device "
                                           "{}, --device names another",
                                           options.op, device));
  }
  const auto ledger = ledger::Ledger::read(file, {project.dtypes, project.library});
  for (const auto& warning : ledger.warnings()) note("furlong: " + warning);
  const auto sample =
      ledger::draw_sample(ledger, project.dtypes, hashes_now(context, project, options.op),
                          static_cast<std::size_t>(options.cells));
  nlohmann::ordered_json cells = nlohmann::ordered_json::array();
  for (const auto& cell : sample) {
    const std::string& dtype = project.dtypes.names()[static_cast<std::size_t>(cell.dtype)];
    cells.push_back({{"dtype", dtype}, {"key", cell.key}});
    if (!options.json) print(fmt::format("{} {} {}\n", options.op, dtype, cell.key));
  }
  if (options.json) {
    print_json({{"schema", 1}, {"op", options.op}, {"device", device}, {"cells", cells}});
  }
  return kOk;
}

}  // namespace

void add_sample(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("sample", "Name a stratified sample of the recorded cells");
  app->footer(
      "Prints lines `<op> <dtype> <cell key>`: per dtype and combination of exact keys the cells "
      "at\n"
      "the min, median and max of every log key, then cells spread evenly over the rest. Measure\n"
      "them with furlong tune OP --tier custom --remeasure-keys FILE; furlong rehash sample then\n"
      "compares. Exit 1 where the ledger holds fewer than 64 cells.\n"
      "Example: furlong sample potrf > cells.txt");
  auto options = std::make_shared<Options>();
  app->add_option("op", options->op, "Op")->required();
  app->add_option("--device", options->device, "Device key (default: this machine's)")
      ->check(not_empty);
  app->add_option("--cells", options->cells, "How many cells, at least 64 (default: 64)")
      ->type_name("N");
  add_project_option(*app, options->project);
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [&context, options] { return run(context, *options); };
}

}  // namespace furlong::cli
