// Bound tables: rows as numbers, candidates as positions; and the nearest-row rule over them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/select.hh"
#include "furlong/table.hh"

namespace furlong::select {

struct BoundEntry {
  int candidate = -1;
  double ms = std::numeric_limits<double>::quiet_NaN();  ///< NaN when untimed
  bool timed() const { return ms == ms; }
};

struct BoundRow {
  std::array<std::int64_t, kMaxKeys> keys{};  ///< as in a Query; -2 = a value no query can name
  std::array<double, kMaxKeys> log2{};        ///< of log keys
  std::vector<BoundEntry> entries;
  std::string text;  ///< the key as the table spells it
  std::string tier;
};

struct BoundTable {
  DeviceKey device;
  bool from_override = false;
  std::vector<BoundRow> rows;
};

/// Key kinds and weights of an op, in a form the scan reads quickly.
struct KeyShape {
  explicit KeyShape(const KeySpec& spec);
  int count = 0;
  std::array<bool, kMaxKeys> is_log{};
  std::array<double, kMaxKeys> weight{};
};

struct Nearest {
  const BoundRow* row = nullptr;  ///< null only for a table without rows
  double distance = 0;
};

/// The nearest row (docs/selection.md): the longest prefix of exact keys that any row matches, then
/// the smallest sum of weight * |log2 row - log2 max(1, value)|; ties within 1e-9 go to the
/// lexicographically smallest log keys, then to the earliest row.
Nearest nearest_row(const BoundTable& table, const KeyShape& shape, const Query& query);

/// How a spelling that is no candidate in long form is met.
enum class Strictness {
  kError,  ///< built-in tables: throws Error
  kWarn,   ///< override tables: one log line, the entry is left out
};

/// Binds one dtype's table to an op. Throws Error when its keys are not the op's.
BoundTable bind_table(const Table& table, const OpVocabulary& vocabulary, int dtype,
                      std::string_view file, Strictness strictness);

/// Positions of `devices` in the order in which a device asks them: its own, its family at or below
/// nearest first, its family above nearest first, then other families (sm gfx intel, others by
/// name, cpu last), higher arch first; equals by name. A cpu asks only its family.
std::vector<std::size_t> borrow_order(const DeviceKey& own, const std::vector<DeviceKey>& devices);

}  // namespace furlong::select
