#include "host/share_out.hh"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace furlong::host {

void share_out(std::size_t count, std::size_t threads,
               const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failed = count;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) {
          failed = i;
          failure = std::current_exception();
        }
      }
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(run);
  } catch (const std::exception&) {
    // No more threads, or no memory for one: those that are there do it.
  }
  run();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

void share_out(std::size_t count, const std::function<void(std::size_t)>& work) {
  share_out(count, std::max(1u, std::thread::hardware_concurrency()), work);
}

void share_out_in_order(std::size_t count,
                        const std::function<void(std::size_t, std::string&)>& make,
                        const std::function<void(std::size_t, const std::string&)>& take) {
  std::mutex mutex;
  std::condition_variable turned;
  std::size_t turn = 0;
  bool failed = false;
  std::vector<std::string> spare;
  share_out(count, [&](std::size_t i) {
    std::string text;
    {
      const std::lock_guard lock(mutex);
      if (!spare.empty()) {
        text.swap(spare.back());
        spare.pop_back();
      }
    }
    std::exception_ptr failure;
    try {
      make(i, text);
    } catch (...) {
      failure = std::current_exception();
    }
    // Pieces are given out in order, so that piece i waits only for others that are being made.
    std::unique_lock lock(mutex);
    turned.wait(lock, [&] { return turn == i; });
    try {
      if (!failure && !failed) take(i, text);
      spare.push_back(std::move(text));
    } catch (...) {
      failure = std::current_exception();
    }
    failed = failed || failure;
    ++turn;
    lock.unlock();
    turned.notify_all();
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace furlong::host
