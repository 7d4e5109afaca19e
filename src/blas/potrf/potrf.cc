#include "blas/potrf/potrf.hh"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "blas/potrf/blocked.hh"
#include "blas/potrf/direct.hh"
#include "blas/potrf/lanes.hh"
#include "blas/potrf/vendor.hh"
#include "blas/vendor.hh"

namespace furlong::blas::potrf {
namespace {

/// Blocked keeps a whole triangle in its workspace: 2^40 elements and more are out of reach.
constexpr std::int64_t kMaxBlockedOrder = std::int64_t{1} << 20;

/// Work below which a thread costs more than it saves, in the flops of estimate().
constexpr double kWorthOneThread = 100e3;

/// Rough work of one item: its flops, and what moving it and its pivots cost.
double estimate(std::int64_t n) {
  const auto order = static_cast<double>(n);
  return order * order * order / 3 + 4 * order * order + 20 * order;
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The least stride that keeps items apart; the largest int64 when it does not fit.
std::int64_t least_stride(std::int64_t n, std::int64_t lda) {
  std::int64_t stride = 0;
  if (__builtin_mul_overflow(lda, n - 1, &stride) || __builtin_add_overflow(stride, n, &stride)) {
    return INT64_MAX;
  }
  return stride;
}

template <class T>
std::int64_t workspace_bytes(const Choice& choice, std::int64_t n) {
  if (const auto* lanes = std::get_if<Lanes>(&choice)) return lanes_workspace(n, lanes->u);
  if (std::holds_alternative<Blocked>(choice)) return blocked_workspace(n, sizeof(T));
  return 0;
}

/// Items that the choice handles together.
template <class T>
std::int64_t group_of(const Choice& choice) {
  if (const auto* lanes = std::get_if<Lanes>(&choice)) {
    return lanes->u * lanes_per_vector(sizeof(T));
  }
  return 1;
}

template <class T>
void run_part(const Choice& choice, const Part<T>& part) {
  std::visit(
      [&](const auto& one) {
        using F = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<F, Direct>) potrf_direct(part);
        if constexpr (std::is_same_v<F, Lanes>) potrf_lanes(part, one.u);
        if constexpr (std::is_same_v<F, Blocked>) potrf_blocked(part, one.nb);
        if constexpr (std::is_same_v<F, Vendor>) potrf_vendor(part);
      },
      choice);
}

}  // namespace

const select::OpVocabulary& vocabulary() {
  static const select::OpVocabulary all = [] {
    select::OpVocabulary v;
    v.op = kOp;
    v.keys = KeySpec::parse(kKeys).value();
    v.exact_values = {{kUploValues.begin(), kUploValues.end()}, {}, {}};
    v.families = schemas_of<Choice>();
    v.dtypes = {kDtypes.begin(), kDtypes.end()};
    std::vector<std::string> spellings;
    for (const Choice& choice : candidates()) spellings.push_back(to_spelling(choice).text());
    v.candidates.assign(v.dtypes.size(), spellings);
    v.last_resort = {kLastResort.begin(), kLastResort.end()};
    return v;
  }();
  return all;
}

template <class T>
int bad_argument(const Call<T>& call, bool pointers) {
  const bool something = call.n != 0 && call.batch != 0;
  if (call.uplo != Uplo::kLower && call.uplo != Uplo::kUpper) return 1;
  if (call.n < 0 || call.n > kVendorMaxInt) return 2;
  if (something && (pointers ? static_cast<const void*>(call.items.pointers)
                             : static_cast<const void*>(call.items.base)) == nullptr) {
    return 3;
  }
  if (call.lda < std::max<std::int64_t>(1, call.n)) return 4;
  if (!pointers && call.n > 0 && call.batch > 1 &&
      call.items.stride < least_stride(call.n, call.lda)) {
    return 5;
  }
  const int after_strides = pointers ? 5 : 6;
  if (call.batch < 0) return after_strides;
  if (call.batch > 0 && call.info == nullptr) return after_strides + 1;
  if (pointers && something) {
    for (std::int64_t i = 0; i < call.batch; ++i) {
      if (call.items.pointers[i] == nullptr) return 3;
    }
  }
  return 0;
}

template <class T>
std::string bad_argument_text(const Call<T>& call, bool pointers, int argument) {
  const int numbered = pointers && argument > 4 ? argument + 1 : argument;
  std::string what;
  switch (numbered) {
    case 1:
      what = fmt::format("(uplo): {}; allowed are kLower and kUpper", static_cast<int>(call.uplo));
      break;
    case 2:
      what = fmt::format("(n): {}; allowed are 0 to {}", call.n, kVendorMaxInt);
      break;
    case 3:
      what = pointers && call.items.pointers != nullptr
                 ? "(a): holds a null pointer; every item needs a matrix"
                 : "(a): null; allowed only when n or batch is 0";
      break;
    case 4:
      what = fmt::format("(lda): {}; allowed is at least {}", call.lda,
                         std::max<std::int64_t>(1, call.n));
      break;
    case 5:
      what = fmt::format("(stride_a): {}; allowed is at least {}, so that items stay apart",
                         call.items.stride, least_stride(call.n, call.lda));
      break;
    case 6:
      what = fmt::format("(batch): {}; allowed are 0 and more", call.batch);
      break;
    default:
      what = "(info): null; allowed only when batch is 0";
      break;
  }
  return fmt::format("potrf: argument {} {}", argument, what);
}

std::int64_t pieces_of(std::int64_t n, std::int64_t batch, std::int64_t threads) {
  if (threads <= 1 || batch <= 1) return 1;
  const double worth = estimate(n) * static_cast<double>(batch) / kWorthOneThread;
  if (worth < 2) return 1;
  const std::int64_t most = std::min(threads, batch);
  return worth < static_cast<double>(most) ? static_cast<std::int64_t>(worth) : most;
}

select::Query query_of(int dtype, Uplo uplo, std::int64_t n, std::int64_t batch,
                       std::int64_t threads) {
  select::Query query;
  query.dtype = dtype;
  query.keys[0] = uplo == Uplo::kLower ? 0 : 1;
  query.keys[1] = n;
  query.keys[2] = ceil_div(batch, pieces_of(n, batch, threads));
  return query;
}

select::Refusal can_run(const Choice& choice, std::int64_t n, std::int64_t lda) {
  if (std::holds_alternative<Direct>(choice) || std::holds_alternative<Lanes>(choice)) {
    if (n > kMaxSmallOrder) return {"implemented for n <= 64"};
  } else if (std::holds_alternative<Blocked>(choice)) {
    if (n > kMaxBlockedOrder) return {"implemented for n <= 1048576"};
  } else if (n > kVendorMaxInt || lda > kVendorMaxInt) {
    return {"OpenBLAS takes 32-bit n and lda"};
  }
  return {};
}

template <class T>
void launch(const Choice& choice, const Call<T>& call, Exec& exec) {
  Exec::State& state = exec.state();
  const std::int64_t group = group_of<T>(choice);
  const std::int64_t wanted = pieces_of(call.n, call.batch, state.threads);
  const std::int64_t each = ceil_div(ceil_div(call.batch, wanted), group) * group;
  const std::int64_t pieces = ceil_div(call.batch, each);
  state.reserve(pieces, workspace_bytes<T>(choice, call.n));
  const auto body = [&](std::int64_t piece) {
    Part<T> part;
    part.uplo = call.uplo;
    part.n = call.n;
    part.items = call.items;
    part.lda = call.lda;
    part.first = piece * each;
    part.count = std::min(each, call.batch - part.first);
    part.info = call.info;
    part.workspace = state.workspace(piece);
    run_part<T>(choice, part);
  };
  state.run(pieces, body);
}

template int bad_argument(const Call<float>&, bool);
template int bad_argument(const Call<double>&, bool);
template std::string bad_argument_text(const Call<float>&, bool, int);
template std::string bad_argument_text(const Call<double>&, bool, int);
template void launch(const Choice&, const Call<float>&, Exec&);
template void launch(const Choice&, const Call<double>&, Exec&);

}  // namespace furlong::blas::potrf
