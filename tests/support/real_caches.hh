// The real caches that tests read; the test that includes this must ask for them first.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/shared.hh"

namespace furlong::testing {

inline std::filesystem::path xla_folder() {
  return shared_folder() / "real" / "xla";
}

/// The AutotuneResults files, the ranks' dumps too, sorted.
inline std::vector<std::filesystem::path> real_caches() {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : {xla_folder(), xla_folder() / "ranks"}) {
    for (const auto& item : std::filesystem::directory_iterator(folder)) {
      const auto name = item.path().filename().string();
      if (item.is_regular_file() && name.find("gpu_target_config") == std::string::npos) {
        files.push_back(item.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::filesystem::path rank_file(int rank) {
  return xla_folder() / "ranks" /
         ("proc" + std::to_string(rank) +
          "__module_0040.pjit__wrapped_step_fn.autotune_results.pbtxt");
}

}  // namespace furlong::testing
