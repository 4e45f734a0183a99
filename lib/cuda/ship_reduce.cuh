// Reductions of one input as it is, or of a map of it.
#pragma once
#include "cuda/ship.cuh"
#include "kernels/reduce_channels.cuh"
#include "kernels/reduce_contiguous.cuh"
#include "kernels/reduce_general.cuh"
#include "kernels/reduce_periods.cuh"
#include "kernels/reduce_rows.cuh"
#include "kernels/reduce_run.cuh"
#include "kernels/reduce_scattered.cuh"
#include "kernels/reduce_shifted.cuh"
#include "kernels/reduce_small.cuh"
#include "kernels/reduce_staged.cuh"
#include "kernels/reduce_strided.cuh"
#include "kernels/reduce_tcu_segmented.cuh"
#include "kernels/reduce_tcu_staged.cuh"
#include "kernels/reduce_tcu_strided.cuh"
#include "kernels/reduce_tiles.cuh"
#include "kernels/segmented_balanced.cuh"
#include "kernels/segmented_general.cuh"

namespace tcu::cuda {

template <class Op_, class Acc, class Out, class Map>
void ship_channels(ShippedTable &t, const char *op, const std::shared_ptr<const Expr> &expr, DType in) {
  if constexpr (kVector<typename Map::Inputs> > 1)
    t.add("reduce_channels", {std::string("fold::") + op, text_of<Acc>(), text_of<Out>(), "int32_t"}, expr, {in},
          kernel_address<&entry<reduce_channels<Map, Op_, Acc, Out, int32_t>>>());
}
// Short modes, wherever they begin.
template <class Op_, class Acc, class Out, class Map>
void ship_tiles(ShippedTable &t, const char *op, const std::shared_ptr<const Expr> &expr, DType in) {
  const auto tiles = [&]<int V>() {
    t.add("reduce_tiles", {std::string("fold::") + op, text_of<Acc>(), text_of<Out>(), "int32_t", "1u", std::to_string(V)}, expr, {in},
          kernel_address<&entry<reduce_tiles<Map, Op_, Acc, Out, int32_t, 1, V>>>());
  };
  tiles.template operator()<1>();
  constexpr int kPlaces = reduce_tiles<Map, Op_, Acc, Out, int32_t, 1, 1>::kPlaces, kWord = 8 / int(sizeof(first_of<typename Map::Inputs>));
  if constexpr (kWord > 1) tiles.template operator()<(kWord < kPlaces ? kWord : kPlaces)>();
  t.add("reduce_periods", {std::string("fold::") + op, text_of<Acc>(), text_of<Out>(), "int32_t"}, expr, {in},
        kernel_address<&entry<reduce_periods<Map, Op_, Acc, Out, int32_t>>>());
}
// kMuchUsed: for tcu_segmented_reduce, 'R K R', tiles and periods of it and channels too.
template <class Op_, class Acc, class Out, bool kMuchUsed, class Map>
void ship_fold_of(ShippedTable &t, const char *op, const std::shared_ptr<const Expr> &expr, DType in) {
  const std::string fold = std::string("fold::") + op, acc = text_of<Acc>(), out = text_of<Out>(), index = "int32_t";
  t.add("reduce_contiguous", {fold, acc, out, index, "0u"}, expr, {in},
        kernel_address<&entry<reduce_contiguous<Map, Op_, Acc, Out, int32_t, 0>>>());
  t.add("reduce_rows", {fold, acc, out, index, "0u", "true"}, expr, {in},
        kernel_address<&entry<reduce_rows<Map, Op_, Acc, Out, int32_t, 0, true>>>());
  t.add("reduce_run", {fold, acc, out, index, "0u"}, expr, {in},
        kernel_address<&entry<reduce_run<Map, Op_, Acc, Out, int32_t, 0>>>());
  t.add("reduce_small", {fold, acc, out, index, "0u"}, expr, {in},
        kernel_address<&entry<reduce_small<Map, Op_, Acc, Out, int32_t, 0>>>());
  t.add("reduce_staged", {fold, acc, out, index}, expr, {in},
        kernel_address<&entry<reduce_staged<Map, Op_, Acc, Out, int32_t>>>());
  t.add("reduce_strided", {fold, acc, out, index, "false", "0u"}, expr, {in},
        kernel_address<&entry<reduce_strided<Map, Op_, Acc, Out, int32_t, false, 0>>>());
  t.add("reduce_strided", {fold, acc, out, index, "true", "0u"}, expr, {in},
        kernel_address<&entry<reduce_strided<Map, Op_, Acc, Out, int32_t, true, 0>>>());
  if constexpr (kVector<typename Map::Inputs> > 1)
    t.add("reduce_shifted", {fold, acc, out, index}, expr, {in},
          kernel_address<&entry<reduce_shifted<Map, Op_, Acc, Out, int32_t>>>());
  t.add("reduce_general", {fold, acc, out, index}, expr, {in},
        kernel_address<&entry<reduce_general<Map, Op_, Acc, Out, int32_t>>>());
  if constexpr (kMuchUsed) {
    ship_channels<Op_, Acc, Out, Map>(t, op, expr, in);
    ship_tiles<Op_, Acc, Out, Map>(t, op, expr, in);
    t.add("reduce_rows", {fold, acc, out, index, "0u", "false"}, expr, {in},
          kernel_address<&entry<reduce_rows<Map, Op_, Acc, Out, int32_t, 0, false>>>());
    t.add("reduce_scattered", {fold, acc, out, index}, expr, {in},
          kernel_address<&entry<reduce_scattered<Map, Op_, Acc, Out, int32_t>>>());
    t.add("segmented_general", {fold, acc, out, index}, expr, {in},
          kernel_address<&entry<segmented_general<Map, Op_, Acc, Out, int32_t>>>());
    t.add("segmented_balanced", {fold, acc, out, index}, expr, {in},
          kernel_address<&entry<segmented_balanced<Map, Op_, Acc, Out, int32_t>>>());
  }
}
template <class Op_, class In, class Acc, class Out, bool kMuchUsed>
void ship_fold(ShippedTable &t, const char *op) {
  ship_fold_of<Op_, Acc, Out, kMuchUsed, Identity<In>>(t, op, Expr::identity(), dtype_of<In>::value);
}
// Sums on tensor cores: of segments that are whole pieces,
template <class In, class Sum, class Out, bool kDense = false>
void ship_tcu_segmented(ShippedTable &t) {
  t.add("reduce_tcu_segmented", {"fold::sum", text_of<Sum>(), text_of<Out>(), "int32_t", kDense ? "true" : "false"}, Expr::identity(),
        {dtype_of<In>::value}, kernel_address<&entry<reduce_tcu_segmented<Identity<In>, fold::sum, Sum, Out, int32_t, kDense>>>());
}
// that begin anywhere, and side by side.
template <class In, class Sum, class Out>
void ship_tcu_anywhere(ShippedTable &t) {
  ship_tcu_segmented<In, Sum, Out, true>(t);
  t.add("reduce_tcu_staged", {"fold::sum", text_of<Sum>(), text_of<Out>(), "int32_t"}, Expr::identity(), {dtype_of<In>::value},
        kernel_address<&entry<reduce_tcu_staged<Identity<In>, fold::sum, Sum, Out, int32_t>>>());
  t.add("reduce_tcu_strided", {"fold::sum", text_of<Sum>(), text_of<Out>(), "int32_t"}, Expr::identity(), {dtype_of<In>::value},
        kernel_address<&entry<reduce_tcu_strided<Identity<In>, fold::sum, Sum, Out, int32_t>>>());
}
// Both.
template <class In, class Sum>
void ship_tcu(ShippedTable &t) {
  ship_tcu_segmented<In, Sum, Sum>(t);
  ship_tcu_anywhere<In, Sum, Sum>(t);
}
template <class In, class Sum>
void ship_folds(ShippedTable &t) {
  using T = compute_t<In>;
  using Out = stored_t<In, Sum>;
  ship_fold<fold::sum, In, Sum, Out, true>(t, "sum");
  ship_fold<fold::max, In, T, In, true>(t, "max");
  ship_fold<fold::argmax, In, T, int64_t, false>(t, "argmax");
  ship_fold<fold::prod, In, Sum, Out, false>(t, "prod");
  ship_fold<fold::min, In, T, In, false>(t, "min");
  ship_fold<fold::argmin, In, T, int64_t, false>(t, "argmin");
}
template <class F, Op op, class In>
void ship_sum_of(ShippedTable &t) {
  using T = compute_t<In>;
  ship_fold_of<fold::sum, T, In, false, Unary<F, In, T, T>>(t, "sum", op_of(op), dtype_of<In>::value);
}

}  // namespace tcu::cuda
