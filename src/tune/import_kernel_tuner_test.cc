#include "tune/import_kernel_tuner.hh"

#include <gtest/gtest.h>

#include <algorithm>

#include "furlong/error.hh"
#include "host/files.hh"
#include "host/gzip.hh"
#include "ledger/ledger.hh"
#include "ledger/writer.hh"
#include "support/shared.hh"
#include "tune/generate.hh"
#include "tune/replay.hh"

namespace furlong::tune {
namespace {

using ledger::Status;

/// A small cache; `entries` are its configurations.
std::string cache(const std::string& entries, const std::string& size = "[64, 32]") {
  std::string text = R"json({"device_name": "A Card-9 (PCIe)", "kernel_name": "add_kernel",
      "tune_params_keys": ["x", "y"], "tune_params": {"x": [1], "y": [1]}, "objective": "time",
      "problem_size": )json";
  return text + size + ", \"cache\": {" + entries + "}}";
}

const std::string kTwo = R"(
    "1,2": {"x": 1, "y": 2, "time": 3.5, "times": [3.0, 5.0, 4.0],
            "timestamp": "2023-12-22 09:54:05.502007+00:00"},
    "2,1": {"x": 2, "y": 1, "time": "RuntimeFailedConfig", "timestamp": "2023-12-23 01:00:00"})";

const std::string kT4 = R"({"metadata": {"timeunit": "microseconds"}, "results": [
    {"timestamp": "2024-01-02 00:00:00", "configuration": {"x": 1, "y": -2},
     "times": {"runtimes": [2000, 1000.0]}, "invalidity": "correct",
     "measurements": [{"name": "time", "value": 1500.0}]},
    {"configuration": {"x": 3, "y": 1}, "times": {}, "invalidity": "constraints"},
    {"configuration": {"x": 4, "y": 1}, "times": {}, "invalidity": "correctness"},
    {"configuration": {"x": 5, "y": 1}, "times": {}, "invalidity": "compile",
     "measurements": [{"name": "time", "value": "CompilationFailedConfig"}]}]})";

ImportNames named(const char* op, const char* device, const char* cell) {
  ImportNames names;
  names.op = op;
  names.device = device;
  names.cell = cell;
  return names;
}

std::string error_of(const std::string& text, const ImportNames& names = {}) {
  try {
    read_kernel_tuner(text, "f", names);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImportKernelTuner, ReadsACache) {
  const auto space = read_kernel_tuner(cache(kTwo), "f", {});
  EXPECT_EQ(space.op, "add_kernel");
  EXPECT_EQ(space.device, "a_card_9_pcie");
  EXPECT_EQ(space.device_name, "A Card-9 (PCIe)");
  EXPECT_EQ(space.cell.text(), "size_x=64,size_y=32");
  EXPECT_EQ(space.keys.text(), "size_x:log size_y:log");
  EXPECT_EQ(space.date, "2023-12-23");
  ASSERT_EQ(space.configurations.size(), 2u);
  const auto& [ran, failed] = std::tie(space.configurations[0], space.configurations[1]);
  EXPECT_EQ(ran.spelling, "add_kernel:x=1:y=2");
  EXPECT_EQ(ran.status, Status::kOk);
  EXPECT_EQ(ran.runs_ms, (std::vector<double>{3.0, 5.0, 4.0}));
  EXPECT_EQ(failed.spelling, "add_kernel:x=2:y=1");
  EXPECT_EQ(failed.status, Status::kError);
  EXPECT_EQ(failed.reason, "RuntimeFailedConfig");
  EXPECT_TRUE(failed.runs_ms.empty());
}

TEST(ImportKernelTuner, ReadsT4) {
  const auto space = read_kernel_tuner(kT4, "f", named("add", "card", "n=7"));
  EXPECT_EQ(space.op, "add");
  EXPECT_EQ(space.device, "card");
  EXPECT_EQ(space.date, "2024-01-02");
  ASSERT_EQ(space.configurations.size(), 4u);
  EXPECT_EQ(space.configurations[0].spelling, "add:x=1:y=-2");
  EXPECT_EQ(space.configurations[0].runs_ms, (std::vector<double>{2.0, 1.0}));
  const std::vector<std::pair<Status, std::string>> failures = {
      {Status::kSkipped, "constraints"},
      {Status::kBad, "correctness"},
      {Status::kError, "CompilationFailedConfig"}};
  for (std::size_t i = 0; i < failures.size(); ++i) {
    EXPECT_EQ(space.configurations[i + 1].status, failures[i].first) << i;
    EXPECT_EQ(space.configurations[i + 1].reason, failures[i].second) << i;
  }
}

TEST(ImportKernelTuner, OtherSpellingsOfTheSame) {
  ImportNames names;
  names.date = "2020-02-02";
  const auto space = read_kernel_tuner(cache(R"("a": {"x": true, "y": 16.0, "time": 2.5},
      "b": {"x": false, "y": 1, "time": 1e20}, "c": {"x": 2, "y": 1, "time": "InvalidConfig"})",
                                             "4096"),
                                       "f", names);
  EXPECT_EQ(space.date, "2020-02-02");
  EXPECT_EQ(space.cell.text(), "size_x=4096");
  EXPECT_EQ(space.configurations[0].spelling, "add_kernel:x=1:y=16");
  EXPECT_EQ(space.configurations[0].runs_ms, (std::vector<double>{2.5}));
  EXPECT_EQ(space.configurations[1].status, Status::kError);
  EXPECT_EQ(space.configurations[1].reason, "time 1e+20");
  EXPECT_EQ(space.configurations[2].status, Status::kSkipped);
}

