// Error: broken input or environment, told as `<where>: <what>; <what is allowed>`.
//
// A caller's mistake is std::invalid_argument instead; an expected *no* is a Result or a Refusal.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace furlong {

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// `where` is a place a person can open: `<file>:<line>`, a variable, a flag.
  Error(std::string_view where, std::string_view what)
      : std::runtime_error(std::string(where) + ": " + std::string(what)) {}
};

}  // namespace furlong
