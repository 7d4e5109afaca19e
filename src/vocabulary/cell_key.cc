#include "furlong/cell_key.hh"

#include <fmt/format.h>

#include "base/text.hh"

namespace furlong {

Result<CellKey> CellKey::parse(std::string_view text) {
  const auto no = [&](std::string_view what) {
    return Result<CellKey>::no(
        fmt::format("bad key {}: {}; a key is name=value,name=value", quoted(text), what));
  };
  if (text.empty()) return no("empty");
  if (has_space(text)) return no("white space");
  CellKey key;
  for (const std::string_view item : split(text, ',')) {
    const auto at = item.find('=');
    if (at == std::string_view::npos) return no(fmt::format("item {} has no =", quoted(item)));
    const auto name = item.substr(0, at);
    const auto value = item.substr(at + 1);
    if (name.empty()) return no(fmt::format("item {} has an empty name", quoted(item)));
    if (value.empty()) return no(fmt::format("item {} has an empty value", quoted(item)));
    if (key.find(name) != nullptr) return no(fmt::format("{} stands twice", quoted(name)));
    key.items.push_back({std::string(name), std::string(value)});
  }
  return key;
}

std::string CellKey::text() const {
  std::string text;
  for (const Item& item : items) {
    if (!text.empty()) text += ',';
    text += item.name + '=' + item.value;
  }
  return text;
}

const std::string* CellKey::find(std::string_view name) const {
  for (const Item& item : items) {
    if (item.name == name) return &item.value;
  }
  return nullptr;
}

}  // namespace furlong
