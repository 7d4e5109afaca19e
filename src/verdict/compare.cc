#include "verdict/compare.hh"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "base/text.hh"
#include "verdict/device_line.hh"

namespace furlong::verdict {
namespace {

/// Two keys are equal exactly when their parts are.
std::string join_parts(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const auto part : parts) key += fmt::format("{}:{};", part.size(), part);
  return key;
}

std::string version_text(const Verdict& verdict) {
  const auto version = verdict.entry_version();
  return version ? std::to_string(*version) : "";
}

/// Join keys of one comparison; a computation's shape is worked out once.
class JoinKeys {
 public:
  explicit JoinKeys(const CompareOptions& options) : options_(options) {
    std::string items = IgnoreList::harmless().text();
    if (!options.ignore.items().empty()) items.append(",").append(options.ignore.text());
    ignore_ = *IgnoreList::parse(items);
  }

  std::string of(const Item& item) {
    if (item.bare) return join_parts({item.file});
    const auto& verdict = item.verdict;
    switch (options_.match) {
      case Match::kExact:
        return join_parts(
            {item.file, verdict.device(), verdict.computation(), version_text(verdict)});
      case Match::kComputation:
        return join_parts({item.file, verdict.computation()});
      case Match::kShape:
        break;
    }
    std::string device = verdict.device();
    if (ignore_.contains("device")) {
      device.clear();
    } else if (ignore_.contains("dnn")) {
      device = without_clauses(device, {"DNN version"});
    }
    const auto [shape, is_new] = shapes_.try_emplace(verdict.computation());
    if (is_new) shape->second = shape_key(verdict.computation(), ignore_);
    return join_parts({item.file, device, shape->second});
  }

