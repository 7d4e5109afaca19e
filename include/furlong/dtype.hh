// Dtypes: names of element types, ordered by the project.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace furlong {

/// The ordered list of a project's dtypes. Immutable after construction; safe to share.
class DtypeList {
 public:
  /// float, double, cfloat, cdouble.
  DtypeList();
  /// Throws std::invalid_argument for an empty list, a name twice, or a character outside
  /// `[a-z0-9_]`.
  explicit DtypeList(std::vector<std::string> names);

  std::span<const std::string> names() const { return names_; }
  /// Position in the project's order; -1 when the list does not hold `name`.
  int index(std::string_view name) const;
  bool contains(std::string_view name) const { return index(name) >= 0; }
  /// `float, double, ...`, for messages.
  std::string text() const;

 private:
  std::vector<std::string> names_;
};

}  // namespace furlong
