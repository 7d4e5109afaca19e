// The log sink: the only way in which the library says anything unasked.
//
// Warnings and the selection trace go through one settable function; the default writes the line
// to stderr in one write. Thread rule: log_line may be called from any thread; the sink is called
// under a lock, one line at a time, and must not call back into the library.
#pragma once

#include <functional>
#include <string_view>

namespace furlong {

/// Receives one line without its newline.
using LogSink = std::function<void(std::string_view line)>;

/// Installs `sink` for the process (empty = the default, stderr) and returns the one before.
LogSink set_log_sink(LogSink sink);

/// Hands one line to the sink.
void log_line(std::string_view line);

}  // namespace furlong
