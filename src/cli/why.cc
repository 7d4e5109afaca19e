// furlong why: which record of a cell counts, and why the others do not.
#include "tune/why.hh"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/device_key.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "host/json.hh"

namespace furlong::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string op;
  std::string dtype;
  std::string device;
  std::string key;
  std::optional<std::string> ledger;
  std::optional<std::string> project;
  bool json = false;
};

std::string_view kind_name(ledger::Cause::Kind kind) {
  using Kind = ledger::Cause::Kind;
  switch (kind) {
    case Kind::kWinnerRemoved:
      return "winner_removed";
    case Kind::kWinnerOutside:
      return "winner_outside";
    case Kind::kWinnerChanged:
      return "winner_changed";
    case Kind::kKeyMissing:
      return "key_missing";
    case Kind::kAxesDiffer:
      return "axes_differ";
    case Kind::kFamilyChanged:
      return "family_changed";
    case Kind::kFamilyGone:
      return "family_gone";
    case Kind::kDominated:
      return "dominated";
    case Kind::kCandidateAdded:
      return "candidate_added";
  }
  return {};
}

nlohmann::ordered_json record_json(const tune::WhyRecord& record) {
  nlohmann::ordered_json causes = nlohmann::ordered_json::array();
  for (const auto& cause : record.causes) {
    causes.push_back({{"kind", kind_name(cause.kind)},
                      {"subject", cause.subject},
                      {"was", cause.was},
                      {"now", cause.now}});
  }
  return {{"line", record.line},
          {"verdict", tune::verdict_name(record.verdict)},
          {"key", record.key},
          {"tier", record.tier},
          {"run", record.run_id},
          {"commit", record.commit},
          {"date", record.date},
          {"winner", record.winner},
          {"ms", record.ms ? host::json_number(*record.ms) : nlohmann::ordered_json()},
          {"standing", record.standing},
          {"causes", causes},
          {"reasons", record.reasons}};
}

std::string_view shown(tune::Verdict verdict) {
  switch (verdict) {
    case tune::Verdict::kAllErrors:
      return "all errors";
    case tune::Verdict::kDirty:
      return "dirty run";
    case tune::Verdict::kNoRun:
      return "no run line";
    default:
      return tune::verdict_name(verdict);
  }
}

int run(const Context& context, const Options& options) {
  const auto key = CellKey::parse(options.key);
  if (!key) throw UsageError("--key: " + key.reason());
  const std::string device = options.device.empty() ? this_cpu().text : options.device;
  auto project = load_project(options.project);
  if (options.ledger) project.ledger = fs::absolute(*options.ledger);
  const auto file = project.ledger_file(options.op, device);
  if (!path_is_there(file)) {
    throw Error(file.string(), fmt::format("no such ledger; furlong tune {} writes it on a device "
                                           "{}, --device names another",
                                           options.op, device));
  }
  const auto why =
      tune::explain(host::read_file(file), file.string(), {project.dtypes, project.library},
                    hashes_now(context, project, options.op), options.dtype, key.value());
  for (const auto& warning : why.warnings) note("furlong: " + warning);
  if (options.json) {
    nlohmann::ordered_json records = nlohmann::ordered_json::array();
    for (const auto& record : why.records) records.push_back(record_json(record));
    print_json({{"schema", 1},
                {"op", options.op},
                {"dtype", options.dtype},
                {"device", device},
                {"key", options.key},
                {"file", file.string()},
                {"records", records},
                {"warnings", why.warnings}});
    return why.counted() ? kOk : kFindings;
  }
  print(fmt::format("{} {} {} on {}: {} records{}\n", options.op, options.dtype, options.key,
                    device, why.records.size(), why.counted() ? "" : ", none counts"));
  for (const auto& record : why.records) {
    print(fmt::format("{}:{}: {} ({}{}, run {} of {})\n", file.string(), record.line,
                      shown(record.verdict), record.tier,
                      record.standing.empty() ? "" : ", " + record.standing, record.run_id,
                      record.date));
    print(fmt::format("  key     {}\n", record.key));
    if (!record.winner.empty()) {
      print(fmt::format("  winner  {}{}\n", record.winner,
                        record.ms ? fmt::format(" {:.4g} ms", *record.ms) : ""));
    }
    for (const auto& reason : record.reasons) print(fmt::format("  {}\n", reason));
  }
  return why.counted() ? kOk : kFindings;
}

}  // namespace

void add_why(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("why", "Explain which record of a cell counts, and why");
  app->footer(
      "Shows every record of the cell with its line, tier and standing; for those that do not\n"
      "count, the changed family with both hashes, the dirty run, the better tier, and so on.\n"
      "Exit 1 when none counts.\n"
      "Example: furlong why potrf --dtype float --key uplo=L,n=24,batch=4096");
  auto options = std::make_shared<Options>();
  app->add_option("op", options->op, "Op")->required();
  app->add_option("--dtype", options->dtype, "Dtype")->required();
  app->add_option("--device", options->device, "Device key (default: this machine's)")
      ->check(not_empty);
  app->add_option("--key", options->key, "Every table key: name=value,name=value")->required();
  app->add_option("--ledger", options->ledger, "Folder of the ledgers (default: the project's)")
      ->type_name("DIR")
      ->check(not_empty);
  add_project_option(*app, options->project);
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [&context, options] { return run(context, *options); };
}

}  // namespace furlong::cli
