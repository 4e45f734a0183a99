// Strided operands: + - * / and copies have kernels of their own; the other ops are in shipped_broadcast_any.cu.
#include "cuda/ship_broadcast.cuh"
#include "kernels/broadcast_dense.cuh"
#include "kernels/broadcast_general.cuh"
#include "kernels/broadcast_sliding.cuh"
#include "kernels/broadcast_transpose.cuh"

namespace tcu::cuda {
namespace {

template <class Map>
void ship_body(ShippedTable &t, const char *body, std::initializer_list<std::string> arguments,
               const std::shared_ptr<const Expr> &expr, DType in, const void *kernel) {
  if constexpr (Map::Inputs::size == 1) t.add(body, arguments, expr, {in}, kernel);
  else t.add(body, arguments, expr, {in, in}, kernel);
}
template <class Map, class Result, class Out>
void ship_one(ShippedTable &t, const std::shared_ptr<const Expr> &expr, DType in) {
  constexpr int full = kVector<typename Map::Inputs, Out>;
  const std::string result = text_of<Result>(), out = text_of<Out>(), index = "int32_t";
  const auto general = [&](int vector, const void *kernel) {
    ship_body<Map>(t, "broadcast_general", {result, out, index, std::to_string(vector)}, expr, in, kernel);
  };
  general(1, kernel_address<&entry<broadcast_general<Map, Result, Out, int32_t, 1>>>());
  general(full, kernel_address<&entry<broadcast_general<Map, Result, Out, int32_t, full>>>());
  if constexpr (full > 2) general(full / 2, kernel_address<&entry<broadcast_general<Map, Result, Out, int32_t, full / 2>>>());
  ship_body<Map>(t, "broadcast_dense", {result, out, index}, expr, in,
                 kernel_address<&entry<broadcast_dense<Map, Result, Out, int32_t>>>());
  ship_body<Map>(t, "broadcast_transpose", {result, out, index}, expr, in,
                 kernel_address<&entry<broadcast_transpose<Map, Result, Out, int32_t>>>());
  // Where there are no vectors, which is where the planner chooses it; one input stays.
  const auto sliding = [&](const char *stays, const void *kernel) {
    ship_body<Map>(t, "broadcast_sliding", {result, out, index, "1", stays, "false"}, expr, in, kernel);
  };
  sliding("1u", kernel_address<&entry<broadcast_sliding<Map, Result, Out, int32_t, 1, 1, false>>>());
  if constexpr (Map::Inputs::size == 2)
    sliding("2u", kernel_address<&entry<broadcast_sliding<Map, Result, Out, int32_t, 1, 2, false>>>());
}
template <class F, Op op, class In, class Operand>
void ship_binary(ShippedTable &t) {
  using Map = Binary<F, In, Operand, Operand>;
  ship_one<Map, Operand, stored_t<In, Operand>>(t, op_of(op), dtype_of<In>::value);
}
template <class In>
void ship_common(ShippedTable &t) {
  using T = compute_t<In>;
  constexpr DType d = dtype_of<In>::value;
  ship_one<Identity<In>, T, In>(t, Expr::identity(), d);
  ship_binary<fn::add, Op::add, In, T>(t);
#if !defined(TCU_EMULATOR)
  ship_binary<fn::sub, Op::sub, In, T>(t);
  ship_binary<fn::mul, Op::mul, In, T>(t);
  ship_binary<fn::div, Op::div, In, select_t<is_integral<In>, double, T>>(t);
#endif
}

}  // namespace

void ship_broadcast_general(ShippedTable &t) {
  ship_common<float>(t), ship_common<double>(t), ship_common<f16_t>(t), ship_common<bf16_t>(t);
  ship_common<int32_t>(t), ship_common<int64_t>(t);
}

}  // namespace tcu::cuda
