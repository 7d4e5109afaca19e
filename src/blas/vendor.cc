#include "blas/vendor.hh"

#include <mutex>
#include <string_view>

extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
char* openblas_get_config(void);
char* openblas_get_corename(void);
int openblas_get_num_threads(void);
void openblas_set_num_threads(int threads);
}

namespace furlong::blas {
namespace {

std::mutex& single_mutex() {
  static std::mutex mutex;
  return mutex;
}

struct SingleState {
  int users = 0;
  int threads_before = 1;
};

SingleState& single_state() {
  static SingleState state;
  return state;
}

}  // namespace

int vendor_potrf(char uplo, int n, float* a, int lda) {
  int info = 0;
  spotrf_(&uplo, &n, a, &lda, &info);
  return info;
}

int vendor_potrf(char uplo, int n, double* a, int lda) {
  int info = 0;
  dpotrf_(&uplo, &n, a, &lda, &info);
  return info;
}

std::string vendor_name() {
  const std::string_view config = openblas_get_config();
  const auto first_end = config.find(' ');
  const auto second_end = config.find(' ', first_end == config.npos ? config.npos : first_end + 1);
  return std::string(config.substr(0, second_end));
}

std::string vendor_core() {
  return openblas_get_corename();
}

VendorSingleThread::VendorSingleThread(bool needed) : needed_(needed) {
  if (!needed_) return;
  const std::lock_guard lock(single_mutex());
  SingleState& state = single_state();
  if (state.users++ > 0) return;
  state.threads_before = openblas_get_num_threads();
  if (state.threads_before != 1) openblas_set_num_threads(1);
}

VendorSingleThread::~VendorSingleThread() {
  if (!needed_) return;
  const std::lock_guard lock(single_mutex());
  SingleState& state = single_state();
  if (--state.users > 0) return;
  if (state.threads_before != 1) openblas_set_num_threads(state.threads_before);
}

}  // namespace furlong::blas
