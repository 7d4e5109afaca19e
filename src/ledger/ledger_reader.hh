// LedgerReader: turns lines into a Ledger. Internal to the ledger part.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ledger/ledger.hh"
#include "ledger/line_reader.hh"

namespace furlong::ledger {

/// One pass over the lines of a file, in order, then finish().
class LedgerReader {
 public:
  LedgerReader(std::string_view file, const ReadOptions& options);

  /// Takes one line that is not blank. Empty when it counts (or is of an unknown kind), else the
  /// reason why it is malformed; it is then left out. LineParser::kPadding bytes after the line
  /// must be readable.
  std::string take(std::string_view line, std::int32_t number);
  void warn(std::string warning) { ledger_.warnings_.push_back(std::move(warning)); }
  /// Room for what `fraction` of the file so far lets expect of the whole.
  void expect(double fraction);

  /// Takes over what a reader of the following part of the same file took, whose line 1 is this
  /// file's line `line_offset` + 1.
  void absorb(LedgerReader&& next, std::int32_t line_offset);

  /// Joins cells to runs and leaves out what does not count.
  Ledger finish() &&;

 private:
  /// What this reader read itself, before it absorbed anything.
  Ledger::Part& own_part() { return ledger_.parts_.front(); }

  /// A `|`-joined list; the text is the one it was made from.
  struct Names {
    std::string text;
    std::vector<NameId> names;
  };

  std::string take_run(std::int32_t number);
  std::string take_cell(std::int32_t number);
  std::string take_audit();
  std::string take_rehash(std::int32_t number);

  std::string texts_only(std::initializer_list<Field> needed,
                         std::initializer_list<Field> optional) const;
  std::string take_dtype(std::int32_t& dtype);
  std::string take_tier(Tier& tier) const;
  std::string take_key(NameId& key);
  /// The position in lists_ of a `|`-joined list; it holds until the next call.
  std::string take_list(std::string_view field, std::string_view text, std::uint32_t& list);
  NameId intern_listed(std::string_view name);
  std::string take_outcome(std::size_t i, NameId candidate, NameId family);
  NameId again(NameId last, std::string_view text);
  void store_run(std::int32_t slot, StoredRun run);
  /// Gives the parts that were absorbed the names of this ledger.
  void rename_parts();
  std::int32_t run_of(std::string_view run_id, std::int32_t dtype);

  const ReadOptions& options_;
  /// Of each part that was absorbed: by its own name ids, those of this ledger.
  std::vector<std::vector<NameId>> names_of_part_;
  LineReader line_;
  Ledger ledger_;

  /// Runs by (run id, dtype) in order of first mention, with or without a run line yet.
  struct RunSlot {
    NameId run_id = 0;
    std::int32_t dtype = 0;
    std::int32_t stored = -1;  ///< position in ledger_.runs_
  };
  std::unordered_map<std::uint64_t, std::int32_t> slot_of_run_;
  std::vector<RunSlot> slots_;
  std::vector<std::int32_t> audit_slots_;

  // The previous line's values: a writer repeats most of them.
  std::string last_run_id_;
  std::int32_t last_run_dtype_ = -1;
  std::int32_t last_slot_ = -1;
  std::int32_t last_dtype_ = -1;
  NameId last_date_ = 0;
  Names cands_;
  std::vector<NameId> families_;  ///< of cands_
  std::vector<NameId> last_hash_;
  // Lists that were taken apart, by the id of their text: rankings repeat, in no order.
  static constexpr std::size_t kMostLists = 4096;
  Interner list_texts_;
  std::vector<std::vector<NameId>> lists_{{}};
  std::vector<std::uint32_t> listed_;  ///< by id: the last list that held the name
  std::uint32_t list_count_ = 0;
  std::vector<bool> good_key_;  ///< by id
};

}  // namespace furlong::ledger
