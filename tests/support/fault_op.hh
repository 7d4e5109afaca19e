// A toy op whose candidates go wrong in every way that a kernel can: y = 3x + 1 in place, for
// `batch` items of `n` values.
//
// In a real process a fatal fault is the real thing; in a simulation FaultWorld says what it does.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/number.hh"
#include "furlong/op_spec.hh"

namespace furlong::testing {

enum class Fault {
  kNone,
  kSlower,    ///< right, and slower with every call
  kFastOnce,  ///< right, and fast in its first calls only
  kWrongValue,
  kWrongAtOneItem,
  kWrongAtLd,
  kNan,
  kRedZone,
  kPadding,
  kPartialWrite,
  kStaleOutput,
  kInPlaceTwice,
  kNondeterministic,  ///< wrong in three of four calls, by chance
  kThrows,
  kThrowsLater,
  kSegfault,
  kHangs,
  kExits,
  kEatsMemory,
  kBreaksHeap,
};
inline constexpr int kFaultCount = static_cast<int>(Fault::kBreaksHeap) + 1;

/// What is right, however long it takes.
inline bool is_correct(Fault fault) {
  return fault <= Fault::kFastOnce;
}

struct FaultCandidate {
  std::string name;  ///< a family without fields
  double cost_s = 20e-6;
  Fault fault = Fault::kNone;
};

/// What the candidates act on; outlives the op.
struct FaultWorld {
  std::vector<FaultCandidate> candidates;
  std::function<void(double seconds)> spend;  ///< lets time pass
  std::function<void(Fault)> fatal;           ///< ends the process, or pretends to
  std::vector<int> calls;                     ///< per candidate
};

class FaultProblem : public Problem {
 public:
  FaultProblem(FaultWorld& world, const CellKey& key, const ProblemOptions& options)
      : world_(world),
        n_(static_cast<int>(*parse_positive(*key.find("n")))),
        batch_(static_cast<int>(*parse_positive(*key.find("batch")))),
        ld_(n_ + static_cast<int>(options.extra_ld)),
        random_(options.seed),
        stale_(world.candidates.size()) {
    world_.calls.resize(world_.candidates.size(), 0);
    input_.assign(size(), kPoison);
    std::uniform_real_distribution<double> any(1, 2);
    for (int item = 0; item < batch_; ++item) {
      for (int i = 0; i < n_; ++i) input_[at(item, i)] = any(random_);
    }
  }

  select::Refusal can_run(int) override { return {}; }
  std::int64_t copy_bytes() const override { return static_cast<std::int64_t>(size()) * 8; }
  void resize_ring(int copies) override {
    ring_.assign(static_cast<std::size_t>(copies), std::vector<double>(size()));
  }
  void restore(int copies) override {
    for (int c = 0; c < copies; ++c) ring_.at(static_cast<std::size_t>(c)) = input_;
  }
  void run(int candidate, int first, int count) override {
    for (int c = first; c < first + count; ++c) {
      call(candidate, ring_.at(static_cast<std::size_t>(c)));
    }
  }
  std::string verify(int copy) override {
    const auto& data = ring_.at(static_cast<std::size_t>(copy));
    for (std::size_t i = 0; i < size(); ++i) {
      if (input_[i] == kPoison && data[i] != kPoison) return "red_zone";
    }
    for (const int item : {0, batch_ / 2, batch_ - 1}) {
      if (auto wrong = check(data, item); !wrong.empty()) return wrong;
    }
    for (std::size_t i = 0; !witness_.empty() && i < size(); ++i) {
      if (!(std::abs(data[i] - witness_[i]) <= 1e-9)) return "witness";
    }
    return {};
  }
  std::string verify_every(int copy) override {
    for (int item = 0; item < batch_; ++item) {
      const auto& data = ring_.at(static_cast<std::size_t>(copy));
      if (auto wrong = check(data, item); !wrong.empty()) return wrong;
    }
    return {};
  }
  void adopt_witness(int copy) override { witness_ = ring_.at(static_cast<std::size_t>(copy)); }

 private:
  static constexpr double kPoison = -12345.0;
  static constexpr int kZone = 8;

  std::size_t size() const { return static_cast<std::size_t>(2 * kZone + batch_ * ld_); }
  std::size_t at(int item, int i) const { return static_cast<std::size_t>(kZone + item * ld_ + i); }
  std::string check(const std::vector<double>& data, int item) const {
    for (int i = 0; i < n_; ++i) {
      const double value = data[at(item, i)];
      if (!std::isfinite(value)) return "residual_nonfinite";
      if (std::abs(value - (3 * input_[at(item, i)] + 1)) > 1e-9) return "residual";
    }
    return {};
  }

