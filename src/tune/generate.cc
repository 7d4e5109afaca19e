#include "tune/generate.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <system_error>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/error.hh"
#include "furlong/key_spec.hh"
#include "furlong/table.hh"
#include "host/files.hh"
#include "host/share_out.hh"
#include "table/format_ms.hh"
#include "tune/near_set.hh"

namespace furlong::tune {
namespace {

using ledger::Freshness;
using ledger::Interner;
using ledger::Ledger;
using ledger::NameId;
using ledger::Status;
using ledger::StoredCell;
using ledger::StoredOutcome;

/// A lower-tier row is emitted only where no better one lies within its own lattice spacing.
constexpr std::uint32_t stride_of(Tier tier) {
  return tier <= Tier::kCoarse ? 1 : 2;
}

struct Entry {
  std::uint32_t candidate = 0;  ///< position in the dtype's list
  double ms = 0;
};

struct Row {
  std::uint32_t table_key = 0;
  Tier tier = Tier::kDeep;
  bool timed = false;
  std::uint32_t first_entry = 0;
  std::uint32_t entry_count = 0;
  std::int32_t line = 0;
};

/// The rows of one dtype.
struct DtypePart {
  std::vector<Row> rows;
  std::vector<Entry> entries;
  std::vector<std::string> heads;  ///< by candidate: how its entries begin, ` | <candidate> `
};

class Generator {
 public:
  Generator(const Freshness& freshness, const TableNames& names)
      : freshness_(freshness), ledger_(freshness.ledger()), names_(names) {}

  /// Finds the rows of every dtype; returns how many each tier has.
  std::array<std::int64_t, kTierNames.size()> find_rows() {
    const std::size_t dtypes = names_.dtypes.names().size();
    // Of several faults the first in this order is told.
    host::share_out(1 + dtypes, [&](std::size_t i) {
      if (i == 0) return read_table_keys();
      refuse_hidden_axes(static_cast<std::int32_t>(i - 1));
    });
    std::vector<std::vector<std::int32_t>> best(dtypes);
    for (const std::int32_t record : freshness_.best()) {
      best[static_cast<std::size_t>(cell(record).dtype)].push_back(record);
    }
    parts_.resize(dtypes);
    host::share_out(dtypes, [&](std::size_t dtype) {
      if (!best[dtype].empty()) make_part(dtype, best[dtype], parts_[dtype]);
    });
    std::array<std::int64_t, kTierNames.size()> counts{};
    for (const DtypePart& part : parts_) {
      for (const Row& row : part.rows) ++counts[static_cast<std::size_t>(row.tier)];
    }
    return counts;
  }

  /// Appends the rows in order.
  void write_rows(std::string& text) const {
    struct Piece {
      std::size_t dtype;
      std::span<const Row> rows;
    };
    constexpr std::size_t kRows = 512;
    std::vector<Piece> pieces;
    for (std::size_t dtype = 0; dtype < parts_.size(); ++dtype) {
      std::span<const Row> rows = parts_[dtype].rows;
      while (!rows.empty()) {
        const auto some = rows.first(std::min(kRows, rows.size()));
        pieces.push_back({dtype, some});
        rows = rows.subspan(some.size());
      }
    }
    host::share_out_in_order(
        pieces.size(),
        [&](std::size_t i, std::string& piece) {
          const std::string begin = "dtype=" + names_.dtypes.names()[pieces[i].dtype];
          std::size_t size = 0;
          for (const Row& row : pieces[i].rows) {
            write(row, begin, parts_[pieces[i].dtype], piece, size);
          }
          piece.resize(size);
        },
        [&](std::size_t i, const std::string& piece) {
          // The first piece tells the size of all: a text that grows is copied again and again.
          if (i == 0)
            text.reserve(text.size() + (piece.size() + piece.size() / 16) * pieces.size());
          text += piece;
        });
  }

 private:
  const StoredCell& cell(std::int32_t record) const {
    return ledger_.cells()[static_cast<std::size_t>(record)];
  }
  const std::vector<Key>& spec() const { return freshness_.now().keys.keys(); }
  /// Per key: of a log key its value, of an exact one the rank of its text by bytes.
  std::span<const std::int64_t> values(std::uint32_t table_key) const {
    return std::span(values_).subspan(table_key * spec().size(), spec().size());
  }
  std::string place(const StoredCell& where) const {
    return fmt::format("{}:{}", ledger_.file(), where.line);
  }

