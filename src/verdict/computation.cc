#include "verdict/computation.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/number.hh"
#include "base/text.hh"
#include "verdict/post_order.hh"

namespace furlong::verdict {
namespace {

/// What kinds of elements an opcode takes, as bits.
enum Category : unsigned { kPredicate = 1, kInteger = 2, kFloating = 4 };
constexpr unsigned kNumeric = kInteger | kFloating;
constexpr unsigned kBits = kPredicate | kInteger;
constexpr unsigned kAny = kPredicate | kNumeric;

struct ElementInfo {
  std::string_view name;
  int bytes;
  unsigned category;  ///< 0: only in printed instructions
};

/// In the order of ElementType.
constexpr std::array<ElementInfo, 30> kElementTypes{{
    {"pred", 1, kPredicate},
    {"s8", 1, kInteger},
    {"s16", 2, kInteger},
    {"s32", 4, kInteger},
    {"s64", 8, kInteger},
    {"u8", 1, kInteger},
    {"u16", 2, kInteger},
    {"u32", 4, kInteger},
    {"u64", 8, kInteger},
    {"f8e3m4", 1, kFloating},
    {"f8e4m3", 1, kFloating},
    {"f8e4m3b11fnuz", 1, kFloating},
    {"f8e4m3fn", 1, kFloating},
    {"f8e4m3fnuz", 1, kFloating},
    {"f8e5m2", 1, kFloating},
    {"f8e5m2fnuz", 1, kFloating},
    {"f16", 2, kFloating},
    {"bf16", 2, kFloating},
    {"f32", 4, kFloating},
    {"f64", 8, kFloating},
    {"s2", 1, 0},
    {"s4", 1, 0},
    {"u2", 1, 0},
    {"u4", 1, 0},
    {"f4e2m1fn", 1, 0},
    {"f8e8m0fnu", 1, 0},
    {"c64", 8, 0},
    {"c128", 16, 0},
    {"token", 0, 0},
    {"opaque", 0, 0},
}};
static_assert(kElementTypes.size() == static_cast<std::size_t>(ElementType::kOpaque) + 1);

const ElementInfo& info(ElementType type) {
  return kElementTypes[static_cast<std::size_t>(type)];
}

/// How the value of an attribute is written.
enum class Syntax : std::uint8_t { kNumbers, kNumber, kRanges, kWindow, kWord, kPrecisions };

struct AttributeRule {
  std::string_view name;
  Syntax syntax;
  bool required;
};

constexpr std::array kDimensions{AttributeRule{"dimensions", Syntax::kNumbers, true}};
constexpr std::array kDotAttributes{
    AttributeRule{"lhs_batch_dims", Syntax::kNumbers, false},
    AttributeRule{"lhs_contracting_dims", Syntax::kNumbers, true},
    AttributeRule{"rhs_batch_dims", Syntax::kNumbers, false},
    AttributeRule{"rhs_contracting_dims", Syntax::kNumbers, true},
    AttributeRule{"operand_precision", Syntax::kPrecisions, false},
};
constexpr std::array kReduceAttributes{
    AttributeRule{"dimensions", Syntax::kNumbers, true},
    AttributeRule{"to_apply", Syntax::kWord, true},
};
constexpr std::array kReduceWindowAttributes{
    AttributeRule{"window", Syntax::kWindow, true},
    AttributeRule{"to_apply", Syntax::kWord, true},
};
constexpr std::array kSliceAttributes{AttributeRule{"slice", Syntax::kRanges, true}};
constexpr std::array kIotaAttributes{AttributeRule{"iota_dimension", Syntax::kNumber, true}};
constexpr std::array kCompareAttributes{AttributeRule{"direction", Syntax::kWord, true}};

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

struct OpcodeRule {
  std::string_view name;
  OpcodeKind kind;
  std::size_t operands;
  unsigned category;  ///< of the first operand's elements
  std::span<const AttributeRule> attributes{};
};

using Kind = OpcodeKind;
constexpr auto kOpcodes = std::to_array<OpcodeRule>({
    {"parameter", Kind::kParameter, 0, kAny},
    {"constant", Kind::kConstant, 0, kAny},
    {"convert", Kind::kConvert, 1, kAny},
    {"bitcast", Kind::kBitcast, 1, kAny},
    {"reshape", Kind::kReshape, 1, kAny},
    {"transpose", Kind::kTranspose, 1, kAny, kDimensions},
    {"broadcast", Kind::kBroadcast, 1, kAny, kDimensions},
    {"dot", Kind::kDot, 2, kNumeric, kDotAttributes},
    {"reduce", Kind::kReduce, 2, kAny, kReduceAttributes},
    {"reduce-window", Kind::kPrefixSum, 2, kNumeric, kReduceWindowAttributes},
    {"slice", Kind::kSlice, 1, kAny, kSliceAttributes},
    {"tuple", Kind::kTuple, kAnyNumber, kAny},
    {"iota", Kind::kIota, 0, kNumeric, kIotaAttributes},
    {"compare", Kind::kCompare, 2, kAny, kCompareAttributes},
    {"select", Kind::kSelect, 3, kPredicate},
    {"abs", Kind::kUnary, 1, kNumeric},
    {"cbrt", Kind::kUnary, 1, kFloating},
    {"ceil", Kind::kUnary, 1, kFloating},
    {"copy", Kind::kUnary, 1, kAny},
    {"cosine", Kind::kUnary, 1, kFloating},
    {"count-leading-zeros", Kind::kUnary, 1, kInteger},
    {"erf", Kind::kUnary, 1, kFloating},
    {"exponential", Kind::kUnary, 1, kFloating},
    {"exponential-minus-one", Kind::kUnary, 1, kFloating},
    {"floor", Kind::kUnary, 1, kFloating},
    {"is-finite", Kind::kUnary, 1, kFloating},
    {"log", Kind::kUnary, 1, kFloating},
    {"log-plus-one", Kind::kUnary, 1, kFloating},
    {"logistic", Kind::kUnary, 1, kFloating},
    {"negate", Kind::kUnary, 1, kNumeric},
    {"not", Kind::kUnary, 1, kBits},
    {"popcnt", Kind::kUnary, 1, kInteger},
    {"round-nearest-afz", Kind::kUnary, 1, kFloating},
    {"round-nearest-even", Kind::kUnary, 1, kFloating},
    {"rsqrt", Kind::kUnary, 1, kFloating},
    {"sign", Kind::kUnary, 1, kNumeric},
    {"sine", Kind::kUnary, 1, kFloating},
    {"sqrt", Kind::kUnary, 1, kFloating},
    {"tan", Kind::kUnary, 1, kFloating},
    {"tanh", Kind::kUnary, 1, kFloating},
    {"add", Kind::kBinary, 2, kNumeric},
    {"and", Kind::kBinary, 2, kBits},
    {"atan2", Kind::kBinary, 2, kFloating},
    {"divide", Kind::kBinary, 2, kNumeric},
    {"maximum", Kind::kBinary, 2, kAny},
    {"minimum", Kind::kBinary, 2, kAny},
    {"multiply", Kind::kBinary, 2, kNumeric},
    {"or", Kind::kBinary, 2, kBits},
    {"power", Kind::kBinary, 2, kNumeric},
    {"remainder", Kind::kBinary, 2, kNumeric},
    {"shift-left", Kind::kBinary, 2, kInteger},
    {"shift-right-arithmetic", Kind::kBinary, 2, kInteger},
    {"shift-right-logical", Kind::kBinary, 2, kInteger},
    {"subtract", Kind::kBinary, 2, kNumeric},
    {"xor", Kind::kBinary, 2, kBits},
});

constexpr std::array<std::string_view, 6> kCombiners{"add",     "multiply", "maximum",
                                                     "minimum", "and",      "or"};
constexpr std::array<std::string_view, 6> kDirections{"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::array<std::string_view, 3> kPrecisionWords{"default", "high", "highest"};

constexpr std::string_view kElided = "{...}";
constexpr int kDeepestTuple = 16;

const OpcodeRule* find_rule(std::string_view opcode) {
  const auto at = std::find_if(kOpcodes.begin(), kOpcodes.end(),
                               [&](const OpcodeRule& rule) { return rule.name == opcode; });
  return at == kOpcodes.end() ? nullptr : &*at;
}

template <class Words>
bool holds(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string listed(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// The product, or nothing when it does not fit.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// Why reading stopped; never leaves this file.
struct Refused {
  std::string reason;
};

std::string numbers_text(std::span<const std::int64_t> numbers, std::string_view separator) {
  return fmt::format("{}", fmt::join(numbers, separator));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Computation parse() {
    skip();
    if (at_ == text_.size()) refuse("nothing to read", "a computation or one printed instruction");
    Computation result;
    if (text_[at_] == '{') {
      ++at_;
      fused(result);
    } else {
      result.form = Computation::Form::kPrintedInstruction;
      result.instructions.push_back(printed());
    }
    skip();
    if (at_ != text_.size()) {
      refuse("more text: " + rest(), result.form == Computation::Form::kFused
                                         ? "nothing follows the closing brace"
                                         : "a printed instruction stands alone");
    }
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, std::string_view allowed) const {
    refuse_at(at_, what, allowed);
  }
  [[noreturn]] void refuse_at(std::size_t place, const std::string& what,
                              std::string_view allowed) const {
    const auto before = text_.substr(0, place);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    throw Refused{fmt::format("line {}: {}; {}", line, what, allowed)};
  }
  /// What stands here, for messages: to the end of the line.
  std::string rest() const {
    const auto line = text_.substr(at_, text_.substr(at_).find('\n'));
    return line.empty() ? (at_ == text_.size() ? "the end of the text" : "the end of the line")
                        : quoted(line);
  }

  /// Past white space and comments.
  void skip() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        const auto end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) refuse("a comment without an end", "/* ... */");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }
  bool next_is(std::string_view token) {
    skip();
    return text_.substr(at_, token.size()) == token;
  }
  bool take(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token, std::string_view where) {
    if (!take(token)) {
      refuse(fmt::format("{} where {} expects \"{}\"", rest(), where, token),
             "the form is `name = type[dims]{layout} opcode(operands), attributes`");
    }
  }
  /// A run of word characters; empty when there is none.
  std::string_view word() {
    skip();
    const auto begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view must_word(std::string_view what) {
    const auto found = word();
    if (found.empty()) refuse(fmt::format("{} where {} stands", rest(), what), "a name");
    return found;
  }
  std::int64_t number(std::string_view what) {
    skip();
    const auto begin = at_;
    const auto found = word();
    const auto value = parse_int64(found);
    if (!value || *value < 0) {
      at_ = begin;
      refuse(fmt::format("{} is no {}", rest(), what), "an integer from 0 to 2^63 - 1");
    }
    return *value;
  }
  /// `{1,0}`
  std::vector<std::int64_t> number_list(std::string_view what) {
    expect("{", what);
    std::vector<std::int64_t> numbers;
    if (take("}")) return numbers;
    do numbers.push_back(number(what));
    while (take(","));
    expect("}", what);
    return numbers;
  }

  Shape shape(bool fused, int depth = 0) {
    skip();
    const auto begin = at_;
    Shape result;
    if (take("(")) {
      if (depth == kDeepestTuple) refuse_at(begin, "a tuple in too many tuples", "16 levels");
      result.tuple = true;
      if (take(")")) return result;
      do result.elements.push_back(shape(fused, depth + 1));
      while (take(","));
      expect(")", "a tuple's shape");
      return result;
    }
    element_type(result, fused);
    expect("[", "a shape");
    if (!take("]")) {
      do result.dims.push_back(dimension());
      while (take(","));
      expect("]", "a shape");
    }
    // Empty arrays have no bytes, but their strides must fit too.
    std::optional<std::int64_t> size = std::max(bytes(result.type), 1);
    for (const auto extent : result.dims) {
      if (size) size = product(*size, std::max<std::int64_t>(extent, 1));
    }
    if (!size) refuse_at(begin, "a shape of more than 2^63 - 1 bytes", "smaller extents");
    layout(result);
    return result;
  }
  void element_type(Shape& result, bool fused) {
    skip();
    const auto begin = at_;
    const auto found = word();
    const auto at = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                 [&](const ElementInfo& type) { return type.name == found; });
    if (at == kElementTypes.end() || (fused && at->category == 0)) {
      at_ = begin;
      const bool none = at == kElementTypes.end() && (found.empty() || !next_is_shape());
      std::vector<std::string_view> names;
      for (const auto& type : kElementTypes) {
        if (!fused || type.category != 0) names.push_back(type.name);
      }
      refuse_at(begin, none ? rest() + " where a shape stands" : "element type " + quoted(found),
                "element types are " + listed(names));
    }
    result.type = static_cast<ElementType>(at - kElementTypes.begin());
  }
  /// Whether a word and `[` stand here; moves.
  bool next_is_shape() {
    const auto begin = at_;
    const bool result = !word().empty() && next_is("[");
    at_ = begin;
    return result;
  }
  std::int64_t dimension() {
    if (next_is("<=") || next_is("?")) {
      refuse("a dynamic dimension " + rest(), "extents are integers");
    }
    return number("extent");
  }
  void layout(Shape& result) {
    // A brace after blanks begins something else, as in `constant({...})`.
    if (at_ < text_.size() && text_[at_] == '{') {
      const auto begin = at_;
      ++at_;
      if (!take("}")) {
        do {
          if (next_is(":")) refuse("a tiled layout " + rest(), "minor-to-major dimensions alone");
          result.layout.push_back(number("dimension of a layout"));
          if (next_is(":")) refuse("a tiled layout " + rest(), "minor-to-major dimensions alone");
        } while (take(","));
        expect("}", "a layout");
      }
      auto sorted = result.layout;
      std::sort(sorted.begin(), sorted.end());
      bool good = sorted.size() == result.rank();
      for (std::size_t i = 0; good && i < sorted.size(); ++i) {
        good = sorted[i] == static_cast<std::int64_t>(i);
      }
      if (!good) {
        refuse_at(begin, fmt::format("layout {{{}}}", numbers_text(result.layout, ",")),
                  fmt::format("a permutation of the {} dimensions", result.rank()));
      }
      return;
    }
    for (auto i = static_cast<std::int64_t>(result.rank()); i > 0;) result.layout.push_back(--i);
  }

  void fused(Computation& result) {
    while (!take("}")) {
      if (at_ == text_.size()) refuse("the end of the text", "a computation ends with }");
      if (!result.instructions.empty() && result.instructions.back().root) {
        refuse("an instruction after the root: " + rest(), "the last instruction is the root");
      }
      result.instructions.push_back(instruction(result));
    }
    if (result.instructions.empty() || !result.instructions.back().root) {
      refuse("no root", "the last instruction is marked ROOT");
    }
    std::vector<bool> seen(result.instructions.size());
    std::size_t count = 0;
    for (const auto& made : result.instructions) {
      if (made.kind != OpcodeKind::kParameter) continue;
      ++count;
      if (made.parameter < static_cast<std::int64_t>(seen.size())) {
        seen[static_cast<std::size_t>(made.parameter)] = true;
      }
    }
    const auto gap = std::find(seen.begin(), seen.end(), false) - seen.begin();
    if (static_cast<std::size_t>(gap) < count) {
      refuse(fmt::format("no parameter({}) beside {} parameters", gap, count),
             "parameters are numbered 0, 1, ... without a gap");
    }
  }

  Instruction instruction(const Computation& so_far) {
    Instruction made;
    skip();
    start_ = at_;
    auto first = take("%") ? std::string_view() : must_word("the name of an instruction");
    if (first == "ROOT" && !next_is("=")) {
      made.root = true;
      take("%");
      first = {};
    }
    made.name = first.empty() ? must_word("the name of an instruction") : first;
    if (!next_is("=")) {
      refuse_at(start_, "no instruction: " + from(start_),
                "the form is `name = type[dims]{layout} opcode(operands), attributes`");
    }
    take("=");
    if (!names_.emplace(made.name, so_far.instructions.size()).second) {
      refuse_at(start_, "name " + quoted(made.name) + " stands twice", "each name is defined once");
    }
    made.shape = shape(true);
    skip();
    const auto opcode_at = at_;
    made.opcode = must_word("an opcode");
    const OpcodeRule* rule = find_rule(made.opcode);
    if (rule == nullptr) {
      std::vector<std::string_view> names;
      for (const auto& known : kOpcodes) names.push_back(known.name);
      refuse_at(opcode_at, "opcode " + quoted(made.opcode), "opcodes are " + listed(names));
    }
    made.kind = rule->kind;
    expect("(", made.opcode);
    if (made.kind == OpcodeKind::kParameter) {
      made.parameter = number("number of a parameter");
      if (!parameters_.emplace(made.parameter, true).second) {
        refuse(fmt::format("parameter({}) stands twice", made.parameter),
               "parameters are numbered 0, 1, ... without a gap");
      }
      expect(")", made.opcode);
    } else if (made.kind == OpcodeKind::kConstant) {
      literal(made);
    } else if (!take(")")) {
      do made.operands.push_back(operand(so_far));
      while (take(","));
      expect(")", made.opcode);
    }
    if (rule->operands != kAnyNumber && made.operands.size() != rule->operands) {
      refuse_at(start_, fmt::format("{} with {} operands", made.opcode, made.operands.size()),
                fmt::format("it has {}", rule->operands));
    }
    attributes(made, *rule);
    check(made, *rule);
    return made;
  }
  /// From `begin` to the end of its line, for messages.
  std::string from(std::size_t begin) const {
    return quoted(text_.substr(begin, text_.substr(begin).find('\n')));
  }

  Operand operand(const Computation& so_far) {
    skip();
    const auto begin = at_;
    Operand made;
    std::optional<Shape> printed;
    if (next_is("(") || next_is_shape()) printed = shape(true);
    const bool marked = take("%");
    const auto name = word();
    if (name.empty()) {
      refuse_at(begin, "operand " + from(begin),
                marked || !printed ? "an operand is `shape name`" : "an operand needs its name");
    }
    const auto at = names_.find(std::string(name));
    // The instruction being read has its name already.
    if (at == names_.end() || at->second >= so_far.instructions.size()) {
      refuse_at(begin, "operand " + quoted(name) + " is not defined before its use",
                "operands come first");
    }
    made.index = at->second;
    made.shape = so_far.instructions[made.index].shape;
    if (printed && *printed != made.shape) {
      refuse_at(begin, fmt::format("operand {} as {}", quoted(name), print(*printed)),
                "it is defined as " + print(made.shape));
    }
    if (made.shape.tuple) refuse_at(begin, "a tuple as operand", "a tuple is the root");
    return made;
  }

  void literal(Instruction& made) {
    skip();
    const auto begin = at_;
    int depth = 0;
    while (at_ < text_.size() && (depth > 0 || text_[at_] != ')')) {
      const char c = text_[at_];
      if (c == '\n' || c == '(') break;
      if (c == '{') ++depth;
      if (c == '}' && --depth < 0) break;
      ++at_;
    }
    if (at_ == text_.size() || text_[at_] != ')') {
      at_ = begin;
      refuse("constant " + rest(), "a number, true, false, {...} or numbers in balanced braces");
    }
    made.literal = trim(text_.substr(begin, at_ - begin));
    ++at_;
    made.elided = made.literal == kElided;
    if (made.elided || made.shape.tuple) return;
    made.values = literal_values(made, begin);
  }
  /// Of each brace, how many members it has must be the extent of its dimension.
  std::vector<std::string> literal_values(const Instruction& made, std::size_t place) {
    const std::string_view text = made.literal;
    const auto bad = [&](const std::string& why) {
      refuse_at(place, "constant " + quoted(text) + ": " + why,
                "values of " + print(made.shape) + ", nested in braces, or {...}");
    };
    const auto& dims = made.shape.dims;
    std::vector<std::string> values;
    std::vector<std::int64_t> members;  // so far, of each open brace
    bool wants_value = true;
    std::size_t i = 0;
    const auto count = [&] {
      if (!members.empty() && ++members.back() > dims[members.size() - 1]) bad("too many values");
    };
    while (i < text.size()) {
      const char c = text[i];
      if (is_space(c)) {
        ++i;
      } else if (c == '{') {
        if (!wants_value || members.size() == dims.size()) bad("too many braces");
        count();
        members.push_back(0);
        ++i;
      } else if (c == '}') {
        if (members.empty() || members.back() != dims[members.size() - 1]) bad("too few values");
        if (wants_value && members.back() != 0) bad("a comma before a brace");
        members.pop_back();
        wants_value = false;
        ++i;
      } else if (c == ',') {
        if (wants_value || members.empty()) bad("a comma without a value");
        wants_value = true;
        ++i;
      } else {
        const auto end = std::min(text.find_first_of("{}, \t\n\r\v\f", i), text.size());
        if (!wants_value) bad("two values without a comma");
        if (members.size() != dims.size()) bad("too few braces");
        const auto value = text.substr(i, end - i);
        if (!is_value(value, made.shape.type)) bad("value " + quoted(value));
        count();
        values.emplace_back(value);
        wants_value = false;
        i = end;
      }
    }
    if (!members.empty() || wants_value) bad("no value");
    return values;
  }
  static bool is_value(std::string_view value, ElementType type) {
    if (type == ElementType::kPred) return value == "true" || value == "false";
    if (is_floating(type)) {
      return value == "inf" || value == "-inf" || value == "nan" || value == "-nan" ||
             parse_double(value).has_value();
    }
    if (type == ElementType::kU64) {
      return !value.empty() && value.size() <= 20 &&
             value.find_first_not_of("0123456789") == std::string_view::npos &&
             (value.size() < 20 || value <= "18446744073709551615");
    }
    const auto whole = parse_int64(value);
    if (!whole || type == ElementType::kS64) return whole.has_value();
    const int bits = 8 * bytes(type);
    const bool is_signed = name(type).front() == 's';
    const std::int64_t top = std::int64_t{1} << (is_signed ? bits - 1 : bits);
    return *whole < top && *whole >= (is_signed ? -top : 0);
  }

  void attributes(Instruction& made, const OpcodeRule& rule) {
    std::vector<std::optional<Attribute>> found(rule.attributes.size());
    while (take(",")) {
      skip();
      const auto begin = at_;
      const auto name = must_word("the name of an attribute");
      const auto at =
          std::find_if(rule.attributes.begin(), rule.attributes.end(),
                       [&](const AttributeRule& attribute) { return attribute.name == name; });
      if (at == rule.attributes.end()) {
        std::vector<std::string_view> names;
        for (const auto& known : rule.attributes) names.push_back(known.name);
        refuse_at(begin, fmt::format("attribute {} of {}", quoted(name), rule.name),
                  names.empty() ? "it has none" : "its attributes are " + listed(names));
      }
      auto& place = found[static_cast<std::size_t>(at - rule.attributes.begin())];
      if (place) refuse_at(begin, "attribute " + quoted(name) + " stands twice", "each once");
      expect("=", name);
      place = Attribute{std::string(name), value(*at)};
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto& wanted = rule.attributes[i];
      if (!found[i]) {
        if (!wanted.required) continue;
        refuse_at(start_, fmt::format("{} without {}", rule.name, wanted.name),
                  fmt::format("{} needs it", rule.name));
      }
      const auto* numbers = std::get_if<std::vector<std::int64_t>>(&found[i]->value);
      if (!wanted.required && numbers != nullptr && numbers->empty()) continue;
      made.attributes.push_back(std::move(*found[i]));
    }
  }
  decltype(Attribute::value) value(const AttributeRule& rule) {
    switch (rule.syntax) {
      case Syntax::kNumbers:
        return number_list(rule.name);
      case Syntax::kNumber:
        return std::vector{number(rule.name)};
      case Syntax::kRanges:
        return range_list();
      case Syntax::kWindow:
        return window();
      case Syntax::kPrecisions:
        return precisions();
      case Syntax::kWord:
        break;
    }
    if (next_is("{")) {
      refuse(fmt::format("{} with a body {}", rule.name, rest()),
             "the combiner is named: " + listed(kCombiners));
    }
    take("%");
    return std::string(must_word(rule.name));
  }
  std::vector<SliceRange> range_list() {
    std::vector<SliceRange> ranges;
    expect("{", "slice");
    if (take("}")) return ranges;
    do {
      expect("[", "slice");
      SliceRange range;
      range.start = number("start of a slice");
      expect(":", "slice");
      range.limit = number("limit of a slice");
      if (take(":")) range.stride = number("stride of a slice");
      expect("]", "slice");
      ranges.push_back(range);
    } while (take(","));
    expect("}", "slice");
    return ranges;
  }
  std::string precisions() {
    std::vector<std::string_view> words;
    expect("{", "operand_precision");
    do {
      skip();
      const auto begin = at_;
      words.push_back(word());
      if (!holds(kPrecisionWords, words.back())) {
        refuse_at(begin, "precision " + from(begin), "precisions are " + listed(kPrecisionWords));
      }
    } while (take(","));
    expect("}", "operand_precision");
    if (words.size() != 2) {
      refuse(fmt::format("{} precisions", words.size()), "one for each operand of dot");
    }
    return fmt::format("{{{}}}", fmt::join(words, ","));
  }
  Window window() {
    Window made;
    expect("{", "window");
    while (!take("}")) {
      skip();
      const auto begin = at_;
      const auto name = must_word("a part of the window");
      expect("=", "window");
      const auto text = word();
      if (name == "size" && made.size.empty()) {
        for (const auto piece : split(text, 'x')) made.size.push_back(extent(piece, begin));
      } else if (name == "pad" && made.low.empty()) {
        for (const auto piece : split(text, 'x')) {
          const auto both = split(piece, '_');
          if (both.size() != 2) refuse_at(begin, "pad " + quoted(piece), "pad is low_high");
          made.low.push_back(extent(both[0], begin));
          made.high.push_back(extent(both[1], begin));
        }
      } else {
        refuse_at(begin, "window part " + from(begin),
                  "the window of a prefix sum has one size and one pad");
      }
    }
    return made;
  }
  std::int64_t extent(std::string_view text, std::size_t place) const {
    const auto value = parse_int64(text);
    if (!value || *value < 0) {
      refuse_at(place, quoted(text) + " in a window", "an integer from 0 to 2^63 - 1");
    }
    return *value;
  }

  /// Refuses what does not follow from operands and attributes.
  void check(const Instruction& made, const OpcodeRule& rule) const {
    const auto no = [&](const std::string& what, std::string_view allowed) {
      refuse_at(start_, fmt::format("{}: {}", made.opcode, what), allowed);
    };
    if (made.kind == OpcodeKind::kTuple) return check_tuple(made);
    if (made.shape.tuple) no("result " + print(made.shape), "an array; only tuple gives a tuple");
    const auto type = made.operands.empty() ? made.shape.type : made.operands[0].shape.type;
    if ((info(type).category & rule.category) == 0) {
      no("elements of type " + std::string(name(type)), category_text(rule.category));
    }
    Shape expected = made.shape;
    if (!made.operands.empty()) {
      expected.type = type;
      expected.dims = made.operands[0].shape.dims;
    }
    switch (made.kind) {
      case OpcodeKind::kParameter:
      case OpcodeKind::kConstant:
      case OpcodeKind::kPrinted:
      case OpcodeKind::kTuple:
        break;
      case OpcodeKind::kConvert:
        expected.type = made.shape.type;
        break;
      case OpcodeKind::kBitcast:
      case OpcodeKind::kReshape:
        if (made.shape.count() != made.operands[0].shape.count()) {
          no(fmt::format("{} elements from {}", made.shape.count(), made.operands[0].shape.count()),
             "as many elements as the operand has");
        }
        expected.dims = made.shape.dims;
        break;
      case OpcodeKind::kTranspose:
        check_dimensions(made, "dimensions", made.operands[0].shape.rank());
        if (made.numbers("dimensions").size() != made.operands[0].shape.rank()) {
          no("dimensions of another rank", "a permutation of the operand's dimensions");
        }
        for (std::size_t i = 0; i < expected.dims.size(); ++i) {
          expected.dims[i] = made.operands[0].shape.dims[at(made.numbers("dimensions"), i)];
        }
        break;
      case OpcodeKind::kBroadcast:
        check_broadcast(made);
        expected.dims = made.shape.dims;
        break;
      case OpcodeKind::kDot:
        expected.type = made.shape.type;
        if ((info(made.shape.type).category & kNumeric) == 0 ||
            (info(made.operands[1].shape.type).category & kNumeric) == 0) {
          no("pred", category_text(kNumeric));
        }
        expected.dims = dot_dims(made);
        break;
      case OpcodeKind::kReduce: {
        check_combiner(made, kCombiners);
        check_dimensions(made, "dimensions", made.operands[0].shape.rank());
        expected.dims.clear();
        const auto& reduced = made.numbers("dimensions");
        for (std::size_t i = 0; i < made.operands[0].shape.rank(); ++i) {
          if (!holds_number(reduced, i)) expected.dims.push_back(made.operands[0].shape.dims[i]);
        }
        break;
      }
      case OpcodeKind::kPrefixSum:
        check_combiner(made, std::span(kCombiners).first(1));
        check_window(made);
        break;
      case OpcodeKind::kSlice:
        expected.dims = slice_dims(made);
        break;
      case OpcodeKind::kIota:
        check_dimensions(made, "iota_dimension", made.shape.rank());
        break;
      case OpcodeKind::kUnary:
        if (made.opcode == "is-finite") expected.type = ElementType::kPred;
        break;
      case OpcodeKind::kCompare:
        if (!holds(kDirections, made.word("direction"))) {
          no("direction " + quoted(made.word("direction")),
             "directions are " + listed(kDirections));
        }
        check_same(made, 0, 1);
        expected.type = ElementType::kPred;
        break;
      case OpcodeKind::kBinary:
        check_same(made, 0, 1);
        break;
      case OpcodeKind::kSelect:
        check_same(made, 1, 2);
        expected.type = made.operands[1].shape.type;
        if (made.operands[1].shape.dims != made.operands[0].shape.dims) {
          no("a condition of another shape", "all operands have the same extents");
        }
        break;
    }
    if (expected != made.shape) no("result " + print(made.shape), "it is " + print_flat(expected));
  }
  static std::string print_flat(const Shape& shape) {
    return fmt::format("{}[{}]", name(shape.type), numbers_text(shape.dims, ","));
  }
  static std::string category_text(unsigned category) {
    std::vector<std::string_view> words;
    if ((category & kPredicate) != 0) words.push_back("pred");
    if ((category & kInteger) != 0) words.push_back("integers");
    if ((category & kFloating) != 0) words.push_back("floating-point numbers");
    return "it takes " + fmt::format("{}", fmt::join(words, " and "));
  }
  static std::size_t at(const std::vector<std::int64_t>& numbers, std::size_t i) {
    return static_cast<std::size_t>(numbers[i]);
  }
  static bool holds_number(const std::vector<std::int64_t>& numbers, std::size_t number) {
    return std::find(numbers.begin(), numbers.end(), static_cast<std::int64_t>(number)) !=
           numbers.end();
  }

  void check_tuple(const Instruction& made) const {
    Shape expected;
    expected.tuple = true;
    for (const auto& operand : made.operands) expected.elements.push_back(operand.shape);
    Shape found = made.shape;
    found.type = expected.type;
    if (found != expected) {
      refuse_at(start_, "tuple: result " + print(made.shape), "it is " + print(expected));
    }
    if (!made.root) refuse_at(start_, "a tuple that is not the root", "a tuple is the root");
  }
  void check_same(const Instruction& made, std::size_t a, std::size_t b) const {
    const auto& left = made.operands[a].shape;
    const auto& right = made.operands[b].shape;
    if (left.type != right.type || left.dims != right.dims) {
      refuse_at(
          start_,
          fmt::format("{}: operands {} and {}", made.opcode, print_flat(left), print_flat(right)),
          "both have one type and the same extents");
    }
  }
  /// Each number once and below `rank`.
  void check_dimensions(const Instruction& made, std::string_view attribute,
                        std::size_t rank) const {
    auto numbers = made.numbers(attribute);
    std::sort(numbers.begin(), numbers.end());
    const bool twice = std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end();
    if (twice || (!numbers.empty() && numbers.back() >= static_cast<std::int64_t>(rank))) {
      refuse_at(start_,
                fmt::format("{}: {} of {}", made.opcode, numbers_text(made.numbers(attribute), ","),
                            attribute),
                fmt::format("dimensions below {}, each once", rank));
    }
  }
  void check_broadcast(const Instruction& made) const {
    const auto& from = made.operands[0].shape;
    check_dimensions(made, "dimensions", made.shape.rank());
    const auto& to = made.numbers("dimensions");
    bool good = to.size() == from.rank();
    for (std::size_t i = 0; good && i < to.size(); ++i) {
      good = made.shape.dims[at(to, i)] == from.dims[i];
    }
    if (!good) {
      refuse_at(start_,
                fmt::format("broadcast: {} to {} along {{{}}}", print_flat(from),
                            print_flat(made.shape), numbers_text(to, ",")),
                "dimensions name one dimension of the same extent for each of the operand");
    }
  }
  std::vector<std::int64_t> dot_dims(const Instruction& made) const {
    const auto& left = made.operands[0].shape;
    const auto& right = made.operands[1].shape;
    std::vector<std::int64_t> result;
    const auto pair = [&](std::string_view lhs, std::string_view rhs, bool kept) {
      check_dimensions(made, lhs, left.rank());
      check_dimensions(made, rhs, right.rank());
      const auto& a = made.numbers(lhs);
      const auto& b = made.numbers(rhs);
      bool good = a.size() == b.size();
      for (std::size_t i = 0; good && i < a.size(); ++i) {
        good = left.dims[at(a, i)] == right.dims[at(b, i)];
        if (kept) result.push_back(left.dims[at(a, i)]);
      }
      if (!good) {
        refuse_at(start_,
                  fmt::format("dot: {} {{{}}} and {} {{{}}}", lhs, numbers_text(a, ","), rhs,
                              numbers_text(b, ",")),
                  "pairs of dimensions of the same extent");
      }
    };
    pair("lhs_batch_dims", "rhs_batch_dims", true);
    pair("lhs_contracting_dims", "rhs_contracting_dims", false);
    const auto free = [&](const Shape& shape, std::string_view batch, std::string_view reduced) {
      for (std::size_t i = 0; i < shape.rank(); ++i) {
        const bool in_batch = holds_number(made.numbers(batch), i);
        const bool in_reduced = holds_number(made.numbers(reduced), i);
        if (in_batch && in_reduced) {
          refuse_at(start_, fmt::format("dot: dimension {} in {} and {}", i, batch, reduced),
                    "a dimension is in one of them");
        }
        if (!in_batch && !in_reduced) result.push_back(shape.dims[i]);
      }
    };
    free(left, "lhs_batch_dims", "lhs_contracting_dims");
    free(right, "rhs_batch_dims", "rhs_contracting_dims");
    return result;
  }
  /// A named combiner, and a start value of the right shape.
  void check_combiner(const Instruction& made, std::span<const std::string_view> allowed) const {
    const auto combiner = made.word("to_apply");
    const auto type = made.operands[0].shape.type;
    if (!holds(allowed, combiner)) {
      refuse_at(start_, fmt::format("{}: to_apply={}", made.opcode, combiner),
                "combiners are " + listed(allowed));
    }
    const auto category = find_rule(combiner)->category;
    if ((info(type).category & category) == 0) {
      refuse_at(start_, fmt::format("{}: {} of {}", made.opcode, combiner, name(type)),
                category_text(category));
    }
    const auto& start = made.operands[1].shape;
    if (start.rank() != 0 || start.type != type) {
      refuse_at(start_, fmt::format("{}: start value {}", made.opcode, print_flat(start)),
                fmt::format("it is {}[]", name(type)));
    }
  }
  void check_window(const Instruction& made) const {
    const auto& dims = made.shape.dims;
    const auto& window = std::get<Window>(made.find("window")->value);
    bool good = window.size.size() == dims.size() && window.low.size() == dims.size() &&
                made.operands[0].shape.dims == dims;
    int scanned = 0;
    for (std::size_t i = 0; good && i < dims.size(); ++i) {
      // A window of 1 without padding passes a dimension through; one of extent 1 may be scanned.
      const bool scan = window.size[i] > 1 && window.size[i] == dims[i] &&
                        window.low[i] == dims[i] - 1 && window.high[i] == 0;
      const bool through = window.size[i] == 1 && window.low[i] == 0 && window.high[i] == 0;
      good = scan || through;
      scanned += scan ? 1 : 0;
    }
    if (!good || scanned != 1) {
      refuse_at(start_, "reduce-window: a window that is no prefix sum",
                "along one dimension of extent n > 1 size n and pad n-1_0, else size 1 and pad "
                "0_0");
    }
  }
  std::vector<std::int64_t> slice_dims(const Instruction& made) const {
    const auto& from = made.operands[0].shape;
    const auto& ranges = made.ranges();
    std::vector<std::int64_t> result;
    bool good = ranges.size() == from.rank();
    for (std::size_t i = 0; good && i < ranges.size(); ++i) {
      const auto& range = ranges[i];
      good = range.start <= range.limit && range.limit <= from.dims[i] && range.stride >= 1;
      if (!good) break;
      const auto length = range.limit - range.start;
      result.push_back(length / range.stride + (length % range.stride == 0 ? 0 : 1));
    }
    if (!good) {
      refuse_at(start_, "slice: a range that " + print_flat(from) + " does not hold",
                "for each dimension [start:limit] or [start:limit:stride], start <= limit <= "
                "extent, stride >= 1");
    }
    return result;
  }

  Instruction printed() {
    Instruction made;
    start_ = at_;
    made.root = true;
    if (!next_is("(") && !next_is_shape()) {
      refuse("no computation: " + rest(),
             "`{`, one instruction a line, `}`; or one printed instruction `shape "
             "opcode(shapes), attributes`");
    }
    made.shape = shape(false);
    made.opcode = must_word("an opcode");
    expect("(", made.opcode);
    if (!take(")")) {
      do {
        made.operands.push_back({shape(false), 0});
        if (next_is("%") || !(next_is(",") || next_is(")"))) {
          refuse("operand " + rest(), "a printed instruction has shapes as operands, no names");
        }
      } while (take(","));
      expect(")", made.opcode);
    }
    while (take(",")) {
      skip();
      const auto begin = at_;
      const auto name = must_word("the name of an attribute");
      if (made.find(name) != nullptr) {
        refuse_at(begin, "attribute " + quoted(name) + " stands twice", "each once");
      }
      expect("=", name);
      made.attributes.push_back({std::string(name), raw_value()});
    }
    return made;
  }
  /// To the comma or end at depth 0; braces balance, strings are passed over.
  std::string raw_value() {
    skip();
    const auto begin = at_;
    std::vector<char> open;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (open.empty() && (c == ',' || is_space(c))) break;
      if (c == '"') {
        pass_string();
        continue;
      }
      if (c == '{' || c == '[' || c == '(') open.push_back(c == '{' ? '}' : c == '[' ? ']' : ')');
      if (c == '}' || c == ']' || c == ')') {
        if (open.empty() || open.back() != c) refuse("unbalanced " + rest(), "braces balance");
        open.pop_back();
      }
      ++at_;
    }
    if (!open.empty()) {
      refuse_at(begin, "attribute without an end: " + from(begin), "braces balance");
    }
    if (at_ == begin) refuse("an attribute without a value: " + rest(), "name=value");
    return std::string(text_.substr(begin, at_ - begin));
  }
  void pass_string() {
    const auto begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) {
      at_ = text_.size();
      refuse_at(begin, "a string without an end: " + from(begin), "\"...\"");
    }
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  ///< of the instruction being read
  std::unordered_map<std::string, std::size_t> names_;
  std::unordered_map<std::int64_t, bool> parameters_;
};

std::string print(const Attribute& attribute) {
  struct Printer {
    std::string_view name;
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<std::int64_t>& numbers) const {
      const auto text = numbers_text(numbers, ",");
      return name == "iota_dimension" ? text : fmt::format("{{{}}}", text);
    }
    std::string operator()(const std::vector<SliceRange>& ranges) const {
      const bool dense = std::all_of(ranges.begin(), ranges.end(),
                                     [](const SliceRange& range) { return range.stride == 1; });
      std::vector<std::string> texts;
      for (const auto& range : ranges) {
        texts.push_back(dense ? fmt::format("[{}:{}]", range.start, range.limit)
                              : fmt::format("[{}:{}:{}]", range.start, range.limit, range.stride));
      }
      return fmt::format("{{{}}}", fmt::join(texts, ", "));
    }
    std::string operator()(const Window& window) const {
      std::vector<std::string> pads;
      for (std::size_t i = 0; i < window.low.size(); ++i) {
        pads.push_back(fmt::format("{}_{}", window.low[i], window.high[i]));
      }
      return fmt::format("{{size={} pad={}}}", numbers_text(window.size, "x"),
                         fmt::join(pads, "x"));
    }
  };
  return attribute.name + "=" + std::visit(Printer{attribute.name}, attribute.value);
}

/// Everything after `name = `.
std::string print_body(const Instruction& made) {
  std::vector<std::string> inside;
  if (made.kind == OpcodeKind::kParameter) inside.push_back(fmt::format("{}", made.parameter));
  if (made.kind == OpcodeKind::kConstant) inside.push_back(made.literal);
  for (const auto& operand : made.operands) {
    inside.push_back(made.kind == OpcodeKind::kPrinted
                         ? print(operand.shape)
                         : fmt::format("{} tmp_{}", print(operand.shape), operand.index));
  }
  std::string text =
      fmt::format("{} {}({})", print(made.shape), made.opcode, fmt::join(inside, ", "));
  for (const auto& attribute : made.attributes) text += ", " + print(attribute);
  return text;
}

}  // namespace

