// scan.lookback: long lines, cut into tiles, read once; along a contiguous S mode ('S', 'S K') if they are to be fast. scan.interleaved: the
// same of K lines whose elements alternate ('K S', 'K S K'), which below are a line.
// A block has one tile, in shared memory. It adds the tile up and publishes the sum; learns what comes before the tile; scans it where it
// lies and writes it. What comes before a tile it does not find out for itself, as in decoupled look-back (Merrill and Garland 2016,
// "Single-pass Parallel Prefix Scan with Decoupled Look-back"): the first block looks back for all of them. It follows the published
// sums, scans them in batches, and publishes what comes before each. So a tile waits for one word, one trip behind the slowest tile
// before it, and the order in which sums are added is fixed: the result has the same bits on every run.
// The machine itself copies a tile to shared memory and back (device/bulk.cuh), so that no thread has loads in flight; what counts is how
// many tiles wait on a multiprocessor (some eight, of 26 KB) and how few threads ask for the word they wait for (one of a block).
// A thread has an odd number of vectors, one after another, so that threads which read one vector each of shared memory meet in no bank.
// Blocks are taken to begin in the order of their numbers (block_in_order): they wait for blocks of lower numbers only.
// Workspace, zero at the launch and at the end: a counter, padded to 16 bytes; rings of words (device/tile_ring.cuh) for the tiles' sums and
// for what comes before them.
// Two blocks must be resident at once: the one that looks back, and another.
// In place: a tile is read before it is written.
#pragma once
#include "device/interleaved.cuh"
#include "device/tile.cuh"
#include "device/tile_ring.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int kScanBatch = 4;  // so that a small test has many
#else
inline constexpr int kScanBatch = 32;  // one tile for each lane of a warp
#endif
inline constexpr int kScanBlock = 128;  // threads; with 256 the same bytes wait for each other longer
// Vectors of a thread: what keeps 208 bytes a thread in shared memory, so that eight tiles wait on a multiprocessor, and 288, for six, where
// it holds several operands of an element, so that tiles are not so short that the block that looks back falls behind. Of interleaved lines
// they hold as many elements each.
TCU_FN constexpr int scan_items(int vector, int element_bytes, bool several, int lines = 1) {
  const int n = (several ? 288 : 208) / (vector * element_bytes);
  int whole = 1;
  while (whole * vector % lines != 0) ++whole;
  if (whole > 1) return whole * (n + 2 < 2 * whole ? 1 : ((n + 2) / whole - 1) / 2 * 2 + 1);
  return n < 2 ? 1 : (n - 1) / 2 * 2 + 1;
}
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// A block's tile of a line, or of K interleaved ones, the t-th of line `number`. Places of a line's tiles are counted in the order of the scan,
// from the line's first element or, p.detail, from the start of the 128 bytes that it is in; in a tile they lie in the order of memory.
// begin..end-1 of a tile's hold elements.
template <class Map, class F, class Out, class Index, int V, int kTile, int K = 1>
struct LineTile {
  Line<Map, F, Out, Index, V> line;
  Tile<typename Map::Inputs, Out, V, kTile> data;
  Index first, memory;  // of the line's places, the first; where in memory the tile's elements begin
  int begin, end, count, place;

  // The mode of a place's neighbours.
  template <class P>
  TCU_DEVICE static int mode(const P &p) { return K > 1 ? 0 : p.n_kept; }
  template <class P>
  TCU_DEVICE LineTile(const P &p, Slot *shared, Index number, Index t) : line(p, number * K, false), data(shared) {
    line.n *= K;
    int skew = 0;
    if (p.detail) skew = data.skew(p, line.o, mode(p), line.reverse ? line.n : Index(0), line.reverse);
    begin = t == 0 ? skew : 0;
    first = t * kTile - skew;
    const Index rest = line.n - first;
    end = rest < kTile ? rest < begin ? begin : int(rest) : kTile, count = end - begin;
    place = line.reverse ? kTile - end : begin;
    memory = line.memory(first + begin, count);
  }
  template <class P>
  TCU_DEVICE void look_ahead(const P &p) const { data.look_ahead(p, line.o, mode(p), memory, count); }
  template <class P>
  TCU_DEVICE void fetch(const Arrival &arrival, const P &p) const {
    data.fetch(arrival, p, line.o, mode(p), memory, place, count);
    arrival.wait();
  }
  template <class P>
  TCU_DEVICE void drain(const P &p) const {
    const Index stride = Index(p.mode[mode(p)].out);
    data.drain(static_cast<Out *>(p.out) + (line.o.out + memory * stride), stride, place, count);
    await_drain();
  }
};

