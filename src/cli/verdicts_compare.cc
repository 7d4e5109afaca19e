// furlong verdicts diff, merge: what changed between caches, and one cache from several.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/number.hh"
#include "base/text.hh"
#include "cli/verdicts.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "report/text_table.hh"
#include "verdict/compare.hh"
#include "verdict/merge.hh"
#include "verdict/verdict_file.hh"

namespace furlong::cli {
namespace {

using nlohmann::ordered_json;
using verdict::Row;
using verdict::Source;

struct DiffOptions {
  std::vector<std::string> files;
  std::string match = "exact";
  std::string ignore;
  double noise = 30;
  bool all = false;
  bool json = false;
};

verdict::CompareOptions compare_options(const DiffOptions& options) {
  verdict::CompareOptions compare;
  if (!(options.noise >= 0)) throw UsageError("--noise: a number of percent >= 0 is allowed");
  compare.noise = options.noise / 100;
  if (options.match == "exact") {
    compare.match = verdict::Match::kExact;
  } else if (options.match == "computation") {
    compare.match = verdict::Match::kComputation;
  } else if (options.match == "shape") {
    compare.match = verdict::Match::kShape;
    const auto ignore = verdict::IgnoreList::parse(options.ignore);
    if (!ignore) throw UsageError("--ignore: " + ignore.reason());
    compare.ignore = *ignore;
    return compare;
  } else {
    throw UsageError(fmt::format("--match: {}; exact, computation and shape are allowed",
                                 quoted(options.match)));
  }
  if (!options.ignore.empty()) throw UsageError("--ignore goes with --match shape");
  return compare;
}

/// `A`, `B`, ... for two, the position for more: ranks are counted from 0.
std::vector<std::string> labels(std::size_t count) {
  if (count == 2) return {"A", "B"};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

std::string label_list(const std::vector<std::size_t>& sources,
                       const std::vector<std::string>& names) {
  std::vector<std::string> listed;
  for (const auto source : sources) listed.push_back(names[source]);
  return join(listed, ",");
}

std::string subject(const Row& row) {
  const auto& verdict = row.any();
  const auto* item =
      *std::find_if(row.items.begin(), row.items.end(), [](const auto* i) { return i != nullptr; });
  std::string text = item->bare ? item->file : computation_line(verdict.computation());
  if (!item->file.empty() && !item->bare) text = item->file + ": " + text;
  return printable(text);
}

void print_row(const Row& row, const std::vector<std::string>& names) {
  std::vector<std::string> what;
  if (row.winner_differs()) what.emplace_back("winner differs");
  if (!row.missing.empty()) what.push_back("not in " + label_list(row.missing, names));
  if (row.time_differs) what.push_back(fmt::format("time differs {:.2f}x", *row.time_ratio));
  if (row.only_metadata_differs) what.emplace_back("only metadata differs");
  if (what.empty()) what.emplace_back("equal");
  print(fmt::format("{}: {}\n", join(what, ", "), subject(row)));
  const bool bare = row.any().device().empty() && row.any().computation().empty();
  if (!bare) print(fmt::format("  device: {}\n", printable(row.any().device())));
  if (!row.repeated.empty()) {
    print(fmt::format("  more than once, with other results, in {}\n",
                      label_list(row.repeated, names)));
  }
  if (row.joined_by != "exact" && row.missing.size() + 1 < row.items.size()) {
    print(fmt::format("  joined by {}\n", row.joined_by));
  }
  for (const auto& camp : row.camps) {
    std::vector<std::string> times;
    for (const auto source : camp.sources) times.push_back(time_text(row.items[source]->verdict));
    print(fmt::format("  {}: {} ({})\n", label_list(camp.sources, names),
                      camp.verdict->winner_text(), join(times, ", ")));
  }
  for (const auto& field : row.fields) {
    std::vector<std::string> values;
    for (const auto& value : field.values) values.push_back(printable(value.value_or("none")));
    print(fmt::format("  {}: {}\n", printable(field.name), join(values, " -> ")));
  }
  if (row.only_metadata_differs) {
    for (std::size_t i = 0; i < row.items.size(); ++i) {
      if (row.items[i] == nullptr) continue;
      std::string said;
      for (const auto& field : row.items[i]->verdict.metadata()) {
        said += printable(fmt::format(" {}={}", field.name, field.value));
      }
      print(fmt::format("  {}:{}\n", names[i], said.empty() ? " none" : said));
    }
  }
}

ordered_json row_json(const Row& row, const std::vector<Source>& sources) {
  ordered_json json = key_json(row.any());
  json["summary"] = computation_line(row.any().computation());
  for (const auto* item : row.items) {
    if (item != nullptr && !item->file.empty()) json["file"] = item->file;
  }
  json["joined_by"] = row.joined_by;
  json["winner_differs"] = row.winner_differs();
  json["time_differs"] = row.time_differs;
  json["only_metadata_differs"] = row.only_metadata_differs;
  ordered_json missing = ordered_json::array();
  for (const auto source : row.missing) missing.push_back(sources[source].name);
  json["missing_in"] = missing;
  if (!row.repeated.empty()) {
    ordered_json repeated = ordered_json::array();
    for (const auto source : row.repeated) repeated.push_back(sources[source].name);
    json["repeated_in"] = repeated;
  }
  ordered_json camps = ordered_json::array();
  for (const auto& camp : row.camps) {
    ordered_json who = ordered_json::array();
    for (const auto source : camp.sources) {
      ordered_json one{{"source", sources[source].name}};
      const auto time = row.items[source]->verdict.run_time_ns();
      if (time) one["run_time_ns"] = *time;
      if (row.only_metadata_differs) one["metadata"] = metadata_json(row.items[source]->verdict);
      who.push_back(one);
    }
    auto winner = winner_json(*camp.verdict);
    winner["sources"] = who;
    camps.push_back(winner);
  }
  json["winners"] = camps;
  ordered_json fields = ordered_json::array();
  for (const auto& field : row.fields) {
    ordered_json values = ordered_json::array();
    for (const auto& value : field.values) {
      values.push_back(value ? ordered_json(*value) : ordered_json(nullptr));
    }
    fields.push_back({{"name", field.name}, {"values", values}});
  }
  json["fields"] = fields;
  if (row.time_ratio) json["time_ratio"] = *row.time_ratio;
  return json;
}

int diff(const DiffOptions& options) {
  if (options.files.size() < 2) throw UsageError("verdicts diff: at least two caches are allowed");
  const auto compare = compare_options(options);
  std::vector<Source> sources;
  const std::vector<std::filesystem::path> paths(options.files.begin(), options.files.end());
  for (auto& loaded : verdict::load_sources(paths)) sources.push_back(told(std::move(loaded)));
  const auto comparison = verdict::compare(sources, compare);
  if (options.json) {
    ordered_json names = ordered_json::array();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      ordered_json name{{"name", sources[i].name}, {"verdicts", sources[i].items.size()}};
      if (comparison.repeats[i] > 0) name["repeats"] = comparison.repeats[i];
      names.push_back(name);
    }
    ordered_json rows = ordered_json::array();
    for (const auto& row : comparison.rows) {
      if (options.all || !row.equal()) rows.push_back(row_json(row, sources));
    }
    print_json({{"schema", 1},
                {"sources", names},
                {"match", options.match},
                {"noise_percent", options.noise},
                {"computations", comparison.rows.size()},
                {"equal", comparison.equal},
                {"winners_differ", comparison.winners},
                {"incomplete", comparison.incomplete},
                {"times_differ", comparison.times},
                {"only_metadata_differs", comparison.metadata},
                {"rows", rows}});
    return comparison.winners == 0 ? kOk : kFindings;
  }
  const auto names = labels(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto repeats = comparison.repeats[i];
    print(fmt::format("{}: {} ({} {}{})\n", names[i], sources[i].name, sources[i].items.size(),
                      sources[i].items.size() == 1 ? "verdict" : "verdicts",
                      repeats > 0 ? fmt::format(", {} of them repeated", repeats) : ""));
  }
  for (const auto& row : comparison.rows) {
    if (row.equal() && !options.all) continue;
    print("\n");
    print_row(row, names);
  }
  print(fmt::format(
      "\n{} computations: {} equal, {} with another winner, {} not everywhere, {} with a time "
      "beyond "
      "{} %, {} with other metadata only\n",
      comparison.rows.size(), comparison.equal, comparison.winners, comparison.incomplete,
      comparison.times, shortest(options.noise), comparison.metadata));
  return comparison.winners == 0 ? kOk : kFindings;
}

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
  std::string on_conflict = "fail";
  bool json = false;
};

int merge(const MergeOptions& options) {
  verdict::OnConflict policy{};
  if (options.on_conflict == "fail") {
    policy = verdict::OnConflict::kFail;
  } else if (options.on_conflict == "first") {
    policy = verdict::OnConflict::kFirst;
  } else if (options.on_conflict == "fastest") {
    policy = verdict::OnConflict::kFastest;
  } else {
    throw UsageError(fmt::format("--on-conflict: {}; fail, first and fastest are allowed",
                                 quoted(options.on_conflict)));
  }
  std::vector<verdict::MergeInput> inputs;
  for (const auto& path : options.files) {
    inputs.push_back({path, verdict::load_verdicts(path).verdicts()});
  }
  const auto merged = verdict::merge(inputs, policy);
  ordered_json conflicts = ordered_json::array();
  for (const auto& conflict : merged.conflicts) {
    ordered_json sides = ordered_json::array();
    if (!options.json) {
      print(fmt::format("conflict ({}): {}\n", conflict.reason,
                        computation_line(conflict.sides.front().verdict.computation())));
      print(fmt::format("  device: {}\n", printable(conflict.sides.front().verdict.device())));
    }
    for (std::size_t i = 0; i < conflict.sides.size(); ++i) {
      const auto& side = conflict.sides[i];
      const bool taken = conflict.taken == i;
      if (!options.json) {
        print(fmt::format("  {} {}: {} ({})\n", taken ? "*" : " ", inputs[side.source].name,
                          side.verdict.winner_text(), time_text(side.verdict)));
      }
      auto json = winner_json(side.verdict);
      json["source"] = inputs[side.source].name;
      if (const auto time = side.verdict.run_time_ns()) json["run_time_ns"] = *time;
      json["taken"] = taken;
      sides.push_back(json);
    }
    auto json = key_json(conflict.sides.front().verdict);
    json["winner_differs"] = conflict.winner_differs;
    json["reason"] = conflict.reason;
    json["sides"] = sides;
    conflicts.push_back(json);
  }
  const bool write = merged.unresolved == 0;
  if (write) {
    const verdict::VerdictFile file(merged.verdicts);
    host::write_file_atomically(
        options.output, verdict::to_bytes(file, verdict::format_of_extension(options.output)));
  }
  if (options.json) {
    print_json({{"schema", 1},
                {"written", write},
                {"output", options.output},
                {"verdicts", merged.verdicts.size()},
                {"collapsed", merged.collapsed},
                {"unresolved", merged.unresolved},
                {"conflicts", conflicts}});
  } else if (write) {
    print(fmt::format("{}: {} verdicts, {} duplicates collapsed, {} conflicts resolved\n",
                      options.output, merged.verdicts.size(), merged.collapsed,
                      merged.conflicts.size()));
  }
  if (!write) {
    note(
        fmt::format("furlong: {} unresolved conflicts; nothing was written; --on-conflict "
                    "fail, first and fastest are allowed",
                    merged.unresolved));
  }
  return write ? kOk : kFindings;
}

}  // namespace

