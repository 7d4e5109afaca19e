#include "furlong/select.hh"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "furlong/error.hh"
#include "furlong/log.hh"
#include "select/black_box.hh"
#include "select/bound_table.hh"
#include "select/environment.hh"
#include "support/shared.hh"
#include "support/temporary.hh"

namespace furlong::select {
namespace {

using furlong::testing::shared_folder;
using furlong::testing::slurp;

/// Variables and files made up by a test; in force while it lives.
class FakeEnvironment : public Environment {
 public:
  FakeEnvironment() {
    set_environment(this);
    before_ = set_log_sink([this](std::string_view line) { lines.emplace_back(line); });
  }
  ~FakeEnvironment() override {
    set_environment(nullptr);
    set_log_sink(before_);
  }
  FakeEnvironment(const FakeEnvironment&) = delete;
  FakeEnvironment& operator=(const FakeEnvironment&) = delete;

  std::optional<std::string> variable(const std::string& name) const override {
    const auto at = variables.find(name);
    if (at == variables.end()) return std::nullopt;
    return at->second;
  }
  std::vector<std::string> list(const std::string& folder) const override {
    if (files_of != nullptr) return files_of->list(folder);
    std::vector<std::string> names;
    for (const auto& [name, text] : files) names.push_back(name);
    return names;
  }
  std::string read(const std::string& folder, const std::string& name) const override {
    if (files_of != nullptr) return files_of->read(folder, name);
    return files.at(name);
  }
  bool append(const std::string&, std::string_view line) const override {
    appended.emplace_back(line);
    return true;
  }

  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;
  const Environment* files_of = nullptr;  ///< whose files instead
  mutable std::vector<std::string> appended;
  std::vector<std::string> lines;

