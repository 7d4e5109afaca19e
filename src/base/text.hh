// Small pure helpers on text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace furlong {

/// The pieces between separators; always at least one, empty pieces kept.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The words between runs of ASCII white space; none for blank text.
std::vector<std::string_view> words(std::string_view text);

std::string join(std::span<const std::string> pieces, std::string_view separator);

/// Without ASCII white space at both ends.
std::string_view trim(std::string_view text);

bool is_space(char c);
bool has_space(std::string_view text);

/// Does it begin with the byte-order mark of UTF-8?
bool begins_with_mark(std::string_view text);
inline constexpr std::string_view kMarkReason =
    "begins with a byte-order mark; save it as UTF-8 without one";

/// ASCII only.
std::string lower(std::string_view text);

/// `text` with its control characters written out, `\x1b` and `\u009b`: what comes from a file
/// must not steer a terminal.
std::string printable(std::string_view text);

/// `text` in double quotes, control bytes and quotes escaped, cut at 80 bytes: for messages.
std::string quoted(std::string_view text);
/// The same; without it std::quoted would be found for a std::string.
inline std::string quoted(const std::string& text) {
  return quoted(std::string_view(text));
}
inline std::string quoted(const char* text) {
  return quoted(std::string_view(text));
}

}  // namespace furlong
