// compare: what differs between caches, or between the ranks of one job.
//
// Each source's verdicts are put into rows by their join key; within a join key equal full keys
// meet first, then the rest in order. A verdict that repeats another one of its source, key and
// result, counts once; where a source says a join key more often than another one, each of its
// verdicts meets one that the other says. A row says who has the verdict, which sources agree on
// the winner, which fields do not, and whether times differ by more than noise. Pure: loaded values
// in, values out; the rows point into the sources, which must outlive them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verdict/computation.hh"
#include "verdict/verdict.hh"

namespace furlong::verdict {

/// One verdict of a source.
struct Item {
  Verdict verdict;
  /// In a folder: the file that it stands in. Files are compared with files of the same name.
  std::string file;
  /// True for a result without key (a per-computation folder): the file's name is the key.
  bool bare = false;
};

struct Source {
  std::string name;
  std::vector<Item> items;
};

enum class Match {
  kExact,        ///< device, computation and entry version
  kComputation,  ///< the computation alone: between machines
  kShape,        ///< what the computation does to which shapes: between releases
};

struct CompareOptions {
  Match match = Match::kExact;
  /// Of kShape: what else does not count. `device` is the device line, `dnn` its DNN version. The
  /// entry version and the harmless drift of printed text (IgnoreList::harmless) never count.
  IgnoreList ignore;
  /// A time differs when the larger is beyond the smaller by more than this share.
  double noise = 0.30;
};

/// One winner and who chose it.
struct Camp {
  std::vector<std::size_t> sources;
  const Verdict* verdict = nullptr;  ///< the first one's
};

/// A winner's field that is not the same in all camps.
struct FieldDifference {
  std::string name;
  /// One a camp; nothing where the field is absent or at its default.
  std::vector<std::optional<std::string>> values;
};

struct Row {
  /// One a source; nullptr where it has no such verdict.
  std::vector<const Item*> items;
  /// How the row was joined: `exact`, or what was left out of account and does differ:
  /// `computation; device differs`.
  std::string joined_by;
  std::vector<std::size_t> missing;  ///< sources without it
  /// Sources that say its key more than once, with another result each time: another row has the
  /// next one.
  std::vector<std::size_t> repeated;
  std::vector<Camp> camps;  ///< in the order of their first source
  std::vector<FieldDifference> fields;
  /// Largest over smallest of the times that can have been measured; nothing with fewer than two.
  std::optional<double> time_ratio;
  bool time_differs = false;
  /// Only what stands beside winner and time differs; whether a time was measured does not count.
  bool only_metadata_differs = false;

  bool winner_differs() const { return camps.size() > 1; }
  /// Nothing at all is different.
  bool equal() const {
    return missing.empty() && !winner_differs() && !time_differs && !only_metadata_differs;
  }
  const Verdict& any() const;
};

struct Comparison {
  std::vector<Row> rows;  ///< every row, in the order of first appearance
  std::size_t equal = 0;
  std::size_t winners = 0;     ///< rows whose winner differs
  std::size_t incomplete = 0;  ///< rows that a source lacks
  std::size_t times = 0;
  std::size_t metadata = 0;
  std::vector<std::size_t> repeats;  ///< one a source: verdicts that repeat another one of it
};

/// At least two sources. std::invalid_argument for fewer, and for a noise that is negative or no
/// number.
Comparison compare(std::span<const Source> sources, const CompareOptions& options);

}  // namespace furlong::verdict