 private:
  LogSink before_;
};

OpVocabulary demo_vocabulary() {
  OpVocabulary vocabulary;
  vocabulary.op = "demo";
  vocabulary.keys = KeySpec::parse("uplo:exact n:log:3 batch:log").value();
  vocabulary.exact_values = {{"L", "U"}, {}, {}};
  vocabulary.families = {{"direct", {}}, {"lanes", {"u"}}, {"blocked", {"nb"}}, {"vendor", {}}};
  vocabulary.dtypes = {"float", "double"};
  const std::vector<std::string> names = {"direct", "lanes:u=1", "lanes:u=2", "blocked:nb=8",
                                          "vendor"};
  vocabulary.candidates = {names, names};
  vocabulary.last_resort = {"blocked", "vendor"};
  return vocabulary;
}

std::string demo_table(const std::string& rows) {
  return "# keys: dtype:exact uplo:exact n:log:3 batch:log\n" + rows;
}

Query demo_query(std::int64_t uplo, std::int64_t n, std::int64_t batch, int dtype = 0) {
  return {dtype, {uplo, n, batch}};
}

/// Candidates that refuse, as a CanRun.
struct Refusing {
  std::vector<int> candidates;
  static Refusal check(const void* call, int candidate) {
    const auto& list = static_cast<const Refusing*>(call)->candidates;
    const bool refuses = std::find(list.begin(), list.end(), candidate) != list.end();
    return refuses ? Refusal{"told to"} : Refusal{};
  }
  CanRun can_run() const { return {&check, this}; }
};

DeviceKey device(const std::string& text) {
  return DeviceKey::parse(text).value();
}

TEST(BlackBox, ChooseVectors) {
  FURLONG_NEEDS_SHARED("vectors/choose/queries.jsonl");
  const auto folder = shared_folder() / "vectors/choose";
  std::istringstream lines(slurp(folder / "queries.jsonl"));
  int checked = 0;
  const auto before = set_log_sink([](std::string_view) {});
  for (std::string line; std::getline(lines, line);) {
    const auto item = nlohmann::json::parse(line);
    BlackBoxQuery query;
    query.op = item["op"];
    query.dtype = item["dtype"];
    query.device = item["device"];
    query.key = item["key"];
    if (!item["runnable"].is_null()) {
      query.runnable = item["runnable"].get<std::vector<std::string>>();
    }
    const auto answer = [&]() -> std::optional<Decision> {
      try {
        return choose_from_tables(query, (folder / item["set"].get<std::string>()).string(),
                                  DtypeList());
      } catch (const NoCandidate&) {
        return std::nullopt;
      }
    };
    const auto decision = answer();
    const auto& expected = item["expected"];
    ++checked;
    if (expected.is_null()) {
      EXPECT_FALSE(decision) << line;
      continue;
    }
    ASSERT_TRUE(decision) << line;
    EXPECT_EQ(decision->spelling, expected["choice"]) << line;
    EXPECT_EQ(decision->row, expected["row"]) << line;
    EXPECT_EQ(decision->device, expected["device"]) << line;
    EXPECT_EQ(decision->tag, expected["tag"]) << line;
    EXPECT_EQ(decision->rank, expected["rank"]) << line;
    EXPECT_NEAR(decision->distance, expected["distance"].get<double>(), 1e-9) << line;
    EXPECT_EQ(decision->tier, expected["tier"].is_null() ? "" : expected["tier"]) << line;
    ASSERT_EQ(decision->ms.has_value(), !expected["ms"].is_null()) << line;
    if (decision->ms) {
      EXPECT_NEAR(*decision->ms, expected["ms"].get<double>(), 1e-12) << line;
    }
  }
  set_log_sink(before);
  EXPECT_GT(checked, 300);
}

TEST(BlackBox, MisnamedTablesAreTold) {
  const furlong::testing::TemporaryFolder folder;
  const std::string text = "# keys: dtype:exact n:log\ndtype=float n=8 | a 1\n";
  furlong::testing::put_file(folder.path() / "op0.cpu.txt", text);
  furlong::testing::put_file(folder.path() / "op0.CPU.txt", text);
  furlong::testing::put_file(folder.path() / "README.md", "no table");
  std::vector<std::string> lines;
  const auto before = set_log_sink([&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_EQ(choose_from_tables({"op0", "float", "cpu", "n=8", {}, {}}, folder.path().string(),
                               DtypeList())
                .spelling,
            "a");
  set_log_sink(before);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("op0.CPU.txt: bad table name"), std::string::npos) << lines[0];
}

std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no failure";
}

TEST(BlackBox, ATableThatIsNoRegularFileIsAnError) {
  const furlong::testing::TemporaryFolder folder;
  const auto ask = [&] {
    choose_from_tables({"op0", "float", "cpu", "n=8", {}, {}}, folder.path().string(), DtypeList());
  };
  const auto file = folder.path() / "op0.cpu.txt";
  std::filesystem::create_directory(file);
  EXPECT_EQ(failure_of(ask), file.string() + ": is no regular file; a table is one");
  std::filesystem::remove(file);
  std::filesystem::create_symlink("nowhere", file);
  EXPECT_EQ(failure_of(ask), file.string() + ": cannot be read: No such file or directory");
  std::filesystem::remove(file);
  furlong::testing::put_file(folder.path() / "kept",
                             "# keys: dtype:exact n:log\ndtype=float n=8 | a 1\n");
  std::filesystem::create_symlink("kept", file);
  EXPECT_EQ(failure_of(ask), "no failure");
}

TEST(BlackBox, AnOverrideThatIsNoRegularFileIsAnError) {
  const furlong::testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "demo.cpu.txt");
  FakeEnvironment env;
  env.variables["FURLONG_TUNED_DIR"] = folder.path().string();
  env.files_of = &process_environment();
  Selector selector(demo_vocabulary(), {});
  EXPECT_THROW(selector.explain(demo_query(0, 8, 64), device("cpu"), {}), Error);
}

TEST(BlackBox, RefusalsAndTheRunnableList) {
  const furlong::testing::TemporaryFolder folder;
  furlong::testing::put_file(folder.path() / "op0.cpu.txt",
                             "# keys: dtype:exact n:log\n"
                             "dtype=float n=8 | lanes:u=1 1 | vendor 2\n"
                             "dtype=double n=8 | lanes:u=2 1\n");
  BlackBoxQuery query{"op0", "float", "cpu", "n=8", {}, {}};
  const auto ask = [&] {
    return choose_from_tables(query, folder.path().string(), DtypeList()).spelling;
  };
  const auto failure = [&] { return failure_of([&] { ask(); }); };
  query.runnable = {"vendor"};
  EXPECT_EQ(ask(), "vendor");
  query.runnable = {"lanes:1", "vendor"};
  EXPECT_EQ(ask(), "lanes:u=1");
  // A candidate of another dtype.
  query.runnable = {"lanes:u=2"};
  try {
    ask();
    FAIL() << "nothing can run";
  } catch (const NoCandidate& none) {
    ASSERT_EQ(none.refused().size(), 2u);
    EXPECT_EQ(none.refused()[0].spelling, "lanes:u=1");
    EXPECT_EQ(none.refused()[1].spelling, "vendor");
    EXPECT_EQ(none.refused()[1].reason, "not in the runnable list");
  }
  query.runnable = {"zork"};
  EXPECT_EQ(
      failure(),
      "--runnable: bad spelling \"zork\": unknown family \"zork\"; allowed are lanes, vendor");
  query.runnable = {"vendor", "lanes:3"};
  EXPECT_EQ(failure(),
            "--runnable: \"lanes:3\" is no candidate of op0; allowed are lanes:u=1, vendor, "
            "lanes:u=2");
  query.runnable = {"Vendor"};
  EXPECT_THROW(ask(), std::invalid_argument);
  query.runnable.reset();
  query.dtype = "cfloat";
  EXPECT_EQ(failure(), "op0: no candidate can run n=8 on cpu; the tables hold no cfloat row");
}

TEST(BlackBox, WrongQuestions) {
  FURLONG_NEEDS_SHARED("vectors/choose/queries.jsonl");
  const auto folder = (shared_folder() / "vectors/choose/set0").string();
  const BlackBoxQuery good{"op0", "float", "sm_90", "n=8,batch=8", {}, {}};
  EXPECT_NO_THROW(choose_from_tables(good, folder, DtypeList()));
  auto query = good;
  query.key = "n=8";
  EXPECT_THROW(choose_from_tables(query, folder, DtypeList()), std::invalid_argument);
  query.key = "n=8,batch=8,m=1";
  EXPECT_THROW(choose_from_tables(query, folder, DtypeList()), std::invalid_argument);
  query.key = "n=x,batch=8";
  EXPECT_THROW(choose_from_tables(query, folder, DtypeList()), std::invalid_argument);
  query = good;
  query.device = "SM";
  EXPECT_THROW(choose_from_tables(query, folder, DtypeList()), std::invalid_argument);
  query = good;
  query.pin = "nonsense";
  EXPECT_THROW(choose_from_tables(query, folder, DtypeList()), std::invalid_argument);
  query = good;
  query.op = "nop";
  EXPECT_THROW(choose_from_tables(query, folder, DtypeList()), Error);
  EXPECT_THROW(choose_from_tables(good, folder + "/nowhere", DtypeList()), Error);
}

TEST(BorrowOrder, AsTheRuleSays) {
  const std::vector<std::string> names = {"cpu",   "intel_12", "gfx90a", "sm_80",    "sm_89",
                                          "sm_90", "sm_120",   "sm_100", "ocl_pocl", "tpu"};
  std::vector<DeviceKey> devices;
  for (const auto& name : names) devices.push_back(device(name));
  const auto order_of = [&](const std::string& own) {
    std::string order;
    for (const std::size_t i : borrow_order(device(own), devices)) order += names[i] + " ";
    return order;
  };
  EXPECT_EQ(order_of("sm_90"), "sm_90 sm_89 sm_80 sm_100 sm_120 gfx90a intel_12 ocl_pocl tpu cpu ");
  EXPECT_EQ(order_of("gfx1100"),
            "gfx90a sm_120 sm_100 sm_90 sm_89 sm_80 intel_12 ocl_pocl tpu cpu ");
  EXPECT_EQ(order_of("cpu_avx2"), "cpu ");
}

TEST(Selector, WalksTablesThenLastResort) {
  FakeEnvironment env;
  const std::string own = demo_table("dtype=float uplo=L n=8 batch=64 | lanes:u=1 1 | vendor 2\n");
  const std::string other = demo_table("dtype=float uplo=L n=8 batch=64 | lanes:u=2 1 # deep\n");
  const EmbeddedTable tables[] = {{"demo.cpu_avx2.txt", own}, {"demo.cpu_sse4.txt", other}};
  Selector selector(demo_vocabulary(), tables);
  const auto tag = [&](const Refusing& refusing, const std::string& on, int dtype = 0) {
    const auto d = selector.explain(demo_query(0, 9, 64, dtype), device(on), refusing.can_run());
    return d.spelling + " [" + d.tag + "]";
  };
  EXPECT_EQ(tag({{}}, "cpu_avx2"), "lanes:u=1 [cpu_avx2]");
  EXPECT_EQ(tag({{1}}, "cpu_avx2"), "vendor [cpu_avx2]");
  EXPECT_EQ(tag({{1, 4}}, "cpu_avx2"), "lanes:u=2 [cpu_sse4 table, fallthrough from cpu_avx2]");
  EXPECT_TRUE(env.lines.empty());
  EXPECT_EQ(tag({{}}, "cpu_avx512"), "lanes:u=1 [cpu_avx2 table, borrowed for cpu_avx512]");
  EXPECT_EQ(tag({{}}, "cpu_avx512"), "lanes:u=1 [cpu_avx2 table, borrowed for cpu_avx512]");
  ASSERT_EQ(env.lines.size(), 1u);
  EXPECT_EQ(
      env.lines[0],
      "furlong: demo has no float table for cpu_avx512; borrowing cpu_avx2 (furlong tune demo "
      "tunes this device)");
  EXPECT_EQ(tag({{1, 2, 4}}, "cpu_avx2"), "blocked:nb=8 [last resort]");
  EXPECT_EQ(tag({{1, 2, 3, 4}}, "cpu_avx2"), "direct [last resort]");
  EXPECT_EQ(tag({{}}, "cpu_avx2", 1), "blocked:nb=8 [last resort]");
  try {
    tag({{0, 1, 2, 3, 4}}, "cpu_avx2");
    FAIL() << "nothing can run";
  } catch (const NoCandidate& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 63),
              "demo: no candidate can run uplo=L,n=9,batch=64 on cpu_avx2; lan");
  }
  const auto decision =
      selector.explain(demo_query(0, 9, 64), device("cpu_avx2"), Refusing{{1}}.can_run());
  ASSERT_EQ(decision.refused.size(), 1u);
  EXPECT_EQ(decision.refused[0].spelling, "lanes:u=1");
  EXPECT_EQ(decision.refused[0].reason, "told to");
  EXPECT_EQ(decision.rank, 1);
}

