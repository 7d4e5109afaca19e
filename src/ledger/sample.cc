#include "ledger/sample.hh"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/cell_key.hh"
#include "furlong/error.hh"
#include "furlong/tier.hh"
#include "ledger/freshness.hh"

namespace furlong::ledger {
namespace {

/// How far from the sample's winner the old one may be.
constexpr double kTieFactor = 1.03;

struct StaleFamily {
  std::string family;
  std::string from;  ///< the effective hash with which its cells were last measured
  std::string to;
};

using CellId = std::pair<std::int32_t, std::uint32_t>;  ///< dtype, Freshness::cell_id

/// Where a record lies among the cells.
struct Place {
  std::int32_t dtype = 0;
  std::vector<std::string> exact;  ///< values of the exact keys, in order
  std::vector<std::int64_t> log;   ///< values of the log keys, in order
  std::tuple<std::int32_t, std::vector<std::pair<std::string, std::int64_t>>, std::string> order;
};

/// A ledger, seen with today's hashes and with those before the last edits.
class OldRecords {
 public:
  /// Nothing of `run`, the sample's, is old; empty while none is measured.
  OldRecords(const Ledger& ledger, const DtypeList& dtypes, const HashesNow& hashes,
             std::string run, const std::vector<std::string>& families)
      : ledger_(ledger),
        dtypes_(dtypes),
        run_(std::move(run)),
        today_(ledger, dtypes, now_of_newest_runs(ledger, dtypes, hashes)) {
    find_stale_families(families);
    find_old_records();
  }

  const Ledger& ledger() const { return ledger_; }
  const DtypeList& dtypes() const { return dtypes_; }
  const Freshness& today() const { return today_; }
  const std::vector<StaleFamily>& stale_families() const { return stale_; }
  /// Record of each cell.
  const std::map<CellId, std::size_t>& records() const { return records_; }

  CellId cell_id(std::size_t record) const {
    return {ledger_.cells()[record].dtype, today_.cell_id(record)};
  }
  bool of_run(std::size_t record) const { return !run_.empty() && run_of(record).run_id == run_; }
  Place place(std::size_t record) const {
    const StoredCell& cell = ledger_.cells()[record];
    const auto key = CellKey::parse(ledger_.text(cell.key)).value();
    Place place;
    place.dtype = cell.dtype;
    std::vector<std::pair<std::string, std::int64_t>> values;
    for (const Key& one : today_.now().keys.keys()) {
      const std::string& value = *key.find(one.name);
      if (one.kind == KeyKind::kExact) {
        place.exact.push_back(value);
        values.emplace_back(value, 0);
        continue;
      }
      const auto number = parse_positive(value);
      if (!number) {
        throw Error(fmt::format("{}:{}: key {}: {} is no whole number > 0", ledger_.file(),
                                cell.line, one.name, furlong::quoted(value)));
      }
      place.log.push_back(*number);
      values.emplace_back(std::string(), *number);
    }
    place.order = {cell.dtype, std::move(values),
                   std::string(today_.hidden_axes(today_.hidden_id(record)))};
    return place;
  }
  SampleCell sample_cell(std::size_t record) const {
    const StoredCell& cell = ledger_.cells()[record];
    return {cell.dtype, std::string(ledger_.text(cell.key))};
  }

 private:
  const Run& run_of(std::size_t record) const {
    return ledger_.runs()[static_cast<std::size_t>(ledger_.cells()[record].run)].run;
  }
  std::string_view effective(const StoredOutcome& outcome) const {
    return ledger_.text(ledger_.effective(outcome.family, outcome.hash));
  }

  /// Is all that is wrong with the record that kernels changed?
  bool only_kernels_changed(std::size_t record) const {
    for (const Cause& cause : today_.causes(record)) {
      switch (cause.kind) {
        case Cause::Kind::kWinnerRemoved:
        case Cause::Kind::kWinnerOutside:
        case Cause::Kind::kKeyMissing:
        case Cause::Kind::kAxesDiffer:
          return false;
        default:
          break;
      }
    }
    return true;
  }

