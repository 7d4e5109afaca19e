#include "verdict/verdict_file.hh"

#include <gtest/gtest.h>

#include <random>

#include "furlong/error.hh"
#include "support/real_caches.hh"
#include "verdict/text_scan.hh"

namespace furlong::verdict {
namespace {

using furlong::testing::rank_file;
using furlong::testing::real_caches;
using furlong::testing::slurp;
using furlong::testing::xla_folder;

std::string failure_of(std::string_view bytes) {
  try {
    read_verdicts(bytes, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool equal(const VerdictFile& a, const VerdictFile& b) {
  if (a.size() != b.size() || a.version() != b.version()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a.verdict(i).key() == b.verdict(i).key()) || a.section(i) != b.section(i) ||
        !a.verdict(i).same_result(b.verdict(i))) {
      return false;
    }
  }
  return true;
}

constexpr std::string_view kSmall =
    "version: 3\n"
    "results {\n"
    "  device: \"CUDA: 8.0\"\n"
    "  hlo: \"{\\n}\"\n"
    "  result {\n"
    "    gemm {\n"
    "    }\n"
    "    run_time {\n"
    "      nanos: 5\n"
    "    }\n"
    "  }\n"
    "  version: 4\n"
    "}\n";

TEST(verdict_file, every_real_file_reads_and_goes_through_both_forms) {
  FURLONG_NEEDS_SHARED("real/xla");
  std::size_t files = 0;
  for (const auto& path : real_caches()) {
    SCOPED_TRACE(path.filename().string());
    const auto bytes = slurp(path);
    const auto file = read_verdicts(bytes, "file");
    EXPECT_EQ(file.format(), path.extension() == ".pb" ? Format::kBinary : Format::kText);
    EXPECT_FALSE(file.has_unknown_fields());
    const auto from_text = read_verdicts(file.text(), "text");
    const auto from_binary = read_verdicts(file.binary(), "binary");
    EXPECT_EQ(from_text.format(), Format::kText);
    EXPECT_EQ(from_binary.format(), Format::kBinary);
    EXPECT_TRUE(equal(file, from_text));
    EXPECT_TRUE(equal(file, from_binary));
    EXPECT_EQ(from_binary.text(), file.text());
    EXPECT_EQ(from_text.binary(), file.binary());
    if (path.extension() == ".pb") {
      EXPECT_EQ(file.binary(), bytes);
    }
    for (std::size_t i = 0; i < file.size(); ++i) {
      EXPECT_EQ(file.line(i) > 0, file.format() == Format::kText);
      EXPECT_NE(file.verdict(i).winner_kind(), WinnerKind::kNone);
      EXPECT_FALSE(file.verdict(i).device().empty());
    }
    ++files;
  }
  EXPECT_EQ(files, 53U);
}

TEST(verdict_file, what_the_reference_printer_wrote_prints_the_same) {
  FURLONG_NEEDS_SHARED("real/xla");
  std::size_t same = 0;
  for (const auto& path : real_caches()) {
    if (path.extension() == ".pb") continue;
    const auto bytes = slurp(path);
    const bool printed = read_verdicts(bytes, path.string()).text() == bytes;
    if (path.parent_path().filename() == "ranks") {
      EXPECT_TRUE(printed) << path;
    }
    same += printed ? 1 : 0;
  }
  EXPECT_EQ(same, 10U);
}

TEST(verdict_file, facts_of_the_four_ranks) {
  FURLONG_NEEDS_SHARED("real/xla");
  const std::int64_t sums[] = {23492351, 24029952, 23993439, 24037920};
  for (int rank = 0; rank < 4; ++rank) {
    const auto file = load_verdicts(rank_file(rank));
    EXPECT_EQ(file.version(), 3);
    ASSERT_EQ(file.size(), 29U);
    std::int64_t sum = 0;
    int gemm = 0;
    int triton = 0;
    for (const auto& verdict : file.verdicts()) {
      sum += verdict.run_time_ns().value();
      EXPECT_FALSE(verdict.entry_version());
      if (verdict.winner_kind() == WinnerKind::kGemm) {
        ++gemm;
        EXPECT_EQ(verdict.winner_text(), "gemm algorithm=-1");
      }
      if (verdict.winner_kind() == WinnerKind::kTriton) ++triton;
    }
    EXPECT_EQ(sum, sums[rank]);
    EXPECT_EQ(gemm, 25);
    EXPECT_EQ(triton, 4);
  }
}

TEST(verdict_file, versions_and_sections) {
  FURLONG_NEEDS_SHARED("real/xla");
  const auto old = load_verdicts(
      xla_folder() /
      "2023-01-17_e0f8d74a73__xla_service__xla_aot_compile_test_autotune_results.prototxt");
  EXPECT_FALSE(old.version());
  ASSERT_EQ(old.size(), 2U);
  EXPECT_EQ(old.section(0), Section::kDots);
  EXPECT_EQ(old.section(1), Section::kConvs);
  EXPECT_EQ(old.line(0), 15);
  EXPECT_EQ(old.verdict(1).winner_text(), "algorithm algo_id=3");
  const auto binary = load_verdicts(xla_folder() /
                                    "2023-01-17_e0f8d74a73__xla_service__xla_aot_compile_test_"
                                    "autotune_results.v1schema.pb");
  EXPECT_TRUE(equal(old, binary));
  EXPECT_EQ(load_verdicts(xla_folder() / "empty_version3.pb").size(), 0U);

  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(read_verdicts("version: " + std::to_string(version), "file").version(), version);
  }
  EXPECT_EQ(failure_of("# later\nversion: 4\n"),
            "file:2: version 4 of AutotuneResults; 1, 2, 3 and none are allowed");
  EXPECT_EQ(failure_of(std::string("\x08\x04")),
            "file: version 4 of AutotuneResults; 1, 2, 3 and none are allowed");
  EXPECT_EQ(failure_of("version: 0").substr(0, 17), "file:1: version 0");
}

TEST(verdict_file, keeps_empty_messages_and_zero_values) {
  const std::string text =
      "version: 3\nresults {\n  device: \"d\"\n  hlo: \"h\"\n  result {\n    algorithm {\n"
      "      algo_id: 0\n      tuning_knobs {\n        key: 2\n        value: 0\n      }\n"
      "      tuning_knobs {\n        key: 3\n        value: 4\n      }\n      workspace_size {\n"
      "      }\n    }\n  }\n}\n";
  const auto file = read_verdicts(text, "file");
  EXPECT_EQ(file.text(), text);
  EXPECT_EQ(read_verdicts(file.binary(), "file").text(), text);
  EXPECT_EQ(file.verdict(0).winner_text(), "algorithm tuning_knobs[2]=0 tuning_knobs[3]=4");
  const auto small = read_verdicts(kSmall, "file");
  EXPECT_EQ(small.text(), kSmall);
  EXPECT_EQ(small.verdict(0).winner_kind(), WinnerKind::kGemm);
  EXPECT_EQ(small.verdict(0).winner_text(), "gemm");
  EXPECT_EQ(small.verdict(0).key(), (Key{"CUDA: 8.0", "{\n}", 4}));
}

TEST(verdict_file, any_is_read_raw_and_expanded) {
  const std::string raw =
      "version: 3 results { device: 'd' hlo: 'h' result { other { name: 'CUBLAS_FISSION' config {"
      " type_url: 'type.googleapis.com/xla.AutotuneResult.GemmKey' value: "
      "'\\010\\377\\377\\377\\377\\377\\377\\377\\377\\377\\001' } } } }";
  const std::string expanded =
      "version: 3 results { device: 'd' hlo: 'h' result { other { name: 'CUBLAS_FISSION' config {"
      " [type.googleapis.com/xla.AutotuneResult.GemmKey] { algorithm: -1 } } } } }";
  const auto a = read_verdicts(raw, "file");
  const auto b = read_verdicts(expanded, "file");
  EXPECT_EQ(a.text(), b.text());
  EXPECT_EQ(a.verdict(0).winner_text(),
            "CUBLAS_FISSION config.type_url=type.googleapis.com/xla.AutotuneResult.GemmKey "
            "config.algorithm=-1");
}

TEST(verdict_file, unknown_binary_fields_survive) {
  const auto plain = read_verdicts(kSmall, "file").binary();
  // A field 40 of the file, and one of the winner: the gemm message (tag 0x32, empty) gets one.
  auto bytes = plain + std::string("\xC0\x02\x07");
  const auto at = bytes.find(std::string("\x32\x00", 2));
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 2, std::string("\x32\x03\xC0\x02\x09"));
  // Three bytes more in result (tag 0x1a) and entry (tag 0x22), whose lengths take one byte each.
  bytes[bytes.rfind('\x1a') + 1] += 3;
  bytes[bytes.find('\x22') + 1] += 3;
  const auto file = read_verdicts(bytes, "file");
  EXPECT_TRUE(file.has_unknown_fields());
  EXPECT_EQ(file.binary(), bytes);
  EXPECT_EQ(file.verdict(0).winner_text(), "gemm #40=9");
  EXPECT_THROW(file.text(), Error);
  const std::vector<Verdict> carried{file.verdict(0)};
  EXPECT_EQ(VerdictFile(carried).verdict(0).winner_text(), "gemm #40=9");
  EXPECT_FALSE(file.verdict(0).same_winner(read_verdicts(kSmall, "file").verdict(0)));
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
  return bytes + static_cast<char>(value);
}

/// A field of a binary message: a whole number, and bytes (a text, a message).
std::string number_field(unsigned number, std::uint64_t value) {
  return varint(number << 3U) + varint(value);
}
std::string bytes_field(unsigned number, std::string_view bytes) {
  return varint(number << 3U | 2U) + varint(bytes.size()) + std::string(bytes);
}

TEST(verdict_file, unknown_fields_are_found_at_every_depth) {
  const auto unknown = number_field(40, 9);
  const auto gemm = bytes_field(6, "");
  const auto entry = [](std::string_view result) {
    return bytes_field(1, "d") + bytes_field(2, "h") + bytes_field(3, result);
  };
  struct Case {
    const char* where;
    std::string entry;
    bool in_result;
  };
  const std::vector<Case> cases{
      {"entry", entry(gemm) + unknown, false},
      {"result", entry(gemm + unknown), true},
      {"conv", entry(bytes_field(5, unknown)), true},
      {"gemm", entry(bytes_field(6, unknown)), true},
      {"failure", entry(gemm + bytes_field(7, unknown)), true},
      {"run_time", entry(gemm + bytes_field(9, unknown)), true},
      {"algorithm", entry(bytes_field(16, unknown)), true},
      {"algorithm.workspace_size", entry(bytes_field(16, bytes_field(6, unknown))), true},
      {"triton", entry(bytes_field(17, unknown)), true},
      {"other", entry(bytes_field(19, unknown)), true},
      {"other.config", entry(bytes_field(19, bytes_field(2, unknown))), true},
  };
  const auto clean = entry(gemm);
  for (const unsigned list : {2U, 3U, 4U}) {
    const auto head = number_field(1, list == 4 ? 3 : 1) + bytes_field(list, clean);
    EXPECT_FALSE(read_verdicts(head, "file").has_unknown_fields());
    for (const auto& [where, bytes, in_result] : cases) {
      SCOPED_TRACE(where);
      const auto whole = head + bytes_field(list, bytes);
      const auto file = read_verdicts(whole, "file");
      ASSERT_EQ(file.size(), 2U);
      EXPECT_TRUE(file.has_unknown_fields());
      EXPECT_THROW(file.text(), Error);
      EXPECT_EQ(file.binary(), whole);
      EXPECT_NO_THROW(file.verdict(0).result_text());
      if (in_result) {
        EXPECT_THROW(file.verdict(1).result_text(), Error);
      } else {
        EXPECT_NO_THROW(file.verdict(1).result_text());
      }
      EXPECT_FALSE(file.verdict(1).same_result(file.verdict(0)));
    }
  }
}

/// For a text: each byte as an octal escape.
std::string octal(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    for (const int shift : {6, 3, 0}) {
      if (shift == 6) text += '\\';
      text += static_cast<char>('0' + (byte >> shift & 7));
    }
  }
  return text;
}

