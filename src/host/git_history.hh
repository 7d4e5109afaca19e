// Git history: files and renames at commits, for proofs about how sources changed.
//
// Paths are relative to the folder that the history was opened for, which may be a subfolder of the
// repository. Belongs to one thread.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::host {

class GitHistory {
 public:
  /// Throws Error when `folder` is in no git repository or has no commit.
  explicit GitHistory(const std::filesystem::path& folder);
  ~GitHistory();
  GitHistory(const GitHistory&) = delete;
  GitHistory& operator=(const GitHistory&) = delete;

  /// The full id of a commit named by a (short) id, branch or tag; nothing when there is none.
  std::optional<std::string> commit(std::string_view name) const;
  std::string head() const;

  /// The file's bytes at a commit (full id); nothing when it is not there.
  std::optional<std::string> file(const std::string& commit, const std::string& path) const;
  /// Is there a file at `path` at the commit?
  bool has_file(const std::string& commit, const std::string& path) const;

  /// Old path to new path of every file that git sees renamed between two commits.
  std::map<std::string, std::string> renames(const std::string& from, const std::string& to) const;

  /// Those of `paths` whose file in the working tree differs from HEAD, or is missing on one side.
  std::vector<std::string> uncommitted(const std::vector<std::string>& paths) const;

 private:
  struct State;
  State* state_;
};

}  // namespace furlong::host
