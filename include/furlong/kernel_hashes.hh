// Kernel hashes: of which sources an op's kernels are made, as short text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace furlong {

/// Family hashes of an op's kernel sources, eight hex digits each.
struct KernelHashes {
  std::string kernels;                                        ///< over the whole sources block
  std::vector<std::pair<std::string, std::string>> families;  ///< family, hash
  /// The family's hash, or null.
  const std::string* find(std::string_view family) const {
    for (const auto& [name, hash] : families) {
      if (name == family) return &hash;
    }
    return nullptr;
  }
};

}  // namespace furlong
