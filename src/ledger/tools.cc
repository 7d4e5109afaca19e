#include "ledger/tools.hh"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "furlong/error.hh"
#include "host/append_file.hh"
#include "host/files.hh"
#include "ledger/ledger_reader.hh"
#include "ledger/line_reader.hh"
#include "ledger/lines.hh"

namespace furlong::ledger {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCrcStart = ", \"crc\": \"";
constexpr std::size_t kCrcSize = kCrcStart.size() + 8 + 2;

bool has_crc(std::string_view line) {
  return line.size() >= kCrcSize &&
         line.substr(line.size() - kCrcSize, kCrcStart.size()) == kCrcStart;
}

std::string pad(std::string_view bytes) {
  std::string padded(bytes);
  padded.append(LineParser::kPadding, ' ');
  return padded;
}

void refuse_lfs_pointer(std::string_view bytes, std::string_view file) {
  if (is_lfs_pointer(bytes)) throw Error(fmt::format("{}:1: {}", file, kLfsReason));
}

/// The whole records with a right crc that a malformed line holds, one after the other.
std::vector<std::string_view> salvage(std::string_view line) {
  std::vector<std::string_view> records;
  std::size_t start = 0;
  for (std::size_t crc = line.find(kCrcStart); crc != std::string_view::npos;
       crc = line.find(kCrcStart, crc + 1)) {
    const std::size_t end = crc + kCrcSize;
    if (end > line.size()) break;
    for (std::size_t at = line.find("{\"", start); at < crc; at = line.find("{\"", at + 1)) {
      const auto record = line.substr(at, end - at);
      if (!line_damage(record).empty()) continue;
      records.push_back(record);
      start = end;
      break;
    }
  }
  return records;
}

bool is_there(const fs::path& file) {
  std::error_code none;
  return fs::exists(file, none);
}

/// Keeps the advisory lock of a ledger that is there.
class LedgerLock {
 public:
  explicit LedgerLock(const fs::path& file) {
    while (is_there(file)) {
      file_ = host::real_append_files().open(file);
      file_->lock();
      if (file_->is_current()) break;
    }
  }

 private:
  std::unique_ptr<host::AppendFile> file_;
};

/// One run's lines over all inputs.
struct RunLines {
  std::string date;
  bool has_run_line = false;
  std::vector<std::string_view> lines;
};

/// Puts `later` into `lines`: what both have stands once, what only `later` has stands behind the
/// lines of `lines` that precede the next common one.
void unite(std::vector<std::string_view>& lines, const std::vector<std::string_view>& later) {
  std::unordered_map<std::string_view, std::size_t> position;
  for (std::size_t i = 0; i < lines.size(); ++i) position.emplace(lines[i], i);
  std::vector<std::string_view> united;
  std::vector<std::string_view> waiting;
  std::size_t next = 0;
  const auto flush = [&](std::size_t until) {
    for (; next < until; ++next) united.push_back(lines[next]);
    united.insert(united.end(), waiting.begin(), waiting.end());
    waiting.clear();
  };
  for (const std::string_view line : later) {
    const auto common = position.find(line);
    if (common == position.end()) {
      waiting.push_back(line);
    } else if (common->second >= next) {
      flush(common->second);
    }
  }
  flush(lines.size());
  lines = std::move(united);
}

}  // namespace

std::string line_damage(std::string_view line) {
  const std::string padded = pad(line);
  LineReader reader("");
  return reader.read(std::string_view(padded).substr(0, line.size()));
}

Verification verify(std::string_view bytes, std::string_view file, const ReadOptions& options) {
  refuse_lfs_pointer(bytes, file);
  const std::string padded = pad(bytes);
  std::string_view rest = std::string_view(padded).substr(0, bytes.size());
  LedgerReader reader(file, options);
  Verification found;
  for (RawLine line; next_line(rest, line);) {
    if (line.blank) continue;
    std::string reason = reader.take(line.text, line.number);
    if (!reason.empty()) {
      found.damaged.push_back(
          {line.number, std::move(reason), std::string(line.text), !line.ended, 0});
      continue;
    }
    ++found.records;
    if (!has_crc(line.text)) ++found.unchecked;
  }
  const Ledger ledger = std::move(reader).finish();
  found.warnings.assign(ledger.warnings().begin(), ledger.warnings().end());
  return found;
}

Verification verify_file(const fs::path& file, const ReadOptions& options) {
  return verify(host::read_file(file), file.string(), options);
}

Repaired repair(std::string_view bytes, std::string_view file, const ReadOptions& options) {
  Repaired repaired;
  repaired.lines = verify(bytes, file, options).damaged;
  auto next = repaired.lines.begin();
  std::string_view rest = bytes;
  for (RawLine line; next_line(rest, line);) {
    if (next == repaired.lines.end() || next->line != line.number) {
      repaired.bytes += line.text;
      repaired.bytes += '\n';
      continue;
    }
    repaired.damaged += line.text;
    repaired.damaged += '\n';
    for (const std::string_view record : salvage(line.text)) {
      if (!verify(record, file, options).damaged.empty()) continue;
      repaired.bytes += record;
      repaired.bytes += '\n';
      ++next->kept;
    }
    ++next;
  }
  return repaired;
}