std::string text_with(std::string_view computation) {
  return "version: 3 results { device: 'd' hlo: '" + octal(computation) + "' }";
}

TEST(verdict_file, only_utf8_is_text) {
  const std::vector<std::string_view> good{
      "\x7F",              // the last of one byte
      "\xC2\x80",          // the first and last of two
      "\xDF\xBF",          //
      "\xE0\xA0\x80",      // the first of three
      "\xE1\x80\x80",      //
      "\xED\x9F\xBF",      // before and behind the surrogates
      "\xEE\x80\x80",      //
      "\xEF\xBF\xBF",      // the last of three
      "\xF0\x90\x80\x80",  // the first of four
      "\xF1\x80\xBF\x80",  //
      "\xF4\x8F\xBF\xBF",  // the last of all
  };
  const std::vector<std::string_view> bad{
      "\x80",              // no lead
      "\xBF",              //
      "\xC0\x80",          // overlong
      "\xC1\xBF",          //
      "\xE0\x80\x80",      //
      "\xE0\x9F\xBF",      //
      "\xF0\x80\x80\x80",  //
      "\xF0\x8F\xBF\xBF",  //
      "\xED\xA0\x80",      // surrogates
      "\xED\xBF\xBF",      //
      "\xF4\x90\x80\x80",  // beyond the last
      "\xF5\x80\x80\x80",  //
      "\xFE",              //
      "\xFF",              //
      "\xC2(",             // another byte where one that goes on is due
      "\xC2\xC2",          //
      "\xE2(\xA1",         //
      "\xE2\x82(",         //
      "\xE2\x82\xC0",      //
      "\xF0(\x8C\xBC",     //
      "\xF0\x90(\xBC",     //
      "\xF0\x90\x8C(",     //
  };
  // Before and behind: what the reader passes over eight bytes at a time.
  for (std::size_t before = 0; before <= 8; ++before) {
    for (const std::size_t behind : {std::size_t{0}, std::size_t{9}}) {
      const auto within = [&](std::string_view bytes) {
        return std::string(before, 'x') + std::string(bytes) + std::string(behind, 'y');
      };
      const auto expect_bad = [&](std::string_view bytes) {
        const auto computation = within(bytes);
        SCOPED_TRACE(octal(computation));
        EXPECT_FALSE(is_utf8(computation));
        EXPECT_NE(failure_of(text_with(computation)).find("is no UTF-8 text"), std::string::npos);
        EXPECT_NE(failure_of(number_field(1, 3) + bytes_field(4, bytes_field(2, computation))),
                  "no error");
      };
      for (const auto bytes : bad) expect_bad(bytes);
      for (const auto bytes : good) {
        const auto computation = within(bytes);
        SCOPED_TRACE(octal(computation));
        EXPECT_TRUE(is_utf8(computation));
        ASSERT_EQ(failure_of(text_with(computation)), "no error");
        const auto file = read_verdicts(text_with(computation), "file");
        EXPECT_EQ(file.verdict(0).computation(), computation);
        EXPECT_EQ(read_verdicts(file.binary(), "file").verdict(0).computation(), computation);
        for (std::size_t cut = 1; cut < bytes.size(); ++cut) expect_bad(bytes.substr(0, cut));
      }
    }
  }
  // A view that ends within a character, whose other bytes stand behind it.
  for (const auto bytes : good) {
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      EXPECT_FALSE(is_utf8(bytes.substr(0, cut))) << octal(bytes) << ' ' << cut;
    }
  }
  EXPECT_TRUE(is_utf8(""));
}

