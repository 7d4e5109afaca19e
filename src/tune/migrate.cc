#include "tune/migrate.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.hh"
#include "furlong/error.hh"
#include "furlong/table.hh"
#include "host/crc32.hh"
#include "host/files.hh"
#include "host/json.hh"
#include "ledger/ledger.hh"
#include "ledger/lines.hh"
#include "ledger/tools.hh"
#include "ledger/writer.hh"
#include "tune/generate.hh"

namespace furlong::tune {
namespace {

namespace fs = std::filesystem;

/// What the older layout holds of one (op, dtype, device).
struct OldDtype {
  std::string table_file;  ///< empty without a table
  std::string table_text;
  std::optional<Table> table;
  std::string commit;
  std::string date;
  std::vector<fs::path> runs;  ///< by name
};

struct OldOp {
  std::map<int, OldDtype> dtypes;  ///< by position in the project's list
};

using OldLayout = std::map<std::pair<std::string, std::string>, OldOp>;

/// One name `<op>.<dtype>.<device>`; nothing when it is none.
struct OldName {
  std::string op;
  std::string dtype;
  std::string device;
};

std::optional<OldName> old_name(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 3) return std::nullopt;
  for (const auto part : parts) {
    if (part.empty() || has_space(part)) return std::nullopt;
  }
  const auto table = parse_table_name(fmt::format("{}.{}.txt", parts[0], parts[2]));
  if (!table) return std::nullopt;
  return OldName{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  if (!fs::is_directory(folder)) return entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// The tier that a row's comment names; `noisy` and other words are no tier.
std::optional<Tier> tier_of(const TableRow& row) {
  for (const auto word : words(row.tier)) {
    if (const auto tier = parse_tier(word)) return tier;
  }
  return std::nullopt;
}

bool is_timed(const TableRow& row) {
  return row.entries.front().ms.has_value();
}

class Preparation {
 public:
  Preparation(const ledger::Project& project, const MigrateOptions& options)
      : project_(project), options_(options) {}

  Result<Migration> run() {
    read_layout();
    for (auto& [name, old] : layout_) {
      MigratedOp op;
      op.op = name.first;
      op.device = name.second;
      op.ledger_file = project_.ledger_file(op.op, op.device);
      op.table_file = project_.table_file(op.op, op.device);
      for (const auto& file : {op.ledger_file, op.table_file}) {
        if (fs::exists(fs::symlink_status(file))) {
          throw Error(file.string(), "is there already; migration replaces no file");
        }
      }
      const std::string refusal = prepare(old, op);
      if (!refusal.empty()) return Result<Migration>::no(refusal);
      migration_.ops.push_back(std::move(op));
    }
    return std::move(migration_);
  }

 private:
  OldDtype* slot(const OldName& name, const fs::path& where) {
    const int dtype = project_.dtypes.index(name.dtype);
    if (dtype < 0) {
      throw Error(where.string(), fmt::format("unknown dtype {}; allowed are {}",
                                              quoted(name.dtype), project_.dtypes.text()));
    }
    return &layout_[{name.op, name.device}].dtypes[dtype];
  }

  void read_layout() {
    const fs::path tables = options_.old / "tuned";
    const fs::path ledgers = options_.old / "ledger";
    for (const fs::path& file : sorted_entries(tables)) {
      if (file.extension() != ".txt") continue;
      const auto name = old_name(file.stem().string());
      if (!name) {
        warn(fmt::format("{}: skipped; an old table is named <op>.<dtype>.<device>.txt",
                         file.string()));
        continue;
      }
      read_table(file, *name, *slot(*name, file));
    }
    for (const fs::path& folder : sorted_entries(ledgers)) {
      if (!fs::is_directory(folder)) continue;
      const auto name = old_name(folder.filename().string());
      if (!name) {
        warn(fmt::format("{}: skipped; an old ledger folder is named <op>.<dtype>.<device>",
                         folder.string()));
        continue;
      }
      std::vector<fs::path> runs;
      for (const fs::path& file : sorted_entries(folder)) {
        if (file.extension() == ".jsonl") runs.push_back(file);
      }
      if (!runs.empty()) slot(*name, folder)->runs = std::move(runs);
    }
    if (layout_.empty()) {
      throw Error(options_.old.string(),
                  "holds no old layout; it has tuned/<op>.<dtype>.<device>.txt and "
                  "ledger/<op>.<dtype>.<device>/<run>.jsonl");
    }
  }

  /// An old table is today's without the dtype: put it in, line by line, and parse.
  void read_table(const fs::path& file, const OldName& name, OldDtype& into) {
    into.table_file = file.string();
    into.table_text = host::read_file(file);
    std::string text;
    for (const std::string_view raw : split(into.table_text, '\n')) {
      const std::string_view line = trim(raw);
      const std::string_view rest = line.empty() ? line : trim(line.substr(1));
      if (line.starts_with('#') && rest.starts_with("keys:")) {
        text += "# keys: dtype:exact " + std::string(trim(rest.substr(5)));
      } else if (line.empty() || line.front() == '#') {
        text += line;
      } else {
        text += "dtype=" + name.dtype + ' ' + std::string(line);
      }
      text += '\n';
    }
    const std::string as_new =
        (file.parent_path() / fmt::format("{}.{}.txt", name.op, name.device)).string();
    TableFile parsed;
    try {
      parsed = parse_tables(text, as_new, project_.dtypes);
    } catch (const Error& error) {
      std::string what = error.what();
      if (what.starts_with(as_new)) what.replace(0, as_new.size(), file.string());
      throw Error(what);
    }
    if (const std::string* dtype = parsed.find("dtype"); dtype != nullptr && *dtype != name.dtype) {
      throw Error(file.string(), fmt::format("header says dtype {}, the file name {}",
                                             quoted(*dtype), quoted(name.dtype)));
    }
    const std::string* commit = parsed.find(project_.library);
    if (commit == nullptr) commit = parsed.find("batchlas");
    into.commit = commit == nullptr ? "unknown" : *commit;
    const std::string* date = parsed.find("date");
    into.date = date == nullptr ? "" : *date;
    if (!parsed.tables.empty()) into.table = std::move(parsed.tables.front());
  }

  void warn(std::string text) { migration_.warnings.push_back(std::move(text)); }

  /// Adds the old files' lines, `dtype` put behind the run id, each with a crc.
  void take_lines(const OldDtype& old, const std::string& dtype, MigratedOp& op) {
    for (const fs::path& file : old.runs) {
      const std::string bytes = host::read_file(file);
      if (ledger::is_lfs_pointer(bytes)) throw Error(file.string() + ":1", ledger::kLfsReason);
      std::string_view rest = bytes;
      ledger::RawLine line;
      while (ledger::next_line(rest, line)) {
        if (line.blank) continue;
        const std::string place = fmt::format("{}:{}", file.string(), line.number);
        if (const std::string damage = ledger::line_damage(line.text); !damage.empty()) {
          if (line.ended) throw Error(place, damage);
          warn(place + ": a torn last line is left out: " + damage);
          continue;
        }
        op.ledger += with_dtype(line.text, dtype, place);
        op.ledger += '\n';
        ++op.lines;
      }
    }
  }

  /// The line is one whole flat object. Only the dtype and the crc are touched.
  static std::string with_dtype(std::string_view line, const std::string& dtype,
                                const std::string& place) {
    const auto object = host::parse_json(line, place);
    const bool has_run = object.contains("run_id");
    bool add = has_run;
    if (object.contains("dtype")) {
      if (object.at("dtype") != dtype) {
        throw Error(place, fmt::format("names a dtype; a line of the folder is of {}", dtype));
      }
      add = false;
    }
    std::string text(line.substr(0, line.find_last_of('}') + 1));
    if (object.contains("crc")) {
      text.erase(text.rfind(", \"crc\": \""));  // line_damage() took no other spelling
    } else {
      text.pop_back();
      text.erase(text.find_last_not_of(" \t\r") + 1);
    }
    if (add) text.insert(end_of_run_id(text), ", \"dtype\": \"" + dtype + "\"");
    const std::string crc = host::crc32_hex(text);
    return text + ", \"crc\": \"" + crc + "\"}";
  }

  /// Behind the value of the field `run_id`, which is a text.
  static std::size_t end_of_run_id(std::string_view text) {
    bool next_is_value = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '"') continue;
      const std::size_t start = at + 1;
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
      }
      if (next_is_value) return at + 1;
      const std::string_view name = text.substr(start, at - start);
      const std::size_t after = text.find_first_not_of(" \t\r", at + 1);
      next_is_value = name == "run_id" && after != std::string_view::npos && text[after] == ':';
    }
    throw Error("run_id", "is no plain text in " + quoted(text));
  }

