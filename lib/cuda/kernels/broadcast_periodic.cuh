// broadcast.periodic: as broadcast.dense, for inputs that are the same for all of out's rows ('K K ...', a vector beside a matrix).
// After a period, the vectors that are whole rows (V of them or fewer), vectors lie in rows as they did before. So a thread has one place
// in a period and goes from period to period, p.split steps in all: an input that stays (kStays, a bit an input) it reads once, and
// where rows end it finds out once. p.lanes periods are taken side by side. The other inputs are read as broadcast.dense reads them.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/rows.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, unsigned kOnce, unsigned kStays>
struct broadcast_periodic {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, V = kVector<Inputs, Out>;
  static constexpr int kMoving = words_read<V, kOnce, 2>(~kStays, Inputs{});
  static constexpr int kAhead = N <= 2 || (V <= 8 && kMoving <= 4) ? 3 : 2;  // steps under way at once
  // Registers are what limits it: of few words there are blocks for more.
  static constexpr int kWords = kMoving * kAhead + words_read<V, kOnce, 2>(kStays, Inputs{});
  static constexpr int kResident = map_blocks<Map, Acc, V>(V > 8 ? is_light<Map, Acc> ? 4 : 3 : kWords > 8 ? 4 : 6);
  using AwaitsTurn = broadcast_periodic;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept), extent = Index(p.mode[0].extent), whole = n / V, all = (n + V - 1) / V;  // in vectors
    const Index common = extent & -extent;  // the greatest power of two in it
    const int unit = common < V ? int(common) : V, rows = V / unit;  // rows: of a period
    const Index period = quotient(extent, unit), side = period * p.lanes, front = side < all ? side : all;  // in vectors
    const Index blocks = (front + kThreads - 1) / kThreads, tile = Index(blockIdx.x) / blocks;
    const Index mine = (Index(blockIdx.x) - tile * blocks) * kThreads + Index(threadIdx.x);
    if (mine >= front) return;

    const int steps = int(p.split);
    const Index ahead = mine / period, element = (mine - ahead * period) * V, row = divide(element, p.mode[0].divisor);
    const Index start = tile * front * steps + mine, first = tile * p.lanes * steps + ahead;  // of the vectors; of the periods
    const unsigned apart = unsigned(p.detail) & ~kStays;
    const bool moves = (kOnce & ~kStays) != 0 || apart != 0;
    Place<N, Index> to(p, element - row * extent);
    RowPack<V, Inputs, kOnce> held;
    await_turn();
    if (start < whole) load_rows<V, kStays>(held, p, to, Index(0), kStays);
    const auto slide = [&](Place<N, Index> to) {
#pragma unroll 1
      for (int step = 0; step < steps; step += kAhead) {
        RowPack<V, Inputs, kOnce> x[kAhead];
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          x[k] = held;
          if (step + k >= steps) continue;
          const Index at = start + (step + k) * front;
          if (at >= whole) continue;
          if (moves) to.template move<V>(p, (first + (step + k) * p.lanes) * rows + row);
          load_rows<V, ~kStays>(x[k], p, to, at * V, apart);
        }
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          if (step + k >= steps) continue;
          const Index at = start + (step + k) * front;
          if (at < whole) put_rows<Map, Acc, Out>(p, x[k], to.left, at * V);
          else if (at < all) put_singles<Map, Acc, Out>(p, at * V, n);
        }
      }
    };
    // Of vectors that lie in one row, as those of nearly all warps do where rows are long, no element has to be asked which row it is in.
    if (__any_sync(__activemask(), to.left < V)) return slide(to);
    to.left = V;
    slide(to);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_dense.cuh"

namespace tcu::cuda::rows {

struct BroadcastPeriodic {
  // kStays: which inputs have a stride of 0 in all modes but the fastest.
  static unsigned staying(const Problem &p) {
    unsigned inputs = 0;
    for (int i = 0; i < p.n_inputs; ++i)
      inputs |= unsigned(std::all_of(p.modes.begin() + 1, p.modes.end(), [i](const Mode &m) { return m.stride[1 + i] == 0; })) << i;
    return inputs;
  }
  static unsigned once(const Problem &p) { return BroadcastGeneral::once(p, vector_of(p, true)) & ~staying(p); }
  // Whether there is an input of which each step reads as much as out has.
  static bool reads_vectors(const Problem &p) { return (staying(p) | once(p)) + 1 != 1u << p.n_inputs; }
  static bool accepts(const Problem &p, const Device &d) { return BroadcastDense::accepts(p, d) && staying(p) != 0; }

  // Where instructions are what takes time: where no vectors are read, as in an outer product; in rows of bytes; and in rows of 16 bits where two inputs
  // stay. (H200, beside broadcast.dense: 0.5 to 0.99, 0.3 to 0.8, 0.66 to 1.01 of the time; with one input that stays 1.0 to 1.1.) Rows of half vectors
  // broadcast.sliding_register takes, but for outer products of 16 bits whose rows are long (0.90 to 1.0 of its time from 300 elements on).
  static bool suits(const Problem &p, const Device &d) {
    const int v = vector_of(p, true);
    if (BroadcastGeneral::vector(p) > 1) return v == 8 && p.n_inputs == 2 && !reads_vectors(p) && p.modes[0].extent >= 32 * v;
    if (reads_vectors(p)) return v == 16 || (v == 8 && std::popcount(staying(p)) > 1);
    return p.n_inputs == 2 || !BroadcastDense::slides(p, d);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    constexpr int64_t kSide = 4096;  // vectors side by side where a period is short: what is read at a time is one place then
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true), c.detail = BroadcastDense::apart(p) & ~int(once(p));
    const int64_t extent = p.modes[0].extent, all = ceil_div(p.kept(), c.vector);
    const int64_t period = extent / std::min<int64_t>(extent & -extent, c.vector);
    // As many periods side by side as leave the fewest threads of the last block with nothing to do.
    const auto blocks = [&](int64_t periods) { return ceil_div(std::min(periods * period, all), kThreads); };
    int64_t best = 1;
    for (int64_t n = 2; n * period <= std::min(kSide, all); ++n)
      if (n * blocks(best) > best * blocks(n)) best = n;
    // As many tiles as the factor says, or as leave each processor four blocks; and then even ones.
    const int64_t most = ceil_div(all, best * period), factor = tuning("broadcast.periodic", d, bytes_of(p.out)).factor;
    const int64_t tiles = std::min(most, std::max(ceil_div(most, factor), ceil_div(4 * d.processors, blocks(best))));
    c.lanes = int(best), c.split = ceil_div(most, tiles);
    c.grid = ceil_div(most, c.split) * blocks(best);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "broadcast_periodic", {bits_text(once(p)), bits_text(staying(p))});
  }
};

}  // namespace tcu::cuda::rows
#endif
