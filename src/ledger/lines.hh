// Lines of a ledger: where each begins and ends, for everything that walks one. Internal.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace furlong::ledger {

struct RawLine {
  std::string_view text;    ///< without the newline
  std::int32_t number = 0;  ///< 1-based
  bool ended = false;       ///< had a newline
  bool blank = false;       ///< JSON white space only
};

/// Takes the next line off `rest`; false at its end.
inline bool next_line(std::string_view& rest, RawLine& line) {
  if (rest.empty()) return false;
  const auto* at = static_cast<const char*>(std::memchr(rest.data(), '\n', rest.size()));
  line.ended = at != nullptr;
  const std::size_t size = line.ended ? static_cast<std::size_t>(at - rest.data()) : rest.size();
  line.text = rest.substr(0, size);
  line.blank = line.text.find_first_not_of(" \t\r") == std::string_view::npos;
  ++line.number;
  rest.remove_prefix(size + (line.ended ? 1 : 0));
  return true;
}

/// A Git LFS pointer stands in for content that was not pulled.
inline bool is_lfs_pointer(std::string_view bytes) {
  return bytes.substr(0, 23) == "version https://git-lfs";
}

inline constexpr std::string_view kLfsReason =
    "a Git LFS pointer stands here instead of the ledger; pull the content (git lfs pull)";

}  // namespace furlong::ledger
