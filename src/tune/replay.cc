#include "tune/replay.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/error.hh"
#include "race/race.hh"
#include "tune/lattice.hh"
#include "tune/refine.hh"

namespace furlong::tune {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Reads one file; keeps the place for messages.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Recording read(std::string_view text) {
    for (const std::string_view line : split(text, '\n')) {
      ++line_;
      if (!trim(line).empty()) read_line(line);
    }
    if (!has_meta_) {
      line_ = 1;
      fail("no meta line; the first line holds kind meta");
    }
    for (RecordedCell& cell : recording_.cells) {
      for (auto& times : cell.times) {
        std::sort(times.begin(), times.end(), [](const RecordedTime& a, const RecordedTime& b) {
          return std::pair(a.repetition, a.pass) < std::pair(b.repetition, b.pass);
        });
        const auto twice = std::adjacent_find(
            times.begin(), times.end(), [](const RecordedTime& a, const RecordedTime& b) {
              return a.repetition == b.repetition && a.pass == b.pass;
            });
        if (twice != times.end()) {
          throw Error(file_, "repetition " + std::to_string(twice->repetition) + " of pass " +
                                 std::to_string(twice->pass) + " at " + cell.key.text() +
                                 " is there twice; once a candidate is allowed");
        }
      }
    }
    return std::move(recording_);
  }

 private:
  using Json = nlohmann::json;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_ + ":" + std::to_string(line_), what);
  }

  const Json& field(const Json& object, const char* name) const {
    const auto found = object.find(name);
    if (found == object.end()) fail(std::string("no field ") + name + "; every line needs it");
    return *found;
  }

  std::string text_of(const Json& object, const char* name) const {
    const Json& value = field(object, name);
    if (!value.is_string()) fail(std::string("bad ") + name + "; a string is allowed");
    return value.get<std::string>();
  }

  int int_of(const Json& object, const char* name, int least) const {
    const Json& value = field(object, name);
    if (!value.is_number_integer() || value.get<std::int64_t>() < least ||
        value.get<std::int64_t>() > 1'000'000) {
      fail(std::string("bad ") + name + "; a whole number >= " + std::to_string(least) +
           " is allowed");
    }
    return value.get<int>();
  }

  void read_line(std::string_view line) {
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) fail("no JSON object; one a line is allowed");
    const std::string kind = text_of(object, "kind");
    if (kind == "meta" && !has_meta_) {
      read_meta(object);
      has_meta_ = true;
    } else if (kind == "rep" && has_meta_) {
      read_repetition(object);
    } else {
      fail("kind " + furlong::quoted(kind) + " here; one meta line and then rep lines are allowed");
    }
  }

  void read_meta(const Json& object) {
    recording_.op = text_of(object, "op");
    recording_.dtype = text_of(object, "dtype");
    recording_.device = text_of(object, "device");
    auto keys = KeySpec::parse(text_of(object, "keys"));
    if (!keys) fail("keys: " + keys.reason());
    recording_.keys = std::move(keys).value();
    const std::string candidates = text_of(object, "candidates");
    for (const auto name : split(candidates, '|')) {
      if (name.empty()) fail("an empty candidate; spellings separated by | are allowed");
      if (!candidate_index_.emplace(name, recording_.candidates.size()).second) {
        fail("candidate " + furlong::quoted(name) + " stands twice; once is allowed");
      }
      recording_.candidates.emplace_back(name);
    }
    const std::string axes = text_of(object, "axes");
    for (const auto word : words(axes)) {
      const auto at = word.find('=');
      if (at == std::string_view::npos || at == 0) {
        fail("bad axis " + furlong::quoted(word) + "; name=v1:v2 is allowed");
      }
      Axis axis;
      axis.name = std::string(word.substr(0, at));
      const int key = recording_.keys.index(axis.name);
      axis.kind = AxisKind::kHidden;
      if (key >= 0) {
        axis.kind = recording_.keys.keys()[static_cast<std::size_t>(key)].kind == KeyKind::kLog
                        ? AxisKind::kLog
                        : AxisKind::kExact;
      }
      for (const auto value : split(word.substr(at + 1), ':')) {
        if (value.empty() || (axis.kind == AxisKind::kLog && !parse_positive(value))) {
          fail("bad value " + furlong::quoted(value) + " of axis " + axis.name +
               "; a log axis takes whole numbers > 0");
        }
        axis.values.emplace_back(value);
      }
      recording_.axes.push_back(std::move(axis));
    }
    for (const Key& key : recording_.keys.keys()) {
      const bool has_axis = std::any_of(recording_.axes.begin(), recording_.axes.end(),
                                        [&](const Axis& axis) { return axis.name == key.name; });
      if (!has_axis) fail("key " + key.name + " has no axis; every key needs one");
    }
  }

  void read_repetition(const Json& object) {
    RecordedCell& cell = cell_of(text_of(object, "key"));
    const std::string name = text_of(object, "cand");
    const auto found = candidate_index_.find(name);
    if (found == candidate_index_.end())
      fail("unknown candidate " + furlong::quoted(name) + "; see the meta line");
    RecordedTime time;
    time.pass = int_of(object, "pass", 1);
    time.repetition = int_of(object, "rep", 0);
    const Json& ms = field(object, "ms");
    if (!ms.is_number() || !(ms.get<double>() > 0)) fail("bad ms; a number > 0 is allowed");
    time.ms = ms.get<double>();
    cell.times[found->second].push_back(time);
  }

  RecordedCell& cell_of(const std::string& text) {
    const auto parsed = CellKey::parse(text);
    if (!parsed) fail("key: " + parsed.reason());
    CellKey key;
    for (const Axis& axis : recording_.axes) {
      const std::string* value = parsed->find(axis.name);
      if (value == nullptr) fail("key " + furlong::quoted(text) + " lacks axis " + axis.name);
      std::string plain = *value;
      if (axis.kind == AxisKind::kLog) {
        const auto number = parse_positive(*value);
        if (!number)
          fail("key " + furlong::quoted(text) + ": " + axis.name + " is no whole number > 0");
        plain = std::to_string(*number);
      }
      key.items.push_back({axis.name, std::move(plain)});
    }
    if (parsed->items.size() != key.items.size()) {
      fail("key " + furlong::quoted(text) + " has a name that is no axis; see the meta line");
    }
    const auto [at, is_new] = recording_.index.emplace(key.text(), recording_.cells.size());
    if (is_new) {
      recording_.cells.push_back({std::move(key), {}});
      recording_.cells.back().times.resize(recording_.candidates.size());
    }
    return recording_.cells[at->second];
  }

  std::string file_;
  int line_ = 0;
  bool has_meta_ = false;
  std::unordered_map<std::string, std::size_t> candidate_index_;
  Recording recording_;
};

