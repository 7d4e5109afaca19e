// UTF-8: what a ledger line may hold.
#pragma once

#include <string>
#include <string_view>

namespace furlong::ledger {

/// `text` with every byte that belongs to no UTF-8 character replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace furlong::ledger
