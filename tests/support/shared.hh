// Where the shared golden vectors and real files are, for tests that read them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace furlong::testing {

/// The folder named by FURLONG_SHARED, default `../shared` beside the source tree.
inline std::filesystem::path shared_folder() {
  const char* named = std::getenv("FURLONG_SHARED");
  if (named != nullptr && *named != '\0') return named;
  return std::filesystem::path(FURLONG_SOURCE_DIR) / ".." / "shared";
}

inline std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace furlong::testing

/// Skips the running test, with the reason, when a shared file is not there.
#define FURLONG_NEEDS_SHARED(relative)                                                   \
  do {                                                                                   \
    if (!std::filesystem::exists(furlong::testing::shared_folder() / (relative))) {      \
      GTEST_SKIP() << "no " << (furlong::testing::shared_folder() / (relative)).string() \
                   << "; set FURLONG_SHARED";                                            \
    }                                                                                    \
  } while (false)
