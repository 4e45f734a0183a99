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
    if constexpr (is_float<State>) return rest - rest == State(0) ? sum + rest : sum;  // of an Inf the rest is none
    else return sum;
  }
};

}  // namespace tcu::cuda
#endif
