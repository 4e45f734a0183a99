// scan.lookback: long lines along a contiguous S mode ('S', 'S K'), cut into tiles, read once.
// Blocks take tiles in the order of a ticket, so that the tiles before one's own have been taken. A block adds up a tile and
// publishes the sum; learns what comes before the tile; scans it in registers and writes it. What comes before a tile it does
// not find out for itself, as in decoupled look-back (Merrill and Garland 2016, "Single-pass Parallel Prefix Scan with
// Decoupled Look-back"): the block with the first ticket looks back for all of them. It follows the published sums, scans them
// in batches, and publishes what comes before each. So a tile waits for one word, one trip behind the slowest
// tile before it, and the order in which sums are added is fixed: the result has the same bits on every run.
// A block has p.detail tiles in hand (kScanTiles at most) in shared memory, and goes through them in order: the newest is on its
// way; kReading rounds later it is added up and published; in its last round it is scanned and written. With p.detail = 0
// shared memory has no room for them, and elements are read where they are used, twice.
// Workspace, zero at the launch and at the end: the ticket and the number of blocks that are done, padded to 16 bytes; the words
// (device/published.cuh) of the tiles' sums; those of what comes before them. Who reads a word last clears it.
// Two blocks must be resident at once: the one that looks back, and another.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/published.cuh"
#include "device/scan.cuh"
#include "device/stages.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int kScanBatch = 4;  // so that a small test has many
#else
inline constexpr int kScanBatch = 32;  // one tile for each lane of a warp
#endif
inline constexpr int kScanTiles = 4;
// Vectors of a tile for each thread: what keeps 64 bytes of the inputs in shared memory and 128 of states in registers.
TCU_FN constexpr int scan_items(int vector, int input_bytes, int state_bytes) {
  int n = 4;
  while (n > 1 && (n * vector * input_bytes > 64 || n * vector * (state_bytes < 4 ? 4 : state_bytes) > 128)) n /= 2;
  return n;
}
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_lookback {
  using F = ScanFold<Op, Acc, Index>;
  using W = Published<Acc>;
  using Inputs = typename Map::Inputs;
  static constexpr int V = kVector<Inputs, Out>;
  static constexpr int kResident = 3, kWarps = kThreads / 32;
  static constexpr int kItems = scan_items(V, bytes_of_all<Inputs>::value, sizeof(Acc));
  static constexpr int kReading = 1, kTickets = 2 * kScanTiles;
  static constexpr Index kTile = Index(kThreads) * kItems * V;
  using Ahead = Stages<Inputs, V, kThreads, kItems>;

  // A tile, and its line, which is found anew where it is another than the last tile's. A thread's vectors are kBetween elements
  // from each other; where they lie is added up, not worked out for each.
  struct Tile {
    static constexpr int kBetween = 32 * V;
    Index number = -1, t = 0;  // of the line; of the tile in it
    Line<Map, F, Out, Index, V> line;
    Index start = 0;           // of the thread's first vector, in memory
    int left = 0;              // elements from there to the tile's or the line's end

    template <class P>
    TCU_DEVICE void go(const P &p, Index tile) {
      const Index n = p.kept == 1 ? Index(0) : tile / Index(p.split);
      t = tile - n * Index(p.split);
      if (n != number) number = n, line = Line<Map, F, Out, Index, V>(p, n);
      const Index rest = line.n - t * kTile;
      left = (rest < kTile ? int(rest) : int(kTile)) - first();
      start = line.memory(t * kTile + first(), V);
    }
    // Of the thread's first vector in the tile.
    TCU_DEVICE static int first() {
      const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
      return (warp * kItems * 32 + lane) * V;
    }
    // The k-th vector: whether it is one access of every operand; where it lies in memory; its element of the line.
    TCU_DEVICE bool whole(int k) const { return V > 1 && line.plain && k * kBetween + V <= left; }
    TCU_DEVICE Index memory(int k) const { return line.reverse ? start - k * kBetween : start + k * kBetween; }
    TCU_DEVICE Index at(int k) const { return t * kTile + first() + k * kBetween; }
    template <class P>
    TCU_DEVICE void fetch(const P &p, const Ahead &stages, int stage) const {
#pragma unroll
      for (int k = 0; k < kItems; ++k)
        if (whole(k)) stages.fetch(p, line.o, memory(k), stage, k);
    }
    template <class P>
    TCU_DEVICE void lift(const P &p, const Ahead &stages, bool staged, int stage, Acc (&e)[kItems][V]) const {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (whole(k)) {
          Pack<V, Inputs> x;
          if (staged) stages.read(x, stage, k);
          else line.fetch(p, at(k), x);
          line.lift(p, x, e[k]);
        } else {
          line.load_singly(p, at(k), e[k]);
        }
      }
    }
    template <class P>
    TCU_DEVICE void store(const P &p, int k, const Acc (&y)[V]) const {
      if (whole(k)) line.store_whole(p, memory(k), y);
      else line.store_singly(p, at(k), y);
    }
  };

  // What comes before every tile, by the whole block: a warp asks for a batch of sums and scans them, then the batches are
  // chained. Lane l's result needs the lanes and batches before it only: it is told as soon as these are there.
  template <class P>
  TCU_DEVICE static void look_back(const P &p, Index tiles, uint64_t *sums, uint64_t *before) {
    TCU_SHARED(Acc, totals, 2 * kWarps);  // of a batch, or of its part in the line that its last tile is in; by parity of the round
    TCU_SHARED(bool, starts, 2 * kWarps);  // whether that line starts in the batch
    TCU_SHARED(int, there, 2 * kWarps);    // tiles of a batch whose sums are known, with all before them in it
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const Acc init = p.init.template as<Acc>();
    Acc carry = init;  // what the batches before tile `first` lead to
    Index first = 0;
    int told = 0;  // tiles of the batch there
#pragma unroll 1
    for (int parity = 0; first + told < tiles; parity ^= kWarps) {
      const Index t = first + warp * kScanBatch + lane;
      W w = {};
      if (lane < kScanBatch && t < tiles) w = W::ask(sums + t * W::kWords);
      const unsigned missing = ~__ballot_sync(kAllLanes, w.written());
      const int known = missing ? __ffs(int(missing)) - 1 : 32;
      const Index in_line = p.kept == 1 ? t : t % Index(p.split);
      Acc s = lane < known ? w.value() : F::identity();
#pragma unroll
      for (int h = 1; h < kScanBatch; h *= 2) {
        const Acc below = shuffle_up(s, h, 32);
        if (lane >= h && in_line >= h) s = F::combine(below, s);
      }
      const Acc below = shuffle_up(s, 1, 32);
      if (lane == kScanBatch - 1) totals[parity + warp] = s, starts[parity + warp] = in_line <= lane, there[parity + warp] = known;
      __syncthreads();
      int whole = 0;  // batches, one after another
      Acc mine = carry;
#pragma unroll 1
      for (; whole < kWarps && there[parity + whole] == kScanBatch; ++whole) {
        if (whole == warp) mine = carry;
        carry = F::combine(starts[parity + whole] ? init : carry, totals[parity + whole]);
      }
      if (whole == warp) mine = carry;
      if (warp <= whole && lane >= (warp == 0 ? told : 0) && lane < known) {
        const Acc start = in_line <= lane ? init : mine;
        W::publish(before + t * W::kWords, lane == 0 || in_line == 0 ? start : F::combine(start, below));
      }
      told = whole < kWarps ? there[parity + whole] : 0;
      const bool end = first + whole * kScanBatch + told >= tiles;
      if (warp < whole + end && lane < known) W::clear(sums + t * W::kWords);
      first += whole * kScanBatch;
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    TCU_SHARED(unsigned, tickets, kTickets);
    TCU_SHARED(Acc, sums, kScanTiles * kWarps);  // of the warps' parts of the tiles in hand
    const Ahead stages(shared);
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const bool exclusive = (p.flags & kExclusive) != 0, staged = p.detail > 0;
    const int n_stages = staged ? p.detail : kScanTiles;
    const Index tiles = Index(p.kept) * Index(p.split);
    uint64_t *const published = static_cast<uint64_t *>(p.zeroed) + 2, *const before = published + int64_t(tiles) * W::kWords;
    unsigned *const counters = static_cast<unsigned *>(p.zeroed);
    const auto take = [&] { return atomicAdd(counters, 1u); };
    const auto leave = [&] {
      if (threadIdx.x == 0 && atomicAdd(counters + 1, 1u) + 1 == gridDim.x) counters[0] = counters[1] = 0;
    };

    if (threadIdx.x == 0) tickets[0] = take();
    __syncthreads();
    if (tickets[0] == 0) {
      look_back(p, tiles, published, before);
      return leave();
    }
    const auto tile_of = [&](int round) { return int64_t(tickets[round % kTickets]) - 1; };
    const auto next = [&](int stage) { return stage + 1 == n_stages ? 0 : stage + 1; };
    Tile read, add, put;
    int read_stage = 0, add_stage = 0, put_stage = 0;
    int64_t last = -1;  // tile that was written in the last round
#pragma unroll 1
    for (int round = 0;; ++round) {
      const bool reads = tile_of(round) < tiles;
      unsigned taken = unsigned(tiles) + 1;
      if (threadIdx.x == 0 && reads) taken = take();
      if (reads) {
        read.go(p, Index(tile_of(round)));
        if (staged) read.fetch(p, stages, read_stage);
      }
      end_of_copies();
      read_stage = next(read_stage);

      const bool adds = round >= kReading && tile_of(round - kReading) < tiles;
      if (adds) {
        add.go(p, Index(tile_of(round - kReading)));
        await_copies<kReading>();
        Acc e[kItems][V];
        add.lift(p, stages, staged, add_stage, e);
        const Acc s = sum_of_warp(e);
        if (lane == 0) sums[add_stage * kWarps + warp] = s;
      }
      if (threadIdx.x == 0) tickets[(round + 1) % kTickets] = taken;
      __syncthreads();
      if (adds && threadIdx.x == 0)
        W::publish(published + tile_of(round - kReading) * W::kWords, fold_all<kWarps>(sums + add_stage * kWarps));
      if (round >= kReading) add_stage = next(add_stage);
      if (last >= 0 && threadIdx.x == 0) W::clear(before + last * W::kWords);  // every warp has read it

      if (round < n_stages - 1) continue;
      const int64_t tile = tile_of(round - (n_stages - 1));
      if (tile >= tiles) break;
      last = tile;
      W known = W::ask(before + tile * W::kWords);  // long there, mostly, and then on its way while the tile is scanned
      put.go(p, Index(tile));
      Acc e[kItems][V], below[kItems], all[kItems];
      put.lift(p, stages, staged, put_stage, e);
      scan_lanes<F>(e, below, all, lane, 32);
      Acc base = known.wait(before + tile * W::kWords);
#pragma unroll
      for (int w = 0; w < kWarps - 1; ++w)
        if (w < warp) base = F::combine(base, sums[put_stage * kWarps + w]);
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        put_before<F>(e[k], lane == 0 ? base : F::combine(base, below[k]), exclusive);
        put.store(p, k, e[k]);
        base = F::combine(base, all[k]);
      }
      put_stage = next(put_stage);
    }
    leave();
  }

  TCU_DEVICE static Acc sum_of_warp(const Acc (&e)[kItems][V]) {
    Acc s = fold_all<V>(e[0]);
#pragma unroll
    for (int k = 1; k < kItems; ++k) s = F::combine(s, fold_all<V>(e[k]));
#pragma unroll
    for (int h = 16; h > 0; h /= 2) s = F::combine(s, shuffle_xor(s, h));
    return s;
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
  static int input_bytes(const Problem &p) {
    int bytes = 0;
    for (int i = 0; i < p.n_inputs; ++i) bytes += bytes_of(p.in[i]);
    return bytes;
  }
  static int64_t tile(const Problem &p) {
    const int v = vector_of(p, true);
    return int64_t(kThreads) * scan_items(v, input_bytes(p), bytes_of(p.acc)) * v;
  }
  static bool accepts(const Problem &p, const Device &d) {
    const int64_t n = fastest(p, Role::S)->extent;
    // Lines of which there are enough, one warp each, are left to scan.lines unless they are very long.
    return ScanLines::contiguous(p) && n > tile(p) && (n >= 64 * tile(p) || p.kept() < int64_t(d.processors) * 32) &&
           ceil_div(n, tile(p)) * p.kept() < (int64_t(1) << 31) - 1 && d.processors > 1;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true), c.chunk = tile(p);
    c.split = ceil_div(fastest(p, Role::S)->extent, c.chunk);
    const int64_t tiles = c.split * p.kept(), stage = c.chunk * input_bytes(p), room = d.shared_bytes - 2048;
    if (c.vector > 1 && room >= 3 * stage) {
      c.detail = int(std::min<int64_t>(room / stage, kScanTiles));
      c.shared_bytes = int(c.detail * stage);
    }
    c.grid = std::max<int64_t>(persistent_grid("scan.lookback", p, d, tiles + 1), 2);
    c.leaves_zero = true;
    c.zeroed_bytes = c.workspace_bytes = size_t(16 + 2 * tiles * published_words(bytes_of(p.acc)) * 8);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_lookback", {fold_text(p), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
