// A sum of many, with what its additions have cut off.
#pragma once
#include "device/fold.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Knuth's two-sum; integers have nothing to cut off.
template <class F>
struct Total {
  using State = typename F::State;
  State sum = F::identity(), rest = State(0);
  TCU_DEVICE void add(State x) {
    const State before = sum, after = m::add(before, x);
    sum = after;
    if constexpr (is_float<State>) {
      const State part = after - before;
      rest += (before - (after - part)) + (x - part);
    }
  }
  TCU_DEVICE State all() const {
    if constexpr (is_float<State>) return rest != State(0) && rest - rest == State(0) ? sum + rest : sum;  // of an Inf the rest is none
    else return sum;
  }
};

// What a thread has of one output, of whose elements it takes a round at a time: take(s) folds one onto the S states that it is given.
// These are the same all along; or, where F cuts off, each round's own, which then are added to a total, so that one number that is a
// million times as large as the others costs these no more than what of them was in its round.
template <class F, int S, bool = F::kCuts>
struct Running {
  typename F::State s[S];
  TCU_DEVICE Running() {
#pragma unroll
    for (int i = 0; i < S; ++i) s[i] = F::identity();
  }
  template <class Take> TCU_DEVICE void round(Take take) { take(s); }
  TCU_DEVICE typename F::State all() { return combine_all<F>(s); }
};
template <class F, int S>
struct Running<F, S, true> {
  Total<F> total;
  template <class Take> TCU_DEVICE void round(Take take) {
    Running<F, S, false> own;
    take(own.s);
    total.add(own.all());
  }
  TCU_DEVICE typename F::State all() const { return total.all(); }
};

}  // namespace tcu::cuda
#endif
