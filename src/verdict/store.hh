// Store: the verdicts that run-time tuning keeps, shared by every process of a user.
//
// Layout of the cache folder:
//   verdicts.pb    an AutotuneResults file of version 3, binary; replaced as a whole
//   verdicts.lock  the lock under which it is replaced; never removed
// A save reads the file, merges and replaces it atomically, all under the lock: concurrent
// processes lose nothing, a killed one leaves the old file or the new one, and of two verdicts for
// one key the faster counts. One file and not one per key, so that loading is one read. A file that
// cannot be read is an Error, never a fresh start: it may hold hours of races. Thread rule: a Store
// may be used from several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "verdict/verdict.hh"

namespace furlong::verdict {

/// `$FURLONG_CACHE_DIR`, else `$XDG_CACHE_HOME/furlong`, else `$HOME/.cache/furlong`. Error for a
/// variable that is set to no absolute path (FURLONG_CACHE_DIR may be relative, not empty).
std::filesystem::path cache_folder();

struct StoreOptions {
  std::filesystem::path folder;
  /// Reproducible mode: a key without a verdict is an Error instead of a race, and nothing is
  /// added.
  bool frozen = false;
  /// Verdicts to start with; they are looked up first and not copied into the store.
  std::optional<std::filesystem::path> load;
  /// Where the verdicts that were used are written when the Store ends.
  std::optional<std::filesystem::path> dump;

  /// The folder of cache_folder(), and `FURLONG_VERDICTS_LOAD` and `FURLONG_VERDICTS_DUMP`.
  static StoreOptions from_environment();
};

class Store {
 public:
  /// Reads what is there; a folder that is missing is made by the first save. Error where something
  /// else stands in its place.
  explicit Store(StoreOptions options);
  /// Writes the dump; a failure goes to the log sink.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The verdict for this exact key, which then counts as used; what other processes saved since is
  /// seen. Nothing when it has to be raced; when frozen an Error that names the computation and the
  /// nearest miss.
  std::optional<Verdict> find(const Key& key);

  /// Saves; on disk when this returns. Of each key the verdict that counts now: the faster of the
  /// given one and the one that was there, the latter when they are equally fast. They count as
  /// used. std::invalid_argument when frozen.
  std::vector<Verdict> add(std::span<const Verdict> verdicts);
  Verdict add(const Verdict& verdict);

  /// The verdicts that find() and add() returned, each key once, in order of first use.
  std::vector<Verdict> used() const;

  std::filesystem::path file() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a cache folder holds of a Store's.
struct StoreSize {
  std::size_t verdicts = 0;
  std::uintmax_t bytes = 0;  ///< of the verdicts and of what killed writers left
};
/// Nothing for a folder that is missing; Error for one that cannot be read.
StoreSize store_size(const std::filesystem::path& folder);

/// Removes the verdicts and what killed writers left, under the lock; other files and folders stay.
/// How many files were removed. Error for what cannot be read or removed.
std::size_t clear_store(const std::filesystem::path& folder);

}  // namespace furlong::verdict
