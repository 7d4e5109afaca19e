#include "verdict/loose_text.hh"

#include <algorithm>
#include <optional>

#include "base/text.hh"

namespace furlong::verdict {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '$' || c == ':';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  LooseText read() {
    LooseText result;
    while (skip()) {
      const auto begin = at_;
      if (auto made = instruction()) {
        result.pieces.push_back(std::move(*made));
        continue;
      }
      at_ = begin;
      // The braces around a computation say nothing.
      if (text_[at_] == '{' || text_[at_] == '}') {
        ++at_;
        continue;
      }
      const auto end = std::min(text_.find('\n', at_), text_.size());
      LooseInstruction other;
      other.words = words(text_.substr(at_, end - at_));
      result.pieces.push_back(std::move(other));
      at_ = end;
    }
    return result;
  }

 private:
  /// Past white space and comments; whether anything is left.
  bool skip() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        const auto end = comments_end_ ? text_.find("*/", at_ + 2) : std::string_view::npos;
        comments_end_ = end != std::string_view::npos;
        if (!comments_end_) return true;
        at_ = end + 2;
      } else {
        return true;
      }
    }
    return false;
  }
  bool take(char c) {
    if (!skip() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view name() {
    skip();
    const auto begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  /// Past balanced brackets or a string that stand here; false, anywhere, when they do not end.
  bool balanced() {
    const auto begin = at_;
    if (ends_balanced()) return true;
    at_ = std::min(at_, text_.size());
    // Else each line of a text of open brackets would be read to the end of the text.
    const bool many = text_.substr(begin, at_ - begin).find('\n') != std::string_view::npos;
    if (many && lines_to_lose_ > 0) --lines_to_lose_;
    return false;
  }
  bool ends_balanced() {
    std::vector<char> open;
    bool in_string = false;
    do {
      if (at_ >= text_.size()) return false;
      const char c = text_[at_++];
      if (c == '\n' && lines_to_lose_ == 0) return false;
      if (in_string) {
        if (c == '\\') ++at_;
        in_string = c != '"';
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[' || c == '(') {
        open.push_back(c == '{' ? '}' : c == '[' ? ']' : ')');
      } else if (c == '}' || c == ']' || c == ')') {
        if (open.empty() || open.back() != c) return false;
        open.pop_back();
      }
    } while (in_string || !open.empty());
    return at_ <= text_.size();
  }

  /// `type[dims]{layout}` or `(shape, ...)`; empty, and nothing passed, when none stands here.
  std::string_view shape() {
    skip();
    const auto begin = at_;
    bool good = false;
    if (at_ < text_.size() && text_[at_] == '(') {
      good = balanced();
    } else if (!name().empty() && skip() && text_[at_] == '[') {
      good = balanced();
      if (good && at_ < text_.size() && text_[at_] == '{') good = balanced();
    }
    if (!good) at_ = begin;
    return text_.substr(begin, at_ - begin);
  }

  std::optional<LooseInstruction> instruction() {
    LooseInstruction made;
    const auto begin = at_;
    auto first = take('%') ? std::string_view() : name();
    if (first == "ROOT") {
      made.root = true;
      take('%');
      first = {};
    }
    made.name = first.empty() ? name() : first;
    if (made.name.empty() || !take('=')) {
      if (made.root) return std::nullopt;
      at_ = begin;
      made.name = {};
    }
    made.shape = shape();
    if (made.shape.empty()) return std::nullopt;
    made.opcode = name();
    if (made.opcode.empty() || !skip() || text_[at_] != '(') return std::nullopt;
    const auto inside = at_ + 1;
    if (!balanced()) return std::nullopt;
    made.inside = trim(text_.substr(inside, at_ - 1 - inside));
    const auto end = at_;
    const bool number_or_value = made.opcode == "parameter" || made.opcode == "constant";
    if (!number_or_value) operands(made, inside, end - 1);
    at_ = end;
    attributes(made);
    return made;
  }

  void operands(LooseInstruction& made, std::size_t begin, std::size_t end) {
    const auto whole = text_;
    text_ = text_.substr(0, end);
    at_ = begin;
    std::vector<LooseOperand> found;
    bool good = skip();
    while (good) {
      LooseOperand operand;
      operand.shape = shape();
      take('%');
      operand.name = name();
      good = !operand.shape.empty() || !operand.name.empty();
      found.push_back(operand);
      if (!take(',')) break;
    }
    if (good && !skip()) made.operands = std::move(found);
    text_ = whole;
  }

  void attributes(LooseInstruction& made) {
    for (;;) {
      const auto begin = at_;
      const auto key = take(',') ? name() : std::string_view();
      if (key.empty() || !take('=') || !skip()) {
        at_ = begin;
        return;
      }
      const auto value = at_;
      bool good = true;
      while (good && at_ < text_.size() && text_[at_] != ',' && !is_space(text_[at_])) {
        const char c = text_[at_];
        if (c == '"' || c == '{' || c == '[' || c == '(') {
          good = balanced();
        } else {
          ++at_;
        }
      }
      if (!good || at_ == value) {
        at_ = begin;
        return;
      }
      made.attributes.emplace_back(key, text_.substr(value, at_ - value));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool comments_end_ = true;  ///< false: from here on none does
  int lines_to_lose_ = 16;    ///< brackets over several lines that may fail to end; 0: none may try
};

}  // namespace

LooseText read_loosely(std::string_view text) {
  return Reader(text).read();
}

}  // namespace furlong::verdict
