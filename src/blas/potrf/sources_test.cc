// The kernel-sources block of potrf against the tree.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "blas/potrf/choice.hh"

namespace furlong::blas::potrf {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Family (empty: common) to the files of the block.
std::map<std::string, std::vector<std::string>> block() {
  std::map<std::string, std::vector<std::string>> files;
  std::istringstream in(read(fs::path(FURLONG_SOURCE_DIR) / "src/blas/potrf/spec.cc"));
  std::string line;
  std::string family;
  bool inside = false;
  while (std::getline(in, line)) {
    if (line == "// kernel-sources-begin") inside = true;
    if (line == "// kernel-sources-end") break;
    if (!inside) continue;
    if (const auto at = line.find("// family: "); at != line.npos) family = line.substr(at + 11);
    for (auto at = line.find('"'); at != line.npos; at = line.find('"', at)) {
      const auto end = line.find('"', at + 1);
      files[family].push_back(line.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return files;
}

/// Files of src/ that `file` includes, whatever the include path order.
std::set<std::string> includes_of(const std::string& file) {
  std::set<std::string> found;
  std::istringstream in(read(fs::path(FURLONG_SOURCE_DIR) / file));
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("#include \"", 0) != 0) continue;
    const auto end = line.find('"', 10);
    const std::string path = "src/" + line.substr(10, end - 10);
    if (fs::exists(fs::path(FURLONG_SOURCE_DIR) / path)) found.insert(path);
  }
  return found;
}

TEST(PotrfSources, EveryFamilyAndFileIsThere) {
  const auto files = block();
  std::set<std::string> families;
  for (const FamilySchema& schema : schemas_of<Choice>()) families.insert(schema.name);
  std::set<std::string> named;
  for (const auto& [family, list] : files) {
    if (!family.empty()) named.insert(family);
    for (const std::string& file : list) {
      EXPECT_TRUE(fs::exists(fs::path(FURLONG_SOURCE_DIR) / file)) << file;
    }
  }
  EXPECT_EQ(named, families);
}

TEST(PotrfSources, EveryHeaderThatAFamilyReachesIsListed) {
  const auto files = block();
  const std::vector<std::string>& common = files.at("");
  for (const auto& [family, list] : files) {
    if (family.empty()) continue;
    std::set<std::string> listed(common.begin(), common.end());
    listed.insert(list.begin(), list.end());
    std::vector<std::string> open = list;
    std::set<std::string> seen;
    while (!open.empty()) {
      const std::string file = open.back();
      open.pop_back();
      if (!seen.insert(file).second) continue;
      EXPECT_TRUE(listed.count(file) == 1) << family << " reaches " << file;
      for (const std::string& next : includes_of(file)) open.push_back(next);
    }
    EXPECT_GE(seen.size(), 3U) << family;
  }
}

}  // namespace
}  // namespace furlong::blas::potrf
