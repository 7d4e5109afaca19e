// Sharing work out: pieces of one task, done side by side.
//
// Cores of one machine are not equally quick (another guest's work, another clock), so that nobody
// gets a fixed share: whoever is done takes the next piece.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace furlong::host {

/// Calls work(i) once for each i < count, on the calling thread and as many others as this machine
/// has hardware threads, and returns when all are done. The order is not defined, so work(i) must
/// not depend on another piece. Rethrows what the least i threw; other pieces are done
/// nevertheless.
void share_out(std::size_t count, const std::function<void(std::size_t)>& work);

/// The same on at most `threads` threads, the calling one counted. Where the system has no further
/// thread to give, fewer do the work.
void share_out(std::size_t count, std::size_t threads,
               const std::function<void(std::size_t)>& work);

/// As above, for pieces of a text that must come in order: make(i, text) makes piece i in a text
/// that earlier pieces may have left there, take(i, text) is called for 0, 1, 2, ... one after the
/// other. After a piece that threw no later one is taken.
void share_out_in_order(std::size_t count,
                        const std::function<void(std::size_t, std::string&)>& make,
                        const std::function<void(std::size_t, const std::string&)>& take);

}  // namespace furlong::host
