// An output's elements cut into parts for several blocks, and the parts put together, in a fixed order.
#pragma once
#include "device/fold.cuh"
#include "device/params.cuh"
#include "device/published.cuh"

namespace tcu::cuda {
// Zeroed workspace: 4 bytes for each cell (an output, or a tile of them), padded to 16.
TCU_FN constexpr int64_t counter_bytes(int64_t cells) { return (cells * 4 + 15) / 16 * 16; }
// Of the parts' states, what a thread of the block that puts them together reads at a time.
inline constexpr int kPartBytes = 64;
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// One way: every block leaves its partial states in the workspace and takes a ticket; the one with the last ticket combines what all
// have left. Zeroed workspace: the cells' tickets.
// Called by every thread of the block, after its states are written. True in all threads of the block that came last of `n` to
// this ticket: then it sees what the others have written.
TCU_DEVICE bool is_last(void *tickets, int64_t ticket, int64_t n) {
  TCU_SHARED(unsigned, last, 1);
  __syncthreads();
  unsigned *const at = static_cast<unsigned *>(tickets) + ticket;
  if (threadIdx.x == 0) {
    last[0] = count_up<true>(at) + 1 == unsigned(n);
    if (last[0]) *at = 0;
  }
  __syncthreads();
  const bool mine = last[0] != 0;
  __syncthreads();  // before the next ticket
  return mine;
}

// The other way, for a cell of one output: the block that began last waits for what the others publish, all of which have begun.
// Zeroed workspace: how many parts of each cell have begun, and a word (device/published.cuh) for each part.
// Called as a part begins; for end_part. The answer is long there when the part's elements are.
template <class P>
TCU_DEVICE unsigned begin_part(const P &p, int64_t cell) {
  return p.split > 1 && threadIdx.x == 0 ? count_up<false>(static_cast<unsigned *>(p.zeroed) + cell) : 0;
}
// The last thing that a block does which had a part: its threads' states go to the others, or are put together with theirs and stored at
// `out`; threads: of the block. The same code combines a block's threads and then the parts: the second time it is in the caches.
template <class F, class Out, class P, class Index>
TCU_DEVICE void end_part(const P &p, Index out, typename F::State s, Index cell, Index part, unsigned begun, typename F::State *shared,
                         int threads = kThreads) {
  using State = typename F::State;
  using W = Published<State>;
  constexpr int kAtOnce = W::kWords <= 2 ? 4 : 1;
  TCU_SHARED(State, own, 1);
  TCU_SHARED(int, waits, 1);
  const int split = int(p.split), t = int(threadIdx.x);
  uint64_t *const words = reinterpret_cast<uint64_t *>(static_cast<char *>(p.zeroed) + counter_bytes(p.kept)) +
                          int64_t(cell) * split * W::kWords;
#pragma unroll 1
  for (bool whole = split == 1;; whole = true) {
    s = combine_group<F>(s, threads, shared);
    if (whole) break;
    if (t == 0) {
      waits[0] = begun == unsigned(split - 1);
      if (waits[0]) own[0] = s, static_cast<unsigned *>(p.zeroed)[cell] = 0;
      else W::publish(words + int64_t(part) * W::kWords, s);
    }
    __syncthreads();
    if (!waits[0]) return;
    s = F::identity();
#pragma unroll 1
    for (int k = t; k < split; k += kAtOnce * threads) {
      W w[kAtOnce];
      const auto at = [&](int i) { return k + i * threads < split ? k + i * threads : k; };
      for (bool written = false; !written;) {  // all are asked again: one after another would be a trip to the memory each
        written = true;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) w[i] = W::ask(words + at(i) * W::kWords);
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) written &= at(i) == int(part) || w[i].written();
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (k + i * threads >= split) break;
        s = F::combine(s, at(i) == int(part) ? own[0] : w[i].value());
        W::clear(words + at(i) * W::kWords);
      }
    }
  }
  if (t == 0) store_result<F, Out>(p, out, s, p.folded);
}

}  // namespace tcu::cuda
#endif
