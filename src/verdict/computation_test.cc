#include "verdict/computation.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/text.hh"
#include "support/shared.hh"

namespace furlong::verdict {
namespace {

namespace fs = std::filesystem;

using Numbers = std::vector<std::int64_t>;

constexpr std::string_view kSeed =
    "{\n"
    "  tmp_0 = f16[1,16,17,3]{3,2,1,0} parameter(0)\n"
    "  tmp_1 = f16[16,51]{1,0} bitcast(f16[1,16,17,3]{3,2,1,0} tmp_0)\n"
    "  tmp_2 = s8[16,17,3]{2,1,0} parameter(1)\n"
    "  tmp_3 = s8[51,16]{0,1} bitcast(s8[16,17,3]{2,1,0} tmp_2)\n"
    "  tmp_4 = f16[51,16]{0,1} convert(s8[51,16]{0,1} tmp_3)\n"
    "  tmp_5 = f16[16,16]{1,0} dot(f16[16,51]{1,0} tmp_1, f16[51,16]{0,1} tmp_4), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT tmp_6 = f16[1,16,16]{2,1,0} bitcast(f16[16,16]{1,0} tmp_5)\n"
    "}";

constexpr std::string_view kGemm =
    "(f32[3,3]{1,0}, s8[72]{0}) custom-call(f32[3,3]{1,0}, f32[3,3]{1,0}), "
    "custom_call_target=\"__cublas$gemm\", backend_config={\"gemm_backend_config\":{\"beta\":0,"
    "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"1\"],"
    "\"rhs_batch_dimensions\":[]}},\"queue\":\"0\"}";

Computation read(std::string_view text) {
  const auto parsed = parse_computation(text);
  if (!parsed) throw std::runtime_error(parsed.reason() + "\n" + std::string(text));
  return *parsed;
}

std::string reason(std::string_view text) {
  const auto parsed = parse_computation(text);
  return parsed ? "it was read" : parsed.reason();
}

/// A computation of two parameters x, y and a start value z, whose root is `root`.
std::string with_root(std::string_view x, std::string_view y, std::string_view root) {
  return fmt::format(
      "{{\n  x = {} parameter(0)\n  y = {} parameter(1)\n  z = {} constant(0)\n  ROOT r = {}\n}}",
      x, y, std::string(x.substr(0, x.find('['))) + "[]", root);
}

IgnoreList ignoring(std::string_view items) {
  return *IgnoreList::parse(items);
}

std::string key(std::string_view text) {
  return shape_key(text, IgnoreList::harmless());
}

/// The values of the `hlo` fields of a text file, adjacent strings joined.
std::vector<std::string> hlo_texts(const std::string& file) {
  std::vector<std::string> found;
  const std::string_view field = "hlo:";
  for (auto at = file.find(field); at != std::string::npos; at = file.find(field, at)) {
    at += field.size();
    std::string text;
    for (;;) {
      at = std::min(file.find_first_not_of(" \n", at), file.size());
      if (at == file.size() || (file[at] != '"' && file[at] != '\'')) break;
      const char quote = file[at++];
      for (; file[at] != quote; ++at) {
        if (file[at] != '\\') {
          text += file[at];
          continue;
        }
        const char c = file[++at];
        text += c == 'n' ? '\n' : c;
      }
      ++at;
    }
    found.push_back(text);
  }
  return found;
}

/// Text to the files that hold it, of all files that others wrote.
std::map<std::string, std::vector<std::string>> real_texts() {
  std::map<std::string, std::vector<std::string>> texts;
  for (const auto& entry :
       fs::recursive_directory_iterator(testing::shared_folder() / "real/xla")) {
    if (!entry.is_regular_file() || entry.path().extension() == ".pb") continue;
    for (auto& text : hlo_texts(testing::slurp(entry.path()))) {
      texts[text].push_back(entry.path().filename().string());
    }
  }
  return texts;
}

void add_types(const Shape& shape, std::set<std::string>& types) {
  for (const auto& element : shape.elements) add_types(element, types);
  if (!shape.tuple) types.emplace(name(shape.type));
}

TEST(Computation, EveryRealTextComesBackUnchanged) {
  FURLONG_NEEDS_SHARED("real/xla");
  std::size_t entries = 0;
  std::size_t fused = 0;
  std::size_t printed = 0;
  std::size_t elided = 0;
  const auto texts = real_texts();
  for (const auto& [text, files] : texts) {
    SCOPED_TRACE(files.front() + ": " + text);
    entries += files.size();
    const auto parsed = parse_computation(text);
    ASSERT_TRUE(parsed) << parsed.reason();
    EXPECT_EQ(print(*parsed), text);
    EXPECT_EQ(canonical(*parsed), *parsed);
    elided += parsed->elided() ? 1 : 0;
    const bool is_fused = parsed->form == Computation::Form::kFused;
    (is_fused ? fused : printed) += 1;
    EXPECT_EQ(parsed->why_not_run().empty(), is_fused);
    EXPECT_EQ(text.starts_with('{'), is_fused);

    const auto summary = summarize(text);
    EXPECT_TRUE(summary.readable);
    EXPECT_EQ(summary.root, parsed->root().opcode);
    EXPECT_FALSE(summary.parameters.empty());
    EXPECT_EQ(summary.parameters.size(),
              is_fused ? parsed->parameters().size() : parsed->root().operands.size());
    std::set<std::string> types;
    for (const auto& made : parsed->instructions) {
      add_types(made.shape, types);
      for (const auto& operand : made.operands) add_types(operand.shape, types);
    }
    EXPECT_EQ(std::set<std::string>(summary.dtypes.begin(), summary.dtypes.end()), types);
  }
  EXPECT_EQ(entries, 356u);
  EXPECT_EQ(texts.size(), 78u);
  EXPECT_EQ(fused, 21u);
  EXPECT_EQ(printed, 57u);
  EXPECT_EQ(elided, 13u);
}

TEST(Computation, RanksHoldTheSameTexts) {
  FURLONG_NEEDS_SHARED("real/xla/ranks");
  std::vector<std::set<std::string>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    const auto file =
        testing::shared_folder() / "real/xla/ranks" /
        fmt::format("proc{}__module_0040.pjit__wrapped_step_fn.autotune_results.pbtxt", rank);
    const auto texts = hlo_texts(testing::slurp(file));
    ranks.emplace_back(texts.begin(), texts.end());
    EXPECT_EQ(ranks.back().size(), 29u);
    EXPECT_EQ(ranks.back(), ranks.front());
  }
  // Different computations of one job keep different keys, whatever drifts between releases.
  std::set<std::string> keys;
  for (const auto& text : ranks.front()) {
    keys.insert(shape_key(text, ignoring("names,metadata,backend_config,workspace")));
  }
  EXPECT_EQ(keys.size(), 29u);
}

TEST(Computation, OneComputationOfManyReleasesHasOneKey) {
  FURLONG_NEEDS_SHARED("real/xla");
  std::map<std::string, std::vector<std::string>> exact;
  std::map<std::string, std::vector<std::string>> tolerant;
  for (const auto& [text, files] : real_texts()) {
    exact[shape_key(text, {})].push_back(text);
    tolerant[shape_key(text, ignoring("names,metadata,backend_config,workspace"))].push_back(text);
  }
  // Escaped or not, sorted or not: the config is the same.
  EXPECT_EQ(exact.size(), 69u);
  EXPECT_EQ(tolerant.size(), 50u);
  // The 3x3 product of the texts of three years.
  const auto most = std::max_element(
      tolerant.begin(), tolerant.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  EXPECT_EQ(most->second.size(), 10u);
  EXPECT_EQ(most->first,
            "#0=f32[3,3]{1,0} custom-call(f32[3,3]{1,0},f32[3,3]{1,0}),"
            "backend_config={\"lhs_contracting_dimensions\":[\"1\"],"
            "\"rhs_contracting_dimensions\":[\"0\"]},custom_call_target=\"__cublas$gemm\"\n");
}

TEST(Computation, ValuesOfTheSeed) {
  const auto seed = read(kSeed);
  EXPECT_EQ(print(seed), kSeed);
  ASSERT_EQ(seed.instructions.size(), 7u);
  EXPECT_EQ(seed.form, Computation::Form::kFused);
  EXPECT_EQ(seed.parameters(), (std::vector<std::size_t>{0, 2}));
  EXPECT_FALSE(seed.elided());
  EXPECT_EQ(seed.why_not_run(), "");
  const auto& dot = seed.instructions[5];
  EXPECT_EQ(dot.name, "tmp_5");
  EXPECT_EQ(dot.kind, OpcodeKind::kDot);
  EXPECT_EQ(dot.shape.type, ElementType::kF16);
  EXPECT_EQ(dot.shape.dims, (Numbers{16, 16}));
  EXPECT_EQ(dot.shape.layout, (Numbers{1, 0}));
  EXPECT_TRUE(dot.shape.row_major());
  ASSERT_EQ(dot.operands.size(), 2u);
  EXPECT_EQ(dot.operands[1].index, 4u);
  EXPECT_FALSE(dot.operands[1].shape.row_major());
  EXPECT_EQ(dot.operands[1].shape.strides(), (Numbers{1, 51}));
  EXPECT_EQ(dot.operands[1].shape.count(), 51 * 16);
  EXPECT_EQ(dot.numbers("lhs_contracting_dims"), (Numbers{1}));
  EXPECT_EQ(dot.numbers("lhs_batch_dims"), Numbers{});
  EXPECT_FALSE(dot.root);
  EXPECT_TRUE(seed.root().root);
  EXPECT_EQ(seed.root().opcode, "bitcast");
}

TEST(Computation, EachConstructIsReadAndPrinted) {
  struct Case {
    std::string_view x, y, root;
    OpcodeKind kind;
  };
  const std::vector<Case> cases{
      {"f32[2,3]{1,0}", "f32[3]{0}", "f32[] parameter(2)", OpcodeKind::kParameter},
      {"f32[2]{0}", "f32[3]{0}", "bf16[] constant({...})", OpcodeKind::kConstant},
      {"f32[2]{0}", "f32[3]{0}", "f32[] constant(-1.5e-07)", OpcodeKind::kConstant},
      {"f32[2]{0}", "f32[3]{0}", "f32[] constant(-inf)", OpcodeKind::kConstant},
      {"f32[2]{0}", "f32[3]{0}", "f32[] constant(nan)", OpcodeKind::kConstant},
      {"f32[2]{0}", "f32[3]{0}", "pred[] constant(true)", OpcodeKind::kConstant},
      {"f32[2]{0}", "f32[3]{0}", "u64[] constant(18446744073709551615)", OpcodeKind::kConstant},
      {"f32[2]{0}", "f32[3]{0}", "s8[3]{0} constant({-128, 0, 127})", OpcodeKind::kConstant},
      {"f32[2]{0}", "f32[3]{0}", "f32[2,2]{1,0} constant({ { 1, 2 }, { 3, 4 } })",
       OpcodeKind::kConstant},
      {"f32[2]{0}", "f32[3]{0}", "f32[0]{0} constant({})", OpcodeKind::kConstant},
      {"f8e4m3fn[2,3]{0,1}", "f32[3]{0}", "bf16[2,3]{0,1} convert(f8e4m3fn[2,3]{0,1} tmp_0)",
       OpcodeKind::kConvert},
      {"f32[2,3]{1,0}", "f32[3]{0}", "f32[6]{0} bitcast(f32[2,3]{1,0} tmp_0)",
       OpcodeKind::kBitcast},
      {"f32[2,3]{1,0}", "f32[3]{0}", "f32[3,2]{1,0} reshape(f32[2,3]{1,0} tmp_0)",
       OpcodeKind::kReshape},
      {"f32[2,3,4]{2,1,0}", "f32[3]{0}",
       "f32[4,2,3]{2,1,0} transpose(f32[2,3,4]{2,1,0} tmp_0), dimensions={2,0,1}",
       OpcodeKind::kTranspose},
      {"f32[]", "f32[3]{0}", "f32[2,3]{1,0} broadcast(f32[] tmp_0), dimensions={}",
       OpcodeKind::kBroadcast},
      {"f32[2,4]{1,0}", "f32[3]{0}",
       "f32[2,3,4]{2,1,0} broadcast(f32[2,4]{1,0} tmp_0), dimensions={0,2}",
       OpcodeKind::kBroadcast},
      {"bf16[5,2,3]{2,1,0}", "bf16[5,4,3]{2,1,0}",
       "f32[5,2,4]{2,1,0} dot(bf16[5,2,3]{2,1,0} tmp_0, bf16[5,4,3]{2,1,0} tmp_1), "
       "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
       "rhs_contracting_dims={2}, operand_precision={highest,default}",
       OpcodeKind::kDot},
      {"f32[2]{0}", "f32[3]{0}",
       "f32[2,3]{1,0} dot(f32[2]{0} tmp_0, f32[3]{0} tmp_1), lhs_contracting_dims={}, "
       "rhs_contracting_dims={}",
       OpcodeKind::kDot},
      {"f32[2,3]{1,0}", "f32[3]{0}",
       "f32[2]{0} reduce(f32[2,3]{1,0} tmp_0, f32[] tmp_2), dimensions={1}, to_apply=maximum",
       OpcodeKind::kReduce},
      {"f32[2,3]{1,0}", "f32[3]{0}",
       "f32[] reduce(f32[2,3]{1,0} tmp_0, f32[] tmp_2), dimensions={0,1}, to_apply=add",
       OpcodeKind::kReduce},
      {"f32[2,8]{1,0}", "f32[3]{0}",
       "f32[2,8]{1,0} reduce-window(f32[2,8]{1,0} tmp_0, f32[] tmp_2), "
       "window={size=1x8 pad=0_0x7_0}, to_apply=add",
       OpcodeKind::kPrefixSum},
      {"f32[2,8]{1,0}", "f32[3]{0}",
       "f32[1,4]{1,0} slice(f32[2,8]{1,0} tmp_0), slice={[1:2], [4:8]}", OpcodeKind::kSlice},
      {"f32[2,8]{1,0}", "f32[3]{0}",
       "f32[2,3]{1,0} slice(f32[2,8]{1,0} tmp_0), slice={[0:2:1], [0:8:3]}", OpcodeKind::kSlice},
      {"f32[2]{0}", "bf16[3]{0}",
       "(f32[2]{0}, bf16[3]{0}) tuple(f32[2]{0} tmp_0, bf16[3]{0} tmp_1)", OpcodeKind::kTuple},
      {"f32[2]{0}", "f32[3]{0}", "() tuple()", OpcodeKind::kTuple},
      {"f32[2]{0}", "f32[3]{0}", "s32[2,3]{1,0} iota(), iota_dimension=1", OpcodeKind::kIota},
      {"f32[2]{0}", "f32[3]{0}", "f32[2]{0} exponential(f32[2]{0} tmp_0)", OpcodeKind::kUnary},
      {"f32[2]{0}", "f32[3]{0}", "pred[2]{0} is-finite(f32[2]{0} tmp_0)", OpcodeKind::kUnary},
      {"f32[3]{0}", "f32[3]{0}", "f32[3]{0} subtract(f32[3]{0} tmp_0, f32[3]{0} tmp_1)",
       OpcodeKind::kBinary},
      {"u8[3]{0}", "u8[3]{0}", "u8[3]{0} shift-right-logical(u8[3]{0} tmp_0, u8[3]{0} tmp_1)",
       OpcodeKind::kBinary},
      {"f32[3]{0}", "f32[3]{0}",
       "pred[3]{0} compare(f32[3]{0} tmp_0, f32[3]{0} tmp_1), direction=GE", OpcodeKind::kCompare},
      {"s32[3]{0}", "pred[3]{0}",
       "s32[3]{0} select(pred[3]{0} tmp_1, s32[3]{0} tmp_0, s32[3]{0} tmp_0)", OpcodeKind::kSelect},
  };
  std::set<OpcodeKind> seen;
  for (const auto& [x, y, root, kind] : cases) {
    const auto start = std::string(x.substr(0, x.find('['))) + "[]";
    const auto text = fmt::format(
        "{{\n  tmp_0 = {} parameter(0)\n  tmp_1 = {} parameter(1)\n  tmp_2 = {} constant(0)\n"
        "  ROOT tmp_3 = {}\n}}",
        x, y, start, root);
    SCOPED_TRACE(text);
    const auto parsed = parse_computation(text);
    ASSERT_TRUE(parsed) << parsed.reason();
    EXPECT_EQ(print(*parsed), text);
    EXPECT_EQ(parsed->root().kind, kind);
    seen.insert(kind);
  }
  EXPECT_EQ(seen.size(), 17u);
}

TEST(Computation, ValuesOfConstructs) {
  const auto slice = read(with_root("f32[2,8]", "f32[1]",
                                    "f32[2,3] slice(x), slice={[0:2], "
                                    "[1:8:3]}"));
  EXPECT_EQ(slice.root().ranges(), (std::vector<SliceRange>{{0, 2, 1}, {1, 8, 3}}));
  const auto scan = read(with_root("f32[8,2]", "f32[1]",
                                   "f32[8,2] reduce-window(x, z), window={size=8x1 "
                                   "pad=7_0x0_0}, to_apply=add"));
  EXPECT_EQ(scan.root().scanned(), 0u);
  EXPECT_EQ(scan.root().word("to_apply"), "add");
  EXPECT_EQ(scan.root().word("window"), "");
  const auto iota = read(with_root("f32[1]", "f32[1]", "s32[2,3] iota(), iota_dimension=1"));
  EXPECT_EQ(iota.root().numbers("iota_dimension"), (Numbers{1}));
  const auto constant =
      read(with_root("f32[1]", "f32[1]", "f32[2,2] constant({ { 1, -inf }, { nan, 1e3 } })"));
  EXPECT_EQ(constant.root().values, (std::vector<std::string>{"1", "-inf", "nan", "1e3"}));
  EXPECT_FALSE(constant.elided());
  const auto elided = read(with_root("f32[1]", "f32[1]", "f32[2,2] constant({...})"));
  EXPECT_TRUE(elided.elided());
  EXPECT_TRUE(elided.root().elided);
  EXPECT_TRUE(elided.root().values.empty());
  const auto empty = read(with_root("f32[0,5]", "f32[1]", "f32[0,5] negate(x)"));
  EXPECT_EQ(empty.root().shape.count(), 0);
  EXPECT_EQ(empty.root().shape.strides(), (Numbers{5, 1}));
  EXPECT_EQ(bytes(ElementType::kBf16), 2);
  EXPECT_TRUE(is_floating(ElementType::kF8e5m2));
  EXPECT_FALSE(is_floating(ElementType::kPred));
  EXPECT_TRUE(is_integer(ElementType::kU64));
  EXPECT_FALSE(is_integer(ElementType::kPred));
}

TEST(Computation, OtherSpellingsBecomeCanonical) {
  const std::string wanted =
      "{\n"
      "  tmp_0 = f32[4,3]{1,0} parameter(0)\n"
      "  tmp_1 = f32[3,5]{1,0} parameter(1)\n"
      "  ROOT tmp_2 = f32[4,5]{1,0} dot(f32[4,3]{1,0} tmp_0, f32[3,5]{1,0} tmp_1), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "}";
  for (const std::string_view text : {
           "{\n%p.0 = f32[4,3]{1,0} parameter(0)\n%p.1 = f32[3,5]{1,0} parameter(1)\n"
           "ROOT %d = f32[4,5]{1,0} dot(f32[4,3]{1,0} %p.0, f32[3,5]{1,0} %p.1), "
           "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
           "{a=f32[4,3]parameter(0)b=f32[3,5]parameter(1)ROOT c=f32[4,5]dot(a,b),"
           "rhs_contracting_dims={0},lhs_contracting_dims={1}}",
           "  {\r\n\ta = f32[ 4, 3 ]{ 1, 0 } parameter( 0 ) /* the left one */\n"
           "ROOT_1 = f32[3,5] parameter(1)\n"
           "ROOT\n d = f32[4,5] dot(a, /*index=1*/ f32[3,5]{1,0} ROOT_1), lhs_batch_dims={}, "
           "rhs_batch_dims = {}, lhs_contracting_dims = { 1 }, rhs_contracting_dims = { 0 }\n }  ",
       }) {
    EXPECT_EQ(print(read(text)), wanted) << text;
  }
  EXPECT_EQ(print(read("f32[3] custom-call( f32[3]{0} ) , target=\"a, b\"")),
            "f32[3]{0} custom-call(f32[3]{0}), target=\"a, b\"");
}

TEST(Computation, CanonicalOrderIsPostOrder) {
  const auto computation = read(
      "{\n  b = f32[4] parameter(1)\n  unused = f32[] parameter(2)\n  a = f32[4] parameter(0)\n"
      "  n = f32[4] negate(b)\n  s = f32[4] add(a, n)\n  ROOT r = f32[4] multiply(s, b)\n}");
  EXPECT_EQ(print(canonical(computation)),
            "{\n  tmp_0 = f32[] parameter(2)\n  tmp_1 = f32[4]{0} parameter(0)\n"
            "  tmp_2 = f32[4]{0} parameter(1)\n  tmp_3 = f32[4]{0} negate(f32[4]{0} tmp_2)\n"
            "  tmp_4 = f32[4]{0} add(f32[4]{0} tmp_1, f32[4]{0} tmp_3)\n"
            "  ROOT tmp_5 = f32[4]{0} multiply(f32[4]{0} tmp_4, f32[4]{0} tmp_2)\n}");
  const auto again = canonical(computation);
  EXPECT_EQ(canonical(again), again);
  EXPECT_EQ(read(print(again)), again);
}

TEST(Computation, WhatCannotBeReadIsNamedWithItsLine) {
  const auto root = [](std::string_view text) {
    return reason(with_root("f32[2,3]", "f32[3]", text));
  };
  const auto expect = [](const std::string& found, std::string_view begin) {
    EXPECT_EQ(found.substr(0, begin.size()), begin);
  };
  expect(reason(""), "line 1: nothing to read; ");
  expect(reason(" \n\n"), "line 3: nothing to read; ");
  expect(reason("HloModule m\n"), "line 1: no computation: \"HloModule m\"; ");
  expect(reason("ENTRY %main {"), "line 1: no computation: ");
  expect(reason("{"), "line 1: the end of the text; a computation ends with }");
  expect(reason("{\n}"), "line 2: no root; the last instruction is marked ROOT");
  expect(reason(std::string(kSeed) + "\nmore"), "line 10: more text: \"more\"; nothing follows");
  expect(root("f32[2,3] gather(x)"), "line 5: opcode \"gather\"; opcodes are parameter, ");
  expect(root("f32[2,3] negate(w)"), "line 5: operand \"w\" is not defined before its use; ");
  expect(root("f32[2,3] negate(r)"), "line 5: operand \"r\" is not defined before its use; ");
  expect(root("f32[2,3] negate(f32[2,4] x)"),
         "line 5: operand \"x\" as f32[2,4]{1,0}; it is defined as f32[2,3]{1,0}");
  expect(root("f32[2,3] negate(f32[2,3]{0,1} x)"), "line 5: operand \"x\" as f32[2,3]{0,1}; ");
  expect(root("f32[2,3] negate(f32[2,3])"), "line 5: operand \"f32[2,3])\"; ");
  expect(root("f32[2,3] negate(x, x)"), "line 5: negate with 2 operands; it has 1");
  expect(root("f32[2,3] negate(x), sharding={replicated}"),
         "line 5: attribute \"sharding\" of negate; it has none");
  expect(root("f32[2,3] negate(x), backend_config={\"tile\":4}"),
         "line 5: attribute \"backend_config\" of negate; it has none");
  expect(root("f32[2,3] negate(x), metadata={op_name=\"a\"}"),
         "line 5: attribute \"metadata\" of negate; ");
  expect(root("f32[2,4] negate(x)"), "line 5: negate: result f32[2,4]{1,0}; it is f32[2,3]");
  expect(root("f16[2,3] negate(x)"), "line 5: negate: result f16[2,3]{1,0}; it is f32[2,3]");
  expect(root("f32[2,3] not(x)"), "line 5: not: elements of type f32; it takes pred and integers");
  expect(root("f32[2,3] add(x, y)"), "line 5: add: operands f32[2,3] and f32[3]; ");
  expect(root("c64[2,3] parameter(2)"), "line 5: element type \"c64\"; element types are pred, ");
  expect(root("s4[2,3] parameter(2)"), "line 5: element type \"s4\"; ");
  expect(root("f99[2,3] parameter(2)"), "line 5: element type \"f99\"; ");
  expect(root("f32[<=2,3] parameter(2)"), "line 5: a dynamic dimension ");
  expect(root("f32[-2,3] parameter(2)"), "line 5: ");
  expect(root("f32[2,3]{1,0:T(8,128)} negate(x)"), "line 5: a tiled layout ");
  expect(root("f32[2,3]{1,1} negate(x)"), "line 5: layout {1,1}; a permutation of the 2 ");
  expect(root("f32[2,3]{0} negate(x)"), "line 5: layout {0}; ");
  expect(root("f32[9223372036854775807,2] parameter(2)"), "line 5: a shape of more than ");
  expect(root("f32[0,9223372036854775807] parameter(2)"), "line 5: a shape of more than ");
  expect(root("f32[3] parameter(1)"), "line 5: parameter(1) stands twice; ");
  expect(root("f32[3] parameter(3)"), "line 6: no parameter(2) beside 3 parameters; ");
  expect(root("f32[3] constant(1)"), "line 5: constant \"1\": too few braces; ");
  expect(root("f32[3] constant({1, 2})"), "line 5: constant \"{1, 2}\": too few values; ");
  expect(root("f32[3] constant({1, 2, 3, 4})"), "line 5: constant \"{1, 2, 3, 4}\": too many ");
  expect(root("f32[3] constant({1, 2, 3,})"), "line 5: constant \"{1, 2, 3,}\": a comma ");
  expect(root("f32[3] constant({1, 2 3})"), "line 5: constant \"{1, 2 3}\": two values ");
  expect(root("f32[] constant({1})"), "line 5: constant \"{1}\": too many braces; ");
  expect(root("f32[] constant()"), "line 5: constant \"\": no value; ");
  expect(root("s8[] constant(128)"), "line 5: constant \"128\": value \"128\"; ");
  expect(root("u32[] constant(4294967296)"), "line 5: constant \"4294967296\": value ");
  expect(root("u64[] constant(18446744073709551616)"), "line 5: constant ");
  expect(root("s32[] constant(1.5)"), "line 5: constant \"1.5\": value \"1.5\"; ");
  expect(root("pred[] constant(1)"), "line 5: constant \"1\": value \"1\"; ");
  expect(root("c64[] constant((1, 2))"), "line 5: element type \"c64\"; ");
  expect(root("f32[] constant((1, 2))"), "line 5: constant \"(1, 2))\"; ");
  expect(root("f32[3] bitcast(x)"), "line 5: bitcast: 3 elements from 6; ");
  expect(root("s32[2,3] bitcast(x)"), "line 5: bitcast: result s32[2,3]{1,0}; it is f32[2,3]");
  expect(root("f32[3,2] transpose(x)"), "line 5: transpose without dimensions; ");
  expect(root("f32[3,2] transpose(x), dimensions={1,1}"), "line 5: transpose: 1,1 of dimensions; ");
  expect(root("f32[3,2] transpose(x), dimensions={1}"),
         "line 5: transpose: dimensions of another ");
  expect(root("f32[2,3] transpose(x), dimensions={1,0}"), "line 5: transpose: result f32[2,3]");
  expect(root("f32[2,3] broadcast(y), dimensions={0}"), "line 5: broadcast: f32[3] to f32[2,3] ");
  expect(root("f32[2,3] broadcast(y), dimensions={2}"), "line 5: broadcast: 2 of dimensions; ");
  expect(root("f32[2] dot(x, y), lhs_contracting_dims={1}"),
         "line 5: dot without rhs_contracting_dims; ");
  expect(root("f32[3] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
         "line 5: dot: lhs_contracting_dims {0} and rhs_contracting_dims {0}; pairs ");
  expect(root("f32[2,1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
         "line 5: dot: result f32[2,1]{1,0}; it is f32[2]");
  expect(root("f32[] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, "
              "lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}"),
         "line 5: dot: dimension 0 in lhs_batch_dims and lhs_contracting_dims; ");
  expect(root("f32[2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
              "operand_precision={best,default}"),
         "line 5: precision \"best,default}\"; ");
  expect(root("f32[2] dot(x, y), lhs_contracting_dims={1}, lhs_contracting_dims={1}"),
         "line 5: attribute \"lhs_contracting_dims\" stands twice; ");
  expect(root("f32[2] reduce(x, z), dimensions={1}"), "line 5: reduce without to_apply; ");
  expect(root("f32[2] reduce(x, z), dimensions={1}, to_apply=region_0.3"),
         "line 5: reduce: to_apply=region_0.3; combiners are add, multiply, ");
  expect(root("f32[2] reduce(x, z), dimensions={1}, to_apply={\n a }"),
         "line 5: to_apply with a body \"{\"; the combiner is named: ");
  expect(root("f32[2] reduce(x, z), dimensions={1}, to_apply=and"), "line 5: reduce: and of f32; ");
  expect(root("f32[2] reduce(x, y), dimensions={1}, to_apply=add"),
         "line 5: reduce: start value f32[3]; it is f32[]");
  expect(root("f32[2] reduce(x, z), dimensions={2}, to_apply=add"), "line 5: reduce: 2 of dim");
  for (const std::string_view window :
       {"size=1x3 pad=0_0x0_2", "size=1x3 pad=0_0x1_0", "size=1x2 pad=0_0x1_0", "size=1x1",
        "size=1x1 pad=0_0x0_0", "size=2x3 pad=1_0x2_0", "size=3 pad=2_0", "pad=0_0x2_0"}) {
    expect(root(fmt::format("f32[2,3] reduce-window(x, z), window={{{}}}, to_apply=add", window)),
           "line 5: reduce-window: a window that is no prefix sum; ");
  }
  expect(root("f32[2,3] reduce-window(x, z), window={size=1x3 stride=1x2}, to_apply=add"),
         "line 5: window part \"stride=1x2}, to_apply=add\"; ");
  expect(root("f32[2,3] reduce-window(x, z), window={size=1x3 pad=0_0x2_0}, to_apply=maximum"),
         "line 5: reduce-window: to_apply=maximum; combiners are add");
  expect(root("f32[2,1] slice(x), slice={[0:2]}"), "line 5: slice: a range that f32[2,3] ");
  expect(root("f32[2,1] slice(x), slice={[0:2], [3:2]}"), "line 5: slice: a range ");
  expect(root("f32[2,1] slice(x), slice={[0:2], [0:4]}"), "line 5: slice: a range ");
  expect(root("f32[2,1] slice(x), slice={[0:2], [0:3:0]}"), "line 5: slice: a range ");
  expect(root("f32[2,1] slice(x), slice={[0:2], [0:3]}"), "line 5: slice: result f32[2,1]");
  expect(root("(f32[2,3], f32[3]) tuple(y, x)"), "line 5: tuple: result (f32[2,3]{1,0}, ");
  expect(root("(f32[2,3], f32[3]) parameter(2)"), "line 5: parameter: result (f32[2,3]{1,0}, ");
  expect(root("s32[2,3] iota(), iota_dimension=2"), "line 5: iota: 2 of iota_dimension; ");
  expect(root("pred[2,3] compare(x, x), direction=ABOVE"),
         "line 5: compare: direction \"ABOVE\"; ");
  expect(root("f32[2,3] compare(x, x), direction=EQ"), "line 5: compare: result f32[2,3]");
  expect(root("f32[2,3] select(x, x, x)"), "line 5: select: elements of type f32; it takes pred");
  expect(root("f32[2,3] negate(x)\n  s = f32[2,3] negate(x)"),
         "line 6: an instruction after the root: \"s = f32[2,3] negate(x)\"; ");
  expect(reason("{\n  a = f32[] parameter(0)\n  a = f32[] parameter(1)\n}"),
         "line 3: name \"a\" stands twice; ");
  expect(reason("{\n  a = f32[] parameter(0)\n}"), "line 3: no root; ");
  expect(reason("{\n  a = () tuple()\n  ROOT b = f32[] negate(a)\n}"),
         "line 2: a tuple that is not the root; ");
  expect(reason("{\n  f32[] parameter(0)\n}"), "line 2: no instruction: \"f32[] parameter(0)\"; ");
  expect(reason("{ /* x"), "line 1: a comment without an end; ");
  expect(reason("f32[3] custom-call(f32[3] %a)"), "line 1: operand \"%a)\"; ");
  expect(reason("f32[3] custom-call(f32[3] a)"), "line 1: operand \"a)\"; ");
  expect(reason("f32[3] custom-call(), a={1"), "line 1: attribute without an end: \"{1\"; ");
  expect(reason("f32[3] custom-call(), a=(1]"), "line 1: unbalanced \"]\"; ");
  expect(reason("f32[3] custom-call(), a=\"1"), "line 1: a string without an end: ");
  expect(reason("f32[3] custom-call(), a="), "line 1: an attribute without a value: ");
  expect(reason("f32[3] custom-call(), a=1, a=2"), "line 1: attribute \"a\" stands twice; ");
  expect(reason(std::string(40, '(') + "f32[]"), "line 1: a tuple in too many tuples; 16 levels");
}

TEST(Computation, OperandsOfOtherTypesOrShapesAreRefused) {
  const auto expect = [](const std::string& found, std::string_view begin) {
    EXPECT_EQ(found.substr(0, begin.size()), begin);
  };
  // Each result is what the rest of the rules would give, so that the one rule alone refuses.
  expect(reason(with_root("f32[3]", "s32[3]", "f32[3] add(x, y)")),
         "line 5: add: operands f32[3] and s32[3]; both have one type and the same extents");
  expect(reason(with_root("f32[3]", "f32[4]", "f32[3] add(x, y)")),
         "line 5: add: operands f32[3] and f32[4]; ");
  expect(reason(with_root("f32[3]", "f32[3,1]", "f32[3] add(x, y)")),
         "line 5: add: operands f32[3] and f32[3,1]; ");
  expect(reason(with_root("f32[3]", "f16[3]", "pred[3] compare(x, y), direction=EQ")),
         "line 5: compare: operands f32[3] and f16[3]; ");
  expect(reason(with_root("f32[3]", "f32[2]", "pred[3] compare(x, y), direction=EQ")),
         "line 5: compare: operands f32[3] and f32[2]; ");

  const auto select = [](std::string_view condition, std::string_view b, std::string_view result) {
    return reason(
        fmt::format("{{\n  c = {} parameter(0)\n  a = f32[3] parameter(1)\n  b = {} parameter(2)\n"
                    "  ROOT r = {} select(c, a, b)\n}}",
                    condition, b, result));
  };
  EXPECT_EQ(select("pred[3]", "f32[3]", "f32[3]"), "it was read");
  expect(select("pred[2]", "f32[3]", "f32[2]"),
         "line 5: select: a condition of another shape; all operands have the same extents");
  expect(select("pred[2]", "f32[3]", "f32[3]"), "line 5: select: a condition of another shape; ");
  expect(select("pred[]", "f32[3]", "f32[]"), "line 5: select: a condition of another shape; ");
  expect(select("pred[3]", "s32[3]", "f32[3]"), "line 5: select: operands f32[3] and s32[3]; ");
  expect(select("pred[3]", "f32[4]", "f32[3]"), "line 5: select: operands f32[3] and f32[4]; ");
}

TEST(Computation, DotTakesAndGivesNumbersWithTwoPrecisionsOrNone) {
  const auto dot = [](std::string_view x, std::string_view y, std::string_view result,
                      std::string_view precision) {
    return reason(
        fmt::format("{{\n  x = {} parameter(0)\n  y = {} parameter(1)\n"
                    "  ROOT r = {} dot(x, y), lhs_contracting_dims={{0}}, "
                    "rhs_contracting_dims={{0}}{}\n}}",
                    x, y, result, precision));
  };
  const auto expect = [](const std::string& found, std::string_view begin) {
    EXPECT_EQ(found.substr(0, begin.size()), begin);
  };
  EXPECT_EQ(dot("f32[3]", "f32[3]", "f32[]", ""), "it was read");
  EXPECT_EQ(dot("s8[3]", "s8[3]", "s32[]", ""), "it was read");
  expect(dot("pred[3]", "f32[3]", "f32[]", ""), "line 4: dot: elements of type pred; it takes ");
  expect(dot("f32[3]", "pred[3]", "f32[]", ""), "line 4: dot: pred; it takes integers and ");
  expect(dot("f32[3]", "f32[3]", "pred[]", ""), "line 4: dot: pred; it takes integers and ");

  const auto with = [&](std::string_view words) {
    return dot("f32[3]", "f32[3]", "f32[]", fmt::format(", operand_precision={{{}}}", words));
  };
  EXPECT_EQ(with("high,default"), "it was read");
  expect(with("high"), "line 4: 1 precisions; one for each operand of dot");
  expect(with("high,high,highest"), "line 4: 3 precisions; ");
  expect(with(""), "line 4: precision \"}\"; ");
}

TEST(Computation, ParametersComeByNumber) {
  const auto computation = read(
      "{\n  c = f32[3] parameter(2)\n  a = f32[3] parameter(0)\n  n = f32[3] negate(a)\n"
      "  b = f32[3] parameter(1)\n  s = f32[3] add(n, b)\n  ROOT r = f32[3] add(s, c)\n}");
  EXPECT_EQ(computation.parameters(), (std::vector<std::size_t>{1, 3, 0}));
}

TEST(Computation, APrintedInstructionIsShownNotRun) {
  const auto gemm = read(kGemm);
  EXPECT_EQ(gemm.form, Computation::Form::kPrintedInstruction);
  EXPECT_EQ(print(gemm), kGemm);
  EXPECT_EQ(canonical(gemm), gemm);
  EXPECT_EQ(gemm.root().opcode, "custom-call");
  EXPECT_EQ(gemm.root().kind, OpcodeKind::kPrinted);
  EXPECT_EQ(gemm.root().word("custom_call_target"), "\"__cublas$gemm\"");
  ASSERT_TRUE(gemm.root().shape.tuple);
  EXPECT_EQ(print(gemm.root().shape.elements[1]), "s8[72]{0}");
  EXPECT_EQ(gemm.root().operands.size(), 2u);
  EXPECT_TRUE(gemm.parameters().empty());
  EXPECT_EQ(gemm.why_not_run(),
            "one printed instruction (custom-call) is a key to show and compare; only a fused "
            "computation can be run");
  const std::string_view rare =
      "(c64[4]{0}, token[]) some-new-op(s4[8]{0}), to=a->b, dims=[1,2](3), s=\"a\\\"}, b\"";
  EXPECT_EQ(print(read(rare)), rare);
}

TEST(Summary, OfReadableText) {
  const auto seed = summarize(kSeed);
  EXPECT_TRUE(seed.readable);
  EXPECT_EQ(seed.reason, "");
  EXPECT_EQ(seed.root, "bitcast");
  EXPECT_EQ(seed.heavy, (std::vector<std::string>{"dot"}));
  EXPECT_EQ(seed.opcodes, (std::vector<std::string>{"parameter", "bitcast", "convert", "dot"}));
  EXPECT_EQ(seed.dtypes, (std::vector<std::string>{"f16", "s8"}));
  EXPECT_EQ(seed.parameters, (std::vector<std::string>{"f16[1,16,17,3]", "s8[16,17,3]"}));
  EXPECT_EQ(seed.result, "f16[1,16,16]");
  EXPECT_EQ(seed.line, "dot f16[1,16,16] <- f16[1,16,17,3] s8[16,17,3]");
  const auto gemm = summarize(kGemm);
  EXPECT_EQ(gemm.line, "__cublas$gemm (f32[3,3],s8[72]) <- f32[3,3] f32[3,3]");
  EXPECT_EQ(gemm.dtypes, (std::vector<std::string>{"f32", "s8"}));
  EXPECT_EQ(summarize(with_root("f32[3]", "f32[3]", "(f32[3], f32[3]) tuple(x, y)")).line,
            "tuple (f32[3],f32[3]) <- f32[3] f32[3]");
  EXPECT_EQ(summarize("{b = f32[2] parameter(1) a = f32[3] parameter(0)\n"
                      "ROOT r = f32[3] negate(a)}")
                .line,
            "negate f32[3] <- f32[3] f32[2]");
}

TEST(Summary, OfAnyText) {
  EXPECT_EQ(summarize("ROOT a = f32[8] fft(x)\nb = f32[4] sort(x)").root, "fft");
  EXPECT_EQ(summarize("a = f32[8] fft(x)\nb = f32[4] sort(x)").root, "sort");
  EXPECT_EQ(summarize("").line, "\"\"");
  EXPECT_EQ(summarize("  \n a word\nanother").line, "\"a word\"");
  const auto unread = summarize(
      "HloModule m\n\nENTRY %main (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n"
      "  ROOT %s = f32[8]{0} sort(f32[8]{0} %p), dimensions={0}, to_apply=%less\n}\n");
  EXPECT_FALSE(unread.readable);
  EXPECT_EQ(unread.reason.substr(0, 8), "line 1: ");
  EXPECT_EQ(unread.line, "sort f32[8] <- f32[8]");
  EXPECT_EQ(unread.root, "sort");
  for (const auto& text : {std::string(5000, 'x'), std::string(5000, '('), std::string(300, '\xff'),
                           std::string("f32[\x01\xff] dot(x)"), std::string(1, '\0')}) {
    const auto line = summarize(text).line;
    EXPECT_FALSE(line.empty());
    EXPECT_LE(line.size(), Summary::kLineBytes);
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }))
        << line;
  }
  std::string many = "f32[3] custom-call(";
  for (int i = 0; i < 100; ++i) many += "f32[1000,1000], ";
  many += "f32[]), custom_call_target=\"t\"";
  EXPECT_EQ(summarize(many).line.size(), Summary::kLineBytes);
}

