#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include "base/text.hh"
#include "furlong/error.hh"
#include "furlong/log.hh"
#include "furlong/select.hh"
#include "select/bound_table.hh"
#include "select/environment.hh"

namespace furlong::select {
namespace {

constexpr int kUnresolved = -2;

/// One ScopedPin of this thread, with what its text was last resolved to.
struct ThreadPin {
  std::string op;
  std::string text;  // trimmed, lower case
  ScopedPin::Mode mode = ScopedPin::Mode::kLenient;
  std::uint64_t selector = 0;
  int dtype = -1;
  int candidate = kUnresolved;
};

std::vector<ThreadPin>& thread_pins() {
  thread_local std::vector<ThreadPin> pins;
  return pins;
}

thread_local int call_depth = 0;

/// Pins of this thread: a plain number, so that a call without pins costs no more than its look.
thread_local int pin_count = 0;

std::atomic<std::uint64_t> next_selector_id{1};

/// What the variables say at one moment, without any table; immutable.
struct Settings {
  std::uint64_t generation = 0;
  std::string pin;  // trimmed, lower case
  bool trace = false;
  std::string coverage;

  bool talks = false;  ///< a call must take the path that explains itself
};

/// What the environment and the tables say at one moment; immutable, kept until the selector dies
/// so that rows stay where memos point.
struct Snapshot : Settings {
  std::vector<std::vector<BoundTable>> tables;  // per dtype
};

struct MemoSlot {
  std::uint64_t selector = 0;
  std::uint64_t generation = 0;
  int dtype = -1;
  std::array<std::int64_t, kMaxKeys> keys{};
  const BoundRow* row = nullptr;  ///< has entries
  int first = -1;                 ///< the first one's candidate: at hand, not two loads away

  bool holds(std::uint64_t selector_now, std::uint64_t generation_now, const Query& query) const {
    // One test for all: a comparison that may end early costs more than it saves.
    std::uint64_t differs = (selector ^ selector_now) | (generation ^ generation_now) |
                            static_cast<std::uint64_t>(dtype ^ query.dtype);
    for (std::size_t k = 0; k < kMaxKeys; ++k) {
      differs |= static_cast<std::uint64_t>(keys[k] ^ query.keys[k]);
    }
    return differs == 0;
  }
};

constexpr std::size_t kMemoSlots = 256;

thread_local constinit std::array<MemoSlot, kMemoSlots> memo{};
/// The slot that answered last: callers repeat their shapes.
thread_local constinit MemoSlot* last_slot = nullptr;

/// The high bits of a sum of products: the products do not wait for each other.
std::size_t memo_place(std::uint64_t selector, const Query& query, std::size_t key_count) {
  static_assert(kMemoSlots == std::size_t{1} << 8);
  constexpr std::array<std::uint64_t, 8> kOdd = {
      0x9e3779b97f4a7c15U, 0xff51afd7ed558ccdU, 0xc4ceb9fe1a85ec53U, 0xbf58476d1ce4e5b9U,
      0x94d049bb133111ebU, 0xd6e8feb86659fd93U, 0xa0761d6478bd642fU, 0xe7037ed1a0b428dbU};
  static_assert(kMaxKeys <= kOdd.size());
  std::uint64_t hash = (selector * 2 + static_cast<std::uint64_t>(query.dtype) * 0x51ed2701U + 1) *
                       0x8ebc6af09c88c6e3U;
  for (std::size_t k = 0; k < key_count; ++k) {
    hash += static_cast<std::uint64_t>(query.keys[k]) * kOdd[k];
  }
  return static_cast<std::size_t>(hash >> 56);
}

bool is_true(const std::optional<std::string>& value) {
  return value && !trim(*value).empty() && trim(*value) != "0";
}

}  // namespace

struct Selector::State {
  OpVocabulary vocabulary;
  std::span<const EmbeddedTable> built_in;
  KeyShape shape;
  std::uint64_t id = next_selector_id++;
  SelectorOptions options;

  std::mutex mutex;
  std::vector<std::unique_ptr<Snapshot>> snapshots;  // the last one counts
  std::atomic<const Snapshot*> current{nullptr};
  std::vector<std::unique_ptr<Settings>> all_settings;  // the last one counts
  std::atomic<const Settings*> current_settings{nullptr};

  std::mutex said_mutex;
  std::set<std::string> said;               // warnings given once
  std::unordered_set<std::string> covered;  // coverage lines written

