#include "furlong/dtype.hh"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/text.hh"

namespace furlong {

DtypeList::DtypeList() : names_{"float", "double", "cfloat", "cdouble"} {}

DtypeList::DtypeList(std::vector<std::string> names) : names_(std::move(names)) {
  if (names_.empty()) throw std::invalid_argument("dtypes: the list is empty; name at least one");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i];
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (name.empty() || !plain) {
      throw std::invalid_argument(
          fmt::format("dtypes: bad name {}; allowed are [a-z0-9_]", quoted(name)));
    }
    if (index(name) != static_cast<int>(i)) {
      throw std::invalid_argument(fmt::format("dtypes: {} is listed twice", name));
    }
  }
}

int DtypeList::index(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  return at == names_.end() ? -1 : static_cast<int>(at - names_.begin());
}

std::string DtypeList::text() const {
  return join(names_, ", ");
}

}  // namespace furlong
