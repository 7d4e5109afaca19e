#include "race/compare.hh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "race/race.hh"

namespace furlong::race {
namespace {

constexpr std::int64_t kRingBytes = std::int64_t{64} << 20;

struct Ring {
  Problem& problem;
  int copies = 0;

  void grow(int wanted) {
    if (wanted <= copies) return;
    problem.resize_ring(wanted);
    copies = wanted;
  }
};

double interval_us(Ring& ring, int candidate, int calls, const host::Clock& clock) {
  Problem& problem = ring.problem;
  ring.grow(calls);
  problem.restore(calls);
  const auto start = clock.steady();
  problem.run(candidate, 0, calls);
  return std::chrono::duration<double, std::micro>(clock.steady() - start).count();
}

int calls_per_repetition(Ring& ring, int candidate, const CompareOptions& options, int most_calls,
                         const host::Clock& clock) {
  int calls = 1;
  while (calls < most_calls) {
    const double us = interval_us(ring, candidate, calls, clock);
    if (us >= options.min_interval_us) break;
    const double factor = std::clamp(1.2 * options.min_interval_us / std::max(us, 0.01), 2.0, 16.0);
    calls = static_cast<int>(std::min<double>(most_calls, std::ceil(calls * factor)));
  }
  return calls;
}

}  // namespace

std::vector<Contender> compare(Problem& problem, const std::vector<int>& candidates,
                               const CompareOptions& options, const host::Clock& clock) {
  const std::int64_t copies = kRingBytes / std::max<std::int64_t>(1, problem.copy_bytes());
  const int most_calls = static_cast<int>(std::clamp<std::int64_t>(copies, 1, 4096));
  Ring ring{problem};

  std::vector<Contender> contenders;
  std::vector<int> calls;
  for (const int candidate : candidates) {
    contenders.push_back({candidate, {}, 0});
    calls.push_back(calls_per_repetition(ring, candidate, options, most_calls, clock));
  }
  std::mt19937 random(options.seed);
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = -1; round < options.rounds; ++round) {
    // What ran before leaves its mark (clock, caches), so nobody always follows the same one. No
    // std::shuffle: its order is the library's own.
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const std::size_t at : order) {
      const double us = interval_us(ring, contenders[at].candidate, calls[at], clock);
      if (round >= 0) contenders[at].ms.push_back(us / calls[at] / 1000);
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
