#include "host/files.hh"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "furlong/error.hh"

namespace furlong::host {
namespace {

/// Closes what it owns.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

int open_retrying(const std::filesystem::path& path, int flags, mode_t mode = 0666) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

int lock_retrying(int fd, int operation) {
  int result = 0;
  do {
    result = ::flock(fd, operation);
  } while (result != 0 && errno == EINTR);
  return result;
}

void write_all(const Fd& fd, const std::filesystem::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(file_failure(path, "write", errno));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// All of what cannot be read from a place.
std::string read_stream(const Fd& fd, const std::filesystem::path& path) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  std::string bytes;
  std::size_t size = 0;
  for (;;) {
    if (size > kMost) {
      throw Error(path.string(), "gives more than 1 GiB and is no regular file; save it to a file");
    }
    bytes.resize(std::max(2 * size, std::size_t{1} << 16));
    const ssize_t n = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(file_failure(path, "read", errno));
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

/// A rename is safe against a power cut only once the folder itself is on disk; file systems that
/// cannot sync a folder say EINVAL and need none.
void sync_folder(const std::filesystem::path& folder) {
  const Fd fd(open_retrying(folder, O_RDONLY | O_DIRECTORY));
  if (fd.get() < 0) throw Error(file_failure(folder, "open", errno));
  if (::fsync(fd.get()) != 0 && errno != EINVAL) throw Error(file_failure(folder, "sync", errno));
}

}  // namespace

std::string file_failure(const std::filesystem::path& path, std::string_view verb,
                         int error_number) {
  return fmt::format("{}: cannot {}: {}", path.string(), verb,
                     std::generic_category().message(error_number));
}

FileReader::FileReader(std::filesystem::path path) : path_(std::move(path)) {
  Fd fd(open_retrying(path_, O_RDONLY));
  if (fd.get() < 0) throw Error(file_failure(path_, "open", errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw Error(file_failure(path_, "read", errno));
  if (S_ISDIR(info.st_mode)) throw Error(file_failure(path_, "read", EISDIR));
  size_ = static_cast<std::size_t>(info.st_size);
  if (!S_ISREG(info.st_mode)) {
    held_ = read_stream(fd, path_);
    size_ = held_->size();
  }
  fd_ = fd.release();
}

FileReader::~FileReader() {
  ::close(fd_);
}

std::size_t FileReader::read(std::size_t offset, std::span<char> into) const {
  if (held_) return held_->copy(into.data(), into.size(), std::min(offset, held_->size()));
  for (;;) {
    const ssize_t n = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) throw Error(file_failure(path_, "read", errno));
  }
}

std::string read_file(const std::filesystem::path& path) {
  const FileReader file(path);
  std::string bytes(file.size() + 1, '\0');
  std::size_t size = 0;
  while (const std::size_t n = file.read(size, std::span(bytes).subspan(size))) {
    size += n;
    if (size == bytes.size()) bytes.resize(2 * bytes.size());
  }
  bytes.resize(size);
  return bytes;
}

void make_folders(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw Error(file_failure(folder, "create the folder", failure.value()));
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code none;
  auto target = path;
  if (std::filesystem::is_symlink(path, none)) {
    target = std::filesystem::weakly_canonical(path, none);
    if (none) throw Error(file_failure(path, "follow the link", none.value()));
  }
  const auto folder = target.has_parent_path() ? target.parent_path() : ".";
  make_folders(folder);
  static std::atomic<unsigned> count{0};
  const auto temporary = folder / fmt::format(".{}.{}.{}.tmp", target.filename().string(),
                                              ::getpid(), count.fetch_add(1));
  struct stat info {};
  const bool existed = ::stat(target.c_str(), &info) == 0;
  if (existed && !S_ISREG(info.st_mode)) {
    throw Error(path.string(), "is no regular file and is not replaced; name a file");
  }
  try {
    const Fd fd(open_retrying(temporary, O_WRONLY | O_CREAT | O_TRUNC));
    if (fd.get() < 0) throw Error(file_failure(path, "write", errno));
    if (existed && ::fchmod(fd.get(), info.st_mode & 07777) != 0) {
      throw Error(file_failure(path, "set the permissions", errno));
    }
    write_all(fd, path, bytes);
    if (::fsync(fd.get()) != 0) throw Error(file_failure(path, "sync", errno));
    if (::rename(temporary.c_str(), target.c_str()) != 0) {
      throw Error(file_failure(path, "replace", errno));
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(folder);
}

FileLock::FileLock(const std::filesystem::path& path) {
  Fd fd(open_retrying(path, O_RDWR | O_CREAT));
  if (fd.get() < 0) throw Error(file_failure(path, "open", errno));
  if (lock_retrying(fd.get(), LOCK_EX) != 0) throw Error(file_failure(path, "lock", errno));
  fd_ = fd.release();
}

std::optional<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  Fd fd(open_retrying(path, O_RDWR | O_CREAT));
  if (fd.get() < 0) throw Error(file_failure(path, "open", errno));
  if (lock_retrying(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    throw Error(file_failure(path, "lock", errno));
  }
  return FileLock(fd.release());
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace furlong::host
