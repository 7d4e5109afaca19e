// Key spec: which properties of a call select a row, and how far apart two values are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "furlong/result.hh"

namespace furlong {

enum class KeyKind {
  kExact,  ///< any text; must match
  kLog,    ///< a whole number > 0; distance is weight * |log2 a - log2 b|
};

struct Key {
  std::string name;
  KeyKind kind = KeyKind::kExact;
  double weight = 1;  ///< of a log key; > 0
};

/// An ordered list of keys, spelled `name:exact`, `name:log` or `name:log:<weight>`, separated by
/// one space, e.g. `uplo:exact n:log:3 batch:log`. A weight is digits with at most one `.`.
class KeySpec {
 public:
  KeySpec() = default;
  static Result<KeySpec> parse(std::string_view text);

  const std::vector<Key>& keys() const { return keys_; }
  /// As it was spelled.
  const std::string& text() const { return text_; }
  /// Position of the key; -1 when there is none of that name.
  int index(std::string_view name) const;
  bool operator==(const KeySpec& other) const { return text_ == other.text_; }

 private:
  std::vector<Key> keys_;
  std::string text_;
};

}  // namespace furlong