/// A measured cell as a table row.
struct Row {
  std::vector<std::string> exact;
  std::vector<std::int64_t> numbers;
  std::vector<int> entries;  ///< candidates, best first
};

Row row_of(const KeySpec& keys, const CellKey& cell) {
  Row row;
  for (const Key& key : keys.keys()) {
    const std::string& value = *cell.find(key.name);
    if (key.kind == KeyKind::kLog) {
      row.numbers.push_back(*parse_positive(value));
    } else {
      row.exact.push_back(value);
    }
  }
  return row;
}

/// The nearest row by selection's rule; null without rows.
const Row* nearest_row(const KeySpec& keys, const std::vector<Row>& rows, const Row& asked) {
  std::vector<double> weights;
  for (const Key& key : keys.keys()) {
    if (key.kind == KeyKind::kLog) weights.push_back(key.weight);
  }
  std::size_t prefix = asked.exact.size();
  const auto matches = [&](const Row& row) {
    return std::equal(row.exact.begin(), row.exact.begin() + static_cast<std::ptrdiff_t>(prefix),
                      asked.exact.begin());
  };
  while (prefix > 0 && std::none_of(rows.begin(), rows.end(), matches)) --prefix;
  const auto distance = [&](const Row& row) {
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i] * std::abs(std::log2(static_cast<double>(row.numbers[i])) -
                                   std::log2(static_cast<double>(asked.numbers[i])));
    }
    return sum;
  };
  double smallest = std::numeric_limits<double>::infinity();
  for (const Row& row : rows) {
    if (matches(row)) smallest = std::min(smallest, distance(row));
  }
  const Row* nearest = nullptr;
  for (const Row& row : rows) {
    if (!matches(row) || distance(row) > smallest + 1e-9) continue;
    if (nearest == nullptr || row.numbers < nearest->numbers) nearest = &row;
  }
  return nearest;
}

