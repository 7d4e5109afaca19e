// furlong verdicts show, lookup, lint: what a cache says, and why a look-up misses.
#include "cli/verdicts.hh"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>

#include "base/text.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "report/text_table.hh"
#include "verdict/computation.hh"
#include "verdict/device_line.hh"
#include "verdict/folder.hh"
#include "verdict/lint.hh"
#include "verdict/lookup.hh"
#include "verdict/verdict_file.hh"

namespace furlong::cli {

using nlohmann::ordered_json;
using report::Align;
using verdict::Verdict;
using verdict::VerdictFile;

std::string computation_line(std::string_view computation) {
  return verdict::summarize(computation).line;
}

std::string time_text(const Verdict& verdict) {
  const auto time = verdict.run_time_ns();
  if (!time) return "-";
  if (!verdict.measured_ns()) return "placeholder";
  return fmt::format("{}.{:03} us", *time / 1000, *time % 1000);
}

ordered_json key_json(const Verdict& verdict) {
  ordered_json json{{"device", verdict.device()}, {"computation", verdict.computation()}};
  if (const auto version = verdict.entry_version()) json["entry_version"] = *version;
  return json;
}

ordered_json winner_json(const Verdict& verdict) {
  ordered_json fields = ordered_json::object();
  for (const auto& field : verdict.winner_fields()) fields[field.name] = field.value;
  return {{"name", verdict.winner_name()}, {"fields", fields}};
}

ordered_json metadata_json(const Verdict& verdict) {
  ordered_json metadata = ordered_json::object();
  for (const auto& field : verdict.metadata()) metadata[field.name] = field.value;
  return metadata;
}

ordered_json verdict_json(const Verdict& verdict) {
  ordered_json json = key_json(verdict);
  json["summary"] = computation_line(verdict.computation());
  json["winner"] = winner_json(verdict);
  if (const auto time = verdict.run_time_ns()) {
    json["run_time_ns"] = *time;
    json["measured"] = verdict.measured_ns().has_value();
  }
  auto metadata = metadata_json(verdict);
  if (!metadata.empty()) json["metadata"] = std::move(metadata);
  return json;
}

verdict::Source told(verdict::LoadedSource loaded) {
  for (const auto& skipped : loaded.skipped) note("furlong: skipped " + printable(skipped));
  return std::move(loaded.source);
}

verdict::Source load_told(const std::string& path) {
  return told(verdict::load_source(path));
}

std::string read_text_argument(const std::string& path) {
  if (path != "-") return host::read_file(path);
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

namespace {

std::string_view format_text(verdict::Format format) {
  return format == verdict::Format::kText ? "text" : "binary";
}

std::string_view section_text(verdict::Section section) {
  if (section == verdict::Section::kDots) return "dots";
  return section == verdict::Section::kConvs ? "convs" : "results";
}

/// Devices by number, in the order in which they were met.
class DeviceNumbers {
 public:
  std::string label(const std::string& line) {
    const auto [at, is_new] = numbers_.emplace(line, numbers_.size() + 1);
    if (is_new) lines_.push_back(line);
    const auto parsed = verdict::DeviceLine::parse(line);
    if (!parsed) return fmt::format("[{}]", at->second);
    const auto& first = parsed->clauses.front();
    const bool old = parsed->dialect == verdict::Dialect::kOldCuda;
    return printable(old ? fmt::format("[{}] sm_{}", at->second, first.value)
                         : fmt::format("[{}] {} {}", at->second, first.name, first.value));
  }
  std::string legend() const {
    std::string text;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      text += fmt::format("[{}] {}\n", i + 1, printable(lines_[i]));
    }
    return text;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> lines_;
};

struct ShowOptions {
  std::vector<std::string> files;
  bool json = false;
};

void show_cache(const std::string& path, const VerdictFile& file) {
  DeviceNumbers devices;
  report::TextTable table({{"#", Align::kRight},
                           {"device"},
                           {"computation"},
                           {"version", Align::kRight},
                           {"winner"},
                           {"time", Align::kRight}});
  for (std::size_t i = 0; i < file.size(); ++i) {
    const auto verdict = file.verdict(i);
    const auto version = verdict.entry_version();
    table.add({std::to_string(i + 1), devices.label(verdict.device()),
               computation_line(verdict.computation()), version ? std::to_string(*version) : "-",
               verdict.winner_text(), time_text(verdict)});
  }
  const auto version = file.version();
  print(fmt::format("{}: AutotuneResults {}, {}, {} {}{}\n", path,
                    version ? fmt::format("version {}", *version) : "without version",
                    format_text(file.format()), file.size(),
                    file.size() == 1 ? "verdict" : "verdicts",
                    file.has_unknown_fields() ? ", fields unknown here" : ""));
  if (file.size() > 0) print(table.text() + devices.legend());
}

ordered_json cache_json(const std::string& path, const VerdictFile& file) {
  ordered_json json{{"file", path}, {"kind", "AutotuneResults"}};
  if (const auto version = file.version()) json["version"] = *version;
  json["format"] = format_text(file.format());
  json["unknown_fields"] = file.has_unknown_fields();
  ordered_json verdicts = ordered_json::array();
  for (std::size_t i = 0; i < file.size(); ++i) {
    auto verdict = verdict_json(file.verdict(i));
    verdict["section"] = section_text(file.section(i));
    if (file.line(i) > 0) verdict["line"] = file.line(i);
    verdicts.push_back(std::move(verdict));
  }
  json["verdicts"] = std::move(verdicts);
  return json;
}

void show_new_cache(const std::string& path, const verdict::NewCache& cache) {
  print(fmt::format("{}: AutotuneCache (the newer kind), {}, {} {}\n", path,
                    format_text(cache.format), cache.entries.size(),
                    cache.entries.size() == 1 ? "entry" : "entries"));
  if (!cache.device_scope.empty()) print("device scope: " + printable(cache.device_scope) + "\n");
  if (!cache.explicit_version_scope.empty()) {
    print("version scope: " + printable(cache.explicit_version_scope) + "\n");
  }
  if (cache.entries.empty()) return;
  report::TextTable table({{"device"},
                           {"version"},
                           {"computation's fingerprint"},
                           {"codegen"},
                           {"backend"},
                           {"configuration"}});
  for (const auto& entry : cache.entries) {
    const auto or_dash = [](const std::string& text) {
      return text.empty() ? "-" : printable(text);
    };
    table.add({printable(entry.device), or_dash(entry.explicit_version),
               or_dash(entry.hlo_fingerprint), or_dash(entry.codegen_version),
               or_dash(entry.backend), or_dash(entry.backend_config)});
  }
  print(table.text());
}

ordered_json new_cache_json(const std::string& path, const verdict::NewCache& cache) {
  ordered_json entries = ordered_json::array();
  for (const auto& entry : cache.entries) {
    entries.push_back({{"device", entry.device},
                       {"explicit_version", entry.explicit_version},
                       {"hlo_fingerprint", entry.hlo_fingerprint},
                       {"codegen_version", entry.codegen_version},
                       {"codegen_options_fingerprint", entry.codegen_options_fingerprint},
                       {"backend", entry.backend},
                       {"backend_config", entry.backend_config},
                       {"backend_version", entry.backend_version}});
  }
  return {{"file", path},
          {"kind", "AutotuneCache"},
          {"format", format_text(cache.format)},
          {"device_scope", cache.device_scope},
          {"explicit_version_scope", cache.explicit_version_scope},
          {"entries", entries}};
}

int show(const ShowOptions& options) {
  ordered_json shown = ordered_json::array();
  bool first = true;
  const auto separate = [&] {
    if (!first && !options.json) print("\n");
    first = false;
  };
  for (const auto& path : options.files) {
    if (verdict::is_folder(path)) {
      const auto source = load_told(path);
      ordered_json results = ordered_json::array();
      report::TextTable table({{"file"}, {"computation"}, {"winner"}, {"time", Align::kRight}});
      for (const auto& item : source.items) {
        auto json = verdict_json(item.verdict);
        if (item.bare) json = {{"winner", json["winner"]}};
        json["file"] = item.file;
        results.push_back(json);
        table.add({printable(item.file),
                   item.bare ? "-" : computation_line(item.verdict.computation()),
                   item.verdict.winner_text(), time_text(item.verdict)});
      }
      separate();
      if (options.json) {
        shown.push_back({{"file", path}, {"kind", "folder"}, {"verdicts", results}});
      } else {
        print(fmt::format("{}: folder, {} {}\n", path, source.items.size(),
                          source.items.size() == 1 ? "verdict" : "verdicts"));
        if (table.rows() > 0) print(table.text());
      }
      continue;
    }
    const auto contents = verdict::read_contents(host::read_file(path), path);
    separate();
    if (const auto* file = std::get_if<VerdictFile>(&contents)) {
      options.json ? shown.push_back(cache_json(path, *file)) : show_cache(path, *file);
    } else if (const auto* cache = std::get_if<verdict::NewCache>(&contents)) {
      options.json ? shown.push_back(new_cache_json(path, *cache)) : show_new_cache(path, *cache);
    } else {
      const auto& result = std::get<Verdict>(contents);
      if (options.json) {
        shown.push_back(
            {{"file", path}, {"kind", "AutotuneResult"}, {"winner", winner_json(result)}});
      } else {
        print(fmt::format("{}: AutotuneResult without key: {}, {}\n", path, result.winner_text(),
                          time_text(result)));
      }
    }
  }
  if (options.json) print_json({{"schema", 1}, {"files", shown}});
  return kOk;
}

struct LookUpOptions {
  std::string file;
  std::string device;
  std::string hlo;
  std::optional<std::int32_t> version;
  bool json = false;
};

int tell_found(const std::vector<Verdict>& found, bool json) {
  if (json) {
    ordered_json all = ordered_json::array();
    for (const auto& verdict : found) all.push_back(verdict_json(verdict));
    print_json({{"schema", 1}, {"found", all}});
    return kOk;
  }
  for (const auto& verdict : found) {
    const auto version = verdict.entry_version();
    print(fmt::format("{}, {}{}\n", verdict.winner_text(), time_text(verdict),
                      version ? fmt::format(", entry version {}", *version) : ""));
  }
  return kOk;
}

int look_up(const LookUpOptions& options) {
  auto text = read_text_argument(options.hlo);
  // An editor ends a file with a newline; a key does not.
  if (!text.empty() && text.back() == '\n') text.pop_back();
  const verdict::Key key{options.device, std::move(text), options.version};
  if (verdict::is_folder(options.file) && verdict::is_verdict_folder(options.file)) {
    const auto found = verdict::find_in_folder(verdict::load_folder(options.file), key);
    if (found) return tell_found({*found}, options.json);
    const auto name = verdict::folder_name(key) + ".textproto";
    if (options.json) {
      print_json({{"schema", 1}, {"found", ordered_json::array()}, {"wanted_file", name}});
    } else {
      print(fmt::format("missed: no file {} in {}; a folder's files do not say their keys\n", name,
                        options.file));
    }
    return kFindings;
  }
  std::vector<Verdict> all;
  for (auto& item : load_told(options.file).items) {
    if (!item.bare) all.push_back(std::move(item.verdict));
  }
  const verdict::LookUp cache(std::move(all));
  std::vector<Verdict> found;
  for (const Verdict* verdict : cache.find_any_version(key.device, key.computation)) {
    if (!options.version || verdict->entry_version() == options.version) found.push_back(*verdict);
  }
  if (!found.empty()) return tell_found(found, options.json);
  const auto miss = verdict::nearest_miss(cache.verdicts(), key);
  const auto reasons = miss ? verdict::explain(*miss, key) : std::vector<std::string>();
  if (options.json) {
    ordered_json json{{"schema", 1}, {"found", ordered_json::array()}};
    if (miss) json["nearest"] = verdict_json(*miss->nearest);
    json["differences"] = reasons;
    print_json(json);
  } else if (!miss) {
    print("missed: the cache is empty\n");
  } else {
    print(fmt::format("missed; the nearest verdict is {}, {}\n", miss->nearest->winner_text(),
                      time_text(*miss->nearest)));
    print(fmt::format("  for {}\n", computation_line(miss->nearest->computation())));
    for (const auto& reason : reasons) print("  " + reason + "\n");
  }
  return kFindings;
}

struct LintOptions {
  std::vector<std::string> files;
  std::int32_t version = verdict::kWantedEntryVersion;
  bool json = false;
};

int lint(const LintOptions& options) {
  ordered_json all = ordered_json::array();
  std::size_t count = 0;
  for (const auto& path : options.files) {
    const auto file = verdict::load_verdicts(path);
    for (const auto& finding : verdict::lint(file, path, options.version)) {
      ++count;
      ordered_json json{{"file", path}, {"rule", finding.rule}};
      if (finding.entry > 0) json["entry"] = finding.entry;
      if (finding.line > 0) json["line"] = finding.line;
      json["message"] = finding.message;
      all.push_back(json);
      if (options.json) continue;
      std::string place = path;
      if (finding.line > 0) {
        place += fmt::format(":{}", finding.line);
      } else if (finding.entry > 0) {
        place += fmt::format(": entry {}", finding.entry);
      }
      print(fmt::format("{}: {}: {}\n", place, finding.rule, finding.message));
    }
  }
  if (options.json) print_json({{"schema", 1}, {"findings", all}});
  return count == 0 ? kOk : kFindings;
}

}  // namespace

void add_verdicts(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("verdicts", "Read, compare and merge autotune caches");
  app->require_subcommand(1);
  app->footer(
      "A cache is an AutotuneResults file, text or binary, or a folder with one file a "
      "computation.\n"
      "Example: furlong verdicts diff rank0.pbtxt rank3.pbtxt");

  auto* show_app = app->add_subcommand("show", "What caches say");
  show_app->footer("Example: furlong verdicts show cache.textproto");
  auto show_options = std::make_shared<ShowOptions>();
  show_app->add_option("FILE", show_options->files, "Cache files or folders")->required();
  show_app->add_flag("--json", show_options->json, "Print JSON");
  context.actions[show_app] = [show_options] { return show(*show_options); };

  auto* lookup_app = app->add_subcommand("lookup", "The verdict for a key, or why it is missed");
  lookup_app->footer(
      "Exit code 1 for a miss; the nearest verdict is shown with what differs from it.\n"
      "Example: furlong verdicts lookup cache.textproto --device \"$(cat device.txt)\" --hlo "
      "fusion.txt");
  auto lookup_options = std::make_shared<LookUpOptions>();
  lookup_app->add_option("FILE", lookup_options->file, "Cache file or folder")->required();
  lookup_app->add_option("--device", lookup_options->device, "Device line, exactly")->required();
  lookup_app
      ->add_option("--hlo", lookup_options->hlo,
                   "File with the computation's text, - for stdin; one newline at its end is no "
                   "part of the key")
      ->required()
      ->type_name("FILE");
  lookup_app->add_option("--entry-version", lookup_options->version,
                         "Only verdicts of this entry version (default: any)");
  lookup_app->add_flag("--json", lookup_options->json, "Print JSON");
  context.actions[lookup_app] = [lookup_options] { return look_up(*lookup_options); };

  add_verdicts_compare(*app, context);

  auto* lint_app = app->add_subcommand("lint", "What a loader would stumble over");
  lint_app->footer("Exit code 1 when there are findings.\nExample: furlong verdicts lint cache.pb");
  auto lint_options = std::make_shared<LintOptions>();
  lint_app->add_option("FILE", lint_options->files, "Cache files")->required();
  lint_app
      ->add_option("--entry-version", lint_options->version,
                   "The entry version that a loader wants")
      ->capture_default_str();
  lint_app->add_flag("--json", lint_options->json, "Print JSON");
  context.actions[lint_app] = [lint_options] { return lint(*lint_options); };

  add_verdicts_folder(*app, context);
}

}  // namespace furlong::cli
