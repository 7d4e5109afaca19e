// CRC-32 (zlib's): tells a damaged ledger line from a whole one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace furlong::host {

std::uint32_t crc32(std::string_view bytes);

/// 8 lower-case hex digits of crc32(bytes).
std::string crc32_hex(std::string_view bytes);

}  // namespace furlong::host
