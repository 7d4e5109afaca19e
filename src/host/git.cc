#include "host/git.hh"

#include <vector>

#include "furlong/error.hh"
#include "host/git_handles.hh"

namespace furlong::host {
namespace {

namespace fs = std::filesystem;

using StatusList =
    std::unique_ptr<git_status_list, GitFreer<git_status_list, git_status_list_free>>;

bool inside(const fs::path& path, const fs::path& folder) {
  const auto from_folder = path.lexically_relative(folder);
  return !from_folder.empty() && *from_folder.begin() != "..";
}

bool differs(const git_status_entry& entry, const fs::path& root,
             std::span<const fs::path> except) {
  for (const git_diff_delta* delta : {entry.head_to_index, entry.index_to_workdir}) {
    if (delta == nullptr || delta->status == GIT_DELTA_UNMODIFIED) continue;
    for (const char* name : {delta->old_file.path, delta->new_file.path}) {
      if (name == nullptr) continue;
      bool exempt = false;
      for (const auto& folder : except) exempt = exempt || inside(root / name, folder);
      if (!exempt) return true;
    }
  }
  return false;
}

}  // namespace

void start_libgit2() {
  static const bool started = [] {
    git_libgit2_init();
    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    return true;
  }();
  (void)started;
}

std::string last_git_failure() {
  const git_error* failure = git_error_last();
  return failure != nullptr && failure->message != nullptr ? failure->message : "no reason given";
}

GitState git_state(const fs::path& folder, std::span<const fs::path> except) {
  start_libgit2();
  git_repository* opened = nullptr;
  const int failure = git_repository_open_ext(&opened, folder.c_str(), 0, nullptr);
  if (failure == GIT_ENOTFOUND) return {"unknown", false};
  if (failure != 0)
    throw Error(folder.string(), "cannot open the git repository: " + last_git_failure());
  const GitRepositoryHandle repository(opened);

  git_oid head{};
  if (git_reference_name_to_id(&head, repository.get(), "HEAD") != 0) return {"unknown", false};
  GitState state;
  state.commit.assign(git_oid_tostr_s(&head), 8);

  const char* workdir = git_repository_workdir(repository.get());
  if (workdir == nullptr) return state;
  const fs::path root = fs::weakly_canonical(workdir);
  std::vector<fs::path> exempt;
  for (const auto& path : except) exempt.push_back(fs::weakly_canonical(fs::absolute(path)));

  git_status_options options{};
  git_status_options_init(&options, GIT_STATUS_OPTIONS_VERSION);
  options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
  options.flags = 0;
  git_status_list* listed = nullptr;
  if (git_status_list_new(&listed, repository.get(), &options) != 0) {
    throw Error(folder.string(), "cannot read the git status: " + last_git_failure());
  }
  const StatusList list(listed);
  for (std::size_t i = 0; i < git_status_list_entrycount(list.get()); ++i) {
    if (differs(*git_status_byindex(list.get(), i), root, exempt)) {
      state.dirty = true;
      break;
    }
  }
  return state;
}

}  // namespace furlong::host
