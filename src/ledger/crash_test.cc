// What crashes, damaged disks and rivals can do to a ledger.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <new>
#include <random>
#include <set>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/ledger.hh"
#include "ledger/sample_records.hh"
#include "ledger/tools.hh"
#include "support/temporary.hh"

#if defined(__SANITIZE_THREAD__)
#define FURLONG_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FURLONG_UNDER_TSAN 1
#endif
#endif

namespace furlong::ledger {
namespace {

using testing::cell_line;
using testing::rehash_line;
using testing::run_line;

constexpr const char* kFile = "demo.cpu.jsonl";

/// 20 lines with a crc each.
std::vector<std::string> twenty_lines() {
  std::vector<std::string> lines = {run_line(), run_line("r2")};
  for (int n = 1; n <= 16; ++n)
    lines.push_back(cell_line(n, n % 2 == 0 ? "r2" : "20261201T000000-h-1"));
  lines.push_back(rehash_line("a"));
  lines.push_back(rehash_line("b"));
  return lines;
}

std::string concat(const std::vector<std::string>& lines) {
  return join(lines, "");
}

/// Everything that a ledger says, one record a line.
std::vector<std::string> said(const Ledger& ledger) {
  std::vector<std::string> records;
  for (const StoredRun& run : ledger.runs()) records.push_back(to_line(run.run, "furlong") + "\n");
  for (const StoredCell& stored : ledger.cells()) {
    Cell cell;
    cell.run_id = ledger.runs()[static_cast<std::size_t>(stored.run)].run.run_id;
    cell.dtype = ledger.runs()[static_cast<std::size_t>(stored.run)].run.dtype;
    cell.tier = stored.tier;
    cell.key = ledger.text(stored.key);
    cell.round = stored.round;
    cell.date = ledger.text(stored.date);
    for (const NameId id : ledger.ranked(stored)) cell.ranked.emplace_back(ledger.text(id));
    for (const StoredOutcome& from : ledger.outcomes(stored)) {
      Outcome outcome;
      outcome.candidate = ledger.text(from.candidate);
      outcome.hash = ledger.text(from.hash);
      outcome.status = from.status;
      outcome.reason = ledger.text(from.reason);
      outcome.median_ms = from.median_ms;
      outcome.min_ms = from.min_ms;
      outcome.max_ms = from.max_ms;
      outcome.repetitions = from.repetitions;
      outcome.calls = from.calls;
      cell.outcomes.push_back(outcome);
    }
    records.push_back(to_line(cell) + "\n");
  }
  for (const StoredRehash& rehash : ledger.rehashes()) {
    records.push_back(rehash_line(std::string(ledger.text(rehash.from))));
  }
  return records;
}

TEST(Crash, CutAtEveryByteOfTheLastThreeRecords) {
  const furlong::testing::TemporaryFolder folder;
  const auto file = folder.path() / kFile;
  const auto lines = twenty_lines();
  const std::string bytes = concat(lines);
  const std::size_t first = bytes.size() - lines[17].size() - lines[18].size() - lines[19].size();
  for (std::size_t cut = first; cut <= bytes.size(); ++cut) {
    const std::string left = bytes.substr(0, cut);
    std::vector<std::string> whole;
    std::size_t ends = 0;
    for (const auto& line : lines) {
      if (ends + line.size() - 1 > cut) break;
      ends += line.size();
      whole.push_back(line);
    }
    const bool torn = ends < cut;
    const Ledger ledger = Ledger::parse(left, kFile, {});
    ASSERT_EQ(said(ledger), whole) << "cut at " << cut;
    ASSERT_EQ(ledger.warnings().size(), torn ? 1u : 0u) << "cut at " << cut;
    if (torn) {
      const auto place = std::string(kFile) + ":" + std::to_string(whole.size() + 1) + ": ";
      ASSERT_EQ(ledger.warnings()[0].rfind(place, 0), 0u) << ledger.warnings()[0];
    }
    ASSERT_EQ(repair(left, kFile, {}).bytes, concat(whole));
    if (cut % 5 == 0) {
      furlong::testing::put_file(file, left);
      Appender(file).append(to_line(testing::sample_cell(99)));
      ASSERT_EQ(host::read_file(file), concat(whole) + cell_line(99)) << "cut at " << cut;
    }
  }
}

TEST(Crash, EveryByteFlipped) {
  const auto lines = twenty_lines();
  const std::string bytes = concat(lines);
  const std::set<std::string> originals(lines.begin(), lines.end());
  std::size_t at = 0;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    const std::string place = std::string(kFile) + ":" + std::to_string(l + 1) + ": ";
    std::vector<std::string> others = lines;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(l));
    for (std::size_t i = 0; i < lines[l].size(); ++i, ++at) {
      const bool newline = i + 1 == lines[l].size();
      for (const unsigned mask : {1u << (at % 8), 0x20u, 0xffu}) {
        std::string flipped = bytes;
        flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ mask);
        std::string told;
        try {
          const Ledger ledger = Ledger::parse(flipped, kFile, {});
          for (const auto& warning : ledger.warnings()) told += warning;
          for (const auto& record : said(ledger)) {
            ASSERT_EQ(originals.count(record), 1u) << "invented: " << record << "byte " << at;
          }
        } catch (const Error& error) {
          told = error.what();
        }
        ASSERT_EQ(told.rfind(place, 0), 0u) << "byte " << at << " mask " << mask << ": " << told;
        if (mask == 0x20u) continue;
        const Repaired repaired = repair(flipped, kFile, {});
        ASSERT_EQ(repaired.bytes, concat(newline ? lines : others)) << "byte " << at;
        ASSERT_FALSE(repaired.lines.empty());
        ASSERT_EQ(repaired.lines[0].line, static_cast<std::int32_t>(l + 1));
      }
    }
  }
}

