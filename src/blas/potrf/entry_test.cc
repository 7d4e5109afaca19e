// The public functions of potrf, in C++ and in C.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "blas/potrf/potrf.hh"
#include "furlong/blas.h"

namespace furlong {
namespace {

TEST(PotrfEntry, FactorsABatch) {
  Exec exec(1);
  std::vector<double> a = {4, 2, 99, 10, 9, 3, 99, 2};
  std::vector<int> info(2, -1);
  potrf(Uplo::kLower, 2, a.data(), 2, 4, 2, info.data(), exec);
  EXPECT_EQ(a, (std::vector<double>{2, 1, 99, 3, 3, 1, 99, 1}));
  EXPECT_EQ(info, (std::vector<int>{0, 0}));
}

TEST(PotrfEntry, NothingToDo) {
  Exec exec(1);
  std::vector<int> info(3, -1);
  potrf(Uplo::kUpper, 0, static_cast<float*>(nullptr), 1, 0, 3, info.data(), exec);
  EXPECT_EQ(info, (std::vector<int>{0, 0, 0}));
  potrf(Uplo::kUpper, 5, static_cast<float*>(nullptr), 5, 0, 0, nullptr, exec);
}

TEST(PotrfEntry, ThrowsBeforeAnythingIsWritten) {
  Exec exec(1);
  std::vector<float> a(4, 4.0F);
  const std::vector<float> before = a;
  int info = -1;
  try {
    potrf(Uplo::kLower, 2, a.data(), 1, 4, 1, &info, exec);
    FAIL() << "no exception";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "potrf: argument 4 (lda): 1; allowed is at least 2");
  }
  EXPECT_EQ(a, before);
  EXPECT_EQ(info, -1);
}

TEST(PotrfEntry, APinnedCandidateRunsOrThrows) {
  Exec exec(1);
  for (const std::string& spelling : blas::potrf::vocabulary().candidates[0]) {
    const select::ScopedPin pin("potrf", spelling, select::ScopedPin::Mode::kStrict);
    std::vector<float> a = {4, 2, 0, 10};
    int info = -1;
    potrf(Uplo::kLower, 2, a.data(), 2, 4, 1, &info, exec);
    EXPECT_EQ(info, 0) << spelling;
    EXPECT_FLOAT_EQ(a[3], 3.0F) << spelling;
  }
  const select::ScopedPin pin("potrf", "direct");
  std::vector<float> large(65 * 65, 0.0F);
  int info = -1;
  EXPECT_THROW(potrf(Uplo::kLower, 65, large.data(), 65, 65 * 65, 1, &info, exec),
               std::invalid_argument);
}

TEST(PotrfEntry, CInterface) {
  furlong_exec* exec = furlong_exec_create(1);
  ASSERT_NE(exec, nullptr);
  std::vector<double> a = {4, 2, 99, 10};
  int info = -1;
  EXPECT_EQ(furlong_dpotrf('l', 2, a.data(), 2, 4, 1, &info, exec), 0);
  EXPECT_EQ(a[3], 3);
  EXPECT_EQ(info, 0);
  EXPECT_EQ(furlong_dpotrf('x', 2, a.data(), 2, 4, 1, &info, exec), -1);
  EXPECT_EQ(furlong_dpotrf('U', 2, a.data(), 1, 4, 1, &info, exec), -4);
  EXPECT_STREQ(furlong_last_error(), "potrf: argument 4 (lda): 1; allowed is at least 2");
  EXPECT_EQ(furlong_dpotrf('U', 2, a.data(), 2, 4, 1, &info, nullptr), -8);
  std::vector<float> x = {4, 2, 99, 10};
  std::vector<float> y = {9, 3, 99, 2};
  std::vector<float*> items = {y.data(), x.data()};
  std::vector<int> infos(2, -1);
  EXPECT_EQ(furlong_spotrf_pointers('L', 2, items.data(), 2, 2, infos.data(), exec), 0);
  EXPECT_EQ(x[0], 2.0F);
  EXPECT_EQ(y[0], 3.0F);
  items[1] = nullptr;
  EXPECT_EQ(furlong_spotrf_pointers('L', 2, items.data(), 2, 2, infos.data(), exec), -3);
  EXPECT_EQ(furlong_spotrf_pointers('L', 2, items.data(), 2, 2, infos.data(), nullptr), -3);
  EXPECT_EQ(furlong_exec_create(-1), nullptr);
  EXPECT_STREQ(furlong_last_error(), "Exec: threads -1; allowed are 0 (all cores) and more");
  furlong_exec_destroy(exec);
  furlong_exec_destroy(nullptr);
}

}  // namespace
}  // namespace furlong
