// broadcast.dense: out is dense from an aligned address on, but its rows, the runs along its fastest mode, are no whole vectors
// ('K K ...').
// A thread takes V neighbouring elements of out as one vector wherever the rows end: they lie in one row or in two. An
// input that is laid out as out is (its bit in p.detail is not set) is read as one vector too, any other element by element, in
// the row that the element is in, or, with a stride of 0, once a row. The last elements, fewer than V, go one by one.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index>
struct broadcast_dense {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, V = kVector<Inputs, Out>;
  static constexpr int kResident = N <= 3 && sizeof(Acc) <= 4 ? 6 : 4;  // registers are what limits it

  // V elements from element `column` of a row on, of which `left` lie in this row and the others in the next.
  struct Place {
    Offsets<N, Index> here, next;  // of the two rows
    Index column, left;

    template <class P>
    TCU_DEVICE Place(const P &p, Index at) {
      const Index row = divide(at, p.mode[0].divisor);
      column = at - row * Index(p.mode[0].extent), left = Index(p.mode[0].extent) - column;
      decode(here, p, 1, p.n_kept, row);
      if (left < V) decode(next, p, 1, p.n_kept, row + 1);
    }
  };

  template <int I = 0, class P>
  TCU_DEVICE static void load(Pack<V, Types<>> &, const P &, const Place &, Index) {}
  template <int I = 0, class P, class T, class... R>
  TCU_DEVICE static void load(Pack<V, Types<T, R...>> &pack, const P &p, const Place &to, Index at) {
    const T *const from = static_cast<const T *>(p.in[I]);
    if (p.detail >> I & 1) {
      const Index stride = Index(p.mode[0].in[I]);
      const T *const here = from + (to.here.in[I] + to.column * stride);
      Vec<T, V> e = {};
      e.at[0] = here[0];
      if (to.left < V) {
        const T *const next = from + (to.next.in[I] - to.left * stride);
#pragma unroll
        for (int v = 1; v < V; ++v) e.at[v] = (v < to.left ? here : next)[v * stride];
      } else if (stride != 0) {
#pragma unroll
        for (int v = 1; v < V; ++v) e.at[v] = here[v * stride];
      } else {
#pragma unroll
        for (int v = 1; v < V; ++v) e.at[v] = e.at[0];
      }
      pack.first = Raw<T, V>::of(e);
    } else {
      pack.first = Raw<T, V>::load(from + at);
    }
    load<I + 1>(pack.rest, p, to, at);
  }
  template <int W, class P>
  TCU_DEVICE static void put(const P &p, const Pack<W, Inputs> &x, Index at) {
    Vec<Acc, W> y;
#pragma unroll
    for (int v = 0; v < W; ++v) y.at[v] = tcu::convert<Acc>(apply_at<Map>(p, x, v));
    store(p, static_cast<Out *>(p.out) + at, y);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept), step = Index(gridDim.x) * kThreads * V;
#pragma unroll 1
    for (Index at = (Index(blockIdx.x) * kThreads + Index(threadIdx.x)) * V; at < n; at += step) {
      if (at + V <= n) {
        Pack<V, Inputs> x;
        load(x, p, Place(p, at), at);
        put<V>(p, x, at);
        continue;
      }
#pragma unroll 1
      for (Index single = at; single < n; ++single) {
        Pack<1, Inputs> x;
        Offsets<N, Index> o;
        decode(o, p, 0, p.n_kept, single);
        load_pack<1, false>(x, p, o, 0, Index(0), 0);
        put<1>(p, x, single);
      }
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
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true);
    for (int k = 1; k <= p.n_inputs; ++k) c.detail |= !dense(p, k) << (k - 1);
    c.grid = persistent_grid("broadcast.dense", p, d, ceil_div(p.kept(), int64_t(kThreads) * c.vector));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "broadcast_dense", {type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
