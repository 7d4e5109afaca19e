// Cell key: the point at which candidates are raced, `name=value,name=value` in axis order.
//
// It may hold hidden axes that are no table keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "furlong/result.hh"

namespace furlong {

struct CellKey {
  struct Item {
    std::string name;
    std::string value;
    bool operator==(const Item&) const = default;
  };
  std::vector<Item> items;

  /// No, with the reason: empty, an item without `=`, an empty name or value, a name twice, white
  /// space.
  static Result<CellKey> parse(std::string_view text);

  std::string text() const;
  /// The value of `name`, or null.
  const std::string* find(std::string_view name) const;
  bool operator==(const CellKey&) const = default;
};

}  // namespace furlong
