#include "ledger/freshness.hh"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "furlong/error.hh"
#include "furlong/spelling.hh"
#include "host/share_out.hh"

namespace furlong::ledger {
namespace {

/// Splits a key that the reader took.
template <class Item>
void split_key(std::string_view text, std::vector<Item>& items) {
  items.clear();
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    const std::size_t equals = item.find('=');
    items.push_back({item.substr(0, equals), item.substr(equals + 1)});
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

/// The value of a log key as it is compared: a whole number without leading zeros.
std::string_view without_zeros(std::string_view value) {
  if (value.find_first_not_of("0123456789") != std::string_view::npos) return value;
  const std::size_t first = value.find_first_not_of('0');
  return first == std::string_view::npos ? value.substr(value.size() - 1) : value.substr(first);
}

constexpr std::string_view kDominated = "dominated:";

}  // namespace

const StoredRun* newest_run(const Ledger& ledger, std::int32_t dtype) {
  const StoredRun* newest = nullptr;
  const auto rank = [](const StoredRun& stored) {
    return std::tuple(is_measured(stored.run.tier), std::string_view(stored.run.date),
                      std::string_view(stored.run.run_id), stored.line);
  };
  for (const StoredRun& stored : ledger.runs()) {
    if (dtype >= 0 && stored.dtype != dtype) continue;
    if (newest == nullptr || rank(*newest) < rank(stored)) newest = &stored;
  }
  return newest;
}

std::vector<std::string> families_of(const std::vector<std::vector<std::string>>& candidates) {
  std::vector<std::string> families;
  for (const auto& list : candidates) {
    for (const std::string& candidate : list) {
      const std::string_view family = family_of(candidate);
      if (std::find(families.begin(), families.end(), family) == families.end()) {
        families.emplace_back(family);
      }
    }
  }
  return families;
}

Now now_of_newest_runs(const Ledger& ledger, const DtypeList& dtypes, const HashesNow& hashes) {
  const StoredRun* newest = newest_run(ledger);
  if (newest == nullptr) {
    throw Error(
        fmt::format("{}: no clean run line; a run of a tree without uncommitted changes is "
                    "needed",
                    ledger.file()));
  }
  Now now;
  auto keys = KeySpec::parse(newest->run.keys);
  if (!keys) throw Error(fmt::format("{}:{}: {}", ledger.file(), newest->line, keys.reason()));
  now.keys = std::move(keys).value();
  now.candidates.resize(dtypes.names().size());
  for (std::size_t dtype = 0; dtype < now.candidates.size(); ++dtype) {
    const StoredRun* run = newest_run(ledger, static_cast<std::int32_t>(dtype));
    if (run != nullptr) now.candidates[dtype] = run->run.candidates;
  }
  const auto cells = ledger.cells();
  if (std::any_of(cells.begin(), cells.end(),
                  [](const StoredCell& cell) { return is_measured(cell.tier); })) {
    now.hashes = hashes(families_of(now.candidates));
  }
  return now;
}

std::string_view standing_name(Standing standing) {
  switch (standing) {
    case Standing::kCurrent:
      return "current";
    case Standing::kPartlyStale:
      return "partly stale";
    case Standing::kStale:
      return "stale";
  }
  return {};
}

std::string Cause::text() const {
  const auto hash = [](const std::string& one) -> std::string_view {
    return one.empty() ? std::string_view("none") : std::string_view(one);
  };
  switch (kind) {
    case Kind::kWinnerRemoved:
      return fmt::format("the winner {} is no candidate now", subject);
    case Kind::kWinnerOutside:
      return fmt::format("the winner {} is not among the record's candidates", subject);
    case Kind::kWinnerChanged:
      return fmt::format("the winner's family {} changed: hash {}, now {}", subject, hash(was),
                         hash(now));
    case Kind::kKeyMissing:
      return fmt::format("the record lacks the key {}", subject);
    case Kind::kAxesDiffer:
      return fmt::format("the record has the axes {}, newer ones have {}", was, now);
    case Kind::kFamilyChanged:
      return fmt::format("family {} changed: hash {}, now {}", subject, hash(was), hash(now));
    case Kind::kFamilyGone:
      return fmt::format("family {} is gone", subject);
    case Kind::kDominated:
      return fmt::format("candidate {} was never tried ({})", subject, was);
    case Kind::kCandidateAdded:
      return fmt::format("candidate {} was added", subject);
  }
  return {};
}

Freshness::Freshness(const Ledger& ledger, const DtypeList& dtypes, Now now)
    : ledger_(ledger), now_(std::move(now)) {
  now_.candidates.resize(dtypes.names().size());
  index_keys();
  index_now(dtypes.names().size());

  const auto cells = ledger_.cells();
  judged_.resize(cells.size());
  constexpr std::size_t kPiece = 4096;
  host::share_out((cells.size() + kPiece - 1) / kPiece, [&](std::size_t i) {
    judge_range(i * kPiece, std::min((i + 1) * kPiece, cells.size()));
  });
  find_best();
}

void Freshness::judge_range(std::size_t begin, std::size_t end) {
  // Records repeat (family, hash) at each position, so nearly every comparison is remembered.
  std::vector<Memo> memos;
  const auto cells = ledger_.cells();
  for (std::size_t record = begin; record < end; ++record) {
    const std::int32_t dtype = cells[record].dtype;
    const auto outcomes = ledger_.outcomes(cells[record]);
    if (memos.size() < outcomes.size()) memos.resize(outcomes.size());
    const auto differs = [&](std::size_t position) {
      const StoredOutcome& outcome = outcomes[position];
      Memo& memo = memos[position];
      if (memo.family != outcome.family || memo.hash != outcome.hash || memo.dtype != dtype) {
        const NameId* expected = hash_now(dtype, outcome.family);
        memo = {
            outcome.family, outcome.hash, dtype,
            expected == nullptr || *expected != ledger_.effective(outcome.family, outcome.hash)};
      }
      return memo.differs;
    };
    Judged& judged = judged_[record];
    judge(record, differs, [&](Cause::Kind kind, std::size_t) {
      judged.standing =
          std::max(judged.standing,
                   kind <= Cause::Kind::kAxesDiffer ? Standing::kStale : Standing::kPartlyStale);
    });
    judged.all_errors = !outcomes.empty() && std::all_of(outcomes.begin(), outcomes.end(),
                                                         [](const StoredOutcome& outcome) {
                                                           return outcome.status == Status::kError;
                                                         });
  }
}

template <class Differs, class Report>
void Freshness::judge(std::size_t record, Differs&& differs, Report&& report) const {
  const StoredCell& cell = ledger_.cells()[record];
  const DtypeNow& now = dtypes_[static_cast<std::size_t>(cell.dtype)];
  const auto outcomes = ledger_.outcomes(cell);
  const auto ranked = ledger_.ranked(cell);
  const bool measured = is_measured(cell.tier);
  constexpr std::size_t kWhole = static_cast<std::size_t>(-1);
  const auto is_now = [&](NameId candidate) {
    return !now.position.empty() && now.position[candidate] >= 0;
  };
  if (measured && !ranked.empty()) {
    if (!is_now(ranked[0])) report(Cause::Kind::kWinnerRemoved, kWhole);
    const auto winner =
        std::find_if(outcomes.begin(), outcomes.end(),
                     [&](const StoredOutcome& outcome) { return outcome.candidate == ranked[0]; });
    if (winner == outcomes.end()) {
      report(Cause::Kind::kWinnerOutside, kWhole);
    } else if (const auto at = static_cast<std::size_t>(winner - outcomes.begin()); differs(at)) {
      report(Cause::Kind::kWinnerChanged, at);
    }
  }
  if (key(record).table_key == kNone) report(Cause::Kind::kKeyMissing, kWhole);
  if (!measured) return;
  if (key(record).names != axes_of_dtype_[static_cast<std::size_t>(cell.dtype)]) {
    report(Cause::Kind::kAxesDiffer, kWhole);
  }
  std::size_t raced = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const StoredOutcome& outcome = outcomes[i];
    if (is_now(outcome.candidate)) ++raced;
    if (outcome.status == Status::kSkipped) {
      if (ledger_.text(outcome.reason).starts_with(kDominated)) {
        report(Cause::Kind::kDominated, i);
      }
    } else if (differs(i)) {
      report(hash_now(cell.dtype, outcome.family) == nullptr ? Cause::Kind::kFamilyGone
                                                             : Cause::Kind::kFamilyChanged,
             i);
    }
  }
  if (raced < now.count) report(Cause::Kind::kCandidateAdded, kWhole);
}

std::vector<Cause> Freshness::causes(std::size_t record) const {
  const StoredCell& cell = ledger_.cells()[record];
  const auto outcomes = ledger_.outcomes(cell);
  const auto differs = [&](std::size_t position) {
    const StoredOutcome& outcome = outcomes[position];
    const NameId* expected = hash_now(cell.dtype, outcome.family);
    return expected == nullptr || *expected != ledger_.effective(outcome.family, outcome.hash);
  };
  std::vector<Cause> found;
  const auto add = [&](Cause cause) {
    if (std::find(found.begin(), found.end(), cause) == found.end()) {
      found.push_back(std::move(cause));
    }
  };
  judge(record, differs, [&](Cause::Kind kind, std::size_t at) {
    switch (kind) {
      case Cause::Kind::kWinnerRemoved:
      case Cause::Kind::kWinnerOutside:
        add({kind, std::string(ledger_.text(ledger_.ranked(cell)[0])), {}, {}});
        break;
      case Cause::Kind::kWinnerChanged:
      case Cause::Kind::kFamilyChanged:
      case Cause::Kind::kFamilyGone: {
        const StoredOutcome& outcome = outcomes[at];
        const std::string family(ledger_.text(outcome.family));
        const std::string* hash =
            hash_now(cell.dtype, outcome.family) == nullptr ? nullptr : now_.hashes.find(family);
        add({kind, family,
             std::string(ledger_.text(ledger_.effective(outcome.family, outcome.hash))),
             hash == nullptr ? std::string() : *hash});
        break;
      }
      case Cause::Kind::kKeyMissing: {
        std::vector<Item> items;
        split_key(ledger_.text(cell.key), items);
        for (const Key& one : now_.keys.keys()) {
          if (std::none_of(items.begin(), items.end(),
                           [&](const Item& item) { return item.name == one.name; })) {
            add({kind, one.name, {}, {}});
          }
        }
        break;
      }
      case Cause::Kind::kAxesDiffer:
        add({kind,
             {},
             std::string(name_sets_.text(key(record).names)),
             std::string(name_sets_.text(axes_of_dtype_[static_cast<std::size_t>(cell.dtype)]))});
        break;
      case Cause::Kind::kDominated:
        add({kind,
             std::string(ledger_.text(outcomes[at].candidate)),
             std::string(ledger_.text(outcomes[at].reason)),
             {}});
        break;
      case Cause::Kind::kCandidateAdded:
        for (const std::string& candidate : now_.candidates[static_cast<std::size_t>(cell.dtype)]) {
          if (std::none_of(outcomes.begin(), outcomes.end(), [&](const StoredOutcome& outcome) {
                return ledger_.text(outcome.candidate) == candidate;
              })) {
            add({kind, candidate, {}, {}});
          }
        }
        break;
    }
  });
  return found;
}

std::vector<std::string> Freshness::changed_families(std::size_t record) const {
  std::vector<std::string> families;
  const auto add = [&](std::string family) {
    if (std::find(families.begin(), families.end(), family) == families.end()) {
      families.push_back(std::move(family));
    }
  };
  for (const Cause& cause : causes(record)) {
    switch (cause.kind) {
      case Cause::Kind::kFamilyChanged:
      case Cause::Kind::kFamilyGone:
        add(cause.subject);
        break;
      case Cause::Kind::kDominated:
      case Cause::Kind::kCandidateAdded:
        add(std::string(family_of(cause.subject)));
        break;
      default:
        break;
    }
  }
  return families;
}

void Freshness::index_keys() {
  const auto cells = ledger_.cells();
  std::vector<Item> items;
  std::string buffer;
  slot_of_key_.assign(ledger_.name_count(), kNone);
  axes_of_dtype_.assign(now_.candidates.size(), kNone);
  for (const StoredCell& cell : cells) {
    std::uint32_t& slot = slot_of_key_[cell.key];
    if (slot == kNone) {
      slot = static_cast<std::uint32_t>(keys_.size());
      split_key(ledger_.text(cell.key), items);
      keys_.push_back(index_key(items, buffer));
    }
    if (is_measured(cell.tier)) {
      axes_of_dtype_[static_cast<std::size_t>(cell.dtype)] = keys_[slot].names;
    }
  }
}

Freshness::KeyInfo Freshness::index_key(std::vector<Item>& items, std::string& buffer) {
  buffer.clear();
  for (const Item& item : items) {
    buffer += item.name;
    buffer += ',';
  }
  const std::uint32_t sequence = shape_names_.intern(buffer);
  if (sequence > shapes_.size()) {
    Shape shape;
    shape.by_name.resize(items.size());
    std::iota(shape.by_name.begin(), shape.by_name.end(), 0U);
    std::sort(shape.by_name.begin(), shape.by_name.end(),
              [&](std::uint32_t a, std::uint32_t b) { return items[a].name < items[b].name; });
    std::string names;
    for (const std::uint32_t at : shape.by_name) {
      if (!names.empty()) names += ',';
      names += items[at].name;
      if (now_.keys.index(items[at].name) < 0) shape.hidden.push_back(at);
    }
    shape.names = name_sets_.intern(names);
    shape.prefix = std::to_string(shape.names) + ':';
    shape.complete = true;
    for (const Key& one : now_.keys.keys()) {
      const auto at = std::find_if(items.begin(), items.end(),
                                   [&](const Item& item) { return item.name == one.name; });
      shape.of_key.push_back(at == items.end() ? -1
                                               : static_cast<std::int32_t>(at - items.begin()));
      shape.complete = shape.complete && at != items.end();
    }
    shapes_.push_back(std::move(shape));
  }
  const Shape& shape = shapes_[sequence - 1];
  const auto& spec = now_.keys.keys();
  for (std::size_t k = 0; k < spec.size(); ++k) {
    if (spec[k].kind != KeyKind::kLog || shape.of_key[k] < 0) continue;
    Item& item = items[static_cast<std::size_t>(shape.of_key[k])];
    item.value = without_zeros(item.value);
  }
  KeyInfo info;
  info.names = shape.names;
  buffer = shape.prefix;
  for (const std::uint32_t at : shape.by_name) {
    buffer += items[at].value;
    buffer += ',';
  }
  info.cell = cells_.intern(buffer);
  buffer.clear();
  for (const std::uint32_t at : shape.hidden) {
    if (!buffer.empty()) buffer += ',';
    buffer += items[at].name;
    buffer += '=';
    buffer += items[at].value;
  }
  info.hidden = hidden_.intern(buffer);
  if (shape.complete) {
    buffer.clear();
    for (std::size_t k = 0; k < spec.size(); ++k) {
      if (k > 0) buffer += ',';
      buffer += items[static_cast<std::size_t>(shape.of_key[k])].value;
    }
    info.table_key = table_keys_.intern(buffer);
  }
  return info;
}

bool Freshness::lookup(const CellKey& wanted, KeyInfo& info) const {
  std::vector<Item> items;
  for (const CellKey::Item& item : wanted.items) {
    const int at = now_.keys.index(item.name);
    const bool log =
        at >= 0 && now_.keys.keys()[static_cast<std::size_t>(at)].kind == KeyKind::kLog;
    items.push_back({item.name, log ? without_zeros(item.value) : std::string_view(item.value)});
  }
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.name < b.name; });
  std::string names;
  for (const Item& item : items) {
    if (!names.empty()) names += ',';
    names += item.name;
  }
  info = {};
  info.names = name_sets_.find(names);
  if (info.names != Interner::kNone) {
    std::string buffer = std::to_string(info.names) + ':';
    for (const Item& item : items) {
      buffer += item.value;
      buffer += ',';
    }
    info.cell = cells_.find(buffer);
  }
  std::string table_key;
  for (const Key& one : now_.keys.keys()) {
    const auto at = std::find_if(items.begin(), items.end(),
                                 [&](const Item& item) { return item.name == one.name; });
    if (at == items.end()) return info.cell != kNone;
    if (&one != now_.keys.keys().data()) table_key += ',';
    table_key += at->value;
  }
  info.table_key = table_keys_.find(table_key);
  return true;
}

