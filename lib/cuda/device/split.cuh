// An output's elements cut into parts for several blocks, and the parts put together, in a fixed order.
#pragma once
#include "device/fold.cuh"
#include "device/params.cuh"
#include "device/published.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// One way: every block leaves its partial states in the workspace and takes a ticket; the one with the last ticket combines what all
// have left. Zeroed workspace: 4-byte tickets, zero at the launch and at the end.
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

// The other way, for a cell of one output: every part but the last publishes its state, and the block of the last waits for them
// (its number is the highest: those it waits for have begun). Zeroed workspace: a word for each part, zero at the end.
// s: the part's state, of all threads that work on it, becomes the whole's in each group's first thread, as by combine_group;
// false in the blocks that have no more to do. The same code combines a block's threads and then the parts: the second time it is in
// the caches.
template <class F, class P>
TCU_DEVICE bool combine_parts(const P &p, typename F::State &s, int64_t cell, int64_t part, int lanes, typename F::State *shared) {
  using W = Published<typename F::State>;
  constexpr int kAtOnce = W::kWords <= 2 ? 4 : 1;
  const int64_t others = p.split - 1;
  uint64_t *const words = static_cast<uint64_t *>(p.zeroed) + cell * others * W::kWords;
#pragma unroll 1
  for (bool whole = others == 0;; whole = true) {
    s = combine_group<F>(s, lanes, shared);
    if (whole) return true;
    if (part < others) {
      if (threadIdx.x == 0) W::publish(words + part * W::kWords, s);
      return false;
    }
    if (threadIdx.x > 0) s = F::identity();
#pragma unroll 1
    for (int64_t k = threadIdx.x; k < others; k += kAtOnce * kThreads) {
      W w[kAtOnce];
      const auto at = [&](int i) { return words + (k + i * kThreads < others ? k + i * kThreads : k) * W::kWords; };
      for (bool written = false; !written;) {  // all are asked again: one after another would be a trip to the memory each
        written = true;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) w[i] = W::ask(at(i));
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) written &= w[i].written();
        if (!written) __nanosleep(20);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (k + i * kThreads >= others) break;
        s = F::combine(s, w[i].value());
        W::clear(at(i));
      }
    }
  }
}

}  // namespace tcu::cuda
#endif
