// Folds one tile of kept and reduced modes, mode by mode from the fastest, down to its kept elements.
#pragma once
#include "cpu/grid.h"
#include "cpu/table.h"

namespace tcu::cpu {

// acc: one element per kept element of the box, in their order; not read when fresh. scratch: room for two tiles.
// stride: 0, or for a box of one K and one R mode that is folded where it lies, the distance of its rows.
// stream: as of Folds::segments, for what is fresh.
void fold_box(const Folds &f, int bytes, const Box &box, const void *tile, int64_t stride, void *acc, bool fresh, char *scratch,
              bool stream = false);

// Folds a row of `lanes` many times over: few lanes are first widened over several rows, so that vectors are full.
void fold_lanes(const Folds &f, int bytes, void *acc, const void *src, int64_t lanes, int64_t rows, int64_t stride, bool fresh);

// Best value and position per kept element; `position` is that of the box's first element.
void fold_box_arg(const ArgFolds &f, int bytes, const Box &box, int position_operand, const void *tile, int64_t position,
                  void *best, int64_t *at);

}  // namespace tcu::cpu