  void read_table_keys() {
    const std::size_t keys = spec().size();
    values_.assign(freshness_.table_key_count() * keys, 0);
    std::vector<bool> read(freshness_.table_key_count(), false);
    Interner exact;
    for (std::size_t record = 0; record < ledger_.cells().size(); ++record) {
      if (!freshness_.counts(record)) continue;
      const std::uint32_t id = freshness_.table_key_id(record);
      if (read[id]) continue;
      read[id] = true;
      std::string_view rest = freshness_.table_key(id);
      for (std::size_t k = 0; k < keys; ++k) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view value = rest.substr(0, comma);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        std::int64_t& into = values_[id * keys + k];
        if (spec()[k].kind == KeyKind::kExact) {
          into = exact.intern(value);
          continue;
        }
        const auto number = parse_positive(value);
        if (!number) {
          throw Error(place(ledger_.cells()[record]),
                      fmt::format("value {} of key {}; a log key holds whole numbers > 0",
                                  furlong::quoted(value), spec()[k].name));
        }
        into = *number;
      }
    }
    std::vector<NameId> by_text(exact.size());
    for (NameId id = 0; id < by_text.size(); ++id) by_text[id] = id;
    std::sort(by_text.begin(), by_text.end(),
              [&](NameId a, NameId b) { return exact.text(a) < exact.text(b); });
    std::vector<std::int64_t> rank(by_text.size());
    for (std::size_t i = 0; i < by_text.size(); ++i) {
      rank[by_text[i]] = static_cast<std::int64_t>(i);
      exact_.emplace_back(exact.text(by_text[i]));
    }
    for (std::uint32_t id = 0; id < read.size(); ++id) {
      for (std::size_t k = 0; read[id] && k < keys; ++k) {
        std::int64_t& value = values_[id * keys + k];
        if (spec()[k].kind == KeyKind::kExact) value = rank[static_cast<std::size_t>(value)];
      }
    }
    std::vector<std::uint32_t> ids(read.size());
    std::iota(ids.begin(), ids.end(), 0u);
    std::sort(ids.begin(), ids.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto left = values(a);
      const auto right = values(b);
      return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
    });
    order_ = std::move(ids);
  }

