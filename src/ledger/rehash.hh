// Rehash: proofs from git that a stored hash describes the kernels of today (docs/rehash.md).
//
// A proof gives the rehash lines to append, one per family and hash, and a reason for each hash
// that it looked at and could not prove. Nothing is written here. Records of dirty runs prove
// nothing and are never looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "furlong/dtype.hh"
#include "host/git_history.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/ledger.hh"
#include "ledger/project.hh"
#include "ledger/sample.hh"

namespace furlong::ledger {

/// A stored hash that no proof covers.
struct RehashRefusal {
  std::string family;
  std::string from;
  std::string reason;
};

struct RehashPlan {
  std::vector<Rehash> lines;  ///< in the order in which the ledger first holds the hashes
  std::vector<RehashRefusal> refused;
};

/// Hash v1, which older records hold: the first 8 hex digits of SHA-256 over the manifest lines
/// `<sha256 of the file's bytes>  <path>\n` (two spaces).
std::string hash_list_v1(const std::vector<std::string>& paths, const ReadSource& read);

/// Proof `normalized`: of each stored hash that differs from the family's hash now. At every commit
/// that produced it, the v1 hash of the family's sources equals it, the family's source list equals
/// today's, and each file is equal to today's modulo comments and white space.
///
/// All proofs: `history` is opened at project.root. Throws Error naming the file when a hashed
/// file or the op's spec has uncommitted changes, or is missing.
RehashPlan prove_normalized(const Ledger& ledger, const Project& project, const std::string& op,
                            const host::GitHistory& history);

/// Proof `moved:<base>`: of each stored hash that reads as the family's hash at the commit `base`
/// (anything git understands) and differs from today's. The family's source list at the base maps
/// onto today's pairwise, in order: each path is unchanged or a git rename with the same file name,
/// and the two files are equal modulo comments, white space and the way their includes spell the
/// files that they reach. Throws Error for a base that is no commit.
RehashPlan prove_moved(const Ledger& ledger, const Project& project, const std::string& op,
                       const host::GitHistory& history, const std::string& base);

/// Proof `sample:<run id>`: that a run measured with today's kernels agrees with the old records,
/// as judge_sample() says; the kernels are those of HEAD.
SampleVerdict prove_sample(const Ledger& ledger, const Project& project, const std::string& op,
                           const host::GitHistory& history, const std::string& run_id,
                           const std::vector<std::string>& families);

}  // namespace furlong::ledger
