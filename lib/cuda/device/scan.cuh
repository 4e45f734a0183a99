// What the scan kernels share: a line (the elements along the S mode at one place of the K modes) read and written V
// neighbours at a time in the order of the scan, and the scan of a row of threads.
#pragma once
#include "device/fold.cuh"
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class F, class Out, class Index, int V>
struct Line {
  using Acc = typename F::State;
  static constexpr int N = Map::Inputs::size;
  Offsets<N, Index> o;
  Index n;
  bool reverse, plain;  // plain: whole steps are one access of every operand

  template <class P>
  TCU_DEVICE Line(const P &p, Index line) : n(Index(p.folded)), reverse((p.flags & kReverse) != 0), plain(false) {
    decode(o, p, 0, p.n_kept, line);
    if constexpr (V > 1) {
      if (n >= V) {
        const Index at = memory(0, V);
        plain = p.mode[p.n_kept].out == 1 && is_aligned<Out, V>(static_cast<const Out *>(p.out) + (o.out + at)) &&
                find_accesses<V>(typename Map::Inputs{}, p, o, p.n_kept, at) == 0;
      }
    }
  }
  // Where the elements from..from+count-1 of the scan start in memory, in steps of the S mode.
  TCU_DEVICE Index memory(Index from, int count) const { return reverse ? n - from - count : from; }

  // Elements from..from+V-1; the identity past the end.
  template <class P>
  TCU_DEVICE void load(const P &p, Index from, Acc (&e)[V]) const {
    if (V > 1 && plain && from + V <= n) {
      Pack<V, typename Map::Inputs> x;
      load_pack<V, true>(x, p, o, p.n_kept, memory(from, V), 0);
      Acc t[V];
#pragma unroll
      for (int v = 0; v < V; ++v) t[v] = F::lift(apply_at<Map>(p, x, v), Index(0));
#pragma unroll
      for (int v = 0; v < V; ++v) e[v] = reverse ? t[V - 1 - v] : t[v];
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        e[v] = F::identity();
        if (from + v < n) {
          Pack<1, typename Map::Inputs> x;
          load_pack<1, false>(x, p, o, p.n_kept, memory(from + v, 1), 0);
          e[v] = F::lift(apply_at<Map>(p, x, 0), Index(0));
        }
      }
    }
  }
  template <class P>
  TCU_DEVICE void store(const P &p, Index from, const Acc (&y)[V]) const {
    const Index stride = Index(p.mode[p.n_kept].out);
    if (V > 1 && plain && from + V <= n) {
      Vec<Acc, V> r;
#pragma unroll
      for (int v = 0; v < V; ++v) r.at[v] = reverse ? y[V - 1 - v] : y[v];
      tcu::cuda::store(p, static_cast<Out *>(p.out) + (o.out + memory(from, V)), r);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (from + v < n) store_one<Out>(p, o.out + memory(from + v, 1) * stride, y[v]);
    }
  }
};

// In place: e[v] becomes the fold of e[0..v]. before: the fold of the e of the lanes below, of `lanes` neighbours, after
// `carry`; carry takes in all of them. Every lane of the warp calls it.
template <class F, int V>
TCU_DEVICE typename F::State scan_lanes(typename F::State (&e)[V], typename F::State &carry, int lane, int lanes) {
  using State = typename F::State;
#pragma unroll
  for (int v = 1; v < V; ++v) e[v] = F::combine(e[v - 1], e[v]);
  State s = e[V - 1];
#pragma unroll 1
  for (int h = 1; h < lanes; h *= 2) {
    const State below = shuffle_up(s, h, lanes);
    if (lane >= h) s = F::combine(below, s);
  }
  const State below = shuffle_up(s, 1, lanes);
  const State before = lane == 0 ? carry : F::combine(carry, below);
  carry = F::combine(carry, shuffle(s, lanes - 1, lanes));
  return before;
}

// What is stored, from e as scan_lanes leaves it.
template <class F, int V>
TCU_DEVICE void put_before(typename F::State (&e)[V], typename F::State before, bool exclusive) {
  if (exclusive) {
#pragma unroll
    for (int v = V - 1; v > 0; --v) e[v] = F::combine(before, e[v - 1]);
    e[0] = before;
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v) e[v] = F::combine(before, e[v]);
  }
}

}  // namespace tcu::cuda
#endif