std::vector<DamagedLine> repair_file(const fs::path& file, const ReadOptions& options) {
  if (!is_there(file)) throw Error(file.string(), "no such ledger");
  const LedgerLock lock(file);
  const std::string bytes = host::read_file(file);
  Repaired repaired = repair(bytes, file.string(), options);
  if (repaired.bytes == bytes) return {};
  if (!repaired.lines.empty()) {
    const auto aside = host::real_append_files().open(file.string() + ".damaged");
    for (std::string_view rest = repaired.damaged; !rest.empty();) {
      rest.remove_prefix(aside->append(rest));
    }
    aside->sync();
  }
  host::write_file_atomically(file, repaired.bytes);
  return std::move(repaired.lines);
}

std::string merge(const std::vector<LedgerText>& inputs, const ReadOptions& options) {
  std::map<std::string, RunLines> runs;  // by run id
  std::vector<std::string_view> others;
  std::vector<std::string_view> rehashes;
  std::unordered_set<std::string_view> seen_elsewhere;
  for (const LedgerText& input : inputs) {
    refuse_lfs_pointer(input.bytes, input.name);
    const std::string padded = pad(input.bytes);
    std::string_view rest = std::string_view(padded).substr(0, input.bytes.size());
    LedgerReader check(input.name, options);
    LineReader reader(options.library);
    std::map<std::string, std::vector<std::string_view>> of_run;
    std::unordered_set<std::string_view> seen;
    for (RawLine line; next_line(rest, line);) {
      if (line.blank) continue;
      std::string reason = check.take(line.text, line.number);
      if (reason.empty()) reason = reader.read(line.text);
      if (!reason.empty()) {
        throw Error(fmt::format("{}:{}: {}; repair the ledger first (furlong ledger repair)",
                                input.name, line.number, reason));
      }
      // The inputs outlive this loop, the padded copy does not.
      const auto offset = static_cast<std::size_t>(line.text.data() - padded.data());
      const auto text = std::string_view(input.bytes).substr(offset, line.text.size());
      const FieldValue* run_id = reader.get(Field::kRunId);
      const bool in_run = reader.kind() != Kind::kRehash && run_id != nullptr &&
                          run_id->type == FieldValue::Type::kText;
      if (!in_run) {
        if (!seen_elsewhere.insert(text).second) continue;
        (reader.kind() == Kind::kRehash ? rehashes : others).push_back(text);
        continue;
      }
      const std::string id(run_id->text);
      RunLines& run = runs[id];
      const std::string date(reader.text(Field::kDate));
      const bool run_line = reader.kind() == Kind::kRun;
      if (run_line && !run.has_run_line) run.date.clear();
      run.has_run_line = run.has_run_line || run_line;
      const bool dates_run = run_line == run.has_run_line && !date.empty();
      if (dates_run && (run.date.empty() || date < run.date)) run.date = date;
      if (seen.insert(text).second) of_run[id].push_back(text);
    }
    for (const auto& [id, lines] : of_run) unite(runs[id].lines, lines);
  }

  std::vector<std::tuple<std::string_view, std::string_view, const RunLines*>> order;
  for (const auto& [id, run] : runs) order.emplace_back(run.date, id, &run);
  std::sort(order.begin(), order.end());
  std::string merged;
  const auto put = [&](const std::vector<std::string_view>& lines) {
    for (const std::string_view line : lines) {
      merged += line;
      merged += '\n';
    }
  };
  for (const auto& [date, id, run] : order) put(run->lines);
  put(others);
  put(rehashes);
  return merged;
}

void merge_files(const std::vector<fs::path>& inputs, const fs::path& out,
                 const ReadOptions& options) {
  const LedgerLock lock(out);
  std::vector<LedgerText> texts;
  for (const fs::path& input : inputs) {
    texts.push_back({input.string(), host::read_file(input)});
  }
  const std::string merged = merge(texts, options);
  if (is_there(out)) {
    if (!fs::is_regular_file(out)) {
      throw Error(out.string(), "is no regular file and is not replaced; name a file");
    }
    const std::string before = host::read_file(out);
    std::unordered_set<std::string_view> kept;
    std::string_view rest = merged;
    for (RawLine line; next_line(rest, line);) kept.insert(line.text);
    rest = before;
    for (RawLine line; next_line(rest, line);) {
      if (line.blank || kept.count(line.text) > 0) continue;
      throw Error(fmt::format("{}:{}: the merge would lose this line; name {} as an input too",
                              out.string(), line.number, out.string()));
    }
    if (before == merged) return;
  }
  host::write_file_atomically(out, merged);
}

}  // namespace furlong::ledger
