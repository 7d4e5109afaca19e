// lint: what in a cache a loader would stumble over, or a reader should not trust. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verdict/verdict_file.hh"

namespace furlong::verdict {

/// The rules, in the order in which findings of one entry come:
///   file_version    the version of the file is not 3
///   extension       a loader takes the file for the other form because of its extension
///   dialects        device lines of more than one dialect in one file
///   duplicate_key   a loader aborts on it
///   entry_version   absent, or older than the one that is wanted
///   no_winner       nothing says what won
///   run_time        absent, or a placeholder of 1 ns and less
///   num_ctas        a triton winner without it
///   split_k         a triton winner with split_k > 1
///   device_line     a device line of no dialect known here
struct Finding {
  std::string_view rule;
  /// From 1; 0 for the whole file.
  std::size_t entry = 0;
  /// 0 where there is none.
  int line = 0;
  std::string message;
};

inline constexpr std::int32_t kWantedEntryVersion = 50;

/// `name`: the file's name, for its extension.
std::vector<Finding> lint(const VerdictFile& file, std::string_view name,
                          std::int32_t wanted_version = kWantedEntryVersion);

}  // namespace furlong::verdict
