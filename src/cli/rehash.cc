// furlong rehash: proves that stored hashes describe today's kernels, and appends the proofs.
#include "ledger/rehash.hh"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/error.hh"
#include "ledger/writer.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string base;
  std::string run_id;
  std::vector<std::string> families;
  std::string op;
  std::string device;
  std::optional<std::string> project;
  bool json = false;
};

using Prove = std::function<ledger::RehashPlan(const ledger::Ledger&, const ledger::Project&,
                                               const std::string& op, const host::GitHistory&)>;

std::vector<ledger::Project::Stored> wanted_ledgers(const ledger::Project& project,
                                                    const Options& options) {
  std::vector<ledger::Project::Stored> wanted;
  for (const auto& stored : project.stored()) {
    if (!options.op.empty() && stored.op != options.op) continue;
    if (!options.device.empty() && stored.device != options.device) continue;
    wanted.push_back(stored);
  }
  if (wanted.empty()) {
    throw Error(project.ledger_dir().string(),
                "no ledger of that op and device here; furlong status lists what is there");
  }
  return wanted;
}

ledger::Project project_with_sources(const Options& options) {
  auto project = load_project(options.project);
  if (!project.has_sources()) {
    throw Error("rehash", "there is no project here; name its folder with --project");
  }
  return project;
}

void append(const std::filesystem::path& file, const std::vector<ledger::Rehash>& lines) {
  if (lines.empty()) return;
  ledger::Appender appender(file);
  for (const auto& line : lines) appender.append(ledger::to_line(line));
  appender.sync();
}

nlohmann::ordered_json lines_json(const std::vector<ledger::Rehash>& lines) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& line : lines) {
    json.push_back({{"family", line.family},
                    {"from", line.from},
                    {"to", line.to},
                    {"at", line.at},
                    {"proof", line.proof},
                    {"why", line.why}});
  }
  return json;
}

void print_lines(const std::string& place, const std::vector<ledger::Rehash>& lines) {
  for (const auto& line : lines) {
    print(fmt::format("{}: {} {} -> {}: {} ({})\n", place, line.family, line.from, line.to,
                      line.proof, line.why));
  }
}

int rehash(const Options& options, const Prove& prove) {
  const auto project = project_with_sources(options);
  const host::GitHistory history(project.root);
  nlohmann::ordered_json ledgers = nlohmann::ordered_json::array();
  int written = 0;
  int refused = 0;
  for (const auto& stored : wanted_ledgers(project, options)) {
    const auto file = project.ledger_file(stored.op, stored.device);
    const std::string place = stored.op + "." + stored.device;
    ledger::RehashPlan plan;
    std::string failure;
    try {
      const auto ledger = ledger::Ledger::read(file, {project.dtypes, project.library});
      plan = prove(ledger, project, stored.op, history);
      append(file, plan.lines);
    } catch (const Error& error) {
      failure = error.what();
      plan = {};
    }
    written += static_cast<int>(plan.lines.size());
    refused += static_cast<int>(plan.refused.size()) + (failure.empty() ? 0 : 1);
    if (options.json) {
      nlohmann::ordered_json refusals = nlohmann::ordered_json::array();
      for (const auto& one : plan.refused) {
        refusals.push_back({{"family", one.family}, {"from", one.from}, {"reason", one.reason}});
      }
      ledgers.push_back({{"op", stored.op},
                         {"device", stored.device},
                         {"written", lines_json(plan.lines)},
                         {"refused", refusals},
                         {"error", failure}});
      continue;
    }
    print_lines(place, plan.lines);
    for (const auto& one : plan.refused) {
      print(fmt::format("{}: {} {} refused: {}\n", place, one.family, one.from, one.reason));
    }
    if (!failure.empty()) print(fmt::format("{}: refused: {}\n", place, failure));
  }
  if (options.json) {
    print_json({{"schema", 1}, {"ledgers", ledgers}});
  } else {
    print(fmt::format("{} rehash lines written, {} refused\n", written, refused));
  }
  return refused == 0 ? kOk : kFindings;
}

bool holds_run(const ledger::Ledger& ledger, const std::string& run_id) {
  const auto runs = ledger.runs();
  return std::any_of(runs.begin(), runs.end(),
                     [&](const auto& stored) { return stored.run.run_id == run_id; });
}

