// scan.lookback: long lines along a contiguous S mode ('S', 'S K'), cut into tiles, read once.
// Blocks take tiles in the order of a ticket, so that the tiles before one's own have started. A block scans its tile in
// registers and shared memory, publishes the tile's sum, and finds what comes before the tile by looking back (Merrill and
// Garland 2016, "Single-pass Parallel Prefix Scan with Decoupled Look-back").
// Unlike theirs the result has the same bits on every run: tiles form groups of kGroup; a tile waits for the sums of all
// tiles before it in its group, which wait for nobody, adds them by a fixed tree, and adds what the group before has
// published, which its last tile finds in the same way. What is waited for one after another is a group, not a tile.
// What is published is its own flag: a state travels in 64-bit words of 32 bits each and a bit that says 'written', so that
// neither side needs a fence and a wait is one trip to the L2 cache.
// Workspace, zero at the launch: the ticket, padded to 16 bytes; the words of the tiles' sums; those of the groups' results.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int kScanGroup = 32;  // so that a small test has several
#else
inline constexpr int kScanGroup = 256;
#endif
// 64-bit words that a state of so many bytes travels in.
TCU_FN constexpr int scan_words(int bytes) { return (bytes + 3) / 4; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_lookback {
  using F = Fold<Op, Acc, Index>;
  static constexpr int V = kVector<typename Map::Inputs, Out>;
  static constexpr int kBlock = 256, kWarps = kBlock / 32, kItems = 4, kPerLane = kScanGroup / 32;

  static constexpr int kWords = scan_words(sizeof(Acc));

  union Pieces {
    Acc value;
    uint32_t word[kWords];
    TCU_DEVICE Pieces() : word{} {}
  };
  TCU_DEVICE static void publish(uint64_t *to, Acc value) {
    Pieces x;
    x.value = value;
#pragma unroll
    for (int k = 0; k < kWords; ++k) store_relaxed(to + k, uint64_t(1) << 32 | x.word[k]);
  }
  // False if it is not there yet.
  TCU_DEVICE static bool receive(const uint64_t *from, Acc &value) {
    Pieces x;
    bool written = true;
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      const uint64_t w = load_relaxed(from + k);
      x.word[k] = uint32_t(w);
      written &= w >> 32 != 0;
    }
    value = x.value;
    return written;
  }

  // The fold of what comes before tile t of a line: by the lanes of one warp. sums: the line's tiles'; results: its groups'.
  template <class P>
  TCU_DEVICE static Acc before_tile(const P &p, const uint64_t *sums, uint64_t *results, Index t, Acc own, int lane) {
    const Index group = t / kScanGroup, first = group * kScanGroup + lane;
    Acc carry = p.init.template as<Acc>(), sum[kPerLane];
    for (;;) {  // all that a lane waits for in flight at once
      bool written = group == 0 || receive(results + (group - 1) * kWords, carry);
#pragma unroll
      for (int q = 0; q < kPerLane; ++q) {
        sum[q] = F::identity();
        if (first + q * 32 < t) written &= receive(sums + (first + q * 32) * kWords, sum[q]);
      }
      if (written) break;
      __nanosleep(20);
    }
    Acc s = sum[0];
#pragma unroll
    for (int q = 1; q < kPerLane; ++q) s = F::combine(s, sum[q]);
#pragma unroll
    for (int h = 16; h > 0; h /= 2) s = F::combine(s, shuffle_xor(s, h));
    s = F::combine(carry, s);
    if (lane == 0 && (t + 1) % kScanGroup == 0 && t + 1 < Index(p.split)) publish(results + group * kWords, F::combine(s, own));
    return s;
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(unsigned, ticket, 1);
    TCU_SHARED(Acc, warp_sums, kWarps + 1);  // and what comes before the tile
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const bool exclusive = (p.flags & kExclusive) != 0;
    const Index tiles = Index(p.split), groups = (tiles + kScanGroup - 1) / kScanGroup;
    uint64_t *const sums = static_cast<uint64_t *>(p.workspace) + 2, *const results = sums + Index(p.kept) * tiles * kWords;
#pragma unroll 1
    for (;;) {
      if (threadIdx.x == 0) ticket[0] = atomicAdd(static_cast<unsigned *>(p.workspace), 1u);
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
        uint64_t *const line_sums = sums + line_index * tiles * kWords;
        if (lane == 0) publish(line_sums + t * kWords, own);
        const Acc s = before_tile(p, line_sums, results + line_index * groups * kWords, t, own, lane);
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
    c.zeroed_bytes = c.workspace_bytes = size_t(16 + (tiles + groups) * scan_words(bytes_of(p.acc)) * 8);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_lookback", {fold_text(p.op), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
