// Git: which commit the sources are at, for run lines and rehash proofs.
//
// Thread rule: from any thread.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace furlong::host {

struct GitState {
  std::string commit;  ///< first 8 hex digits of HEAD; `unknown` outside git or before a commit
  bool dirty = false;

  /// As run lines hold it: the commit, plus `-dirty`.
  std::string text() const { return dirty ? commit + "-dirty" : commit; }
};

/// The state of the repository that holds `folder`; another user's repository is read too. Dirty:
/// a tracked file outside the folders `except` differs from HEAD, staged or not. Throws Error when
/// there is a repository but it cannot be read.
GitState git_state(const std::filesystem::path& folder,
                   std::span<const std::filesystem::path> except = {});

}  // namespace furlong::host
