// What the shipped_*.cu files are written with. Not for NVRTC.
#pragma once
#include "core/functors.h"
#include "cuda/shipped.h"
#include "device/map.cuh"

namespace tcu::cuda {

template <class Body>
__global__ void __launch_bounds__(most_threads<Body>(), Body::kResident) entry(const __grid_constant__ ParamsSmall p) {
  begin_in_turn(p);
  Body::run(p);
}

// A C++ type's dtype and its text in generated code.
template <class T> struct dtype_of;
#define TCU_DTYPE(id, NAME, name, storage, compute, kind, julia) \
  template <> struct dtype_of<storage> {                         \
    static constexpr DType value = DType::name;                  \
    static constexpr const char *text = #storage;                \
  };
#include "core/dtypes.def"
#undef TCU_DTYPE
template <class T> std::string text_of() { return dtype_of<T>::text; }

inline std::shared_ptr<const Expr> op_of(Op op) {
  std::vector<Node> nodes;
  for (int i = 0; i < info(op).arity; ++i) nodes.push_back(Node::input(i));
  nodes.push_back(Node::op(op));
  return std::make_shared<const Expr>(nodes);
}

// What an op of ops.def does to operands of storage type In: the type it is computed in, and what is stored by default.
// 0 where it is not defined.
enum class Rule { Same, Arith, Float, RealPart, FloatReal, Bool, Select };
template <class In, Rule rule>
using operand_t = select_t<(rule == Rule::Float || rule == Rule::FloatReal) && is_integral<In>, double, compute_t<In>>;
template <class In, class Result>
using stored_t = select_t<is_short_float<In> && is_same<Result, float>, In, Result>;

// Ops whose code stands once for each element in flight; the others are called. Float functions are inlined in float32
// only where they are short.
template <class T> constexpr bool short_float(Op op) {
  switch (op) {
    case Op::sqrt: case Op::inv: case Op::div: case Op::deg2rad: case Op::rad2deg: case Op::leaky_relu: case Op::xlogy:
    case Op::sigmoid_grad: case Op::tanh_grad: case Op::hardsigmoid: case Op::hardswish: return !is_same<T, double> || op != Op::xlogy;
    case Op::exp: case Op::exp2: case Op::log: case Op::log2: case Op::tanh: case Op::sigmoid: case Op::silu: case Op::rsqrt:
    case Op::relu: return is_same<T, float>;
    default: return false;
  }
}
constexpr bool long_same(Op op) { return op == Op::pow || op == Op::rem || op == Op::mod || op == Op::idiv; }

template <Op op, Rule rule, class Operand>
inline constexpr bool is_called = rule == Rule::Float || rule == Rule::FloatReal ? !short_float<Operand>(op) : long_same(op);

}  // namespace tcu::cuda
