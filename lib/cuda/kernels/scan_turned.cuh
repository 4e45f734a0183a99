// scan.turned: of input and out one is contiguous along the lines, and the other across them (modes 'S K', 'S K K').
// A block has some lines that are neighbours where these lie side by side, so that what a warp reads or writes there at a step is whole sectors.
// Pieces of these lines go round its warps, and each warp brings its next piece to shared memory while it works on one. A warp folds its piece;
// all warps tell each other what theirs come to; then it scans the piece from what comes before it. Where lines are few L threads share one, each
// with a part of the piece. Nobody waits for another block.
// kAlong: the input is contiguous along the lines. They lie in a piece with a gap of one access between them, so that the accesses of a warp
// meet in no bank; results go to memory at once. Else a piece is a row of neighbours after another, and its results are turned in shared
// memory, line by line with a gap of a word, and go to memory from there.
// V: elements of an access to the input, of 16 bytes where all begin at a multiple of them, else one.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
inline constexpr int kTurnedWarps = 8, kFewTurnedWarps = 4;  // of a block, at most; of one of many
inline constexpr int kTurnedPieces = 2;                      // that a warp works on or waits for
// A warp's piece, in elements.
struct TurnedPiece {
  int of_thread, across;  // lines of a thread; threads side by side, which is how far its lines are from each other
  int lines, steps;       // 128 bytes of a line
  int pitch, bytes;       // pitch: from line to line, or step to step
  int word, results;      // results that go to memory at once; from line to line, where they are turned
  int all;                // bytes of a warp's pieces and results

  TCU_FN constexpr TurnedPiece(int in, int out, int vector, int lanes, bool along)
      : of_thread((along ? out : in) <= 2 ? 2 : 1), across(32 / lanes), lines(across * of_thread),
        steps(128 / (along || in > out ? in : out)), pitch(along ? steps + vector : lines), bytes(pitch * (along ? lines : steps) * in),
        word(16 / out), results(steps + word), all(kTurnedPieces * bytes + (along ? 0 : lines * results * out)) {}
};
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int V, int L, bool kAlong>
struct scan_turned {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  using In = first_of<typename Map::Inputs>;
  static constexpr TurnedPiece kPiece{int(sizeof(In)), int(sizeof(Out)), V, L, kAlong};
  static constexpr int kMostThreads = 32 * kTurnedWarps, kResident = 1;
  static constexpr int G = kPiece.of_thread, kAcross = kPiece.across, kLines = kPiece.lines, kSteps = kPiece.steps;
  static constexpr int kMine = kSteps / L;  // steps of a thread
  static constexpr int kUnit = kAlong ? V : kPiece.word < kMine ? kPiece.word : kMine;  // elements of an access to its line in shared memory
  static constexpr int E = kUnit > 8 ? kUnit : kMine < 8 ? kMine : 8;                   // that it takes at a time
  static constexpr int kApart = kAlong ? kAcross * kPiece.pitch : kAcross, kNext = kAlong ? 1 : kPiece.pitch;  // from line to line of a thread; step to step

  // What a thread has to do with its lines' part of a piece.
  struct Work {
    const In *piece;  // in shared memory, as all of the piece, of the thread's first line
    Out *results;     // there too, where they are turned
    Out *to[G];       // in memory, where the first result of each line goes, in the order of the scan
    Index step;       // from there to the next
    Index lines;      // from the thread's first line on
    int first, here;  // the element of the piece that is its first one, in that order; elements of the piece that there are, in memory
  };
  // E elements of a line, from element `at` of the scan on.
  template <bool kReverse, class P>
  TCU_DEVICE static void read(const P &p, State (&e)[E], const In *line, int at) {
    if constexpr (kAlong) {
#pragma unroll
      for (int u = 0; u < E; u += V) {
        Pack<V, typename Map::Inputs> pack;
        pack.first = Raw<In, V>::staged(line + (kReverse ? kSteps - V - at - u : at + u));
#pragma unroll
        for (int v = 0; v < V; ++v) e[u + (kReverse ? V - 1 - v : v)] = F::lift(p, apply_at<Map>(p, pack, v));
      }
    } else {
#pragma unroll
      for (int v = 0; v < E; ++v) e[v] = one<kReverse>(p, line, at + v);
    }
  }
  // Element `at`.
  template <bool kReverse, class P>
  TCU_DEVICE static State one(const P &p, const In *line, int at) {
    Pack<1, typename Map::Inputs> pack;
    pack.first = Raw<In, 1>::staged(line + place<kReverse>(at) * kNext);
    return F::lift(p, apply_at<Map>(p, pack, 0));
  }
  template <bool kReverse>
  TCU_DEVICE static int place(int at) { return kReverse ? kSteps - 1 - at : at; }
  // Whether elements at..at+E-1 are all there.
  template <bool kReverse>
  TCU_DEVICE static bool whole(const Work &w, int at) { return place<kReverse>(kReverse ? at : at + E - 1) < w.here; }

