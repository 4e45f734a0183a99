// scan.tiles: lines that lie one after another in memory ('S', 'S K'), whole ones to a tile, each read once; scan.interleaved: the same of groups
// of K lines whose elements alternate ('K S', 'K S K'), which below are a line.
// A block copies p.detail lines to shared memory at once (device/bulk.cuh), scans them where they lie and copies them back. A thread has an
// odd number of vectors, one after another, wherever lines begin and end among them: so any length costs the same, and threads which read
// one vector each of shared memory meet in no bank. It folds what it has of the line that its last element is of; a scan over the threads,
// as far back as a thread's line goes, tells each what comes before its first element; then it scans its own, from the start again where
// a line begins.
// kApart: lines of the inputs lie anywhere, those of out one after another. What a thread copies to shared memory are single elements, or words of them.
// In place: a tile is read before it is written.
#pragma once
#include "device/interleaved.cuh"
#include "device/tile.cuh"
#include "kernels/scan_lookback.cuh"

namespace tcu::cuda {
inline constexpr int kMostOfTile = 3;  // times kScanBlock, a block's threads
inline constexpr int kMostStarts = 1024;  // lines of a tile whose places are each found
// Vectors of a thread, of so many, in a tile of so many elements that begins anywhere in 128 bytes.
TCU_FN constexpr int tile_items(int elements, int vector, int threads) {
  return ((elements + 8 * vector + threads * vector - 1) / (threads * vector)) | 1;
}
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int K, bool kApart>
struct scan_tiles {
  using F = ScanFold<Op, Acc, Index>;
  using Lines = Interleaved<F, K>;
  using One = typename F::State;
  using State = typename Lines::State;
  using Inputs = typename Map::Inputs;
  static constexpr int V = kVector<Inputs, Out>, kBytes = bytes_in_tile<Inputs, Out>();
  static constexpr int kTile = kScanBlock * V * scan_items(V, kBytes, kBytes > int(sizeof(Out)));
  static constexpr bool kSingle = Inputs::size == 1 && kBytes == int(sizeof(Out));  // which tiles are of more threads, or less memory, than kTile says
  static constexpr int kMostThreads = kMostOfTile * kScanBlock, kWarps = kMostThreads / 32;
  static constexpr int kResident = kApart ? 3 : 4;  // a thread has sixteen words of lines that lie apart under way
  using AwaitsTurn = scan_tiles;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    TCU_SHARED(uint64_t, barrier, 1);
    TCU_SHARED(State, sums, kWarps);
    TCU_SHARED(bool, open, kWarps);  // whether the line that a warp ends in began before the warp
    const Arrival arrival(barrier);
    const bool reverse = (p.flags & kReverse) != 0, exclusive = (p.flags & kExclusive) != 0;
    const int n = int(p.folded) * K, mode = K > 1 ? 0 : p.n_kept;  // elements of a line; the mode of neighbours
    const Index line = Index(blockIdx.x) * p.detail, left = Index(p.kept) / K - line, memory = line * n;
    const int count = (left < p.detail ? int(left) : p.detail) * n;
    const Offsets<Inputs::size, Index> origin;
    const Tile<Inputs, Out, V, kTile> data(shared);
    const Index bound = reverse ? memory + count : memory;
    const int skew = kApart ? data.skew(static_cast<const Out *>(p.out) + bound, reverse) : data.skew(p, origin, mode, bound, reverse), end = skew + count;
    const int mine = tile_items(p.detail * n, V, int(blockDim.x)) * V, room = int(blockDim.x) * mine, place = reverse ? room - end : skew;
    if (!kApart && begins_early<scan_tiles>()) data.look_ahead(p, origin, mode, memory, count);
    await_turn();
    begin_apart(p, int(blockIdx.x));
    if constexpr (kApart) {
      const int lines = left < p.detail ? int(left) : p.detail;
      data.fetch_lines(p, line, lines, reinterpret_cast<Index *>(data.start + (kSingle ? room : kTile) * kBytes), mode, place, count);
    } else data.fetch(arrival, p, origin, mode, memory, place, count);
    arrival.wait();

    const int start = int(threadIdx.x) * mine, lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, warp_start = start - lane * mine;
    const TilePart<Map, F, Out, V, kTile> part(data, start, mine, skew, end, room, reverse);
    // The place where the line begins that has an element at `place`.
    const auto line_of = [&](int place) { return int(divide(Index((place - skew) / K), p.mode[p.n_kept].divisor)) * n + skew; };
    // Which of K lines the first element of the thread's k-th vector is of.
    const auto first_of_vector = [&](int k) { return (start + k * V - skew + 8 * V * K) % K; };

