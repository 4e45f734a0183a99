// reduce.split (variant 5): any modes, any strides, as reduce_general.cuh reads them. A part is p.chunk elements (device/split.cuh).
#pragma once
#include "device/groups.cuh"
#include "kernels/reduce_general.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_scattered : reduce_general<Map, Op, Acc, Out, Index> {
  using General = reduce_general<Map, Op, Acc, Out, Index>;
  using typename General::F;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    for_groups<F, Out, General::N, Index>(p, [&](const Offsets<General::N, Index> &o, Index part, int lane, int lanes) {
      const Index chunk = Index(p.chunk), begin = part * chunk, left = Index(p.folded) - begin, end = begin + (left < chunk ? left : chunk);
      typename F::State s = F::identity();
      Index r = begin + lane;
#pragma unroll 1
      for (; r + lanes < end; r += 2 * lanes) General::template add<2>(p, s, o, r, lanes);
      if (r < end) General::template add<1>(p, s, o, r, lanes);
      return s;
    });
  }
};

}  // namespace tcu::cuda
#endif