  /// Families whose hash differs in the last records of cells that nothing current holds. A custom
  /// run is asked about single cells: it does not end the standing of what was tuned before.
  void find_stale_families(const std::vector<std::string>& wanted) {
    const auto cells = ledger_.cells();
    std::map<CellId, std::size_t> last;
    std::set<CellId> settled;
    for (std::size_t record = 0; record < cells.size(); ++record) {
      if (!is_measured(cells[record].tier) || today_.all_errors(record)) continue;
      const bool current = today_.standing(record) == Standing::kCurrent;
      if (current && cells[record].tier != Tier::kCustom) settled.insert(cell_id(record));
      if (!current && !of_run(record) && only_kernels_changed(record)) {
        last[cell_id(record)] = record;
      }
    }
    std::vector<std::size_t> records;
    for (const auto& [id, record] : last) {
      if (!settled.contains(id)) records.push_back(record);
    }
    std::sort(records.begin(), records.end());
    std::map<std::string, std::string, std::less<>> from;
    for (const std::size_t record : records) {
      for (const StoredOutcome& outcome : ledger_.outcomes(cells[record])) {
        if (outcome.status == Status::kSkipped) continue;
        const std::string family(ledger_.text(outcome.family));
        const std::string* now = today_.now().hashes.find(family);
        const std::string_view then = effective(outcome);
        if (now != nullptr && !then.empty() && then != *now) from[family] = then;
      }
    }
    for (const std::string& family : families_of(today_.now().candidates)) {
      const auto at = from.find(family);
      if (at == from.end()) continue;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), family) == wanted.end()) {
        continue;
      }
      stale_.push_back({family, at->second, *today_.now().hashes.find(family)});
    }
  }

  /// Was it measured after the edits?
  bool measured_today(std::size_t record) const {
    for (const StoredOutcome& outcome : ledger_.outcomes(ledger_.cells()[record])) {
      if (outcome.status == Status::kSkipped) continue;
      for (const StaleFamily& one : stale_) {
        if (ledger_.text(outcome.family) == one.family && effective(outcome) == one.to) return true;
      }
    }
    return false;
  }

  void find_old_records() {
    Now then = today_.now();
    for (auto& [family, hash] : then.hashes.families) {
      for (const StaleFamily& one : stale_) {
        if (one.family == family) hash = one.from;
      }
    }
    const Freshness before(ledger_, dtypes_, std::move(then));
    const auto cells = ledger_.cells();
    for (std::size_t record = 0; record < cells.size(); ++record) {
      if (!is_measured(cells[record].tier) || !before.counts(record)) continue;
      if (of_run(record) || measured_today(record)) continue;
      const auto [at, added] = records_.emplace(cell_id(record), record);
      if (!added && cells[record].tier <= cells[at->second].tier) at->second = record;
    }
  }

  const Ledger& ledger_;
  const DtypeList& dtypes_;
  std::string run_;
  Freshness today_;
  std::vector<StaleFamily> stale_;
  std::map<CellId, std::size_t> records_;
};

/// Dtype and values of the exact keys.
using Stratum = std::pair<std::int32_t, std::vector<std::string>>;

std::string stratum_text(const Stratum& stratum, const OldRecords& old) {
  std::string text = "dtype=" + old.dtypes().names()[static_cast<std::size_t>(stratum.first)];
  std::size_t at = 0;
  for (const Key& key : old.today().now().keys.keys()) {
    if (key.kind == KeyKind::kExact) text += " " + key.name + "=" + stratum.second[at++];
  }
  return text;
}

std::vector<std::string> log_names(const OldRecords& old) {
  std::vector<std::string> names;
  for (const Key& key : old.today().now().keys.keys()) {
    if (key.kind == KeyKind::kLog) names.push_back(key.name);
  }
  return names;
}

struct Range {
  std::int64_t least = 0;
  std::int64_t greatest = 0;
};

/// What a set of cells covers.
struct Coverage {
  std::set<Stratum> strata;
  std::vector<Range> ranges;  ///< per log key

  void add(const Place& place) {
    if (ranges.empty()) {
      for (const std::int64_t value : place.log) ranges.push_back({value, value});
    }
    strata.emplace(place.dtype, place.exact);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      ranges[i].least = std::min(ranges[i].least, place.log[i]);
      ranges[i].greatest = std::max(ranges[i].greatest, place.log[i]);
    }
  }
};

