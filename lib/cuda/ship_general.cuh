// Strided operands: + - * / and copies have kernels of their own; the other ops are in shipped_broadcast_any.cu.
#pragma once
#include "cuda/ship.cuh"
#include "kernels/broadcast_channels.cuh"
#include "kernels/broadcast_dense.cuh"
#include "kernels/broadcast_general.cuh"
#include "kernels/broadcast_periodic.cuh"
#include "kernels/broadcast_permute.cuh"
#include "kernels/broadcast_realigned.cuh"
#include "kernels/broadcast_shifted.cuh"
#include "kernels/broadcast_short.cuh"
#include "kernels/broadcast_sliding.cuh"
#include "kernels/broadcast_transpose.cuh"

namespace tcu::cuda {

// The kernels of one op; bits say which inputs are read once, which stay, and which are turned.
template <class Map, class Result, class Out>
struct ShipMap {
  ShippedTable &table;
  std::shared_ptr<const Expr> expr;
  static constexpr int kFull = kVector<typename Map::Inputs, Out>;

  template <template <class, class, class, class, auto...> class Body, auto... values>
  void add(const char *body) const {
    add_map<Body, Map, Result, Out, int32_t, values...>(table, body, expr);
  }
  template <int V, unsigned kOnce>
  void general() const {
    add<broadcast_general, V, kOnce, true>("broadcast_general");
    if constexpr (V > 1) add<broadcast_general, V, kOnce, false>("broadcast_general");
  }
  template <unsigned kOnce, unsigned kStays>
  void periodic() const {
    add<broadcast_periodic, kOnce, kStays, 0u>("broadcast_periodic");
  }
  template <int V, unsigned kOnce, unsigned kStays>
  void sliding() const {
    add<broadcast_sliding, V, kOnce, kStays, false>("broadcast_sliding");
  }
  template <int V, int kAcross = transpose_side(largest_of<typename Map::Inputs>::bytes, V)>
  void transpose() const {
    add<broadcast_transpose, V, 0u, kAcross>("broadcast_transpose");
  }
  template <int V, int W, bool kBeside, unsigned kTurned>
  void permute() const {
    add<broadcast_permute, V, W, kBeside, 0u, kTurned>("broadcast_permute");
  }
  // Narrow elements in words where rows are vectors; copies also where only out's or only the input's are.
  template <int V>
  void permutes() const {
    constexpr bool kNarrow = V > 1 && least_of<typename Map::Inputs> < 4;
    permute<V, V, kNarrow, 1>();
    if constexpr (Map::Inputs::size == 2) permute<V, V, kNarrow, 2>(), permute<V, V, kNarrow, 3>();
    else if constexpr (V > 1) permute<V, 1, kNarrow, 1>(), permute<1, V, false, 1>();
  }
  template <bool kWhole>
  void realigned() const {
    add<broadcast_realigned, kWhole, false>("broadcast_realigned");
    if constexpr (kFull > 4) add<broadcast_realigned, kWhole, true>("broadcast_realigned");
  }
  // Pixels of C channels to planes, and back.
  template <int C, unsigned kBeside>
  void channels() const {
    add<broadcast_channels, C, kFull, 0u, kBeside>("broadcast_channels");
  }
  void pixels() const {
    channels<3, 1>(), channels<3, 2>();
#if !defined(TCU_EMULATOR)
    channels<2, 1>(), channels<2, 2>(), channels<4, 1>(), channels<4, 2>();
#endif
  }
  template <unsigned kOnce>
  void vectors() const {
    if constexpr (kFull > 1) {
      general<kFull, kOnce>(), add<broadcast_dense, kOnce>("broadcast_dense");
      add<broadcast_shifted, kOnce, false>("broadcast_shifted"), add<broadcast_shifted, kOnce, true>("broadcast_shifted");
    }
    if constexpr (kFull > 2) general<kFull / 2, kOnce>();
  }
  template <unsigned kInput>
  void where_one_stays() const {
    vectors<kInput>(), sliding<1, 0, kInput>();
    if constexpr (kFull > 1 && Map::Inputs::size == 1) periodic<0, kInput>();
  }
  template <unsigned kOnce, unsigned kStays>
  void outer_product() const {
    sliding<kFull, kOnce, kStays>(), periodic<kOnce, kStays>();
    if constexpr (kFull > 2) sliding<kFull / 2, kOnce, kStays>();
  }
  void as_it_is() const {
    general<1, 0>(), vectors<0>();
    if constexpr (kFull > 1) add<broadcast_short>("broadcast_short");
  }
  void beside() const {
    as_it_is(), where_one_stays<1>();
    if constexpr (Map::Inputs::size == 2) {
      where_one_stays<2>();
      if constexpr (kFull > 1) outer_product<1, 2>(), outer_product<2, 1>();
    } else if constexpr (kFull > 1) {
      sliding<kFull, 0, 1>();  // a vector over and over
    }
  }
  void turned() const {
    transpose<1>();
    if constexpr (kFull > 1) transpose<2>();
    if constexpr (kFull > 2) transpose<kFull>();
    if constexpr (kFull == 16) transpose<kFull, kByteSide / 2>(), transpose<kFull, kByteSide * 2>();
    permutes<1>();
    if constexpr (kFull > 1) permutes<kFull>();
    if constexpr (Map::Inputs::size == 1 && kFull > 2) realigned<false>(), realigned<true>();
  }
  void all() const { beside(), turned(); }
};

template <class F, Op op, class In, class Operand>
auto binary(ShippedTable &t) {
  return ShipMap<Binary<F, In, Operand, Operand>, Operand, stored_t<In, Operand>>{t, op_of(op)};
}
template <class In>
auto copy(ShippedTable &t) {
  return ShipMap<Identity<In>, compute_t<In>, In>{t, Expr::identity()};
}
// What is most used: a sum, a product and a copy however the operands lie; of floats differences and quotients too, where none is
// turned.
template <class In>
void ship_general(ShippedTable &t) {
  using T = compute_t<In>;
  copy<In>(t).all(), copy<In>(t).pixels();
  binary<fn::add, Op::add, In, T>(t).all();
#if !defined(TCU_EMULATOR)  // one op stands for all
  binary<fn::mul, Op::mul, In, T>(t).all();
  if constexpr (!is_integral<In>) binary<fn::sub, Op::sub, In, T>(t).beside(), binary<fn::div, Op::div, In, T>(t).beside();
#endif
}

}  // namespace tcu::cuda
