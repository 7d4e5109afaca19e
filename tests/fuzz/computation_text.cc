// Fuzz target: any bytes as the text of a computation, and behind the beginning of a fused one.
// They read or are refused with a line and what is allowed there; what was read prints in one way,
// which reads back as the same; what takes any text takes these.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/demand.hh"
#include "verdict/computation.hh"

namespace furlong::fuzz {
namespace {

void read_and_check(std::string_view text) {
  const auto harmless = verdict::IgnoreList::harmless();
  const auto all =
      verdict::IgnoreList::parse("attributes,constants,layouts,workspace,backend_config");
  const auto parsed = verdict::parse_computation(text);
  const auto summary = verdict::summarize(text);
  demand(summary.readable == static_cast<bool>(parsed) && summary.reason == parsed.reason());
  demand(!summary.line.empty() && summary.line.size() <= verdict::Summary::kLineBytes);
  for (const char c : summary.line) demand(c >= ' ' && c <= '~');
  verdict::shape_key(text, {});
  verdict::shape_key(text, *all);
  const auto key = verdict::shape_key(text, harmless);
  if (!parsed) {
    demand(parsed.reason().starts_with("line "));
    demand(parsed.reason().find("; ") != std::string::npos);
    return;
  }
  parsed->why_not_run();
  parsed->parameters();
  const auto printed = verdict::print(*parsed);
  const auto again = verdict::parse_computation(printed);
  demand(static_cast<bool>(again));
  demand(verdict::print(*again) == printed);
  demand(verdict::shape_key(printed, harmless) == key);
  const auto canonical = verdict::canonical(*parsed);
  demand(verdict::canonical(canonical) == canonical);
  demand(verdict::print(verdict::canonical(*again)) == verdict::print(canonical));
}

}  // namespace
}  // namespace furlong::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  furlong::fuzz::read_and_check(bytes);
  std::string text =
      "{\n  a = f32[2,3]{1,0} parameter(0)\n  b = f32[3]{0} parameter(1)\n"
      "  c = f32[] constant(0)\n  ";
  text += bytes;
  furlong::fuzz::read_and_check(text);
  return 0;
}
