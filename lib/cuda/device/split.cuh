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
  __threadfence();
  __syncthreads();
  unsigned *const at = static_cast<unsigned *>(p.zeroed) + ticket;
  if (threadIdx.x == 0) {
    last[0] = atomicAdd(at, 1u) + 1 == unsigned(n);
    if (last[0]) *at = 0;
  }
  __syncthreads();
  const bool mine = last[0] != 0;
  __syncthreads();  // before the next ticket
  if (mine) __threadfence();
  return mine;
}

}  // namespace tcu::cuda
#endif
