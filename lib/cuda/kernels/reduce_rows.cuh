// reduce.contiguous (variant 1), reduce.split (variant 3): the fastest R mode, a row, is contiguous and whole vectors of 16 bytes in
// every input ('R K', 'R K R') that is not the same all along it (kOnce, a bit an input), or everything is one run ('R'), whose last
// elements may be no vector.
// p.lanes threads (a power of two up to the block) have an output; each reads kItems vectors before it folds them. The vectors of
// several rows are one list.
// With p.split > 1 (lanes == block) the list is cut into so many parts, whose rounds alternate (device/split.cuh).
#pragma once
#include "device/append.cuh"
#include "device/groups.cuh"
#include "device/total.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, unsigned kOnce, bool kOneRow>
struct reduce_rows {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kVector<typename Map::Inputs>;
  static constexpr int N = Map::Inputs::size;
  static constexpr int S = states_of_one<F, Map, V>(kOneRow ? 32 : 16), kResident = resident<F, S>(4);
  using AwaitsTurn = reduce_rows;
  using Own = Running<F, S>;
  static constexpr int kItems = N == 1 && register_bytes<F>(S) <= 32 ? 8 : 4;

  // Vectors i, i + lanes, ..., as many as Items, of the list at o; clamped: but for those from end on.
  template <int Items, bool kClamped, class P>
  TCU_DEVICE static void round(const P &p, Own &own, const Offsets<N, Index> &o, Index i, Index end, int lanes) {
    Pack<V, typename Map::Inputs, kOnce> x[Items];
    Index position[Items], element[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) {  // what is not wanted is read too: a load that may not happen would hold its registers twice
      const Index at = i + k * lanes;
      element[k] = (kClamped && at >= end ? end - 1 : at) * V;
      Offsets<N, Index> row = o;
      if constexpr (!kOneRow) {
        const Index number = divide(element[k], p.mode[p.n_kept].divisor);
        element[k] -= number * Index(p.mode[p.n_kept].extent);
        decode(row, p, p.n_kept + 1, p.n_kept + p.n_folded, number);
      }
      position[k] = row.weight;
      load_pack<V, true, true>(x[k], p, row, p.n_kept, element[k], 0);
    }
    own.round([&](State (&s)[S]) {
      if constexpr (!kClamped) {
        append_vectors<F, Map, kOneRow>(p, s, x, position, element);
      } else {
#pragma unroll
        for (int k = 0; k < Items; ++k)
          if (i + k * lanes < end) append_vector<F, Map, kOneRow>(p, s, x[k], position[k], element[k]);
      }
    });
  }
  // This thread's vectors of a list of `end`: rounds of Items * lanes, every split-th of them.
  template <class P>
  TCU_DEVICE static void rounds(const P &p, Own &own, const Offsets<N, Index> &o, Index part, Index end, int lane, int lanes) {
    constexpr int Items = kOneRow || (!F::kPositions && sizeof(Index) == 4) ? kItems : 4;  // places of several rows take registers too
    const Index all = Index(Items) * lanes;
    Index first = part * all;  // the same for all lanes: where some take another way each of the ways is a trip to the memory
#pragma unroll 1
    for (; first + all <= end; first += Index(p.split) * all) round<Items, false>(p, own, o, first + lane, end, lanes);
    if constexpr (!kOneRow) {
#pragma unroll 1
      for (; first < end; first += Index(4) * lanes) round<4, true>(p, own, o, first + lane, end, lanes);
      return;
    }
    // What is left in one go, of about its size.
    if constexpr (Items > 4)
      if (first + 4 * lanes < end) return round<8, true>(p, own, o, first + lane, end, lanes);
    if (first + 2 * lanes < end) round<4, true>(p, own, o, first + lane, end, lanes);
    else if (first < end) round<2, true>(p, own, o, first + lane, end, lanes);
  }

  // The first of these, of one row, to the second level cache; of many outputs two, for where each thread asked for all its first round 16 MB took
  // longer, 6.1 us for 5.2.
  template <class P>
  TCU_DEVICE static void look_ahead(const P &p, const Offsets<N, Index> &o, Index part, Index end, int lane, int lanes) {
    if constexpr (kOneRow) {
      if (!begins_early<reduce_rows>()) return;
      const Index first = part * kItems * lanes + lane;
      if (p.split > 1) cuda::look_ahead<V, kItems, kOnce>(typename Map::Inputs{}, p, o, p.n_kept, Index(0), first, end, lanes);
      else cuda::look_ahead<V, 2, kOnce>(typename Map::Inputs{}, p, o, p.n_kept, Index(0), first, end, lanes);
    }
  }
  // What follows the last whole vector, onto the last part.
  template <class P>
  TCU_DEVICE static void rest(const P &p, Own &own, const Offsets<N, Index> &o, Index part, int lane) {
    const Index at = Index(p.folded) / V * V + lane;
    if (!kOneRow || part + 1 != Index(p.split) || at >= Index(p.folded)) return;
    Pack<1, typename Map::Inputs> x;
    load_pack<1, false>(x, p, o, p.n_kept, at, 0);
    own.round([&](State (&s)[S]) { append_vector<F, Map, true>(p, s, x, o.weight, at); });
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const auto share = [&](const Offsets<N, Index> &o, Index part, int lane, int lanes) {
      Own own;
      rounds(p, own, o, part, Index(p.folded) / V, lane, lanes);
      rest(p, own, o, part, lane);
      return own.all();
    };
    for_groups<F, Out, N, Index>(p, share, [&](const Offsets<N, Index> &o, Index part, int lane, int lanes) {
      if constexpr (!F::kPositions) look_ahead(p, o, part, Index(p.folded) / V, lane, lanes);  // for those there are no registers here
    });
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ReduceRows {
  static bool accepts(const Problem &p) {
    const int v = vector_of(p, false);
    if (v == 1 || p.modes.size() == 0 || p.modes[0].role != Role::R) return false;
    bool some = false;  // an input that is really read as vectors
    for (int k = 1; k <= p.n_inputs; ++k) {
      if (p.modes[0].stride[k] == 0) continue;
      if (p.modes[0].stride[k] != 1 || !starts_aligned(p, 0, k, v)) return false;
      some = true;
    }
    return some && (p.modes.size() == 1 || p.modes[0].extent % v == 0);
  }
  // kOnce: of what is read along the fastest R mode.
  static std::string once(const Problem &p) { return bits_text(once_along(p, *fastest(p, Role::R), vector_of(p, false))); }
  static Instance instance(const Problem &p) {
    return make_instance(p, "reduce_rows", {once(p), p.modes.n_of(Role::R) == 1 ? "true" : "false"});
  }
  static constexpr int kItems = 8;  // at most
  // Two rounds or more for a thread, eight where there are several rows, but no thread idle where there are few outputs.
  static int lanes_for(const Problem &p, const Device &d) {
    const int64_t vectors = p.reduced() / vector_of(p, false);
    int lanes = p.modes.n_of(Role::R) == 1 ? 32 : 8;  // short segments of one row are reduce.small's
    const int rounds = p.modes.n_of(Role::R) == 1 ? 4 : 16;  // lanes side by side that have no row in common read here and there
    while (lanes < kThreads && (rounds * kItems * lanes <= vectors || (kItems * lanes < vectors && p.kept() * lanes < d.processors * 1024)))
      lanes *= 2;
    return lanes;
  }
};

}  // namespace tcu::cuda::rows
#endif
