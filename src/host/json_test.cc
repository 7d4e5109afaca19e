#include "host/json.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "furlong/error.hh"

namespace furlong::host {
namespace {

TEST(Json, KeepsOrderAndRoundTrips) {
  const std::string text = R"({"b":1,"a":[0.1,"x\n",null,true],"c":{"z":1,"y":2}})";
  EXPECT_EQ(dump_json(parse_json(text, "f")), text);
}

TEST(Json, RefusesTwiceNamedFieldsAtEveryDepth) {
  for (const auto* bad :
       {R"({"a":1,"a":1})", R"({"x":{"a":1,"b":2,"a":3}})", R"([{"a":{"c":0},"b":0,"a":1}])"}) {
    EXPECT_THROW(parse_json(bad, "f"), Error) << bad;
  }
  EXPECT_NO_THROW(parse_json(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]})", "f"));
}

TEST(Json, ErrorsNameThePlace) {
  for (const auto* bad : {"", "{", "{\"a\":NaN}", "{} x", "\"\xff\""}) {
    try {
      parse_json(bad, "some/file.json");
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("some/file.json: ", 0), 0u) << error.what();
    }
  }
}

TEST(Json, NeverNan) {
  const double nan = std::nan("");
  EXPECT_EQ(dump_json(Json{{"a", json_number(nan)}, {"b", json_number(0.1)}}),
            R"({"a":null,"b":0.1})");
  EXPECT_THROW(dump_json(Json{{"a", {1.0, nan}}}), std::invalid_argument);
  EXPECT_THROW(dump_json(Json(std::numeric_limits<double>::infinity())), std::invalid_argument);
}

TEST(Json, BadBytesAreReplaced) {
  EXPECT_EQ(dump_json(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace furlong::host
