// One output's elements cut into parts for several blocks, and the parts put together: every block leaves its partial
// states in the workspace and takes a ticket; the one with the last ticket combines all parts in their order. The result does
// not depend on which block that is. Workspace: one 4-byte ticket per cell, zero at the launch and at the end, padded to 16
// bytes; then the states, parts of a cell together.
#pragma once
#include "device/fold.cuh"
#include "device/params.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Called by every thread of the block, after the partial states of part and cell are written. True in all threads of the
// block that came last to this cell: then it sees every part's states.
template <class P>
TCU_DEVICE bool is_last_part(const P &p, int64_t cell) {
  TCU_SHARED(unsigned, last, 1);
  __threadfence();
  __syncthreads();
  unsigned *const ticket = static_cast<unsigned *>(p.zeroed) + cell;
  if (threadIdx.x == 0) {
    last[0] = atomicAdd(ticket, 1u) + 1 == unsigned(p.split);
    if (last[0]) *ticket = 0;
  }
  __syncthreads();
  const bool mine = last[0] != 0;
  __syncthreads();  // before the next cell's ticket
  if (mine) __threadfence();
  return mine;
}

}  // namespace tcu::cuda
#endif
