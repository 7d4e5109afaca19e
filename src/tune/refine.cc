#include "tune/refine.hh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/number.hh"
#include "race/race.hh"
#include "tune/lattice.hh"

namespace furlong::tune {

namespace {

/// One value of a key: log values compare as integers, the others as bytes.
struct Coordinate {
  std::int64_t number = 0;
  std::string text;
  auto operator<=>(const Coordinate&) const = default;
};
using Point = std::vector<Coordinate>;

Point point_of(std::span<const Axis> axes, const CellKey& cell) {
  Point point;
  for (const Axis& axis : axes) {
    const std::string& value = *cell.find(axis.name);
    if (axis.kind == AxisKind::kLog) {
      point.push_back({*parse_positive(value), {}});
    } else {
      point.push_back({0, value});
    }
  }
  return point;
}

CellKey key_of(std::span<const Axis> axes, const Point& point) {
  CellKey key;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    key.items.push_back({axes[i].name, axes[i].kind == AxisKind::kLog
                                           ? std::to_string(point[i].number)
                                           : point[i].text});
  }
  return key;
}

const double* time_of(const KnownCell& cell, const std::string& candidate) {
  const auto found = cell.ms.find(candidate);
  return found == cell.ms.end() ? nullptr : &found->second;
}

/// Does the cell say clearly that `other`, which wins elsewhere, does not win here?
bool decisive(const KnownCell& here, const std::string& other) {
  const double* theirs = time_of(here, other);
  if (theirs == nullptr) return here.out.count(other) != 0;
  const double* own = time_of(here, here.ranked.front());
  return own == nullptr || *theirs > race::kTieFactor * *own;
}

bool is_flip(const KnownCell& lo, const KnownCell& hi) {
  if (lo.ranked.front() == hi.ranked.front()) return false;
  return decisive(lo, hi.ranked.front()) || decisive(hi, lo.ranked.front());
}

bool has_close_second(const KnownCell& cell, double margin) {
  const std::string& winner = cell.ranked.front();
  const double* own = time_of(cell, winner);
  if (own == nullptr) return false;
  return std::any_of(cell.ms.begin(), cell.ms.end(), [&](const auto& entry) {
    return entry.first != winner && entry.second <= *own * (1 + margin);
  });
}

bool is_near(const KnownCell& lo, const KnownCell& hi, double margin) {
  return margin > 0 && lo.origin == Origin::kLattice && hi.origin == Origin::kLattice &&
         (has_close_second(lo, margin) || has_close_second(hi, margin));
}

/// The value to measure between two values of an axis, if any.
std::optional<std::int64_t> middle(const Axis& axis, std::int64_t lo, std::int64_t hi,
                                   const RefineRules& rules) {
  const bool is_batch = axis.name == "batch";
  if (is_batch || rules.mode == RefineMode::kIndex) {
    std::vector<std::int64_t> between;
    for (const std::string& value : axis.values) {
      const auto number = parse_positive(value);
      if (number && *number > lo && *number < hi) between.push_back(*number);
    }
    if (!between.empty()) return between[(between.size() - 1) / 2];
  }
  if (is_batch || hi - lo < 2) return std::nullopt;
  if (static_cast<double>(hi) / static_cast<double>(lo) < rules.midpoint_ratio) {
    return std::nullopt;
  }
  const double root = std::sqrt(static_cast<double>(lo) * static_cast<double>(hi));
  return std::clamp<std::int64_t>(std::llround(root), lo + 1, hi - 1);
}

}  // namespace

RefineRules refine_rules_of(const TierParameters& parameters) {
  return {parameters.refine, parameters.midpoint_ratio, parameters.margin};
}

std::vector<CellKey> propose(std::span<const Axis> axes, std::span<const KnownCell> cells,
                             const RefineRules& rules) {
  std::map<Point, const KnownCell*> known;
  for (const KnownCell& cell : cells) {
    if (in_box(axes, cell.key)) known.emplace(point_of(axes, cell.key), &cell);
  }
  std::vector<Point> flips;
  std::vector<Point> nears;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].kind != AxisKind::kLog) continue;
    // A line: the point without this axis, then its cells by their value on it.
    std::map<Point, std::map<std::int64_t, const KnownCell*>> lines;
    for (const auto& [point, cell] : known) {
      if (cell->ranked.empty()) continue;
      Point rest = point;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(a));
      lines[rest][point[a].number] = cell;
    }
    for (const auto& [rest, line] : lines) {
      for (auto lo = line.begin(); lo != line.end(); ++lo) {
        const auto hi = std::next(lo);
        if (hi == line.end()) break;
        const bool flip = is_flip(*lo->second, *hi->second);
        if (!flip && !is_near(*lo->second, *hi->second, rules.margin)) continue;
        const auto value = middle(axes[a], lo->first, hi->first, rules);
        if (!value) continue;
        Point point = rest;
        point.insert(point.begin() + static_cast<std::ptrdiff_t>(a), Coordinate{*value, {}});
        if (known.count(point) == 0) (flip ? flips : nears).push_back(std::move(point));
      }
    }
  }
  std::vector<CellKey> proposals;
  std::set<Point> seen;
  for (const auto* list : {&flips, &nears}) {
    for (const Point& point : *list) {
      if (seen.insert(point).second) proposals.push_back(key_of(axes, point));
    }
  }
  return proposals;
}

int allowance(double factor, int lattice_cells, int refined_cells) {
  return std::max(0, static_cast<int>(std::floor(factor * lattice_cells + 1e-9)) - refined_cells);
}

Refinement::Refinement(std::vector<Axis> axes, const TierParameters& parameters)
    : axes_(std::move(axes)), parameters_(parameters) {}

void Refinement::add(KnownCell cell) {
  const auto [at, is_new] = index_.emplace(cell.key.text(), cells_.size());
  if (is_new) {
    cells_.push_back(std::move(cell));
  } else {
    cells_[at->second] = std::move(cell);
  }
}

std::vector<CellKey> Refinement::next(const Available& available) {
  while (!capped_) {
    const auto proposals = propose(axes_, cells_, refine_rules_of(parameters_));
    if (proposals.empty()) break;
    std::vector<CellKey> round;
    for (const CellKey& key : proposals) {
      if (!available || available(key)) {
        round.push_back(key);
      } else {
        ++unavailable_;
        add({key, {}, {}, {}, Origin::kOther});
      }
    }
    const auto count = [&](Origin origin) {
      return static_cast<int>(
          std::count_if(cells_.begin(), cells_.end(),
                        [&](const KnownCell& cell) { return cell.origin == origin; }));
    };
    const auto room = static_cast<std::size_t>(
        allowance(parameters_.refine_cap, count(Origin::kLattice), count(Origin::kRefined)));
    if (round.size() > room) {
      capped_ = true;
      round.resize(room);
    }
    if (!round.empty()) return round;
  }
  return {};
}

}  // namespace furlong::tune
