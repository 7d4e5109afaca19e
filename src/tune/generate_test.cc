#include "tune/generate.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "furlong/error.hh"
#include "furlong/table.hh"
#include "host/json.hh"
#include "ledger/writer.hh"
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

/// A ledger of op demo on a cpu: a run line with one change, and one cell.
ledger::Ledger demo_ledger(const std::string& from = "", const std::string& to = "") {
  std::string text =
      R"({"kind": "run", "format": 1, "run_id": "a", "dtype": "float", "host": "h", )"
      R"("device": "cpu", "device_name": "x", "furlong": "0a1b2c3d", "argv": "", )"
      R"("date": "2026-05-04", "tier": "deep", "keys": "n:log", )"
      R"("candidates": "fast:w=8|slow", "env": "e", "worker": "worker"})"
      "\n"
      R"({"kind": "cell", "run_id": "a", "dtype": "float", "tier": "deep", "key": "n=16", )"
      R"("round": 0, "date": "2026-05-04", "ranked": "fast:w=8|slow", "cands": "fast:w=8|slow", )"
      R"("h0": "11111111", "s0": "ok", "m0": 0.25, "h1": "22222222", "s1": "ok", "m1": 0.5})"
      "\n";
  for (auto at = text.find(from); !from.empty() && at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return ledger::Ledger::parse(text, "demo.cpu.jsonl", {DtypeList(), "furlong"});
}

TableNames demo_names() {
  return {"demo", "cpu", "furlong", "demo.cpu.jsonl", DtypeList()};
}

KernelHashes demo_hashes(const std::vector<std::string>&) {
  return {"99999999", {{"fast", "11111111"}, {"slow", "22222222"}}};
}

TEST(GenerateTable, RefusesNamesThatNoTableCanHold) {
  struct Case {
    std::string from;
    std::string to;
    std::string what;
  };
  const Case cases[] = {
      {"slow", "sl ow", "candidate \"sl ow\" cannot stand in a table: white space"},
      {"slow", "sl#ow", "candidate \"sl#ow\" cannot stand in a table: a family is"},
      {"slow", "sl,ow", "a family is one or more of [a-z0-9_]"},
      {"slow", "Slow", "a family is one or more of [a-z0-9_]"},
      {"slow", "slow:8", "\"8\" is no field of a long form"},
      {"slow", "slow:w=08", "\"w=08\" is no field of a long form"},
      {"slow", "slow:w=x", "\"w=x\" is no field of a long form"},
      {"slow", "slow:", "\"\" is no field of a long form"},
      {"slow", "slow:a#=1", "\"a#=1\" is no field of a long form"},
      {"\"date\": \"2026-05-04\", \"tier\"", "\"date\": \"2026 op=zz\", \"tier\"",
       "date \"2026 op=zz\" cannot stand in a table"},
      {"0a1b2c3d", "0a\\n# keys: x", "furlong \"0a\\x0a# keys: x\" cannot stand in a table"},
      {"n:log", "n:log m#:log", "key name \"m#\" cannot stand in a table"},
  };
  for (const auto& one : cases) {
    try {
      generate_table(demo_ledger(one.from, one.to), demo_names(), demo_hashes);
      ADD_FAILURE() << "not refused: " << one.to;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("demo.cpu.jsonl:1: ", 0), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find(one.what), std::string::npos) << error.what();
    }
  }
  const auto table =
      generate_table(demo_ledger("slow", "slow:w=-3:Xy=2147483647"), demo_names(), demo_hashes);
  EXPECT_NO_THROW(parse_tables(table.text, "demo.cpu.txt", DtypeList()));
}

TEST(GenerateTable, LongTablesAreInOrder) {
  // Rows are written in pieces and side by side; the parser takes them in order only.
  const DtypeList dtypes;
  std::string bytes;
  ledger::Run run;
  run.run_id = "r";
  run.device = "cpu";
  run.commit = "0a1b2c3d";
  run.date = "2026-05-04";
  run.tier = Tier::kCoarse;
  run.keys = "side:exact n:log";
  run.candidates = {"fast", "slow"};
  for (const auto& dtype : dtypes.names()) {
    run.dtype = dtype;
    bytes += ledger::to_line(run, "furlong") + "\n";
  }
  ledger::Cell cell;
  cell.run_id = "r";
  cell.tier = Tier::kCoarse;
  cell.date = run.date;
  cell.ranked = {"slow", "fast"};
  cell.outcomes.resize(2);
  cell.outcomes[0].candidate = "fast";
  cell.outcomes[0].hash = "11111111";
  cell.outcomes[0].median_ms = 12345.678;  // not of the quick way
  cell.outcomes[1] = cell.outcomes[0];
  cell.outcomes[1].candidate = "slow";
  cell.outcomes[1].hash = "22222222";
  constexpr int kN = 997;
  for (int i = 0; i < kN; ++i) {
    const int n = (i * 31) % kN + 1;
    cell.outcomes[1].median_ms = n;
    for (const char* side : {"R", "L"}) {
      cell.key = fmt::format("side={},n={}", side, n);
      for (const auto& dtype : dtypes.names()) {
        cell.dtype = dtype;
        bytes += ledger::to_line(cell) + "\n";
      }
    }
  }
  std::string rows;
  for (const auto& dtype : dtypes.names()) {
    for (const char* side : {"L", "R"}) {
      for (int n = 1; n <= kN; ++n) {
        rows += fmt::format("dtype={} side={} n={} | slow {} | fast 12346 # coarse\n", dtype, side,
                            n, format_ms(n));
      }
    }
  }
  const auto ledger = ledger::Ledger::parse(bytes, "demo.cpu.jsonl", {});
  const std::string text = generate_table(ledger, demo_names(), demo_hashes).text;
  EXPECT_EQ(text.substr(text.find("\ndtype=") + 1), rows);
}

TEST(CheckTable, ShowsWhereLongLinesDiffer) {
  const auto ledger = demo_ledger();
  const std::string table = generate_table(ledger, demo_names(), demo_hashes).text;
  const auto difference = [&](const std::string& from, const std::string& to) {
    std::string other = table;
    other.replace(other.find(from), from.size(), to);
    return check_table(ledger, demo_names(), other, "demo.cpu.txt").difference;
  };
  EXPECT_EQ(difference("date=2026-05-04", "date=2026-05-05"),
            "demo.cpu.txt:1: the table has ...\":22222222 date=2026-05-05\", its ledger gives "
            "...\":22222222 date=2026-05-04\"; furlong table writes it anew");
  EXPECT_EQ(difference("# op=demo", "# op=dem"),
            "demo.cpu.txt:1: the table has \"# op=dem device=cpu furlong=0a1b2c3d "
            "kernels=99999999 family_kernels=fast:111111...\", its ledger gives \"# op=demo "
            "device=cpu furlong=0a1b2c3d kernels=99999999 family_kernels=fast:11111...\"; "
            "furlong table writes it anew");
  EXPECT_EQ(difference(" # deep\n", " # deep\nmore\n"),
            "demo.cpu.txt:5: the table has \"more\", its ledger gives \"\"; furlong table writes "
            "it anew");
  EXPECT_EQ(difference("# op=demo", "\xef\xbb\xbf# op=demo"),
            "demo.cpu.txt:1: begins with a byte-order mark; save it as UTF-8 without one");
}

}  // namespace
}  // namespace furlong::tune
