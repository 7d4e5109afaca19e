// Device key: the short text that names a device's tables, e.g. `cpu_avx512_zen5` or `sm_90`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "furlong/result.hh"

namespace furlong {

/// A parsed device key. Tables are borrowed within and between device families by `arch`.
///
///   sm_<n>[letter] -> sm, n         gfx<digits...> -> gfx, the leading integer
///   intel[_x] -> intel, 0           ocl_<slug> -> ocl, 0
///   cpu_sse4, cpu_neon -> cpu, 128  cpu_avx2 -> cpu, 256   cpu_avx512 -> cpu, 512
///     (each with an optional `_<microarchitecture>`); cpu and any other cpu_* -> cpu, 0
///   anything else -> its own family, 0
struct DeviceKey {
  std::string text;
  std::string family;
  std::int64_t arch = 0;

  /// No, with the reason, for an empty text or a character outside `[a-z0-9_]`.
  static Result<DeviceKey> parse(std::string_view text);

  bool operator==(const DeviceKey& other) const { return text == other.text; }
};

/// The key of the processor this process runs on, e.g. `cpu_avx512_zen5`: the widest SIMD class
/// that it and the operating system support, and its microarchitecture (for a processor without a
/// known name, `<vendor>_<family>_<model>`).
const DeviceKey& this_cpu();

/// What the vendor calls this processor, e.g. `Intel(R) Xeon(R) Processor`.
const std::string& this_cpu_name();

}  // namespace furlong
