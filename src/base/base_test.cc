#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/log.hh"

namespace furlong {
namespace {

TEST(Number, WholeTextOnly) {
  EXPECT_EQ(parse_int64("-7"), -7);
  EXPECT_EQ(parse_int64("007"), 7);
  for (const auto* bad : {"", "+7", " 7", "7 ", "7x", "0x7", "9223372036854775808"}) {
    EXPECT_FALSE(parse_int64(bad)) << bad;
  }
  EXPECT_FALSE(parse_int32("2147483648"));
  EXPECT_EQ(parse_positive("1"), 1);
  EXPECT_FALSE(parse_positive("0"));
  EXPECT_FALSE(parse_positive("-1"));
  EXPECT_EQ(parse_double("1e-2"), 0.01);
  for (const auto* bad : {"", "nan", "inf", "1,5", "+1", "1 ", "1e999"}) {
    EXPECT_FALSE(parse_double(bad)) << bad;
  }
}

TEST(Number, ShortestRoundTrips) {
  for (const double value : {0.1, 1.0 / 3, 1e300, 5e-324, 0.045525652742138954, 12345678.0}) {
    EXPECT_EQ(parse_double(shortest(value)), value);
  }
  EXPECT_EQ(shortest(std::nan("")), "null");
  EXPECT_EQ(shortest(std::numeric_limits<double>::infinity()), "null");
}

TEST(Text, Pieces) {
  EXPECT_EQ(split("a||b", '|'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", '|').size(), 1u);
  EXPECT_EQ(words("  a\tb "), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(trim(" a b\r\n"), "a b");
  EXPECT_EQ(quoted("a\n\"b"), "\"a\\x0a\\\"b\"");
}

TEST(Text, QuotedCutsAfterEightyBytes) {
  const std::string eighty(80, 'x');
  EXPECT_EQ(furlong::quoted(eighty), '"' + eighty + '"');
  EXPECT_EQ(furlong::quoted(eighty + "x"), '"' + eighty + "...\"");
}

TEST(Text, PrintableWritesControlCharactersOut) {
  EXPECT_EQ(printable("a\x1b[2J\n\x7f \"b\\"), "a\\x1b[2J\\x0a\\x7f \"b\\");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m \xc3\xa9 \xc2\xa0 \xc2"),
            "\\u009b1m \xc3\xa9 \xc2\xa0 \xc2");
}

TEST(Text, JoinSeparatesPiecesOnly) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(join(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
}

TEST(Log, OneSinkForAllThreads) {
  std::vector<std::string> lines;
  const auto before = set_log_sink([&](std::string_view line) { lines.emplace_back(line); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { log_line("hello"); });
  for (auto& thread : threads) thread.join();
  set_log_sink(before);
  EXPECT_EQ(lines, std::vector<std::string>(4, "hello"));
}

}  // namespace
}  // namespace furlong
