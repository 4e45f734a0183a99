// One output's elements cut into parts for several blocks, and the parts put together: every block leaves its partial
// states in the workspace and takes a ticket; the one with the last ticket combines what all have left, in a fixed order. The
// result does not depend on which block that is. Zeroed workspace: 4-byte tickets, zero at the launch and at the end.
#pragma once
#include "device/fold.cuh"
#include "device/params.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Called by every thread of the block, after its states are written. True in all threads of the block that came last of `n` to
// this ticket: then it sees what the others have written.
template <class P>
TCU_DEVICE bool is_last(const P &p, int64_t ticket, int64_t n) {
  TCU_SHARED(unsigned, last, 1);
  __syncthreads();
  unsigned *const at = static_cast<unsigned *>(p.zeroed) + ticket;
  if (threadIdx.x == 0) {
    last[0] = count_ordered(at) + 1 == unsigned(n);
    if (last[0]) *at = 0;
  }
  __syncthreads();
  const bool mine = last[0] != 0;
  __syncthreads();  // before the next ticket
  return mine;
}

// This thread's share of n states that were left: states t, t + kThreads, ..., folded in that order. The code is short: the one
// block that comes here finds none of it in its caches.
template <class F, class Index>
TCU_DEVICE typename F::State fold_share(const typename F::State *states, Index n) {
  using State = typename F::State;
  constexpr int kMany = sizeof(State) <= 4 ? 32 : 128 / int(sizeof(State)), kFew = kMany / 4;
  State s = F::identity();
  Index at = Index(threadIdx.x);
#pragma unroll 1
  for (; at + (kMany - 1) * kThreads < n; at += kMany * kThreads) {
    State x[kMany];
#pragma unroll
    for (int i = 0; i < kMany; ++i) x[i] = states[at + i * kThreads];
#pragma unroll
    for (int i = 0; i < kMany; ++i) s = F::combine(s, x[i]);
  }
#pragma unroll 1
  for (; at < n; at += kFew * kThreads) {
    State x[kFew];
#pragma unroll
    for (int i = 0; i < kFew; ++i) x[i] = states[at + i * kThreads < n ? at + i * kThreads : n - 1];
#pragma unroll
    for (int i = 0; i < kFew; ++i)
      if (at + i * kThreads < n) s = F::combine(s, x[i]);
  }
  return s;
}

}  // namespace tcu::cuda
#endif