std::string_view name(ElementType type) {
  return info(type).name;
}

int bytes(ElementType type) {
  return info(type).bytes;
}

bool is_integer(ElementType type) {
  return info(type).category == kInteger;
}

bool is_floating(ElementType type) {
  return info(type).category == kFloating;
}

std::int64_t Shape::count() const {
  std::int64_t count = 1;
  for (const auto extent : dims) {
    // Without this an empty array of huge extents would overflow on the way to 0.
    if (extent == 0) return 0;
    count *= extent;
  }
  return count;
}

bool Shape::row_major() const {
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout[i] != static_cast<std::int64_t>(layout.size() - 1 - i)) return false;
  }
  return true;
}

std::vector<std::int64_t> Shape::strides() const {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (const auto dimension : layout) {
    strides[static_cast<std::size_t>(dimension)] = stride;
    stride *= std::max<std::int64_t>(dims[static_cast<std::size_t>(dimension)], 1);
  }
  return strides;
}

std::string print(const Shape& shape) {
  if (shape.tuple) {
    std::vector<std::string> texts;
    for (const auto& element : shape.elements) texts.push_back(print(element));
    return fmt::format("({})", fmt::join(texts, ", "));
  }
  if (shape.type == ElementType::kToken) return "token[]";
  std::string text = fmt::format("{}[{}]", name(shape.type), numbers_text(shape.dims, ","));
  if (!shape.layout.empty()) text += fmt::format("{{{}}}", numbers_text(shape.layout, ","));
  return text;
}

