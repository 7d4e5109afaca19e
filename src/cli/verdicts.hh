// What the subcommands of `furlong verdicts` share.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hh"
#include "verdict/source.hh"
#include "verdict/verdict.hh"

namespace furlong::cli {

/// A short line for a computation: what it does to which shapes.
std::string computation_line(std::string_view computation);

/// `118.912 us`; `-` for none, `placeholder` for a time that was not measured.
std::string time_text(const verdict::Verdict& verdict);

/// A verdict with all it says.
nlohmann::ordered_json verdict_json(const verdict::Verdict& verdict);
nlohmann::ordered_json key_json(const verdict::Verdict& verdict);
nlohmann::ordered_json winner_json(const verdict::Verdict& verdict);
nlohmann::ordered_json metadata_json(const verdict::Verdict& verdict);

/// The source; tells on stderr what of a folder was skipped.
verdict::Source told(verdict::LoadedSource loaded);

/// Loads a source and tells on stderr what of a folder was skipped.
verdict::Source load_told(const std::string& path);

/// The file's bytes; `-` is stdin.
std::string read_text_argument(const std::string& path);

/// The subcommands, by file.
void add_verdicts_compare(CLI::App& verdicts, Context& context);
void add_verdicts_folder(CLI::App& verdicts, Context& context);

}  // namespace furlong::cli
