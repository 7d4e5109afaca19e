#include "ledger/utf8.hh"

#include <algorithm>
#include <cstdint>

namespace furlong::ledger {
namespace {

/// Bytes of the character at the start of `text`; 0 when there is none (overlong forms, surrogates
/// and values above U+10FFFF are none).
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  std::uint32_t value = first & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return overlong || surrogate || value > 0x10ffff ? 0 : size;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (size == 0) {
      clean += "\xef\xbf\xbd";
    } else {
      clean += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return clean;
}

}  // namespace furlong::ledger
