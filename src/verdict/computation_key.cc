#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/number.hh"
#include "base/text.hh"
#include "verdict/computation.hh"
#include "verdict/loose_text.hh"
#include "verdict/post_order.hh"

namespace furlong::verdict {
namespace {

constexpr int kDeepest = 32;  ///< of what is taken apart; deeper text is compared as it is

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

template <class Words>
bool holds(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Without comments, `%`, and the white space that separates no words; strings stay as they are.
std::string squeezed(std::string_view text) {
  std::string result;
  bool in_string = false;
  bool space = false;
  bool comments_end = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      result += c;
      if (c == '\\' && i + 1 < text.size()) result += text[++i];
      in_string = c != '"';
      continue;
    }
    if (is_space(c)) {
      space = true;
      continue;
    }
    if (c == '/' && comments_end && text.substr(i, 2) == "/*") {
      const auto end = text.find("*/", i + 2);
      comments_end = end != std::string_view::npos;
      if (comments_end) {
        i = end + 1;
        space = true;
        continue;
      }
    }
    if (c == '%') continue;
    if (space && !result.empty() && is_word(result.back()) && is_word(c)) result += ' ';
    space = false;
    result += c;
    in_string = c == '"';
  }
  return result;
}

/// The members of a squeezed list without its parentheses: the pieces between commas at depth 0.
std::vector<std::string_view> members_of(std::string_view list) {
  std::vector<std::string_view> members;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || depth != 0) continue;
    members.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  if (!list.empty()) members.push_back(list.substr(begin));
  return members;
}

/// Whether the last element of a call's result is its scratch: bytes of one dimension.
bool is_workspace(std::string_view shape) {
  return (shape.starts_with("s8[") || shape.starts_with("u8[")) &&
         shape.substr(0, shape.find(']')).find(',') == std::string_view::npos &&
         !shape.starts_with("s8[]") && !shape.starts_with("u8[]");
}

/// One spelling of a shape: no blanks, a layout where there are dimensions, or none at all.
std::string shape_text(std::string_view squeezed_shape, bool layouts, bool drop_workspace = false,
                       int depth = 0) {
  if (squeezed_shape.starts_with('(') && squeezed_shape.ends_with(')') && depth < kDeepest) {
    auto members = members_of(squeezed_shape.substr(1, squeezed_shape.size() - 2));
    if (drop_workspace && members.size() > 1 && is_workspace(members.back()))
      members.pop_back();
    else
      drop_workspace = false;
    std::vector<std::string> texts;
    for (const auto member : members)
      texts.push_back(shape_text(member, layouts, false, depth + 1));
    if (drop_workspace && texts.size() == 1) return texts[0];
    return fmt::format("({})", fmt::join(texts, ","));
  }
  const auto open = squeezed_shape.find('[');
  const auto close = squeezed_shape.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::string(squeezed_shape);
  }
  std::string text(squeezed_shape.substr(0, close + 1));
  if (!layouts || close == open + 1) return text;
  const auto layout = squeezed_shape.substr(close + 1);
  if (!layout.empty()) return text + std::string(layout);
  std::vector<std::int64_t> numbers;
  for (auto i = std::count(text.begin(), text.end(), ','); i >= 0; --i) numbers.push_back(i);
  return fmt::format("{}{{{}}}", text, fmt::join(numbers, ","));
}

constexpr std::string_view kDotDimensions = "dot_dimension_numbers";

/// JSON with the members of each object sorted by name, without blanks, without empty lists
/// and without the members named in `left_out`; nothing when the text is no JSON object or nests
/// deeper than kDeepest. Numbers and strings stay as they are written.
class JsonSorter {
 public:
  JsonSorter(std::string_view text, const std::vector<std::string>& left_out)
      : text_(text), left_out_(left_out) {}

  std::optional<std::string> sorted() {
    skip();
    if (at_ == text_.size() || text_[at_] != '{') return std::nullopt;
    auto result = value(0);
    skip();
    if (at_ != text_.size()) return std::nullopt;
    return result;
  }
  /// The member that says which dimensions a matrix product contracts; empty when there was none.
  const std::string& dot_dimensions() const { return dot_dimensions_; }

