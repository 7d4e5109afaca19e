#include "ledger/left_out.hh"

#include <algorithm>
#include <map>
#include <utility>

#include "ledger/line_reader.hh"
#include "ledger/lines.hh"

namespace furlong::ledger {

std::vector<LeftOutCell> left_out_cells(std::string_view bytes, const ReadOptions& options) {
  std::string padded;
  padded.reserve(bytes.size() + LineParser::kPadding);
  padded.append(bytes);
  padded.append(LineParser::kPadding, ' ');

  // Run lines may follow their cells, and a later one replaces an earlier one.
  std::map<std::pair<std::string, std::string>, std::string> commit_of_run;
  const auto each_line = [&](auto&& visit) {
    LineReader reader(options.library);
    std::string_view rest = std::string_view(padded).substr(0, bytes.size());
    for (RawLine line; next_line(rest, line);) {
      if (!line.blank && reader.read(line.text).empty()) visit(reader, line.number);
    }
  };
  const auto run_of = [](const LineReader& line) {
    return std::pair(std::string(line.text(Field::kRunId)), std::string(line.text(Field::kDtype)));
  };
  each_line([&](const LineReader& line, std::int32_t) {
    if (line.kind() != Kind::kRun) return;
    std::string_view commit = line.text(Field::kCommit);
    if (commit.empty()) commit = line.text(Field::kBatchlas);
    commit_of_run[run_of(line)] = commit;
  });

  std::vector<LeftOutCell> cells;
  each_line([&](const LineReader& line, std::int32_t number) {
    if (line.kind() != Kind::kCell) return;
    auto run = run_of(line);
    const auto at = commit_of_run.find(run);
    if (at != commit_of_run.end() && !at->second.ends_with("-dirty")) return;
    const std::string_view ranked = line.text(Field::kRanked);
    LeftOutCell cell;
    cell.line = number;
    cell.run_id = std::move(run.first);
    cell.dtype = std::move(run.second);
    cell.tier = line.text(Field::kTier);
    cell.key = line.text(Field::kKey);
    cell.date = line.text(Field::kDate);
    cell.winner = ranked.substr(0, std::min(ranked.find('|'), ranked.size()));
    if (at != commit_of_run.end()) cell.commit = at->second;
    cells.push_back(std::move(cell));
  });
  return cells;
}

}  // namespace furlong::ledger
