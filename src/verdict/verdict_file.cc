#include "verdict/verdict_file.hh"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "base/text.hh"
#include "furlong/error.hh"
#include "host/files.hh"
#include "verdict/autotune.pb.h"
#include "verdict/messages.hh"
#include "verdict/text_scan.hh"

namespace furlong::verdict {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

bool has_no_unknown_fields(const Message& message) {
  const auto& reflection = *message.GetReflection();
  if (!reflection.GetUnknownFields(message).empty()) return false;
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (!has_no_unknown_fields(reflection.GetMessage(message, field))) return false;
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (!has_no_unknown_fields(reflection.GetRepeatedMessage(message, field, i))) return false;
    }
  }
  return true;
}

bool is_utf8(std::string_view bytes) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    if (bytes.size() - i >= 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, bytes.data() + i, 8);
      if ((eight & 0x8080808080808080ULL) == 0) {
        i += 8;
        continue;
      }
    }
    const auto lead = static_cast<unsigned char>(bytes[i]);
    std::size_t more = 0;
    unsigned low = 0x80;
    unsigned high = 0xBF;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
      more = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      more = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      more = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return false;
    }
    if (bytes.size() - i <= more) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(bytes[i + k]);
      if (next < low || next > high) return false;
      low = 0x80;
      high = 0xBF;
    }
    i += more + 1;
  }
  return true;
}

namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 30;
constexpr int kDeepestText = 32;
constexpr std::int64_t kLongestSeconds = 9'000'000'000;
constexpr std::string_view kAllowed =
    "an AutotuneResults file is allowed, as text or binary, of version 1, 2, 3 or none";

[[noreturn]] void refuse_kind(std::string_view where, std::string_view kind) {
  throw OtherKind(where, fmt::format("holds {}; {}", kind, kAllowed));
}

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text.empty()) return;
    // Both count from 0; a line of -1 is the whole input.
    text = line < 0 ? message : fmt::format("{}:{}", line + 1, column + 1);
    if (line >= 0) text += ": " + message;
  }
  std::string text;
};

/// Finds the messages that an expanded Any of a text may name.
class AnyFinder : public TextFormat::Finder {
 public:
  const Descriptor* FindAnyType(const Message& /*message*/, const std::string& /*prefix*/,
                                const std::string& name) const override {
    if (name == "xla.AutotuneResult.GemmKey") return pb::Gemm::descriptor();
    if (name == "xla.AutotuneResult.TritonGemmKey") return pb::Triton::descriptor();
    if (name == "google.protobuf.Struct") return google::protobuf::Struct::descriptor();
    return nullptr;
  }
};

/// Error unless the text is a message of this type, every field known.
void parse_text(std::string_view bytes, std::string_view where, Message& message) {
  FirstError first;
  AnyFinder finder;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  parser.SetFinder(&finder);
  parser.SetRecursionLimit(kDeepestText);
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  const LogSilence silence;
  if (parser.Parse(&in, &message)) return;
  throw Error(fmt::format("{}:{}", where, first.text.empty() ? "cannot be read" : first.text));
}

/// Why an entry cannot be taken, beyond what its format checks; empty when it can.
std::string entry_fault(const pb::Entry& entry) {
  const auto& result = entry.result();
  for (const std::string* text :
       {&entry.device(), &entry.hlo(), &result.other().name(), &result.other().config().type_url(),
        &result.cuda_conv_plan().exec_plan_id(), &result.failure().msg()}) {
    if (!is_utf8(*text)) return fmt::format("{} is no UTF-8 text", quoted(*text));
  }
  const auto& time = result.run_time();
  if (time.seconds() < 0 || time.seconds() > kLongestSeconds || time.nanos() < 0 ||
      time.nanos() > 999'999'999) {
    return fmt::format("a run time of {} s and {} ns; 0 to {} s and 0 to 999999999 ns are allowed",
                       time.seconds(), time.nanos(), kLongestSeconds);
  }
  return {};
}

enum class Kind {
  kUnknown,
  kResults,
  kNewCache,
  kResult,
  kDenylist,
  kTritonConfigs,
  kGpuTarget,
  kLog,
  kLogs,
};

