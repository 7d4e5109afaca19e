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
/// `file`; hidden files and folders within are skipped silently). A file that is broken or cannot
/// be read is an Error. In a folder, one of another kind is skipped with its reason, and so is one
/// that neither its name nor its first bytes call a cache.
LoadedSource load_source(const std::filesystem::path& path);

/// Sources to compare with each other. Folders are compared file by file; beside a file a folder
/// stands for the file in it that has the same name. Error when it has none, and where results
/// without keys would meet verdicts with keys.
std::vector<LoadedSource> load_sources(const std::vector<std::filesystem::path>& paths);

/// False for what cannot be looked at; reading it says why.
bool is_folder(const std::filesystem::path& path);

}  // namespace furlong::verdict
