#include "select/bound_table.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/number.hh"
#include "furlong/error.hh"
#include "furlong/log.hh"

namespace furlong::select {
namespace {

constexpr std::int64_t kUnnameable = -2;

int exact_prefix(const BoundRow& row, const KeyShape& shape, const Query& query) {
  int matched = 0;
  for (int k = 0; k < shape.count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    if (shape.is_log[i]) continue;
    if (row.keys[i] != query.keys[i]) break;
    ++matched;
  }
  return matched;
}

bool smaller_log_keys(const BoundRow& a, const BoundRow& b, const KeyShape& shape) {
  for (int k = 0; k < shape.count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    if (shape.is_log[i] && a.keys[i] != b.keys[i]) return a.keys[i] < b.keys[i];
  }
  return false;
}

/// 0 sm, 1 gfx, 2 intel, 3 any other, 4 cpu.
int family_place(const std::string& family) {
  if (family == "sm") return 0;
  if (family == "gfx") return 1;
  if (family == "intel") return 2;
  return family == "cpu" ? 4 : 3;
}

}  // namespace

KeyShape::KeyShape(const KeySpec& spec) {
  for (const Key& key : spec.keys()) {
    const auto i = static_cast<std::size_t>(count++);
    is_log.at(i) = key.kind == KeyKind::kLog;
    weight.at(i) = key.weight;
  }
}

Nearest nearest_row(const BoundTable& table, const KeyShape& shape, const Query& query) {
  std::array<double, kMaxKeys> wanted{};
  for (int k = 0; k < shape.count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    if (shape.is_log[i]) {
      wanted[i] = std::log2(static_cast<double>(std::max<std::int64_t>(1, query.keys[i])));
    }
  }
  const auto distance = [&](const BoundRow& row) {
    double sum = 0;
    for (int k = 0; k < shape.count; ++k) {
      const auto i = static_cast<std::size_t>(k);
      if (shape.is_log[i]) sum += shape.weight[i] * std::fabs(row.log2[i] - wanted[i]);
    }
    return sum;
  };

  int prefix = 0;
  for (const BoundRow& row : table.rows) prefix = std::max(prefix, exact_prefix(row, shape, query));
  double smallest = std::numeric_limits<double>::infinity();
  for (const BoundRow& row : table.rows) {
    if (exact_prefix(row, shape, query) >= prefix) smallest = std::min(smallest, distance(row));
  }
  Nearest nearest;
  for (const BoundRow& row : table.rows) {
    if (exact_prefix(row, shape, query) < prefix) continue;
    const double d = distance(row);
    if (d > smallest + 1e-9) continue;
    if (nearest.row == nullptr || smaller_log_keys(row, *nearest.row, shape)) nearest = {&row, d};
  }
  return nearest;
}

BoundTable bind_table(const Table& table, const OpVocabulary& vocabulary, int dtype,
                      std::string_view file, Strictness strictness) {
  if (!(table.keys == vocabulary.keys)) {
    throw Error(file, fmt::format("keys {} are not those of {}; allowed are dtype:exact {}",
                                  table.keys.text(), vocabulary.op, vocabulary.keys.text()));
  }
  const auto& candidates = vocabulary.candidates[static_cast<std::size_t>(dtype)];
  BoundTable bound{table.device, strictness == Strictness::kWarn, {}};
  bound.rows.reserve(table.rows.size());
  const auto& keys = table.keys.keys();
  for (const TableRow& row : table.rows) {
    BoundRow out;
    out.text = row.key_text(table.keys);
    out.tier = row.tier;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (keys[k].kind == KeyKind::kLog) {
        out.keys[k] = *parse_positive(row.key[k]);
        out.log2[k] = std::log2(static_cast<double>(out.keys[k]));
      } else {
        const auto& values = vocabulary.exact_values[k];
        const auto at = std::find(values.begin(), values.end(), row.key[k]);
        out.keys[k] = at == values.end() ? kUnnameable : at - values.begin();
      }
    }
    for (const TableEntry& entry : row.entries) {
      const auto at = std::find(candidates.begin(), candidates.end(), entry.spelling);
      if (at != candidates.end()) {
        BoundEntry bound_entry{static_cast<int>(at - candidates.begin())};
        if (entry.ms) bound_entry.ms = *entry.ms;
        out.entries.push_back(bound_entry);
        continue;
      }
      const std::string what = fmt::format(
          "{}:{}: {} is no {} candidate of {} in long form", file, row.line, entry.spelling,
          vocabulary.dtypes[static_cast<std::size_t>(dtype)], vocabulary.op);
      if (strictness == Strictness::kError) throw Error(what);
      log_line("furlong: " + what + "; skipped");
    }
    if (!out.entries.empty()) bound.rows.push_back(std::move(out));
  }
  return bound;
}

std::vector<std::size_t> borrow_order(const DeviceKey& own, const std::vector<DeviceKey>& devices) {
  const auto place = [&](const DeviceKey& device) {
    // (group, place of the family, family, distance or minus arch, name)
    using Place = std::tuple<int, int, std::string, std::int64_t, std::string>;
    if (device == own) return Place(0, 0, "", 0, "");
    if (device.family == own.family) {
      const auto apart = device.arch - own.arch;
      return Place(apart <= 0 ? 1 : 2, 0, "", std::abs(apart), device.text);
    }
    return Place(3, family_place(device.family), device.family, -device.arch, device.text);
  };
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (own.family == "cpu") {
    order.erase(std::remove_if(order.begin(), order.end(),
                               [&](std::size_t i) { return devices[i].family != "cpu"; }),
                order.end());
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return place(devices[a]) < place(devices[b]);
  });
  return order;
}

}  // namespace furlong::select
