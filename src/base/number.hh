// Numbers to and from text, always in the C locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace furlong {

/// The whole of `text` as a base-10 integer: digits with an optional `-` (no `+`, no white space);
/// nothing when it is anything else or out of range.
std::optional<std::int64_t> parse_int64(std::string_view text);
std::optional<std::int32_t> parse_int32(std::string_view text);

/// Digits only, > 0.
std::optional<std::int64_t> parse_positive(std::string_view text);

/// The whole of `text` as a finite decimal number, exponent allowed, no `+` in front.
std::optional<double> parse_double(std::string_view text);

/// The shortest decimal text that reads back as exactly `value`; `null` for NaN and infinity.
std::string shortest(double value);

}  // namespace furlong
