#include "verdict/verdict.hh"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/error.hh"
#include "verdict/autotune.pb.h"
#include "verdict/messages.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr std::string_view kOwnPrefix = "furlong/";
constexpr const char* kStructUrl = "type.googleapis.com/google.protobuf.Struct";
/// Up to here every whole number is a double.
constexpr double kExactLimit = 9007199254740992.0;

std::string hex(std::string_view bytes) {
  std::string text = "0x";
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

void list_unknown(const UnknownFieldSet& unknown, const std::string& prefix,
                  std::vector<Field>& fields) {
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    std::string value;
    switch (field.type()) {
      case UnknownField::TYPE_VARINT:
        value = std::to_string(field.varint());
        break;
      case UnknownField::TYPE_FIXED32:
        value = std::to_string(field.fixed32());
        break;
      case UnknownField::TYPE_FIXED64:
        value = std::to_string(field.fixed64());
        break;
      case UnknownField::TYPE_LENGTH_DELIMITED:
        value = hex(field.length_delimited());
        break;
      case UnknownField::TYPE_GROUP: {
        std::string bytes;
        field.group().SerializeToString(&bytes);
        value = hex(bytes);
        break;
      }
    }
    fields.push_back({fmt::format("{}#{}", prefix, field.number()), value});
  }
}

/// Nothing for a scalar at its default value.
std::optional<std::string> scalar_value(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto value = reflection.GetInt32(message, &field);
      return value == 0 ? std::nullopt : std::optional(std::to_string(value));
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const auto value = reflection.GetInt64(message, &field);
      return value == 0 ? std::nullopt : std::optional(std::to_string(value));
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto value = reflection.GetUInt64(message, &field);
      return value == 0 ? std::nullopt : std::optional(std::to_string(value));
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? std::optional<std::string>("true")
                                                 : std::nullopt;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int value = reflection.GetEnumValue(message, &field);
      if (value == 0) return std::nullopt;
      const auto* known = field.enum_type()->FindValueByNumber(value);
      return known != nullptr ? known->name() : std::to_string(value);
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const auto value = reflection.GetString(message, &field);
      if (value.empty()) return std::nullopt;
      return field.type() == FieldDescriptor::TYPE_BYTES ? hex(value) : value;
    }
    default:
      return std::nullopt;
  }
}

void list_fields(const Message& message, const std::string& prefix, std::vector<Field>& fields);

/// The configuration of an `other`: by the fields of the message it holds where that is known here.
void list_any(const google::protobuf::Any& any, const std::string& prefix,
              std::vector<Field>& fields) {
  if (!any.type_url().empty()) fields.push_back({prefix + "type_url", any.type_url()});
  const auto name = any.type_url().substr(any.type_url().rfind('/') + 1);
  std::unique_ptr<Message> held;
  if (name == "xla.AutotuneResult.GemmKey") held = std::make_unique<pb::Gemm>();
  if (name == "xla.AutotuneResult.TritonGemmKey") held = std::make_unique<pb::Triton>();
  const LogSilence silence;
  if (held && held->ParseFromString(any.value())) {
    list_fields(*held, prefix, fields);
  } else if (!any.value().empty()) {
    fields.push_back({prefix + "value", hex(any.value())});
  }
  list_unknown(any.GetReflection()->GetUnknownFields(any), prefix, fields);
}

void list_fields(const Message& message, const std::string& prefix, std::vector<Field>& fields) {
  if (const auto* any = dynamic_cast<const google::protobuf::Any*>(&message)) {
    list_any(*any, prefix, fields);
    return;
  }
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    const std::string name = prefix + field->name();
    if (field->is_map()) {
      std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        const auto& pair = reflection.GetRepeatedMessage(message, field, i);
        const auto& names = *pair.GetDescriptor();
        pairs.emplace_back(pair.GetReflection()->GetInt64(pair, names.map_key()),
                           pair.GetReflection()->GetInt64(pair, names.map_value()));
      }
      std::sort(pairs.begin(), pairs.end());
      for (const auto& [key, value] : pairs) {
        fields.push_back({fmt::format("{}[{}]", name, key), std::to_string(value)});
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      list_fields(reflection.GetMessage(message, field), name + ".", fields);
    } else if (auto value = scalar_value(message, *field)) {
      fields.push_back({name, std::move(*value)});
    }
  }
  list_unknown(reflection.GetUnknownFields(message), prefix, fields);
}

