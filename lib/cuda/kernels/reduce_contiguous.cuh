// reduce.contiguous, reduce.small and reduce.split (variant 0 of each): the fastest R mode is contiguous in an input ('R K',
// 'R K R'), however it is aligned. Where all is whole vectors reduce_rows.cuh is shorter and faster.
// p.lanes threads (a power of two) work on one output: from one thread for tiny segments to a whole block. They walk the
// fastest R mode, a row, in vectors of 16 bytes, kItems in flight each; elements before the first aligned address of an input that is
// contiguous and after its last whole vector go one by one. Of other inputs one that is the same all along the row (kOnce, a bit an input) is
// one element, one that is misaligned against the first, or not contiguous, is read element by element.
// Of further R modes, lanes that a short row leaves idle take other rows, as many as there are.
// With p.split > 1 (lanes == block) a part is p.chunk pieces, p.detail of which are a row; the parts are put together in order
// (device/split.cuh).
// A thread adds what it has in flight into S accumulators, which form a tree, and that to its total (Running), and so do the lanes.
#pragma once
#include "device/append.cuh"
#include "device/split.cuh"
#include "device/total.cuh"

namespace tcu::cuda {
// Blocks of reduce_contiguous on a multiprocessor, at most: where there were four, products of 32 bits and more spilled up to 140 bytes.
TCU_FN constexpr int most_contiguous(int inputs, int bytes) { return inputs > 1 && bytes > 2 ? 3 : 4; }
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, unsigned kOnce>
struct reduce_contiguous {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kVector<typename Map::Inputs>;
  static constexpr int N = Map::Inputs::size;
  static constexpr int S = states_of_one<F, Map, V>();
  using Own = Running<F, S>;
  static constexpr int kResident = resident<F, S>(most_contiguous(N, largest_of<typename Map::Inputs>::bytes));
  using AwaitsTurn = reduce_contiguous;
  static constexpr int kItems = 4, kSingles = V > 1 && N == 1 ? 2 : 4;

  // W elements a step. Steps i, i + lanes, ..., as many as Items; kLast: those of them before n. Elements past `gap` steps lie
  // `skip` elements further. accesses: load_pack's.
  template <int W, bool kPlain, int Items, bool kLast, class P>
  TCU_DEVICE static void round(const P &p, Own &own, const Offsets<N, Index> &o, Index from, Index i, Index n, Index gap, Index skip,
                               int lanes, unsigned accesses) {
    Pack<W, typename Map::Inputs, W == 1 ? 0 : kOnce> x[Items];
    Index element[Items], position[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const Index step = i + k * lanes;
      element[k] = from + step * W + (W > 1 || step < gap ? Index(0) : skip), position[k] = o.weight;
      if (!kLast || step < n) load_pack<W, kPlain, true>(x[k], p, o, p.n_kept, element[k], accesses);
    }
    own.round([&](State (&s)[S]) {
      if constexpr (!kLast) {
        append_vectors<F, Map, true>(p, s, x, position, element);
      } else {
#pragma unroll
        for (int k = 0; k < Items; ++k)
          if (i + k * lanes < n) append_vector<F, Map, true>(p, s, x[k], o.weight, element[k]);
      }
    });
  }
  // Steps lane, lane + lanes, ... of the n from element `from` on, kItems in flight.
  template <int W, bool kPlain, int Items, class P>
  TCU_DEVICE static void steps(const P &p, Own &own, const Offsets<N, Index> &o, Index from, Index n, Index gap,
                               Index skip, int lane, int lanes, unsigned accesses = 0) {
    Own these;  // where positions count: these elements come in their order, others may lie between them
    Own &onto = F::kPositions ? these : own;
    Index first = 0;  // the same for all lanes: where some take another way each of the ways is a trip to the memory
    if constexpr (W > 1) {
#pragma unroll 1
      for (; first + Items * lanes <= n; first += Items * lanes)
        round<W, kPlain, Items, false>(p, onto, o, from, first + lane, n, n, 0, lanes, accesses);
    }
#pragma unroll 1
    for (; first < n; first += Items * lanes) round<W, kPlain, Items, true>(p, onto, o, from, first + lane, n, gap, skip, lanes, accesses);
    if constexpr (F::kPositions) {
#pragma unroll
      for (int i = 0; i < S; ++i) own.s[i] = F::combine(own.s[i], these.s[i]);
    }
  }

