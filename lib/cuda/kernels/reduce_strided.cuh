// reduce.strided, reduce.split (variants 1 and 2): the fastest mode is kept ('K R', 'K R K', 'K R K R').
// Threads lie across the K modes, p.lanes of them (a power of two), each with V neighbouring outputs; the block's other
// threads take other rows, an R index each, kItems rows in flight, and are combined through shared memory by a tree. kWide: V
// is a vector of 16 bytes, which the fastest K mode's extent and every stride allow; else V is 1.
// With p.split > 1 the rows are cut into parts of p.chunk, and the last block to finish combines them in order
// (device/split.cuh).
#pragma once
#include "device/map.cuh"
#include "device/split.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, bool kWide>
struct reduce_strided {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kWide ? kVector<typename Map::Inputs> : 1;
  static constexpr int N = Map::Inputs::size;
  static constexpr int kResident = 4, kItems = !kWide ? 8 : sizeof(State) > sizeof(Acc) ? 2 : 4;
  static constexpr int kTogether = V < 4 ? 8 : 4;  // parts in flight when they are put together

  // Rows begin + y, begin + y + rows, ... of the V outputs whose inputs start at element `element` of the fastest mode.
  // kPlain: every input is read in one access, and there is one R mode: a row is a step from the one before, and elements come
  // in the order of their positions.
  template <bool kPlain, class P>
  TCU_DEVICE static void rows_of(const P &p, State (&s)[V], const Offsets<N, Index> &o, Index element, unsigned accesses,
                                 Index begin, Index end, Index y, Index rows) {
    const auto &folded = p.mode[p.n_kept];
    Index step[N > 0 ? N : 1];
#pragma unroll
    for (int i = 0; i < N; ++i) step[i] = Index(folded.in[i]);
    const Index weight = Index(folded.weight);
    const auto fetch = [&](Pack<V, typename Map::Inputs> &x, Index r) {
      Offsets<N, Index> at = o;
      if constexpr (kPlain) {
#pragma unroll
        for (int i = 0; i < N; ++i) at.in[i] += r * step[i];
        at.weight += r * weight;
      } else {
        decode(at, p, p.n_kept, p.n_kept + p.n_folded, r);
      }
      load_pack<V, kPlain>(x, p, at, 0, element, accesses);
      return at.weight;
    };
    const auto add = [&](Pack<V, typename Map::Inputs> &x, Index position) {
      if (!kPlain) spread_pack<V>(x, p, 0, accesses);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const auto e = apply_at<Map>(p, x, v);
        s[v] = kPlain ? F::append(s[v], e, position) : F::combine(s[v], F::lift(e, position));
      }
    };
    Pack<V, typename Map::Inputs> x[kItems];
    Index position[kItems], r = begin + y;
#pragma unroll 1
    for (; r + (kItems - 1) * rows < end; r += kItems * rows) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) position[k] = fetch(x[k], r + k * rows);
#pragma unroll
      for (int k = 0; k < kItems; ++k) add(x[k], position[k]);
    }
#pragma unroll 1
    for (; r < end; r += rows) {
      position[0] = fetch(x[0], r);
      add(x[0], position[0]);
    }
  }
  template <class P>
  TCU_DEVICE static void column(const P &p, State (&s)[V], const Offsets<N, Index> &o, Index element, Index begin, Index end,
                                Index y, Index rows) {
    const unsigned accesses = V == 1 ? 0 : find_accesses<V>(typename Map::Inputs{}, p, o, 0, element);
    if (accesses == 0 && p.n_folded == 1) rows_of<true>(p, s, o, element, accesses, begin, end, y, rows);
    else rows_of<false>(p, s, o, element, accesses, begin, end, y, rows);
  }

  // The states of the block's rows as those of row 0.
  TCU_DEVICE static void combine_rows(State (&s)[V], int lanes, int x, int y, State *shared) {
    const int rows = kThreads / lanes;
    if (rows == 1) return;
#pragma unroll 1
    for (int h = rows / 2; h > 0; h /= 2) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (y >= h && y < 2 * h) shared[(y - h) * lanes + x] = s[v];
        __syncthreads();
        if (y < h) s[v] = F::combine(s[v], shared[y * lanes + x]);
        __syncthreads();
      }
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(State, shared, kThreads / 2);
    const int lanes = p.lanes, x = int(threadIdx.x) % lanes, y = int(threadIdx.x) / lanes, rows = kThreads / lanes;
    const Index vectors = Index(p.kept) / V, tiles = (vectors + lanes - 1) / lanes, n = tiles * Index(p.split);
