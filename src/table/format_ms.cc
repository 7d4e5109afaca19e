#include "table/format_ms.hh"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
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

/// Powers of ten that a double holds exactly.
constexpr std::array<double, 23> kTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// The usual case without exact arithmetic: four digits of a value from 1e-18 to 1e3. Writes to
/// `buffer` (32 bytes) and returns the end; null where rounding is too close to call.
char* quick_four_digits(double ms, char* buffer) {
  if (!(ms >= 1e-18 && ms < 1e3)) return nullptr;
  // ms x 10^decimals lies in [1000, 10000); it is rounded once, by less than 1e-11.
  std::size_t places = 1;
  while (ms * kTen[places] < 1000.0) ++places;
  const double scaled = ms * kTen[places];
  constexpr double kClose = 1e-9;
  if (scaled < 1000.0 + kClose || scaled > 10000.0 - kClose) return nullptr;
  auto whole = static_cast<std::uint32_t>(scaled);
  const double part = scaled - whole;
  if (part > 0.5 - kClose && part < 0.5 + kClose) return nullptr;
  if (part > 0.5) ++whole;
  // `whole` has 4 digits, or is 10000.
  if (whole == 10000) return nullptr;
  std::array<char, 4> digits;
  for (std::size_t i = digits.size(); i-- > 0; whole /= 10) {
    digits[i] = static_cast<char>('0' + whole % 10);
  }
  char* at = buffer;
  std::size_t before_point = 0;
  if (places >= digits.size()) {
    *at++ = '0';
  } else {
    before_point = digits.size() - places;
    for (std::size_t i = 0; i < before_point; ++i) *at++ = digits[i];
  }
  *at++ = '.';
  for (std::size_t i = digits.size(); i < places; ++i) *at++ = '0';
  for (std::size_t i = before_point; i < digits.size(); ++i) *at++ = digits[i];
  return at;
}

}  // namespace

char* write_ms(double ms, char* at) {
  if (!std::isfinite(ms)) {
    const std::string text = shortest(ms);
    return std::copy(text.begin(), text.end(), at);
  }
  if (char* const end = quick_four_digits(ms, at)) return end;
  const int exponent = ms > 0 ? decimal_exponent(ms) : 0;
  return std::to_chars(at, at + kMostMs, ms, std::chars_format::fixed, std::max(0, 3 - exponent))
      .ptr;
}

std::string format_ms(double ms) {
  std::array<char, kMostMs> buffer;
  return {buffer.data(), write_ms(ms, buffer.data())};
}

}  // namespace furlong