  void refuse_hidden_axes(std::int32_t dtype) const {
    std::optional<std::uint32_t> first;
    for (std::size_t record = 0; record < ledger_.cells().size(); ++record) {
      const StoredCell& one = ledger_.cells()[record];
      if (one.dtype != dtype || !is_measured(one.tier) || !freshness_.counts(record)) continue;
      const std::uint32_t hidden = freshness_.hidden_id(record);
      if (!first) first = hidden;
      if (hidden == *first) continue;
      const auto here = split(freshness_.hidden_axes(hidden), ',');
      const auto there = split(freshness_.hidden_axes(*first), ',');
      for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
        if (here[i] == there[i]) continue;
        const std::size_t equals = here[i].find('=');
        throw Error(
            place(one),
            fmt::format("hidden axis {} of {} varies: {} and {}; a table takes one value "
                        "of an axis that is no table key",
                        here[i].substr(0, equals),
                        names_.dtypes.names()[static_cast<std::size_t>(dtype)], there[i], here[i]));
      }
    }
  }

  void make_part(std::size_t dtype, const std::vector<std::int32_t>& best, DtypePart& part) const {
    find_rows(dtype, best, part);
    fill_gaps(static_cast<std::int32_t>(dtype), part.rows);
    // Rows have distinct keys, and the order of those is known.
    constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
    std::vector<std::size_t> row_of(order_.size(), kNoRow);
    for (std::size_t i = 0; i < part.rows.size(); ++i) row_of[part.rows[i].table_key] = i;
    std::vector<Row> ordered;
    ordered.reserve(part.rows.size());
    for (const std::uint32_t key : order_) {
      if (row_of[key] != kNoRow) ordered.push_back(part.rows[row_of[key]]);
    }
    part.rows = std::move(ordered);
  }

  void find_rows(std::size_t dtype, const std::vector<std::int32_t>& best, DtypePart& part) const {
    std::vector<Entry>& entries = part.entries;
    std::vector<Row>& rows = part.rows;
    constexpr std::uint32_t kNoCandidate = static_cast<std::uint32_t>(-1);
    std::vector<std::uint32_t> position(ledger_.name_count(), kNoCandidate);
    for (const std::string& candidate : freshness_.now().candidates[dtype]) {
      const NameId id = ledger_.find(candidate);
      if (id != Interner::kNone) position[id] = static_cast<std::uint32_t>(part.heads.size());
      part.heads.push_back(" | " + candidate + ' ');
    }
    std::size_t ranked = 0;
    for (const std::int32_t record : best) ranked += cell(record).ranked_count;
    rows.reserve(best.size());
    entries.reserve(ranked);
    for (const std::int32_t record : best) {
      const StoredCell& one = cell(record);
      const auto outcomes = ledger_.outcomes(one);
      Row row{freshness_.table_key_id(static_cast<std::size_t>(record)),
              one.tier,
              true,
              static_cast<std::uint32_t>(entries.size()),
              0,
              one.line};
      for (const NameId name : ledger_.ranked(one)) {
        if (position[name] == kNoCandidate) continue;
        const auto outcome =
            std::find_if(outcomes.begin(), outcomes.end(),
                         [&](const StoredOutcome& each) { return each.candidate == name; });
        if (outcome == outcomes.end() || !outcome->timed()) continue;
        if (outcome->status != Status::kOk && outcome->status != Status::kEliminated) continue;
        entries.push_back({position[name], outcome->median_ms});
      }
      if (entries.size() == row.first_entry) {
        row.timed = false;
        for (const NameId name : ledger_.ranked(one)) {
          if (position[name] != kNoCandidate) entries.push_back({position[name], 0});
        }
      }
      row.entry_count = static_cast<std::uint32_t>(entries.size()) - row.first_entry;
      if (row.entry_count > 0) rows.push_back(row);
    }
  }

  /// Leaves the rows that are kept, in no particular order.
  void fill_gaps(std::int32_t dtype, std::vector<Row>& rows) const {
    // Rows have distinct keys, so that only a stride above 1 can drop one.
    if (std::none_of(rows.begin(), rows.end(),
                     [](const Row& row) { return stride_of(row.tier) > 1; })) {
      return;
    }
    const std::vector<std::vector<std::int64_t>> lattice = lattice_of(dtype);
    std::vector<bool> is_log;
    for (const Key& key : spec()) is_log.push_back(key.kind == KeyKind::kLog);
    std::vector<std::uint32_t> point(spec().size());
    const auto locate = [&](const Row& row) -> std::span<const std::uint32_t> {
      const auto key = values(row.table_key);
      for (std::size_t k = 0; k < point.size(); ++k) {
        point[k] = static_cast<std::uint32_t>(
            !is_log[k] ? key[k]
                       : std::lower_bound(lattice[k].begin(), lattice[k].end(), key[k]) -
                             lattice[k].begin());
      }
      return point;
    };
    NearSet measured(is_log);
    for (const Row& row : rows) {
      if (is_measured(row.tier)) measured.insert(locate(row));
    }
    NearSet better(is_log);
    std::vector<Row> kept;
    for (std::size_t tier = 0; tier < kTierNames.size(); ++tier) {
      const std::size_t first = kept.size();
      for (const Row& row : rows) {
        if (row.tier != static_cast<Tier>(tier)) continue;
        const std::uint32_t stride = stride_of(row.tier);
        if (stride > 1) {
          const NearSet& others = is_measured(row.tier) ? better : measured;
          if (others.is_near(locate(row), stride)) continue;
          if (!is_measured(row.tier) && better.is_near(point, stride)) continue;
        }
        kept.push_back(row);
      }
      for (std::size_t i = first; i < kept.size(); ++i) better.insert(locate(kept[i]));
    }
    rows = std::move(kept);
  }

  /// Per log key, the distinct values over all records of the dtype that count, ascending.
  std::vector<std::vector<std::int64_t>> lattice_of(std::int32_t dtype) const {
    std::vector<bool> used(freshness_.table_key_count(), false);
    for (std::size_t record = 0; record < ledger_.cells().size(); ++record) {
      if (ledger_.cells()[record].dtype == dtype && freshness_.counts(record)) {
        used[freshness_.table_key_id(record)] = true;
      }
    }
    std::vector<std::vector<std::int64_t>> lattice(spec().size());
    for (std::size_t k = 0; k < spec().size(); ++k) {
      if (spec()[k].kind != KeyKind::kLog) continue;
      for (std::uint32_t id = 0; id < used.size(); ++id) {
        if (used[id]) lattice[k].push_back(values(id)[k]);
      }
      std::sort(lattice[k].begin(), lattice[k].end());
      lattice[k].erase(std::unique(lattice[k].begin(), lattice[k].end()), lattice[k].end());
    }
    return lattice;
  }

  /// Writes a row to text, from `size` on, and moves `size` behind it. What follows `size` in the
  /// text is room.
  void write(const Row& row, const std::string& begin, const DtypePart& part, std::string& text,
             std::size_t& size) const {
    const auto key = values(row.table_key);
    const auto entries = std::span(part.entries).subspan(row.first_entry, row.entry_count);
    std::size_t most = begin.size() + kMostTail;
    for (std::size_t k = 0; k < key.size(); ++k) {
      most += spec()[k].name.size() + kMostNumber;
      if (spec()[k].kind == KeyKind::kExact)
        most += exact_[static_cast<std::size_t>(key[k])].size();
    }
    for (const Entry& entry : entries) most += part.heads[entry.candidate].size() + kMostMs;
    if (text.size() < size + most) text.resize(2 * (size + most));

    char* at = text.data() + size;
    const auto put = [&at](std::string_view what) {
      std::memcpy(at, what.data(), what.size());
      at += what.size();
    };
    put(begin);
    for (std::size_t k = 0; k < key.size(); ++k) {
      *at++ = ' ';
      put(spec()[k].name);
      *at++ = '=';
      if (spec()[k].kind == KeyKind::kLog) {
        at = std::to_chars(at, at + kMostNumber, key[k]).ptr;
        continue;
      }
      const std::string& value = exact_[static_cast<std::size_t>(key[k])];
      if (value.find_first_of("|#") != std::string::npos) {
        throw Error(
            fmt::format("{}:{}: value {} of key {} cannot stand in a table; allowed is "
                        "text without | and #",
                        ledger_.file(), row.line, furlong::quoted(value), spec()[k].name));
      }
      put(value);
    }
    for (const Entry& entry : entries) {
      put(part.heads[entry.candidate]);
      if (row.timed) {
        at = write_ms(entry.ms, at);
      } else {
        *at++ = '-';
      }
    }
    put(" # ");
    put(tier_name(row.tier));
    *at++ = '\n';
    size = static_cast<std::size_t>(at - text.data());
  }

  static constexpr std::size_t kMostNumber = 24;  ///< a whole number of 64 bits, ` ` and `=`
  static constexpr std::size_t kMostTail = 32;    ///< ` # `, a tier and the end of the line

  const Freshness& freshness_;
  const Ledger& ledger_;
  const TableNames& names_;
  std::vector<DtypePart> parts_;      ///< by dtype
  std::vector<std::int64_t> values_;  ///< by table key, key
  std::vector<std::string> exact_;    ///< by rank
  std::vector<std::uint32_t> order_;  ///< table keys in row order
};

