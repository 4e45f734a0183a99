// What a scan of segments by offsets runs with: a byte for each step, 1 where a segment begins in the order of the scan. They are 0 before.
// p.in[0]: p.kept offsets, of type Offset; p.folded: steps; p.out: the bytes. An offset outside 0..p.folded marks nothing.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Offset>
struct mark_segments {
  static constexpr int kResident = 4;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const bool reverse = (p.flags & kReverse) != 0;
    const int64_t step = int64_t(gridDim.x) * kThreads;
#pragma unroll 1
    for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < p.kept; i += step) {
      const int64_t at = int64_t(static_cast<const Offset *>(p.in[0])[i]) - (reverse ? 1 : 0);
      if (at >= 0 && at < p.folded) static_cast<uint8_t *>(p.out)[at] = 1;
    }
  }
};

}  // namespace tcu::cuda
#endif
