// K lines whose elements alternate ('K S', K of a few), scanned as one line: a state is one of each of them, and elements one after another are
// those of one line after the other.
#pragma once
#include "device/scan.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// What they are folded to, as F folds one. Where the place that a thread has come to belongs to line k, of[0] is line k's, and so on around.
template <class F, int K>
struct Interleaved {
  using One = typename F::State;
  struct State {
    One of[K];
  };
  TCU_DEVICE static State filled(const One &one) {
    State s;
#pragma unroll
    for (int k = 0; k < K; ++k) s.of[k] = one;
    return s;
  }
  TCU_DEVICE static State identity() { return filled(F::identity()); }
  template <class P> TCU_DEVICE static State start(const P &p) { return filled(F::start(p)); }
  TCU_DEVICE static State combine(const State &a, const State &b) {
    State s;
#pragma unroll
    for (int k = 0; k < K; ++k) s.of[k] = F::combine(a.of[k], b.of[k]);
    return s;
  }
  // Of the line of the v-th place from there on.
  TCU_DEVICE static One &at(State &s, int v) { return s.of[v % K]; }
  // For n places further on.
  template <int n>
  TCU_DEVICE static void turn(State &s) {
    const State was = s;
#pragma unroll
    for (int k = 0; k < K; ++k) s.of[k] = was.of[(k + n) % K];
  }
  TCU_DEVICE static void turn(State &s, int n) {  // n < K
#pragma unroll
    for (int i = 1; i < K; ++i) {
      State next = s;
      turn<1>(next);
#pragma unroll
      for (int k = 0; k < K; ++k) s.of[k] = i <= n ? next.of[k] : s.of[k];
    }
  }
  // V elements that follow, in the order of memory, of a part (TilePart) of a tile.
  template <class Part, int V>
  TCU_DEVICE static void add(State &s, const Part &part, const One (&e)[V]) {
#pragma unroll
    for (int v = 0; v < V; ++v) at(s, v) = F::combine(at(s, v), part.in_order(e, v));
    turn<V>(s);
  }
};
template <class F>
struct Interleaved<F, 1> : F {
  using One = typename F::State;
  TCU_DEVICE static One &at(One &s, int) { return s; }
  template <int> TCU_DEVICE static void turn(One &) {}
  TCU_DEVICE static void turn(One &, int) {}
  template <class Part, int V>
  TCU_DEVICE static void add(One &s, const Part &part, const One (&e)[V]) { s = F::combine(s, part.folded(e)); }
};

}  // namespace tcu::cuda
#endif
