// scan.lines (variant 1): the fastest mode is kept ('K S', 'K S K').
// Threads lie across the K modes, p.lanes of them (a power of two), each with V neighbouring lines; the block's other threads
// take further steps along S, kItems neighbouring steps each, and read their next ones before they work on these. A thread
// folds its own steps, leaves that in shared memory, and scans them from the carry and the folds of the threads before it; then
// the block moves on along S. V is a vector of up to 16 bytes in the accumulator's type where the fastest K mode's extent and
// the strides allow it and there are lines enough, else 1.
// Steps that are all there, each one access of every input, are read, added up and stored without a question for each: that would be half the instructions.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
inline constexpr int kAcrossSteps = 8;  // that a thread has in flight, at most
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int V>
struct scan_across {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int N = Map::Inputs::size;
  static constexpr int kBytes = V * (largest_of<typename Map::Inputs>::bytes > 1 ? largest_of<typename Map::Inputs>::bytes : 2);
  static constexpr int kResident = 4, kItems = 64 / kBytes < kAcrossSteps ? 64 / kBytes : kAcrossSteps;  // 64 bytes in flight
  using Step = Pack<V, typename Map::Inputs>;
  static constexpr int kStateBytes = V * int(sizeof(State));
  struct alignas(kStateBytes <= 16 && (kStateBytes & (kStateBytes - 1)) == 0 ? kStateBytes : int(alignof(State))) States {
    State at[V];
  };

  // V neighbouring lines from element `element` of the fastest mode on.
  struct Lines {
    Offsets<N, Index> o;
    Index element, n;
    unsigned accesses = 0;
    bool reverse;

    template <class P>
    TCU_DEVICE Lines(const P &p, Index first) : element(first), n(Index(p.folded)), reverse((p.flags & kReverse) != 0) {
      if (p.n_kept > 1) {
        const Index q = divide(element, p.mode[0].divisor);
        element -= q * Index(p.mode[0].extent);
        decode(o, p, 1, p.n_kept, q);
      }
      if (V > 1) accesses = find_accesses<V>(typename Map::Inputs{}, p, o, 0, element, p.n_kept, p.n_kept + 1);
    }
    // Of the steps from `first` on: whether kItems are there, each one access of every input.
    TCU_DEVICE bool whole(Index first) const { return accesses == 0 && first + kItems <= n; }
    // Where a step is in memory; steps from there to the next one's.
    TCU_DEVICE Index at(Index step) const { return reverse ? n - 1 - step : step; }
    TCU_DEVICE Index on() const { return reverse ? -1 : 1; }
    // Of a step's V elements of out.
    template <class P>
    TCU_DEVICE Out *out(const P &p, Index step) const {
      return static_cast<Out *>(p.out) + (o.out + at(step) * Index(p.mode[p.n_kept].out) + element * Index(p.mode[0].out));
    }
  };
  // Where a step's vector is in every input, and how far from there the next one's.
  struct Source {
    const void *at[N];
    Index on[N];
  };
  template <int I, class P>
  TCU_DEVICE static void find(Types<>, const P &, const Lines &, Index, Source &) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void find(Types<T, R...>, const P &p, const Lines &lines, Index step, Source &from) {
    const Index along = Index(p.mode[p.n_kept].in[I]), across = Index(p.mode[0].in[I]);  // of vectors 1
    from.at[I] = static_cast<const T *>(p.in[I]) + (lines.o.in[I] + lines.at(step) * along + lines.element * across);
    from.on[I] = lines.on() * along;
    find<I + 1>(Types<R...>{}, p, lines, step, from);
  }
  template <int I>
  TCU_DEVICE static void read(Pack<V, Types<>> &, const Source &, int) {}
  template <int I, class T, class... R>
  TCU_DEVICE static void read(Pack<V, Types<T, R...>> &x, const Source &from, int k) {
    const T *const at = static_cast<const T *>(from.at[I]) + k * from.on[I];
    if constexpr (V == 1) x.first = Raw<T, 1>::load_one(at);
    else x.first = Raw<T, V>::load(at);
    read<I + 1>(x.rest, from, k);
  }
  // Steps first..first+kItems-1, as far as there are.
  template <class P>
  TCU_DEVICE static void fetch(const P &p, const Lines &lines, Index first, Step (&x)[kItems]) {
    if (lines.whole(first)) {
      Source from;
      find<0>(typename Map::Inputs{}, p, lines, first, from);
#pragma unroll
      for (int k = 0; k < kItems; ++k) read<0>(x[k], from, k);
    } else {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (first + k >= lines.n) break;
        Offsets<N, Index> at = lines.o;
        advance(at, p.mode[p.n_kept], lines.at(first + k));
        load_pack<V, false>(x[k], p, at, 0, lines.element, lines.accesses);
      }
    }
  }
  // What a thread's steps come to, of which `count` are there.
  template <class P>
  TCU_DEVICE static States folded(const P &p, const Step (&x)[kItems], Index count) {
    States own;
#pragma unroll
    for (int v = 0; v < V; ++v) own.at[v] = F::identity();
    const auto append = [&](int k) {
#pragma unroll
      for (int v = 0; v < V; ++v) own.at[v] = F::combine(own.at[v], F::lift(p, apply_at<Map>(p, x[k], v)));
    };
    if (count >= kItems) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) append(k);
    } else {
#pragma unroll
      for (int k = 0; k < kItems; ++k)
        if (k < count) append(k);
    }
    return own;
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(States, folds, kThreads);
    TCU_SHARED(States, carries, kThreads);
    const int lanes = p.lanes, column = int(threadIdx.x) % lanes, y = int(threadIdx.x) / lanes, rows = kThreads / lanes;
    const bool exclusive = (p.flags & kExclusive) != 0, bare = (p.flags & (kExclusive | kScales | kReadsOut)) == 0;
    const Index vectors = Index(p.kept) / V, n = Index(p.folded);
