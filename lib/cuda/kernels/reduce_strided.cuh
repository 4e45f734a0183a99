// reduce.strided, reduce.split (variants 1 and 2): the fastest mode is kept ('K R', 'K R K', 'K R K R').
// Threads lie across the K modes, p.lanes of them (a power of two), each with V neighbouring outputs; the block's other
// threads take other rows, an R index each, kItems rows in flight. kWide: V is a vector of 16 bytes, or most_columns elements, which the
// fastest K mode's extent and every stride allow; else V is 1. The rows meet in shared memory; then a thread has one output of the tile.
// Where there are so few outputs that a row of them is short, p.detail rows, one after another in memory, are read as one; what
// belongs to an output meets at the end.
// With p.split > 1 there are so many parts, which take turns of p.chunk rows, and the last block to finish puts them together
// (device/split.cuh).
#pragma once
#include "device/append.cuh"
#include "device/split.cuh"

namespace tcu::cuda {
// Outputs of a thread, at most: with sixteen, of 8-bit integers, or eight variances there are registers for fewer blocks, or fewer loads.
TCU_FN constexpr int most_columns(bool appends) { return appends ? 4 : 8; }
// Rows that a thread reads before it folds them: as many as leave registers for the states of its columns.
TCU_FN constexpr int rows_in_flight(int inputs, int columns, int state_bytes, int element_bytes, bool appends) {
  return inputs == 1 && columns * (state_bytes + 8 * element_bytes) <= (appends ? 192 : 160) ? 8 : 4;
}
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, bool kWide, unsigned kOnce>
struct reduce_strided {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int kColumns = most_columns(F::kAppends);
  static constexpr int V = !kWide ? 1 : kVector<typename Map::Inputs> < kColumns ? kVector<typename Map::Inputs> : kColumns;
  static constexpr int N = Map::Inputs::size, kBytes = largest_of<typename Map::Inputs>::bytes;
  static constexpr int64_t kMuch = 256 << 20;  // bytes of all elements
  static constexpr int kResident = resident<F, V>(4);
  using AwaitsTurn = reduce_strided;
  static constexpr int kItems = rows_in_flight(N, V, sizeof(State), kBytes, F::kAppends);
  static constexpr int kShared = kThreads * (V < 8 ? V : 8);  // states
  static constexpr int kParts = kPartBytes / sizeof(State);   // whose states a thread has in flight
  // Whether to append a round takes so long that the next one is read meanwhile: to more than two numbers.
  static constexpr bool kAhead = F::kAppends && sizeof(State) > 2 * sizeof(typename F::Post);

  enum class Rows { kApart, kScattered, kAny };  // see rows_of

