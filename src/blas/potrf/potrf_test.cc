// Every candidate on every SIMD target of this machine against plain loops in higher precision.
#include "blas/potrf/potrf.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "blas/potrf/lanes.hh"
#include "blas/simd_targets.hh"
#include "blas/vendor.hh"
#include "hwy/targets.h"

extern "C" {
int openblas_get_num_threads(void);
void openblas_set_num_threads(int threads);
}

namespace furlong::blas::potrf {
namespace {

/// What a batch holds beside well-conditioned matrices.
enum Spoil : int { kNothing, kNotPositive, kNan, kInfinity, kSpoils };

/// One call, built from a few numbers.
struct Case {
  char uplo = 'L';
  std::int64_t n = 1;
  std::int64_t batch = 1;
  std::int64_t ld = 0;      ///< extra
  std::int64_t stride = 0;  ///< extra
  std::int64_t offset = 0;  ///< elements by which the first matrix misses 64-byte alignment
  int threads = 1;
  int pointers = 0;  ///< the array variant
  int spoil = kNothing;
  unsigned seed = 1;

  std::string text() const {
    return fmt::format("{} {} {} {} {} {} {} {} {} {}", uplo, n, batch, ld, stride, offset, threads,
                       pointers, spoil, seed);
  }
  static Case parse(const std::string& text) {
    std::istringstream in(text);
    Case c;
    in >> c.uplo >> c.n >> c.batch >> c.ld >> c.stride >> c.offset >> c.threads >> c.pointers >>
        c.spoil >> c.seed;
    if (!in) throw std::invalid_argument("FURLONG_POTRF_CASE: " + text);
    return c;
  }
  Uplo side() const { return uplo == 'L' ? Uplo::kLower : Uplo::kUpper; }
};

template <class T>
using Higher = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// The items of a case in one buffer: poison (a NaN that no computation makes) wherever potrf has
/// no business, red zones around.
template <class T>
struct Batch {
  static constexpr std::int64_t kRedZone = 32;

