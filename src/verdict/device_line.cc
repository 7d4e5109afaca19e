#include "verdict/device_line.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hh"

namespace furlong::verdict {
namespace {

struct DialectName {
  Dialect dialect;
  std::string_view name;
};
constexpr std::array kNames{
    DialectName{Dialect::kCuda, "CUDA"}, DialectName{Dialect::kRocm, "ROCM"},
    DialectName{Dialect::kOneApi, "oneAPI"}, DialectName{Dialect::kCpu, "CPU"},
    DialectName{Dialect::kOpenCl, "OpenCL"}};

/// What follows a value of the old dialect, by clause.
struct OldClause {
  std::string_view name;
  std::string_view unit;
};
constexpr std::array kOldClauses{
    OldClause{"RAM", "B RAM"}, OldClause{"cores", " cores"}, OldClause{"clock", "KHz clock"},
    OldClause{"mem clock", "KHz mem clock"}, OldClause{"L2$", "B L2$"}};
constexpr std::string_view kOldStart = "sm_";
constexpr std::string_view kOldWith = " with ";

Result<DeviceLine> parse_old(std::string_view text) {
  using Line = Result<DeviceLine>;
  DeviceLine line;
  line.dialect = Dialect::kOldCuda;
  const auto with = text.find(kOldWith);
  if (with == std::string_view::npos) {
    return Line::no(fmt::format("{} has no ' with '", quoted(text)));
  }
  line.clauses.push_back({"sm", std::string(text.substr(3, with - 3))});
  std::string_view rest = text.substr(with + kOldWith.size());
  for (std::size_t i = 0; i < kOldClauses.size(); ++i) {
    const bool last = i + 1 == kOldClauses.size();
    const auto comma = rest.find(", ");
    if (last != (comma == std::string_view::npos)) {
      return Line::no(fmt::format("{} has not the {} clauses of an sm_ line", quoted(text),
                                  kOldClauses.size() + 1));
    }
    const auto clause = rest.substr(0, comma);
    const auto unit = kOldClauses[i].unit;
    if (clause.size() <= unit.size() || clause.substr(clause.size() - unit.size()) != unit) {
      return Line::no(fmt::format("clause {} does not end in '{}'", quoted(clause), unit));
    }
    line.clauses.push_back({std::string(kOldClauses[i].name),
                            std::string(clause.substr(0, clause.size() - unit.size()))});
    rest = last ? std::string_view() : rest.substr(comma + 2);
  }
  return line;
}

/// Names that begin a clause; a value may hold `, ` too (an OpenCL device's name does).
bool starts_clause(std::string_view text) {
  for (const std::string_view name :
       {"Cores: ", "GPU clock: ", "Memory bandwidth: ", "L2 cache: ", "L3 cache: ", "DNN version: ",
        "Compiler: ", "Local memory: ", "Driver: "}) {
    if (text.substr(0, name.size()) == name) return true;
  }
  return false;
}

}  // namespace

std::string_view name_of(Dialect dialect) {
  for (const auto& known : kNames) {
    if (known.dialect == dialect) return known.name;
  }
  return kOldStart;
}

Result<DeviceLine> DeviceLine::parse(std::string_view text) {
  using Line = Result<DeviceLine>;
  if (text.substr(0, kOldStart.size()) == kOldStart) return parse_old(text);
  DeviceLine line;
  bool known = false;
  for (const auto& dialect : kNames) {
    if (text.size() < dialect.name.size() + 2 ||
        text.substr(0, dialect.name.size()) != dialect.name ||
        text.substr(dialect.name.size(), 2) != ": ") {
      continue;
    }
    line.dialect = dialect.dialect;
    known = true;
  }
  if (!known) {
    return Line::no(
        fmt::format("{} begins with none of 'CUDA: ', 'ROCM: ', 'oneAPI: ', 'CPU: ', 'OpenCL: ' "
                    "and 'sm_'",
                    quoted(text)));
  }
  std::string_view rest = text;
  while (true) {
    // A clause ends where the next one that is known begins. Among unknown ones any `, ` ends it
    // but inside the first, which holds a device's name.
    std::size_t end = rest.find(", ");
    while (end != std::string_view::npos && !starts_clause(rest.substr(end + 2)) &&
           (line.clauses.empty() ||
            rest.substr(end + 2, rest.find(", ", end + 2) - end - 2).find(": ") ==
                std::string_view::npos)) {
      end = rest.find(", ", end + 2);
    }
    const auto clause = rest.substr(0, end);
    const auto colon = clause.find(": ");
    if (colon == std::string_view::npos) {
      return Line::no(fmt::format("clause {} is not '<name>: <value>'", quoted(clause)));
    }
    line.clauses.push_back(
        {std::string(clause.substr(0, colon)), std::string(clause.substr(colon + 2))});
    if (end == std::string_view::npos) return line;
    rest = rest.substr(end + 2);
  }
}

std::string DeviceLine::text() const {
  std::string text;
  if (dialect == Dialect::kOldCuda) {
    text = fmt::format("{}{}{}", kOldStart, clauses.at(0).value, kOldWith);
    for (std::size_t i = 0; i < kOldClauses.size(); ++i) {
      if (i > 0) text += ", ";
      text += clauses.at(i + 1).value;
      text += kOldClauses[i].unit;
    }
    return text;
  }
  for (const auto& clause : clauses) {
    if (!text.empty()) text += ", ";
    text += clause.name + ": " + clause.value;
  }
  return text;
}

const std::string* DeviceLine::find(std::string_view name) const {
  for (const auto& clause : clauses) {
    if (clause.name == name) return &clause.value;
  }
  return nullptr;
}

std::vector<ClauseDifference> compare_devices(std::string_view wanted, std::string_view found) {
  if (wanted == found) return {};
  const auto a = DeviceLine::parse(wanted);
  const auto b = DeviceLine::parse(found);
  if (!a || !b || a->dialect != b->dialect) {
    return {{"device", std::string(wanted), std::string(found)}};
  }
  std::vector<ClauseDifference> differences;
  for (const auto& clause : a->clauses) {
    const auto* other = b->find(clause.name);
    if (other == nullptr) {
      differences.push_back({clause.name, clause.value, std::nullopt});
    } else if (*other != clause.value) {
      differences.push_back({clause.name, clause.value, *other});
    }
  }
  for (const auto& clause : b->clauses) {
    if (a->find(clause.name) == nullptr) {
      differences.push_back({clause.name, std::nullopt, clause.value});
    }
  }
  if (differences.empty()) {
    // The same clauses in another order: still another key.
    return {{"order of clauses", std::string(wanted), std::string(found)}};
  }
  return differences;
}

std::string without_clauses(std::string_view device, const std::vector<std::string>& names) {
  auto line = DeviceLine::parse(device);
  if (!line || line->dialect == Dialect::kOldCuda) return std::string(device);
  auto kept = *line;
  std::erase_if(kept.clauses, [&](const Field& clause) {
    return std::find(names.begin(), names.end(), clause.name) != names.end();
  });
  return kept.text();
}

std::string six_digits(double value) {
  return fmt::format("{:.6g}", value);
}

std::string device_line(const CpuDevice& device) {
  constexpr double kMega = 1024.0 * 1024.0;
  return fmt::format("CPU: {}, Cores: {}, L2 cache: {} MB, L3 cache: {} MB, Compiler: {}",
                     device.arch, device.cores,
                     six_digits(static_cast<double>(device.l2_bytes) / kMega),
                     six_digits(static_cast<double>(device.l3_bytes) / kMega), device.compiler);
}

std::string device_line(const OpenClDevice& device) {
  return fmt::format("OpenCL: {}, Cores: {}, Local memory: {} kB, Driver: {}", device.name,
                     device.cores, six_digits(static_cast<double>(device.local_bytes) / 1024.0),
                     device.driver);
}

}  // namespace furlong::verdict
