// Shared memory filled, and emptied, by the block as a whole.
#pragma once
#include "device/intrinsics.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Bytes up to where the next 16 bytes begin.
TCU_DEVICE int bytes_to_16(const void *p) { return int((0 - reinterpret_cast<uint64_t>(p)) & 15); }

// Where that is. (Of p + bytes_to_16(p) / sizeof(T) ptxas 13.0 has lost the upper half before a bulk copy.)
template <class T>
TCU_DEVICE T *next_16(T *p) { return reinterpret_cast<T *>((reinterpret_cast<uint64_t>(p) + 15) & ~uint64_t(15)); }

// Elements 0..n-1 that lie one after another in memory, and here: `count` of them from `first` on are words of 16 bytes in both places, and
// the machine can copy them. Of none, if 16 bytes begin elsewhere there and here.
struct WholeWords {
  int first = 0, count = 0;
  TCU_DEVICE WholeWords() {}
  TCU_DEVICE WholeWords(const void *memory, const void *shared, int n, int bytes) {
    if (bytes_to_16(memory) != bytes_to_16(shared) || bytes_to_16(memory) % bytes) return;
    first = bytes_to_16(memory) / bytes;
    count = first < n ? ((n - first) * bytes & ~15) / bytes : 0;
  }
  TCU_DEVICE int skip(int i) const { return i < first ? i : i + count; }  // the i-th of the others
};

#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
// The machine's own copies ("Asynchronous Data Copies", CUDA programming guide): one thread asks for them, and they take no registers.
TCU_DEVICE void make_barrier(uint64_t *barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(unsigned(__cvta_generic_to_shared(barrier))) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
TCU_DEVICE void await_barrier(uint64_t *barrier, unsigned parity = 0) {
  unsigned there = 0;
  while (!there)
    asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q, [%1], %2; selp.u32 %0, 1, 0, q; }"
                 : "=r"(there) : "r"(unsigned(__cvta_generic_to_shared(barrier))), "r"(parity) : "memory");
}
TCU_DEVICE void ask_for(void *to, const void *from, int bytes, uint64_t *barrier, bool streamed) {
  const unsigned at = unsigned(__cvta_generic_to_shared(to)), arrived = unsigned(__cvta_generic_to_shared(barrier));
  if (streamed) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
                 : : "r"(at), "l"(from), "r"(bytes), "r"(arrived), "l"(policy) : "memory");
  } else {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 : : "r"(at), "l"(from), "r"(bytes), "r"(arrived) : "memory");
  }
}
#endif

// `bytes`, a multiple of 16, from global to shared memory, both aligned to 16 bytes: there for all threads of the block on return. Once
// in a kernel. Before compute capability 9.0 every thread has kItems words in flight. streamed: the caches are to forget it first.
TCU_DEVICE void fill_shared(uint4 *to, const void *from, int bytes, bool streamed) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
  TCU_SHARED(uint64_t, arrived, 1);
  if (threadIdx.x == 0) {
    make_barrier(arrived);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 : : "r"(unsigned(__cvta_generic_to_shared(arrived))), "r"(bytes) : "memory");
    if (bytes > 0) ask_for(to, from, bytes, arrived, streamed);
  }
  __syncthreads();  // who waits finds the barrier made
  await_barrier(arrived);
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

// Several such copies that are waited for together, each a multiple of 16 bytes. All threads of the block ask, or one warp does; what they wrote to
// shared memory before they wait, or asked to be copied there (copy_ahead), is there as well. Once in a kernel, or again and again: then with 0
// and 1 in turn, and a barrier of the block before what was copied is written over.
class Arrival {
  uint64_t *barrier;  // in shared memory

 public:
  int threads, thread;  // that ask, and which of them this is; below 0, if none

  // n of them, one after another, of what the block's threads from number `first` on ask for.
  TCU_DEVICE explicit Arrival(uint64_t *barriers, int first = 0, [[maybe_unused]] int n = 1)
      : barrier(barriers), threads(int(blockDim.x) - first), thread(int(threadIdx.x) - first) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    if (thread == 0)
      for (int i = 0; i < n; ++i) make_barrier(barriers + i);
#endif
  }
  // The i-th of them.
  TCU_DEVICE Arrival operator[](int i) const {
    Arrival one = *this;
    one.barrier += i;
    return one;
  }
  TCU_DEVICE void fetch(void *to, const void *from, int bytes) const {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    if (thread == 0 && bytes > 0) {
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                   : : "r"(unsigned(__cvta_generic_to_shared(barrier))), "r"(bytes) : "memory");
      ask_for(to, from, bytes, barrier, false);
    }
