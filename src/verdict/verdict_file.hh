// VerdictFile: one autotune cache as it is stored, text or binary, and its relatives.
//
// Text or binary is told by content. Versions 1, 2, 3 and none are read; version 3 is written.
// Kinds of files that look alike are told apart by their fields and refused by name, so that no
// denylist is ever taken for an empty cache. A file either reads whole or is an Error
// `<where>: <what>`; text errors name the line. Values; the file system is the caller's.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "furlong/error.hh"
#include "verdict/verdict.hh"

namespace furlong::verdict {

namespace pb {
class AutotuneResults;
}

enum class Format { kText, kBinary };
/// Which list of the file an entry stands in; files of version 1 split them.
enum class Section { kResults, kDots, kConvs };

inline constexpr std::int32_t kFileVersion = 3;

class VerdictFile {
 public:
  /// A new file of version 3.
  explicit VerdictFile(std::span<const Verdict> verdicts = {});

  std::optional<std::int32_t> version() const;
  Format format() const { return format_; }
  std::size_t size() const { return entries_.size(); }
  /// In the order of the file; each shares the file's memory.
  Verdict verdict(std::size_t i) const;
  std::vector<Verdict> verdicts() const;
  Section section(std::size_t i) const { return entries_[i].section; }
  /// The line on which entry `i` begins; 0 in a binary file.
  int line(std::size_t i) const;
  /// Fields that the schema lacks, anywhere in the file.
  bool has_unknown_fields() const;

  /// The bytes that the reference printer gives for this content. Error when there are fields that
  /// text cannot name.
  std::string text() const;
  /// Fields in order, map entries sorted: equal content gives equal bytes.
  std::string binary() const;

 private:
  friend class FileReading;
  struct Entry {
    const pb::Entry* message;
    Section section;
    int line = 0;
  };
  void index_entries();
  std::shared_ptr<const pb::AutotuneResults> message_;
  std::vector<Entry> entries_;
  Format format_ = Format::kText;
};

/// The newer kind of cache: recognised and shown, not looked up in.
struct NewCache {
  struct Entry {
    std::string device;
    std::string explicit_version;
    std::string hlo_fingerprint;
    std::string codegen_version;
    std::string codegen_options_fingerprint;
    /// A name in text, a number in binary.
    std::string backend;
    /// Type URL of the configuration.
    std::string backend_config;
    std::string backend_version;
  };
  Format format = Format::kText;
  std::string device_scope;
  std::string explicit_version_scope;
  std::vector<Entry> entries;
};

/// A whole file, but of a kind that is none of the Contents or of none that is known here.
class OtherKind : public Error {
 public:
  using Error::Error;
};

/// What a file can hold; the Verdict is a bare AutotuneResult of a per-computation folder, its key
/// empty.
using Contents = std::variant<VerdictFile, NewCache, Verdict>;

/// Reads any of the kinds; OtherKind for another one, Error for what is broken. `where` is the
/// file's name, for messages.
Contents read_contents(std::string_view bytes, std::string_view where);

/// Reads an AutotuneResults file; another kind is an Error that names it.
VerdictFile read_verdicts(std::string_view bytes, std::string_view where);
VerdictFile load_verdicts(const std::filesystem::path& file);

/// Reads a bare AutotuneResult; the verdict's key is empty.
Verdict read_result(std::string_view bytes, std::string_view where);

/// What to write under this name: text for .txt .txtpb .textproto .textpb .prototxt .pbtxt.
Format format_of_extension(const std::filesystem::path& file);
std::string to_bytes(const VerdictFile& file, Format format);

/// True when `bytes` are UTF-8 (no surrogates, nothing overlong).
bool is_utf8(std::string_view bytes);

}  // namespace furlong::verdict
