// SHA-256: what kernel sources are known by.
#pragma once

#include <string>
#include <string_view>

namespace furlong::host {

/// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace furlong::host
