#include "race/compare.hh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "race/interval_timer.hh"
#include "race/race.hh"

namespace furlong::race {
namespace {

constexpr std::int64_t kRingBytes = std::int64_t{64} << 20;

struct Repetition {
  int calls = 1;
  double expected_s = 0;
};

Interval rethrown(Interval interval) {
  if (interval.thrown) std::rethrow_exception(interval.thrown);
  return interval;
}

Repetition repetition_of(IntervalTimer& timer, int candidate, const CompareOptions& options,
                         int most_calls) {
  const double wanted_s = options.min_interval_us / 1e6;
  Repetition repetition;
  for (;;) {
    repetition.expected_s = rethrown(timer.time(candidate, repetition.calls)).seconds;
    if (repetition.expected_s >= wanted_s || repetition.calls >= most_calls) return repetition;
    const double factor =
        std::clamp(1.2 * wanted_s / std::max(repetition.expected_s, 1e-8), 2.0, 16.0);
    repetition.calls =
        static_cast<int>(std::min<double>(most_calls, std::ceil(repetition.calls * factor)));
  }
}

}  // namespace

std::vector<Contender> compare(Problem& problem, const std::vector<int>& candidates,
                               const CompareOptions& options, const host::Clock& clock,
                               CoreWatch& watch) {
  const std::int64_t copies = kRingBytes / std::max<std::int64_t>(1, problem.copy_bytes());
  const int most_calls = static_cast<int>(std::clamp<std::int64_t>(copies, 1, 4096));
  const Now now = [&clock] { return std::chrono::duration<double>(clock.steady()).count(); };
  IntervalTimer timer(problem, now, watch);
  Patience patience;
  patience.left_s = options.patience_s;

  std::vector<Contender> contenders;
  std::vector<Repetition> repetitions;
  for (const int candidate : candidates) {
    contenders.push_back({candidate, {}, 0});
    repetitions.push_back(repetition_of(timer, candidate, options, most_calls));
  }
  std::mt19937 random(options.seed);
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = -1; round < options.rounds; ++round) {
    // What ran before leaves its mark (clock, caches), so nobody always follows the same one. No
    // std::shuffle: its order is the library's own.
    problem.move_ring(round + 1);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const std::size_t at : order) {
      const auto& [calls, expected_s] = repetitions[at];
      const auto interval =
          rethrown(timer.time_quietly(contenders[at].candidate, calls, expected_s, patience));
      if (round >= 0) contenders[at].ms.push_back(interval.seconds * 1e3 / calls);
    }
  }
  for (Contender& contender : contenders) contender.median_ms = median(contender.ms);
  return contenders;
}

double paired_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(a[i] / b[i]);
  return median(ratios);
}

Regret held_out_regret(const Contender& picked, const std::vector<Contender>& contenders) {
  const auto rounds_of = [](const Contender& contender, std::size_t parity) {
    std::vector<double> ms;
    for (std::size_t i = parity; i < contender.ms.size(); i += 2) ms.push_back(contender.ms[i]);
    return ms;
  };
  const auto best_by = [&](const auto& rounds) {
    const Contender* best = &picked;
    double best_ms = std::numeric_limits<double>::infinity();
    for (const Contender& contender : contenders) {
      const double ms = median(rounds(contender));
      if (ms < best_ms) {
        best_ms = ms;
        best = &contender;
      }
    }
    return best;
  };
  double log_ratio = 0;
  for (const std::size_t half : {0, 1}) {
    const auto* best = best_by([&](const Contender& one) { return rounds_of(one, half); });
    log_ratio += std::log(paired_ratio(rounds_of(picked, 1 - half), rounds_of(*best, 1 - half)));
  }
  return {std::exp(log_ratio / 2), best_by([](const Contender& one) { return one.ms; })->candidate};
}

}  // namespace furlong::race