TEST(Selector, PinsFromTheThreadAndTheEnvironment) {
  FakeEnvironment env;
  const std::string text = demo_table("dtype=float uplo=L n=8 batch=64 | vendor 1 | direct 2\n");
  const std::string name = "demo." + this_cpu().text + ".txt";
  const EmbeddedTable tables[] = {{name, text}};
  Selector selector(demo_vocabulary(), tables);
  const auto query = demo_query(0, 8, 64);
  const auto spelling = [&](const Refusing& refusing = {}) {
    return selector.vocabulary()
        .candidates[0][static_cast<std::size_t>(selector.choose(query, refusing.can_run()))];
  };
  EXPECT_EQ(spelling(), "vendor");
  {
    const ScopedPin pin("demo", " Lanes:2 ");
    EXPECT_EQ(spelling(), "lanes:u=2");
    EXPECT_THROW(spelling({{2}}), std::invalid_argument);
    const ScopedPin inner("demo", "native");
    EXPECT_EQ(spelling(), "direct");
    const ScopedPin other("another", "lanes:1");
    EXPECT_EQ(spelling(), "direct");
  }
  EXPECT_EQ(spelling(), "vendor");
  {
    const ScopedPin pin("demo", "native");
    EXPECT_EQ(spelling({{0, 1, 2, 3}}), "vendor");  // falls back to auto
    EXPECT_EQ(spelling({{0, 1, 2, 3}}), "vendor");
    EXPECT_EQ(env.lines.size(), 1u);
  }
  {
    const ScopedPin pin("demo", "vendor");
    EXPECT_EQ(spelling({{4}}), "direct");
  }
  for (const auto* bad : {"lanes", "lanes:3", "nope"}) {
    const ScopedPin pin("demo", bad);
    EXPECT_THROW(spelling(), std::invalid_argument) << bad;
  }
  for (const auto* word : {"auto", "native", ""}) {
    const ScopedPin pin("demo", word, ScopedPin::Mode::kStrict);
    EXPECT_THROW(spelling(), std::invalid_argument) << word;
  }
  {
    const ScopedPin pin("demo", "vendor", ScopedPin::Mode::kStrict);
    EXPECT_EQ(spelling(), "vendor");
    EXPECT_EQ(spelling(), "vendor");
    EXPECT_THROW(spelling({{4}}), std::invalid_argument);
  }
  env.variables["FURLONG_DEMO_PIN"] = "blocked:8";
  EXPECT_EQ(spelling(), "vendor");  // read once
  reload_environment();
  EXPECT_EQ(spelling(), "blocked:nb=8");
  {
    const ScopedPin pin("demo", "auto");
    EXPECT_EQ(spelling(), "vendor");
  }
  env.variables["FURLONG_DEMO_PIN"] = "blocked:9";
  reload_environment();
  try {
    spelling();
    FAIL() << "a wrong pin is an error";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 16), "FURLONG_DEMO_PIN");
  }
}

