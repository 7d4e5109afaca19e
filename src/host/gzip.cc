#include "host/gzip.hh"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "furlong/error.hh"

namespace furlong::host {
namespace {

constexpr std::string_view kMagic = "\x1f\x8b";

/// Owns zlib's state for one member.
class Member {
 public:
  Member() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (::inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      throw std::runtime_error("gunzip: zlib gave no state");
    }
  }
  ~Member() { ::inflateEnd(&stream_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// Appends the unpacked bytes; how many packed ones the member takes.
  std::size_t unpack(std::string_view bytes, std::string_view where, std::size_t most,
                     std::string& into) {
    constexpr std::size_t kChunk = 1 << 18;
    constexpr std::size_t kMostInput = std::numeric_limits<uInt>::max();
    std::size_t given = 0;
    for (int code = Z_OK; code != Z_STREAM_END;) {
      if (stream_.avail_in == 0) {
        const std::size_t next = std::min(kMostInput, bytes.size() - given);
        // zlib reads through the pointer only.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + given));
        stream_.avail_in = static_cast<uInt>(next);
        given += next;
      }
      const std::size_t before = into.size();
      into.resize(before + kChunk);
      stream_.next_out = reinterpret_cast<Bytef*>(into.data() + before);
      stream_.avail_out = static_cast<uInt>(kChunk);
      code = ::inflate(&stream_, Z_NO_FLUSH);
      into.resize(before + kChunk - stream_.avail_out);
      if (code == Z_BUF_ERROR || (code == Z_OK && stream_.avail_in == 0 && given == bytes.size() &&
                                  stream_.avail_out != 0)) {
        throw Error(where, "a gzip file that is cut; bring the whole file");
      }
      if (code != Z_OK && code != Z_STREAM_END) {
        throw Error(where, fmt::format("a damaged gzip file: {}",
                                       stream_.msg == nullptr ? "bad data" : stream_.msg));
      }
      if (into.size() > most) {
        throw Error(where, fmt::format("unpacks to too much; {} bytes are allowed", most));
      }
    }
    return given - stream_.avail_in;
  }

 private:
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::string gunzip(std::string_view bytes, std::string_view where, std::size_t most) {
  if (!is_gzip(bytes)) throw Error(where, "no gzip file; it begins with the bytes 1f 8b");
  std::string text;
  while (!bytes.empty()) {
    if (!is_gzip(bytes)) throw Error(where, "bytes after the end of a gzip file; none are allowed");
    bytes.remove_prefix(Member().unpack(bytes, where, most, text));
  }
  return text;
}

}  // namespace furlong::host
