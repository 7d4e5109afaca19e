#include <gtest/gtest.h>

#include "report/text_table.hh"

namespace furlong::report {
namespace {

TEST(TextTable, PadsAndAligns) {
  TextTable table({{"op"}, {"ms", Align::kRight}, {"winner"}});
  table.add({"potrf", "0.5", "lanes:u=1"});
  table.add({"x", "12.25", ""});
  EXPECT_EQ(table.text(),
            "op        ms  winner\n"
            "potrf    0.5  lanes:u=1\n"
            "x      12.25\n");
  EXPECT_THROW(table.add({"one"}), std::invalid_argument);
}

}  // namespace
}  // namespace furlong::report
