#include "tune/repetitions_file.hh"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hh"
#include "furlong/device_key.hh"
#include "furlong/error.hh"
#include "host/append_file.hh"
#include "host/files.hh"
#include "host/json.hh"
#include "tune/replay.hh"

namespace furlong::tune {
namespace {

void append(const std::filesystem::path& file, const std::string& text) {
  const auto out = host::real_append_files().open(file);
  for (std::string_view rest = text; !rest.empty();) rest.remove_prefix(out->append(rest));
}

}  // namespace

RepetitionsFile::RepetitionsFile(std::filesystem::path file, const OpSpec& op,
                                 const std::string& dtype, const std::vector<Axis>& axes)
    : file_(std::move(file)) {
  const auto& vocabulary = op.vocabulary;
  const auto d = std::find(vocabulary.dtypes.begin(), vocabulary.dtypes.end(), dtype) -
                 vocabulary.dtypes.begin();
  candidates_ = vocabulary.candidates.at(static_cast<std::size_t>(d));
  std::error_code none;
  if (std::filesystem::exists(file_, none)) {
    const auto recording = parse_recording(host::read_file(file_), file_.string());
    if (recording.op != vocabulary.op || recording.dtype != dtype ||
        recording.device != this_cpu().text || recording.candidates != candidates_) {
      throw Error(file_.string(),
                  fmt::format("holds repetitions of {} {} on {}, or of other candidates; a file "
                              "takes those of one op, dtype and device",
                              recording.op, recording.dtype, recording.device));
    }
    for (const RecordedCell& cell : recording.cells) {
      int& pass = passes_[cell.key.text()];
      for (const auto& times : cell.times) {
        for (const RecordedTime& time : times) pass = std::max(pass, time.pass);
      }
    }
    return;
  }
  std::string axes_text;
  for (const Axis& axis : axes) {
    if (!axes_text.empty()) axes_text += ' ';
    axes_text += axis.name + '=' + join(axis.values, ":");
  }
  append(file_, host::dump_json({{"kind", "meta"},
                                 {"op", vocabulary.op},
                                 {"dtype", dtype},
                                 {"device", this_cpu().text},
                                 {"keys", vocabulary.keys.text()},
                                 {"candidates", join(candidates_, "|")},
                                 {"axes", axes_text}}) +
                    "\n");
}

void RepetitionsFile::add(const CellKey& key, std::span<const race::Repetition> repetitions) {
  const int pass = ++passes_[key.text()];
  std::string text;
  for (const auto& one : repetitions) {
    text += host::dump_json({{"kind", "rep"},
                             {"key", key.text()},
                             {"cand", candidates_.at(static_cast<std::size_t>(one.candidate))},
                             {"pass", pass},
                             {"rep", one.round},
                             {"ms", one.ms}}) +
            "\n";
  }
  append(file_, text);
}

}  // namespace furlong::tune