#else
    for (int at = thread * 16; at < bytes; at += threads * 16)
      copy_ahead<16>(static_cast<char *>(to) + at, static_cast<const char *>(from) + at);
#endif
  }
  // So many bytes of each row, from where its next 16 bytes begin on, both here and there, so far from one row to the next: thread after
  // thread asks for one. After open().
  TCU_DEVICE void fetch(void *to, const void *from, int bytes, int rows, int to_pitch, int64_t from_pitch) const {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    if (thread == 0)
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                   : : "r"(unsigned(__cvta_generic_to_shared(barrier))), "r"(bytes * rows) : "memory");
#pragma unroll 1
    for (int r = thread; r < rows; r += threads) {
      const char *const row = static_cast<const char *>(from) + r * from_pitch;
      ask_for(static_cast<char *>(to) + r * to_pitch + bytes_to_16(row), row + bytes_to_16(row), bytes, barrier, false);
    }
#else
    for (int r = 0; r < rows; ++r) {
      const char *const row = static_cast<const char *>(from) + r * from_pitch;
      fetch(static_cast<char *>(to) + r * to_pitch + bytes_to_16(row), row + bytes_to_16(row), bytes);
    }
#endif
  }
  // All threads may ask from here on.
  TCU_DEVICE void open() const {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    __syncthreads();
#endif
  }
  TCU_DEVICE void wait(unsigned parity = 0) const {
    close();
    __syncthreads();  // who waits finds the barrier made
    await(parity);
  }
  // Or one after the other, with a barrier of the block between: those that ask have asked for all; and who reads waits for it.
  TCU_DEVICE void close() const {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    if (thread == 0)
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(unsigned(__cvta_generic_to_shared(barrier))) : "memory");
#endif
    end_of_copies();
    await_copies<0>();
  }
  TCU_DEVICE void await([[maybe_unused]] unsigned parity) const {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
    await_barrier(barrier, parity);
#endif
  }
};

// Rows of so many bytes, so far from one to the next, to the second level cache.
TCU_DEVICE void ask_ahead(const void *from, int bytes, int rows, int64_t pitch) {
  if (pitch == bytes) bytes *= rows, rows = 1;
  const int lines = (bytes + 127) / 128 + 1;  // that a row has a part of, wherever it begins
#pragma unroll 1
  for (int i = int(threadIdx.x); i < rows * lines; i += int(blockDim.x)) {
    const int row = i / lines, at = (i - row * lines) * 128;
    ask_ahead(static_cast<const char *>(from) + row * pitch + (at < bytes ? at : bytes - 1));
  }
}

// `bytes`, a multiple of 16, from shared memory, where the block's threads have written them, to global memory, both aligned to 16 bytes.
// All threads call it, and see all of shared memory afterwards. It is not to be written, and the block not to end, before await_drain().
TCU_DEVICE void drain_shared(void *to, const void *from, int bytes) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
  __syncthreads();
  if (threadIdx.x == 0 && bytes > 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 : : "l"(to), "r"(unsigned(__cvta_generic_to_shared(from))), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
  }
#else
  __syncthreads();
#pragma unroll 4
  for (int at = int(threadIdx.x) * 16; at < bytes; at += int(blockDim.x) * 16)
    *reinterpret_cast<uint4 *>(static_cast<char *>(to) + at) = *reinterpret_cast<const uint4 *>(static_cast<const char *>(from) + at);
#endif
}
// The same of rows, so far from one to the next, each from where its next 16 bytes begin on: thread after thread asks for one.
TCU_DEVICE void drain_shared(void *to, const void *from, int bytes, int rows, int from_pitch, int64_t to_pitch) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
  __syncthreads();
#pragma unroll 1
  for (int r = int(threadIdx.x); r < rows; r += int(blockDim.x)) {
    char *const row = static_cast<char *>(to) + r * to_pitch;
    const char *const here = static_cast<const char *>(from) + r * from_pitch + bytes_to_16(row);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 : : "l"(row + bytes_to_16(row)), "r"(unsigned(__cvta_generic_to_shared(here))), "r"(bytes) : "memory");
  }
  asm volatile("cp.async.bulk.commit_group;" : : : "memory");
#else
  for (int r = 0; r < rows; ++r) {
    char *const row = static_cast<char *>(to) + r * to_pitch;
    drain_shared(row + bytes_to_16(row), static_cast<const char *>(from) + r * from_pitch + bytes_to_16(row), bytes);
  }
#endif
}
TCU_DEVICE void await_drain() {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
#endif
}

}  // namespace tcu::cuda
#endif