TEST(Summary, AtMostFourOpcodesAreShown) {
  const auto line = [](const std::vector<std::string_view>& opcodes) {
    std::string text;
    for (const auto opcode : opcodes) text += fmt::format("{0}_ = f32[8] {0}(p)\n", opcode);
    return summarize(text).line;
  };
  EXPECT_EQ(line({"dot", "reduce", "sort"}), "dot+reduce+sort f32[8]");
  EXPECT_EQ(line({"dot", "reduce", "sort", "fft"}), "dot+reduce+sort+fft f32[8]");
  EXPECT_EQ(line({"dot", "reduce", "sort", "fft", "fft"}), "dot+reduce+sort+fft f32[8]");
  EXPECT_EQ(line({"dot", "reduce", "sort", "fft", "scatter"}), "dot+reduce+sort+fft+... f32[8]");
  const std::string four =
      "a = f32[3] parameter(0) b = f32[3] negate(a) c = f32[3] abs(b) d = f32[3] sine(c) ";
  EXPECT_EQ(summarize("{" + four + "ROOT r = f32[3] tanh(d)}").line,
            "negate+abs+sine+tanh f32[3] <- f32[3]");
  EXPECT_EQ(summarize("{" + four + "e = f32[3] cosine(d) ROOT r = f32[3] tanh(e)}").line,
            "negate+abs+sine+cosine+... f32[3] <- f32[3]");
}

