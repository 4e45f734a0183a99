// Strided operands: + - * / and copies have kernels of their own; the other ops are in shipped_broadcast_any.cu.
#include "cuda/ship_broadcast.cuh"
#include "kernels/broadcast_channels.cuh"
#include "kernels/broadcast_dense.cuh"
#include "kernels/broadcast_general.cuh"
#include "kernels/broadcast_periodic.cuh"
#include "kernels/broadcast_permute.cuh"
#include "kernels/broadcast_shifted.cuh"
#include "kernels/broadcast_short.cuh"
#include "kernels/broadcast_sliding.cuh"
#include "kernels/broadcast_transpose.cuh"

namespace tcu::cuda {
namespace {

// The kernels of one op; bits say which inputs are read once, which stay, and which are turned.
template <class Map, class Result, class Out>
struct Ship {
  ShippedTable &table;
  std::shared_ptr<const Expr> expr;
  DType in;
  static constexpr int kFull = kVector<typename Map::Inputs, Out>;

  template <class Body, class... More>
  void add(const char *body, const More &...more) const {
    const auto arguments = {text_of<Result>(), text_of<Out>(), std::string("int32_t"), std::string(more)...};
    const void *const kernel = kernel_address<&entry<Body>>();
    if constexpr (Map::Inputs::size == 1) table.add(body, arguments, expr, {in}, kernel);
    else table.add(body, arguments, expr, {in, in}, kernel);
  }
  static std::string bits(unsigned inputs) { return std::to_string(inputs) + "u"; }
  template <int V, unsigned kOnce>
  void general() const {
    add<broadcast_general<Map, Result, Out, int32_t, V, kOnce>>("broadcast_general", std::to_string(V), bits(kOnce));
  }
  template <unsigned kOnce>
  void dense() const {
    add<broadcast_dense<Map, Result, Out, int32_t, kOnce>>("broadcast_dense", bits(kOnce));
  }
  template <unsigned kOnce>
  void shifted() const {
    add<broadcast_shifted<Map, Result, Out, int32_t, kOnce, false>>("broadcast_shifted", bits(kOnce), "false");
    add<broadcast_shifted<Map, Result, Out, int32_t, kOnce, true>>("broadcast_shifted", bits(kOnce), "true");
  }
  template <unsigned kOnce, unsigned kStays>
  void periodic() const {
    add<broadcast_periodic<Map, Result, Out, int32_t, kOnce, kStays>>("broadcast_periodic", bits(kOnce), bits(kStays));
  }
  template <int V, unsigned kOnce, unsigned kStays>
  void sliding() const {
    add<broadcast_sliding<Map, Result, Out, int32_t, V, kOnce, kStays, false>>("broadcast_sliding", std::to_string(V), bits(kOnce),
                                                                               bits(kStays), "false");
  }
  template <int V, int kAcross = transpose_side(largest_of<typename Map::Inputs>::bytes, V)>
  void transpose() const {
    add<broadcast_transpose<Map, Result, Out, int32_t, V, 0, kAcross>>("broadcast_transpose", std::to_string(V), bits(0),
                                                                       std::to_string(kAcross));
  }
  template <int V, unsigned kTurned>
  void permute() const {
    add<broadcast_permute<Map, Result, Out, int32_t, V, 0, kTurned>>("broadcast_permute", std::to_string(V), bits(0), bits(kTurned));
  }
  template <int V>
  void permutes() const {
    permute<V, 1>();
    if constexpr (Map::Inputs::size == 2) permute<V, 2>(), permute<V, 3>();
  }
  // Pixels of C channels to planes, and back.
  template <int C, unsigned kBeside>
  void channels() const {
    add<broadcast_channels<Map, Result, Out, int32_t, C, kFull, 0, kBeside>>("broadcast_channels", std::to_string(C), std::to_string(kFull),
                                                                             bits(0), bits(kBeside));
  }
  void pixels() const {
    channels<3, 1>(), channels<3, 2>();
#if !defined(TCU_EMULATOR)
    channels<2, 1>(), channels<2, 2>(), channels<4, 1>(), channels<4, 2>();
#endif
  }
  template <unsigned kOnce>
  void vectors() const {
    if constexpr (kFull > 1) general<kFull, kOnce>(), dense<kOnce>(), shifted<kOnce>();
    if constexpr (kFull > 2) general<kFull / 2, kOnce>();
  }
  template <unsigned kInput>
  void where_one_stays() const {
    vectors<kInput>(), sliding<1, 0, kInput>();
    if constexpr (kFull > 1) periodic<0, kInput>();
  }
  template <unsigned kOnce, unsigned kStays>
  void outer_product() const {
    sliding<kFull, kOnce, kStays>(), periodic<kOnce, kStays>();
  }
  void as_it_is() const {
    general<1, 0>(), vectors<0>();
    if constexpr (kFull > 1) add<broadcast_short<Map, Result, Out, int32_t>>("broadcast_short");
  }
  void all() const {
    as_it_is(), where_one_stays<1>();
    if constexpr (Map::Inputs::size == 2) {
      where_one_stays<2>();
      if constexpr (kFull > 1) outer_product<1, 2>(), outer_product<2, 1>();
    } else if constexpr (kFull > 1) {
      sliding<kFull, 0, 1>();  // a vector over and over
    }
    turned();
  }
  void turned() const {
    transpose<1>();
    if constexpr (kFull > 1) transpose<2>();
    if constexpr (kFull > 2) transpose<kFull>();
    if constexpr (kFull == 16) transpose<kFull, kByteSide / 2>(), transpose<kFull, kByteSide * 2>();
    permutes<1>();
    if constexpr (kFull > 1) permutes<kFull>();
  }
};
template <class F, Op op, class In, class Operand>
void ship_binary(ShippedTable &t) {
  using Map = Binary<F, In, Operand, Operand>;
  Ship<Map, Operand, stored_t<In, Operand>>{t, op_of(op), dtype_of<In>::value}.all();
}
template <class In>
void ship_copy(ShippedTable &t) {
  const Ship<Identity<In>, compute_t<In>, In> ship{t, Expr::identity(), dtype_of<In>::value};
  ship.as_it_is(), ship.turned(), ship.pixels();
}
template <class In>
void ship_common(ShippedTable &t) {
  using T = compute_t<In>;
  const Ship<Identity<In>, T, In> copy{t, Expr::identity(), dtype_of<In>::value};
  copy.all(), copy.pixels();
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
  ship_copy<int8_t>(t), ship_copy<uint8_t>(t);
}

}  // namespace tcu::cuda
