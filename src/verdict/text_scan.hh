// text_scan: the fields of a protobuf text, one level at a time, without any schema.
//
// It answers what a parser with a schema cannot: which kind of message a text is, on which line a
// field stands, and what the fields are of a kind that has no schema here. Values are views into
// the text. Pure; linear in the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "furlong/result.hh"

namespace furlong::verdict {

struct TextField {
  /// As written; `[...]` for an extension or an expanded Any.
  std::string_view name;
  int line = 0;
  /// True for `{ }` and `< >`.
  bool is_message = false;
  /// What is between the braces, or the scalar's tokens as written.
  std::string_view body;
  /// The line on which `body` begins.
  int body_line = 0;
};

/// The fields of `text`, whose first line is `first_line`; a list `[a, b]` gives one field an item.
/// No: `line <n>: <what>`.
Result<std::vector<TextField>> scan_fields(std::string_view text, int first_line = 1);

/// The bytes of a scalar made of one or more string literals; the tokens as written otherwise.
std::string scalar_text(std::string_view tokens);

/// True when `bytes` begin like a protobuf text: white space and `#` comments, then `name` followed
/// by `:`, `{` or `<`, or an extension. A binary message of the kinds read here does not.
bool looks_like_text(std::string_view bytes);

/// True for white space and comments alone.
bool is_blank_text(std::string_view text);

}  // namespace furlong::verdict