TEST(IgnoreList, Parses) {
  EXPECT_EQ(ignoring("").text(), "");
  EXPECT_EQ(ignoring("device, dnn,backend_config,dnn").text(), "device,dnn,backend_config");
  EXPECT_TRUE(ignoring("backend_config.device_type").contains("backend_config.device_type"));
  EXPECT_FALSE(ignoring("backend_config.device_type").contains("backend_config"));
  EXPECT_EQ(IgnoreList::harmless().text(), "names,metadata");
  for (const std::string_view bad : {"shapes", "device,", "backend_config.", "Names"}) {
    const auto parsed = IgnoreList::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_NE(parsed.reason().find("cannot be ignored; items are device, dnn, "),
              std::string::npos);
  }
}

TEST(ShapeKey, DriftOfPrintingDoesNotCount) {
  const std::vector<std::string_view> same{
      kSeed,
      // Older names, no operand shapes, other order of attributes and instructions.
      "%fused_computation (p0: f16[1,16,17,3], p1: s8[16,17,3]) -> f16[1,16,16] {\n"
      "  %p1 = s8[16,17,3]{2,1,0} parameter(1)\n"
      "  %bitcast.4 = s8[51,16]{0,1} bitcast(%p1), metadata={op_name=\"a, b\" source_line=3}\n"
      "  %p0 = f16[1,16,17,3] parameter(0)\n"
      "  %bitcast.3 = f16[16,51] bitcast(%p0)\n"
      "  %convert = f16[51,16]{0,1} convert(%bitcast.4)\n"
      "  %dot.1 = f16[16,16]{1, 0} dot(%bitcast.3, /*index=1*/ %convert), "
      "rhs_contracting_dims={ 0 }, lhs_contracting_dims={1}\n"
      "  ROOT %bitcast.9 = f16[1,16,16]{2,1,0} bitcast(%dot.1)\n}\n",
  };
  for (const auto text : same) EXPECT_EQ(key(text), key(same[0])) << text;
  EXPECT_NE(shape_key(same[1], {}), shape_key(same[0], {}));
  EXPECT_EQ(key("%s = f32[8] sort(%p), to_apply=%less"), key("s = f32[8] sort(p), to_apply=less"));

  const std::vector<std::string_view> calls{
      "f32[3,3]{1,0} custom-call(f32[3,3]{1,0}, f32[3,3]{1,0}), custom_call_target=\"t\", "
      "backend_config={\"a\":1,\"b\":{\"c\":[\"1\"],\"d\":\"x\"},\"e\":[]}",
      "%custom-call.7 = f32[3,3]{1,0} custom-call(f32[3,3]{1,0} %p.1, f32[3,3]{1,0} %p.2), "
      "custom_call_target=\"t\", metadata={op_type=\"dot\"}, "
      "backend_config=\"{\\\"b\\\": {\\\"d\\\": \\\"x\\\", \\\"c\\\": [\\\"1\\\"]}, \\\"a\\\": "
      "1}\"",
      "ROOT %c = f32[3,3] custom-call(f32[3,3] %p.1, f32[3,3] %p.2), "
      "backend_config={\"b\":{\"c\":[\"1\"],\"d\":\"x\"},\"a\":1}, custom_call_target=\"t\"\n",
  };
  for (const auto text : calls) EXPECT_EQ(key(text), key(calls[0])) << text;
}

