// Every op of ops.def with one or two inputs of one dtype, on the flat kernel.
#pragma once
#include "cuda/ship.cuh"
#include "kernels/broadcast_flat.cuh"

namespace tcu::cuda {

template <class Map, Op op, class In, class Result>
void ship_flat(ShippedTable &t) {
  add_map<broadcast_flat, Map, Result, stored_t<In, Result>, int64_t>(t, "broadcast_flat", op_of(op));
}

template <int arity, class F, Op op, Rule rule, bool integral, class In>
void ship_op(ShippedTable &t) {
  if constexpr ((integral && !is_integral<In>) || arity > 2) {
    return;
  } else if constexpr (arity == 1) {
    using T = operand_t<In, rule>;
    using Result = decltype(F::apply(T{}));
    using Map = Unary<F, In, T, Result>;
    if constexpr (is_integral<In>) return;  // rare: left to run time
    else if constexpr (is_called<op, rule, T>) ship_flat<Called<Map>, op, In, Result>(t);
    else ship_flat<Map, op, In, Result>(t);
  } else {
    using T = operand_t<In, rule>;
    using Result = decltype(F::apply(T{}, T{}));
    using Map = Binary<F, In, T, Result>;
    if constexpr (is_called<op, rule, T>) ship_flat<Called<Map>, op, In, Result>(t);
    else ship_flat<Map, op, In, Result>(t);
  }
}

template <class In>
void ship_ops(ShippedTable &t) {
  enum { Any = 0, Real = 0, Integral = 1 };
#if defined(TCU_EMULATOR)  // a few stand for all: the ops themselves are tested elsewhere
  ship_op<1, fn::tanh, Op::tanh, Rule::Float, false, In>(t);
  ship_op<1, fn::isnan, Op::isnan, Rule::Bool, false, In>(t);
  ship_op<2, fn::add, Op::add, Rule::Arith, false, In>(t);
  ship_op<2, fn::pow, Op::pow, Rule::Same, false, In>(t);
#else
#define TCU_OP(id, name, arity, domain, result, ...) ship_op<arity, fn::name, Op::name, Rule::result, domain, In>(t);
#include "core/ops.def"
#undef TCU_OP
#endif
}

}  // namespace tcu::cuda
