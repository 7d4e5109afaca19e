#include "ledger/ledger.hh"

#include <fmt/format.h>

#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/ledger_reader.hh"
#include "ledger/lines.hh"

namespace furlong::ledger {
namespace {

/// `bytes` is followed by LineParser::kPadding readable bytes.
Ledger parse_padded(std::string_view bytes, std::string_view file, const ReadOptions& options) {
  if (is_lfs_pointer(bytes)) throw Error(fmt::format("{}:1: {}", file, kLfsReason));
  LedgerReader reader(file, options);
  std::string_view rest = bytes;
  RawLine line;
  constexpr std::int32_t kSampleLines = 512;
  while (next_line(rest, line)) {
    if (line.blank) continue;
    std::string reason = reader.take(line.text, line.number);
    if (!reason.empty()) {
      const std::string place = fmt::format("{}:{}: ", file, line.number);
      if (line.ended) throw Error(place + reason);
      reader.warn(place + "the last line is torn and ignored: " + reason);
    }
    if (line.number == kSampleLines) {
      reader.expect(static_cast<double>(bytes.size() - rest.size()) /
                    static_cast<double>(bytes.size()));
    }
  }
  return std::move(reader).finish();
}

}  // namespace

Ledger Ledger::parse(std::string_view bytes, std::string_view file, const ReadOptions& options) {
  std::string padded;
  padded.reserve(bytes.size() + LineParser::kPadding);
  padded.append(bytes);
  padded.append(LineParser::kPadding, ' ');
  return parse_padded(std::string_view(padded).substr(0, bytes.size()), file, options);
}

Ledger Ledger::read(const std::filesystem::path& file, const ReadOptions& options) {
  return parse(host::read_file(file), file.string(), options);
}

}  // namespace furlong::ledger
