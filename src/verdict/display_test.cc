// What a cache says is shown without steering the terminal.
#include <gtest/gtest.h>

#include <algorithm>

#include "verdict/lookup.hh"
#include "verdict/verdict.hh"

namespace furlong::verdict {
namespace {

bool is_plain(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

TEST(display, control_characters_are_written_out) {
  const OwnWinner winner{"cpu", {{"kernel", std::string("a\x1b[2Jb")}}, "00", {}};
  const Key key{"CUDA: 8.0\x1b[31m, Cores: 1", "{\n  ROOT a = f32[] parameter(0)\n}", {}};
  const std::vector<Verdict> verdicts{Verdict::own(key, winner, 100)};
  EXPECT_EQ(verdicts[0].winner_text(), "furlong/cpu kernel=a\\x1b[2Jb");
  EXPECT_EQ(verdicts[0].winner_fields()[0].value, "a\x1b[2Jb");

  for (const Key& wanted : {Key{"CUDA: 9.0, Cores: 1", "{\n  ROOT a\x1b = f32[]\n}", {}},
                            Key{"\x1b", "{\n  \x07\n  ROOT a = f32[] parameter(0)\n}", {}}}) {
    const auto miss = nearest_miss(verdicts, wanted);
    ASSERT_TRUE(miss);
    const auto lines = explain(*miss, wanted);
    EXPECT_GE(lines.size(), 2U);
    for (const auto& line : lines) EXPECT_TRUE(is_plain(line)) << line;
    EXPECT_NE(lines[0].find("here CUDA: 8.0\\x1b[31m") == std::string::npos,
              lines[0].find("here 8.0\\x1b[31m") == std::string::npos);
  }
}

}  // namespace
}  // namespace furlong::verdict
