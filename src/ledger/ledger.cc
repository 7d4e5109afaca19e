#include "ledger/ledger.hh"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/ledger_reader.hh"
#include "ledger/lines.hh"

namespace furlong::ledger {
namespace {

/// Feeds lines to a reader. Where the file comes in pieces, each piece but the last ends with a
/// newline. LineParser::kPadding bytes after a piece are readable.
class Feed {
 public:
  Feed(std::string_view file, std::size_t file_size, const ReadOptions& options)
      : file_(file), file_size_(file_size), reader_(file, options) {}

  void take(std::string_view piece) {
    if (line_.number == 0 && is_lfs_pointer(piece)) {
      throw Error(fmt::format("{}:1: {}", file_, kLfsReason));
    }
    const std::size_t size = piece.size();
    while (next_line(piece, line_)) {
      if (line_.blank) continue;
      std::string reason = reader_.take(line_.text, line_.number);
      if (!reason.empty()) refuse(reason);
      if (line_.number == kSampleLines) {
        const std::size_t done = taken_ + size - piece.size();
        reader_.expect(static_cast<double>(done) / static_cast<double>(file_size_));
      }
    }
    taken_ += size;
  }

  Ledger finish() && { return std::move(reader_).finish(); }

 private:
  static constexpr std::int32_t kSampleLines = 512;

  void refuse(const std::string& reason) {
    const std::string place = fmt::format("{}:{}: ", file_, line_.number);
    if (line_.ended) throw Error(place + reason);
    reader_.warn(place + "the last line is torn and ignored: " + reason);
  }

  std::string file_;
  std::size_t file_size_;
  LedgerReader reader_;
  RawLine line_;
  std::size_t taken_ = 0;
};

}  // namespace

Ledger Ledger::parse(std::string_view bytes, std::string_view file, const ReadOptions& options) {
  std::string padded;
  padded.reserve(bytes.size() + LineParser::kPadding);
  padded.append(bytes);
  padded.append(LineParser::kPadding, ' ');
  Feed feed(file, bytes.size(), options);
  feed.take(std::string_view(padded).substr(0, bytes.size()));
  return std::move(feed).finish();
}

Ledger Ledger::read(const std::filesystem::path& file, const ReadOptions& options) {
  host::FileReader in(file);
  Feed feed(file.string(), in.size(), options);
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<char> buffer(kPiece + LineParser::kPadding);
  std::size_t held = 0;
  for (;;) {
    const std::size_t room = buffer.size() - LineParser::kPadding - held;
    const std::size_t n = in.read(std::span(buffer).subspan(held, room));
    const std::string_view bytes(buffer.data(), held + n);
    if (n == 0) {
      feed.take(bytes);
      return std::move(feed).finish();
    }
    const std::size_t whole = bytes.rfind('\n') + 1;  // 0 without one
    feed.take(bytes.substr(0, whole));
    held = bytes.size() - whole;
    std::memmove(buffer.data(), buffer.data() + whole, held);
    if (2 * held > buffer.size()) buffer.resize(2 * buffer.size());
  }
}

}  // namespace furlong::ledger
