// What a cache of 10,000 verdicts costs: loading it, against protobuf's parse of the same bytes
// alone, and looking one key up.
//
//   verdict_bench [verdicts]
//
// Prints both sides of each claim, best of several passes of one run. Exit code 1 when a look-up
// takes more than 1 microsecond or loading more than 3 times the parse.
#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/number.hh"
#include "verdict/autotune.pb.h"
#include "verdict/lookup.hh"
#include "verdict/verdict_file.hh"

namespace {

using namespace furlong;

constexpr int kPasses = 7;

double best_ms(const std::function<void()>& work) {
  double best = 1e300;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

/// A fusion of about 900 bytes, as in real caches.
std::string computation(std::int64_t number) {
  const std::string m = std::to_string(64 + number);
  return fmt::format(
      "{{\n  tmp_0 = bf16[48,{0},2048]{{2,1,0}} parameter(0)\n"
      "  tmp_1 = bf16[4,12,{0},2048]{{3,2,1,0}} bitcast(bf16[48,{0},2048]{{2,1,0}} tmp_0)\n"
      "  tmp_2 = bf16[4,2048,12,{0}]{{3,2,1,0}} transpose(bf16[4,12,{0},2048]{{3,2,1,0}} tmp_1), "
      "dimensions={{0,3,1,2}}\n"
      "  tmp_3 = bf16[8192,{0}]{{1,0}} bitcast(bf16[4,2048,12,{0}]{{3,2,1,0}} tmp_2)\n"
      "  tmp_4 = bf16[768,12,{0}]{{2,1,0}} parameter(1)\n"
      "  tmp_5 = bf16[768,{0}]{{1,0}} bitcast(bf16[768,12,{0}]{{2,1,0}} tmp_4)\n"
      "  tmp_6 = bf16[{0},768]{{0,1}} transpose(bf16[768,{0}]{{1,0}} tmp_5), dimensions={{1,0}}\n"
      "  ROOT tmp_7 = bf16[8192,768]{{1,0}} dot(bf16[8192,{0}]{{1,0}} tmp_3, bf16[{0},768]{{0,1}} "
      "tmp_6), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}",
      m);
}

void parse_binary(const std::string& bytes) {
  verdict::pb::AutotuneResults message;
  if (!message.ParseFromString(bytes)) std::abort();
}

void parse_text(const std::string& text) {
  verdict::pb::AutotuneResults message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = argc > 1 ? parse_positive(argv[1]) : std::optional<std::int64_t>(10'000);
  if (!count) {
    fmt::print(stderr, "verdict_bench [verdicts]: a whole number > 0 is allowed\n");
    return 2;
  }
  const std::string device =
      "CUDA: 8.0, Cores: 108, GPU clock: 1.41 GHz, Memory bandwidth: 1555 GB/s, L2 cache: 40 MB";
  std::vector<verdict::Verdict> verdicts;
  for (std::int64_t i = 0; i < *count; ++i) {
    verdicts.push_back(verdict::Verdict::own(
        {device, computation(i), 23}, {"cuda", {{"block_m", 64}, {"block_n", 128}}, "0a1b", 1.2},
        31'744 + i));
  }
  const verdict::VerdictFile file(verdicts);
  bool kept = true;
  for (const bool text : {false, true}) {
    const std::string bytes = text ? file.text() : file.binary();
    const double parse = best_ms([&] { text ? parse_text(bytes) : parse_binary(bytes); });
    const double load = best_ms([&] {
      const verdict::LookUp cache(verdict::read_verdicts(bytes, "bench").verdicts());
      if (cache.size() != verdicts.size()) std::abort();
    });
    const double ratio = load / parse;
    kept = kept && ratio <= 3;
    fmt::print(
        "load {} ({} verdicts, {:.1f} MB): {:.2f} ms; protobuf's parse alone {:.2f} ms; "
        "{:.2f}x (at most 3x)\n",
        text ? "text" : "binary", *count, static_cast<double>(bytes.size()) / 1e6, load, parse,
        ratio);
  }
  const verdict::LookUp cache(verdict::read_verdicts(file.binary(), "bench").verdicts());
  std::vector<verdict::Key> keys;
  for (const auto& verdict : verdicts) keys.push_back(verdict.key());
  std::shuffle(keys.begin(), keys.end(), std::mt19937(1));
  std::size_t found = 0;
  const double all = best_ms([&] {
    for (const auto& key : keys) found += cache.find(key) != nullptr ? 1U : 0U;
  });
  if (found != static_cast<std::size_t>(kPasses) * keys.size()) std::abort();
  const double one_us = all * 1000 / static_cast<double>(keys.size());
  kept = kept && one_us <= 1;
  fmt::print("look-up of one key of {} bytes: {:.3f} us (at most 1 us)\n",
             keys.front().device.size() + keys.front().computation.size(), one_us);
  return kept ? 0 : 1;
}
