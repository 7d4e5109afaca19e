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

LineReader::Meaning LineReader::meaning_of(std::string_view name) const {
  if (name == library_) return {Field::kCommit, false, 0};
  for (const auto& [known, field] : kFieldNames) {
    if (name == known) return {field, false, 0};
  }
  const std::size_t letters = std::min(name.find_first_of("0123456789"), name.size());
  const std::string_view digits = name.substr(letters);
  for (const auto& [known, field] : kCandidateFieldNames) {
    if (name.substr(0, letters) != known) continue;
    const auto index = parse_int32(digits);
    const bool plain = digits.size() == 1 || (!digits.empty() && digits.front() != '0');
    if (!index || !plain) break;
    const auto candidate = static_cast<std::size_t>(*index);
    return {Field::kOther, true, candidate * kCandidateFields + static_cast<std::size_t>(field)};
  }
  return {};
}

std::string LineReader::read(std::string_view line) {
  ++line_;
  std::string reason = parser_.parse(line, [&](NameId number) -> FieldValue& {
    while (meanings_.size() <= number) {
      meanings_.push_back(meaning_of(parser_.name(static_cast<NameId>(meanings_.size()))));
    }
    const Meaning& meaning = meanings_[number];
    if (!meaning.of_candidate) {
      // Fields that mean nothing share the last place.
      Value& value = values_[static_cast<std::size_t>(meaning.field)];
      value.line = line_;
      return value.value;
    }
    if (meaning.at >= candidates_.size()) {
      // More candidates than bytes are none: such a name means nothing here.
      if (meaning.at / kCandidateFields >= line.size()) return values_.back().value;
      candidates_.resize(std::max(meaning.at + 1, 2 * candidates_.size()));
    }
    candidates_[meaning.at].line = line_;
    return candidates_[meaning.at].value;
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
