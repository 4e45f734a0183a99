// broadcast.short: out is dense from an aligned address on, and its rows, the runs along its fastest mode, are shorter than a vector
// ('K K ...').
// A thread takes V neighbouring elements of out as one vector. They lie in one group, the elements of the two fastest modes, or in two.
// An input that is laid out as out is (its bit in p.detail is not set) is read as one vector too. In any other the thread steps from
// element to element: along the row, from its end to the next row, from the group's end to the next group, whose place it has found
// before. So the place is divided for once a vector. The last elements, fewer than V, go one by one.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/rows.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index>
struct broadcast_short {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, V = kVector<Inputs, Out>;
  static constexpr int kResident = map_blocks<Map, Acc, V>(is_light<Map, Acc> ? 8 : 4);
  using AwaitsTurn = broadcast_short;

  struct Group {
    int column;                    // of the first element in its row
    Index left;                    // elements of the group from it on
    Offsets<N, Index> here, next;  // of it, and of the next group
  };
  template <int I = 0, class P>
  TCU_DEVICE static void load(Pack<V, Types<>> &, const P &, const Group &, Index) {}
  template <int I = 0, class P, class T, class... R>
  TCU_DEVICE static void load(Pack<V, Types<T, R...>> &pack, const P &p, const Group &group, Index at) {
    const T *const from = static_cast<const T *>(p.in[I]);
    if (p.detail >> I & 1) {
      const Index along = Index(p.mode[0].in[I]), down = Index(p.mode[1].in[I]) - (Index(p.mode[0].extent) - 1) * along;
      const int last = int(p.mode[0].extent) - 1;
      int column = group.column;
      Index o = group.here.in[I];
      Vec<T, V> e;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        e.at[v] = from[o];
        const bool ends = column == last;
        o = v + 1 == group.left ? group.next.in[I] : o + (ends ? down : along);
        column = ends ? 0 : column + 1;  // a group ends with a row
      }
      pack.first = Raw<T, V>::of(e);
    } else {
      pack.first = Raw<T, V>::load(from + at);
    }
    load<I + 1>(pack.rest, p, group, at);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept), step = Index(gridDim.x) * kThreads * V, length = Index(p.mode[0].extent), rows = Index(p.mode[1].extent);
#pragma unroll 1
    for (Index at = (Index(blockIdx.x) * kThreads + Index(threadIdx.x)) * V; at < n; at += step) {
      if (at + V > n) {
        await_turn();
        put_singles<Map, Acc, Out>(p, at, n);
        continue;
      }
      const Index row = divide(at, p.mode[0].divisor), number = divide(row, p.mode[1].divisor);
      Group group;
      group.column = int(at - row * length), group.left = (number + 1) * rows * length - at;
      decode(group.here, p, 2, p.n_kept, number);
      if (group.left < V) decode(group.next, p, 2, p.n_kept, number + 1);
      advance(group.here, p.mode[0], Index(group.column));
      advance(group.here, p.mode[1], row - number * rows);
      Pack<V, Inputs> x;
      await_turn();
      load(x, p, group, at);
      put_pack<Map, Acc, Out>(p, x, at);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_dense.cuh"

namespace tcu::cuda::rows {

struct BroadcastShort {
  static bool accepts(const Problem &p, const Device &) {
    const int v = vector_of(p, true);
    return p.modes.size() > 1 && p.modes[0].extent < v && p.modes[0].extent * p.modes[1].extent >= v && BroadcastGeneral::vector(p) < v &&
           BroadcastDense::dense(p, 0);
  }
  // Not rows of half a vector of which broadcast.general reads the inputs in such (of 8 bits 0.51 to 1.09 of the time, 0.78 in the mean, H200). But nothing is
  // compiled for it where that row's function is there.
  static bool suits(const Problem &p, const Device &d) {
    const int v = vector_of(p, true);
    if (BroadcastGeneral::vector(p) > 1 && (v == 16 || (v == 8 && p.n_inputs > 2) || BroadcastDense::halves_do(p))) return false;
    return is_shipped(instance(p, configure(p, d))) || !is_shipped(BroadcastGeneral::instance(p, BroadcastGeneral::configure(p, d)));
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true), c.detail = BroadcastDense::apart(p);
    c.grid = persistent_grid("broadcast.short", p, d, ceil_div(p.kept(), int64_t(kThreads) * c.vector));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "broadcast_short");
  }
};

}  // namespace tcu::cuda::rows
#endif
