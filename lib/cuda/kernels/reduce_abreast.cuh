// reduce.abreast: the fastest mode is kept and long, and rows begin anywhere ('K R', 'K R K', 'K R K R', ...; one input).
// A piece is V outputs from an address on that a vector of out has. A thread reads V elements of every row for it: two aligned words wherever
// they begin, put together, kItems rows in flight. What it has beside a row's end is a neighbour's and is not stored; pieces next to the first and
// the last of the input's elements, whose words are not all the input's, are read element by element.
// kShares: of few pieces with many rows, the block's threads are p.lanes pieces across, and the others that share these take other rows; so
// do p.split parts (device/split.cuh) of p.chunk rows. What they come to is put together as in reduce.strided.
// reduce.strided and reduce.general read such rows in single elements; reduce.shifted, which reads each word once, takes one reduced mode, of rows
// that lie one after another.
#pragma once
#include "kernels/reduce_strided.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int Columns, int Rows, bool kShares>
struct reduce_abreast {
  using Strided = reduce_strided<Map, Op, Acc, Out, Index, true, 0>;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  using T = first_of<typename Map::Inputs>;
  static constexpr int V = Columns, N = 1, kItems = Rows, kResident = resident<F, V>(8 - Rows);
  static constexpr bool kAcross = !F::kSecond && V * sizeof(Out) > 32;  // outputs go to memory by way of shared memory
  using AwaitsTurn = reduce_abreast;
  static_assert(Map::Inputs::size == 1 && V * sizeof(T) >= 8);

  // Of a piece: the offsets of its row of outputs, and which of these its first is.
  struct Piece {
    Offsets<N, Index> o;
    Index first;
  };

