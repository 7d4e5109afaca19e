#include "ledger/project.hh"

#include <fmt/format.h>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <tuple>

#include "base/text.hh"
#include "furlong/device_key.hh"
#include "furlong/error.hh"
#include "host/files.hh"

namespace furlong::ledger {
namespace {

constexpr std::string_view kFileName = "furlong.toml";

class Reader {
 public:
  explicit Reader(std::filesystem::path file) : file_(std::move(file)) {}

  Project read(const std::string& text) const {
    toml::table fields;
    try {
      fields = toml::parse(text, file_.string());
    } catch (const toml::parse_error& error) {
      throw Error(fmt::format("{}:{}: no TOML: {}", file_.string(), error.source().begin.line,
                              error.description()));
    }
    Project project;
    project.root = file_.parent_path();
    for (const auto& [key, node] : fields) {
      const std::string_view name = key.str();
      if (name == "library") {
        project.library = take_library(name, node);
      } else if (name == "ledger") {
        project.ledger = take_text(name, node);
      } else if (name == "tables") {
        project.tables = take_text(name, node);
      } else if (name == "specs") {
        project.specs = take_text(name, node);
      } else if (name == "include") {
        project.include = take_texts(name, node);
      } else if (name == "dtypes") {
        std::vector<std::string> names = take_texts(name, node);
        try {
          project.dtypes = DtypeList(std::move(names));
        } catch (const std::invalid_argument& error) {
          refuse(node, fmt::format("dtypes: {}", error.what()));
        }
      } else {
        refuse(node, fmt::format("unknown field {}; allowed are library, ledger, tables, specs, "
                                 "include, dtypes",
                                 quoted(name)));
      }
    }
    return project;
  }

 private:
  [[noreturn]] void refuse(const toml::node& node, std::string_view what) const {
    throw Error(fmt::format("{}:{}: {}", file_.string(), node.source().begin.line, what));
  }

  std::string take_text(std::string_view name, const toml::node& node) const {
    const auto* value = node.as_string();
    if (value == nullptr || value->get().empty()) {
      refuse(node, fmt::format("{} is no text; allowed is a text that is not empty", name));
    }
    return value->get();
  }

  std::vector<std::string> take_texts(std::string_view name, const toml::node& node) const {
    const auto* values = node.as_array();
    if (values == nullptr) {
      refuse(node, fmt::format("{} is no list; allowed is a list of texts", name));
    }
    std::vector<std::string> texts;
    for (const toml::node& value : *values) texts.push_back(take_text(name, value));
    return texts;
  }

  /// It becomes a word of table headers and a field of ledger lines.
  std::string take_library(std::string_view name, const toml::node& node) const {
    std::string text = take_text(name, node);
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    });
    if (!plain) {
      refuse(node, fmt::format("library {}: allowed are letters, digits, _ and -",
                               furlong::quoted(text)));
    }
    constexpr std::string_view kTaken[] = {
        "op",   "device", "kernels", "family_kernels", "date", "source",      "tiers",
        "kind", "format", "run_id",  "dtype",          "host", "device_name", "argv",
        "tier", "keys",   "env",     "worker",         "crc",  "candidates"};
    if (std::find(std::begin(kTaken), std::end(kTaken), text) != std::end(kTaken)) {
      refuse(node, fmt::format("library {}: that word means something else in ledgers and tables",
                               furlong::quoted(text)));
    }
    return text;
  }

  std::filesystem::path file_;
};

Project outside() {
  Project project;
  std::filesystem::path data;
  const char* named = std::getenv("XDG_DATA_HOME");
  if (named != nullptr && *named != '\0') {
    data = named;
    if (!data.is_absolute()) {
      throw Error("XDG_DATA_HOME",
                  fmt::format("{} is no absolute path", furlong::quoted(std::string(named))));
    }
  } else {
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home == '\0') {
      throw Error(
          fmt::format("{}: none here or in a parent folder, and neither XDG_DATA_HOME nor "
                      "HOME says where ledgers are; name a project with --project",
                      kFileName));
    }
    data = std::filesystem::path(home) / ".local" / "share";
  }
  project.ledger = data / "furlong" / "ledger";
  project.tables = data / "furlong" / "tuned";
  return project;
}

std::string file_name(const std::string& op, const std::string& device, std::string_view ending) {
  return fmt::format("{}.{}.{}", op, device, ending);
}

}  // namespace

Project Project::load(const std::optional<std::filesystem::path>& folder) {
  std::error_code none;
  if (folder) {
    const std::filesystem::path file = *folder / kFileName;
    if (!std::filesystem::is_regular_file(file, none)) {
      throw Error(
          fmt::format("{}: no such file; a project folder holds a {}", file.string(), kFileName));
    }
    return Reader(file).read(host::read_file(file));
  }
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (const auto file = at / kFileName; std::filesystem::is_regular_file(file, none)) {
      return Reader(file).read(host::read_file(file));
    }
    if (at == at.parent_path()) return outside();
  }
}

Project Project::parse(const std::string& text, const std::filesystem::path& file) {
  return Reader(file).read(text);
}

std::filesystem::path Project::ledger_dir() const {
  return root / ledger;
}

std::filesystem::path Project::tables_dir() const {
  return root / tables;
}

std::filesystem::path Project::ledger_file(const std::string& op, const std::string& device) const {
  return ledger_dir() / file_name(op, device, "jsonl");
}

std::filesystem::path Project::table_file(const std::string& op, const std::string& device) const {
  return tables_dir() / file_name(op, device, "txt");
}

std::filesystem::path Project::spec_file(const std::string& op) const {
  return root / spec_path(op);
}

std::string Project::spec_path(const std::string& op) const {
  std::string path = specs;
  constexpr std::string_view kOp = "{op}";
  for (std::size_t at = path.find(kOp); at != std::string::npos; at = path.find(kOp, at)) {
    path.replace(at, kOp.size(), op);
    at += op.size();
  }
  return path;
}

std::string Project::ledger_source(const std::string& op, const std::string& device) const {
  const std::filesystem::path name = file_name(op, device, "jsonl");
  if (root.empty()) return name.generic_string();
  std::filesystem::path file = (ledger / name).lexically_normal();
  if (file.is_absolute()) {
    file = file.lexically_relative(std::filesystem::absolute(root).lexically_normal());
  }
  return file.generic_string();
}

std::vector<Project::Stored> Project::stored() const {
  std::vector<Stored> found;
  const std::filesystem::path folder = ledger_dir();
  std::error_code failure;
  const auto kind = std::filesystem::status(folder, failure).type();
  if (kind == std::filesystem::file_type::not_found) return found;
  failure.clear();
  for (std::filesystem::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    const std::string name = at->path().filename().string();
    const auto parts = split(name, '.');
    if (parts.size() != 3 || parts[0].empty() || parts[2] != "jsonl") continue;
    std::error_code none;
    if (!DeviceKey::parse(parts[1]) || !at->is_regular_file(none)) continue;
    found.push_back({std::string(parts[0]), std::string(parts[1])});
  }
  if (failure) throw Error(folder.string(), "cannot be listed: " + failure.message());
  std::sort(found.begin(), found.end(), [](const Stored& a, const Stored& b) {
    return std::tie(a.op, a.device) < std::tie(b.op, b.device);
  });
  return found;
}

}  // namespace furlong::ledger
