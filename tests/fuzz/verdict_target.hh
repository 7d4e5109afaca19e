// What the fuzz targets of caches demand: bytes read, or are an Error; what was read says the same
// after a way through the other form, and everything that is shown of it can be shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "furlong/error.hh"
#include "fuzz/demand.hh"
#include "verdict/computation.hh"
#include "verdict/device_line.hh"
#include "verdict/lint.hh"
#include "verdict/lookup.hh"
#include "verdict/verdict_file.hh"

namespace furlong::fuzz {

inline void demand_equal(const verdict::VerdictFile& a, const verdict::VerdictFile& b) {
  demand(a.size() == b.size() && a.version() == b.version());
  for (std::size_t i = 0; i < a.size(); ++i) {
    demand(a.verdict(i).key() == b.verdict(i).key());
    demand(a.verdict(i).same_result(b.verdict(i)));
  }
}

inline void read_and_check(std::string_view bytes) {
  try {
    const auto contents = verdict::read_contents(bytes, "input");
    const auto* file = std::get_if<verdict::VerdictFile>(&contents);
    if (file == nullptr) return;
    demand_equal(*file, verdict::read_verdicts(file->binary(), "binary"));
    if (!file->has_unknown_fields()) {
      demand_equal(*file, verdict::read_verdicts(file->text(), "text"));
    }
    verdict::lint(*file, "input.pb");
    const verdict::LookUp cache(file->verdicts());
    for (const auto& verdict : cache.verdicts()) {
      demand(cache.find(verdict.key()) != nullptr);
      verdict.winner_text();
      verdict.metadata();
      verdict::summarize(verdict.computation());
      if (const auto line = verdict::DeviceLine::parse(verdict.device())) {
        demand(line->text() == verdict.device());
      }
      auto other = verdict.key();
      other.device += ", Cores: 1";
      verdict::nearest_miss(cache.verdicts(), other);
    }
  } catch (const Error&) {
  }
}

}  // namespace furlong::fuzz
