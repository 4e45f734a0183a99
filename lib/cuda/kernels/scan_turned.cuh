// scan.turned: of input and out one is contiguous along the lines, and the other across them (modes 'S K', 'S K K').
// A warp has some lines that are neighbours where these lie side by side, 32 or, where lines are few, 16 or 8, so that what its threads read or
// write there at a step is whole sectors; L threads share a line, a few neighbouring steps each. A piece of every line is worked on while the next
// ones are on their way to shared memory. Nobody waits for another warp.
// kAlong: the input is contiguous along the lines. They lie in a piece with a gap of one access between them, so that the accesses of a warp
// meet in no bank; results go to memory at once. Else a piece is a row of neighbours after another, and its results are turned in shared
// memory, line by line with a gap of a word, and go to memory from there.
// V: elements of an access to the input, of 16 bytes where all begin at a multiple of them, else one.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
inline constexpr int kTurnedBytes = 256;  // of a line, in a piece
inline constexpr int kTurnedPieces = 3;   // that a warp works on or waits for
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int V, int L, bool kAlong>
struct scan_turned {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  using In = first_of<typename Map::Inputs>;
  static constexpr int kMostThreads = 32, kResident = 16;
  static constexpr int kLines = 32 / L, kSteps = kTurnedBytes / int(kAlong || sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
  static constexpr int kWord = 16 / int(sizeof(Out));                                  // results that go to memory at once
  static constexpr int E = kAlong ? V : kWord * L < kSteps ? kWord : kSteps / L;       // neighbouring steps of a thread
  static constexpr int kPitch = kAlong ? kSteps + V : kLines;                          // of a piece, from line to line, or step to step
  static constexpr int kPiece = kPitch * (kAlong ? kLines : kSteps), kResults = kSteps + kWord;  // kResults: from line to line
  static constexpr int kShared = kTurnedPieces * kPiece * int(sizeof(In)), kTurned = kAlong ? 0 : kLines * kResults * int(sizeof(Out));

  // E elements of a thread's line, from element `at` of the scan on.
  template <class P>
  TCU_DEVICE static void read(const P &p, State (&t)[E], const In *piece, int at, bool reverse) {
    if constexpr (kAlong) {
      Pack<V, typename Map::Inputs> pack;
      pack.first = Raw<In, V>::staged(piece + (reverse ? kSteps - V - at : at));
      State in_memory[V];
#pragma unroll
      for (int v = 0; v < V; ++v) in_memory[v] = F::lift(p, apply_at<Map>(p, pack, v));
#pragma unroll
      for (int v = 0; v < V; ++v) t[v] = reverse ? in_memory[V - 1 - v] : in_memory[v];
    } else {
#pragma unroll
      for (int v = 0; v < E; ++v) {
        Pack<1, typename Map::Inputs> pack;
        pack.first = Raw<In, 1>::staged(piece + (reverse ? kSteps - 1 - at - v : at + v) * kPitch);
        t[v] = F::lift(p, apply_at<Map>(p, pack, 0));
      }
    }
  }
  // A piece of a thread's line, of which the elements from..to-1 of the scan are there; `out` is where element 0 goes, or would; `turned`
  // where the line's results are to lie in shared memory.
  template <bool kWhole, class P>
  TCU_DEVICE static void scan(const P &p, const In *piece, Out *turned, int from, int to, Out *out, bool inside, State &upto) {
    const bool reverse = (p.flags & kReverse) != 0, exclusive = (p.flags & kExclusive) != 0;
    const bool plain = (kWhole || !kAlong) && !p.reads_out() && !p.scales();
    const int64_t along = reverse ? -p.mode[p.n_kept].out : p.mode[p.n_kept].out;
    const int lane = int(threadIdx.x), x = lane % kLines, y = lane / kLines;
    constexpr int kRound = L * E;
    const int first = kWhole ? 0 : from / kRound * kRound, last = kWhole ? kSteps : to;
    State next[E];
    read(p, next, piece, first + y * E, reverse);
#pragma unroll 4
    for (int round = first; round < last; round += kRound) {
      const int at = round + y * E;
      State e[E], own[E];
      typename F::Value r[E];
#pragma unroll
      for (int v = 0; v < E; ++v) e[v] = next[v];
      if (round + kRound < last) read(p, next, piece, at + kRound, reverse);  // before anything is written
      if constexpr (!kWhole) {
#pragma unroll
        for (int v = 0; v < E; ++v)
          if (at + v < from || at + v >= to) e[v] = F::identity();
      }
      State before = upto;
      if constexpr (L > 1) {
        own[0] = e[0];
#pragma unroll
        for (int v = 1; v < E; ++v) own[v] = F::combine(own[v - 1], e[v]);
        State all = own[E - 1];
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
      for (int v = 0; v < E; ++v) {
        const State earlier = v == 0 ? before : L > 1 ? F::combine(before, own[v > 0 ? v - 1 : 0]) : upto;
        if constexpr (L == 1) upto = F::combine(earlier, e[v]);
        r[v] = exclusive ? F::before(p, earlier, e[v]) : F::value(L > 1 ? F::combine(before, own[v]) : upto);
      }
      if (plain) {
        Vec<Out, E> in_order, in_memory;
#pragma unroll
        for (int v = 0; v < E; ++v) in_order.at[v] = tcu::convert<Out>(r[v]);
        if constexpr (!kAlong) {
#pragma unroll
          for (int v = 0; v < E; ++v) in_memory.at[v] = reverse ? in_order.at[E - 1 - v] : in_order.at[v];
          store_vector(turned + (reverse ? kSteps - E - at : at), in_memory);
        } else if (inside) {
#pragma unroll
          for (int v = 0; v < E; ++v) out[(at + v) * along] = in_order.at[v];
        }
      } else {
#pragma unroll
        for (int v = 0; v < E; ++v)
          if (inside && at + v >= from && at + v < to) store(p, out + (at + v) * along, Vec<typename F::Value, 1>{{r[v]}});
      }
    }
  }

  // The results of `here` steps of the warp's lines, as many as there are of `lines`, W at once: of each to where it begins in `out`.
  template <int W>
  TCU_DEVICE static void write(Out *out, Index begins, const Out *results, Index lines, int here) {
#pragma unroll 4
    for (int i = int(threadIdx.x) * W; i < kLines * kSteps; i += 32 * W) {
      const int of = i / kSteps, at = i % kSteps;
      Out *const to = out + (shuffle(begins, of, 32) + at);
      if (at < here && of < lines) store_vector(to, *reinterpret_cast<const Vec<Out, W> *>(results + of * kResults + at));
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(Slot, shared, kShared / 16 + (kTurned + 15) / 16);
    const int lane = int(threadIdx.x), x = lane % kLines;
    const bool reverse = (p.flags & kReverse) != 0;
    const Index n = Index(p.folded), pieces = (n - 1) / kSteps + 1;
    const Index lines = Index(p.kept), first = Index(blockIdx.x) * kLines, line = first + x;
    Offsets<1, Index> o;
    decode(o, p, 0, p.n_kept, line < lines ? line : lines - 1);
    const auto place = [&](Index k) { return reinterpret_cast<In *>(shared) + int(k % kTurnedPieces) * kPiece; };
    Out *const results = reinterpret_cast<Out *>(shared + kShared / 16);
    const auto begin = [&](Index k) { return (reverse ? pieces - 1 - k : k) * kSteps; };  // in memory
    const auto fetch = [&](Index k) {
      if (k < pieces) {
        constexpr int kRow = (kAlong ? kSteps : kLines) / V;  // accesses
#pragma unroll
        for (int i = 0; i < kLines * kSteps / V; i += 32) {
          const int row = (i + lane) / kRow, in_row = (i + lane) % kRow * V;
          const Index of = shuffle(o.in[0], kAlong ? row : in_row, 32), step = begin(k) + (kAlong ? in_row : row);
          const In *const from = static_cast<const In *>(p.in[0]) + (kAlong ? of + step : of + step * Index(p.mode[p.n_kept].in[0]));
          In *const to = place(k) + row * kPitch + in_row;
          if (kAlong ? step + V <= n : step < n && first + in_row < lines) {
            copy_ahead<V * int(sizeof(In))>(to, from);
          } else if (kAlong) {
            for (int v = 0; step + v < n; ++v) to[v] = from[v];
          }
        }
      }
      end_of_copies();
    };
    const bool in_words = !kAlong && __all_sync(kAllLanes, is_aligned<Out, kWord>(static_cast<Out *>(p.out) + o.out));
    State upto = F::start(p);
    for (int k = 0; k < kTurnedPieces - 1; ++k) fetch(k);
#pragma unroll 1
    for (Index k = 0; k < pieces; ++k) {
      await_copies<kTurnedPieces - 2>();
      __syncwarp();  // all have what they copied, and have done with the piece before
      fetch(k + kTurnedPieces - 1);
      const In *const piece = place(k) + x * (kAlong ? kPitch : 1);
      Out *const turned = results + x * kResults;
      Out *const out = static_cast<Out *>(p.out) + (o.out + int64_t(begin(k) + (reverse ? kSteps - 1 : 0)) * p.mode[p.n_kept].out);
      const int here = n - begin(k) < kSteps ? int(n - begin(k)) : kSteps;
      if (here == kSteps) scan<true>(p, piece, turned, 0, kSteps, out, line < lines, upto);
      else scan<false>(p, piece, turned, reverse ? kSteps - here : 0, reverse ? kSteps : here, out, line < lines, upto);
      if (kAlong || p.reads_out() || p.scales()) continue;
      __syncwarp();
      Out *const to = static_cast<Out *>(p.out) + begin(k);
      if (in_words && here % kWord == 0) write<kWord>(to, o.out, results, lines - first, here);
      else write<1>(to, o.out, results, lines - first, here);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ScanTurned {
  // Whether it is the input that is contiguous along the lines.
  static bool along(const Problem &p) { return fastest(p, Role::S)->stride[1] == 1; }
  static bool turned(const Problem &p) {
    const Mode &k = *fastest(p, Role::K), &s = *fastest(p, Role::S);
    const int lies = along(p) ? 1 : 0;
    return s.stride[lies] == 1 && k.stride[1 - lies] == 1 && s.stride[1 - lies] != 1;
  }
  static int vector(const Problem &p) {
    const int whole = 16 / bytes_of(p.in[0]);
    const int k = int(fastest(p, Role::K) - p.modes.begin()), s = int(fastest(p, Role::S) - p.modes.begin());
    return (along(p) ? starts_aligned(p, s, 1, whole) : rows_aligned(p, k, 1, whole)) ? whole : 1;
  }
  static bool accepts(const Problem &p, const Device &) {
    if (p.empty() || p.n_inputs != 1 || p.in_place || !fastest(p, Role::K) || bytes_of(p.in[0]) > 8 || bytes_of(p.out) > 8) return false;
    return turned(p) && (vector(p) > 1 || (bytes_of(p.in[0]) >= 4 && real_part_of(p.in[0]) == p.in[0]));
  }
  // Of the lines' neighbours, where they lie side by side.
  static int neighbour_bytes(const Problem &p) { return bytes_of(along(p) ? p.out : p.in[0]); }
  // Threads of a line: more where lines are few, as long as what a warp reads or writes at a step is a sector; across two-byte elements and
  // those that begin anywhere as many as can be.
  static int lanes(const Problem &p, const Device &d) {
    const int bytes = neighbour_bytes(p);
    const bool most = !along(p) && (bytes == 2 || vector(p) == 1);
    int n = 1;
    while (n < 4 && n < bytes && (most || p.kept() * n < int64_t(d.processors) * 120)) n *= 2;
    return n;
  }
  // Many lines, for few threads go along few; for longer lines scan.copied's two launches are nothing.
  // Of 90 random problems (H100) it is chosen for 36, in 0.64 of the time of the best of the others (geometric mean; 1.15 at most). Along lines
  // that begin anywhere it is slow to bring them but in 8 bytes, and short ones are mostly gaps. Across, of 46 problems it is chosen for 29 and
  // takes 0.51 to 0.89 of scan.copied's time in 28, 1.09 in one; bytes, of which a piece is many steps, are slow unless there is much of them.
  static bool suits(const Problem &p, const Device &d) {
    const int64_t n = fastest(p, Role::S)->extent, lines = p.kept();
    const int beside = neighbour_bytes(p), behind = bytes_of(along(p) ? p.in[0] : p.out);
    if (n * behind < 128) return false;
    if (along(p) && vector(p) == 1) return behind == 8 && lines >= d.processors * 60;
    if (!along(p) && behind == 1) return n >= 1000 && lines >= d.processors * 300;
    return lines * std::min(beside, 4) >= d.processors * (n < 3000 ? 40 : 84);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = 32, c.vector = vector(p), c.lanes = lanes(p, d), c.grid = ceil_div(p.kept() * c.lanes, 32);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "scan_turned", {std::to_string(c.vector), std::to_string(c.lanes), along(p) ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
