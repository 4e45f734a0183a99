// reduce.small (variant 2): segments of any length that lie one after another in memory, of every input ('R K', or 'K' where a segment is one
// element). A block copies p.detail segments to shared memory at once (device/bulk.cuh), and p.lanes threads (a power of two up to a
// warp) fold each of them from there: how long a segment is, and where it starts, the memory does not notice.
#pragma once
#include "device/append.cuh"
#include "device/bulk.cuh"

namespace tcu::cuda {
inline constexpr int kStagedBytes = 16 << 10;  // of a block
// The same of each of several inputs.
TCU_FN constexpr int staged_bytes(int inputs) { return inputs <= 2 ? kStagedBytes : 2 * kStagedBytes / inputs / 16 * 16; }
// Words of 16 bytes that so many elements of an input take, wherever in 128 bytes and in a word they begin.
TCU_FN constexpr int staged_lines(int elements, int bytes) { return (elements * bytes + 15) / 16 + 8; }
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Where the first element of a tile of every input lies in shared memory.
template <class Inputs> struct Staged;
template <> struct Staged<Types<>> {};
template <class T, class... R> struct Staged<Types<T, R...>> {
  const T *first;
  Staged<Types<R...>> rest;
};

// Elements from a multiple of 16 bytes on, copied to shared memory by all threads of a block, to the same place of 128 bytes; where they lie there.
template <class T>
TCU_DEVICE const T *stage(uint4 *lines, const T *from, int count, bool floods) {
  constexpr int V = kVector<Types<T>>;
  const int t = int(threadIdx.x), whole = count / V * V;
  uint4 *const staged = lines + (reinterpret_cast<uint64_t>(from) / 16 & 7);
  T *const elements = reinterpret_cast<T *>(staged);
  if (t < count - whole) elements[whole + t] = from[whole + t];
  fill_shared(staged, from, whole * int(sizeof(T)), !floods);
  return elements;
}

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_staged {
  using Inputs = typename Map::Inputs;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kVector<Inputs>, N = Inputs::size, kResident = resident<F, 1>(8);
  static constexpr int kShort = 8 * V;  // elements of a segment of which, if it is no whole vectors, none are read
  using AwaitsTurn = reduce_staged;

  template <int W>
  TCU_DEVICE static void read(Pack<W, Types<>> &, const Staged<Types<>> &, int) {}
  template <int W, class T, class... R>
  TCU_DEVICE static void read(Pack<W, Types<T, R...>> &x, const Staged<Types<T, R...>> &from, int at) {
    x.first = Raw<T, W>::staged(from.first + at);
    read(x.rest, from.rest, at);
  }
  // Words of W elements, `step` elements from one to the next, from element i of the segment on: Items at once, then what is left. kTurned: in the
  // place of word i the one at i ^ turn.
  template <int W, int Items, bool kTurned = false, class P, int S>
  TCU_DEVICE static void append(const P &p, State (&s)[S], const Staged<Inputs> &from, int first, int i, int end, int step, int turn = 0) {
#pragma unroll(Items == 1 ? 2 : 1)
    for (; i + (Items - 1) * step < end; i += Items * step) {
      Pack<W, Inputs> x[Items];
      Index position[Items] = {}, at[Items];
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        const int own = kTurned ? (i + k * step) ^ turn : i + k * step;
        read(x[k], from, first + own), at[k] = Index(own);
      }
      if constexpr (Items > 1 && W == 1 && kByKeys<F, Map>) {  // rows of one element, an equal distance apart
#pragma unroll
        for (int k = 0; k < Items; ++k) position[k] = at[k] * Index(p.mode[p.n_kept].weight);
        append_rows<F, Map, true, true>(p, s, x, position, [](int) { return true; });
      } else if constexpr (Items > 1) {
        append_vectors<F, Map, !kTurned>(p, s, x, position, at);
      } else {
        append_vector<F, Map, !kTurned>(p, s, x[0], position[0], at[0]);
      }
    }
    if constexpr (Items > 1) append<W, (Items + 3) / 4, kTurned>(p, s, from, first, i, end, step, turn);
  }
  // A lane's part of the segment that begins at element `first`, in words of W elements. States of several numbers, and keys, take eight elements in
  // little more time than one.
  template <int W, class P>
  TCU_DEVICE static State fold(const P &p, const Staged<Inputs> &from, int first, int extent, int lane, int lanes) {
    State s[states_of_one<F, Map, W>()];
#pragma unroll
    for (State &one : s) one = F::identity();
    constexpr int kItems = (F::kAppends || kByKeys<F, Map>) && W < 8 ? 8 / W : 1;
    if constexpr (W < V || V == 1) {
      if (kItems > 1 && extent < 8) append<W, 1>(p, s, from, first, lane * W, extent, lanes * W);
      else append<W, kItems>(p, s, from, first, lane * W, extent, lanes * W);
    } else if (extent <= kShort) {
      const int turn = turned(extent / V, int(threadIdx.x) - lane) * V;
      append<V, kItems, true>(p, s, from, first, lane * V, extent, lanes * V, turn);
    } else {
      const int head = -first & (V - 1), whole = (extent - head) & -V;  // elements before the first vector, and in vectors
      append<V, kItems>(p, s, from, first, head + lane * V, head + whole, lanes * V);
#pragma unroll 1
      for (int i = lane; i < extent - whole; i += lanes) {  // the two ends, element by element
        Pack<1, Inputs> x;
        const int at = i < head ? i : i + whole;
        read(x, from, first + at);
        append_vector<F, Map, false>(p, s, x, Index(0), Index(at));
      }
    }
    return combine_all<F>(s);
  }
  // Short segments of an even number of vectors begin in the same banks of shared memory, every one, second or fourth of them. In the place of a vector
  // each reads the one at its number ^ this.
  TCU_DEVICE static int turned(int vectors, int first_lane) {
    const int among = vectors % 2 ? 1 : vectors % 4 ? 2 : vectors % 8 ? 4 : 8;
    return first_lane * among / 8 % among;
  }
  // Several inputs, so many lines apart, waited for together.
  template <int I, class P>
  TCU_DEVICE static void fetch(Staged<Types<>> &, const Arrival &, const P &, uint4 *, int, Index, int) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void fetch(Staged<Types<T, R...>> &to, const Arrival &arrival, const P &p, uint4 *lines, int pitch, Index first, int count) {
    const T *const from = static_cast<const T *>(p.in[I]) + first;
    T *const room = reinterpret_cast<T *>(lines + (reinterpret_cast<uint64_t>(from) / 16 & 7));
    const int t = int(threadIdx.x), whole = count / V * V;
    arrival.fetch(room, from, whole * int(sizeof(T)));
    if (t < count - whole) room[whole + t] = from[whole + t];
    to.first = room;
    fetch<I + 1>(to.rest, arrival, p, lines + pitch, pitch, first, count);
  }
  // The same, to the second level cache: before the launch's turn.
  template <int I, class P>
  TCU_DEVICE static void look_ahead(Types<>, const P &, Index, int) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void look_ahead(Types<T, R...>, const P &p, Index first, int count) {
    ask_ahead(static_cast<const T *>(p.in[I]) + first, count * int(sizeof(T)), 1, 0);
    look_ahead<I + 1>(Types<R...>{}, p, first, count);
  }
  template <class P>
  TCU_DEVICE static Staged<Inputs> stage_all(const P &p, uint4 *lines, Index first, int count) {
    Staged<Inputs> to;
    if constexpr (N == 1) {
      to.first = stage(lines, static_cast<const first_of<Inputs> *>(p.in[0]) + first, count, p.floods());
    } else {
      TCU_SHARED(uint64_t, barrier, 1);
      const Arrival arrival(barrier);
      fetch<0>(to, arrival, p, lines, staged_lines(int(p.detail) * int(p.folded), sizeof(first_of<Inputs>)), first, count);
      arrival.wait();
    }
    return to;
  }

