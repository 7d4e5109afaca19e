#include "tune/golden_cases.hh"

#include <fmt/format.h>

#include <string_view>

#include "base/text.hh"
#include "furlong/error.hh"
#include "ledger/ledger.hh"
#include "tune/generate.hh"

namespace furlong::tune {
namespace {

std::string run_line(std::string_view run_id, std::string_view tier, std::string_view date,
                     std::string_view candidates) {
  return fmt::format(
      R"({{"kind": "run", "format": 1, "run_id": "{}", "dtype": "float", "host": "h", )"
      R"("device": "cpu", "device_name": "x", "furlong": "0a1b2c3d", "argv": "", "date": "{}", )"
      R"("tier": "{}", "keys": "n:log", "candidates": "{}", "env": "e", "worker": "worker"}})"
      "\n",
      run_id, date, tier, candidates);
}

/// `outcomes`: the fields of the candidates, ready to stand in the line.
std::string cell_line(std::string_view run_id, std::string_view tier, std::string_view key,
                      std::string_view ranked, std::string_view cands, std::string_view outcomes) {
  return fmt::format(
      R"({{"kind": "cell", "run_id": "{}", "dtype": "float", "tier": "{}", "key": "{}", )"
      R"("round": 0, "date": "2026-05-04", "ranked": "{}", "cands": "{}", {}}})"
      "\n",
      run_id, tier, key, ranked, cands, outcomes);
}

std::string rehash_line(std::string_view family, std::string_view from, std::string_view to) {
  return fmt::format(
      R"({{"kind": "rehash", "family": "{}", "from": "{}", "to": "{}", "at": "0a1b2c3d", )"
      R"("proof": "normalized", "why": "comments"}})"
      "\n",
      family, from, to);
}

std::string header(std::string_view hashes, std::string_view date, std::string_view tiers) {
  return fmt::format(
      "# op=demo device=cpu furlong=0a1b2c3d {}date={}\n"
      "# source=ledger:ledger/demo.cpu.jsonl tiers={}\n"
      "# keys: dtype:exact n:log\n",
      hashes, date, tiers);
}

constexpr std::string_view kBoth = "fast:w=8|slow";
/// `fast:w=8` 0.25 ms, `slow` 0.5 ms, with the hashes of now.
constexpr std::string_view kTimed =
    R"("h0": "11111111", "s0": "ok", "m0": 0.25, "h1": "22222222", "s1": "eliminated", "m1": 0.5)";
/// The same without hashes, as an import writes them.
constexpr std::string_view kImported = R"("s0": "ok", "m0": 0.25, "s1": "ok", "m1": 0.5)";
constexpr std::string_view kHashWords =
    "kernels=99999999 family_kernels=fast:11111111,slow:22222222 ";

KernelHashes hashes_now() {
  return {"99999999", {{"fast", "11111111"}, {"slow", "22222222"}}};
}

}  // namespace

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  const std::string deep = run_line("a", "deep", "2026-05-04", kBoth);

  // Rows by n as a number, times with 4 significant digits, exact ties to even.
  cases.push_back({"plain",
                   deep +
                       cell_line("a", "deep", "n=128", "slow|fast:w=8", kBoth,
                                 R"("h0": "11111111", "s0": "ok", "m0": 1234.5, "h1": "22222222", )"
                                 R"("s1": "ok", "m1": 12.5)") +
                       cell_line("a", "deep", "n=16", kBoth, kBoth, kTimed),
                   hashes_now(),
                   header(kHashWords, "2026-05-04",
                          "deep:2,coarse:0,preview:0,custom:0,converted:0,transcribed:0") +
                       "dtype=float n=16 | fast:w=8 0.2500 | slow 0.5000 # deep\n"
                       "dtype=float n=128 | slow 12.50 | fast:w=8 1234 # deep\n",
                   {}});

  // Lattice 4, 8, 16, 32, 64: preview rows next to a better row go, those two steps away stay.
  cases.push_back({"tiers and gap fill",
                   deep + run_line("b", "preview", "2026-05-03", kBoth) +
                       cell_line("a", "deep", "n=16", kBoth, kBoth, kTimed) +
                       cell_line("b", "preview", "n=4", kBoth, kBoth, kTimed) +
                       cell_line("b", "preview", "n=8", kBoth, kBoth, kTimed) +
                       cell_line("b", "preview", "n=16", "slow|fast:w=8", kBoth, kTimed) +
                       cell_line("b", "preview", "n=32", kBoth, kBoth, kTimed) +
                       cell_line("b", "preview", "n=64", kBoth, kBoth, kTimed),
                   hashes_now(),
                   header(kHashWords, "2026-05-04",
                          "deep:1,coarse:0,preview:2,custom:0,converted:0,transcribed:0") +
                       "dtype=float n=4 | fast:w=8 0.2500 | slow 0.5000 # preview\n"
                       "dtype=float n=16 | fast:w=8 0.2500 | slow 0.5000 # deep\n"
                       "dtype=float n=64 | fast:w=8 0.2500 | slow 0.5000 # preview\n",
                   {}});

