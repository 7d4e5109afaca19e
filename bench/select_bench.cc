// What a choice costs inside a call: the selector of potrf, asked again and again.
//
//     select_bench
//
// Each figure is the fastest of 15 repetitions, in nanoseconds a choice, one thread.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <thread>

#include "blas/potrf/potrf.hh"
#include "furlong/device_key.hh"
#include "furlong/version.hh"

namespace {

using namespace furlong;

constexpr int kChoices = 1 << 16;

double ns_per_choice(const std::function<int(int)>& choose) {
  double best = std::numeric_limits<double>::infinity();
  volatile int sink = 0;
  for (int repetition = 0; repetition < 15; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kChoices; ++i) sink = sink + choose(i);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / kChoices);
  }
  return best;
}

select::Refusal runs(const void*, int) {
  return {};
}

}  // namespace

int main() {
  select::Selector& selector = blas::potrf::selector();
  const select::CanRun can_run{&runs, nullptr};
  const auto query = [](std::int64_t n, std::int64_t batch) {
    return blas::potrf::query_of(0, Uplo::kLower, n, batch, 1);
  };
  fmt::print("furlong {}, {} ({}), 1 thread of {}, {}\n", kVersion, this_cpu().text,
             this_cpu_name(), std::thread::hardware_concurrency(), FURLONG_COMPILER_TEXT);
  fmt::print("{:8.1f} ns  an empty call\n", ns_per_choice([](int i) { return i & 3; }));
  const auto same = query(24, 4096);
  fmt::print("{:8.1f} ns  one shape\n",
             ns_per_choice([&](int) { return selector.choose(same, can_run); }));
  fmt::print("{:8.1f} ns  16 shapes in turn\n", ns_per_choice([&](int i) {
               return selector.choose(query(8 + 8 * (i & 3), 1 << (i >> 2 & 3)), can_run);
             }));
  fmt::print("{:8.1f} ns  always another shape\n", ns_per_choice([&](int i) {
               return selector.choose(query(1 + i % 512, 1 + i), can_run);
             }));
  const select::ScopedPin pin("potrf", "vendor", select::ScopedPin::Mode::kStrict);
  fmt::print("{:8.1f} ns  pinned\n",
             ns_per_choice([&](int) { return selector.choose(same, can_run); }));
  return 0;
}