TEST(ShapeKey, WhatIsComputedCounts) {
  const std::string base =
      "{\n  a = f32[4,4]{1,0} parameter(0)\n  b = f32[4,4]{1,0} parameter(1)\n"
      "  c = f32[] constant(2)\n"
      "  ROOT r = f32[4,4]{1,0} subtract(f32[4,4]{1,0} a, f32[4,4]{1,0} b)\n}";
  const auto changed = [&](std::string_view from, std::string_view to) {
    auto text = base;
    text.replace(text.rfind(from), from.size(), to);
    return text;
  };
  EXPECT_NE(key(changed("subtract", "add")), key(base));
  EXPECT_NE(key(changed("{1,0} subtract", "{0,1} subtract")), key(base));
  EXPECT_NE(key(changed("f32[4,4]{1,0} b)", "f32[4,4]{1,0} a)")), key(base));
  EXPECT_NE(key(changed("f32[4,4]{1,0} subtract", "f32[2,8]{1,0} subtract")), key(base));
  EXPECT_NE(key(changed("f32[4,4]{1,0} subtract", "f16[4,4]{1,0} subtract")), key(base));
  EXPECT_NE(key(changed("constant(2)", "constant(3)")), key(base));
  EXPECT_NE(key(changed("b)", "b), x={1}")), key(base));
  EXPECT_NE(key(changed("parameter(1)", "parameter(2)")), key(base));

  const auto equal = [&](std::string_view items, const std::string& text) {
    return shape_key(text, ignoring(items)) == shape_key(base, ignoring(items));
  };
  EXPECT_TRUE(equal("constants", changed("constant(2)", "constant({...})")));
  EXPECT_TRUE(equal("attributes", changed("b)", "b), x={1}")));
  EXPECT_TRUE(equal("layouts", changed("{1,0} subtract", "{0,1} subtract")));
  EXPECT_FALSE(equal("layouts", changed("f32[4,4]{1,0} subtract", "f32[2,8]{1,0} subtract")));
  EXPECT_FALSE(equal("metadata", changed("b)", "b), sharding={x}")));
}

