// Ledger tools: verify, repair and merge whole files.
#pragma once

#include <string>
#include <string_view>

namespace furlong::ledger {

/// Why a line is no whole record (malformed JSON, no kind, a crc that does not match); empty when
/// it is one. Knows nothing of a project: dtypes and the like are not looked at.
std::string line_damage(std::string_view line);

}  // namespace furlong::ledger
