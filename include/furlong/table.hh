// Tables: `<op>.<device>.txt`, the small reviewable file that selection reads.
//
// A file holds the rows of every dtype; parse_tables() splits it into one Table per dtype without
// the dtype key. Tables are values: parsed once, immutable after.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "furlong/device_key.hh"
#include "furlong/dtype.hh"
#include "furlong/key_spec.hh"
#include "furlong/result.hh"

namespace furlong {

struct TableEntry {
  std::string spelling;      ///< as the file holds it
  std::optional<double> ms;  ///< nothing when untimed
};

struct TableRow {
  std::vector<std::string> key;     ///< one value per key of the table's spec, in its order
  std::vector<TableEntry> entries;  ///< best first; never empty; all timed or none
  std::string tier;                 ///< the tier comment, trimmed; empty without one
  int line = 0;                     ///< 1-based line of the file

  /// `name=value,name=value` in key order.
  std::string key_text(const KeySpec& keys) const;
};

/// The rows of one (op, device, dtype).
struct Table {
  std::string op;
  DeviceKey device;
  std::string dtype;
  KeySpec keys;  ///< without dtype
  std::vector<TableRow> rows;
};

struct TableFile {
  std::string op;
  DeviceKey device;
  KeySpec keys;  ///< as in the file: dtype:exact first
  /// The `name=value` words of the header lines, in file order.
  std::vector<std::pair<std::string, std::string>> header;
  /// In the project's dtype order; only dtypes with rows.
  std::vector<Table> tables;

  /// The header word, or null.
  const std::string* find(std::string_view name) const;
};

/// Parses the text of a table file. `file` is its name or path: the last component must be
/// `<op>.<device>.txt`. Throws Error `<file>:<line>: <reason>`.
TableFile parse_tables(std::string_view text, std::string_view file, const DtypeList& dtypes);

/// Splits `<op>.<device>.txt` (no folder); no, with the reason, for any other form.
Result<std::pair<std::string, DeviceKey>> parse_table_name(std::string_view name);

/// A time as tables print it: four significant digits, at least no decimals, never an exponent,
/// correctly rounded from the exact value (ties to even).
std::string format_ms(double ms);

}  // namespace furlong
