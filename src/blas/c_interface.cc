#include <exception>
#include <new>
#include <string>

#include "blas/potrf/potrf.hh"
#include "furlong/blas.h"

struct furlong_exec {
  furlong::Exec exec;
};

namespace furlong::blas {
namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

/// Keeps the text if there is memory for it.
void set_last_error(const char* text) noexcept {
  try {
    last_error() = text;
  } catch (...) {
    last_error().clear();
  }
}

/// What LAPACK's letter means; another letter becomes a value that the checks refuse.
Uplo uplo_of(char letter) {
  if (letter == 'L' || letter == 'l') return Uplo::kLower;
  if (letter == 'U' || letter == 'u') return Uplo::kUpper;
  return static_cast<Uplo>(-1);
}

template <class T>
int call_potrf(const potrf::Call<T>& call, bool pointers, furlong_exec* exec) noexcept {
  try {
    int argument = potrf::bad_argument(call, pointers);
    if (argument != 0) {
      set_last_error(potrf::bad_argument_text(call, pointers, argument).c_str());
      return -argument;
    }
    if (exec == nullptr) {
      argument = pointers ? 7 : 8;
      set_last_error(pointers
                         ? "potrf: argument 7 (exec): null; make one with furlong_exec_create"
                         : "potrf: argument 8 (exec): null; make one with furlong_exec_create");
      return -argument;
    }
    potrf::run(call, pointers, exec->exec);
    return 0;
  } catch (const std::exception& error) {
    set_last_error(error.what());
  } catch (...) {
    set_last_error("potrf: unknown failure");
  }
  return FURLONG_FAILED;
}

}  // namespace
}  // namespace furlong::blas

using furlong::blas::call_potrf;
using furlong::blas::uplo_of;

extern "C" {

furlong_exec* furlong_exec_create(int threads) {
  try {
    return new furlong_exec{furlong::Exec(threads)};
  } catch (const std::exception& error) {
    furlong::blas::set_last_error(error.what());
    return nullptr;
  }
}

void furlong_exec_destroy(furlong_exec* exec) {
  delete exec;
}

const char* furlong_last_error(void) {
  return furlong::blas::last_error().c_str();
}

int furlong_spotrf(char uplo, int64_t n, float* a, int64_t lda, int64_t stride_a, int64_t batch,
                   int* info, furlong_exec* exec) {
  return call_potrf<float>({uplo_of(uplo), n, {a, stride_a, nullptr}, lda, batch, info}, false,
                           exec);
}

int furlong_dpotrf(char uplo, int64_t n, double* a, int64_t lda, int64_t stride_a, int64_t batch,
                   int* info, furlong_exec* exec) {
  return call_potrf<double>({uplo_of(uplo), n, {a, stride_a, nullptr}, lda, batch, info}, false,
                            exec);
}

int furlong_spotrf_pointers(char uplo, int64_t n, float* const* a, int64_t lda, int64_t batch,
                            int* info, furlong_exec* exec) {
  return call_potrf<float>({uplo_of(uplo), n, {nullptr, 0, a}, lda, batch, info}, true, exec);
}

int furlong_dpotrf_pointers(char uplo, int64_t n, double* const* a, int64_t lda, int64_t batch,
                            int* info, furlong_exec* exec) {
  return call_potrf<double>({uplo_of(uplo), n, {nullptr, 0, a}, lda, batch, info}, true, exec);
}

}  // extern "C"
