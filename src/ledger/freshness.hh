// Freshness: which records still hold, and which one counts for a cell.
//
// One decision for everyone: planning, refinement, `status`, `why` and table generation read it
// here. What is a candidate, a key and a hash *now* comes from the running program while it tunes,
// from the ledger's newest runs everywhere else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "furlong/cell_key.hh"
#include "furlong/dtype.hh"
#include "furlong/kernel_hashes.hh"
#include "furlong/key_spec.hh"
#include "ledger/interner.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/ledger.hh"

namespace furlong::ledger {

/// What records are compared with.
struct Now {
  KeySpec keys;  ///< of the op, without dtype
  /// Per dtype of the project: long spellings in order; empty where the op has none.
  std::vector<std::vector<std::string>> candidates;
  /// A family without a hash here differs from every stored one.
  KernelHashes hashes;
};

/// The greatest (date, run id, line) among the runs of a measured tier, or among all where there
/// is none; of one dtype, or of all with -1. Null when there is no run.
const StoredRun* newest_run(const Ledger& ledger, std::int32_t dtype = -1);

/// What the newest runs say. Asks for hashes only when the ledger holds a measured record. Throws
/// Error `<file>: <what>` for a ledger without a clean run line.
Now now_of_newest_runs(const Ledger& ledger, const DtypeList& dtypes, const HashesNow& hashes);

/// Families of the lists, in order of first appearance over dtypes and candidates.
std::vector<std::string> families_of(const std::vector<std::vector<std::string>>& candidates);

enum class Standing : std::uint8_t { kCurrent, kPartlyStale, kStale };

/// `current`, `partly stale`, `stale`.
std::string_view standing_name(Standing standing);

/// Why a record is stale or partly stale.
struct Cause {
  enum class Kind {
    kWinnerRemoved,   ///< stale: the winner `subject` is no candidate now
    kWinnerOutside,   ///< stale: the winner `subject` is not among the record's candidates
    kWinnerChanged,   ///< stale: the hash of the winner's family `subject` was `was`, is `now`
    kKeyMissing,      ///< stale: the record lacks the key `subject`
    kAxesDiffer,      ///< stale: the record has the axes `was`, the dtype's last measured one `now`
    kFamilyChanged,   ///< partly: the hash of family `subject` was `was`, is `now`
    kFamilyGone,      ///< partly: no candidate of family `subject` is left
    kDominated,       ///< partly: candidate `subject` was never tried (`was` = its reason)
    kCandidateAdded,  ///< partly: the record lacks the candidate `subject`
  };
  Kind kind = Kind::kFamilyChanged;
  std::string subject;
  std::string was;  ///< an effective hash; empty when none was stored
  std::string now;  ///< empty when there is none

  bool operator==(const Cause&) const = default;
  /// One line for people.
  std::string text() const;
};

/// Judges every record of a ledger once, when made. Refers to the ledger, which must outlive it.
/// Immutable after: safe to share between threads.
class Freshness {
 public:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

  Freshness(const Ledger& ledger, const DtypeList& dtypes, Now now);

  const Ledger& ledger() const { return ledger_; }
  const Now& now() const { return now_; }

  // Of the record at a position in ledger().cells():
  Standing standing(std::size_t record) const { return judged_[record].standing; }
  /// Every candidate is an error: it is no record.
  bool all_errors(std::size_t record) const { return judged_[record].all_errors; }
  /// Not stale, and a record: it may be the best of its cell.
  bool counts(std::size_t record) const {
    return !judged_[record].all_errors && judged_[record].standing != Standing::kStale;
  }
  /// In order: of the winner, of the key, of the candidates in the record's order, of those added.
  std::vector<Cause> causes(std::size_t record) const;
  /// Changed families, then those of added candidates not among them: what a partial re-race takes.
  std::vector<std::string> changed_families(std::size_t record) const;