void add_verdicts_compare(CLI::App& verdicts, Context& context) {
  auto* diff_app = verdicts.add_subcommand("diff", "What differs between caches or ranks");
  diff_app->footer(
      "Two caches are A and B; more are the ranks of one job, counted from 0. Folders are "
      "compared\n"
      "file by file. Exit code 1 when winners differ.\n"
      "Example: furlong verdicts diff before.textproto after.textproto --match shape --ignore "
      "device");
  auto options = std::make_shared<DiffOptions>();
  diff_app->add_option("FILE", options->files, "Two or more caches")->required();
  diff_app
      ->add_option("--match", options->match,
                   "exact: the key; computation: whatever device and entry version; shape: what is "
                   "done to which shapes")
      ->capture_default_str();
  diff_app->add_option("--ignore", options->ignore,
                       "Of --match shape: what does not count, comma-separated");
  diff_app->add_option("--noise", options->noise, "Percent below which times are the same")
      ->capture_default_str();
  diff_app->add_flag("--all", options->all, "Show what is equal too");
  diff_app->add_flag("--json", options->json, "Print JSON");
  context.actions[diff_app] = [options] { return diff(*options); };

  auto* merge_app = verdicts.add_subcommand("merge", "One cache from several");
  merge_app->footer(
      "Equal duplicates collapse. Conflicts are listed before anything is written; with one that\n"
      "is unresolved nothing is, and the exit code is 1. What OUT was is replaced.\n"
      "Example: furlong verdicts merge a.pb b.pb -o all.textproto --on-conflict fastest");
  auto merging = std::make_shared<MergeOptions>();
  merge_app->add_option("FILE", merging->files, "Cache files")->required();
  merge_app
      ->add_option("-o,--output", merging->output,
                   "File to write; its extension decides between text and binary")
      ->required()
      ->type_name("OUT");
  merge_app
      ->add_option("--on-conflict", merging->on_conflict,
                   "fail; first: the earliest file counts; fastest: the smaller run time")
      ->capture_default_str();
  merge_app->add_flag("--json", merging->json, "Print JSON");
  context.actions[merge_app] = [merging] { return merge(*merging); };
}

}  // namespace furlong::cli
