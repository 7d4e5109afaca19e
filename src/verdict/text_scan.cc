#include "verdict/text_scan.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/text.hh"

namespace furlong::verdict {
namespace {

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9');
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

class Scanner {
 public:
  Scanner(std::string_view text, int line) : text_(text), line_(line) {}

  void skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        const auto end = text_.find('\n', at_);
        at_ = end == std::string_view::npos ? text_.size() : end;
      } else if (is_blank(c)) {
        if (c == '\n') ++line_;
        ++at_;
      } else {
        return;
      }
    }
  }
  bool done() const { return at_ >= text_.size(); }
  char here() const { return done() ? '\0' : text_[at_]; }
  std::size_t at() const { return at_; }
  int line() const { return line_; }
  std::string_view from(std::size_t start) const { return text_.substr(start, at_ - start); }
  void step() {
    if (here() == '\n') ++line_;
    ++at_;
  }
  bool take(char c) {
    if (here() != c || done()) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    const auto start = at_;
    while (!done() && is_word(here())) ++at_;
    return from(start);
  }
  /// From the opening quote to behind the closing one; false when it does not end on its line.
  bool string_literal() {
    const char quote = text_[at_++];
    while (!done()) {
      const char c = text_[at_];
      if (c == '\n') return false;
      ++at_;
      if (c == quote) return true;
      if (c == '\\' && !done()) {
        if (here() == '\n') return false;
        ++at_;
      }
    }
    return false;
  }
  /// Behind the bracket that closes the open one before here; strings and comments do not count.
  bool to_close() {
    int depth = 1;
    while (!done()) {
      const char c = here();
      if (c == '"' || c == '\'') {
        if (!string_literal()) return false;
      } else if (c == '#') {
        skip_blank();
      } else {
        if (c == '{' || c == '<' || c == '[') ++depth;
        step();
        if ((c == '}' || c == '>' || c == ']') && --depth == 0) return true;
      }
    }
    return false;
  }
  std::string failure(std::string_view what) const {
    return fmt::format("line {}: {}", line_, what);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

/// One value: a message or a scalar; empty when it is well formed, else the reason.
std::string scan_value(Scanner& scanner, TextField field, std::vector<TextField>& fields) {
  scanner.skip_blank();
  if (scanner.take('{') || scanner.take('<')) {
    field.is_message = true;
    field.body_line = scanner.line();
    const auto start = scanner.at();
    const int opened = scanner.line();
    if (!scanner.to_close()) {
      return fmt::format("line {}: the message of {} has no end", opened, quoted(field.name));
    }
    field.body = scanner.from(start);
    field.body.remove_suffix(1);
    fields.push_back(field);
    return {};
  }
  field.body_line = scanner.line();
  const auto start = scanner.at();
  auto end = start;
  if (scanner.here() == '"' || scanner.here() == '\'') {
    while (scanner.here() == '"' || scanner.here() == '\'') {
      if (!scanner.string_literal()) return scanner.failure("a string has no end");
      end = scanner.at();
      scanner.skip_blank();
    }
  } else {
    if (scanner.take('-')) scanner.skip_blank();
    while (!scanner.done() && (is_word(scanner.here()) || scanner.here() == '.' ||
                               scanner.here() == '+' || scanner.here() == '-')) {
      scanner.step();
    }
    end = scanner.at();
    if (end == start) return scanner.failure(fmt::format("{} has no value", quoted(field.name)));
  }
  field.body = scanner.from(start).substr(0, end - start);
  fields.push_back(field);
  return {};
}

}  // namespace

Result<std::vector<TextField>> scan_fields(std::string_view text, int first_line) {
  using Fields = Result<std::vector<TextField>>;
  std::vector<TextField> fields;
  Scanner scanner(text, first_line);
  for (scanner.skip_blank(); !scanner.done(); scanner.skip_blank()) {
    TextField field;
    field.line = scanner.line();
    const auto start = scanner.at();
    if (scanner.take('[')) {
      if (!scanner.to_close()) return Fields::no(scanner.failure("'[' has no end"));
      field.name = scanner.from(start);
    } else if (is_name_start(scanner.here())) {
      field.name = scanner.word();
    } else {
      return Fields::no(scanner.failure(
          fmt::format("{} where a field's name is expected", quoted(text.substr(start, 1)))));
    }
    scanner.skip_blank();
    const bool colon = scanner.take(':');
    scanner.skip_blank();
    if (!colon && scanner.here() != '{' && scanner.here() != '<') {
      return Fields::no(scanner.failure(
          fmt::format("{} is followed by neither ':' nor '{{'", quoted(field.name))));
    }
    std::string failure;
    if (scanner.take('[')) {
      scanner.skip_blank();
      while (failure.empty() && !scanner.take(']')) {
        failure = scan_value(scanner, field, fields);
        scanner.skip_blank();
        if (failure.empty() && !scanner.take(',') && scanner.here() != ']') {
          failure = scanner.failure("a list has no end");
        }
        scanner.skip_blank();
      }
    } else {
      failure = scan_value(scanner, field, fields);
    }
    if (!failure.empty()) return Fields::no(std::move(failure));
    scanner.skip_blank();
    if (!scanner.take(',')) scanner.take(';');
  }
  return fields;
}

std::string scalar_text(std::string_view tokens) {
  if (tokens.empty() || (tokens.front() != '"' && tokens.front() != '\'')) {
    return std::string(tokens);
  }
  std::string bytes;
  char quote = '\0';
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const char c = tokens[i];
    if (quote == '\0') {
      if (c == '"' || c == '\'') quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (c != '\\' || i + 1 == tokens.size()) {
      bytes += c;
    } else {
      const char escaped = tokens[++i];
      static constexpr std::string_view kLetters = "abfnrtv\\'\"?";
      static constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"?";
      const auto known = kLetters.find(escaped);
      if (known != std::string_view::npos) {
        bytes += kMeanings[known];
      } else if (escaped >= '0' && escaped <= '7') {
        unsigned value = 0;
        std::size_t digits = 0;
        for (; digits < 3 && i < tokens.size() && tokens[i] >= '0' && tokens[i] <= '7'; ++digits) {
          value = value * 8 + static_cast<unsigned>(tokens[i++] - '0');
        }
        --i;
        bytes += static_cast<char>(value & 0xFFU);
      } else {
        bytes += '\\';
        bytes += escaped;
      }
    }
  }
  return bytes;
}

bool looks_like_text(std::string_view bytes) {
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF") bytes.remove_prefix(3);
  Scanner scanner(bytes, 1);
  scanner.skip_blank();
  if (scanner.here() == '[') return true;
  if (scanner.word().empty()) return false;
  scanner.skip_blank();
  const char next = scanner.here();
  return next == ':' || next == '{' || next == '<';
}

bool is_blank_text(std::string_view text) {
  Scanner scanner(text, 1);
  scanner.skip_blank();
  return scanner.done();
}

}  // namespace furlong::verdict
