#include "ledger/plain_number.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <random>
#include <string>

namespace furlong::ledger {
namespace {

std::optional<PlainNumber> read(std::string text) {
  text += std::string(kPlainNumberPadding, '\0');
  return read_plain_number(text.data());
}

/// Takes `text` and demands what the standard library reads. True when it was taken.
bool agrees(const std::string& text) {
  const auto plain = read(text + ",");
  if (!plain) return false;
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(plain->number), std::bit_cast<std::uint64_t>(number))
      << text;
  return true;
}

TEST(PlainNumber, ReadsWhatTheStandardLibraryReads) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-8, 4);
  int taken = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double value = std::pow(10.0, exponent(random));
    // As a ledger spells it, and more digits than that.
    taken += agrees(fmt::format("{}", value)) ? 1 : 0;
    agrees(fmt::format("-{:.18f}", value));
    agrees(fmt::format("{:.{}f}", value, i % 20));
  }
  // Those below 1e-4 are spelled with an exponent; nearly all others are taken.
  EXPECT_GT(taken, kCount * 6 / 10);
}

TEST(PlainNumber, IsRightBesideTies) {
  std::mt19937_64 random(2);
  int left = 0;
  for (int i = 0; i < 100000; ++i) {
    // Half way between two doubles from 2 to 2^10, and the decimals of 19 digits next to it.
    const double low = std::ldexp(static_cast<double>((random() >> 11) | (std::uint64_t{1} << 52)),
                                  static_cast<int>(random() % 9) - 51);
    const long double tie =
        (static_cast<long double>(low) + static_cast<long double>(std::nextafter(low, 1e9))) / 2;
    const std::string text = fmt::format("{:.21f}", tie);
    const auto point = text.find('.');
    std::string digits = text.substr(0, point + 20 - point);
    left += agrees(digits) ? 0 : 1;
    digits.back() = digits.back() == '9' ? '8' : static_cast<char>(digits.back() + 1);
    agrees(digits);
  }
  EXPECT_GT(left, 0) << "no number was near enough to a tie to be left to the parser";
}

TEST(PlainNumber, TheTieItself) {
  // 2^53 + 1 lies half way between two doubles: with a point it is left to the parser.
  EXPECT_FALSE(read("9007199254740993.0,"));
  EXPECT_TRUE(agrees("9007199254740994.0"));
  EXPECT_TRUE(agrees("9007199254740992.0"));
  EXPECT_TRUE(agrees("9007199254740993.5"));
}

TEST(PlainNumber, WholeNumbers) {
  for (const std::int64_t value : {0L, 1L, 7L, 678L, 123456789012345678L, 999999999999999999L}) {
    for (const std::int64_t number : {value, -value}) {
      const auto plain = read(std::to_string(number) + "}");
      ASSERT_TRUE(plain);
      EXPECT_TRUE(plain->whole);
      EXPECT_EQ(plain->integer, number);
      EXPECT_EQ(plain->number, static_cast<double>(number));
    }
  }
  EXPECT_FALSE(read("1234567890123456789,"));
  EXPECT_FALSE(read("1.0,")->whole);
}

TEST(PlainNumber, LeavesEveryOtherText) {
  for (const char* text : {"",
                           "-",
                           "01",
                           "00.5",
                           ".5",
                           "-.5",
                           "1.",
                           "1.x",
                           "1.5x",
                           "1e3",
                           "1.5e-7",
                           "+1",
                           "1.5.5",
                           "0x10",
                           "1_000",
                           "nan",
                           "1.0\"",
                           "\"1\"",
                           "0.00000000000000000000000000001",
                           "1.23456789012345678901",
                           "12345678.123456789012"}) {
    EXPECT_FALSE(read(std::string(text) + ",")) << text;
    EXPECT_FALSE(read(std::string(text) + "-")) << text;
  }
  EXPECT_FALSE(read("1.5"));
  for (const char* end : {",", "}", " ", "\t", "\r", "\n"}) {
    EXPECT_TRUE(read(std::string("0.00012345678901234567") + end)) << "17 digits that count";
  }
}

}  // namespace
}  // namespace furlong::ledger
