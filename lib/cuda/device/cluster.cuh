// Blocks that begin together and reach each other's shared memory: a thread block cluster ("Thread Block Clusters", CUDA programming
// guide; compute capability 9.0). The blocks of a launch are cut into clusters of LaunchConfig::cluster in the order of their numbers.
#pragma once
#include "device/intrinsics.cuh"

namespace tcu::cuda {
inline constexpr int kMostInCluster = 16;  // that some devices have, others no more than kAlwaysInCluster
inline constexpr int kAlwaysInCluster = 8;
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// All threads of all blocks of the cluster call arrive() and wait() in turn.
struct Cluster {
  int size, rank;  // blocks; which of them this is

  TCU_DEVICE explicit Cluster(int size) : size(size), rank(remainder(int(blockIdx.x), size)) {}

  // kOrdered: what the thread wrote is there for those who have waited.
  template <bool kOrdered>
  TCU_DEVICE static void arrive() {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    if constexpr (kOrdered) asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
    else asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
#elif defined(TCU_EMULATOR)
    emu::cluster_arrive();
#endif
  }
  TCU_DEVICE static void wait() {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
#elif defined(TCU_EMULATOR)
    emu::cluster_wait();
#endif
  }
  // x to where `at`, of this block's shared memory, is in that of block `to`, which has arrived once and not ended.
  template <class T>
  TCU_DEVICE static void put(Padded<T> *at, int to, const T &x) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(unsigned(__cvta_generic_to_shared(at))), "r"(to));
    const auto words = words_of(x);
#pragma unroll
    for (int i = 0; i < int(sizeof(words) / 4); ++i)
      asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(there + 4 * i), "r"(words.at[i]) : "memory");
#elif defined(TCU_EMULATOR)
    static_cast<Padded<T> *>(emu::shared_of(unsigned(to), at))->value = x;
#endif
  }
};

}  // namespace tcu::cuda
#endif
