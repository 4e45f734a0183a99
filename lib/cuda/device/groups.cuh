// The loop of kernels whose groups of p.lanes threads (a power of two up to the block) have an output each, or, with p.split > 1 and
// groups as large as the block, a part of one (device/split.cuh).
#pragma once
#include "device/map.cuh"
#include "device/split.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

struct NoLookAhead {
  template <class O, class Index>
  TCU_DEVICE void operator()(const O &, Index, int, int) const {}
};
// share(o, part, lane, lanes): what a thread, the lane-th of its group, has of part `part` of the output at o. look_ahead, called with the same
// for a thread's first: brings what `share` reads first to the second level cache, before the launch's turn.
template <class F, class Out, int N, class Index, class P, class Share, class LookAhead = NoLookAhead>
TCU_DEVICE void for_groups(const P &p, Share share, LookAhead look_ahead = {}) {
  TCU_SHARED(typename F::State, shared, 32);
  const int lanes = p.lanes, groups = quotient(kThreads, lanes);
  const int group = quotient(int(threadIdx.x), lanes), lane = remainder(int(threadIdx.x), lanes);
  const Index split = Index(p.split), n = Index(p.kept) * split;
#pragma unroll 1
  for (Index first = Index(blockIdx.x) * groups; first < n; first += Index(gridDim.x) * groups) {
    const Index item = first + group, cell = split == 1 ? item : p.kept > 1 ? item / split : 0;
    const Index part = split == 1 ? 0 : item - cell * split;
    Offsets<N, Index> o;
    decode(o, p, 0, p.n_kept, item < n ? cell : 0);
    if (first < Index(gridDim.x) * groups && item < n) look_ahead(o, part, lane, lanes);
    await_turn();
    const unsigned begun = begin_part(p, cell);
    typename F::State s = F::identity();
    if (item < n) s = share(o, part, lane, lanes);
    if (split > 1) return end_part<F, Out>(p, o.out, s, cell, part, begun, shared);
    s = combine_group<F>(s, lanes, shared);
    if (item < n && lane == 0) store_result<F, Out>(p, o.out, s, p.folded);
  }
}

}  // namespace tcu::cuda
#endif
