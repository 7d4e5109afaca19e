#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/error.hh"
#include "furlong/table.hh"

namespace furlong {
namespace {

class Parser {
 public:
  Parser(std::string_view file, const DtypeList& dtypes) : place_(file), dtypes_(dtypes) {
    const auto slash = file.rfind('/');
    const auto name =
        parse_table_name(slash == std::string_view::npos ? file : file.substr(slash + 1));
    if (!name) throw Error(place_, name.reason());
    file_.op = name->first;
    file_.device = name->second;
    by_dtype_.resize(dtypes.names().size());
  }

  TableFile parse(std::string_view text) {
    if (begins_with_mark(text)) {
      line_ = 1;
      fail(std::string(kMarkReason));
    }
    while (!text.empty()) {
      const auto end = text.find('\n');
      ++line_;
      take(trim(text.substr(0, end)));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
    for (Table& table : by_dtype_) {
      if (!table.rows.empty()) file_.tables.push_back(std::move(table));
    }
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}:{}: {}", place_, line_, what));
  }

  void take(std::string_view line) {
    if (line.empty()) return;
    if (line.front() == '#') {
      if (!rows_read_) take_header(trim(line.substr(1)));
      return;
    }
    take_row(line);
  }

  void take_header(std::string_view line) {
    if (line.substr(0, 5) == "keys:") {
      take_keys(trim(line.substr(5)));
      return;
    }
    for (const std::string_view word : words(line)) {
      const auto at = word.find('=');
      if (at == std::string_view::npos || at == 0) continue;
      const auto name = word.substr(0, at);
      const auto value = word.substr(at + 1);
      if (file_.find(name) != nullptr) {
        fail(fmt::format("header word {} stands twice; once is allowed", quoted(name)));
      }
      if (name == "op" && value != file_.op) {
        fail(fmt::format("op {} disagrees with the file name; allowed is {}", quoted(value),
                         file_.op));
      }
      if (name == "device" && value != file_.device.text) {
        fail(fmt::format("device {} disagrees with the file name; allowed is {}", quoted(value),
                         file_.device.text));
      }
      file_.header.emplace_back(name, value);
    }
  }

  void take_keys(std::string_view text) {
    if (have_keys_) fail("# keys: stands twice; once is allowed");
    auto spec = KeySpec::parse(text);
    if (!spec) fail(spec.reason());
    file_.keys = std::move(spec).value();
    const auto& keys = file_.keys.keys();
    if (keys.front().name != "dtype" || keys.front().kind != KeyKind::kExact) {
      fail("the first key must be dtype:exact");
    }
    std::string rest = file_.keys.text().substr(std::string_view("dtype:exact").size());
    KeySpec without;
    if (!rest.empty()) without = KeySpec::parse(rest.substr(1)).value();
    for (std::size_t d = 0; d < by_dtype_.size(); ++d) {
      by_dtype_[d].op = file_.op;
      by_dtype_[d].device = file_.device;
      by_dtype_[d].dtype = dtypes_.names()[d];
      by_dtype_[d].keys = without;
    }
    seen_.resize(by_dtype_.size());
    have_keys_ = true;
  }

  void take_row(std::string_view line) {
    if (!have_keys_) fail("a row stands before # keys:; the key spec comes first");
    rows_read_ = true;
    TableRow row;
    row.line = line_;
    if (const auto hash = line.find('#'); hash != std::string_view::npos) {
      row.tier = std::string(trim(line.substr(hash + 1)));
      line = line.substr(0, hash);
    }
    std::string_view rest = line;
    const auto next_segment = [&] {
      const auto bar = rest.find('|');
      const auto segment = rest.substr(0, bar);
      rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
      more_ = bar != std::string_view::npos;
      return segment;
    };
    const int dtype = take_key(next_segment(), row);
    while (more_) take_entry(next_segment(), row);
    if (row.entries.empty()) fail("no entries; a row is <keys> | <spelling> <time> | ...");

    std::string key;
    for (const std::string& value : row.key) key += value + '\n';
    auto& seen = seen_[static_cast<std::size_t>(dtype)];
    const auto [at, fresh] = seen.emplace(std::move(key), line_);
    if (!fresh) fail(fmt::format("a row with this key stands at line {} already", at->second));
    by_dtype_[static_cast<std::size_t>(dtype)].rows.push_back(std::move(row));
  }

