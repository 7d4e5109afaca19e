// How fast a ledger becomes tables: 150,000 cell lines through Ledger::read and generate_table,
// beside what simdjson alone needs to parse the same bytes line by line, and beside a Python loop
// of json.loads.
//
//     ledger_bench [cells]
//
// Every side is run nine times in turn and its fastest time printed; all times are of this run.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/number.hh"
#include "furlong/device_key.hh"
#include "furlong/version.hh"
#include "host/files.hh"
#include "host/process.hh"
#include "ledger/ledger.hh"
#include "ledger/lines.hh"
#include "ledger/writer.hh"
#include "tune/generate.hh"

namespace {

using namespace furlong;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A plausible full ledger: four dtypes, six candidates, keys that repeat over dtypes.
std::string make_ledger(std::int64_t cells) {
  const std::vector<std::string> candidates = {"direct",       "lanes:w=8",     "lanes:w=16",
                                               "blocked:nb=8", "blocked:nb=32", "vendor"};
  const std::vector<std::string> hashes = {"cd1d2e92", "faa6087b", "faa6087b",
                                           "01d59680", "01d59680", "894a9de0"};
  const DtypeList dtypes;
  std::string bytes;
  std::uint64_t state = 1;
  const auto random = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  for (const auto& dtype : dtypes.names()) {
    ledger::Run run;
    run.run_id = "20261201T000000-host-1234";
    run.dtype = dtype;
    run.host = "host";
    run.device = "cpu_avx512";
    run.device_name = "A processor";
    run.commit = "0123abcd";
    run.argv = "furlong tune potrf --tier deep";
    run.date = "2026-12-01";
    run.tier = Tier::kDeep;
    run.keys = "uplo:exact n:log:3 batch:log";
    run.candidates = candidates;
    run.env = "g++ 12.2 -O3, AVX-512, 1 thread, OpenBLAS 0.3.21";
    run.worker = "worker";
    bytes += ledger::to_line(run, "furlong") + "\n";
  }
  for (std::int64_t i = 0; i < cells; ++i) {
    ledger::Cell cell;
    cell.run_id = "20261201T000000-host-1234";
    cell.dtype = dtypes.names()[static_cast<std::size_t>(i) % 4];
    cell.tier = Tier::kDeep;
    const std::int64_t at = i / 4;
    cell.key = fmt::format("uplo={},n={},batch={}", at % 2 == 0 ? "L" : "U", at / 2 % 200 + 1,
                           at / 400 + 1);
    cell.date = "2026-12-01";
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      ledger::Outcome outcome;
      outcome.candidate = candidates[c];
      outcome.hash = hashes[c];
      outcome.status = c < 2 ? ledger::Status::kOk : ledger::Status::kEliminated;
      outcome.median_ms = static_cast<double>(random()) / 1e9;
      outcome.min_ms = outcome.median_ms * 0.97;
      outcome.max_ms = outcome.median_ms * 1.09;
      outcome.repetitions = 7;
      outcome.calls = 16;
      cell.outcomes.push_back(outcome);
    }
    std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5};
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return cell.outcomes[a].median_ms < cell.outcomes[b].median_ms;
    });
    for (const std::size_t c : order) cell.ranked.push_back(candidates[c]);
    bytes += ledger::to_line(cell) + "\n";
  }
  return bytes;
}

struct Side {
  std::string what;
  std::function<void()> work;
  double best = std::numeric_limits<double>::infinity();
};

int bench(std::int64_t cells) {
  const auto file = std::filesystem::temp_directory_path() /
                    fmt::format("ledger-bench-{}.cpu_avx512.jsonl", host::process_id());
  const std::string bytes = make_ledger(cells);
  host::write_file_atomically(file, bytes);
  std::vector<std::string_view> lines;
  std::string padded = bytes + std::string(simdjson::SIMDJSON_PADDING, ' ');
  std::string_view rest = std::string_view(padded).substr(0, bytes.size());
  for (ledger::RawLine line; ledger::next_line(rest, line);) lines.push_back(line.text);

  std::size_t good = 0;
  std::vector<Side> sides;
  sides.push_back({"simdjson alone, DOM parse of every line", [&] {
                     simdjson::dom::parser parser;
                     for (const auto line : lines) {
                       good += parser.parse(line.data(), line.size(), false).error() == 0;
                     }
                   }});
  sides.push_back({"simdjson alone, on demand, every value of every line", [&] {
                     simdjson::ondemand::parser parser;
                     for (const auto line : lines) {
                       auto document = parser.iterate(simdjson::padded_string_view(
                           line.data(), line.size(), line.size() + simdjson::SIMDJSON_PADDING));
                       for (auto field : document.get_object()) {
                         good += field.unescaped_key().value_unsafe().size();
                         simdjson::ondemand::value value = field.value();
                         if (value.raw_json_token()[0] == '"') {
                           good += value.get_string().value_unsafe().size();
                         } else {
                           double number = 0;
                           good += value.get_double().get(number) == 0;
                         }
                       }
                     }
                   }});
  sides.push_back({"Ledger::read", [&] { good += ledger::Ledger::read(file, {}).cells().size(); }});
  const tune::TableNames names{"potrf", "cpu_avx512", "furlong", "ledger/potrf.jsonl", {}};
  const ledger::HashesNow hashes = [](const std::vector<std::string>&) {
    return KernelHashes{"0d38569e",
                        {{"direct", "cd1d2e92"},
                         {"lanes", "faa6087b"},
                         {"blocked", "01d59680"},
                         {"vendor", "894a9de0"}}};
  };
  sides.push_back({"Ledger::read and generate_table", [&] {
                     const auto ledger = ledger::Ledger::read(file, {});
                     good += tune::generate_table(ledger, names, hashes).text.size();
                   }});
  sides.push_back(
      {"Python json.loads of every line", [&] {
         const std::string command =
             "python3 -c 'import json, sys\nfor line in open(sys.argv[1]): json.loads(line)' " +
             file.string();
         if (std::system(command.c_str()) != 0) std::puts("python3 is not there");
       }});
  for (int round = 0; round < 9; ++round) {
    for (Side& side : sides) side.best = std::min(side.best, seconds(side.work));
  }
  std::filesystem::remove(file);
  fmt::print("furlong {}, {}, {} cores, {}; simdjson {}\n", kVersion, this_cpu_name(),
             std::thread::hardware_concurrency(), FURLONG_COMPILER_TEXT,
             simdjson::get_active_implementation()->name());
  fmt::print("{} lines, {} MB ({})\n", lines.size(), bytes.size() >> 20, good);
  const double read = sides[2].best;
  const double whole = sides[3].best;
  for (const Side& side : sides) {
    fmt::print("{:8.1f} ms  {}; reading takes {:.2f}x of it, reading and deriving {:.2f}x\n",
               side.best * 1e3, side.what, read / side.best, whole / side.best);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto cells = argc > 1 ? parse_positive(argv[1]) : 150000;
  if (!cells) {
    fmt::print(stderr, "ledger_bench: cells: a whole number > 0\n");
    return 2;
  }
  return bench(*cells);
}