int rehash_sample(const Options& options) {
  const auto project = project_with_sources(options);
  const host::GitHistory history(project.root);
  nlohmann::ordered_json ledgers = nlohmann::ordered_json::array();
  std::size_t written = 0;
  std::size_t refused = 0;
  std::size_t unsettled = 0;
  bool held = false;
  for (const auto& stored : wanted_ledgers(project, options)) {
    const auto file = project.ledger_file(stored.op, stored.device);
    const auto ledger = ledger::Ledger::read(file, {project.dtypes, project.library});
    for (const auto& warning : ledger.warnings()) note("furlong: " + warning);
    if (!holds_run(ledger, options.run_id)) continue;
    held = true;
    const std::string place = stored.op + "." + stored.device;
    const auto verdict =
        ledger::prove_sample(ledger, project, stored.op, history, options.run_id, options.families);
    append(file, verdict.lines);
    written += verdict.lines.size();
    refused += verdict.refused.size();
    unsettled += verdict.unsettled.size();
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const auto& cell : verdict.unsettled) {
      const std::string& dtype = project.dtypes.names()[static_cast<std::size_t>(cell.dtype)];
      cells.push_back({{"dtype", dtype}, {"key", cell.key}});
      if (!options.json) print(fmt::format("{} {} {}\n", stored.op, dtype, cell.key));
    }
    if (options.json) {
      ledgers.push_back({{"op", stored.op},
                         {"device", stored.device},
                         {"agree", verdict.agree},
                         {"settled", verdict.settled},
                         {"written", lines_json(verdict.lines)},
                         {"refused", verdict.refused},
                         {"unsettled", cells}});
      continue;
    }
    print_lines(place, verdict.lines);
    for (const auto& reason : verdict.refused) note(fmt::format("{}: refused: {}", place, reason));
    if (!verdict.unsettled.empty()) {
      note(
          fmt::format("{}: {} cells agree, {} are settled, {} are not: measure the cells above "
                      "with furlong tune {} --tier deep --remeasure-keys FILE --only-named, then "
                      "give this command again",
                      place, verdict.agree, verdict.settled, verdict.unsettled.size(), stored.op));
    }
    if (verdict.lines.empty() && verdict.refused.empty() && verdict.unsettled.empty()) {
      note(fmt::format("{}: no family of an old record is stale; nothing to prove", place));
    }
  }
  if (!held) {
    throw Error("RUN_ID", fmt::format("no ledger here holds a clean run {}; furlong status names "
                                      "the newest",
                                      quoted(options.run_id)));
  }
  if (options.json) {
    print_json({{"schema", 1}, {"run", options.run_id}, {"ledgers", ledgers}});
  } else if (refused + unsettled == 0) {
    print(fmt::format("{} rehash lines written\n", written));
  }
  return refused + unsettled == 0 ? kOk : kFindings;
}

std::shared_ptr<Options> add_shared(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--op", options->op, "Op (default: every one with a ledger)")->check(not_empty);
  app.add_option("--device", options->device, "Device key (default: every one with a ledger)")
      ->check(not_empty);
  add_project_option(app, options->project);
  app.add_flag("--json", options->json, "Print JSON");
  return options;
}

}  // namespace

void add_rehash(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("rehash", "Prove that old measurements still hold");
  app->require_subcommand(1);
  app->footer(
      "Appends rehash lines to ledgers, one per family and stored hash that is proved; what is\n"
      "not proved is named with its reason and stays stale. A second run writes nothing.\n"
      "Example: furlong rehash moved HEAD~1 --op potrf");

  auto* normalized = app->add_subcommand("normalized", "Take over hashes of raw files (v1)");
  normalized->footer(
      "Checked from git at every commit that produced a hash. Exit 1 where one is refused.\n"
      "Example: furlong rehash normalized --device sm_120");
  context.actions[normalized] = [options = add_shared(*normalized)] {
    return rehash(*options, ledger::prove_normalized);
  };

  auto* sample = app->add_subcommand("sample", "Take over hashes when a sample of cells agrees");
  sample->footer(
      "RUN_ID is a run of tier custom over the cells that furlong sample names. A cell agrees "
      "when\n"
      "the winners match or the old one is within 3 % of the new one; a deep record settles any\n"
      "other. Cells that are neither are printed as lines for --remeasure-keys, with exit 1, and\n"
      "nothing is written.\n"
      "Example: furlong rehash sample 20261203T101112-host-4711 --op potrf");
  auto sampled = add_shared(*sample);
  sample->add_option("RUN_ID", sampled->run_id, "Run of the sample")->required();
  sample
      ->add_option("--family", sampled->families, "Only these families (default: every stale one)")
      ->delimiter(',');
  context.actions[sample] = [sampled] { return rehash_sample(*sampled); };

  auto* moved = app->add_subcommand("moved", "Take over hashes of files that were only moved");
  moved->footer(
      "BASE is the commit before the move. Files must be equal modulo comments, white space and\n"
      "include paths. Exit 1 where a family with a hash of BASE is refused.\n"
      "Example: furlong rehash moved 209d9fb8 --op potrf");
  auto options = add_shared(*moved);
  moved->add_option("BASE", options->base, "Commit, branch or tag before the move")->required();
  context.actions[moved] = [options] {
    return rehash(*options, [&](const ledger::Ledger& ledger, const ledger::Project& project,
                                const std::string& op, const host::GitHistory& history) {
      return ledger::prove_moved(ledger, project, op, history, options->base);
    });
  };
}

}  // namespace furlong::cli
