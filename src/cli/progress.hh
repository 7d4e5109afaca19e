// The progress line of long work: one line on stderr, rewritten in place; silent where stderr is no
// terminal.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace furlong::cli {

/// One at a time; belongs to one thread.
class Progress {
 public:
  Progress();
  /// Clears the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows `text`, cut to the terminal's width; at most ten times a second.
  void show(std::string_view text);
  /// Takes the line away so that something else can be printed.
  void clear();

 private:
  bool terminal_ = false;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

/// `12 s`, `3 min 20 s`, `2 h 5 min`.
std::string duration_text(double seconds);

}  // namespace furlong::cli
