// What every subcommand shares: the ops, the project, and how to say things.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/op_spec.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/project.hh"

namespace furlong::cli {

inline constexpr int kOk = 0;
inline constexpr int kFindings = 1;
inline constexpr int kUsage = 2;

/// The hidden command that measures; people never give it.
inline constexpr std::string_view kWorkerCommand = "worker";

/// Wrong usage: exit code 2 with this one line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Context {
  std::vector<const OpSpec*> ops;
  std::vector<std::string> arguments;  ///< as given, program name first
  std::map<const CLI::App*, std::function<int()>> actions;

  /// The op's spec; UsageError naming what is allowed.
  const OpSpec& op(std::string_view name) const;
  /// `a,b` or `all` to specs, in the program's order (dependencies first).
  std::vector<const OpSpec*> op_list(std::string_view text) const;
};

/// Writes to stdout.
void print(std::string_view text);
/// A value as JSON to stdout, with the schema version first.
void print_json(const nlohmann::ordered_json& value);
/// One line to stderr.
void note(std::string_view text);

/// An option's check: an empty value is refused, never taken for the default.
std::string not_empty(const std::string& value);

/// Names of what is in a folder, sorted; none without a folder. Error where that cannot be said.
std::vector<std::string> names_in_folder(const std::filesystem::path& folder);
/// Is there something of that name? Error where that cannot be said.
bool path_is_there(const std::filesystem::path& path);

/// The options that several commands take, spelled once.
void add_project_option(CLI::App& app, std::optional<std::string>& folder);
ledger::Project load_project(const std::optional<std::string>& folder);

/// The kernel hashes of an op today: of the project's source tree; outside a project those that are
/// built into this program.
ledger::HashesNow hashes_now(const Context& context, const ledger::Project& project,
                             const std::string& op);

/// Dtypes of `text` (comma-separated; empty = all of the op): positions in the op's dtype list.
/// UsageError for a dtype that the op lacks.
std::vector<int> dtype_list(const OpSpec& op, const std::string& text);

/// Adds the subcommand; one file each.
void add_list(CLI::App& root, Context& context);
void add_tune(CLI::App& root, Context& context);
void add_table(CLI::App& root, Context& context);
void add_status(CLI::App& root, Context& context);
void add_choose(CLI::App& root, Context& context);
void add_bench(CLI::App& root, Context& context);
void add_hash(CLI::App& root, Context& context);
void add_ledger(CLI::App& root, Context& context);
void add_replay(CLI::App& root, Context& context);
void add_why(CLI::App& root, Context& context);
void add_migrate(CLI::App& root, Context& context);
void add_rehash(CLI::App& root, Context& context);
void add_sample(CLI::App& root, Context& context);
void add_worker(CLI::App& root, Context& context);
void add_import(CLI::App& root, Context& context);
void add_verdicts(CLI::App& root, Context& context);
void add_cache(CLI::App& root, Context& context);

}  // namespace furlong::cli