TEST(Selector, AStrictPinReadsNoTable) {
  FakeEnvironment env;
  Selector selector(demo_vocabulary(), {});
  const auto query = demo_query(0, 8, 64);
  env.variables["FURLONG_TUNED_DIR"] = "dir";
  env.variables["FURLONG_SELECT_TRACE"] = "1";
  env.files["demo.cpu.txt"] = "junk\n";
  {
    const ScopedPin pin("demo", "lanes:2", ScopedPin::Mode::kStrict);
    for (int call = 0; call < 2; ++call) EXPECT_EQ(selector.choose(query, {}), 2);
    EXPECT_EQ(selector.explain(query, device("cpu"), {}).tag, "pinned");
    EXPECT_EQ(env.lines.size(), 2u) << "the trace is heard all the same";
    env.variables.erase("FURLONG_SELECT_TRACE");
    reload_environment();
    EXPECT_EQ(selector.choose(query, {}), 2);
    EXPECT_EQ(env.lines.size(), 2u);
    EXPECT_THROW(selector.choose(query, Refusing{{2}}.can_run()), std::invalid_argument);
  }
  EXPECT_THROW(selector.choose(query, {}), Error) << "whoever walks the tables is told";
}

TEST(Selector, OverrideReplacesDtypeByDtype) {
  FakeEnvironment env;
  const std::string text = demo_table(
      "dtype=float uplo=L n=8 batch=64 | vendor 1\ndtype=double uplo=L n=8 batch=64 | vendor 1\n");
  const EmbeddedTable tables[] = {{"demo.cpu.txt", text}};
  env.variables["FURLONG_TUNED_DIR"] = "dir";
  env.files["demo.cpu.txt"] =
      demo_table("dtype=float uplo=L n=8 batch=64 | lanes:3 1 | gone:x=1 2 | direct 3\n");
  env.files["notes.md"] = "x";
  env.files["other.cpu.txt"] = "malformed, but of another op";
  Selector selector(demo_vocabulary(), tables);
  const auto choose = [&](int dtype) {
    return selector.explain(demo_query(0, 8, 64, dtype), device("cpu"), {});
  };
  EXPECT_EQ(choose(0).spelling, "direct");
  EXPECT_EQ(choose(0).tag, "override cpu");
  EXPECT_EQ(choose(1).spelling, "vendor");
  EXPECT_EQ(choose(1).tag, "cpu");
  EXPECT_EQ(env.lines.size(), 3u);  // notes.md, lanes:3, gone:x=1
  env.files["demo.cpu.txt"] += "bad row\n";
  reload_environment();
  EXPECT_THROW(choose(0), Error);
}

