// How well ways of picking the winner of a large space do: the table of docs/measuring.md.
//
//     winners_bench [FOLDER]
//
// FOLDER holds the recorded spaces, Kernel Tuner caches with 32 runs a configuration; by default
// real/benchmark_hub in the folder that FURLONG_SHARED names. Nothing is timed: every figure is the
// same on every machine.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "host/files.hh"
#include "host/gzip.hh"
#include "report/text_table.hh"
#include "tune/import_kernel_tuner.hh"
#include "tune/winners.hh"

namespace {

using namespace furlong;

constexpr int kShuffles = 60;
constexpr std::uint64_t kSeed = 1;
const std::vector<std::string> kSpaces = {"convolution.A100",   "convolution.A4000",
                                          "convolution.MI250X", "convolution.W6600",
                                          "dedispersion.A100",  "dedispersion.MI250X"};

std::vector<std::vector<double>> runs_of(const std::filesystem::path& file) {
  tune::ImportNames names;
  names.device = "any";
  const auto space = tune::read_kernel_tuner(host::gunzip(host::read_file(file), file.string()),
                                             file.string(), names);
  std::vector<std::vector<double>> runs;
  for (const auto& one : space.configurations) {
    if (!one.runs_ms.empty()) runs.push_back(one.runs_ms);
  }
  return runs;
}

void print_table(const std::vector<std::vector<std::vector<double>>>& spaces,
                 tune::Shuffle shuffle) {
  using report::Align;
  const auto strategies = tune::strategies();
  std::vector<std::vector<tune::PickReport>> reports;
  for (const auto& runs : spaces) {
    reports.push_back(tune::judge(runs, strategies, shuffle, kShuffles, kSeed));
  }
  fmt::print("{} shuffles, {}; regret / cost / flips in %\n\n", kShuffles,
             shuffle == tune::Shuffle::kTogether ? "one order for all candidates"
                                                 : "each candidate its own order");
  std::vector<report::TextTable::Column> columns = {{"strategy"}, {"mean", Align::kRight}};
  for (const std::string& name : kSpaces) columns.push_back({name, Align::kRight});
  report::TextTable table(columns);
  const auto shown = [](double regret, double cost, double flips) {
    return fmt::format("{:.3f} / {:.1f} / {:.0f}", 100 * regret, 100 * cost, 100 * flips);
  };
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    tune::PickReport mean;
    std::vector<std::string> cells;
    for (const auto& space : reports) {
      const tune::PickReport& one = space[i];
      cells.push_back(shown(one.regret, one.cost_share, one.flips));
      mean.regret += one.regret / static_cast<double>(reports.size());
      mean.cost_share += one.cost_share / static_cast<double>(reports.size());
      mean.flips += one.flips / static_cast<double>(reports.size());
    }
    cells.insert(cells.begin(),
                 {strategies[i].name, shown(mean.regret, mean.cost_share, mean.flips)});
    table.add(cells);
  }
  fmt::print("{}\n", table.text());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const char* shared = std::getenv("FURLONG_SHARED");
    if (argc > 2 || (argc < 2 && shared == nullptr)) {
      fmt::print(stderr, "usage: winners_bench [FOLDER], or FURLONG_SHARED is set\n");
      return 2;
    }
    const std::filesystem::path folder =
        argc == 2 ? std::filesystem::path(argv[1])
                  : std::filesystem::path(shared) / "real" / "benchmark_hub";
    std::vector<std::vector<std::vector<double>>> spaces;
    for (const std::string& name : kSpaces) spaces.push_back(runs_of(folder / (name + ".json.gz")));
    print_table(spaces, tune::Shuffle::kTogether);
    print_table(spaces, tune::Shuffle::kApart);
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "winners_bench: {}\n", failure.what());
    return 1;
  }
}
