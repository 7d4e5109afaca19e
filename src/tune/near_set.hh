// NearSet: lattice points, asked whether one of them is near another point.
//
// Points are stored as paths of a tree, one level a key, in one hash table: a question looks at the
// at most (2s-1)^k neighbours of a point that can exist, however many points are held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace furlong::tune {

class NearSet {
 public:
  /// Per key: is it a log key (a position on a lattice), or must it be equal?
  explicit NearSet(std::vector<bool> is_log) : is_log_(std::move(is_log)), slots_(1024) {}

  void insert(std::span<const std::uint32_t> point) {
    std::uint32_t node = kRoot;
    for (const std::uint32_t step : point) node = child_or_new(node, step);
  }

  /// Is there a point with equal exact keys and less than `stride` steps away on every log key?
  bool is_near(std::span<const std::uint32_t> point, std::uint32_t stride) const {
    return count_ > 0 && is_near(kRoot, 0, point, stride);
  }

 private:
  static constexpr std::uint32_t kRoot = 1;  // 0 marks a free slot
  struct Slot {
    std::uint32_t parent = 0;
    std::uint32_t step = 0;
    std::uint32_t node = 0;
  };

  bool is_near(std::uint32_t node, std::size_t level, std::span<const std::uint32_t> point,
               std::uint32_t stride) const {
    if (level == point.size()) return true;
    const std::uint32_t at = point[level];
    const std::uint32_t reach = is_log_[level] ? stride - 1 : 0;
    for (std::uint32_t step = at - std::min(at, reach); step <= at + reach; ++step) {
      const Slot& slot = slots_[find(node, step)];
      if (slot.node != 0 && is_near(slot.node, level + 1, point, stride)) return true;
    }
    return false;
  }

  std::size_t find(std::uint32_t parent, std::uint32_t step) const {
    std::uint64_t mixed = (std::uint64_t{parent} << 32 | step) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 32;
    std::size_t at = mixed & (slots_.size() - 1);
    while (slots_[at].node != 0 && (slots_[at].parent != parent || slots_[at].step != step)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  std::uint32_t child_or_new(std::uint32_t parent, std::uint32_t step) {
    std::size_t at = find(parent, step);
    if (slots_[at].node != 0) return slots_[at].node;
    if (2 * ++count_ > slots_.size()) {
      std::vector<Slot> old(2 * slots_.size());
      old.swap(slots_);
      for (const Slot& slot : old) {
        if (slot.node != 0) slots_[find(slot.parent, slot.step)] = slot;
      }
      at = find(parent, step);
    }
    slots_[at] = {parent, step, kRoot + count_};
    return slots_[at].node;
  }

  std::vector<bool> is_log_;
  std::vector<Slot> slots_;  ///< open addressing; a power of two, at most half full
  std::uint32_t count_ = 0;
};

}  // namespace furlong::tune
