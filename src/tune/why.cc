#include "tune/why.hh"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/number.hh"
#include "base/text.hh"
#include "ledger/left_out.hh"

namespace furlong::tune {
namespace {

using ledger::Freshness;
using ledger::Ledger;
using ledger::Standing;
using ledger::StoredCell;

/// Do two values of a key say the same? Whole numbers are compared without leading zeros.
bool same_value(std::string_view a, std::string_view b) {
  const auto x = parse_int64(a);
  const auto y = parse_int64(b);
  return a == b || (x && y && *x == *y);
}

/// Do the keys share a name, and agree on every name that they share?
bool agree(const CellKey& asked, std::string_view stored) {
  const auto key = CellKey::parse(stored);
  if (!key) return false;
  bool shared = false;
  for (const CellKey::Item& item : key.value().items) {
    const std::string* value = asked.find(item.name);
    if (value == nullptr) continue;
    if (!same_value(*value, item.value)) return false;
    shared = true;
  }
  return shared;
}

WhyRecord record_of(const Ledger& ledger, const StoredCell& cell) {
  WhyRecord record;
  record.line = cell.line;
  record.key = ledger.text(cell.key);
  record.tier = tier_name(cell.tier);
  const ledger::Run& run = ledger.runs()[static_cast<std::size_t>(cell.run)].run;
  record.run_id = run.run_id;
  record.commit = run.commit;
  record.date = cell.date == 0 ? run.date : std::string(ledger.text(cell.date));
  const auto ranked = ledger.ranked(cell);
  if (!ranked.empty()) {
    record.winner = ledger.text(ranked[0]);
    for (const ledger::StoredOutcome& outcome : ledger.outcomes(cell)) {
      if (outcome.candidate == ranked[0] && outcome.timed()) record.ms = outcome.median_ms;
    }
  }
  return record;
}

/// Says why a record that holds is not the one that counts.
void judge_beaten(const Freshness& freshness, std::size_t at, WhyRecord& record) {
  const Ledger& ledger = freshness.ledger();
  const StoredCell& cell = ledger.cells()[at];
  const auto same_place = [&](std::size_t other, bool measured) {
    const StoredCell& one = ledger.cells()[other];
    if (one.dtype != cell.dtype) return false;
    return measured ? freshness.cell_id(other) == freshness.cell_id(at)
                    : freshness.table_key_id(other) == freshness.table_key_id(at);
  };
  const StoredCell* better = nullptr;
  for (const std::int32_t best : freshness.best()) {
    const auto other = static_cast<std::size_t>(best);
    const StoredCell& one = ledger.cells()[other];
    if (same_place(other, is_measured(cell.tier) && is_measured(one.tier))) better = &one;
  }
  if (is_measured(cell.tier) && (better == nullptr || !is_measured(better->tier))) {
    record.verdict = Verdict::kUnranked;
    record.reasons.emplace_back(
        better == nullptr ? "it ranks no candidate"
                          : fmt::format("it ranks no candidate; the imported record of line {} "
                                        "stands in",
                                        better->line));
    return;
  }
  record.verdict = Verdict::kBeaten;
  if (better == nullptr) {
    record.reasons.emplace_back("another record of the cell is better");
  } else if (is_measured(better->tier) && !is_measured(cell.tier)) {
    record.reasons.push_back(
        fmt::format("measured here since: line {} ({})", better->line, tier_name(better->tier)));
  } else if (better->tier < cell.tier) {
    record.reasons.push_back(
        fmt::format("line {} has the better tier {}", better->line, tier_name(better->tier)));
  } else {
    record.reasons.push_back(
        fmt::format("line {} is a later record of the same tier", better->line));
  }
}

void add_clean(const Ledger& ledger, const ledger::ReadOptions& options,
               const ledger::HashesNow& hashes, std::int32_t dtype, const CellKey& key, Why& why) {
  const Freshness freshness(ledger, options.dtypes,
                            ledger::now_of_newest_runs(ledger, options.dtypes, hashes));
  for (const Key& one : freshness.now().keys.keys()) {
    if (key.find(one.name) == nullptr) {
      throw std::invalid_argument(fmt::format("the key {} lacks {}; needed are the keys {}",
                                              quoted(key.text()), one.name,
                                              freshness.now().keys.text()));
    }
  }
  for (std::size_t at = 0; at < ledger.cells().size(); ++at) {
    const StoredCell& cell = ledger.cells()[at];
    if (cell.dtype != dtype || !agree(key, ledger.text(cell.key))) continue;
    WhyRecord record = record_of(ledger, cell);
    record.standing = standing_name(freshness.standing(at));
    record.causes = freshness.causes(at);
    for (const ledger::Cause& cause : record.causes) record.reasons.push_back(cause.text());
    const auto best = freshness.best();
    if (freshness.all_errors(at)) {
      record.verdict = Verdict::kAllErrors;
      record.reasons.insert(record.reasons.begin(), "every candidate is an error");
    } else if (freshness.standing(at) == Standing::kStale) {
      record.verdict = Verdict::kStale;
    } else if (std::binary_search(best.begin(), best.end(), static_cast<std::int32_t>(at))) {
      record.verdict = Verdict::kCounts;
    } else {
      judge_beaten(freshness, at, record);
    }
    why.records.push_back(std::move(record));
  }
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCounts:
      return "counts";
    case Verdict::kBeaten:
      return "beaten";
    case Verdict::kUnranked:
      return "unranked";
    case Verdict::kStale:
      return "stale";
    case Verdict::kAllErrors:
      return "all_errors";
    case Verdict::kDirty:
      return "dirty";
    case Verdict::kNoRun:
      return "no_run";
  }
  return {};
}

bool Why::counted() const {
  return std::any_of(records.begin(), records.end(),
                     [](const WhyRecord& record) { return record.verdict == Verdict::kCounts; });
}

Why explain(std::string_view bytes, std::string_view file, const ledger::ReadOptions& options,
            const ledger::HashesNow& hashes, const std::string& dtype, const CellKey& key) {
  const std::int32_t wanted = options.dtypes.index(dtype);
  if (wanted < 0) {
    throw std::invalid_argument(
        fmt::format("unknown dtype {}; the project has {}", quoted(dtype), options.dtypes.text()));
  }
  const Ledger ledger = Ledger::parse(bytes, file, options);
  Why why;
  why.warnings.assign(ledger.warnings().begin(), ledger.warnings().end());
  if (!ledger.runs().empty()) add_clean(ledger, options, hashes, wanted, key, why);
  for (const ledger::LeftOutCell& cell : ledger::left_out_cells(bytes, options)) {
    if (cell.dtype != dtype || !agree(key, cell.key)) continue;
    WhyRecord record;
    record.line = cell.line;
    record.verdict = cell.commit.empty() ? Verdict::kNoRun : Verdict::kDirty;
    record.key = cell.key;
    record.tier = cell.tier;
    record.run_id = cell.run_id;
    record.commit = cell.commit;
    record.date = cell.date;
    record.winner = cell.winner;
    record.reasons.push_back(
        cell.commit.empty()
            ? "its run line is missing"
            : fmt::format("its run is of a tree with uncommitted changes ({})", cell.commit));
    why.records.push_back(std::move(record));
  }
  std::sort(why.records.begin(), why.records.end(),
            [](const WhyRecord& a, const WhyRecord& b) { return a.line < b.line; });
  return why;
}

}  // namespace furlong::tune
