#include "cpu/grid.h"

#include <algorithm>
#include <cstring>

#include "cpu/table.h"

namespace tcu::cpu {

Grid Grid::of(const Modes &modes, int n_operands) {
  Grid g;
  g.n = modes.size(), g.n_operands = n_operands;
  for (int m = 0; m < g.n; ++m) {
    Axis &a = g.axis[m];
    a.extent = modes[m].extent, a.role = modes[m].role;
    std::copy_n(modes[m].stride, n_operands, a.stride);
    g.set_step(m, 1);
  }
  return g;
}

Box::Box(const Grid &g, const Walk &a, const Walk *b, bool kept, bool others) {
  int64_t start[kMaxRank];
  for (int m = 0; m < g.n; ++m) start[m] = 0;
  for (int i = 0; i < a.n; ++i) start[a.axis[i]] = a.index[i] * g.axis[a.axis[i]].step;
  if (b)
    for (int i = 0; i < b->n; ++i) start[b->axis[i]] = b->index[i] * g.axis[b->axis[i]].step;
  for (int m = 0; m < g.n; ++m) {
    const Grid::Axis &x = g.axis[m];
    if (x.step == 1 || !(x.role == Role::K ? kept : others)) continue;
    const int64_t here = std::min(x.step, x.extent - start[m]);
    if (here == 1) continue;
    extent[n] = here, axis[n] = &x, elements *= here;
    ++n;
  }
}

namespace {

// Elements as packed bits: complex numbers may be aligned as their parts are.
template <int N> struct __attribute__((packed, may_alias)) bits_of { unsigned char byte[N]; };
template <> struct __attribute__((packed, may_alias)) bits_of<2> { uint16_t v; };
template <> struct __attribute__((packed, may_alias)) bits_of<4> { uint32_t v; };
template <> struct __attribute__((packed, may_alias)) bits_of<8> { uint64_t v; };
template <> struct __attribute__((packed, may_alias)) bits_of<16> { uint64_t v, w; };

template <int N> void copy_line(void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t n) {
  using B = bits_of<N>;
  B *o = static_cast<B *>(to);
  const B *s = static_cast<const B *>(from);
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(o, s, size_t(n) * N);
  } else if (to_stride == 1 && from_stride == 0) {
    table().fill(o, s, n, N);
  } else if (to_stride == 1) {
    for (int64_t i = 0; i < n; ++i) o[i] = s[i * from_stride];
  } else if (from_stride == 1) {
    for (int64_t i = 0; i < n; ++i) o[i * to_stride] = s[i];
  } else {
    for (int64_t i = 0; i < n; ++i) o[i * to_stride] = s[i * from_stride];
  }
}
using LineFn = void (*)(void *, int64_t, const void *, int64_t, int64_t);
LineFn line_of(int bytes) {
  switch (bytes) {
    case 1: return copy_line<1>;
    case 2: return copy_line<2>;
    case 4: return copy_line<4>;
    case 8: return copy_line<8>;
    default: return copy_line<16>;
  }
}

// Copies a box between two strided places. The order is free: the innermost loop is the mode that makes the longest
// lines, with a preference for one that is contiguous on both sides.
void copy_box(int n, const int64_t *extent, void *to, const int64_t *to_stride, const void *from, const int64_t *from_stride,
              int bytes) {
  char *o = static_cast<char *>(to);
  const char *s = static_cast<const char *>(from);
  struct M {
    int64_t extent, to, from;
  } m[64];
  int used = 0;
  for (int i = 0; i < n; ++i) {  // merges what is contiguous on both sides
    if (used && to_stride[i] == m[used - 1].to * m[used - 1].extent && from_stride[i] == m[used - 1].from * m[used - 1].extent)
      m[used - 1].extent *= extent[i];
    else
      m[used++] = {extent[i], to_stride[i], from_stride[i]};
  }
  if (used == 0) {
    std::memcpy(o, s, size_t(bytes));
    return;
  }
  int inner = 0;
  int64_t best = -1;
  for (int i = 0; i < used; ++i) {
    const bool run = m[i].to == 1 && (m[i].from == 1 || m[i].from == 0);
    const int64_t worth = m[i].extent * (run ? 8 : 1);
    if (worth > best) best = worth, inner = i;
  }
  std::swap(m[0], m[inner]);
  const LineFn line = line_of(bytes);
  int64_t index[64] = {};
  for (;;) {
    line(o, m[0].to, s, m[0].from, m[0].extent);
    int i = 1;
    for (; i < used; ++i) {
      o += m[i].to * bytes, s += m[i].from * bytes;
      if (++index[i] < m[i].extent) break;
      o -= m[i].to * m[i].extent * bytes, s -= m[i].from * m[i].extent * bytes;
      index[i] = 0;
    }
    if (i >= used) return;
  }
}

struct TileStrides {
  int64_t dense[64], memory[64];
  TileStrides(const Box &box, int k) {
    int64_t s = 1;
    for (int i = 0; i < box.n; ++i) dense[i] = s, s *= box.extent[i], memory[i] = box.axis[i]->stride[k];
  }
};

}  // namespace

void gather(const Box &box, int k, void *tile, const void *memory, int bytes) {
  const TileStrides s(box, k);
  copy_box(box.n, box.extent, tile, s.dense, memory, s.memory, bytes);
}

void scatter(const Box &box, int k, void *memory, const void *tile, int bytes) {
  const TileStrides s(box, k);
  copy_box(box.n, box.extent, memory, s.memory, tile, s.dense, bytes);
}

void spread(const Box &box, void *tile, const void *each, int bytes) {
  int64_t dense[64], kept[64], s = 1, k = 1;
  for (int i = 0; i < box.n; ++i) {
    const bool is_kept = box.axis[i]->role == Role::K;
    dense[i] = s, kept[i] = is_kept ? k : 0;
    s *= box.extent[i], k *= is_kept ? box.extent[i] : 1;
  }
  copy_box(box.n, box.extent, tile, dense, each, kept, bytes);
}

void firsts(const Box &box, void *each, const void *tile, int bytes) {
  int64_t extent[64], dense[64], kept[64], s = 1, k = 1;
  int n = 0;
  for (int i = 0; i < box.n; s *= box.extent[i++]) {
    if (box.axis[i]->role != Role::K) continue;
    extent[n] = box.extent[i], dense[n] = s, kept[n] = k;
    k *= extent[n++];
  }
  copy_box(n, extent, each, kept, tile, dense, bytes);
}

}  // namespace tcu::cpu
