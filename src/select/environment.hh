// What selection reads of its surroundings, behind an interface so that tests can make one up.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::select {

/// Thread rule: may be asked from any thread.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual std::optional<std::string> variable(const std::string& name) const = 0;
  /// Names of what is in a folder, of any kind, sorted. Throws Error when it cannot be listed.
  virtual std::vector<std::string> list(const std::string& folder) const = 0;
  /// Throws Error when it is no regular file (or link to one), or cannot be read.
  virtual std::string read(const std::string& folder, const std::string& name) const = 0;
  /// Appends a line to a file; false when it could not be written.
  virtual bool append(const std::string& file, std::string_view line) const = 0;
};

/// The process's own.
const Environment& process_environment();

/// Puts another environment in force for every selector, and forgets what was read; null brings
/// back the process's own. `environment` must outlive its use. For tests.
void set_environment(const Environment* environment);

/// The one in force, and how often it was changed or reloaded.
const Environment& environment();
std::uint64_t environment_generation();

}  // namespace furlong::select
