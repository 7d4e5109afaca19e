// Axis: one dimension of the grid at which an op is raced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace furlong {

enum class AxisKind {
  kExact,   ///< an exact table key
  kLog,     ///< a log table key; values are whole numbers > 0, ascending
  kHidden,  ///< varies the problem but is no table key
};

struct Axis {
  std::string name;
  AxisKind kind = AxisKind::kExact;
  std::vector<std::string> values;
};

/// A log axis from numbers.
inline Axis log_axis(std::string name, const std::vector<std::int64_t>& numbers) {
  Axis axis{std::move(name), AxisKind::kLog, {}};
  for (const std::int64_t number : numbers) axis.values.push_back(std::to_string(number));
  return axis;
}

}  // namespace furlong
