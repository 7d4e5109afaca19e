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
  if (name == "ok") return Status::kOk;  // by far the most
  for (std::size_t i = 0; i < kStatusNames.size(); ++i) {
    if (kStatusNames[i] == name) return static_cast<Status>(i);
  }
  return std::nullopt;
}

}  // namespace furlong::ledger
