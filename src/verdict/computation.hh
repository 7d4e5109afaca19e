// Computation: the printed text that a verdict is a verdict of, as values.
//
// Two forms of text are read. A *fused computation* is `{`, one instruction a line, `}`:
//
//     {
//       tmp_0 = s8[8,4]{1,0} parameter(0)
//       ROOT tmp_1 = f16[8,4]{1,0} convert(s8[8,4]{1,0} tmp_0)
//     }
//
// A *printed instruction* is one line without names, such as a `custom-call` with its config; it
// can be shown and compared, never run. The subset of fused computations: parameter, constant,
// convert, bitcast, reshape, transpose, broadcast, dot, reduce with a named combiner
// (`to_apply=add`), reduce-window as prefix sum, slice, tuple as the root, iota, elementwise unary
// and binary, compare and select. Text outside it is refused with the first construct that cannot
// be read, and is still a valid key: `summarize` and `shape_key` take any text.
//
// A fused computation that was read is well formed: names are defined before they are used, operand
// shapes are those of the definitions, parameters are numbered 0, 1, ... without a gap, and each
// result's shape follows from its operands and attributes.
//
// Pure values; no I/O; safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "furlong/result.hh"

namespace furlong::verdict {

/// Element types, in the order of kElementTypes.
enum class ElementType : std::uint8_t {
  kPred,
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF8e3m4,
  kF8e4m3,
  kF8e4m3b11fnuz,
  kF8e4m3fn,
  kF8e4m3fnuz,
  kF8e5m2,
  kF8e5m2fnuz,
  kF16,
  kBf16,
  kF32,
  kF64,
  // Only in printed instructions: a fused computation that holds one is refused.
  kS2,
  kS4,
  kU2,
  kU4,
  kF4e2m1fn,
  kF8e8m0fnu,
  kC64,
  kC128,
  kToken,
  kOpaque,
};

/// `f32`; never empty.
std::string_view name(ElementType type);
/// Bytes of one element in memory: 1 for pred and for what is narrower than a byte, 0 for token and
/// opaque.
int bytes(ElementType type);
bool is_integer(ElementType type);  ///< s8 ... u64; pred is none
bool is_floating(ElementType type);

/// The shape of an array, or of a tuple of shapes.
struct Shape {
  bool tuple = false;
  std::vector<Shape> elements;           ///< of a tuple
  ElementType type = ElementType::kF32;  ///< of an array
  std::vector<std::int64_t> dims;        ///< each >= 0
  std::vector<std::int64_t> layout;      ///< minor to major; a permutation of the dims
  bool operator==(const Shape&) const = default;

  std::size_t rank() const { return dims.size(); }
  /// Elements of an array; the bytes of all of them fit 64 bits in what was parsed.
  std::int64_t count() const;
  /// Whether the last dimension is the contiguous one, and so on: the layout of C.
  bool row_major() const;
  /// Elements between neighbours along each dimension; those of an array.
  std::vector<std::int64_t> strides() const;
};

/// `f32[3,4]{1,0}`; `(f32[3]{0}, s8[8]{0})` for a tuple.
std::string print(const Shape& shape);

/// `[start:limit:stride]`; start <= limit, stride >= 1.
struct SliceRange {
  std::int64_t start = 0;
  std::int64_t limit = 0;
  std::int64_t stride = 1;
  bool operator==(const SliceRange&) const = default;
};

/// `{size=1x8 pad=0_0x7_0}`: size, and the padding below and above, of each dimension.
struct Window {
  std::vector<std::int64_t> size;
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  bool operator==(const Window&) const = default;
};

struct Attribute {
  std::string name;
  /// Numbers of a list or one number; ranges of `slice`; the `window`; else the text as printed: a
  /// word (`EQ`, `add`), or whatever stands in a printed instruction.
  std::variant<std::string, std::vector<std::int64_t>, std::vector<SliceRange>, Window> value;
  bool operator==(const Attribute&) const = default;
};

/// What an instruction does, for a switch; unary and binary ones are told apart by their opcode.
enum class OpcodeKind : std::uint8_t {
  kParameter,
  kConstant,
  kConvert,
  kBitcast,
  kReshape,
  kTranspose,
  kBroadcast,
  kDot,
  kReduce,
  kPrefixSum,  ///< reduce-window with such a window
  kSlice,
  kTuple,
  kIota,
  kUnary,
  kBinary,
  kCompare,
  kSelect,
  kPrinted,  ///< the one of a printed instruction, whatever its opcode
};

struct Operand {
  Shape shape;
  std::size_t index = 0;  ///< of the instruction that defines it; 0 in a printed instruction
  bool operator==(const Operand&) const = default;
};

struct Instruction {
  std::string name;  ///< as read, without `%`; empty in a printed instruction
  Shape shape;
  OpcodeKind kind = OpcodeKind::kPrinted;
  std::string opcode;
  std::vector<Operand> operands;
  std::vector<Attribute> attributes;  ///< in the order in which they are printed
  bool root = false;
  std::int64_t parameter = 0;  ///< the number of a parameter
  /// Of a constant, as printed: `0.125`, `{1, 2}`, `{...}` when elided.
  std::string literal;
  /// The elements of a constant in order, each a number (`inf`, `-inf` and `nan` too), or `true` or
  /// `false`; none when elided.
  std::vector<std::string> values;
  bool elided = false;  ///< a constant whose value was left out of the text
  bool operator==(const Instruction&) const = default;