  /// The best record of each cell, positions in file order: the measured best; where there is none
  /// or its ranking is empty, the best imported one with the same table key.
  std::span<const std::int32_t> best() const { return best_; }
  /// The best measured record of a cell, whatever its ranking; -1 when there is none.
  std::int32_t best_measured(std::int32_t dtype, const CellKey& key) const;
  /// As best(), of one cell; -1 when there is none.
  std::int32_t best_of(std::int32_t dtype, const CellKey& key) const;

  // A record's key, in numbers: equal numbers are equal keys.
  /// Of the whole key; the order of its items does not matter.
  std::uint32_t cell_id(std::size_t record) const { return key(record).cell; }
  /// Of the table key: the values of the op's keys; kNone when one is missing.
  std::uint32_t table_key_id(std::size_t record) const { return key(record).table_key; }
  /// Of the names and values that are no table keys.
  std::uint32_t hidden_id(std::size_t record) const { return key(record).hidden; }
  /// The values of a table key in the order of now().keys, joined by `,`; whole numbers of log keys
  /// without leading zeros. No value holds a `,`.
  std::string_view table_key(std::uint32_t id) const { return table_keys_.text(id); }
  std::uint32_t table_key_count() const { return static_cast<std::uint32_t>(table_keys_.size()); }
  /// `name=value,...` by name; empty without hidden axes.
  std::string_view hidden_axes(std::uint32_t id) const { return hidden_.text(id); }

 private:
  struct Item {
    std::string_view name;
    std::string_view value;
  };
  struct KeyInfo {
    std::uint32_t names = 0;  ///< the set of its names
    std::uint32_t cell = kNone;
    std::uint32_t table_key = kNone;
    std::uint32_t hidden = 0;
  };
  struct Judged {
    Standing standing = Standing::kCurrent;
    bool all_errors = false;
  };
  struct DtypeNow {
    std::vector<std::int32_t> position;  ///< by NameId: of the candidate in the list, or -1
    std::size_t count = 0;
    std::vector<std::pair<NameId, NameId>> families;  ///< those that the ledger names, hash now
  };
  /// Names of a key in the order in which it holds them.
  struct Shape {
    std::uint32_t names = 0;
    std::string prefix;                  ///< of the texts in cells_: the set of its names
    std::vector<std::uint32_t> by_name;  ///< positions of the items, ordered by name
    std::vector<std::int32_t> of_key;    ///< per key of the spec: position of its item, or -1
    std::vector<std::uint32_t> hidden;   ///< positions of the other items, ordered by name
    bool complete = false;
  };
  struct Memo {
    NameId family = kNone;
    NameId hash = kNone;
    std::int32_t dtype = -1;
    bool differs = false;
  };

  const KeyInfo& key(std::size_t record) const {
    return keys_[slot_of_key_[ledger_.cells()[record].key]];
  }
  void index_keys();
  /// Both arguments are scratch: the items of the key, changed, and any text.
  KeyInfo index_key(std::vector<Item>& items, std::string& buffer);
  void index_now(std::size_t dtypes);
  void judge_range(std::size_t begin, std::size_t end);
  void find_best();
  const NameId* hash_now(std::int32_t dtype, NameId family) const;
  template <class Differs, class Report>
  void judge(std::size_t record, Differs&& differs, Report&& report) const;
  bool lookup(const CellKey& key, KeyInfo& info) const;

  const Ledger& ledger_;
  Now now_;

  std::vector<std::uint32_t> slot_of_key_;  ///< by NameId
  std::vector<KeyInfo> keys_;
  std::vector<Shape> shapes_;
  Interner shape_names_;  ///< sequences of names; id - 1 is a position in shapes_
  Interner name_sets_;
  Interner cells_;
  Interner table_keys_;
  Interner hidden_;

  std::vector<DtypeNow> dtypes_;
  std::vector<std::uint32_t> axes_of_dtype_;  ///< names of its last measured record, or kNone
  std::vector<Judged> judged_;

  std::vector<std::int32_t> best_;
  std::vector<std::vector<std::int32_t>> measured_;  ///< by dtype, cell
  std::vector<std::vector<std::int32_t>> imported_;  ///< by dtype, table key
};

}  // namespace furlong::ledger