  /// Fills row.key; returns the dtype's position.
  int take_key(std::string_view segment, TableRow& row) {
    const auto& keys = file_.keys.keys();
    std::vector<std::string_view> values(keys.size());
    for (const std::string_view word : words(segment)) {
      const auto at = word.find('=');
      if (at == std::string_view::npos) {
        fail(fmt::format("{} has no =; a key is name=value", quoted(word)));
      }
      const int k = file_.keys.index(word.substr(0, at));
      if (k < 0) {
        fail(fmt::format("unknown key {}; allowed are {}", quoted(word.substr(0, at)),
                         file_.keys.text()));
      }
      auto& value = values[static_cast<std::size_t>(k)];
      if (!value.empty()) fail(fmt::format("key {} stands twice", quoted(word.substr(0, at))));
      value = word.substr(at + 1);
      if (value.empty()) fail(fmt::format("key {} is empty", quoted(word.substr(0, at))));
    }
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (values[k].empty()) fail(fmt::format("key {} is missing", keys[k].name));
      if (keys[k].kind == KeyKind::kLog && !parse_positive(values[k])) {
        fail(fmt::format("{} of key {} is not a whole base-10 number > 0", quoted(values[k]),
                         keys[k].name));
      }
      if (k == 0) continue;
      // A log value is kept without leading zeros, so that equal numbers are equal keys.
      row.key.push_back(keys[k].kind == KeyKind::kLog ? std::to_string(*parse_positive(values[k]))
                                                      : std::string(values[k]));
    }
    const int dtype = dtypes_.index(values[0]);
    if (dtype < 0) {
      fail(fmt::format("unknown dtype {}; allowed are {}", quoted(values[0]), dtypes_.text()));
    }
    return dtype;
  }

  void take_entry(std::string_view segment, TableRow& row) const {
    const auto parts = words(segment);
    if (parts.size() != 2) {
      fail(fmt::format("bad entry {}; an entry is <spelling> <time>", quoted(trim(segment))));
    }
    TableEntry entry{std::string(parts[0]), std::nullopt};
    if (parts[1] != "-") {
      entry.ms = parse_double(parts[1]);
      if (!entry.ms || *entry.ms < 0 || parts[1].front() == '-') {
        fail(fmt::format("bad time {}; a time is - or a finite decimal >= 0", quoted(parts[1])));
      }
    }
    for (const TableEntry& other : row.entries) {
      if (other.spelling == entry.spelling) {
        fail(fmt::format("spelling {} stands twice in the row", quoted(entry.spelling)));
      }
      if (other.ms.has_value() != entry.ms.has_value()) {
        fail("timed and untimed entries are mixed; a row is all timed or all untimed");
      }
    }
    row.entries.push_back(std::move(entry));
  }

  std::string place_;
  const DtypeList& dtypes_;
  TableFile file_;
  std::vector<Table> by_dtype_;
  std::vector<std::unordered_map<std::string, int>> seen_;
  int line_ = 0;
  bool have_keys_ = false;
  bool rows_read_ = false;
  bool more_ = false;
};

}  // namespace

std::string TableRow::key_text(const KeySpec& keys) const {
  std::string text;
  for (std::size_t k = 0; k < key.size(); ++k) {
    if (k > 0) text += ',';
    text += keys.keys()[k].name + '=' + key[k];
  }
  return text;
}

const std::string* TableFile::find(std::string_view name) const {
  for (const auto& [word, value] : header) {
    if (word == name) return &value;
  }
  return nullptr;
}

TableFile parse_tables(std::string_view text, std::string_view file, const DtypeList& dtypes) {
  return Parser(file, dtypes).parse(text);
}

Result<std::pair<std::string, DeviceKey>> parse_table_name(std::string_view name) {
  using Name = Result<std::pair<std::string, DeviceKey>>;
  const auto no = [&] {
    return Name::no(fmt::format("bad table name {}; allowed is <op>.<device>.txt", quoted(name)));
  };
  const auto parts = split(name, '.');
  if (parts.size() != 3 || parts[0].empty() || parts[2] != "txt") return no();
  const bool plain = std::all_of(parts[0].begin(), parts[0].end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  auto device = DeviceKey::parse(parts[1]);
  if (!plain || !device) return no();
  return std::pair(std::string(parts[0]), std::move(device).value());
}

}  // namespace furlong
