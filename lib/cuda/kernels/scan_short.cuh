// scan.short: the fastest mode is kept ('K S', 'K S K', ...), and lines have few steps.
// A thread has V neighbouring lines, whole: it reads all of their steps, kSteps at most, before it scans them. V is a vector of 16 bytes
// where out is whole vectors along the fastest mode and every input contiguous, or the same all along it (kOnce, a bit an input), else 1.
// Inputs that are no whole vectors (a bit each in p.detail) are read element by element.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
inline constexpr int kShortSteps = 16;  // of a line, at most
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int V, unsigned kOnce, int kSteps>
struct scan_short {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int N = Map::Inputs::size;
  static constexpr int kWords = kSteps * (V * largest_of<typename Map::Inputs>::bytes + 3) / 4;  // registers of what is in flight
  static constexpr int kResident = N > 1 || kWords > 32 ? 2 : kWords > 16 ? 4 : 6;
  using AwaitsTurn = scan_short;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index line = (Index(blockIdx.x) * kThreads + Index(threadIdx.x)) * V;
    if (line >= Index(p.kept)) return;
    const auto &along = p.mode[p.n_kept];
    const int n = int(p.folded);
    const bool exclusive = (p.flags & kExclusive) != 0, reverse = (p.flags & kReverse) != 0;
    Offsets<N, Index> at;
    decode(at, p, 0, p.n_kept, line);
    const auto step = [&](int k) { return Index(reverse ? n - 1 - k : k); };
    Pack<V, typename Map::Inputs, kOnce> x[kSteps];
    if (begins_early<scan_short>()) {
#pragma unroll 1
      for (int k = 0; k < 4 && k < n; ++k) {
        Offsets<N, Index> from = at;
        advance(from, along, step(k));
        look_ahead_at<V, kOnce>(typename Map::Inputs{}, p, from, 0, Index(0));
      }
    }
    await_turn();
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      if (k >= n) break;
      Offsets<N, Index> from = at;
      advance(from, along, step(k));
      load_pack<V, false>(x[k], p, from, 0, Index(0), unsigned(p.detail));  // the offsets say all
    }
    State upto[V];
#pragma unroll
    for (int v = 0; v < V; ++v) upto[v] = F::start(p);
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      if (k >= n) break;
      Vec<Acc, V> y;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const State e = F::lift(p, apply_at<Map>(p, x[k], v)), before = upto[v];
        upto[v] = F::combine(before, e);
        y.at[v] = exclusive ? F::before(p, before, e) : F::value(upto[v]);
      }
      store(p, static_cast<Out *>(p.out) + (at.out + step(k) * Index(along.out)), y);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_columns.cuh"

namespace tcu::cuda::rows {

struct ScanShort {
  static bool accepts(const Problem &p, const Device &) {
    return p.modes.size() > 1 && p.modes[0].role == Role::K && fastest(p, Role::S)->extent <= kShortSteps;
  }
  static int vector(const Problem &p) {
    const int v = vector_of(p, true);
    return p.modes[0].stride[0] == 1 && rows_aligned(p, 0, 0, v) && !jumps_along(p, p.modes[0]) ? v : 1;
  }
  // Bytes of a problem of one or two steps from which on scan.columns, which moves rows that are no whole vectors in words, is faster than threads
  // that take them an element at a time: it was (H100) in all of 26 random problems of so many, 0.43 to 0.99 of the time, and in three of 47 of less.
  static int64_t much(const Problem &p) {
    const bool one = fastest(p, Role::S)->extent == 1;
    const int bytes = 16 / vector_of(p, true);
    return bytes <= 2 ? (one ? 12 : 32) << 20 : bytes == 4 && one ? 26 << 20 : INT64_MAX;
  }
  static bool suits(const Problem &p, const Device &d) {
    // Not lines that are rows of out, of which a thread writes its own an element at a time (409,816 of 15 int32 on an H200: 188 us, by
    // scan.general 50), but for very short ones: of 8 steps, or 3 where all is 8 MB and more (of three random problems of 4 to 8 steps
    // scan.general was faster in all, 0.39 to 0.51 of the time).
    const Mode &s = *fastest(p, Role::S);
    if (s.stride[0] == 1 && s.extent > (p.bytes() < 8 << 20 ? 8 : 3)) return false;
    const bool others = s.extent > 2 || p.modes[0].extent < 1024 || p.bytes() < much(p);
    return others || vector(p) > 1 || !ScanColumns::accepts(p, d) || !ScanColumns::suits(p, d);
  }
  static LaunchConfig configure(const Problem &p, const Device &) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector(p);
    for (int k = 1; k <= p.n_inputs; ++k) c.detail |= !rows_aligned(p, 0, k, c.vector) << (k - 1);
    c.grid = ceil_div(p.kept() / c.vector, kThreads);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    int steps = 4;
    while (steps < fastest(p, Role::S)->extent) steps *= 2;
    return make_instance(p, "scan_short", {std::to_string(c.vector), bits_text(once_along(p, p.modes[0], c.vector)), std::to_string(steps)});
  }
};

}  // namespace tcu::cuda::rows
#endif
