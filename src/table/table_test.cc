#include "furlong/table.hh"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "furlong/error.hh"
#include "support/shared.hh"

namespace furlong {
namespace {

using testing::shared_folder;
using testing::slurp;

std::string failure_of(const std::string& text, const std::string& file) {
  try {
    parse_tables(text, file, DtypeList());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ParseTables, TextVectors) {
  FURLONG_NEEDS_SHARED("vectors/tables_text.json");
  const auto vectors = nlohmann::json::parse(slurp(shared_folder() / "vectors/tables_text.json"));
  const auto file = vectors["file"].get<std::string>();
  ASSERT_GT(vectors["bad"].size(), 20u);
  for (const auto& item : vectors["bad"]) {
    const auto what = failure_of(item["text"].get<std::string>(), file);
    const auto place = file + ":" + std::to_string(item["line"].get<int>()) + ": ";
    EXPECT_EQ(what.substr(0, place.size()), place) << item["name"] << ": " << what;
  }
  ASSERT_GT(vectors["good"].size(), 5u);
  for (const auto& item : vectors["good"]) {
    EXPECT_EQ(failure_of(item["text"].get<std::string>(), file), "") << item["name"];
  }
}

TEST(ParseTables, AByteOrderMarkIsNamed) {
  EXPECT_EQ(failure_of("\xef\xbb\xbf# keys: dtype:exact n:log\n", "demo.cpu.txt"),
            "demo.cpu.txt:1: begins with a byte-order mark; save it as UTF-8 without one");
}

const char* const kText =
    "# op=demo device=cpu_avx2 furlong=01234567 date=2026-12-01\n"
    "# keys: dtype:exact uplo:exact n:log:3\n"
    "dtype=float n=008 uplo=L | lanes:w=4 0.5 | vendor 1e1 # deep\n"
    "dtype=double uplo=U n=16 | vendor - | lanes:w=4 -\n";

TEST(ParseTables, ReadsRowsHeaderAndTiers) {
  const auto file = parse_tables(kText, "some/folder/demo.cpu_avx2.txt", DtypeList());
  EXPECT_EQ(file.op, "demo");
  EXPECT_EQ(file.device.text, "cpu_avx2");
  EXPECT_EQ(*file.find("furlong"), "01234567");
  EXPECT_EQ(file.find("kernels"), nullptr);
  ASSERT_EQ(file.tables.size(), 2u);
  const Table& table = file.tables[0];
  EXPECT_EQ(table.dtype, "float");
  EXPECT_EQ(table.keys.text(), "uplo:exact n:log:3");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].key, (std::vector<std::string>{"L", "8"}));
  EXPECT_EQ(table.rows[0].key_text(table.keys), "uplo=L,n=8");
  EXPECT_EQ(table.rows[0].tier, "deep");
  EXPECT_EQ(table.rows[0].line, 3);
  EXPECT_EQ(table.rows[0].entries[1].ms, 10);
  EXPECT_EQ(file.tables[1].rows[0].entries[0].ms, std::nullopt);
  EXPECT_EQ(file.tables[1].rows[0].tier, "");
}

TEST(ParseTables, LeadingZerosDoNotMakeASecondRow) {
  const std::string twice = std::string(kText) + "dtype=float uplo=L n=8 | vendor 1\n";
  EXPECT_NE(failure_of(twice, "demo.cpu_avx2.txt").find(":5: a row with this key"),
            std::string::npos);
}

TEST(TableName, OnlyOpDotDeviceDotTxt) {
  ASSERT_TRUE(parse_table_name("potrf.cpu_avx512_zen5.txt"));
  EXPECT_EQ(parse_table_name("potrf.cpu.txt")->first, "potrf");
  for (const auto* bad : {"", "README.md", "potrf.txt", "potrf.cpu.tsv", "potrf.float.cpu.txt",
                          ".cpu.txt", "potrf..txt", "Potrf.cpu.txt", "potrf.CPU.txt"}) {
    EXPECT_FALSE(parse_table_name(bad)) << bad;
  }
}

TEST(FormatMs, FourDigitsFromTheExactExpansion) {
  EXPECT_EQ(format_ms(0.007526), "0.007526");
  EXPECT_EQ(format_ms(0.0124), "0.01240");
  EXPECT_EQ(format_ms(1.79), "1.790");
  EXPECT_EQ(format_ms(1234), "1234");
  EXPECT_EQ(format_ms(12345.6), "12346");
  EXPECT_EQ(format_ms(9.9996), "10.000");  // the exponent is that of t, not of the rounded text
  EXPECT_EQ(format_ms(1234.5), "1234");    // an exact tie goes to even
  EXPECT_EQ(format_ms(1235.5), "1236");
  EXPECT_EQ(format_ms(0.1), "0.1000");
  EXPECT_EQ(format_ms(std::nextafter(0.1, 0.0)), "0.10000");
  EXPECT_EQ(format_ms(5e-7), "0.0000005000");
}

/// The rule as it is written: the exponent of the exact expansion, then exact rounding.
std::string format_ms_exactly(double ms) {
  std::array<char, 1100> buffer;
  char* const last = buffer.data() + buffer.size();
  char* end = std::to_chars(buffer.data(), last, ms, std::chars_format::scientific, 800).ptr;
  const std::string text(buffer.data(), end);
  const int exponent = std::stoi(text.substr(text.find('e') + 1));
  end = std::to_chars(buffer.data(), last, ms, std::chars_format::fixed, std::max(0, 3 - exponent))
            .ptr;
  return {buffer.data(), end};
}

TEST(FormatMs, TheQuickWayAgreesWithTheExactOne) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-26, 6);
  const auto agree = [](double ms) { ASSERT_EQ(format_ms(ms), format_ms_exactly(ms)) << ms; };
  for (int i = 0; i < 20000; ++i) agree(std::pow(10.0, exponent(random)));
  // Ties, powers of ten, and their neighbours.
  std::uniform_int_distribution<int> digits(1000, 9999);
  for (int decimals = 0; decimals < 26; ++decimals) {
    for (int i = 0; i < 200; ++i) {
      const double whole = i == 0 ? 1000 : i == 1 ? 9999.5 : digits(random) + 0.5;
      const double ms = whole / std::pow(10.0, decimals);
      agree(ms);
      agree(std::nextafter(ms, 0));
      agree(std::nextafter(ms, 1e9));
    }
  }
  // Short binary fractions are exact ties.
  for (int i = 1; i < 100000; i += 7) agree(i / 1024.0);
}

}  // namespace
}  // namespace furlong