  explicit Batch(const Case& c) : lda(c.n + c.ld), item_stride(lda * (c.n - 1) + c.n + c.stride) {
    n = c.n;
    lower = c.uplo == 'L';
    const std::int64_t span = c.batch * item_stride + 2 * kRedZone + c.offset + 16;
    buffer.assign(static_cast<std::size_t>(span), poison());
    auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
    const auto align = static_cast<std::int64_t>((64 - address % 64) % 64 / sizeof(T));
    start = kRedZone + align + c.offset;
    std::mt19937 random(c.seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    for (std::int64_t i = 0; i < c.batch; ++i) fill(i, c.spoil, random, unit);
    before = buffer;
    for (std::int64_t i = 0; i < c.batch; ++i) pointers.push_back(item(i));
  }

  static T poison() {
    if constexpr (sizeof(T) == 4) {
      const std::uint32_t bits = 0x7fc0beef;
      T value;
      std::memcpy(&value, &bits, sizeof(T));
      return value;
    } else {
      const std::uint64_t bits = 0x7ff8beefdeadbeef;
      T value;
      std::memcpy(&value, &bits, sizeof(T));
      return value;
    }
  }

  T* item(std::int64_t i) { return buffer.data() + start + i * item_stride; }
  const T* item_before(std::int64_t i) const { return before.data() + start + i * item_stride; }
  /// Where element (r, c), r >= c, of the lower factor stands.
  std::int64_t at(std::int64_t r, std::int64_t c) const {
    return lower ? c * lda + r : r * lda + c;
  }

  /// A = L L^T with a diagonal of L in [1, 2] and elements of at most 1 / sqrt(n) below it.
  void fill(std::int64_t i, int spoil, std::mt19937& random,
            std::uniform_real_distribution<double>& unit) {
    std::vector<double> l(static_cast<std::size_t>(n * n));
    const double small = 1 / std::sqrt(static_cast<double>(n));
    for (std::int64_t c = 0; c < n; ++c) {
      for (std::int64_t r = c; r < n; ++r) {
        l[static_cast<std::size_t>(c * n + r)] =
            r == c ? 1.5 + unit(random) / 2 : unit(random) * small;
      }
    }
    for (std::int64_t c = 0; c < n; ++c) {
      for (std::int64_t r = c; r < n; ++r) {
        double sum = 0;
        for (std::int64_t k = 0; k <= c; ++k) {
          sum += l[static_cast<std::size_t>(k * n + r)] * l[static_cast<std::size_t>(k * n + c)];
        }
        item(i)[at(r, c)] = static_cast<T>(sum);
      }
    }
    if (spoil == kNothing || unit(random) > 0) return;
    const auto draw = [&](std::int64_t below) {
      return std::min(below - 1, static_cast<std::int64_t>((unit(random) + 1) / 2 *
                                                           static_cast<double>(below)));
    };
    const std::int64_t r = draw(n);
    const std::int64_t c = draw(r + 1);
    const T infinity = std::numeric_limits<T>::infinity();
    if (spoil == kNotPositive) item(i)[at(r, r)] = r == 0 && unit(random) > 0 ? T(0) : T(-3);
    if (spoil == kNan) item(i)[at(r, c)] = std::numeric_limits<T>::quiet_NaN();
    if (spoil == kInfinity) item(i)[at(r, c)] = unit(random) > 0 ? infinity : -infinity;
  }

  /// Checks item i after the call. Empty, or what is wrong.
  std::string check(std::int64_t i, int info) {
    using H = Higher<T>;
    const auto index = [&](std::int64_t r, std::int64_t c) {
      return static_cast<std::size_t>(c * n + r);
    };
    std::vector<H> l(static_cast<std::size_t>(n * n));
    int expected = 0;
    for (std::int64_t c = 0; c < n && expected == 0; ++c) {
      for (std::int64_t r = c; r < n; ++r) {
        H rest = item_before(i)[at(r, c)];
        for (std::int64_t k = 0; k < c; ++k) rest -= l[index(r, k)] * l[index(c, k)];
        if (r == c) {
          if (!(rest > 0)) {
            expected = static_cast<int>(c + 1);
            break;
          }
          l[index(c, c)] = std::sqrt(rest);
        } else {
          l[index(r, c)] = rest / l[index(c, c)];
        }
      }
    }
    if (info != expected) return fmt::format("item {}: info {} instead of {}", i, info, expected);
    // Componentwise |A - L L^T| <= c (n + 1) u |L| |L|^T: Higham, Accuracy and Stability of
    // Numerical Algorithms, 2nd ed., Theorem 10.3; c = 4 for reciprocals of pivots.
    const H unit = static_cast<H>(std::numeric_limits<T>::epsilon()) / 2;
    const std::int64_t done = expected == 0 ? n : expected - 1;
    const T* got = item(i);
    for (std::int64_t c = 0; c < done; ++c) {
      for (std::int64_t r = c; r < done; ++r) {
        const T value = got[at(r, c)];
        if (!std::isfinite(l[index(r, c)])) {
          if (std::isfinite(value)) {
            return fmt::format("item {}: L({},{}) = {} lost a value that is not finite", i, r, c,
                               value);
          }
          continue;
        }
        if (!std::isfinite(value)) {
          return fmt::format("item {}: L({},{}) = {} is not finite", i, r, c, value);
        }
        H sum = 0;
        H size = 0;
        for (std::int64_t k = 0; k <= c; ++k) {
          const H term = static_cast<H>(got[at(r, k)]) * static_cast<H>(got[at(c, k)]);
          sum += term;
          size += std::abs(term);
        }
        const H off = std::abs(sum - static_cast<H>(item_before(i)[at(r, c)]));
        if (std::isfinite(size) && !(off <= 4 * static_cast<H>(n + 1) * unit * size)) {
          return fmt::format("item {}: residual at ({},{}) is {:.1f} times (n + 1) u |L| |L|^T", i,
                             r, c,
                             static_cast<double>(off / (static_cast<H>(n + 1) * unit * size)));
        }
      }
    }
    return {};
  }

  /// Everything but the referenced triangles must be as before, bit by bit.
  std::string check_untouched() {
    std::vector<char> mine(buffer.size());
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      for (std::int64_t c = 0; c < n; ++c) {
        for (std::int64_t r = c; r < n; ++r) {
          const std::int64_t where = start + static_cast<std::int64_t>(i) * item_stride + at(r, c);
          mine[static_cast<std::size_t>(where)] = 1;
        }
      }
    }
    for (std::size_t k = 0; k < buffer.size(); ++k) {
      if (mine[k] == 0 && std::memcmp(&buffer[k], &before[k], sizeof(T)) != 0) {
        return fmt::format("element {} of the buffer was written; items start at {}", k, start);
      }
    }
    return {};
  }