    auto tail = part;
    const int tail_line = part.lo < part.hi ? line_of(start + part.hi - 1) : start;
    if (tail_line - start > tail.lo) tail.lo = tail_line - start;
    State upto = Lines::identity();
    tail.each(false, [&](int k, bool whole) {
      One e[V];
      tail.read(p, k, whole, e);
      Lines::add(upto, tail, e);
    });
    Lines::turn(upto, (K - first_of_vector((tail.hi + V - 1) / V)) % K);
#pragma unroll
    for (int h = 1; h < 32; h *= 2) {
      const State below = shuffle_up(upto, h, 32);
      if (lane >= h && start - tail_line > (h - 1) * mine) upto = Lines::combine(below, upto);
    }
    const State below = shuffle_up(upto, 1, 32);
    if (lane == 31) sums[warp] = upto, open[warp] = tail_line < warp_start;
    __syncthreads();

    const State init = Lines::start(p);
    const int first_line = part.lo < part.hi ? line_of(start + part.lo) : start;
    State acc = init;
    if (first_line < start && first_line < start + part.lo) {
      State before = Lines::identity();
#pragma unroll
      for (int w = 0; w < kWarps - 1; ++w)
        if (w < warp) before = open[w] ? Lines::combine(before, sums[w]) : sums[w];
      if (lane > 0) before = first_line < warp_start ? Lines::combine(before, below) : below;
      acc = Lines::combine(init, before);
    }
    int next = first_line < start + part.lo ? first_line + n : start + part.lo;  // where a line begins
    const bool reads_out = p.reads_out();
    Lines::turn(acc, first_of_vector(part.lo / V));
    part.each(reads_out, [&](int k, bool whole) {
      One e[V];
      typename F::Value y[V];
      part.read(p, k, whole, e);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (start + k * V + v == next) acc = init, next += n;
        One &before = Lines::at(acc, v);
        const One one = part.in_order(e, v), upto = F::combine(before, one);
        y[v] = exclusive ? F::before(p, before, one) : F::value(upto), before = upto;
      }
      Lines::template turn<V>(acc);
      if (!reads_out) return part.put(p, k, y);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const int at = start + k * V + v - skew;
        if (at >= 0 && at < count) store_one<Out>(p, memory + (reverse ? count - 1 - at : at), y[v]);
      }
    });
    if (reads_out) return;
    data.drain(static_cast<Out *>(p.out) + memory, Index(1), place, count);
    await_drain();
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include <numeric>
#include <utility>