bool any_measured(const std::array<std::int64_t, kTierNames.size()>& rows) {
  for (std::size_t tier = 0; tier < rows.size(); ++tier) {
    if (is_measured(static_cast<Tier>(tier)) && rows[tier] > 0) return true;
  }
  return false;
}

/// Where a text that is cut for a message must start for `at` to be seen in its neighbourhood.
std::size_t shown_from(std::string_view line, std::size_t at) {
  constexpr std::size_t kBefore = 24;
  std::size_t from = at > kBefore ? at - kBefore : 0;
  // Not inside a character of UTF-8.
  while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xc0) == 0x80) --from;
  return from;
}

std::string first_difference(std::string_view table, std::string_view derived,
                             std::string_view file) {
  if (begins_with_mark(table)) return fmt::format("{}:1: {}", file, kMarkReason);
  const auto have = split(table, '\n');
  const auto want = split(derived, '\n');
  std::size_t i = 0;
  while (i < have.size() && i < want.size() && have[i] == want[i]) ++i;
  std::size_t from = 0;
  if (i < have.size() && i < want.size()) {
    const auto differs =
        std::mismatch(have[i].begin(), have[i].end(), want[i].begin(), want[i].end());
    const auto at = static_cast<std::size_t>(differs.first - have[i].begin());
    // The texts are equal up to there, and one of them goes on.
    from = shown_from(at < have[i].size() ? have[i] : want[i], at);
  }
  const auto shown = [&](const std::vector<std::string_view>& lines) {
    if (i >= lines.size()) return std::string("the end");
    return (from > 0 ? "..." : "") + quoted(lines[i].substr(from));
  };
  return fmt::format("{}:{}: the table has {}, its ledger gives {}; furlong table writes it anew",
                     file, i + 1, shown(have), shown(want));
}

