// Times of table rows, for writers of many of them.
#pragma once

#include <cstddef>

namespace furlong {

/// Bytes that a time takes at most.
inline constexpr std::size_t kMostMs = 400;

/// Writes format_ms(ms) to kMostMs bytes and returns its end.
char* write_ms(double ms, char* at);

}  // namespace furlong
