// Left-out records: the cells that a reader leaves out of a Ledger, for people who ask why.
//
// A second pass over the bytes, so that the reader carries nothing for it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/ledger.hh"

namespace furlong::ledger {

/// A cell line whose run line is of a dirty tree, or missing.
struct LeftOutCell {
  std::int32_t line = 0;  ///< 1-based
  std::string run_id;
  std::string dtype;
  std::string tier;  ///< as spelled
  std::string key;
  std::string date;
  std::string winner;  ///< empty without a ranking
  std::string commit;  ///< of the run line; empty when there is none
};

/// In file order. Malformed lines are passed over: reading the ledger reports them.
std::vector<LeftOutCell> left_out_cells(std::string_view bytes, const ReadOptions& options);

}  // namespace furlong::ledger