  void call(int candidate, std::vector<double>& data) {
    const auto c = static_cast<std::size_t>(candidate);
    const FaultCandidate& what = world_.candidates.at(c);
    const int calls = ++world_.calls[c];
    double cost = what.cost_s;
    const Fault fault = what.fault;
    if (fault == Fault::kSlower) cost *= 1 + 0.01 * calls;
    if (fault == Fault::kFastOnce && calls <= 3) cost /= 10;
    if (fault == Fault::kThrows) throw std::runtime_error("threw");
    if (fault == Fault::kThrowsLater && calls > 2) throw std::runtime_error("threw later");
    if (fault >= Fault::kSegfault) world_.fatal(fault);
    for (int item = 0; item < batch_; ++item) {
      if (fault == Fault::kPartialWrite && item == batch_ - 1) break;
      for (int i = 0; i < n_; ++i) data[at(item, i)] = 3 * data[at(item, i)] + 1;
    }
    // An item that no sample looks at, where there is one.
    double& one = data[at(batch_ > 3 ? batch_ / 3 : batch_ - 1, n_ - 1)];
    switch (fault) {
      case Fault::kWrongValue:
        for (int i = 0; i < n_; ++i) data[at(0, i)] += 0.5;
        break;
      case Fault::kWrongAtOneItem:
        one += 1e-3;
        break;
      case Fault::kWrongAtLd:
        if (ld_ != n_) one += 1e-3;
        break;
      case Fault::kNan:
        one = std::numeric_limits<double>::quiet_NaN();
        break;
      case Fault::kRedZone:
        data[at(batch_, 0)] = 0;
        break;
      case Fault::kPadding:
        data[ld_ != n_ ? at(0, n_) : 1] = 0;
        break;
      case Fault::kStaleOutput:
        if (stale_[c].size() == data.size()) data = stale_[c];
        stale_[c] = data;
        for (double& value : stale_[c]) {
          if (value != kPoison) value += 0.25;
        }
        break;
      case Fault::kInPlaceTwice:
        if (calls % 2 == 0) one = 3 * one + 1;
        break;
      case Fault::kNondeterministic:
        if (random_() % 4 != 0) one += 1e-3;
        break;
      default:
        break;
    }
    world_.spend(cost);
  }

  FaultWorld& world_;
  int n_;
  int batch_;
  int ld_;
  std::mt19937_64 random_;
  std::vector<std::vector<double>> stale_;
  std::vector<double> input_;
  std::vector<double> witness_;
  std::vector<std::vector<double>> ring_;
};

/// The op `fault` over a world, for all four usual dtypes.
inline OpSpec fault_spec(FaultWorld& world) {
  OpSpec spec;
  auto& v = spec.vocabulary;
  v.op = "fault";
  v.keys = KeySpec::parse("n:log batch:log").value();
  v.exact_values = {{}, {}};
  v.dtypes = {"float", "double", "cfloat", "cdouble"};
  std::vector<std::string> names;
  for (const auto& candidate : world.candidates) {
    names.push_back(candidate.name);
    v.families.push_back({candidate.name, {}});
    spec.hashes.families.emplace_back(candidate.name, "0badcafe");
  }
  spec.hashes.kernels = "0badcafe";
  v.candidates.assign(v.dtypes.size(), names);
  v.last_resort = {names.front()};
  spec.axes = [](const std::string&) {
    return std::vector<Axis>{log_axis("n", {1, 2, 4, 8}), log_axis("batch", {4, 16, 64})};
  };
  spec.input_bytes = [](const std::string&, const CellKey& key) {
    return *parse_positive(*key.find("n")) * *parse_positive(*key.find("batch")) * 8;
  };
  spec.max_dim = [](const CellKey& key) { return *parse_positive(*key.find("n")); };
  spec.make_problem = [&world](const std::string&, const CellKey& key,
                               const ProblemOptions& options) -> std::unique_ptr<Problem> {
    return std::make_unique<FaultProblem>(world, key, options);
  };
  spec.environment = [] { return std::string("a toy"); };
  spec.flops = [](const CellKey&) { return 0.0; };
  spec.can_run = [](const std::string&, const CellKey&, int) { return select::Refusal{}; };
  return spec;
}

}  // namespace furlong::testing
