// scan.tcu.three_launches: sums along long lines of a contiguous S mode ('S', 'S K'), 16-bit floats and 8-bit integers on tensor cores, by
// the grid level of Dakkak et al. 2019 ("Accelerating reduction and scan using tensor core units", 5.3): three launches, so that no block
// waits for another. For pins: a line is read twice.
// p.lanes says which launch it is. The first leaves each tile's sum in the workspace, a number of the accumulator's type a tile; in the
// second a block a line scans those, on ordinary cores, to what comes before each tile; the third scans the tiles from there on. (The
// paper's first writes a scan of each tile, and its third adds to that: in 16 bits this would round twice, and move more bytes.)
// In place: no line is written before the last launch, in which a tile is read before it is written.
#pragma once
#include "kernels/scan_tcu_part.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, Across kAcross>
struct scan_tcu_three_launches {
  using F = ScanFold<Op, Acc, Index>;
  using Lines = TensorLine<Map, F, Out, Index>;
  static constexpr int kResident = Lines::Part::kResident, kWarps = Lines::Part::kWarps, kEach = 8;  // tiles of a thread

  // A line's sums, so many, in place.
  template <class P>
  TCU_DEVICE static void scan_sums(const P &p, Acc *sums, Acc *shared) {
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    Acc before = p.init.template as<Acc>();
#pragma unroll 1
    for (Index at = 0; at < Index(p.split); at += kScanBlock * kEach) {
      const Index first = at + Index(threadIdx.x) * kEach;
      Acc e[1][kEach], below[1], all[1];
#pragma unroll
      for (int v = 0; v < kEach; ++v) e[0][v] = first + v < Index(p.split) ? sums[first + v] : F::identity();
      scan_lanes<F>(e, below, all, lane, 32);
      if (lane == 0) shared[warp] = all[0];
      __syncthreads();
      Acc mine = before;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        if (w == warp) mine = before;
        before = F::combine(before, shared[w]);
      }
      Acc y[kEach];
      put_before<F>(p, e[0], lane == 0 ? mine : F::combine(mine, below[0]), true, y);
#pragma unroll
      for (int v = 0; v < kEach; ++v)
        if (first + v < Index(p.split)) sums[first + v] = y[v];
      __syncthreads();
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    TCU_SHARED(uint64_t, barrier, 1);
    TCU_SHARED(Acc, sums, kWarps);
    const Index block = Index(blockIdx.x);
    Acc *const tiles = static_cast<Acc *>(p.workspace);
    if (p.lanes == 2) return scan_sums(p, tiles + block * Index(p.split), sums);
    const Arrival arrival(barrier);
    const Index number = p.kept == 1 ? Index(0) : block / Index(p.split);
    const typename Lines::Tile tile(p, shared, number, block - number * Index(p.split));
    tile.fetch(arrival, p);
    const auto part = Lines::part(tile);
    typename Lines::Part::Quads quads;
    const Acc sum = Lines::template sum<kAcross>(tile, part, quads);
    if (Lines::Part::lane() == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (p.lanes == 1) {
      if (threadIdx.x > 0) return;
      Acc all = sums[0];
#pragma unroll
      for (int w = 1; w < kWarps; ++w) all = F::combine(all, sums[w]);
      tiles[block] = all;
      return;
    }
    Lines::template scan<kAcross>(p, tile, part, quads, Lines::before(tiles[block], sums));
    if (!p.reads_out()) tile.drain(p);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ScanTcuThreeLaunches : ScanTcuLine {
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c = launch("scan.tcu.three_launches", p, d);
    c.grid = c.split * p.kept();
    c.workspace_bytes = size_t(c.grid * bytes_of(p.acc));
    return c;
  }
  template <class Launch>
  static void each_launch(const Plan &plan, Launch launch) {
    for (int k = 0; k < 3; ++k) {
      LaunchConfig c = plan.config;
      c.lanes = k + 1;
      if (k == 1) c.grid = plan.problem.kept(), c.shared_bytes = 0;
      launch(c);
    }
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) { return make_instance(p, "scan_tcu_three_launches", {across(c)}); }
};

}  // namespace tcu::cuda::rows
#endif
