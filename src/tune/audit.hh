// Audit: does a cell that a long-lived worker raced look the same in a fresh process?
//
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "furlong/cell_key.hh"
#include "ledger/record.hh"

namespace furlong::tune {

/// Is this cell among the share that is raced again? Told by its key alone, so that a repeated run
/// audits the same cells. `first`: it is the first of its (op, dtype), which always is.
bool is_audited(const CellKey& key, double share, bool first);

/// The winner's time that much above its own in the other process is a mismatch.
inline constexpr double kAuditFactor = 1.10;

/// The `fresh` audit of a cell, without run_id: `ok`; `mismatch:candidates` where another set of
/// candidates is usable; `mismatch:slower` where the winner is more than 10 % slower in the fresh
/// process and the other candidates, by their median, are not; `inconclusive` where all of them
/// are (the machine changed), the winner has no time in both, or there was no fresh result (null).
ledger::Audit compare_fresh(const ledger::Cell& warm, const ledger::Cell* fresh);

}  // namespace furlong::tune
