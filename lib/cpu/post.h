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
// A streamed tile. Measured with the next tile fetched meanwhile: 2 and 4 KiB are equally fast, 8 KiB 10 % slower, 16 KiB 35 %
// (tile, inputs and what is fetched no longer share an L1 of 32 KiB).
inline constexpr int64_t kStreamTileBytes = 4 * 1024;

}  // namespace tcu::cpu
