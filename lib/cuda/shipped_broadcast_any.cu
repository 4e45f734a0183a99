// Strided operands under an op that has no kernel of its own (shipped_broadcast_general.cu): one kernel for all ops of a
// dtype and a kind of result, which asks p.selector, the op's id, which one it is: for every element, and the same for all.
// Each op's code stands once, as a function, for all dtypes that compute in the same type.
#include "cuda/ship.cuh"
#include "kernels/broadcast_general.cuh"

namespace tcu::cuda {
namespace {

template <class F, class... X>
__device__ __noinline__ auto call(X... x) { return F::apply(x...); }

// Whether the op takes n inputs of type In, computes in T and gives Result.
template <class F, int arity, Rule rule, bool integral, int n, class In, class T, class Result>
constexpr bool match() {
  if constexpr (arity != n || (integral && !is_integral<In>) || !is_same<T, operand_t<In, rule>>) return false;
  else if constexpr (n == 1) return is_same<decltype(F::apply(T{})), Result>;
  else return is_same<decltype(F::apply(T{}, T{})), Result>;
}

template <class F, int arity, Rule rule, bool integral, int n, class In, class T, class Result>
inline constexpr bool matches = match<F, arity, rule, integral, n, In, T, Result>();

#if defined(TCU_EMULATOR)  // a few stand for all
#define TCU_ANY_OPS(X) \
  X(48, tanh, 1, Real, Float) X(130, isnan, 1, Any, Bool) X(204, pow, 2, Any, Same) X(242, lt, 2, Real, Bool)
#endif

template <class In, class T, class Result, int n>
struct AnyOp;
template <class In, class T, class Result>
struct AnyOp<In, T, Result, 1> {
  using Inputs = Types<In>;
  using Element = Result;
  enum { Any = 0, Real = 0, Integral = 1 };
  template <class P>
  TCU_DEVICE static Result apply(const P &p, compute_t<In> a) {
    const T x = tcu::convert<T>(a);
    switch (p.selector) {
#define TCU_ANY_CASE(id, name, arity, domain, result, ...) \
  case id:                                                 \
    if constexpr (matches<fn::name, arity, Rule::result, domain, 1, In, T, Result>) return call<fn::name>(x); else break;
#if defined(TCU_EMULATOR)
      TCU_ANY_OPS(TCU_ANY_CASE)
#else
#define TCU_OP TCU_ANY_CASE
#include "core/ops.def"
#undef TCU_OP
#endif
#undef TCU_ANY_CASE
    }
    return Result{};
  }
};
template <class In, class T, class Result>
struct AnyOp<In, T, Result, 2> {
  using Inputs = Types<In, In>;
  using Element = Result;
  enum { Any = 0, Real = 0, Integral = 1 };
  template <class P>
  TCU_DEVICE static Result apply(const P &p, compute_t<In> a, compute_t<In> b) {
    const T x = tcu::convert<T>(a), y = tcu::convert<T>(b);
    switch (p.selector) {
#define TCU_ANY_CASE(id, name, arity, domain, result, ...) \
  case id:                                                 \
    if constexpr (matches<fn::name, arity, Rule::result, domain, 2, In, T, Result>) return call<fn::name>(x, y); else break;
#if defined(TCU_EMULATOR)
      TCU_ANY_OPS(TCU_ANY_CASE)
#else
#define TCU_OP TCU_ANY_CASE
#include "core/ops.def"
#undef TCU_OP
#endif
#undef TCU_ANY_CASE
    }
    return Result{};
  }
};

template <class In, class T, class Result, int n>
void ship_any(ShippedTable &t) {
  const auto add = [&](Op op) {
    add_map<broadcast_general, AnyOp<In, T, Result, n>, Result, stored_t<In, Result>, int32_t, 1, 0u, true>(t, "broadcast_general", op_of(op), int(op));
  };
  enum { Any = 0, Real = 0, Integral = 1 };
#define TCU_ANY_CASE(id, name, arity, domain, result, ...) \
  if constexpr (matches<fn::name, arity, Rule::result, domain, n, In, T, Result>) add(Op::name);
#if defined(TCU_EMULATOR)
  TCU_ANY_OPS(TCU_ANY_CASE)
#else
#define TCU_OP TCU_ANY_CASE
#include "core/ops.def"
#undef TCU_OP
#endif
#undef TCU_ANY_CASE
}

template <class In>
void ship_float(ShippedTable &t) {
  using T = compute_t<In>;
  ship_any<In, T, T, 1>(t), ship_any<In, T, bool, 1>(t), ship_any<In, T, T, 2>(t), ship_any<In, T, bool, 2>(t);
}
template <class In>
void ship_integer(ShippedTable &t) {
  ship_any<In, In, In, 2>(t), ship_any<In, double, double, 2>(t), ship_any<In, In, bool, 2>(t);
}

}  // namespace

void ship_broadcast_any(ShippedTable &t) {
  ship_float<float>(t), ship_float<double>(t), ship_float<f16_t>(t), ship_float<bf16_t>(t);
  ship_integer<int32_t>(t), ship_integer<int64_t>(t);
}

}  // namespace tcu::cuda
