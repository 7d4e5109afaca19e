// Sample: a few cells measured with today's kernels that speak for all the old records.
//
// After an edit the records of a family are stale. `draw_sample` names the cells to measure,
// `judge_sample` decides whether what was measured there agrees with the old records, so that a
// rehash line may keep them (docs/rehash.md). Nothing is written here; all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "furlong/dtype.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/ledger.hh"

namespace furlong::ledger {

/// The fewest cells that a sample may have.
inline constexpr std::size_t kSampleCells = 64;

struct SampleCell {
  std::int32_t dtype = 0;  ///< position in the project's dtype list
  std::string key;         ///< cell key text

  bool operator==(const SampleCell&) const = default;
};

/// A stratified sample of the old records: per dtype and combination of exact keys, a cell at the
/// min, the median and the max of every log key, then cells spread evenly over the rest until there
/// are `cells`. In the order of dtypes and keys. Fewer than `cells` where the ledger holds fewer,
/// more where the strata need more.
///
/// Old records: the best measured record of each cell that would count if the families that were
/// edited since had the hashes with which those cells were last measured.
///
/// Throws Error for a ledger without a clean run line, and where it holds fewer than kSampleCells
/// such cells.
std::vector<SampleCell> draw_sample(const Ledger& ledger, const DtypeList& dtypes,
                                    const HashesNow& hashes, std::size_t cells = kSampleCells);

struct SampleVerdict {
  /// One per stale family, in candidate order; empty where something is refused or unsettled, and
  /// where nothing is stale.
  std::vector<Rehash> lines;
  std::vector<std::string> refused;  ///< why the sample proves nothing
  /// Cells that disagree and that no deep record with today's kernels settles; filled only where
  /// nothing is refused.
  std::vector<SampleCell> unsettled;
  int agree = 0;
  int settled = 0;
};

/// Compares the cells of the run `run_id` with the old records of the same cells. A cell agrees
/// when the winners match, or when the old winner's median is within 3 % of the sample winner's in
/// the sample's own times; any other is settled once a deep record of today's kernels holds it.
/// `families` (empty: all) are those that may be rehashed; `at` is the commit that lines name.
///
/// Refused: a run that is not of tier custom, or was measured with other kernels than today's;
/// fewer than kSampleCells cells that old records hold; a combination of dtype and exact keys, or
/// an end of a log key's range, that old records hold and the sample lacks. Throws Error for a
/// ledger without a clean run of that id, and for a family that is none of today's.
SampleVerdict judge_sample(const Ledger& ledger, const DtypeList& dtypes, const HashesNow& hashes,
                           const std::string& run_id, const std::vector<std::string>& families,
                           const std::string& at);

}  // namespace furlong::ledger
