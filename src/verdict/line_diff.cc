#include "verdict/line_diff.hh"

#include <algorithm>
#include <cstdint>

#include "base/text.hh"

namespace furlong::verdict {
namespace {

constexpr std::size_t kMostLines = 4000;

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto end = std::min(a.size(), b.size());
  std::size_t i = 0;
  while (i < end && a[i] == b[i]) ++i;
  return i;
}

std::size_t common_suffix(std::string_view a, std::string_view b, std::size_t most) {
  std::size_t i = 0;
  while (i < most && a[a.size() - 1 - i] == b[b.size() - 1 - i]) ++i;
  return i;
}

LineDifference difference(const std::vector<std::string_view>& a, std::size_t i, bool has_a,
                          const std::vector<std::string_view>& b, std::size_t k, bool has_b) {
  LineDifference made;
  if (has_a) {
    made.line_a = static_cast<int>(i) + 1;
    made.a = std::string(a[i]);
  }
  if (has_b) {
    made.line_b = static_cast<int>(k) + 1;
    made.b = std::string(b[k]);
  }
  return made;
}

}  // namespace

std::vector<LineDifference> diff_lines(std::string_view text_a, std::string_view text_b) {
  if (text_a == text_b) return {};
  const auto a = split(text_a, '\n');
  const auto b = split(text_b, '\n');
  std::size_t start = 0;
  while (start < a.size() && start < b.size() && a[start] == b[start]) ++start;
  std::size_t end = 0;
  while (end < a.size() - start && end < b.size() - start &&
         a[a.size() - 1 - end] == b[b.size() - 1 - end]) {
    ++end;
  }
  const std::size_t rows = a.size() - start - end;
  const std::size_t columns = b.size() - start - end;
  if (rows > kMostLines || columns > kMostLines) {
    return {difference(a, start, start < a.size(), b, start, start < b.size())};
  }
  // longest[i][k]: of a from i and b from k, within the part that differs.
  std::vector<std::uint16_t> longest((rows + 1) * (columns + 1), 0);
  const auto at = [&](std::size_t i, std::size_t k) -> std::uint16_t& {
    return longest[i * (columns + 1) + k];
  };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t k = columns; k-- > 0;) {
      at(i, k) = a[start + i] == b[start + k] ? static_cast<std::uint16_t>(at(i + 1, k + 1) + 1)
                                              : std::max(at(i + 1, k), at(i, k + 1));
    }
  }
  std::vector<LineDifference> differences;
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < rows || k < columns) {
    if (i < rows && k < columns && a[start + i] == b[start + k]) {
      ++i;
      ++k;
      continue;
    }
    const auto first_a = i;
    const auto first_b = k;
    while ((i < rows || k < columns) &&
           !(i < rows && k < columns && a[start + i] == b[start + k])) {
      if (k == columns || (i < rows && at(i + 1, k) >= at(i, k + 1))) {
        ++i;
      } else {
        ++k;
      }
    }
    const auto count = std::max(i - first_a, k - first_b);
    for (std::size_t n = 0; n < count; ++n) {
      differences.push_back(difference(a, start + first_a + n, first_a + n < i, b,
                                       start + first_b + n, first_b + n < k));
    }
  }
  return differences;
}

double line_distance(const std::vector<LineDifference>& differences) {
  double distance = 0;
  for (const auto& line : differences) {
    if (!line.a || !line.b) {
      distance += 1;
      continue;
    }
    const auto prefix = common_prefix(*line.a, *line.b);
    const auto shorter = std::min(line.a->size(), line.b->size());
    const auto common = prefix + common_suffix(*line.a, *line.b, shorter - prefix);
    const auto longer = std::max(line.a->size(), line.b->size());
    distance += static_cast<double>(longer - common) / static_cast<double>(longer);
  }
  return distance;
}

LineWindow differing_window(std::string_view a, std::string_view b, std::size_t width) {
  const auto prefix = common_prefix(a, b);
  const auto before = std::min(prefix, width / 3);
  const auto cut = [&](std::string_view line) {
    const auto from = prefix - before;
    std::string shown = from > 0 ? "..." : "";
    shown += line.substr(from, width);
    if (line.size() > from + width) shown += "...";
    return shown;
  };
  return {prefix + 1, cut(a), cut(b)};
}

}  // namespace furlong::verdict
