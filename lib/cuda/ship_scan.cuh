// Scans of one input as it is.
#pragma once
#include "cuda/ship.cuh"
#include "kernels/mark_segments.cuh"
#include "kernels/scan_across.cuh"
#include "kernels/scan_along.cuh"
#include "kernels/scan_cluster.cuh"
#include "kernels/scan_columns.cuh"
#include "kernels/scan_lookback.cuh"
#include "kernels/scan_short.cuh"
#include "kernels/scan_staged.cuh"
#include "kernels/scan_tiles.cuh"

namespace tcu::cuda {

template <class Op_, class In, class Acc, class Out>
void ship_scan_of(ShippedTable &t, const char *op) {
  const std::string fold = std::string("fold::") + op, acc = text_of<Acc>(), out = text_of<Out>(), index = "int32_t";
  const auto add = [&](const char *body, std::initializer_list<std::string> arguments, const void *kernel) {
    t.add(body, arguments, Expr::identity(), {dtype_of<In>::value}, kernel);
  };
  using Map = Identity<In>;
  constexpr int full = kVector<typename Map::Inputs, Out>, most = 16 / int(sizeof(Acc)), wide = full < most ? full : most;
  add("scan_along", {fold, acc, out, index}, kernel_address<&entry<scan_along<Map, Op_, Acc, Out, int32_t>>>());
  add("scan_columns", {fold, acc, out, index, "1"}, kernel_address<&entry<scan_columns<Map, Op_, Acc, Out, int32_t, 1>>>());
  add("scan_across", {fold, acc, out, index, "1"}, kernel_address<&entry<scan_across<Map, Op_, Acc, Out, int32_t, 1>>>());
  if constexpr (wide > 1) {
    add("scan_columns", {fold, acc, out, index, std::to_string(wide)},
        kernel_address<&entry<scan_columns<Map, Op_, Acc, Out, int32_t, wide>>>());
    add("scan_across", {fold, acc, out, index, std::to_string(wide)},
        kernel_address<&entry<scan_across<Map, Op_, Acc, Out, int32_t, wide>>>());
  }
  const auto add_short = [&]<int V, int kSteps>() {
    add("scan_short", {fold, acc, out, index, std::to_string(V), "0u", std::to_string(kSteps)},
        kernel_address<&entry<scan_short<Map, Op_, Acc, Out, int32_t, V, 0, kSteps>>>());
  };
  const auto add_shorts = [&]<int V>() {
    add_short.template operator()<V, 4>(), add_short.template operator()<V, 8>(), add_short.template operator()<V, 16>();
  };
  const auto add_staged = [&]<int V>() {
    add("scan_staged", {fold, acc, out, index, std::to_string(V)},
        kernel_address<&entry<scan_staged<Map, Op_, Acc, Out, int32_t, V>>>());
  };
  if constexpr (is_same<Op_, fold::sum>) {
    add_shorts.template operator()<1>(), add_staged.template operator()<1>();
    if constexpr (full > 1) add_shorts.template operator()<full>(), add_staged.template operator()<full>();
  }
  add("scan_cluster", {fold, acc, out, index, "1"}, kernel_address<&entry<scan_cluster<Map, Op_, Acc, Out, int32_t, 1>>>());
  add("scan_cluster", {fold, acc, out, index, "4"}, kernel_address<&entry<scan_cluster<Map, Op_, Acc, Out, int32_t, 4>>>());
  add("scan_tiles", {fold, acc, out, index}, kernel_address<&entry<scan_tiles<Map, Op_, Acc, Out, int32_t>>>());
  add("scan_lookback", {fold, acc, out, index}, kernel_address<&entry<scan_lookback<Map, Op_, Acc, Out, int32_t>>>());
}
template <class In, class Sum>
void ship_scans(ShippedTable &t) {
  using T = compute_t<In>;
  using Out = stored_t<In, Sum>;
  ship_scan_of<fold::sum, In, Sum, Out>(t, "sum");
  ship_scan_of<fold::max, In, T, In>(t, "max");
  ship_scan_of<fold::prod, In, Sum, Out>(t, "prod");
  ship_scan_of<fold::min, In, T, In>(t, "min");
}
template <class Offset>
void ship_marks(ShippedTable &t) {
  t.add("mark_segments", {text_of<Offset>()}, Expr::identity(), {dtype_of<Offset>::value},
        kernel_address<&entry<mark_segments<Identity<Offset>, Offset>>>());
}

}  // namespace tcu::cuda
