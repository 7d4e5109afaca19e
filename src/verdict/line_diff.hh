// line_diff: which lines of two texts differ.
//
// A longest common subsequence of lines; between common lines, what was removed and what was added
// is paired in order as changed. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::verdict {

/// One line that is not the same: changed when both sides are there.
struct LineDifference {
  /// From 1, in the text that has the line.
  int line_a = 0;
  int line_b = 0;
  std::optional<std::string> a;
  std::optional<std::string> b;
};

/// In the order of the texts; empty when these are equal. Where more than 4000 lines of one stand
/// between what is common before and behind, one difference: the first line that is not the same.
std::vector<LineDifference> diff_lines(std::string_view a, std::string_view b);

/// How far two texts are from each other: 0 for equal ones, 1 for each line that only one has, and
/// for a changed line the share of it, in (0, 1], that is not the same at its two ends.
double line_distance(const std::vector<LineDifference>& differences);

/// Two long lines around the first byte that differs: each as `...<text>...`, at most `width` bytes
/// of it.
struct LineWindow {
  std::size_t column = 0;  ///< from 1, of the first byte that differs
  std::string a;
  std::string b;
};
LineWindow differing_window(std::string_view a, std::string_view b, std::size_t width);

}  // namespace furlong::verdict