  const Attribute* find(std::string_view attribute) const;
  /// The numbers of an attribute (`dimensions`, `iota_dimension`, ...); none when it is not there.
  const std::vector<std::int64_t>& numbers(std::string_view attribute) const;
  /// The text of an attribute (`direction`, `to_apply`); empty when it is not there.
  std::string_view word(std::string_view attribute) const;
  /// The ranges of a slice.
  const std::vector<SliceRange>& ranges() const;
  /// The dimension along which a prefix sum runs.
  std::size_t scanned() const;
};

struct Computation {
  enum class Form : std::uint8_t { kFused, kPrintedInstruction };

  Form form = Form::kFused;
  std::vector<Instruction> instructions;  ///< operands before users; the last is the root
  bool operator==(const Computation&) const = default;

  /// Precondition: holds an instruction, as each does that was read.
  const Instruction& root() const { return instructions.back(); }
  /// Indices of the parameters by their number.
  std::vector<std::size_t> parameters() const;
  /// Whether a constant's value was left out, so that a run has to draw it.
  bool elided() const;
  /// Why this cannot be run at all; empty when it can.
  std::string why_not_run() const;
};

/// Reads a fused computation or a printed instruction. White space, `%` before names, names other
/// than `tmp_N`, missing operand shapes and layouts (row-major then), the order of attributes and
/// `/* */` comments may differ from the canonical form. The reason of a refusal begins with
/// `line <n>: ` and names the first construct that cannot be read and what is allowed there.
Result<Computation> parse_computation(std::string_view text);

/// The canonical text; names are `tmp_<position>`. print(parse(x)) == x when x is canonical.
std::string print(const Computation& computation);

/// The same computation with its instructions in post-order from the root, named `tmp_N`: two
/// computations that are equal up to names and order print equal texts then. Instructions that the
/// root does not reach come first. A printed instruction comes back as it is.
Computation canonical(const Computation& computation);

/// What a person needs to recognise a computation; of any text whatsoever.
struct Summary {
  bool readable = false;  ///< parse_computation takes it
  std::string reason;     ///< why not, if not
  std::string root;       ///< opcode of the root; empty when none was found
  /// Opcodes that decide the time, each once in text order: dot, convolution, reduce,
  /// reduce-window, scatter, gather, sort, fft, ...; a custom call as its target.
  std::vector<std::string> heavy;
  std::vector<std::string> opcodes;  ///< each once in text order
  std::vector<std::string> dtypes;   ///< each once in text order
  std::vector<std::string>
      parameters;      ///< shapes without layout; operands of a printed instruction
  std::string result;  ///< the root's shape without layout
  /// For a column of a table: printable ASCII, not empty, at most kLineBytes:
  /// `dot f16[1,16,16] <- f16[1,16,17,3] s8[16,17,3]`.
  std::string line;

  static constexpr std::size_t kLineBytes = 120;
};

/// Never throws but for lack of memory.
Summary summarize(std::string_view text);

/// What a comparison leaves out. Immutable.
class IgnoreList {
 public:
  IgnoreList() = default;
  /// Comma-separated items; no, naming the first one that is none. Items:
  ///   device dnn version     of the key, not of the text: for the caller, no matter to shape_key
  ///   names                  operands are told apart by what defines them, not by name
  ///   metadata               where an instruction comes from: metadata and origin
  ///   backend_config         the config of a printed instruction, but for the member
  ///                          dot_dimension_numbers, without which two products of the same shapes
  ///                          could not be told apart
  ///   backend_config.<field> members of that name, at any depth in it
  ///   attributes             all attributes
  ///   constants              values of constants
  ///   layouts                layouts of shapes
  ///   workspace              the scratch buffer that a custom call returns beside its result
  static Result<IgnoreList> parse(std::string_view text);
  /// `names,metadata`: printed drift that never changes what is computed.
  static IgnoreList harmless();

  bool contains(std::string_view item) const;
  const std::vector<std::string>& items() const { return items_; }
  std::string text() const;

 private:
  std::vector<std::string> items_;  ///< in the order given, each once
};

/// Two texts with the same key do the same to the same shapes, as far as `ignore` says what counts:
/// opcodes, shapes, layouts, dtypes and whatever is not ignored. White space, comments, `%`, the
/// order of attributes and of the members of a backend config, its empty lists, that config as text
/// or as an escaped string, default layouts, and operand shapes printed or not never count; with
/// `names` ignored neither does the order of instructions. Takes any text; one without an
/// instruction is its own key but for white space. Never throws but for lack of memory. A key is
/// printable as far as the text is, and stable within a release only: do not store it.
std::string shape_key(std::string_view text, const IgnoreList& ignore);

}  // namespace furlong::verdict
