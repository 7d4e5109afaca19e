#include "host/crc32.hh"

#include <fmt/format.h>
#include <libdeflate.h>

namespace furlong::host {

std::uint32_t crc32(std::string_view bytes) {
  return ::libdeflate_crc32(0, bytes.data(), bytes.size());
}

std::string crc32_hex(std::string_view bytes) {
  return fmt::format("{:08x}", crc32(bytes));
}

}  // namespace furlong::host