 private:
  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> string() {
    skip();
    const auto begin = at_;
    if (!take('"')) return std::nullopt;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return std::nullopt;
    }
    ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::optional<std::string> value(int depth) {
    skip();
    if (depth == kDeepest || at_ == text_.size()) return std::nullopt;
    if (text_[at_] == '"') return string();
    if (take('[')) {
      std::vector<std::string> items;
      if (take(']')) return "[]";
      do {
        auto item = value(depth + 1);
        if (!item) return std::nullopt;
        items.push_back(std::move(*item));
      } while (take(','));
      if (!take(']')) return std::nullopt;
      return fmt::format("[{}]", fmt::join(items, ","));
    }
    if (take('{')) return object(depth);
    const auto begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '+')) ++at_;
    if (at_ == begin) return std::nullopt;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::optional<std::string> object(int depth) {
    std::vector<std::string> items;
    if (take('}')) return "{}";
    do {
      auto key = string();
      if (!key || !take(':')) return std::nullopt;
      auto item = value(depth + 1);
      if (!item) return std::nullopt;
      const auto name = std::string_view(*key).substr(1, key->size() - 2);
      // A list without members is printed by some releases and not by others.
      if (*item == "[]" || holds(left_out_, name)) continue;
      if (name == kDotDimensions) dot_dimensions_ = *item;
      items.push_back(*key + ":" + *item);
    } while (take(','));
    if (!take('}')) return std::nullopt;
    std::sort(items.begin(), items.end());
    return fmt::format("{{{}}}", fmt::join(items, ","));
  }

  std::string_view text_;
  const std::vector<std::string>& left_out_;
  std::size_t at_ = 0;
  std::string dot_dimensions_;
};

/// The text that a string `"..."` stands for; other text as it is.
std::string unescaped(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  text = text.substr(1, text.size() - 2);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char c = text[++i];
    result += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return result;
}

constexpr std::string_view kConfig = "backend_config";
constexpr std::string_view kConfigField = "backend_config.";
constexpr std::array<std::string_view, 10> kItems{"device",   "dnn",      "version",    "names",
                                                  "metadata", kConfig,    "attributes", "constants",
                                                  "layouts",  "workspace"};

class KeyPrinter {
 public:
  explicit KeyPrinter(const IgnoreList& ignore)
      : names_(!ignore.contains("names")),
        metadata_(!ignore.contains("metadata")),
        config_(!ignore.contains(kConfig)),
        attributes_(!ignore.contains("attributes")),
        constants_(!ignore.contains("constants")),
        layouts_(!ignore.contains("layouts")),
        workspace_(!ignore.contains("workspace")) {
    for (const auto& item : ignore.items()) {
      if (item.starts_with(kConfigField)) {
        config_fields_.push_back(item.substr(kConfigField.size()));
      }
    }
  }

