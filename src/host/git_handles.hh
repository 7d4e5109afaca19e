// What the git files share: owned libgit2 handles and the library's start.
#pragma once

#include <git2.h>

#include <memory>
#include <string>

namespace furlong::host {

template <class T, void (*Free)(T*)>
struct GitFreer {
  void operator()(T* thing) const { Free(thing); }
};
using GitRepositoryHandle =
    std::unique_ptr<git_repository, GitFreer<git_repository, git_repository_free>>;

/// Starts libgit2 once per process. A build machine often reads a checkout that another user owns;
/// nothing of it is executed, so the owner is not asked for.
void start_libgit2();

/// The reason of libgit2's last failure on this thread.
std::string last_git_failure();

}  // namespace furlong::host