  template <int Items>
  struct Loads {
    Pack<V, typename Map::Inputs, kOnce> x[Items];
    Index position[Items];
  };
  // Rows r, r + rows, ..., as many as Items; clamped: for those from end on the last, for a load that may not happen would hold its
  // registers twice.
  template <Rows kRows, bool kClamped, int Items, class P>
  TCU_DEVICE static void load(const P &p, Loads<Items> &to, const Offsets<N, Index> &o, unsigned accesses, Index r, Index end,
                              Index rows) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const Index row = kClamped && r + k * rows >= end ? end - 1 : r + k * rows;
      Offsets<N, Index> at = o;
      if constexpr (kRows == Rows::kApart) advance(at, p.mode[p.n_kept], row * Index(p.detail));
      else decode(at, p, p.n_kept, p.n_kept + p.n_folded, row);
      load_pack<V, kRows != Rows::kAny, true>(to.x[k], p, at, 0, Index(0), accesses);
      to.position[k] = at.weight;
    }
  }
  // These rows; clamped: but for those from end on.
  template <Rows kRows, int Items, bool kClamped, class P>
  TCU_DEVICE static void round(const P &p, State (&s)[V], const Offsets<N, Index> &o, unsigned accesses, Index r, Index end,
                               Index rows) {
    Loads<Items> these;
    load<kRows, kClamped>(p, these, o, accesses, r, end, rows);
    append_rows<F, Map, kRows == Rows::kApart, !kClamped>(p, s, these.x, these.position, [&](int k) { return r + k * rows < end; });
  }
  // Whole rounds of rows r, r + rows, ..., each read while the one before it is appended. From where on rows are left.
  template <Rows kRows, class P>
  TCU_DEVICE static Index rounds_ahead(const P &p, State (&s)[V], const Offsets<N, Index> &o, unsigned accesses, Index r, Index end,
                                       Index rows) {
    constexpr int Items = V * kBytes > 8 ? kItems / 2 : kItems;  // of two rounds there are registers for
    if (r + (Items - 1) * rows >= end) return r;
    Loads<Items> these, next;
    const auto append = [&] {
      append_rows<F, Map, kRows == Rows::kApart, true>(p, s, these.x, these.position, [](int) { return true; });
    };
    load<kRows, false>(p, these, o, accesses, r, end, rows);
#pragma unroll 1
    for (r += Items * rows; r + (Items - 1) * rows < end; r += Items * rows) {
      load<kRows, false>(p, next, o, accesses, r, end, rows);
      append();
      these = next;
    }
    append();
    return r;
  }
  // Rows begin + y, begin + y + rows, ... of the V outputs whose inputs start at `o`, `Items` in flight. kApart: there is one R mode, so that a row is
  // a step from the one before, and elements come in the order of their positions; kScattered: there are several; kAny: and an input is not read in
  // one access.
  template <Rows kRows, int Items, class P>
  TCU_DEVICE static void rows_of(const P &p, State (&s)[V], const Offsets<N, Index> &o, unsigned accesses, Index begin, Index end,
                                 Index y, Index rows) {
    Index r = begin + y;
    if constexpr (kAhead && kRows == Rows::kApart) {
      r = rounds_ahead<kRows>(p, s, o, accesses, r, end, rows);
    } else {
#pragma unroll 1
      for (; r + (Items - 1) * rows < end; r += Items * rows) round<kRows, Items, false>(p, s, o, accesses, r, end, rows);
    }
    if (Items > 4 && r + 3 * rows < end) {
      round<kRows, 4, false>(p, s, o, accesses, r, end, rows);
      r += 4 * rows;
    }
#pragma unroll 1
    for (; r < end; r += 2 * rows) round<kRows, 2, true>(p, s, o, accesses, r, end, rows);
  }
  template <class P>
  TCU_DEVICE static void column(const P &p, State (&s)[V], const Offsets<N, Index> &o, Index begin, Index end, Index y,
                                Index rows) {
    // A single input of the wide kernel is read in one access: the host has seen to it.
    const unsigned accesses =
        V == 1 || N == 1 ? 0 : find_accesses<V, kOnce>(typename Map::Inputs{}, p, o, 0, Index(0), p.n_kept, p.n_kept + p.n_folded);
    if (accesses) rows_of<Rows::kAny, 2>(p, s, o, accesses, begin, end, y, rows);
    else if (p.n_folded == 1) rows_of<Rows::kApart, kItems>(p, s, o, 0, begin, end, y, rows);
    else rows_of<Rows::kScattered, 4>(p, s, o, 0, begin, end, y, rows);
  }

  // The states of a warp's rows, `lanes` threads each, put together: in each step two lanes have Held outputs in common, of which one
  // takes the first half and one the second; one output both keep. How many a lane then has; s[0] is of number `from` of its W.
  template <int Held, int W>
  TCU_DEVICE static int hand_over(State (&s)[W], int h, int lanes, int &from) {
    if constexpr (Held == 1) {
#pragma unroll 1
      for (; h >= lanes; h /= 2) s[0] = F::combine(s[0], shuffle_xor(s[0], h));
      return 1;
    } else {
      if (h < lanes) return Held;
      const bool upper = threadIdx.x & h;
#pragma unroll
      for (int w = 0; w < Held / 2; ++w) {
        const State low = s[w], high = s[Held / 2 + w];
        s[w] = F::combine(choose(upper, high, low), shuffle_xor(choose(upper, low, high), h));
      }
      from += upper ? Held / 2 : 0;
      return hand_over<Held / 2>(s, h / 2, lanes, from);
    }
  }
  // W states of each thread: of outputs x W to x W + W - 1 of its row y, where t = y lanes + x. Combines the rows: thread t then has
  // output first + t of the lanes W that there are, in a circle. A row's outputs are no more than the block's threads.
  template <int W>
  TCU_DEVICE static State fold_rows(State (&s)[W], int lanes, State *shared, int first = 0) {
    const int t = int(threadIdx.x), across = lanes < 32 ? 32 : lanes, group = quotient(t, across);
    int from = 0;
    const int held = hand_over<W>(s, 16, lanes, from);
    const auto slot = [&](int of, int w, int lane) -> State & { return shared[(of * W + w) * lanes + lane]; };
    __syncthreads();  // the last call's states may still be being read
    if ((t & (32 / W - 1) & -lanes) == 0) {  // of lanes with the same, one
#pragma unroll
      for (int w = 0; w < W; ++w)
        if (w < held) slot(group, from + w, remainder(t, lanes)) = s[w];
    }
    __syncthreads();
    State all = F::identity();
    if (t < lanes * W) {
      const int of = t + first < lanes * W ? t + first : t + first - lanes * W;
      const int groups = quotient(kThreads, across);
#pragma unroll 1
      for (int g = 0; g < groups; g += 4) {
        State some[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) some[k] = slot(g + k < groups ? g + k : g, of % W, of / W);
#pragma unroll
        for (int k = 0; k < 4; ++k)
          if (g + k < groups) all = F::combine(all, some[k]);
      }
    }
    return all;
  }
  TCU_DEVICE static State fold_rows(State s, int lanes, State *shared) {
    State one[1] = {s};
    return fold_rows(one, lanes, shared);
  }

  // V states of each thread, of outputs from `first` on: through shared memory, so that neighbouring threads store neighbours.
  template <class P>
  TCU_DEVICE static void store_across(const P &p, const State (&s)[V], Index first, State *shared) {
    const int t = int(threadIdx.x);
    __syncthreads();  // the last tile's states may still be being read
#pragma unroll
    for (int v = 0; v < V; ++v) shared[t * V + v] = s[v];
    __syncthreads();
#pragma unroll 1
    for (int i = t; i < kThreads * V && first + i < Index(p.kept); i += kThreads) {
      Offsets<N, Index> to;
      decode(to, p, 0, p.n_kept, first + i);
      store_result<F, Out>(p, to.out, shared[i], p.folded);
    }
  }

  // The parts of a tile of outputs: in the workspace they lie, and behind them their groups'; among the tickets the groups' and that of all.
  struct Parts {
    State *first;
    void *tickets;
    int64_t ticket;
    int own, split, together, groups;
  };
  template <class P>
  TCU_DEVICE static Parts parts_of(const P &p, int width, int64_t tile, int part) {
    State *const first = static_cast<State *>(p.workspace) + tile * (p.split + p.groups) * width;
    return {first, p.zeroed, tile * (1 + p.groups), part, int(p.split), p.together, p.groups};
  }
  // The parts of `width` outputs as one, in a fixed order: `mine` is thread t's of output t, of this part and then of all. False in the blocks
  // that have no more to do.
  TCU_DEVICE static bool combine(const Parts &parts, State &mine, int width, State *shared) {
    const int t = int(threadIdx.x), group = quotient(parts.own, parts.together), first = group * parts.together;
    State *those = parts.first + first * width;  // of a group, or of all groups
    int n = parts.split - first < parts.together ? parts.split - first : parts.together, own = parts.own - first, level = group;
#pragma unroll 1
    for (;;) {
      if (t < width) those[own * width + t] = mine;
      if (!is_last(parts.tickets, parts.ticket + level, n)) return false;
      mine = F::identity();
      const int rows = n > kParts ? quotient(kThreads, width) : 1, step = rows * width, count = n * width;
      const int last = count - width + remainder(t, width);
#pragma unroll 1
      for (int at = remainder(t, step); at < count; at += kParts * step) {
        State left[kParts];
#pragma unroll
        for (int k = 0; k < kParts; ++k) left[k] = those[unsigned(at + k * step < last ? at + k * step : last)];
#pragma unroll
        for (int k = 0; k < kParts; ++k)
          if (at + k * step < count) mine = F::combine(mine, left[k]);
      }
      if (rows > 1) mine = fold_rows(mine, width, shared);
      if (level == parts.groups) return true;
      those = parts.first + parts.split * width, n = parts.groups, own = group, level = parts.groups;
    }
  }
  // Those of tile number `tile`, of which this is part `part`, if there are several.
  template <class P>
  TCU_DEVICE static bool combine_parts(const P &p, State &mine, int width, int64_t tile, int part, State *shared) {
    return p.split == 1 || combine(parts_of(p, width, tile, part), mine, width, shared);
  }
  struct Combined {
    State mine;
    bool is_last;
  };
  // `combine` as a function of its own: its registers would else be taken from the loop that reads the rows, where a load then waits for another.
  TCU_APART static Combined combine_apart(State mine, Parts parts, int width, State *shared) {
    const bool is_last = combine(parts, mine, width, shared);
    return {mine, is_last};
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(State, shared, kShared);
    // Columns of one matrix: float32 of 64 MB in parts 0.98 of the time (H200). Of float16, which has eight columns a thread and no register left, 1.02 to 1.04.
    if constexpr (!knows_modes<P> && kBytes == 4)
      if (p.n_kept == 1 && p.n_folded == 1) return tiles(of_modes<1, 1>(p), shared);
    tiles(p, shared);
  }
  template <class P>
  TCU_DEVICE static void tiles(const P &p, State *shared) {
    const int lanes = p.lanes, t = int(threadIdx.x), x = remainder(t, lanes), y = quotient(t, lanes), rows = quotient(kThreads, lanes);
    const int tile_width = lanes * V;
    const Index together = Index(p.detail), kept = Index(p.kept), split = Index(p.split);
    const Index n_tiles = quotient(kept * together + tile_width - 1, tile_width), n = n_tiles * split;
#pragma unroll 1
    for (Index item = blockIdx.x; item < n; item += gridDim.x) {
      const Index part = split > 1 ? item / n_tiles : 0, tile = item - part * n_tiles;
      Index element = tile * tile_width + x * V;
      const bool inside = element < kept * together;
      State s[V];
#pragma unroll
      for (int v = 0; v < V; ++v) s[v] = F::identity();
      Offsets<N, Index> o;
      if (inside && p.n_kept > 1) {
        const Index q = divide(element, p.mode[0].divisor);
        element -= q * Index(p.mode[0].extent);
        decode(o, p, 1, p.n_kept, q);
      }
      if (inside) advance(o, p.mode[0], element);
      if (inside && p.n_folded == 1 && item == Index(blockIdx.x) && begins_early<reduce_strided>()) {
        // Of parts all of the first round, or nothing: it gains where there is much (float32 of 256 MB and more 0.99 of the time, variances of 128 MB
        // 0.98; sums of 64 MB take 1.02, logsumexp 1.04).
        const int first = split == 1 ? 1 : kAhead || p.kept * p.folded >= kMuch / kBytes ? kItems : 0;  // rows
        const Index begin = part * Index(p.chunk);
#pragma unroll 1
        for (Index k = y; k < first * rows && (begin + k) * together < Index(p.folded); k += rows) {
          Offsets<N, Index> from = o;
          advance(from, p.mode[p.n_kept], (begin + k) * together);
          look_ahead_at<V, kOnce>(typename Map::Inputs{}, p, from, 0, Index(0));
        }
      }
      await_turn();
      if (inside) {
        const Index folded = quotient(Index(p.folded), p.detail), chunk = Index(p.chunk), round = split * chunk;
#pragma unroll 1
        for (Index begin = part * chunk; begin < folded; begin = folded - begin > round ? begin + round : folded)
          column(p, s, o, begin, folded - begin > chunk ? begin + chunk : folded, Index(y), Index(rows));
      }
      if (rows == 1) {  // and one part: the thread's own outputs
        if constexpr (V * sizeof(Out) > 16) {
          store_across(p, s, tile * tile_width, shared);
          continue;
        }
        if (!inside) continue;
        const Index stride = Index(p.mode[0].out), at = o.out;
        if constexpr (V > 1 && V * sizeof(Out) <= 16 && !F::kSecond) {
          if (Out *const to = static_cast<Out *>(p.out) + at; stride == 1 && is_aligned<Out, V>(to)) {
            Vec<typename F::Post, V> all;
#pragma unroll
            for (int v = 0; v < V; ++v) all.at[v] = F::post(p, s[v], p.folded);
            store(p, to, all);
            continue;
          }
        }
#pragma unroll
        for (int v = 0; v < V; ++v) store_result<F, Out>(p, at + v * stride, s[v], p.folded);
        continue;
      }
      State mine = fold_rows(s, lanes, shared);
      const int width = together > 1 ? int(kept) : tile_width;
      if (together > 1) mine = fold_rows(mine, width, shared);
      if (p.split > 1) {
        const Combined all = combine_apart(mine, parts_of(p, width, tile, int(part)), width, shared);
        if (!all.is_last) continue;
        mine = all.mine;
      }
      if (t < width && tile * width + t < kept) {
        Offsets<N, Index> to;
        decode(to, p, 0, p.n_kept, tile * width + t);
        store_result<F, Out>(p, to.out, mine, p.folded);
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ReduceStrided {
  static constexpr int kMostState = 128;  // bytes of a thread's outputs: a block's fit the shared memory that a kernel has
  static bool accepts(const Problem &p, const Device &) {
    return p.modes.size() >= 2 && p.modes[0].role == Role::K && fastest(p, Role::R) && reads_along(p, p.modes[0]);
  }
  static bool suits(const Problem &p, const Device &d) {
    return !jumps_along(p, p.modes[0]) && (wide(p) ? !spreads(p, d) : many(p, d) && !brief(p, d));
  }
  // Whether a thread would store 64 bytes and more, next to no other's, for a few that it reads; and reduce.general has a thread for each
  // output (int8 over a mode of 3, 12 million int64 on an H200: 131 us, by reduce.general 70).
  static bool spreads(const Problem &p, const Device &d) {
    return p.reduced() <= 4 && p.kept() >= int64_t(d.processors) * d.threads_per_processor && vector(p) * bytes_of(p.out) >= 64;
  }
  // Of single elements (H200, 380 random problems: right in nine of ten, where one row's time is far from the others' in all). Whether
  // there are tiles for half of the multiprocessors; and whether reduce.general has a thread for each output, which has few elements, or all
  // elements are few.
  static bool many(const Problem &p, const Device &d) { return 2 * ceil_div(vectors(p), own_lanes(p, d)) > d.processors; }
  static bool brief(const Problem &p, const Device &d) {
    const int64_t full = int64_t(d.processors) * d.threads_per_processor;
    if (p.reduced() <= 48 && p.reduced() * p.kept() <= 1 << 17) return true;
    // Of several modes: of 13 random problems reduce.general was faster in 10, slower in two, 0.64 to 1.12 (H100 and H200).
    if (p.modes.n_of(Role::R) > 1 && bytes_of(p.out) <= 4 && p.reduced() * p.kept() >= 700000) return true;
    const bool much = p.reduced() >= 6 && p.kept() > 19000000 / p.reduced();  // to read: accesses of neighbours count for more
    return p.kept() >= full && (p.reduced() <= 3 || (p.reduced() <= 32 && p.kept() >= 3 * full && !much));
  }
  // 'K R': columns of one matrix, and nothing else.
  static bool only_columns(const Problem &p) { return p.modes.size() == 2; }
  static int widest(const Problem &p) { return std::min(vector_of(p, false), most_columns(appends(p))); }
  // Elements of a thread's access.
  static int vector(const Problem &p) { return wide(p) ? widest(p) : 1; }
  // Rows that a thread has in flight where one mode is reduced.
  static int in_flight(const Problem &p) { return rows_in_flight(p.n_inputs, vector(p), state_bytes(p), bytes_of(p.in[0]), appends(p)); }
  // Rows that are read as one: they lie one after another, and are shorter than eight vectors.
  static int together(const Problem &p) {
    const int v = widest(p);
    const int64_t kept = p.kept(), rows = kept ? 8 * v / kept : 0;
    if (is_arg(p.op) || v == 1 || v * state_bytes(p) > kMostState || p.modes.size() != 2 || p.modes[1].role != Role::R) return 1;
    if (rows < 2 || (kept & (kept - 1)) || p.reduced() % rows) return 1;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (p.modes[0].stride[k] != 1 || p.modes[1].stride[k] != kept || (1 << p.alignment[k]) < v * bytes_of(p.in[k - 1])) return 1;
    return int(rows);
  }
  static bool wide(const Problem &p) {
    const int v = widest(p);
    if (v == 1 || v * state_bytes(p) > kMostState) return false;
    if (together(p) > 1) return true;
    bool some = false;  // an input that is really read as vectors
    for (int k = 1; k <= p.n_inputs; ++k)
      some |= p.modes[0].stride[k] == 1 && rows_aligned(p, 0, k, v);
    return some && p.modes[0].extent % v == 0;
  }
  static int64_t vectors(const Problem &p) { return p.kept() * together(p) / vector(p); }
  // Threads across: as few as read 128 bytes of a row (512 where rows start anywhere in such), but no row of the block without
  // several to read. At most `most`: all of the block, or so many that there is an output for a thread. Where that is work for fewer
  // than `blocks`: as few as read 32 bytes, and no row without one to read; where 256 bytes leave two for each, these.
  // Where rows are cut into parts (one block), 128 bytes do for 16 MB, for the wider a tile the longer takes what its parts leave (variances
  // of (840, 3176) bfloat16 over the second mode on an H200: 11.6 us, 8.4 of tiles of 128 bytes). Where that is little of the time 512 are read
  // faster (sums of 1024 x 65536 and 128 x 5079670 float32 on an H100: 93.7 and 866 us, 91.4 and 844 of 512 bytes; 128 x 2^17 26.0 and 28.1).
  static int lanes_for(const Problem &p, int most, int blocks = 1) {
    const int v = vector(p);
    const int64_t all = vectors(p), reduced = p.reduced();
    const bool apart = together(p) == 1, brief = blocks == 1 && p.bytes() < 16 << 20;
    const int64_t wide = all * v * bytes_of(p.in[0]) / 512;  // tiles of 512 bytes
    const bool long_parts = blocks == 1 && wide < 64 && p.bytes() >= 64 << 20 && wide * p.bytes() >= 1 << 30 && state_bytes(p) <= 8;
    const bool little = blocks == 1 && only_columns(p) && (state_bytes(p) > 8 ? p.bytes() < 256 << 20 : wide < 8 && p.bytes() < 64 << 20);
    int bytes = v, least = apart && long_parts ? 512 : 128;
    for (int k = 1; k <= p.n_inputs; ++k) {
      bytes = std::max(bytes, v * bytes_of(p.in[k - 1]));
      for (int m = 1; m < p.modes.size(); ++m)
        if (apart && !brief && p.modes[m].stride[k] * bytes_of(p.in[k - 1]) % 128) least = little ? 256 : 512;
    }
    int lanes = 1;
    const auto wanted = [&] {
      const int64_t tiles = all / (2 * lanes);
      const bool few = tiles < blocks, many = blocks > 1 && tiles * 16 >= int64_t(blocks) * 30;
      return lanes * bytes < (few ? 32 : many ? std::max(least, 256) : least) || lanes * reduced < (few ? 1 : 8) * kThreads;
    };
    while (lanes < most && lanes < all && wanted()) lanes *= 2;
    return lanes * v <= kThreads ? lanes : all < most ? kThreads / v : most;
  }
  // Rows that are read as one are one tile.
  static int own_lanes(const Problem &p, const Device &d) { return lanes_for(p, kThreads, together(p) > 1 ? 1 : d.processors); }
  // Whether a thread reads so many rows one after another, and blocks are so few or so narrow, that parts pay. Parts of several numbers cost
  // more, and those that are read ahead wait less (variances of 4096 x 4096 over the slow mode, float32 and float16, rows of 64 and 32 bytes, H100:
  // 27.9, 17.3 us, without parts 26.8, 16.1; of 1000 to 2048 columns, 8 MB, some 30 to 60 rows a thread, parts take 1.06 to 1.27 of the time).
  // But pieces of 32 bytes, of 64 MB and more, took 1.01 to 1.36 of the time of parts in eight of eight.
  static bool waits(const Problem &p, const Device &d) {
    const int64_t lanes = own_lanes(p, d);
    const int64_t rows = p.reduced() / together(p) * lanes * p.n_inputs / kThreads, blocks = ceil_div(vectors(p), lanes);
    const bool ahead = appends(p) && bytes_of(p.acc) <= 4 && state_bytes(p) > 2 * bytes_of(p.acc);  // kAhead; of float64 64 bytes are better
    const int least = ahead ? (p.bytes() < 48 << 20 ? 32 : 64) : state_bytes(p) > 8 ? 64 : 128;
    const bool narrow = lanes * vector(p) * bytes_of(p.in[0]) < least;  // pieces that are no lines of memory
    return blocks < (rows >= 192 || narrow ? 2 : 1) * d.processors && rows >= (ahead ? 64 : 18);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.variant = wide(p) ? 2 : 1;
    c.block = kThreads, c.vector = vector(p), c.detail = together(p);
    c.lanes = own_lanes(p, d);
    c.grid = persistent_grid("reduce.strided", p, d, ceil_div(vectors(p), c.lanes));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "reduce_strided", {c.variant == 2 ? "true" : "false", bits_text(once_along(p, p.modes[0], c.vector))});
  }
};

}  // namespace tcu::cuda::rows
#endif