namespace tcu::cuda::rows {

struct ScanTiles {
  struct Lines {
    int64_t length, count;  // elements of each
  };
  static Lines lines(const Problem &p) { return {fastest(p, Role::S)->extent, p.kept()}; }
  static bool single(const Problem &p) { return p.n_inputs == 1 && tile_bytes(p) == bytes_of(p.out); }
  // Lines that are long for a tile get one of twice, or three times, as many threads.
  static int threads(const Problem &p, int64_t length) {
    int all = kScanBlock;
    while (single(p) && all < kMostOfTile * kScanBlock && length > room(p, all)) all += kScanBlock;
    return all;
  }
  // Elements of a tile at most.
  static int room(const Problem &p, int threads) { return int(ScanLookback::tile(p)) / kScanBlock * threads - 8 * vector_of(p, true); }
  // Whether lines lie one after another in every operand; not of no elements, by whose length at_once() would divide.
  static bool dense(const Problem &p) {
    for (int i = 0; i <= p.n_inputs; ++i)
      if (!dense(p, i)) return false;
    return p.modes.n_of(Role::K) <= 1 && !p.empty();
  }
  static bool dense(const Problem &p, int operand) {
    int64_t next = 1;
    const auto follows = [&](const Mode &m) { return m.stride[operand] == std::exchange(next, next * m.extent); };
    return follows(*fastest(p, Role::S)) && std::all_of(p.modes.begin(), p.modes.end(), [&](const Mode &m) { return m.role == Role::S || follows(m); });
  }
  // Whether they do in out alone.
  static bool apart(const Problem &p) { return p.modes.n_of(Role::K) > 0 && !p.empty() && dense(p, 0) && !dense(p); }
  static bool accepts(const Problem &p, const Device &d) { return (dense(p) || apart(p)) && fit(p, d, lines(p)); }
  static bool fit(const Problem &p, const Device &d, const Lines &lines) {
    const int64_t all = threads(p, lines.length), places = ScanLookback::tile(p) / kScanBlock * all;
    return lines.length <= room(p, int(all)) && places * tile_bytes(p) <= d.shared_bytes - 2048 - starts_bytes(p, kMostStarts) &&
           ceil_div(lines.count, at_once(p, d, lines, room(p, int(all)))) <= INT32_MAX;
  }
  // Of the largest tiles only such as three of find room on a multiprocessor, and lines for all of these (2^14 lines of 2^14 float32 on an
  // H200: 529 us, by scan.lines 546).
  static bool suits(const Problem &p, const Device &d) { return (dense(p) || suits_apart(p)) && suit(p, d, lines(p)); }
  // Not inputs of which neighbours in a line lie far apart, or that lines have in common; nor vectors of narrow elements, which scan.lines reads as such,
  // but of much. (H200, lines of 10 to 16000 that begin 1 to 16 elements after the last one's end, 96 MB, time over the best other row's: of 4 and 8 bytes
  // 0.51 to 1.04, of 2 bytes 0.47 to 1.05; of 8 and 24 MB 0.52 to 1.3. Lines of 3 to 4000 along two modes, in the input's order or another, 96 MB: 0.54 to
  // 1.04, but of 3 to 8 of one and of eight bytes up to 1.24; 16 MB 0.41 to 0.85, of 5 of eight bytes 1.1, and of whole vectors 1.2 to 1.5.)
  static bool suits_apart(const Problem &p) {
    const Mode &s = *fastest(p, Role::S);
    const int mode = int(&s - p.modes.begin());
    bool vectors = true;
    for (int i = 1; i <= p.n_inputs; ++i) {
      const int64_t along = std::abs(s.stride[i]);
      const auto shared = [&](const Mode &m) { return std::abs(m.stride[i]) < along; };
      if (along == 0 || along > 8 || std::any_of(p.modes.begin(), p.modes.end(), shared)) return false;
      vectors &= s.stride[i] == 1 && rows_aligned(p, mode, i, vector_of(p, true));
    }
    const bool found = starts_found(p);
    if (s.extent > 16384 || (found && p.bytes() < 1 << 20)) return false;
    return !vectors || (bytes_of(p.out) >= 4 && !found) || p.bytes() >= 40 << 20;
  }
  static bool suit(const Problem &p, const Device &d, const Lines &lines) {
    if (threads(p, lines.length) <= 2 * kScanBlock) return true;
    return 3 * (launch(p, d, lines).shared_bytes + 2048) <= d.shared_bytes && lines.count >= 3 * d.processors;
  }
  // So many lines that a tile begins where 128 bytes do, or 16, if that leaves it large; few where there is not enough for all processors.
  static int at_once(const Problem &p, const Device &d, const Lines &lines, int room) {
    const int64_t n = lines.length, each = ceil_div(lines.count, 2 * d.processors);
    const int64_t least = std::max<int64_t>(1, 256 * vector_of(p, true) / n);
    const int64_t most = std::min({room / n, std::max(each, least), starts_found(p) ? int64_t(kMostStarts) : INT32_MAX});
    for (const int64_t bytes : {128, 16}) {
      const int64_t step = bytes / std::gcd(bytes, n * bytes_of(p.in[0])), whole = most / step * step;
      if (whole * 8 >= most * 7) return int(whole);
    }
    return int(most);
  }
  // Whether a tile's lines lie along several modes, and not just one.
  static bool starts_found(const Problem &p) { return p.modes.n_of(Role::K) > 1 && apart(p); }
  static int starts_bytes(const Problem &p, int lines) { return starts_found(p) ? lines * p.n_inputs * int(sizeof(int64_t)) : 0; }
  static LaunchConfig configure(const Problem &p, const Device &d) { return launch(p, d, lines(p)); }
  static LaunchConfig launch(const Problem &p, const Device &d, const Lines &lines) {
    LaunchConfig c;
    c.block = threads(p, lines.length), c.vector = vector_of(p, true), c.detail = at_once(p, d, lines, room(p, c.block));
    c.grid = ceil_div(lines.count, c.detail);
    const int64_t places = c.block * c.vector * tile_items(int(c.detail * lines.length), c.vector, c.block);
    c.shared_bytes = int((single(p) ? places : ScanLookback::tile(p)) * tile_bytes(p));
    c.shared_bytes += starts_bytes(p, c.detail);
    // Of 16 bits: of eleven problems of 8 to 28 us eight were faster, 0.86 to 0.97, one slower, 1.04 (H100); of 32 bits they are slower.
    if (tile_bytes(p) == 2) begin_apart(c, d);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_tiles", {"1", apart(p) ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
