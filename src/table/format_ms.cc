#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/number.hh"
#include "furlong/table.hh"

namespace furlong {
namespace {

/// The exponent of the exact decimal expansion of a finite value > 0.
int decimal_exponent(double value) {
  std::array<char, 1100> buffer;
  const auto exponent_of = [&](const char* end) {
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    std::string_view digits = text.substr(text.find('e') + 1);
    if (digits.front() == '+') digits.remove_prefix(1);
    return static_cast<int>(*parse_int32(digits));
  };
  char* const last = buffer.data() + buffer.size();
  auto written = std::to_chars(buffer.data(), last, value, std::chars_format::scientific);
  // Only where the shortest text is a power of ten may the value itself lie below it.
  if (buffer[0] != '1' || buffer[1] != 'e') return exponent_of(written.ptr);
  constexpr int kExact = 800;  // more digits than any double has
  written = std::to_chars(buffer.data(), last, value, std::chars_format::scientific, kExact);
  return exponent_of(written.ptr);
}

/// Powers of ten that a long double of 64 bits holds exactly.
constexpr std::array<long double, 28> kTen = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                              1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                              1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                              1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

/// The usual case without exact arithmetic: four digits of a value from 1e-24 to 1e3. Writes to
/// `buffer` (32 bytes) and returns the end; null where rounding is too close to call.
char* quick_four_digits(double ms, char* buffer) {
  if constexpr (std::numeric_limits<long double>::digits < 64) return nullptr;
  if (!(ms >= 1e-23 && ms < 1e3)) return nullptr;
  // ms x 10^decimals has an error below 2^-64 of itself; it lies in [1000, 10000).
  int decimals = 1;
  while (static_cast<long double>(ms) * kTen[static_cast<std::size_t>(decimals)] < 1000.0L) {
    ++decimals;
  }
  const long double scaled =
      static_cast<long double>(ms) * kTen[static_cast<std::size_t>(decimals)];
  constexpr long double kClose = 1e-9L;
  if (scaled < 1000.0L + kClose || scaled > 10000.0L - kClose) return nullptr;
  auto whole = static_cast<std::uint32_t>(scaled);
  const long double part = scaled - static_cast<long double>(whole);
  if (part > 0.5L - kClose && part < 0.5L + kClose) return nullptr;
  if (part > 0.5L) ++whole;
  // `whole` has 4 digits, or is 10000.
  std::array<char, 5> digits;
  const auto count =
      std::to_chars(digits.data(), digits.data() + digits.size(), whole).ptr - digits.data();
  const auto before_point = count - decimals;
  char* at = buffer;
  if (before_point <= 0) {
    *at++ = '0';
    *at++ = '.';
    for (auto zero = before_point; zero < 0; ++zero) *at++ = '0';
    return std::copy_n(digits.data(), count, at);
  }
  at = std::copy_n(digits.data(), before_point, at);
  *at++ = '.';
  return std::copy_n(digits.data() + before_point, count - before_point, at);
}

}  // namespace

std::string format_ms(double ms) {
  if (!std::isfinite(ms)) return shortest(ms);
  std::array<char, 32> quick;
  if (char* const end = quick_four_digits(ms, quick.data())) return {quick.data(), end};
  const int exponent = ms > 0 ? decimal_exponent(ms) : 0;
  std::array<char, 400> buffer;
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), ms,
                                     std::chars_format::fixed, std::max(0, 3 - exponent));
  return {buffer.data(), written.ptr};
}

}  // namespace furlong