TEST(ImportKernelTuner, BadInputIsAnErrorThatSaysWhere) {
  const auto entry = [](const std::string& fields) { return cache("\"e\": {" + fields + "}"); };
  const std::string place = "f: configuration \"e\": ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f: bad JSON"},
      {"[]", "f: no JSON object"},
      {"{}", "f: neither a Kernel Tuner cache"},
      {R"({"cache": {}, "results": []})", "f: neither a Kernel Tuner cache"},
      {R"({"cache": {}, "cache": {}})", "f: field \"cache\" stands twice"},
      {cache(""), "f: holds no configuration"},
      {cache(kTwo + "," + kTwo), "the configuration stands twice"},
      {cache(kTwo, "[0, 4]"), "f: bad \"problem_size\""},
      {cache(kTwo, "[1, 2, 3, 4]"), "f: bad \"problem_size\""},
      {cache(kTwo, "\"n\""), "f: bad \"problem_size\""},
      {entry(R"("x": 1, "time": 1)"), place + "no field \"y\""},
      {entry(R"("x": 1, "y": 2)"), place + "no field \"time\""},
      {entry(R"("x": 1.5, "y": 2, "time": 1)"), place + "bad value of parameter \"x\""},
      {entry(R"("x": "float4", "y": 2, "time": 1)"), place + "bad value of parameter \"x\""},
      {entry(R"("x": 4000000000, "y": 2, "time": 1)"), place + "bad value of parameter \"x\""},
      {entry(R"("x": 1, "y": 2, "time": null)"), place + "bad \"time\""},
      {entry(R"("x": 1, "y": 2, "time": -1)"), place + "time -1"},
      {entry(R"("x": 1, "y": 2, "time": 1, "times": [])"), place + "no time"},
      {entry(R"("x": 1, "y": 2, "time": 1, "times": [1, 0])"), place + "time 0"},
      {entry(R"("x": 1, "y": 2, "time": 1, "times": [1, "x"])"), place + "bad \"times\""},
      {entry(R"("x": 1, "y": 2, "time": 1, "timestamp": "now")"), place + "timestamp \"now\""},
      {entry(R"("x": 1, "y": 2, "time": 1)"), "f: names no date; name it with --date"},
  };
  for (const auto& [text, want] : cases) {
    EXPECT_NE(error_of(text).find(want), std::string::npos) << text << "\n" << error_of(text);
  }
  EXPECT_NE(error_of(kT4).find("--op"), std::string::npos);
  EXPECT_NE(error_of(kT4, named("Add", "card", "n=7")).find("bad op"), std::string::npos);
  EXPECT_NE(error_of(kT4, named("add", "Card", "n=7")).find("Card"), std::string::npos);
  EXPECT_NE(error_of(kT4, named("add", "card", "n")).find("cell: "), std::string::npos);
  EXPECT_NE(error_of(kT4, named("add", "card", "n=x")).find("cell: value"), std::string::npos);
  ImportNames dated;
  for (const char* bad : {"today", "2026-13-45", "2026-00-10", "2025-02-29", "2026-1-5"}) {
    dated.date = bad;
    EXPECT_NE(error_of(cache(kTwo), dated).find(std::string("date \"") + bad + "\""),
              std::string::npos);
  }
  dated.date = "2024-02-29";
  EXPECT_EQ(error_of(cache(kTwo), dated), "no error");
  std::string unit = kT4;
  unit.replace(unit.find("microseconds"), 12, "fortnights");
  EXPECT_NE(error_of(unit, named("add", "card", "n=7")).find("timeunit"), std::string::npos);
}