/// Picks against scores, cell by cell.
class Tally {
 public:
  /// `scores`: per candidate, NaN = did not run there; `pick` < 0: nothing ran.
  void add(const std::vector<double>& scores, int pick) {
    double best = kNaN;
    for (const double score : scores) {
      if (!(score >= best)) best = std::isnan(score) ? best : score;
    }
    ++cells_;
    const double chosen = pick < 0 ? kNaN : scores[static_cast<std::size_t>(pick)];
    if (std::isnan(chosen)) {
      ++unrunnable_;
      return;
    }
    if (chosen > race::kTieFactor * best) ++misranked_;
    losses_.push_back(chosen / best - 1);
    chosen_sum_ += chosen;
    best_sum_ += best;
  }

  int unrunnable() const { return unrunnable_; }
  double misrank() const {
    return cells_ == 0 ? 0 : static_cast<double>(misranked_ + unrunnable_) / cells_;
  }

  Loss loss() const {
    Loss loss;
    if (losses_.empty()) return loss;
    std::vector<double> sorted = losses_;
    std::sort(sorted.begin(), sorted.end());
    const auto percentile = [&](double share) {
      const auto rank =
          static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()) - 1e-9));
      return sorted[std::max<std::size_t>(rank, 1) - 1];
    };
    for (const double value : losses_) loss.mean += value;
    loss.mean /= static_cast<double>(losses_.size());
    loss.p95 = percentile(0.95);
    loss.p99 = percentile(0.99);
    loss.max = sorted.back();
    loss.time_weighted = chosen_sum_ / best_sum_ - 1;
    return loss;
  }

 private:
  int cells_ = 0;
  int misranked_ = 0;
  int unrunnable_ = 0;
  std::vector<double> losses_;
  double chosen_sum_ = 0;
  double best_sum_ = 0;
};

/// The times of one cell as the race and the scores see them.
struct View {
  std::vector<std::vector<double>> visible;  ///< per candidate, in the order of the race
  std::vector<double> scores;                ///< per candidate, median; NaN without a time
};

View view_of(const RecordedCell& cell, bool holdout) {
  View view;
  for (const auto& times : cell.times) {
    std::vector<double> visible;
    std::vector<double> judged;
    for (const RecordedTime& time : times) {
      if (!holdout || time.pass == 1) visible.push_back(time.ms);
      if (!holdout || time.pass == 2) judged.push_back(time.ms);
    }
    view.visible.push_back(std::move(visible));
    view.scores.push_back(race::median(judged));
  }
  return view;
}

class Replay {
 public:
  Replay(const Recording& recording, const ReplayOptions& options)
      : recording_(recording), options_(options), refinement_(recording.axes, options.parameters) {
    for (const RecordedCell& cell : recording.cells) {
      views_.push_back(view_of(cell, options.holdout));
    }
  }

  ReplayReport run() {
    for (const CellKey& key : lattice(recording_.axes, options_.parameters.stride)) {
      const auto found = recording_.index.find(key.text());
      if (found != recording_.index.end()) measure(found->second, Origin::kLattice);
    }
    const auto has = [&](const CellKey& key) { return recording_.index.count(key.text()) != 0; };
    for (auto round = refinement_.next(has); !round.empty(); round = refinement_.next(has)) {
      ++report_.rounds;
      for (const CellKey& key : round) {
        measure(recording_.index.at(key.text()), Origin::kRefined);
      }
    }
    score();
    report_.refine_unavailable = refinement_.unavailable();
    report_.capped = refinement_.capped();
    std::sort(report_.measured.begin(), report_.measured.end());
    return std::move(report_);
  }