#pragma unroll 1
    for (Index tile = Index(blockIdx.x) * lanes; tile < vectors; tile += Index(gridDim.x) * lanes) {
      const bool inside = tile + column < vectors;
      const Lines lines(p, (inside ? tile + column : vectors - 1) * V);
      States carry;
#pragma unroll
      for (int v = 0; v < V; ++v) carry.at[v] = F::start(p);
      Step x[kItems], next[kItems];
      fetch(p, lines, Index(y) * kItems, x);
#pragma unroll 1
      for (Index at = 0; at < n; at += Index(rows) * kItems) {
        const Index first = at + Index(y) * kItems, count = n - first;
        fetch(p, lines, first + Index(rows) * kItems, next);
        if (lines.accesses != 0) {
#pragma unroll
          for (int k = 0; k < kItems; ++k) spread_pack<V>(x[k], p, 0, lines.accesses);
        }
        const States own = folded(p, x, count);
        folds[y * lanes + column] = own;
        __syncthreads();
        States before = carry;
#pragma unroll 1
        for (int r = 0; r < y; ++r) {
          const States row = folds[r * lanes + column];
#pragma unroll
          for (int v = 0; v < V; ++v) before.at[v] = F::combine(before.at[v], row.at[v]);
        }
        if (y == rows - 1) {
#pragma unroll
          for (int v = 0; v < V; ++v) carries[column].at[v] = F::combine(before.at[v], own.at[v]);
        }
        __syncthreads();
        // What step k's elements come to, in place of what came before it; the results.
        const auto scanned = [&](int k, bool exclusive) {
          Vec<Acc, V> r;
#pragma unroll
          for (int v = 0; v < V; ++v) {
            const State upto = before.at[v], e = F::lift(p, apply_at<Map>(p, x[k], v));
            before.at[v] = F::combine(upto, e);
            r.at[v] = exclusive ? F::before(p, upto, e) : F::value(before.at[v]);
          }
          return r;
        };
        if (inside && count > 0) {
          Out *const to = lines.out(p, first);
          const Index on = lines.on() * Index(p.mode[p.n_kept].out);
          if (bare && count >= kItems) {
#pragma unroll
            for (int k = 0; k < kItems; ++k) store_converted(to + k * on, scanned(k, false));
          } else {
#pragma unroll
            for (int k = 0; k < kItems; ++k)
              if (k < count) store(p, to + k * on, scanned(k, exclusive));
          }
        }
#pragma unroll
        for (int v = 0; v < V; ++v) carry.at[v] = carries[column].at[v];
#pragma unroll
        for (int k = 0; k < kItems; ++k) x[k] = next[k];
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_along.cuh"

namespace tcu::cuda::rows {

// Lines that are contiguous, and lines that lie side by side.
struct ScanLines {
  static bool contiguous(const Problem &p) { return is_unit(p, *fastest(p, Role::S)); }
  static bool accepts(const Problem &p, const Device &) {
    return contiguous(p) || (p.modes.size() > 1 && p.modes[0].role == Role::K && is_unit(p, p.modes[0]));
  }
  static bool is_unit(const Problem &p, const Mode &m) {
    if (m.stride[0] != 1) return false;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (m.stride[k] == 1) return true;
    return false;
  }
  // Lines that a thread takes, where the fastest mode is kept.
  static int side_by_side(const Problem &p, const Device &d) {
    const int v = std::min(vector_of(p, true), 16 / scan_state_bytes(p));
    return v > 1 && p.kept() / v >= int64_t(d.processors) * 32 && rows_aligned(p, 0, 0, v) ? v : 1;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    if (contiguous(p)) return ScanGeneral::configure_row("scan.lines", p, d);
    LaunchConfig c;
    c.variant = 1;
    c.block = kThreads, c.vector = side_by_side(p, d);
    const int64_t vectors = p.kept() / c.vector;
    // a warp across where there are as many; more where the lines are too short for the block's rows of steps
    const auto idle = [&] { return int64_t(kThreads / c.lanes) * kAcrossSteps > fastest(p, Role::S)->extent; };
    while (c.lanes < kThreads && c.lanes < vectors && (c.lanes < 32 || idle())) c.lanes *= 2;
    c.grid = persistent_grid("scan.lines", p, d, ceil_div(vectors, c.lanes));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return c.variant ? make_instance(p, "scan_across", {std::to_string(c.vector)}) : make_instance(p, "scan_along");
  }
};

}  // namespace tcu::cuda::rows
#endif
