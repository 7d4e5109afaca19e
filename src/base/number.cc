#include "base/number.hh"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace furlong {
namespace {

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<std::int32_t> parse_int32(std::string_view text) {
  return parse_whole<std::int32_t>(text);
}

std::optional<std::int64_t> parse_positive(std::string_view text) {
  const auto value = parse_whole<std::int64_t>(text);
  if (!value || *value <= 0) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  const auto value = parse_whole<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::string shortest(double value) {
  if (!std::isfinite(value)) return "null";
  return fmt::format("{}", value);
}

}  // namespace furlong
