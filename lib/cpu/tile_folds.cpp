// Folding tiles, per SIMD target. Every loop runs over neighbours that do not depend on each other, in an order that the
// source spells out, so that it vectorizes without any licence to reassociate and gives the same bits on every target.
#include "cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile_folds.cpp"
#include "cpu/cell.h"
#include "cpu/combine.h"
#include "cpu/table.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tcu::cpu::HWY_NAMESPACE {
namespace {


// Eight short rows at once are eight streams that jump: no prefetcher follows them. Measured on 4 to 64 KiB tiles of float32
// from memory: rows of 256 to 1024 bytes gain 15 %, longer ones lose.
inline constexpr int64_t kNarrow = 1024;

// Eight rows as a tree, then onto the accumulator: a chain of rounding errors is an eighth as long, and so is the traffic
// of the accumulators.
template <class Op, class T> void rows(void *acc, const void *from, int64_t lanes, int64_t n, int64_t stride, bool fresh) {
  T *__restrict o = static_cast<T *>(acc);
  const T *__restrict s = static_cast<const T *>(from);
#define TREE2(r) Op::f(s[j + (r) * stride], s[j + (r + 1) * stride])
#define TREE4(r) Op::f(TREE2(r), TREE2(r + 2))
#define TREE8 Op::f(TREE4(0), TREE4(4))
  if (fresh) {
    if (n >= 8) {
      for (int64_t j = 0; j < lanes; ++j) o[j] = TREE8;
      n -= 8, s += 8 * stride;
    } else {
      for (int64_t j = 0; j < lanes; ++j) o[j] = s[j];
      n -= 1, s += stride;
    }
  }
  const bool fetch = stride == lanes && lanes * int64_t(sizeof(T)) <= kNarrow;
  for (; n >= 8; n -= 8, s += 8 * stride) {
    for (int64_t j = 0; fetch && j < 8 * lanes; j += 64 / int64_t(sizeof(T))) hwy::Prefetch(s + 8 * stride + j);
    for (int64_t j = 0; j < lanes; ++j) o[j] = Op::f(o[j], TREE8);
  }
  if (n >= 4) {
    for (int64_t j = 0; j < lanes; ++j) o[j] = Op::f(o[j], TREE4(0));
    n -= 4, s += 4 * stride;
  }
  if (n >= 2) {
    for (int64_t j = 0; j < lanes; ++j) o[j] = Op::f(o[j], TREE2(0));
    n -= 2, s += 2 * stride;
  }
  if (n >= 1)
    for (int64_t j = 0; j < lanes; ++j) o[j] = Op::f(o[j], s[j]);
#undef TREE2
#undef TREE4
#undef TREE8
}

// Short segments. A multiple of 8 is first added up to 8. An even extent is halved as long as it is even: pairs never
// straddle segments, so that one flat loop does all of them. An odd one is walked with its stride.
template <class Op, class T> void halve(T *o, const T *s, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = Op::f(s[2 * i], s[2 * i + 1]);
}
template <class Op, class T, int E> void strided(T *o, const T *s, int64_t count) {
#pragma GCC ivdep
  for (int64_t k = 0; k < count; ++k) {
    T x = s[E * k];
    for (int r = 1; r < E; ++r) x = Op::f(x, s[E * k + r]);
    o[k] = x;
  }
}

// Eight neighbours at a time, so that one element in eight is left to halve, which takes shuffles.
template <class Op, class T> void eights(T *o, const T *s, int64_t extent, int64_t count) {
  for (int64_t k = 0; k < count; ++k, s += extent, o += 8) {
    T x[8];
    for (int j = 0; j < 8; ++j) x[j] = Op::f(s[j], s[8 + j]);
    for (int64_t r = 16; r < extent; r += 8)
      for (int j = 0; j < 8; ++j) x[j] = Op::f(x[j], s[r + j]);
    for (int j = 0; j < 8; ++j) o[j] = x[j];
  }
}

inline constexpr int64_t kLanes = 64;    // side by side in one long segment
inline constexpr int64_t kRun = 8;       // rows of lanes that are added up in registers
// Elements halved at a time, in a buffer on the stack. Few, so that the loads of the next ones begin while these are halved;
// fetched ahead as well, segments of 16 from memory take 20 % less time than with 2048 and no fetching.
inline constexpr int64_t kBlock = 512;

// Odd segments of any extent, all of them a step at a time. (Chains along each segment would be as fast, but g++ 12.2
// vectorizes them as one reduction and, for integers, drops terms; test_tiles.cpp has the case.)
template <class Op, class T> void together(T *o, const T *s, int64_t extent, int64_t count) {
  for (int64_t k = 0; k < count; ++k) o[k] = s[extent * k];
  for (int64_t r = 1; r < extent; ++r) {
#pragma GCC ivdep
    for (int64_t k = 0; k < count; ++k) o[k] = Op::f(o[k], s[extent * k + r]);
  }
}

// n rows of kLanes in the order of memory, which the prefetchers follow at full speed.
template <class Op, class T> void run_rows(T *__restrict lane, const T *__restrict s, int64_t n) {
  for (int64_t j = 0; j < kLanes; ++j) lane[j] = s[j];
  int64_t r = 1;
  for (; r + kRun <= n; r += kRun) {
    T run[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) run[j] = s[r * kLanes + j];
    for (int64_t k = 1; k < kRun; ++k)
      for (int64_t j = 0; j < kLanes; ++j) run[j] = Op::f(run[j], s[(r + k) * kLanes + j]);
    for (int64_t j = 0; j < kLanes; ++j) lane[j] = Op::f(lane[j], run[j]);
  }
  for (; r < n; ++r)
    for (int64_t j = 0; j < kLanes; ++j) lane[j] = Op::f(lane[j], s[r * kLanes + j]);
}

template <class Op, class T> void segments(void *out, const void *from, int64_t extent, int64_t count) {
  T *o = static_cast<T *>(out);
  const T *s = static_cast<const T *>(from);
  if (extent == 1) {
    for (int64_t k = 0; k < count; ++k) o[k] = s[k];
    return;
  }
  if (extent >= 2 * kLanes) {
    for (int64_t k = 0; k < count; ++k, s += extent) {
      T lane[kLanes];
      const int64_t n = extent / kLanes, rest = extent - n * kLanes;
      run_rows<Op, T>(lane, s, n);
      for (int64_t j = 0; j < rest; ++j) lane[j] = Op::f(lane[j], s[n * kLanes + j]);
      for (int64_t half = kLanes / 2; half > 0; half /= 2)
        for (int64_t j = 0; j < half; ++j) lane[j] = Op::f(lane[j], lane[j + half]);
      o[k] = lane[0];
    }
    return;
  }
  alignas(64) T buffer[kBlock / 2];
  const int64_t step = kBlock / extent;
  for (int64_t k = 0; k < count; k += step) {
    const int64_t here = step < count - k ? step : count - k;
    const T *cur = s + k * extent;
    for (int64_t j = 0; j < step * extent; j += 64 / int64_t(sizeof(T))) hwy::Prefetch(cur + step * extent + j);
    int64_t e = extent;
    if (e % 8 == 0 && e > 8) {
      eights<Op, T>(buffer, cur, e, here);
      cur = buffer, e = 8;
    }
    while (e % 2 == 0) {
      e /= 2;
      T *to = e == 1 ? o + k : buffer;
      halve<Op, T>(to, cur, here * e);
      cur = to;
    }
    if (e == 1) continue;
    T *to = o + k;
    switch (e) {
      case 3: strided<Op, T, 3>(to, cur, here); break;
      case 5: strided<Op, T, 5>(to, cur, here); break;
      case 7: strided<Op, T, 7>(to, cur, here); break;
      default: together<Op, T>(to, cur, e, here);
    }
  }
}

template <bool kMax, class T> TCU_FN bool beats(T y, T x) {
  if constexpr (kMax) return m::beats_max(y, x);
  else return m::beats_min(y, x);
}
template <bool kMax, class T> void arg_row(void *best, int64_t *__restrict at, const void *from, int64_t lanes, int64_t position) {
  T *__restrict b = static_cast<T *>(best);
  const T *__restrict s = static_cast<const T *>(from);
  for (int64_t j = 0; j < lanes; ++j) {
    const T x = b[j], y = s[j];
    const bool take = beats<kMax>(y, x) | (!beats<kMax>(x, y) & (position < at[j]));
    b[j] = bool_bits(take) ? y : x;
    at[j] = bool_bits(take) ? position : at[j];
  }
}
template <bool kMax, class T> void arg_merge(void *best, int64_t *at, const void *from, const int64_t *from_at, int64_t n) {
  T *b = static_cast<T *>(best);
  const T *s = static_cast<const T *>(from);
  for (int64_t j = 0; j < n; ++j) {
    const T x = b[j], y = s[j];
    if (beats<kMax>(y, x) || (!beats<kMax>(x, y) && from_at[j] < at[j])) b[j] = s[j], at[j] = from_at[j];
  }
}
// The best value first, at the speed of max; then, only if it may win, where it stands.
template <bool kMax, class T> void arg_run(void *best, int64_t *at, const void *from, int64_t n, int64_t position, int64_t weight) {
  T top[1];
  segments<select_t<kMax, Max, Min>, T>(top, from, n, 1);
  const T y = top[0], x = *static_cast<T *>(best);
  if (beats<kMax>(x, y)) return;
  const T *s = static_cast<const T *>(from);
  int64_t i = 0;
  while (beats<kMax>(y, s[i])) ++i;  // stops: y is one of them
  const int64_t found = position + i * weight;
  arg_merge<kMax, T>(best, at, top, &found, 1);
}

template <class Op, class T> void enter(Folds &f) {
  f.rows = rows<Op, T>;
  f.segments = segments<Op, T>;
}

// Signed and unsigned integers share sums and products: the same bits. What large reductions use is compiled for every
// target; what only an explicit accumulator asks for, narrow and complex types for the baseline.
template <DType D, DType Signed = D> void enter_all(Table &t) {
  using T = typename compute_of<D>::type;
  constexpr bool all = HWY_TARGET == HWY_STATIC_TARGET;
  constexpr bool common = is_float<T> || (is_signed_int<T> && sizeof(T) >= 4);
  constexpr int d = int(D), s = int(Signed);
  if constexpr (D != Signed) {
    t.fold[0][d] = t.fold[0][s], t.fold[1][d] = t.fold[1][s];
  } else {
    if constexpr (all || common) enter<Sum, T>(t.fold[0][d]);
    if constexpr (all || is_float<T>) enter<Prod, T>(t.fold[1][d]);
  }
  if constexpr (!is_complex<T>) {
    if constexpr (all || common || D == DType::u8) enter<Max, T>(t.fold[2][d]);
    if constexpr (all || common || D == DType::u8) enter<Min, T>(t.fold[3][d]);
    if constexpr (all || is_float<T>) {
      t.arg[0][d] = {arg_row<true, T>, arg_run<true, T>, arg_merge<true, T>};
      t.arg[1][d] = {arg_row<false, T>, arg_run<false, T>, arg_merge<false, T>};
    }
  }
}

void fill(Table &t) {
  enter_all<DType::i8>(t), enter_all<DType::i16>(t), enter_all<DType::i32>(t), enter_all<DType::i64>(t);
  enter_all<DType::u8, DType::i8>(t), enter_all<DType::u16, DType::i16>(t);
  enter_all<DType::u32, DType::i32>(t), enter_all<DType::u64, DType::i64>(t);
  enter_all<DType::f32>(t), enter_all<DType::f64>(t), enter_all<DType::c64>(t), enter_all<DType::c128>(t);
  // Bool: the greater and the lesser byte.
  constexpr int b = int(DType::bool_), u = int(DType::u8);
  t.fold[0][b] = t.fold[2][b] = t.fold[2][u];
  t.fold[1][b] = t.fold[3][b] = t.fold[3][u];
  t.arg[0][b] = t.arg[0][u], t.arg[1][b] = t.arg[1][u];
}

}  // namespace
}  // namespace tcu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcu::cpu {
HWY_EXPORT(fill);
void fill_folds(Table &t) {
  HWY_STATIC_DISPATCH(fill)(t);
  HWY_DYNAMIC_DISPATCH(fill)(t);
}
}  // namespace tcu::cpu
#endif
