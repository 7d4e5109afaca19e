// LookUp: from a key to its verdict, and from a key that is missed to the nearest one.
//
// A look-up hashes the key once and compares bytes once; it allocates nothing. Holds the verdicts
// that it was made of. Const use from several threads is safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verdict/device_line.hh"
#include "verdict/line_diff.hh"
#include "verdict/verdict.hh"

namespace furlong::verdict {

class LookUp {
 public:
  explicit LookUp(std::vector<Verdict> verdicts = {});

  std::size_t size() const { return verdicts_.size(); }
  const std::vector<Verdict>& verdicts() const { return verdicts_; }

  /// The first verdict of this exact key; a version that is absent matches only an absent one.
  const Verdict* find(std::string_view device, std::string_view computation,
                      std::optional<std::int32_t> version) const;
  const Verdict* find(const Key& key) const {
    return find(key.device, key.computation, key.version);
  }
  /// Every verdict for this device and computation, of any entry version, in order.
  std::vector<const Verdict*> find_any_version(std::string_view device,
                                               std::string_view computation) const;

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint64_t entry = 0;  ///< where it begins in entries_, from 1; 0 is free
  };
  /// Followed by the bytes of the device line and of the computation.
  struct Entry {
    std::uint32_t index = 0;  ///< of the verdict
    std::uint32_t device_size = 0;
    std::uint32_t computation_size = 0;
    std::int32_t version = 0;
    bool has_version = false;
  };
  /// The first entry of this device and computation that `wanted` takes; -1 when there is none.
  template <class Wanted>
  std::int64_t find_entry(std::string_view device, std::string_view computation,
                          const Wanted& wanted) const;

  std::vector<Verdict> verdicts_;
  /// All keys once more, one after the other: a look-up touches its slot and its entry, where the
  /// verdicts themselves would be four places far apart.
  std::string entries_;
  /// Open addressing, a power of two, at most half full; by device and computation, so that entry
  /// versions of one key follow each other.
  std::vector<Slot> slots_;
};

/// Why a key is missed: the nearest verdict, and all that differs from it.
struct NearMiss {
  const Verdict* nearest = nullptr;
  std::vector<ClauseDifference> clauses;
  std::vector<LineDifference> lines;
  /// True when the entry version is another one.
  bool version_differs = false;
};

/// The nearest of `verdicts` to a key that none of them has: fewest clauses and lines differ, the
/// computation counting first; the earlier of two equally near. Nothing when there are none.
/// `version`: compared only when it is given.
std::optional<NearMiss> nearest_miss(std::span<const Verdict> verdicts, const Key& wanted);

/// One line a difference: `clause L2 cache: wanted 40 MB, here 50 MB`; control characters are
/// written out.
std::vector<std::string> explain(const NearMiss& miss, const Key& wanted);

}  // namespace furlong::verdict