  // What the part comes to.
  template <bool kReverse, class P>
  TCU_DEVICE static void fold(const P &p, const Work &w, State (&all)[G]) {
#pragma unroll
    for (int g = 0; g < G; ++g) all[g] = F::identity();
#pragma unroll 1
    for (int at = w.first; at < w.first + kMine; at += E) {
      if (whole<kReverse>(w, at)) {
#pragma unroll
        for (int g = 0; g < G; ++g) {
          State e[E];
          read<kReverse>(p, e, w.piece + g * kApart, at);
#pragma unroll
          for (int v = 0; v < E; ++v) all[g] = F::combine(all[g], e[v]);
        }
      } else {
#pragma unroll 1
        for (int v = at; v < at + E; ++v) {
          if (place<kReverse>(v) >= w.here) continue;
#pragma unroll
          for (int g = 0; g < G; ++g) all[g] = F::combine(all[g], one<kReverse>(p, w.piece + g * kApart, v));
        }
      }
    }
  }
  // before: what comes before the thread's part, of each line. all: what the part comes to; upto: what comes before the pieces of this round, and then what
  // comes before those of the next one. told: by warp and line, and not what those of the round before may still read.
  TCU_DEVICE static void exchange(State (&all)[G], State *told, State (&upto)[G], State (&before)[G]) {
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, warps = int(blockDim.x) / 32, x = lane % kAcross, y = lane / kAcross;
#pragma unroll
    for (int g = 0; g < G; ++g) {
#pragma unroll
      for (int h = 1; h < L; h *= 2) {
        const State below = shuffle_up(all[g], h * kAcross, 32);
        if (y >= h) all[g] = F::combine(below, all[g]);
      }
      if (y == L - 1) told[warp * kLines + g * kAcross + x] = all[g];
      if (L > 1) all[g] = shuffle_up(all[g], kAcross, 32);
    }
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < warps; ++i) {
#pragma unroll
      for (int g = 0; g < G; ++g) {
        if (i == warp) before[g] = upto[g];
        upto[g] = F::combine(upto[g], told[i * kLines + g * kAcross + x]);
      }
    }
#pragma unroll
    for (int g = 0; g < G; ++g)
      if (L > 1 && y > 0) before[g] = F::combine(before[g], all[g]);
  }

  // Its results. upto: of each line what comes before them. plain: they are not scaled, nor added to what is there.
  template <bool kReverse, class P>
  TCU_DEVICE static void scan(const P &p, Work w, bool plain, State (&upto)[G]) {
    const bool exclusive = (p.flags & kExclusive) != 0;
    const auto next = [&](State &upto, const State &e) {
      const State before = upto;
      upto = F::combine(before, e);
      return exclusive ? F::before(p, before, e) : F::value(upto);
    };
#pragma unroll 1
    for (int at = w.first; at < w.first + kMine; at += E) {
      if (plain && whole<kReverse>(w, at)) {
#pragma unroll
        for (int g = 0; g < G; ++g) {
          State e[E];
          Out r[E];
          read<kReverse>(p, e, w.piece + g * kApart, at);
#pragma unroll
          for (int v = 0; v < E; ++v) r[v] = tcu::convert<Out>(next(upto[g], e[v]));
          if constexpr (kAlong) {
            if (g * kAcross < w.lines) {
#pragma unroll
              for (int v = 0; v < E; ++v) w.to[g][v * w.step] = r[v];
            }
          } else {
#pragma unroll
            for (int u = 0; u < E; u += kUnit) {
              Vec<Out, kUnit> word;
#pragma unroll
              for (int v = 0; v < kUnit; ++v) word.at[v] = r[u + (kReverse ? kUnit - 1 - v : v)];
              store_vector(w.results + g * kAcross * kPiece.results + (kReverse ? kSteps - kUnit - at - u : at + u), word);
            }
          }
          w.to[g] += int64_t(E) * w.step;
        }
      } else {
#pragma unroll 1
        for (int v = at; v < at + E; ++v) {
#pragma unroll
          for (int g = 0; g < G; ++g) {
            if (place<kReverse>(v) < w.here) {
              const typename F::Value r = next(upto[g], one<kReverse>(p, w.piece + g * kApart, v));
              if (!kAlong && plain) w.results[g * kAcross * kPiece.results + place<kReverse>(v)] = tcu::convert<Out>(r);
              else if (g * kAcross < w.lines) store(p, w.to[g], Vec<typename F::Value, 1>{{r}});
            }
            w.to[g] += w.step;
          }
        }
      }
    }
  }

  // The results of `here` steps of a piece, W at once: of each line, as many as there are of `lines`, to where it begins in `out`.
  template <int W>
  TCU_DEVICE static void write(Out *out, const Index (&begins)[G], const Out *results, Index lines, int here) {
#pragma unroll
    for (int g = 0; g < G; ++g) {
#pragma unroll 4
      for (int first = 0; first < kAcross * kSteps; first += 32 * W) {
        const int i = first + int(threadIdx.x) % 32 * W, across = i / kSteps, at = i % kSteps, line = g * kAcross + across;
        Out *const to = out + (shuffle(begins[g], across, 32) + at);
        if (across < kAcross && at < here && line < lines) store_vector(to, *reinterpret_cast<const Vec<Out, W> *>(results + line * kPiece.results + at));
      }
    }
  }

  // How the threads of a warp bring a piece to shared memory, V elements at a time.
  struct Source {
    static constexpr int kRow = (kAlong ? kSteps : kLines) / V;  // accesses of a row, which a piece has in memory as here
    static constexpr int kRows = kRow < 32 ? 32 / kRow : 1, kParts = kRow < 32 ? 1 : kRow / 32, kItems = kLines * kSteps / V / 32;
    Index at[kAlong ? kItems : kParts], across;  // of each access, or to each part of a row, from the piece's first step on; from row to row
    int row, place;                              // of the first access

    // begin_of(line): where it begins in memory.
    template <class BeginOf>
    TCU_DEVICE Source(Index across, Index lines, BeginOf begin_of) : across(across) {
      const int lane = int(threadIdx.x) % 32;
      row = kRow < 32 ? lane / kRow : 0, place = lane % (kRow < 32 ? kRow : 32) * V;
#pragma unroll
      for (int i = 0; i < (kAlong ? kItems : kParts); ++i) {
        const int line = place + i * 32 * V;
        at[i] = kAlong ? begin_of(i * kRows + row) + place : begin_of(line < lines ? line : 0) + row * across;
      }
    }
    // As many steps as there are, from `in` on; of a piece that is not whole by whole accesses.
    template <bool kWhole>
    TCU_DEVICE void bring(In *piece, const In *in, int steps) const {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const int down = i / kParts * kRows, part = i % kParts;
        const In *const from = in + (kAlong ? at[i] : at[part] + down * across);
        if (kWhole || (kAlong ? place + V <= steps : row + down < steps))
          copy_ahead<V * int(sizeof(In))>(piece + (row + down) * kPiece.pitch + place + part * 32 * V, from);
      }
    }
  };

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, warps = int(blockDim.x) / 32, x = lane % kAcross, y = lane / kAcross;
    const bool reverse = (p.flags & kReverse) != 0, plain = !p.reads_out() && !p.scales();
    const Index n = Index(p.folded), pieces = (n - 1) / kSteps + 1, step = Index(p.mode[p.n_kept].out), across = Index(p.mode[p.n_kept].in[0]);
    const Index first = Index(blockIdx.x) * kLines, lines = Index(p.kept) - first;  // of the block; from there on
    Index from[G], begins[G];                                                       // of a thread's lines, in the input and in out
    State upto[G];
    bool in_words = true;
