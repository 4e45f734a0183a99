// Copies, casts and fills, contiguous.
#include "cuda/ship_broadcast.cuh"

namespace tcu::cuda {
namespace {

template <class T>
struct Fill {
  using Inputs = Types<>;
  using Element = T;
  template <class P> TCU_FN static T apply(const P &p) { return parameter<T>(p, 0); }
};

template <class In, class Out>
void ship_cast(ShippedTable &t) {
  add_map<broadcast_flat, Identity<In>, compute_t<In>, Out, int64_t>(t, "broadcast_flat", Expr::identity());
}
template <class... T>
struct Casts {
  template <class In> static void from(ShippedTable &t) { (ship_cast<In, T>(t), ...); }
  static void all(ShippedTable &t) { (from<T>(t), ...); }
  template <class S> static void with(ShippedTable &t) { from<S>(t), (ship_cast<T, S>(t), ...), ship_cast<S, S>(t); }  // and back
};
template <class T, class Out>
void ship_fill(ShippedTable &t) {
  constexpr DType d = dtype_of<T>::value;
  add_map<broadcast_flat, Fill<T>, T, Out, int64_t>(
      t, "broadcast_flat", std::make_shared<const Expr>(std::vector<Node>{Node::constant(d, make_scalar(d, 0))}));
}

}  // namespace

void ship_broadcast_casts(ShippedTable &t) {
#if defined(TCU_EMULATOR)
  Casts<float, f16_t>::all(t);
#else
  Casts<float, double, f16_t, bf16_t, int32_t, int64_t>::all(t);
#endif
  Casts<float, f16_t, bf16_t>::with<f8e4m3_t>(t), Casts<float, f16_t, bf16_t>::with<f8e5m2_t>(t);
  ship_cast<uint8_t, uint8_t>(t), ship_cast<int8_t, int8_t>(t), ship_cast<bool, bool>(t);
  ship_cast<bool, float>(t), ship_cast<uint8_t, float>(t);
  ship_fill<float, float>(t), ship_fill<double, double>(t), ship_fill<float, f16_t>(t), ship_fill<float, bf16_t>(t);
  ship_fill<int32_t, int32_t>(t), ship_fill<int64_t, int64_t>(t), ship_fill<uint8_t, uint8_t>(t), ship_fill<bool, bool>(t);
}

}  // namespace tcu::cuda