  // Rows r to r + Items - 1 of a piece; kClamped: those from `end` on are the last again. kWithin: of its words all are the input's.
  template <int Items, bool kWithin, bool kOne, bool kClamped, class P>
  TCU_DEVICE static void round(const P &p, State (&s)[V], const Piece &piece, Index r, Index end) {
    const T *const all = static_cast<const T *>(p.in[0]);
    const Index extent = Index(p.mode[0].extent);
    Raw<T, V> low[Items], high[Items];
    unsigned over[Items];  // bytes
    Index position[Items];
    const auto &mode = p.mode[p.n_kept];
    const Index row = kOne ? r : r - divide(r, mode.divisor) * Index(mode.extent);
    Offsets<N, Index> first = piece.o;
    if constexpr (kOne) advance(first, mode, r);
    else decode(first, p, p.n_kept, p.n_kept + p.n_folded, r);
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const Index i = kClamped && r + k >= end ? end - 1 - r : k;
      Offsets<N, Index> at = piece.o;
      if (kOne || row + i < Index(mode.extent)) at = first, advance(at, mode, i);
      else decode(at, p, p.n_kept, p.n_kept + p.n_folded, r + i);
      position[k] = at.weight;
      if constexpr (kWithin) {
        const T *const from = all + (at.in[0] + piece.first);
        over[k] = unsigned(reinterpret_cast<uint64_t>(from)) % (V * sizeof(T));
        const T *const word = from - over[k] / sizeof(T);
        low[k] = Raw<T, V>::template load<false>(word);  // not streamed: a neighbour's are these too
        high[k] = Raw<T, V>::template load<false>(over[k] == 0 ? word : word + V);
      } else {
        Vec<T, V> e;
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const Index i = piece.first + v;
          e.at[v] = all[at.in[0] + (i < 0 ? 0 : i < extent ? i : extent - 1)];
        }
        low[k] = Raw<T, V>::of(e);
      }
    }
    Pack<V, typename Map::Inputs> x[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if constexpr (kWithin) x[k].first = put_together<V, T>(low[k], high[k], over[k]);
      else x[k].first = low[k];
    }
    append_rows<F, Map, kOne, !kClamped>(p, s, x, position, [&](int k) { return r + k < end; });
  }
  // Rounds of rows from r on, `step` rows apart.
  template <bool kWithin, bool kOne, class P>
  TCU_DEVICE static void rows(const P &p, State (&s)[V], const Piece &piece, Index r, Index end, Index step) {
#pragma unroll 1
    for (; r + kItems <= end; r += step) round<kItems, kWithin, kOne, false>(p, s, piece, r, end);
    if (kItems > 2 && r + 2 < end) round<kItems, kWithin, kOne, true>(p, s, piece, r, end);
    else if (r < end) round<2, kWithin, kOne, true>(p, s, piece, r, end);
  }
  // Where the kept modes lead, at the least and at the most.
  struct Reach {
    Index lowest = 0, highest = 0;
  };
  template <class P>
  TCU_DEVICE static Reach reach_of(const P &p) {
    Reach reach;
#pragma unroll 1
    for (int m = 0; m < p.n_kept; ++m) {
      const Index last = (Index(p.mode[m].extent) - 1) * Index(p.mode[m].in[0]);
      (last < 0 ? reach.lowest : reach.highest) += last;
    }
    return reach;
  }
  template <class P>
  TCU_DEVICE static void rows(const P &p, State (&s)[V], const Piece &piece, const Reach &reach, Index r, Index end, Index step) {
    const Index from = piece.o.in[0] + piece.first;
    if (!(from >= reach.lowest + V && from <= reach.highest - (2 * V - 1))) rows<false, false>(p, s, piece, r, end, step);
    else if (p.n_folded == 1) rows<true, true>(p, s, piece, r, end, step);
    else rows<true, false>(p, s, piece, r, end, step);
  }

  template <class P>
  TCU_DEVICE static void store_piece(const P &p, const State (&s)[V], const Piece &piece) {
    constexpr int W = V * int(sizeof(Out)) > 16 ? 16 / int(sizeof(Out)) : V;  // of an access
    const Index extent = Index(p.mode[0].extent), stride = Index(p.mode[0].out), to = piece.o.out + piece.first * stride;
    if (!F::kSecond && stride == 1 && piece.first >= 0 && piece.first + V <= extent) {
#pragma unroll
      for (int first = 0; first < V; first += W) {
        Vec<typename F::Post, W> some;
#pragma unroll
        for (int w = 0; w < W; ++w) some.at[w] = F::post(p, s[first + w], p.folded);
        store(p, static_cast<Out *>(p.out) + (to + first), some);
      }
      return;
    }
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (piece.first + v >= 0 && piece.first + v < extent) store_result<F, Out>(p, to + v * stride, s[v], p.folded);
  }

  // Of a warp whose pieces follow each other.
  template <class P>
  TCU_DEVICE static void store_across(const P &p, const State (&s)[V], Index first, State *shared) {
    const int lane = int(threadIdx.x) % 32;
    State *const own = shared + (int(threadIdx.x) - lane) * V;
    __syncwarp();  // the last pieces' may still be being read
#pragma unroll
    for (int v = 0; v < V; ++v) own[lane * V + v] = s[v];
    __syncwarp();
#pragma unroll
    for (int v = 0; v < V; ++v) store_result<F, Out>(p, first + (v * 32 + lane), own[v * 32 + lane], p.folded);
  }

  // Number `at` of all pieces, of which a row of outputs has p.detail.
  template <class P>
  TCU_DEVICE static Piece piece_of(const P &p, Index at) {
    const Index pieces = Index(p.detail), row = at / pieces;
    Piece piece{{}, (at - row * pieces) * V};
    decode(piece.o, p, 1, p.n_kept, row);
    if (p.mode[0].out == 1) piece.first -= Index(reinterpret_cast<uint64_t>(static_cast<Out *>(p.out) + piece.o.out) / sizeof(Out) % V);
    return piece;
  }
  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept) / Index(p.mode[0].extent) * Index(p.detail);
    if constexpr (kShares) share_pieces(p, n);
    else fold_pieces(p, n);
  }
  // n pieces, one after another a thread each.
  template <class P>
  TCU_DEVICE static void fold_pieces(const P &p, Index n) {
    TCU_SHARED(State, shared, kAcross ? kThreads * V : 1);
    const Reach reach = reach_of(p);
    await_turn();
#pragma unroll 1
    for (Index begin = Index(blockIdx.x) * kThreads; begin < n; begin += Index(gridDim.x) * kThreads) {
      const Index at = begin + Index(threadIdx.x);
      const Piece piece = piece_of(p, at);
      const bool inside = at < n && piece.first < Index(p.mode[0].extent);
      State s[V];
#pragma unroll
      for (int v = 0; v < V; ++v) s[v] = F::identity();
      if (inside) rows(p, s, piece, reach, 0, Index(p.folded), kItems);
      if constexpr (kAcross) {
        const int lane = int(threadIdx.x) % 32;
        const bool whole = inside && piece.first >= 0 && piece.first + V <= Index(p.mode[0].extent);
        const Index first = __shfl_sync(~0u, piece.o.out + piece.first, 0);
        if (p.mode[0].out == 1 && __all_sync(~0u, whole && piece.o.out + piece.first == first + lane * V)) {
          store_across(p, s, first, shared);
          continue;
        }
      }
      if (inside) store_piece(p, s, piece);
    }
  }
  // A block for each part of each tile of p.lanes pieces.
  template <class P>
  TCU_DEVICE static void share_pieces(const P &p, Index n) {
    TCU_SHARED(State, shared, Strided::kShared);
    const int lanes = p.lanes, t = int(threadIdx.x), y = quotient(t, lanes), width = lanes * V;
    const Index extent = Index(p.mode[0].extent), tiles = (n + lanes - 1) / lanes, part = Index(blockIdx.x) / tiles;
    const Index first = (Index(blockIdx.x) - part * tiles) * lanes, step = quotient(kThreads, lanes) * kItems;
    const Index begin = part * Index(p.chunk), end = Index(p.folded) - begin > Index(p.chunk) ? begin + Index(p.chunk) : Index(p.folded);
    State s[V];
#pragma unroll
    for (int v = 0; v < V; ++v) s[v] = F::identity();
    const Index at = first + remainder(t, lanes);
    const Piece piece = piece_of(p, at);
    const Reach reach = reach_of(p);
    await_turn();
    if (at < n && piece.first < extent) rows(p, s, piece, reach, begin + y * kItems, end, step);
    State mine = Strided::fold_rows(s, lanes, shared);
    if (p.split > 1) {
      const auto all = Strided::combine_apart(mine, Strided::parts_of(p, width, int64_t(first / lanes), int(part)), width, shared);
      if (!all.is_last) return;
      mine = all.mine;
    }
    const Index own = first + t / V;
    if (t >= width || own >= n) return;
    const Piece to = piece_of(p, own);
    const Index element = to.first + t % V;
    if (element >= 0 && element < extent) store_result<F, Out>(p, to.o.out + element * Index(p.mode[0].out), mine, p.folded);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_periods.cuh"
#include "kernels/reduce_split.cuh"

namespace tcu::cuda::rows {

struct ReduceAbreast {
  // Outputs of a thread: a vector of 16 bytes, of 8-bit elements only where outputs are narrow and not positions.
  static int vector(const Problem &p) {
    const int most = appends(p) ? 4 : state_bytes(p) > 4 || bytes_of(p.out) > 2 ? 8 : 16;
    return std::min(16 / bytes_of(p.in[0]), most);
  }
  // Rows: as many as leave none, or one, of the last round without. (H200: of 2 rows 2 at once took 0.73 to 1.0 of the time that 4 do, 3 of 3, 5 and 6 rows
  // 0.81 to 1.05, of more 0.9 to 1.3; 8 at once 1.0 to 1.5, of 48 0.8 to 1.2.)
  static int in_flight(const Problem &p) { return p.reduced() <= 2 ? 2 : p.reduced() <= 6 && p.reduced() != 4 ? 3 : 4; }
  static int64_t pieces(const Problem &p) { return ceil_div(p.modes[0].extent + vector(p) - 1, vector(p)); }
  static int64_t all_pieces(const Problem &p) { return p.kept() / p.modes[0].extent * pieces(p); }
  static bool accepts(const Problem &p, const Device &) {
    const int v = vector(p);
    if (p.n_inputs != 1 || p.modes.size() < 2 || v == 1 || v * bytes_of(p.in[0]) < 8 || v * state_bytes(p) > ReduceStrided::kMostState) return false;
    const Mode &k = p.modes[0];
    return k.role == Role::K && k.stride[1] == 1 && k.extent >= v && p.reduced() > 0 && !p.empty() &&
           (1 << p.alignment[1]) >= bytes_of(p.in[0]) && pieces(p) <= INT32_MAX;
  }
  // So few rows, and so many pieces that nearly every thread has one. (Of 126 pinned problems of 5 to 400 MB, H200, 2 to 300 rows, it is chosen for 89,
  // which took 0.31 to 0.92 of the time of the best other row, seven, most of float64, 0.92 to 1.0; of the others it was faster in two, 0.90 and 0.96.)
  static bool alone(const Problem &p) {
    const int bytes = bytes_of(p.in[0]);
    const int64_t rows = p.reduced();
    const struct {
      bool is;
      int64_t rows, pieces;  // at most, at least
    } kinds[] = {
        {bytes == 8, 7, 500000},
        {bytes == 4, 32, 120000},
        {rows <= 48, 48, 80000},
        {true, 300, 160000},
    };
    const auto &kind = first_kind(kinds);
    return rows <= kind.rows && all_pieces(p) >= (p.modes.n_of(Role::R) > 1 ? kind.pieces / 3 : kind.pieces);
  }
  static int lanes(const Problem &p) {
    int lanes = kThreads / vector(p);
    while (lanes / 2 >= all_pieces(p)) lanes /= 2;
    return lanes;
  }
  // Rows that a block has in flight.
  static int round(const Problem &p) { return kThreads / lanes(p) * in_flight(p); }
  // Whether threads share pieces: those have several rounds then.
  static bool shares(const Problem &p) { return !alone(p) && p.reduced() >= 2 * round(p); }
  // Shared pieces of several reduced modes, the fastest of few rows: where it is long reduce.tiles has them, and of one mode reduce.shifted. (Of 76
  // pinned problems of 6 to 350 MB, H200, it is chosen for 51; 47 took 0.38 to 0.98 of the time of the best other row, half less than 0.78, four 1.02 to 1.28.)
  static bool scattered(const Problem &p) {
    const int bytes = bytes_of(p.in[0]);
    const struct {
      bool is;
      int64_t most;  // rows of the fastest
    } kinds[] = {
        {bytes > 4, 0},
        {is_arg(p.op), bytes <= 2 ? 8 : 0},
        {appends(p) && bytes == 2, 8},
        {true, 48},
    };
    return shares(p) && p.modes.n_of(Role::R) > 1 && p.modes[0].extent >= 160 && fastest(p, Role::R)->extent <= first_kind(kinds).most;
  }
  // Rows that are no whole vectors, or are and would not be read as such, long enough and not reduce.periods'.
  static bool suits(const Problem &p, const Device &d) {
    if (p.modes[0].stride[0] != 1 || p.modes[0].extent < 32 * vector(p) || p.reduced() < 2) return false;
    if (ReduceStrided::wide(p) && !ReduceStrided::spreads(p, d)) return false;
    if (ReducePeriods::accepts(p, d) && ReducePeriods::suits(p, d)) return false;
    return alone(p) || scattered(p);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector(p), c.detail = int(pieces(p)), c.lanes = kThreads;
    if (!shares(p)) {
      c.grid = persistent_grid("reduce.abreast", p, d, ceil_div(all_pieces(p), kThreads));
      return c;
    }
    c.variant = 1;
    c.lanes = lanes(p);
    const int64_t tiles = ceil_div(all_pieces(p), c.lanes), rounds = ceil_div(p.reduced(), round(p));
    const int64_t resident = ReduceSplit::resident("reduce.abreast", p, d, c.vector, 8 - in_flight(p));
    c.chunk = ceil_div(rounds, ReduceSplit::parts_for(tiles, resident, std::max<int64_t>(rounds / 2, 1), 0.9375)) * round(p);
    c.split = ceil_div(p.reduced(), c.chunk);
    c.grid = tiles * c.split;
    ReduceSplit::keep_parts(c, p, tiles, c.lanes * c.vector);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "reduce_abreast", {std::to_string(vector(p)), std::to_string(in_flight(p)), c.variant == 1 ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
