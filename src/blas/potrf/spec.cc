// Problems of potrf: well-conditioned matrices from a seed, and what a right answer is.
//
// kernel-sources-begin
//     "src/blas/potrf/choice.hh" "src/blas/potrf/part.hh" "src/blas/potrf/potrf.hh"
//     "src/blas/potrf/potrf.cc" "src/blas/items.hh" "src/blas/exec.hh" "src/blas/exec.cc"
//     "src/blas/simd.hh" "src/blas/simd_targets.hh" "src/blas/simd_target.hh"
//     "src/blas/simd_target.cc"
// family: direct
//     "src/blas/potrf/direct.hh" "src/blas/potrf/direct.cc"
// family: lanes
//     "src/blas/potrf/lanes.hh" "src/blas/potrf/lanes.cc" "src/blas/potrf/lanes-inl.hh"
//     "src/blas/potrf/lanes_float.cc" "src/blas/potrf/lanes_double.cc"
// family: blocked
//     "src/blas/potrf/blocked.hh" "src/blas/potrf/blocked.cc"
// family: vendor
//     "src/blas/potrf/vendor.hh" "src/blas/potrf/vendor.cc" "src/blas/vendor.hh"
//     "src/blas/vendor.cc"
// kernel-sources-end
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <type_traits>

#include "base/number.hh"
#include "blas/potrf/potrf.hh"
#include "blas/simd_target.hh"
#include "blas/specs.hh"
#include "blas/vendor.hh"

namespace furlong::blas {
namespace {

using potrf::candidates;

struct Shape {
  Uplo uplo = Uplo::kLower;
  std::int64_t n = 0;
  std::int64_t batch = 0;
};

std::int64_t whole_number(const CellKey& key, std::string_view name) {
  const std::string* value = key.find(name);
  const auto number = value == nullptr ? std::nullopt : parse_positive(*value);
  if (!number) {
    throw std::invalid_argument(
        fmt::format("potrf: cell {}: {} must be a whole number > 0", key.text(), name));
  }
  return *number;
}

Shape shape_of(const CellKey& key) {
  const std::string* uplo = key.find("uplo");
  if (uplo == nullptr || (*uplo != "L" && *uplo != "U")) {
    throw std::invalid_argument(fmt::format("potrf: cell {}: uplo must be L or U", key.text()));
  }
  if (key.items.size() != 3) {
    throw std::invalid_argument(
        fmt::format("potrf: cell {}; allowed are the keys uplo, n, batch", key.text()));
  }
  return {*uplo == "L" ? Uplo::kLower : Uplo::kUpper, whole_number(key, "n"),
          whole_number(key, "batch")};
}

std::int64_t element_bytes(const std::string& dtype) {
  if (dtype == potrf::kDtypes[0]) return sizeof(float);
  if (dtype == potrf::kDtypes[1]) return sizeof(double);
  throw std::invalid_argument(fmt::format("potrf: dtype {}; allowed are float and double", dtype));
}

const potrf::Choice& choice_at(int candidate) {
  return candidates().at(static_cast<std::size_t>(candidate));
}

/// The factor's elementwise error against a reference, in units of (n + 1) u times the 2-norm of
/// its row. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Theorem 10.3: the
/// computed factor is exact for A + E with |E| <= gamma_{n+1} |L| |L|^T; Theorem 10.8 turns E into
/// an error of the factor of at most the condition of L squared times as much, which the inputs
/// below keep under 25 and rounding errors of random sign stay far from.
constexpr double kErrorBound = 8;

constexpr int kInfoPoison = -77;

template <class T>
class PotrfProblem : public Problem {
  using Reference = std::conditional_t<std::is_same_v<T, float>, double, long double>;

 public:
  PotrfProblem(const Shape& shape, const ProblemOptions& options)
      : shape_(shape), lda_(shape.n + options.extra_ld), exec_(1) {
    const std::int64_t n = shape_.n;
    // Packed as callers pack them; apart, when the leading dimension is not the natural one.
    stride_ = lda_ * n + (options.extra_ld > 0 ? kGap : 0);
    elements_ = 2 * kRedZone + (stride_ * shape_.batch + 15) / 16 * 16;
    std::mt19937_64 random(options.seed);
    make_bases(random);
    inputs_ = allocate(1);
    std::fill_n(inputs_.get(), elements_, poison());
    for (std::int64_t i = 0; i < shape_.batch; ++i) place(i);
    choose_samples(random);
    references_.resize(bases_.size());
  }

  select::Refusal can_run(int candidate) override {
    return potrf::can_run(choice_at(candidate), shape_.n, lda_);
  }

  std::int64_t copy_bytes() const override {
    return elements_ * static_cast<std::int64_t>(sizeof(T)) +
           shape_.batch * static_cast<std::int64_t>(sizeof(int));
  }

