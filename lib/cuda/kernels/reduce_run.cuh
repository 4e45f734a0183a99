// reduce.split (variant 4): one run, one output, in p.split parts. As reduce_rows.cuh does it, with nothing to work out before the first
// load and a block's width that is known: where all takes some microseconds that is a tenth of it.
#pragma once
#include "kernels/reduce_rows.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, unsigned kOnce>
struct reduce_run : reduce_rows<Map, Op, Acc, Out, Index, kOnce, true> {
  using Rows = reduce_rows<Map, Op, Acc, Out, Index, kOnce, true>;
  using typename Rows::F;
  using typename Rows::State;
  using AwaitsTurn = reduce_run;

  template <class P>
  TCU_DEVICE static void run(const P &params) {
    TCU_SHARED(State, shared, 32);
    const auto &p = of_modes<0, 1>(params);
    const Index part = blockIdx.x;
    const Offsets<Rows::N, Index> o = {};
    Rows::look_ahead(p, o, part, Index(p.folded) / Rows::V, int(threadIdx.x), kThreads);
    await_turn();
    const unsigned begun = begin_part(p, 0);
    typename Rows::Own own;
    Rows::rounds(p, own, o, part, Index(p.folded) / Rows::V, int(threadIdx.x), kThreads);
    Rows::rest(p, own, o, part, int(threadIdx.x));
    end_part<F, Out>(p, Index(0), own.all(), Index(0), part, begun, shared);
  }
};

}  // namespace tcu::cuda
#endif
