// After the first call of a shape nothing allocates.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "blas/potrf/potrf.hh"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FURLONG_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FURLONG_SANITIZED 1
#endif

#ifndef FURLONG_SANITIZED

namespace {
std::atomic<long> allocations{0};
}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  ++allocations;
  const auto unit = static_cast<std::size_t>(align);
  if (void* p = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace furlong::blas::potrf {
namespace {

TEST(Allocation, NoneAfterTheFirstCallOfAShape) {
  constexpr std::int64_t kN = 48;
  constexpr std::int64_t kBatch = 64;
  std::vector<double> a(kN * kN * kBatch);
  std::vector<int> info(kBatch);
  Call<double> call = {Uplo::kUpper, kN, {a.data(), kN * kN, nullptr}, kN, kBatch, info.data()};
  const Exec::ParallelFor in_order = [](std::int64_t count,
                                        const std::function<void(std::int64_t)>& body) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
  };
  Exec alone(1);
  Exec pool(3);
  Exec callers(in_order, 3);
  for (const Choice& choice : candidates()) {
    for (Exec* exec : {&alone, &pool, &callers}) {
      long during_first = 0;
      for (int round = 0; round < 3; ++round) {
        for (std::int64_t i = 0; i < kBatch * kN; ++i) {
          a[static_cast<std::size_t>(i / kN * kN * kN + i % kN * (kN + 1))] = 2;
        }
        const long before = allocations;
        launch(choice, call, *exec);
        if (round == 0) {
          during_first = allocations - before;
        } else {
          EXPECT_EQ(allocations - before, 0) << to_spelling(choice).text() << " " << during_first;
        }
        EXPECT_EQ(info[0], 0);
      }
    }
  }
}

}  // namespace
}  // namespace furlong::blas::potrf

#endif
