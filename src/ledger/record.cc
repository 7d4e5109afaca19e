#include "ledger/record.hh"

#include <array>

namespace furlong::ledger {
namespace {

constexpr std::array<std::string_view, 5> kStatusNames = {"ok", "eliminated", "bad", "skipped",
                                                          "error"};

}  // namespace

std::string_view status_name(Status status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

std::optional<Status> parse_status(std::string_view name) {
  // Their sizes differ, so that one comparison is enough.
  const auto is = [&](Status status) {
    return name == status_name(status) ? std::optional(status) : std::nullopt;
  };
  switch (name.size()) {
    case 2:
      return is(Status::kOk);
    case 3:
      return is(Status::kBad);
    case 5:
      return is(Status::kError);
    case 7:
      return is(Status::kSkipped);
    case 10:
      return is(Status::kEliminated);
    default:
      return std::nullopt;
  }
}

}  // namespace furlong::ledger
