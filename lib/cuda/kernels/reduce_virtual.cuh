// reduce.virtual: the kernel of Dikbayir et al. ("Fast multidimensional reduction and broadcast operations on GPU for machine
// learning", Algorithms 1 and 2), to measure against: it stands behind reduce.general, so only a pin reaches it.
// A block has one output (a hyperslice); its threads step through the slice by a linear index, which is turned into one virtual
// coordinate a mode and these into an address by the strides; shuffles and a word a warp in shared memory join the threads' sums.
// There are as many blocks as outputs, up to a grid's limit; then they step on by the grid. That is reduce.general with a block to
// each output, so it runs that code.
// Other than in the paper: a block is a power of two from a warp to 256 threads, where theirs goes to 1024; every element's
// coordinates are found anew, where Algorithm 2 goes on by a constant skip (which a block that covers whole fibers allows);
// and the divisions are multiplications (device/params.cuh).
#pragma once
#include "kernels/reduce_general.cuh"

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ReduceVirtual : ReduceGeneral {
  static constexpr int kElements = 4;  // of a thread, as in the paper's example, before the block is as large as it gets
  static LaunchConfig configure(const Problem &p, const Device &) {
    LaunchConfig c;
    for (c.block = 32; c.block < kThreads && c.block * kElements < p.reduced();) c.block *= 2;
    c.lanes = c.block;
    c.grid = std::min<int64_t>(p.kept(), INT32_MAX);
    return c;
  }
};

}  // namespace tcu::cuda::rows
#endif
