// The vocabulary of potrf: families, candidates, keys, grid, last resort. Spelled here only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/spelling.hh"

namespace furlong::blas::potrf {

/// Plain loops over one matrix; order <= kMaxSmallOrder.
struct Direct {
  static constexpr std::string_view kFamily = "direct";
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Direct&) const = default;
};

/// One matrix per SIMD lane, `u` vectors of matrices at once; order <= kMaxSmallOrder.
struct Lanes {
  static constexpr std::string_view kFamily = "lanes";
  static constexpr auto fields() { return std::tuple{field("u", &Lanes::u)}; }
  std::int32_t u = 1;
  bool operator==(const Lanes&) const = default;
};

/// Panels of `nb` columns, one matrix vectorised inside.
struct Blocked {
  static constexpr std::string_view kFamily = "blocked";
  static constexpr auto fields() { return std::tuple{field("nb", &Blocked::nb)}; }
  std::int32_t nb = 32;
  bool operator==(const Blocked&) const = default;
};

/// A loop over OpenBLAS.
struct Vendor {
  static constexpr std::string_view kFamily = "vendor";
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Vendor&) const = default;
};

using Choice = std::variant<Direct, Lanes, Blocked, Vendor>;

inline constexpr std::string_view kOp = "potrf";
inline constexpr std::string_view kKeys = "uplo:exact n:log:3 batch:log";
inline constexpr std::array<std::string_view, 2> kUploValues = {"L", "U"};
inline constexpr std::array<std::string_view, 2> kDtypes = {"float", "double"};
inline constexpr std::array<std::string_view, 2> kLastResort = {Blocked::kFamily, Vendor::kFamily};

/// `direct` and `lanes` are implemented up to this order.
inline constexpr std::int64_t kMaxSmallOrder = 64;

/// Every candidate, in tie order; the same for both dtypes.
inline const std::vector<Choice>& candidates() {
  static const std::vector<Choice> all = {Direct{},    Lanes{1},    Lanes{2},    Lanes{4},
                                          Blocked{16}, Blocked{32}, Blocked{64}, Vendor{}};
  return all;
}

/// The grid at which the op is raced.
inline std::vector<Axis> axes() {
  return {Axis{"uplo", AxisKind::kExact, {kUploValues.begin(), kUploValues.end()}},
          log_axis("n",
                   {1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512}),
          log_axis("batch", {1, 16, 128, 1024, 8192})};
}

}  // namespace furlong::blas::potrf