  /// The candidates of the newest measured run of (op, dtype): of this device, else of another one.
  std::vector<std::string> candidates_for(const std::string& op, const std::string& device,
                                          int dtype, const Table& table) {
    std::vector<std::string> order{device};
    for (const auto& [name, old] : layout_) {
      if (name.first == op && name.second != device) order.push_back(name.second);
    }
    for (const std::string& from : order) {
      const auto& dtypes = layout_.at({op, from}).dtypes;
      const auto found = dtypes.find(dtype);
      if (found == dtypes.end() || found->second.runs.empty()) continue;
      MigratedOp lines;
      const std::size_t warned = migration_.warnings.size();
      take_lines(found->second, project_.dtypes.names()[static_cast<std::size_t>(dtype)], lines);
      migration_.warnings.resize(warned);
      const auto ledger = ledger::Ledger::parse(
          lines.ledger, found->second.runs.front().parent_path().string(), read_options());
      const ledger::StoredRun* run = ledger::newest_run(ledger, dtype);
      if (run != nullptr && is_measured(run->run.tier)) return run->run.candidates;
    }
    std::vector<std::string> seen;
    for (const TableRow& row : table.rows) {
      for (const TableEntry& entry : row.entries) {
        if (std::find(seen.begin(), seen.end(), entry.spelling) == seen.end()) {
          seen.push_back(entry.spelling);
        }
      }
    }
    return seen;
  }

