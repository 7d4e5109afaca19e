#include "host/subprocess.hh"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "furlong/error.hh"

extern char** environ;

namespace furlong::host {
namespace {

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : fmt::format("signal {}", number);
}

/// What a started child gets, released whatever happens.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t* actions() { return &actions_; }
  posix_spawnattr_t* attributes() { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

LineChannel::~LineChannel() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool LineChannel::write(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t n = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

LineChannel::Read LineChannel::read(std::string& line, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  std::size_t looked_at = 0;
  for (;;) {
    const std::size_t end = buffer_.find('\n', looked_at);
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Read::kLine;
    }
    looked_at = buffer_.size();
    int wait_ms = -1;
    if (timeout.count() >= 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() < 0) return Read::kTimeout;
      wait_ms = static_cast<int>(std::min<std::int64_t>(left.count() + 1, 1 << 30));
    }
    pollfd wanted{descriptor_, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, wait_ms);
    if (ready == 0) return Read::kTimeout;
    if (ready < 0) {
      if (errno == EINTR) continue;
      return Read::kEnded;
    }
    std::array<char, 1 << 16> bytes;
    const ssize_t n = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Read::kEnded;
    buffer_.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

Subprocess::Subprocess(const std::vector<std::string>& command) : Subprocess(start(command)) {}

Subprocess::Started Subprocess::start(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(command.at(0), fmt::format("no channel to a worker: {}", ::strerror(errno)));
  }
  // The child's end must not be the number that it is copied to: it would then stay close-on-exec.
  if (ends[1] == kChannel) {
    const int other = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kChannel + 1);
    ::close(ends[1]);
    ends[1] = other;
  }
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(settings.actions(), 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(settings.actions(), 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(settings.actions(), ends[1], kChannel);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(settings.attributes(), &none);
  posix_spawnattr_setflags(settings.attributes(), POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Started started;
  started.channel = ends[0];
  const int failure = ::posix_spawnp(&started.pid, arguments[0], settings.actions(),
                                     settings.attributes(), arguments.data(), environ);
  ::close(ends[1]);
  if (failure != 0) {
    ::close(ends[0]);
    throw Error(command[0], fmt::format("cannot be started as a worker: {}", ::strerror(failure)));
  }
  return started;
}

Subprocess::~Subprocess() {
  if (!end_.empty()) return;
  kill();
  wait();
}

void Subprocess::kill() {
  if (end_.empty()) ::kill(pid_, SIGKILL);
}

const std::string& Subprocess::wait() {
  if (!end_.empty()) return end_;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return end_ = "ended";
  }
  end_ = WIFSIGNALED(status) ? signal_name(WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
  return end_;
}

namespace {

/// A sanitizer's shadow counts as data: a limit would leave nothing.
constexpr bool kHasShadow =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    true;
#else
    false;
#endif
#else
    false;
#endif

}  // namespace

bool become_worker(std::int64_t data_bytes) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  if (data_bytes > 0 && !kHasShadow) {
    const rlimit limit{static_cast<rlim_t>(data_bytes), static_cast<rlim_t>(data_bytes)};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  // No core file for a kernel that crashes: it is expected to.
  const rlimit nothing{0, 0};
  ::setrlimit(RLIMIT_CORE, &nothing);
  return ::getppid() != 1;
}

}  // namespace furlong::host