/// Of one candidate in one record; null when it is not there.
const StoredOutcome* find_outcome(const Ledger& ledger, const StoredCell& cell,
                                  std::string_view candidate) {
  for (const StoredOutcome& outcome : ledger.outcomes(cell)) {
    if (ledger.text(outcome.candidate) == candidate) return &outcome;
  }
  return nullptr;
}

bool agrees(const Ledger& ledger, const StoredCell& old, const StoredCell& sample) {
  const auto was = ledger.ranked(old);
  const auto is = ledger.ranked(sample);
  if (was.empty() || is.empty()) return was.empty() && is.empty();
  if (was[0] == is[0]) return true;
  const StoredOutcome* old_winner = find_outcome(ledger, sample, ledger.text(was[0]));
  const StoredOutcome* winner = find_outcome(ledger, sample, ledger.text(is[0]));
  const auto ranks = [](const StoredOutcome* outcome) {
    return outcome != nullptr && outcome->timed() &&
           (outcome->status == Status::kOk || outcome->status == Status::kEliminated);
  };
  return ranks(old_winner) && ranks(winner) &&
         old_winner->median_ms <= kTieFactor * winner->median_ms;
}

/// The last record of each cell of the run.
std::map<CellId, std::size_t> records_of_run(const OldRecords& old) {
  std::map<CellId, std::size_t> records;
  for (std::size_t record = 0; record < old.ledger().cells().size(); ++record) {
    if (old.of_run(record)) records[old.cell_id(record)] = record;
  }
  return records;
}

/// Why the run, whatever it measured, is no sample.
void refuse_run(const OldRecords& old, const std::string& run_id,
                const std::map<CellId, std::size_t>& sample, std::vector<std::string>& refused) {
  for (const StoredRun& stored : old.ledger().runs()) {
    if (stored.run.run_id != run_id || stored.run.tier == Tier::kCustom) continue;
    refused.push_back(fmt::format("run {} is of tier {}; a sample is of tier custom", run_id,
                                  tier_name(stored.run.tier)));
    break;
  }
  std::set<std::string> told;
  for (const auto& [id, record] : sample) {
    for (const Cause& cause : old.today().causes(record)) {
      using Kind = Cause::Kind;
      if (cause.kind != Kind::kWinnerChanged && cause.kind != Kind::kFamilyChanged) continue;
      if (!told.insert(cause.subject).second) continue;
      refused.push_back(fmt::format("run {} was measured with other kernels than today's: {}",
                                    run_id, cause.text()));
    }
  }
}

void refuse_coverage(const OldRecords& old, const Coverage& wanted, const Coverage& got,
                     std::size_t compared, std::vector<std::string>& refused) {
  if (compared < kSampleCells) {
    refused.push_back(fmt::format("{} of its cells are held by old records; at least {} are needed",
                                  compared, kSampleCells));
  }
  for (const Stratum& stratum : wanted.strata) {
    if (got.strata.contains(stratum)) continue;
    refused.push_back(
        fmt::format("no cell of {}, which old records hold", stratum_text(stratum, old)));
  }
  const auto names = log_names(old);
  for (std::size_t i = 0; i < got.ranges.size(); ++i) {
    const Range& all = wanted.ranges[i];
    const Range& some = got.ranges[i];
    if (some.least == all.least && some.greatest == all.greatest) continue;
    refused.push_back(fmt::format("{} goes from {} to {}; old records go from {} to {}", names[i],
                                  some.least, some.greatest, all.least, all.greatest));
  }
}

void require_families(const OldRecords& old, const std::vector<std::string>& families) {
  const auto allowed = families_of(old.today().now().candidates);
  for (const std::string& family : families) {
    if (std::find(allowed.begin(), allowed.end(), family) != allowed.end()) continue;
    throw Error(fmt::format("{}: no family {}; allowed are {}", old.ledger().file(),
                            furlong::quoted(family), join(allowed, ", ")));
  }
}

}  // namespace

