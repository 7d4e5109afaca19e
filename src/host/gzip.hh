// Gzip: reading files that others compressed.
//
// Pure over bytes; nothing here writes. Thread rule: free functions without state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace furlong::host {

/// Begins as a gzip file does.
bool is_gzip(std::string_view bytes);

/// The unpacked bytes of all members, one after the other. Throws Error `<where>: <what>` for bytes
/// that are no whole gzip file (damaged, cut, or followed by something else) and for more than
/// `most` unpacked bytes.
std::string gunzip(std::string_view bytes, std::string_view where,
                   std::size_t most = std::size_t{1} << 30);

}  // namespace furlong::host
