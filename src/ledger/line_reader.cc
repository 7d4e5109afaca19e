#include "ledger/line_reader.hh"

#include <algorithm>
#include <utility>

#include "base/number.hh"

namespace furlong::ledger {
namespace {

constexpr std::pair<std::string_view, Field> kFieldNames[] = {
    {"kind", Field::kKind},
    {"run_id", Field::kRunId},
    {"dtype", Field::kDtype},
    {"tier", Field::kTier},
    {"key", Field::kKey},
    {"round", Field::kRound},
    {"date", Field::kDate},
    {"ranked", Field::kRanked},
    {"cands", Field::kCands},
    {"format", Field::kFormat},
    {"host", Field::kHost},
    {"device", Field::kDevice},
    {"device_name", Field::kDeviceName},
    {"batchlas", Field::kBatchlas},
    {"argv", Field::kArgv},
    {"keys", Field::kKeys},
    {"candidates", Field::kCandidates},
    {"env", Field::kEnv},
    {"worker", Field::kWorker},
    {"what", Field::kWhat},
    {"verdict", Field::kVerdict},
    {"cand", Field::kCand},
    {"warm_ms", Field::kWarm},
    {"fresh_ms", Field::kFresh},
    {"family", Field::kFamily},
    {"from", Field::kFrom},
    {"to", Field::kTo},
    {"at", Field::kAt},
    {"proof", Field::kProof},
    {"why", Field::kWhy},
};

constexpr std::pair<std::string_view, CandidateField> kCandidateFieldNames[] = {
    {"h", CandidateField::kHash},        {"s", CandidateField::kStatus},
    {"r", CandidateField::kReason},      {"m", CandidateField::kMedian},
    {"lo", CandidateField::kMin},        {"hi", CandidateField::kMax},
    {"n", CandidateField::kRepetitions}, {"k", CandidateField::kCalls},
};

constexpr std::pair<std::string_view, Kind> kKindNames[] = {
    {"run", Kind::kRun},
    {"cell", Kind::kCell},
    {"audit", Kind::kAudit},
    {"rehash", Kind::kRehash},
};

}  // namespace

std::size_t LineReader::place_of(std::string_view name) const {
  if (name == library_) return static_cast<std::size_t>(Field::kCommit);
  for (const auto& [known, field] : kFieldNames) {
    if (name == known) return static_cast<std::size_t>(field);
  }
  const std::size_t letters = std::min(name.find_first_of("0123456789"), name.size());
  const std::string_view digits = name.substr(letters);
  for (const auto& [known, field] : kCandidateFieldNames) {
    if (name.substr(0, letters) != known) continue;
    const auto index = parse_int32(digits);
    const bool plain = digits.size() == 1 || (!digits.empty() && digits.front() != '0');
    if (!index || !plain) break;
    return place_of(field, static_cast<std::size_t>(*index));
  }
  return static_cast<std::size_t>(Field::kOther);
}

LineReader::Value& LineReader::value_at(std::size_t at, std::size_t line_size) {
  if (at >= values_.size()) {
    // More candidates than bytes are none: such a name means nothing here.
    if (at / kCandidateFields >= kFields + line_size) {
      return values_[static_cast<std::size_t>(Field::kOther)];
    }
    values_.resize(std::max(at + 1, 2 * values_.size()));
  }
  return values_[at];
}

std::string LineReader::read(std::string_view line) {
  ++line_;
  std::string reason = parser_.parse(line, [&](NameId number) -> FieldValue& {
    while (places_.size() <= number) {
      places_.push_back(place_of(parser_.name(static_cast<NameId>(places_.size()))));
    }
    const std::size_t at = places_[number];
    Value& value = at < values_.size() ? values_[at] : value_at(at, line.size());
    value.line = line_;
    return value.value;
  });
  if (!reason.empty()) return reason;
  const FieldValue* named = get(Field::kKind);
  if (named == nullptr || named->type != FieldValue::Type::kText) {
    return "no field kind; a line is a run, cell, audit or rehash";
  }
  kind_ = Kind::kOther;
  for (const auto& [name, kind] : kKindNames) {
    if (named->text == name) kind_ = kind;
  }
  return {};
}

}  // namespace furlong::ledger
