#include "furlong/log.hh"

#include <unistd.h>

#include <mutex>
#include <string>
#include <utility>

namespace furlong {
namespace {

std::mutex& sink_mutex() {
  static std::mutex mutex;
  return mutex;
}

LogSink& current_sink() {
  static LogSink sink;
  return sink;
}

void write_to_stderr(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0) return;  // nobody is left to be told
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

LogSink set_log_sink(LogSink sink) {
  const std::lock_guard lock(sink_mutex());
  return std::exchange(current_sink(), std::move(sink));
}

void log_line(std::string_view line) {
  const std::lock_guard lock(sink_mutex());
  if (current_sink()) {
    current_sink()(line);
  } else {
    write_to_stderr(line);
  }
}

}  // namespace furlong
