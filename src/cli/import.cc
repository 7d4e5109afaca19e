// furlong import: what other tuners measured, as records of this one.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "host/gzip.hh"
#include "ledger/ledger.hh"
#include "ledger/writer.hh"
#include "report/text_table.hh"
#include "tune/import_kernel_tuner.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  tune::ImportNames names;
  std::optional<std::string> dtype;
  std::optional<std::string> folder;
  std::optional<std::string> reps;
  std::optional<std::string> project;
  bool json = false;
};

/// Does the ledger hold this run already?
bool is_there(const std::filesystem::path& file, const tune::ImportedLedger& one,
              const ledger::Project& project) {
  if (!std::filesystem::exists(file)) return false;
  const auto ledger = ledger::Ledger::read(file, {project.dtypes, project.library});
  const auto& runs = ledger.runs();
  return std::any_of(runs.begin(), runs.end(), [&](const ledger::StoredRun& stored) {
    return stored.run.run_id == one.run.run_id && stored.run.dtype == one.run.dtype;
  });
}

void append(const std::filesystem::path& file, const tune::ImportedLedger& one,
            const ledger::Project& project) {
  ledger::Appender appender(file);
  appender.append(ledger::to_line(one.run, project.library));
  for (const ledger::Cell& cell : one.cells) appender.append(ledger::to_line(cell));
  appender.sync();
}

int count(const ledger::Cell& cell, ledger::Status status) {
  return static_cast<int>(
      std::count_if(cell.outcomes.begin(), cell.outcomes.end(),
                    [&](const ledger::Outcome& outcome) { return outcome.status == status; }));
}

int import_kernel_tuner(const Options& options, const std::string& argv) {
  using ledger::Status;
  using report::Align;
  const auto project = load_project(options.project);
  const std::string dtype = options.dtype.value_or(project.dtypes.names().front());
  if (!project.dtypes.contains(dtype)) {
    throw UsageError(fmt::format("--dtype: unknown dtype {}; allowed are {}", quoted(dtype),
                                 project.dtypes.text()));
  }
  std::vector<tune::ImportedSpace> spaces;
  for (const std::string& file : options.files) {
    std::string bytes = host::read_file(file);
    if (host::is_gzip(bytes)) bytes = host::gunzip(bytes, file);
    spaces.push_back(tune::read_kernel_tuner(bytes, file, options.names));
  }
  auto ledgers = tune::import_ledgers(spaces, dtype);
  std::string repetitions;
  if (options.reps) repetitions = tune::repetitions_text(spaces, dtype);
  const auto file_of = [&](const tune::ImportedLedger& one) {
    if (!options.folder) return project.ledger_file(one.op, one.device);
    return std::filesystem::path(*options.folder) / fmt::format("{}.{}.jsonl", one.op, one.device);
  };
  // Every ledger is read before the first one is touched.
  std::vector<bool> known;
  for (const auto& one : ledgers) known.push_back(is_there(file_of(one), one, project));

  nlohmann::ordered_json imported = nlohmann::ordered_json::array();
  report::TextTable rows({{"ledger"},
                          {"cell"},
                          {"ok", Align::kRight},
                          {"bad", Align::kRight},
                          {"skipped", Align::kRight},
                          {"error", Align::kRight},
                          {"winner"}});
  for (std::size_t i = 0; i < ledgers.size(); ++i) {
    tune::ImportedLedger& one = ledgers[i];
    const std::filesystem::path file = file_of(one);
    if (known[i]) {
      note(fmt::format("furlong: {} holds run {} already; nothing was added to it", file.string(),
                       one.run.run_id));
    } else {
      one.run.argv = argv;
      append(file, one, project);
    }
    for (const ledger::Cell& cell : one.cells) {
      const std::string winner = cell.ranked.empty() ? "" : cell.ranked.front();
      rows.add({file.string(), cell.key, std::to_string(count(cell, Status::kOk)),
                std::to_string(count(cell, Status::kBad)),
                std::to_string(count(cell, Status::kSkipped)),
                std::to_string(count(cell, Status::kError)), winner.empty() ? "-" : winner});
      imported.push_back({{"ledger", file.string()},
                          {"run_id", one.run.run_id},
                          {"added", !known[i]},
                          {"op", one.op},
                          {"device", one.device},
                          {"dtype", dtype},
                          {"key", cell.key},
                          {"candidates", cell.outcomes.size()},
                          {"ok", count(cell, Status::kOk)},
                          {"bad", count(cell, Status::kBad)},
                          {"skipped", count(cell, Status::kSkipped)},
                          {"error", count(cell, Status::kError)},
                          {"winner", winner}});
    }
  }
  if (options.reps) host::write_file_atomically(*options.reps, repetitions);
  if (options.json) {
    nlohmann::ordered_json value = {{"schema", 1}, {"imported", imported}};
    if (options.reps) value["reps"] = *options.reps;
    print_json(value);
  } else {
    print(rows.text());
  }
  return kOk;
}

}  // namespace

void add_import(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("import", "Take over what other tuners measured");
  app->require_subcommand(1);
  app->footer(
      "Example: furlong import kernel-tuner convolution.A100.json.gz --reps a100.reps.jsonl");
  auto* kernel_tuner =
      app->add_subcommand("kernel-tuner", "Kernel Tuner's cache files and T4 files");
  kernel_tuner->footer(
      "Each file, which may be packed by gzip, is one cell; its configurations are the "
      "candidates,\n"
      "its failures stay with their reason. Records get the tier converted.\n"
      "Example: furlong import kernel-tuner convolution.A100.json.gz --reps a100.reps.jsonl");
  auto options = std::make_shared<Options>();
  kernel_tuner->add_option("FILE", options->files, "Cache or T4 files")->required();
  kernel_tuner->add_option("--op", options->names.op, "Name of the op (default: the kernel's)")
      ->check(not_empty);
  kernel_tuner
      ->add_option("--device", options->names.device,
                   "Device key (default: made from the device's name)")
      ->check(not_empty);
  kernel_tuner
      ->add_option("--cell", options->names.cell,
                   "Cell key (default: size_x=..,size_y=.. of the problem size)")
      ->type_name("KEY")
      ->check(not_empty);
  kernel_tuner
      ->add_option("--date", options->names.date,
                   "Date of the record (default: of the newest configuration)")
      ->type_name("YYYY-MM-DD")
      ->check(not_empty);
  kernel_tuner->add_option("--dtype", options->dtype, "Dtype (default: the project's first)")
      ->check(not_empty);
  kernel_tuner
      ->add_option("-o,--output", options->folder, "Folder of the ledger (default: the project's)")
      ->type_name("DIR")
      ->check(not_empty);
  kernel_tuner
      ->add_option("--reps", options->reps, "Write every run too, as furlong replay reads it")
      ->type_name("FILE")
      ->check(not_empty);
  add_project_option(*kernel_tuner, options->project);
  kernel_tuner->add_flag("--json", options->json, "Print JSON");
  context.actions[kernel_tuner] = [options, &context] {
    return import_kernel_tuner(*options, join(context.arguments, " "));
  };
}

}  // namespace furlong::cli
