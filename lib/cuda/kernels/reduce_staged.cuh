// reduce.small (variant 2): segments of any length that lie one after another in memory ('R K', or 'K' where a segment is one
// element). A block copies p.detail segments to shared memory in vectors of 16 bytes, and p.lanes threads (a power of two up to a
// warp) fold each of them from there: how long a segment is, and where it starts, the memory does not notice.
#pragma once
#include "device/append.cuh"

namespace tcu::cuda {
inline constexpr int kStagedBytes = 16 << 10;  // of a block
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_staged {
  using T = first_of<typename Map::Inputs>;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  using Word = word_t<T, kVector<Types<T>>>;
  static constexpr int V = kVector<Types<T>>, kResident = resident<F, 1>(6), kItems = 4;
  static constexpr int kWord = sizeof(T) < 8 ? 8 / int(sizeof(T)) : 1;  // elements of a word of shared memory, at most

  // A lane's part of the segment at `from`, in words of W elements or, where it is not so many times W long, of fewer.
  template <int W, class P>
  TCU_DEVICE static State fold(const P &p, const T *from, int extent, int lane, int lanes) {
    if constexpr (W > 1)
      if (extent % W) return fold<W / 2>(p, from, extent, lane, lanes);
    State s[states_of_one<F, Map, W>()];
#pragma unroll
    for (State &one : s) one = F::identity();
#pragma unroll 2
    for (int i = lane * W; i < extent; i += lanes * W) {
      Pack<W, Types<T>> x;
      x.first = Raw<T, W>::staged(from + i);
      append_vector<F, Map, true>(p, s, x, Index(0), Index(i));
    }
    return combine_all<F>(s);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(Word, staged, kStagedBytes / 16);
    T *const elements = reinterpret_cast<T *>(staged);
    const int t = int(threadIdx.x), lanes = p.lanes, groups = quotient(kThreads, lanes), lane = remainder(t, lanes);
    const Index kept = Index(p.kept), extent = Index(p.folded), chunk = Index(p.detail);
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * chunk; first < kept; first += Index(gridDim.x) * chunk) {
      const int here = int(kept - first < chunk ? kept - first : chunk), count = here * int(extent), vectors = count / V;
      const T *const from = static_cast<const T *>(p.in[0]) + first * extent;  // a multiple of 16 bytes
#pragma unroll 1
      for (int i = t; i < vectors; i += kItems * kThreads) {
        Word x[kItems];
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const int at = i + k * kThreads;
          x[k] = load_word<true>(reinterpret_cast<const Word *>(from) + (at < vectors ? at : vectors - 1));
        }
#pragma unroll
        for (int k = 0; k < kItems; ++k)
          if (i + k * kThreads < vectors) staged[i + k * kThreads] = x[k];
      }
      if (t < count - vectors * V) elements[vectors * V + t] = from[vectors * V + t];
      __syncthreads();
#pragma unroll 1
      for (int base = 0; base < here; base += groups) {
        const int segment = base + quotient(t, lanes);
        State s = F::identity();
        if (segment < here) s = fold<kWord>(p, elements + segment * int(extent), int(extent), lane, lanes);
        s = combine_group<F>(s, lanes, static_cast<State *>(nullptr));
        if (segment < here && lane == 0) store_result<F, Out>(p, (first + segment) * Index(p.mode[0].out), s, p.folded);
      }
      __syncthreads();
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ReduceStaged {
  static bool accepts(const Problem &p) {
    if (p.n_inputs != 1 || p.modes.n_of(Role::K) != 1 || p.modes.n_of(Role::R) > 1 || (1 << p.alignment[1]) < 16) return false;
    const Mode *const r = fastest(p, Role::R), *const k = fastest(p, Role::K);
    const int64_t extent = r ? r->extent : 1;
    return (!r || r->stride[1] == 1) && k->stride[1] == extent && extent * 16 <= kStagedBytes;
  }
  static LaunchConfig configure(const char *row, const Problem &p, const Device &d) {
    LaunchConfig c;
    const int64_t extent = p.reduced(), v = vector_of(p, false);
    c.block = kThreads, c.vector = int(v), c.lanes = 1;
    const int64_t word = std::min<int64_t>(extent & -extent, std::max(8 / bytes_of(p.in[0]), 1));
    while (c.lanes < 32 && (word == 1 ? 16 : 8) * c.lanes * word <= extent) c.lanes *= 2;
    c.detail = int(kStagedBytes / 16 / extent * v);  // a tile starts on a vector
    c.grid = persistent_grid(row, p, d, ceil_div(p.kept(), c.detail));
    return c;
  }
};

}  // namespace tcu::cuda::rows
#endif