  // Elements from `begin` on up to where `several` of the first contiguous input, a power of two, are aligned; -1 where none is contiguous.
  template <int I = 0, class P>
  TCU_DEVICE static int before_vectors(Types<>, const P &, const Offsets<N, Index> &, Index, int) { return -1; }
  template <int I = 0, class P, class T, class... R>
  TCU_DEVICE static int before_vectors(Types<T, R...>, const P &p, const Offsets<N, Index> &o, Index begin, int several) {
    if (p.mode[p.n_kept].in[I] != 1) return before_vectors<I + 1>(Types<R...>{}, p, o, begin, several);
    const uint64_t off = reinterpret_cast<uint64_t>(static_cast<const T *>(p.in[I]) + (o.in[I] + begin)) & (sizeof(T) * several - 1);
    return off ? several - int(off / sizeof(T)) : 0;
  }
  // Elements begin..end-1 of the row at o, by `lanes` threads of which this is number `lane`.
  template <class P>
  TCU_DEVICE static void row(const P &p, Own &own, const Offsets<N, Index> &o, Index begin, Index end, int lane, int lanes) {
    Index vectors = 0, head = end;
    unsigned accesses = 0;
    if constexpr (N > 0 && V > 1) {
      // Not where a vector is, but where what the lanes read begins with a line of memory: as far as there is a lane for each element before.
      const int before = before_vectors(typename Map::Inputs{}, p, o, begin, lanes / 2 > V ? lanes / 2 : V);
      if (before >= 0 && end - begin >= before + V) {
        head = begin + before, vectors = (end - head) / V;
        if constexpr (N > 1) accesses = find_accesses<V, kOnce>(typename Map::Inputs{}, p, o, p.n_kept, head);
      }
    }
    const Index singles = end - begin - vectors * V, gap = head - begin, skip = vectors * V;
    // Where there is one for a lane at most it is read before the vectors: afterwards it would be another trip to the memory.
    const bool early = vectors && singles <= lanes;
    const Index single = begin + lane + (lane < gap ? Index(0) : skip);
    Pack<1, typename Map::Inputs> x;
    if (early) load_pack<1, false>(x, p, o, p.n_kept, lane < singles ? single : begin, 0);
    if (N > 1 && accesses) steps<V, false, kItems>(p, own, o, head, vectors, vectors, 0, lane, lanes, accesses);
    else if (vectors) steps<V, true, kItems>(p, own, o, head, vectors, vectors, 0, lane, lanes);
    if (!early) return steps<1, false, kSingles>(p, own, o, begin, singles, gap, skip, lane, lanes);
    if (lane < singles) own.round([&](State (&s)[S]) { append_vector<F, Map, false>(p, s, x, o.weight, single); });
  }

