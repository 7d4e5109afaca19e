#include "blas/exec.hh"

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace furlong {
namespace {

/// Cores that this process may run on.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

/// One job at a time, known by its number; helpers and the caller take pieces until none is left.
struct ThreadPool::Shared {
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable done;
  std::vector<std::thread> helpers;
  Body body = nullptr;
  const void* context = nullptr;
  std::int64_t next = 0;
  std::int64_t pieces = 0;
  std::int64_t unfinished = 0;
  bool stop = false;

  /// Takes pieces until none is left; called and left with the lock held.
  void work(std::unique_lock<std::mutex>& lock) {
    while (next < pieces) {
      const std::int64_t piece = next++;
      lock.unlock();
      body(context, piece);
      lock.lock();
      if (--unfinished == 0) done.notify_all();
    }
  }

  void help() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return stop || next < pieces; });
      if (stop) return;
      work(lock);
    }
  }

  void join() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread& helper : helpers) helper.join();
  }
};

ThreadPool::ThreadPool(int helpers) : shared_(std::make_unique<Shared>()) {
  try {
    shared_->helpers.reserve(static_cast<std::size_t>(helpers));
    for (int i = 0; i < helpers; ++i) {
      shared_->helpers.emplace_back([shared = shared_.get()] { shared->help(); });
    }
  } catch (...) {
    shared_->join();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  shared_->join();
}

void ThreadPool::run(std::int64_t pieces, Body body, const void* context) {
  std::unique_lock lock(shared_->mutex);
  shared_->body = body;
  shared_->context = context;
  shared_->next = 0;
  shared_->pieces = pieces;
  shared_->unfinished = pieces;
  shared_->wake.notify_all();
  shared_->work(lock);
  shared_->done.wait(lock, [this] { return shared_->unfinished == 0; });
}

void Exec::State::reserve(std::int64_t pieces, std::int64_t bytes) {
  if (bytes > workspace_bytes_) {
    workspaces_.clear();
    workspace_bytes_ = bytes;
  }
  if (workspace_bytes_ == 0) return;
  while (static_cast<std::int64_t>(workspaces_.size()) < pieces) {
    workspaces_.emplace_back(static_cast<std::byte*>(
        ::operator new (static_cast<std::size_t>(workspace_bytes_), std::align_val_t{64})));
  }
}

void Exec::State::run_erased(std::int64_t pieces, ThreadPool::Body body, const void* context) {
  if (pieces <= 1) {
    if (pieces == 1) body(context, 0);
    return;
  }
  if (parallel_for) {
    const std::pair<ThreadPool::Body, const void*> call(body, context);
    parallel_for(pieces, [&call](std::int64_t piece) { call.first(call.second, piece); });
    return;
  }
  if (pool == nullptr) pool = std::make_unique<ThreadPool>(threads - 1);
  pool->run(pieces, body, context);
}

Exec::Exec(int threads) : state_(std::make_unique<State>()) {
  if (threads < 0) {
    throw std::invalid_argument("Exec: threads " + std::to_string(threads) +
                                "; allowed are 0 (all cores) and more");
  }
  state_->threads = threads == 0 ? usable_cores() : threads;
}

Exec::Exec(ParallelFor parallel_for, int threads) : state_(std::make_unique<State>()) {
  if (!parallel_for) throw std::invalid_argument("Exec: parallel_for is empty; give a function");
  if (threads < 1) {
    throw std::invalid_argument("Exec: threads " + std::to_string(threads) +
                                "; allowed are 1 and more");
  }
  state_->threads = threads;
  state_->parallel_for = std::move(parallel_for);
}

Exec::~Exec() = default;
Exec::Exec(Exec&&) noexcept = default;
Exec& Exec::operator=(Exec&&) noexcept = default;

int Exec::threads() const {
  return state_->threads;
}

}  // namespace furlong
