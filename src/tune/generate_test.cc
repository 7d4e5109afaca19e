#include "tune/generate.hh"

#include <gtest/gtest.h>

#include "furlong/error.hh"
#include "furlong/table.hh"
#include "host/json.hh"
#include "support/shared.hh"

namespace furlong::tune {
namespace {

using ledger::Project;

TEST(GenerateTable, Vectors) {
  FURLONG_NEEDS_SHARED("vectors/table/index.json");
  const auto folder = testing::shared_folder() / "vectors" / "table";
  const auto index = host::parse_json(testing::slurp(folder / "index.json"), "index.json");
  int tables = 0;
  int refusals = 0;
  for (const auto& one : index) {
    const auto name = one.at("case").get<std::string>();
    const auto op = one.at("op").get<std::string>();
    const auto device = one.at("device").get<std::string>();
    SCOPED_TRACE(name);
    const auto root = folder / name;
    const Project project = Project::load(root);
    EXPECT_EQ(project.stored(), (std::vector<Project::Stored>{{op, device}}));
    if (one.at("outcome").get<std::string>() == "table") {
      ++tables;
      const std::string want = testing::slurp(root / "expected" / (op + "." + device + ".txt"));
      GeneratedTable table;
      ASSERT_NO_THROW(
          table = generate_table(project, op, device,
                                 ledger::hashes_of_sources(project.root, project.spec_file(op))));
      EXPECT_EQ(table.text, want);
      const ledger::Ledger ledger =
          ledger::Ledger::read(project.ledger_file(op, device), {project.dtypes, project.library});
      const TableCheck check =
          check_table(ledger, TableNames::of(project, op, device), want, "expected");
      EXPECT_TRUE(check.equal) << check.difference;
      EXPECT_TRUE(
          stale_kernel_warnings(TableHeader(want), "expected",
                                ledger::hashes_of_sources(project.root, project.spec_file(op)))
              .empty());
    } else {
      ++refusals;
      std::string want = testing::slurp(root / "expected" / "refused.txt");
      want.erase(want.find_last_not_of('\n') + 1);
      try {
        generate_table(project, op, device,
                       ledger::hashes_of_sources(project.root, project.spec_file(op)));
        ADD_FAILURE() << "not refused: " << want;
      } catch (const Error& error) {
        const std::string what = error.what();
        if (want.find(".jsonl:") != std::string::npos) {
          EXPECT_NE(what.find(want + ":"), std::string::npos) << what;
        } else if (want.starts_with("hidden")) {
          EXPECT_NE(what.find(want), std::string::npos) << what;
        }
      }
    }
  }
  EXPECT_GE(tables, 30);
  EXPECT_GE(refusals, 8);
}

}  // namespace
}  // namespace furlong::tune
