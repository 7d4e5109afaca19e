#include "tune/import_kernel_tuner.hh"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/device_key.hh"
#include "furlong/error.hh"
#include "host/json.hh"
#include "host/sha256.hh"
#include "ledger/writer.hh"
#include "race/race.hh"

namespace furlong::tune {
namespace {

namespace dom = simdjson::dom;
using Type = dom::element_type;

/// Older caches write a failure as this time.
constexpr double kFailedTime = 1e20;

constexpr std::string_view kAxisNames[] = {"size_x", "size_y", "size_z"};

/// Lower case; every run of other characters than `[a-z0-9]` is one `_`, none at the ends.
std::string slug(std::string_view text) {
  std::string name;
  for (const char c : lower(text)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  if (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

/// Milliseconds of one unit; 0 for an unknown one. The first spelling is the format's own.
double unit_ms(std::string_view unit) {
  if (unit == "miliseconds" || unit == "milliseconds" || unit == "ms") return 1;
  if (unit == "microseconds" || unit == "us") return 1e-3;
  if (unit == "nanoseconds" || unit == "ns") return 1e-6;
  if (unit == "seconds" || unit == "s") return 1e3;
  return 0;
}

/// YYYY-MM-DD, of a day that the calendar has.
bool is_date(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-dd";
  const bool shaped = std::equal(
      text.begin(), text.end(), kShape.begin(), kShape.end(),
      [](char c, char shape) { return shape == 'd' ? c >= '0' && c <= '9' : c == shape; });
  if (!shaped) return false;
  const auto number = [&](std::size_t from, std::size_t count) {
    int value = 0;
    for (const char digit : text.substr(from, count)) value = 10 * value + (digit - '0');
    return value;
  };
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)),
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

ledger::Status status_of(std::string_view failure) {
  if (failure == "InvalidConfig" || failure == "constraints") return ledger::Status::kSkipped;
  if (failure == "correctness") return ledger::Status::kBad;
  return ledger::Status::kError;
}

/// Reads one file; keeps the place for messages.
class Reader {
 public:
  Reader(std::string_view file, const ImportNames& names) : names_(names) { space_.file = file; }

  ImportedSpace read(std::string_view text) {
    dom::parser parser;
    dom::element root;
    const simdjson::padded_string padded(text);
    if (const auto failure = parser.parse(padded).get(root)) {
      fail(fmt::format("bad JSON: {}", simdjson::error_message(failure)));
    }
    dom::object top;
    if (root.get(top)) fail("no JSON object; a Kernel Tuner cache or T4 file is one");
    const auto cache = find(top, "cache");
    const auto results = find(top, "results");
    if (cache && !results) {
      read_cache(top, *cache);
    } else if (results && !cache) {
      read_t4(top, *results);
    } else {
      fail("neither a Kernel Tuner cache (field cache) nor a T4 file (field results)");
    }
    where_.clear();
    if (space_.configurations.empty()) fail("holds no configuration; a space has at least one");
    if (names_.date) space_.date = *names_.date;
    if (space_.date.empty()) fail("names no date; name it with --date YYYY-MM-DD");
    if (!is_date(space_.date))
      fail(fmt::format("date {}; a day YYYY-MM-DD is allowed", furlong::quoted(space_.date)));
    return std::move(space_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(where_.empty() ? space_.file : space_.file + ": " + where_, what);
  }

  std::optional<dom::element> find(const dom::object& object, std::string_view name) const {
    std::optional<dom::element> found;
    for (const auto field : object) {
      if (field.key != name) continue;
      if (found) fail(fmt::format("field {} stands twice; once is allowed", quoted(name)));
      found = field.value;
    }
    return found;
  }

  dom::element need(const dom::object& object, std::string_view name) const {
    const auto found = find(object, name);
    if (!found) fail(fmt::format("no field {}; it is needed", quoted(name)));
    return *found;
  }

  template <class T>
  T as(const dom::element& value, std::string_view name, std::string_view wanted) const {
    T got{};
    if (value.get(got)) fail(fmt::format("bad {}; {} is allowed", quoted(name), wanted));
    return got;
  }

  dom::object object_of(const dom::element& value, std::string_view name) const {
    return as<dom::object>(value, name, "an object");
  }
  dom::array array_of(const dom::element& value, std::string_view name) const {
    return as<dom::array>(value, name, "a list");
  }
  std::string_view text_of(const dom::element& value, std::string_view name) const {
    return as<std::string_view>(value, name, "a text");
  }

  void read_cache(const dom::object& top, const dom::element& cache) {
    const auto kernel = text_of(need(top, "kernel_name"), "kernel_name");
    if (const auto name = find(top, "device_name")) {
      space_.device_name = text_of(*name, "device_name");
    }
    set_names(kernel);
    set_cell(find(top, "problem_size"));
    std::vector<std::string_view> parameters;
    for (const dom::element name : array_of(need(top, "tune_params_keys"), "tune_params_keys")) {
      parameters.push_back(text_of(name, "tune_params_keys"));
    }
    for (const auto entry : object_of(cache, "cache")) {
      where_ = fmt::format("configuration {}", quoted(entry.key));
      const dom::object fields = object_of(entry.value, "cache");
      ImportedConfiguration one;
      one.spelling = kernel_;
      for (const std::string_view name : parameters) {
        add_parameter(one, name, need(fields, name));
      }
      const dom::element time = need(fields, "time");
      std::string_view failure;
      if (!time.get(failure)) {
        set_failure(one, failure);
      } else if (const double ms = number_of(time, "time"); ms >= kFailedTime) {
        set_failure(one, "time " + shortest(ms));
      } else if (const auto times = find(fields, "times")) {
        add_runs(one, *times, 1);
      } else {
        add_run(one, ms, 1);
      }
      take(std::move(one), find(fields, "timestamp"));
    }
  }

  void read_t4(const dom::object& top, const dom::element& results) {
    double unit = 1;
    if (const auto metadata = find(top, "metadata")) {
      if (const auto named = find(object_of(*metadata, "metadata"), "timeunit")) {
        const auto text = text_of(*named, "timeunit");
        unit = unit_ms(text);
        if (unit <= 0) {
          fail(fmt::format(
              "unknown timeunit {}; seconds, miliseconds, microseconds and nanoseconds are allowed",
              quoted(text)));
        }
      }
    }
    set_names({});
    set_cell(std::nullopt);
    int position = 0;
    for (const dom::element result : array_of(results, "results")) {
      where_ = fmt::format("result {}", ++position);
      const dom::object fields = object_of(result, "results");
      ImportedConfiguration one;
      one.spelling = kernel_;
      for (const auto parameter : object_of(need(fields, "configuration"), "configuration")) {
        add_parameter(one, parameter.key, parameter.value);
      }
      const auto invalidity = text_of(need(fields, "invalidity"), "invalidity");
      if (invalidity != "correct") {
        set_failure(one, invalidity);
        if (const auto named = failure_of(fields); !named.empty()) one.reason = named;
      } else {
        add_runs(one, need(object_of(need(fields, "times"), "times"), "runtimes"), unit);
      }
      take(std::move(one), find(fields, "timestamp"));
    }
  }

  /// The name that a failed T4 result has in place of its time; empty when there is none.
  std::string_view failure_of(const dom::object& fields) const {
    const auto measurements = find(fields, "measurements");
    if (!measurements) return {};
    for (const dom::element one : array_of(*measurements, "measurements")) {
      const auto value = find(object_of(one, "measurements"), "value");
      std::string_view text;
      if (value && !value->get(text)) return text;
    }
    return {};
  }

  void set_names(std::string_view kernel) {
    if (!names_.op && kernel.empty()) fail("names no kernel; name the op with --op");
    space_.op = names_.op ? *names_.op : slug(kernel);
    kernel_ = kernel.empty() ? space_.op : slug(kernel);
    if (space_.op.empty() || slug(space_.op) != space_.op || kernel_.empty()) {
      fail(fmt::format("bad op {}; lower-case letters, digits and single _ are allowed",
                       quoted(names_.op ? space_.op : std::string(kernel))));
    }
    space_.device = names_.device ? *names_.device : slug(space_.device_name);
    if (space_.device.empty()) fail("names no device; name its key with --device");
    const auto device = DeviceKey::parse(space_.device);
    if (!device) fail(device.reason());
  }

  void set_cell(const std::optional<dom::element>& size) {
    std::string text;
    if (names_.cell) {
      text = *names_.cell;
    } else {
      if (!size) fail("names no problem size; name the cell with --cell, as in size_x=4096");
      std::vector<dom::element> extents;
      dom::array list;
      if (size->get(list)) {
        extents.push_back(*size);
      } else {
        for (const dom::element extent : list) extents.push_back(extent);
      }
      if (extents.empty() || extents.size() > std::size(kAxisNames)) {
        fail("bad \"problem_size\"; one to three sizes are allowed (or name the cell with --cell)");
      }
      for (std::size_t i = 0; i < extents.size(); ++i) {
        const auto value = whole(extents[i]);
        if (!value || *value <= 0) {
          fail(
              "bad \"problem_size\"; whole numbers > 0 are allowed (or name the cell with --cell)");
        }
        text += fmt::format("{}{}={}", i == 0 ? "" : ",", kAxisNames[i], *value);
      }
    }
    auto cell = CellKey::parse(text);
    if (!cell) fail("cell: " + cell.reason());
    space_.cell = std::move(cell).value();
    std::string spec;
    for (const auto& item : space_.cell.items) {
      if (!parse_positive(item.value)) {
        fail(fmt::format("cell: value {} of {}; whole numbers > 0 are allowed", quoted(item.value),
                         item.name));
      }
      spec += fmt::format("{}{}:log", spec.empty() ? "" : " ", item.name);
    }
    auto keys = KeySpec::parse(spec);
    if (!keys) fail("cell: " + keys.reason());
    space_.keys = std::move(keys).value();
  }

  /// A whole number, also one that is written as `16.0`, a truth value as 0 or 1.
  static std::optional<std::int64_t> whole(const dom::element& value) {
    std::int64_t integer = 0;
    if (!value.get(integer)) return integer;
    bool truth = false;
    if (!value.get(truth)) return truth ? 1 : 0;
    double number = 0;
    if (value.type() == Type::DOUBLE && !value.get(number) && std::abs(number) < 1e15 &&
        std::trunc(number) == number) {
      return static_cast<std::int64_t>(number);
    }
    return std::nullopt;
  }

  void add_parameter(ImportedConfiguration& one, std::string_view name,
                     const dom::element& value) const {
    if (name.empty() || has_space(name) || name.find_first_of(":=|") != std::string_view::npos) {
      fail(fmt::format("bad parameter {}; a name without white space and : = | is allowed",
                       quoted(name)));
    }
    const auto number = whole(value);
    if (!number || *number < std::numeric_limits<std::int32_t>::min() ||
        *number > std::numeric_limits<std::int32_t>::max()) {
      fail(fmt::format("bad value of parameter {}; whole numbers of 32 bits are allowed",
                       quoted(name)));
    }
    one.spelling += fmt::format(":{}={}", name, *number);
  }

  static void set_failure(ImportedConfiguration& one, std::string_view failure) {
    one.status = status_of(failure);
    one.reason = failure;
  }

  double number_of(const dom::element& value, std::string_view name) const {
    double number = 0;
    if (value.get(number)) fail(fmt::format("bad {}; a number is allowed", quoted(name)));
    return number;
  }

  void add_run(ImportedConfiguration& one, double time, double unit) const {
    if (!(time > 0)) fail(fmt::format("time {}; a time is > 0", shortest(time)));
    one.runs_ms.push_back(time * unit);
  }

  void add_runs(ImportedConfiguration& one, const dom::element& runs, double unit) const {
    for (const dom::element run : array_of(runs, "times")) {
      add_run(one, number_of(run, "times"), unit);
    }
    if (one.runs_ms.empty()) fail("no time of a configuration that ran; at least one is needed");
  }

  void take(ImportedConfiguration one, const std::optional<dom::element>& timestamp) {
    if (!seen_.insert(one.spelling).second) fail("the configuration stands twice; once is allowed");
    if (timestamp) {
      const auto text = text_of(*timestamp, "timestamp");
      const std::string_view date = text.substr(0, 10);
      if (!is_date(date)) {
        fail(fmt::format("timestamp {}; a day YYYY-MM-DD ... is allowed", quoted(text)));
      }
      space_.date = std::max(space_.date, std::string(date));
    }
    space_.configurations.push_back(std::move(one));
  }

  const ImportNames& names_;
  std::string where_;
  std::string kernel_;
  std::unordered_set<std::string> seen_;
  ImportedSpace space_;
};

std::vector<std::string> candidates_of(std::span<const ImportedSpace* const> spaces) {
  std::vector<std::string> candidates;
  std::unordered_set<std::string_view> seen;
  for (const ImportedSpace* space : spaces) {
    for (const auto& one : space->configurations) {
      if (seen.insert(one.spelling).second) candidates.push_back(one.spelling);
    }
  }
  return candidates;
}

/// Refuses what one (op, device) cannot hold.
void check_together(std::span<const ImportedSpace* const> spaces) {
  for (std::size_t i = 1; i < spaces.size(); ++i) {
    if (!(spaces[i]->keys == spaces[0]->keys)) {
      throw Error(spaces[i]->file,
                  fmt::format("has the keys {}, {} has {}; files of one op and device share them",
                              quoted(spaces[i]->keys.text()), spaces[0]->file,
                              quoted(spaces[0]->keys.text())));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (spaces[i]->cell == spaces[j]->cell) {
        throw Error(spaces[i]->file, fmt::format("is the cell {} of {} {}, as {} is; one file a "
                                                 "cell is allowed",
                                                 spaces[i]->cell.text(), spaces[i]->op,
                                                 spaces[i]->device, spaces[j]->file));
      }
    }
  }
}

ledger::Cell cell_of(const ImportedSpace& space, const std::string& dtype) {
  ledger::Cell cell;
  cell.dtype = dtype;
  cell.tier = Tier::kConverted;
  cell.key = space.cell.text();
  cell.date = space.date;
  std::vector<double> medians;
  std::vector<const ImportedConfiguration*> timed;
  for (const auto& one : space.configurations) {
    ledger::Outcome outcome;
    outcome.candidate = one.spelling;
    outcome.status = one.status;
    outcome.reason = one.reason;
    if (!one.runs_ms.empty()) {
      const auto [least, most] = std::minmax_element(one.runs_ms.begin(), one.runs_ms.end());
      outcome.median_ms = race::median(one.runs_ms);
      outcome.min_ms = *least;
      outcome.max_ms = *most;
      outcome.repetitions = static_cast<int>(one.runs_ms.size());
      medians.push_back(outcome.median_ms);
      timed.push_back(&one);
    }
    cell.outcomes.push_back(std::move(outcome));
  }
  for (const int position : race::rank(medians)) {
    cell.ranked.push_back(timed[static_cast<std::size_t>(position)]->spelling);
  }
  return cell;
}

}  // namespace

ImportedSpace read_kernel_tuner(std::string_view text, std::string_view file,
                                const ImportNames& names) {
  return Reader(file, names).read(text);
}

std::vector<ImportedLedger> import_ledgers(const std::vector<ImportedSpace>& spaces,
                                           const std::string& dtype) {
  std::vector<std::vector<const ImportedSpace*>> groups;
  for (const ImportedSpace& space : spaces) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& other) {
      return other.front()->op == space.op && other.front()->device == space.device;
    });
    if (group == groups.end()) {
      groups.push_back({&space});
    } else {
      group->push_back(&space);
    }
  }
  std::vector<ImportedLedger> ledgers;
  for (const auto& group : groups) {
    check_together(group);
    const ImportedSpace& first = *group.front();
    ImportedLedger one;
    one.op = first.op;
    one.device = first.device;
    one.run.dtype = dtype;
    one.run.device = first.device;
    one.run.device_name = first.device_name;
    one.run.commit = "unknown";
    one.run.tier = Tier::kConverted;
    one.run.keys = first.keys.text();
    one.run.candidates = candidates_of(group);
    one.run.env = "Kernel Tuner";
    std::string content;
    for (const ImportedSpace* space : group) {
      one.cells.push_back(cell_of(*space, dtype));
      one.run.date = std::max(one.run.date, space->date);
      content += ledger::to_line(one.cells.back());
    }
    one.run.run_id = "kernel_tuner-" + host::sha256_hex(content).substr(0, 8);
    for (ledger::Cell& cell : one.cells) cell.run_id = one.run.run_id;
    ledgers.push_back(std::move(one));
  }
  return ledgers;
}

std::string repetitions_text(const std::vector<ImportedSpace>& spaces, const std::string& dtype) {
  if (spaces.empty()) throw std::invalid_argument("repetitions_text: no space; at least one");
  std::vector<const ImportedSpace*> group;
  for (const ImportedSpace& space : spaces) {
    if (space.op != spaces[0].op || space.device != spaces[0].device) {
      throw Error(space.file, fmt::format("is of {} {}, {} of {} {}; a repetitions file holds one "
                                          "op on one device",
                                          space.op, space.device, spaces[0].file, spaces[0].op,
                                          spaces[0].device));
    }
    group.push_back(&space);
  }
  check_together(group);
  std::string axes;
  for (std::size_t i = 0; i < spaces[0].cell.items.size(); ++i) {
    std::set<std::int64_t> values;
    for (const ImportedSpace& space : spaces) {
      values.insert(*parse_positive(space.cell.items[i].value));
    }
    std::string text;
    for (const std::int64_t value : values) {
      text += fmt::format("{}{}", text.empty() ? "" : ":", value);
    }
    axes += fmt::format("{}{}={}", i == 0 ? "" : " ", spaces[0].cell.items[i].name, text);
  }
  std::string text = host::dump_json({{"kind", "meta"},
                                      {"op", spaces[0].op},
                                      {"dtype", dtype},
                                      {"device", spaces[0].device},
                                      {"keys", spaces[0].keys.text()},
                                      {"candidates", join(candidates_of(group), "|")},
                                      {"axes", axes}}) +
                     '\n';
  for (const ImportedSpace& space : spaces) {
    const std::string key = space.cell.text();
    for (const auto& one : space.configurations) {
      std::string start = host::dump_json({{"kind", "rep"}, {"key", key}, {"cand", one.spelling}});
      start.pop_back();
      for (std::size_t run = 0; run < one.runs_ms.size(); ++run) {
        text += fmt::format("{},\"pass\":{},\"rep\":{},\"ms\":{}}}\n", start, run % 2 + 1, run / 2,
                            shortest(one.runs_ms[run]));
      }
    }
  }
  return text;
}

}  // namespace furlong::tune