TEST(Crash, RivalsAndSigkillLoseNoRecord) {
#ifdef FURLONG_UNDER_TSAN
  GTEST_SKIP() << "forks; the thread sanitizer cannot follow";
#else
  constexpr int kProcesses = 16;
  constexpr int kRecords = 1000;
  const furlong::testing::TemporaryFolder folder;
  const auto file = folder.path() / kFile;
  auto* page = ::mmap(nullptr, kProcesses * sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* done = new (page) std::atomic<int>[kProcesses]();

  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int status = 1;
      try {
        Appender appender(file);
        for (int i = 0; i < kRecords; ++i) {
          // Lines of very different lengths, so that a torn or interleaved one shows.
          const Rehash record{std::to_string(p),
                              std::to_string(i),
                              std::string(1 + i * p % 997, 'x'),
                              "a",
                              "p",
                              "w"};
          appender.append(to_line(record));
          done[p].store(i + 1);
        }
        status = 0;
      } catch (const std::exception&) {
      }
      ::_exit(status);
    }
    children.push_back(child);
  }

  std::mt19937 random(7);
  std::set<int> killed;
  while (killed.size() < kProcesses / 2) {
    const int p = static_cast<int>(random() % kProcesses);
    const int until = static_cast<int>(random() % 200) + 50 * static_cast<int>(killed.size());
    if (killed.count(p) > 0) continue;
    while (done[p].load() < std::min(until, kRecords)) ::usleep(50);
    ::kill(children[static_cast<std::size_t>(p)], SIGKILL);
    killed.insert(p);
  }
  int finished = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      ++finished;
    }
  }
  EXPECT_GE(finished, kProcesses / 2);

  const Ledger ledger = Ledger::read(file, {});
  std::map<std::string, std::vector<std::string>> found;
  for (const StoredRehash& record : ledger.rehashes()) {
    found[std::string(ledger.text(record.family))].emplace_back(ledger.text(record.from));
  }
  for (int p = 0; p < kProcesses; ++p) {
    const auto& records = found[std::to_string(p)];
    const int acknowledged = done[p].load();
    // A killed process may have written one more than it could say.
    EXPECT_GE(static_cast<int>(records.size()), acknowledged);
    EXPECT_LE(static_cast<int>(records.size()), acknowledged + 1);
    for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i], std::to_string(i));
    if (killed.count(p) == 0) {
      EXPECT_EQ(acknowledged, kRecords);
    }
  }
  ::munmap(page, kProcesses * sizeof(std::atomic<int>));
#endif
}

}  // namespace
}  // namespace furlong::ledger
