#include "furlong/device_key.hh"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.hh"
#include "base/text.hh"

namespace furlong {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view leading_digits(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// `name` itself or `name_<more>`.
bool is_or_extends(std::string_view text, std::string_view name) {
  return text.starts_with(name) && (text.size() == name.size() || text[name.size()] == '_');
}

std::int64_t cpu_width(std::string_view text) {
  if (is_or_extends(text, "cpu_avx512")) return 512;
  if (is_or_extends(text, "cpu_avx2")) return 256;
  if (is_or_extends(text, "cpu_sse4") || is_or_extends(text, "cpu_neon")) return 128;
  return 0;
}

}  // namespace

Result<DeviceKey> DeviceKey::parse(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
  });
  if (text.empty() || !plain) {
    return Result<DeviceKey>::no(
        fmt::format("bad device key {}; allowed are one or more of [a-z0-9_]", quoted(text)));
  }
  DeviceKey key{std::string(text), std::string(text), 0};
  if (text.starts_with("sm_")) {
    const auto digits = leading_digits(text.substr(3));
    const auto rest = text.substr(3 + digits.size());
    const bool letter = rest.empty() || (rest.size() == 1 && rest[0] >= 'a' && rest[0] <= 'z');
    const auto arch = parse_int64(digits);
    if (arch && letter) {
      key.family = "sm";
      key.arch = *arch;
    }
  } else if (text.starts_with("gfx")) {
    if (const auto arch = parse_int64(leading_digits(text.substr(3)))) {
      key.family = "gfx";
      key.arch = *arch;
    }
  } else if (is_or_extends(text, "intel")) {
    key.family = "intel";
  } else if (text.starts_with("ocl_") && text.size() > 4) {
    key.family = "ocl";
  } else if (is_or_extends(text, "cpu")) {
    key.family = "cpu";
    key.arch = cpu_width(text);
  }
  return key;
}

}  // namespace furlong
