// furlong hash: the kernel hashes of an op's sources as they are now.
#include <fmt/format.h>

#include "cli/command.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/kernel_hash.hh"
#include "report/text_table.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string op;
  std::optional<std::string> project;
  bool files = false;
  bool json = false;
};

nlohmann::ordered_json hashes_json(const std::string& op, const KernelHashes& hashes) {
  nlohmann::ordered_json families = nlohmann::ordered_json::object();
  for (const auto& [family, hash] : hashes.families) families[family] = hash;
  return {{"schema", 1}, {"op", op}, {"kernels", hashes.kernels}, {"families", families}};
}

/// Outside a project: the hashes without their files.
int built_in(const Context& context, const ledger::Project& project, const Options& options) {
  if (options.files) {
    throw Error("--files", "there is no project here; name its folder with --project");
  }
  const KernelHashes hashes = hashes_now(context, project, options.op)({});
  if (options.json) {
    print_json(hashes_json(options.op, hashes));
    return kOk;
  }
  report::TextTable table({{"family"}, {"hash"}});
  for (const auto& [family, hash] : hashes.families) table.add({family, hash});
  print(fmt::format("{} kernels {} (built into this program)\n", options.op, hashes.kernels));
  print(table.text());
  return kOk;
}

int run(const Context& context, const Options& options) {
  const auto project = load_project(options.project);
  if (!project.has_sources()) return built_in(context, project, options);
  const auto spec = project.spec_file(options.op);
  const auto lists = ledger::parse_source_lists(host::read_file(spec), spec.string());
  const auto hashes = ledger::hash_sources(lists, {}, ledger::read_sources_under(project.root));
  if (options.json) {
    auto value = hashes_json(options.op, hashes);
    if (options.files) {
      nlohmann::ordered_json files = nlohmann::ordered_json::object();
      for (const auto& [family, hash] : hashes.families) files[family] = lists.files_of(family);
      value["files"] = files;
    }
    print_json(value);
    return kOk;
  }
  report::TextTable table({{"family"}, {"hash"}, {"files", report::Align::kRight}});
  for (const auto& [family, hash] : hashes.families) {
    table.add({family, hash, std::to_string(lists.files_of(family).size())});
  }
  print(fmt::format("{} kernels {} ({} files)\n", options.op, hashes.kernels, lists.all.size()));
  print(table.text());
  if (options.files) {
    for (const auto& [family, hash] : hashes.families) {
      for (const auto& file : lists.files_of(family)) print(fmt::format("{} {}\n", family, file));
    }
  }
  return kOk;
}

}  // namespace

void add_hash(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("hash", "Print the kernel hashes of an op's sources");
  app->footer(
      "A family's hash covers the files that its op's kernel-sources block lists, without "
      "comments\n"
      "and white space: it changes exactly when a measurement of the family becomes stale.\n"
      "Example: furlong hash potrf --files");
  auto options = std::make_shared<Options>();
  app->add_option("op", options->op, "Op")->required();
  add_project_option(*app, options->project);
  app->add_flag("--files", options->files, "List every family's files too");
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [&context, options] { return run(context, *options); };
}

}  // namespace furlong::cli
