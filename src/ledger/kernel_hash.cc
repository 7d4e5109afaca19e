#include "ledger/kernel_hash.hh"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/text.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "host/sha256.hh"

namespace furlong::ledger {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Every `"..."` pair, left to right; an unmatched quote ends the scan.
std::vector<std::string> quoted_paths(std::string_view line) {
  std::vector<std::string> paths;
  std::size_t at = 0;
  for (;;) {
    const std::size_t open = line.find('"', at);
    if (open == std::string_view::npos) return paths;
    const std::size_t close = line.find('"', open + 1);
    if (close == std::string_view::npos) return paths;
    paths.emplace_back(line.substr(open + 1, close - open - 1));
    at = close + 1;
  }
}

/// What a line says to the scanner beside its paths.
struct Marker {
  enum class Kind { kNone, kCommon, kFamily, kSourcesBegin, kSourcesEnd, kDepsBegin, kDepsEnd };
  Kind kind = Kind::kNone;
  std::string_view family;
};

Marker marker_of(std::string_view line) {
  std::string_view text = trim(line);
  if (!text.starts_with("//")) return {};
  text = trim(text.substr(2));
  text = text.substr(0, text.find('"'));
  const auto parts = words(text);
  if (parts.empty()) return {};
  const std::string_view first = parts[0];
  if (first == "kernel-sources-begin") return {Marker::Kind::kSourcesBegin, {}};
  if (first == "kernel-sources-end") return {Marker::Kind::kSourcesEnd, {}};
  if (first == "kernel-deps-begin") return {Marker::Kind::kDepsBegin, {}};
  if (first == "kernel-deps-end") return {Marker::Kind::kDepsEnd, {}};
  if (first == "common" && parts.size() == 1) return {Marker::Kind::kCommon, {}};
  if (first.starts_with("family:")) {
    const std::string_view beside = first.substr(7);
    if (!beside.empty()) return {Marker::Kind::kFamily, beside};
    if (parts.size() > 1) return {Marker::Kind::kFamily, parts[1]};
  }
  return {};
}

SourceLists::Family& family_named(SourceLists& lists, std::string_view name) {
  const auto at = std::find_if(lists.families.begin(), lists.families.end(),
                               [&](const auto& family) { return family.name == name; });
  if (at != lists.families.end()) return *at;
  lists.families.push_back({std::string(name), {}, {}});
  return lists.families.back();
}

}  // namespace

std::vector<std::string> SourceLists::files_of(std::string_view family) const {
  std::vector<std::string> files = common;
  const auto at = std::find_if(families.begin(), families.end(),
                               [&](const Family& one) { return one.name == family; });
  if (at != families.end()) append(files, at->own);
  append(files, deps_common);
  if (at != families.end()) append(files, at->deps);
  return files;
}

SourceLists parse_source_lists(std::string_view spec_text, std::string_view file) {
  enum class Block { kNone, kSources, kDeps };
  SourceLists lists;
  Block block = Block::kNone;
  int opened = 0;
  bool any_sources = false;
  std::optional<std::string> family;  // of the open list of the sources block
  int number = 0;
  for (const std::string_view line : split(spec_text, '\n')) {
    ++number;
    const Marker marker = marker_of(line);
    if (block == Block::kNone) {
      if (marker.kind == Marker::Kind::kSourcesBegin) {
        block = Block::kSources;
        any_sources = true;
        family.reset();
        opened = number;
      } else if (marker.kind == Marker::Kind::kDepsBegin) {
        block = Block::kDeps;
        opened = number;
      }
      continue;
    }
    const std::vector<std::string> paths = quoted_paths(line);
    if (block == Block::kSources) {
      if (marker.kind == Marker::Kind::kSourcesEnd) {
        block = Block::kNone;
        continue;
      }
      if (marker.kind == Marker::Kind::kFamily) {
        family = std::string(marker.family);
        family_named(lists, *family);
      } else if (marker.kind == Marker::Kind::kCommon) {
        family.reset();
      }
      append(family ? family_named(lists, *family).own : lists.common, paths);
      append(lists.all, paths);
    } else if (marker.kind == Marker::Kind::kDepsEnd) {
      block = Block::kNone;
    } else if (marker.kind == Marker::Kind::kFamily) {
      append(family_named(lists, marker.family).deps, paths);
    } else if (marker.kind == Marker::Kind::kCommon) {
      append(lists.deps_common, paths);
    }
  }
  if (block != Block::kNone) {
    const std::string_view name = block == Block::kSources ? "kernel-sources" : "kernel-deps";
    throw Error(fmt::format("{}:{}: the {} block is not closed; a line // {}-end closes it", file,
                            opened, name, name));
  }
  if (!any_sources) {
    throw Error(
        fmt::format("{}: no kernel-sources block; it stands between // kernel-sources-begin and "
                    "// kernel-sources-end",
                    file));
  }
  return lists;
}

std::string normalized(std::string_view bytes) {
  // Three passes on purpose: removing a block can make a new `//`, which then counts.
  std::string without_blocks;
  without_blocks.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t open = bytes.find("/*", at);
    if (open == std::string_view::npos) {
      without_blocks.append(bytes.substr(at));
      break;
    }
    without_blocks.append(bytes.substr(at, open - at));
    const std::size_t close = bytes.find("*/", open + 2);
    if (close == std::string_view::npos) break;
    at = close + 2;
  }
  std::string result;
  result.reserve(without_blocks.size());
  const std::string_view text = without_blocks;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find("//", at), text.size());
    for (const char c : text.substr(at, open - at)) {
      if (!is_space(c)) result += c;
    }
    at = std::min(text.find('\n', open), text.size());
  }
  return result;
}

ReadSource read_sources_under(std::filesystem::path root) {
  return [root = std::move(root)](const std::string& path) { return host::read_file(root / path); };
}

std::string hash_list(const std::vector<std::string>& paths, const ReadSource& read) {
  std::string manifest;
  for (const std::string& path : paths) {
    manifest += fmt::format("{} {}\n", host::sha256_hex(normalized(read(path))), path);
  }
  return host::sha256_hex(manifest).substr(0, 8);
}

KernelHashes hash_sources(const SourceLists& lists, const std::vector<std::string>& families,
                          const ReadSource& read) {
  // Each file is read once; its bytes, not its normalized text: normalizing twice is not the same.
  std::unordered_map<std::string, std::string> bytes_of;
  const ReadSource once = [&](const std::string& path) -> std::string {
    const auto at = bytes_of.find(path);
    if (at != bytes_of.end()) return at->second;
    return bytes_of.emplace(path, read(path)).first->second;
  };
  KernelHashes hashes;
  hashes.kernels = hash_list(lists.all, once);
  for (const auto& family : lists.families) {
    hashes.families.emplace_back(family.name, hash_list(lists.files_of(family.name), once));
  }
  for (const std::string& family : families) {
    if (hashes.find(family) != nullptr) continue;
    hashes.families.emplace_back(family, hash_list(lists.files_of(family), once));
  }
  return hashes;
}

HashesNow hashes_of_sources(std::filesystem::path root, std::filesystem::path spec_file) {
  return [root = std::move(root),
          spec_file = std::move(spec_file)](const std::vector<std::string>& families) {
    const SourceLists lists = parse_source_lists(host::read_file(spec_file), spec_file.string());
    return hash_sources(lists, families, read_sources_under(root));
  };
}

}  // namespace furlong::ledger
