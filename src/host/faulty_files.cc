#include "host/faulty_files.hh"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "furlong/error.hh"
#include "host/files.hh"

namespace furlong::host {

class FaultyFile : public AppendFile {
 public:
  FaultyFile(FaultyFiles& disk, std::filesystem::path path)
      : disk_(disk), path_(std::move(path)), file_(real_append_files().open(path_)) {
    disk_.synced_.emplace(path_, file_->size());
  }

  void lock() override { file_->lock(); }
  void unlock() override { file_->unlock(); }
  bool is_current() const override { return file_->is_current(); }
  std::int64_t size() const override { return file_->size(); }
  std::string read(std::int64_t offset, std::size_t count) const override {
    return file_->read(offset, count);
  }

  std::size_t append(std::string_view bytes) override {
    spend(disk_.good_appends, "write");
    if (disk_.room <= 0) throw Error(file_failure(path_, "write", ENOSPC));
    const auto room = static_cast<std::uint64_t>(disk_.room);
    const std::size_t most = std::min<std::size_t>(disk_.most_per_append, room);
    const std::size_t written = file_->append(bytes.substr(0, most));
    disk_.room -= static_cast<std::int64_t>(written);
    return written;
  }

  void truncate(std::int64_t size) override {
    spend(disk_.good_truncations, "cut back");
    disk_.room += file_->size() - size;
    file_->truncate(size);
    auto& synced = disk_.synced_[path_];
    synced = std::min(synced, size);
  }

  void sync() override {
    spend(disk_.good_syncs, "sync");
    ++disk_.syncs_;
    disk_.synced_[path_] = file_->size();
  }

 private:
  void spend(int& good, std::string_view verb) const {
    if (good <= 0) throw Error(file_failure(path_, verb, EIO));
    --good;
  }

  FaultyFiles& disk_;
  std::filesystem::path path_;
  std::unique_ptr<AppendFile> file_;
};

std::unique_ptr<AppendFile> FaultyFiles::open(const std::filesystem::path& path) {
  return std::make_unique<FaultyFile>(*this, path);
}

std::int64_t FaultyFiles::unsynced(const std::filesystem::path& path) const {
  return static_cast<std::int64_t>(std::filesystem::file_size(path)) - synced_.at(path);
}

void FaultyFiles::lose_unsynced(const std::filesystem::path& path, std::int64_t kept,
                                std::int64_t zeroed) {
  const auto whole = static_cast<std::int64_t>(std::filesystem::file_size(path));
  const std::int64_t good = std::min(whole, synced_.at(path) + kept);
  const std::int64_t size = std::min(whole, good + zeroed);
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(good));
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(size));
  synced_[path] = size;
}

}  // namespace furlong::host
