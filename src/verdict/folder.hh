// VerdictFolder: the per-computation form of a cache, one file a key.
//
// A file `<name>.textproto` holds only the result; its name is the unpadded base64url of the
// SHA-256 of `<key model='<device>', hlo='<text>', version=<n>>`, without `, version=<n>` where the
// key has none (files before 2025-03). The key cannot be got back from the name: whoever wants keys
// joins the folder with a cache that holds them. Each file is written to a temporary name beside it
// and renamed. Values; whoever calls owns the folder.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verdict/verdict.hh"

namespace furlong::verdict {

/// The file's name without extension.
std::string folder_name(std::string_view device, std::string_view computation,
                        std::optional<std::int32_t> version);
std::string folder_name(const Key& key);

struct VerdictFolder {
  struct File {
    std::string name;  ///< without extension
    Verdict result;    ///< its key is empty
  };
  std::vector<File> files;  ///< sorted by name
  /// Names of other files: temporary ones of a writer that was killed, strangers.
  std::vector<std::string> leftovers;

  const File* find(std::string_view name) const;
};

/// Reads every result; one that cannot be read is an Error with its path.
VerdictFolder load_folder(const std::filesystem::path& folder);
/// Whether the folder holds any file named like a result's.
bool is_verdict_folder(const std::filesystem::path& folder);

/// A look-up by key. Without a version: the name without one, then versions 1 to 999.
std::optional<Verdict> find_in_folder(const VerdictFolder& folder, const Key& key);

/// Folder and keys brought together.
struct Joined {
  std::vector<Verdict> verdicts;     ///< with keys, in the order of `keys`
  std::vector<std::string> orphans;  ///< files whose key is none of `keys`
  std::vector<Key> missing;          ///< keys without a file
};
/// A key of `keys` matches by its own entry version, by none, and by `version` when that is given.
Joined join_with_keys(const VerdictFolder& folder, std::span<const Verdict> keys,
                      std::optional<std::int32_t> version);

/// What writing verdicts into a folder would do.
struct FolderPlan {
  struct Write {
    std::string file;  ///< name with extension
    std::string text;
  };
  std::vector<Write> writes;
  std::size_t unchanged = 0;
  /// File names whose present or other content is another one.
  std::vector<std::string> conflicts;
};
/// Error for a result with fields that text cannot name. Of equal keys with different results the
/// first counts, and the name is a conflict.
FolderPlan plan_folder(std::span<const Verdict> verdicts, const std::filesystem::path& folder);
void write_folder(const FolderPlan& plan, const std::filesystem::path& folder);

}  // namespace furlong::verdict
