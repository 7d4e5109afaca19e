#include "host/append_file.hh"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "furlong/error.hh"
#include "host/files.hh"

namespace furlong::host {
namespace {

class RealAppendFile : public AppendFile {
 public:
  explicit RealAppendFile(const std::filesystem::path& path) : path_(path) {
    do {
      fd_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) fail("open for appending");
  }
  ~RealAppendFile() override { ::close(fd_); }
  RealAppendFile(const RealAppendFile&) = delete;
  RealAppendFile& operator=(const RealAppendFile&) = delete;

  void lock() override {
    while (::flock(fd_, LOCK_EX) != 0) {
      if (errno != EINTR) fail("lock");
    }
  }

  void unlock() override {
    if (::flock(fd_, LOCK_UN) != 0) fail("unlock");
  }

  bool is_current() const override {
    struct stat named {};
    const struct stat open = status();
    return ::stat(path_.c_str(), &named) == 0 && named.st_dev == open.st_dev &&
           named.st_ino == open.st_ino;
  }

  std::int64_t size() const override { return status().st_size; }

  std::string read(std::int64_t offset, std::size_t count) const override {
    std::string bytes(count, '\0');
    std::size_t done = 0;
    while (done < count) {
      const ssize_t n = ::pread(fd_, bytes.data() + done, count - done,
                                static_cast<off_t>(offset) + static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("read");
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }

  std::size_t append(std::string_view bytes) override {
    ssize_t n = 0;
    do {
      n = ::write(fd_, bytes.data(), bytes.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) fail("write");
    return static_cast<std::size_t>(n);
  }

  void truncate(std::int64_t size) override {
    while (::ftruncate(fd_, static_cast<off_t>(size)) != 0) {
      if (errno != EINTR) fail("cut back");
    }
  }

  void sync() override {
    while (::fdatasync(fd_) != 0) {
      if (errno != EINTR) fail("sync");
    }
  }

 private:
  [[noreturn]] void fail(std::string_view verb) const {
    throw Error(file_failure(path_, verb, errno));
  }

  struct stat status() const {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail("look at");
    return info;
  }

  std::filesystem::path path_;
  int fd_ = -1;
};

class RealAppendFiles : public AppendFiles {
 public:
  std::unique_ptr<AppendFile> open(const std::filesystem::path& path) override {
    return std::make_unique<RealAppendFile>(path);
  }
};

}  // namespace

AppendFiles& real_append_files() {
  static RealAppendFiles files;
  return files;
}

}  // namespace furlong::host
