// The loop nest cut into boxes: mode m is walked in steps of step[m]. A box is enumerated with mode 0 fastest and its
// elements, in that order, are a tile. A tile spans as many modes as it takes to fill it, so that short innermost modes
// cost nothing.
#pragma once
#include "core/problem.h"

namespace tcu::cpu {

struct Grid {
  int n = 0, n_operands = 0;
  struct Axis {
    int64_t extent, step, count;  // count boxes along this mode
    Role role;
    int64_t stride[kMaxOperands + 1];  // in elements; the last one: of a partial result, where a kernel needs it
  };
  Axis axis[kMaxRank];

  static Grid of(const Modes &modes, int n_operands);  // steps of 1
  void set_step(int m, int64_t step) {
    axis[m].step = step, axis[m].count = step > 0 ? (axis[m].extent + step - 1) / step : 0;
  }
  // Steps that fill up to `room` elements from mode 0 on, among modes of which `allowed` says yes; returns what is filled.
  // A mode that does not fit is cut evenly, so that its last box is not a sliver.
  template <class Allowed>
  int64_t fill(int64_t room, Allowed allowed) {
    int64_t filled = 1;
    for (int m = 0; m < n; ++m) {
      if (!allowed(m)) continue;
      const int64_t fits = room / filled, e = axis[m].extent;
      if (fits <= 1) break;
      if (e <= fits) {
        set_step(m, e), filled *= e;
        continue;
      }
      set_step(m, even_step(e, fits));
      filled *= axis[m].step;
      break;
    }
    return filled;
  }
  // The step of at most `most` that cuts e into as few boxes, of nearly one size; a multiple of 16 where that fits, so that
  // boxes start where vectors do.
  static int64_t even_step(int64_t e, int64_t most) {
    const int64_t boxes = (e + most - 1) / most;
    int64_t step = (e + boxes - 1) / boxes;
    const int64_t round = (step + 15) / 16 * 16;
    return round <= most ? round : step;
  }
  // Boxes along all modes of which `which` says yes.
  template <class Which>
  int64_t boxes(Which which) const {
    int64_t total = 1;
    for (int m = 0; m < n; ++m)
      if (which(m)) total *= axis[m].count;
    return total;
  }
  int64_t box_elements() const {
    int64_t total = 1;
    for (int m = 0; m < n; ++m) total *= axis[m].step;
    return total;
  }
};

// A walk over the boxes of some of a grid's axes (those of which a mask says yes), mode 0 fastest.
struct Walk {
  int n = 0;
  int axis[kMaxRank];
  int64_t index[kMaxRank];  // of boxes, by entry of `axis`
  template <class Which>
  static Walk over(const Grid &g, Which which) {
    Walk w;
    for (int m = 0; m < g.n; ++m)
      if (which(m) && g.axis[m].count != 1) w.axis[w.n++] = m;
    return w;
  }
  void seek(const Grid &g, int64_t at) {
    for (int i = 0; i < n; ++i) {
      const int64_t c = g.axis[axis[i]].count;
      index[i] = at % c, at /= c;
    }
  }
  void next(const Grid &g) {
    for (int i = 0; i < n; ++i) {
      if (++index[i] < g.axis[axis[i]].count) return;
      index[i] = 0;
    }
  }
  // Adds the offset of the current boxes to offset[operand].
  void offsets(const Grid &g, int n_operands, int64_t *offset) const {
    for (int i = 0; i < n; ++i) {
      const Grid::Axis &a = g.axis[axis[i]];
      const int64_t start = index[i] * a.step;
      for (int k = 0; k < n_operands; ++k) offset[k] += start * a.stride[k];
    }
  }
};

// The box at hand: its modes of more than one element, fastest first.
struct Box {
  int n = 0;
  int64_t elements = 1;
  int64_t extent[64];
  const Grid::Axis *axis[64];

  Box() = default;
  // Where walks a and b (or a alone) stand; of the modes that `kept` and `others` select.
  Box(const Grid &g, const Walk &a, const Walk *b = nullptr, bool kept = true, bool others = true);
  bool same_shape(const Box &o) const {
    if (n != o.n) return false;
    for (int i = 0; i < n; ++i)
      if (extent[i] != o.extent[i] || axis[i] != o.axis[i]) return false;
    return true;
  }
  // Whether the box's elements lie without gaps, in order, in operand k.
  bool flat(int k) const {
    int64_t expected = 1;
    for (int i = 0; i < n; ++i) {
      if (axis[i]->stride[k] != expected) return false;
      expected *= extent[i];
    }
    return true;
  }
  // Whether all of them are one element of operand k.
  bool constant(int k) const {
    for (int i = 0; i < n; ++i)
      if (axis[i]->stride[k] != 0) return false;
    return true;
  }
};

// Between a tile and the box of operand k at `memory`. bytes: of an element.
void gather(const Box &box, int k, void *tile, const void *memory, int bytes);
void scatter(const Box &box, int k, void *memory, const void *tile, int bytes);
// Between a tile and one value for each of its kept elements, in their order: each repeated wherever it belongs; the first of each.
void spread(const Box &box, void *tile, const void *each, int bytes);
void firsts(const Box &box, void *each, const void *tile, int bytes);

}  // namespace tcu::cpu
