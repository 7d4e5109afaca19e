#include "ledger/line_parser.hh"

#include <algorithm>

#include "host/crc32.hh"

namespace furlong::ledger {
namespace {

/// `, "crc": "01234567"}`
constexpr std::string_view kBeforeName = ", \"";
constexpr std::string_view kCrcName = "crc";
constexpr std::string_view kAfterName = "\": \"";
constexpr std::string_view kEnd = "\"}";
constexpr std::size_t kDigits = 8;
constexpr std::size_t kNameAt = kBeforeName.size();
constexpr std::size_t kDigitsAt = kNameAt + kCrcName.size() + kAfterName.size();
constexpr std::size_t kTailSize = kDigitsAt + kDigits + kEnd.size();

/// The value of 8 lower-case hex digits; -1 when there is another character.
std::int64_t parse_hex(std::string_view digits) {
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c >= '0' && c <= '9') {
      value = value * 16 + (c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + (c - 'a' + 10);
    } else {
      return -1;
    }
  }
  return value;
}

}  // namespace

LineParser::Quoted LineParser::Quoted::of(std::string_view name) {
  Quoted quoted;
  std::array<char, kSize> bytes{};
  std::array<char, kSize> mask{};
  const bool plain = name.find_first_of("\"\\") == std::string_view::npos;
  // No line holds a raw newline.
  const std::string text = plain && name.size() < kSize ? std::string(name) + '"' : "\n";
  std::copy(text.begin(), text.end(), bytes.begin());
  std::fill_n(mask.begin(), text.size(), '\xff');
  std::memcpy(quoted.bytes.data(), bytes.data(), kSize);
  std::memcpy(quoted.mask.data(), mask.data(), kSize);
  return quoted;
}

NameId LineParser::add_name(std::string_view name) {
  const NameId number = names_.intern(name);
  if (number >= seen_.size()) {
    seen_.resize(names_.size(), 0);
    quoted_.resize(names_.size());
    quoted_[number] = Quoted::of(name);
    if (name == kCrcName) crc_ = number;
  }
  return number;
}

void LineParser::keep_names(std::size_t count) {
  order_.resize(count);
  for (const Known& known : order_) seen_[known.number] = line_;
}

NameId LineParser::number_of(simdjson::ondemand::raw_json_string name, std::size_t size) {
  unescaped_.resize(std::max(unescaped_.size(), size + kPadding));
  std::uint8_t* into = unescaped_.data();
  std::string_view text;
  if (parser_.unescape(name, into).get(text) != simdjson::SUCCESS) return kNone;
  const NameId number = add_name(text);
  if (seen_[number] == line_) {
    twice_ = text;
    return kTwice;
  }
  seen_[number] = line_;
  order_.push_back({quoted_[number], number});
  return number;
}

std::string LineParser::bad_json(simdjson::error_code failure) {
  switch (failure) {
    case simdjson::UTF8_ERROR:
      return "a byte that is not UTF-8";
    case simdjson::INCORRECT_TYPE:
      return "bad JSON: not an object; a line is one flat JSON object";
    case simdjson::TRAILING_CONTENT:
      return "bad JSON: more text after the object; a line holds one record";
    default: {
      std::string text = simdjson::error_message(failure);
      if (text.ends_with('.')) text.pop_back();
      return "bad JSON: " + text;
    }
  }
}

std::string LineParser::bad_value(simdjson::error_code failure) {
  switch (failure) {
    case kNested:
      return "a nested value; a line is one flat JSON object";
    case simdjson::STRING_ERROR:
      return "bad JSON: a bad escape in a text";
    default:
      return "bad JSON: no text, number that a double can hold, true, false or null";
  }
}

std::string LineParser::check_crc(std::string_view line, bool has_crc) {
  const bool long_enough = line.size() > kTailSize;
  const auto tail = long_enough ? line.substr(line.size() - kTailSize) : std::string_view();
  const auto part = [&](std::size_t at, std::string_view text) {
    return tail.substr(at, text.size()) == text;
  };
  const bool shaped = long_enough && part(0, kBeforeName) &&
                      part(kNameAt + kCrcName.size(), kAfterName) &&
                      part(kDigitsAt + kDigits, kEnd);
  if (!has_crc && !shaped) return {};
  const std::int64_t stored = shaped ? parse_hex(tail.substr(kDigitsAt, kDigits)) : -1;
  if (!has_crc) {
    // A damaged name would otherwise make a checked line an unchecked one.
    const bool damaged_name =
        stored >= 0 && stored == host::crc32(line.substr(0, line.size() - kTailSize));
    return damaged_name ? "the name of the crc field is damaged" : std::string();
  }
  if (stored < 0 || !part(kNameAt, kCrcName)) {
    return "bad crc field; it is the last and spelled , \"crc\": \"<8 lower-case hex>\"}";
  }
  if (stored != host::crc32(line.substr(0, line.size() - kTailSize))) {
    return "the crc does not match the line: its bytes are damaged";
  }
  return {};
}

}  // namespace furlong::ledger
