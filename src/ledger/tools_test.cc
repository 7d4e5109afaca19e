#include "ledger/tools.hh"

#include <gtest/gtest.h>

#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/sample_records.hh"
#include "support/temporary.hh"

namespace furlong::ledger {
namespace {

namespace fs = std::filesystem;
using testing::cell_line;
using testing::rehash_line;
using testing::run_line;
using testing::without_crc;

std::string merged(const std::vector<std::string>& inputs) {
  std::vector<LedgerText> texts;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    texts.push_back({"in" + std::to_string(i) + ".jsonl", inputs[i]});
  }
  return merge(texts, {});
}

std::string merge_error(const std::vector<std::string>& inputs) {
  try {
    merged(inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string damage(std::string line) {
  line[30] = static_cast<char>(line[30] ^ 1);
  return line;
}

TEST(LineDamage, SaysWhatIsWrong) {
  const std::string line = cell_line();
  EXPECT_EQ(line_damage(line.substr(0, line.size() - 1)), "");
  EXPECT_NE(line_damage(damage(line)), "");
  EXPECT_NE(line_damage(""), "");
  EXPECT_NE(line_damage("{}"), "") << "an object without a kind is no record";
}

TEST(Verify, ReportsEveryDamagedLine) {
  const std::string bad_tier = R"({"kind": "cell", "run_id": "r", "tier": "x"})";
  const auto found = verify(run_line() + damage(cell_line(1)) + "\n" + without_crc(cell_line(2)) +
                                bad_tier + "\n" + cell_line(3, "lone") + "{\"torn",
                            "f", {});
  EXPECT_EQ(found.records, 3);
  EXPECT_EQ(found.unchecked, 1);
  ASSERT_EQ(found.damaged.size(), 3u);
  EXPECT_EQ(found.damaged[0].line, 2);
  EXPECT_EQ(found.damaged[0].text + "\n", damage(cell_line(1)));
  EXPECT_FALSE(found.damaged[0].torn);
  EXPECT_EQ(found.damaged[1].line, 5);
  EXPECT_EQ(found.damaged[1].reason.rfind("no field", 0), 0u);
  EXPECT_EQ(found.damaged[2].line, 7);
  EXPECT_TRUE(found.damaged[2].torn);
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_NE(found.warnings[0].find("without a run line"), std::string::npos);
}

TEST(Verify, ADamagedLineTellsNothingOfTheNext) {
  const std::string fields = R"({"kind": "other", "a": 1, "b": 2, "a": 3})";
  const std::string other = R"({"kind": "other", "a": 1, "b": 2, "b": 3})";
  const auto found =
      verify(run_line() + fields + "\n" + fields + "\n" + other + "\n" + fields + "\n", "f", {});
  ASSERT_EQ(found.damaged.size(), 4u);
  for (const auto& line : found.damaged) {
    EXPECT_NE(line.reason.find("stands twice"), std::string::npos) << line.reason;
  }
}

TEST(Repair, KeepsUndamagedLinesByteForByte) {
  const std::string good =
      run_line() + " \n" + without_crc(cell_line(1)) + "{\"kind\":\"other\"}\n" + cell_line(2);
  const auto same = repair(good, "f", {});
  EXPECT_EQ(same.bytes, good);
  EXPECT_EQ(same.damaged, "");
  const auto torn = repair(damage(cell_line(7)) + good + "{\"kind", "f", {});
  EXPECT_EQ(torn.bytes, good);
  EXPECT_EQ(torn.damaged, damage(cell_line(7)) + "{\"kind\n");
  EXPECT_EQ(torn.lines.size(), 2u);
  EXPECT_EQ(repair(good.substr(0, good.size() - 1), "f", {}).bytes, good)
      << "a whole last record gets its newline";
}

TEST(Repair, RecordsJoinedByADamagedNewline) {
  std::string joined = cell_line(1) + cell_line(2) + cell_line(3);
  joined[cell_line(1).size() - 1] = 'x';
  joined[joined.size() - 1] = '?';
  const auto repaired = repair(run_line() + joined, "f", {});
  EXPECT_EQ(repaired.bytes, run_line() + cell_line(1) + cell_line(2) + cell_line(3));
  ASSERT_EQ(repaired.lines.size(), 2u);
  EXPECT_EQ(repaired.lines[0].kept, 2);
  EXPECT_EQ(repaired.lines[1].kept, 1);
}

TEST(Repair, MovesLinesOfAFileAside) {
  const furlong::testing::TemporaryFolder folder;
  const auto file = folder.path() / "demo.cpu.jsonl";
  const auto aside = folder.path() / "demo.cpu.jsonl.damaged";
  furlong::testing::put_file(file, run_line() + cell_line(1));
  EXPECT_TRUE(repair_file(file, {}).empty());
  EXPECT_FALSE(fs::exists(aside));
  host::write_file_atomically(file, run_line() + damage(cell_line(1)) + cell_line(2));
  Appender appender(file);
  const auto lines = repair_file(file, {});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].line, 2);
  EXPECT_NE(lines[0].reason, "");
  EXPECT_EQ(host::read_file(aside), damage(cell_line(1)));
  appender.append(to_line(testing::sample_cell(3)));
  EXPECT_EQ(host::read_file(file), run_line() + cell_line(2) + cell_line(3))
      << "an appender that was open goes on in the repaired file";
  furlong::testing::put_file(file, damage(cell_line(4)));
  repair_file(file, {});
  EXPECT_EQ(host::read_file(aside), damage(cell_line(1)) + damage(cell_line(4)));
  EXPECT_EQ(host::read_file(file), "");
  EXPECT_THROW(repair_file(folder.path() / "missing", {}), Error);
}

TEST(Merge, RunByRunInOrderOfDateAndId) {
  const std::string early = run_line("z", "2026-01-01") + cell_line(1, "z");
  const std::string late = run_line("a", "2026-02-01") + cell_line(2, "a");
  const std::string same_day = run_line("b", "2026-02-01") + cell_line(3, "b");
  const std::string odd = "{\"kind\": \"weather\"}\n";
  const std::string expected = early + late + same_day + odd + rehash_line("2") + rehash_line("1");
  EXPECT_EQ(merged({rehash_line("2") + same_day + late, odd + early + rehash_line("1")}), expected);
  EXPECT_EQ(merged({early + late, same_day + odd + rehash_line("2") + rehash_line("1")}), expected);
  // What git's merge=union makes of two branches.
  EXPECT_EQ(merged({late + rehash_line("2") + early + rehash_line("1") + same_day + odd}),
            expected);
}

TEST(Merge, LinesOfARunKeepTheirOrder) {
  const std::string a = run_line() + cell_line(1) + cell_line(2) + cell_line(5);
  const std::string b = run_line() + cell_line(1) + cell_line(3) + cell_line(5) + cell_line(4);
  EXPECT_EQ(merged({a, b}),
            run_line() + cell_line(1) + cell_line(2) + cell_line(3) + cell_line(5) + cell_line(4));
  EXPECT_EQ(merged({run_line() + cell_line(2), run_line() + cell_line(1) + cell_line(2)}),
            run_line() + cell_line(1) + cell_line(2));
  EXPECT_EQ(merged({cell_line(2) + cell_line(1), cell_line(1) + cell_line(2) + cell_line(3)}),
            cell_line(2) + cell_line(1) + cell_line(3))
      << "inputs that disagree: the first one's order";
}

TEST(Merge, EveryDistinctLineOnceAndIdempotent) {
  const std::string a = run_line() + cell_line(1) + cell_line(1) + rehash_line("1");
  const std::string b = "\n" + cell_line(2, "lone") + run_line() + cell_line(3) + rehash_line("1");
  const std::string ab = merged({a, b});
  EXPECT_EQ(verify(ab, "f", {}).records, 5);
  EXPECT_EQ(merged({ab}), ab);
  EXPECT_EQ(merged({ab, a}), ab);
  EXPECT_EQ(merged({a, ab}), ab);
  EXPECT_EQ(merged({ab, ab, b}), ab);
}

TEST(Merge, RefusesDamage) {
  EXPECT_EQ(merge_error({run_line(), run_line() + damage(cell_line())}).rfind("in1.jsonl:2: ", 0),
            0u);
  EXPECT_EQ(merge_error({run_line() + "{\"kind"}).rfind("in0.jsonl:2: ", 0), 0u);
  EXPECT_NE(merge_error({"version https://git-lfs.github.com/spec/v1\n"}).find("pull"),
            std::string::npos);
}

TEST(Merge, FilesAreNeverLost) {
  const furlong::testing::TemporaryFolder folder;
  const auto a = folder.path() / "a.jsonl";
  const auto b = folder.path() / "b.jsonl";
  const auto out = folder.path() / "out.jsonl";
  furlong::testing::put_file(a, run_line() + cell_line(1));
  furlong::testing::put_file(b, run_line() + cell_line(2));
  merge_files({a, b}, out, {});
  const std::string both = run_line() + cell_line(1) + cell_line(2);
  EXPECT_EQ(host::read_file(out), both);
  merge_files({a, b}, out, {});
  EXPECT_EQ(host::read_file(out), both);
  EXPECT_THROW(merge_files({a}, out, {}), Error) << "out holds a line that the union would lose";
  EXPECT_EQ(host::read_file(out), both);
  merge_files({a, b}, a, {});
  EXPECT_EQ(host::read_file(a), both);
}

}  // namespace
}  // namespace furlong::ledger