 private:
  void measure(std::size_t position, Origin origin) {
    const RecordedCell& cell = recording_.cells[position];
    const View& view = views_[position];
    KnownCell known;
    known.key = cell.key;
    known.origin = origin;
    std::vector<int> racing;
    std::size_t most = std::numeric_limits<std::size_t>::max();
    for (std::size_t c = 0; c < view.visible.size(); ++c) {
      if (view.visible[c].empty()) {
        known.out.insert(recording_.candidates[c]);
      } else {
        racing.push_back(static_cast<int>(c));
        most = std::min(most, view.visible[c].size());
      }
    }
    std::vector<int> ranked = racing;
    if (racing.size() > 1) {
      race::Rules rules = options_.parameters.rules;
      rules.max_rounds = std::min(rules.max_rounds, static_cast<int>(most));
      rules.min_rounds = std::min(rules.min_rounds, rules.max_rounds);
      const auto result = race::race(
          static_cast<int>(racing.size()), rules,
          [&](int number, int round) -> std::optional<double> {
            const auto c = static_cast<std::size_t>(racing[static_cast<std::size_t>(number)]);
            const double ms = view.visible[c][static_cast<std::size_t>(round)];
            ++report_.reps_used;
            report_.measure_ms += ms;
            return ms;
          });
      for (std::size_t i = 0; i < racing.size(); ++i) {
        const auto c = static_cast<std::size_t>(racing[i]);
        known.ms[recording_.candidates[c]] = result.medians[i];
      }
      ranked.clear();
      for (const int number : race::ranking(result)) {
        ranked.push_back(racing[static_cast<std::size_t>(number)]);
      }
    }
    for (const int c : ranked) {
      known.ranked.push_back(recording_.candidates[static_cast<std::size_t>(c)]);
    }
    refinement_.add(std::move(known));
    report_.measured.push_back(cell.key.text());
    if (ranked.empty()) return;
    race_tally_.add(view.scores, ranked.front());
    Row row = row_of(recording_.keys, cell.key);
    row.entries = std::move(ranked);
    rows_.push_back(std::move(row));
  }

  void score() {
    Tally table;
    Tally oracle;
    int visible = 0;
    for (std::size_t i = 0; i < recording_.cells.size(); ++i) {
      const View& view = views_[i];
      std::vector<int> ran;
      std::vector<double> medians;
      for (std::size_t c = 0; c < view.visible.size(); ++c) {
        visible += static_cast<int>(view.visible[c].size());
        for (const double ms : view.visible[c]) report_.exhaustive_ms += ms;
        if (view.visible[c].empty()) continue;
        ran.push_back(static_cast<int>(c));
        medians.push_back(race::median(view.visible[c]));
      }
      oracle.add(view.scores,
                 ran.empty() ? -1 : ran[static_cast<std::size_t>(race::rank(medians).front())]);

      int pick = -1;
      const Row* row =
          nearest_row(recording_.keys, rows_, row_of(recording_.keys, recording_.cells[i].key));
      if (row != nullptr) {
        const auto first = std::find_if(row->entries.begin(), row->entries.end(), [&](int c) {
          return !std::isnan(view.scores[static_cast<std::size_t>(c)]);
        });
        if (first != row->entries.end()) pick = *first;
      }
      table.add(view.scores, pick);
    }
    report_.cells = static_cast<int>(recording_.cells.size());
    report_.unrunnable = table.unrunnable();
    report_.reps_fraction = visible == 0 ? 0 : static_cast<double>(report_.reps_used) / visible;
    report_.race_misrank = race_tally_.misrank();
    report_.table_misrank = table.misrank();
    report_.floor_misrank = oracle.misrank();
    report_.loss = table.loss();
    report_.floor_loss = oracle.loss();
  }

  const Recording& recording_;
  const ReplayOptions& options_;
  Refinement refinement_;
  std::vector<View> views_;
  std::vector<Row> rows_;
  Tally race_tally_;
  ReplayReport report_;
};

}  // namespace

Recording parse_recording(std::string_view text, std::string_view file) {
  return Reader(file).read(text);
}

Recording held_out(const Recording& recording, std::string_view file, int& left_out) {
  const auto has = [](const RecordedCell& cell, int pass) {
    return std::any_of(cell.times.begin(), cell.times.end(), [&](const auto& times) {
      return std::any_of(times.begin(), times.end(),
                         [&](const RecordedTime& time) { return time.pass == pass; });
    });
  };
  Recording kept = recording;
  std::erase_if(kept.cells,
                [&](const RecordedCell& cell) { return !has(cell, 1) || !has(cell, 2); });
  kept.index.clear();
  for (std::size_t i = 0; i < kept.cells.size(); ++i) {
    kept.index.emplace(kept.cells[i].key.text(), i);
  }
  left_out = static_cast<int>(recording.cells.size() - kept.cells.size());
  if (kept.cells.empty()) {
    throw Error(file,
                "no cell has repetitions of pass 1 and of pass 2, so nothing can be held out; "
                "furlong tune appends pass 2 when it measures the same cells again with the same "
                "--record-reps file, into another --ledger");
  }
  return kept;
}

ReplayReport replay(const Recording& recording, const ReplayOptions& options) {
  return Replay(recording, options).run();
}

}  // namespace furlong::tune
