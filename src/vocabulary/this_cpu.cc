// The key of this processor, from cpuid: facts of the machine, read once.
#include <fmt/format.h>

#include <cstring>
#include <string>

#include "base/text.hh"
#include "furlong/device_key.hh"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace furlong {
namespace {

#if defined(__x86_64__)

struct Identity {
  std::string vendor;  // "intel", "amd" or the raw vendor text in lower case
  unsigned family = 0;
  unsigned model = 0;
};

Identity read_identity() {
  Identity id;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return id;
  char vendor[13] = {};
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  id.vendor = vendor;
  if (id.vendor == "GenuineIntel") id.vendor = "intel";
  if (id.vendor == "AuthenticAMD") id.vendor = "amd";
  __get_cpuid(1, &a, &b, &c, &d);
  id.family = (a >> 8) & 0xf;
  id.model = (a >> 4) & 0xf;
  if (id.family == 0xf) id.family += (a >> 20) & 0xff;
  if (id.family == 6 || id.family >= 0xf) id.model += ((a >> 16) & 0xf) << 4;
  return id;
}

// Family and model numbers as the vendors publish them.
std::string intel_name(unsigned model) {
  switch (model) {
    case 0x2a:
    case 0x2d:
      return "sandybridge";
    case 0x3a:
    case 0x3e:
      return "ivybridge";
    case 0x3c:
    case 0x3f:
    case 0x45:
    case 0x46:
      return "haswell";
    case 0x3d:
    case 0x47:
    case 0x4f:
    case 0x56:
      return "broadwell";
    case 0x4e:
    case 0x5e:
    case 0x8e:
    case 0x9e:
    case 0xa5:
    case 0xa6:
      return "skylake";
    case 0x55:
      return "skylakex";
    case 0x6a:
    case 0x6c:
      return "icelakex";
    case 0x7d:
    case 0x7e:
      return "icelake";
    case 0x8c:
    case 0x8d:
      return "tigerlake";
    case 0x8f:
      return "sapphirerapids";
    case 0xcf:
      return "emeraldrapids";
    case 0xad:
    case 0xae:
      return "graniterapids";
    case 0x97:
    case 0x9a:
      return "alderlake";
    case 0xb7:
    case 0xba:
    case 0xbf:
      return "raptorlake";
    default:
      return "";
  }
}

std::string amd_name(unsigned family, unsigned model) {
  if (family == 0x17) return model >= 0x30 ? "zen2" : "zen";
  if (family == 0x19) {
    const bool zen4 = (model >= 0x10 && model <= 0x1f) || (model >= 0x60 && model <= 0x7f) ||
                      (model >= 0xa0 && model <= 0xaf);
    return zen4 ? "zen4" : "zen3";
  }
  if (family == 0x1a) return "zen5";
  return "";
}

std::string microarchitecture(const Identity& id) {
  std::string name;
  if (id.vendor == "intel" && id.family == 6) name = intel_name(id.model);
  if (id.vendor == "amd") name = amd_name(id.family, id.model);
  if (!name.empty()) return name;
  return fmt::format("{}_{}_{}", lower(id.vendor), id.family, id.model);
}

// GCC's and clang's check includes the operating system's support for the registers.
std::string simd_class() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
  if (avx512) return "cpu_avx512";
  if (avx2) return "cpu_avx2";
  if (__builtin_cpu_supports("sse4.2")) return "cpu_sse4";
  return "cpu";
}

std::string read_name() {
  unsigned registers[12] = {};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* r = registers + 4 * i;
    if (__get_cpuid(0x80000002 + i, &r[0], &r[1], &r[2], &r[3]) == 0) return "unknown processor";
  }
  char text[sizeof(registers) + 1] = {};
  std::memcpy(text, registers, sizeof(registers));
  return std::string(trim(text));
}

std::string read_key() {
  std::string key = simd_class();
  std::string slug;
  for (const char c : microarchitecture(read_identity())) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (plain) slug += c;
  }
  return slug.empty() ? key : key + "_" + slug;
}

#elif defined(__aarch64__)
std::string read_key() {
  return "cpu_neon";
}
std::string read_name() {
  return "aarch64 processor";
}
#else
std::string read_key() {
  return "cpu";
}
std::string read_name() {
  return "unknown processor";
}
#endif

}  // namespace

const DeviceKey& this_cpu() {
  static const DeviceKey key = DeviceKey::parse(read_key()).value();
  return key;
}

const std::string& this_cpu_name() {
  static const std::string name = read_name();
  return name;
}

}  // namespace furlong
