// broadcast.flat: one K mode, along which out is contiguous and every input is contiguous or one element ('K').
// A thread has one vector of 16 bytes of every input, and the grid is as large as the work: what there is in flight are the
// threads. Elements before out's first aligned address and after the last whole vector go one by one, in
// the same launch. Where an input is misaligned against out, or is one element, threads take single neighbouring elements
// instead: still coalesced, at about two thirds of the speed.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index>
struct broadcast_flat {
  static constexpr int V = kVector<typename Map::Inputs, Out>;
  static constexpr int N = Map::Inputs::size;
  static constexpr int kMostThreads = words_beside<Map, V>() > 0 ? kThreads : 1024;
  static constexpr int kResident = map_blocks<Map, Acc, V>((is_light<Map, Acc> || is_identity<Map> ? 2048 : 1024) / kMostThreads);  // registers limit it

  using AwaitsTurn = broadcast_flat;

  template <int W>
  using Elements = Pack<W, typename Map::Inputs>;

  // n vectors after `head`.
  template <int W, class P>
  TCU_DEVICE static void sweep(const P &p, Index head, Index n) {
    const Index first = Index(blockIdx.x) * blockDim.x + Index(threadIdx.x), step = Index(gridDim.x) * blockDim.x;
    if (first < n && begins_early<broadcast_flat>()) look_ahead_at<W>(typename Map::Inputs{}, p, Offsets<N, Index>{}, 0, head + first * W);
    await_turn();
#pragma unroll 1
    for (Index at = first; at < n; at += step) {
      Elements<W> x;
      load_pack<W, true>(x, p, Offsets<N, Index>{}, 0, head + at * W, 0);
      put_pack<Map, Acc, Out>(p, x, head + at * W);
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept);
    const uint64_t misaligned = (reinterpret_cast<uint64_t>(p.out) & (sizeof(Out) * V - 1)) / sizeof(Out);
    const Index head = min_of(misaligned ? Index(V - misaligned) : Index(0), n);
    const Offsets<N, Index> start;
    if (V > 1 && find_accesses<V>(typename Map::Inputs{}, p, start, 0, head) == 0) {
      const Index vectors = (n - head) / V, tail = head + vectors * V;
      sweep<V>(p, head, vectors);
      // The last block: it has the least to do.
      if (blockIdx.x + 1 == gridDim.x && threadIdx.x < 2 * V) {
        const Index t = Index(threadIdx.x), at = t < V ? t : tail + (t - V);
        if (t < V ? t < head : at < n) {
          Elements<1> x;
          load_pack<1, false>(x, p, start, 0, at, 0);
          put_pack<Map, Acc, Out>(p, x, at);
        }
      }
    } else {
      sweep<1>(p, 0, n);
    }
  }

  TCU_DEVICE static Index min_of(Index a, Index b) { return a < b ? a : b; }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_general.cuh"

namespace tcu::cuda::rows {

struct BroadcastFlat {
  static constexpr bool kShort = true;  // it asks for all that it reads before its turn: short ones are as fast by it as by any, or faster
  // Bytes of several inputs from which on blocks are large. (A copy of 134 MB took 36.5 us for 33.5 with such.)
  static constexpr int64_t kLarge = 512 << 20;
  static bool accepts(const Problem &p, const Device &) {
    if (p.modes.size() > 1) return false;
    const auto aligned = [&](int k) { return (1 << p.alignment[k]) >= vector_of(p, true) * bytes_of(p.dtype(k)); };
    for (const Mode &m : p.modes) {
      if (m.stride[0] != 1) return false;
      for (int k = 1; k <= p.n_inputs; ++k)
        // With one that is a scalar, or begins at another place within 16 bytes than out, all would go element by element.
        if (m.stride[k] != 1 || aligned(k) != aligned(0)) return false;
    }
    return true;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    const bool small = p.bytes() < kLarge || p.n_inputs < 2 || p.n_more > 0 || is_heavy(p, d);
    c.block = small ? kThreads : tuning("broadcast.flat", p, d).block, c.vector = vector_of(p, true);
    c.grid = persistent_grid("broadcast.flat", p, d, ceil_div(p.kept(), int64_t(c.block) * c.vector));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    // one index is computed for many elements: one width for all
    return make_instance(p, "broadcast_flat", {}, "int64_t");
  }
};

}  // namespace tcu::cuda::rows
#endif