  void resize_ring(int copies) override {
    if (copies < 1) throw std::invalid_argument("potrf: ring of no copies; allowed is 1 and more");
    ring_.reset();
    const std::int64_t size = bytes(elements_) * copies;
    places_ = std::clamp<std::int64_t>(kPlacesBytes / size, 1, kMostPlaces);
    place_ = 0;
    ring_ = allocate(copies * places_);
    info_.assign(static_cast<std::size_t>(copies * shape_.batch), kInfoPoison);
    copies_ = copies;
  }

  void move_ring(int place) override { place_ = place % places_; }

  void restore(int copies) override {
    require_copy(copies - 1);
    for (int c = 0; c < copies; ++c) {
      std::memcpy(copy_at(c), inputs_.get(), bytes(elements_));
    }
    std::fill_n(info_.begin(), copies * shape_.batch, kInfoPoison);
  }

  void run(int candidate, int first, int count) override {
    require_copy(first);
    require_copy(first + count - 1);
    std::optional<select::ScopedPin> pin;
    if (candidate != kAuto) {
      // Inside the timed interval: the text is at hand, not made.
      pin.emplace(potrf::kOp,
                  potrf::vocabulary().candidates.front()[static_cast<std::size_t>(candidate)],
                  select::ScopedPin::Mode::kStrict);
    }
    for (int c = first; c < first + count; ++c) {
      furlong::potrf(shape_.uplo, shape_.n, items(c), lda_, stride_, shape_.batch,
                     info_.data() + c * shape_.batch, exec_);
    }
  }

  std::string verify(int copy) override {
    if (std::string wrong = check_around(copy); !wrong.empty()) return wrong;
    for (const std::int64_t sample : samples_) {
      if (std::string wrong = check_sample(copy, sample); !wrong.empty()) return wrong;
    }
    if (witness_ == nullptr) return {};
    for (std::int64_t i = 0; i < shape_.batch; ++i) {
      if (!agrees_with_witness(copy, i)) return "witness";
    }
    return {};
  }

  std::string verify_every(int copy) override {
    if (std::string wrong = check_around(copy); !wrong.empty()) return wrong;
    for (std::int64_t i = 0; i < shape_.batch; ++i) {
      if (std::string wrong = check_sample(copy, i); !wrong.empty()) return wrong;
    }
    return {};
  }

  void adopt_witness(int copy) override {
    require_copy(copy);
    if (witness_ == nullptr) witness_ = allocate(1);
    std::memcpy(witness_.get(), copy_at(copy), bytes(elements_));
  }

 private:
  static constexpr std::int64_t kRedZone = 64;  ///< elements; keeps the first item aligned
  static constexpr std::int64_t kGap = 16;      ///< between items
  static constexpr std::int64_t kMostBases = 16;
  /// A ring that fits into the caches more than once has several places.
  static constexpr std::int64_t kPlacesBytes = std::int64_t{8} << 20;
  static constexpr std::int64_t kMostPlaces = 16;

  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  using Buffer = std::unique_ptr<T, Free>;

  static std::size_t bytes(std::int64_t elements) {
    return static_cast<std::size_t>(elements) * sizeof(T);
  }

  Buffer allocate(std::int64_t copies) const {
    return Buffer(
        static_cast<T*>(::operator new (bytes(elements_ * copies), std::align_val_t{64})));
  }

  /// A NaN that no computation makes.
  static T poison() {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits kBits =
        sizeof(T) == 4 ? Bits{0x7fc0beef} : static_cast<Bits>(0x7ff8beefdeadbeef);
    T value;
    std::memcpy(&value, &kBits, sizeof(T));
    return value;
  }

  void require_copy(int copy) const {
    if (copy < 0 || copy >= copies_) {
      throw std::invalid_argument(fmt::format("potrf: copy {}; the ring holds {}", copy, copies_));
    }
  }

  T* copy_at(int copy) const { return ring_.get() + (place_ * copies_ + copy) * elements_; }
  T* items(int copy) const { return copy_at(copy) + kRedZone; }

  /// Where element (r, c), r >= c, of the lower factor stands in its item.
  std::int64_t at(std::int64_t r, std::int64_t c) const {
    return shape_.uplo == Uplo::kLower ? c * lda_ + r : r * lda_ + c;
  }

  std::size_t index(std::int64_t r, std::int64_t c) const {
    return static_cast<std::size_t>(c * shape_.n + r);
  }

