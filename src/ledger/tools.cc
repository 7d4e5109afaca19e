#include "ledger/tools.hh"

#include "ledger/line_reader.hh"

namespace furlong::ledger {

std::string line_damage(std::string_view line) {
  std::string padded(line);
  padded.append(LineParser::kPadding, ' ');
  LineReader reader("");
  return reader.read(std::string_view(padded).substr(0, line.size()));
}

}  // namespace furlong::ledger
