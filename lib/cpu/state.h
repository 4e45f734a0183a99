// Reductions whose state is several numbers, and what a reduction's state comes to at the end.
// Such a state lies in planes: its first numbers for all kept elements, then its second ones `pitch` elements on, and so forth.
#pragma once
#include "cpu/fold_box.h"

namespace tcu::cpu {

struct States {
  // The states of a tile's kept elements. scratch: state_scratch() of it.
  void (*of_tile)(const Box &box, const void *tile, void *state, int64_t pitch, char *scratch) = nullptr;
  // state = combine(state, from), for `lanes` neighbours.
  void (*combine)(void *state, const void *from, int64_t lanes, int64_t pitch) = nullptr;
  // The state of no elements.
  void (*of_nothing)(void *state, int64_t pitch) = nullptr;
};
// Null functions where the state is one number.
States states_of(ReduceOp op, DType acc);
// Room for two tiles, and for what fold_box needs.
inline size_t state_scratch(int64_t tile, int bytes) { return size_t(tile + 64) * size_t(bytes) * 4; }

// Makes the first plane the results of `lanes` states, each of n elements, and the second one their second results. Null: they are
// that already.
using Finish = void (*)(void *state, int64_t lanes, int64_t pitch, int64_t n, double correction);
Finish finish_of(ReduceOp op, DType acc);

}  // namespace tcu::cpu
