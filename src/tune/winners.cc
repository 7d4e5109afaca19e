#include "tune/winners.hh"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "race/screen.hh"

namespace furlong::tune {
namespace {

using Statistic = double (*)(std::span<const double>);

int smallest(const std::vector<double>& values) {
  return static_cast<int>(std::min_element(values.begin(), values.end()) - values.begin());
}

double minimum(std::span<const double> runs) {
  return *std::min_element(runs.begin(), runs.end());
}

double mean(std::span<const double> runs) {
  return std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
}

/// So many runs of everyone, and the smallest statistic.
Strategy exhaustive(std::string name, int runs, Statistic statistic) {
  const auto pick = [runs, statistic](int count, const race::Feed& feed) {
    std::vector<double> values;
    std::vector<double> seen;
    for (int candidate = 0; candidate < count; ++candidate) {
      seen.clear();
      for (int run = 0; run < runs; ++run) seen.push_back(feed(candidate, run).value());
      values.push_back(statistic(seen));
    }
    return smallest(values);
  };
  return {std::move(name), pick};
}

int pick_by_halving(int count, const race::Feed& feed) {
  constexpr int kMostRuns = 16;
  constexpr std::size_t kOneOf = 4;
  std::vector<std::vector<double>> seen(static_cast<std::size_t>(count));
  std::vector<double> middle(seen.size());
  std::vector<int> live(seen.size());
  std::iota(live.begin(), live.end(), 0);
  for (int runs = 1;; runs *= 2) {
    for (const int candidate : live) {
      auto& row = seen[static_cast<std::size_t>(candidate)];
      while (static_cast<int>(row.size()) < runs) {
        row.push_back(feed(candidate, static_cast<int>(row.size())).value());
      }
      middle[static_cast<std::size_t>(candidate)] = race::median(row);
    }
    std::stable_sort(live.begin(), live.end(), [&](int a, int b) {
      return middle[static_cast<std::size_t>(a)] < middle[static_cast<std::size_t>(b)];
    });
    if (runs == kMostRuns || live.size() == 1) return live.front();
    live.resize((live.size() + kOneOf - 1) / kOneOf);
  }
}

int pick_by_screening(int count, const race::Feed& feed) {
  const auto screened = race::screen(count, {}, feed);
  const auto result = race::race_screened(screened, race::rules_of(Tier::kCoarse), feed);
  const auto ranked = race::ranking(result);
  return screened.kept[static_cast<std::size_t>(ranked.front())];
}

/// Fisher and Yates; the same on every machine, which std::shuffle is not.
void shuffle_numbers(std::vector<std::size_t>& order, std::mt19937_64& random) {
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
}

}  // namespace

std::vector<Strategy> strategies() {
  return {exhaustive("one run", 1, minimum), exhaustive("minimum of ten", 10, minimum),
          exhaustive("mean of seven", 7, mean), Strategy{"plain halving", pick_by_halving},
          Strategy{"screen, then race", pick_by_screening}};
}

std::vector<PickReport> judge(std::span<const std::vector<double>> runs,
                              std::span<const Strategy> strategies, Shuffle shuffle, int shuffles,
                              std::uint64_t seed) {
  const std::size_t each = runs.empty() ? 0 : runs.front().size();
  const bool same =
      std::all_of(runs.begin(), runs.end(), [&](const auto& row) { return row.size() == each; });
  if (each < 2 || each % 2 != 0 || !same || shuffles < 1) {
    throw std::invalid_argument(
        "judge: rows of one even size and at least one shuffle are allowed");
  }
  const std::size_t half = each / 2;
  const std::size_t count = runs.size();
  double seven = 0;
  for (const auto& row : runs) seven += 7 * mean(row);

  std::vector<PickReport> reports(strategies.size());
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order(each);
  std::vector<double> shown(count * half);
  std::vector<double> hidden(half);
  std::vector<double> judged(count);
  for (int s = 0; s < shuffles; ++s) {
    for (std::size_t c = 0; c < count; ++c) {
      if (c == 0 || shuffle == Shuffle::kApart) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        shuffle_numbers(order, random);
      }
      for (std::size_t i = 0; i < half; ++i) {
        shown[c * half + i] = runs[c][order[i]];
        hidden[i] = runs[c][order[half + i]];
      }
      judged[c] = race::median(hidden);
    }
    const int best = smallest(judged);
    for (std::size_t i = 0; i < strategies.size(); ++i) {
      double cost = 0;
      const auto feed = [&](int candidate, int run) -> std::optional<double> {
        const auto c = static_cast<std::size_t>(candidate);
        const auto r = static_cast<std::size_t>(run);
        if (c >= count || r >= half) {
          throw std::invalid_argument("judge: " + strategies[i].name +
                                      " asks for a run that it may not see");
        }
        cost += shown[c * half + r];
        return shown[c * half + r];
      };
      const int picked = strategies[i].pick(static_cast<int>(count), feed);
      PickReport& report = reports[i];
      report.regret +=
          judged[static_cast<std::size_t>(picked)] / judged[static_cast<std::size_t>(best)] - 1;
      report.cost_share += cost / seven;
      report.largest_share = std::max(report.largest_share, cost / seven);
      report.flips += picked == best ? 0 : 1;
    }
  }
  for (PickReport& report : reports) {
    report.regret /= shuffles;
    report.cost_share /= shuffles;
    report.flips /= shuffles;
  }
  return reports;
}

}  // namespace furlong::tune
