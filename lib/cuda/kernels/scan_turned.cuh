// scan.turned: the input is contiguous along the lines, and out is across them (modes 'S K', 'S K K').
// A warp has some lines that are neighbours in out, 32 or, where lines are few, 16 or 8, so that what its threads write at a step is whole
// sectors; L threads share a line, an access of neighbouring steps each. A piece of every line is worked on while the next ones are on their
// way to shared memory. They lie there with a gap of one access between lines, so that the accesses of a warp meet in no bank. Nobody waits
// for another warp.
// V: elements of an access, of 16 bytes where every line begins at a multiple of them, else one.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
inline constexpr int kTurnedBytes = 256;  // of a line, in a piece
inline constexpr int kTurnedPieces = 3;   // that a warp works on or waits for
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int V, int L>
struct scan_turned {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  using In = first_of<typename Map::Inputs>;
  static constexpr int kMostThreads = 32, kResident = 16;
  static constexpr int kLines = 32 / L, kSteps = kTurnedBytes / int(sizeof(In)), kAccesses = kSteps / V;
  static constexpr int kPitch = kSteps + V;

  // A piece of a thread's line, of which the elements from..to-1 of the scan are there; `out` is where element 0 goes, or would.
  template <bool kWhole, class P>
  TCU_DEVICE static void scan(const P &p, const In *piece, int from, int to, Out *out, bool inside, State &upto) {
    const bool reverse = (p.flags & kReverse) != 0, exclusive = (p.flags & kExclusive) != 0;
    const bool plain = kWhole && !p.reads_out() && !p.scales();
    const int64_t along = reverse ? -p.mode[p.n_kept].out : p.mode[p.n_kept].out;
    const int lane = int(threadIdx.x), x = lane % kLines, y = lane / kLines;
    constexpr int kRound = L * V;
    const int first = kWhole ? 0 : from / kRound * kRound, last = kWhole ? kSteps : to;
#pragma unroll 4
    for (int round = first; round < last; round += kRound) {
      const int at = round + y * V;
      Pack<V, typename Map::Inputs> pack;
      pack.first = Raw<In, V>::staged(piece + (reverse ? kSteps - V - at : at));
      State t[V], e[V], own[V];
      typename F::Value r[V];
#pragma unroll
      for (int v = 0; v < V; ++v) t[v] = F::lift(p, apply_at<Map>(p, pack, v));
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const State next = reverse ? t[V - 1 - v] : t[v];
        e[v] = kWhole || (at + v >= from && at + v < to) ? next : F::identity();
      }
      State before = upto;
      if constexpr (L > 1) {
        own[0] = e[0];
#pragma unroll
        for (int v = 1; v < V; ++v) own[v] = F::combine(own[v - 1], e[v]);
        State all = own[V - 1];
#pragma unroll
        for (int h = 1; h < L; h *= 2) {
          const State below = shuffle_up(all, h * kLines, 32);
          if (y >= h) all = F::combine(below, all);
        }
        const State below = shuffle_up(all, kLines, 32);
        if (y > 0) before = F::combine(upto, below);
        upto = F::combine(upto, shuffle(all, 32 - kLines + x, 32));
      }
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const State earlier = v == 0 ? before : L > 1 ? F::combine(before, own[v > 0 ? v - 1 : 0]) : upto;
        if constexpr (L == 1) upto = F::combine(earlier, e[v]);
        r[v] = exclusive ? F::before(p, earlier, e[v]) : F::value(L > 1 ? F::combine(before, own[v]) : upto);
      }
      if (plain) {
        if (inside) {
#pragma unroll
          for (int v = 0; v < V; ++v) out[(at + v) * along] = tcu::convert<Out>(r[v]);
        }
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (inside && at + v >= from && at + v < to) store(p, out + (at + v) * along, Vec<typename F::Value, 1>{{r[v]}});
      }
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(Slot, shared, kTurnedPieces * kLines * kPitch * int(sizeof(In)) / 16);
    const int lane = int(threadIdx.x);
    const bool reverse = (p.flags & kReverse) != 0;
    const Index n = Index(p.folded), pieces = (n - 1) / kSteps + 1;
    const Index lines = Index(p.kept), line = Index(blockIdx.x) * kLines + lane % kLines;
    Offsets<1, Index> o;
    decode(o, p, 0, p.n_kept, line < lines ? line : lines - 1);
    const auto place = [&](Index k) { return reinterpret_cast<In *>(shared) + int(k % kTurnedPieces) * (kLines * kPitch); };
    const auto begin = [&](Index k) { return (reverse ? pieces - 1 - k : k) * kSteps; };  // in memory
    const auto fetch = [&](Index k) {
      if (k < pieces) {
#pragma unroll
        for (int i = 0; i < kAccesses * kLines; i += 32) {
          const int of = (i + lane) / kAccesses, at = (i + lane) % kAccesses * V;
          const In *const from = static_cast<const In *>(p.in[0]) + (shuffle(o.in[0], of, 32) + begin(k) + at);
          In *const to = place(k) + of * kPitch + at;
          if (begin(k) + at + V <= n) {
            copy_ahead<V * int(sizeof(In))>(to, from);
          } else {
            for (int v = 0; begin(k) + at + v < n; ++v) to[v] = from[v];
          }
        }
      }
      end_of_copies();
    };
    State upto = F::start(p);
    for (int k = 0; k < kTurnedPieces - 1; ++k) fetch(k);
#pragma unroll 1
    for (Index k = 0; k < pieces; ++k) {
      await_copies<kTurnedPieces - 2>();
      __syncwarp();  // all have what they copied, and have done with the piece before
      fetch(k + kTurnedPieces - 1);
      const In *const piece = place(k) + lane % kLines * kPitch;
      Out *const out = static_cast<Out *>(p.out) + (o.out + int64_t(begin(k) + (reverse ? kSteps - 1 : 0)) * p.mode[p.n_kept].out);
      const int here = n - begin(k) < kSteps ? int(n - begin(k)) : kSteps;
      if (here == kSteps) scan<true>(p, piece, 0, kSteps, out, line < lines, upto);
      else scan<false>(p, piece, reverse ? kSteps - here : 0, reverse ? kSteps : here, out, line < lines, upto);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ScanTurned {
  static int vector(const Problem &p) {
    const int whole = 16 / bytes_of(p.in[0]);
    return starts_aligned(p, int(fastest(p, Role::S) - p.modes.begin()), 1, whole) ? whole : 1;
  }
  static bool accepts(const Problem &p, const Device &) {
    const Mode *const across = fastest(p, Role::K), *const along = fastest(p, Role::S);
    if (p.empty() || p.n_inputs != 1 || p.in_place || !across || bytes_of(p.in[0]) > 8) return false;
    if (across->stride[0] != 1 || along->stride[1] != 1 || along->stride[0] == 1) return false;
    return vector(p) > 1 || (bytes_of(p.in[0]) >= 4 && real_part_of(p.in[0]) == p.in[0]);
  }
  // Threads of a line: more where lines are few, as long as what a warp writes at a step is a sector.
  static int lanes(const Problem &p, const Device &d) {
    int n = 1;
    while (n < 4 && n < bytes_of(p.out) && p.kept() * n < int64_t(d.processors) * 120) n *= 2;
    return n;
  }
  // Many lines, for few threads go along few; for longer lines scan.copied's two launches are nothing.
  // Of 90 random problems (H100) it is chosen for 36, in 0.64 of the time of the best of the others (geometric mean; 1.15 at most). Lines that
  // begin anywhere are slow to bring but in 8 bytes, and short ones are mostly gaps.
  static bool suits(const Problem &p, const Device &d) {
    const int64_t n = fastest(p, Role::S)->extent, lines = p.kept(), bytes = bytes_of(p.out);
    if (n * bytes_of(p.in[0]) < 128) return false;
    if (vector(p) == 1) return bytes == 8 && lines >= d.processors * 60;
    return lines * std::min<int64_t>(bytes, 4) >= d.processors * (n < 3000 ? 40 : 84);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = 32, c.vector = vector(p), c.lanes = lanes(p, d), c.grid = ceil_div(p.kept() * c.lanes, 32);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "scan_turned", {std::to_string(c.vector), std::to_string(c.lanes)});
  }
};

}  // namespace tcu::cuda::rows
#endif
