#include "ledger/include_scan.hh"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace furlong::ledger {
namespace {

constexpr auto kNone = std::string_view::npos;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/// Words that no modelled text holds, wherever they stand.
constexpr std::string_view kNeverModelled[] = {"__has_include", "include_next", "__has_embed",
                                               ".incbin", "\?\?="};

/// Directives that take in another file.
bool takes_in(std::string_view directive) {
  return directive == "include" || directive == "import" || directive == "embed" ||
         directive == "include_next";
}

/// Walks the text as a compiler's lexer would, as far as comments, literals and directives go.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  IncludeScan scan() {
    for (const std::string_view word : kNeverModelled) {
      if (const auto at = text_.find(word); at != kNone) refuse(at, word);
    }
    while (at_ < text_.size() && scan_.unmodelled.empty()) step();
    return std::move(scan_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void refuse(std::size_t at, std::string_view what) {
    if (!scan_.unmodelled.empty()) return;
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<long>(at), '\n');
    scan_.unmodelled = fmt::format("{}: {}", line, what);
  }

  /// A backslash at `at` and the newline behind it (blanks between them count, as in g++): its
  /// size, or 0.
  std::size_t splice(std::size_t at) const {
    if (at >= text_.size() || text_[at] != '\\') return 0;
    std::size_t end = at + 1;
    while (end < text_.size() && (is_blank(text_[end]) || text_[end] == '\r')) ++end;
    return end < text_.size() && text_[end] == '\n' ? end + 1 - at : 0;
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      line_is_blank_ = true;
      ++at_;
    } else if (is_blank(c) || c == '\r' || c == '\v' || c == '\f') {
      ++at_;
    } else if (const std::size_t size = splice(at_); size > 0) {
      // The next line goes on with this one: nothing on it is alone on its line.
      at_ += size;
      line_is_blank_ = false;
    } else if (c == '/' && peek(1) == '/') {
      line_comment();
    } else if (c == '/' && peek(1) == '*') {
      block_comment();
    } else if (c == '/' && splice(at_ + 1) > 0) {
      refuse(at_, "a continued line that may be a comment");
    } else if (c == '"' || c == '\'') {
      literal(c);
    } else if (c == '#' || (c == '%' && peek(1) == ':')) {
      directive();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (is_word(c)) {
      word();
    } else {
      ++at_;
      line_is_blank_ = false;
    }
  }

  /// Refuses `#include` and the like in [from, to), where no compiler reads a directive.
  void refuse_inside(std::size_t from, std::size_t to, std::string_view where) {
    const auto inside = text_.substr(from, to - from);
    for (std::size_t hash = inside.find('#'); hash != kNone; hash = inside.find('#', hash + 1)) {
      std::size_t at = hash + 1;
      while (at < inside.size() && is_blank(inside[at])) ++at;
      std::size_t end = at;
      while (end < inside.size() && is_word(inside[end])) ++end;
      if (takes_in(inside.substr(at, end - at))) {
        refuse(from + hash, fmt::format("an include {}", where));
      }
    }
  }

