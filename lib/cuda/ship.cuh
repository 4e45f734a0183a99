// What the shipped_*.cu files are written with. Not for NVRTC.
#pragma once
#include <array>

#include "core/functors.h"
#include "cuda/shipped.h"
#include "device/map.cuh"

namespace tcu::cuda {

template <class Body, class P = ParamsSmall>
__global__ void __launch_bounds__(most_threads<Body>(), Body::kResident) entry(const __grid_constant__ P p) {
  begin_in_turn<Body>(p);
  Body::run(p);
}

// A C++ type's dtype.
template <class T> struct dtype_of;
#define TCU_DTYPE(id, NAME, name, storage, compute, kind, julia) \
  template <> struct dtype_of<storage> {                         \
    static constexpr DType value = DType::name;                  \
    static constexpr const char *text = #storage;                \
  };
#include "core/dtypes.def"
#undef TCU_DTYPE
template <class Inputs> inline constexpr std::array<DType, 0> dtypes_of{};
template <class... T> inline constexpr std::array<DType, sizeof...(T)> dtypes_of<Types<T...>>{dtype_of<T>::value...};

// A template argument as generated code writes it: a type,
template <class T> inline constexpr std::string_view text_of = dtype_of<T>::text;
#define TCU_FOLD(name)         \
  namespace fold {             \
  struct name;                 \
  }                            \
  template <> inline constexpr std::string_view text_of<fold::name> = "fold::" #name;
TCU_FOLD(sum) TCU_FOLD(max) TCU_FOLD(min) TCU_FOLD(argmax) TCU_FOLD(any) TCU_FOLD(all) TCU_FOLD(count)
TCU_FOLD(var) TCU_FOLD(logsumexp)
#undef TCU_FOLD
// or a value: true, 4, 2u.
template <auto value>
inline constexpr auto digits_of = [] {
  std::array<char, 12> text{};
  int n = 0;
  for (auto rest = value; rest > 0 || n == 0; rest /= 10) {
    for (int i = n++; i > 0; --i) text[i] = text[i - 1];
    text[0] = char('0' + rest % 10);
  }
  if constexpr (std::is_unsigned_v<decltype(value)>) text[n] = 'u';
  return text;
}();
template <auto value> inline constexpr std::string_view literal_of = digits_of<value>.data();
template <> inline constexpr std::string_view literal_of<true> = "true";
template <> inline constexpr std::string_view literal_of<false> = "false";

// Adds body<Map, Acc, Out, Index, values...>; below, of a fold.
template <template <class, class, class, class, auto...> class Body, class Map, class Acc, class Out, class Index, auto... values>
void add_map(ShippedTable &t, std::string_view body, const std::shared_ptr<const Expr> &expr, int selector = 0) {
  static constexpr std::string_view arguments[] = {text_of<Acc>, text_of<Out>, text_of<Index>, literal_of<values>...};
  t.add(body, arguments, expr, dtypes_of<typename Map::Inputs>, kernel_address<&entry<Body<Map, Acc, Out, Index, values...>>>(), selector);
}
template <template <class, class, class, class, class, auto...> class Body, class Map, class Op_, class Acc, class Out, auto... values>
void add_fold(ShippedTable &t, std::string_view body, const std::shared_ptr<const Expr> &expr) {
  static constexpr std::string_view arguments[] = {text_of<Op_>, text_of<Acc>, text_of<Out>, text_of<int32_t>, literal_of<values>...};
  t.add(body, arguments, expr, dtypes_of<typename Map::Inputs>, kernel_address<&entry<Body<Map, Op_, Acc, Out, int32_t, values...>>>(), 0);
}

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
