// The functions that the interpreter is made of: loops over tiles, one per (op, dtype), found in one table.
// Default, then override: tile_default.cpp fills in every row of the tables from scalar code; the files that are compiled
// once per SIMD target (tile_ops.cpp, tile_math.cpp, ...) then put faster ones over it, for the best target of this CPU.
#pragma once
#include "core/expr.h"

namespace tcu::cpu {

// out[i] = f(a[i], b[i], c[i]) for 0 <= i < n. Values lie in their compute dtype, without gaps, a bool as a byte 0 or 1.
// out may be a, b or c themselves; else they do not overlap.
using TileFn = void (*)(void *out, const void *a, const void *b, const void *c, int64_t n);

// What a combining operation needs, for one accumulator dtype.
struct Folds {
  // acc[j] = fold of acc[j] (unless fresh) and src[j + r * stride], 0 <= r < rows, for each j < lanes. The tree over r
  // depends on rows alone: the same bits on every target.
  void (*rows)(void *acc, const void *src, int64_t lanes, int64_t rows, int64_t stride, bool fresh) = nullptr;
  // out[k] = fold of src[k * extent + r], r < extent, for each k < count. The tree depends on the extent alone. stream: past the
  // caches where segments are short; flush_streams() as below.
  void (*segments)(void *out, const void *src, int64_t extent, int64_t count, bool stream) = nullptr;
  // Scans `rows` rows of `lanes` neighbours each; carry[lanes] goes in and out. out may be src. run: null, but of float sums carry
  // may stay, and run[lanes] go in and out: what the elements since then come to, so that what is added one after another stays small.
  void (*scan)(void *out, const void *src, int64_t lanes, int64_t rows, void *carry, void *run, bool exclusive) = nullptr;
};

// The same for argmax and argmin: a value beside its position. Ties go to the lower position.
struct ArgFolds {
  // One row whose elements all have this position.
  void (*row)(void *best, int64_t *at, const void *src, int64_t lanes, int64_t position) = nullptr;
  // A run of n elements, at position + i * weight, into one best.
  void (*run)(void *best, int64_t *at, const void *src, int64_t n, int64_t position, int64_t weight) = nullptr;
  // Pairs with pairs.
  void (*merge)(void *best, int64_t *at, const void *src, const int64_t *src_at, int64_t n) = nullptr;
};

// What a thread reads next: brought into L1 while it streams a tile out, so that reads and writes overlap.
struct Ahead {
  int n = 0;
  const char *at[4];
  void add(const void *memory) {
    if (n < 4) at[n++] = static_cast<const char *>(memory);
  }
  Ahead from(int64_t bytes) const {
    Ahead a = *this;
    for (int k = 0; k < n; ++k) a.at[k] += bytes;
    return a;
  }
};

struct Table {
  TileFn op[kOpEnd][kDTypeEnd] = {};           // by the operands' dtype (a compute dtype)
  TileFn cast[kDTypeEnd][kDTypeEnd] = {};      // [from][to], storage dtypes: out is stored as `to`
  Folds fold[4][kDTypeEnd];                    // sum, prod, max, min, by accumulator
  ArgFolds arg[2][kDTypeEnd];                  // argmax, argmin
  // Copy past the caches. flush_streams() comes before another thread may be told that the data is there.
  void (*stream)(void *to, const void *from, int64_t bytes, const Ahead &ahead) = nullptr;
  // n elements of 1, 2, 4, 8 or 16 bytes, all equal to the one at `from`.
  void (*fill)(void *to, const void *from, int64_t n, int bytes) = nullptr;
};
const Table &table();
void flush_streams();

inline const Folds &folds(const Table &t, ReduceOp op, DType acc) {
  switch (op) {  // any and all are max and min of 0 and 1; count is a sum of them
    case ReduceOp::prod: return t.fold[1][int(acc)];
    case ReduceOp::max: case ReduceOp::any: return t.fold[2][int(acc)];
    case ReduceOp::min: case ReduceOp::all: return t.fold[3][int(acc)];
    default: return t.fold[0][int(acc)];
  }
}
inline const ArgFolds &arg_folds(const Table &t, ReduceOp op, DType acc) { return t.arg[op == ReduceOp::argmin][int(acc)]; }

// Each fills or overrides its part.
void fill_default_ops(Table &t);
void fill_ops(Table &t);
void fill_casts(Table &t);
void fill_math(Table &t);
void fill_folds(Table &t);
void fill_scans(Table &t);
void fill_stream(Table &t);

}  // namespace tcu::cpu
