#include "blas/embedded_tables.hh"

#include <gtest/gtest.h>

#include "blas/potrf/potrf.hh"
#include "furlong/device_key.hh"
#include "furlong/table.hh"

namespace furlong::blas {
namespace {

// Keys and spellings of every table are checked when it is first needed.
TEST(EmbeddedTables, AnswerForTheirOwnDevice) {
  for (const auto& table : embedded_tables()) {
    const auto name = parse_table_name(table.name);
    ASSERT_TRUE(name) << table.name;
    ASSERT_EQ(name->first, "potrf") << "an op without a test here";
    const auto file = parse_tables(table.text, table.name, DtypeList());
    ASSERT_FALSE(file.tables.empty()) << table.name;
    for (int dtype = 0; dtype < 2; ++dtype) {
      const auto query = potrf::query_of(dtype, Uplo::kLower, 16, 1024, 1);
      const auto decision = potrf::selector().explain(query, name->second, {});
      EXPECT_EQ(decision.tag, name->second.text) << table.name;
    }
  }
}

}  // namespace
}  // namespace furlong::blas