/// Can a candidate's name stand in a table? Empty when it can, else why not. The names of a ledger
/// alone are known here, not the families: the form is what can be checked.
std::string name_fault(std::string_view name) {
  if (has_space(name)) return "white space is not allowed";
  const auto parts = split(name, ':');
  const bool plain = std::all_of(parts[0].begin(), parts[0].end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (parts[0].empty() || !plain) return "a family is one or more of [a-z0-9_]";
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = std::min(parts[i].find('='), parts[i].size());
    const std::string_view field = parts[i].substr(0, equals);
    const std::string_view value = parts[i].substr(std::min(equals + 1, parts[i].size()));
    const auto number = parse_int32(value);
    if (field.empty() || field.find_first_of("|#") != std::string_view::npos || !number ||
        std::to_string(*number) != value) {
      return fmt::format("{} is no field of a long form; allowed is name=<whole number>",
                         furlong::quoted(parts[i]));
    }
  }
  return {};
}

/// Throws Error where a run line says what a table cannot hold.
void check_run_lines(const Ledger& ledger, const TableNames& names, const ledger::Now& now) {
  const ledger::StoredRun& newest = *ledger::newest_run(ledger);
  const auto refuse = [&](const ledger::StoredRun& run, const std::string& what) {
    throw Error(fmt::format("{}:{}: {}", ledger.file(), run.line, what));
  };
  const auto check_word = [&](std::string_view name, const std::string& value) {
    if (!has_space(value)) return;
    refuse(newest, fmt::format("{} {} cannot stand in a table; allowed is text without white space",
                               name, furlong::quoted(value)));
  };
  check_word(names.library, newest.run.commit);
  check_word("date", newest.run.date);
  for (const Key& key : now.keys.keys()) {
    if (key.name.find_first_of("|#=,") == std::string::npos) continue;
    refuse(newest, fmt::format("key name {} cannot stand in a table; allowed is text without | # = "
                               "and ,",
                               furlong::quoted(key.name)));
  }
  for (std::size_t dtype = 0; dtype < now.candidates.size(); ++dtype) {
    for (const std::string& candidate : now.candidates[dtype]) {
      const std::string fault = name_fault(candidate);
      if (fault.empty()) continue;
      refuse(*ledger::newest_run(ledger, static_cast<std::int32_t>(dtype)),
             fmt::format("candidate {} cannot stand in a table: {}", furlong::quoted(candidate),
                         fault));
    }
  }
}

}  // namespace

TableNames TableNames::of(const ledger::Project& project, std::string op, std::string device) {
  std::string source = project.ledger_source(op, device);
  return {std::move(op), std::move(device), project.library, std::move(source), project.dtypes};
}

GeneratedTable generate_table(const Ledger& ledger, const TableNames& names,
                              const ledger::HashesNow& hashes) {
  const Freshness freshness(ledger, names.dtypes,
                            ledger::now_of_newest_runs(ledger, names.dtypes, hashes));
  const ledger::Now& now = freshness.now();
  const ledger::StoredRun& newest = *ledger::newest_run(ledger);
  const std::string keys = "dtype:exact " + now.keys.text();
  if (const auto spec = KeySpec::parse(keys); !spec) {
    throw Error(fmt::format("{}:{}: {}", ledger.file(), newest.line, spec.reason()));
  }
  check_run_lines(ledger, names, now);

  GeneratedTable table;
  table.op = names.op;
  table.device = names.device;
  table.warnings.assign(ledger.warnings().begin(), ledger.warnings().end());
  Generator generator(freshness, names);
  table.rows = generator.find_rows();

  std::string& text = table.text;
  text = fmt::format("# op={} device={} {}={}", names.op, names.device, names.library,
                     newest.run.commit);
  if (any_measured(table.rows)) {
    std::string families;
    for (const std::string& family : ledger::families_of(now.candidates)) {
      const std::string* hash = now.hashes.find(family);
      if (hash == nullptr) continue;
      if (!families.empty()) families += ',';
      families += family + ':' + *hash;
    }
    text += fmt::format(" kernels={} family_kernels={}", now.hashes.kernels, families);
  }
  std::string tiers;
  for (std::size_t tier = 0; tier < kTierNames.size(); ++tier) {
    if (tier > 0) tiers += ',';
    tiers += fmt::format("{}:{}", kTierNames[tier], table.rows[tier]);
  }
  text += fmt::format(" date={}\n# source=ledger:{} tiers={}\n# keys: {}\n", newest.run.date,
                      names.source, tiers, keys);
  generator.write_rows(text);
  return table;
}

