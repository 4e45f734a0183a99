// Shared memory filled by the block as a whole.
#pragma once
#include "device/intrinsics.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// `bytes`, a multiple of 16, from global to shared memory, both aligned to 16 bytes: there for all threads of the block on return. Once
// in a kernel. From compute capability 9.0 on one thread asks for all of it (cp.async.bulk; "Asynchronous Data Copies", CUDA programming
// guide), so that it takes no registers; else every thread has kItems words in flight. streamed: the caches are to forget it first.
TCU_DEVICE void fill_shared(uint4 *to, const void *from, int bytes, bool streamed) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
  TCU_SHARED(uint64_t, arrived, 1);
  const unsigned barrier = unsigned(__cvta_generic_to_shared(arrived));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(barrier) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    uint64_t policy;
    if (streamed) asm volatile("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    else asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0;" : "=l"(policy));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
    if (bytes > 0)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
                   : : "r"(unsigned(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes), "r"(barrier), "l"(policy) : "memory");
  }
  __syncthreads();  // who waits finds the barrier made
  unsigned there = 0;
  while (!there)
    asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q, [%1], %2; selp.u32 %0, 1, 0, q; }"
                 : "=r"(there) : "r"(barrier), "r"(0) : "memory");
#else
  constexpr int kItems = 4;
  const int words = bytes / 16, t = int(threadIdx.x), threads = int(blockDim.x);
#pragma unroll 1
  for (int i = t; i < words; i += kItems * threads) {
    uint4 x[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const uint4 *const at = static_cast<const uint4 *>(from) + (i + k * threads < words ? i + k * threads : words - 1);
      x[k] = streamed ? load_word<true>(at) : load_word<false>(at);
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      if (i + k * threads < words) to[i + k * threads] = x[k];
  }
  __syncthreads();
#endif
}

}  // namespace tcu::cuda
#endif
