// Build step: writes the table files of a folder as C++ source.
//
//     furlong_embed_tables <namespace::function> <output.cc> <dtype,...> <file>...
//
// The output defines `std::span<const furlong::select::EmbeddedTable> <namespace::function>()`. A
// file that is not named <op>.<device>.txt or that does not parse fails the build.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.hh"
#include "furlong/error.hh"
#include "furlong/table.hh"

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw furlong::Error(path, "cannot be read");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A char array, not a string literal: those have a length limit.
std::string array_text(std::size_t index, const std::string& bytes) {
  std::string text = fmt::format("constexpr char kText{}[] = {{", index);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 24 == 0) text += "\n   ";
    text += fmt::format(" {},", static_cast<int>(static_cast<signed char>(bytes[i])));
  }
  return text + " 0};\n";
}

std::string source_text(const std::string& function, const std::vector<std::string>& files,
                        const furlong::DtypeList& dtypes) {
  const auto at = function.rfind("::");
  const std::string scope = function.substr(0, at);
  const std::string name = function.substr(at + 2);
  std::string arrays;
  std::string list;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string bytes = read_file(files[i]);
    furlong::parse_tables(bytes, files[i], dtypes);
    arrays += array_text(i, bytes);
    list += fmt::format("      EmbeddedTable{{\"{}\", {{kText{}, sizeof(kText{}) - 1}}}},\n",
                        files[i].substr(files[i].rfind('/') + 1), i, i);
  }
  const std::string body = files.empty()
                               ? "  return {};\n"
                               : fmt::format(
                                     "  static constexpr EmbeddedTable kTables[] = {{\n{}  }};\n"
                                     "  return kTables;\n",
                                     list);
  return fmt::format(
      "// Generated from table files.\n"
      "#include <span>\n\n"
      "#include \"furlong/select.hh\"\n\n"
      "namespace {0} {{\n"
      "namespace {{\n"
      "[[maybe_unused]] constexpr int kFiles = {4};\n{1}"
      "}}  // namespace\n\n"
      "using furlong::select::EmbeddedTable;\n"
      "std::span<const EmbeddedTable> {2}();\n"
      "std::span<const EmbeddedTable> {2}() {{\n{3}}}\n"
      "}}  // namespace {0}\n",
      scope, arrays, name, body, files.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || std::string(argv[1]).find("::") == std::string::npos) {
    std::fputs("usage: furlong_embed_tables NAMESPACE::FUNCTION OUTPUT DTYPES [FILE...]\n", stderr);
    return 2;
  }
  try {
    std::vector<std::string> names;
    for (const auto name : furlong::split(argv[3], ',')) names.emplace_back(name);
    const auto text = source_text(argv[1], {argv + 4, argv + argc}, furlong::DtypeList(names));
    std::ofstream out(argv[2], std::ios::binary);
    out << text;
    if (!out.flush()) throw furlong::Error(argv[2], "cannot be written");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
