#include "verdict/lint.hh"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "base/text.hh"
#include "verdict/device_line.hh"

namespace furlong::verdict {

std::vector<Finding> lint(const VerdictFile& file, std::string_view name,
                          std::int32_t wanted_version) {
  std::vector<Finding> findings;
  const auto about_file = [&](std::string_view rule, std::string message) {
    findings.push_back({rule, 0, 0, std::move(message)});
  };
  if (file.version() != kFileVersion) {
    about_file("file_version", file.version() ? fmt::format("version {}, not 3", *file.version())
                                              : std::string("no version, where 3 is expected"));
  }
  const auto extension = std::filesystem::path(name).extension().string();
  if (format_of_extension(name) != file.format()) {
    const bool text = file.format() == Format::kText;
    about_file("extension",
               fmt::format("holds {}, but a loader takes {} for {}", text ? "text" : "binary",
                           extension.empty() ? "no extension" : quoted(extension),
                           text ? "binary" : "text"));
  }
  std::set<std::string_view> dialects;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const auto line = DeviceLine::parse(file.verdict(i).device());
    if (line) dialects.insert(name_of(line->dialect));
  }
  if (dialects.size() > 1) {
    std::vector<std::string> names(dialects.begin(), dialects.end());
    about_file("dialects",
               fmt::format("device lines of {} dialects: {}", names.size(), join(names, ", ")));
  }
  std::map<std::tuple<std::string_view, std::string_view, std::optional<std::int32_t>>, std::size_t>
      seen;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const auto verdict = file.verdict(i);
    const auto add = [&](std::string_view rule, std::string message) {
      findings.push_back({rule, i + 1, file.line(i), std::move(message)});
    };
    const auto [first, is_new] =
        seen.emplace(std::tuple(std::string_view(verdict.device()),
                                std::string_view(verdict.computation()), verdict.entry_version()),
                     i);
    if (!is_new) {
      const bool equal = file.verdict(first->second).same_result(verdict);
      add("duplicate_key", fmt::format("the key of entry {} again, with {}", first->second + 1,
                                       equal ? "the same result" : "another result"));
    }
    const auto version = verdict.entry_version();
    if (!version) {
      add("entry_version", "no entry version");
    } else if (*version < wanted_version) {
      add("entry_version",
          fmt::format("entry version {}, older than {}", *version, wanted_version));
    }
    if (verdict.winner_kind() == WinnerKind::kNone) add("no_winner", "no winner");
    const auto time = verdict.run_time_ns();
    if (!time) {
      add("run_time", "no run time");
    } else if (!verdict.measured_ns()) {
      add("run_time", fmt::format("a run time of {} ns is a placeholder", *time));
    }
    if (!verdict.says_num_ctas()) add("num_ctas", "triton without num_ctas");
    if (verdict.split_k() > 1) {
      add("split_k", fmt::format("split_k {}: partial sums, another rounding", verdict.split_k()));
    }
    if (const auto line = DeviceLine::parse(verdict.device()); !line) {
      add("device_line", line.reason());
    }
  }
  return findings;
}

}  // namespace furlong::verdict