#pragma unroll 1
    for (Index item = blockIdx.x; item < n; item += gridDim.x) {
      const Index part = item / tiles, tile = item - part * tiles, vector = tile * lanes + x;
      const bool inside = vector < vectors;
      State s[V];
#pragma unroll
      for (int v = 0; v < V; ++v) s[v] = F::identity();
      Offsets<N, Index> o;
      Index element = vector * V;
      if (inside) {
        if (p.n_kept > 1) {
          const Index q = divide(element, p.mode[0]);
          element -= q * Index(p.mode[0].extent);
          decode(o, p, 1, p.n_kept, q);
        }
        const Index begin = part * Index(p.chunk), folded = Index(p.folded);
        const Index end = folded - begin > Index(p.chunk) ? begin + Index(p.chunk) : folded;
        column(p, s, o, element, begin, end, Index(y), Index(rows));
      }
      combine_rows(s, lanes, x, y, shared);
      if (p.split > 1) {
        // of this tile: part by part, V states of each thread across
        State *parts = static_cast<State *>(p.workspace) + tile * Index(p.split) * lanes * V;
        if (y == 0) {
#pragma unroll
          for (int v = 0; v < V; ++v) parts[(part * V + v) * lanes + x] = s[v];
        }
        if (!is_last_part(p, tile)) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) s[v] = F::identity();
#pragma unroll 1
        for (Index k = y; k < Index(p.split); k += kTogether * rows) {
          State t[kTogether][V];
#pragma unroll
          for (int j = 0; j < kTogether; ++j)
#pragma unroll
            for (int v = 0; v < V; ++v)
              t[j][v] = k + j * rows < Index(p.split) ? parts[((k + j * rows) * V + v) * lanes + x] : F::identity();
#pragma unroll
          for (int j = 0; j < kTogether; ++j)
#pragma unroll
            for (int v = 0; v < V; ++v) s[v] = F::combine(s[v], t[j][v]);
        }
        combine_rows(s, lanes, x, y, shared);
      }
      if (inside && y == 0) {
        const Index stride = Index(p.mode[0].out), at = o.out + element * stride;
#pragma unroll
        for (int v = 0; v < V; ++v) store_one<Out>(p, at + v * stride, F::post(s[v]));
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ReduceStrided {
  static bool accepts(const Problem &p, const Device &) {
    if (p.modes.size() < 2 || p.modes[0].role != Role::K || !fastest(p, Role::R)) return false;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (p.modes[0].stride[k] == 1) return true;
    return false;
  }
  static bool wide(const Problem &p) {
    const int v = vector_of(p, false);
    if (v == 1) return false;
    bool some = false;  // an input that is really read as vectors
    for (int k = 1; k <= p.n_inputs; ++k)
      some |= p.modes[0].stride[k] == 1 && rows_aligned(p, 0, k, v);
    return some && p.modes[0].extent % v == 0;
  }
  static int64_t vectors(const Problem &p) { return p.kept() / (wide(p) ? vector_of(p, false) : 1); }
  // Threads across: a warp or more where the outputs allow it, fewer rows than there are left idle.
  static int lanes_for(const Problem &p, const Device &d) {
    const int64_t n = vectors(p);
    int lanes = 1;
    while (lanes < kThreads && lanes < n) lanes *= 2;
    while (lanes > 32 && ceil_div(n, lanes) < 2 * d.processors && kThreads / lanes < p.reduced()) lanes /= 2;
    return lanes;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.variant = wide(p) ? 2 : 1;
    c.block = kThreads, c.lanes = lanes_for(p, d), c.vector = wide(p) ? vector_of(p, false) : 1, c.chunk = p.reduced();
    c.grid = persistent_grid("reduce.strided", p, d, ceil_div(vectors(p), c.lanes));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "reduce_strided", {fold_text(p.op), type_text(p.acc), storage_text(p.out), index_text(p),
                                               c.variant == 2 ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
