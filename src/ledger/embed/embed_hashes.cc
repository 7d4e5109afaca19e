// Build step: writes an op's kernel hashes as C++ source.
//
//     furlong_embed_hashes <root> <spec file> <namespace::function> <output.cc> <depfile>
//
// The output defines `KernelHashes <namespace::function>(const std::vector<std::string>&
// families)`: the op-level hash and one per family, for families that the spec file does not name
// too. The depfile lists every source that the hashes cover, so that an edit runs the step again.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <set>
#include <string>

#include "furlong/error.hh"
#include "host/files.hh"
#include "ledger/kernel_hash.hh"

namespace {

using furlong::ledger::SourceLists;

std::string source_text(const SourceLists& lists, const std::string& function,
                        const furlong::ledger::ReadSource& read) {
  const auto at = function.rfind("::");
  const std::string scope = function.substr(0, at);
  const std::string name = function.substr(at + 2);
  const auto hashes = furlong::ledger::hash_sources(lists, {}, read);
  std::string named;
  for (const auto& [family, hash] : hashes.families) {
    named += fmt::format("  if (family == \"{}\") return \"{}\";\n", family, hash);
  }
  const std::string other = furlong::ledger::hash_list(lists.files_of(""), read);
  return fmt::format(
      "// Generated from the kernel-sources block of an op's spec file.\n"
      "#include \"furlong/kernel_hashes.hh\"\n\n"
      "namespace {0} {{\n"
      "namespace {{\n"
      "std::string hash_of([[maybe_unused]] const std::string& family) {{\n{1}"
      "  return \"{2}\";\n}}\n"
      "}}  // namespace\n\n"
      "furlong::KernelHashes {3}(const std::vector<std::string>& families);\n"
      "furlong::KernelHashes {3}(const std::vector<std::string>& families) {{\n"
      "  furlong::KernelHashes hashes{{\"{4}\", {{}}}};\n"
      "  for (const std::string& family : families) {{\n"
      "    hashes.families.emplace_back(family, hash_of(family));\n"
      "  }}\n"
      "  return hashes;\n"
      "}}\n"
      "}}  // namespace {0}\n",
      scope, named, other, name, hashes.kernels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: furlong_embed_hashes ROOT SPEC NAMESPACE::FUNCTION OUTPUT DEPFILE\n",
               stderr);
    return 2;
  }
  const std::filesystem::path root = argv[1];
  const std::filesystem::path spec = argv[2];
  const std::string function = argv[3];
  if (function.find("::") == std::string::npos) {
    std::fputs("furlong_embed_hashes: the function needs a namespace\n", stderr);
    return 2;
  }
  try {
    std::set<std::string> reached = {spec.string()};
    const auto under_root = furlong::ledger::read_sources_under(root);
    const auto lists =
        furlong::ledger::parse_source_lists(furlong::host::read_file(spec), spec.string());
    const std::string text = source_text(lists, function, [&](const std::string& path) {
      reached.insert((root / path).string());
      return under_root(path);
    });
    std::string dependencies = std::string(argv[4]) + ":";
    for (const std::string& path : reached) dependencies += " \\\n  " + path;
    furlong::host::write_file_atomically(argv[4], text);
    furlong::host::write_file_atomically(argv[5], dependencies + "\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "furlong_embed_hashes: %s\n", error.what());
    return 1;
  }
  return 0;
}