  State(OpVocabulary vocabulary_, std::span<const EmbeddedTable> built_in_,
        SelectorOptions options_)
      : vocabulary(std::move(vocabulary_)),
        built_in(built_in_),
        shape(vocabulary.keys),
        options(options_) {}

  const std::vector<std::string>& candidates(int dtype) const {
    return vocabulary.candidates[static_cast<std::size_t>(dtype)];
  }

  void say_once(const std::string& what, const std::string& line) {
    {
      const std::lock_guard lock(said_mutex);
      if (!said.insert(what).second) return;
    }
    log_line("furlong: " + line);
  }

  // --- tables at hand ---

  std::vector<std::vector<BoundTable>> bind_file(std::string_view text, const std::string& name,
                                                 const std::string& place, Strictness strictness) {
    const std::string shown = place.empty() ? name : place + "/" + name;
    const auto file = parse_tables(text, shown, DtypeList(all_dtypes()));
    if (file.keys.text() != "dtype:exact " + vocabulary.keys.text()) {
      throw Error(shown,
                  fmt::format("keys {} are not those of {}; allowed are dtype:exact {}",
                              quoted(file.keys.text()), vocabulary.op, vocabulary.keys.text()));
    }
    std::vector<std::vector<BoundTable>> bound(vocabulary.dtypes.size());
    for (const Table& table : file.tables) {
      const auto at = std::find(vocabulary.dtypes.begin(), vocabulary.dtypes.end(), table.dtype);
      if (at == vocabulary.dtypes.end()) {
        const std::string what = fmt::format("{}:{}: {} is no dtype of {}; allowed are {}", shown,
                                             table.rows.front().line, table.dtype, vocabulary.op,
                                             join(vocabulary.dtypes, ", "));
        if (strictness == Strictness::kError) throw Error(what);
        log_line(
            fmt::format("furlong: {}; skipped with all its rows ({})", what, table.rows.size()));
        continue;
      }
      const int dtype = static_cast<int>(at - vocabulary.dtypes.begin());
      bound[static_cast<std::size_t>(dtype)].push_back(
          bind_table(table, vocabulary, dtype, shown, strictness));
    }
    return bound;
  }

  /// The project's usual dtypes and the op's own: what a table file may hold.
  std::vector<std::string> all_dtypes() const {
    const DtypeList usual;
    std::vector<std::string> names(usual.names().begin(), usual.names().end());
    for (const std::string& dtype : vocabulary.dtypes) {
      if (!usual.contains(dtype)) names.push_back(dtype);
    }
    return names;
  }

  std::unique_ptr<Snapshot> load(std::uint64_t generation) {
    const Environment& env = environment();
    auto snapshot = std::make_unique<Snapshot>();
    snapshot->generation = generation;
    snapshot->tables.resize(vocabulary.dtypes.size());
    for (const EmbeddedTable& table : built_in) {
      const std::string name(table.name);
      const auto parts = parse_table_name(name);
      if (!parts) throw Error(name, parts.reason());
      if (parts->first != vocabulary.op) continue;
      auto bound = bind_file(table.text, name, "", Strictness::kError);
      for (std::size_t d = 0; d < bound.size(); ++d) {
        for (BoundTable& one : bound[d]) snapshot->tables[d].push_back(std::move(one));
      }
    }
    if (!options.use_environment) return snapshot;
    const auto folder = env.variable("FURLONG_TUNED_DIR");
    if (folder && !folder->empty()) {
      for (const std::string& name : env.list(*folder)) {
        const auto parts = parse_table_name(name);
        if (!parts) {
          say_once(*folder + "/" + name,
                   *folder + "/" + name + ": " + parts.reason() + "; skipped");
          continue;
        }
        if (parts->first != vocabulary.op) continue;
        auto bound = bind_file(env.read(*folder, name), name, *folder, Strictness::kWarn);
        for (std::size_t d = 0; d < bound.size(); ++d) {
          for (BoundTable& one : bound[d]) {
            if (one.rows.empty()) continue;
            auto& tables = snapshot->tables[d];
            tables.erase(
                std::remove_if(tables.begin(), tables.end(),
                               [&](const BoundTable& t) { return t.device == one.device; }),
                tables.end());
            tables.push_back(std::move(one));
          }
        }
      }
    }
    read_settings(*snapshot);
    return snapshot;
  }

