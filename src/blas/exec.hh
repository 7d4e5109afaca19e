// Exec::State: the workspace and the threads behind furlong::Exec.
//
// Work is cut into at most threads() pieces; each piece has its own workspace, sized before any of
// them starts, so that kernels neither allocate nor throw. Thread rule: one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "furlong/blas.hh"

namespace furlong {

/// Threads that wait for work; `run` hands them pieces and works along.
class ThreadPool {
 public:
  using Body = void (*)(const void* context, std::int64_t piece);

  /// `helpers` threads beside the caller's.
  explicit ThreadPool(int helpers);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls `body(context, i)` for i in [0, pieces), and returns when all are done. `body` must not
  /// throw.
  void run(std::int64_t pieces, Body body, const void* context);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

struct Exec::State {
  int threads = 1;
  ParallelFor parallel_for;          ///< the caller's; empty: ours
  std::unique_ptr<ThreadPool> pool;  ///< made on first need

  /// Makes the workspaces of pieces [0, pieces) at least `bytes` large.
  void reserve(std::int64_t pieces, std::int64_t bytes);
  /// Of a piece, 64-byte aligned; null before any reserve().
  std::byte* workspace(std::int64_t piece) const {
    return workspaces_.empty() ? nullptr : workspaces_[static_cast<std::size_t>(piece)].get();
  }

  /// Calls `body(i)` for i in [0, pieces), in parallel when pieces > 1; it must not throw.
  template <class Body>
  void run(std::int64_t pieces, const Body& body) {
    run_erased(
        pieces,
        [](const void* context, std::int64_t piece) {
          (*static_cast<const Body*>(context))(piece);
        },
        &body);
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{64}); }
  };

  void run_erased(std::int64_t pieces, ThreadPool::Body body, const void* context);

  std::vector<std::unique_ptr<std::byte, Free>> workspaces_;
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace furlong
