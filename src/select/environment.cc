#include "select/environment.hh"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "furlong/error.hh"
#include "furlong/select.hh"

namespace furlong::select {
namespace {

namespace fs = std::filesystem;

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
      if (at->is_regular_file(failure)) names.push_back(at->path().filename().string());
    }
    if (failure) throw Error(folder, "cannot be listed: " + failure.message());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string read(const std::string& folder, const std::string& name) const override {
    const fs::path path = fs::path(folder) / name;
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in.good() && !in.eof()) throw Error(path.string(), "cannot be read");
    return text;
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