TEST(verdict_file, every_text_of_an_entry_is_checked) {
  for (const std::string field :
       {"device: '\\377'", "hlo: '\\377'", "result { other { name: '\\377' } }",
        "result { other { config { type_url: '\\377' } } }",
        "result { cuda_conv_plan { exec_plan_id: '\\377' } }",
        "result { failure { msg: '\\377' } }"}) {
    const auto failure = failure_of("version: 3\nresults { }\nresults { " + field + " }");
    EXPECT_EQ(failure.substr(0, 16), "file:3: entry 2:") << field;
    EXPECT_NE(failure.find("is no UTF-8 text"), std::string::npos) << field << ": " << failure;
  }
}

TEST(verdict_file, a_bare_result_is_checked_like_an_entry) {
  const auto failure = [](std::string_view bytes) -> std::string {
    try {
      read_result(bytes, "file");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string allowed = "; 0 to 9000000000 s and 0 to 999999999 ns are allowed";
  const auto time = [&](std::string_view seconds, std::string_view nanos) {
    return failure("gemm { } run_time { seconds: " + std::string(seconds) +
                   " nanos: " + std::string(nanos) + " }");
  };
  EXPECT_EQ(time("0", "0"), "no error");
  EXPECT_EQ(time("9000000000", "999999999"), "no error");
  EXPECT_EQ(time("0", "-1"), "file: a run time of 0 s and -1 ns" + allowed);
  EXPECT_EQ(time("0", "1000000000"), "file: a run time of 0 s and 1000000000 ns" + allowed);
  EXPECT_EQ(time("-1", "0"), "file: a run time of -1 s and 0 ns" + allowed);
  EXPECT_EQ(time("9000000001", "0"), "file: a run time of 9000000001 s and 0 ns" + allowed);
  EXPECT_NE(failure("other { name: '\\377' }").find("is no UTF-8 text"), std::string::npos);
  EXPECT_THROW(read_contents("gemm { } run_time { nanos: -1 }", "file"), Error);

  const auto binary = [](std::uint64_t seconds) {
    return bytes_field(6, "") + bytes_field(9, number_field(1, seconds));
  };
  EXPECT_EQ(failure(binary(5)), "no error");
  EXPECT_EQ(read_result(binary(5), "file").run_time_ns(), 5'000'000'000);
  EXPECT_EQ(failure(binary(9'000'000'001)), "file: a run time of 9000000001 s and 0 ns" + allowed);
  EXPECT_THROW(read_contents(binary(9'000'000'001), "file"), Error);
  EXPECT_EQ(failure(std::string("\xFF\xFF")),
            "file: no AutotuneResult, neither as text nor as binary");
}

TEST(verdict_file, related_kinds_are_refused_by_name) {
  FURLONG_NEEDS_SHARED("real/xla");
  std::size_t refused = 0;
  for (const auto& item : std::filesystem::directory_iterator(xla_folder() / "not_results")) {
    const auto name = item.path().filename().string();
    const auto kind = name.substr(0, name.find("__"));
    EXPECT_NE(failure_of(slurp(item.path())).find(kind), std::string::npos)
        << name << ": " << failure_of(slurp(item.path()));
    ++refused;
  }
  EXPECT_EQ(refused, 11U);
  const auto target = slurp(
      xla_folder() / "ranks/proc0__module_0040.pjit__wrapped_step_fn.gpu_target_config.pbtxt");
  EXPECT_NE(failure_of(target).find("GpuTargetConfigProto"), std::string::npos);
}

TEST(verdict_file, what_is_no_cache_is_refused) {
  EXPECT_EQ(failure_of("").substr(0, 14), "file: is empty");
  EXPECT_EQ(failure_of(" # nothing\n").substr(0, 14), "file: is empty");
  EXPECT_NE(failure_of("gemm { algorithm: 1 }").find("bare AutotuneResult"), std::string::npos);
  EXPECT_NE(failure_of("logs { }").find("AutotuningLogs"), std::string::npos);
  EXPECT_NE(failure_of("instr { } results { }").find("AutotuningLog"), std::string::npos);
  EXPECT_EQ(failure_of("\n\nnonsense: 1").substr(0, 18), "file:3: \"nonsense\"");
  EXPECT_EQ(failure_of("version: 3\nresults {").substr(0, 7), "file:2:");
  EXPECT_NE(failure_of("version: 3\nresults { speed: 1 }").find("file:2:16: "), std::string::npos)
      << failure_of("version: 3\nresults { speed: 1 }");
  EXPECT_NE(failure_of("version: 3 results { result { gemm { } triton { } } }").find("oneof"),
            std::string::npos);
  EXPECT_NE(failure_of("version: 3 results { hlo: '\\377' }").find("UTF-8"), std::string::npos);
  EXPECT_NE(failure_of("version: 3\n\nresults { result { run_time { nanos: -1 } } }")
                .find("file:3: entry 1: a run time of 0 s and -1 ns"),
            std::string::npos);
  EXPECT_NE(failure_of(std::string("\x7F"
                                   "ELF\x02\x01"))
                .find("neither text nor"),
            std::string::npos);
  // Two triton configurations, and one denied computation, in binary.
  EXPECT_NE(failure_of(std::string("\x0a\x02\x08\x10\x0a\x02\x10\x20")).find("TritonGemmConfigs"),
            std::string::npos);
  EXPECT_NE(failure_of(std::string("\x0a\x05\x0a\x03hlo")).find("AlgorithmDenylist"),
            std::string::npos);
}

TEST(verdict_file, the_newer_cache_is_recognised) {
  const std::string text =
      "device_scope: \"CUDA: 8.0\" entries { key { target { device: \"CUDA: 8.0\" "
      "explicit_version: \"v1\" hlo_fingerprint: \"abc\" } environment { codegen_version: \"7\" } }"
      " value { optimal_config { backend: TRITON backend_config { "
      "[type.googleapis.com/xla.Block] { m: 1 } } } } }";
  const auto contents = read_contents(text, "file");
  const auto* cache = std::get_if<NewCache>(&contents);
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->device_scope, "CUDA: 8.0");
  ASSERT_EQ(cache->entries.size(), 1U);
  EXPECT_EQ(cache->entries[0].device, "CUDA: 8.0");
  EXPECT_EQ(cache->entries[0].explicit_version, "v1");
  EXPECT_EQ(cache->entries[0].hlo_fingerprint, "abc");
  EXPECT_EQ(cache->entries[0].codegen_version, "7");
  EXPECT_EQ(cache->entries[0].backend, "TRITON");
  EXPECT_EQ(cache->entries[0].backend_config, "type.googleapis.com/xla.Block");

  // entries { key { target { device "dev" explicit_version "v" hlo_fingerprint "fp" } }
  //           value { optimal_config { backend 2 } } }, and nothing else: the old schema reads
  //           convs.
  const std::string target(
      "\x0a\x03"
      "dev"
      "\x12\x01v"
      "\x1a\x02"
      "fp");
  const std::string key = "\x0a" + std::string(1, static_cast<char>(target.size())) + target;
  const std::string value("\x0a\x02\x08\x02");
  const std::string entry = "\x0a" + std::string(1, static_cast<char>(key.size())) + key + "\x12" +
                            std::string(1, static_cast<char>(value.size())) + value;
  const std::string entries = "\x1a" + std::string(1, static_cast<char>(entry.size())) + entry;
  for (const std::string& bytes : {entries,
                                   "\x0a\x03"
                                   "dev" +
                                       entries,
                                   std::string("\x0a\x03"
                                               "dev")}) {
    const auto binary = read_contents(bytes, "file");
    const auto* read = std::get_if<NewCache>(&binary);
    ASSERT_NE(read, nullptr);
    if (bytes.size() > 8) {
      ASSERT_EQ(read->entries.size(), 1U);
      EXPECT_EQ(read->entries[0].device, "dev");
      EXPECT_EQ(read->entries[0].backend, "2");
    }
    EXPECT_NE(failure_of(bytes).find("AutotuneCache"), std::string::npos);
  }
}

TEST(verdict_file, own_winners_come_back) {
  const OwnWinner winner{"opencl",
                         {{"tile", 16}, {"unroll", true}, {"ratio", 0.5}, {"kernel", "a b"}},
                         "0123abcd",
                         1.25};
  const Key key{"CPU: avx512_zen5, Cores: 2", "{\n  ROOT tmp_0 = f32[] parameter(0)\n}", 1};
  const std::vector<Verdict> made{Verdict::own(key, winner, 2'000'000'123)};
  const VerdictFile file(made);
  EXPECT_EQ(file.version(), 3);
  for (const auto& bytes : {file.text(), file.binary()}) {
    const auto read = read_verdicts(bytes, "file").verdict(0);
    EXPECT_EQ(read.key(), key);
    EXPECT_EQ(read.own_winner(), winner);
    EXPECT_EQ(read.run_time_ns(), 2'000'000'123);
    EXPECT_EQ(read.winner_text(), "furlong/opencl kernel=a b ratio=0.5 tile=16 unroll=true");
  }
  auto other = winner;
  other.runner_up_ratio = 2;
  EXPECT_TRUE(Verdict::own(key, other, 5).same_winner(made[0]));
  EXPECT_FALSE(Verdict::own(key, other, 2'000'000'123).same_result(made[0]));
  other.bindings["tile"] = 32;
  EXPECT_FALSE(Verdict::own(key, other, 5).same_winner(made[0]));
  EXPECT_THROW(Verdict::own({"\xff", "", {}}, winner, 5), std::invalid_argument);
  other.bindings["tile"] = (std::int64_t{1} << 60) + 1;
  EXPECT_THROW(Verdict::own(key, other, 5), std::invalid_argument);
}

TEST(verdict_file, cut_at_every_byte) {
  FURLONG_NEEDS_SHARED("real/xla");
  const auto text = slurp(
      xla_folder() / "2023-10-16_891081383b__xla_service_gpu_tests__test_autotune_cache.textproto");
  const auto whole = read_verdicts(text, "file");
  for (const auto& bytes : {text, whole.binary(), std::string(kSmall)}) {
    const auto full = read_verdicts(bytes, "file");
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      try {
        const auto part = read_verdicts(std::string_view(bytes).substr(0, cut), "file");
        // What reads is what stands before the cut, entry by entry and whole.
        ASSERT_LE(part.size(), full.size());
        for (std::size_t i = 0; i < part.size(); ++i) {
          ASSERT_EQ(part.verdict(i).key(), full.verdict(i).key()) << cut;
          ASSERT_TRUE(part.verdict(i).same_result(full.verdict(i))) << cut;
        }
      } catch (const Error&) {
      }
    }
  }
}

TEST(verdict_file, mutations_read_the_same_again_or_fail) {
  FURLONG_NEEDS_SHARED("real/xla");
  std::vector<std::string> seeds;
  for (const auto& path : real_caches()) {
    const auto bytes = slurp(path);
    if (bytes.size() > 8000) continue;
    seeds.push_back(bytes);
    if (path.extension() != ".pb") seeds.push_back(read_verdicts(bytes, "file").binary());
  }
  ASSERT_GT(seeds.size(), 40U);
  std::mt19937 random(20261201);
  int read = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::string bytes = seeds[random() % seeds.size()];
    const auto& other = seeds[random() % seeds.size()];
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const auto at = bytes.empty() ? 0 : random() % bytes.size();
      switch (random() % 5) {
        case 0:
          if (!bytes.empty()) bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 40);
          break;
        case 2:
          bytes.insert(at, 1 + random() % 3, static_cast<char>(random()));
          break;
        case 3:
          bytes.insert(at, bytes.substr(random() % (bytes.size() + 1), 1 + random() % 60));
          break;
        case 4:
          bytes = bytes.substr(0, at) + other.substr(random() % other.size());
          break;
      }
    }
    try {
      const auto contents = read_contents(bytes, "file");
      const auto* file = std::get_if<VerdictFile>(&contents);
      if (file == nullptr) continue;
      ++read;
      ASSERT_TRUE(equal(*file, read_verdicts(file->binary(), "again"))) << round;
      if (!file->has_unknown_fields()) {
        ASSERT_TRUE(equal(*file, read_verdicts(file->text(), "again"))) << round;
      }
      for (const auto& verdict : file->verdicts()) {
        verdict.winner_text();
        verdict.metadata();
        verdict.measured_ns();
      }
    } catch (const Error& error) {
      ASSERT_EQ(std::string_view(error.what()).substr(0, 5), "file:") << round;
    }
  }
  EXPECT_GT(read, 500);
}

TEST(text_scan, fields_lines_and_ends) {
  const auto fields =
      scan_fields("a: 1, b { c: \"}\" # }\n } ;\n[x.y] <d: 2>\nl: [3, {e: 4}]\ns: 'p' \"q\"");
  ASSERT_TRUE(fields) << fields.reason();
  ASSERT_EQ(fields->size(), 6U);
  EXPECT_EQ((*fields)[0].body, "1");
  EXPECT_EQ((*fields)[1].body, " c: \"}\" # }\n ");
  EXPECT_EQ((*fields)[2].name, "[x.y]");
  EXPECT_EQ((*fields)[2].line, 3);
  EXPECT_EQ((*fields)[3].body, "3");
  EXPECT_TRUE((*fields)[4].is_message);
  EXPECT_EQ(scalar_text((*fields)[5].body), "pq");
  EXPECT_EQ(scalar_text("\"\\101\\n\\\"\""), "A\n\"");
  EXPECT_EQ(scan_fields("a {\nb: 'x\n'}").reason(), "line 1: the message of \"a\" has no end");
  EXPECT_EQ(scan_fields("\n}").reason(), "line 2: \"}\" where a field's name is expected");
}

}  // namespace
}  // namespace furlong::verdict
