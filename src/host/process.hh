// Process: who runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace furlong::host {

/// The file of the running program.
std::filesystem::path own_executable();

/// This machine's name, as far as it is `[A-Za-z0-9._-]` (other characters become `_`).
std::string host_name();

int process_id();

/// The variable's value; nothing when it is not set.
std::optional<std::string> environment(const char* name);

}  // namespace furlong::host