TEST(ImportKernelTuner, DamageIsAnErrorOrASpaceThatHolds) {
  const ImportNames names = named("add", "card", "n=7");
  for (const std::string& whole : {cache(kTwo), kT4}) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      EXPECT_NE(error_of(whole.substr(0, at), names), "no error") << at;
      for (const char other : {'"', '}', '0', '\0', '\xff'}) {
        std::string damaged = whole;
        damaged[at] = other;
        try {
          const auto space = read_kernel_tuner(damaged, "f", names);
          ASSERT_FALSE(import_ledgers({space}, "float").front().cells.empty());
          parse_recording(repetitions_text({space}, "float"), "reps");
        } catch (const Error&) {
        }
      }
    }
  }
}

TEST(ImportKernelTuner, OneRunAnOpAndDevice) {
  const std::string more = R"("1,2": {"x": 1, "y": 2, "time": 4.05},
      "9,9": {"x": 9, "y": 9, "time": 4.0}, "8,8": {"x": 8, "y": 8, "time": 1e20})";
  ImportNames later;
  later.date = "2023-12-24";
  std::vector<ImportedSpace> spaces = {read_kernel_tuner(cache(kTwo), "a", {}),
                                       read_kernel_tuner(cache(more, "[8, 8]"), "b", later)};
  const auto ledgers = import_ledgers(spaces, "float");
  ASSERT_EQ(ledgers.size(), 1u);
  const auto& one = ledgers.front();
  EXPECT_EQ(one.run.tier, Tier::kConverted);
  EXPECT_EQ(one.run.date, "2023-12-24");
  EXPECT_EQ(one.run.candidates,
            (std::vector<std::string>{"add_kernel:x=1:y=2", "add_kernel:x=2:y=1",
                                      "add_kernel:x=9:y=9", "add_kernel:x=8:y=8"}));
  ASSERT_EQ(one.cells.size(), 2u);
  EXPECT_EQ(one.cells[0].ranked, (std::vector<std::string>{"add_kernel:x=1:y=2"}));
  EXPECT_EQ(one.cells[0].outcomes.size(), 2u) << "only the candidates that it has";
  EXPECT_EQ(one.cells[0].outcomes[0].median_ms, 4.0);
  EXPECT_EQ(one.cells[0].outcomes[0].min_ms, 3.0);
  EXPECT_EQ(one.cells[0].outcomes[0].max_ms, 5.0);
  EXPECT_EQ(one.cells[0].outcomes[0].repetitions, 3);
  EXPECT_EQ(one.cells[0].outcomes[0].hash, "");
  EXPECT_EQ(one.cells[1].ranked,
            (std::vector<std::string>{"add_kernel:x=1:y=2", "add_kernel:x=9:y=9"}))
      << "within 3 % the list order decides";

  EXPECT_EQ(import_ledgers(spaces, "float")[0].run.run_id, one.run.run_id);
  EXPECT_NE(import_ledgers({spaces[0]}, "float")[0].run.run_id, one.run.run_id);
  spaces.push_back(spaces[0]);
  EXPECT_THROW(import_ledgers(spaces, "float"), Error);
  spaces.back() = read_kernel_tuner(cache(kTwo, "[4]"), "c", {});
  EXPECT_THROW(import_ledgers(spaces, "float"), Error);
  spaces.back().device = "other";
  EXPECT_EQ(import_ledgers(spaces, "float").size(), 2u);
  EXPECT_THROW(repetitions_text(spaces, "float"), Error);
}

