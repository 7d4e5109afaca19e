#include <fmt/format.h>

#include <cmath>

#include "furlong/table.hh"

namespace furlong {
namespace {

/// e of t = d.ddd x 10^e, from the exact decimal expansion: no logarithm, which would round.
int decimal_exponent(double t) {
  // 17 significant digits may round up to the next power of ten; 800 digits are every digit.
  const std::string digits = fmt::format("{:.800e}", t);
  const auto at = digits.find('e');
  int exponent = 0;
  bool negative = false;
  for (std::size_t i = at + 1; i < digits.size(); ++i) {
    if (digits[i] == '-') negative = true;
    if (digits[i] >= '0' && digits[i] <= '9') exponent = exponent * 10 + (digits[i] - '0');
  }
  return negative ? -exponent : exponent;
}

}  // namespace

std::string format_ms(double ms) {
  if (ms == 0 || !std::isfinite(ms)) return ms == 0 ? "0.000" : "-";
  const int decimals = std::max(0, 3 - decimal_exponent(ms));
  return fmt::format("{:.{}f}", ms, decimals);
}

}  // namespace furlong