  /// A few lower triangles of A = L L^T, L with a diagonal in [1, 2] and elements of at most
  /// 1 / (2 sqrt(n)) below it: its singular values lie within about [1/2, 5/2].
  void make_bases(std::mt19937_64& random) {
    const std::int64_t n = shape_.n;
    const std::int64_t count = std::min(shape_.batch, n > 128 ? 4 : kMostBases);
    std::uniform_real_distribution<double> unit(-1, 1);
    const double small = 0.5 / std::sqrt(static_cast<double>(n));
    std::vector<double> l(static_cast<std::size_t>(n * n));
    for (std::int64_t b = 0; b < count; ++b) {
      for (std::int64_t c = 0; c < n; ++c) {
        for (std::int64_t r = c; r < n; ++r) {
          l[index(r, c)] = r == c ? 1.5 + unit(random) / 2 : small * unit(random);
        }
      }
      std::vector<double> a(static_cast<std::size_t>(n * n), 0.0);
      for (std::int64_t c = 0; c < n; ++c) {
        for (std::int64_t k = 0; k <= c; ++k) {
          const double factor = l[index(c, k)];
          for (std::int64_t r = c; r < n; ++r) a[index(r, c)] += factor * l[index(r, k)];
        }
      }
      bases_.emplace_back(a.begin(), a.end());
      for (std::size_t e = 0; e < a.size(); ++e) bases_.back()[e] = static_cast<T>(a[e]);
    }
  }

  std::size_t base_of(std::int64_t item) const {
    return static_cast<std::size_t>(item) % bases_.size();
  }

  /// By which the factor of an item is larger than its base's: a power of two, so exact.
  T scale_of(std::int64_t item) const {
    constexpr std::array<T, 3> kScales = {T(1), T(2), T(0.5)};
    return kScales[static_cast<std::size_t>(item) / bases_.size() % kScales.size()];
  }

  void place(std::int64_t item) {
    T* to = inputs_.get() + kRedZone + item * stride_;
    const std::vector<T>& base = bases_[base_of(item)];
    const T scale = scale_of(item) * scale_of(item);
    for (std::int64_t c = 0; c < shape_.n; ++c) {
      for (std::int64_t r = c; r < shape_.n; ++r) to[at(r, c)] = scale * base[index(r, c)];
    }
  }

  void choose_samples(std::mt19937_64& random) {
    samples_ = {0, shape_.batch / 2, shape_.batch - 1};
    std::uniform_int_distribution<std::int64_t> any(0, shape_.batch - 1);
    for (int k = 0; k < 8; ++k) samples_.push_back(any(random));
    std::sort(samples_.begin(), samples_.end());
    samples_.erase(std::unique(samples_.begin(), samples_.end()), samples_.end());
  }

  /// The factor of a base by plain loops in the next higher precision; made once.
  const std::vector<Reference>& reference(std::size_t base) {
    std::vector<Reference>& l = references_[base];
    if (!l.empty()) return l;
    const std::int64_t n = shape_.n;
    l.assign(bases_[base].begin(), bases_[base].end());
    for (std::int64_t c = 0; c < n; ++c) {
      for (std::int64_t k = 0; k < c; ++k) {
        const Reference factor = l[index(c, k)];
        for (std::int64_t r = c; r < n; ++r) l[index(r, c)] -= factor * l[index(r, k)];
      }
      const Reference pivot = std::sqrt(l[index(c, c)]);
      for (std::int64_t r = c; r < n; ++r) l[index(r, c)] /= pivot;
    }
    return l;
  }

  std::string check_sample(int copy, std::int64_t item) {
    const std::int64_t n = shape_.n;
    const T* got = items(copy) + item * stride_;
    const std::vector<Reference>& l = reference(base_of(item));
    const auto scale = static_cast<Reference>(scale_of(item));
    const Reference unit = static_cast<Reference>(std::numeric_limits<T>::epsilon()) / 2;
    for (std::int64_t r = 0; r < n; ++r) {
      Reference norm = 0;
      for (std::int64_t c = 0; c <= r; ++c) norm += l[index(r, c)] * l[index(r, c)];
      const Reference bound = static_cast<Reference>(kErrorBound) * static_cast<Reference>(n + 1) *
                              unit * scale * std::sqrt(norm);
      for (std::int64_t c = 0; c <= r; ++c) {
        const T value = got[at(r, c)];
        if (!std::isfinite(value)) return "residual_nonfinite";
        if (!(std::abs(static_cast<Reference>(value) - scale * l[index(r, c)]) <= bound)) {
          return "residual";
        }
      }
    }
    return {};
  }

  /// Twice the bound, in the Frobenius norm of the whole item.
  bool agrees_with_witness(int copy, std::int64_t item) const {
    const std::int64_t n = shape_.n;
    const T* got = items(copy) + item * stride_;
    const T* other = witness_.get() + kRedZone + item * stride_;
    double off = 0;
    double norm = 0;
    for (std::int64_t c = 0; c < n; ++c) {
      const std::int64_t from = shape_.uplo == Uplo::kLower ? c : 0;
      const std::int64_t to = shape_.uplo == Uplo::kLower ? n : c + 1;
      for (std::int64_t r = from; r < to; ++r) {
        const auto x = static_cast<double>(got[c * lda_ + r]);
        const auto y = static_cast<double>(other[c * lda_ + r]);
        off += (x - y) * (x - y);
        norm += y * y;
      }
    }
    const double bound = 2 * kErrorBound * static_cast<double>(n + 1) *
                         static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    return off <= bound * bound * norm;
  }

