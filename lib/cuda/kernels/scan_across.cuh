// scan.lines (variant 1): the fastest mode is kept ('K S', 'K S K').
// A thread scans one line from end to end, kItems elements in flight; neighbouring threads have neighbouring lines, so that
// each step of a warp is one contiguous piece.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_across {
  using F = Fold<Op, Acc, Index>;
  static constexpr int kBlock = 128, kItems = sizeof(Acc) <= 4 ? 16 : 8;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const bool exclusive = (p.flags & kExclusive) != 0;
    const Index lines = Index(p.kept), step = Index(gridDim.x) * kBlock;
#pragma unroll 1
    for (Index l = Index(blockIdx.x) * kBlock + Index(threadIdx.x); l < lines; l += step) {
      const Line<Map, F, Out, Index, 1> line(p, l);
      Acc carry = p.init.template as<Acc>();
#pragma unroll 1
      for (Index at = 0; at < line.n; at += kItems) {
        Acc e[kItems][1];
#pragma unroll
        for (int k = 0; k < kItems; ++k) line.load(p, at + k, e[k]);
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const Acc next = F::combine(carry, e[k][0]);
          e[k][0] = exclusive ? carry : next;
          carry = next;
          line.store(p, at + k, e[k]);
        }
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_along.cuh"

namespace tcu::cuda::rows {

// Lines that are contiguous, and lines that lie side by side.
struct ScanLines {
  static bool contiguous(const Problem &p) { return is_unit(p, *fastest(p, Role::S)); }
  static bool accepts(const Problem &p, const Device &) {
    return contiguous(p) || (p.modes.size() > 1 && p.modes[0].role == Role::K && is_unit(p, p.modes[0]));
  }
  static bool is_unit(const Problem &p, const Mode &m) {
    if (m.stride[0] != 1) return false;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (m.stride[k] == 1) return true;
    return false;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    if (contiguous(p)) return ScanGeneral::configure_row("scan.lines", p, d);
    LaunchConfig c;
    c.variant = 1;
    c.block = 128;
    c.grid = persistent_grid("scan.lines", p, d, ceil_div(p.kept(), c.block));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, c.variant ? "scan_across" : "scan_along",
                         {fold_text(p.op), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
