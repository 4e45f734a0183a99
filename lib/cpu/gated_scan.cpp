#include "cpu/gated_scan.h"

#include "cpu/cell.h"
#include "cpu/combine.h"
#include "core/error.h"

namespace tcu::cpu {
namespace {

// Each lane's chain is one operation an element, and the compiler's own vectors go across the lanes.
template <class T, class G, class Step>
void walk(void *out, const void *gate, const void *src, int64_t lanes, int64_t rows, void *carry, bool exclusive, Step step) {
  T *o = static_cast<T *>(out), *const c = static_cast<T *>(carry);
  const T *s = static_cast<const T *>(src);
  const G *g = static_cast<const G *>(gate);
  for (int64_t r = 0; r < rows; ++r, o += lanes, s += lanes, g += lanes)
    for (int64_t j = 0; j < lanes; ++j) {
      const auto [before, next] = step(c[j], g[j], s[j]);
      o[j] = exclusive ? before : next;
      c[j] = next;
    }
}
template <class T> struct Pair {
  T before, next;
};

template <class Op, class T>
void segmented(void *out, const void *gate, const void *src, int64_t lanes, int64_t rows, void *carry, const void *init, bool exclusive) {
  const T start = *static_cast<const T *>(init);
  walk<T, uint8_t>(out, gate, src, lanes, rows, carry, exclusive, [start](T c, uint8_t begins, T x) {
    const T before = begins ? start : c;
    return Pair<T>{before, Op::f(before, x)};
  });
}
template <class T>
void recurrence(void *out, const void *gate, const void *src, int64_t lanes, int64_t rows, void *carry, const void *, bool exclusive) {
  walk<T, T>(out, gate, src, lanes, rows, carry, exclusive, [](T c, T factor, T x) { return Pair<T>{c, m::add(m::mul(factor, c), x)}; });
}

// A Bool lies as a byte: its sum is max, its product min (combine.h).
template <DType D> GatedScan of(ReduceOp op) {
  using T = cell_t<typename compute_of<D>::type>;
  constexpr bool kBool = D == DType::bool_;
  using Plus = select_t<kBool, Max, Sum>;
  using Times = select_t<kBool, Min, Prod>;
  if (op == ReduceOp::recurrence) return recurrence<T>;
  if (op == ReduceOp::sum || op == ReduceOp::count) return segmented<Plus, T>;
  if (op == ReduceOp::prod) return segmented<Times, T>;
  if constexpr (!is_complex<T>) return op == ReduceOp::max || op == ReduceOp::any ? segmented<Max, T> : segmented<Min, T>;
  fail(Code::internal, "%s has no order", info(D).name);
}

}  // namespace

GatedScan gated_scan_of(ReduceOp op, DType acc) {
  switch (acc) {
#define TCU_CASE(name) \
  case DType::name: return of<DType::name>(op);
    TCU_REAL_CELLS(TCU_CASE) TCU_COMPLEX_CELLS(TCU_CASE)
#undef TCU_CASE
    default: fail(Code::internal, "nothing accumulates in %s", info(acc).name);
  }
}

}  // namespace tcu::cpu
