#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "furlong/error.hh"
#include "host/append_file.hh"
#include "host/clock.hh"
#include "host/files.hh"
#include "ledger/lines.hh"
#include "ledger/tools.hh"
#include "ledger/writer.hh"

namespace furlong::ledger {
namespace {

constexpr std::chrono::seconds kSyncEvery{10};

/// Holds a file's lock; a failing unlock is left to the file's closing.
class Locked {
 public:
  explicit Locked(host::AppendFile& file) : file_(file) { file_.lock(); }
  ~Locked() {
    try {
      file_.unlock();
    } catch (const Error&) {
    }
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  host::AppendFile& file_;
};

/// Where the last line without newline begins; the size when there is none.
std::int64_t tail_start(const host::AppendFile& file, std::int64_t size) {
  constexpr std::int64_t kBlock = 1 << 16;
  // Nearly always the last byte is the newline.
  std::int64_t block = 1;
  for (std::int64_t end = size; end > 0; block = kBlock) {
    const std::int64_t start = std::max<std::int64_t>(0, end - block);
    const std::string bytes = file.read(start, static_cast<std::size_t>(end - start));
    const auto at = bytes.rfind('\n');
    if (at != std::string::npos) return start + static_cast<std::int64_t>(at) + 1;
    end = start;
  }
  return 0;
}

}  // namespace

struct Appender::State {
  std::filesystem::path path;
  host::AppendFiles& files;
  const host::Clock& clock;
  std::unique_ptr<host::AppendFile> file;
  std::chrono::nanoseconds last_sync{0};
  bool unsynced = false;

  void open() {
    file = files.open(path);
    const Locked locked(*file);
    if (is_lfs_pointer(file->read(0, 64))) throw Error(path.string() + ":1", kLfsReason);
  }

  /// Appends all of `bytes` or leaves the file as it was; the caller holds the lock.
  void write_whole(std::string_view bytes) {
    const std::int64_t before = file->size();
    try {
      for (std::string_view rest = bytes; !rest.empty();) {
        const std::size_t written = file->append(rest);
        if (written == 0) throw Error(path.string(), "cannot write: the disk took no byte");
        rest.remove_prefix(written);
      }
    } catch (const Error& failure) {
      std::string message = failure.what();
      try {
        if (file->size() > before) file->truncate(before);
        message += "; the line was not recorded";
      } catch (const Error&) {
        message += "; a torn line is left at the end, the next append cuts it off";
      }
      throw Error(message);
    }
  }

  void repair_tail() {
    const std::int64_t size = file->size();
    const std::int64_t start = tail_start(*file, size);
    if (start == size) return;
    const std::string tail = file->read(start, static_cast<std::size_t>(size - start));
    if (line_damage(tail).empty()) {
      write_whole("\n");
    } else {
      file->truncate(start);
    }
  }
};

Appender::Appender(std::filesystem::path file)
    : Appender(std::move(file), host::real_append_files(), host::system_clock()) {}

Appender::Appender(std::filesystem::path file, host::AppendFiles& files, const host::Clock& clock) {
  host::make_folders(file.parent_path());
  auto state = std::make_unique<State>(State{std::move(file), files, clock, nullptr, {}, false});
  state->open();
  state->last_sync = clock.steady();
  state_ = state.release();
}

Appender::~Appender() {
  try {
    if (state_->unsynced) sync();
  } catch (const Error&) {
  }
  delete state_;
}

void Appender::append(std::string_view line) {
  if (line.empty() || line.find('\n') != std::string_view::npos) {
    throw std::invalid_argument(
        "Appender::append: not one line; it is not empty and holds no newline");
  }
  std::string bytes(line);
  bytes += '\n';
  State& state = *state_;
  for (bool written = false; !written;) {
    {
      const Locked locked(*state.file);
      if (state.file->is_current()) {
        state.repair_tail();
        state.write_whole(bytes);
        written = true;
      }
    }
    if (!written) state.open();
  }
  state.unsynced = true;
  if (state.clock.steady() - state.last_sync >= kSyncEvery) sync();
}

void Appender::sync() {
  state_->file->sync();
  state_->last_sync = state_->clock.steady();
  state_->unsynced = false;
}

}  // namespace furlong::ledger
