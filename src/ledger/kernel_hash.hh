// Kernel hashes v2: which sources a family was timed with (docs/ledger.md).
//
// A hash changes when a listed file changes in anything but comments and white space. All functions
// are pure but for what they read through a ReadSource; any thread may call them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "furlong/kernel_hashes.hh"

namespace furlong::ledger {

/// The lists of one spec file's kernel-sources and kernel-deps blocks.
struct SourceLists {
  std::vector<std::string> all;  ///< every path of the sources block, in block order
  std::vector<std::string> common;
  std::vector<std::string> deps_common;
  struct Family {
    std::string name;
    std::vector<std::string> own;
    std::vector<std::string> deps;
  };
  std::vector<Family> families;  ///< in order of first appearance

  /// common + own + deps-common + deps; of a family that the blocks do not name: common +
  /// deps-common.
  std::vector<std::string> files_of(std::string_view family) const;
};

/// Throws Error `<file>:<line>: <what>` for a block that is not closed, and `<file>: <what>` for a
/// spec without a kernel-sources block.
SourceLists parse_source_lists(std::string_view spec_text, std::string_view file);

/// `bytes` without comments and white space, naively (docs/ledger.md).
std::string normalized(std::string_view bytes);

/// Reads a path of a list; throws Error naming it when it is missing.
using ReadSource = std::function<std::string(const std::string& path)>;
ReadSource read_sources_under(std::filesystem::path root);

/// First 8 hex digits over the manifest `<sha256 of normalized(file)> <path>\n`.
std::string hash_list(const std::vector<std::string>& paths, const ReadSource& read);

/// The op-level hash, and one per family: those that the blocks name, then `families` not named.
KernelHashes hash_sources(const SourceLists& lists, const std::vector<std::string>& families,
                          const ReadSource& read);

/// Asks for the hashes of today, one for every family named (and others): called only where a
/// stored hash must be compared, so that what holds none needs no sources.
using HashesNow = std::function<KernelHashes(const std::vector<std::string>& families)>;

/// Hashes of a spec file's lists, whose paths are relative to `root`. Throws Error for a spec or a
/// source file that is missing.
HashesNow hashes_of_sources(std::filesystem::path root, std::filesystem::path spec_file);

}  // namespace furlong::ledger
