// broadcast.general: any K modes, any strides ('K K ...').
// The elements are numbered in canonical order, out's fastest mode first. A thread takes V neighbours along that mode, decodes
// their place once, and reads each input there as one vector, as one element (a stride of 0), or one by one. V is the longest
// of 16 bytes, 8 bytes and one element that out's fastest mode allows: contiguous, aligned, and a multiple of V. With V = 1
// neighbouring threads have neighbouring elements. Bit i of p.detail is set where input i cannot be
// read as vectors. Divisions are multiplications where indices fit 32 bits.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, int V>
struct broadcast_general {
  static constexpr int N = Map::Inputs::size;
  static constexpr int kResident = N <= 3 && sizeof(Acc) <= 4 ? 8 : 4;  // registers are what limits it

  // Where step `at` lies: offsets without the fastest mode, and the element along that.
  template <class P>
  TCU_DEVICE static Index place(const P &p, Index at, Offsets<N, Index> &o) {
    if (p.n_kept == 0) return 0;
    Index element = at * V;
    if (p.n_kept > 1) {
      const Index row = divide(element, p.mode[0].divisor);
      element -= row * Index(p.mode[0].extent);
      decode(o, p, 1, p.n_kept, row);
    }
    return element;
  }
  template <class P>
  TCU_DEVICE static void load(const P &p, Pack<V, typename Map::Inputs> &x, const Offsets<N, Index> &o, Index element) {
    load_pack<V, false>(x, p, o, 0, element, unsigned(p.detail));
  }
  template <class P>
  TCU_DEVICE static void put(const P &p, Pack<V, typename Map::Inputs> &x, const Offsets<N, Index> &o, Index element) {
    spread_pack<V>(x, p, 0, unsigned(p.detail));
    Vec<Acc, V> y;
#pragma unroll
    for (int v = 0; v < V; ++v) y.at[v] = tcu::convert<Acc>(apply_at<Map>(p, x, v));
    store(p, static_cast<Out *>(p.out) + (o.out + element * Index(p.mode[0].out)), y);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept) / V, step = Index(gridDim.x) * kThreads;
#pragma unroll 1
    for (Index at = Index(blockIdx.x) * kThreads + Index(threadIdx.x); at < n; at += step) {
      Pack<V, typename Map::Inputs> x;
      Offsets<N, Index> o;
      const Index element = place(p, at, o);
      load(p, x, o, element);
      put(p, x, o, element);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct BroadcastGeneral {
  static bool accepts(const Problem &, const Device &) { return true; }
  static int vector(const Problem &p) {
    const int full = vector_of(p, true);
    if (p.modes.size() == 0 || p.modes[0].stride[0] != 1) return 1;
    for (int v : {full, full / 2})
      if (v > 1 && rows_aligned(p, 0, 0, v)) return v;
    return 1;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.vector = vector(p);
    const int steps = c.vector > 1 && c.vector == vector_of(p, true) ? 2 : 4;  // of a thread: more where they are short
    c.block = kThreads;
    for (int i = 0; i < p.n_inputs && c.vector > 1; ++i)
      c.detail |= (p.modes[0].stride[1 + i] != 1 || !rows_aligned(p, 0, 1 + i, c.vector)) << i;
    c.grid = persistent_grid("broadcast.general", p, d, ceil_div(p.kept(), int64_t(kThreads) * steps * c.vector));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_general",
                         {type_text(p.acc), storage_text(p.out), index_text(p), std::to_string(c.vector)});
  }
};

}  // namespace tcu::cuda::rows
#endif
