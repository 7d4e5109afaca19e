// Core probe: how fast this core works right now.
//
// A core that runs two hardware threads gives each of them about half of what it has while both are
// at work. Where the other one belongs to somebody else (another guest of the machine, a
// core that this system shows as one of its own), no counter of the system tells; a fixed piece of
// work that takes longer does.
#pragma once

#include "host/clock.hh"

namespace furlong::host {

/// Seconds that a microsecond or two of work take, always the same work: it touches no memory, so
/// that only a lower clock or a second active hardware thread slows it. On x86-64 it needs the
/// whole reorder buffer, which such a thread halves whatever it does; elsewhere it can issue in
/// every cycle, which a second thread that computes prevents.
double core_probe_s(const Clock& clock);

}  // namespace furlong::host
