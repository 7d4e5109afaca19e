#include "host/json.hh"

#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/text.hh"
#include "furlong/error.hh"

namespace furlong::host {
namespace {

void refuse_non_finite(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    throw std::invalid_argument("dump_json: a number is not finite; use json_number()");
  }
  if (value.is_structured()) {
    for (const Json& item : value) refuse_non_finite(item);
  }
}

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!open.back().insert(name).second) {
        throw Error(where,
                    "field " + furlong::quoted(name) + " stands twice; name each field once");
      }
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& failure) {
    throw Error(where, std::string("bad JSON: ") + failure.what());
  }
}

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

std::string dump_json(const Json& value, int indent) {
  refuse_non_finite(value);
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace furlong::host