const Message* winner_message(const pb::AutotuneResult& result) {
  switch (result.key_case()) {
    case pb::AutotuneResult::kConv:
      return &result.conv();
    case pb::AutotuneResult::kGemm:
      return &result.gemm();
    case pb::AutotuneResult::kCudaConvPlan:
      return &result.cuda_conv_plan();
    case pb::AutotuneResult::kAlgorithm:
      return &result.algorithm();
    case pb::AutotuneResult::kTriton:
      return &result.triton();
    case pb::AutotuneResult::kCustomKernelFusion:
      return &result.custom_kernel_fusion();
    case pb::AutotuneResult::kOther:
      return &result.other();
    case pb::AutotuneResult::KEY_NOT_SET:
      break;
  }
  return nullptr;
}

std::string scalar_shown(const Scalar& scalar) {
  if (const auto* flag = std::get_if<bool>(&scalar)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&scalar)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&scalar)) return shortest(*number);
  return std::get<std::string>(scalar);
}

google::protobuf::Value to_value(const std::string& name, const Scalar& scalar) {
  google::protobuf::Value value;
  if (const auto* flag = std::get_if<bool>(&scalar)) {
    value.set_bool_value(*flag);
  } else if (const auto* whole = std::get_if<std::int64_t>(&scalar)) {
    const auto number = static_cast<double>(*whole);
    if (std::abs(number) > kExactLimit) {
      throw std::invalid_argument(
          fmt::format("binding {}: {} is beyond 2^53; smaller whole numbers or text are allowed",
                      quoted(name), *whole));
    }
    value.set_number_value(number);
  } else if (const auto* number = std::get_if<double>(&scalar)) {
    if (!std::isfinite(*number)) {
      throw std::invalid_argument(fmt::format("binding {}: no finite number", quoted(name)));
    }
    value.set_number_value(*number);
  } else {
    if (!is_utf8(std::get<std::string>(scalar))) {
      throw std::invalid_argument(fmt::format("binding {}: no UTF-8", quoted(name)));
    }
    value.set_string_value(std::get<std::string>(scalar));
  }
  return value;
}

std::optional<Scalar> from_value(const google::protobuf::Value& value) {
  if (value.kind_case() == google::protobuf::Value::kBoolValue) return value.bool_value();
  if (value.kind_case() == google::protobuf::Value::kStringValue) return value.string_value();
  if (value.kind_case() != google::protobuf::Value::kNumberValue) return std::nullopt;
  const double number = value.number_value();
  if (std::abs(number) <= kExactLimit && number == std::trunc(number)) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

void set_key(pb::Entry& entry, const Key& key) {
  if (!is_utf8(key.device) || !is_utf8(key.computation)) {
    throw std::invalid_argument("a verdict's device and computation are UTF-8 text");
  }
  entry.set_device(key.device);
  entry.set_hlo(key.computation);
  entry.clear_version();
  if (key.version) entry.set_version(*key.version);
}

}  // namespace

