#include "race/screen.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace furlong::race {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Holds what is known of the candidates between two looks.
class Screening {
 public:
  Screening(int count, const ScreenRules& rules, const Feed& feed) : rules_(rules), feed_(feed) {
    const auto size = static_cast<std::size_t>(std::max(count, 0));
    result_.times.resize(size);
    result_.quiet.assign(size, kNaN);
    live_.resize(size);
    std::iota(live_.begin(), live_.end(), 0);
  }

  Screened run() {
    look(1);
    left_ = rules_.extra * spent_;
    while (runs_ < rules_.most_runs && live_.size() > 1) {
      const int next = std::min(2 * runs_, rules_.most_runs);
      keep(next);
      const double before = spent_;
      look(next);
      left_ -= spent_ - before;
    }
    result_.kept = std::move(live_);
    return std::move(result_);
  }

 private:
  std::vector<double>& times(int candidate) {
    return result_.times[static_cast<std::size_t>(candidate)];
  }
  double& quiet(int candidate) { return result_.quiet[static_cast<std::size_t>(candidate)]; }

  /// Leaves those whose runs up to `next` are worth their time; live_ is ordered.
  void keep(int next) {
    const double budget = next == rules_.most_runs ? left_ : left_ / 2;
    double cost = 0;
    std::size_t kept = 0;
    for (; kept < live_.size(); ++kept) {
      const double time = quiet(live_[kept]);
      cost += time * (next - runs_);
      const bool must = kept < static_cast<std::size_t>(std::max(rules_.least_kept, 1));
      if (time > kHopeless * quiet(live_.front())) break;
      if (!must && cost > budget) break;
    }
    live_.resize(kept);
    std::sort(live_.begin(), live_.end());
  }

  /// Times the live ones until each has `runs` runs, then orders them.
  void look(int runs) {
    for (; runs_ < runs; ++runs_) {
      for (const int candidate : round_order(live_, runs_, false)) {
        const auto time = feed_(candidate, runs_);
        if (time) {
          times(candidate).push_back(*time);
          spent_ += *time;
        } else {
          times(candidate).clear();
          quiet(candidate) = kNaN;
        }
      }
      std::erase_if(live_, [&](int candidate) { return times(candidate).empty(); });
    }
    for (const int candidate : live_) quiet(candidate) = quiet_time(times(candidate));
    std::sort(live_.begin(), live_.end(),
              [&](int a, int b) { return quiet(a) != quiet(b) ? quiet(a) < quiet(b) : a < b; });
  }

  const ScreenRules& rules_;
  const Feed& feed_;
  Screened result_;
  std::vector<int> live_;
  int runs_ = 0;
  double spent_ = 0;
  double left_ = 0;
};

}  // namespace

double quiet_time(std::span<const double> runs) {
  std::vector<double> sorted;
  sorted.reserve(runs.size());
  for (const double run : runs) {
    if (!std::isnan(run)) sorted.push_back(run);
  }
  if (sorted.empty()) return kNaN;
  const auto third = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 3);
  std::nth_element(sorted.begin(), third, sorted.end());
  return *third;
}

Screened screen(int count, const ScreenRules& rules, const Feed& feed) {
  return Screening(count, rules, feed).run();
}

Result race_screened(const Screened& screened, const Rules& rules, const Feed& feed) {
  const auto known = [&](int position, int round) -> std::optional<double> {
    const int candidate = screened.kept[static_cast<std::size_t>(position)];
    const auto& runs = screened.times[static_cast<std::size_t>(candidate)];
    const auto r = static_cast<std::size_t>(round);
    return r < runs.size() ? runs[r] : feed(candidate, round);
  };
  return race(static_cast<int>(screened.kept.size()), rules, known);
}

}  // namespace furlong::race
