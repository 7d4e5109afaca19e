// Include scan: every include of a C or C++ source text, or the reason why they cannot all be told.
//
// For proofs about moved files: what is not surely an include of the plain form, alone on its line,
// is refused, even where a compiler would read no include there (in a comment, in a string). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::ledger {

/// One `#include "name"` or `#include <name>`.
struct Include {
  std::size_t begin = 0;  ///< of the delimited name in the text
  std::size_t end = 0;
  bool angled = false;
  std::string name;
};

struct IncludeScan {
  std::vector<Include> includes;  ///< in text order
  /// `<line>: <what>` of the first form that is not modelled; empty when there is none:
  /// `__has_include`, `#include_next`, `#import`, `#embed`, an import declaration, an include of a
  /// macro, one that stands in or beside a comment, in a string or raw string, with a digraph,
  /// trigraph or continued line; and a quote that does not close on its line.
  std::string unmodelled;
};

IncludeScan scan_includes(std::string_view text);

}  // namespace furlong::ledger