  std::string print(LooseText text) const {
    auto& pieces = text.pieces;
    // The line above a computation names it; the shapes in it are those of its parameters.
    if (!names_) {
      std::erase_if(pieces, [](const LooseInstruction& piece) {
        return piece.opcode.empty() && piece.words.back() == "{";
      });
    }
    std::unordered_map<std::string_view, std::size_t> defined;
    std::vector<std::string> shapes(pieces.size());
    std::vector<std::vector<std::optional<std::size_t>>> operands(pieces.size());
    std::vector<std::vector<std::size_t>> edges(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool call = pieces[i].opcode == "custom-call";
      shapes[i] = shape_text(squeezed(pieces[i].shape), layouts_, call && !workspace_);
      for (const auto& operand : pieces[i].operands) {
        const auto at = operand.name.empty() ? defined.end() : defined.find(operand.name);
        operands[i].emplace_back();
        if (at == defined.end()) continue;
        operands[i].back() = at->second;
        edges[i].push_back(at->second);
      }
      if (!pieces[i].name.empty()) defined[pieces[i].name] = i;
    }
    std::vector<std::size_t> order(pieces.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (!names_) order = post_order(edges);
    std::vector<std::size_t> place(pieces.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;

    std::string key;
    for (const auto i : order) {
      const auto& piece = pieces[i];
      if (piece.opcode.empty()) {
        key += fmt::format("{}\n", fmt::join(piece.words, " "));
        continue;
      }
      key += (names_ ? std::string(piece.name) : fmt::format("#{}", place[i])) + "=";
      key += shapes[i] + " " + std::string(piece.opcode) + "(";
      if (piece.operands.empty() && (constants_ || piece.opcode != "constant")) {
        key += squeezed(piece.inside);
      }
      for (std::size_t k = 0; k < piece.operands.size(); ++k) {
        const auto& operand = piece.operands[k];
        const auto from = operands[i][k];
        if (k > 0) key += ',';
        key += operand.shape.empty() && from ? shapes[*from]
                                             : shape_text(squeezed(operand.shape), layouts_);
        if (names_ && !operand.name.empty()) key += " " + std::string(operand.name);
        if (!names_ && from) key += fmt::format(" #{}", place[*from]);
      }
      key += ")" + attributes(piece) + "\n";
    }
    return key;
  }

 private:
  std::string attributes(const LooseInstruction& piece) const {
    std::vector<std::string> texts;
    for (const auto& [name, value] : piece.attributes) {
      const bool metadata = name == "metadata" || name == "origin";
      if (!attributes_ || (metadata && !metadata_)) continue;
      auto shown = name == kConfig ? config(value) : squeezed(value);
      if (!shown.empty()) texts.push_back(fmt::format("{}={}", name, shown));
    }
    std::sort(texts.begin(), texts.end());
    std::string result;
    for (const auto& text : texts) result += "," + text;
    return result;
  }
  std::string config(std::string_view value) const {
    const auto plain = unescaped(value);
    JsonSorter sorter(plain, config_fields_);
    const auto sorted = sorter.sorted();
    if (!config_) return sorted ? sorter.dot_dimensions() : std::string();
    return sorted ? *sorted : squeezed(plain);
  }

  bool names_;
  bool metadata_;
  bool config_;
  bool attributes_;
  bool constants_;
  bool layouts_;
  bool workspace_;
  std::vector<std::string> config_fields_;
};

constexpr std::array<std::string_view, 26> kHeavy{"dot",
                                                  "ragged-dot",
                                                  "scaled-dot",
                                                  "convolution",
                                                  "custom-call",
                                                  "reduce",
                                                  "reduce-window",
                                                  "select-and-scatter",
                                                  "scatter",
                                                  "gather",
                                                  "sort",
                                                  "topk",
                                                  "fft",
                                                  "cholesky",
                                                  "rng",
                                                  "while",
                                                  "conditional",
                                                  "triangular-solve",
                                                  "rng-bit-generator",
                                                  "all-reduce",
                                                  "all-gather",
                                                  "all-to-all",
                                                  "reduce-scatter",
                                                  "collective-permute",
                                                  "fusion",
                                                  "call"};
/// Opcodes that move or name values: not what a computation is known by.
constexpr std::array<std::string_view, 10> kLight{
    "parameter", "constant", "bitcast", "broadcast",         "tuple",
    "convert",   "reshape",  "copy",    "get-tuple-element", "iota"};
constexpr std::size_t kShownOpcodes = 4;

std::string ascii(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

/// Words, each once, in the order in which they came.
class Distinct {
 public:
  void add(std::string word) {
    if (seen_.insert(word).second) words_.push_back(std::move(word));
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::unordered_set<std::string> seen_;
  std::vector<std::string> words_;
};

void add_dtypes(std::string_view shape, Distinct& dtypes) {
  for (auto open = shape.find('['); open != std::string_view::npos;
       open = shape.find('[', open + 1)) {
    auto begin = open;
    while (begin > 0 && is_word(shape[begin - 1])) --begin;
    if (begin < open) dtypes.add(std::string(shape.substr(begin, open - begin)));
  }
}

std::string line_of(const Summary& summary, std::string_view text) {
  if (summary.root.empty()) {
    const auto shown = trim(text);
    return quoted(shown.substr(0, shown.find('\n')));
  }
  std::vector<std::string> shown = summary.heavy;
  if (shown.empty()) {
    std::copy_if(summary.opcodes.begin(), summary.opcodes.end(), std::back_inserter(shown),
                 [](const std::string& opcode) { return !holds(kLight, opcode); });
  }
  if (shown.empty()) shown.push_back(summary.root);
  const bool more = shown.size() > kShownOpcodes;
  if (more) shown.resize(kShownOpcodes);
  std::string line =
      fmt::format("{}{} {}", fmt::join(shown, "+"), more ? "+..." : "", summary.result);
  if (!summary.parameters.empty()) {
    line += fmt::format(" <- {}", fmt::join(summary.parameters, " "));
  }
  return line;
}

}  // namespace

Summary summarize(std::string_view text) {
  Summary summary;
  const auto parsed = parse_computation(text);
  summary.readable = static_cast<bool>(parsed);
  summary.reason = parsed.reason();
  const auto plain = parsed ? print(*parsed) : std::string(text);
  const auto loose = read_loosely(plain);

  Distinct heavy;
  Distinct opcodes;
  Distinct dtypes;
  const LooseInstruction* root = nullptr;
  std::vector<std::pair<std::int64_t, std::string>> parameters;
  const auto flat = [](std::string_view shape) { return shape_text(squeezed(shape), false); };
  for (const auto& piece : loose.pieces) {
    if (piece.opcode.empty()) continue;
    if (piece.root || root == nullptr || !root->root) root = &piece;
    opcodes.add(std::string(piece.opcode));
    add_dtypes(piece.shape, dtypes);
    for (const auto& operand : piece.operands) add_dtypes(operand.shape, dtypes);
    if (piece.opcode == "parameter") {
      parameters.emplace_back(parse_int64(piece.inside).value_or(0), flat(piece.shape));
    }
    if (!holds(kHeavy, piece.opcode)) continue;
    std::string called(piece.opcode);
    for (const auto& [name, value] : piece.attributes) {
      if (name == "custom_call_target") called = unescaped(value);
    }
    heavy.add(std::move(called));
  }
  summary.heavy = heavy.take();
  summary.opcodes = opcodes.take();
  summary.dtypes = dtypes.take();
  if (root != nullptr) {
    summary.root = root->opcode;
    summary.result = flat(root->shape);
    if (parameters.empty()) {
      for (const auto& operand : root->operands) {
        if (!operand.shape.empty()) summary.parameters.push_back(flat(operand.shape));
      }
    }
  }
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [number, shape] : parameters) summary.parameters.push_back(std::move(shape));
  summary.line = ascii(line_of(summary, text));
  if (summary.line.size() > Summary::kLineBytes) {
    summary.line.resize(Summary::kLineBytes - 3);
    summary.line += "...";
  }
  return summary;
}

Result<IgnoreList> IgnoreList::parse(std::string_view text) {
  IgnoreList result;
  if (trim(text).empty()) return result;
  for (const auto piece : split(text, ',')) {
    const auto item = trim(piece);
    const bool field = item.starts_with(kConfigField) && item.size() > kConfigField.size();
    if (!field && !holds(kItems, item)) {
      return Result<IgnoreList>::no(fmt::format("{} cannot be ignored; items are {}, {}<field>",
                                                quoted(item), fmt::join(kItems, ", "),
                                                kConfigField));
    }
    if (!result.contains(item)) result.items_.emplace_back(item);
  }
  return result;
}

IgnoreList IgnoreList::harmless() {
  IgnoreList result;
  result.items_ = {"names", "metadata"};
  return result;
}

bool IgnoreList::contains(std::string_view item) const {
  return holds(items_, item);
}

std::string IgnoreList::text() const {
  return join(items_, ",");
}

std::string shape_key(std::string_view text, const IgnoreList& ignore) {
  const KeyPrinter printer(ignore);
  if (!ignore.contains("names")) return printer.print(read_loosely(text));
  // Whatever the strict reader understands has the key of its canonical form.
  const auto parsed = parse_computation(text);
  const auto plain = parsed ? verdict::print(*parsed) : std::string(text);
  return printer.print(read_loosely(plain));
}

}  // namespace furlong::verdict
