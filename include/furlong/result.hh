// Result: a value, or the reason why there is none.
//
// For an *expected no* (a spelling that does not parse, a key that is malformed): the caller adds
// the place and decides whether it is an error. Broken input or environment is an Error instead.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace furlong {

template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose
  /// `reason` says what is wrong and what is allowed; never empty.
  static Result no(std::string reason) {
    Result result;
    result.reason_ = std::move(reason);
    return result;
  }

  explicit operator bool() const { return value_.has_value(); }
  /// Precondition: holds a value.
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  const T& operator*() const& { return *value_; }
  const T* operator->() const { return &*value_; }
  /// Empty when there is a value.
  const std::string& reason() const { return reason_; }

 private:
  Result() = default;
  std::optional<T> value_;
  std::string reason_;
};

}  // namespace furlong
