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

int rehash(const Options& options, const Prove& prove) {
  const auto project = load_project(options.project);
  if (!project.has_sources()) {
    throw Error("rehash", "there is no project here; name its folder with --project");
  }
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
      if (!plan.lines.empty()) {
        ledger::Appender appender(file);
        for (const auto& line : plan.lines) appender.append(ledger::to_line(line));
        appender.sync();
      }
    } catch (const Error& error) {
      failure = error.what();
      plan = {};
    }
    written += static_cast<int>(plan.lines.size());
    refused += static_cast<int>(plan.refused.size()) + (failure.empty() ? 0 : 1);
    if (options.json) {
      nlohmann::ordered_json lines = nlohmann::ordered_json::array();
      for (const auto& line : plan.lines) {
        lines.push_back({{"family", line.family},
                         {"from", line.from},
                         {"to", line.to},
                         {"at", line.at},
                         {"proof", line.proof},
                         {"why", line.why}});
      }
      nlohmann::ordered_json refusals = nlohmann::ordered_json::array();
      for (const auto& one : plan.refused) {
        refusals.push_back({{"family", one.family}, {"from", one.from}, {"reason", one.reason}});
      }
      ledgers.push_back({{"op", stored.op},
                         {"device", stored.device},
                         {"written", lines},
                         {"refused", refusals},
                         {"error", failure}});
      continue;
    }
    for (const auto& line : plan.lines) {
      print(fmt::format("{}: {} {} -> {}: {} ({})\n", place, line.family, line.from, line.to,
                        line.proof, line.why));
    }
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

std::shared_ptr<Options> add_shared(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--op", options->op, "Op (default: every one with a ledger)");
  app.add_option("--device", options->device, "Device key (default: every one with a ledger)");
  add_project_option(app, options->project);
  app.add_flag("--json", options->json, "Print JSON");
  return options;
}

}  // namespace

void add_rehash(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("rehash", "Prove from git that old measurements still hold");
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
