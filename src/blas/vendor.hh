// The vendor library: OpenBLAS, called through its Fortran symbols, and who it is.
#pragma once

#include <cstdint>
#include <string>

namespace furlong::blas {

/// The largest order, leading dimension or count that the library's 32-bit integers hold.
inline constexpr std::int64_t kVendorMaxInt = 2147483647;

/// LAPACK's potrf on one matrix; returns its info.
int vendor_potrf(char uplo, int n, float* a, int lda);
int vendor_potrf(char uplo, int n, double* a, int lda);

/// `OpenBLAS <version>`, e.g. for the environment line of a run.
std::string vendor_name();
/// The kernel set that the library picked on this processor, e.g. `SkylakeX`.
std::string vendor_core();

/// While any of these lives, the library runs on the calling thread alone; when the last one goes,
/// the thread count that the first one found is back.
///
/// Thread rule: may be made on any thread. The library's count is one per process, so a caller that
/// changes it meanwhile has its change undone at the end.
class VendorSingleThread {
 public:
  /// Does nothing unless `needed`.
  explicit VendorSingleThread(bool needed);
  ~VendorSingleThread();
  VendorSingleThread(const VendorSingleThread&) = delete;
  VendorSingleThread& operator=(const VendorSingleThread&) = delete;

 private:
  bool needed_;
};

}  // namespace furlong::blas