TEST(ImportKernelTuner, ReplayReadsTheRuns) {
  const auto space = read_kernel_tuner(cache(kTwo), "a", {});
  const auto recording = parse_recording(repetitions_text({space}, "float"), "reps");
  EXPECT_EQ(recording.op, "add_kernel");
  EXPECT_EQ(recording.device, "a_card_9_pcie");
  EXPECT_EQ(recording.keys.text(), "size_x:log size_y:log");
  EXPECT_EQ(recording.candidates.size(), 2u);
  ASSERT_EQ(recording.cells.size(), 1u);
  const auto& times = recording.cells[0].times;
  ASSERT_EQ(times[0].size(), 3u);
  EXPECT_TRUE(times[1].empty()) << "a failure has no repetitions";
  for (int run = 0; run < 3; ++run) {
    const RecordedTime& time = times[0][static_cast<std::size_t>(run)];
    EXPECT_EQ(time.pass, run % 2 + 1);
    EXPECT_EQ(time.repetition, run / 2);
    EXPECT_EQ(time.ms, (std::vector<double>{3.0, 5.0, 4.0})[static_cast<std::size_t>(run)]);
  }
}

ImportedSpace real_space(const std::string& name, const ImportNames& names) {
  const auto file = testing::shared_folder() / "real/benchmark_hub" / (name + ".json.gz");
  return read_kernel_tuner(host::gunzip(testing::slurp(file), name), name, names);
}

TEST(ImportKernelTuner, RealSpaces) {
  FURLONG_NEEDS_SHARED("real/benchmark_hub");
  struct Case {
    std::string name;
    std::size_t configurations;
    std::size_t failed;
  };
  const std::vector<Case> cases = {
      {"convolution.A100", 4362, 161},   {"convolution.A4000", 4362, 161},
      {"convolution.MI250X", 4362, 0},   {"convolution.W6600", 4362, 0},
      {"dedispersion.A100", 11130, 0},   {"dedispersion.MI250X", 11130, 0},
      {"convolution.A100.T4", 4362, 161}};
  const auto size = "size_x=4096,size_y=4096";
  std::vector<ImportedSpace> spaces;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    ImportNames names;
    if (one.name.find("MI250X") != std::string::npos) names.device = "mi250x";
    if (one.name.find("T4") != std::string::npos) {
      names = named("convolution_kernel", "nvidia_a100_pcie_40gb", size);
    }
    spaces.push_back(real_space(one.name, names));
    const auto& all = spaces.back().configurations;
    EXPECT_EQ(all.size(), one.configurations);
    const auto failed = std::count_if(all.begin(), all.end(),
                                      [](const auto& each) { return each.status != Status::kOk; });
    EXPECT_EQ(failed, static_cast<std::ptrdiff_t>(one.failed));
    for (const auto& each : all) {
      ASSERT_EQ(each.runs_ms.size(), each.status == Status::kOk ? 32u : 0u) << each.spelling;
      ASSERT_EQ(each.reason.empty(), each.status == Status::kOk) << each.spelling;
    }
  }
  const ImportedSpace& cached = spaces.front();
  const ImportedSpace& t4 = spaces.back();
  ASSERT_EQ(cached.configurations.size(), t4.configurations.size());
  for (std::size_t i = 0; i < t4.configurations.size(); ++i) {
    ASSERT_EQ(cached.configurations[i].spelling, t4.configurations[i].spelling);
    ASSERT_EQ(cached.configurations[i].status, t4.configurations[i].status);
    ASSERT_EQ(cached.configurations[i].reason, t4.configurations[i].reason);
    ASSERT_EQ(cached.configurations[i].runs_ms, t4.configurations[i].runs_ms);
  }
  // What is written is a ledger like any other: it reads back and gives a table without sources.
  const auto ledgers = import_ledgers({cached}, "float");
  std::string text = ledger::to_line(ledgers[0].run, "furlong") + '\n';
  text += ledger::to_line(ledgers[0].cells[0]) + '\n';
  const auto ledger = ledger::Ledger::parse(text, "l", {});
  ASSERT_EQ(ledger.cells().size(), 1u);
  EXPECT_EQ(ledger.outcomes(ledger.cells()[0]).size(), 4362u);
  const auto table = generate_table(ledger, {cached.op, cached.device, "furlong", "l", {}},
                                    [](const auto&) { return KernelHashes{}; });
  EXPECT_NE(table.text.find("dtype=float size_x=4096 size_y=4096 | convolution_kernel:block_size_x="
                            "32:block_size_y=4:tile_size_x=1:tile_size_y=3:read_only=1:"),
            std::string::npos);
}

}  // namespace
}  // namespace furlong::tune
