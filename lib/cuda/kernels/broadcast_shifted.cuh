// broadcast.shifted: out's rows, the runs along its fastest mode, begin anywhere ('K', 'K K ...'): a view, or what is not aligned.
// Rows are cut where out's memory is: V elements from an aligned address on are written as one vector, by one thread, and p.detail such
// pieces there are in a row at most. What is left at a row's two ends goes one by one (several at a time were slower:
// a block's registers are what there may be in flight). An input that lies under the same
// piece as out does is read as a vector; one that lies elsewhere as two, which are put together; one with a stride of 0 (kOnce, a bit an
// input) as one element; any other element by element.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, unsigned kOnce>
struct broadcast_shifted {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, V = kVector<Inputs, Out>;
  static constexpr int kResident = map_blocks<Map, Acc, V>(N <= 3 && sizeof(Acc) <= 4 ? 8 : 4);  // registers are what limits it

  // Elements at, at + 1, ... of every row's inputs but those of kOnce.
  template <int I = 0, unsigned kSingle, class P>
  TCU_DEVICE static void load_near(Pack<V, Types<>, kSingle> &, const P &, const Offsets<N, Index> &, Index) {}
  template <int I = 0, unsigned kSingle, class P, class T, class... R>
  TCU_DEVICE static void load_near(Pack<V, Types<T, R...>, kSingle> &x, const P &p, const Offsets<N, Index> &o, Index at) {
    if constexpr (!(kSingle & 1)) {
      const T *const from = static_cast<const T *>(p.in[I]) + o.in[I];
      const Index stride = Index(p.mode[0].in[I]);
      if (stride == 1) {
        x.first = load_anywhere<V>(from + at, at, Index(p.mode[0].extent) - at);
      } else {
        Vec<T, V> e;
#pragma unroll
        for (int v = 0; v < V; ++v) e.at[v] = from[(at + v) * stride];
        x.first = Raw<T, V>::of(e);
      }
    }
    load_near<I + 1>(x.rest, p, o, at);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index extent = Index(p.mode[0].extent), pieces = Index(p.detail), n = Index(p.kept) / extent * pieces;
    const Index step = Index(gridDim.x) * kThreads;
#pragma unroll 1
    for (Index at = Index(blockIdx.x) * kThreads + Index(threadIdx.x); at < n; at += step) {
      const Index row = at / pieces;
      Offsets<N, Index> o;
      decode(o, p, 1, p.n_kept, row);
      const Index shift = Index(reinterpret_cast<uint64_t>(static_cast<Out *>(p.out) + o.out) / sizeof(Out) % V);
      const Index first = (at - row * pieces) * V - shift;
      if (first >= 0 && first + V <= extent) {
        Pack<V, Inputs, kOnce> x;
        load_pack<V, false, false, kOnce>(x, p, o, 0, first, 0);
        load_near(x, p, o, first);
        put_pack<Map, Acc, Out>(p, x, o.out + first);
      } else {
#pragma unroll 1
        for (Index e = first < 0 ? 0 : first; e < first + V && e < extent; ++e) {
          Pack<1, Inputs> x;
          load_pack<1, false>(x, p, o, 0, e, 0);
          put_pack<Map, Acc, Out>(p, x, o.out + e);
        }
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_general.cuh"

namespace tcu::cuda::rows {

struct BroadcastShifted {
  static int64_t pieces(const Problem &p) { return ceil_div(p.modes[0].extent + vector_of(p, true) - 1, vector_of(p, true)); }
  static bool accepts(const Problem &p, const Device &) {
    const int v = vector_of(p, true);
    return v > 1 && p.modes.size() > 0 && p.modes[0].stride[0] == 1 && p.modes[0].extent >= v && pieces(p) <= INT32_MAX;
  }
  // Where broadcast.general would take less than vectors, and rows are long enough for some; or would read 16 elements of a run one by one.
  static bool suits(const Problem &p, const Device &) {
    const int v = vector_of(p, true), taken = BroadcastGeneral::vector(p);
    if (taken < v) return p.modes[0].extent >= 4 * v;
    bool apart = false;  // contiguous and not whole vectors
    for (int k = 1; k <= p.n_inputs; ++k) apart |= p.modes[0].stride[k] == 1 && !rows_aligned(p, 0, k, v);
    return v == 16 && apart && p.modes[0].extent >= kLongRun * v;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true), c.detail = int(pieces(p));
    const int64_t blocks = ceil_div(p.kept() / p.modes[0].extent * pieces(p), kThreads);
    c.grid = persistent_grid("broadcast.shifted", p, d, ceil_div(blocks, steps_of(blocks, c.vector >= 8 ? 2 : 1, d)));  // of few bytes more
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_shifted", {bits_text(BroadcastGeneral::once(p, c.vector))});
  }
};

}  // namespace tcu::cuda::rows
#endif
