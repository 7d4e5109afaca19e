// Project: `furlong.toml`, and the paths that follow from it. A value.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "furlong/dtype.hh"

namespace furlong::ledger {

struct Project {
  std::filesystem::path root;  ///< the folder of furlong.toml; empty outside a project
  std::string library = "furlong";
  std::filesystem::path ledger = "ledger";  ///< as spelled; relative to root unless absolute
  std::filesystem::path tables = "tuned";
  std::string specs = "src/blas/{op}/spec.cc";
  std::vector<std::string> include;
  DtypeList dtypes;

  /// Of `folder`; without it, of the nearest parent of the working directory that has the file;
  /// without one, ledger and tables live in `$XDG_DATA_HOME/furlong` (default
  /// `~/.local/share/furlong`) and root is empty. Throws Error `<file>: <what>` for an unknown
  /// field, a wrong type, text that is no TOML, a named folder without the file, or a relative
  /// XDG_DATA_HOME.
  static Project load(const std::optional<std::filesystem::path>& folder);

  /// Of a file's text; `file` names it in errors, its folder is the root.
  static Project parse(const std::string& text, const std::filesystem::path& file);

  std::filesystem::path ledger_dir() const;
  std::filesystem::path tables_dir() const;
  std::filesystem::path ledger_file(const std::string& op, const std::string& device) const;
  std::filesystem::path table_file(const std::string& op, const std::string& device) const;
  std::filesystem::path spec_file(const std::string& op) const;
  /// The same relative to root.
  std::string spec_path(const std::string& op) const;
  bool has_sources() const { return !root.empty(); }
  /// A ledger file as a table's header names it: relative to the root; outside a project, without
  /// its folders.
  std::string ledger_source(const std::string& op, const std::string& device) const;

  /// One (op, device) that has a ledger file.
  struct Stored {
    std::string op;
    std::string device;
    bool operator==(const Stored&) const = default;
  };
  /// The files `<op>.<device>.jsonl` of the ledger folder, by name; none when there is no folder;
  /// Error when it cannot be listed.
  std::vector<Stored> stored() const;
};

}  // namespace furlong::ledger
