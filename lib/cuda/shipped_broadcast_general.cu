// Strided operands: + - * / and copies have kernels of their own; the other ops are in shipped_broadcast_any.cu.
#include "cuda/ship_broadcast.cuh"
#include "kernels/broadcast_general.cuh"

namespace tcu::cuda {
namespace {

template <class Map, class Result, class Out, class Index, bool kWide>
void ship_one(ShippedTable &t, const std::shared_ptr<const Expr> &expr, DType in) {
  const void *kernel = kernel_address<&entry<broadcast_general<Map, Result, Out, Index, kWide>>>();
  const auto arguments = {text_of<Result>(), text_of<Out>(), text_of<Index>(), std::string(kWide ? "true" : "false")};
  if constexpr (Map::Inputs::size == 1) t.add("broadcast_general", arguments, expr, {in}, kernel);
  else t.add("broadcast_general", arguments, expr, {in, in}, kernel);
}
template <class F, Op op, class In, class Operand>
void ship_binary(ShippedTable &t) {
  using Map = Binary<F, In, Operand, Operand>;
  ship_one<Map, Operand, stored_t<In, Operand>, int32_t, false>(t, op_of(op), dtype_of<In>::value);
  ship_one<Map, Operand, stored_t<In, Operand>, int32_t, true>(t, op_of(op), dtype_of<In>::value);
}
template <class In>
void ship_common(ShippedTable &t) {
  using T = compute_t<In>;
  using D = select_t<is_integral<In>, double, T>;
  constexpr DType d = dtype_of<In>::value;
  ship_one<Identity<In>, T, In, int32_t, false>(t, Expr::identity(), d);
  ship_one<Identity<In>, T, In, int32_t, true>(t, Expr::identity(), d);
  ship_binary<fn::add, Op::add, In, T>(t);
#if !defined(TCU_EMULATOR)
  ship_binary<fn::sub, Op::sub, In, T>(t);
  ship_binary<fn::mul, Op::mul, In, T>(t);
  ship_binary<fn::div, Op::div, In, D>(t);
#endif
}

}  // namespace

void ship_broadcast_general(ShippedTable &t) {
  ship_common<float>(t), ship_common<double>(t), ship_common<f16_t>(t), ship_common<bf16_t>(t);
  ship_common<int32_t>(t), ship_common<int64_t>(t);
}

}  // namespace tcu::cuda