bool any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Kind kind_of_fields(const std::vector<TextField>& fields) {
  bool results = false;
  for (const auto& field : fields) {
    if (any_of(field.name, {"device_scope", "explicit_version_scope"})) return Kind::kNewCache;
    if (field.name == "config" && field.is_message) return Kind::kTritonConfigs;
    if (any_of(field.name, {"gpu_device_info", "platform_name", "dnn_version_info",
                            "runtime_version", "device_description_str"})) {
      return Kind::kGpuTarget;
    }
    if (any_of(field.name, {"instr", "compute_capability", "cudnn_version", "device_pci_bus_id",
                            "blas_version", "fusion_name"})) {
      return Kind::kLog;
    }
    if (field.name == "logs") return Kind::kLogs;
    if (field.name == "entries" && field.is_message) {
      const auto inner = scan_fields(field.body, field.body_line);
      if (!inner) return Kind::kUnknown;
      for (const auto& part : *inner) {
        if (any_of(part.name, {"key", "value"})) return Kind::kNewCache;
      }
      return Kind::kDenylist;
    }
    if (any_of(field.name,
               {"scratch_bytes", "run_time", "failure", "conv", "gemm", "cuda_conv_plan",
                "algorithm", "triton", "custom_kernel_fusion", "other"})) {
      return Kind::kResult;
    }
    if (any_of(field.name, {"version", "results", "dots", "convs"})) results = true;
  }
  return results ? Kind::kResults : Kind::kUnknown;
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kNewCache:
      return "an AutotuneCache (the newer kind of cache)";
    case Kind::kResult:
      return "a bare AutotuneResult (one file of a per-computation folder)";
    case Kind::kDenylist:
      return "an AlgorithmDenylist";
    case Kind::kTritonConfigs:
      return "a TritonGemmConfigsProto (a bare list of triton configs)";
    case Kind::kGpuTarget:
      return "a GpuTargetConfigProto (a device's description)";
    case Kind::kLog:
      return "an AutotuningLog";
    case Kind::kLogs:
      return "AutotuningLogs";
    case Kind::kResults:
      return "AutotuneResults";
    case Kind::kUnknown:
      break;
  }
  return "no kind known here";
}

// The newer kind, read without a schema: from text, and from the wire.

std::string text_value(const std::vector<TextField>& fields, std::string_view name) {
  for (const auto& field : fields) {
    if (field.name == name && !field.is_message) return scalar_text(field.body);
  }
  return {};
}

std::vector<TextField> text_message(const std::vector<TextField>& fields, std::string_view name,
                                    std::string_view where) {
  std::vector<TextField> all;
  for (const auto& field : fields) {
    if (field.name != name || !field.is_message) continue;
    auto inner = scan_fields(field.body, field.body_line);
    if (!inner) throw Error(where, inner.reason());
    all.insert(all.end(), inner->begin(), inner->end());
  }
  return all;
}

NewCache new_cache_of_text(const std::vector<TextField>& fields, std::string_view where) {
  NewCache cache;
  cache.device_scope = text_value(fields, "device_scope");
  cache.explicit_version_scope = text_value(fields, "explicit_version_scope");
  for (const auto& field : fields) {
    if (field.name != "entries" || !field.is_message) continue;
    const auto entry = text_message({field}, "entries", where);
    const auto key = text_message(entry, "key", where);
    const auto target = text_message(key, "target", where);
    const auto environment = text_message(key, "environment", where);
    const auto value = text_message(entry, "value", where);
    const auto config = text_message(value, "optimal_config", where);
    const auto any = text_message(config, "backend_config", where);
    auto type = text_value(any, "type_url");
    if (type.empty() && !any.empty() && any.front().name.front() == '[') {
      type = any.front().name.substr(1, any.front().name.size() - 2);
    }
    cache.entries.push_back(
        {text_value(target, "device"), text_value(target, "explicit_version"),
         text_value(target, "hlo_fingerprint"), text_value(environment, "codegen_version"),
         text_value(environment, "codegen_options_fingerprint"), text_value(config, "backend"),
         type, text_value(value, "optimal_backend_version")});
  }
  return cache;
}

