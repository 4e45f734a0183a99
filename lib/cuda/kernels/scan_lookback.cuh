// scan.lookback: long lines along a contiguous S mode ('S', 'S K'), cut into tiles, read once.
// Blocks take tiles in the order of a ticket, so that the tiles before one's own have started. A block scans its tile in
// registers and shared memory, publishes the tile's sum, and finds what comes before the tile by looking back (Merrill and
// Garland 2016, "Single-pass Parallel Prefix Scan with Decoupled Look-back").
// Unlike theirs the result has the same bits on every run: tiles form groups of kGroup; a tile waits for the sums of all
// tiles before it in its group, which wait for nobody, adds them by a fixed tree, and adds what the group before has
// published, which its last tile finds in the same way. What is waited for one after another is a group, not a tile.
// Workspace: the ticket, padded to 16 bytes; a flag a tile, a flag a group, padded; the tiles' sums, the groups' results.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
inline constexpr int kScanGroup = 128;
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_lookback {
  using F = Fold<Op, Acc, Index>;
  static constexpr int V = kVector<typename Map::Inputs, Out>;
  static constexpr int kBlock = 256, kWarps = kBlock / 32, kItems = 4, kPerLane = kScanGroup / 32;

  struct Board {
    unsigned *ticket, *tile_flags, *group_flags;
    Acc *sums, *results;
  };
  template <class P>
  TCU_DEVICE static Board board(const P &p, int64_t groups) {
    const int64_t tiles = p.kept * p.split, all_groups = p.kept * groups;
    Board b;
    b.ticket = static_cast<unsigned *>(p.workspace);
    b.tile_flags = b.ticket + 4;
    b.group_flags = b.tile_flags + tiles;
    b.sums = reinterpret_cast<Acc *>(b.ticket + (4 + tiles + all_groups + 3) / 4 * 4);
    b.results = b.sums + tiles;
    return b;
  }
  TCU_DEVICE static void wait(const unsigned *flag) {
    while (load_acquire(flag) == 0) __nanosleep(32);
  }

  // The fold of what comes before tile t of a line: by the lanes of one warp. sums, flags: the line's.
  template <class P>
  TCU_DEVICE static Acc before_tile(const P &p, const Board &b, Index line, Index t, Index groups, Acc own, int lane) {
    const Index group = t / kScanGroup;
    Acc s = F::identity();
#pragma unroll
    for (int q = 0; q < kPerLane; ++q) {
      const Index other = group * kScanGroup + lane * kPerLane + q;
      if (other < t) {
        wait(b.tile_flags + (line * Index(p.split) + other));
        s = F::combine(s, b.sums[line * Index(p.split) + other]);
      }
    }
#pragma unroll 1
    for (int h = 16; h > 0; h /= 2) s = F::combine(s, shuffle_xor(s, h));
    Acc carry = p.init.template as<Acc>();
    if (group > 0) {
      const Index last = line * groups + group - 1;
      wait(b.group_flags + last);
      carry = b.results[last];
    }
    s = F::combine(carry, s);
    if (lane == 0 && (t + 1) % kScanGroup == 0 && t + 1 < Index(p.split)) {
      b.results[line * groups + group] = F::combine(s, own);
      store_release(b.group_flags + (line * groups + group), 1u);
    }
    return s;
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(unsigned, ticket, 1);
    TCU_SHARED(Acc, warp_sums, kWarps + 1);  // and what comes before the tile
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const bool exclusive = (p.flags & kExclusive) != 0;
    const Index tiles = Index(p.split), groups = (tiles + kScanGroup - 1) / kScanGroup;
    const Board b = board(p, int64_t(groups));
#pragma unroll 1
    for (;;) {
      if (threadIdx.x == 0) ticket[0] = atomicAdd(b.ticket, 1u);
      __syncthreads();
      const int64_t taken = ticket[0];
      if (taken >= p.kept * p.split) return;
      const Index line_index = Index(taken) / tiles, t = Index(taken) - line_index * tiles;
      const Line<Map, F, Out, Index, V> line(p, line_index);
      const Index from = t * Index(kBlock * kItems * V) + Index(warp * kItems * 32 + lane) * V;

      Acc e[kItems][V], before[kItems];
#pragma unroll
      for (int k = 0; k < kItems; ++k) line.load(p, from + k * 32 * V, e[k]);
      Acc sum = F::identity();
#pragma unroll
      for (int k = 0; k < kItems; ++k) before[k] = scan_lanes<F>(e[k], sum, lane, 32);
      if (lane == 0) warp_sums[warp] = sum;
      __syncthreads();
      if (warp == 0) {
        Acc own = F::identity();
#pragma unroll
        for (int w = 0; w < kWarps; ++w) own = F::combine(own, warp_sums[w]);
        if (lane == 0) {
          b.sums[line_index * tiles + t] = own;
          store_release(b.tile_flags + (line_index * tiles + t), 1u);
        }
        const Acc s = before_tile(p, b, line_index, t, groups, own, lane);
        if (lane == 0) warp_sums[kWarps] = s;
      }
      __syncthreads();
      Acc base = warp_sums[kWarps];
#pragma unroll 1
      for (int w = 0; w < warp; ++w) base = F::combine(base, warp_sums[w]);
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        put_before<F>(e[k], F::combine(base, before[k]), exclusive);
        line.store(p, from + k * 32 * V, e[k]);
      }
      __syncthreads();  // shared memory is written again
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_across.cuh"

namespace tcu::cuda::rows {

struct ScanLookback {
  static constexpr int kBlock = 256, kItems = 4;
  static int64_t tile(const Problem &p) { return int64_t(kBlock) * kItems * vector_of(p, true); }
  static bool accepts(const Problem &p, const Device &d) {
    const int64_t n = fastest(p, Role::S)->extent;
    // Lines of which there are enough, one warp each, are left to scan.lines unless they are very long.
    return ScanLines::contiguous(p) && n > tile(p) && (n >= 64 * tile(p) || p.kept() < int64_t(d.processors) * 32) &&
           ceil_div(n, tile(p)) * p.kept() < (int64_t(1) << 31);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kBlock, c.vector = vector_of(p, true), c.items = kItems;
    c.chunk = tile(p);
    c.split = ceil_div(fastest(p, Role::S)->extent, c.chunk);
    const int64_t tiles = c.split * p.kept(), groups = ceil_div(c.split, kScanGroup) * p.kept();
    c.grid = persistent_grid("scan.lookback", p, d, tiles);
    c.zeroed_bytes = size_t(ceil_div(4 + tiles + groups, 4) * 16);
    c.workspace_bytes = c.zeroed_bytes + size_t((tiles + groups) * bytes_of(p.acc));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_lookback", {fold_text(p.op), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