  /// What is not the factor itself: the bytes around it, and info.
  std::string check_around(int copy) const {
    require_copy(copy);
    if (std::string wrong = check_untouched(copy); !wrong.empty()) return wrong;
    const int* info = info_.data() + copy * shape_.batch;
    if (std::any_of(info, info + shape_.batch, [](int one) { return one != 0; })) return "info";
    return {};
  }

  /// Whatever potrf has no business with must be as in the inputs, bit by bit.
  std::string check_untouched(int copy) const {
    const std::int64_t n = shape_.n;
    const T* mine = copy_at(copy);
    const auto same = [&](std::int64_t from, std::int64_t count) {
      return count <= 0 || std::memcmp(mine + from, inputs_.get() + from, bytes(count)) == 0;
    };
    if (!same(0, kRedZone)) return "red_zone";
    for (std::int64_t i = 0; i < shape_.batch; ++i) {
      const std::int64_t item = kRedZone + i * stride_;
      for (std::int64_t c = 0; c < n; ++c) {
        const std::int64_t column = item + c * lda_;
        if (shape_.uplo == Uplo::kLower ? !same(column, c) : !same(column + c + 1, n - c - 1)) {
          return "poison";
        }
        if (!same(column + n, lda_ - n)) return "red_zone";
      }
      if (!same(item + lda_ * n, stride_ - lda_ * n)) return "red_zone";
    }
    const std::int64_t end = kRedZone + shape_.batch * stride_;
    return same(end, elements_ - end) ? "" : "red_zone";
  }

  Shape shape_;
  std::int64_t lda_;
  std::int64_t stride_ = 0;
  std::int64_t elements_ = 0;  ///< of one copy
  Exec exec_;
  std::vector<std::vector<T>> bases_;
  std::vector<std::vector<Reference>> references_;  ///< of the bases; empty until needed
  std::vector<std::int64_t> samples_;
  Buffer inputs_;
  Buffer ring_;
  std::int64_t places_ = 1;  ///< of the ring
  std::int64_t place_ = 0;
  std::vector<int> info_;
  int copies_ = 0;
  Buffer witness_;
};

std::unique_ptr<Problem> make_problem(const std::string& dtype, const CellKey& key,
                                      const ProblemOptions& options) {
  const Shape shape = shape_of(key);
  if (options.extra_ld < 0) {
    throw std::invalid_argument("potrf: extra_ld is negative; allowed are 0 and more");
  }
  if (element_bytes(dtype) == sizeof(float)) {
    return std::make_unique<PotrfProblem<float>>(shape, options);
  }
  return std::make_unique<PotrfProblem<double>>(shape, options);
}

}  // namespace

/// Defined by the build, from the block at the top of this file.
KernelHashes potrf_kernel_hashes(const std::vector<std::string>& families);

const OpSpec& potrf_spec() {
  static const OpSpec spec = [] {
    OpSpec s;
    s.vocabulary = potrf::vocabulary();
    std::vector<std::string> families;
    for (const FamilySchema& family : s.vocabulary.families) families.push_back(family.name);
    s.hashes = potrf_kernel_hashes(families);
    s.axes = [](const std::string& dtype) {
      element_bytes(dtype);
      return potrf::axes();
    };
    s.input_bytes = [](const std::string& dtype, const CellKey& key) {
      const Shape shape = shape_of(key);
      return shape.batch * shape.n * shape.n * element_bytes(dtype);
    };
    s.grid_bytes = std::int64_t{256} << 20;
    s.max_dim = [](const CellKey& key) { return shape_of(key).n; };
    s.make_problem = make_problem;
    s.environment = [] {
      return fmt::format("{}; simd {}; threads 1; {} {}", FURLONG_COMPILER_TEXT, simd_target_name(),
                         vendor_name(), vendor_core());
    };
    s.flops = [](const CellKey& key) {
      const Shape shape = shape_of(key);
      const auto n = static_cast<double>(shape.n);
      return static_cast<double>(shape.batch) * (n * n * n / 3 + n * n / 2 + n / 6);
    };
    s.can_run = [](const std::string& dtype, const CellKey& key, int candidate) {
      element_bytes(dtype);
      const Shape shape = shape_of(key);
      return potrf::can_run(choice_at(candidate), shape.n, shape.n);
    };
    s.selector = []() -> select::Selector& { return potrf::selector(); };
    return s;
  }();
  return spec;
}

}  // namespace furlong::blas