TEST(ShapeKey, PartsOfACallCanBeIgnored) {
  const auto with = [](std::string_view result, std::string_view config) {
    return fmt::format("{} custom-call(f32[3]{{0}}), custom_call_target=\"t\"{}", result, config);
  };
  const auto plain = with("f32[3]{0}", "");
  EXPECT_EQ(shape_key(with("(f32[3]{0}, s8[64]{0})", ""), ignoring("workspace")),
            shape_key(plain, ignoring("workspace")));
  EXPECT_EQ(shape_key(with("(f32[3]{0}, f32[2], u8[0])", ""), ignoring("workspace")),
            shape_key(with("(f32[3]{0}, f32[2]{0}, u8[9]{0})", ""), ignoring("workspace")));
  EXPECT_NE(shape_key(with("(f32[3]{0}, s8[8,8])", ""), ignoring("workspace")),
            shape_key(plain, ignoring("workspace")));
  EXPECT_NE(key(with("(f32[3]{0}, s8[64]{0})", "")), key(plain));
  const auto config = [&](std::string_view text) {
    return with("f32[3]{0}", fmt::format(", backend_config={}", text));
  };
  EXPECT_EQ(shape_key(config("{\"a\":1}"), ignoring("backend_config")),
            shape_key(plain, ignoring("backend_config")));
  EXPECT_EQ(shape_key(config("\"{conv_result_scale:1}\""), ignoring("backend_config")),
            shape_key(plain, ignoring("backend_config")));
  EXPECT_NE(key(config("{\"a\":1}")), key(config("{\"a\":2}")));
  EXPECT_NE(key(config("{\"a\":\"1\"}")), key(config("{\"a\":1}")));
  EXPECT_EQ(shape_key(config("{\"a\":1,\"b\":{\"x\":2}}"), ignoring("backend_config.x")),
            shape_key(config("{\"a\":1,\"b\":{\"x\":{\"y\":3}}}"), ignoring("backend_config.x")));
  // The contracted dimensions are what is computed, not how.
  const auto dims = [&](std::string_view lhs) {
    return config(fmt::format("{{\"g\":{{\"dot_dimension_numbers\":{{\"lhs\":[\"{}\"]}}}}}}", lhs));
  };
  EXPECT_NE(shape_key(dims("1"), ignoring("backend_config")),
            shape_key(dims("2"), ignoring("backend_config")));
  EXPECT_EQ(shape_key(dims("1"), ignoring("backend_config,backend_config.dot_dimension_numbers")),
            shape_key(dims("2"), ignoring("backend_config,backend_config.dot_dimension_numbers")));
}

