// Scanning tiles, per SIMD target.
#include "cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile_scans.cpp"
#include "cpu/cell.h"
#include "cpu/combine.h"
#include "cpu/table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tcu::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// What an element that `chain` leads to comes to. kRun: the chain is a run beside the carry, not the carry.
template <class Op, bool kRun, class T> T result(T carry, T chain) {
  if constexpr (kRun) return Op::f(carry, chain);
  else return chain;
}

// One line. Eight elements are scanned among themselves and then take what the chain leads to: it is one operation in eight elements, not
// eight.
template <class Op, bool kRun, class T> void line(T *o, const T *s, int64_t n, T carry, T *chain, bool exclusive) {
  T c = *chain;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    T x[8], y[8], z[8];
    for (int k = 0; k < 8; ++k) x[k] = s[i + k];
    for (int k = 0; k < 8; ++k) y[k] = k >= 1 ? Op::f(x[k - 1], x[k]) : x[k];
    for (int k = 0; k < 8; ++k) z[k] = k >= 2 ? Op::f(y[k - 2], y[k]) : y[k];
    for (int k = 0; k < 8; ++k) x[k] = k >= 4 ? Op::f(z[k - 4], z[k]) : z[k];
    if (exclusive) {
      o[i] = result<Op, kRun>(carry, c);
      for (int k = 1; k < 8; ++k) o[i + k] = result<Op, kRun>(carry, Op::f(c, x[k - 1]));
    } else {
      for (int k = 0; k < 8; ++k) o[i + k] = result<Op, kRun>(carry, Op::f(c, x[k]));
    }
    c = Op::f(c, x[7]);
  }
  for (; i < n; ++i) {
    const T next = Op::f(c, s[i]);
    o[i] = result<Op, kRun>(carry, exclusive ? c : next);
    c = next;
  }
  *chain = c;
}

// Where a vector is two blocks of 128 bits, inclusive sums of floats are scanned in registers: each block in itself, the
// upper one takes the lower one's total, and both take run and carry. gcc would shift the elements through memory.
template <class Op, class T> inline constexpr bool kInRegisters =
    HWY_ARCH_X86 && HWY_MAX_BYTES >= 32 && is_same<Op, Sum> && is_float<T> && sizeof(T) >= 4;

template <bool kRun, class T> void running_sum(T *o, const T *s, int64_t n, T carry, T *chain) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
  constexpr int kBlock = 16 / int(sizeof(T));
  const hn::FixedTag<T, 2 * kBlock> d;
  const auto last = [](auto v) { return hn::Broadcast<kBlock - 1>(v); };  // of each block
  const auto before = hn::Set(d, carry);
  auto c = hn::Set(d, *chain);
  int64_t i = 0;
  for (; i + 2 * kBlock <= n; i += 2 * kBlock) {
    auto v = hn::LoadU(d, s + i);
    v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
    if constexpr (kBlock > 2) v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
    v = hn::Add(v, hn::ConcatLowerLower(d, last(v), hn::Zero(d)));
    hn::StoreU(kRun ? hn::Add(before, hn::Add(c, v)) : hn::Add(c, v), d, o + i);
    c = hn::Add(c, hn::ConcatUpperUpper(d, last(v), last(v)));
  }
  T x = hn::GetLane(c);
  for (; i < n; ++i) x = x + s[i], o[i] = result<Sum, kRun>(carry, x);
  *chain = x;
#endif
}

template <class Op, bool kRun, class T> void scan_by(T *o, const T *s, int64_t lanes, int64_t n, const T *before, T *c, bool exclusive) {
  if constexpr (kInRegisters<Op, T>)
    if (lanes == 1 && !exclusive) return running_sum<kRun>(o, s, n, *before, c);
  if (lanes == 1) return line<Op, kRun>(o, s, n, *before, c, exclusive);
  for (int64_t r = 0; r < n; ++r, o += lanes, s += lanes) {
    if (exclusive) {
#pragma GCC ivdep
      for (int64_t j = 0; j < lanes; ++j) {
        const T next = Op::f(c[j], s[j]);
        o[j] = result<Op, kRun>(before[j], c[j]);
        c[j] = next;
      }
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < lanes; ++j) {
        c[j] = Op::f(c[j], s[j]);
        o[j] = result<Op, kRun>(before[j], c[j]);
      }
    }
  }
}

template <class Op, class T> void scan(void *out, const void *from, int64_t lanes, int64_t n, void *carry, void *run, bool exclusive) {
  T *const o = static_cast<T *>(out), *const c = static_cast<T *>(carry);
  const T *const s = static_cast<const T *>(from);
  if constexpr (is_same<Op, Sum> && (is_float<T> || is_complex<T>))
    if (run) return scan_by<Op, true>(o, s, lanes, n, c, static_cast<T *>(run), exclusive);
  scan_by<Op, false>(o, s, lanes, n, c, c, exclusive);
}

template <DType D, DType Signed = D> void enter(Table &t) {
  using T = typename compute_of<D>::type;
  constexpr int d = int(D), s = int(Signed);
  if constexpr (D != Signed) {  // the same bits
    t.fold[0][d].scan = t.fold[0][s].scan, t.fold[1][d].scan = t.fold[1][s].scan;
  } else {
    t.fold[0][d].scan = scan<Sum, T>, t.fold[1][d].scan = scan<Prod, T>;
  }
  if constexpr (!is_complex<T>) t.fold[2][d].scan = scan<Max, T>, t.fold[3][d].scan = scan<Min, T>;
}

void fill(Table &t) {
  enter<DType::i8>(t), enter<DType::i16>(t), enter<DType::i32>(t), enter<DType::i64>(t);
  enter<DType::u8, DType::i8>(t), enter<DType::u16, DType::i16>(t), enter<DType::u32, DType::i32>(t);
  enter<DType::u64, DType::i64>(t);
  enter<DType::f32>(t), enter<DType::f64>(t), enter<DType::c64>(t), enter<DType::c128>(t);
  // Bool: the greater and the lesser byte.
  constexpr int b = int(DType::bool_), u = int(DType::u8);
  t.fold[0][b].scan = t.fold[2][b].scan = t.fold[2][u].scan;
  t.fold[1][b].scan = t.fold[3][b].scan = t.fold[3][u].scan;
}

}  // namespace
}  // namespace tcu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcu::cpu {
HWY_EXPORT(fill);
void fill_scans(Table &t) { HWY_DYNAMIC_DISPATCH(fill)(t); }
}  // namespace tcu::cpu
#endif
