// Sources: what a comparison is made of, read from files and folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "verdict/compare.hh"

namespace furlong::verdict {

struct LoadedSource {
  Source source;
  /// What a folder holds that was not read, each with its reason: related kinds, leftovers.
  std::vector<std::string> skipped;
};

/// A cache, a bare result, a per-computation folder, or a folder of caches (each file an item's
/// `file`; hidden files and folders within are skipped silently). A file that cannot be read is an
/// Error; in a folder, one of another kind is skipped with its reason.
LoadedSource load_source(const std::filesystem::path& path);

}  // namespace furlong::verdict
