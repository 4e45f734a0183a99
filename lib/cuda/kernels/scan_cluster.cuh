// scan.cluster: lines of some thousand elements, a cluster of blocks each; along any S mode, by vectors where it is contiguous ('S', 'S K').
// A warp has neighbouring elements of its line, kPieces vectors a lane; all that a thread has to know of the others' comes by one exchange
// in the block and one in the cluster, through shared memory: no trip to the L2 cache but for the elements. A line of 65536 float16, float32
// takes 2.3, 2.9 us, where scan.lookback, whose tiles ask each other through that cache, takes 4.5, 4.4 (H200, in a graph, cached data).
// The order in which things are added is fixed: the result has the same bits on every run.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/cluster.cuh"
#include "device/scan.cuh"

namespace tcu::cuda {
// Threads of a block, at most.
TCU_FN constexpr int cluster_threads(int state_bytes) { return state_bytes > 4 ? 512 : 1024; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int kPieces>
struct scan_cluster {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kVector<typename Map::Inputs, Out>;
  static constexpr int kMostThreads = cluster_threads(sizeof(State)), kResident = 1;
  using AwaitsTurn = scan_cluster;
  using Piece = Line<Map, F, Out, Index, V>;

  // Of n states side by side in shared memory: what the first `mine` come to, `whole` gets all. n <= 32; all lanes of the warp call it.
  TCU_DEVICE static State fold_before(const Padded<State> *states, int n, int mine, State *whole) {
    const int lane = int(threadIdx.x) % 32;
    State upto = lane < n ? states[lane].value : F::identity();
#pragma unroll 1
    for (int h = 1; h < n; h *= 2) {
      const State below = shuffle_up(upto, h, 32);
      if (lane >= h) upto = F::combine(below, upto);
    }
    if (whole) *whole = shuffle(upto, n - 1, 32);
    const State before = shuffle(upto, mine > 0 ? mine - 1 : 0, 32);
    return mine > 0 ? before : F::identity();
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(Padded<State>, of_warps, 32);
    TCU_SHARED(Padded<State>, of_blocks, kMostInCluster);
    const Cluster cluster(p.detail);
    Cluster::arrive<false>();  // who puts something here knows then that this block has begun
    const Piece line(p, Index(quotient(blockIdx.x, cluster.size)));
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, warps = int(blockDim.x) / 32;
    const Index first = (Index(cluster.rank) * warps + warp) * (32 * kPieces * V) + lane * V;
    const auto from = [&](int k) { return first + k * (32 * V); };

    State e[kPieces][V], below[kPieces], all[kPieces];
    Pack<V, typename Map::Inputs> x[kPieces];
    if (begins_early<scan_cluster>()) {
#pragma unroll 1
      for (int k = 0; k < kPieces; ++k)
        if (line.whole(from(k))) line.look_ahead(p, from(k));
    }
    await_turn();
#pragma unroll
    for (int k = 0; k < kPieces; ++k)
      if (line.whole(from(k))) line.fetch(p, from(k), x[k]);
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      if (line.whole(from(k))) {
        line.lift(p, x[k], e[k]);
      } else if (from(k) < line.n) {
        line.load_singly(p, from(k), e[k]);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v) e[k][v] = F::identity();
      }
    }
    scan_lanes<F>(e, below, all, lane, 32);
    State total = all[0];
#pragma unroll
    for (int k = 1; k < kPieces; ++k) total = F::combine(total, all[k]);
    if (lane == 0) of_warps[warp].value = total;
    __syncthreads();
    State block;
    const State earlier = fold_before(of_warps, warps, warp, &block);
    Cluster::wait();
    if (warp == 0 && lane < cluster.size) Cluster::put(of_blocks + cluster.rank, lane, block);
    Cluster::arrive<true>();
    Cluster::wait();
    State carry = F::combine(F::start(p), F::combine(fold_before(of_blocks, cluster.size, cluster.rank, nullptr), earlier));

    const bool exclusive = (p.flags & kExclusive) != 0;
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      typename F::Value y[V];
      put_before<F>(p, e[k], lane == 0 ? carry : F::combine(carry, below[k]), exclusive, y);
      if (line.whole(from(k))) line.store_whole(p, line.memory(from(k), V), y);
      else if (from(k) < line.n) line.store_singly(p, from(k), y);
      carry = F::combine(carry, all[k]);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_across.cuh"
#include "kernels/scan_columns.cuh"
#include "kernels/scan_tiles.cuh"

namespace tcu::cuda::rows {

struct ScanCluster {
#if defined(TCU_EMULATOR)
  static constexpr int kFewest = 32;  // so that a small test has many blocks
  static int most_threads(const Problem &) { return 64; }
  static int most(const Device &) { return kMostInCluster; }
#else
  static constexpr int kFewest = 256;  // threads of a block
  static int most_threads(const Problem &p) { return cluster_threads(scan_state_bytes(p)); }
  // Blocks of a cluster. A part of a device (MIG) may have fewer than the device would.
  static int most(const Device &d) {
    return d.major < 9 || d.processors < 16 ? 0 : d.major < 12 && d.processors >= 64 ? kMostInCluster : kAlwaysInCluster;
  }
#endif
  static constexpr int kPieces = 4;  // where one a thread will not do
  // Threads, of one piece each, that a line has at the most.
  static int64_t most_of_line(const Problem &p, const Device &d) { return int64_t(most(d)) * most_threads(p); }
  static int64_t pieces_of_line(const Problem &p) { return ceil_div(fastest(p, Role::S)->extent, vector_of(p, true)); }
  static bool accepts(const Problem &p, const Device &d) {
    return pieces_of_line(p) <= kPieces * most_of_line(p, d) && p.kept() <= INT32_MAX / kMostInCluster;
  }
  // Whether a piece is one access of every operand.
  static bool whole(const Problem &p) {
    const int s = int(fastest(p, Role::S) - p.modes.begin());
    for (int k = 0; k <= p.n_inputs; ++k)
      if (p.modes[s].stride[k] != 1 || !starts_aligned(p, s, k, vector_of(p, true))) return false;
    return true;
  }
  // What all begins at once, or nearly. Of 246 scans of 512 to 262144 float16, float32, float64, one to 1024 lines, on an H200 this row is
  // faster than scan.tiles and scan.lookback in those to which this says yes, 0.49 to 1.02 of their time, but for a few of the others.
  static bool suits(const Problem &p, const Device &d) {
    if (!ScanLines::contiguous(p)) return reads_across(p, d);
    const LaunchConfig c = configure(p, d);
    // Of lines that are no whole pieces, with no gaps between them, only few that a tile would hold, or for 8192 threads: of eight random
    // problems this row was faster in all, 0.54 to 0.92 of the time; of longer lines in two of three, 0.62 to 1.01 (H100 and H200).
    const bool few = ScanTiles::accepts(p, d) || c.detail * c.block <= 8192;
    if (!whole(p) && ScanTiles::dense(p)) return few && c.grid * c.block <= int64_t(d.processors) * 512;
    if (pieces_of_line(p) < 48) return false;
    const int64_t has = c.detail * c.block * c.variant, threads = c.grid * c.block;
    const bool idle = 2 * has > 3 * pieces_of_line(p);
    const int each = c.block > 512 && c.variant > 1 ? 0 : c.block > kFewest || idle ? 512 : c.cluster == kMostInCluster ? 1024 : 2048;
    return threads <= int64_t(d.processors) * each;
  }
  // Lines that lie side by side, of each of which a warp reads an element here and there: some 30 in a nanosecond, so that a few hundred lines
  // are done before other rows have handed on what comes before their second tile. Of 22 such scans (tune_seed41.json) of 32,000 to 525,000 elements
  // and 160 steps and more this row took 0.45 to 1.06 of the others' time, but for two of 300,000 whose tiles scan.columns copies whole.
  // Up to 384 lines of 24 steps and more too: of nine random problems of up to 148 steps it was faster in all, 0.61 to 0.89 of the time. Not more than 640
  // lines: of thirteen random problems it was slower in all, 1.02 to 2.4.
  static bool reads_across(const Problem &p, const Device &d) {
    const int64_t n = fastest(p, Role::S)->extent, elements = n * p.kept();
    if (!ScanLines::accepts(p, d) && n >= 32 && elements <= 620000 && p.kept() <= 1280) return true;  // a block each, not a warp
    if (n < (p.kept() <= 384 ? 24 : 160) || elements > 600000 || p.kept() > 640) return false;
    return elements <= 1 << 18 || !ScanColumns::accepts(p, d) || !ScanColumns::shape(p, d).by_machine;
  }
  // One piece a thread while that leaves no processor more than 512 threads.
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const int64_t n = pieces_of_line(p);
    LaunchConfig c = with_pieces(p, d, 1);
    const bool fits = n <= most_of_line(p, d), small = n <= kFewest;
    return fits && (small || c.grid * c.block <= int64_t(d.processors) * 512) ? c : with_pieces(p, d, kPieces);
  }
  static LaunchConfig with_pieces(const Problem &p, const Device &d, int pieces) {
    const int64_t n = pieces_of_line(p);
    LaunchConfig c;
    c.block = kFewest, c.vector = vector_of(p, true), c.detail = 1, c.variant = pieces;
    while (c.block < most_threads(p) && most(d) * c.block * pieces < n) c.block *= 2;
    while (c.detail * c.block * pieces < n) c.detail *= 2;
    c.cluster = c.detail;
    c.grid = p.kept() * c.cluster;
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "scan_cluster", {std::to_string(c.variant)});
  }
};

}  // namespace tcu::cuda::rows
#endif
