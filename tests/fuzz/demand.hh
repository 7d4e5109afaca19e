// How a fuzz target says that something does not hold.
#pragma once

#include <cstdlib>

namespace furlong::fuzz {

inline void demand(bool condition) {
  if (!condition) std::abort();
}

}  // namespace furlong::fuzz
