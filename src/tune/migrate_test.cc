#include "tune/migrate.hh"

#include <gtest/gtest.h>

#include "base/text.hh"
#include "furlong/error.hh"
#include "furlong/table.hh"
#include "host/files.hh"
#include "ledger/ledger.hh"
#include "ledger/tools.hh"
#include "support/shared.hh"
#include "support/temporary.hh"
#include "tune/generate.hh"

namespace furlong::tune {
namespace {

namespace fs = std::filesystem;

const std::string kRun =
    R"({"kind": "run", "run_id": "20261001T000000-h-1", "host": "h", "device": "sm_1", )"
    R"("batchlas": "aaaa0000", "date": "2026-10-01", "tier": "deep", "keys": "n:log", )"
    R"("candidates": "tiny|vendor"})";

std::string cell(int n, const std::string& first, double first_ms) {
  const std::string second = first == "tiny" ? "vendor" : "tiny";
  return R"({"kind": "cell", "run_id": "20261001T000000-h-1", "tier": "deep", "key": "n=)" +
         std::to_string(n) + R"(", "round": 0, "date": "2026-10-01", "ranked": ")" + first + "|" +
         second + R"(", "cands": ")" + first + "|" + second +
         R"(", "h0": "0000000a", "s0": "ok", "m0": )" + std::to_string(first_ms) +
         R"(, "h1": "0000000a", "s1": "ok", "m1": 2.0})";
}

std::string header(const std::string& dtype, const std::string& more = "") {
  return "# op=op dtype=" + dtype + " device=sm_1 batchlas=bbbb0000" + more +
         " date=2026-10-02\n# keys: n:log\n";
}

const std::string kHashes = " kernels=0000000c family_kernels=tiny:0000000a,vendor:0000000a";

class Migrate : public ::testing::Test {
 protected:
  Migrate() {
    testing::put_file(root() / "furlong.toml", "");
    fs::create_directories(old());
  }
  fs::path root() const { return folder_.path() / "project"; }
  fs::path old() const { return folder_.path() / "old"; }
  void table(const std::string& name, const std::string& text) const {
    testing::put_file(old() / "tuned" / (name + ".txt"), text);
  }
  void run(const std::string& name, const std::string& file, const std::string& text) const {
    testing::put_file(old() / "ledger" / name / file, text);
  }
  Result<Migration> prepare(bool as_converted = false) const {
    return prepare_migration(ledger::Project::load(root()), {old(), as_converted});
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Migrate, PutsDtypesTogetherAndProvesTheRows) {
  for (const std::string dtype : {"double", "float"}) {
    table("op." + dtype + ".sm_1", header(dtype, kHashes) +
                                       "n=4 | tiny 1.500 | vendor 2.000 # deep\n"
                                       "n=8 | vendor 1.250 | tiny 2.000 # deep noisy\n"
                                       "n=16 | tiny 1.000 | vendor 2.000 # deep\n"
                                       "n=64 | vendor - | tiny - # transcribed\n"
                                       "n=128 | vendor - | tiny - # transcribed\n");
    run("op." + dtype + ".sm_1", "b.jsonl", cell(8, "vendor", 1.25) + "\n");
    run("op." + dtype + ".sm_1", "a.jsonl", kRun + "\n\n" + cell(4, "tiny", 1.5));
    run("op." + dtype + ".sm_1", "c.jsonl", cell(16, "tiny", 1.0) + "\n");
  }
  const auto prepared = prepare();
  // n=64 lies one step from a measured row: generation drops it, and that is said.
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.reason().find("op.float.sm_1.txt:6: row \"n=64\" is lost"), std::string::npos)
      << prepared.reason();
  EXPECT_FALSE(fs::exists(root() / "ledger"));

