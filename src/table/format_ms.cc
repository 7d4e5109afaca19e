#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

}  // namespace

std::string format_ms(double ms) {
  if (!std::isfinite(ms)) return shortest(ms);
  const int exponent = ms > 0 ? decimal_exponent(ms) : 0;
  std::array<char, 400> buffer;
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), ms,
                                     std::chars_format::fixed, std::max(0, 3 - exponent));
  return {buffer.data(), written.ptr};
}

}  // namespace furlong
