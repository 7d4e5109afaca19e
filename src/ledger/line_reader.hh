// LineReader: what a ledger line says, checked against the rules of records. Internal to the ledger
// part (it shows simdjson through LineParser).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/dtype.hh"
#include "ledger/ledger.hh"
#include "ledger/line_parser.hh"

namespace furlong::ledger {

/// The fields that records use. Those of a candidate stand last and in pairs with an index.
enum class Field : std::uint8_t {
  kKind,
  kRunId,
  kDtype,
  kTier,
  kKey,
  kRound,
  kDate,
  kRanked,
  kCands,
  kFormat,
  kHost,
  kDevice,
  kDeviceName,
  kCommit,
  kBatchlas,
  kArgv,
  kKeys,
  kCandidates,
  kEnv,
  kWorker,
  kWhat,
  kVerdict,
  kCand,
  kWarm,
  kFresh,
  kFamily,
  kFrom,
  kTo,
  kAt,
  kProof,
  kWhy,
  kOther,
};

enum class CandidateField : std::uint8_t {
  kHash,
  kStatus,
  kReason,
  kMedian,
  kMin,
  kMax,
  kRepetitions,
  kCalls,
};

enum class Kind : std::uint8_t { kRun, kCell, kAudit, kRehash, kOther };

/// Reads lines one after the other and keeps the values of the last one until the next.
class LineReader {
 public:
  explicit LineReader(const std::string& library) : library_(library) {}

  /// Empty when the line is well formed and has a kind; else the reason. kPadding bytes after the
  /// line must be readable.
  std::string read(std::string_view line);

  Kind kind() const { return kind_; }
  /// The value in the last line; null when the line does not hold the field (or holds null).
  const FieldValue* get(Field field) const {
    const Value& value = values_[static_cast<std::size_t>(field)];
    return holds(value) ? &value.value : nullptr;
  }
  const FieldValue* get(CandidateField field, std::size_t candidate) const {
    const std::size_t at = place_of(field, candidate);
    return at < values_.size() && holds(values_[at]) ? &values_[at].value : nullptr;
  }
  /// A text; empty when it is missing or something else.
  std::string_view text(Field field) const {
    const FieldValue* value = get(field);
    const bool is_text = value != nullptr && value->type == FieldValue::Type::kText;
    return is_text ? value->text : std::string_view();
  }

 private:
  static constexpr std::size_t kCandidateFields = 8;
  static constexpr std::size_t kFields = static_cast<std::size_t>(Field::kOther) + 1;

  struct Value {
    std::uint64_t line = 0;
    FieldValue value;
  };
  bool holds(const Value& value) const {
    return value.line == line_ && value.value.type != FieldValue::Type::kNull;
  }
  static constexpr std::size_t place_of(CandidateField field, std::size_t candidate) {
    return kFields + candidate * kCandidateFields + static_cast<std::size_t>(field);
  }
  /// The place in values_ of the field with a name.
  std::size_t place_of(std::string_view name) const;
  /// values_[at], which may not be there yet.
  Value& value_at(std::size_t at, std::size_t line_size);

  std::string library_;
  LineParser parser_;
  std::vector<std::size_t> places_;  ///< by the parser's number: in values_
  /// Fields, then those of candidates. Fields that mean nothing share a place.
  std::vector<Value> values_ = std::vector<Value>(kFields);
  Kind kind_ = Kind::kOther;
  std::uint64_t line_ = 0;
};

}  // namespace furlong::ledger
