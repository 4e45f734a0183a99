// scan.tcu.lookback: sums along long lines of a contiguous S mode ('S', 'S K'), read once; 16-bit floats and 8-bit integers, on tensor
// cores. scan.lookback with its tiles added up and scanned by products (kernels/scan_tcu_part.cuh): what comes before a tile is found out,
// and waited for, as there, and so are the workspace and the order of blocks. For pins.
// In place: a tile is read before it is written.
#pragma once
#include "kernels/scan_tcu_part.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, Across kAcross>
struct scan_tcu_lookback {
  using F = ScanFold<Op, Acc, Index>;
  using Lines = TensorLine<Map, F, Out, Index>;
  using LookBack = scan_lookback<Map, Op, Acc, Out, Index, 1>;
  static constexpr int kResident = Lines::Part::kResident, kWarps = Lines::Part::kWarps;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    TCU_SHARED(uint64_t, barrier, 1);
    TCU_SHARED(Acc, sums, kWarps);
    TCU_SHARED(Acc, earlier, 1);
    const Arrival arrival(barrier);
    const int tiles = int(p.kept * p.split), block = int(block_in_order(static_cast<unsigned *>(p.zeroed)));
    const auto ring = LookBack::ring_of(p);
    if (block == 0) return LookBack::look_back(p, tiles, ring);

    const Index number = p.kept == 1 ? Index(0) : Index((block - 1) / int(p.split));
    const typename Lines::Tile tile(p, shared, number, block - 1 - number * Index(p.split));
    Published<Acc> slot = {};
    if (threadIdx.x == 0) slot = ring.place(block - 1, 0);
    tile.fetch(arrival, p);
    const auto part = Lines::part(tile);
    typename Lines::Part::Quads quads;
    const Acc sum = Lines::template sum<kAcross>(tile, part, quads);
    if (Lines::Part::lane() == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) earlier[0] = ring.ask_back(block - 1, tiles, 0, LookBack::template fold_all<kWarps>(sums), slot);
    __syncthreads();
    Lines::template scan<kAcross>(p, tile, part, quads, Lines::before(earlier[0], sums));
    if (!p.reads_out()) tile.drain(p);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ScanTcuLookback : ScanTcuLine {
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c = launch("scan.tcu.lookback", p, d);
    ScanLookback::make_room(c, p.kept(), scan_state_bytes(p));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) { return make_instance(p, "scan_tcu_lookback", {across(c)}); }
};

}  // namespace tcu::cuda::rows
#endif