#pragma unroll
    for (int g = 0; g < G; ++g) {
      const Index line = x + g * kAcross;
      Offsets<1, Index> o;
      decode(o, p, 0, p.n_kept, first + (line < lines ? line : lines - 1));
      from[g] = o.in[0], begins[g] = o.out, upto[g] = F::start(p);
      in_words &= is_aligned<Out, kPiece.word>(static_cast<Out *>(p.out) + o.out);
    }
    in_words = __all_sync(kAllLanes, in_words);
    const Source source(across, lines, [&](int line) {
      Index begin = 0;
#pragma unroll
      for (int g = 0; g < G; ++g) {
        const Index one = shuffle(from[g], line % kAcross, 32);
        if (line / kAcross == g) begin = one;
      }
      return begin;
    });
    char *const mine = reinterpret_cast<char *>(shared) + warp * kPiece.all;
    State *const sums = reinterpret_cast<State *>(reinterpret_cast<char *>(shared) + warps * kPiece.all);  // of two rounds in turn, by warp and line
    const auto piece = [&](Index round) { return reinterpret_cast<In *>(mine + int(round % kTurnedPieces) * kPiece.bytes); };
    const auto begin = [&](Index k) { return (reverse ? pieces - 1 - k : k) * kSteps; };  // in memory
    const auto fetch = [&](Index round) {
      const Index k = round * warps + warp;
      if (k < pieces) {
        const In *const in = static_cast<const In *>(p.in[0]) + begin(k) * (kAlong ? 1 : across);
        const int steps = n - begin(k) < kSteps ? int(n - begin(k)) : kSteps;
        if (steps == kSteps) {
          source.template bring<true>(piece(round), in, kSteps);
        } else {
          source.template bring<false>(piece(round), in, steps);
#pragma unroll
          for (int g = 0; g < G; ++g)
#pragma unroll 1
            for (int v = kAlong && y == 0 ? steps / V * V : steps; v < steps; ++v) piece(round)[x * kPiece.pitch + g * kApart + v] = in[from[g] + v];
        }
      }
      end_of_copies();
    };

    for (int round = 0; round < kTurnedPieces - 1; ++round) fetch(round);
