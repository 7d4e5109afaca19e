#include "tune/lattice.hh"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/number.hh"
#include "base/text.hh"

namespace furlong::tune {

namespace {

[[noreturn]] void bad_grid(const std::string& what) {
  throw std::invalid_argument("--grid: " + what);
}

void require_known_axes(std::span<const Axis> axes, const GridOverride& grid) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  for (const auto& [name, values] : grid) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      bad_grid("unknown axis " + furlong::quoted(name) + "; allowed are " + join(names, ", "));
    }
    if (values.empty()) bad_grid("axis " + name + " has no value; write name=v1:v2");
  }
}

std::int64_t log_value(const std::string& axis, const std::string& text) {
  const auto value = parse_positive(text);
  if (!value) {
    bad_grid("bad value " + furlong::quoted(text) + " of axis " + axis +
             "; whole numbers > 0 are allowed");
  }
  return *value;
}

std::vector<std::string> ascending(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::string> values;
  for (const std::int64_t number : numbers) values.push_back(std::to_string(number));
  return values;
}

std::vector<std::string> overridden(const Axis& axis, const std::vector<std::string>& wanted) {
  if (axis.kind == AxisKind::kLog) {
    std::vector<std::int64_t> numbers;
    for (const std::string& text : wanted) numbers.push_back(log_value(axis.name, text));
    return ascending(std::move(numbers));
  }
  std::vector<std::string> values;
  for (const std::string& text : wanted) {
    if (std::find(axis.values.begin(), axis.values.end(), text) == axis.values.end()) {
      bad_grid("axis " + axis.name + " has no value " + furlong::quoted(text) + "; allowed are " +
               join(axis.values, ", "));
    }
    if (std::find(values.begin(), values.end(), text) == values.end()) values.push_back(text);
  }
  return values;
}

}  // namespace

GridOverride parse_grid_override(std::span<const std::string> arguments) {
  GridOverride grid;
  for (const std::string& argument : arguments) {
    const auto at = argument.find('=');
    if (at == std::string::npos || at == 0) {
      bad_grid("bad override " + furlong::quoted(argument) + "; write name=v1:v2");
    }
    const std::string name = argument.substr(0, at);
    if (grid.count(name) != 0)
      bad_grid("axis " + furlong::quoted(name) + " is given twice; once is allowed");
    auto& values = grid[name];
    for (const auto value : split(std::string_view(argument).substr(at + 1), ':')) {
      if (value.empty())
        bad_grid("empty value in " + furlong::quoted(argument) + "; write name=v1:v2");
      values.emplace_back(value);
    }
  }
  return grid;
}

std::vector<Axis> override_axes(std::vector<Axis> axes, const GridOverride& grid) {
  require_known_axes(axes, grid);
  for (Axis& axis : axes) {
    const auto found = grid.find(axis.name);
    if (found != grid.end()) axis.values = overridden(axis, found->second);
  }
  return axes;
}

std::vector<CellKey> filter_cells(std::span<const Axis> axes, std::span<const CellKey> cells,
                                  const GridOverride& grid) {
  require_known_axes(axes, grid);
  GridOverride wanted;
  for (const Axis& axis : axes) {
    const auto found = grid.find(axis.name);
    if (found != grid.end()) wanted[axis.name] = overridden(axis, found->second);
  }
  std::vector<CellKey> kept;
  for (const CellKey& cell : cells) {
    const bool named = std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
      const std::string* value = cell.find(entry.first);
      return value != nullptr &&
             std::find(entry.second.begin(), entry.second.end(), *value) != entry.second.end();
    });
    if (named) kept.push_back(cell);
  }
  if (kept.empty()) bad_grid("no cell of the op's grid is left; allowed are values of its cells");
  return kept;
}

std::vector<Axis> thin_axes(std::vector<Axis> axes, int stride) {
  if (stride < 1) throw std::invalid_argument("lattice: stride must be at least 1");
  for (Axis& axis : axes) {
    if (axis.kind != AxisKind::kLog) continue;
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      if (i % static_cast<std::size_t>(stride) == 0 || i + 1 == axis.values.size()) {
        kept.push_back(axis.values[i]);
      }
    }
    axis.values = std::move(kept);
  }
  return axes;
}

std::vector<CellKey> product(std::span<const Axis> axes) {
  std::vector<CellKey> cells;
  if (axes.empty()) return cells;
  cells.emplace_back();
  for (const Axis& axis : axes) {
    std::vector<CellKey> longer;
    longer.reserve(cells.size() * axis.values.size());
    for (const CellKey& cell : cells) {
      for (const std::string& value : axis.values) {
        longer.push_back(cell);
        longer.back().items.push_back({axis.name, value});
      }
    }
    cells = std::move(longer);
  }
  return cells;
}

std::vector<CellKey> lattice(const std::vector<Axis>& axes, int stride) {
  return product(thin_axes(axes, stride));
}

std::vector<CellKey> thin_cells(std::span<const CellKey> cells, int stride) {
  if (stride < 1) throw std::invalid_argument("lattice: stride must be at least 1");
  std::vector<CellKey> kept;
  for (const CellKey& cell : cells) {
    if (fnv1a64(cell.text()) % static_cast<std::uint64_t>(stride) == 0) kept.push_back(cell);
  }
  return kept;
}

std::vector<Axis> axes_of_cells(std::vector<Axis> axes, std::span<const CellKey> cells) {
  for (Axis& axis : axes) {
    axis.values.clear();
    std::vector<std::int64_t> numbers;
    for (const CellKey& cell : cells) {
      const std::string* value = cell.find(axis.name);
      if (value == nullptr) continue;
      if (axis.kind == AxisKind::kLog) {
        if (const auto number = parse_positive(*value)) numbers.push_back(*number);
      } else if (std::find(axis.values.begin(), axis.values.end(), *value) == axis.values.end()) {
        axis.values.push_back(*value);
      }
    }
    if (axis.kind == AxisKind::kLog) axis.values = ascending(std::move(numbers));
  }
  return axes;
}

bool in_box(std::span<const Axis> axes, const CellKey& cell) {
  if (cell.items.size() != axes.size()) return false;
  return std::all_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    const std::string* value = cell.find(axis.name);
    if (value == nullptr || axis.values.empty()) return false;
    if (axis.kind != AxisKind::kLog) {
      return std::find(axis.values.begin(), axis.values.end(), *value) != axis.values.end();
    }
    const auto number = parse_positive(*value);
    return number && *number >= parse_positive(axis.values.front()) &&
           *number <= parse_positive(axis.values.back());
  });
}

std::uint64_t fnv1a64(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1099511628211ull;
  }
  return hash;
}

}  // namespace furlong::tune
