// Runner: races the candidates of one (op, dtype) over real problems, cell by cell.
//
// A cell is probed, verified, warmed up, raced and verified again (docs/measuring.md). Nothing is
// timed before it was verified, a candidate that failed is never called again, and what is wrong
// with one candidate never stops the others. Errors that are no candidate's (a problem that cannot
// be built or restored) propagate.
//
// Ownership: the spec must outlive the runner. A runner remembers which candidates passed the
// leading-dimension check, so it lives as long as its (op, dtype) is tuned. Thread rule: one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "furlong/cell_key.hh"
#include "furlong/op_spec.hh"
#include "ledger/record.hh"
#include "race/core_watch.hh"
#include "race/interval_timer.hh"
#include "race/race.hh"

namespace furlong::race {

struct RunnerOptions {
  double warm_up_s = 0.02;      ///< per live candidate; verification runs count
  double repetition_s = 20e-6;  ///< a repetition repeats the call until it lasts this long
  std::int64_t ring_bytes = std::int64_t{64} << 20;  ///< of all copies, unless one is larger
  int max_calls = 1 << 14;                           ///< per repetition
  std::uint64_t seed = 1;                            ///< of the inputs
  /// A fixed piece of work, in seconds, that takes longer while somebody else works on the core
  /// (CoreWatch): repetitions are timed while nobody does. Empty: whenever.
  std::function<double()> core_probe = {};
};

struct CellRequest {
  CellKey key;
  Tier tier = Tier::kCoarse;    ///< stamped on the record
  Rules rules = {};             ///< usually rules_of(tier)
  int round = 0;                ///< of refinement; stamped on the record
  std::vector<int> candidates;  ///< positions in the dtype's list, ascending
  bool partial = false;         ///< a partial re-race: a lone candidate is timed for min rounds
  double patience_s = 0.25;     ///< to spend on waiting for a quiet core, and on disturbed times
  double quiet_s = 0;           ///< CoreWatch::quiet_s() of an earlier process; 0 = not known
  /// Hears of each elimination, with its round from 1; may be empty.
  std::function<void(int candidate, int round)> on_eliminated = {};
  /// Hears of each turn of a candidate before it begins, and of waiting; may be empty. A turn is a
  /// few calls and the checks of their results.
  std::function<void()> on_turn = {};
};

/// One timed interval.
struct Repetition {
  int candidate = 0;
  int round = 0;  ///< from 0
  double ms = 0;  ///< per call
};

/// Wall time of one cell, by what it went into.
struct Phases {
  double probe_s = 0;
  double verify_s = 0;
  double warm_s = 0;
  double timing_s = 0;
  double disturbed_s = 0;  ///< waited for the core, and repetitions that were disturbed
};

struct CellResult {
  /// Outcomes of the requested candidates, in list order; run_id and date are the caller's.
  ledger::Cell cell;
  std::vector<ledger::Audit> audits;  ///< `ld` lines, without run_id
  std::vector<Repetition> repetitions;
  Verdict verdict = Verdict::kWinner;
  int rounds = 0;
  int repeated = 0;    ///< repetitions that were disturbed, and timed again
  int disturbed = 0;   ///< repetitions that count though they were disturbed: patience was spent
  double quiet_s = 0;  ///< CoreWatch::quiet_s() after the race
  Phases phases;
};

enum class LdVerdict { kUnknown, kPassed, kFailed, kSkipped };

class Runner {
 public:
  /// Throws std::invalid_argument for a dtype that the op lacks.
  Runner(const OpSpec& spec, std::string dtype, Now now, RunnerOptions options = {});

  /// Throws std::invalid_argument for a key that is no cell of the op, or a candidate outside the
  /// list.
  CellResult run(const CellRequest& request);

  /// What an earlier process found out, so that a candidate is checked once per (op, dtype).
  void set_ld_verdict(int candidate, LdVerdict verdict);
  LdVerdict ld_verdict(int candidate) const;

 private:
  const OpSpec& spec_;
  std::string dtype_;
  Now now_;
  RunnerOptions options_;
  std::vector<std::string> candidates_;
  std::vector<LdVerdict> ld_;
  CoreWatch watch_;
};

}  // namespace furlong::race
