// furlong verdicts import, export: between one file and a folder with one file a computation.
#include <fmt/format.h>

#include <filesystem>

#include "base/text.hh"
#include "cli/verdicts.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "verdict/folder.hh"
#include "verdict/verdict_file.hh"

namespace furlong::cli {
namespace {

using nlohmann::ordered_json;

struct ImportOptions {
  std::string folder;
  std::vector<std::string> keys;
  std::string output;
  std::optional<std::int32_t> version;
  bool json = false;
};

int import_folder(const ImportOptions& options) {
  const auto folder = verdict::load_folder(options.folder);
  std::vector<verdict::Verdict> keys;
  for (const auto& path : options.keys) {
    for (auto& verdict : verdict::load_verdicts(path).verdicts())
      keys.push_back(std::move(verdict));
  }
  const auto joined = verdict::join_with_keys(folder, keys, options.version);
  const verdict::VerdictFile file(joined.verdicts);
  host::write_file_atomically(
      options.output, verdict::to_bytes(file, verdict::format_of_extension(options.output)));
  if (options.json) {
    ordered_json missing = ordered_json::array();
    for (const auto& key : joined.missing) {
      missing.push_back({{"device", key.device}, {"computation", key.computation}});
    }
    print_json({{"schema", 1},
                {"output", options.output},
                {"verdicts", joined.verdicts.size()},
                {"orphans", joined.orphans},
                {"leftovers", folder.leftovers},
                {"keys_without_file", missing}});
  } else {
    for (const auto& name : joined.orphans) {
      print(fmt::format("orphan: {}.textproto, whose key no file of --keys holds\n", name));
    }
    for (const auto& name : folder.leftovers) {
      print(fmt::format("leftover: {}, no result of this folder\n", printable(name)));
    }
    for (const auto& key : joined.missing) {
      print(fmt::format("no file: {}\n", computation_line(key.computation)));
    }
    print(fmt::format("{}: {} verdicts, {} orphans, {} leftovers, {} keys without a file\n",
                      options.output, joined.verdicts.size(), joined.orphans.size(),
                      folder.leftovers.size(), joined.missing.size()));
  }
  return joined.orphans.empty() ? kOk : kFindings;
}

struct ExportOptions {
  std::vector<std::string> files;
  std::string folder;
  bool overwrite = false;
  bool json = false;
};

int export_folder(const ExportOptions& options) {
  std::vector<verdict::Verdict> verdicts;
  for (const auto& path : options.files) {
    for (auto& verdict : verdict::load_verdicts(path).verdicts()) {
      verdicts.push_back(std::move(verdict));
    }
  }
  const auto plan = verdict::plan_folder(verdicts, options.folder);
  const bool write = plan.conflicts.empty() || options.overwrite;
  if (write) verdict::write_folder(plan, options.folder);
  if (options.json) {
    print_json({{"schema", 1},
                {"folder", options.folder},
                {"written", write ? plan.writes.size() : 0},
                {"unchanged", plan.unchanged},
                {"conflicts", plan.conflicts}});
  } else {
    for (const auto& name : plan.conflicts) {
      print(fmt::format("conflict: {} with another result\n", name));
    }
    if (write) {
      print(fmt::format("{}: {} files written, {} unchanged\n", options.folder, plan.writes.size(),
                        plan.unchanged));
    }
  }
  if (!write) {
    note(fmt::format("furlong: {} conflicts; nothing was written; --overwrite replaces",
                     plan.conflicts.size()));
  }
  return write ? kOk : kFindings;
}

}  // namespace

void add_verdicts_folder(CLI::App& verdicts, Context& context) {
  auto* import_app =
      verdicts.add_subcommand("import", "One cache from a folder with one file a computation");
  import_app->footer(
      "The names of a folder's files are hashes of keys; the keys themselves come from caches. "
      "Files\n"
      "without a key are listed, and the exit code is 1 then.\n"
      "Example: furlong verdicts import cache_dir --keys dump.pbtxt -o all.textproto");
  auto importing = std::make_shared<ImportOptions>();
  import_app->add_option("FOLDER", importing->folder, "Folder with one file a computation")
      ->required();
  import_app->add_option("--keys", importing->keys, "Caches whose keys are tried")
      ->required()
      ->type_name("FILE");
  import_app
      ->add_option("-o,--output", importing->output,
                   "File to write; its extension decides between text and binary")
      ->required()
      ->type_name("OUT");
  import_app->add_option("--entry-version", importing->version,
                         "Entry version to try beside that of each key");
  import_app->add_flag("--json", importing->json, "Print JSON");
  context.actions[import_app] = [importing] { return import_folder(*importing); };

  auto* export_app =
      verdicts.add_subcommand("export", "A folder with one file a computation from caches");
  export_app->footer(
      "A file that is there with another result is a conflict: it is listed, and nothing is "
      "written\n"
      "without --overwrite.\n"
      "Example: furlong verdicts export dump.pbtxt -o cache_dir");
  auto exporting = std::make_shared<ExportOptions>();
  export_app->add_option("FILE", exporting->files, "Cache files")->required();
  export_app->add_option("-o,--output", exporting->folder, "Folder to write into")
      ->required()
      ->type_name("FOLDER");
  export_app->add_flag("--overwrite", exporting->overwrite, "Replace other results");
  export_app->add_flag("--json", exporting->json, "Print JSON");
  context.actions[export_app] = [exporting] { return export_folder(*exporting); };
}

}  // namespace furlong::cli
