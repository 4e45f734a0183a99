// broadcast.dense: out is dense from an aligned address on, but its rows, the runs along its fastest mode, are no whole vectors
// ('K K ...').
// A thread takes V neighbouring elements of out as one vector wherever the rows end: they lie in one row or in two. An input that is laid
// out as out is (its bit in p.detail is not set) is read as one vector too; of one that is the same all along a row (kOnce, a bit an input)
// the element of this row and that of the next are read; one that is contiguous along the row as two vectors, which are put together; any
// other, and where a row ends, element by element, in the row that the element is in. The last elements, fewer than V, go one by one.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/rows.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, unsigned kOnce>
struct broadcast_dense {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, V = kVector<Inputs, Out>;
  static constexpr int kResident = map_blocks<Map, Acc, V>(is_light<Map, Acc> ? 8 : 4);  // registers are what limits it
  using AwaitsTurn = broadcast_dense;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept), step = Index(gridDim.x) * kThreads * V;
#pragma unroll 1
    for (Index at = (Index(blockIdx.x) * kThreads + Index(threadIdx.x)) * V; at < n; at += step) {
      if (at + V > n) {
        await_turn();
        put_singles<Map, Acc, Out>(p, at, n);
        continue;
      }
      const Index row = divide(at, p.mode[0].divisor);
      Place<N, Index> to(p, at - row * Index(p.mode[0].extent));
      to.template move<V>(p, row);
      RowPack<V, Inputs, kOnce> x;
      await_turn();
      load_rows<V>(x, p, to, at, unsigned(p.detail));
      put_rows<Map, Acc, Out>(p, x, to.left, at);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_general.cuh"

namespace tcu::cuda::rows {

struct BroadcastDense {
  // Whether operand k starts aligned and is laid out as out would be if it were dense.
  static bool dense(const Problem &p, int k) {
    if ((1 << p.alignment[k]) < vector_of(p, true) * bytes_of(p.dtype(k))) return false;
    int64_t stride = 1;
    for (const Mode &m : p.modes) {
      if (m.stride[k] != stride) return false;
      stride *= m.extent;
    }
    return true;
  }
  static bool accepts(const Problem &p, const Device &) {
    const int v = vector_of(p, true);
    return v > 1 && p.modes.size() > 1 && p.modes[0].extent >= v && BroadcastGeneral::vector(p) < v && dense(p, 0);
  }
  // Bits of the inputs that are laid out otherwise.
  static int apart(const Problem &p) {
    int inputs = 0;
    for (int k = 1; k <= p.n_inputs; ++k) inputs |= !dense(p, k) << (k - 1);
    return inputs;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true), c.detail = apart(p);
    const int64_t blocks = ceil_div(p.kept(), int64_t(kThreads) * c.vector);
    c.grid = persistent_grid("broadcast.dense", p, d, ceil_div(blocks, steps_of(blocks, c.vector >= 8 ? 2 : 1, d)));  // of few bytes more
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_dense", {bits_text(BroadcastGeneral::once(p, c.vector))});
  }
};

}  // namespace tcu::cuda::rows
#endif
