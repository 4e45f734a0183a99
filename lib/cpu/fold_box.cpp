#include "cpu/fold_box.h"

#include <utility>

namespace tcu::cpu {

void fold_lanes(const Folds &f, int bytes, void *acc, const void *src, int64_t lanes, int64_t rows, int64_t stride, bool fresh) {
  constexpr int64_t kWide = 128;
  if (lanes >= kWide / 2 || rows < 16 || stride != lanes) return f.rows(acc, src, lanes, rows, stride, fresh);
  alignas(64) char wide[2 * kWide * 16];
  int64_t group = 2;  // rows side by side
  while (group * lanes < kWide && group * 2 <= rows / 4) group *= 2;
  const int64_t n = rows / group, rest = rows % group;
  const char *s = static_cast<const char *>(src);
  f.rows(wide, s, lanes * group, n, lanes * group, true);
  if (rest) f.rows(wide, s + n * group * lanes * bytes, lanes * rest, 1, 0, false);
  for (group /= 2; group > 0; group /= 2) f.rows(wide, wide + group * lanes * bytes, lanes * group, 1, 0, false);
  f.rows(acc, wide, lanes, 1, 0, fresh);
}

void fold_box(const Folds &f, int bytes, const Box &box, const void *tile, int64_t stride, void *acc, bool fresh, char *scratch,
              bool stream) {
  struct {
    int64_t extent;
    bool reduced;
  } m[64];
  int n = 0;
  for (int i = 0; i < box.n; ++i) {  // neighbours of one role are one
    const bool reduced = box.axis[i]->role == Role::R;
    if (n && m[n - 1].reduced == reduced) m[n - 1].extent *= box.extent[i];
    else m[n++] = {box.extent[i], reduced};
  }
  int64_t total = box.elements;
  const char *from = static_cast<const char *>(tile);
  char *to = scratch, *other = scratch + (total / 2 + 1) * bytes;
  while (n) {
    if (m[0].reduced) {
      const int64_t count = total / m[0].extent;
      if (n <= 2 && fresh) return f.segments(acc, from, m[0].extent, count, stream);
      f.segments(to, from, m[0].extent, count, false);
      total = count;
      for (int i = 1; i < n; ++i) m[i - 1] = m[i];
      --n;
    } else if (n == 1) {
      break;
    } else {
      const int64_t lanes = m[0].extent, rows = m[1].extent, outer = total / (lanes * rows);
      const bool last = n <= 3;
      char *const into = last ? static_cast<char *>(acc) : to;
      for (int64_t o = 0; o < outer; ++o)
        fold_lanes(f, bytes, into + o * lanes * bytes, from + o * lanes * rows * bytes, lanes, rows, stride ? stride : lanes,
                   fresh || !last);
      if (last) return;
      total = lanes * outer;
      m[0].extent *= m[2].extent;
      for (int i = 3; i < n; ++i) m[i - 2] = m[i];
      n -= 2;
    }
    from = to;
    std::swap(to, other);
  }
  f.rows(acc, from, total, 1, 0, fresh);
}

void fold_box_arg(const ArgFolds &f, int bytes, const Box &box, int position_operand, const void *tile, int64_t position,
                  void *best, int64_t *at) {
  const char *from = static_cast<const char *>(tile);
  char *b = static_cast<char *>(best);
  if (box.n == 0) return f.row(b, at, from, 1, position);
  int64_t kept_step[64], index[64] = {}, kept = 1;
  for (int i = 0; i < box.n; ++i) {
    const bool reduced = box.axis[i]->role == Role::R;
    kept_step[i] = reduced ? 0 : kept;
    if (!reduced) kept *= box.extent[i];
  }
  const bool runs = box.axis[0]->role == Role::R;
  int64_t k = 0;
  for (;;) {
    if (runs) f.run(b + k * bytes, at + k, from, box.extent[0], position, box.axis[0]->stride[position_operand]);
    else f.row(b + k * bytes, at + k, from, box.extent[0], position);
    from += box.extent[0] * bytes;
    int i = 1;
    for (; i < box.n; ++i) {
      const int64_t weight = box.axis[i]->role == Role::R ? box.axis[i]->stride[position_operand] : 0;
      k += kept_step[i], position += weight;
      if (++index[i] < box.extent[i]) break;
      k -= kept_step[i] * box.extent[i], position -= weight * box.extent[i];
      index[i] = 0;
    }
    if (i >= box.n) return;
  }
}

}  // namespace tcu::cpu
