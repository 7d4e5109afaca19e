#include "verdict/source.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <system_error>

#include "base/text.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "verdict/folder.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

constexpr std::string_view kJoins =
    "furlong verdicts import joins them with a cache that has the keys";

/// How caches begin: with the version or with an entry as the reference printer writes them, and in
/// binary with the version and the tag of an entry.
constexpr std::array<std::string_view, 10> kStarts{
    "version: 1", "version: 2",   "version: 3",   "results {",    "dots {",
    "convs {",    "\x08\x01\x12", "\x08\x01\x1a", "\x08\x02\x22", "\x08\x03\x22"};

void add_contents(std::string_view bytes, const std::filesystem::path& path,
                  const std::string& file, Source& source) {
  auto contents = read_contents(bytes, path.string());
  if (const auto* cache = std::get_if<VerdictFile>(&contents)) {
    for (auto& verdict : cache->verdicts())
      source.items.push_back({std::move(verdict), file, false});
  } else if (auto* result = std::get_if<Verdict>(&contents)) {
    const auto name = file.empty() ? path.filename().string() : file;
    source.items.push_back({std::move(*result), name, true});
  } else {
    throw OtherKind(path.string(),
                    "holds an AutotuneCache (the newer kind of cache), which can be shown only");
  }
}

/// Whether a file's name or its first bytes call it a cache; the name `.txt` says nothing.
bool claims_to_be_a_cache(const std::filesystem::path& file, std::string_view bytes) {
  const auto extension = lower(file.extension().string());
  if (extension == ".pb") return true;
  if (extension != ".txt" && format_of_extension(file) == Format::kText) return true;
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return bytes.starts_with(start); });
}

/// The files of a folder of caches, sorted.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            std::vector<std::string>& skipped) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    if (it->path().filename().string().front() == '.') continue;
    std::error_code none;
    const auto status = it->status(none);
    if (std::filesystem::is_directory(status)) continue;
    if (std::filesystem::is_other(status)) {
      skipped.push_back(it->path().string() + ": no regular file");
    } else {
      // A link that leads nowhere too: it fails when it is read.
      files.push_back(it->path());
    }
  }
  if (failure) throw Error(host::file_failure(folder, "list the folder", failure.value()));
  std::sort(files.begin(), files.end());
  return files;
}

void add_folder(const std::filesystem::path& folder, LoadedSource& loaded) {
  for (const auto& file : files_in(folder, loaded.skipped)) {
    const auto bytes = host::read_file(file);
    try {
      add_contents(bytes, file, file.filename().string(), loaded.source);
    } catch (const OtherKind& other) {
      loaded.skipped.emplace_back(other.what());
    } catch (const Error& error) {
      if (claims_to_be_a_cache(file, bytes)) throw;
      loaded.skipped.emplace_back(error.what());
    }
  }
}

/// Beside files a folder becomes the file in it that has their name.
std::vector<std::filesystem::path> as_files(const std::vector<std::filesystem::path>& paths) {
  std::set<std::string> names;
  for (const auto& path : paths) {
    if (!is_folder(path)) names.insert(path.filename().string());
  }
  if (names.empty()) return paths;
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    if (names.size() > 1) {
      throw Error(path.string(),
                  "stands beside files of several names; name the file in it that is meant");
    }
    files.push_back(path / *names.begin());
    std::error_code none;
    if (std::filesystem::exists(files.back(), none)) continue;
    if (is_verdict_folder(path)) {
      throw Error(path.string(), fmt::format("holds results without keys; {}", kJoins));
    }
    throw Error(path.string(), fmt::format("holds no {}; a file is compared with the one of its "
                                           "name in a folder",
                                           furlong::quoted(*names.begin())));
  }
  return files;
}

/// Error where results without keys would meet verdicts with keys: none would find its partner.
void check_keys(const std::vector<LoadedSource>& sources) {
  const Source* bare = nullptr;
  const Source* keyed = nullptr;
  for (const auto& [source, skipped] : sources) {
    const auto count = std::count_if(source.items.begin(), source.items.end(),
                                     [](const Item& item) { return item.bare; });
    if (source.items.empty()) continue;
    if (count == 0) keyed = &source;
    if (count == static_cast<std::ptrdiff_t>(source.items.size())) bare = &source;
  }
  if (bare == nullptr || keyed == nullptr) return;
  throw Error(bare->name,
              fmt::format("holds results without keys, and {} has keys; {}", keyed->name, kJoins));
}

}  // namespace

bool is_folder(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none);
}

LoadedSource load_source(const std::filesystem::path& path) {
  LoadedSource loaded;
  loaded.source.name = path.string();
  if (!is_folder(path)) {
    add_contents(host::read_file(path), path, "", loaded.source);
    return loaded;
  }
  if (!is_verdict_folder(path)) {
    add_folder(path, loaded);
    return loaded;
  }
  auto folder = load_folder(path);
  for (auto& file : folder.files) {
    loaded.source.items.push_back({std::move(file.result), file.name, true});
  }
  for (const auto& name : folder.leftovers) {
    loaded.skipped.push_back((path / name).string() + ": no result of this folder");
  }
  return loaded;
}

std::vector<LoadedSource> load_sources(const std::vector<std::filesystem::path>& paths) {
  std::vector<LoadedSource> sources;
  for (const auto& path : as_files(paths)) sources.push_back(load_source(path));
  check_keys(sources);
  return sources;
}

}  // namespace furlong::verdict
