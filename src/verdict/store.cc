#include "verdict/store.hh"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/text.hh"
#include "furlong/error.hh"
#include "furlong/log.hh"
#include "host/files.hh"
#include "host/process.hh"
#include "verdict/computation.hh"
#include "verdict/folder.hh"
#include "verdict/lookup.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

constexpr const char* kFile = "verdicts.pb";
constexpr const char* kLock = "verdicts.lock";

/// What is on disk, as far as a replacement shows.
struct Stamp {
  bool there = false;
  std::uintmax_t size = 0;
  std::filesystem::file_time_type time;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

Stamp stamp_of(const std::filesystem::path& file) {
  std::error_code failure;
  Stamp stamp;
  stamp.size = std::filesystem::file_size(file, failure);
  if (failure) return {};
  stamp.time = std::filesystem::last_write_time(file, failure);
  stamp.there = !failure;
  return stamp;
}

std::vector<Verdict> read_file(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::exists(file, failure) && !failure) return {};
  return load_verdicts(file).verdicts();
}

/// Whether `a` should replace `b`.
bool is_faster(const Verdict& a, const Verdict& b) {
  const auto time_a = a.measured_ns();
  const auto time_b = b.measured_ns();
  return time_a && (!time_b || *time_a < *time_b);
}

/// Whether the folder was made; Error for what is there and no folder.
bool is_made(const std::filesystem::path& folder) {
  std::error_code failure;
  const auto status = std::filesystem::status(folder, failure);
  const bool missing = status.type() == std::filesystem::file_type::not_found;
  if (missing && failure != std::errc::not_a_directory) return false;
  if (failure) throw Error(host::file_failure(folder, "open the folder", failure.value()));
  if (!std::filesystem::is_directory(status)) {
    throw Error(folder.string(), "is no folder; a cache folder is one or is made anew");
  }
  return true;
}

/// What write_file_atomically leaves of `verdicts.pb` when its process is killed. `failure` says
/// why the folder cannot be listed.
std::vector<std::filesystem::path> remains(const std::filesystem::path& folder,
                                           std::error_code& failure) {
  std::vector<std::filesystem::path> found;
  const std::string start = fmt::format(".{}.", kFile);
  for (std::filesystem::directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    const auto name = it->path().filename().string();
    std::error_code none;
    if (name.starts_with(start) && name.ends_with(".tmp") && !it->is_directory(none)) {
      found.push_back(it->path());
    }
  }
  return found;
}

std::vector<std::filesystem::path> remains(const std::filesystem::path& folder) {
  std::error_code failure;
  auto found = remains(folder, failure);
  if (failure) throw Error(host::file_failure(folder, "list the folder", failure.value()));
  return found;
}