const Attribute* Instruction::find(std::string_view attribute) const {
  for (const auto& known : attributes) {
    if (known.name == attribute) return &known;
  }
  return nullptr;
}

const std::vector<std::int64_t>& Instruction::numbers(std::string_view attribute) const {
  static const std::vector<std::int64_t> kNone;
  const auto* found = find(attribute);
  const auto* numbers =
      found == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->value);
  return numbers == nullptr ? kNone : *numbers;
}

std::string_view Instruction::word(std::string_view attribute) const {
  const auto* found = find(attribute);
  const auto* text = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

const std::vector<SliceRange>& Instruction::ranges() const {
  static const std::vector<SliceRange> kNone;
  const auto* found = find("slice");
  const auto* ranges =
      found == nullptr ? nullptr : std::get_if<std::vector<SliceRange>>(&found->value);
  return ranges == nullptr ? kNone : *ranges;
}

std::size_t Instruction::scanned() const {
  const auto& size = std::get<Window>(find("window")->value).size;
  return static_cast<std::size_t>(
      std::find_if(size.begin(), size.end(), [](std::int64_t extent) { return extent > 1; }) -
      size.begin());
}

std::vector<std::size_t> Computation::parameters() const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i].kind == OpcodeKind::kParameter) result.push_back(i);
  }
  std::sort(result.begin(), result.end(), [&](std::size_t a, std::size_t b) {
    return instructions[a].parameter < instructions[b].parameter;
  });
  return result;
}