  void read_settings(Settings& settings) const {
    if (!options.use_environment) return;
    const Environment& env = environment();
    std::string variable = "FURLONG_";
    for (const char c : vocabulary.op) {
      variable += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    settings.pin = lower(trim(env.variable(variable + "_PIN").value_or("")));
    if (settings.pin == "auto") settings.pin.clear();
    settings.trace = is_true(env.variable("FURLONG_SELECT_TRACE"));
    settings.coverage = env.variable("FURLONG_COVERAGE").value_or("");
    settings.talks = settings.trace || !settings.coverage.empty() || !settings.pin.empty();
  }

  /// The last one of `made`, which `make` makes anew after the environment changed.
  template <class T, class Make>
  const T& in_force(std::vector<std::unique_ptr<T>>& made, std::atomic<const T*>& last,
                    const Make& make) {
    const std::uint64_t generation = environment_generation();
    const T* now = last.load(std::memory_order_acquire);
    if (now != nullptr && now->generation == generation) return *now;
    const std::lock_guard lock(mutex);
    now = last.load(std::memory_order_acquire);
    if (now != nullptr && now->generation == generation) return *now;
    made.push_back(make(generation));
    last.store(made.back().get(), std::memory_order_release);
    return *made.back();
  }

  const Snapshot& snapshot() {
    return in_force(snapshots, current,
                    [this](std::uint64_t generation) { return load(generation); });
  }

  /// The variables alone: what a strict pin needs, which must not depend on any table.
  const Settings& settings() {
    return in_force(all_settings, current_settings, [this](std::uint64_t generation) {
      auto settings = std::make_unique<Settings>();
      settings->generation = generation;
      read_settings(*settings);
      return settings;
    });
  }

  // --- the walk ---

  struct Choice {
    int candidate = -1;
    const BoundTable* table = nullptr;
    Nearest nearest;
    std::size_t rank = 0;
    std::string tag;
    std::vector<Decision::Refused> refused;
  };

  std::string query_text(const Query& query, char separator) const {
    std::string text;
    const auto& keys = vocabulary.keys.keys();
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (k > 0) text += separator;
      text += keys[k].name + '=';
      if (keys[k].kind == KeyKind::kLog) {
        text += std::to_string(query.keys[k]);
      } else {
        const auto& values = vocabulary.exact_values[k];
        const auto i = static_cast<std::size_t>(query.keys[k]);
        text += query.keys[k] >= 0 && i < values.size() ? values[i] : std::string("?");
      }
    }
    return text;
  }

  /// The walk over tables, then the last resort; candidate -1 when nothing can run.
  Choice walk(const Snapshot& snap, const Query& query, const DeviceKey& device, CanRun can_run,
              bool without_vendor) {
    const auto& names = candidates(query.dtype);
    const auto allowed = [&](int candidate) {
      return !without_vendor || family_of(names[static_cast<std::size_t>(candidate)]) != "vendor";
    };
    Choice choice;
    std::vector<bool> asked(names.size(), false);
    const auto try_one = [&](int candidate) {
      if (!allowed(candidate)) return false;
      const auto i = static_cast<std::size_t>(candidate);
      const Refusal refusal = can_run(candidate);
      if (!refusal) {
        choice.candidate = candidate;
        return true;
      }
      if (!asked[i]) choice.refused.push_back({names[i], refusal.reason});
      asked[i] = true;
      return false;
    };

    const auto& tables = snap.tables[static_cast<std::size_t>(query.dtype)];
    std::vector<DeviceKey> devices;
    bool own = false;
    for (const BoundTable& table : tables) {
      devices.push_back(table.device);
      own = own || (table.device == device && !table.rows.empty());
    }
    for (const std::size_t t : borrow_order(device, devices)) {
      const BoundTable& table = tables[t];
      const Nearest nearest = nearest_row(table, shape, query);
      if (nearest.row == nullptr) continue;
      if (!own && choice.table == nullptr) {
        say_once("borrow", fmt::format("{} has no {} table for {}; borrowing {} (furlong tune {} "
                                       "tunes this device)",
                                       vocabulary.op,
                                       vocabulary.dtypes[static_cast<std::size_t>(query.dtype)],
                                       device.text, table.device.text, vocabulary.op));
      }
      choice.table = &table;
      for (std::size_t r = 0; r < nearest.row->entries.size(); ++r) {
        if (!try_one(nearest.row->entries[r].candidate)) continue;
        choice.nearest = nearest;
        choice.rank = r;
        if (table.device == device) {
          choice.tag = (table.from_override ? "override " : "") + device.text;
        } else {
          choice.tag = fmt::format("{} table, {} {}", table.device.text,
                                   own ? "fallthrough from" : "borrowed for", device.text);
        }
        return choice;
      }
    }
    choice.table = nullptr;
    if (!options.last_resort) return choice;
    choice.tag = "last resort";
    for (const std::string& family : vocabulary.last_resort) {
      for (std::size_t c = 0; c < names.size(); ++c) {
        if (family_of(names[c]) == family && try_one(static_cast<int>(c))) return choice;
      }
    }
    for (std::size_t c = 0; c < names.size(); ++c) {
      const auto& families = vocabulary.last_resort;
      const bool done =
          std::find(families.begin(), families.end(), family_of(names[c])) != families.end();
      if (!done && try_one(static_cast<int>(c))) return choice;
    }
    return choice;
  }