  // n=16 has the winner's hash before a proven edit; n=32 one that nothing vouches for.
  cases.push_back({"rehash",
                   deep +
                       cell_line("a", "deep", "n=16", kBoth, kBoth,
                                 R"("h0": "01010101", "s0": "ok", "m0": 0.25, "h1": "22222222", )"
                                 R"("s1": "ok", "m1": 0.5)") +
                       cell_line("a", "deep", "n=32", kBoth, kBoth,
                                 R"("h0": "02020202", "s0": "ok", "m0": 0.25, "h1": "22222222", )"
                                 R"("s1": "ok", "m1": 0.5)") +
                       rehash_line("fast", "01010101", "11111111"),
                   hashes_now(),
                   header(kHashWords, "2026-05-04",
                          "deep:1,coarse:0,preview:0,custom:0,converted:0,transcribed:0") +
                       "dtype=float n=16 | fast:w=8 0.2500 | slow 0.5000 # deep\n",
                   {}});

  // The loser changed: the record still counts. The winner changed: it does not.
  cases.push_back({"partly stale",
                   deep +
                       cell_line("a", "deep", "n=16", kBoth, kBoth,
                                 R"("h0": "11111111", "s0": "ok", "m0": 0.25, "h1": "03030303", )"
                                 R"("s1": "ok", "m1": 0.5)") +
                       cell_line("a", "deep", "n=32", "slow|fast:w=8", kBoth,
                                 R"("h0": "11111111", "s0": "ok", "m0": 0.5, "h1": "03030303", )"
                                 R"("s1": "ok", "m1": 0.25)"),
                   hashes_now(),
                   header(kHashWords, "2026-05-04",
                          "deep:1,coarse:0,preview:0,custom:0,converted:0,transcribed:0") +
                       "dtype=float n=16 | fast:w=8 0.2500 | slow 0.5000 # deep\n",
                   {}});

  // Without a measured record the header names no hashes; converted goes before transcribed.
  cases.push_back(
      {"converted and transcribed",
       run_line("c", "converted", "2026-05-02", kBoth) +
           run_line("t", "transcribed", "2026-05-01", kBoth) +
           cell_line("c", "converted", "n=16", kBoth, kBoth, kImported) +
           cell_line("t", "transcribed", "n=16", "slow|fast:w=8", kBoth, kImported) +
           cell_line("t", "transcribed", "n=32", kBoth, kBoth, kImported) +
           cell_line("t", "transcribed", "n=64", kBoth, kBoth, kImported),
       hashes_now(),
       header("", "2026-05-02", "deep:0,coarse:0,preview:0,custom:0,converted:1,transcribed:1") +
           "dtype=float n=16 | fast:w=8 0.2500 | slow 0.5000 # converted\n"
           "dtype=float n=64 | fast:w=8 0.2500 | slow 0.5000 # transcribed\n",
       {}});

  // Ranked without a time, as a transcribed choice is.
  cases.push_back(
      {"untimed",
       run_line("t", "transcribed", "2026-05-01", kBoth) + cell_line("t", "transcribed", "n=16",
                                                                     "slow|fast:w=8", kBoth,
                                                                     R"("s0": "ok", "s1": "ok")"),
       hashes_now(),
       header("", "2026-05-01", "deep:0,coarse:0,preview:0,custom:0,converted:0,transcribed:1") +
           "dtype=float n=16 | slow - | fast:w=8 - # transcribed\n",
       {}});

  cases.push_back({"hidden axis varies",
                   deep + cell_line("a", "deep", "n=16,ld=16", kBoth, kBoth, kTimed) +
                       cell_line("a", "deep", "n=32,ld=40", kBoth, kBoth, kTimed),
                   hashes_now(),
                   {},
                   "hidden axis ld of float varies: ld=16 and ld=40"});
  return cases;
}

namespace {

std::string difference_of(const GoldenCase& golden) {
  TableNames names;
  names.op = "demo";
  names.device = "cpu";
  names.source = "ledger/demo.cpu.jsonl";
  try {
    const auto ledger =
        ledger::Ledger::parse(golden.ledger, "demo.cpu.jsonl", {names.dtypes, names.library});
    const auto table = generate_table(
        ledger, names, [&](const std::vector<std::string>&) { return golden.hashes; });
    if (!golden.refusal.empty()) return "not refused: " + golden.refusal;
    if (table.text != golden.table) {
      const auto have = split(table.text, '\n');
      const auto want = split(golden.table, '\n');
      std::size_t i = 0;
      while (i < have.size() && i < want.size() && have[i] == want[i]) ++i;
      return fmt::format("line {} is {}, expected is {}", i + 1,
                         i < have.size() ? quoted(have[i]) : "missing",
                         i < want.size() ? quoted(want[i]) : "the end");
    }
    const auto check = check_table(ledger, names, golden.table, "demo.cpu.txt");
    return check.equal ? std::string() : check.difference;
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (!golden.refusal.empty() && what.find(golden.refusal) != std::string_view::npos) return {};
    return std::string(what);
  }
}

}  // namespace

std::vector<GoldenResult> self_test(std::span<const GoldenCase> cases) {
  std::vector<GoldenResult> results;
  for (const GoldenCase& golden : cases) results.push_back({golden.name, difference_of(golden)});
  return results;
}

}  // namespace furlong::tune
