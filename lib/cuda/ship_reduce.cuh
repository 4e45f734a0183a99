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
void ship_channels(ShippedTable &t, const std::shared_ptr<const Expr> &expr) {
  if constexpr (kVector<typename Map::Inputs> > 1) add_fold<reduce_channels, Map, Op_, Acc, Out>(t, "reduce_channels", expr);
}
// Short modes, wherever they begin.
template <class Op_, class Acc, class Out, class Map>
void ship_tiles(ShippedTable &t, const std::shared_ptr<const Expr> &expr) {
  constexpr int kPlaces = reduce_tiles<Map, Op_, Acc, Out, int32_t, 1, true, 1, false, false>::kPlaces, kWord = 8 / int(sizeof(first_of<typename Map::Inputs>));
  add_fold<reduce_tiles, Map, Op_, Acc, Out, 1u, true, 1, false, false>(t, "reduce_tiles", expr);
  if constexpr (kWord > 1) add_fold<reduce_tiles, Map, Op_, Acc, Out, 1u, true, (kWord < kPlaces ? kWord : kPlaces), false, false>(t, "reduce_tiles", expr);
  add_fold<reduce_periods, Map, Op_, Acc, Out, false>(t, "reduce_periods", expr);
  add_fold<reduce_periods, Map, Op_, Acc, Out, true>(t, "reduce_periods", expr);
}
// kMuchUsed: for tcu_segmented_reduce, 'R K R', tiles and periods of it and channels too.
template <class Op_, class Acc, class Out, bool kMuchUsed, class Map>
void ship_fold_of(ShippedTable &t, const std::shared_ptr<const Expr> &expr) {
  add_fold<reduce_contiguous, Map, Op_, Acc, Out, 0u>(t, "reduce_contiguous", expr);
  add_fold<reduce_rows, Map, Op_, Acc, Out, 0u, true>(t, "reduce_rows", expr);
  add_fold<reduce_run, Map, Op_, Acc, Out, 0u>(t, "reduce_run", expr);
  add_fold<reduce_small, Map, Op_, Acc, Out, 0u>(t, "reduce_small", expr);
  add_fold<reduce_staged, Map, Op_, Acc, Out>(t, "reduce_staged", expr);
  add_fold<reduce_strided, Map, Op_, Acc, Out, false, 0u>(t, "reduce_strided", expr);
  add_fold<reduce_strided, Map, Op_, Acc, Out, true, 0u>(t, "reduce_strided", expr);
  if constexpr (kVector<typename Map::Inputs> > 1) add_fold<reduce_shifted, Map, Op_, Acc, Out>(t, "reduce_shifted", expr);
  add_fold<reduce_general, Map, Op_, Acc, Out>(t, "reduce_general", expr);
  if constexpr (kMuchUsed) {
    ship_channels<Op_, Acc, Out, Map>(t, expr);
    ship_tiles<Op_, Acc, Out, Map>(t, expr);
    add_fold<reduce_rows, Map, Op_, Acc, Out, 0u, false>(t, "reduce_rows", expr);
    add_fold<reduce_scattered, Map, Op_, Acc, Out>(t, "reduce_scattered", expr);
    add_fold<segmented_general, Map, Op_, Acc, Out>(t, "segmented_general", expr);
    add_fold<segmented_balanced, Map, Op_, Acc, Out>(t, "segmented_balanced", expr);
  }
}
template <class Op_, class In, class Acc, class Out, bool kMuchUsed>
void ship_fold(ShippedTable &t) {
  ship_fold_of<Op_, Acc, Out, kMuchUsed, Identity<In>>(t, Expr::identity());
}
// Sums on tensor cores: of segments that are whole pieces,
template <class In, class Sum, class Out, bool kDense = false>
void ship_tcu_segmented(ShippedTable &t) {
  add_fold<reduce_tcu_segmented, Identity<In>, fold::sum, Sum, Out, kDense>(t, "reduce_tcu_segmented", Expr::identity());
}
// that begin anywhere, and side by side.
template <class In, class Sum, class Out>
void ship_tcu_anywhere(ShippedTable &t) {
  ship_tcu_segmented<In, Sum, Out, true>(t);
  add_fold<reduce_tcu_staged, Identity<In>, fold::sum, Sum, Out>(t, "reduce_tcu_staged", Expr::identity());
  add_fold<reduce_tcu_strided, Identity<In>, fold::sum, Sum, Out>(t, "reduce_tcu_strided", Expr::identity());
}
// Both.
template <class In, class Sum>
void ship_tcu(ShippedTable &t) {
  ship_tcu_segmented<In, Sum, Sum>(t);
  ship_tcu_anywhere<In, Sum, Sum>(t);
}
// Products and argmin are left to run time.
template <class In, class Sum>
void ship_folds(ShippedTable &t) {
  using T = compute_t<In>;
  ship_fold<fold::sum, In, Sum, stored_t<In, Sum>, true>(t);
  ship_fold<fold::max, In, T, In, true>(t);
  ship_fold<fold::min, In, T, In, false>(t);
  ship_fold<fold::argmax, In, select_t<sizeof(In) == 2 && is_short_float<In>, In, T>, int64_t, false>(t);
}
template <class F, Op op, class In>
void ship_sum_of(ShippedTable &t) {
  using T = compute_t<In>;
  ship_fold_of<fold::sum, T, In, false, Unary<F, In, T, T>>(t, op_of(op));
}

}  // namespace tcu::cuda