  /// A pinned spelling's position; throws std::invalid_argument naming the source.
  int pinned(const std::string& text, const std::string& source, int dtype) const {
    const auto bad = [&](const std::string& why) {
      return std::invalid_argument(
          fmt::format("{}: bad pin {} of {}: {}", source, quoted(text), vocabulary.op, why));
    };
    const auto spelling = parse_spelling(text, vocabulary.families);
    if (!spelling) throw bad(spelling.reason());
    const auto& names = candidates(dtype);
    const auto at = std::find(names.begin(), names.end(), spelling->text());
    if (at == names.end()) {
      throw bad(fmt::format("it is no {} candidate; allowed are {}",
                            vocabulary.dtypes[static_cast<std::size_t>(dtype)], join(names, ", ")));
    }
    return static_cast<int>(at - names.begin());
  }

  /// The innermost pin of this op on this thread; null without one.
  ThreadPin* thread_pin() const {
    auto& pins = thread_pins();
    for (auto pin = pins.rbegin(); pin != pins.rend(); ++pin) {
      const bool says = !pin->text.empty() || pin->mode == ScopedPin::Mode::kStrict;
      if (says && pin->op == vocabulary.op) return &*pin;
    }
    return nullptr;
  }

  int resolve(ThreadPin& pin, int dtype) const {
    if (pin.selector != id || pin.dtype != dtype || pin.candidate == kUnresolved) {
      pin.candidate = pinned(pin.text, "ScopedPin", dtype);
      pin.selector = id;
      pin.dtype = dtype;
    }
    return pin.candidate;
  }

  [[noreturn]] void refuse_pin(const std::string& text, const std::string& source,
                               const char* reason) const {
    throw std::invalid_argument(fmt::format("{}: pin {} of {} cannot run: {}", source, quoted(text),
                                            vocabulary.op, reason));
  }

  /// The candidate of a strict pin; reads no table.
  Choice decide_strict(ThreadPin& pin, const Query& query, CanRun can_run) {
    if (pin.text.empty() || pin.text == "auto" || pin.text == "native") {
      throw std::invalid_argument(
          fmt::format("ScopedPin: bad pin {} of {}: a strict pin is a spelling; allowed are {}",
                      quoted(pin.text), vocabulary.op, join(candidates(query.dtype), ", ")));
    }
    Choice choice;
    choice.candidate = resolve(pin, query.dtype);
    choice.tag = "pinned";
    if (const Refusal refusal = can_run(choice.candidate)) {
      refuse_pin(pin.text, "ScopedPin", refusal.reason);
    }
    return choice;
  }

  /// Pins, then the walk.
  Choice decide(const Query& query, const DeviceKey& device, CanRun can_run) {
    ThreadPin* scoped = thread_pin();
    if (scoped != nullptr && scoped->mode == ScopedPin::Mode::kStrict) {
      return decide_strict(*scoped, query, can_run);
    }
    return decide_lenient(snapshot(), scoped, query, device, can_run);
  }

