// scan.lookback: long lines along a contiguous S mode ('S', 'S K'), cut into tiles, read once.
// Blocks take tiles in the order of a ticket, so that the tiles before one's own have been taken. A block adds up a tile and
// publishes the sum; finds what comes before the tile by looking back (Merrill and Garland 2016, "Single-pass Parallel Prefix
// Scan with Decoupled Look-back"); scans it in registers and shared memory, and writes it. It has three tiles in hand: one is
// being read, one is added up, and one, published a round ago, looks back and finds what it looks for. Tiles wait only for
// tiles before them and a block goes through its tiles in order, so that this is safe.
// Unlike theirs the result has the same bits on every run. kScanGroup tiles are a group, and as many groups a section. What
// comes before a tile is the sums of the tiles before it in its group, those of the groups before it in its section, and what
// the section before leads to, each added by a fixed tree. The block of a group's last tile publishes the group's sum, and if
// that ends a section, what it leads to: what is waited for one after another is a section, not a tile.
// What is published is its own flag: a state travels in 64-bit words of 32 bits each and a bit that says 'written', so that
// neither side needs a fence and a wait is one trip to the L2 cache.
// Workspace, zero at the launch: the ticket, padded to 16 bytes; the words of the tiles' sums, of the groups' sums, and of
// what the sections lead to.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int kScanGroup = 4;  // so that a small test has several sections
#else
inline constexpr int kScanGroup = 32;  // one for each lane of a warp
#endif
// 64-bit words that a state of so many bytes travels in.
TCU_FN constexpr int scan_words(int bytes) { return (bytes + 3) / 4; }
// Vectors of a tile for each thread: as many as leave three tiles in registers.
TCU_FN constexpr int scan_items(int vector, int state_bytes) {
  const int n = 128 / (vector * state_bytes);
  return n < 1 ? 1 : n > 4 ? 4 : n;
}
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_lookback {
  using F = Fold<Op, Acc, Index>;
  static constexpr int V = kVector<typename Map::Inputs, Out>;
  static constexpr int kBlock = 256, kResident = 2, kWarps = kBlock / 32, kItems = scan_items(V, sizeof(Acc));
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

  TCU_DEVICE static Acc await(const uint64_t *from) {
    Acc value;
    while (!receive(from, value)) __nanosleep(20);
    return value;
  }

  // By a fixed tree.
  TCU_DEVICE static Acc sum_of_lanes(Acc s) {
#pragma unroll
    for (int h = 16; h > 0; h /= 2) s = F::combine(s, shuffle_xor(s, h));
    return s;
  }
  // Of the published states first..last-1, not more than a warp has lanes.
  TCU_DEVICE static Acc sum_of(const uint64_t *from, Index first, Index last, int lane) {
    return sum_of_lanes(first + lane < last ? await(from + (first + lane) * kWords) : F::identity());
  }

  using Piece = Line<Map, F, Out, Index, V>;
  // Number t of a line: its elements as they are stored, where whole steps are one access.
  struct Tile {
    Index number, t;  // the line's number; -1 where there is no tile
    Piece line;
    Pack<V, typename Map::Inputs> x[kItems];
  };
  TCU_DEVICE static Index step(Index t, int k) {
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    return t * Index(kBlock * kItems * V) + Index((warp * kItems + k) * 32 + lane) * V;
  }
  template <class P>
  TCU_DEVICE static void start(const P &p, int64_t taken, Tile &tile) {
    tile.number = -1;
    if (taken >= p.kept * p.split) return;
    tile.number = p.kept == 1 ? Index(0) : Index(taken) / Index(p.split);
    tile.t = Index(taken) - tile.number * Index(p.split);
    tile.line = Piece(p, tile.number);
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      if (tile.line.whole(step(tile.t, k))) tile.line.fetch(p, step(tile.t, k), tile.x[k]);
  }
  template <class P>
  TCU_DEVICE static void lift(const P &p, const Tile &tile, Acc (&e)[kItems][V]) {
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (tile.line.whole(step(tile.t, k))) tile.line.lift(p, tile.x[k], e[k]);
      else tile.line.load_singly(p, step(tile.t, k), e[k]);
    }
  }
  // A warp's part of the tile.
  template <class P>
  TCU_DEVICE static Acc sum_of_warp(const P &p, const Tile &tile) {
    Acc e[kItems][V];
    lift(p, tile, e);
    Acc s = fold_all<V>(e[0]);
#pragma unroll
    for (int k = 1; k < kItems; ++k) s = F::combine(s, fold_all<V>(e[k]));
    return sum_of_lanes(s);
  }

  // What tiles have published, in the workspace.
  struct Published {
    uint64_t *tiles, *groups, *sections;
    template <class P>
    TCU_DEVICE Published(const P &p, Index line) {
      const int64_t n = p.split, n_groups = (n + kScanGroup - 1) / kScanGroup, n_sections = (n_groups + kScanGroup - 1) / kScanGroup;
      uint64_t *const start = static_cast<uint64_t *>(p.workspace) + 2;
      tiles = start + line * n * kWords;
      groups = start + (p.kept * n + line * n_groups) * kWords;
      sections = start + (p.kept * (n + n_groups) + line * n_sections) * kWords;
    }
  };
  template <class P>
  TCU_DEVICE static Acc before_section(const P &p, const Published &from, Index section) {
    return section == 0 ? p.init.template as<Acc>() : await(from.sections + (section - 1) * kWords);
  }
  // Of what comes before a tile: warp 0 waits for what is in its group, warp 1 for what is in its section before that, warp 2
  // for what is before the section.
  template <class P>
  TCU_DEVICE static Acc before_tile(const P &p, const Tile &tile, int warp, int lane) {
    const Published from(p, tile.number);
    const Index group = tile.t / kScanGroup, section = group / kScanGroup;
    if (warp == 0) return sum_of(from.tiles, group * kScanGroup, tile.t, lane);
    if (warp == 1) return sum_of(from.groups, section * kScanGroup, group, lane);
    return before_section(p, from, section);
  }
  // By a warp, after tile t's sum was published: the sum of its group if it is the group's last, and so of the section.
  template <class P>
  TCU_DEVICE static void publish_group(const P &p, const Published &to, Index t, int lane) {
    if ((t + 1) % kScanGroup != 0) return;
    const Index group = t / kScanGroup, section = group / kScanGroup;
    const Acc sum = sum_of(to.tiles, group * kScanGroup, t + 1, lane);
    if (lane == 0) publish(to.groups + group * kWords, sum);
    if ((group + 1) % kScanGroup != 0) return;
    const Acc all = sum_of(to.groups, section * kScanGroup, group + 1, lane), start = before_section(p, to, section);
    if (lane == 0) publish(to.sections + section * kWords, F::combine(start, all));
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(unsigned, ticket, 1);
    TCU_SHARED(Acc, sums, 3 * kWarps);  // of the warps' parts of a tile; the last round's are read until this round's barrier
    TCU_SHARED(Acc, parts, 3);          // of what comes before a tile: in its group, in its section, before that
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const bool exclusive = (p.flags & kExclusive) != 0;

    const auto take = [&](unsigned n) { return atomicAdd(static_cast<unsigned *>(p.workspace), n); };
    const auto add_up = [&](const Tile &a, int at) {
      const Acc s = sum_of_warp(p, a);
      if (lane == 0) sums[at * kWarps + warp] = s;
    };
    const auto tell = [&](const Tile &a, int at) {
      if (warp != 0 && warp != kWarps - 1) return;
      const Published to(p, a.number);
      if (threadIdx.x == 0) publish(to.tiles + a.t * kWords, fold_all<kWarps>(sums + at * kWarps));
      if (warp == kWarps - 1) publish_group(p, to, a.t, lane);
    };

    if (threadIdx.x == 0) ticket[0] = take(2);
    __syncthreads();
    Tile tile, next, after;
    start(p, ticket[0], tile);
    start(p, int64_t(ticket[0]) + 1, next);
    if (tile.number < 0) return;
    add_up(tile, 0);
    __syncthreads();
    tell(tile, 0);
#pragma unroll 1
    for (int at = 0; tile.number >= 0;) {
      const int next_at = at == 2 ? 0 : at + 1;
      unsigned taken = 0;
      if (threadIdx.x == 0) taken = take(1);
      if (next.number >= 0) add_up(next, next_at);
      if (threadIdx.x == 0) ticket[0] = taken;
      __syncthreads();
      start(p, ticket[0], after);
      if (next.number >= 0) tell(next, next_at);

      Acc e[kItems][V], below[kItems], all[kItems];
      lift(p, tile, e);
      scan_lanes<F>(e, below, all, lane, 32);
      if (warp < 3) {
        const Acc part = before_tile(p, tile, warp, lane);
        if (lane == 0) parts[warp] = part;
      }
      __syncthreads();
      Acc base = F::combine(F::combine(parts[2], parts[1]), parts[0]);
#pragma unroll
      for (int w = 0; w < kWarps - 1; ++w)
        if (w < warp) base = F::combine(base, sums[at * kWarps + w]);
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        put_before<F>(e[k], lane == 0 ? base : F::combine(base, below[k]), exclusive);
        tile.line.store(p, step(tile.t, k), e[k]);
        base = F::combine(base, all[k]);
      }
      tile = next, next = after, at = next_at;
    }
  }

  // One after another.
  template <int n>
  TCU_DEVICE static Acc fold_all(const Acc *s) {
    Acc sum = s[0];
#pragma unroll
    for (int k = 1; k < n; ++k) sum = F::combine(sum, s[k]);
    return sum;
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_across.cuh"

namespace tcu::cuda::rows {

struct ScanLookback {
  static constexpr int kBlock = 256;
  static int items(const Problem &p) { return scan_items(vector_of(p, true), bytes_of(p.acc)); }
  static int64_t tile(const Problem &p) { return int64_t(kBlock) * items(p) * vector_of(p, true); }
  static bool accepts(const Problem &p, const Device &d) {
    const int64_t n = fastest(p, Role::S)->extent;
    // Lines of which there are enough, one warp each, are left to scan.lines unless they are very long.
    return ScanLines::contiguous(p) && n > tile(p) && (n >= 64 * tile(p) || p.kept() < int64_t(d.processors) * 32) &&
           ceil_div(n, tile(p)) * p.kept() < (int64_t(1) << 31);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kBlock, c.vector = vector_of(p, true), c.items = items(p);
    c.chunk = tile(p);
    c.split = ceil_div(fastest(p, Role::S)->extent, c.chunk);
    const int64_t groups = ceil_div(c.split, kScanGroup), states = (c.split + groups + ceil_div(groups, kScanGroup)) * p.kept();
    c.grid = persistent_grid("scan.lookback", p, d, c.split * p.kept());
    c.zeroed_bytes = c.workspace_bytes = size_t(16 + states * scan_words(bytes_of(p.acc)) * 8);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_lookback", {fold_text(p.op), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
