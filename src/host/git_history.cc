#include "host/git_history.hh"

#include <memory>
#include <system_error>

#include "furlong/error.hh"
#include "host/files.hh"
#include "host/git_handles.hh"

namespace furlong::host {
namespace {

namespace fs = std::filesystem;

using Object = std::unique_ptr<git_object, GitFreer<git_object, git_object_free>>;
using Tree = std::unique_ptr<git_tree, GitFreer<git_tree, git_tree_free>>;
using TreeEntry = std::unique_ptr<git_tree_entry, GitFreer<git_tree_entry, git_tree_entry_free>>;
using Blob = std::unique_ptr<git_blob, GitFreer<git_blob, git_blob_free>>;
using Diff = std::unique_ptr<git_diff, GitFreer<git_diff, git_diff_free>>;

}  // namespace

struct GitHistory::State {
  fs::path folder;
  std::string prefix;  // of the folder inside the repository, with its `/`; empty at the root
  GitRepositoryHandle repository;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(folder.string(), what + ": " + last_git_failure());
  }

  Tree tree(const std::string& commit) const {
    const std::string name = commit + "^{tree}";
    git_object* found = nullptr;
    if (git_revparse_single(&found, repository.get(), name.c_str()) != 0) {
      fail("cannot read commit " + commit);
    }
    return Tree(reinterpret_cast<git_tree*>(found));
  }

  TreeEntry entry(const std::string& commit, const std::string& path) const {
    const auto root = tree(commit);
    git_tree_entry* found = nullptr;
    const std::string full = prefix + path;
    if (git_tree_entry_bypath(&found, root.get(), full.c_str()) != 0) return nullptr;
    TreeEntry entry(found);
    return git_tree_entry_type(entry.get()) == GIT_OBJECT_BLOB ? std::move(entry) : nullptr;
  }
};

GitHistory::GitHistory(const fs::path& folder) {
  start_libgit2();
  auto state = std::make_unique<State>();
  state->folder = folder;
  git_repository* opened = nullptr;
  if (git_repository_open_ext(&opened, folder.c_str(), 0, nullptr) != 0) {
    state->fail("is in no git repository that can be read");
  }
  state->repository.reset(opened);
  const char* workdir = git_repository_workdir(opened);
  if (workdir == nullptr) throw Error(folder.string(), "the git repository has no working tree");
  const auto relative =
      fs::weakly_canonical(fs::absolute(folder)).lexically_relative(fs::weakly_canonical(workdir));
  if (relative != ".") state->prefix = relative.generic_string() + "/";
  git_oid head{};
  if (git_reference_name_to_id(&head, opened, "HEAD") != 0) state->fail("has no commit");
  state_ = state.release();
}

GitHistory::~GitHistory() {
  delete state_;
}

std::optional<std::string> GitHistory::commit(std::string_view name) const {
  const std::string text = std::string(name) + "^{commit}";
  git_object* found = nullptr;
  if (git_revparse_single(&found, state_->repository.get(), text.c_str()) != 0) return std::nullopt;
  const Object object(found);
  return std::string(git_oid_tostr_s(git_object_id(found)));
}

std::string GitHistory::head() const {
  return commit("HEAD").value();
}

std::optional<std::string> GitHistory::file(const std::string& commit,
                                            const std::string& path) const {
  const auto entry = state_->entry(commit, path);
  if (entry == nullptr) return std::nullopt;
  git_blob* found = nullptr;
  if (git_blob_lookup(&found, state_->repository.get(), git_tree_entry_id(entry.get())) != 0) {
    state_->fail("cannot read " + path + " at " + commit);
  }
  const Blob blob(found);
  return std::string(static_cast<const char*>(git_blob_rawcontent(found)),
                     static_cast<std::size_t>(git_blob_rawsize(found)));
}

bool GitHistory::has_file(const std::string& commit, const std::string& path) const {
  return state_->entry(commit, path) != nullptr;
}

std::map<std::string, std::string> GitHistory::renames(const std::string& from,
                                                       const std::string& to) const {
  const auto old_tree = state_->tree(from);
  const auto new_tree = state_->tree(to);
  git_diff* made = nullptr;
  if (git_diff_tree_to_tree(&made, state_->repository.get(), old_tree.get(), new_tree.get(),
                            nullptr) != 0) {
    state_->fail("cannot compare " + from + " with " + to);
  }
  const Diff diff(made);
  git_diff_find_options options{};
  git_diff_find_options_init(&options, GIT_DIFF_FIND_OPTIONS_VERSION);
  options.flags = GIT_DIFF_FIND_RENAMES;
  if (git_diff_find_similar(diff.get(), &options) != 0) state_->fail("cannot look for renames");
  std::map<std::string, std::string> renames;
  const auto inside = [&](const char* path) -> std::optional<std::string> {
    const std::string text = path;
    if (text.compare(0, state_->prefix.size(), state_->prefix) != 0) return std::nullopt;
    return text.substr(state_->prefix.size());
  };
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(diff.get(), i);
    if (delta->status != GIT_DELTA_RENAMED) continue;
    const auto old_path = inside(delta->old_file.path);
    const auto new_path = inside(delta->new_file.path);
    if (old_path && new_path) renames[*old_path] = *new_path;
  }
  return renames;
}

std::vector<std::string> GitHistory::uncommitted(const std::vector<std::string>& paths) const {
  const std::string at = head();
  std::vector<std::string> differing;
  for (const std::string& path : paths) {
    const auto committed = file(at, path);
    std::optional<std::string> present;
    std::error_code ignored;
    if (fs::is_regular_file(state_->folder / path, ignored)) {
      present = read_file(state_->folder / path);
    }
    if (committed != present) differing.push_back(path);
  }
  return differing;
}

}  // namespace furlong::host
