#include "race/race.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace furlong::race {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double time_at(const Times& times, int candidate, int round) {
  const auto& row = times[static_cast<std::size_t>(candidate)];
  const auto r = static_cast<std::size_t>(round);
  return r < row.size() ? row[r] : kNaN;
}

/// Sorted ratios candidate/leader over the rounds where both ran.
std::vector<double> ratios(const Times& times, int candidate, int leader, int rounds) {
  std::vector<double> q;
  for (int r = 0; r < rounds; ++r) {
    const double ratio = time_at(times, candidate, r) / time_at(times, leader, r);
    if (!std::isnan(ratio)) q.push_back(ratio);
  }
  std::sort(q.begin(), q.end());
  return q;
}

enum class Look { kEliminate, kTied, kOpen };

Look look_at(const std::vector<double>& q, const Rules& rules) {
  const int n = static_cast<int>(q.size());
  if (n >= 2 && median(q) > kHopeless) return Look::kEliminate;
  if (n < rules.min_rounds) return Look::kOpen;
  const int k = sign_bound(n, rules.confidence);
  if (k < 1) return Look::kOpen;
  if (q[static_cast<std::size_t>(k - 1)] > kTieFactor) return Look::kEliminate;
  if (q[static_cast<std::size_t>(n - k)] < kTieFactor) return Look::kTied;
  return Look::kOpen;
}

}  // namespace

Rules rules_of(Tier tier) {
  switch (tier) {
    case Tier::kDeep:
      return {6, 16, 0.98, true};
    case Tier::kPreview:
      return {3, 6, 0.80, false};
    default:
      return {4, 12, 0.90, false};
  }
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWinner:
      return "winner";
    case Verdict::kTie:
      return "tie";
    case Verdict::kCap:
      return "cap";
    case Verdict::kMore:
      break;
  }
  return "more";
}

double median(std::span<const double> values) {
  std::vector<double> sorted;
  sorted.reserve(values.size());
  for (const double value : values) {
    if (!std::isnan(value)) sorted.push_back(value);
  }
  if (sorted.empty()) return kNaN;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[half];
  return (sorted[half - 1] + sorted[half]) / 2;
}

int sign_bound(int n, double confidence) {
  const double limit = 1 - confidence + 1e-12;
  double term = std::ldexp(1.0, -n);  // P(Bin = i)
  double below = 0;                   // P(Bin < k)
  int k = 0;
  while (k < n) {
    below += term;
    if (below > limit) break;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

Step race_step(const Times& times, std::span<const int> live, int rounds, const Rules& rules) {
  Step step;
  if (live.size() <= 1) {
    step.verdict = Verdict::kWinner;
    return step;
  }
  int leader = live.front();
  double best = kNaN;
  for (const int candidate : live) {
    const double middle = median(times[static_cast<std::size_t>(candidate)]);
    if (middle < best || (std::isnan(best) && !std::isnan(middle))) {
      best = middle;
      leader = candidate;
    }
  }
  bool all_tied = true;
  for (const int candidate : live) {
    if (candidate == leader) continue;
    const Look look = look_at(ratios(times, candidate, leader, rounds), rules);
    if (look == Look::kEliminate) step.eliminated.push_back(candidate);
    if (look == Look::kOpen) all_tied = false;
  }
  if (live.size() - step.eliminated.size() <= 1) {
    step.verdict = Verdict::kWinner;
  } else if (all_tied) {
    step.verdict = Verdict::kTie;
  } else if (rounds >= rules.max_rounds) {
    step.verdict = Verdict::kCap;
  }
  return step;
}

std::vector<int> round_order(std::span<const int> live, int round, bool reverse_odd) {
  const std::size_t count = live.size();
  std::vector<int> order(count);
  const auto shift = static_cast<std::size_t>(reverse_odd ? round / 2 : round);
  for (std::size_t i = 0; i < count; ++i) order[i] = live[(i + shift) % count];
  if (reverse_odd && round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

std::vector<int> rank(std::span<const double> times) {
  std::vector<int> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.empty()) return order;
  const double limit = kTieFactor * *std::min_element(times.begin(), times.end());
  const auto time = [&](int i) { return times[static_cast<std::size_t>(i)]; };
  const auto rest =
      std::stable_partition(order.begin(), order.end(), [&](int i) { return time(i) <= limit; });
  std::stable_sort(rest, order.end(), [&](int a, int b) { return time(a) < time(b); });
  return order;
}

Result race(int count, const Rules& rules, const Feed& feed, const OnRound& on_round) {
  const auto size = static_cast<std::size_t>(std::max(count, 0));
  Result result;
  result.times.resize(size);
  result.eliminated_after.assign(size, 0);
  result.failed.assign(size, false);
  std::vector<int> live(size);
  std::iota(live.begin(), live.end(), 0);

  while (!live.empty()) {
    const int round = result.rounds;
    for (const int candidate : round_order(live, round, rules.reverse_odd)) {
      const auto i = static_cast<std::size_t>(candidate);
      const std::optional<double> time = feed(candidate, round);
      result.times[i].resize(static_cast<std::size_t>(round), kNaN);
      result.times[i].push_back(time.value_or(kNaN));
      if (!time) result.failed[i] = true;
    }
    ++result.rounds;
    std::erase_if(live, [&](int c) { return result.failed[static_cast<std::size_t>(c)]; });
    const Step step = race_step(result.times, live, result.rounds, rules);
    for (const int candidate : step.eliminated) {
      result.eliminated_after[static_cast<std::size_t>(candidate)] = result.rounds;
    }
    std::erase_if(live,
                  [&](int c) { return result.eliminated_after[static_cast<std::size_t>(c)] != 0; });
    if (on_round) on_round(round, step.eliminated);
    result.verdict = step.verdict;
    if (step.verdict == Verdict::kWinner && result.rounds < rules.min_rounds && !live.empty()) {
      continue;
    }
    if (step.verdict != Verdict::kMore) break;
  }
  for (const auto& row : result.times) result.medians.push_back(median(row));
  return result;
}

std::vector<int> ranking(const Result& result, std::span<const int> out) {
  std::vector<int> survivors;
  std::vector<int> eliminated;
  for (int c = 0; c < static_cast<int>(result.times.size()); ++c) {
    const auto i = static_cast<std::size_t>(c);
    if (result.failed[i] || std::isnan(result.medians[i])) continue;
    if (std::find(out.begin(), out.end(), c) != out.end()) continue;
    (result.eliminated_after[i] == 0 ? survivors : eliminated).push_back(c);
  }
  const auto time = [&](int c) { return result.medians[static_cast<std::size_t>(c)]; };
  std::vector<double> times;
  for (const int c : survivors) times.push_back(time(c));
  std::vector<int> ranked;
  for (const int position : rank(times)) {
    ranked.push_back(survivors[static_cast<std::size_t>(position)]);
  }
  std::stable_sort(eliminated.begin(), eliminated.end(),
                   [&](int a, int b) { return time(a) < time(b); });
  ranked.insert(ranked.end(), eliminated.begin(), eliminated.end());
  return ranked;
}

}  // namespace furlong::race