bool parse_wire(std::string_view bytes, UnknownFieldSet& fields) {
  return fields.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

/// Field `number` as text: a string, or a varint's digits.
std::string wire_value(const UnknownFieldSet& fields, int number) {
  for (int i = fields.field_count() - 1; i >= 0; --i) {
    const auto& field = fields.field(i);
    if (field.number() != number) continue;
    if (field.type() == UnknownField::TYPE_LENGTH_DELIMITED) return field.length_delimited();
    if (field.type() == UnknownField::TYPE_VARINT) return std::to_string(field.varint());
  }
  return {};
}

/// False when field `number` is there and is no message.
bool wire_message(const UnknownFieldSet& fields, int number, UnknownFieldSet& inner) {
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != number) continue;
    return field.type() == UnknownField::TYPE_LENGTH_DELIMITED &&
           parse_wire(field.length_delimited(), inner);
  }
  return true;
}

std::optional<NewCache::Entry> new_entry_of_wire(std::string_view bytes) {
  UnknownFieldSet entry;
  UnknownFieldSet key;
  UnknownFieldSet target;
  UnknownFieldSet environment;
  UnknownFieldSet value;
  UnknownFieldSet config;
  UnknownFieldSet any;
  if (!parse_wire(bytes, entry) || !wire_message(entry, 1, key) || !wire_message(key, 1, target) ||
      !wire_message(key, 2, environment) || !wire_message(entry, 2, value) ||
      !wire_message(value, 1, config) || !wire_message(config, 2, any)) {
    return std::nullopt;
  }
  NewCache::Entry read{wire_value(target, 1),      wire_value(target, 2),
                       wire_value(target, 3),      wire_value(environment, 1),
                       wire_value(environment, 2), wire_value(config, 1),
                       wire_value(any, 1),         wire_value(value, 2)};
  if (read.device.empty() || !is_utf8(read.device) || !is_utf8(read.hlo_fingerprint)) {
    return std::nullopt;
  }
  return read;
}

std::optional<NewCache> new_cache_of_wire(const UnknownFieldSet& fields) {
  NewCache cache;
  cache.format = Format::kBinary;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() > 3) continue;
    if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED) return std::nullopt;
    const auto& bytes = field.length_delimited();
    if (field.number() == 3) {
      auto entry = new_entry_of_wire(bytes);
      if (!entry) return std::nullopt;
      cache.entries.push_back(std::move(*entry));
    } else {
      const bool printable = std::none_of(bytes.begin(), bytes.end(),
                                          [](unsigned char c) { return c < ' ' || c == 0x7F; });
      if (!is_utf8(bytes) || !printable) return std::nullopt;
      (field.number() == 1 ? cache.device_scope : cache.explicit_version_scope) = bytes;
    }
  }
  if (cache.entries.empty() && cache.device_scope.empty()) return std::nullopt;
  return cache;
}

/// The kind of a binary message that is neither results nor a newer cache, as far as it shows.
Kind kind_of_wire(const UnknownFieldSet& fields) {
  bool tiles = fields.field_count() > 0;
  bool denied = fields.field_count() > 0;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    UnknownFieldSet inner;
    if (field.number() != 1 || field.type() != UnknownField::TYPE_LENGTH_DELIMITED ||
        !parse_wire(field.length_delimited(), inner) || inner.empty()) {
      return Kind::kUnknown;
    }
    for (int k = 0; k < inner.field_count(); ++k) {
      if (inner.field(k).type() != UnknownField::TYPE_VARINT) tiles = false;
    }
    const auto hlo = wire_value(inner, 1);
    if (hlo.empty() || inner.field(0).type() != UnknownField::TYPE_LENGTH_DELIMITED ||
        !is_utf8(hlo)) {
      denied = false;
    }
  }
  return tiles ? Kind::kTritonConfigs : denied ? Kind::kDenylist : Kind::kUnknown;
}

struct Owned {
  Owned()
      : arena(options()),
        message(google::protobuf::Arena::CreateMessage<pb::AutotuneResults>(&arena)) {}
  static google::protobuf::ArenaOptions options() {
    google::protobuf::ArenaOptions large;
    large.start_block_size = 64 << 10;
    large.max_block_size = 1 << 20;
    return large;
  }
  google::protobuf::Arena arena;
  pb::AutotuneResults* message;
};

}  // namespace

