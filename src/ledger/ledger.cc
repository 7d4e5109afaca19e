#include "ledger/ledger.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "furlong/error.hh"
#include "host/files.hh"
#include "host/share_out.hh"
#include "ledger/ledger_reader.hh"
#include "ledger/lines.hh"

namespace furlong::ledger {
namespace {

/// Feeds the lines of one part of a file to a reader, until the first malformed one. Where the part
/// comes in pieces, each piece but the file's last ends with a newline. LineParser::kPadding bytes
/// after a piece are readable.
class Feed {
 public:
  /// `expected` bytes are in store.
  Feed(std::string_view file, std::size_t expected, const ReadOptions& options)
      : expected_(expected), reader_(file, options) {}

  /// False when a line was malformed.
  bool take(std::string_view piece) {
    if (line_.number == 0 && is_lfs_pointer(piece)) {
      line_.number = 1;
      line_.ended = true;
      reason_ = kLfsReason;
      return false;
    }
    const std::size_t size = piece.size();
    while (next_line(piece, line_)) {
      if (line_.blank) continue;
      reason_ = reader_.take(line_.text, line_.number);
      if (!reason_.empty()) return false;
      if (line_.number == kSampleLines) {
        const std::size_t done = taken_ + size - piece.size();
        reader_.expect(static_cast<double>(done) / static_cast<double>(expected_));
      }
    }
    taken_ += size;
    return true;
  }

  LedgerReader& reader() { return reader_; }
  std::int32_t lines() const { return line_.number; }
  /// Why the last line is malformed; empty when none is.
  const std::string& reason() const { return reason_; }
  /// The malformed line had no newline: it is the file's last one.
  bool torn() const { return !line_.ended; }

 private:
  static constexpr std::int32_t kSampleLines = 512;

  std::size_t expected_;
  LedgerReader reader_;
  RawLine line_;
  std::size_t taken_ = 0;
  std::string reason_;
};

/// Joins the parts of a file in order.
Ledger join_parts(std::vector<std::unique_ptr<Feed>>& parts, std::string_view file) {
  std::int32_t lines = 0;
  for (const auto& part : parts) {
    if (!part->reason().empty()) {
      const std::string place = fmt::format("{}:{}: ", file, lines + part->lines());
      if (!part->torn()) throw Error(place + part->reason());
      parts[0]->reader().warn(place + "the last line is torn and ignored: " + part->reason());
    }
    if (part != parts[0]) parts[0]->reader().absorb(std::move(part->reader()), lines);
    lines += part->lines();
  }
  return std::move(parts[0]->reader()).finish();
}

constexpr std::size_t kPiece = std::size_t{1} << 20;

/// Feeds the bytes from `begin` to `end`, both at the start of a line, or to the end of the file.
void feed_part(const host::FileReader& in, std::size_t begin, std::size_t end, Feed& feed) {
  std::vector<char> buffer(kPiece + LineParser::kPadding);
  std::size_t held = 0;
  for (;;) {
    const std::size_t room = buffer.size() - LineParser::kPadding - held;
    const std::size_t wanted = std::min(room, end - begin);
    const std::size_t n = in.read(begin, std::span(buffer).subspan(held, wanted));
    begin += n;
    const std::string_view bytes(buffer.data(), held + n);
    if (n == 0) {
      feed.take(bytes);
      return;
    }
    const std::size_t whole = bytes.rfind('\n') + 1;  // 0 without one
    if (!feed.take(bytes.substr(0, whole))) return;
    held = bytes.size() - whole;
    std::memmove(buffer.data(), buffer.data() + whole, held);
    if (2 * held > buffer.size()) buffer.resize(2 * buffer.size());
  }
}

/// The start of the first line that begins at `offset` or later; the file's size without one.
std::size_t line_start(const host::FileReader& in, std::size_t offset) {
  std::vector<char> buffer(std::size_t{1} << 14);
  for (--offset; offset < in.size();) {
    const std::size_t n = in.read(offset, buffer);
    if (n == 0) break;
    const std::size_t at = std::string_view(buffer.data(), n).find('\n');
    if (at != std::string_view::npos) return offset + at + 1;
    offset += n;
  }
  return in.size();
}

}  // namespace

Ledger Ledger::parse(std::string_view bytes, std::string_view file, const ReadOptions& options) {
  std::string padded;
  padded.reserve(bytes.size() + LineParser::kPadding);
  padded.append(bytes);
  padded.append(LineParser::kPadding, ' ');
  std::vector<std::unique_ptr<Feed>> parts;
  parts.push_back(std::make_unique<Feed>(file, bytes.size(), options));
  parts[0]->take(std::string_view(padded).substr(0, bytes.size()));
  return join_parts(parts, file);
}

Ledger Ledger::read(const std::filesystem::path& file, const ReadOptions& options) {
  const host::FileReader in(file);
  // The parts depend on the file alone, and they are joined in its order.
  constexpr std::size_t kPart = 4 * kPiece;
  const std::size_t count = std::max<std::size_t>(in.size() / kPart, 1);
  std::vector<std::size_t> begins = {0};
  for (std::size_t i = 1; i < count; ++i) {
    begins.push_back(std::max(begins.back(), line_start(in, in.size() / count * i)));
  }
  begins.push_back(std::numeric_limits<std::size_t>::max());

  std::vector<std::unique_ptr<Feed>> parts(count);
  host::share_out(count, [&](std::size_t i) {
    parts[i] = std::make_unique<Feed>(file.string(), in.size() / count, options);
    feed_part(in, begins[i], begins[i + 1], *parts[i]);
  });
  return join_parts(parts, file.string());
}

}  // namespace furlong::ledger
