// The tables compiled into the program.
#pragma once

#include <span>

#include "furlong/select.hh"

namespace furlong::blas {

std::span<const select::EmbeddedTable> embedded_tables();

}  // namespace furlong::blas
