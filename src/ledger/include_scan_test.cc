#include "ledger/include_scan.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace furlong::ledger {
namespace {

std::vector<std::string> names(std::string_view text) {
  const auto scan = scan_includes(text);
  EXPECT_EQ(scan.unmodelled, "") << text;
  std::vector<std::string> found;
  for (const auto& include : scan.includes) {
    EXPECT_EQ(text.substr(include.begin, include.end - include.begin),
              (include.angled ? "<" : "\"") + include.name + (include.angled ? ">" : "\""));
    found.push_back(include.name);
  }
  return found;
}

using Names = std::vector<std::string>;

TEST(IncludeScan, PlainIncludes) {
  EXPECT_EQ(names(""), Names{});
  EXPECT_EQ(names("#include \"a.hh\""), Names{"a.hh"});
  EXPECT_EQ(names("#include <a/b.hh>\n  #  include\t\"c.hh\"  \r\n"), (Names{"a/b.hh", "c.hh"}));
  EXPECT_EQ(names("#include \"a.hh\"  // why\n#include \"b.hh\" /* and\nmore */\n"),
            (Names{"a.hh", "b.hh"}));
  EXPECT_EQ(names("#if 0\n#include \"a.hh\"\n#endif\n"), Names{"a.hh"});
  EXPECT_EQ(names("/* a comment\n */\n#include \"it's.hh\"\n"), Names{"it's.hh"});
}

TEST(IncludeScan, CodeThatOnlyLooksDifficult) {
  EXPECT_EQ(names("int n = 1'000'000; char q = '\"'; char h = '#';\n#include \"a.hh\"\n"),
            Names{"a.hh"});
  EXPECT_EQ(names("auto s = \"\\\"/*\"; double d = 1e+5'0;\n#include \"a.hh\"\n"), Names{"a.hh"});
  EXPECT_EQ(names("auto r = R\"x(a \" // )\" /* )x\";\n#include \"a.hh\"\n"), Names{"a.hh"});
  EXPECT_EQ(names("#define CAT(a, b) a##b\n#define STR(a) #a\n#pragma once\n"), Names{});
  EXPECT_EQ(names("// a comment that goes on \\\n int x; don't\n#include \"a.hh\"\n"),
            Names{"a.hh"});
  EXPECT_EQ(names("int important = includes; import_all(); a.import = 3;\n"), Names{});
  EXPECT_EQ(names("x = a / b; y = a /c;\n"), Names{});
}

TEST(IncludeScan, WhatIsNotModelled) {
  const std::vector<std::string> cases = {
      "#if __has_include(\"a.hh\")\n#endif\n",
      "#include_next <a.hh>\n",
      "#import \"a.hh\"\n",
      "#embed \"a.bin\"\n",
      "import <vector>;\n",
      "export import \"a.hh\";\n",
      "#define A \"a.hh\"\n#include A\n",
      "#include MACRO(x)\n",
      "#include\n",
      "#include \"\"\n",
      "#include <a.hh\n",
      "#include \"a.hh\" junk\n",
      "// #include \"a.hh\"\n",
      "/* text\n#include \"a.hh\"\n*/\n",
      "/* x */ #include \"a.hh\"\n",
      "# /* x */ include \"a.hh\"\n",
      "#include /* x */ \"a.hh\"\n",
      "#inc\\\nlude \"a.hh\"\n",
      "#\\\ninclude \"a.hh\"\n",
      "int x; \\\n#include \"a.hh\"\n",
      "%:include \"a.hh\"\n",
      "\?\?=include \"a.hh\"\n",
      "auto s = R\"(\n#include \"a.hh\"\n)\";\n",
      "auto s = \"#include <a.hh>\\n\";\n",
      "auto s = u8R\"k(# include <a.hh>)k\";\n",
      "asm(\".incbin \\\"a.bin\\\"\");\n",
      "#error don't\n",
      "char* s = \"open\n",
      "/* open\n",
      "auto s = R\"(open\n",
      "/\\\n* comment */\n",
      "#include \"/abs/a.hh\"\n",
      "#include \"a//b.hh\"\n",
      "R\\\n\"(x)\"\n",
  };
  for (const auto& text : cases) EXPECT_NE(scan_includes(text).unmodelled, "") << text;
}

TEST(IncludeScan, NamesTheLine) {
  EXPECT_EQ(scan_includes("\n\n#include A\n").unmodelled, "3: an include of a macro");
  EXPECT_EQ(scan_includes("\n// #include \"a\"\n").unmodelled, "2: an include in a comment");
}

TEST(IncludeScan, EndsOnEveryPrefix) {
  const std::string text =
      "#include \"a.hh\" /* x */\n#  \\\n include <b>\nR\"d(\")d\" '\\'' 1'0 %: /* */ // \\\n\n";
  for (std::size_t size = 0; size <= text.size(); ++size) scan_includes(text.substr(0, size));
}

}  // namespace
}  // namespace furlong::ledger
