// Interner: texts that repeat, kept once each.
//
// All bytes stand in one buffer and the index is one flat table, so that a ledger's 100,000 keys
// cost no allocation each. A value; texts are valid while it lives and nothing is added.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace furlong::ledger {

/// Position of a text in an Interner. Equal texts have equal ids; 0 is the empty text.
using NameId = std::uint32_t;

class Interner {
 public:
  static constexpr NameId kNone = static_cast<NameId>(-1);

  Interner() : slots_(64, kNone) { intern({}); }

  NameId intern(std::string_view text) { return intern(text, std::hash<std::string_view>()(text)); }
  /// A text of another one.
  NameId intern(const Interner& other, NameId id) {
    return intern(other.text(id), other.names_[id].hash);
  }

  /// kNone when the text was never interned.
  NameId find(std::string_view text) const {
    const std::size_t hash = std::hash<std::string_view>()(text);
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != kNone; at = (at + 1) & (slots_.size() - 1)) {
      const Name& name = names_[slots_[at]];
      if (name.hash == hash && this->text(slots_[at]) == text) return slots_[at];
    }
    return kNone;
  }

  std::string_view text(NameId id) const {
    const Name& name = names_[id];
    return {bytes_.data() + name.first, name.size};
  }

  std::size_t size() const { return names_.size(); }

 private:
  struct Name {
    std::size_t hash;
    std::size_t first;
    std::size_t size;
  };

  NameId intern(std::string_view text, std::size_t hash) {
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != kNone; at = (at + 1) & (slots_.size() - 1)) {
      const Name& name = names_[slots_[at]];
      if (name.hash == hash && this->text(slots_[at]) == text) return slots_[at];
    }
    const auto id = static_cast<NameId>(names_.size());
    slots_[at] = id;
    names_.push_back({hash, bytes_.size(), text.size()});
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    if (2 * names_.size() > slots_.size()) grow();
    return id;
  }

  void grow() {
    std::vector<NameId> slots(2 * slots_.size(), kNone);
    for (NameId id = 0; id < names_.size(); ++id) {
      std::size_t at = names_[id].hash & (slots.size() - 1);
      while (slots[at] != kNone) at = (at + 1) & (slots.size() - 1);
      slots[at] = id;
    }
    slots_ = std::move(slots);
  }

  std::vector<char> bytes_;
  std::vector<Name> names_;
  std::vector<NameId> slots_;  ///< open addressing; a power of two, at most half full
};

}  // namespace furlong::ledger
