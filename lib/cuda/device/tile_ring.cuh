// What the blocks of a scan tell each other: those that look back for all, and are asked, or a tile the next one below it. Words
// (device/published.cuh) of tiles stand in rings: a tile takes the place of the one `slots` before it. So they are few however many tiles
// there are, the second level cache keeps them, and they are zero at the end as they were at the beginning.
// Two blocks' writes to one word have an order only if the later writer has itself seen what it writes over, or a release and an acquire lie
// between them (PTX, "Memory consistency model"). What another block has read is no such order: of scans of 4096 x 16384 that passed on through
// two words a column, and did not look, one in some 900 hung on an H200, for a late write had taken a word's place. So pass_on looks. Who asks
// back sees that the answer in its place was taken; a sum, and an answer, are written over unseen, but kRingSlots tiles later, when nobody
// of that time runs any more.
#pragma once
#include "device/published.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int kRingSlots = 8;  // so that a small test goes round
#else
inline constexpr int kRingSlots = 2048;  // more than there are resident tiles, lest one waits for a place
#endif

#if defined(TCU_KERNELS)

// Blocks that begin together would read side by side, and the first of their tiles would be there hardly sooner than the last, while all
// wait for it. So each of p.wave blocks begins to read p.apart cycles after the one before it.
template <class P>
TCU_DEVICE void begin_apart([[maybe_unused]] const P &p, [[maybe_unused]] int block) {
#if TCU_DEVICE_CODE
  if (block >= p.wave) return;
  const long long begin = clock64(), cycles = (long long)(block) * p.apart;
  while (clock64() - begin < cycles) __nanosleep(20);
#endif
}

// For each column of tiles below each other; a line of tiles is a column. A word's tag is the tile's number and one.
template <class Fold>
struct TileRing {
  using State = typename Fold::State;
  using W = Published<State>;
  static constexpr uint32_t kTaken = 1u << 31;  // of a tag: the tile has read its answer
  uint64_t *words;
  int64_t columns;
  int slots;       // a power of two
  bool sums_down;  // a column's sums are neighbours, else those of one tile in all columns: what a warp asks for at once

  TCU_DEVICE int64_t slot(int tile) const { return tile & (slots - 1); }
  TCU_DEVICE uint64_t *before(int tile, int64_t column) const { return words + (slot(tile) * columns + column) * W::kWords; }
  TCU_DEVICE uint64_t *sum(int tile, int64_t column) const {
    return words + (slots * columns + (sums_down ? column * slots + slot(tile) : slot(tile) * columns + column)) * W::kWords;
  }
  TCU_DEVICE static uint32_t tag(int tile) { return uint32_t(tile) + 1; }

  // What stands where a tile's answer is to come. To be asked long before ask_back, which then need not wait for it.
  TCU_DEVICE W place(int tile, int64_t column) const { return tile < slots ? W{} : W::ask(before(tile, column)); }
  // What comes before a tile in a column; total: its sum; place: what place() said.
  TCU_DEVICE State ask_back(int tile, int tiles, int64_t column, State total, W place) const {
    uint64_t *const answer = before(tile, column);
    if (tile >= slots) place.wait(answer, tag(tile - slots) | kTaken);  // then both slots are free
    W::publish(sum(tile, column), total, tag(tile));
    const State start = W::ask(answer).wait(answer, tag(tile));
    if (tile >= tiles - slots) W::clear(answer);
    else W::publish(answer, start, tag(tile) | kTaken);
    return start;
  }
  // Or, with no sums: what the tile above leads to, or `init`; and the tile below is told what this one does.
  TCU_DEVICE State pass_on(int tile, int tiles, int64_t column, State total, State init) const {
    const bool tells = tile + 1 < tiles, again = tells && tile >= slots && slots > 1;
    uint64_t *const from = before(tile - 1, column), *const to = before(tile, column);
    State start = init;
    if (tile > 0) {
      W told = W::ask(from), stood = {};
      if (again) stood = W::ask(to);
      while (!told.written(tag(tile - 1)) || (again && !stood.written(tag(tile - slots)))) {
        __nanosleep(20);
        told = W::ask(from);
        if (again && !stood.written(tag(tile - slots))) stood = W::ask(to);
      }
      start = told.value();
      if (tile + slots >= tiles) W::clear(from);  // nobody writes over it
    }
    if (tells) W::publish(to, Fold::combine(start, total), tag(tile));
    return start;
  }
};

#endif
}  // namespace tcu::cuda