GeneratedTable generate_table(const ledger::Project& project, const std::string& op,
                              const std::string& device, const ledger::HashesNow& hashes) {
  const Ledger ledger =
      Ledger::read(project.ledger_file(op, device), {project.dtypes, project.library});
  return generate_table(ledger, TableNames::of(project, op, device), hashes);
}

TableHeader::TableHeader(std::string_view table_text) {
  for (std::string_view line : split(table_text, '\n')) {
    line = trim(line);
    if (line.empty()) continue;
    if (line.front() != '#') break;
    line.remove_prefix(1);
    if (trim(line).starts_with("keys:")) continue;
    for (const std::string_view word : words(line)) {
      const std::size_t equals = word.find('=');
      if (equals == 0 || equals == std::string_view::npos) continue;
      words_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
  }
}

const std::string* TableHeader::find(std::string_view name) const {
  for (const auto& [word, value] : words_) {
    if (word == name) return &value;
  }
  return nullptr;
}

KernelHashes TableHeader::hashes() const {
  KernelHashes hashes;
  if (const std::string* kernels = find("kernels")) hashes.kernels = *kernels;
  if (const std::string* families = find("family_kernels")) {
    for (const std::string_view item : split(*families, ',')) {
      const std::size_t colon = item.find(':');
      if (colon == 0 || colon >= item.size() - 1) continue;
      const std::string_view family = item.substr(0, colon);
      if (hashes.find(family) != nullptr) continue;
      hashes.families.emplace_back(family, item.substr(colon + 1));
    }
  }
  return hashes;
}

bool TableHeader::counts_measured_rows() const {
  const std::string* tiers = find("tiers");
  if (tiers == nullptr) return true;
  bool any = false;
  for (const std::string_view item : split(*tiers, ',')) {
    const std::size_t colon = std::min(item.find(':'), item.size());
    const auto tier = parse_tier(item.substr(0, colon));
    const auto count = parse_int64(item.substr(std::min(colon + 1, item.size())));
    if (!tier || !count || *count < 0) return true;
    any = any || (is_measured(*tier) && *count > 0);
  }
  return any;
}

TableCheck check_table(const Ledger& ledger, const TableNames& names, std::string_view table_text,
                       std::string_view file) {
  const KernelHashes hashes = TableHeader(table_text).hashes();
  GeneratedTable derived =
      generate_table(ledger, names, [&](const std::vector<std::string>&) { return hashes; });
  TableCheck check;
  check.warnings = std::move(derived.warnings);
  check.equal = derived.text == table_text;
  if (!check.equal) check.difference = first_difference(table_text, derived.text, file);
  return check;
}

TableCheck check_table(const ledger::Project& project, const std::string& op,
                       const std::string& device) {
  const Ledger ledger =
      Ledger::read(project.ledger_file(op, device), {project.dtypes, project.library});
  const std::filesystem::path file = project.table_file(op, device);
  std::error_code failure;
  if (!std::filesystem::exists(file, failure) && !failure) {
    TableCheck check;
    check.warnings.assign(ledger.warnings().begin(), ledger.warnings().end());
    check.difference = fmt::format("{}: no such table; furlong table writes it", file.string());
    return check;
  }
  return check_table(ledger, TableNames::of(project, op, device), host::read_file(file),
                     file.string());
}

std::vector<std::string> stale_kernel_warnings(const TableHeader& header, std::string_view file,
                                               const ledger::HashesNow& now) {
  std::vector<std::string> warnings;
  if (!header.counts_measured_rows()) return warnings;
  const KernelHashes then = header.hashes();
  std::vector<std::string> families;
  for (const auto& [family, hash] : then.families) families.push_back(family);
  const KernelHashes today = now(families);
  const auto compare = [&](std::string_view what, const std::string& was, const std::string* is) {
    if (is != nullptr && *is == was) return;
    warnings.push_back(
        fmt::format("{}: stale: {} were {} when it was derived, are {} now; retune the op", file,
                    what, was.empty() ? "unknown" : was, is == nullptr ? "gone" : *is));
  };
  compare("the kernels", then.kernels, &today.kernels);
  for (const auto& [family, hash] : then.families) {
    compare(fmt::format("the sources of family {}", family), hash, today.find(family));
  }
  return warnings;
}

}  // namespace furlong::tune
