// Lattice: the cells at which a run starts.
//
// Pure. A lattice op is the product of its axes; an op whose grid is no lattice lists its cells.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/cell_key.hh"

namespace furlong::tune {

/// `--grid`: axis name to values.
using GridOverride = std::map<std::string, std::vector<std::string>>;

/// Reads `name=v1:v2` arguments. Throws std::invalid_argument for a malformed one, an empty value
/// and an axis given twice.
GridOverride parse_grid_override(std::span<const std::string> arguments);

/// The axes with the overridden values: those of a log axis ascending, each once, in plain decimal.
/// Throws std::invalid_argument for an unknown axis, no value, a log value that is not a whole
/// number > 0, and a value that an exact or hidden axis lacks.
std::vector<Axis> override_axes(std::vector<Axis> axes, const GridOverride& grid);

/// The cells whose values the override names. Throws std::invalid_argument for an unknown axis and
/// when no cell is left.
std::vector<CellKey> filter_cells(std::span<const Axis> axes, std::span<const CellKey> cells,
                                  const GridOverride& grid);

/// Log axes thinned to the indices i with i % stride == 0, and the last; the others as they are.
std::vector<Axis> thin_axes(std::vector<Axis> axes, int stride);

/// The product in axis order, the last axis fastest.
std::vector<CellKey> product(std::span<const Axis> axes);

/// product(thin_axes(axes, stride)).
std::vector<CellKey> lattice(const std::vector<Axis>& axes, int stride);

/// The cells with fnv1a64(key text) % stride == 0, in order.
std::vector<CellKey> thin_cells(std::span<const CellKey> cells, int stride);

/// The axes with the values that occur in `cells`: the box of a grid that is no lattice. Log values
/// ascend, others keep the order of first appearance.
std::vector<Axis> axes_of_cells(std::vector<Axis> axes, std::span<const CellKey> cells);

/// Is the cell inside the box of the axes? Log: between the smallest and the largest value; else: a
/// value of the axis. A cell with other keys than the axes is outside.
bool in_box(std::span<const Axis> axes, const CellKey& cell);

/// FNV-1a, 64 bits.
std::uint64_t fnv1a64(std::string_view bytes);

}  // namespace furlong::tune
