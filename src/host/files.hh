// Files: whole reads, atomic writes, exclusive locks.
//
// Every failure is an Error `<path>: <what>` with the system's reason.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace furlong::host {

/// The whole file. A folder or a file that is not there is an Error. What is no regular file (a
/// pipe, a device) is read to its end, and an Error where that is more than a GiB.
std::string read_file(const std::filesystem::path& path);

/// Reads any part of an open file; what is no regular file is held whole. Thread rule: may be used
/// from several threads.
class FileReader {
 public:
  explicit FileReader(std::filesystem::path path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  /// When it was opened.
  std::size_t size() const { return size_; }
  /// Puts the bytes from `offset` on into `into`; how many, 0 only at the end of the file (or for
  /// an empty `into`).
  std::size_t read(std::size_t offset, std::span<char> into) const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::size_t size_ = 0;
  std::optional<std::string> held_;
};

/// Puts `bytes` where `path` is, all or nothing: a temporary file beside it, synced, then renamed;
/// at any moment `path` is either the old file or the new one. Keeps the old file's permissions and
/// follows a symbolic link. Creates missing folders. An Error for a path that is something else
/// than a regular file.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// Creates the folder and its parents when they are missing.
void make_folders(const std::filesystem::path& folder);

/// An exclusive lock on a file (created when missing, never removed), held while this lives, by one
/// process or thread at a time. Movable; the moved-from lock holds nothing.
class FileLock {
 public:
  /// Waits until the lock is free.
  explicit FileLock(const std::filesystem::path& path);
  /// Nothing when somebody else holds it.
  static std::optional<FileLock> try_lock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

/// `<path>: cannot <verb>: <reason of error number>`.
std::string file_failure(const std::filesystem::path& path, std::string_view verb,
                         int error_number);

}  // namespace furlong::host