void Freshness::index_now(std::size_t dtypes) {
  dtypes_.resize(dtypes);
  for (std::size_t dtype = 0; dtype < dtypes; ++dtype) {
    const auto& candidates = now_.candidates[dtype];
    if (candidates.empty()) continue;
    DtypeNow& now = dtypes_[dtype];
    now.count = candidates.size();
    now.position.assign(ledger_.name_count(), -1);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const NameId id = ledger_.find(candidates[i]);
      if (id != Interner::kNone) now.position[id] = static_cast<std::int32_t>(i);
    }
    for (const std::string& family : families_of({candidates})) {
      const NameId id = ledger_.find(family);
      if (id == Interner::kNone) continue;
      const std::string* hash = now_.hashes.find(family);
      now.families.emplace_back(id, hash == nullptr ? Interner::kNone : ledger_.find(*hash));
    }
  }
}

const NameId* Freshness::hash_now(std::int32_t dtype, NameId family) const {
  for (const auto& [name, hash] : dtypes_[static_cast<std::size_t>(dtype)].families) {
    if (name == family) return &hash;
  }
  return nullptr;
}

void Freshness::find_best() {
  const auto cells = ledger_.cells();
  measured_.resize(dtypes_.size());
  imported_.resize(dtypes_.size());
  for (std::size_t record = 0; record < cells.size(); ++record) {
    if (!counts(record)) continue;
    const StoredCell& cell = cells[record];
    const bool measured = is_measured(cell.tier);
    const auto dtype = static_cast<std::size_t>(cell.dtype);
    auto& best = measured ? measured_[dtype] : imported_[dtype];
    if (best.empty()) best.assign(measured ? cells_.size() : table_keys_.size(), -1);
    std::int32_t& held = best[measured ? key(record).cell : key(record).table_key];
    if (held < 0 || cell.tier <= cells[static_cast<std::size_t>(held)].tier) {
      held = static_cast<std::int32_t>(record);
    }
  }
  // An imported record whose table key holds a measured ranking never takes part.
  const auto is_ranked = [&](std::int32_t record) {
    return cells[static_cast<std::size_t>(record)].ranked_count > 0;
  };
  for (std::size_t dtype = 0; dtype < dtypes_.size(); ++dtype) {
    auto& imported = imported_[dtype];
    for (const std::int32_t record : measured_[dtype]) {
      if (record < 0 || imported.empty() || !is_ranked(record)) continue;
      imported[key(static_cast<std::size_t>(record)).table_key] = -1;
    }
    for (const std::int32_t record : measured_[dtype]) {
      if (record < 0) continue;
      const std::uint32_t table_key = key(static_cast<std::size_t>(record)).table_key;
      if (is_ranked(record) || imported.empty() || imported[table_key] < 0) {
        best_.push_back(record);
      }
    }
    for (const std::int32_t record : imported) {
      if (record >= 0) best_.push_back(record);
    }
  }
  // Into file order: a mark a record is quicker than sorting.
  std::vector<bool> is_best(cells.size(), false);
  for (const std::int32_t record : best_) is_best[static_cast<std::size_t>(record)] = true;
  best_.clear();
  for (std::size_t record = 0; record < cells.size(); ++record) {
    if (is_best[record]) best_.push_back(static_cast<std::int32_t>(record));
  }
}

std::int32_t Freshness::best_measured(std::int32_t dtype, const CellKey& wanted) const {
  KeyInfo info;
  const auto& measured = measured_[static_cast<std::size_t>(dtype)];
  if (!lookup(wanted, info) || info.cell == kNone || measured.empty()) return -1;
  return measured[info.cell];
}

std::int32_t Freshness::best_of(std::int32_t dtype, const CellKey& wanted) const {
  const std::int32_t measured = best_measured(dtype, wanted);
  if (measured >= 0 && ledger_.cells()[static_cast<std::size_t>(measured)].ranked_count > 0) {
    return measured;
  }
  KeyInfo info;
  const auto& imported = imported_[static_cast<std::size_t>(dtype)];
  if (!lookup(wanted, info) || info.table_key == kNone || imported.empty()) return measured;
  return imported[info.table_key] >= 0 ? imported[info.table_key] : measured;
}

}  // namespace furlong::ledger