TEST(Selector, RowsOfADtypeThatTheOpLacks) {
  FakeEnvironment env;
  const std::string text = demo_table(
      "dtype=float uplo=L n=8 batch=64 | direct 1\n"
      "dtype=cfloat uplo=L n=8 batch=64 | direct 1\n"
      "dtype=cfloat uplo=L n=16 batch=64 | direct 1\n");
  {
    const EmbeddedTable tables[] = {{"demo.cpu.txt", text}};
    Selector selector(demo_vocabulary(), tables);
    EXPECT_THROW(selector.explain(demo_query(0, 8, 64), device("cpu"), {}), Error);
  }
  env.variables["FURLONG_TUNED_DIR"] = "dir";
  env.files["demo.cpu.txt"] = text;
  Selector selector(demo_vocabulary(), {});
  EXPECT_EQ(selector.explain(demo_query(0, 8, 64), device("cpu"), {}).spelling, "direct");
  ASSERT_EQ(env.lines.size(), 1u);
  EXPECT_EQ(env.lines[0],
            "furlong: dir/demo.cpu.txt:3: cfloat is no dtype of demo; allowed are float, double; "
            "skipped with all its rows (2)");
}

TEST(Selector, BuiltInTablesMustSpellCandidates) {
  FakeEnvironment env;
  for (const auto* entry : {"lanes:1 1", "gone 1"}) {
    const std::string text =
        demo_table("dtype=float uplo=L n=8 batch=64 | " + std::string(entry) + "\n");
    const EmbeddedTable tables[] = {{"demo.cpu.txt", text}};
    Selector selector(demo_vocabulary(), tables);
    EXPECT_THROW(selector.choose(demo_query(0, 8, 64), {}), Error) << entry;
  }
  for (const std::string text : {"# keys: dtype:exact n:log\ndtype=float n=8 | direct 1\n",
                                 "# keys: dtype:exact n:log\n", "# no keys at all\n"}) {
    const EmbeddedTable tables[] = {{"demo.cpu.txt", text}};
    Selector selector(demo_vocabulary(), tables);
    EXPECT_THROW(selector.choose(demo_query(0, 8, 64), {}), Error) << text;
  }
}

