// LineParser: one ledger line, field by field. Internal to the ledger part (it shows simdjson).
//
// A line is a document of its own: one flat JSON object in valid UTF-8, each field named once, the
// whole line consumed, every value read (an on-demand parser validates only what it is asked for),
// the `crc` field last, spelled exactly and right. Field names are numbered in order of first
// appearance in the file; lines that repeat the previous line's names in order, as a writer's do,
// cost one comparison a name.
//
// Not thread-safe; texts are valid until the next line and while the line's bytes are.
#pragma once

#include <simdjson.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hh"
#include "ledger/interner.hh"
#include "ledger/plain_number.hh"

namespace furlong::ledger {

struct FieldValue {
  enum class Type : std::uint8_t { kNull, kText, kNumber, kBool };
  Type type = Type::kNull;
  bool whole = false;        ///< a number that is spelled as an integer of at most 18 digits
  std::int64_t integer = 0;  ///< of a whole number
  double number = 0;         ///< of a number
  std::string_view text;     ///< of a text
};

class LineParser {
 public:
  /// Bytes that must be readable after a line.
  static constexpr std::size_t kPadding = simdjson::SIMDJSON_PADDING;

  /// Puts the value of each field into the FieldValue& that `place(field)` gives, `field` being the
  /// number of its name. Empty when the line is well formed, else the reason; fields before the
  /// damage were placed.
  template <class Place>
  std::string parse(std::string_view line, Place&& place);

  /// A field's name by its number; numbers are dense from 0, and 0 is the empty name.
  std::string_view name(NameId field) const { return names_.text(field); }

 private:
  static constexpr NameId kNone = Interner::kNone;
  static constexpr NameId kTwice = kNone - 1;
  static constexpr simdjson::error_code kNested = simdjson::DEPTH_ERROR;

  /// A name and its closing quote as it stands in a line, for one quick comparison; of a name that
  /// is long or needs an escape, what no line holds.
  struct Quoted {
    std::array<std::uint64_t, 2> bytes{};
    std::array<std::uint64_t, 2> mask{};

    static constexpr std::size_t kSize = 16;
    static Quoted of(std::string_view name);
    bool matches(const char* raw) const {
      std::array<std::uint64_t, 2> found{};
      static_assert(kSize <= kPadding);
      std::memcpy(found.data(), raw, kSize);
      return ((found[0] ^ bytes[0]) & mask[0]) == 0 && ((found[1] ^ bytes[1]) & mask[1]) == 0;
    }
  };

  /// Marks the first names of the previous line, `count` of them, as held by this one, and forgets
  /// the others.
  void keep_names(std::size_t count);
  /// The number of the name that comes next in a line of `size` bytes whose names so far are those
  /// in order_. kNone when it is no string, kTwice when the line holds it already.
  NameId number_of(simdjson::ondemand::raw_json_string name, std::size_t size);
  NameId add_name(std::string_view name);
  /// Bytes of a text up to its closing quote; npos when an escape comes first. The text is closed.
  static std::size_t plain_size(const char* raw);
  static simdjson::error_code read_text(simdjson::ondemand::value& from, std::string_view& text);
  static simdjson::error_code read_value(simdjson::ondemand::value& from, FieldValue& value);
  static std::string bad_json(simdjson::error_code failure);
  static std::string bad_value(simdjson::error_code failure);
  static std::string check_crc(std::string_view line, bool has_crc);