std::optional<std::string> set_variable(const char* name) {
  auto value = host::environment(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

std::filesystem::path absolute_variable(const char* name, const std::string& value) {
  if (!std::filesystem::path(value).is_absolute()) {
    throw Error(name, fmt::format("{} is no absolute path", quoted(value)));
  }
  return value;
}

}  // namespace

std::filesystem::path cache_folder() {
  if (const auto own = host::environment("FURLONG_CACHE_DIR")) {
    if (own->empty()) throw Error("FURLONG_CACHE_DIR", "is empty; a folder is allowed");
    return *own;
  }
  if (const auto cache = set_variable("XDG_CACHE_HOME")) {
    return absolute_variable("XDG_CACHE_HOME", *cache) / "furlong";
  }
  if (const auto home = set_variable("HOME")) {
    return absolute_variable("HOME", *home) / ".cache" / "furlong";
  }
  throw Error("FURLONG_CACHE_DIR",
              "no cache folder: neither it nor XDG_CACHE_HOME nor HOME is set");
}

StoreOptions StoreOptions::from_environment() {
  StoreOptions options;
  options.folder = cache_folder();
  if (const auto load = host::environment("FURLONG_VERDICTS_LOAD")) {
    if (load->empty()) throw Error("FURLONG_VERDICTS_LOAD", "is empty; a cache file is allowed");
    options.load = *load;
  }
  if (const auto dump = host::environment("FURLONG_VERDICTS_DUMP")) {
    if (dump->empty()) throw Error("FURLONG_VERDICTS_DUMP", "is empty; a file is allowed");
    options.dump = *dump;
  }
  return options;
}

struct Store::State {
  StoreOptions options;
  std::filesystem::path file;
  LookUp loaded;
  LookUp stored;
  Stamp stamp;
  std::vector<Verdict> used;
  std::set<std::string> used_names;
  mutable std::mutex mutex;

  void reload() {
    // The stamp first: a file that is replaced in between is read again next time.
    stamp = stamp_of(file);
    stored = LookUp(read_file(file));
  }

  void use(const Verdict& verdict) {
    const auto [at, is_new] = used_names.insert(folder_name(verdict.key()));
    if (is_new) {
      used.push_back(verdict);
      return;
    }
    const auto known = std::find_if(used.begin(), used.end(),
                                    [&](const Verdict& one) { return one.key() == verdict.key(); });
    *known = verdict;
  }

  const Verdict* look(const Key& key) {
    if (const auto* verdict = loaded.find(key)) return verdict;
    if (const auto* verdict = stored.find(key)) return verdict;
    if (stamp_of(file) == stamp) return nullptr;
    reload();
    return stored.find(key);
  }

  [[noreturn]] void refuse(const Key& key) const {
    auto all = loaded.verdicts();
    all.insert(all.end(), stored.verdicts().begin(), stored.verdicts().end());
    std::string text = fmt::format("no verdict for {} on {}, and verdicts are frozen",
                                   summarize(key.computation).line, quoted(key.device));
    if (const auto miss = nearest_miss(all, key)) {
      text += "; the nearest differs in " + join(explain(*miss, key), "; ");
    }
    throw Error(file.string(), text);
  }
};

Store::Store(StoreOptions options) : state_(std::make_unique<State>()) {
  state_->file = options.folder / kFile;
  if (options.load) state_->loaded = LookUp(load_verdicts(*options.load).verdicts());
  state_->options = std::move(options);
  is_made(state_->options.folder);
  state_->reload();
}

Store::~Store() {
  if (!state_->options.dump) return;
  try {
    const auto& file = *state_->options.dump;
    host::write_file_atomically(file,
                                to_bytes(VerdictFile(state_->used), format_of_extension(file)));
  } catch (const std::exception& error) {
    log_line(fmt::format("furlong: the verdicts that were used are not written: {}", error.what()));
  }
}

std::filesystem::path Store::file() const {
  return state_->file;
}

std::optional<Verdict> Store::find(const Key& key) {
  const std::lock_guard guard(state_->mutex);
  const auto* verdict = state_->look(key);
  if (verdict == nullptr) {
    if (state_->options.frozen) state_->refuse(key);
    return std::nullopt;
  }
  state_->use(*verdict);
  return *verdict;
}

std::vector<Verdict> Store::add(std::span<const Verdict> verdicts) {
  const std::lock_guard guard(state_->mutex);
  if (state_->options.frozen) {
    throw std::invalid_argument("a frozen store takes no verdicts");
  }
  host::make_folders(state_->options.folder);
  std::vector<Verdict> counting;
  {
    const host::FileLock lock(state_->options.folder / kLock);
    state_->reload();
    auto all = state_->stored.verdicts();
    bool changed = false;
    for (const auto& verdict : verdicts) {
      // The index covers what was read; what was added just now stands behind it.
      auto at = all.size();
      if (const auto* known = state_->stored.find(verdict.key())) {
        at = static_cast<std::size_t>(known - state_->stored.verdicts().data());
      } else {
        for (auto i = state_->stored.size(); i < all.size(); ++i) {
          if (all[i].key() == verdict.key()) at = i;
        }
      }
      if (at == all.size()) {
        all.push_back(verdict);
        changed = true;
      } else if (is_faster(verdict, all[at])) {
        all[at] = verdict;
        changed = true;
      }
      counting.push_back(all[at]);
    }
    if (changed) {
      std::error_code none;
      for (const auto& path : remains(state_->options.folder, none)) {
        std::filesystem::remove(path, none);
      }
      host::write_file_atomically(state_->file, VerdictFile(all).binary());
      state_->stamp = stamp_of(state_->file);
      state_->stored = LookUp(std::move(all));
    }
  }
  for (const auto& verdict : counting) state_->use(verdict);
  return counting;
}

Verdict Store::add(const Verdict& verdict) {
  return add(std::span(&verdict, 1)).front();
}

std::vector<Verdict> Store::used() const {
  const std::lock_guard guard(state_->mutex);
  return state_->used;
}

StoreSize store_size(const std::filesystem::path& folder) {
  StoreSize size;
  if (!is_made(folder)) return size;
  const auto file = folder / kFile;
  size.verdicts = read_file(file).size();
  size.bytes = stamp_of(file).size;
  for (const auto& path : remains(folder)) {
    if (const auto stamp = stamp_of(path); stamp.there) size.bytes += stamp.size;
  }
  return size;
}

std::size_t clear_store(const std::filesystem::path& folder) {
  if (!is_made(folder)) return 0;
  const auto file = folder / kFile;
  std::error_code none;
  if (std::filesystem::is_directory(file, none)) {
    throw Error(host::file_failure(file, "remove", static_cast<int>(std::errc::is_a_directory)));
  }
  const host::FileLock lock(folder / kLock);
  auto files = remains(folder);
  files.push_back(file);
  std::size_t removed = 0;
  for (const auto& path : files) {
    std::error_code failure;
    if (std::filesystem::remove(path, failure)) ++removed;
    if (failure) throw Error(host::file_failure(path, "remove", failure.value()));
  }
  return removed;
}

}  // namespace furlong::verdict
