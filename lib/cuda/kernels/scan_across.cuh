// scan.lines (variant 1): the fastest mode is kept ('K S', 'K S K').
// Threads lie across the K modes, p.lanes of them (a power of two), each with V neighbouring lines; the block's other threads
// take further steps along S, kItems neighbouring steps each, and read their next ones before they work on these. A thread
// folds its own steps, leaves that in shared memory, and scans them from the carry and the folds of the threads before it; then
// the block moves on along S. V is a vector of up to 16 bytes in the accumulator's type where the fastest K mode's extent and
// the strides allow it and there are lines enough, else 1.
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
    // Steps first..first+kItems-1, as far as there are.
    template <class P>
    TCU_DEVICE void fetch(const P &p, Index first, Step (&x)[kItems]) const {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (first + k >= n) break;
        Offsets<N, Index> at = o;
        advance(at, p.mode[p.n_kept], reverse ? n - 1 - (first + k) : first + k);
        load_pack<V, false>(x[k], p, at, 0, element, accesses);
      }
    }
    // Of the first line's element.
    template <class P>
    TCU_DEVICE Offsets<N, Index> place(const P &p, Index step) const {
      Offsets<N, Index> at = o;
      advance(at, p.mode[0], element);
      advance(at, p.mode[p.n_kept], reverse ? n - 1 - step : step);
      return at;
    }
    template <class P>
    TCU_DEVICE void store(const P &p, Index step, const Acc (&y)[V]) const {
      const Index at = o.out + (reverse ? n - 1 - step : step) * Index(p.mode[p.n_kept].out);
      Vec<Acc, V> r;
#pragma unroll
      for (int v = 0; v < V; ++v) r.at[v] = y[v];
      tcu::cuda::store(p, static_cast<Out *>(p.out) + (at + element * Index(p.mode[0].out)), r);
    }
  };

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(State, folds, kThreads * V);
    TCU_SHARED(State, carries, kThreads * V);
    const int lanes = p.lanes, column = int(threadIdx.x) % lanes, y = int(threadIdx.x) / lanes, rows = kThreads / lanes;
    const bool exclusive = (p.flags & kExclusive) != 0;
    const Index vectors = Index(p.kept) / V, n = Index(p.folded);
#pragma unroll 1
    for (Index tile = Index(blockIdx.x) * lanes; tile < vectors; tile += Index(gridDim.x) * lanes) {
      const bool inside = tile + column < vectors;
      const Lines lines(p, (inside ? tile + column : vectors - 1) * V);
      State carry[V];
#pragma unroll
      for (int v = 0; v < V; ++v) carry[v] = F::start(p);
      Step x[kItems], next[kItems];
      lines.fetch(p, Index(y) * kItems, x);
#pragma unroll 1
      for (Index at = 0; at < n; at += Index(rows) * kItems) {
        const Index first = at + Index(y) * kItems;
        lines.fetch(p, first + Index(rows) * kItems, next);
#pragma unroll
        for (int k = 0; k < kItems; ++k) spread_pack<V>(x[k], p, 0, lines.accesses);
        const auto lifted = [&](int k, int v) { return F::lift(p, apply_at<Map>(p, x[k], v)); };
        State own[V];
#pragma unroll
        for (int v = 0; v < V; ++v) {
          own[v] = F::identity();
#pragma unroll
          for (int k = 0; k < kItems; ++k)
            if (first + k < n) own[v] = F::combine(own[v], lifted(k, v));
          folds[(y * V + v) * lanes + column] = own[v];
        }
        __syncthreads();
        State before[V];
#pragma unroll
        for (int v = 0; v < V; ++v) before[v] = carry[v];
#pragma unroll 1
        for (int r = 0; r < y; ++r)
#pragma unroll
          for (int v = 0; v < V; ++v) before[v] = F::combine(before[v], folds[(r * V + v) * lanes + column]);
        if (y == rows - 1) {
#pragma unroll
          for (int v = 0; v < V; ++v) carries[v * lanes + column] = F::combine(before[v], own[v]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          if (first + k >= n) break;
          Acc out[V];
#pragma unroll
          for (int v = 0; v < V; ++v) {
            const State upto = before[v], e = lifted(k, v);
            before[v] = F::combine(upto, e);
            out[v] = exclusive ? F::before(p, upto, e) : F::value(before[v]);
          }
          if (inside) lines.store(p, first + k, out);
        }
#pragma unroll
        for (int v = 0; v < V; ++v) carry[v] = carries[v * lanes + column];
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