  std::int64_t n = 0;
  bool lower = true;
  std::int64_t lda;
  std::int64_t item_stride;
  std::int64_t start = 0;
  std::vector<T> buffer;
  std::vector<T> before;
  std::vector<T*> pointers;
};

/// Runs one candidate on a case. Empty, or what is wrong.
template <class T>
std::string run_case(const Choice& choice, const Case& c, Exec& exec) {
  Batch<T> batch(c);
  constexpr int kUnset = -77;
  std::vector<int> info(static_cast<std::size_t>(c.batch) + 2, kUnset);
  Call<T> call;
  call.uplo = c.side();
  call.n = c.n;
  call.lda = batch.lda;
  call.batch = c.batch;
  call.info = info.data() + 1;
  if (c.pointers != 0) {
    call.items.pointers = batch.pointers.data();
  } else {
    call.items = {batch.item(0), batch.item_stride, nullptr};
  }
  if (bad_argument(call, c.pointers != 0) != 0) {
    return bad_argument_text(call, c.pointers != 0, bad_argument(call, c.pointers != 0));
  }
  launch(choice, call, exec);
  if (info.front() != kUnset || info.back() != kUnset) return "info was written outside the batch";
  for (std::int64_t i = 0; i < c.batch; ++i) {
    std::string wrong = batch.check(i, info[static_cast<std::size_t>(i) + 1]);
    if (!wrong.empty()) return wrong;
  }
  return batch.check_untouched();
}

/// Forces one SIMD target while it lives.
class ForcedTarget {
 public:
  explicit ForcedTarget(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~ForcedTarget() { hwy::SetSupportedTargetsForTest(0); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

/// Every candidate, dtype and target on a case; prints the line that repeats a failure.
bool all_pass(const Case& c) {
  Exec exec(c.threads);
  bool passed = true;
  const auto report = [&](const char* dtype, std::int64_t target, const Choice& choice,
                          const std::string& wrong) {
    if (wrong.empty()) return;
    passed = false;
    ADD_FAILURE() << dtype << " " << hwy::TargetName(target) << " " << to_spelling(choice).text()
                  << ": " << wrong << "\n  FURLONG_POTRF_CASE='" << c.text() << "' potrf_test";
  };
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const ForcedTarget forced(target);
    for (const Choice& choice : candidates()) {
      if (can_run(choice, c.n, c.n + c.ld)) continue;
      report("float", target, choice, run_case<float>(choice, c, exec));
      report("double", target, choice, run_case<double>(choice, c, exec));
    }
  }
  return passed;
}

TEST(Potrf, RepeatsTheCaseFromTheEnvironment) {
  const char* text = std::getenv("FURLONG_POTRF_CASE");
  if (text == nullptr) GTEST_SKIP() << "FURLONG_POTRF_CASE is not set";
  EXPECT_TRUE(all_pass(Case::parse(text)));
}

TEST(Potrf, EveryOrderUpToSeventy) {
  for (std::int64_t n = 1; n <= 70; ++n) {
    Case c;
    c.n = n;
    c.batch = n <= 24 ? 37 : 3;
    c.ld = n % 3;
    c.stride = n % 5;
    c.offset = n % 7;
    c.seed = static_cast<unsigned>(n);
    for (const char uplo : {'L', 'U'}) {
      c.uplo = uplo;
      ASSERT_TRUE(all_pass(c));
    }
  }
}

/// Random calls of orders in [from, to).
void check_random_calls(std::int64_t from, std::int64_t to, std::int64_t most_items) {
  const bool passed = rc::check("potrf agrees with plain loops", [&] {
    Case c;
    c.uplo = *rc::gen::element('L', 'U');
    c.n = *rc::gen::inRange(from, to);
    c.batch = *rc::gen::inRange<std::int64_t>(1, most_items + 1);
    c.ld = *rc::gen::inRange<std::int64_t>(0, 10);
    c.stride = *rc::gen::inRange<std::int64_t>(0, 20);
    c.offset = *rc::gen::inRange<std::int64_t>(0, 16);
    c.threads = *rc::gen::inRange(1, 4);
    c.pointers = *rc::gen::inRange(0, 2);
    c.spoil = *rc::gen::inRange<int>(kNothing, kSpoils);
    c.seed = *rc::gen::arbitrary<unsigned>();
    RC_ASSERT(all_pass(c));
  });
  EXPECT_TRUE(passed);
}

TEST(Potrf, RandomCallsOfTinyOrders) {
  check_random_calls(1, 9, 700);
}

TEST(Potrf, RandomCallsOfSmallOrders) {
  check_random_calls(9, 34, 70);
}

TEST(Potrf, RandomCallsAroundTheLimitOfLanes) {
  check_random_calls(34, 72, 20);
}

TEST(Potrf, RandomCallsOfLargerOrders) {
  check_random_calls(72, 170, 3);
}

TEST(Potrf, LargerOrdersInPanels) {
  for (const std::int64_t n : {192, 257}) {
    Case c;
    c.n = n;
    c.uplo = n == 192 ? 'L' : 'U';
    ASSERT_TRUE(all_pass(c));
  }
}

TEST(Potrf, TheForcedTargetRuns) {
  std::set<std::int64_t> lanes;
  const auto targets = hwy::SupportedAndGeneratedTargets();
  for (const std::int64_t target : targets) {
    const ForcedTarget forced(target);
    const std::int64_t expected = target == HWY_AVX3 ? 16 : target == HWY_AVX2 ? 8 : 4;
    EXPECT_EQ(lanes_per_vector(4), expected) << hwy::TargetName(target);
    EXPECT_EQ(lanes_per_vector(8), expected / 2) << hwy::TargetName(target);
  }
  EXPECT_FALSE(targets.empty());
}

TEST(Potrf, RefusesWhatIsNotImplemented) {
  EXPECT_FALSE(can_run(Direct{}, 64, 64));
  EXPECT_TRUE(can_run(Direct{}, 65, 65));
  EXPECT_FALSE(can_run(Lanes{4}, 64, 64));
  EXPECT_STREQ(can_run(Lanes{4}, 65, 65).reason, "implemented for n <= 64");
  EXPECT_FALSE(can_run(Blocked{16}, 512, 512));
  EXPECT_FALSE(can_run(Vendor{}, 512, kVendorMaxInt));
  EXPECT_TRUE(can_run(Vendor{}, 512, kVendorMaxInt + 1));
}

TEST(Potrf, VocabularyIsConsistent) {
  const select::OpVocabulary& v = vocabulary();
  EXPECT_EQ(v.op, "potrf");
  EXPECT_EQ(v.keys.text(), "uplo:exact n:log:3 batch:log");
  ASSERT_EQ(v.candidates.size(), v.dtypes.size());
  EXPECT_EQ(v.candidates[0], (std::vector<std::string>{
                                 "direct", "lanes:u=1", "lanes:u=2", "lanes:u=4", "blocked:nb=16",
                                 "blocked:nb=32", "blocked:nb=64", "vendor"}));
  for (const std::string& spelling : v.candidates[0]) {
    const auto choice = parse_choice<Choice>(spelling);
    ASSERT_TRUE(choice) << choice.reason();
    EXPECT_EQ(to_spelling(*choice).text(), spelling);
  }
}

TEST(Potrf, BatchKeyIsWhatOneThreadGets) {
  EXPECT_EQ(query_of(1, Uplo::kUpper, 64, 1000, 1).keys[2], 1000);
  EXPECT_EQ(query_of(1, Uplo::kUpper, 64, 1000, 3).keys[2], 334);
  EXPECT_EQ(query_of(1, Uplo::kUpper, 64, 1000, 3).keys[0], 1);
  EXPECT_EQ(query_of(0, Uplo::kLower, 4, 16, 8).keys[2], 16) << "not worth a thread";
  EXPECT_EQ(pieces_of(512, 2, 8), 2);
}

template <class T>
Call<T> good_call(T* a, int* info) {
  return {Uplo::kLower, 3, {a, 9, nullptr}, 3, 2, info};
}

TEST(Potrf, ArgumentsAreCheckedInOrder) {
  std::array<float, 32> a{};
  std::array<int, 2> info{};
  using Break = void (*)(Call<float>&);
  const std::array<Break, 7> breaks = {
      [](Call<float>& c) { c.uplo = static_cast<Uplo>(7); },
      [](Call<float>& c) { c.n = -1; },
      [](Call<float>& c) { c.items.base = nullptr; },
      [](Call<float>& c) { c.lda = 2; },
      [](Call<float>& c) { c.items.stride = 8; },
      [](Call<float>& c) { c.batch = -1; },
      [](Call<float>& c) { c.info = nullptr; },
  };
  const std::array<const char*, 7> texts = {
      "potrf: argument 1 (uplo): 7; allowed are kLower and kUpper",
      "potrf: argument 2 (n): -1; allowed are 0 to 2147483647",
      "potrf: argument 3 (a): null; allowed only when n or batch is 0",
      "potrf: argument 4 (lda): 2; allowed is at least 3",
      "potrf: argument 5 (stride_a): 8; allowed is at least 9, so that items stay apart",
      "potrf: argument 6 (batch): -1; allowed are 0 and more",
      "potrf: argument 7 (info): null; allowed only when batch is 0",
  };
  EXPECT_EQ(bad_argument(good_call(a.data(), info.data()), false), 0);
  for (int k = 0; k < 7; ++k) {
    Call<float> call = good_call(a.data(), info.data());
    breaks[static_cast<std::size_t>(k)](call);
    EXPECT_EQ(bad_argument(call, false), k + 1);
    EXPECT_EQ(bad_argument_text(call, false, k + 1), texts[static_cast<std::size_t>(k)]);
    for (int later = k + 1; later < 7; ++later) {
      Call<float> both = call;
      breaks[static_cast<std::size_t>(later)](both);
      // Changing n, or the batch, to nothing makes a null or close items harmless.
      if (k == 2 && later == 5) continue;
      if (k == 4 && later == 5) continue;
      EXPECT_EQ(bad_argument(both, false), k + 1) << later;
    }
  }
}

TEST(Potrf, ArgumentsOfTheArrayVariant) {
  std::array<float, 9> a{};
  std::array<float*, 2> items = {a.data(), nullptr};
  std::array<int, 2> info{};
  Call<float> call = {Uplo::kLower, 3, {nullptr, 0, items.data()}, 3, 2, info.data()};
  EXPECT_EQ(bad_argument(call, true), 3);
  EXPECT_EQ(bad_argument_text(call, true, 3),
            "potrf: argument 3 (a): holds a null pointer; every item needs a matrix");
  call.batch = 1;
  EXPECT_EQ(bad_argument(call, true), 0);
  call.info = nullptr;
  EXPECT_EQ(bad_argument(call, true), 6);
  EXPECT_EQ(bad_argument_text(call, true, 6),
            "potrf: argument 6 (info): null; allowed only when batch is 0");
}

TEST(Potrf, VendorThreadSettingIsUntouched) {
  openblas_set_num_threads(2);
  const int before = openblas_get_num_threads();
  Case c;
  c.n = 80;
  c.batch = 4;
  c.threads = 2;
  Exec exec(2);
  EXPECT_EQ(run_case<double>(Vendor{}, c, exec), "");
  EXPECT_EQ(openblas_get_num_threads(), before);
  {
    const VendorSingleThread outer(true);
    EXPECT_EQ(openblas_get_num_threads(), 1);
    { const VendorSingleThread inner(true); }
    EXPECT_EQ(openblas_get_num_threads(), 1);
  }
  EXPECT_EQ(openblas_get_num_threads(), before);
}

}  // namespace
}  // namespace furlong::blas::potrf
