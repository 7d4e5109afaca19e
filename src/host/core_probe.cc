#include "host/core_probe.hh"

#include <cstdint>

namespace furlong::host {
namespace {

#if defined(__x86_64__)

/// Blocks of a chain of square roots and of instructions that wait for nothing. Chains of different
/// blocks have nothing to do with each other, so the core works on as many blocks at once as its
/// reorder buffer has room for. Processors give each of two active hardware threads half of that
/// buffer, however little the other one does with its own: these blocks then take nearly twice as
/// long.
void work() {
  for (int block = 0; block < 48; ++block) {
    double value = 2;
    std::uint64_t a = 1, b = 2, c = 3, d = 4;
    asm volatile(
        ".rept 8\n"
        "sqrtsd %0, %0\n"
        ".endr\n"
        ".rept 40\n"
        "add $1, %1\n"
        "add $1, %2\n"
        "add $1, %3\n"
        "add $1, %4\n"
        ".endr\n"
        : "+x"(value), "+r"(a), "+r"(b), "+r"(c), "+r"(d)
        :
        : "cc");
  }
}

#else

/// Work that can issue in every cycle: two active hardware threads share the units that do it.
void work() {
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  for (int i = 0; i < 3000; ++i) {
    a += 3, b ^= 5, c += 7, d ^= 9, e += 3, f ^= 5, g += 7, h ^= 9;
    // The compiler must believe that all eight are read and changed here.
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
}

#endif

}  // namespace

double core_probe_s(const Clock& clock) {
  const auto start = clock.steady();
  work();
  return std::chrono::duration<double>(clock.steady() - start).count();
}

}  // namespace furlong::host