TEST(ShapeKey, TextWithoutInstructionsIsItsOwnKey) {
  EXPECT_EQ(key(""), "");
  EXPECT_EQ(key(" some \t text\n"), key("some text"));
  EXPECT_NE(key("some text"), key("some other text"));
  EXPECT_NE(key("a {"), key("b"));
}

/// Everything that takes any text, on one that may be anything.
void survives(const std::string& text) {
  const auto parsed = parse_computation(text);
  const auto summary = summarize(text);
  ASSERT_FALSE(summary.line.empty());
  ASSERT_LE(summary.line.size(), Summary::kLineBytes);
  ASSERT_EQ(summary.readable, static_cast<bool>(parsed));
  ASSERT_EQ(summary.reason, parsed.reason());
  ASSERT_EQ(key(text), key(text));
  shape_key(text, ignoring("attributes,constants,layouts,workspace,backend_config"));
  if (!parsed) {
    ASSERT_EQ(parsed.reason().substr(0, 5), "line ") << parsed.reason();
    ASSERT_NE(parsed.reason().find("; "), std::string::npos) << parsed.reason();
    return;
  }
  // What is read is printed in one way, which reads back as the same.
  const auto printed = print(*parsed);
  const auto again = parse_computation(printed);
  ASSERT_TRUE(again) << again.reason() << "\n" << text << "\n" << printed;
  ASSERT_EQ(print(*again), printed) << text;
  ASSERT_EQ(print(canonical(*again)), print(canonical(*parsed))) << text;
  ASSERT_EQ(key(printed), key(text)) << text << "\n" << printed;
}