  /// The pin (null: the variable's), then the walk.
  Choice decide_lenient(const Snapshot& snap, ThreadPin* scoped, const Query& query,
                        const DeviceKey& device, CanRun can_run) {
    std::string source = "ScopedPin";
    std::string text;
    if (scoped != nullptr) {
      text = scoped->text;
    } else {
      text = snap.pin;
      source = "FURLONG_";
      for (const char c : vocabulary.op) {
        source += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      }
      source += "_PIN";
    }
    const auto& names = candidates(query.dtype);
    if (text.empty() || text == "auto") return walk(snap, query, device, can_run, false);
    if (text == "native") {
      Choice choice = walk(snap, query, device, can_run, true);
      if (choice.candidate >= 0) return choice;
      say_once("native", fmt::format("{}: no native candidate can run {}; {} falls back to auto",
                                     vocabulary.op, query_text(query, ','), source));
      return walk(snap, query, device, can_run, false);
    }
    if (text == "vendor") {
      for (std::size_t c = 0; c < names.size(); ++c) {
        if (family_of(names[c]) != "vendor" || can_run(static_cast<int>(c))) continue;
        Choice choice;
        choice.candidate = static_cast<int>(c);
        choice.tag = "pinned";
        return choice;
      }
      say_once("vendor", fmt::format("{}: no vendor candidate can run {}; {} falls back to auto",
                                     vocabulary.op, query_text(query, ','), source));
      return walk(snap, query, device, can_run, false);
    }
    Choice choice;
    choice.candidate =
        scoped != nullptr ? resolve(*scoped, query.dtype) : pinned(text, source, query.dtype);
    choice.tag = "pinned";
    if (const Refusal refusal = can_run(choice.candidate)) refuse_pin(text, source, refusal.reason);
    return choice;
  }

  // --- saying what was chosen ---

  std::string detail(const Choice& choice, int dtype) const {
    if (choice.nearest.row == nullptr) return "untimed";
    const auto& entries = choice.nearest.row->entries;
    const BoundEntry& chosen = entries[choice.rank];
    if (!chosen.timed()) return "untimed";
    std::string text = format_ms(chosen.ms) + " ms";
    if (choice.rank + 1 < entries.size()) {
      const BoundEntry& next = entries[choice.rank + 1];
      const auto& name = candidates(dtype)[static_cast<std::size_t>(next.candidate)];
      const double ratio = next.ms / chosen.ms;
      if (std::fabs(ratio - 1) <= 0.03) {
        text += fmt::format(", tied with {} ({:.1f}%)", name, 100 * (ratio - 1));
      } else {
        text += fmt::format(", next {} {} ms", name, format_ms(next.ms));
      }
    }
    return text;
  }

  void tell(const Settings& settings, const Query& query, const Choice& choice) {
    if (!settings.trace && settings.coverage.empty()) return;
    const auto& dtype = vocabulary.dtypes[static_cast<std::size_t>(query.dtype)];
    const auto& name = candidates(query.dtype)[static_cast<std::size_t>(choice.candidate)];
    if (settings.trace) {
      log_line(fmt::format("{}{} {} {} -> {}  {}  [{}]",
                           std::string(2 * static_cast<std::size_t>(call_depth), ' '),
                           vocabulary.op, dtype, query_text(query, ' '), name,
                           detail(choice, query.dtype), choice.tag));
    }
    if (!settings.coverage.empty()) {
      const std::string line = fmt::format("{} {} {} {} [{}]", vocabulary.op, dtype,
                                           query_text(query, ','), name, choice.tag);
      {
        const std::lock_guard lock(said_mutex);
        if (!covered.insert(line).second) return;
      }
      if (!environment().append(settings.coverage, line)) {
        say_once("coverage", settings.coverage + ": coverage cannot be written");
      }
    }
  }