TEST(Selector, TraceAndCoverage) {
  FakeEnvironment env;
  const std::string text = demo_table(
      "dtype=float uplo=L n=8 batch=64 | vendor 1 | direct 1.02\n"
      "dtype=float uplo=L n=16 batch=64 | vendor 1 | direct 2\n"
      "dtype=float uplo=L n=32 batch=64 | vendor -\n");
  const std::string name = "demo." + this_cpu().text + ".txt";
  const EmbeddedTable tables[] = {{name, text}};
  env.variables["FURLONG_SELECT_TRACE"] = "1";
  env.variables["FURLONG_COVERAGE"] = "file";
  reload_environment();
  Selector selector(demo_vocabulary(), tables);
  selector.choose(demo_query(0, 8, 64), {});
  {
    const CallScope inside;
    selector.choose(demo_query(0, 16, 64), {});
  }
  selector.choose(demo_query(0, 32, 64), {});
  selector.choose(demo_query(0, 32, 64), {});
  const std::string tag = "  [" + this_cpu().text + "]";
  EXPECT_EQ(env.lines,
            (std::vector<std::string>{
                "demo float uplo=L n=8 batch=64 -> vendor  1.000 ms, tied with direct (2.0%)" + tag,
                "  demo float uplo=L n=16 batch=64 -> vendor  1.000 ms, next direct 2.000 ms" + tag,
                "demo float uplo=L n=32 batch=64 -> vendor  untimed" + tag,
                "demo float uplo=L n=32 batch=64 -> vendor  untimed" + tag}));
  EXPECT_EQ(env.appended.size(), 3u);
  EXPECT_EQ(env.appended[0], "demo float uplo=L,n=8,batch=64 vendor [" + this_cpu().text + "]");
}

