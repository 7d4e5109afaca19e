#include "tune/replay.hh"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "furlong/error.hh"
#include "support/shared.hh"

namespace furlong::tune {
namespace {

using furlong::testing::shared_folder;
using furlong::testing::slurp;

/// The text of an xz file; empty when it cannot be unpacked.
std::string unpacked(const std::filesystem::path& file) {
  const std::string command = "xz -dc '" + file.string() + "'";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    text.append(chunk.data(), got);
  }
  return ::pclose(pipe) == 0 ? text : "";
}

bool close(double want, double got) {
  return std::abs(want - got) <= 1e-9 * std::max(1.0, std::abs(want));
}

TEST(Replay, Vectors) {
  FURLONG_NEEDS_SHARED("vectors/replay/expected.json");
  const auto folder = shared_folder() / "vectors/replay";
  const auto expected = nlohmann::json::parse(slurp(folder / "expected.json"));
  int checked = 0;
  for (const std::string name : {"lattice", "exact", "rough"}) {
    const std::string text = unpacked(folder / (name + ".reps.jsonl.xz"));
    if (text.empty()) GTEST_SKIP() << "xz cannot unpack " << name;
    const Recording recording = parse_recording(text, name);
    for (const Tier tier : {Tier::kPreview, Tier::kCoarse, Tier::kDeep}) {
      for (const bool holdout : {false, true}) {
        const std::string place =
            name + "/" + std::string(tier_name(tier)) + (holdout ? "/holdout" : "/all");
        SCOPED_TRACE(place);
        ASSERT_TRUE(expected.contains(place));
        const auto& want = expected[place];
        const ReplayReport got = replay(recording, {parameters_of(tier), holdout});
        EXPECT_EQ(got.measured, want["measured"].get<std::vector<std::string>>());
        EXPECT_EQ(static_cast<int>(got.measured.size()), want["cells_measured"].get<int>());
        EXPECT_EQ(got.cells, want["cells"].get<int>());
        EXPECT_EQ(got.rounds, want["rounds"].get<int>());
        EXPECT_EQ(got.refine_unavailable, want["refine_unavailable"].get<int>());
        EXPECT_EQ(got.capped, want["capped"].get<bool>());
        EXPECT_EQ(got.unrunnable, want["unrunnable"].get<int>());
        EXPECT_EQ(got.reps_used, want["reps_used"].get<int>());
        EXPECT_PRED2(close, want["reps_fraction"].get<double>(), got.reps_fraction);
        EXPECT_PRED2(close, want["measure_ms"].get<double>(), got.measure_ms);
        EXPECT_PRED2(close, want["race_misrank"].get<double>(), got.race_misrank);
        EXPECT_PRED2(close, want["table_misrank"].get<double>(), got.table_misrank);
        EXPECT_PRED2(close, want["floor_misrank"].get<double>(), got.floor_misrank);
        EXPECT_PRED2(close, want["mean_loss"].get<double>(), got.loss.mean);
        EXPECT_PRED2(close, want["max_loss"].get<double>(), got.loss.max);
        ++checked;
      }
    }
    if (name == "lattice") {
      const auto excess = [&](Tier tier) {
        const auto report = replay(recording, {parameters_of(tier), true});
        return report.table_misrank - report.floor_misrank;
      };
      EXPECT_LE(excess(Tier::kDeep), 0.002);
      EXPECT_LE(excess(Tier::kCoarse), 0.01);
      EXPECT_LE(excess(Tier::kPreview), 0.05);
    }
  }
  EXPECT_EQ(checked, 18);
}

const std::string kMeta =
    R"({"kind": "meta", "op": "demo", "dtype": "float", "device": "cpu", "keys": "n:log", )"
    R"("candidates": "a|b", "axes": "n=4:64"})"
    "\n";

std::string rep(const std::string& key, const std::string& candidate, int pass, int number,
                double ms) {
  return nlohmann::json{{"kind", "rep"}, {"key", key},    {"cand", candidate},
                        {"pass", pass},  {"rep", number}, {"ms", ms}}
             .dump() +
         "\n";
}

TEST(Replay, ScoresPicksAgainstTheBestThatRan) {
  std::string text = kMeta;
  for (int pass = 1; pass <= 2; ++pass) {
    for (int r = 0; r < 8; ++r) {
      text += rep("n=4", "a", pass, r, 1.0) + rep("n=4", "b", pass, r, 2.0);
      text += rep("n=8", "a", pass, r, 3.0) + rep("n=8", "b", pass, r, 2.0);
      text += rep("n=64", "a", pass, r, 1.0);
    }
  }
  TierParameters parameters = parameters_of(Tier::kCoarse);
  const auto report = replay(parse_recording(text, "reps"), {parameters, true});
  EXPECT_EQ(report.measured, (std::vector<std::string>{"n=4", "n=64"}));
  EXPECT_EQ(report.rounds, 1);
  EXPECT_EQ(report.reps_used, 8);
  EXPECT_DOUBLE_EQ(report.reps_fraction, 8.0 / 40.0);
  EXPECT_DOUBLE_EQ(report.measure_ms, 4 * 3.0);
  EXPECT_DOUBLE_EQ(report.exhaustive_ms, 8 * (1.0 + 2.0 + 3.0 + 2.0 + 1.0));
  EXPECT_DOUBLE_EQ(report.race_misrank, 0);
  EXPECT_DOUBLE_EQ(report.table_misrank, 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(report.floor_misrank, 0);
  EXPECT_DOUBLE_EQ(report.loss.max, 0.5);
  EXPECT_DOUBLE_EQ(report.loss.mean, 0.5 / 3);
  EXPECT_DOUBLE_EQ(report.loss.p95, 0.5);
  EXPECT_DOUBLE_EQ(report.loss.time_weighted, 5.0 / 4.0 - 1);
  EXPECT_DOUBLE_EQ(report.floor_loss.max, 0);
}

TEST(Replay, HoldoutNeedsBothPassesOfACell) {
  std::string text = kMeta;
  for (int r = 0; r < 8; ++r) {
    for (const char* key : {"n=4", "n=8", "n=64"}) {
      text += rep(key, "a", 1, r, 1.0) + rep(key, "b", 1, r, 2.0);
    }
  }
  int left_out = 0;
  try {
    held_out(parse_recording(text, "reps"), "reps", left_out);
    FAIL() << "there is no pass 2";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 6), "reps: ");
    EXPECT_NE(std::string(error.what()).find("--record-reps"), std::string::npos);
  }
  for (int r = 0; r < 8; ++r) {
    for (const char* key : {"n=4", "n=64"}) {
      text += rep(key, "a", 2, r, 1.0) + rep(key, "b", 2, r, 2.0);
    }
  }
  const auto kept = held_out(parse_recording(text, "reps"), "reps", left_out);
  EXPECT_EQ(left_out, 1);
  EXPECT_EQ(kept.index.at("n=64"), 1u);
  const auto report = replay(kept, {parameters_of(Tier::kCoarse), true});
  EXPECT_EQ(report.cells, 2);
  EXPECT_EQ(report.measured, (std::vector<std::string>{"n=4", "n=64"}));
  EXPECT_EQ(report.unrunnable, 0);
  EXPECT_DOUBLE_EQ(report.race_misrank, 0);
}

