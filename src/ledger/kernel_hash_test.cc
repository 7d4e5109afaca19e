#include "ledger/kernel_hash.hh"

#include <gtest/gtest.h>

#include "furlong/error.hh"
#include "host/files.hh"
#include "host/json.hh"
#include "host/sha256.hh"
#include "support/shared.hh"
#include "support/temporary.hh"

namespace furlong::ledger {
namespace {

using Paths = std::vector<std::string>;

ReadSource named(const std::vector<std::pair<std::string, std::string>>& files) {
  return [files](const std::string& path) {
    for (const auto& [name, bytes] : files) {
      if (name == path) return bytes;
    }
    throw Error(path, "no such file");
  };
}

TEST(Normalized, DropsBlocksThenLinesThenSpace) {
  EXPECT_EQ(normalized("int a; // b\n int c;\t\v\f\r"), "inta;intc;");
  EXPECT_EQ(normalized("a/* b\n c */d"), "ad");
  EXPECT_EQ(normalized("a/*/b*/c"), "ac");
  EXPECT_EQ(normalized("a/* never closed"), "a");
  EXPECT_EQ(normalized("\"//\" x\ny"), "\"y");
  EXPECT_EQ(normalized("a / / b"), "a//b");
  EXPECT_EQ(normalized("a/* */b /* c"), "ab");
  EXPECT_EQ(normalized("x //*y*/ z\nw"), "x/zw");
  EXPECT_EQ(normalized("/"
                       "/**/"
                       "/ gone\nkept"),
            "kept");
  EXPECT_EQ(normalized(""), "");
}

TEST(SourceLists, BlocksAndMarkers) {
  const SourceLists lists = parse_source_lists(R"(
"outside.cc"
// kernel-sources-begin
  "a.cc" , "b.cc" "open
// family: lanes "l1.cc"
  "l2.cc"
// common
  "c.cc"
// family: lanes
  "l3.cc"
// kernel-sources-end
// kernel-deps-begin
  "ignored.cc"
// family: blocked "d1.cc" "d2.cc"
// common "d3.cc"
// family: lanes "d4.cc"
// kernel-deps-end
)",
                                               "spec.cc");
  EXPECT_EQ(lists.all, (Paths{"a.cc", "b.cc", "l1.cc", "l2.cc", "c.cc", "l3.cc"}));
  EXPECT_EQ(lists.files_of("lanes"),
            (Paths{"a.cc", "b.cc", "c.cc", "l1.cc", "l2.cc", "l3.cc", "d3.cc", "d4.cc"}));
  EXPECT_EQ(lists.files_of("blocked"), (Paths{"a.cc", "b.cc", "c.cc", "d3.cc", "d1.cc", "d2.cc"}));
  EXPECT_EQ(lists.files_of("vendor"), (Paths{"a.cc", "b.cc", "c.cc", "d3.cc"}));
  ASSERT_EQ(lists.families.size(), 2U);
  EXPECT_EQ(lists.families[0].name, "lanes");
  EXPECT_EQ(lists.families[1].name, "blocked");
}

TEST(SourceLists, RefusesAnOpenBlockAndNoBlock) {
  try {
    parse_source_lists("\n// kernel-sources-begin\n\"a\"\n", "spec.cc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("spec.cc:2: ")) << error.what();
  }
  EXPECT_THROW(parse_source_lists("int x;", "spec.cc"), Error);
}

TEST(KernelHash, ManifestIsWhatItSays) {
  const ReadSource read = named({{"a", "x / / y"}, {"b", "// nothing\n"}});
  const std::string manifest = host::sha256_hex("x//y") + " a\n" + host::sha256_hex("") + " b\n" +
                               host::sha256_hex("x//y") + " a\n";
  EXPECT_EQ(hash_list({"a", "b", "a"}, read), host::sha256_hex(manifest).substr(0, 8));
  SourceLists lists;
  lists.all = lists.common = {"a", "b", "a"};
  const KernelHashes hashes = hash_sources(lists, {"vendor"}, read);
  EXPECT_EQ(hashes.kernels, hash_list({"a", "b", "a"}, read));
  ASSERT_NE(hashes.find("vendor"), nullptr);
  EXPECT_EQ(*hashes.find("vendor"), hashes.kernels);
}

TEST(KernelHash, MissingFileIsNamed) {
  testing::TemporaryFolder folder;
  try {
    hash_list({"src/gone.cc"}, read_sources_under(folder.path()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("src/gone.cc"), std::string::npos) << error.what();
  }
}

TEST(KernelHash, Vectors) {
  FURLONG_NEEDS_SHARED("vectors/hash/expected.json");
  const auto root = testing::shared_folder() / "vectors" / "hash";
  const auto expected = host::parse_json(testing::slurp(root / "expected.json"), "expected.json");
  int files = 0;
  for (const auto& [path, digest] : expected.at("normalized_sha256").items()) {
    ++files;
    EXPECT_EQ(host::sha256_hex(normalized(testing::slurp(root / path))), digest.get<std::string>())
        << path;
  }
  EXPECT_GE(files, 15);
  const KernelHashes hashes = hashes_of_sources(root, root / "specs" / "demo.cc")({});
  EXPECT_EQ(hashes.kernels, expected.at("kernels").get<std::string>());
  EXPECT_EQ(hashes.families.size(), expected.at("families").size());
  for (const auto& [family, hash] : expected.at("families").items()) {
    ASSERT_NE(hashes.find(family), nullptr) << family;
    EXPECT_EQ(*hashes.find(family), hash.get<std::string>()) << family;
  }
}

}  // namespace
}  // namespace furlong::ledger