const std::vector<std::string>& samples() {
  static const std::vector<std::string> kSamples{
      std::string(kSeed),
      std::string(kGemm),
      with_root("f32[2,8]{1,0}", "f32[3]{0}",
                "f32[2,8] reduce-window(x, z), window={size=1x8 pad=0_0x7_0}, to_apply=add"),
      with_root("f32[2,8]{1,0}", "f32[2,8]{0,1}",
                "f32[2,3] slice(f32[2,8]{1,0} %x), slice={[0:2:1], [0:8:3]}"),
      with_root("pred[2]{0}", "f32[2]{0}", "f32[2] select(x, y, y)"),
      with_root("f32[2,2]{1,0}", "f32[]", "f32[2,2] constant({ { 1, -inf }, { nan, 1e3 } })"),
      with_root("f32[]", "f32[2]{0}", "(f32[], f32[2]) tuple(f32[] x, f32[2]{0} y) /* the end */"),
  };
  return kSamples;
}

TEST(Computation, CutAtEveryByte) {
  for (const auto& whole : samples()) {
    for (std::size_t i = 0; i <= whole.size(); ++i) {
      survives(whole.substr(0, i));
      survives(whole.substr(i));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Computation, MutationsAreReadOrRefused) {
  std::mt19937 random(20260101);
  const auto below = [&](std::size_t count) { return random() % count; };
  const std::string_view bytes = "{}[](),=:%\"\\ \n0123456789xtmp_fsROT-./*\xff";
  int read_back = 0;
  for (int round = 0; round < 10000; ++round) {
    auto text = samples()[below(samples().size())];
    for (auto edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
      const auto at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = bytes[below(bytes.size())];
          break;
        case 1:
          text.erase(at, 1 + below(4));
          break;
        case 2:
          text.insert(at, 1, bytes[below(bytes.size())]);
          break;
        case 3: {
          const auto piece = text.substr(below(text.size()), 1 + below(40));
          text.insert(at, piece);
          break;
        }
        default: {
          const auto& other = samples()[below(samples().size())];
          text.insert(at, other.substr(below(other.size()), 1 + below(40)));
          break;
        }
      }
    }
    survives(text);
    if (HasFatalFailure()) return;
    read_back += parse_computation(text) ? 1 : 0;
  }
  // Enough of them are still computations for the last half of survives() to mean something.
  EXPECT_GT(read_back, 300);
}

TEST(Computation, LargeAndDeepTextEnds) {
  const auto repeated = [](std::string_view piece, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += piece;
    return text;
  };
  for (const std::string_view piece : {"(",
                                       "{",
                                       "[",
                                       "f32[\n",
                                       "f[](\n",
                                       "a=f32[]b(\n",
                                       "\"\n",
                                       "/*\n",
                                       "f32[] a(b), c={\n",
                                       "a = f32[] b(c), d=\"\n",
                                       "ROOT ",
                                       "%",
                                       "{\"a\":",
                                       "x = f32[] y(f32[",
                                       "=",
                                       ",",
                                       "f32[] a(), backend_config={\"a\":[",
                                       "f[]a",
                                       "()",
                                       "{\n}\n"}) {
    survives(repeated(piece, 20000));
    if (HasFatalFailure()) return;
  }
  std::string distinct = "{\n  a0 = f32[4]{0} parameter(0)\n";
  for (int i = 1; i < 20000; ++i) {
    distinct += fmt::format("  a{} = f32[4]{{0}} add(a{}, a{})\n", i, i - 1, i / 2);
  }
  distinct += "  ROOT r = f32[4]{0} negate(a19999)\n}";
  survives(distinct);
}

}  // namespace
}  // namespace furlong::verdict
