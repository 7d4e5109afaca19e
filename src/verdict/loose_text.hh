// LooseText: what can be recognised in any printed text of instructions, of any release.
//
// Nothing is refused: a piece that is no instruction is kept as words. Reading takes time linear in
// the text and a bounded stack.
//
// Views point into the text that was read, which must outlive them.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace furlong::verdict {

struct LooseOperand {
  std::string_view shape;  ///< empty when not printed
  std::string_view name;   ///< without `%`; empty when not printed
};

struct LooseInstruction {
  std::string_view name;               ///< without `%`; empty in a printed instruction
  std::string_view shape;              ///< as printed
  std::string_view opcode;             ///< empty: no instruction, `words` hold what stands there
  std::string_view inside;             ///< between the parentheses
  std::vector<LooseOperand> operands;  ///< none when `inside` is no list of operands
  std::vector<std::pair<std::string_view, std::string_view>> attributes;  ///< name, value
  std::vector<std::string_view> words;
  bool root = false;
};

struct LooseText {
  std::vector<LooseInstruction> pieces;  ///< in text order
};

LooseText read_loosely(std::string_view text);

}  // namespace furlong::verdict
