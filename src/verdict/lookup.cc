#include "verdict/lookup.hh"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "base/text.hh"

namespace furlong::verdict {
namespace {

constexpr std::size_t kShownBytes = 96;

std::uint64_t word(const char* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t fold(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0x9E3779B97F4A7C15ULL;
  return value ^ (value >> 29);
}

/// Four independent lanes of eight bytes: a key of 2 kB takes about 100 ns.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
  constexpr std::uint64_t kOdd[4] = {0xA0761D6478BD642FULL, 0xE7037ED1A0B428DBULL,
                                     0x8EBC6AF09C88C6E3ULL, 0x589965CC75374CC3ULL};
  std::uint64_t lanes[4] = {seed, seed ^ kOdd[0], seed ^ kOdd[1], seed ^ kOdd[2]};
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 32; left -= 32, at += 32) {
    for (int lane = 0; lane < 4; ++lane) {
      lanes[lane] = std::rotl((lanes[lane] ^ word(at + 8 * lane)) * kOdd[lane], 27);
    }
  }
  std::uint64_t hash = bytes.size() * 0x9E3779B97F4A7C15ULL;
  for (const std::uint64_t lane : lanes) hash = fold(hash ^ lane);
  for (; left >= 8; left -= 8, at += 8) hash = fold(hash ^ word(at));
  if (left > 0) {
    std::uint64_t rest = 0;
    std::memcpy(&rest, at, left);
    hash = fold(hash ^ rest);
  }
  return hash;
}

std::uint64_t hash_key(std::string_view device, std::string_view computation) {
  return hash_bytes(computation, hash_bytes(device, 1));
}

std::string shown(const std::optional<std::string>& value) {
  return value ? printable(*value) : std::string("none");
}

}  // namespace

LookUp::LookUp(std::vector<Verdict> verdicts) : verdicts_(std::move(verdicts)) {
  slots_.resize(std::bit_ceil(2 * verdicts_.size() + 1));
  for (std::size_t i = 0; i < verdicts_.size(); ++i) {
    const std::string_view device = verdicts_[i].device();
    const std::string_view computation = verdicts_[i].computation();
    const auto version = verdicts_[i].entry_version();
    const Entry entry{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(device.size()),
                      static_cast<std::uint32_t>(computation.size()), version.value_or(0),
                      version.has_value()};
    const auto hash = hash_key(device, computation);
    auto at = hash & (slots_.size() - 1);
    while (slots_[at].entry != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {hash, entries_.size() + 1};
    char header[sizeof entry];
    std::memcpy(header, &entry, sizeof entry);
    entries_.append(header, sizeof entry).append(device).append(computation);
  }
}

template <class Wanted>
std::int64_t LookUp::find_entry(std::string_view device, std::string_view computation,
                                const Wanted& wanted) const {
  const auto hash = hash_key(device, computation);
  for (auto at = hash & (slots_.size() - 1); slots_[at].entry != 0;
       at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].hash != hash) continue;
    const char* bytes = entries_.data() + (slots_[at].entry - 1);
    Entry entry;
    std::memcpy(&entry, bytes, sizeof entry);
    bytes += sizeof entry;
    if (std::string_view(bytes, entry.device_size) == device &&
        std::string_view(bytes + entry.device_size, entry.computation_size) == computation &&
        wanted(entry)) {
      return entry.index;
    }
  }
  return -1;
}

const Verdict* LookUp::find(std::string_view device, std::string_view computation,
                            std::optional<std::int32_t> version) const {
  const auto found = find_entry(device, computation, [&](const Entry& entry) {
    return entry.has_version == version.has_value() && entry.version == version.value_or(0);
  });
  return found < 0 ? nullptr : &verdicts_[static_cast<std::size_t>(found)];
}

std::vector<const Verdict*> LookUp::find_any_version(std::string_view device,
                                                     std::string_view computation) const {
  std::vector<const Verdict*> found;
  find_entry(device, computation, [&](const Entry& entry) {
    found.push_back(&verdicts_[entry.index]);
    return false;
  });
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<NearMiss> nearest_miss(std::span<const Verdict> verdicts, const Key& wanted) {
  std::optional<NearMiss> best;
  // The computation counts first: another one is another kernel, whatever the device.
  using Distance = std::pair<double, double>;
  constexpr double kFar = std::numeric_limits<double>::infinity();
  Distance least{kFar, kFar};
  std::map<std::string_view, std::vector<ClauseDifference>> devices;
  for (const auto& verdict : verdicts) {
    NearMiss miss;
    miss.nearest = &verdict;
    auto known = devices.find(verdict.device());
    if (known == devices.end()) {
      auto compared = compare_devices(wanted.device, verdict.device());
      known = devices.emplace(verdict.device(), std::move(compared)).first;
    }
    miss.clauses = known->second;
    miss.lines = diff_lines(wanted.computation, verdict.computation());
    miss.version_differs = wanted.version && verdict.entry_version() != wanted.version;
    const bool whole_device = miss.clauses.size() == 1 && miss.clauses.front().clause == "device";
    const double clauses = whole_device ? 100.0 : static_cast<double>(miss.clauses.size());
    const Distance distance{line_distance(miss.lines),
                            clauses + (miss.version_differs ? 0.5 : 0.0)};
    if (distance >= least) continue;
    least = distance;
    best = std::move(miss);
  }
  return best;
}

std::vector<std::string> explain(const NearMiss& miss, const Key& wanted) {
  std::vector<std::string> lines;
  for (const auto& clause : miss.clauses) {
    lines.push_back(fmt::format("clause {}: wanted {}, here {}", printable(clause.clause),
                                shown(clause.wanted), shown(clause.found)));
  }
  if (miss.version_differs) {
    const auto here = miss.nearest->entry_version();
    lines.push_back(fmt::format("entry version: wanted {}, here {}", *wanted.version,
                                here ? std::to_string(*here) : "none"));
  }
  for (const auto& line : miss.lines) {
    if (line.a && line.b) {
      const auto window = differing_window(*line.a, *line.b, kShownBytes);
      lines.push_back(fmt::format("line {}, column {}: wanted {}", line.line_a, window.column,
                                  printable(trim(window.a))));
      lines.push_back(fmt::format("line {}, column {}:   here {}", line.line_b, window.column,
                                  printable(trim(window.b))));
    } else if (line.a) {
      lines.push_back(fmt::format("line {}: wanted {}, here none", line.line_a,
                                  printable(trim(differing_window(*line.a, "", kShownBytes).a))));
    } else {
      lines.push_back(fmt::format("line {}: wanted none, here {}", line.line_b,
                                  printable(trim(differing_window(*line.b, "", kShownBytes).a))));
    }
  }
  return lines;
}

}  // namespace furlong::verdict
