// Verdict: on this exact device, for this exact computation, this configuration won a timed race.
//
// A verdict is one entry of an autotune cache in XLA's format. It is an immutable value that shares
// the message it was read with, so that copies are cheap and every field of the file, known or not,
// survives being carried from one file to another. Thread rule: as for a const object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace furlong::verdict {

namespace pb {
class Entry;
}

/// What a verdict answers to: nothing else matches, not one byte different.
struct Key {
  std::string device;
  std::string computation;
  /// XLA's entry version; files before 2025-03 have none.
  std::optional<std::int32_t> version;
  friend bool operator==(const Key&, const Key&) = default;
};

/// One named value: `block_m` `128`.
struct Field {
  std::string name;
  std::string value;
  friend bool operator==(const Field&, const Field&) = default;
};

enum class WinnerKind {
  kNone,
  kConv,
  kGemm,
  kCudaConvPlan,
  kAlgorithm,
  kTriton,
  kCustomKernelFusion,
  kOther,
};

using Scalar = std::variant<bool, std::int64_t, double, std::string>;

/// A winner of our own races: what `other { name: "furlong/<provider>" }` holds.
struct OwnWinner {
  std::string provider;
  /// A whole number within 2^53 comes back as an integer, whichever it was.
  std::map<std::string, Scalar> bindings;
  /// Hash of the candidate set that was raced.
  std::string candidates;
  /// Time of the second best over the winner's, >= 1; nothing when there was no second.
  std::optional<double> runner_up_ratio;
  friend bool operator==(const OwnWinner&, const OwnWinner&) = default;
};

class Verdict {
 public:
  /// A winner of our own. `run_time_ns` >= 0.
  static Verdict own(const Key& key, const OwnWinner& winner, std::int64_t run_time_ns);

  const std::string& device() const;
  const std::string& computation() const;
  std::optional<std::int32_t> entry_version() const;
  Key key() const;
  /// The same result under another key.
  Verdict with_key(const Key& key) const;

  WinnerKind winner_kind() const;
  /// `triton`, `gemm`, ..., `none`; for `other` its name (`CUBLAS_FISSION`, `furlong/opencl`).
  std::string winner_name() const;
  /// The winner's fields in the order of the schema. A field at its default value (0, false, empty)
  /// and one that is absent are the same to every reader of the format, so neither is listed. Bytes
  /// of an Any and fields unknown here are listed as hex.
  std::vector<Field> winner_fields() const;
  /// `triton block_m=128 block_n=256`, for people: control characters are written out.
  std::string winner_text() const;
  /// True when both say that the same configuration won.
  bool same_winner(const Verdict& other) const;
  /// What a Furlong race wrote; nothing for other winners and for such a one that cannot be read.
  std::optional<OwnWinner> own_winner() const;

  std::optional<std::int64_t> run_time_ns() const;
  /// The run time when it can have been measured: absent, 0 and the placeholder of 1 ns are not.
  std::optional<std::int64_t> measured_ns() const;
  std::optional<std::int64_t> scratch_bytes() const;
  /// `WRONG_RESULT: <message>`; nothing when the result is no failure.
  std::optional<std::string> failure() const;
  /// Everything beside key, winner and run time, as fields.
  std::vector<Field> metadata() const;
  /// True when the results are equal field by field, unknown ones too.
  bool same_result(const Verdict& other) const;
  /// Whether the file gave a number of CTAs; true for what is no triton winner.
  bool says_num_ctas() const;
  std::int64_t split_k() const;

  /// The result alone as text: the content of a file of a per-computation folder. Error when it has
  /// fields that text cannot name.
  std::string result_text() const;

  /// The message behind it, for the parts of this library that write files.
  explicit Verdict(std::shared_ptr<const pb::Entry> entry) : entry_(std::move(entry)) {}
  const pb::Entry& entry() const { return *entry_; }

 private:
  std::shared_ptr<const pb::Entry> entry_;
};

}  // namespace furlong::verdict
