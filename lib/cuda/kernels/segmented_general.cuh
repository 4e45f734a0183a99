// segmented.general: segments of one R mode, whose ends are data.
// p.lanes threads (a power of two up to the block) work on one output, which is one segment at one place of the other K modes:
// neighbouring lanes take neighbouring elements. Offset number o.weight and the next one are where a segment begins and ends;
// they are int64 if p.detail is 1, else int32, and stand after the inputs. Offsets that fall, or that lie outside the mode, are
// taken as if they did not: no element outside is read.
#pragma once
#include "device/fold.cuh"
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct segmented_general {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int N = Map::Inputs::size;
  static constexpr int kResident = resident<F, 1>(4);

  // Offset number `at`, between least and the mode's extent.
  template <class P>
  TCU_DEVICE static Index offset(const P &p, Index at, Index least) {
    const int64_t x = p.detail ? static_cast<const int64_t *>(p.in[N])[at] : static_cast<const int32_t *>(p.in[N])[at];
    return x < int64_t(least) ? least : x > p.folded ? Index(p.folded) : Index(x);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(State, shared, 32);
    const int lanes = p.lanes, groups = quotient(kThreads, lanes);
    const int group = quotient(int(threadIdx.x), lanes), lane = remainder(int(threadIdx.x), lanes);
    const Index n = Index(p.kept), step = Index(gridDim.x) * groups;
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * groups; first < n; first += step) {
      const Index cell = first + group;
      Offsets<N, Index> o;
      State s = F::identity();
      Index begin = 0, end = 0;
      if (cell < n) {
        decode(o, p, 0, p.n_kept, cell);
        begin = offset(p, o.weight, Index(0)), end = offset(p, o.weight + 1, begin);
#pragma unroll 4
        for (Index r = begin + lane; r < end; r += lanes) {
          Offsets<N, Index> at = o;
          if (p.n_folded > 0) advance(at, p.mode[p.n_kept], r);  // a mode of one element is none
          Pack<1, typename Map::Inputs> x;
          load_pack<1, false>(x, p, at, 0, Index(0), 0);  // the offsets say all
          s = F::append(s, apply_at<Map>(p, x, 0), r - begin);
        }
      }
      s = combine_group<F>(s, lanes, shared);
      if (cell < n && lane == 0) store_result<F, Out>(p, o.out, s, int64_t(end - begin));
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct SegmentedGeneral {
  static bool accepts(const Problem &, const Device &) { return true; }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.detail = p.offsets == DType::i64;
    int64_t segments = 1;
    for (const Mode &m : p.modes)
      if (m.role == Role::K && m.stride[p.offsets_operand()] != 0) segments *= std::max<int64_t>(m.extent, 1);
    // as many lanes as an even segment has elements for, eight each; more while the device is not full
    const int64_t even = p.reduced() / segments;
    while (c.lanes < kThreads && (c.lanes * 8 < even || (c.lanes < even && p.kept() * c.lanes < int64_t(d.processors) * 1024)))
      c.lanes *= 2;
    c.grid = persistent_grid("segmented.general", p, d, ceil_div(p.kept(), kThreads / c.lanes));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "segmented_general");
  }
};

}  // namespace tcu::cuda::rows
#endif
