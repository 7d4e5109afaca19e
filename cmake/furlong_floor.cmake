# Targets of the house. A floor part is a static library furlong_<part> (alias furlong::<part>)
# made from src/<part>/*.cc; files ending in _test.cc become the test program <part>_test.
include(GNUInstallDirs)

add_library(furlong_options INTERFACE)
target_compile_options(furlong_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  # Clang's -Wconversion takes in -Wsign-conversion, g++'s does not: one set for both.
  $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-sign-conversion>
  $<$<BOOL:${FURLONG_WERROR}>:-Werror>)
if(FURLONG_SANITIZE)
  string(REPLACE "," ";" _sanitizers "${FURLONG_SANITIZE}")
  foreach(_sanitizer IN LISTS _sanitizers)
    target_compile_options(furlong_options INTERFACE -fsanitize=${_sanitizer})
    target_link_options(furlong_options INTERFACE -fsanitize=${_sanitizer})
  endforeach()
  target_compile_options(furlong_options INTERFACE -fno-omit-frame-pointer -fno-sanitize-recover=all)
endif()

# furlong_floor(<part> [FOLDERS sub...] [USES part...] [LINKS target...])
#   USES: floor parts (PUBLIC). LINKS: third-party targets (PRIVATE). FOLDERS: subfolders to take too.
#   EXCLUDE: file names (relative) that belong to another target.
function(furlong_floor part)
  cmake_parse_arguments(ARG "" "" "FOLDERS;USES;LINKS;EXCLUDE" ${ARGN})
  set(patterns *.cc)
  foreach(folder IN LISTS ARG_FOLDERS)
    list(APPEND patterns ${folder}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${patterns})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(ARG_EXCLUDE)
    list(REMOVE_ITEM sources ${ARG_EXCLUDE})
    list(REMOVE_ITEM tests ${ARG_EXCLUDE})
  endif()
  add_library(furlong_${part} STATIC ${sources})
  add_library(furlong::${part} ALIAS furlong_${part})
  target_include_directories(furlong_${part} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(furlong_${part} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  foreach(use IN LISTS ARG_USES)
    target_link_libraries(furlong_${part} PUBLIC furlong::${use})
  endforeach()
  target_link_libraries(furlong_${part} PRIVATE $<BUILD_INTERFACE:furlong_options> ${ARG_LINKS})
  if(FURLONG_TESTS AND tests)
    furlong_test(${part}_test SOURCES ${tests} USES ${part})
  endif()
endfunction()

# furlong_test(<name> SOURCES file... [USES part...] [LINKS target...] [LABELS label...])
function(furlong_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  foreach(use IN LISTS ARG_USES)
    target_link_libraries(${name} PRIVATE furlong::${use})
  endforeach()
  target_link_libraries(${name} PRIVATE furlong_options fmt::fmt ${ARG_LINKS} GTest::gtest_main rapidcheck)
  target_compile_definitions(${name} PRIVATE FURLONG_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "unit;${ARG_LABELS}" TIMEOUT 1800)
endfunction()
