#include "host/crc32.hh"

#include <fmt/format.h>
#include <zlib.h>

namespace furlong::host {

std::uint32_t crc32(std::string_view bytes) {
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<std::uint32_t>(::crc32_z(0, data, bytes.size()));
}

std::string crc32_hex(std::string_view bytes) {
  return fmt::format("{:08x}", crc32(bytes));
}

}  // namespace furlong::host