/// Makes VerdictFiles of messages.
class FileReading {
 public:
  static VerdictFile of(const std::shared_ptr<Owned>& owned, Format format) {
    VerdictFile file;
    file.message_ = std::shared_ptr<const pb::AutotuneResults>(owned, owned->message);
    file.format_ = format;
    file.index_entries();
    return file;
  }

  static VerdictFile from_text(std::string_view bytes, std::string_view where,
                               const std::vector<TextField>& fields) {
    auto owned = std::make_shared<Owned>();
    parse_text(bytes, where, *owned->message);
    std::string place(where);
    for (const auto& field : fields) {
      if (field.name == "version") place = fmt::format("{}:{}", where, field.line);
    }
    check_version(*owned->message, place);
    auto file = of(owned, Format::kText);
    std::array<std::size_t, 3> starts{};  // of dots, convs, results among the entries
    starts[1] = static_cast<std::size_t>(owned->message->dots_size());
    starts[2] = starts[1] + static_cast<std::size_t>(owned->message->convs_size());
    for (const auto& field : fields) {
      const int list = field.name == "dots"      ? 0
                       : field.name == "convs"   ? 1
                       : field.name == "results" ? 2
                                                 : -1;
      if (list < 0) continue;
      const auto at = starts[static_cast<std::size_t>(list)]++;
      if (at < file.entries_.size()) file.entries_[at].line = field.line;
    }
    check_entries(file, where);
    return file;
  }

  /// Nothing when the bytes are no such message.
  static std::optional<VerdictFile> from_binary(std::string_view bytes, std::string_view where) {
    auto owned = std::make_shared<Owned>();
    const LogSilence silence;
    if (!owned->message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return std::nullopt;
    }
    auto file = of(owned, Format::kBinary);
    if (!file.version() && file.size() == 0) return std::nullopt;
    check_version(*owned->message, where);
    check_entries(file, where);
    return file;
  }

  /// Whether a binary read could as well be another kind's.
  static bool is_doubtful(const VerdictFile& file) {
    const auto& message = *file.message_;
    return message.dots_size() > 0 || message.convs_size() > 0 ||
           !message.GetReflection()->GetUnknownFields(message).empty();
  }

 private:
  static void check_version(const pb::AutotuneResults& message, std::string_view where) {
    if (!message.has_version()) return;
    if (message.version() < 1 || message.version() > kFileVersion) {
      throw Error(where, fmt::format("version {} of AutotuneResults; 1, 2, 3 and none are allowed",
                                     message.version()));
    }
  }

  static void check_entries(const VerdictFile& file, std::string_view where) {
    for (std::size_t i = 0; i < file.size(); ++i) {
      const auto fault = entry_fault(*file.entries_[i].message);
      if (fault.empty()) continue;
      const int line = file.line(i);
      throw Error(line > 0 ? fmt::format("{}:{}", where, line) : std::string(where),
                  fmt::format("entry {}: {}", i + 1, fault));
    }
  }
};

VerdictFile::VerdictFile(std::span<const Verdict> verdicts) {
  auto message = std::make_shared<pb::AutotuneResults>();
  message->set_version(kFileVersion);
  message->mutable_results()->Reserve(static_cast<int>(verdicts.size()));
  for (const auto& verdict : verdicts) *message->add_results() = verdict.entry();
  message_ = std::move(message);
  index_entries();
}

void VerdictFile::index_entries() {
  entries_.clear();
  entries_.reserve(static_cast<std::size_t>(message_->dots_size() + message_->convs_size() +
                                            message_->results_size()));
  for (const auto& entry : message_->dots()) entries_.push_back({&entry, Section::kDots});
  for (const auto& entry : message_->convs()) entries_.push_back({&entry, Section::kConvs});
  for (const auto& entry : message_->results()) entries_.push_back({&entry, Section::kResults});
}

std::optional<std::int32_t> VerdictFile::version() const {
  if (!message_->has_version()) return std::nullopt;
  return message_->version();
}

Verdict VerdictFile::verdict(std::size_t i) const {
  return Verdict(std::shared_ptr<const pb::Entry>(message_, entries_.at(i).message));
}

std::vector<Verdict> VerdictFile::verdicts() const {
  std::vector<Verdict> all;
  all.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) all.push_back(verdict(i));
  return all;
}

