#include "furlong/cli.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/error.hh"
#include "furlong/version.hh"
#include "host/stop_signal.hh"

namespace furlong::cli {

const OpSpec& Context::op(std::string_view name) const {
  std::vector<std::string> names;
  for (const OpSpec* spec : ops) {
    if (spec->vocabulary.op == name) return *spec;
    names.push_back(spec->vocabulary.op);
  }
  throw UsageError(fmt::format("unknown op {}; allowed are {}", quoted(name), join(names, ", ")));
}

std::vector<const OpSpec*> Context::op_list(std::string_view text) const {
  if (text == "all") return ops;
  std::vector<const OpSpec*> wanted;
  for (const std::string_view name : split(text, ',')) {
    const OpSpec* spec = &op(name);
    if (std::find(wanted.begin(), wanted.end(), spec) == wanted.end()) wanted.push_back(spec);
  }
  std::vector<const OpSpec*> ordered;
  for (const OpSpec* spec : ops) {
    if (std::find(wanted.begin(), wanted.end(), spec) != wanted.end()) ordered.push_back(spec);
  }
  return ordered;
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    throw Error("stdout", fmt::format("cannot be written: {}", std::strerror(errno)));
  }
}

namespace {

/// What was printed has reached stdout, or Error.
void flush() {
  if (std::fflush(stdout) != 0) {
    throw Error("stdout", fmt::format("cannot be written: {}", std::strerror(errno)));
  }
}

/// Each word of a command is one, down to a command without commands; CLI11 would only say that
/// one is missing.
void check_command(const CLI::App& root, const std::vector<std::string>& arguments) {
  const CLI::App* app = &root;
  for (std::size_t i = 1;; ++i) {
    std::vector<std::string> names;
    const CLI::App* named = nullptr;
    for (const CLI::App* one : app->get_subcommands({})) {
      if (!one->get_group().empty()) names.push_back(one->get_name());
      if (i < arguments.size() && one->get_name() == arguments[i]) named = one;
    }
    if (names.empty()) return;
    const std::string place = app == &root ? "" : app->get_name() + ": ";
    if (i >= arguments.size()) {
      if (app == &root) return;  // shows the help
      throw UsageError(
          fmt::format("{}a command is missing; allowed are {}", place, join(names, ", ")));
    }
    if (arguments[i].starts_with('-')) return;
    if (named == nullptr) {
      throw UsageError(fmt::format("{}unknown command {}; allowed are {}", place,
                                   furlong::quoted(arguments[i]), join(names, ", ")));
    }
    app = named;
  }
}

}  // namespace

void print_json(const nlohmann::ordered_json& value) {
  // File names and quoted text need not be UTF-8; JSON must be.
  print(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void note(std::string_view text) {
  fmt::print(stderr, "{}\n", text);
}

std::string not_empty(const std::string& value) {
  return value.empty() ? "an empty value; leave the option out for the default" : "";
}

std::vector<std::string> names_in_folder(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  if (!path_is_there(folder)) return names;
  std::error_code failure;
  for (std::filesystem::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    names.push_back(at->path().filename().string());
  }
  if (failure) throw Error(folder.string(), "cannot be listed: " + failure.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool path_is_there(const std::filesystem::path& path) {
  std::error_code failure;
  const auto kind = std::filesystem::status(path, failure).type();
  if (kind == std::filesystem::file_type::none) {
    throw Error(path.string(), "cannot be reached: " + failure.message());
  }
  return kind != std::filesystem::file_type::not_found;
}

void add_project_option(CLI::App& app, std::optional<std::string>& folder) {
  app.add_option("--project", folder,
                 "Folder of furlong.toml (default: the nearest parent folder that has one)")
      ->type_name("DIR")
      ->check(not_empty);
}

ledger::Project load_project(const std::optional<std::string>& folder) {
  if (!folder) return ledger::Project::load(std::nullopt);
  return ledger::Project::load(std::filesystem::path(*folder));
}

ledger::HashesNow hashes_now(const Context& context, const ledger::Project& project,
                             const std::string& op) {
  if (project.has_sources()) {
    return ledger::hashes_of_sources(project.root, project.spec_file(op));
  }
  for (const OpSpec* spec : context.ops) {
    if (spec->vocabulary.op != op) continue;
    return [hashes = spec->hashes](const std::vector<std::string>&) { return hashes; };
  }
  return [op](const std::vector<std::string>&) -> KernelHashes {
    throw Error(op,
                "is none of the ops of this program, and there is no project with its sources "
                "here; name its folder with --project");
  };
}

std::vector<int> dtype_list(const OpSpec& op, const std::string& text) {
  const auto& known = op.vocabulary.dtypes;
  std::vector<bool> wanted(known.size(), text.empty());
  if (!text.empty()) {
    for (const std::string_view name : split(text, ',')) {
      const auto at = std::find(known.begin(), known.end(), name);
      if (at == known.end()) {
        throw UsageError(fmt::format("unknown dtype {} of {}; allowed are {}", quoted(name),
                                     op.vocabulary.op, join(known, ", ")));
      }
      wanted[static_cast<std::size_t>(at - known.begin())] = true;
    }
  }
  std::vector<int> positions;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (wanted[i]) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

int run(int argc, const char* const* argv, const std::vector<const OpSpec*>& ops) {
  Context context;
  context.ops = ops;
  context.arguments.assign(argv, argv + argc);
  host::survive_file_size_limit();

  CLI::App root("Furlong finds out which kernel is fastest and remembers it honestly.", "furlong");
  root.set_version_flag("--version", std::string("furlong ") + kVersion);
  root.set_help_all_flag("--help-all", "Help of every command");
  root.require_subcommand(0, 1);
  add_list(root, context);
  add_tune(root, context);
  add_table(root, context);
  add_status(root, context);
  add_choose(root, context);
  add_bench(root, context);
  add_hash(root, context);
  add_ledger(root, context);
  add_replay(root, context);
  add_why(root, context);
  add_migrate(root, context);
  add_rehash(root, context);
  add_sample(root, context);
  add_worker(root, context);
  add_import(root, context);
  add_verdicts(root, context);
  add_cache(root, context);
  // Behind the commands: one without a footer of its own would inherit this.
  root.footer(
      "Exit codes: 0 ok, 1 findings or refused, 2 wrong usage.\n"
      "Example: furlong tune potrf --tier preview && furlong table && furlong bench potrf");

  try {
    check_command(root, context.arguments);
    try {
      root.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) {
        std::ostringstream help;
        root.exit(error, help, help);
        print(help.str());
        flush();
        return kOk;
      }
      throw UsageError(error.what());
    }
    int code = kOk;
    const auto chosen = root.get_subcommands();
    if (chosen.empty()) {
      print(root.help());
      code = kUsage;
    } else {
      const CLI::App* app = chosen.front();
      while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
      code = context.actions.at(app)();
    }
    flush();
    return code;
  } catch (const UsageError& error) {
    note(fmt::format("furlong: {} (see furlong --help)", error.what()));
    return kUsage;
  } catch (const std::invalid_argument& error) {
    note(fmt::format("furlong: {}", error.what()));
    return kUsage;
  } catch (const std::filesystem::filesystem_error& error) {
    note(fmt::format("furlong: {}: {}", error.path1().string(), error.code().message()));
    return kFindings;
  } catch (const std::exception& error) {
    note(fmt::format("furlong: {}", error.what()));
    return kFindings;
  }
}

}  // namespace furlong::cli
