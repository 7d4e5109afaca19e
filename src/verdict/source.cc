#include "verdict/source.hh"

#include <algorithm>
#include <system_error>

#include "furlong/error.hh"
#include "host/files.hh"
#include "verdict/folder.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

void add_file(const std::filesystem::path& path, const std::string& file, Source& source) {
  auto contents = read_contents(host::read_file(path), path.string());
  if (const auto* cache = std::get_if<VerdictFile>(&contents)) {
    for (auto& verdict : cache->verdicts())
      source.items.push_back({std::move(verdict), file, false});
  } else if (auto* result = std::get_if<Verdict>(&contents)) {
    const auto name = file.empty() ? path.filename().string() : file;
    source.items.push_back({std::move(*result), name, true});
  } else {
    throw Error(path.string(),
                "holds an AutotuneCache (the newer kind of cache), which can be shown only");
  }
}

}  // namespace

LoadedSource load_source(const std::filesystem::path& path) {
  LoadedSource loaded;
  loaded.source.name = path.string();
  if (!std::filesystem::is_directory(path)) {
    add_file(path, "", loaded.source);
    return loaded;
  }
  if (is_verdict_folder(path)) {
    auto folder = load_folder(path);
    for (auto& file : folder.files) {
      loaded.source.items.push_back({std::move(file.result), file.name, true});
    }
    for (const auto& name : folder.leftovers) {
      loaded.skipped.push_back((path / name).string() + ": no result of this folder");
    }
    return loaded;
  }
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator it(path, failure), end; !failure && it != end;
       it.increment(failure)) {
    if (it->is_regular_file() && it->path().filename().string().front() != '.') {
      files.push_back(it->path());
    }
  }
  if (failure) throw Error(host::file_failure(path, "list the folder", failure.value()));
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    try {
      add_file(file, file.filename().string(), loaded.source);
    } catch (const Error& error) {
      loaded.skipped.emplace_back(error.what());
    }
  }
  return loaded;
}

}  // namespace furlong::verdict
