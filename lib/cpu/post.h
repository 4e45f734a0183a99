// The last stage of every operation: value -> alpha * value + beta * out -> out's dtype.
#pragma once
#include "cpu/interpreter.h"

namespace tcu::cpu {

// Two programs for one stage: with alpha == 1 nothing is multiplied, so that no bit changes.
struct Stage {
  Program plain, scaled;  // plain is unused when the old output is read
  bool reads_out = false;
  DType post = DType::none;

  const Program &choose(const Execution &e) const;
};

// The stage that ends `before`, whose result is (or is converted to) `post`.
Stage make_stage(const Builder &before, DType post, DType out, bool reads_out, int out_input);
// The stage of a value that is already there, as input 0 of dtype `post`; the old output is input 1.
Stage make_stage(DType post, DType out, bool reads_out);

// Puts n elements at `from` into operand k's box at `memory`; past the caches where `stream` says so.
void store(const Box &box, int k, void *memory, const void *from, int bytes, bool stream, const Ahead &ahead = {});

// Outputs from this size on are written past the caches: nothing of them would be left there for the next reader, and a
// line that is overwritten need not be read. On two cores of an EPYC (Zen 3) an add of a row to 64 MiB takes two thirds of the
// time that ordinary stores take, if the next tile is fetched meanwhile; without that nine tenths.
inline constexpr int64_t kStreamBytes = 8 << 20;
// A streamed tile is written as it is computed, in pieces: a burst of stores past the caches fills the store queue, and what the next
// tile stores waits behind it (Zen 5: 4 KiB at once and then 784 numbers to repeat took 90 ns more). An add of a column and a row to
// 64 MiB takes two threads 0.83 ms instead of 1.12, to 4001 x 4099 0.92 instead of 1.92. Tiles of 4 and 16 KiB were up to 20 % slower
// than 8, pieces of 2 KiB up to 5 %.
inline constexpr int64_t kStreamTileBytes = 8 * 1024, kStreamPieceBytes = 1024;
// What follows at once is fetched so far ahead; tile, inputs and what is fetched share L1.
inline constexpr int64_t kStreamAheadBytes = 4 * 1024;

}  // namespace tcu::cpu
