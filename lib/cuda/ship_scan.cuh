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
#include "kernels/scan_turned.cuh"

namespace tcu::cuda {

template <class Op_, class In, class Acc, class Out>
struct ShipScan {
  using Map = Identity<In>;
  static constexpr int kFull = kVector<typename Map::Inputs, Out>, kMost = 16 / int(sizeof(Acc)), kWide = kFull < kMost ? kFull : kMost;
  ShippedTable &table;

  template <template <class, class, class, class, class, auto...> class Body, auto... values>
  void add(const char *body) const {
    add_fold<Body, Map, Op_, Acc, Out, values...>(table, body, Expr::identity());
  }
  template <int V>
  void side_by_side() const {
    add<scan_columns, V, kColumnBlock>("scan_columns"), add<scan_across, V>("scan_across");
  }
  template <int V>
  void short_lines() const {
    add<scan_short, V, 0u, 4>("scan_short"), add<scan_short, V, 0u, 8>("scan_short"), add<scan_short, V, 0u, 16>("scan_short");
    add<scan_staged, V>("scan_staged");
  }
  template <int K>
  void tiles_of() const {  // K interleaved lines, or of one
    add<scan_tiles, K, false>("scan_tiles"), add<scan_lookback, K>("scan_lookback");
  }
  void all() const {
    add<scan_along>("scan_along");
    side_by_side<1>();
    if constexpr (kWide > 1) side_by_side<kWide>();
    if constexpr (is_short_float<In>) add<scan_columns, 1, 2 * kColumnBlock>("scan_columns");
    if constexpr (is_same<Op_, fold::sum>) {
      constexpr int kTurned = 16 / int(sizeof(In));
      add<scan_turned, kTurned, 1, true>("scan_turned"), add<scan_turned, kTurned, 2, true>("scan_turned");
      if constexpr (sizeof(Out) >= 2) add<scan_turned, kTurned, 4, true>("scan_turned");
      short_lines<1>();
      if constexpr (kFull > 1) short_lines<kFull>();
      add<scan_tiles, 1, true>("scan_tiles");  // lines of a view
      tiles_of<2>();
      if constexpr (sizeof(Acc) <= 4) tiles_of<3>(), tiles_of<4>();
    }
    add<scan_cluster, 1>("scan_cluster"), add<scan_cluster, 4>("scan_cluster");
    tiles_of<1>();
  }
};
// Products and minima are left to run time.
template <class In, class Sum>
void ship_scans(ShippedTable &t) {
  ShipScan<fold::sum, In, Sum, stored_t<In, Sum>>{t}.all();
  ShipScan<fold::max, In, compute_t<In>, In>{t}.all();
}
template <class Offset>
void ship_marks(ShippedTable &t) {
  static constexpr std::string_view arguments[] = {text_of<Offset>};
  using Map = Identity<Offset>;
  t.add("mark_segments", arguments, Expr::identity(), dtypes_of<typename Map::Inputs>, kernel_address<&entry<mark_segments<Map, Offset>>>(), 0);
}

}  // namespace tcu::cuda
