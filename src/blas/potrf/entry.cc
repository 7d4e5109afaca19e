#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "blas/embedded_tables.hh"
#include "blas/potrf/potrf.hh"

namespace furlong::blas::potrf {
namespace {

struct Shape {
  std::int64_t n;
  std::int64_t lda;
};

select::Refusal check(const void* call, int candidate) {
  const auto* shape = static_cast<const Shape*>(call);
  return can_run(candidates()[static_cast<std::size_t>(candidate)], shape->n, shape->lda);
}

}  // namespace

select::Selector& selector() {
  static select::Selector one(vocabulary(), embedded_tables());
  return one;
}

template <class T>
void run(const Call<T>& call, bool pointers, Exec& exec) {
  if (const int argument = bad_argument(call, pointers); argument != 0) {
    throw std::invalid_argument(bad_argument_text(call, pointers, argument));
  }
  if (call.batch == 0) return;
  if (call.n == 0) {
    std::fill_n(call.info, call.batch, 0);
    return;
  }
  constexpr int kDtype = std::is_same_v<T, float> ? 0 : 1;
  static_assert(kDtypes[0] == "float" && kDtypes[1] == "double");
  const Shape shape = {call.n, call.lda};
  const int candidate = selector().choose(
      query_of(kDtype, call.uplo, call.n, call.batch, exec.threads()), {&check, &shape});
  launch(candidates()[static_cast<std::size_t>(candidate)], call, exec);
}

template void run(const Call<float>&, bool, Exec&);
template void run(const Call<double>&, bool, Exec&);

}  // namespace furlong::blas::potrf

namespace furlong {

void potrf(Uplo uplo, std::int64_t n, float* a, std::int64_t lda, std::int64_t stride_a,
           std::int64_t batch, int* info, Exec& exec) {
  blas::potrf::run<float>({uplo, n, {a, stride_a, nullptr}, lda, batch, info}, false, exec);
}

void potrf(Uplo uplo, std::int64_t n, double* a, std::int64_t lda, std::int64_t stride_a,
           std::int64_t batch, int* info, Exec& exec) {
  blas::potrf::run<double>({uplo, n, {a, stride_a, nullptr}, lda, batch, info}, false, exec);
}

}  // namespace furlong