  ledger::ReadOptions read_options() const { return {project_.dtypes, project_.library}; }

  /// Adds the rows that no ledger holds, as records. The reason of a refusal, or empty.
  std::string take_rows(const OldDtype& old, int dtype, MigratedOp& op) {
    if (!old.table) return "";
    const std::string& name = project_.dtypes.names()[static_cast<std::size_t>(dtype)];
    std::vector<std::string> candidates;
    std::array<std::int64_t, kTierNames.size()> count{};
    for (const Tier tier : {Tier::kConverted, Tier::kTranscribed}) {
      const std::string run_id = fmt::format("{}-{}", tier_name(tier), old.commit);
      for (const TableRow& row : old.table->rows) {
        std::optional<Tier> as = tier_of(row);
        if (!as || is_measured(*as)) {
          if (!old.runs.empty()) continue;
          if (!is_timed(row) && !as) {
            as = Tier::kTranscribed;
          } else if (options_.as_converted) {
            as = Tier::kConverted;
          } else {
            return fmt::format(
                "{}:{}: row {} is {} and its ledger is not there; bring the ledger or take "
                "timed rows over with --as-converted",
                old.table_file, row.line, quoted(row.key_text(old.table->keys)),
                as ? tier_name(*as) : "timed");
          }
        }
        if (*as != tier) continue;
        if (count[static_cast<std::size_t>(tier)]++ == 0) {
          if (old.date.empty()) throw Error(old.table_file + ":1", "the header has no date");
          if (candidates.empty()) {
            candidates = candidates_for(op.op, op.device, dtype, *old.table);
          }
          ledger::Run run;
          run.run_id = run_id;
          run.dtype = name;
          run.device = op.device;
          run.commit = old.commit;
          run.date = old.date;
          run.tier = tier;
          run.keys = old.table->keys.text();
          run.candidates = candidates;
          op.ledger += ledger::to_line(run, project_.library) + '\n';
        }
        ledger::Cell cell;
        cell.run_id = run_id;
        cell.dtype = name;
        cell.tier = tier;
        cell.key = row.key_text(old.table->keys);
        cell.date = old.date;
        for (const TableEntry& entry : row.entries) {
          cell.ranked.push_back(entry.spelling);
          ledger::Outcome outcome;
          outcome.candidate = entry.spelling;
          if (entry.ms) outcome.median_ms = *entry.ms;
          cell.outcomes.push_back(std::move(outcome));
        }
        op.ledger += ledger::to_line(cell) + '\n';
      }
    }
    op.converted += count[static_cast<std::size_t>(Tier::kConverted)];
    op.transcribed += count[static_cast<std::size_t>(Tier::kTranscribed)];
    return "";
  }

  /// The reason of a refusal, or empty.
  std::string prepare(OldOp& old, MigratedOp& op) {
    KernelHashes named;
    bool any_table = false;
    for (auto& [dtype, one] : old.dtypes) {
      take_lines(one, project_.dtypes.names()[static_cast<std::size_t>(dtype)], op);
      if (std::string refusal = take_rows(one, dtype, op); !refusal.empty()) return refusal;
      if (one.table_file.empty()) continue;
      any_table = true;
      const KernelHashes hashes = TableHeader(one.table_text).hashes();
      if (named.families.empty()) named.kernels = hashes.kernels;
      for (const auto& family : hashes.families) {
        if (named.find(family.first) == nullptr) named.families.push_back(family);
      }
    }
    ledger::HashesNow hashes = [named](const std::vector<std::string>&) { return named; };
    if (!any_table) {
      hashes = ledger::hashes_of_sources(project_.root, project_.spec_file(op.op));
    }
    const auto ledger = ledger::Ledger::parse(op.ledger, op.ledger_file.string(), read_options());
    try {
      auto table = generate_table(ledger, TableNames::of(project_, op.op, op.device), hashes);
      for (auto& warning : table.warnings) warn(std::move(warning));
      op.table = std::move(table.text);
    } catch (const Error& error) {
      if (any_table) return error.what();
      warn(fmt::format("no table of {} for {} yet: {}", op.op, op.device, error.what()));
      return "";
    }
    const TableFile now = parse_tables(op.table, op.table_file.string(), project_.dtypes);
    for (auto& [dtype, one] : old.dtypes) {
      if (one.table_file.empty()) continue;
      if (std::string refusal = prove(one, dtype, now, op); !refusal.empty()) return refusal;
    }
    return "";
  }

