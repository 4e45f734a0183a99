// scan.cluster: lines of some thousand elements, a cluster of blocks each; along any S mode, by vectors where it is contiguous ('S', 'S K').
// A warp has neighbouring elements of its line, kPieces vectors a lane; all that a thread has to know of the others' comes by one exchange
// in the block and one in the cluster, through shared memory: no trip to the L2 cache but for the elements. A line of 65536 float32 takes
// 2.4 us, where scan.lookback, whose tiles ask each other through that cache, takes 4.4 (H200, both in a graph, on cached data).
// The order in which things are added is fixed: the result has the same bits on every run.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/cluster.cuh"
#include "device/scan.cuh"

namespace tcu::cuda {
// Vectors of a thread, of so many elements: some 16 numbers.
TCU_FN constexpr int cluster_pieces(int vector) { return vector >= 16 ? 1 : vector >= 8 ? 2 : 4; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_cluster {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kVector<typename Map::Inputs, Out>, kPieces = cluster_pieces(V);
  static constexpr int kMostThreads = 512, kResident = 1;
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
    const bool whole = line.whole(from(kPieces - 1));

    State e[kPieces][V], below[kPieces], all[kPieces];
    if (whole) {
      Pack<V, typename Map::Inputs> x[kPieces];
#pragma unroll
      for (int k = 0; k < kPieces; ++k) line.fetch(p, from(k), x[k]);
#pragma unroll
      for (int k = 0; k < kPieces; ++k) line.lift(p, x[k], e[k]);
    } else {
#pragma unroll
      for (int k = 0; k < kPieces; ++k) line.load(p, from(k), e[k]);
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
      if (whole) line.store_whole(p, line.memory(from(k), V), y);
      else line.store(p, from(k), y);
      carry = F::combine(carry, all[k]);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_across.cuh"

namespace tcu::cuda::rows {

struct ScanCluster {
#if defined(TCU_EMULATOR)
  static constexpr int kFewThreads = 32, kMostThreads = 64;  // so that a small test has many blocks
#else
  static constexpr int kFewThreads = 256, kMostThreads = 512;
#endif
  static int64_t each(const Problem &p) { return int64_t(vector_of(p, true)) * cluster_pieces(vector_of(p, true)); }  // elements of a thread
  static int most(const Device &d) { return d.major < 9 ? 0 : d.major < 12 ? kMostInCluster : kAlwaysInCluster; }
  static bool accepts(const Problem &p, const Device &d) {
    return fastest(p, Role::S)->extent <= most(d) * kMostThreads * each(p) && p.kept() <= INT32_MAX / kMostInCluster;
  }
  // What all begins at once, and is more than a warp scans in a few rounds.
  static bool suits(const Problem &p, const Device &d) {
    const LaunchConfig c = configure(p, d);
    return ScanLines::contiguous(p) && c.detail > 1 && c.grid <= d.processors;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const int64_t n = fastest(p, Role::S)->extent, few = kFewThreads * each(p);
    LaunchConfig c;
    c.block = n <= most(d) * few ? kFewThreads : kMostThreads, c.vector = vector_of(p, true), c.detail = 1;
    while (c.detail * c.block * each(p) < n) c.detail *= 2;
    c.cluster = c.detail;
    c.grid = p.kept() * c.cluster;
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_cluster");
  }
};

}  // namespace tcu::cuda::rows
#endif
