#include "blas/embedded_tables.hh"

namespace furlong::blas {

std::span<const select::EmbeddedTable> embedded_tables() {
  return {};
}

}  // namespace furlong::blas