  // Part `part` of the output at o, by the group's lanes.
  template <class P>
  TCU_DEVICE static State segment(const P &p, const Offsets<N, Index> &o, Index part, int lane, int lanes) {
    Own own;
    const Index extent = Index(p.mode[p.n_kept].extent), rows = divide(Index(p.folded), p.mode[p.n_kept].divisor), chunk = Index(p.chunk);
    const Index pieces = p.detail, length = pieces > 1 ? (extent / pieces + 16) / 16 * 16 : extent;
    const Index begin = part * chunk, end = rows * pieces - begin > chunk ? begin + chunk : rows * pieces;
    // Lanes of one piece: as many as have their vectors in flight at once, and more where there are fewer pieces.
    int across = rows * pieces == 1 ? lanes : 1;
#pragma unroll 1
    while (across < lanes && Index(across) * V < length && (Index(across) * (V * kItems) < length || quotient(lanes, across) > end - begin))
      across *= 2;
#pragma unroll 1
    for (Index i = begin + quotient(lane, across); i < end; i += quotient(lanes, across)) {
      const Index r = pieces > 1 ? i / pieces : i, from = (i - r * pieces) * length;
      if (from >= extent) continue;
      Offsets<N, Index> at = o;
      decode(at, p, p.n_kept + 1, p.n_kept + p.n_folded, r);
      row(p, own, at, from, extent - from > length ? from + length : extent, remainder(lane, across), across);
    }
    return own.all();
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(State, shared, 32);
    const int lanes = p.lanes, groups = quotient(int(blockDim.x), lanes);
    const int group = quotient(int(threadIdx.x), lanes), lane = remainder(int(threadIdx.x), lanes);
    const Index n = Index(p.kept) * Index(p.split), step = Index(gridDim.x) * groups;
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * groups; first < n; first += step) {
      const Index item = first + group;
      Index cell = item, part = 0;
      if (p.split > 1) cell = item / Index(p.split), part = item - cell * Index(p.split);
      Offsets<N, Index> o;
      decode(o, p, 0, p.n_kept, item < n ? cell : 0);
      if (first == Index(blockIdx.x) * groups && item < n && p.split == 1 && begins_early<reduce_contiguous>())
        look_ahead<V, 2, kOnce>(typename Map::Inputs{}, p, o, p.n_kept, Index(0), Index(lane), Index(p.mode[p.n_kept].extent) / V, lanes);
      await_turn();
      const unsigned begun = begin_part(p, cell);
      State s = F::identity();
      if (item < n) s = segment(p, o, part, lane, lanes);
      if (p.split > 1) return end_part<F, Out>(p, o.out, s, cell, part, begun, shared);
      s = combine_group<F>(s, lanes, shared);
      if (item < n && lane == 0) store_result<F, Out>(p, o.out, s, p.folded);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_rows.cuh"

namespace tcu::cuda::rows {

struct ReduceContiguous {
  static bool accepts(const Problem &p, const Device &) {
    const Mode *const r = fastest(p, Role::R);
    return r && reads_along(p, *r);
  }
  static bool suits(const Problem &p, const Device &) {
    const Mode &r = *fastest(p, Role::R);
    return p.reduced() >= 32 && !jumps_along(p, r) && !scattered(p, r);  // a warp for each output
  }
  // Several short rows, whose ends are much of them, of outputs enough for the device, or of so few elements that a block has each of them
  // in eight steps: element by element is faster.
  static bool scattered(const Problem &p, const Mode &r) {
    if (p.modes.n_of(Role::R) == 1 || ReduceRows::accepts(p)) return false;
    if (p.kept() < 16) return r.extent <= 2 || (r.extent < 64 && p.reduced() < 2048);
    const int v = vector_of(p, false);
    const bool small = v > 4;  // elements, of which more are in a vector
    // Rows up to 19 long too where 192 outputs side by side have theirs one after another: of seven random problems reduce.general was
    // faster in five, 0.50 to 0.83 of the time, 1.04 at most (H100 and H200).
    if (v > 2 && p.reduced() >= 2048) return r.extent < (fastest(p, Role::K)->extent < 192 ? 4 : 20);
    return r.extent < (small ? (p.reduced() < 1024 ? 64 : 28) : 100);
  }
  static int64_t rows(const Problem &p) { return p.reduced() / std::max<int64_t>(fastest(p, Role::R)->extent, 1); }
  // Threads for one output: as few as still fill the device, since putting lanes together costs; a thread has between one and four rounds
  // of vectors in flight, but more, and a warp may do, where states are of several numbers, which cost the most: of such as few as fill the
  // device but once, until a thread has sixteen rounds (logsumexp of 4096 rows of 50257 float32 on an H100: 64 threads each 276 us, 128 271).
  static int lanes_for(const Problem &p, const Device &d, int most) {
    const int64_t round = int64_t(vector_of(p, false)) * 4;
    const int64_t enough = ceil_div(p.reduced(), round), fewest = std::min<int64_t>(ceil_div(enough, 4), appends(p) ? 32 : most);
    const auto full = [&](int lanes) { return int64_t(d.processors) * (!appends(p) ? 4096 : 16 * lanes <= enough ? 2048 : 1024); };
    int lanes = 1;
    while (lanes < most && (lanes < fewest || (lanes < enough && p.kept() * lanes < full(lanes)))) lanes *= 2;
    return lanes;
  }
  static LaunchConfig configure_lanes(const char *row, const Problem &p, const Device &d, int lanes) {
    LaunchConfig c;
    c.block = kThreads, c.lanes = lanes, c.vector = vector_of(p, false), c.detail = 1;
    c.grid = persistent_grid(row, p, d, ceil_div(p.kept(), kThreads / lanes));
    return c;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const bool rows = ReduceRows::accepts(p);
    const int lanes = rows ? ReduceRows::lanes_for(p, d) : std::max(32, lanes_for(p, d, kThreads));
    LaunchConfig c = configure_lanes("reduce.contiguous", p, d, lanes);
    c.variant = rows;
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return c.variant ? ReduceRows::instance(p) : make_instance(p, "reduce_contiguous", {ReduceRows::once(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
