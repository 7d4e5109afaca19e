// Fuzz target: any bytes behind the beginning of a binary cache.
#include "fuzz/verdict_target.hh"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  furlong::fuzz::read_and_check({reinterpret_cast<const char*>(data), size});
  std::string bytes("\x08\x03", 2);
  bytes.append(reinterpret_cast<const char*>(data), size);
  furlong::fuzz::read_and_check(bytes);
  return 0;
}
