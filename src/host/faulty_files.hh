// FaultyFiles: real files behind a disk that fails on demand, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>

#include "host/append_file.hh"

namespace furlong::host {

/// Opens real files; what is done to them fails as told. A sync is only noted, not done. Counts are
/// over all files together. Must outlive the files it opened; belongs to one thread.
class FaultyFiles : public AppendFiles {
 public:
  static constexpr std::int64_t kPlenty = std::int64_t{1} << 60;
  /// Bytes that still fit on the disk; an append that meets the end is short, one that finds no
  /// room fails with ENOSPC.
  std::int64_t room = kPlenty;
  /// An append writes at most this many bytes and is then short.
  std::size_t most_per_append = SIZE_MAX;
  /// The appends, truncations and syncs that fail with EIO from now on, after so many good ones.
  int good_appends = INT32_MAX;
  int good_truncations = INT32_MAX;
  int good_syncs = INT32_MAX;

  std::unique_ptr<AppendFile> open(const std::filesystem::path& path) override;

  /// What a power cut leaves of a file that this layer opened: what was synced, then `kept` more
  /// bytes as written, then `zeroed` more as zeros.
  void lose_unsynced(const std::filesystem::path& path, std::int64_t kept, std::int64_t zeroed = 0);
  /// Bytes written but not synced.
  std::int64_t unsynced(const std::filesystem::path& path) const;
  int syncs() const { return syncs_; }

 private:
  friend class FaultyFile;
  std::map<std::filesystem::path, std::int64_t> synced_;
  int syncs_ = 0;
};

}  // namespace furlong::host