  [[noreturn]] void refuse(const Query& query, const DeviceKey& device,
                           const Choice& choice) const {
    std::string text = fmt::format("{}: no candidate can run {} on {}", vocabulary.op,
                                   query_text(query, ','), device.text);
    for (const auto& [spelling, reason] : choice.refused) {
      text += fmt::format("{}{}: {}", &spelling == &choice.refused.front().spelling ? "; " : ", ",
                          spelling, reason);
    }
    throw NoCandidate(text, choice.refused);
  }
};

Selector::Selector(OpVocabulary vocabulary, std::span<const EmbeddedTable> built_in,
                   SelectorOptions options)
    : state_(nullptr) {
  if (vocabulary.keys.keys().size() > kMaxKeys) {
    throw std::invalid_argument(fmt::format("{}: {} keys; at most {} are allowed", vocabulary.op,
                                            vocabulary.keys.keys().size(), kMaxKeys));
  }
  if (vocabulary.exact_values.size() != vocabulary.keys.keys().size() ||
      vocabulary.candidates.size() != vocabulary.dtypes.size()) {
    throw std::invalid_argument(vocabulary.op +
                                ": one exact_values per key and one candidate list per dtype");
  }
  state_ = new State(std::move(vocabulary), built_in, options);
}

Selector::~Selector() {
  delete state_;
}

const OpVocabulary& Selector::vocabulary() const {
  return state_->vocabulary;
}

int Selector::choose(const Query& query, CanRun can_run) {
  State& state = *state_;
  if (pin_count > 0) {
    ThreadPin* pin = state.thread_pin();
    if (pin != nullptr && pin->mode == ScopedPin::Mode::kStrict && pin->selector == state.id &&
        pin->dtype == query.dtype && pin->candidate >= 0) {
      const Settings& settings = state.settings();
      if (!settings.trace && settings.coverage.empty() && !can_run(pin->candidate)) {
        return pin->candidate;
      }
    }
    if (pin != nullptr) {
      const auto choice = state.decide(query, this_cpu(), can_run);
      if (choice.candidate < 0) state.refuse(query, this_cpu(), choice);
      state.tell(state.settings(), query, choice);
      return choice.candidate;
    }
  }
  const Snapshot& snap = state.snapshot();
  MemoSlot* slot = nullptr;
  if (!snap.talks) {
    slot = last_slot;
    if (slot == nullptr || !slot->holds(state.id, snap.generation, query)) {
      slot = &memo[memo_place(state.id, query, static_cast<std::size_t>(state.shape.count))];
    }
    if (slot->holds(state.id, snap.generation, query)) {
      last_slot = slot;
      if (!can_run(slot->first)) return slot->first;
      for (const BoundEntry& entry : std::span(slot->row->entries).subspan(1)) {
        if (!can_run(entry.candidate)) return entry.candidate;
      }
    }
  }
  const auto choice = state.decide_lenient(snap, nullptr, query, this_cpu(), can_run);
  if (choice.candidate < 0) state.refuse(query, this_cpu(), choice);
  state.tell(snap, query, choice);
  // Only the row that every call of this key walks first may be remembered: whatever can_run says
  // next time, walking it again is the rule itself.
  if (slot != nullptr && choice.nearest.row != nullptr && !choice.nearest.row->entries.empty()) {
    const auto& tables = snap.tables[static_cast<std::size_t>(query.dtype)];
    std::vector<DeviceKey> devices;
    for (const BoundTable& table : tables) devices.push_back(table.device);
    for (const std::size_t t : borrow_order(this_cpu(), devices)) {
      if (tables[t].rows.empty()) continue;
      if (&tables[t] == choice.table) {
        *slot = {state.id,   snap.generation,    query.dtype,
                 query.keys, choice.nearest.row, choice.nearest.row->entries.front().candidate};
      }
      break;
    }
  }
  return choice.candidate;
}

Decision Selector::explain(const Query& query, const DeviceKey& device, CanRun can_run) {
  State& state = *state_;
  auto choice = state.decide(query, device, can_run);
  if (choice.candidate < 0) state.refuse(query, device, choice);
  Decision decision;
  decision.candidate = choice.candidate;
  decision.spelling = state.candidates(query.dtype)[static_cast<std::size_t>(choice.candidate)];
  decision.tag = choice.tag;
  decision.refused = std::move(choice.refused);
  if (choice.nearest.row != nullptr) {
    decision.row = choice.nearest.row->text;
    decision.distance = choice.nearest.distance;
    decision.device = choice.table->device.text;
    decision.tier = choice.nearest.row->tier;
    decision.rank = static_cast<int>(choice.rank);
    const BoundEntry& entry = choice.nearest.row->entries[choice.rank];
    if (entry.timed()) decision.ms = entry.ms;
  }
  return decision;
}

ScopedPin::ScopedPin(std::string_view op, std::string_view text, Mode mode) {
  ThreadPin pin;
  pin.op = std::string(op);
  pin.text = lower(trim(text));
  pin.mode = mode;
  thread_pins().push_back(std::move(pin));
  ++pin_count;
}

ScopedPin::~ScopedPin() {
  thread_pins().pop_back();
  --pin_count;
}

CallScope::CallScope() {
  ++call_depth;
}

CallScope::~CallScope() {
  --call_depth;
}

}  // namespace furlong::select
