// AppendFile: one file that several processes append to, and the layer that opens such files.
//
// An interface because a test must be able to make a disk fail: see faulty_files.hh. Every failure
// is an Error `<path>: cannot <verb>: <reason>`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace furlong::host {

/// An open file; closing it (the destructor) also gives up its lock. Belongs to one thread.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  /// Waits for the exclusive advisory lock (flock) of the file.
  virtual void lock() = 0;
  virtual void unlock() = 0;
  /// False when the path now names another file or none: a rewrite replaced this one.
  virtual bool is_current() const = 0;
  virtual std::int64_t size() const = 0;
  /// The bytes from `offset` on, fewer than `count` only at the end of the file.
  virtual std::string read(std::int64_t offset, std::size_t count) const = 0;
  /// One write at the end of the file; returns how many bytes were written, possibly fewer than
  /// asked for.
  virtual std::size_t append(std::string_view bytes) = 0;
  virtual void truncate(std::int64_t size) = 0;
  /// Returns when the content is on disk (fdatasync).
  virtual void sync() = 0;
};

class AppendFiles {
 public:
  virtual ~AppendFiles() = default;
  /// Opens for reading and appending; creates the file when it is missing.
  virtual std::unique_ptr<AppendFile> open(const std::filesystem::path& path) = 0;
};

/// The operating system's files; lives as long as the process.
AppendFiles& real_append_files();

}  // namespace furlong::host