  /// The first difference between an old table and the new one's rows of its dtype; empty if none.
  std::string prove(const OldDtype& old, int dtype, const TableFile& now, MigratedOp& op) const {
    const std::string& name = project_.dtypes.names()[static_cast<std::size_t>(dtype)];
    static const Table kNone;
    const Table* fresh = &kNone;
    for (const Table& table : now.tables) {
      if (table.dtype == name) fresh = &table;
    }
    const std::vector<TableRow> no_rows;
    const auto& rows = old.table ? old.table->rows : no_rows;
    if (!rows.empty() && !fresh->rows.empty() && !(old.table->keys == fresh->keys)) {
      return fmt::format("{}: has the keys {}, the new table {}", old.table_file,
                         quoted(old.table->keys.text()), quoted(fresh->keys.text()));
    }
    std::map<std::string, const TableRow*> by_key;
    for (const TableRow& row : fresh->rows) by_key[row.key_text(fresh->keys)] = &row;
    for (const TableRow& row : rows) {
      const std::string key = row.key_text(old.table->keys);
      const std::string place = fmt::format("{}:{}: row {}", old.table_file, row.line, quoted(key));
      const auto found = by_key.find(key);
      if (found == by_key.end()) {
        return place + " is lost: the new table has no such row of " + name;
      }
      if (const std::string what = difference(row, *found->second, !old.runs.empty());
          !what.empty()) {
        return place + " differs: " + what;
      }
      by_key.erase(found);
      ++op.proved;
    }
    for (const TableRow& row : fresh->rows) {
      const std::string key = row.key_text(fresh->keys);
      if (by_key.count(key) == 0) continue;
      return fmt::format("{}: lacks the row {} that the new table has for {}", old.table_file,
                         quoted(key), name);
    }
    return "";
  }

  static std::string difference(const TableRow& was, const TableRow& is, bool compare_tags) {
    const auto shown = [](const TableRow& row, std::size_t i) {
      if (i >= row.entries.size()) return std::string("nothing");
      const TableEntry& entry = row.entries[i];
      return entry.spelling + ' ' + (entry.ms ? format_ms(*entry.ms) : "-");
    };
    for (std::size_t i = 0; i < std::max(was.entries.size(), is.entries.size()); ++i) {
      if (i < was.entries.size() && i < is.entries.size() &&
          was.entries[i].spelling == is.entries[i].spelling &&
          was.entries[i].ms == is.entries[i].ms) {
        continue;
      }
      return fmt::format("entry {} was {}, becomes {}", i + 1, shown(was, i), shown(is, i));
    }
    const auto tier = tier_of(was);
    if (compare_tags && tier && *tier != tier_of(is)) {
      return fmt::format("its tier was {}, becomes {}", tier_name(*tier), is.tier);
    }
    return "";
  }

  const ledger::Project& project_;
  const MigrateOptions& options_;
  OldLayout layout_;
  Migration migration_;
};

}  // namespace

Result<Migration> prepare_migration(const ledger::Project& project, const MigrateOptions& options) {
  return Preparation(project, options).run();
}

void write_migration(const Migration& migration) {
  std::vector<std::pair<fs::path, const std::string*>> files;
  for (const MigratedOp& op : migration.ops) {
    files.emplace_back(op.ledger_file, &op.ledger);
    if (!op.table.empty()) files.emplace_back(op.table_file, &op.table);
  }
  for (const auto& [file, bytes] : files) {
    if (fs::exists(fs::symlink_status(file))) {
      throw Error(file.string(), "is there already; migration replaces no file");
    }
  }
  std::size_t written = 0;
  try {
    for (; written < files.size(); ++written) {
      host::write_file_atomically(files[written].first, *files[written].second);
    }
  } catch (const Error&) {
    std::error_code ignored;
    for (std::size_t i = 0; i < written; ++i) fs::remove(files[i].first, ignored);
    throw;
  }
}

}  // namespace furlong::tune
