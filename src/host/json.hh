// JSON values for small files and machine output: nlohmann's, behind this one header.
//
// Objects keep the order in which fields were added. Text in and out goes through the two functions
// below: nlohmann itself would keep the last of two equal keys and print NaN as null, both
// silently.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace furlong::host {

using Json = nlohmann::ordered_json;

/// Reads one document. Throws Error `<where>: <what>` for text that is no JSON or names a field
/// twice in one object.
Json parse_json(std::string_view text, std::string_view where);

/// A number; null for NaN and infinity.
Json json_number(double value);

/// One line without newline when `indent` < 0, else that many spaces a level. Bytes that are no
/// UTF-8 become U+FFFD. Throws std::invalid_argument for a NaN or infinity that did not go through
/// json_number().
std::string dump_json(const Json& value, int indent = -1);

}  // namespace furlong::host
