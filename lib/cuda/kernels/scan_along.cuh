// scan.lines (variant 0), scan.general: threads lie along the S mode ('S K', and any other pattern).
// p.lanes neighbouring threads (a power of two up to a warp) scan one line: each takes V neighbours, kItems times, the lanes
// are scanned by shuffles, and what they add up to is carried to the next round. Lines of a warp run side by side. Elements
// are read and written in vectors of 16 bytes where the line is contiguous and aligned, else one by one.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_along {
  using F = Fold<Op, Acc, Index>;
  static constexpr int V = kVector<typename Map::Inputs, Out>;
  static constexpr int kBlock = 256, kItems = 2;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const int lanes = p.lanes, groups = kBlock / lanes, group = int(threadIdx.x) / lanes, lane = int(threadIdx.x) % lanes;
    const bool exclusive = (p.flags & kExclusive) != 0;
    const Index lines = Index(p.kept), step = Index(gridDim.x) * groups;
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * groups; first < lines; first += step) {
      // a group without a line of its own does the last one's steps and writes nothing
      const bool mine = first + group < lines;
      const Line<Map, F, Out, Index, V> line(p, mine ? first + group : lines - 1);
      Acc carry = p.init.template as<Acc>();
#pragma unroll 1
      for (Index at = 0; at < line.n; at += Index(lanes) * V * kItems) {
        Acc e[kItems][V];
#pragma unroll
        for (int k = 0; k < kItems; ++k) line.load(p, at + (Index(k) * lanes + lane) * V, e[k]);
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const Acc before = scan_lanes<F>(e[k], carry, lane, lanes);
          put_before<F>(e[k], before, exclusive);
          if (mine) line.store(p, at + (Index(k) * lanes + lane) * V, e[k]);
        }
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ScanGeneral {
  static constexpr int kBlock = 256;
  static bool accepts(const Problem &, const Device &) { return true; }
  static LaunchConfig configure_row(const char *name, const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kBlock, c.vector = vector_of(p, true), c.items = 1;
    while (c.items < 32 && int64_t(c.items) * c.vector < fastest(p, Role::S)->extent) c.items *= 2;
    c.grid = persistent_grid(name, p, d, ceil_div(p.kept(), kBlock / c.items));
    return c;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) { return configure_row("scan.general", p, d); }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_along", {fold_text(p.op), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
