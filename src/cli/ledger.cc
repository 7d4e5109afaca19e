// furlong ledger: verify, repair and merge whole ledger files.
#include <fmt/format.h>

#include <filesystem>

#include "cli/command.hh"
#include "furlong/error.hh"
#include "ledger/tools.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string out;
  std::optional<std::string> project;
  bool json = false;
};

ledger::ReadOptions read_options(const Options& options) {
  const auto project = load_project(options.project);
  return {project.dtypes, project.library};
}

nlohmann::ordered_json lines_json(const std::vector<ledger::DamagedLine>& lines) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& line : lines) {
    all.push_back({{"line", line.line},
                   {"reason", line.reason},
                   {"torn", line.torn},
                   {"records_kept", line.kept}});
  }
  return all;
}

int verify(const Options& options) {
  const auto read = read_options(options);
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  int bad = 0;
  for (const std::string& file : options.files) {
    ledger::Verification found;
    std::string failure;
    try {
      found = ledger::verify_file(file, read);
    } catch (const Error& error) {
      failure = error.what();
    }
    const bool sound = failure.empty() && found.damaged.empty();
    bad += sound ? 0 : 1;
    if (options.json) {
      files.push_back({{"file", file},
                       {"sound", sound},
                       {"records", found.records},
                       {"unchecked", found.unchecked},
                       {"damaged", lines_json(found.damaged)},
                       {"warnings", found.warnings},
                       {"error", failure}});
      continue;
    }
    if (!failure.empty()) {
      print(failure + "\n");
      continue;
    }
    for (const auto& line : found.damaged) {
      print(fmt::format("{}:{}: {}{}\n", file, line.line, line.torn ? "torn: " : "", line.reason));
    }
    for (const auto& warning : found.warnings) note("furlong: " + warning);
    print(fmt::format("{}: {} records ({} without a crc), {} malformed lines\n", file,
                      found.records, found.unchecked, found.damaged.size()));
  }
  if (options.json) print_json({{"schema", 1}, {"files", files}});
  return bad == 0 ? kOk : kFindings;
}

int repair(const Options& options) {
  const auto read = read_options(options);
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  int failed = 0;
  for (const std::string& file : options.files) {
    std::vector<ledger::DamagedLine> moved;
    std::string failure;
    try {
      moved = ledger::repair_file(file, read);
    } catch (const Error& error) {
      failure = error.what();
      ++failed;
    }
    if (options.json) {
      files.push_back({{"file", file}, {"moved", lines_json(moved)}, {"error", failure}});
      continue;
    }
    if (!failure.empty()) {
      print(failure + "\n");
      continue;
    }
    for (const auto& line : moved) {
      print(fmt::format("{}:{}: {}{}\n", file, line.line, line.reason,
                        line.kept > 0 ? fmt::format(" ({} records inside kept)", line.kept) : ""));
    }
    print(moved.empty() ? fmt::format("{}: nothing to repair\n", file)
                        : fmt::format("{}: moved {} malformed lines to {}.damaged\n", file,
                                      moved.size(), file));
  }
  if (options.json) print_json({{"schema", 1}, {"files", files}});
  return failed == 0 ? kOk : kFindings;
}

int merge(const Options& options) {
  const std::vector<std::filesystem::path> inputs(options.files.begin(), options.files.end());
  ledger::merge_files(inputs, options.out, read_options(options));
  if (options.json) {
    print_json({{"schema", 1}, {"out", options.out}, {"inputs", options.files}});
  } else {
    print(fmt::format("{}: the union of {} ledgers\n", options.out, options.files.size()));
  }
  return kOk;
}

/// The options that all three share.
std::shared_ptr<Options> add_shared(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("files", options->files, "Ledger files")->required()->type_name("FILE");
  add_project_option(app, options->project);
  app.add_flag("--json", options->json, "Print JSON");
  return options;
}

}  // namespace

void add_ledger(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("ledger", "Verify, repair or merge ledger files");
  app->require_subcommand(1);
  app->footer("Example: furlong ledger verify ledger/potrf.cpu_avx512_zen5.jsonl");

  auto* verify_app = app->add_subcommand("verify", "Report every malformed line with its reason");
  verify_app->footer(
      "Exit 1 where a line is malformed or a file cannot be read.\n"
      "Example: furlong ledger verify ledger/*.jsonl");
  context.actions[verify_app] = [options = add_shared(*verify_app)] { return verify(*options); };

  auto* repair_app = app->add_subcommand("repair", "Move malformed lines out of the files");
  repair_app->footer(
      "Malformed lines go to FILE.damaged; every undamaged record stays, byte for byte.\n"
      "Example: furlong ledger repair ledger/potrf.cpu_avx512_zen5.jsonl");
  context.actions[repair_app] = [options = add_shared(*repair_app)] { return repair(*options); };

  auto* merge_app = app->add_subcommand("merge", "Unite ledgers of several machines or branches");
  merge_app->footer(
      "Every distinct line once. Refuses malformed input, and an output that would lose a line.\n"
      "Example: furlong ledger merge ours.jsonl theirs.jsonl -o ledger/potrf.sm_90.jsonl");
  auto options = add_shared(*merge_app);
  merge_app->add_option("-o,--out", options->out, "File of the union; may be one of the inputs")
      ->required()
      ->type_name("OUT")
      ->check(not_empty);
  context.actions[merge_app] = [options] { return merge(*options); };
}

}  // namespace furlong::cli
