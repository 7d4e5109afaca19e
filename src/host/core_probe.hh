// Core probe: how fast this core works right now.
//
// A core that runs two hardware threads gives each of them about half of its execution units while
// both are at work. Where the other one belongs to somebody else (another guest of the machine, a
// core that this system shows as one of its own), no counter of the system tells; a fixed piece of
// work that takes longer does.
#pragma once

#include "host/clock.hh"

namespace furlong::host {

/// Seconds that some microseconds of integer work take, always the same work: it touches no memory
/// and can issue in every cycle, so that only a lower clock or a second hardware thread slows it.
double core_probe_s(const Clock& clock);

}  // namespace furlong::host
