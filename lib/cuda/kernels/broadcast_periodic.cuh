// broadcast.periodic: as broadcast.dense, for inputs that are the same for all of out's rows ('K K ...', a vector beside a matrix).
// After a period, the vectors that are whole rows (V of them or fewer), vectors lie in rows as they did before. So a thread has one place
// in a period and goes from period to period, p.split steps in all: an input that stays (kStays, a bit an input) it reads once, and
// where rows end it finds out once. p.lanes periods are taken side by side. The other inputs are read as broadcast.dense reads them; kApart: those
// of these that lie otherwise than out does.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/rows.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, unsigned kOnce, unsigned kStays, unsigned kApart>
struct broadcast_periodic {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, V = kVector<Inputs, Out>;
  static constexpr int kMoving = words_read<V, kOnce, 2>(~kStays, Inputs{});
  static constexpr int kAhead = N <= 2 || (V <= 8 && kMoving <= 12) ? 3 : 2;  // steps under way at once
  // Registers are what limits it: of few words there are blocks for more. (Two halves of kOnce count as one word: these bounds were measured so.)
  static constexpr int kWords = kMoving * kAhead + words_read<V, kOnce, 2>(kStays, Inputs{});
  static constexpr int kResident = map_blocks<Map, Acc, V>(V > 8 ? is_light<Map, Acc> ? 4 : 3 : kWords > 8 ? 4 : 6);
  using AwaitsTurn = broadcast_periodic;

  // What a thread does: `steps` vectors from `start` on, `front` apart, in row `row` of periods from `first` on.
  struct Course {
    Index start, front, first, row;
    int rows, steps;
  };
  // What stays, in the vector's columns. kOneRow: they are of one row.
  template <bool kOneRow, int I = 0, unsigned kOne, class P>
  TCU_DEVICE static void hold(RowPack<V, Types<>, kOne> &, const P &, const Place<N, Index> &) {}
  template <bool kOneRow, int I = 0, unsigned kOne, class P, class T, class... R>
  TCU_DEVICE static void hold(RowPack<V, Types<T, R...>, kOne> &pack, const P &p, const Place<N, Index> &to) {
    if constexpr (kStays >> I & 1) {
      const T *const from = static_cast<const T *>(p.in[I]);
      const Index stride = Index(p.mode[0].in[I]), extent = Index(p.mode[0].extent);
      if (kOneRow && stride == 1) {
        pack.first = load_anywhere<V>(from + to.column, to.column, to.left);
      } else {
        Vec<T, V> e;
#pragma unroll
        for (int v = 0; v < V; ++v) e.at[v] = from[(to.column + v - (v < to.left ? 0 : extent)) * stride];
        pack.first = Raw<T, V>::of(e);
      }
    }
    hold<kOneRow, I + 1>(pack.rest, p, to);
  }
  template <bool kOneRow, class P>
  TCU_DEVICE static void slide(const P &p, const Course &c, Place<N, Index> to) {
    constexpr bool kMoves = ((kOnce | kApart) & ~kStays) != 0;
    RowPack<V, Inputs, kOnce> held;
    if (c.steps > 0) hold<kOneRow>(held, p, to);
    if constexpr (kOneRow) to.left = V;
#pragma unroll 1
    for (int step = 0; step < c.steps; step += kAhead) {
      RowPack<V, Inputs, kOnce> x[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        x[k] = held;
        const int here = step + k < c.steps ? step + k : step;
        if constexpr (kMoves) to.template move<V>(p, (c.first + here * p.lanes) * c.rows + c.row);
        load_rows<V, ~kStays>(x[k], p, to, (c.start + here * c.front) * V, kApart);
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k)
        if (step + k < c.steps) put_rows<Map, Acc, Out>(p, x[k], to.left, (c.start + (step + k) * c.front) * V);
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept), extent = Index(p.mode[0].extent), whole = n / V, all = (n + V - 1) / V;  // in vectors
    const Index common = extent & -extent;  // the greatest power of two in it
    const int unit = common < V ? int(common) : V;
    Course c;
    c.rows = quotient(V, unit);  // of a period
    const Index side = quotient(extent, unit) * p.lanes;
    c.front = side < all ? side : all;
    const unsigned blocks = unsigned((c.front + kThreads - 1) / kThreads), tile = blockIdx.x / blocks;
    const Index mine = Index(blockIdx.x - tile * blocks) * kThreads + Index(threadIdx.x);
    if (mine >= c.front) return;

    const Index row = divide(mine * V, p.mode[0].divisor), ahead = quotient(row, c.rows), most = Index(p.split);
    c.row = row - ahead * c.rows, c.first = Index(tile) * p.lanes * most + ahead, c.start = Index(tile) * c.front * most + mine;
    for (c.steps = int(most); c.steps > 0 && c.start + (c.steps - 1) * c.front >= whole;) --c.steps;
    const Place<N, Index> to(p, mine * V - row * extent);
    await_turn();
    // Of vectors that lie in one row, as those of nearly all warps do where rows are long, no element has to be asked which row it is in.
    if (__any_sync(__activemask(), to.left < V)) slide<false>(p, c, to);
    else slide<true>(p, c, to);
    if (c.steps < most && c.start + c.steps * c.front == whole && whole < all) put_singles<Map, Acc, Out>(p, whole * V, n);
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
  static bool accepts(const Problem &p, const Device &d) { return BroadcastDense::accepts(p, d) && staying(p) != 0; }

  // Where instructions are what takes time: where no vectors are read at each step, as in an outer product, and in rows of bytes; of 16 bits where two
  // inputs stay, or one, and another is the same all along a row, if that is short; of 32 bits where two stay, and in rows of half vectors there is such
  // another. Not in such rows of bytes, or where there are other modes to divide by, or more than two inputs to read at each step. (H200, 118 problems of
  // 130 MB: 0.36 to 1.02 of the time of the row that was chosen before.)
  static bool suits(const Problem &p, const Device &) {
    const int v = vector_of(p, true), stay = std::popcount(staying(p)), moving = p.n_inputs - std::popcount(staying(p) | once(p));
    const bool halves = BroadcastGeneral::vector(p) > 1, factors = once(p) != 0, is_short = p.modes[0].extent < 32 * v;
    const struct {
      bool is, faster;
    } kinds[] = {
        {halves && (v == 16 || p.modes.size() > 2 || moving > 2), false},
        {v == 16 || moving == 0, true},
        {v == 8, stay > 1 || (factors && is_short)},
        {v == 4, stay > 1 && (factors || !halves)},
        {true, false},
    };
    return first_kind(kinds).faster;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    constexpr int64_t kSide = 4096;  // vectors side by side where a period is short: what is read at a time is one place then
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true);
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
    return make_instance(p, "broadcast_periodic", {bits_text(once(p)), bits_text(staying(p)), bits_text(BroadcastDense::apart(p) & ~(once(p) | staying(p)))});
  }
};

}  // namespace tcu::cuda::rows
#endif
