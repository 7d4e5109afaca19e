#include "host/core_probe.hh"

#include <cstdint>

namespace furlong::host {

double core_probe_s(const Clock& clock) {
  constexpr int kSteps = 3000;
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  const auto start = clock.steady();
  for (int i = 0; i < kSteps; ++i) {
    a += 3, b ^= 5, c += 7, d ^= 9, e += 3, f ^= 5, g += 7, h ^= 9;
    // The compiler must believe that all eight are read and changed here.
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
  return std::chrono::duration<double>(clock.steady() - start).count();
}

}  // namespace furlong::host
