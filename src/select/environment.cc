#include "select/environment.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "furlong/error.hh"
#include "furlong/select.hh"

namespace furlong::select {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_to_read(const fs::path& path) {
  throw Error(path.string(), "cannot be read: " + std::generic_category().message(errno));
}

/// By C streams: std::ifstream tells neither what failed nor of which file.
std::string read_regular(const fs::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rb"),
                                                           &std::fclose);
  if (!in) refuse_to_read(path);
  std::string text;
  std::array<char, 1 << 16> piece{};
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), in.get())) {
    text.append(piece.data(), n);
  }
  if (std::ferror(in.get()) != 0) refuse_to_read(path);
  return text;
}

class ProcessEnvironment : public Environment {
 public:
  std::optional<std::string> variable(const std::string& name) const override {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  }

  std::vector<std::string> list(const std::string& folder) const override {
    std::error_code failure;
    std::vector<std::string> names;
    for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
         at.increment(failure)) {
      names.push_back(at->path().filename().string());
    }
    if (failure) throw Error(folder, "cannot be listed: " + failure.message());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string read(const std::string& folder, const std::string& name) const override {
    const fs::path path = fs::path(folder) / name;
    std::error_code failure;
    const auto kind = fs::status(path, failure).type();
    if (kind == fs::file_type::none || kind == fs::file_type::not_found) {
      throw Error(path.string(), "cannot be read: " + failure.message());
    }
    // Opening another kind of file could wait for ever.
    if (kind != fs::file_type::regular) {
      throw Error(path.string(), "is no regular file; a table is one");
    }
    return read_regular(path);
  }

  bool append(const std::string& file, std::string_view line) const override {
    std::ofstream out(file, std::ios::binary | std::ios::app);
    out << line << '\n';
    return static_cast<bool>(out.flush());
  }
};

std::atomic<const Environment*> in_force{nullptr};
std::atomic<std::uint64_t> generation{1};

}  // namespace

const Environment& process_environment() {
  static const ProcessEnvironment own;
  return own;
}

void set_environment(const Environment* environment) {
  in_force = environment;
  ++generation;
}

const Environment& environment() {
  const Environment* set = in_force;
  return set != nullptr ? *set : process_environment();
}

std::uint64_t environment_generation() {
  return generation.load(std::memory_order_acquire);
}

void reload_environment() {
  ++generation;
}

}  // namespace furlong::select
