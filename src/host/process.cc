#include "host/process.hh"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "furlong/error.hh"

namespace furlong::host {

std::filesystem::path own_executable() {
  std::error_code failure;
  auto path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) throw Error("/proc/self/exe", "cannot read the link: " + failure.message());
  return path;
}

std::string host_name() {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0 || text[0] == '\0') return "unknown";
  std::string name = text.data();
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return name;
}

int process_id() {
  return ::getpid();
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

}  // namespace furlong::host
