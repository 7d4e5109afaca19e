// A git repository for one test, driven through libgit2: no git program is needed.
#pragma once

#include <git2.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "support/temporary.hh"

namespace furlong::testing {

class GitRepository {
 public:
  explicit GitRepository(std::filesystem::path folder) : folder_(std::move(folder)) {
    git_libgit2_init();
    require(git_repository_init(&repository_, folder_.c_str(), 0));
  }
  ~GitRepository() {
    git_repository_free(repository_);
    git_libgit2_shutdown();
  }
  GitRepository(const GitRepository&) = delete;
  GitRepository& operator=(const GitRepository&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  void write(const std::string& name, const std::string& text) { put_file(folder_ / name, text); }
  void remove(const std::string& name) { std::filesystem::remove(folder_ / name); }
  void move(const std::string& from, const std::string& to) {
    std::filesystem::create_directories((folder_ / to).parent_path());
    std::filesystem::rename(folder_ / from, folder_ / to);
  }

  /// Stages everything.
  void add() {
    git_index* index = nullptr;
    require(git_repository_index(&index, repository_));
    require(git_index_add_all(index, nullptr, 0, nullptr, nullptr));
    require(git_index_update_all(index, nullptr, nullptr, nullptr));
    require(git_index_write(index));
    git_index_free(index);
  }

  /// Stages and commits everything; 40 hex digits.
  std::string commit() {
    add();
    git_index* index = nullptr;
    git_oid tree_id, id, parent_id;
    git_tree* tree = nullptr;
    git_signature* who = nullptr;
    git_commit* parent = nullptr;
    require(git_repository_index(&index, repository_));
    require(git_index_write_tree(&tree_id, index));
    require(git_tree_lookup(&tree, repository_, &tree_id));
    require(git_signature_new(&who, "t", "t@example.org", 0, 0));
    if (git_reference_name_to_id(&parent_id, repository_, "HEAD") == 0) {
      require(git_commit_lookup(&parent, repository_, &parent_id));
    }
    const git_commit* parents[] = {parent};
    require(git_commit_create(&id, repository_, "HEAD", who, who, nullptr, "m", tree,
                              parent != nullptr ? 1 : 0, parents));
    git_commit_free(parent);
    git_signature_free(who);
    git_tree_free(tree);
    git_index_free(index);
    return git_oid_tostr_s(&id);
  }

 private:
  static void require(int result) {
    if (result == 0) return;
    const git_error* error = git_error_last();
    throw std::runtime_error(error != nullptr ? error->message : "libgit2 failed");
  }

  std::filesystem::path folder_;
  git_repository* repository_ = nullptr;
};

}  // namespace furlong::testing
