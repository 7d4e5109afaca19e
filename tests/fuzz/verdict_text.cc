// Fuzz target: any bytes behind the beginning of a text cache.
#include "fuzz/verdict_target.hh"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  furlong::fuzz::read_and_check({reinterpret_cast<const char*>(data), size});
  std::string text = "version: 3 results { ";
  text.append(reinterpret_cast<const char*>(data), size);
  furlong::fuzz::read_and_check(text);
  return 0;
}