/// The rule word by word, over text rows: what nearest_row() must return.
std::size_t slow_nearest(const std::vector<std::array<std::int64_t, 3>>& rows, const Query& query) {
  for (int prefix = 1;; --prefix) {
    std::vector<std::size_t> matching;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (prefix == 0 || rows[i][0] == query.keys[0]) matching.push_back(i);
    }
    if (matching.empty()) continue;
    const auto distance = [&](std::size_t i) {
      const auto apart = [](std::int64_t row, std::int64_t value) {
        return std::fabs(std::log2(static_cast<double>(row)) -
                         std::log2(static_cast<double>(std::max<std::int64_t>(1, value))));
      };
      return 3 * apart(rows[i][1], query.keys[1]) + apart(rows[i][2], query.keys[2]);
    };
    double smallest = 1e300;
    for (const auto i : matching) smallest = std::min(smallest, distance(i));
    std::vector<std::size_t> tied;
    for (const auto i : matching) {
      if (distance(i) <= smallest + 1e-9) tied.push_back(i);
    }
    std::stable_sort(tied.begin(), tied.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(rows[a][1], rows[a][2]) < std::pair(rows[b][1], rows[b][2]);
    });
    return tied.front();
  }
}

RC_GTEST_PROP(NearestRow, EqualsTheRuleOnRandomTablesFullOfTies, ()) {
  const auto count = *rc::gen::inRange(1, 30);
  std::vector<std::array<std::int64_t, 3>> rows;
  BoundTable table{device("cpu"), false, {}};
  for (int i = 0; i < count; ++i) {
    const std::array<std::int64_t, 3> row = {*rc::gen::inRange<std::int64_t>(0, 3),
                                             std::int64_t{1} << *rc::gen::inRange(0, 6),
                                             std::int64_t{1} << *rc::gen::inRange(0, 12)};
    rows.push_back(row);
    BoundRow bound;
    for (std::size_t k = 0; k < 3; ++k) {
      bound.keys[k] = row[k];
      bound.log2[k] = std::log2(static_cast<double>(row[k]));
    }
    table.rows.push_back(bound);
  }
  const KeyShape shape(demo_vocabulary().keys);
  const Query query =
      demo_query(*rc::gen::inRange<std::int64_t>(-1, 3), *rc::gen::inRange<std::int64_t>(0, 70),
                 *rc::gen::inRange<std::int64_t>(0, 5000));
  const auto nearest = nearest_row(table, shape, query);
  RC_ASSERT(nearest.row - table.rows.data() ==
            static_cast<std::ptrdiff_t>(slow_nearest(rows, query)));
}

TEST(Selector, TheMemoAnswersAsTheScanFromManyThreads) {
  FakeEnvironment env;
  std::string rows;
  const char* const names[] = {"direct", "lanes:u=1", "lanes:u=2", "blocked:nb=8", "vendor"};
  for (int n = 1; n <= 64; n *= 2) {
    for (int batch = 1; batch <= 4096; batch *= 8) {
      rows += "dtype=float uplo=" + std::string(n % 3 == 0 ? "L" : "U") +
              " n=" + std::to_string(n) + " batch=" + std::to_string(batch) + " | " +
              names[(n + batch) % 5] + " 1 | " + names[(n + batch + 1) % 5] + " 2\n";
    }
  }
  const std::string text = demo_table(rows);
  const std::string name = "demo." + this_cpu().text + ".txt";
  const EmbeddedTable tables[] = {{name, text}};
  Selector selector(demo_vocabulary(), tables);
  const auto work = [&](std::uint64_t seed, int* wrong) {
    for (int i = 0; i < 3000; ++i) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      const auto query = demo_query(static_cast<std::int64_t>(seed >> 63),
                                    static_cast<std::int64_t>(seed >> 40) % 9 * 8,
                                    static_cast<std::int64_t>(seed >> 20) % 10 * 100);
      const Refusing refusing{{static_cast<int>((seed >> 33) % 6)}};
      const int fast = selector.choose(query, refusing.can_run());
      const int slow = selector.explain(query, this_cpu(), refusing.can_run()).candidate;
      if (fast != slow) ++*wrong;
    }
  };
  std::array<int, 4> wrong{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) threads.emplace_back(work, t + 1, &wrong[t]);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

}  // namespace
}  // namespace furlong::select
