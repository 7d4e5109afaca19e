#include "tune/repetitions_file.hh"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hh"
#include "furlong/device_key.hh"
#include "furlong/error.hh"
#include "host/json.hh"
#include "tune/replay.hh"

namespace furlong::tune {
namespace {

/// As a meta line has them: `n=1:2:4 batch=128:512`.
std::string text_of(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    if (!text.empty()) text += ' ';
    text += axis.name + '=' + join(axis.values, ":");
  }
  return text;
}

}  // namespace

RepetitionsFile::RepetitionsFile(std::filesystem::path file, const OpSpec& op,
                                 const std::string& dtype, const std::vector<Axis>& axes)
    : file_(std::move(file)), out_(host::real_append_files().open(file_)) {
  const auto& vocabulary = op.vocabulary;
  const auto d = std::find(vocabulary.dtypes.begin(), vocabulary.dtypes.end(), dtype) -
                 vocabulary.dtypes.begin();
  candidates_ = vocabulary.candidates.at(static_cast<std::size_t>(d));
  if (const auto size = out_->size(); size > 0) {
    read_stored(out_->read(0, static_cast<std::size_t>(size)), op, dtype, axes);
    return;
  }
  meta_line_ = host::dump_json({{"kind", "meta"},
                                {"op", vocabulary.op},
                                {"dtype", dtype},
                                {"device", this_cpu().text},
                                {"keys", vocabulary.keys.text()},
                                {"candidates", join(candidates_, "|")},
                                {"axes", text_of(axes)}}) +
               "\n";
}

void RepetitionsFile::read_stored(const std::string& text, const OpSpec& op,
                                  const std::string& dtype, const std::vector<Axis>& axes) {
  const auto recording = parse_recording(text, file_.string());
  if (recording.op != op.vocabulary.op || recording.dtype != dtype ||
      recording.device != this_cpu().text || recording.candidates != candidates_) {
    throw Error(file_.string(),
                fmt::format("holds repetitions of {} {} on {}, or of other candidates; a file "
                            "takes those of one op, dtype and device",
                            recording.op, recording.dtype, recording.device));
  }
  if (text_of(recording.axes) != text_of(axes)) {
    throw Error(file_.string(),
                fmt::format("holds repetitions of the grid {}, this run's is {}; a file takes "
                            "those of one grid",
                            text_of(recording.axes), text_of(axes)));
  }
  if (!text.ends_with('\n')) {
    throw Error(file_.string(), "ends in a torn line; whole lines are allowed");
  }
  for (const RecordedCell& cell : recording.cells) {
    int& pass = passes_[cell.key.text()];
    for (const auto& times : cell.times) {
      for (const RecordedTime& time : times) pass = std::max(pass, time.pass);
    }
  }
}

void RepetitionsFile::append(std::string_view text) {
  while (!text.empty()) text.remove_prefix(out_->append(text));
}

void RepetitionsFile::add(const CellKey& key, std::span<const race::Repetition> repetitions) {
  const int pass = ++passes_[key.text()];
  std::string text = std::exchange(meta_line_, {});
  for (const auto& one : repetitions) {
    text += host::dump_json({{"kind", "rep"},
                             {"key", key.text()},
                             {"cand", candidates_.at(static_cast<std::size_t>(one.candidate))},
                             {"pass", pass},
                             {"rep", one.round},
                             {"ms", one.ms}}) +
            "\n";
  }
  append(text);
}

}  // namespace furlong::tune
