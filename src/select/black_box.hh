// The black-box door: what selection answers, in text, without running anything.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "furlong/dtype.hh"
#include "furlong/select.hh"

namespace furlong::select {

struct BlackBoxQuery {
  std::string op;
  std::string dtype;
  std::string device;
  std::string key;  ///< every table key once: `name=value,...`
  /// Spellings, in any form, that can run; nothing: what the op says, or all.
  std::optional<std::vector<std::string>> runnable;
  std::optional<std::string> pin;
};

/// Answers from the tables of one folder alone: their spellings are the candidates, and there is no
/// last resort. Throws NoCandidate, with the refusals, when no candidate can run,
/// std::invalid_argument for a bad key, device, pin or runnable spelling and Error for a folder
/// without a table of the op, or a malformed table.
Decision choose_from_tables(const BlackBoxQuery& query, const std::string& folder,
                            const DtypeList& dtypes);

/// Answers as the op itself would. `can_run` asks the op about a candidate; a `runnable` list in
/// the query takes its place. Throws as choose_from_tables() does.
Decision choose_for_op(Selector& selector, const BlackBoxQuery& query,
                       const std::function<Refusal(int candidate)>& can_run);

}  // namespace furlong::select
