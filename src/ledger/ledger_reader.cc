#include "ledger/ledger_reader.hh"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.hh"
#include "furlong/cell_key.hh"
#include "furlong/key_spec.hh"
#include "furlong/spelling.hh"
#include "host/share_out.hh"

namespace furlong::ledger {
namespace {

using Type = FieldValue::Type;

std::string_view name_of(Field field) {
  switch (field) {
    case Field::kRunId:
      return "run_id";
    case Field::kDtype:
      return "dtype";
    case Field::kTier:
      return "tier";
    case Field::kKey:
      return "key";
    case Field::kDate:
      return "date";
    case Field::kRanked:
      return "ranked";
    case Field::kCands:
      return "cands";
    case Field::kHost:
      return "host";
    case Field::kDevice:
      return "device";
    case Field::kDeviceName:
      return "device_name";
    case Field::kBatchlas:
      return "batchlas";
    case Field::kArgv:
      return "argv";
    case Field::kKeys:
      return "keys";
    case Field::kCandidates:
      return "candidates";
    case Field::kEnv:
      return "env";
    case Field::kWorker:
      return "worker";
    case Field::kWhat:
      return "what";
    case Field::kVerdict:
      return "verdict";
    case Field::kCand:
      return "cand";
    case Field::kFamily:
      return "family";
    case Field::kFrom:
      return "from";
    case Field::kTo:
      return "to";
    case Field::kAt:
      return "at";
    case Field::kProof:
      return "proof";
    case Field::kWhy:
      return "why";
    default:
      return "commit";
  }
}

std::string no_field(std::string_view name) {
  return fmt::format("no field {}; this kind of line needs it", name);
}

/// A missing number is NaN.
std::string take_number(const FieldValue* value, std::string_view name, double& into) {
  into = std::numeric_limits<double>::quiet_NaN();
  if (value == nullptr) return {};
  if (value->type != Type::kNumber) return fmt::format("field {} is no number or null", name);
  into = value->number;
  return {};
}

template <class Int>
std::string take_count(const FieldValue* value, std::string_view name, Int missing, Int& into) {
  into = missing;
  if (value == nullptr) return {};
  if (value->type != Type::kNumber || !value->whole || value->integer < 0 ||
      value->integer > std::numeric_limits<Int>::max()) {
    return fmt::format("field {} is no whole number from 0 to {}", name,
                       std::numeric_limits<Int>::max());
  }
  into = static_cast<Int>(value->integer);
  return {};
}

}  // namespace

LedgerReader::LedgerReader(std::string_view file, const ReadOptions& options)
    : options_(options), line_(options.library) {
  ledger_.file_ = file;
  ledger_.parts_.emplace_back();
}

std::string LedgerReader::take(std::string_view line, std::int32_t number) {
  std::string reason = line_.read(line);
  if (!reason.empty()) return reason;
  switch (line_.kind()) {
    case Kind::kRun:
      return take_run(number);
    case Kind::kCell:
      return take_cell(number);
    case Kind::kAudit:
      return take_audit();
    case Kind::kRehash:
      return take_rehash(number);
    case Kind::kOther:
      break;
  }
  return {};
}

std::string LedgerReader::texts_only(std::initializer_list<Field> needed,
                                     std::initializer_list<Field> optional) const {
  for (const Field field : needed) {
    if (line_.get(field) == nullptr) return no_field(name_of(field));
  }
  for (const auto& fields : {needed, optional}) {
    for (const Field field : fields) {
      const FieldValue* value = line_.get(field);
      if (value != nullptr && value->type != Type::kText) {
        return fmt::format("field {} is no text", name_of(field));
      }
    }
  }
  return {};
}

std::string LedgerReader::take_dtype(std::int32_t& dtype) {
  const std::string_view name = line_.text(Field::kDtype);
  const auto known = options_.dtypes.names();
  if (last_dtype_ < 0 || known[static_cast<std::size_t>(last_dtype_)] != name) {
    last_dtype_ = options_.dtypes.index(name);
  }
  dtype = last_dtype_;
  if (dtype >= 0) return {};
  return fmt::format("unknown dtype {}; the project has {}", quoted(name), options_.dtypes.text());
}

std::string LedgerReader::take_tier(Tier& tier) const {
  const std::string_view name = line_.text(Field::kTier);
  const auto parsed = parse_tier(name);
  if (!parsed) {
    return fmt::format("unknown tier {}; allowed are {}", quoted(name),
                       fmt::join(kTierNames, ", "));
  }
  tier = *parsed;
  return {};
}

std::string LedgerReader::take_key(NameId& key) {
  const std::string_view text = line_.text(Field::kKey);
  key = ledger_.names_.intern(text);
  if (key >= good_key_.size()) good_key_.resize(std::max<std::size_t>(2 * key, 256), false);
  if (good_key_[key]) return {};
  const auto parsed = CellKey::parse(text);
  if (!parsed) return parsed.reason();
  good_key_[key] = true;
  return {};
}

/// The id of a name in a list: nearly always one of the last `cands`.
NameId LedgerReader::intern_listed(std::string_view name) {
  constexpr std::size_t kFew = 16;
  if (cands_.names.size() <= kFew) {
    for (const NameId id : cands_.names) {
      if (ledger_.text(id) == name) return id;
    }
  }
  return ledger_.names_.intern(name);
}

std::string LedgerReader::take_list(std::string_view field, std::string_view text,
                                    std::uint32_t& list) {
  list = list_texts_.find(text);
  if (list != Interner::kNone) return {};
  std::vector<NameId> names;
  ++list_count_;
  for (std::size_t start = 0; !text.empty() && start <= text.size();) {
    const std::size_t end = std::min(text.find('|', start), text.size());
    const std::string_view name = text.substr(start, end - start);
    if (name.empty()) {
      return fmt::format("field {} holds an empty name; names are separated by one |", field);
    }
    const NameId id = intern_listed(name);
    if (id >= listed_.size()) listed_.resize(std::max<std::size_t>(2 * id, 256), 0);
    if (listed_[id] == list_count_) {
      return fmt::format("field {} holds {} twice; name each candidate once", field, quoted(name));
    }
    listed_[id] = list_count_;
    names.push_back(id);
    start = end + 1;
  }
  if (lists_.size() >= kMostLists) {
    list_texts_ = {};
    lists_.resize(1);
  }
  list = list_texts_.intern(text);
  lists_.push_back(std::move(names));
  return {};
}

NameId LedgerReader::again(NameId last, std::string_view text) {
  return ledger_.text(last) == text ? last : ledger_.names_.intern(text);
}

std::int32_t LedgerReader::run_of(std::string_view run_id, std::int32_t dtype) {
  if (last_slot_ >= 0 && dtype == last_run_dtype_ && run_id == last_run_id_) return last_slot_;
  const NameId id = ledger_.names_.intern(run_id);
  const std::uint64_t key = (std::uint64_t{id} << 32) | static_cast<std::uint32_t>(dtype);
  const auto [at, is_new] = slot_of_run_.emplace(key, static_cast<std::int32_t>(slots_.size()));
  if (is_new) slots_.push_back({id, dtype, -1});
  last_run_id_ = run_id;
  last_run_dtype_ = dtype;
  last_slot_ = at->second;
  return last_slot_;
}

std::string LedgerReader::take_run(std::int32_t number) {
  std::string reason = texts_only(
      {Field::kRunId, Field::kDtype, Field::kTier, Field::kKeys, Field::kCandidates, Field::kDate},
      {Field::kHost, Field::kDevice, Field::kDeviceName, Field::kCommit, Field::kBatchlas,
       Field::kArgv, Field::kEnv, Field::kWorker});
  if (!reason.empty()) return reason;
  const FieldValue* commit = line_.get(Field::kCommit);
  if (commit == nullptr) commit = line_.get(Field::kBatchlas);
  if (commit == nullptr) return no_field(options_.library);
  const FieldValue* format = line_.get(Field::kFormat);
  if (format != nullptr && (!format->whole || format->integer != 1)) {
    return "unknown format; this program reads format 1";
  }
  StoredRun stored;
  stored.line = number;
  if (!(reason = take_dtype(stored.dtype)).empty()) return reason;
  if (!(reason = take_tier(stored.run.tier)).empty()) return reason;
  const std::string_view keys = line_.text(Field::kKeys);
  const auto spec = KeySpec::parse(keys);
  if (!spec) return spec.reason();
  std::uint32_t candidates = 0;
  reason = take_list("candidates", line_.text(Field::kCandidates), candidates);
  if (!reason.empty()) return reason;

  Run& run = stored.run;
  run.run_id = line_.text(Field::kRunId);
  run.dtype = line_.text(Field::kDtype);
  run.host = line_.text(Field::kHost);
  run.device = line_.text(Field::kDevice);
  run.device_name = line_.text(Field::kDeviceName);
  run.commit = commit->text;
  run.argv = line_.text(Field::kArgv);
  run.date = line_.text(Field::kDate);
  run.keys = keys;
  for (const NameId id : lists_[candidates]) run.candidates.emplace_back(ledger_.text(id));
  run.env = line_.text(Field::kEnv);
  run.worker = line_.text(Field::kWorker);

  const std::int32_t slot = run_of(run.run_id, stored.dtype);
  store_run(slot, std::move(stored));
  return {};
}

void LedgerReader::store_run(std::int32_t slot, StoredRun run) {
  std::int32_t& stored = slots_[static_cast<std::size_t>(slot)].stored;
  if (stored >= 0) {
    ledger_.runs_[static_cast<std::size_t>(stored)] = std::move(run);
  } else {
    stored = static_cast<std::int32_t>(ledger_.runs_.size());
    ledger_.runs_.push_back(std::move(run));
  }
}

void LedgerReader::absorb(LedgerReader&& next, std::int32_t line_offset) {
  Ledger& from = next.ledger_;
  std::vector<NameId> name(from.names_.size());
  for (NameId id = 0; id < name.size(); ++id) name[id] = ledger_.names_.intern(from.names_, id);
  std::vector<std::int32_t> slot(next.slots_.size());
  for (std::size_t i = 0; i < slot.size(); ++i) {
    const RunSlot& other = next.slots_[i];
    slot[i] = run_of(from.text(other.run_id), other.dtype);
    if (other.stored < 0) continue;
    StoredRun run = std::move(from.runs_[static_cast<std::size_t>(other.stored)]);
    run.line += line_offset;
    store_run(slot[i], std::move(run));
  }
  const auto part = static_cast<std::uint32_t>(ledger_.parts_.size());
  ledger_.parts_.push_back(std::move(from.parts_.front()));
  for (StoredCell cell : from.cells_) {
    cell.run = slot[static_cast<std::size_t>(cell.run)];
    cell.key = name[cell.key];
    cell.date = name[cell.date];
    cell.line += line_offset;
    cell.part = part;
    ledger_.cells_.push_back(cell);
  }
  for (std::size_t i = 0; i < from.audits_.size(); ++i) {
    ledger_.audits_.push_back(std::move(from.audits_[i]));
    audit_slots_.push_back(slot[static_cast<std::size_t>(next.audit_slots_[i])]);
  }
  for (const StoredRehash& rehash : from.rehashes_) {
    ledger_.rehashes_.push_back(
        {name[rehash.family], name[rehash.from], name[rehash.to], rehash.line + line_offset});
  }
  names_of_part_.push_back(std::move(name));
}

void LedgerReader::rename_parts() {
  host::share_out(names_of_part_.size(), [&](std::size_t i) {
    const std::vector<NameId>& name = names_of_part_[i];
    Ledger::Part& part = ledger_.parts_[i + 1];
    for (StoredOutcome& outcome : part.outcomes) {
      outcome.candidate = name[outcome.candidate];
      outcome.family = name[outcome.family];
      outcome.hash = name[outcome.hash];
      outcome.reason = name[outcome.reason];
    }
    for (NameId& id : part.ranked) id = name[id];
  });
}

std::string LedgerReader::take_outcome(std::size_t i, NameId candidate, NameId family) {
  const auto name = [&](std::string_view letters) { return fmt::format("{}{}", letters, i); };
  const FieldValue* status = line_.get(CandidateField::kStatus, i);
  if (status == nullptr) return no_field(name("s"));
  const auto parsed =
      status->type == Type::kText ? parse_status(status->text) : std::optional<Status>();
  if (!parsed) {
    return fmt::format(
        "field s{}: unknown status {}; allowed are ok, eliminated, bad, skipped, "
        "error",
        i, status->type == Type::kText ? quoted(status->text) : "of no text");
  }
  StoredOutcome outcome;
  outcome.candidate = candidate;
  outcome.family = family;
  outcome.status = *parsed;
  if (const FieldValue* hash = line_.get(CandidateField::kHash, i)) {
    if (hash->type != Type::kText) return fmt::format("field h{} is no text", i);
    outcome.hash = last_hash_[i] = again(last_hash_[i], hash->text);
  }
  if (const FieldValue* reason = line_.get(CandidateField::kReason, i)) {
    if (reason->type != Type::kText) return fmt::format("field r{} is no text", i);
    if (!reason->text.empty()) outcome.reason = ledger_.names_.intern(reason->text);
  }
  const std::pair<std::string_view, std::pair<CandidateField, double*>> times[] = {
      {"m", {CandidateField::kMedian, &outcome.median_ms}},
      {"lo", {CandidateField::kMin, &outcome.min_ms}},
      {"hi", {CandidateField::kMax, &outcome.max_ms}}};
  std::string bad;
  for (const auto& [letters, field] : times) {
    const FieldValue* value = line_.get(field.first, i);
    if (value != nullptr && value->type == Type::kNumber) {
      *field.second = value->number;
    } else if (value != nullptr) {
      return take_number(value, name(letters), *field.second);
    }
  }
  if (const FieldValue* value = line_.get(CandidateField::kRepetitions, i)) {
    if (!(bad = take_count(value, "n", 0, outcome.repetitions)).empty()) return bad;
  }
  if (const FieldValue* value = line_.get(CandidateField::kCalls, i)) {
    if (!(bad = take_count(value, "k", std::int64_t{1}, outcome.calls)).empty()) return bad;
  }
  own_part().outcomes.push_back(outcome);
  return {};
}

std::string LedgerReader::take_cell(std::int32_t number) {
  std::string reason = texts_only(
      {Field::kRunId, Field::kDtype, Field::kTier, Field::kKey, Field::kRanked, Field::kCands},
      {Field::kDate});
  if (!reason.empty()) return reason;
  StoredCell cell;
  cell.line = number;
  const FieldValue* round = line_.get(Field::kRound);
  if (round == nullptr) return no_field("round");
  if (!(reason = take_count(round, "round", 0, cell.round)).empty()) return reason;
  if (!(reason = take_dtype(cell.dtype)).empty()) return reason;
  if (!(reason = take_tier(cell.tier)).empty()) return reason;
  if (!(reason = take_key(cell.key)).empty()) return reason;
  cell.date = last_date_ = again(last_date_, line_.text(Field::kDate));
  const std::string_view cands = line_.text(Field::kCands);
  if (cands != cands_.text) {
    std::uint32_t list = 0;
    if (!(reason = take_list("cands", cands, list)).empty()) return reason;
    cands_ = {std::string(cands), lists_[list]};
    families_.clear();
    for (const NameId id : cands_.names) {
      families_.push_back(ledger_.names_.intern(std::string(family_of(ledger_.text(id)))));
    }
  }
  std::uint32_t ranked = 0;
  reason = take_list("ranked", line_.text(Field::kRanked), ranked);
  if (!reason.empty()) return reason;

  cell.first_outcome = static_cast<std::uint32_t>(own_part().outcomes.size());
  cell.outcome_count = static_cast<std::uint32_t>(cands_.names.size());
  if (last_hash_.size() < cands_.names.size()) last_hash_.resize(cands_.names.size(), 0);
  for (std::size_t i = 0; i < cands_.names.size(); ++i) {
    reason = take_outcome(i, cands_.names[i], families_[i]);
    if (!reason.empty()) {
      own_part().outcomes.resize(cell.first_outcome);
      return reason;
    }
  }
  cell.first_ranked = static_cast<std::uint32_t>(own_part().ranked.size());
  cell.ranked_count = static_cast<std::uint32_t>(lists_[ranked].size());
  own_part().ranked.insert(own_part().ranked.end(), lists_[ranked].begin(), lists_[ranked].end());
  cell.run = run_of(line_.text(Field::kRunId), cell.dtype);
  ledger_.cells_.push_back(cell);
  return {};
}

std::string LedgerReader::take_audit() {
  std::string reason = texts_only({Field::kRunId, Field::kDtype},
                                  {Field::kKey, Field::kWhat, Field::kVerdict, Field::kCand});
  if (!reason.empty()) return reason;
  Audit audit;
  std::int32_t dtype = 0;
  if (!(reason = take_dtype(dtype)).empty()) return reason;
  if (line_.get(Field::kKey) != nullptr) {
    NameId key = 0;
    if (!(reason = take_key(key)).empty()) return reason;
  }
  reason = take_number(line_.get(Field::kWarm), "warm_ms", audit.warm_ms);
  if (!reason.empty()) return reason;
  reason = take_number(line_.get(Field::kFresh), "fresh_ms", audit.fresh_ms);
  if (!reason.empty()) return reason;
  audit.run_id = line_.text(Field::kRunId);
  audit.dtype = line_.text(Field::kDtype);
  audit.key = line_.text(Field::kKey);
  audit.what = line_.text(Field::kWhat);
  audit.candidate = line_.text(Field::kCand);
  audit.verdict = line_.text(Field::kVerdict);
  audit_slots_.push_back(run_of(audit.run_id, dtype));
  ledger_.audits_.push_back(std::move(audit));
  return {};
}

std::string LedgerReader::take_rehash(std::int32_t number) {
  std::string reason = texts_only({Field::kFamily, Field::kFrom, Field::kTo},
                                  {Field::kAt, Field::kProof, Field::kWhy});
  if (!reason.empty()) return reason;
  StoredRehash rehash;
  rehash.family = ledger_.names_.intern(line_.text(Field::kFamily));
  rehash.from = ledger_.names_.intern(line_.text(Field::kFrom));
  rehash.to = ledger_.names_.intern(line_.text(Field::kTo));
  rehash.line = number;
  ledger_.rehashes_.push_back(rehash);
  return {};
}

void LedgerReader::expect(double fraction) {
  const auto more = [&](auto& items) {
    items.reserve(static_cast<std::size_t>(static_cast<double>(items.size()) / fraction * 1.02));
  };
  more(ledger_.cells_);
  more(own_part().outcomes);
  more(own_part().ranked);
}

Ledger LedgerReader::finish() && {
  rename_parts();
  // Runs that count, in file order, and where each slot's run went.
  std::vector<std::int32_t> slot_of(ledger_.runs_.size(), -1);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].stored >= 0) {
      slot_of[static_cast<std::size_t>(slots_[slot].stored)] = static_cast<std::int32_t>(slot);
    }
  }
  std::vector<std::size_t> by_line(ledger_.runs_.size());
  for (std::size_t i = 0; i < by_line.size(); ++i) by_line[i] = i;
  std::sort(by_line.begin(), by_line.end(), [&](std::size_t a, std::size_t b) {
    return ledger_.runs_[a].line < ledger_.runs_[b].line;
  });
  constexpr std::int32_t kNoRun = -1;
  constexpr std::int32_t kDirty = -2;
  std::vector<std::int32_t> run_of_slot(slots_.size(), kNoRun);
  std::vector<StoredRun> clean;
  std::size_t dirty_runs = 0;
  std::string first_dirty;
  for (const std::size_t i : by_line) {
    StoredRun& stored = ledger_.runs_[i];
    auto& target = run_of_slot[static_cast<std::size_t>(slot_of[i])];
    if (stored.run.commit.ends_with("-dirty")) {
      target = kDirty;
      if (dirty_runs++ == 0) first_dirty = stored.run.run_id;
    } else {
      target = static_cast<std::int32_t>(clean.size());
      clean.push_back(std::move(stored));
    }
  }
  ledger_.runs_ = std::move(clean);

  std::size_t dirty_cells = 0;
  std::size_t lone_cells = 0;
  std::int32_t first_lone = 0;
  std::size_t kept = 0;
  for (const StoredCell& cell : ledger_.cells_) {
    const std::int32_t run = run_of_slot[static_cast<std::size_t>(cell.run)];
    if (run == kDirty) ++dirty_cells;
    if (run == kNoRun && lone_cells++ == 0) first_lone = cell.line;
    if (run < 0) continue;
    StoredCell& target = ledger_.cells_[kept++];
    target = cell;
    target.run = run;
  }
  ledger_.cells_.resize(kept);
  std::size_t kept_audits = 0;
  for (std::size_t i = 0; i < audit_slots_.size(); ++i) {
    if (run_of_slot[static_cast<std::size_t>(audit_slots_[i])] < 0) continue;
    if (kept_audits != i) ledger_.audits_[kept_audits] = std::move(ledger_.audits_[i]);
    ++kept_audits;
  }
  ledger_.audits_.resize(kept_audits);

  if (dirty_runs > 0) {
    warn(fmt::format("{}: left out {} run line(s) of a dirty tree with {} cell(s), first run {}",
                     ledger_.file_, dirty_runs, dirty_cells, first_dirty));
  }
  if (lone_cells > 0) {
    warn(fmt::format("{}:{}: left out {} cell(s) without a run line, first here", ledger_.file_,
                     first_lone, lone_cells));
  }
  return std::move(ledger_);
}

}  // namespace furlong::ledger
