// Self-test of table generation: golden cases that every build carries.
//
// Each case is a small ledger, the kernel hashes it meets, and the table it must give, byte for
// byte, or the refusal. Needs no project and no file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "furlong/kernel_hashes.hh"

namespace furlong::tune {

struct GoldenCase {
  std::string name;
  std::string ledger;   ///< the bytes of `demo.cpu.jsonl`
  KernelHashes hashes;  ///< of now
  std::string table;    ///< expected; empty for a refusal
  std::string refusal;  ///< expected in the message; empty for a table
};

std::vector<GoldenCase> golden_cases();

struct GoldenResult {
  std::string name;
  std::string difference;  ///< empty when right
};

/// Generates every case's table and compares; checks each expected table against its ledger too.
std::vector<GoldenResult> self_test(std::span<const GoldenCase> cases);

}  // namespace furlong::tune
