#include "furlong/spelling.hh"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/number.hh"
#include "base/text.hh"

namespace furlong {

std::string Spelling::text() const {
  std::string text = family;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text += fmt::format(":{}={}", fields[i], values[i]);
  }
  return text;
}

Result<Spelling> parse_spelling(std::string_view text, const std::vector<FamilySchema>& families) {
  const auto no = [&](const std::string& what) {
    return Result<Spelling>::no(fmt::format("bad spelling {}: {}", quoted(text), what));
  };
  if (text.empty()) return no("empty");
  if (has_space(text)) return no("white space is not allowed");

  const auto parts = split(text, ':');
  const auto family = std::find_if(families.begin(), families.end(),
                                   [&](const FamilySchema& f) { return f.name == parts[0]; });
  if (family == families.end()) {
    std::vector<std::string> names;
    for (const FamilySchema& f : families) {
      if (lower(parts[0]) == f.name) return no(fmt::format("wrong case; write {}", f.name));
      names.push_back(f.name);
    }
    return no(
        fmt::format("unknown family {}; allowed are {}", quoted(parts[0]), join(names, ", ")));
  }

  const std::size_t count = family->fields.size();
  if (parts.size() - 1 != count) {
    return no(fmt::format("family {} takes {} field{}{}{}, got {}", family->name, count,
                          count == 1 ? "" : "s", count == 0 ? "" : ": ", join(family->fields, ", "),
                          parts.size() - 1));
  }
  std::vector<std::optional<std::int32_t>> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::string_view part = parts[i + 1];
    std::size_t at = i;
    if (const auto equals = part.find('='); equals != std::string_view::npos) {
      const auto name = part.substr(0, equals);
      part.remove_prefix(equals + 1);
      const auto found = std::find(family->fields.begin(), family->fields.end(), name);
      if (found == family->fields.end()) {
        return no(fmt::format("family {} has no field {}; allowed are {}", family->name,
                              quoted(name), join(family->fields, ", ")));
      }
      at = static_cast<std::size_t>(found - family->fields.begin());
    }
    if (values[at]) return no(fmt::format("field {} is given twice", family->fields[at]));
    values[at] = parse_int32(part);
    if (!values[at]) {
      return no(fmt::format("{} of field {} is not a whole base-10 number of 32 bits", quoted(part),
                            family->fields[at]));
    }
  }
  Spelling spelling{family->name, family->fields, {}};
  for (const auto& value : values) spelling.values.push_back(*value);
  return spelling;
}

}  // namespace furlong