template <class Map, class Op, class Acc, class Out, class Index, int K>
struct scan_lookback {
  using F = ScanFold<Op, Acc, Index>;
  using Lines = Interleaved<F, K>;
  using One = typename F::State;
  using State = typename Lines::State;
  using W = Published<State>;
  using Ring = TileRing<Lines>;
  using Inputs = typename Map::Inputs;
  static constexpr int V = kVector<Inputs, Out>;
  static constexpr int kResident = 4;  // of kThreads: twice as many of kScanBlock
  using AwaitsTurn = scan_lookback;
  static constexpr int kWarps = kScanBlock / 32, kBytes = bytes_in_tile<Inputs, Out>();
  static constexpr int kItems = scan_items(V, kBytes, kBytes > int(sizeof(Out)), K), kMine = kItems * V;  // vectors, elements of a thread
  static constexpr int kTile = kScanBlock * kMine;
  static_assert(kMine % K == 0);  // a thread begins with the first line
  static constexpr bool kShort = is_brief<Map> && V <= 8;  // then the loop over a thread's vectors is unrolled: 0.3 us a tile

  // What comes before every tile, by the whole block: a warp asks for a batch of sums and scans them, then the batches are
  // chained. Lane l's result needs the lanes and batches before it only: it is told as soon as these are there.
  template <class P>
  TCU_DEVICE static void look_back(const P &p, int tiles, const Ring &ring) {
    TCU_SHARED(State, totals, 2 * kWarps);  // of a batch, or of its part in the line that its last tile is in; by parity of the round
    TCU_SHARED(bool, starts, 2 * kWarps);  // whether that line starts in the batch
    TCU_SHARED(int, there, 2 * kWarps);    // tiles of a batch whose sums are known, with all before them in it
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const State init = Lines::start(p);
    State carry = init;  // what the batches before tile `first` lead to
    int first = 0, told = 0;  // told: tiles of the batch there
#pragma unroll 1
    for (int parity = 0; first + told < tiles; parity ^= kWarps) {
      const int t = first + warp * kScanBatch + lane;
      W w = {};
      if (lane < kScanBatch && t < tiles) w = W::ask(ring.sum(t, 0));
      const unsigned missing = ~__ballot_sync(kAllLanes, w.written(Ring::tag(t)));
      const int known = missing ? __ffs(int(missing)) - 1 : 32;
      const int in_line = p.kept == K ? t : t % int(p.split);
      State s = lane < known ? w.value() : Lines::identity();
#pragma unroll
      for (int h = 1; h < kScanBatch; h *= 2) {
        const State below = shuffle_up(s, h, 32);
        if (lane >= h && in_line >= h) s = Lines::combine(below, s);
      }
      const State below = shuffle_up(s, 1, 32);
      if (lane == kScanBatch - 1) totals[parity + warp] = s, starts[parity + warp] = in_line <= lane, there[parity + warp] = known;
      __syncthreads();
      // Batches, one after another. All words are asked for before the first is looked at: each trip is one that every tile waits for.
      State total[kWarps], mine = carry;
      bool start_here[kWarps];
      int known_of[kWarps], whole = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w)
        total[w] = totals[parity + w], start_here[w] = starts[parity + w], known_of[w] = there[parity + w];
      const int told_before = told;
      told = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        if (whole < w) continue;
        if (w == warp) mine = carry;
        if (known_of[w] == kScanBatch) {
          if (start_here[w]) carry = init;
          carry = Lines::combine(carry, total[w]), ++whole;
        } else {
          told = known_of[w];
        }
      }
      if (warp <= whole && lane >= (warp == 0 ? told_before : 0) && lane < known) {
        State start = mine;
        if (in_line <= lane) start = init;
        if (lane > 0 && in_line > 0) start = Lines::combine(start, below);
        W::publish(ring.before(t, 0), start, Ring::tag(t));
      }
      const bool end = first + whole * kScanBatch + told >= tiles;
      if (warp < whole + end && lane < known && t >= tiles - ring.slots) W::clear(ring.sum(t, 0));
      first += whole * kScanBatch;
    }
  }

  template <class P>
  TCU_DEVICE static Ring ring_of(const P &p) { return {static_cast<uint64_t *>(p.zeroed) + 2, 1, kRingSlots, true}; }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    TCU_SHARED(uint64_t, barrier, 1);
    TCU_SHARED(State, sums, kWarps);
    TCU_SHARED(State, earlier, 1);
    const Arrival arrival(barrier);
    const int tiles = int(p.kept / K * p.split), block = int(block_in_order(static_cast<unsigned *>(p.zeroed)));
    const Ring ring = ring_of(p);
    if (block == 0) {
      await_turn();
      return look_back(p, tiles, ring);
    }

    const int tile = block - 1;
    const Index number = p.kept == K ? Index(0) : Index(tile / int(p.split)), t = tile - number * Index(p.split);
    const LineTile<Map, F, Out, Index, V, kTile, K> mine(p, shared, number, t);
    if (begins_early<scan_lookback>()) mine.look_ahead(p);
    await_turn();
    W slot = {};
    if (threadIdx.x == 0) slot = ring.place(tile, 0);
    begin_apart(p, tile);
    mine.fetch(arrival, p);
    const auto &[line, data, first, memory, begin, end, count, place] = mine;

    const TilePart<Map, F, Out, V, kTile> part(data, int(threadIdx.x) * kMine, kMine, begin, end, kTile, line.reverse);
    const bool full = count == kTile;
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    State upto = Lines::identity();  // of the thread's elements, and then of those of the lanes below too
    const auto add = [&](int k, bool whole) {
      One e[V];
      part.read(p, k, whole, e);
      Lines::add(upto, part, e);
    };
    if (__builtin_expect(kShort && full, kShort)) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) add(k, true);
    } else part.each(false, add);
