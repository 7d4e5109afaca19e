// Exec: its threads, the caller's parallel-for, and its workspace.
#include "blas/exec.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "blas/potrf/potrf.hh"

namespace furlong {
namespace {

TEST(Exec, EveryPieceRunsOnce) {
  for (const int threads : {1, 2, 5}) {
    Exec exec(threads);
    for (std::int64_t pieces = 0; pieces <= 9; ++pieces) {
      std::vector<int> runs(9, 0);
      const auto body = [&](std::int64_t piece) { ++runs[static_cast<std::size_t>(piece)]; };
      exec.state().run(pieces, body);
      for (std::int64_t i = 0; i < 9; ++i) {
        EXPECT_EQ(runs[static_cast<std::size_t>(i)], i < pieces ? 1 : 0);
      }
    }
  }
}

TEST(Exec, ManyRunsInARow) {
  Exec exec(3);
  std::int64_t total = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::int64_t> sums(3, 0);
    const auto body = [&](std::int64_t piece) {
      sums[static_cast<std::size_t>(piece)] = piece + 1;
    };
    exec.state().run(3, body);
    total += sums[0] + sums[1] + sums[2];
  }
  EXPECT_EQ(total, 2000 * 6);
}

TEST(Exec, CallersParallelForIsAskedForAtMostItsThreads) {
  std::int64_t most = 0;
  int calls = 0;
  Exec exec(
      [&](std::int64_t count, const std::function<void(std::int64_t)>& body) {
        ++calls;
        most = std::max(most, count);
        for (std::int64_t i = count; i-- > 0;) body(i);
      },
      3);
  EXPECT_EQ(exec.threads(), 3);
  std::vector<float> a(100 * 64 * 64, 0.0F);
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t j = 0; j < 64; ++j) a[i * 4096 + j * 65] = 4.0F;
  }
  std::vector<int> info(100, -1);
  blas::potrf::Call<float> call = {Uplo::kLower, 64,  {a.data(), 4096, nullptr},
                                   64,           100, info.data()};
  blas::potrf::launch(blas::potrf::Blocked{32}, call, exec);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(most, 3);
  for (const int one : info) EXPECT_EQ(one, 0);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(a[i * 4096 + 65], 2.0F);
}

TEST(Exec, WorkspaceStaysBetweenCallsOfAShape) {
  Exec exec(2);
  Exec::State& state = exec.state();
  EXPECT_EQ(state.workspace(0), nullptr);
  state.reserve(2, 1000);
  std::byte* first = state.workspace(0);
  std::byte* second = state.workspace(1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 64, 0U);
  state.reserve(1, 500);
  state.reserve(2, 1000);
  EXPECT_EQ(state.workspace(0), first);
  EXPECT_EQ(state.workspace(1), second);
}

TEST(Exec, RefusesBadThreadCounts) {
  EXPECT_THROW(Exec(-1), std::invalid_argument);
  EXPECT_THROW(Exec(Exec::ParallelFor(), 2), std::invalid_argument);
  EXPECT_THROW(Exec([](std::int64_t, const std::function<void(std::int64_t)>&) {}, 0),
               std::invalid_argument);
  EXPECT_GE(Exec(0).threads(), 1);
}

}  // namespace
}  // namespace furlong