std::vector<SampleCell> draw_sample(const Ledger& ledger, const DtypeList& dtypes,
                                    const HashesNow& hashes, std::size_t cells) {
  const OldRecords old(ledger, dtypes, hashes, {}, {});
  struct Entry {
    Place place;
    std::size_t record = 0;
    bool taken = false;
  };
  std::vector<Entry> entries;
  for (const auto& [id, record] : old.records()) entries.push_back({old.place(record), record});
  if (entries.size() < kSampleCells) {
    throw Error(fmt::format("{}: {} cells with a measured record; a sample needs at least {}",
                            ledger.file(), entries.size(), kSampleCells));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.place.order < b.place.order; });
  std::map<Stratum, std::vector<std::size_t>> strata;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    strata[{entries[i].place.dtype, entries[i].place.exact}].push_back(i);
  }
  std::size_t taken = 0;
  const auto take = [&](std::size_t i) {
    taken += entries[i].taken ? 0 : 1;
    entries[i].taken = true;
  };
  for (const auto& [stratum, members] : strata) {
    for (std::size_t key = 0; key < entries[members[0]].place.log.size(); ++key) {
      std::map<std::int64_t, std::vector<std::size_t>> by_value;
      for (const std::size_t i : members) by_value[entries[i].place.log[key]].push_back(i);
      const auto middle =
          std::next(by_value.begin(), static_cast<std::ptrdiff_t>(by_value.size() - 1) / 2);
      for (const auto at : {by_value.begin(), middle, std::prev(by_value.end())}) {
        // The middle of those cells, so that the other keys are not all at an end of their range.
        take(at->second[at->second.size() / 2]);
      }
    }
  }
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].taken) rest.push_back(i);
  }
  const std::size_t more = std::min(rest.size(), cells > taken ? cells - taken : 0);
  for (std::size_t i = 0; i < more; ++i) take(rest[(2 * i + 1) * rest.size() / (2 * more)]);
  std::vector<SampleCell> sample;
  for (const Entry& entry : entries) {
    if (entry.taken) sample.push_back(old.sample_cell(entry.record));
  }
  return sample;
}

SampleVerdict judge_sample(const Ledger& ledger, const DtypeList& dtypes, const HashesNow& hashes,
                           const std::string& run_id, const std::vector<std::string>& families,
                           const std::string& at) {
  const auto runs = ledger.runs();
  if (std::none_of(runs.begin(), runs.end(),
                   [&](const StoredRun& stored) { return stored.run.run_id == run_id; })) {
    throw Error(
        fmt::format("{}: no clean run {}; a run of a tree with uncommitted changes proves "
                    "nothing",
                    ledger.file(), furlong::quoted(run_id)));
  }
  const OldRecords old(ledger, dtypes, hashes, run_id, families);
  require_families(old, families);
  SampleVerdict verdict;
  if (old.stale_families().empty()) return verdict;

  const auto sample = records_of_run(old);
  refuse_run(old, run_id, sample, verdict.refused);
  Coverage wanted;
  for (const auto& [id, record] : old.records()) wanted.add(old.place(record));
  Coverage got;
  std::size_t compared = 0;
  std::set<CellId> settled;
  for (std::size_t record = 0; record < ledger.cells().size(); ++record) {
    const bool deep = ledger.cells()[record].tier == Tier::kDeep;
    if (deep && !old.today().all_errors(record) &&
        old.today().standing(record) == Standing::kCurrent) {
      settled.insert(old.cell_id(record));
    }
  }
  std::vector<std::size_t> unsettled;
  for (const auto& [id, record] : sample) {
    const auto held = old.records().find(id);
    if (held == old.records().end()) continue;
    ++compared;
    got.add(old.place(held->second));
    if (!old.today().all_errors(record) &&
        agrees(ledger, ledger.cells()[held->second], ledger.cells()[record])) {
      ++verdict.agree;
    } else if (settled.contains(id)) {
      ++verdict.settled;
    } else {
      unsettled.push_back(record);
    }
  }
  refuse_coverage(old, wanted, got, compared, verdict.refused);
  if (!verdict.refused.empty()) return verdict;
  std::sort(unsettled.begin(), unsettled.end());
  for (const std::size_t record : unsettled) verdict.unsettled.push_back(old.sample_cell(record));
  if (!unsettled.empty()) return verdict;
  for (const StaleFamily& one : old.stale_families()) {
    verdict.lines.push_back(
        {one.family, one.from, one.to, at, "sample:" + run_id,
         fmt::format("{} cells agree, {} re-measured at deep", verdict.agree, verdict.settled)});
  }
  return verdict;
}

}  // namespace furlong::ledger