TEST(Replay, AnEmptyRecordingHasNothingToReport) {
  const auto report = replay(parse_recording(kMeta, "reps"), {parameters_of(Tier::kDeep), false});
  EXPECT_EQ(report.cells, 0);
  EXPECT_TRUE(report.measured.empty());
  EXPECT_EQ(report.reps_fraction, 0);
}

TEST(Replay, MalformedRecordingsNameTheLine) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_recording(text, "reps");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("").substr(0, 8), "reps:1: ");
  EXPECT_EQ(error_of(rep("n=4", "a", 1, 0, 1)).substr(0, 8), "reps:1: ");
  EXPECT_EQ(error_of(kMeta + kMeta).substr(0, 8), "reps:2: ");
  std::string twice = kMeta;
  twice.replace(twice.find("a|b"), 3, "a|a");
  EXPECT_EQ(error_of(twice).substr(0, 8), "reps:1: ");
  EXPECT_EQ(error_of(kMeta + "{\n").substr(0, 8), "reps:2: ");
  EXPECT_EQ(error_of(kMeta + "7\n").substr(0, 8), "reps:2: ");
  EXPECT_EQ(error_of(kMeta + rep("n=4", "c", 1, 0, 1)).substr(0, 8), "reps:2: ");
  EXPECT_EQ(error_of(kMeta + rep("m=4", "a", 1, 0, 1)).substr(0, 8), "reps:2: ");
  EXPECT_EQ(error_of(kMeta + rep("n=4,m=4", "a", 1, 0, 1)).substr(0, 8), "reps:2: ");
  EXPECT_EQ(error_of(kMeta + rep("n=x", "a", 1, 0, 1)).substr(0, 8), "reps:2: ");
  EXPECT_EQ(error_of(kMeta + rep("n=4", "a", 0, 0, 1)).substr(0, 8), "reps:2: ");
  EXPECT_EQ(error_of(kMeta + rep("n=4", "a", 1, -1, 1)).substr(0, 8), "reps:2: ");
  EXPECT_EQ(error_of(kMeta + rep("n=4", "a", 1, 0, 0)).substr(0, 8), "reps:2: ");
  EXPECT_NE(error_of(kMeta + rep("n=4", "a", 1, 0, 1) + rep("n=4", "a", 1, 0, 1)), "");
  EXPECT_EQ(error_of(kMeta + rep("n=4", "a", 1, 0, 1)), "");
}

}  // namespace
}  // namespace furlong::tune