  for (const std::string dtype : {"double", "float"}) {
    const auto file = old() / "tuned" / ("op." + dtype + ".sm_1.txt");
    std::string text = host::read_file(file);
    text.erase(text.find("n=64 "), std::string("n=64 | vendor - | tiny - # transcribed\n").size());
    testing::put_file(file, text);
    // The record at n=64 has no ranking: a lattice point without a row.
    run("op." + dtype + ".sm_1", "d.jsonl",
        R"({"kind": "cell", "run_id": "20261001T000000-h-1", "tier": "deep", "key": "n=64", )"
        R"("round": 0, "date": "2026-10-01", "ranked": "", "cands": "tiny", "s0": "bad"})"
        "\n");
  }
  const auto good = prepare();
  ASSERT_TRUE(good) << good.reason();
  ASSERT_EQ(good->ops.size(), 1u);
  const MigratedOp& op = good->ops[0];
  EXPECT_EQ(op.lines, 10);
  EXPECT_EQ(op.transcribed, 2);
  EXPECT_EQ(op.converted, 0);
  EXPECT_EQ(op.proved, 8);
  EXPECT_FALSE(fs::exists(root() / "ledger"));
  write_migration(*good);

  const auto project = ledger::Project::load(root());
  const std::string bytes = host::read_file(project.ledger_file("op", "sm_1"));
  EXPECT_EQ(bytes.substr(0, bytes.find("\"host\"")),
            R"({"kind": "run", "run_id": "20261001T000000-h-1", "dtype": "float", )");
  const auto lines = split(bytes, '\n');
  EXPECT_NE(lines[1].find("n=4"), std::string_view::npos);
  EXPECT_NE(lines[2].find("n=8"), std::string_view::npos);
  EXPECT_NE(lines[3].find("n=16"), std::string_view::npos);
  EXPECT_LT(bytes.find("\"float\""), bytes.find("\"double\""));
  const auto verified = ledger::verify(bytes, "op", {project.dtypes, project.library});
  EXPECT_TRUE(verified.damaged.empty());
  EXPECT_EQ(verified.unchecked, 0);
  EXPECT_EQ(verified.records, 14);
  EXPECT_NE(bytes.find("\"run_id\": \"transcribed-bbbb0000\""), std::string::npos);
  const auto check = check_table(project, "op", "sm_1");
  EXPECT_TRUE(check.equal) << check.difference;

  // A second migration replaces nothing.
  EXPECT_THROW(prepare(), Error);
  EXPECT_THROW(write_migration(*good), Error);
}

TEST_F(Migrate, RefusesATableThatItsLedgerDoesNotGive) {
  table("op.float.sm_1", header("float", kHashes) + "n=4 | tiny 1.501 | vendor 2.000 # deep\n");
  run("op.float.sm_1", "a.jsonl", kRun + "\n" + cell(4, "tiny", 1.5) + "\n");
  const auto time = prepare();
  ASSERT_FALSE(time);
  EXPECT_NE(time.reason().find("op.float.sm_1.txt:3: row \"n=4\" differs: entry 1 was tiny 1.501"),
            std::string::npos)
      << time.reason();

  table("op.float.sm_1", header("float", kHashes) + "n=4 | tiny 1.500 | vendor 2.000 # coarse\n");
  const auto tier = prepare();
  ASSERT_FALSE(tier);
  EXPECT_NE(tier.reason().find("its tier was coarse, becomes deep"), std::string::npos);

  run("op.float.sm_1", "b.jsonl", cell(8, "tiny", 1.5) + "\n");
  table("op.float.sm_1", header("float", kHashes) + "n=4 | tiny 1.500 | vendor 2.000 # deep\n");
  const auto more = prepare();
  ASSERT_FALSE(more);
  EXPECT_NE(more.reason().find("lacks the row \"n=8\""), std::string::npos) << more.reason();

  // Without the hashes that the table was derived with, every record is stale.
  fs::remove(old() / "ledger" / "op.float.sm_1" / "b.jsonl");
  table("op.float.sm_1", header("float") + "n=4 | tiny 1.500 | vendor 2.000 # deep\n");
  EXPECT_FALSE(prepare());
}

TEST_F(Migrate, TimedRowsWithoutALedgerNeedLeave) {
  const std::string rows = "n=4 | tiny 0.01770 | vendor 123.4 # noisy\nn=64 | vendor 1234 # deep\n";
  table("op.float.sm_1", header("float") + rows);
  const auto refused = prepare();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.reason().find("op.float.sm_1.txt:3"), std::string::npos);
  EXPECT_NE(refused.reason().find("--as-converted"), std::string::npos);
  const auto taken = prepare(true);
  ASSERT_TRUE(taken) << taken.reason();
  EXPECT_EQ(taken->ops[0].converted, 2);
  EXPECT_NE(taken->ops[0].table.find("dtype=float n=4 | tiny 0.01770 | vendor 123.4 # converted\n"
                                     "dtype=float n=64 | vendor 1234 # converted\n"),
            std::string::npos)
      << taken->ops[0].table;
  // A time that does not print back the same is no exact row.
  table("op.float.sm_1", header("float") + "n=4 | tiny 1234.5\n");
  EXPECT_FALSE(prepare(true));
}