  void line_comment() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '\n') {
      const std::size_t size = splice(at_);
      at_ += size > 0 ? size : 1;
    }
    refuse_inside(start, at_, "in a comment");
  }

  void block_comment() {
    const std::size_t start = at_;
    const std::size_t close = text_.find("*/", at_ + 2);
    if (close == kNone) {
      refuse(start, "a comment that is not closed");
      return;
    }
    at_ = close + 2;
    refuse_inside(start, at_, "in a comment");
    line_is_blank_ = false;
  }

  void literal(char quote) {
    const std::size_t start = at_++;
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        refuse_inside(start, at_, "in a string");
        line_is_blank_ = false;
        return;
      }
      if (const std::size_t size = splice(at_); size > 0) {
        at_ += size - 1;
      } else if (text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        ++at_;
      }
    }
    refuse(start, "a quote that does not close on its line");
  }

  /// `at_` is at the quote.
  void raw_string() {
    const std::size_t start = at_;
    const std::size_t open = text_.find('(', at_);
    if (open == kNone || open - at_ - 1 > 16) {
      refuse(start, "a raw string without its (");
      return;
    }
    std::string end = ")";
    end += text_.substr(at_ + 1, open - at_ - 1);
    end += '"';
    const std::size_t close = text_.find(end, open + 1);
    if (close == kNone) {
      refuse(start, "a raw string that is not closed");
      return;
    }
    at_ = close + end.size();
    refuse_inside(start, at_, "in a raw string");
  }

  /// A preprocessing number, with digit separators.
  void number() {
    while (is_word(peek()) || peek() == '.' || (peek() == '\'' && is_word(peek(1))) ||
           ((peek() == '+' || peek() == '-') && at_ > 0 &&
            std::string_view("eEpP").find(text_[at_ - 1]) != kNone)) {
      ++at_;
    }
    line_is_blank_ = false;
  }

  void word() {
    const std::size_t start = at_;
    while (is_word(peek())) ++at_;
    const auto name = text_.substr(start, at_ - start);
    line_is_blank_ = false;
    if (splice(at_) > 0) {
      refuse(start, "a word on a continued line");
      return;
    }
    if (peek() == '"' &&
        (name == "R" || name == "u8R" || name == "uR" || name == "UR" || name == "LR")) {
      raw_string();
    } else if (name == "import") {
      std::size_t at = at_;
      while (at < text_.size() && is_blank(text_[at])) ++at;
      if (at < text_.size() && (text_[at] == '"' || text_[at] == '<')) {
        refuse(start, "an import declaration");
      }
    }
  }

  /// At a `#` or `%:` in code. Only `# include <name>` alone on its line, but for a comment behind
  /// it, is modelled.
  void directive() {
    const std::size_t start = at_;
    const bool digraph = peek() == '%';
    const bool alone = line_is_blank_;
    at_ += digraph ? 2 : 1;
    line_is_blank_ = false;
    std::size_t at = at_;
    bool plain = !digraph && alone;
    for (;;) {
      if (at < text_.size() && is_blank(text_[at])) {
        ++at;
      } else if (const std::size_t size = splice(at); size > 0) {
        at += size;
        plain = false;
      } else if (text_.substr(at, 2) == "/*") {
        const std::size_t close = text_.find("*/", at + 2);
        if (close == kNone) break;
        at = close + 2;
        plain = false;
      } else {
        break;
      }
    }
    std::string name;
    for (;;) {
      if (at < text_.size() && is_word(text_[at])) {
        name += text_[at++];
      } else if (const std::size_t size = splice(at); size > 0) {
        at += size;
        plain = plain && name.empty();
        continued_name_ = true;
      } else {
        break;
      }
    }
    if (std::exchange(continued_name_, false)) plain = false;
    if (!takes_in(name)) return;
    if (!plain || name != "include") {
      refuse(start, name == "include" ? "an include that is not alone on its line" : "a #" + name);
      return;
    }
    while (at < text_.size() && is_blank(text_[at])) ++at;
    const char open = at < text_.size() ? text_[at] : '\0';
    if (open != '"' && open != '<') {
      refuse(start, open == '/' ? "an include with a comment in it" : "an include of a macro");
      return;
    }
    const std::size_t line_end = std::min(text_.find('\n', at), text_.size());
    const std::size_t close = text_.find(open == '"' ? '"' : '>', at + 1);
    if (close == kNone || close > line_end || close == at + 1) {
      refuse(start, "an include without a name");
      return;
    }
    Include include;
    include.begin = at;
    include.end = close + 1;
    include.angled = open == '<';
    include.name = text_.substr(at + 1, close - at - 1);
    if (include.name.front() == '/' || include.name.find("//") != kNone ||
        include.name.find("/*") != kNone || include.name.find('\\') != kNone) {
      refuse(start, "an include of " + include.name);
      return;
    }
    at_ = close + 1;
    while (is_blank(peek()) || peek() == '\r') ++at_;
    const bool comment = peek() == '/' && (peek(1) == '/' || peek(1) == '*');
    if (at_ < text_.size() && peek() != '\n' && !comment) {
      refuse(start, "an include that is not alone on its line");
      return;
    }
    scan_.includes.push_back(std::move(include));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool line_is_blank_ = true;  ///< nothing but blanks on this line so far
  bool continued_name_ = false;
  IncludeScan scan_;
};

}  // namespace

IncludeScan scan_includes(std::string_view text) {
  return Scanner(text).scan();
}

}  // namespace furlong::ledger