  simdjson::ondemand::parser parser_;
  Interner names_;
  std::vector<std::uint64_t> seen_;  ///< by number: the last line that was known to hold the name
  std::vector<Quoted> quoted_;       ///< by number
  struct Known {
    Quoted quoted;
    NameId number = 0;
  };
  std::vector<Known> order_;  ///< the names of the previous line, each another one, in order
  std::string twice_;         ///< the name that stood twice
  std::vector<std::uint8_t> unescaped_;
  NameId crc_ = kNone;  ///< the number of `crc`
  std::uint64_t line_ = 0;
};

inline std::size_t LineParser::plain_size(const char* raw) {
  static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  constexpr std::uint64_t kHighs = 0x8080808080808080u;
  const auto zeros = [](std::uint64_t word) { return (word - kOnes) & ~word & kHighs; };
  for (const char* at = raw;; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    const std::uint64_t found = zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\\'));
    if (found == 0) continue;
    at += std::countr_zero(found) / 8;
    return *at == '"' ? static_cast<std::size_t>(at - raw) : std::string_view::npos;
  }
}

simdjson_inline simdjson::error_code LineParser::read_text(simdjson::ondemand::value& from,
                                                           std::string_view& text) {
  const char* raw = from.raw_json_token().data() + 1;
  const std::size_t size = plain_size(raw);
  if (size == std::string_view::npos) return from.get_string().get(text);
  text = {raw, size};
  simdjson::ondemand::raw_json_string taken;
  return from.get_raw_json_string().get(taken);
}

simdjson_inline simdjson::error_code LineParser::read_value(simdjson::ondemand::value& from,
                                                            FieldValue& value) {
  const char* token = from.raw_json_token().data();
  switch (*token) {
    case '"':
      value.type = FieldValue::Type::kText;
      return read_text(from, value.text);
    case 't':
    case 'f': {
      bool truth = false;
      value.type = FieldValue::Type::kBool;
      return from.get_bool().get(truth);
    }
    case 'n': {
      bool null = false;
      value.type = FieldValue::Type::kNull;
      const auto failure = from.is_null().get(null);
      return failure == simdjson::SUCCESS && !null ? simdjson::N_ATOM_ERROR : failure;
    }
    case '{':
    case '[':
      return kNested;
    default:
      break;
  }
  value.type = FieldValue::Type::kNumber;
  static_assert(kPlainNumberPadding <= kPadding);
  if (const auto plain = read_plain_number(token)) {
    value.whole = plain->whole;
    value.integer = plain->integer;
    value.number = plain->number;
    return simdjson::SUCCESS;  // the parser passes over a value that it was not asked for
  }
  value.whole = false;
  return from.get_double().get(value.number);
}

template <class Place>
std::string LineParser::parse(std::string_view line, Place&& place) {
  ++line_;
  simdjson::ondemand::document document;
  const simdjson::padded_string_view padded(line.data(), line.size(), line.size() + kPadding);
  if (const auto failure = parser_.iterate(padded).get(document)) return bad_json(failure);
  simdjson::ondemand::object object;
  if (const auto failure = document.get_object().get(object)) {
    return begins_with_mark(line) ? std::string(kMarkReason) : bad_json(failure);
  }
  // Where the previous line holds the name that comes next, if both went the same way so far.
  const Known* expected = order_.data();
  const Known* end = expected + order_.size();
  bool again = true;
  bool has_crc = false;
  for (auto item : object) {
    simdjson::ondemand::field field;
    if (const auto failure = std::move(item).get(field)) return bad_json(failure);
    NameId number = 0;
    if (expected != end && expected->quoted.matches(field.key().raw())) {
      number = (expected++)->number;
    } else {
      if (again) keep_names(static_cast<std::size_t>(expected - order_.data()));
      again = false;
      expected = end;
      number = number_of(field.key(), line.size());
      if (number == kNone) return bad_json(simdjson::STRING_ERROR);
      if (number == kTwice) {
        return "field " + furlong::quoted(twice_) + " stands twice; a line names each field once";
      }
    }
    has_crc = has_crc || number == crc_;
    if (const auto failure = read_value(field.value(), place(number))) {
      return "field " + quoted(name(number)) + ": " + bad_value(failure);
    }
  }
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return bad_json(simdjson::TRAILING_CONTENT);
  }
  return check_crc(line, has_crc);
}

}  // namespace furlong::ledger
