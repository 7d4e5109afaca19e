#include "furlong/key_spec.hh"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/number.hh"
#include "base/text.hh"

namespace furlong {
namespace {

std::optional<double> parse_weight(std::string_view text) {
  bool digit = false;
  int points = 0;
  for (const char c : text) {
    if (c == '.') {
      ++points;
    } else if (c >= '0' && c <= '9') {
      digit = true;
    } else {
      return std::nullopt;
    }
  }
  if (!digit || points > 1) return std::nullopt;
  // "3." and ".5" are weights; from_chars reads both.
  const auto weight = parse_double(text);
  if (!weight || *weight <= 0) return std::nullopt;
  return weight;
}

}  // namespace

Result<KeySpec> KeySpec::parse(std::string_view text) {
  const auto no = [&](std::string_view item, std::string_view what) {
    return Result<KeySpec>::no(fmt::format(
        "bad key spec {}: item {}: {}; allowed are name:exact, name:log, name:log:<weight>",
        quoted(text), quoted(item), what));
  };
  KeySpec spec;
  spec.text_ = std::string(text);
  for (const std::string_view item : split(text, ' ')) {
    const auto parts = split(item, ':');
    if (item.empty()) return no(item, "empty (items are separated by one space)");
    if (parts[0].empty()) return no(item, "the name is empty");
    if (has_space(item)) return no(item, "white space");
    if (parts.size() < 2) return no(item, "the kind is missing");
    Key key{std::string(parts[0]), KeyKind::kExact, 1};
    if (parts[1] == "log") {
      key.kind = KeyKind::kLog;
      if (parts.size() > 3) return no(item, "too many components");
      if (parts.size() == 3) {
        const auto weight = parse_weight(parts[2]);
        if (!weight) return no(item, "the weight is not a finite number > 0 of plain digits");
        key.weight = *weight;
      }
    } else if (parts[1] == "exact") {
      if (parts.size() > 2) return no(item, "an exact key takes no weight");
    } else {
      return no(item, "unknown kind");
    }
    if (spec.index(key.name) >= 0) return no(item, "the name stands twice");
    spec.keys_.push_back(std::move(key));
  }
  return spec;
}

int KeySpec::index(std::string_view name) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace furlong
