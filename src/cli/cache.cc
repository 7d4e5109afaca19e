// furlong cache: the folder in which run-time tuning keeps its verdicts.
#include <fmt/format.h>

#include "cli/command.hh"
#include "verdict/store.hh"

namespace furlong::cli {

void add_cache(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("cache", "The folder of run-time verdicts");
  app->require_subcommand(1);
  app->footer(
      "The folder is $FURLONG_CACHE_DIR, else $XDG_CACHE_HOME/furlong, else ~/.cache/furlong.\n"
      "Example: furlong cache size");
  auto json = std::make_shared<bool>(false);

  auto* path_app = app->add_subcommand("path", "Where it is");
  path_app->footer("Example: ls \"$(furlong cache path)\"");
  path_app->add_flag("--json", *json, "Print JSON");
  context.actions[path_app] = [json] {
    const auto folder = verdict::cache_folder().string();
    if (*json) {
      print_json({{"schema", 1}, {"folder", folder}});
    } else {
      print(folder + "\n");
    }
    return kOk;
  };

  auto* size_app = app->add_subcommand("size", "How much it holds");
  size_app->footer("Example: furlong cache size --json");
  size_app->add_flag("--json", *json, "Print JSON");
  context.actions[size_app] = [json] {
    const auto folder = verdict::cache_folder();
    const auto size = verdict::store_size(folder);
    if (*json) {
      print_json({{"schema", 1},
                  {"folder", folder.string()},
                  {"verdicts", size.verdicts},
                  {"bytes", size.bytes}});
    } else {
      print(fmt::format("{} verdicts, {} bytes\n", size.verdicts, size.bytes));
    }
    return kOk;
  };

  auto* clear_app = app->add_subcommand("clear", "Remove the verdicts");
  clear_app->footer("Other files in the folder stay.\nExample: furlong cache clear");
  clear_app->add_flag("--json", *json, "Print JSON");
  context.actions[clear_app] = [json] {
    const auto folder = verdict::cache_folder();
    const auto removed = verdict::clear_store(folder);
    if (*json) {
      print_json({{"schema", 1}, {"folder", folder.string()}, {"removed_files", removed}});
    } else {
      print(fmt::format("{} files removed\n", removed));
    }
    return kOk;
  };
}

}  // namespace furlong::cli
