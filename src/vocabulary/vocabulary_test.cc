#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "furlong/cell_key.hh"
#include "furlong/device_key.hh"
#include "furlong/dtype.hh"
#include "furlong/key_spec.hh"
#include "furlong/spelling.hh"
#include "support/shared.hh"

namespace furlong {
namespace {

using testing::shared_folder;
using testing::slurp;

TEST(Spelling, GrammarVectors) {
  FURLONG_NEEDS_SHARED("vectors/grammar.json");
  const auto grammar =
      nlohmann::ordered_json::parse(slurp(shared_folder() / "vectors/grammar.json"));
  std::vector<FamilySchema> families;
  for (const auto& [name, fields] : grammar["families"].items()) {
    families.push_back({name, fields.get<std::vector<std::string>>()});
  }
  ASSERT_GT(grammar["spelling"].size(), 20u);
  for (const auto& item : grammar["spelling"]) {
    const auto input = item[0].get<std::string>();
    const auto parsed = parse_spelling(input, families);
    if (item[1].is_null()) {
      EXPECT_FALSE(parsed) << input;
      EXPECT_FALSE(parsed.reason().empty()) << input;
    } else {
      ASSERT_TRUE(parsed) << input << ": " << parsed.reason();
      EXPECT_EQ(parsed->text(), item[1].get<std::string>());
    }
  }
  ASSERT_GT(grammar["keyspec"].size(), 15u);
  for (const auto& item : grammar["keyspec"]) {
    const auto input = item[0].get<std::string>();
    EXPECT_EQ(static_cast<bool>(KeySpec::parse(input)), item[1].get<bool>()) << input;
  }
}

struct Plain {
  static constexpr std::string_view kFamily = "plain";
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Plain&) const = default;
};
struct Wide {
  static constexpr std::string_view kFamily = "wide";
  static constexpr auto fields() { return std::tuple{field("a", &Wide::a), field("b", &Wide::b)}; }
  std::int32_t a = 0;
  std::int32_t b = 0;
  bool operator==(const Wide&) const = default;
};
using Choice = std::variant<Plain, Wide>;

TEST(Spelling, ChoicesRoundTripAndSayWhatIsWrong) {
  EXPECT_EQ(to_spelling(Choice{Wide{3, -4}}).text(), "wide:a=3:b=-4");
  EXPECT_EQ(*parse_choice<Choice>("wide:b=-4:a=3"), Choice(Wide{3, -4}));
  EXPECT_EQ(*parse_choice<Choice>("plain"), Choice(Plain{}));
  const auto reason = [](std::string_view text) { return parse_choice<Choice>(text).reason(); };
  EXPECT_NE(reason("wider").find("unknown family"), std::string::npos);
  EXPECT_NE(reason("wide:1").find("takes 2 fields"), std::string::npos);
  EXPECT_NE(reason("wide:a=1:c=2").find("no field"), std::string::npos);
  EXPECT_NE(reason("wide:1:a=2").find("given twice"), std::string::npos);
  EXPECT_NE(reason("wide:1:2x").find("whole base-10"), std::string::npos);
  EXPECT_NE(reason("wide: 1:2").find("white space"), std::string::npos);
  EXPECT_NE(reason("WIDE:1:2").find("wrong case"), std::string::npos);
  EXPECT_FALSE(parse_choice<Choice>("wide:2147483648:0"));
  EXPECT_TRUE(parse_choice<Choice>("wide:-2147483648:0"));
}

TEST(DeviceKey, FamiliesAndArchitectures) {
  const auto check = [](std::string_view text, std::string_view family, std::int64_t arch) {
    const auto key = DeviceKey::parse(text);
    ASSERT_TRUE(key) << text;
    EXPECT_EQ(key->family, family) << text;
    EXPECT_EQ(key->arch, arch) << text;
  };
  check("sm_90", "sm", 90);
  check("sm_90a", "sm", 90);
  check("sm_x", "sm_x", 0);
  check("sm_90ab", "sm_90ab", 0);
  check("gfx90a", "gfx", 90);
  check("gfx1100", "gfx", 1100);
  check("gfx", "gfx", 0);
  check("intel", "intel", 0);
  check("intel_12", "intel", 0);
  check("intelx", "intelx", 0);
  check("cpu_sse4", "cpu", 128);
  check("cpu_neon", "cpu", 128);
  check("cpu_avx2_haswell", "cpu", 256);
  check("cpu_avx512", "cpu", 512);
  check("cpu_avx512_zen5", "cpu", 512);
  check("cpu_avx5120", "cpu", 0);
  check("cpu", "cpu", 0);
  check("cpu_rvv", "cpu", 0);
  check("ocl_pocl", "ocl", 0);
  check("tpu", "tpu", 0);
  EXPECT_FALSE(DeviceKey::parse(""));
  EXPECT_FALSE(DeviceKey::parse("SM_90"));
  EXPECT_FALSE(DeviceKey::parse("sm-90"));
}

TEST(DeviceKey, ThisCpuIsACpu) {
  EXPECT_EQ(this_cpu().family, "cpu");
  EXPECT_TRUE(DeviceKey::parse(this_cpu().text));
  EXPECT_FALSE(this_cpu_name().empty());
}

TEST(CellKey, ParsesPrintsAndRefuses) {
  const auto key = CellKey::parse("uplo=L,n=8,batch=128");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->text(), "uplo=L,n=8,batch=128");
  EXPECT_EQ(*key->find("n"), "8");
  EXPECT_EQ(key->find("m"), nullptr);
  for (const auto* bad : {"", "n", "n=", "=8", "n=8,n=8", "n=8,", ",n=8", "n= 8", "n=8, m=1"}) {
    EXPECT_FALSE(CellKey::parse(bad)) << bad;
  }
}

TEST(DtypeList, OrderAndRefusals) {
  const DtypeList list;
  EXPECT_EQ(list.index("cdouble"), 3);
  EXPECT_EQ(list.index("half"), -1);
  EXPECT_EQ(DtypeList({"bf16", "f16"}).index("f16"), 1);
  EXPECT_THROW(DtypeList(std::vector<std::string>{}), std::invalid_argument);
  EXPECT_THROW(DtypeList({"a", "a"}), std::invalid_argument);
  EXPECT_THROW(DtypeList({"A"}), std::invalid_argument);
}

}  // namespace
}  // namespace furlong