#pragma unroll
    for (int h = 1; h < 32; h *= 2) {
      const State below = shuffle_up(upto, h, 32);
      if (lane >= h) upto = Lines::combine(below, upto);
    }
    const State below = shuffle_up(upto, 1, 32);
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    if (threadIdx.x == 0) earlier[0] = ring.ask_back(tile, tiles, 0, fold_all<kWarps>(sums), slot);
    __syncthreads();

    State acc = earlier[0];
#pragma unroll
    for (int w = 0; w < kWarps - 1; ++w)
      if (w < warp) acc = Lines::combine(acc, sums[w]);
    if (lane > 0) acc = Lines::combine(acc, below);
    if (__builtin_expect(kShort && full && (p.flags & (kExclusive | kReverse | kScales | kReadsOut)) == 0, kShort)) {
      One e[V], ahead[V];  // read before the vector before them is written: a write may be to where the next read is from
      part.read(p, 0, true, ahead);
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        Vec<Out, V> y;
#pragma unroll
        for (int v = 0; v < V; ++v) e[v] = ahead[v];
        if (k + 1 < kItems) part.read(p, k + 1, true, ahead);
#pragma unroll
        for (int v = 0; v < V; ++v) y.at[v] = tcu::convert<Out>(F::value(Lines::at(acc, v) = F::combine(Lines::at(acc, v), e[v])));
        store_vector(data.out() + part.start + k * V, y);
        Lines::template turn<V>(acc);
      }
    } else {
      const bool exclusive = (p.flags & kExclusive) != 0, reads_out = p.reads_out();
      part.each(reads_out, [&](int k, bool whole) {
        One e[V];
        typename F::Value y[V];
        part.read(p, k, whole, e);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          One &before = Lines::at(acc, v);
          const One one = part.in_order(e, v), next = F::combine(before, one);
          y[v] = exclusive ? F::before(p, before, one) : F::value(next), before = next;
        }
        Lines::template turn<V>(acc);
        if (reads_out) line.store_singly(p, first + part.start + k * V, y);
        else part.put(p, k, y);
      });
    }
    if (!p.reads_out()) mine.drain(p);
  }

  // One after another.
  template <int n>
  TCU_DEVICE static State fold_all(const State *s) {
    State sum = s[0];
#pragma unroll
    for (int k = 1; k < n; ++k) sum = Lines::combine(sum, s[k]);
    return sum;
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_across.cuh"

namespace tcu::cuda::rows {

struct ScanLookback {
  static constexpr int kLongBytes = 16 << 10;  // of a line's widest operand
  static int64_t tile(const Problem &p, int lines = 1) {
    const int v = vector_of(p, true), element = tile_bytes(p);
    return int64_t(kScanBlock) * v * scan_items(v, element, element > bytes_of(p.out), lines);
  }
  // Whether the scan of every line, or group of `lines` interleaved ones, begins at 16 bytes of the first input. (Asking where costs 0.6 us a tile.)
  static bool lines_aligned(const Problem &p, int lines = 1) {
    const Mode &s = *fastest(p, Role::S);
    const int word = 16 / bytes_of(p.in[0]);
    bool all = p.alignment[1] >= 4 && (!p.scan.reverse || s.extent * lines % word == 0);
    for (const Mode &m : p.modes) all &= &m == &s || (lines > 1 && &m == p.modes.begin()) || m.stride[1] % word == 0;
    return all;
  }
  // Tiles of a line, or a group, wherever in 128 bytes it begins.
  static int64_t parts(const Problem &p, int lines = 1) {
    return ceil_div(fastest(p, Role::S)->extent * lines + 8 * vector_of(p, true) - 1, tile(p, lines));
  }
  static bool accepts(const Problem &p, const Device &d) { return fits(p, d, ScanLines::accepts(p, d) ? 16 : 64); }
  // Whether lines, or groups, are longer than kLongBytes of the widest operand, or 16 / share of that.
  static bool fits(const Problem &p, const Device &d, int share, int lines = 1) {
    return fastest(p, Role::S)->extent * lines > kLongBytes * vector_of(p, true) / share && parts(p, lines) * (p.kept() / lines) < INT32_MAX / 2 &&
           tile(p, lines) * tile_bytes(p) <= d.shared_bytes - 2048 && d.processors > 1;
  }
  // Where there are many lines of two or three tiles, of float32, a warp for each waits for nobody (H200, 2^14 lines of 2^14: 547 us by
  // scan.lines, 565 by this).
  // Lines that are contiguous in out and no input, or nowhere, have scan.general beside this: a warp each, if there are enough of them.
  static bool suits(const Problem &p, const Device &d) {
    if (!ScanLines::contiguous(p)) return !ScanLines::accepts(p, d) && p.kept() < int64_t(d.processors) * 8;
    const bool by_four = p.n_inputs == 1 && bytes_of(p.in[0]) == 4 && bytes_of(p.out) == 4;
    return !by_four || parts(p) > 3 || p.kept() < int64_t(d.processors) * 16;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) { return launch(p, d, 1); }
  static LaunchConfig launch(const Problem &p, const Device &d, int lines) {
    LaunchConfig c;
    c.block = kScanBlock, c.vector = vector_of(p, true), c.chunk = tile(p, lines);
    c.split = parts(p, lines), c.detail = !lines_aligned(p, lines);
    c.shared_bytes = int(c.chunk * tile_bytes(p));
    make_room(c, p.kept() / lines, lines * scan_state_bytes(p));
    begin_apart(c, d);
    return c;
  }
  // For c.split tiles of each of so many lines, or groups, and the block that looks back.
  static void make_room(LaunchConfig &c, int64_t lines, int state_bytes) {
    c.grid = c.split * lines + 1;
    c.leaves_zero = true;
    c.zeroed_bytes = c.workspace_bytes = size_t(16 + 2 * kRingSlots * published_words(state_bytes) * 8);
  }
  static Instance instance(const Problem &p, const LaunchConfig &) { return make_instance(p, "scan_lookback", {"1"}); }
};

}  // namespace tcu::cuda::rows
#endif
