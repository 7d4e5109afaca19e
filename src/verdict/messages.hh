// What this part needs of protobuf in several files; included by .cc files only.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <string>

namespace furlong::verdict {

/// While one lives, protobuf keeps its log lines to itself: the library says things its own way.
using LogSilence = google::protobuf::LogSilencer;

/// Equal messages give equal bytes.
std::string deterministic_bytes(const google::protobuf::Message& message);

/// At any depth; the content of an Any does not count.
bool has_no_unknown_fields(const google::protobuf::Message& message);

}  // namespace furlong::verdict