std::string deterministic_bytes(const Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream out(&bytes);
    google::protobuf::io::CodedOutputStream coded(&out);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

Verdict Verdict::own(const Key& key, const OwnWinner& winner, std::int64_t run_time_ns) {
  if (run_time_ns < 0) throw std::invalid_argument("a run time is not negative");
  if (!is_utf8(winner.provider) || winner.provider.empty()) {
    throw std::invalid_argument("a winner's provider is a name in UTF-8");
  }
  if (winner.runner_up_ratio && !std::isfinite(*winner.runner_up_ratio)) {
    throw std::invalid_argument("a runner-up's ratio is a finite number");
  }
  google::protobuf::Struct about;
  auto& bindings = *(*about.mutable_fields())["bindings"].mutable_struct_value();
  for (const auto& [name, scalar] : winner.bindings) {
    if (!is_utf8(name)) throw std::invalid_argument("a binding's name is UTF-8 text");
    (*bindings.mutable_fields())[name] = to_value(name, scalar);
  }
  (*about.mutable_fields())["candidates"] = to_value("candidates", winner.candidates);
  if (winner.runner_up_ratio) {
    (*about.mutable_fields())["runner_up_ratio"].set_number_value(*winner.runner_up_ratio);
  }
  auto entry = std::make_shared<pb::Entry>();
  set_key(*entry, key);
  auto& result = *entry->mutable_result();
  auto& time = *result.mutable_run_time();
  if (run_time_ns >= 1'000'000'000) time.set_seconds(run_time_ns / 1'000'000'000);
  const auto nanos = static_cast<std::int32_t>(run_time_ns % 1'000'000'000);
  if (nanos != 0) time.set_nanos(nanos);
  result.mutable_other()->set_name(std::string(kOwnPrefix) + winner.provider);
  result.mutable_other()->mutable_config()->set_type_url(kStructUrl);
  result.mutable_other()->mutable_config()->set_value(deterministic_bytes(about));
  return Verdict(std::move(entry));
}

const std::string& Verdict::device() const {
  return entry_->device();
}

const std::string& Verdict::computation() const {
  return entry_->hlo();
}

std::optional<std::int32_t> Verdict::entry_version() const {
  if (entry_->version() == 0) return std::nullopt;
  return entry_->version();
}

Key Verdict::key() const {
  return {device(), computation(), entry_version()};
}

Verdict Verdict::with_key(const Key& key) const {
  auto entry = std::make_shared<pb::Entry>(*entry_);
  set_key(*entry, key);
  return Verdict(std::move(entry));
}

WinnerKind Verdict::winner_kind() const {
  switch (entry_->result().key_case()) {
    case pb::AutotuneResult::kConv:
      return WinnerKind::kConv;
    case pb::AutotuneResult::kGemm:
      return WinnerKind::kGemm;
    case pb::AutotuneResult::kCudaConvPlan:
      return WinnerKind::kCudaConvPlan;
    case pb::AutotuneResult::kAlgorithm:
      return WinnerKind::kAlgorithm;
    case pb::AutotuneResult::kTriton:
      return WinnerKind::kTriton;
    case pb::AutotuneResult::kCustomKernelFusion:
      return WinnerKind::kCustomKernelFusion;
    case pb::AutotuneResult::kOther:
      return WinnerKind::kOther;
    case pb::AutotuneResult::KEY_NOT_SET:
      break;
  }
  return WinnerKind::kNone;
}

std::string Verdict::winner_name() const {
  const auto& result = entry_->result();
  if (result.has_other()) return result.other().name().empty() ? "other" : result.other().name();
  if (result.key_case() == pb::AutotuneResult::KEY_NOT_SET) return "none";
  return pb::AutotuneResult::descriptor()->FindFieldByNumber(result.key_case())->name();
}

std::vector<Field> Verdict::winner_fields() const {
  std::vector<Field> fields;
  if (const auto own = own_winner()) {
    for (const auto& [name, scalar] : own->bindings) fields.push_back({name, scalar_shown(scalar)});
    return fields;
  }
  const auto& result = entry_->result();
  if (result.has_other()) {
    if (result.other().has_config()) list_any(result.other().config(), "config.", fields);
    list_unknown(result.other().GetReflection()->GetUnknownFields(result.other()), "", fields);
  } else if (const Message* message = winner_message(result)) {
    list_fields(*message, "", fields);
  }
  return fields;
}

std::string Verdict::winner_text() const {
  std::string text = winner_name();
  for (const auto& [name, value] : winner_fields()) text += fmt::format(" {}={}", name, value);
  return printable(text);
}

bool Verdict::same_winner(const Verdict& other) const {
  return winner_kind() == other.winner_kind() && winner_name() == other.winner_name() &&
         winner_fields() == other.winner_fields();
}

std::optional<OwnWinner> Verdict::own_winner() const {
  const auto& other = entry_->result().other();
  if (other.name().compare(0, kOwnPrefix.size(), kOwnPrefix) != 0) return std::nullopt;
  google::protobuf::Struct about;
  if (other.config().type_url() != kStructUrl || !has_no_unknown_fields(other)) return std::nullopt;
  const LogSilence silence;
  if (!about.ParseFromString(other.config().value()) || !has_no_unknown_fields(about)) {
    return std::nullopt;
  }
  OwnWinner winner;
  winner.provider = other.name().substr(kOwnPrefix.size());
  for (const auto& [name, value] : about.fields()) {
    if (name == "bindings" && value.has_struct_value()) {
      for (const auto& [binding, scalar] : value.struct_value().fields()) {
        auto read = from_value(scalar);
        if (!read) return std::nullopt;
        winner.bindings.emplace(binding, std::move(*read));
      }
    } else if (name == "candidates" && value.kind_case() == google::protobuf::Value::kStringValue) {
      winner.candidates = value.string_value();
    } else if (name == "runner_up_ratio" &&
               value.kind_case() == google::protobuf::Value::kNumberValue) {
      winner.runner_up_ratio = value.number_value();
    } else {
      return std::nullopt;
    }
  }
  return winner;
}

std::optional<std::int64_t> Verdict::run_time_ns() const {
  const auto& result = entry_->result();
  if (!result.has_run_time()) return std::nullopt;
  return result.run_time().seconds() * 1'000'000'000 + result.run_time().nanos();
}

std::optional<std::int64_t> Verdict::measured_ns() const {
  const auto time = run_time_ns();
  return time && *time > 1 ? time : std::nullopt;
}

std::optional<std::int64_t> Verdict::scratch_bytes() const {
  if (!entry_->result().has_scratch_bytes()) return std::nullopt;
  return entry_->result().scratch_bytes();
}

std::optional<std::string> Verdict::failure() const {
  const auto& result = entry_->result();
  if (!result.has_failure()) return std::nullopt;
  const auto kind = result.failure().kind();
  const auto* known = pb::Failure::Kind_descriptor()->FindValueByNumber(kind);
  const std::string name = known != nullptr ? known->name() : std::to_string(kind);
  return result.failure().msg().empty() ? name : name + ": " + result.failure().msg();
}

std::vector<Field> Verdict::metadata() const {
  std::vector<Field> fields;
  const auto& result = entry_->result();
  if (result.scratch_bytes() != 0) {
    fields.push_back({"scratch_bytes", std::to_string(result.scratch_bytes())});
  }
  if (result.has_failure()) {
    fields.push_back({"failure", *failure()});
    if (result.failure().buffer_address() != 0) {
      fields.push_back(
          {"failure.buffer_address", std::to_string(result.failure().buffer_address())});
    }
    list_unknown(result.failure().GetReflection()->GetUnknownFields(result.failure()), "failure.",
                 fields);
  }
  if (const auto own = own_winner()) {
    fields.push_back({"candidates", own->candidates});
    if (own->runner_up_ratio) {
      fields.push_back({"runner_up_ratio", shortest(*own->runner_up_ratio)});
    }
  }
  const auto& time = result.run_time();
  list_unknown(time.GetReflection()->GetUnknownFields(time), "run_time.", fields);
  list_unknown(result.GetReflection()->GetUnknownFields(result), "result.", fields);
  list_unknown(entry_->GetReflection()->GetUnknownFields(*entry_), "", fields);
  return fields;
}

bool Verdict::same_result(const Verdict& other) const {
  return same_winner(other) && run_time_ns().value_or(0) == other.run_time_ns().value_or(0) &&
         metadata() == other.metadata();
}

bool Verdict::says_num_ctas() const {
  const auto& result = entry_->result();
  return !result.has_triton() || result.triton().num_ctas() != 0;
}

std::int64_t Verdict::split_k() const {
  return entry_->result().triton().split_k();
}

std::string Verdict::result_text() const {
  if (!has_no_unknown_fields(entry_->result())) {
    throw Error("a result holds fields that have no name here; only a binary file can keep them");
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(entry_->result(), &text);
  return text;
}

}  // namespace furlong::verdict
