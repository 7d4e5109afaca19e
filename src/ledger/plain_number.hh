// Plain numbers: the numbers of ledger lines, without the general way. Internal to the ledger part.
//
// A ledger is mostly numbers, so this decides how fast one is read. It takes the usual spelling and
// leaves every other, and every number that is close to a rounding tie, to the JSON parser.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

namespace furlong::ledger {

struct PlainNumber {
  bool whole = false;
  std::int64_t integer = 0;  ///< of a whole number
  double number = 0;
};

/// Bytes after the number that must be readable.
inline constexpr std::size_t kPlainNumberPadding = 8;

namespace plain_number {

inline constexpr int kMostPlaces = 27;
/// Powers of ten that 64 bits of precision hold exactly (5^27 < 2^63); a double those up to 10^22.
inline constexpr auto kTen = [] {
  std::array<long double, kMostPlaces + 1> ten{1};
  for (std::size_t i = 1; i < ten.size(); ++i) ten[i] = ten[i - 1] * 10;
  return ten;
}();
inline constexpr auto kTenDouble = [] {
  std::array<double, 23> ten{1};
  for (std::size_t i = 1; i < ten.size(); ++i) ten[i] = ten[i - 1] * 10;
  return ten;
}();

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether the 8 bytes are digits, the first the lowest byte.
inline bool are_digits(std::uint64_t word) {
  constexpr std::uint64_t kHighs = 0xf0f0f0f0f0f0f0f0u;
  return ((word & kHighs) | (((word + 0x0606060606060606u) & kHighs) >> 4)) == 0x3333333333333333u;
}

/// The number that 8 digits spell: pairs, then fours, then all.
inline std::uint64_t value_of_digits(std::uint64_t word) {
  word -= 0x3030303030303030u;
  word = word * 10 + (word >> 8);
  constexpr std::uint64_t kPairs = 0x000000ff000000ffu;
  const std::uint64_t low = (word & kPairs) * (100 + (std::uint64_t{1000000} << 32));
  const std::uint64_t high = ((word >> 16) & kPairs) * (1 + (std::uint64_t{10000} << 32));
  return (low + high) >> 32;
}

/// digits / 10^places, correctly rounded; no where that is not sure.
///
/// A double that holds both sides exactly rounds once. Else 64 bits of precision hold them exactly
/// (digits < 2^64, places <= 27), and the quotient is rounded twice: to 64 bits, then to 53. Both
/// roundings keep order, and a tie of the second is a value of the first; so unless the first lands
/// on a tie, the exact quotient lies on the same side of it.
inline std::optional<double> quotient(std::uint64_t digits, int places) {
  const auto at = static_cast<std::size_t>(places);
  if (digits <= (std::uint64_t{1} << 53) && at < kTenDouble.size()) {
    return static_cast<double>(digits) / kTenDouble[at];
  }
  if constexpr (std::numeric_limits<long double>::digits == 64 &&
                std::endian::native == std::endian::little) {
    const long double rounded = static_cast<long double>(digits) / kTen[at];
    std::uint64_t mantissa = 0;
    std::memcpy(&mantissa, &rounded, sizeof mantissa);
    constexpr std::uint64_t kTail = (1u << 11) - 1;
    constexpr std::uint64_t kTie = 1u << 10;
    if ((mantissa & kTail) != kTie) return static_cast<double>(rounded);
  }
  return std::nullopt;
}

}  // namespace plain_number

/// The JSON number at `at`, when it is `-`? digits, or those and `.` and digits, of at most 19
/// digits that count and 27 after the point, with a `,`, a `}` or white space behind. No for any
/// other text: it is not checked whether that is a number.
inline std::optional<PlainNumber> read_plain_number(const char* at) {
  using namespace plain_number;
  static_assert(std::endian::native == std::endian::little, "the first digit is the lowest byte");
  PlainNumber result;
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  const char* const first = at;
  std::uint64_t digits = 0;
  while (is_digit(*at)) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
  const auto before_point = at - first;
  if (before_point == 0 || before_point > 18 || (*first == '0' && before_point > 1)) return {};
  std::ptrdiff_t places = 0;
  if (*at == '.') {
    const char* const point = at++;
    std::uint64_t word = 0;
    for (;;) {
      std::memcpy(&word, at, sizeof word);
      if (!are_digits(word)) break;
      digits = digits * 100000000 + value_of_digits(word);
      at += sizeof word;
    }
    while (is_digit(*at)) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
    places = at - point - 1;
    if (places == 0 || places > kMostPlaces) return {};
    if (before_point + places > 19) {
      // Zeros at the front do not count; with more than 19 others, `digits` has overflowed.
      std::ptrdiff_t zeros = 0;
      for (const char* c = first; *c == '0' || *c == '.'; ++c) zeros += *c == '0' ? 1 : 0;
      if (before_point + places - zeros > 19) return {};
    }
  }
  if (*at != ',' && *at != '}' && *at != ' ' && *at != '\t' && *at != '\r' && *at != '\n')
    return {};
  if (places == 0) {
    result.whole = true;
    result.integer =
        negative ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits);
    result.number = static_cast<double>(result.integer);
    return result;
  }
  const auto size = quotient(digits, static_cast<int>(places));
  if (!size) return {};
  result.number = negative ? -*size : *size;
  return result;
}

}  // namespace furlong::ledger