  // The segments of a tile, of which output `first` is the first and begins at element `before`: of whole vectors, or of many, in vectors of V elements;
  // of others in words of which they are a multiple.
  template <int W, class P>
  TCU_DEVICE static void fold_tile(const P &p, const Staged<Inputs> &from, int before, Index first, int here) {
    const int t = int(threadIdx.x), extent = int(p.folded);
    if constexpr (W > 1) {
      if (extent % W && (W < V || extent < kShort)) return fold_tile<W / 2>(p, from, before, first, here);
    }
    const auto put = [&](int segment, State s) { store_result<F, Out>(p, (first + segment) * Index(p.mode[0].out), s, p.folded); };
    const int lanes = p.lanes, groups = quotient(int(blockDim.x), lanes), lane = remainder(t, lanes);
    if (lanes == 1) {  // of a few elements each, beside which everything counts
#pragma unroll 1
      for (int segment = t; segment < here; segment += groups) put(segment, fold<W>(p, from, before + segment * extent, extent, 0, 1));
      return;
    }
#pragma unroll 1
    for (int base = 0; base < here; base += groups) {
      const int segment = base + quotient(t, lanes);
      State s = F::identity();
      if (segment < here) s = fold<W>(p, from, before + segment * extent, extent, lane, lanes);
      s = combine_lanes<F>(s, lanes);
      if (segment < here && lane == 0) put(segment, s);
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(uint4, lines);
    const Index kept = Index(p.kept), extent = Index(p.folded), chunk = Index(p.detail);
    const Index first = Index(blockIdx.x) * chunk;
    const int before = int(first * extent % V);  // from the last multiple of 16 bytes to the tile
    const int here = int(kept - first < chunk ? kept - first : chunk), count = before + here * int(extent);
    if (begins_early<reduce_staged>()) look_ahead<0>(Inputs{}, p, first * extent - before, count);
    await_turn();
    fold_tile<V>(p, stage_all(p, lines, first * extent - before, count), before, first, here);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ReduceStaged {
#if defined(TCU_EMULATOR)
  static constexpr int64_t kMega = 1 << 10;  // so that a small test has what large problems have
#else
  static constexpr int64_t kMega = 1 << 20;
#endif
  // Segments one after another, the first at a multiple of 16 bytes, of every input.
  static bool in_line(const Problem &p) {
    if (p.n_inputs == 0 || p.modes.n_of(Role::K) != 1 || p.modes.n_of(Role::R) > 1) return false;
    const Mode *const r = fastest(p, Role::R);
    for (int k = 1; k <= p.n_inputs; ++k) {
      if ((1 << p.alignment[k]) < 16 || bytes_of(p.dtype(k)) != bytes_of(p.dtype(1))) return false;
      if ((r && r->stride[k] != 1) || fastest(p, Role::K)->stride[k] != p.reduced()) return false;
    }
    return true;
  }
  // Of a tile that a block has room for.
  static int64_t segments(const Problem &p) {
    return p.n_inputs == 0 || p.reduced() == 0 ? 0 : staged_bytes(p.n_inputs) / (p.reduced() * bytes_of(p.in[0]));
  }
  static bool accepts(const Problem &p) { return in_line(p) && segments(p) > 0; }
  // Of a tile: those of 16 KB, of 12 of several inputs; half as many where a multiprocessor would have less than 16 tiles, so that while one is
  // waited for others are added up, but all of a small problem, of which all tiles are there at once. No last ones, if they would have less than
  // half a warp. (H200, of 24 MB in odd segments of 577 to 2001 0.82 to 1.09 of the time of the larger ones, of 13 MB 0.8 to 1.1, of 8 MB 1.05 to 1.45.)
  static int64_t tile(const Problem &p, const Device &d, int lanes) {
    const int64_t segment = p.reduced() * p.n_inputs * bytes_of(p.in[0]);
    int64_t each = std::clamp<int64_t>((p.n_inputs == 1 ? kStagedBytes : 12 << 10) / segment, 1, segments(p));
    if (p.kept() * segment >= 12 * kMega)
      while (each > 1 && each * segment > 8 << 10 && ceil_div(p.kept(), each) < 16 * d.processors) each = ceil_div(each, 2);
    const int64_t last = each * lanes % 32;
    return 2 * last < 32 && last < each * lanes ? each - last / lanes : each;
  }
  // Whether what is read once may drive the results out of the L2 cache: where it cannot hold them, or they are many for what is read.
  static bool floods(const Problem &p, const Device &d) {
    return p.kept() * bytes_of(p.out) > d.l2_bytes / 3 || p.reduced() * bytes_of(p.in[0]) < 16 * bytes_of(p.out);
  }
  // A lane folds fewer elements of a segment than so many. The fewer lanes, the less is put together in the end; but what is one lane's comes one
  // after another, which is waited for where tiles are few. (H200, against half and twice as many, 96 MB in odd segments of 129 to 6001: positions
  // 0.74 to 1.00 and 0.83 to 1.06 of the time, variances 0.6 to 1.00 and 0.8 to 1.04.) Of whole vectors, which lie in the same banks of shared memory
  // as the neighbours', eight, unless they take longer to fold (2^24 segments of 64 float16: by one lane 610 us, by two 500).
  static int64_t full_lane(const Problem &p, const Device &d) {
    const int64_t v = vector_of(p, false);
    if (p.reduced() % v == 0) return (folds_slowly(p) ? 16 : 8) * v;
    const bool few = ceil_div(p.kept(), segments(p)) < 4 * d.processors || (appends(p) && p.bytes() < 32 * kMega);
    return (appends(p) ? std::max<int64_t>(16 * v, 128) : 16 * v) / (few ? 2 : 1);
  }
  static bool folds_slowly(const Problem &p) { return appends(p) || (is_arg(p.op) && bytes_of(p.in[0]) > 1); }
  // Rows of whole vectors that a warp would fold slower than they are read: here others are read meanwhile. (H200, rows of 128 bytes to 2 KB, time over
  // that of reduce.small's variant 1, 64 to 256 MB: variances 0.32 to 0.82, logsumexp 0.65 to 0.86, positions 0.54 to 1.00; of 64 bytes 0.48 to 0.86,
  // positions 0.73 to 1.1. Of 32 MB variances and logsumexp of 2 bytes and more 0.36 to 0.9, of single bytes up to 1.15, positions up to 1.25.)
  static bool outruns(const Problem &p) {
    const int64_t least = appends(p) && bytes_of(p.in[0]) > 1 ? 32 : 64;  // MB
    return folds_slowly(p) && p.reduced() >= (appends(p) ? 4 : 8) * vector_of(p, false) && p.bytes() >= least * kMega;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.floods = floods(p, d);
    c.vector = vector_of(p, false), c.lanes = 1;
    for (const int64_t full = full_lane(p, d); c.lanes < 32 && c.lanes * full <= p.reduced();) c.lanes *= 2;
    c.detail = int(tile(p, d, c.lanes));
    c.grid = ceil_div(p.kept(), c.detail);
    c.shared_bytes = 16 * p.n_inputs * staged_lines(int(c.detail * p.reduced()), bytes_of(p.in[0]));
    // Of threads that would have no segment there are fewer, and a multiprocessor has more tiles; but not all that there are at once, of which
    // none would be read while others are added up. (H200, 100 MB of segments of 577 0.73 to 0.83 of the time, of 129 to 1001 0.84 to 1.00, 20 MB
    // of 577 0.78 to 0.93; with 64 threads 0.75 to 0.83, 0.79 to 1.01, 0.79 to 0.93; 20 MB of 129, ten tiles each, 1.12 to 1.25.)
    const bool fits = c.detail * c.lanes <= kThreads / 2, many = c.grid >= 16 * d.processors;
    c.block = fits && many ? kThreads / 2 : kThreads;
    return c;
  }
};

}  // namespace tcu::cuda::rows
#endif
