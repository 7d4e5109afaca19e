#include "verdict/folder.hh"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "base/text.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "host/sha256.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

constexpr std::string_view kExtension = ".textproto";
/// 256 bits in sixes.
constexpr std::size_t kNameLength = 43;
constexpr int kLastVersionTried = 999;
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

unsigned hex_digit(char c) {
  return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
}

/// Unpadded base64url of bytes given as hex.
std::string base64url(std::string_view hex) {
  std::string text;
  unsigned bits = 0;
  int held = 0;
  for (const char c : hex) {
    bits = (bits << 4U) | hex_digit(c);
    held += 4;
    if (held >= 6) {
      held -= 6;
      text += kDigits[(bits >> static_cast<unsigned>(held)) & 63U];
      bits &= (1U << static_cast<unsigned>(held)) - 1U;
    }
  }
  if (held > 0) text += kDigits[(bits << static_cast<unsigned>(6 - held)) & 63U];
  return text;
}

bool is_result_name(std::string_view file) {
  return file.size() == kNameLength + kExtension.size() && file.substr(kNameLength) == kExtension &&
         file.substr(0, kNameLength).find_first_not_of(kDigits) == std::string_view::npos;
}

std::vector<std::string> file_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  for (std::filesystem::directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    if (!it->is_directory()) names.push_back(it->path().filename().string());
  }
  if (failure) throw Error(host::file_failure(folder, "list the folder", failure.value()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string folder_name(std::string_view device, std::string_view computation,
                        std::optional<std::int32_t> version) {
  std::string key = fmt::format("<key model='{}', hlo='{}'", device, computation);
  if (version) key += fmt::format(", version={}", *version);
  key += '>';
  return base64url(host::sha256_hex(key));
}

std::string folder_name(const Key& key) {
  return folder_name(key.device, key.computation, key.version);
}

const VerdictFolder::File* VerdictFolder::find(std::string_view name) const {
  const auto at =
      std::lower_bound(files.begin(), files.end(), name,
                       [](const File& file, std::string_view n) { return file.name < n; });
  return at != files.end() && at->name == name ? &*at : nullptr;
}

VerdictFolder load_folder(const std::filesystem::path& folder) {
  VerdictFolder loaded;
  for (auto& name : file_names(folder)) {
    if (!is_result_name(name)) {
      loaded.leftovers.push_back(std::move(name));
      continue;
    }
    const auto path = folder / name;
    auto result = read_result(host::read_file(path), path.string());
    loaded.files.push_back({name.substr(0, kNameLength), std::move(result)});
  }
  return loaded;
}

bool is_verdict_folder(const std::filesystem::path& folder) {
  const auto names = file_names(folder);
  return std::any_of(names.begin(), names.end(), is_result_name);
}

std::optional<Verdict> find_in_folder(const VerdictFolder& folder, const Key& key) {
  if (const auto* file = folder.find(folder_name(key))) return file->result.with_key(key);
  if (key.version) return std::nullopt;
  for (int version = 1; version <= kLastVersionTried; ++version) {
    if (const auto* file = folder.find(folder_name(key.device, key.computation, version))) {
      return file->result.with_key({key.device, key.computation, version});
    }
  }
  return std::nullopt;
}

Joined join_with_keys(const VerdictFolder& folder, std::span<const Verdict> keys,
                      std::optional<std::int32_t> version) {
  Joined joined;
  std::set<std::string> used;
  for (const auto& source : keys) {
    const auto key = source.key();
    std::vector<std::optional<std::int32_t>> versions{key.version};
    if (key.version) versions.emplace_back(std::nullopt);
    if (version) versions.emplace_back(version);
    bool found = false;
    for (const auto& tried : versions) {
      const Key candidate{key.device, key.computation, tried};
      const auto name = folder_name(candidate);
      const auto* file = folder.find(name);
      if (file == nullptr) continue;
      found = true;
      if (used.insert(name).second) joined.verdicts.push_back(file->result.with_key(candidate));
    }
    if (!found) joined.missing.push_back(key);
  }
  for (const auto& file : folder.files) {
    if (used.count(file.name) == 0) joined.orphans.push_back(file.name);
  }
  return joined;
}

FolderPlan plan_folder(std::span<const Verdict> verdicts, const std::filesystem::path& folder) {
  FolderPlan plan;
  std::map<std::string, const Verdict*> planned;
  for (const auto& verdict : verdicts) {
    const auto file = folder_name(verdict.key()) + std::string(kExtension);
    if (const auto [at, is_new] = planned.emplace(file, &verdict); !is_new) {
      if (!at->second->same_result(verdict)) plan.conflicts.push_back(file);
      continue;
    }
    auto text = verdict.result_text();
    const auto path = folder / file;
    if (std::filesystem::exists(path)) {
      if (read_result(host::read_file(path), path.string()).same_result(verdict)) {
        ++plan.unchanged;
        continue;
      }
      plan.conflicts.push_back(file);
    }
    plan.writes.push_back({file, std::move(text)});
  }
  return plan;
}

void write_folder(const FolderPlan& plan, const std::filesystem::path& folder) {
  host::make_folders(folder);
  for (const auto& write : plan.writes) {
    host::write_file_atomically(folder / write.file, write.text);
  }
}

}  // namespace furlong::verdict
