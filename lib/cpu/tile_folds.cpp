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

inline constexpr int64_t kLanes = 64;    // side by side in one long segment
inline constexpr int64_t kLong = 256;    // elements from which a segment gets them: 200 float32 are 20 % faster without, 300 are 5 % slower
inline constexpr int64_t kRun = 8;       // rows of lanes that are added up in registers

#include "cpu/fold_vector-inl.h"
#include "cpu/short_segments-inl.h"

// Folds n rows of kLanes one after the other, and that onto the lanes.
template <class Op, class T> HWY_INLINE void run(T *__restrict lane, const T *__restrict s, int64_t n, bool fresh) {
  if constexpr (kVectors<Op, T>) {
#if HWY_TARGET != HWY_SCALAR
    using P = Vector<Op, T, 16>;
    const int64_t w = P::lanes();
    for (int64_t j = 0; j < kLanes; j += 4 * w) {
      typename P::V a = P::load(s + j), b = P::load(s + j + w), c = P::load(s + j + 2 * w), d = P::load(s + j + 3 * w);
      for (int64_t k = 1; k < n; ++k) {
        const T *const row = s + k * kLanes + j;
        a = P::fold(a, P::load(row)), b = P::fold(b, P::load(row + w));
        c = P::fold(c, P::load(row + 2 * w)), d = P::fold(d, P::load(row + 3 * w));
      }
      T *const o = lane + j;
      if (!fresh) {
        a = P::fold(P::load(o), a), b = P::fold(P::load(o + w), b);
        c = P::fold(P::load(o + 2 * w), c), d = P::fold(P::load(o + 3 * w), d);
      }
      P::store(a, o), P::store(b, o + w), P::store(c, o + 2 * w), P::store(d, o + 3 * w);
    }
#endif
  } else {
    T x[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) x[j] = s[j];
    for (int64_t k = 1; k < n; ++k)
      for (int64_t j = 0; j < kLanes; ++j) x[j] = Op::f(x[j], s[k * kLanes + j]);
    for (int64_t j = 0; j < kLanes; ++j) lane[j] = fresh ? x[j] : Op::f(lane[j], x[j]);
  }
}
// n rows of kLanes in the order of memory, which the prefetchers follow at full speed.
template <class Op, class T> void run_rows(T *__restrict lane, const T *__restrict s, int64_t n) {
  run<Op>(lane, s, 1, true);
  int64_t r = 1;
  for (; r + kRun <= n; r += kRun) run<Op>(lane, s + r * kLanes, kRun, false);
  for (; r < n; ++r) run<Op>(lane, s + r * kLanes, 1, false);
}

template <class Op, class T> void segments(void *out, const void *from, int64_t extent, int64_t count, bool stream) {
  T *o = static_cast<T *>(out);
  const T *s = static_cast<const T *>(from);
  if (extent == 1) {
    for (int64_t k = 0; k < count; ++k) o[k] = s[k];
    return;
  }
  if (extent >= kLong) {
    for (int64_t k = 0; k < count; ++k, s += extent) {
      T lane[kLanes];
      const int64_t n = extent / kLanes, rest = extent - n * kLanes;
      run_rows<Op, T>(lane, s, n);
      for (int64_t j = 0; j < rest; ++j) lane[j] = Op::f(lane[j], s[n * kLanes + j]);
      int64_t half = kLanes / 2;
#if HWY_TARGET != HWY_SCALAR
      if constexpr (kVectors<Op, T>) {
        using P = Vector<Op, T, 16>;
        for (; half >= P::lanes(); half /= 2)
          for (int64_t j = 0; j < half; j += P::lanes()) P::store(P::fold(P::load(lane + j), P::load(lane + j + half)), lane + j);
      }
#endif
      for (; half > 0; half /= 2)
        for (int64_t j = 0; j < half; ++j) lane[j] = Op::f(lane[j], lane[j + half]);
      o[k] = lane[0];
    }
    return;
  }
  short_segments<Op>(o, s, extent, count, stream);
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
  segments<select_t<kMax, Max, Min>, T>(top, from, n, 1, false);
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
