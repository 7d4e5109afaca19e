// The version of the library; the build reads it from here.
#pragma once

namespace furlong {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace furlong
