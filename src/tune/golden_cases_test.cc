#include "tune/golden_cases.hh"

#include <gtest/gtest.h>

namespace furlong::tune {
namespace {

TEST(SelfTest, EveryGoldenCaseIsRight) {
  const auto cases = golden_cases();
  EXPECT_GE(cases.size(), 7u);
  for (const auto& result : self_test(cases)) EXPECT_EQ(result.difference, "") << result.name;
}

TEST(SelfTest, NoticesBrokenExpectations) {
  auto cases = golden_cases();
  for (auto& one : cases) {
    if (one.refusal.empty()) {
      one.table.back() = ' ';
    } else {
      one.refusal += " never";
    }
  }
  for (const auto& result : self_test(cases)) EXPECT_NE(result.difference, "") << result.name;
}

TEST(SelfTest, NoticesATableThatWasToBeRefusedAndARefusalThatWasToBeATable) {
  auto cases = golden_cases();
  for (auto& one : cases) {
    if (one.refusal.empty()) {
      one.refusal = "hidden axis";
    } else {
      one.table = "# a table\n";
      one.refusal.clear();
    }
  }
  for (const auto& result : self_test(cases)) EXPECT_NE(result.difference, "") << result.name;
}

TEST(SelfTest, NoticesOtherKernels) {
  auto cases = golden_cases();
  cases[0].hashes.families[0].second = "deadbeef";
  const auto results = self_test(std::span(cases).first(1));
  EXPECT_NE(results[0].difference, "");
}

}  // namespace
}  // namespace furlong::tune