int VerdictFile::line(std::size_t i) const {
  return entries_.at(i).line;
}

bool VerdictFile::has_unknown_fields() const {
  return !has_no_unknown_fields(*message_);
}

std::string VerdictFile::text() const {
  if (has_unknown_fields()) {
    throw Error("the cache holds fields that have no name here; only a binary file can keep them");
  }
  std::string text;
  TextFormat::PrintToString(*message_, &text);
  return text;
}

std::string VerdictFile::binary() const {
  return deterministic_bytes(*message_);
}

Contents read_contents(std::string_view bytes, std::string_view where) {
  if (bytes.size() > kLargestFile) throw Error(where, "larger than 1 GiB, which no cache is");
  if (is_blank_text(bytes)) {
    throw Error(where, fmt::format("is empty; {}; an empty cache says 'version: 3'", kAllowed));
  }
  std::string text_failure;
  if (looks_like_text(bytes)) {
    if (const auto fields = scan_fields(bytes)) {
      const auto kind = kind_of_fields(*fields);
      if (kind == Kind::kResults) return FileReading::from_text(bytes, where, *fields);
      if (kind == Kind::kNewCache) return new_cache_of_text(*fields, where);
      if (kind == Kind::kResult) return read_result(bytes, where);
      if (kind == Kind::kUnknown) {
        throw OtherKind(fmt::format("{}:{}", where, fields->front().line),
                        fmt::format("{} is no field of any kind of cache known here; {}",
                                    quoted(fields->front().name), kAllowed));
      }
      refuse_kind(where, name_of(kind));
    } else {
      text_failure = fields.reason();
    }
  }
  auto file = FileReading::from_binary(bytes, where);
  if (file && !FileReading::is_doubtful(*file)) return std::move(*file);
  UnknownFieldSet wire;
  if (parse_wire(bytes, wire)) {
    if (auto cache = new_cache_of_wire(wire)) return std::move(*cache);
    if (file) return std::move(*file);
    pb::AutotuneResult result;
    const LogSilence silence;
    if (result.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
        result.key_case() != pb::AutotuneResult::KEY_NOT_SET && has_no_unknown_fields(result)) {
      return read_result(bytes, where);
    }
    if (const auto kind = kind_of_wire(wire); kind != Kind::kUnknown) {
      refuse_kind(where, name_of(kind));
    }
    if (text_failure.empty()) {
      throw OtherKind(where, fmt::format("a binary message of no kind known here; {}", kAllowed));
    }
  }
  if (!text_failure.empty()) {
    // `line <n>: <what>` becomes `<where>:<n>: <what>`.
    throw Error(fmt::format("{}:{}", where, std::string_view(text_failure).substr(5)));
  }
  throw Error(where, fmt::format("neither text nor a whole binary message; {}", kAllowed));
}

VerdictFile read_verdicts(std::string_view bytes, std::string_view where) {
  auto contents = read_contents(bytes, where);
  if (auto* file = std::get_if<VerdictFile>(&contents)) return std::move(*file);
  refuse_kind(
      where, name_of(std::holds_alternative<NewCache>(contents) ? Kind::kNewCache : Kind::kResult));
}

VerdictFile load_verdicts(const std::filesystem::path& file) {
  return read_verdicts(host::read_file(file), file.string());
}

Verdict read_result(std::string_view bytes, std::string_view where) {
  auto entry = std::make_shared<pb::Entry>();
  auto& result = *entry->mutable_result();
  if (looks_like_text(bytes)) {
    parse_text(bytes, where, result);
  } else {
    const LogSilence silence;
    if (!result.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      throw Error(where, "no AutotuneResult, neither as text nor as binary");
    }
  }
  const auto fault = entry_fault(*entry);
  if (!fault.empty()) throw Error(where, fault);
  return Verdict(std::move(entry));
}

Format format_of_extension(const std::filesystem::path& file) {
  const auto extension = lower(file.extension().string());
  return any_of(extension, {".txt", ".txtpb", ".textproto", ".textpb", ".prototxt", ".pbtxt"})
             ? Format::kText
             : Format::kBinary;
}

std::string to_bytes(const VerdictFile& file, Format format) {
  return format == Format::kText ? file.text() : file.binary();
}

}  // namespace furlong::verdict