TEST_F(Migrate, CandidatesComeFromAMeasuredLedger) {
  table("op.float.sm_1", header("float", kHashes) + "n=4 | tiny 1.500 | vendor 2.000 # deep\n");
  run("op.float.sm_1", "a.jsonl", kRun + "\n" + cell(4, "tiny", 1.5) + "\n");
  for (const std::string dtype : {"double", "float"}) {
    table("op." + dtype + ".sm_2",
          "# op=op device=sm_2 batchlas=cccc0000 date=2026-10-02\n"
          "# keys: n:log\nn=4 | vendor - | tiny -\n");
  }
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.reason();
  ASSERT_EQ(prepared->ops.size(), 2u);
  const auto ledger = ledger::Ledger::parse(prepared->ops[1].ledger, "sm_2", {});
  ASSERT_EQ(ledger.runs().size(), 2u);
  EXPECT_EQ(ledger.runs()[0].run.run_id, "transcribed-cccc0000");
  EXPECT_EQ(ledger.runs()[0].run.candidates, (std::vector<std::string>{"tiny", "vendor"}));
  EXPECT_EQ(ledger.runs()[1].run.dtype, "double");
  EXPECT_EQ(ledger.runs()[1].run.candidates, (std::vector<std::string>{"vendor", "tiny"}));
}

TEST_F(Migrate, BadInputIsNamed) {
  const auto message = [&] {
    try {
      prepare(true);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message().find("holds no old layout"), std::string::npos);
  table("op.half.sm_1", header("half") + "n=4 | tiny 1.0\n");
  EXPECT_NE(message().find("unknown dtype \"half\""), std::string::npos);
  fs::remove(old() / "tuned" / "op.half.sm_1.txt");
  table("op.float.sm_1", header("float") + "n=4 | tiny 1.0\nn=4 | tiny 1.0\n");
  EXPECT_NE(message().find("op.float.sm_1.txt:4: "), std::string::npos) << message();
  table("op.float.sm_1", header("double") + "n=4 | tiny 1.0\n");
  EXPECT_NE(message().find("header says dtype"), std::string::npos);
  table("op.float.sm_1", header("float") + "n=4 | tiny 1.0\n");
  run("op.float.sm_1", "a.jsonl", kRun + "\n{\"kind\": \n" + cell(4, "tiny", 1) + "\n");
  EXPECT_NE(message().find("a.jsonl:2: "), std::string::npos) << message();
  run("op.float.sm_1", "a.jsonl", "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_NE(message().find("a.jsonl:1: a Git LFS pointer"), std::string::npos) << message();
}

TEST_F(Migrate, RealLayout) {
  FURLONG_NEEDS_SHARED("real/batchlas/tuned");
  const auto from = testing::shared_folder() / "real" / "batchlas";
  const auto project = ledger::Project::load(root());
  EXPECT_FALSE(prepare_migration(project, {from, false}));
  const auto prepared = prepare_migration(project, {from, true});
  ASSERT_TRUE(prepared) << prepared.reason();
  std::int64_t rows = 0;
  for (const MigratedOp& op : prepared->ops) {
    const fs::path table = from / "tuned" / (op.op + ".float." + op.device + ".txt");
    if (!fs::exists(table)) continue;
    const std::string text = host::read_file(table);
    for (const auto line : split(text, '\n')) {
      if (!line.empty() && line.front() != '#') ++rows;
    }
    rows -= op.proved;
    EXPECT_EQ(op.proved, op.converted + op.transcribed);
  }
  EXPECT_EQ(rows, 0);
  write_migration(*prepared);
  EXPECT_EQ(project.stored().size(), prepared->ops.size());
  for (const MigratedOp& op : prepared->ops) {
    if (op.table.empty()) continue;
    const auto check = check_table(project, op.op, op.device);
    EXPECT_TRUE(check.equal) << check.difference;
  }
}

}  // namespace
}  // namespace furlong::tune
