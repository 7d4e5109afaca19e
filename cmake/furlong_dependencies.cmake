# Every third-party library, found once; scripts/setup.sh installs them all. Nothing is fetched.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(simdjson REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Protobuf 3.15 REQUIRED)
find_package(hwy REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(LIBGIT2 REQUIRED IMPORTED_TARGET libgit2)

# toml++ is used header-only: its CMake target switches to the shared library.
find_path(FURLONG_TOMLPP_INCLUDE_DIR toml++/toml.h REQUIRED)
# Named files, not -lblas or -llapacke: those follow the system's alternatives.
find_library(FURLONG_OPENBLAS_LIBRARY NAMES openblas PATH_SUFFIXES openblas-pthread REQUIRED)
if(FURLONG_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
if(FURLONG_BENCH)
  find_package(benchmark REQUIRED)
endif()
