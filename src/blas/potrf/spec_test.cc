// What the tuner is told of potrf: its problems verify right answers and refuse wrong ones.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "blas/potrf/choice.hh"
#include "blas/specs.hh"

namespace furlong::blas {
namespace {

CellKey cell(const std::string& text) {
  return CellKey::parse(text).value();
}

std::unique_ptr<Problem> problem(const std::string& dtype, const std::string& key,
                                 std::int64_t extra_ld = 0) {
  return potrf_spec().make_problem(dtype, cell(key), {extra_ld, 7});
}

TEST(PotrfSpec, EveryCandidatePassesOnEveryCell) {
  for (const char* key : {"uplo=L,n=1,batch=1", "uplo=U,n=5,batch=40", "uplo=L,n=16,batch=100",
                          "uplo=U,n=64,batch=20", "uplo=L,n=150,batch=6"}) {
    for (const std::string& dtype : potrf_spec().vocabulary.dtypes) {
      for (const std::int64_t extra_ld : {0, 3}) {
        const auto p = problem(dtype, key, extra_ld);
        p->resize_ring(3);
        for (int c = 0; c < static_cast<int>(potrf::candidates().size()); ++c) {
          if (p->can_run(c)) continue;
          p->restore(3);
          p->run(c, 0, 3);
          for (int copy = 0; copy < 3; ++copy) {
            EXPECT_EQ(p->verify(copy), "") << key << " " << dtype << " " << c;
          }
          p->adopt_witness(2);
        }
        p->restore(1);
        p->run(Problem::kAuto, 0, 1);
        EXPECT_EQ(p->verify(0), "") << key;
      }
    }
  }
}

TEST(PotrfSpec, WrongAnswersAreRefused) {
  for (const std::string& dtype : potrf_spec().vocabulary.dtypes) {
    const auto p = problem(dtype, "uplo=L,n=12,batch=64");
    p->resize_ring(2);
    p->restore(2);
    EXPECT_EQ(p->verify(0), "info") << "nothing has run";
    p->run(0, 0, 1);
    EXPECT_EQ(p->verify(0), "");
    p->run(0, 0, 1);
    EXPECT_NE(p->verify(0), "") << "the factor of a factor";
    p->adopt_witness(1);
    p->restore(1);
    p->run(0, 0, 1);
    EXPECT_EQ(p->verify(0), "witness") << "the witness holds inputs";
  }
}

TEST(PotrfSpec, TheRingHasPlacesOfItsOwn) {
  const auto p = problem("float", "uplo=L,n=12,batch=64");
  p->resize_ring(2);
  p->restore(2);
  p->move_ring(1);
  p->restore(2);
  p->run(0, 0, 2);
  EXPECT_EQ(p->verify(1), "");
  p->move_ring(0);
  p->run(0, 0, 2);
  EXPECT_EQ(p->verify(1), "") << "it held fresh inputs";
  p->move_ring(1);
  EXPECT_EQ(p->verify(1), "") << "what place 0 does is no matter of place 1";
  for (int place = 0; place < 50; ++place) {
    p->move_ring(place);
    p->restore(2);
    p->run(0, 0, 2);
    EXPECT_EQ(p->verify(0) + p->verify(1), "") << place;
  }
}

TEST(PotrfSpec, SameSeedSameInputs) {
  const auto p = problem("float", "uplo=L,n=9,batch=33");
  const auto q = problem("float", "uplo=L,n=9,batch=33");
  p->resize_ring(1);
  p->restore(1);
  p->run(0, 0, 1);
  p->adopt_witness(0);
  q->resize_ring(1);
  q->restore(1);
  q->run(0, 0, 1);
  EXPECT_EQ(q->verify(0), "");
  EXPECT_EQ(p->copy_bytes(), q->copy_bytes());
}

TEST(PotrfSpec, CellsAreChecked) {
  const OpSpec& spec = potrf_spec();
  for (const char* bad : {"uplo=X,n=4,batch=1", "n=4,batch=1", "uplo=L,n=0,batch=1", "uplo=L,n=4",
                          "uplo=L,n=4,batch=1,extra=2", "uplo=L,n=4x,batch=1"}) {
    EXPECT_THROW(spec.make_problem("float", cell(bad), {}), std::invalid_argument) << bad;
  }
  EXPECT_THROW(spec.make_problem("cfloat", cell("uplo=L,n=4,batch=1"), {}), std::invalid_argument);
  EXPECT_EQ(spec.input_bytes("double", cell("uplo=L,n=4,batch=10")), 10 * 16 * 8);
  EXPECT_EQ(spec.max_dim(cell("uplo=L,n=4,batch=10")), 4);
  EXPECT_DOUBLE_EQ(spec.flops(cell("uplo=L,n=1,batch=10")), 10);
  EXPECT_TRUE(spec.can_run("float", cell("uplo=L,n=65,batch=10"), 0));
  EXPECT_FALSE(spec.can_run("float", cell("uplo=L,n=64,batch=10"), 0));
}

TEST(PotrfSpec, GridAndEnvironment) {
  const OpSpec& spec = potrf_spec();
  const auto axes = spec.axes("float");
  ASSERT_EQ(axes.size(), 3U);
  EXPECT_EQ(axes[1].name, "n");
  EXPECT_EQ(axes[1].values.size(), 20U);
  EXPECT_THROW(spec.axes("cfloat"), std::invalid_argument);
  const std::string line = spec.environment();
  EXPECT_NE(line.find("OpenBLAS "), line.npos) << line;
  EXPECT_NE(line.find("simd "), line.npos) << line;
  EXPECT_EQ(line.find('\n'), line.npos);
}

}  // namespace
}  // namespace furlong::blas
