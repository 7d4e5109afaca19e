#include "host/gzip.hh"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "furlong/error.hh"

namespace furlong::host {
namespace {

std::string packed(std::string text) {
  z_stream stream{};
  if (::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string bytes(::deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int code = ::deflate(&stream, Z_FINISH);
  bytes.resize(bytes.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return code == Z_STREAM_END ? bytes : "";
}

std::string error_of(const std::string& bytes, std::size_t most = 1 << 24) {
  try {
    gunzip(bytes, "a.gz", most);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string sample() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 10007) + '\n';
  return text;
}

TEST(Gzip, UnpacksWhatWasPacked) {
  for (const std::string& text : {std::string(), std::string("a"), sample()}) {
    EXPECT_EQ(gunzip(packed(text), "a.gz"), text);
  }
  EXPECT_EQ(gunzip(packed("one ") + packed("two"), "a.gz"), "one two");
}

TEST(Gzip, EveryCutIsAnError) {
  const std::string bytes = packed("a short text, a short text");
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_NE(error_of(bytes.substr(0, cut)), "no error") << cut;
  }
  EXPECT_EQ(error_of(packed(sample()).substr(0, 5000)),
            "a.gz: a gzip file that is cut; bring the whole file");
}

TEST(Gzip, DamageIsAnError) {
  std::string bytes = packed(sample());
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 1);
  EXPECT_NE(error_of(bytes).find("damaged gzip file"), std::string::npos) << error_of(bytes);
  EXPECT_NE(error_of("plain text").find("no gzip file"), std::string::npos);
  EXPECT_NE(error_of(packed("a") + "more").find("bytes after the end"), std::string::npos);
}

TEST(Gzip, StopsAtTheLimit) {
  EXPECT_NE(error_of(packed(std::string(1 << 20, 'x')), 1000).find("1000 bytes are allowed"),
            std::string::npos);
  EXPECT_EQ(gunzip(packed("1234"), "a.gz", 4), "1234");
  EXPECT_NE(error_of(packed("12345"), 4).find("4 bytes are allowed"), std::string::npos);
}

}  // namespace
}  // namespace furlong::host
