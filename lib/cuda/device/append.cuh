// A vector of elements onto the states of a thread.
#pragma once
#include "device/fold.cuh"
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Bytes of registers that n states take.
template <class F> TCU_FN constexpr int register_bytes(int n) { return n * int(sizeof(typename F::State)); }
// States that a thread folds V elements of one output onto: enough that no addition waits for the last one, and that the errors of a
// sum grow slowly; not so many that no registers are left for loads.
template <class F, class Map, int V>
TCU_FN constexpr int states_of_one() {
  int n = F::template kNarrow<typename Map::Element> ? 1 : V;
  while (register_bytes<F>(n) > (F::kPositions ? 16 : 32) && n > 1) n /= 2;
  return n;
}

// V elements of one output, from element `at` of a row on: number v onto state v % S. kInOrder: they come after all that s holds.
template <class F, class Map, bool kInOrder, int V, int S, class P, class Index>
TCU_DEVICE void append_vector(const P &p, typename F::State (&s)[S], const Pack<V, typename Map::Inputs> &x, Index position, Index at) {
  if constexpr (V > 1 && F::template kNarrow<typename Map::Element>) {
    int32_t sum = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) sum += F::narrow(apply_at<Map>(p, x, v));
    s[0] = F::combine(s[0], typename F::State(sum));
  } else {
    const Index weight = Index(p.mode[p.n_kept].weight);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const auto e = apply_at<Map>(p, x, v);
      const Index where = position + (at + v) * weight;
      s[v % S] = kInOrder ? F::append(s[v % S], e, where) : F::add(s[v % S], e, where);
    }
  }
}

}  // namespace tcu::cuda
#endif