#pragma unroll 1
    for (Index round = 0; round * warps < pieces; ++round) {
      await_copies<kTurnedPieces - 2>();
      __syncwarp();  // all have what they copied, and have done with the piece before
      fetch(round + kTurnedPieces - 1);
      const Index k = round * warps + warp;
      Work w;
      w.piece = piece(round) + x * (kAlong ? kPiece.pitch : 1), w.results = reinterpret_cast<Out *>(mine + kTurnedPieces * kPiece.bytes) + x * kPiece.results;
      w.step = reverse ? -step : step, w.lines = lines - x, w.first = y * kMine;
      w.here = k >= pieces ? 0 : n - begin(k) < kSteps ? int(n - begin(k)) : kSteps;
#pragma unroll
      for (int g = 0; g < G; ++g)
        w.to[g] = static_cast<Out *>(p.out) + (begins[g] + int64_t(begin(k) + (reverse ? kSteps - 1 - w.first : w.first)) * step);
      State all[G], before[G];
      if (reverse) fold<true>(p, w, all);
      else fold<false>(p, w, all);
      exchange(all, sums + int(round & 1) * warps * kLines, upto, before);
      if (reverse) scan<true>(p, w, plain, before);
      else scan<false>(p, w, plain, before);
      if (!kAlong && plain) {
        __syncwarp();
        Out *const out = static_cast<Out *>(p.out) + begin(k);
        const Out *const results = w.results - x * kPiece.results;
        if (in_words && w.here % kPiece.word == 0) write<kPiece.word>(out, begins, results, lines, w.here);
        else write<1>(out, begins, results, lines, w.here);
      }
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
  static bool accepts(const Problem &p, const Device &d) {
    if (p.empty() || p.n_inputs != 1 || p.in_place || !fastest(p, Role::K) || bytes_of(p.in[0]) > 8 || bytes_of(p.out) > 8) return false;
    if (!turned(p) || (vector(p) == 1 && (bytes_of(p.in[0]) < 4 || real_part_of(p.in[0]) != p.in[0]))) return false;
    return kFewTurnedWarps * bytes_of_warp(p, piece(p, 1)) <= d.shared_bytes - 2048;
  }
  static TurnedPiece piece(const Problem &p, int lanes) { return {bytes_of(p.in[0]), bytes_of(p.out), vector(p), lanes, along(p)}; }
  static int bytes_of_warp(const Problem &p, const TurnedPiece &one) { return one.all + 2 * one.lines * scan_state_bytes(p); }
  static int64_t blocks(const Problem &p, int lanes) { return ceil_div(p.kept(), piece(p, lanes).lines); }
  // Threads of a line at most: what a warp reads or writes at a step is a sector.
  static int most_lanes(const Problem &p) {
    return std::min(4, piece(p, 1).of_thread * bytes_of(along(p) ? p.out : p.in[0]));
  }
  // More than one where lines are few.
  static int lanes(const Problem &p, const Device &d) {
    int n = 1;
    while (n < most_lanes(p) && blocks(p, n) * 4 < int64_t(d.processors) * 3) n *= 2;
    return n;
  }
  // Lines for all processors, and pieces that are not mostly gaps; of neighbours that begin anywhere, which come one by one, more. Of 54 problems of
  // 0.5 to 400 MB (H200, time over scan.copied's) those with so many lines took 0.43 to 0.94, but for 4097 of float32 that begin anywhere, 1.19; those with a
  // little fewer (1024, 2048) 0.56 to 1.2, with half as many 1.1 to 2.3, with a quarter up to 4.7. Not where results of one or two bytes would go to memory
  // one by one. (Of 10 and 14 float64, 24 and 96 MB, it takes 0.67 to 0.84 of the best other row's time, of 25 float32 0.93 and 1.0, of 14 2.3 to 2.7.)
  static bool suits(const Problem &p, const Device &d) {
    const int behind = bytes_of(along(p) ? p.in[0] : p.out), each = !along(p) && vector(p) == 1 ? 8 : 1;
    const Mode &s = *fastest(p, Role::S);
    if (!along(p) && behind <= 2 && !starts_aligned(p, int(&s - p.modes.begin()), 0, 16 / behind)) return false;
    return s.extent * behind >= (along(p) && behind == 8 ? 80 : 128) && blocks(p, most_lanes(p)) >= int64_t(d.processors) * each;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.vector = vector(p), c.lanes = lanes(p, d), c.grid = blocks(p, c.lanes);
    const TurnedPiece one = piece(p, c.lanes);
    // As many warps as all blocks together have of a multiprocessor, and a few at least. Of many blocks each has two pieces to a warp, so that one is
    // on its way; and all its warps have as many.
    const int64_t abreast = ceil_div(c.grid, d.processors), a_warp = bytes_of_warp(p, one), pieces = ceil_div(fastest(p, Role::S)->extent, one.steps);
    const int64_t room = (d.shared_bytes - 2048) / (abreast * a_warp), most = abreast < kFewTurnedWarps ? pieces : pieces / 2;
    const int64_t warps = std::max<int64_t>(std::min(std::max<int64_t>(std::min(kTurnedWarps / abreast, room), kFewTurnedWarps), most), 1);
    c.block = 32 * int(ceil_div(pieces, ceil_div(pieces, warps))), c.shared_bytes = c.block / 32 * int(a_warp);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "scan_turned", {std::to_string(c.vector), std::to_string(c.lanes), along(p) ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
