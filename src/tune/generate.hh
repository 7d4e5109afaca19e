// Table generation: the ledger folded into the table that selection reads.
//
// A table is a pure function of (ledger, hashes): byte-reproducible, whatever the machine, locale
// or number of threads. Checking derives it again with the hashes of its own header, so it proves
// "table = f(ledger)" whatever the sources say today.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "furlong/dtype.hh"
#include "furlong/tier.hh"
#include "ledger/freshness.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/ledger.hh"
#include "ledger/project.hh"

namespace furlong::tune {

/// What a table says of itself.
struct TableNames {
  std::string op;
  std::string device;
  std::string library = "furlong";  ///< the word of the commit
  std::string source;               ///< the ledger file, relative to the project
  DtypeList dtypes;

  static TableNames of(const ledger::Project& project, std::string op, std::string device);
};

struct GeneratedTable {
  std::string op;
  std::string device;
  std::string text;
  std::array<std::int64_t, kTierNames.size()> rows{};  ///< by tier
  std::vector<std::string> warnings;                   ///< the ledger's, one line each
};

/// Throws Error, and nothing is to be written, for a ledger without a clean run line, a missing
/// source file, a dtype whose records vary a hidden axis, and (`<file>:<line>: <what>`) a record
/// whose key, or a newest run whose words or candidates, cannot stand in a table. `hashes` is asked
/// only when there are measured records.
GeneratedTable generate_table(const ledger::Ledger& ledger, const TableNames& names,
                              const ledger::HashesNow& hashes);
/// Of a project's ledger file. Reads, writes nothing.
GeneratedTable generate_table(const ledger::Project& project, const std::string& op,
                              const std::string& device, const ledger::HashesNow& hashes);

/// The `name=value` words of a table's header lines, in file order: those before the first row.
class TableHeader {
 public:
  explicit TableHeader(std::string_view table_text);

  /// The first value of that name, or null.
  const std::string* find(std::string_view name) const;
  /// `kernels` and `family_kernels`.
  KernelHashes hashes() const;
  /// Does `tiers` count a deep, coarse, preview or custom row? True where it cannot be read.
  bool counts_measured_rows() const;

 private:
  std::vector<std::pair<std::string, std::string>> words_;
};

struct TableCheck {
  bool equal = false;
  std::string difference;             ///< `<file>:<line>: <what>`; empty when equal
  std::vector<std::string> warnings;  ///< the ledger's
};

/// Derives the table with the hashes in its own header and compares byte for byte. Throws as
/// generate_table() does. `file` is only named in messages.
TableCheck check_table(const ledger::Ledger& ledger, const TableNames& names,
                       std::string_view table_text, std::string_view file);
/// Of a project's files; a table file that is missing is a difference.
TableCheck check_table(const ledger::Project& project, const std::string& op,
                       const std::string& device);

/// One line for `kernels` and for each of `family_kernels` that differs from the sources now. None,
/// and the sources are not looked at, for a table that counts no measured row.
std::vector<std::string> stale_kernel_warnings(const TableHeader& header, std::string_view file,
                                               const ledger::HashesNow& now);

}  // namespace furlong::tune
