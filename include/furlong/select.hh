// Selection: which candidate runs. Reads tables only.
//
// An op owns one Selector. Its hot path is Selector::choose(): numbers in, a candidate's position
// out. The rules (nearest row, walk, borrow order, last resort, pins, override directory, trace)
// are docs/selection.md.
//
// Thread rule: a Selector may be used from any thread; tables are loaded once, on first need.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "furlong/device_key.hh"
#include "furlong/dtype.hh"
#include "furlong/error.hh"
#include "furlong/key_spec.hh"
#include "furlong/spelling.hh"
#include "furlong/table.hh"

namespace furlong::select {

inline constexpr std::size_t kMaxKeys = 8;

/// Everything that selection must know of an op; made once from the op's `choice.hh`.
struct OpVocabulary {
  std::string op;
  KeySpec keys;  ///< without dtype
  /// Per key: the values of an exact key, whose position is its number in a Query; empty for log.
  std::vector<std::vector<std::string>> exact_values;
  std::vector<FamilySchema> families;
  std::vector<std::string> dtypes;
  /// Per dtype: long spellings in tie order.
  std::vector<std::vector<std::string>> candidates;
  std::vector<std::string> last_resort;  ///< families, in order
};

/// What a call asks for, in numbers.
struct Query {
  int dtype = 0;  ///< position in OpVocabulary::dtypes
  /// In key order: an exact key's position in exact_values (-1: another value), a log key's value.
  std::array<std::int64_t, kMaxKeys> keys{};
};

/// Why a candidate cannot run; null when it can. Correctness only, never speed.
struct Refusal {
  const char* reason = nullptr;
  explicit operator bool() const { return reason != nullptr; }
};

/// Asks the op whether a candidate (position in its dtype's list) can run this call.
struct CanRun {
  Refusal (*check)(const void* call, int candidate) = nullptr;  ///< null: everything can run
  const void* call = nullptr;
  Refusal operator()(int candidate) const {
    return check == nullptr ? Refusal{} : check(call, candidate);
  }
};

/// A table compiled into the program: its file name and text.
struct EmbeddedTable {
  std::string_view name;
  std::string_view text;
};

/// A choice and where it came from.
struct Decision {
  int candidate = -1;  ///< position in the dtype's list
  std::string spelling;
  std::string row;  ///< the row's key `name=value,...`; empty for a last resort or a pin
  double distance = 0;
  std::string device;  ///< the table's device; empty for a last resort or a pin
  std::string tier;    ///< the row's tier comment; may be empty
  std::optional<double> ms;
  int rank = 0;     ///< position in the row
  std::string tag;  ///< provenance, as the trace prints it
  struct Refused {
    std::string spelling;
    std::string reason;
  };
  std::vector<Refused> refused;  ///< better-ranked candidates that could not run
};

/// No candidate can run: `<op>: no candidate can run <key> on <device>; <reasons>`.
class NoCandidate : public Error {
 public:
  NoCandidate(const std::string& message, std::vector<Decision::Refused> refused)
      : Error(message), refused_(std::move(refused)) {}

  /// Every candidate that was asked, in the order of the walk.
  const std::vector<Decision::Refused>& refused() const { return refused_; }

 private:
  std::vector<Decision::Refused> refused_;
};

struct SelectorOptions {
  bool last_resort = true;      ///< fall back to families without a table row
  bool use_environment = true;  ///< FURLONG_TUNED_DIR, FURLONG_<OP>_PIN, trace and coverage
};

class Selector {
 public:
  /// `built_in` (its texts too) must outlive the selector; names of other ops in it are skipped.
  /// Built-in tables that do not parse, or that spell what is no candidate, throw Error on use.
  Selector(OpVocabulary vocabulary, std::span<const EmbeddedTable> built_in,
           SelectorOptions options = {});
  ~Selector();
  Selector(const Selector&) = delete;
  Selector& operator=(const Selector&) = delete;

  const OpVocabulary& vocabulary() const;

  /// The candidate to run on this machine's processor. Throws NoCandidate, Error for a malformed
  /// table, and std::invalid_argument for a bad pin.
  int choose(const Query& query, CanRun can_run);

  /// The same answer with its provenance, for any device.
  Decision explain(const Query& query, const DeviceKey& device, CanRun can_run);

 private:
  struct State;
  State* state_;
};

/// Pins `op` to a candidate for this thread while it lives; the innermost pin of an op counts.
/// Text: `auto`, `native`, `vendor` or a spelling; a strict pin (the tuner's) takes spellings only,
/// and its calls read no table.
class ScopedPin {
 public:
  enum class Mode { kLenient, kStrict };
  ScopedPin(std::string_view op, std::string_view text, Mode mode = Mode::kLenient);
  ~ScopedPin();
  ScopedPin(const ScopedPin&) = delete;
  ScopedPin& operator=(const ScopedPin&) = delete;
};

/// Held by an op while its kernel runs: calls made inside are traced one level deeper.
class CallScope {
 public:
  CallScope();
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
};

/// Reads the environment again (pins, override directory, trace, coverage); for tests.
void reload_environment();

}  // namespace furlong::select