bool Computation::elided() const {
  return std::any_of(instructions.begin(), instructions.end(),
                     [](const Instruction& made) { return made.elided; });
}

std::string Computation::why_not_run() const {
  if (form == Form::kFused) return {};
  return fmt::format(
      "one printed instruction ({}) is a key to show and compare; only a fused "
      "computation can be run",
      root().opcode);
}

Result<Computation> parse_computation(std::string_view text) {
  try {
    return Parser(text).parse();
  } catch (Refused& refused) {
    return Result<Computation>::no(std::move(refused.reason));
  }
}

std::string print(const Computation& computation) {
  if (computation.form == Computation::Form::kPrintedInstruction) {
    return print_body(computation.root());
  }
  std::string text = "{\n";
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    const auto& made = computation.instructions[i];
    text += fmt::format("  {}tmp_{} = {}\n", made.root ? "ROOT " : "", i, print_body(made));
  }
  return text + "}";
}

Computation canonical(const Computation& computation) {
  if (computation.form == Computation::Form::kPrintedInstruction) return computation;
  const auto& from = computation.instructions;
  std::vector<std::vector<std::size_t>> operands;
  for (const auto& made : from) {
    operands.emplace_back();
    for (const auto& operand : made.operands) operands.back().push_back(operand.index);
  }
  const auto order = post_order(operands);
  std::vector<std::size_t> place(from.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  Computation result;
  for (const auto at : order) {
    result.instructions.push_back(from[at]);
    auto& made = result.instructions.back();
    made.name = fmt::format("tmp_{}", result.instructions.size() - 1);
    for (auto& operand : made.operands) operand.index = place[operand.index];
  }
  return result;
}

}  // namespace furlong::verdict
