// What a tuner must know of an op: how to list, build, run and verify its problems.
//
// An op describes itself here once; the tuner, the tests and the benches all read this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "furlong/axis.hh"
#include "furlong/cell_key.hh"
#include "furlong/kernel_hashes.hh"
#include "furlong/select.hh"

namespace furlong {

/// One cell's inputs, outputs and ways to run them. Owned and driven by one thread.
///
/// A problem holds a ring of copies of its inputs, each with red zones around every output and
/// poison in whatever the op must not read. The driver verifies before it times anything.
class Problem {
 public:
  virtual ~Problem() = default;

  /// Can the candidate run this cell at all? A reason refuses.
  virtual select::Refusal can_run(int candidate) = 0;

  /// Bytes of one copy, red zones included.
  virtual std::int64_t copy_bytes() const = 0;

  /// Makes the ring hold `copies` >= 1 copies (contents unspecified until restore()).
  virtual void resize_ring(int copies) = 0;

  /// Moves the ring to another piece of memory; equal `place`s >= 0 are the same piece, and how
  /// many pieces there are is the problem's affair. What copies hold is unspecified until
  /// restore(). How physical pages get along in the caches decides some per cent of a short time,
  /// so a race uses another place in each round, the same one for all candidates. The default has
  /// one place.
  virtual void move_ring(int place) { static_cast<void>(place); }

  /// Brings the first `copies` copies of the ring back to the inputs, so that every candidate
  /// starts from the same data.
  virtual void restore(int copies) = 0;

  /// Stands for "what selection picks", in run().
  static constexpr int kAuto = -1;

  /// One call on each of the copies [first, first + count) of the ring: of the candidate, under one
  /// strict pin, or with kAuto of whatever selection picks. May throw.
  virtual void run(int candidate, int first, int count) = 0;

  /// Checks one copy after run() of a correct problem: sampled items against a reference in higher
  /// precision, every item against the witness (if there is one), red zones, poison, info.
  /// Empty = passed; else the reason (`residual`, `residual_nonfinite`, `info`, `red_zone`, ...).
  virtual std::string verify(int copy) = 0;

  /// Checks every item of one copy against the reference, whatever the witness says; slow. Asked
  /// once a cell, of the output that becomes the witness, and when a candidate disagrees with it,
  /// to learn which one is wrong. A problem without such a check keeps the default: the witness is
  /// believed.
  virtual std::string verify_every(int copy) { return verify(copy); }

  /// Keeps that copy's output as the witness: call after its verify() passed.
  virtual void adopt_witness(int copy) = 0;
};

struct ProblemOptions {
  std::int64_t extra_ld = 0;  ///< added to every leading dimension
  std::uint64_t seed = 1;     ///< of the inputs
};

struct OpSpec {
  select::OpVocabulary vocabulary;
  /// The axes of the grid, in order; per dtype because a grid may be thinned by it.
  std::function<std::vector<Axis>(const std::string& dtype)> axes;
  /// Input bytes of a cell: the cap of a run is stated in it.
  std::function<std::int64_t(const std::string& dtype, const CellKey& key)> input_bytes;
  /// Cells with more input bytes are not on the grid; 0 = no such limit.
  std::int64_t grid_bytes = 0;
  /// The largest matrix dimension of a cell.
  std::function<std::int64_t(const CellKey& key)> max_dim;
  /// Throws std::invalid_argument for a key that is no cell of this op.
  std::function<std::unique_ptr<Problem>(const std::string& dtype, const CellKey& key,
                                         const ProblemOptions& options)>
      make_problem;
  /// Of the sources this program was built from.
  KernelHashes hashes;
  /// One line: what the times depend on beside the hashed sources (compiler and flags, SIMD
  /// target, threads, vendor library versions and core names).
  std::function<std::string()> environment;
  /// Floating-point operations of one call; 0 when unknown.
  std::function<double(const CellKey& key)> flops;
  /// Can the candidate run this cell, and if not, why?
  std::function<select::Refusal(const std::string& dtype, const CellKey& key, int candidate)>
      can_run;
  /// The op's own selector: built-in tables, override directory, pins.
  std::function<select::Selector&()> selector;
};

}  // namespace furlong