 private:
  const CompareOptions& options_;
  IgnoreList ignore_;
  std::unordered_map<std::string, std::string> shapes_;
};

bool same_key(const Item& a, const Item& b) {
  return a.verdict.device() == b.verdict.device() &&
         a.verdict.computation() == b.verdict.computation() &&
         a.verdict.entry_version() == b.verdict.entry_version();
}

std::string joined_by(const Row& row, const CompareOptions& options) {
  const Item* first = nullptr;
  bool device = false;
  bool computation = false;
  bool version = false;
  for (const Item* item : row.items) {
    if (item == nullptr) continue;
    if (first == nullptr) first = item;
    device = device || item->verdict.device() != first->verdict.device();
    computation = computation || item->verdict.computation() != first->verdict.computation();
    version = version || item->verdict.entry_version() != first->verdict.entry_version();
  }
  if (first->bare) return "file name";
  if (!device && !computation && !version) return "exact";
  std::vector<std::string> differ;
  if (device) differ.emplace_back("device");
  if (computation) differ.emplace_back("printed text");
  if (version) differ.emplace_back("entry version");
  return fmt::format("{}; {} {}", options.match == Match::kComputation ? "computation" : "shape",
                     join(differ, ", "), differ.size() == 1 ? "differs" : "differ");
}

std::optional<std::string> value_of(const std::vector<Field>& fields, const std::string& name) {
  for (const auto& field : fields) {
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

std::vector<FieldDifference> differing_fields(const std::vector<Camp>& camps) {
  std::vector<std::vector<Field>> fields;
  std::vector<std::string> names;
  for (const auto& camp : camps) {
    auto own = camp.verdict->winner_fields();
    own.insert(own.begin(), {"winner", camp.verdict->winner_name()});
    for (const auto& field : own) {
      if (std::find(names.begin(), names.end(), field.name) == names.end()) {
        names.push_back(field.name);
      }
    }
    fields.push_back(std::move(own));
  }
  std::vector<FieldDifference> differing;
  for (const auto& name : names) {
    FieldDifference difference{name, {}};
    for (const auto& own : fields) difference.values.push_back(value_of(own, name));
    if (std::count(difference.values.begin(), difference.values.end(), difference.values.front()) !=
        static_cast<std::ptrdiff_t>(difference.values.size())) {
      differing.push_back(std::move(difference));
    }
  }
  return differing;
}

void judge(Row& row, const CompareOptions& options) {
  std::int64_t least = 0;
  std::int64_t most = 0;
  int timed = 0;
  const Verdict* first = nullptr;
  bool metadata = false;
  for (std::size_t i = 0; i < row.items.size(); ++i) {
    if (row.items[i] == nullptr) {
      row.missing.push_back(i);
      continue;
    }
    const auto& verdict = row.items[i]->verdict;
    if (first == nullptr) first = &verdict;
    const auto camp = std::find_if(row.camps.begin(), row.camps.end(), [&](const Camp& known) {
      return known.verdict->same_winner(verdict);
    });
    if (camp == row.camps.end()) {
      row.camps.push_back({{i}, &verdict});
    } else {
      camp->sources.push_back(i);
    }
    if (const auto time = verdict.measured_ns()) {
      least = timed == 0 ? *time : std::min(least, *time);
      most = std::max(most, *time);
      ++timed;
    }
    metadata = metadata || verdict.metadata() != first->metadata();
  }
  if (row.camps.size() > 1) row.fields = differing_fields(row.camps);
  if (timed > 1) {
    row.time_ratio = static_cast<double>(most) / static_cast<double>(least);
    row.time_differs = *row.time_ratio > 1 + options.noise;
  }
  row.only_metadata_differs = metadata && row.camps.size() == 1 && !row.time_differs;
  row.joined_by = joined_by(row, options);
}

/// Puts the verdicts of all sources into rows.
class RowMaker {
 public:
  RowMaker(std::span<const Source> sources, const CompareOptions& options)
      : sources_(sources), keys_(options), repeats_(sources.size()) {
    for (std::size_t s = 0; s < sources.size(); ++s) add(s);
    for (const auto& [key, group] : groups_) complete(group);
  }
  std::vector<Row> take_rows() { return std::move(rows_); }
  std::vector<std::size_t> take_repeats() { return std::move(repeats_); }

 private:
  /// One join key.
  struct Group {
    std::vector<std::size_t> rows;
    /// One a source: what it says, without repeats.
    std::vector<std::vector<const Item*>> said;
  };

  void add(std::size_t s) {
    std::vector<std::pair<const Item*, Group*>> rest;
    for (const auto& item : sources_[s].items) {
      auto& group = groups_[keys_.of(item)];
      group.said.resize(sources_.size());
      auto& said = group.said[s];
      if (std::any_of(said.begin(), said.end(), [&](const Item* other) {
            return same_key(*other, item) && other->verdict.same_result(item.verdict);
          })) {
        ++repeats_[s];
        continue;
      }
      said.push_back(&item);
      const auto same = std::find_if(group.rows.begin(), group.rows.end(), [&](std::size_t at) {
        return rows_[at].items[s] == nullptr && has_key_of(rows_[at], item);
      });
      if (same != group.rows.end()) {
        rows_[*same].items[s] = &item;
      } else {
        rest.emplace_back(&item, &group);
      }
    }
    for (const auto& [item, group] : rest) place(s, *item, *group);
  }

  /// Into the first row of the group that has no verdict of the source, else into a new one.
  void place(std::size_t s, const Item& item, Group& group) {
    auto free = std::find_if(group.rows.begin(), group.rows.end(),
                             [&](std::size_t at) { return rows_[at].items[s] == nullptr; });
    if (free == group.rows.end()) {
      group.rows.push_back(rows_.size());
      rows_.push_back({});
      rows_.back().items.resize(sources_.size());
      free = group.rows.end() - 1;
    }
    rows_[*free].items[s] = &item;
  }

  /// A source that says the join key at all lacks none of the group's rows.
  void complete(const Group& group) {
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const auto& said = group.said[s];
      if (said.empty()) continue;
      for (const auto at : group.rows) {
        Row& row = rows_[at];
        if (row.items[s] == nullptr) row.items[s] = partner(row, said);
        const auto count = std::count_if(said.begin(), said.end(), [&](const Item* other) {
          return same_key(*other, *row.items[s]);
        });
        if (count > 1) row.repeated.push_back(s);
      }
    }
  }

  /// Of what a source says the first verdict with a key that the row has, else the first one.
  static const Item* partner(const Row& row, const std::vector<const Item*>& said) {
    const auto same = std::find_if(said.begin(), said.end(),
                                   [&](const Item* one) { return has_key_of(row, *one); });
    return same == said.end() ? said.front() : *same;
  }

  static bool has_key_of(const Row& row, const Item& item) {
    return std::any_of(row.items.begin(), row.items.end(), [&](const Item* other) {
      return other != nullptr && same_key(*other, item);
    });
  }

  std::span<const Source> sources_;
  JoinKeys keys_;
  std::vector<Row> rows_;
  std::vector<std::size_t> repeats_;
  std::unordered_map<std::string, Group> groups_;
};

}  // namespace

const Verdict& Row::any() const {
  const auto at =
      std::find_if(items.begin(), items.end(), [](const Item* item) { return item != nullptr; });
  return (*at)->verdict;
}

Comparison compare(std::span<const Source> sources, const CompareOptions& options) {
  if (sources.size() < 2) throw std::invalid_argument("a comparison has at least two sources");
  if (!(options.noise >= 0)) throw std::invalid_argument("a noise floor is a number >= 0");
  RowMaker maker(sources, options);
  Comparison comparison;
  comparison.rows = maker.take_rows();
  comparison.repeats = maker.take_repeats();
  for (auto& row : comparison.rows) {
    judge(row, options);
    comparison.equal += row.equal() ? 1U : 0U;
    comparison.winners += row.winner_differs() ? 1U : 0U;
    comparison.incomplete += row.missing.empty() ? 0U : 1U;
    comparison.times += row.time_differs ? 1U : 0U;
    comparison.metadata += row.only_metadata_differs ? 1U : 0U;
  }
  return comparison;
}

}  // namespace furlong::verdict
