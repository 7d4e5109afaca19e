// Subprocess: a program of our own that does dangerous work, and the line channel to it.
//
// The child finds the channel (a stream socket) at file descriptor kChannel. Its stdin is empty and
// its stdout goes nowhere, so that what a kernel prints mixes with nothing; its stderr is ours. A
// child that ended or was killed is seen as the channel's end, never as a signal to us.
//
// Thread rule: an object belongs to one thread. The child dies with the process that started it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::host {

/// Lines over a stream socket, both ways.
class LineChannel {
 public:
  /// Takes over an open descriptor.
  explicit LineChannel(int descriptor) : descriptor_(descriptor) {}
  ~LineChannel();
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;

  /// Writes one line (its newline is added); false when the other side is gone.
  bool write(std::string_view line);

  enum class Read { kLine, kTimeout, kEnded };
  /// The next line, without its newline. Waits at most `timeout`; a negative one waits for ever.
  Read read(std::string& line, std::chrono::milliseconds timeout);

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::string buffer_;
};

class Subprocess {
 public:
  /// Where the child finds the channel.
  static constexpr int kChannel = 3;

  /// Starts `command` (the program first, searched in PATH). Throws Error when it cannot be
  /// started.
  explicit Subprocess(const std::vector<std::string>& command);
  /// Kills the child when it still runs.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  LineChannel& channel() { return channel_; }
  int pid() const { return pid_; }

  /// SIGKILL.
  void kill();
  /// Waits for the end and says how it came: `exit code 3`, `SIGSEGV`. The same text again later.
  const std::string& wait();

 private:
  struct Started {
    int pid = -1;
    int channel = -1;
  };
  static Started start(const std::vector<std::string>& command);
  explicit Subprocess(Started started) : pid_(started.pid), channel_(started.channel) {}

  int pid_;
  LineChannel channel_;
  std::string end_;
};

/// For the child: dies with its parent, does not hear the terminal's Ctrl-C (its parent does), and
/// gets at most `data_bytes` of memory (0: no limit), so that a kernel that eats memory fails
/// instead of the machine. False when the parent is gone already.
bool become_worker(std::int64_t data_bytes);

}  // namespace furlong::host
