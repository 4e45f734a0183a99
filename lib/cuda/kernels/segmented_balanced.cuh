// segmented.balanced: segments of one R mode, whose ends are data, however their lengths are spread; no other K mode ('R K', 'R').
// What is cut evenly is the path along which elements and segments are merged (Merrill and Garland 2016, "Merge-based parallel
// sparse matrix-vector multiplication"): a step for every element, and one for every segment after its last element. Each warp
// walks an equal piece of it, so that neither one long segment nor millions of empty ones fall to one block. Where a piece begins
// is found by a search in the offsets, sixteen at a time.
// A warp reads kItems vectors a lane, neighbouring lanes neighbouring vectors. While no segment ends, each lane folds its own. Where
// some do, 32 segments are in hand, one a lane: each marks its last element, the lanes fold up to the marks, a segmented scan carries
// what began in a lane before, and the segments' lanes write their results side by side.
// What a piece has of segments that go on in the next is put together by the block, and what crosses blocks by the last block to
// finish, in the order of the pieces: the result has the same bits on every run.
// Offsets are read as segmented.general reads them (detail, and what is taken where they are wrong). A segment that does not lie
// where the path says, since offsets fall, is folded alone. Whatever the offsets hold, the search cuts the segments into
// consecutive pieces, so that each is written once.
// Zeroed workspace: the ticket, padded to 16 bytes. Workspace: of each block the segment that is open at its end and the one at its
// begin (int64), then a state of each.
#pragma once
#include "device/split.cuh"
#include "kernels/segmented_general.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int64_t kBalancedWorth = 256, kBalancedPiece = 64;  // so that a small test has several blocks
#else
inline constexpr int64_t kBalancedWorth = 1 << 16;  // steps of the path from which it pays to search
inline constexpr int64_t kBalancedPiece = 1024;     // steps that a warp should have, at the least
#endif
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct segmented_balanced {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  using Inputs = typename Map::Inputs;
  static constexpr int V = kVector<Inputs>, N = Inputs::size, kWarps = kThreads / 32, kStep = 32 * V;
  static constexpr int kItems = N == 1 ? 4 : 2, kResident = resident<F, 1>(4);
  static constexpr Index kNever = limits<Index>::max();
  using Marks = word_t<unsigned char, V>;

  template <class P>
  TCU_DEVICE static Index offset(const P &p, Index at, Index least) {
    return segmented_general<Map, Op, Acc, Out, Index>::offset(p, at, least);
  }
  template <class P>
  TCU_DEVICE static void finish(const P &p, Index segment, Index begin, Index end, State s) {
    if constexpr (F::kPositions) {
      if (s.position != limits<Index>::max()) s.position -= begin;
    }
    store_result<F, Out>(p, segment * Index(p.mode[0].out), s, int64_t(end - begin));
  }
  TCU_DEVICE static State combine_warp(State s) { return combine_lanes<F>(s, 32); }
  // In each lane the states of lanes `start` (0 if that is less) to its own; start does not fall from lane to lane.
  TCU_DEVICE static State scan_warp(State s, int start) {
    const int lane = int(threadIdx.x) % 32;
#pragma unroll 1
    for (int h = 1; h < 32; h *= 2) {
      const State below = shuffle_up(s, h, 32);
      if (lane >= h && lane - h >= start) s = F::combine(below, s);
    }
    return s;
  }
  // The highest lane of a set that is not above `lane`; -1 if there is none.
  TCU_DEVICE static int last_of(unsigned lanes, int lane) { return 31 - __clz(int(lanes & ((2u << lane) - 1))); }

  // A segment by a warp, from its offsets alone.
  template <class P>
  TCU_DEVICE static void alone(const P &p, Index segment) {
    const Index begin = offset(p, segment, Index(0)), end = offset(p, segment + 1, begin);
    const int lane = int(threadIdx.x) % 32;
    State s = F::identity();
#pragma unroll 1
    for (Index r = begin + lane; r < end; r += 32) {
      Pack<1, Inputs> x;
      load_pack<1, false>(x, p, Offsets<N, Index>{}, p.n_kept, r, 0);
      s = F::append(s, apply_at<Map>(p, x, 0), r);
    }
    s = combine_warp(s);
    if (lane == 0) finish(p, segment, begin, end, s);
  }

  // The path, and where it is cut.
  struct Path {
    Index segments, low, high;  // elements low..high-1
    int64_t piece;              // steps of one
    template <class P>
    TCU_DEVICE explicit Path(const P &p) : segments(Index(p.kept)), low(offset(p, Index(0), Index(0))), high(offset(p, segments, low)) {
      const int64_t pieces = int64_t(gridDim.x) * kWarps;
      piece = ((steps() + pieces - 1) / pieces + kStep - 1) / kStep * kStep;
    }
    TCU_DEVICE int64_t steps() const { return int64_t(segments) + (high - low); }
    TCU_DEVICE Index bounded(Index element) const { return element < low ? low : element < high ? element : high; }
    // The piece in which a segment begins at element `begin`.
    TCU_DEVICE int64_t piece_of(Index segment, Index begin) const { return (int64_t(segment) + (bounded(begin) - low)) / piece; }
    // How many segments end in the first d steps; each half of a warp asks for a d of its own. Every search goes down one and the same
    // tree: for a later d it never finds fewer, whatever the offsets are.
    template <class P>
    TCU_DEVICE Index ended(const P &p, int64_t d) const {
      const int half = int(threadIdx.x) & 16, lane = int(threadIdx.x) & 15;
      int shift = 0;
      while (int64_t(segments) >> shift > 0) shift += 4;
      int64_t found = 0;
#pragma unroll 1
      for (shift -= 4; shift >= 0; shift -= 4) {
        const int64_t at = found + (int64_t(lane + 1) << shift) - 1;
        const bool before = at < int64_t(segments) && at + (bounded(offset(p, Index(at) + 1, low)) - low) < d;
        const unsigned votes = __ballot_sync(kAllLanes, before) >> half & 0xffffu;
        found += int64_t(__ffs(int(~votes)) - 1) << shift;
      }
      const int64_t least = d - (high - low);
      found = found < least ? least : found;
      return Index(found < d ? found : d);
    }
  };

  // A warp on its way through a piece: segments first..last-1 end in it, `last` is open at its end; elements begin..end-1.
  template <class P>
  struct Walk {
    using Element = typename Map::Element;
    const P &p;
    Index first, last, begin, end;
    Index low;                  // the path's
    Index head;                 // where segment `first` begins
    unsigned char *marks;       // of the warp: one for each element of a step, the segment's lane + 1 where it ends, else 0
    State *results, *crossing;  // of the warp: by lane; of segment `first` if it began before
    int lane, closed = 0;       // how many of the segments in hand are done
    // The segment of lane 0; where this lane's begins and ends; where that of 32 further does.
    Index window = 0, from = 0, to = 0, ahead = 0;
    Index limit = 0;            // from this segment on they are not where the path says
    State open = {};            // this lane's share of the segment that is open
    unsigned accesses = 0;

    TCU_DEVICE void slide(Index segment, Index before) {
      window = segment, closed = 0, to = ahead;
      from = shuffle_up(to, 1, 32);
      if (lane == 0) from = before;
      segment += lane;
      ahead = segment + 32 < last ? offset(p, segment + 33, Index(0)) : Index(0);
      const bool straight = segment == first ? low <= from && from <= begin && begin <= to : from <= to;
      const unsigned bent = __ballot_sync(kAllLanes, segment < limit && !(straight && to <= end));
      if (bent) limit = window + (__ffs(int(bent)) - 1);
      if (segment >= limit) to = kNever;
    }

    TCU_DEVICE static int of_vector(Index n) { return n < 0 ? 0 : n < V ? int(n) : V; }
    TCU_DEVICE bool readable(Index r) const { return r >= 0 && r + V <= Index(p.folded); }
    // A vector that is not readable as one: elements outside are those nearest to them.
    template <int I = 0>
    TCU_DEVICE void load_edge(Pack<V, Types<>> &, Index) const {}
    template <int I = 0, class T, class... R>
    TCU_DEVICE void load_edge(Pack<V, Types<T, R...>> &x, Index r) const {
      Vec<T, V> e;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const Index at = r + v < 0 ? 0 : r + v < Index(p.folded) ? r + v : Index(p.folded) - 1;
        e.at[v] = static_cast<const T *>(p.in[I])[at * Index(p.mode[p.n_kept].in[I])];
      }
      x.first = Raw<T, V>::of(e);
      load_edge<I + 1>(x.rest, r);
    }

    // One vector a lane, from element y on.
    TCU_DEVICE void step(Pack<V, Inputs> &x, Index y) {
      const Index r = y + lane * V, upto = y + kStep < end ? y + kStep : end;
      const int all = of_vector(end - r);
      int have = of_vector(begin - r);  // elements that are folded
      Element e[V];
      if (have < all) {
        if (!readable(r)) load_edge(x, r);
        else spread_pack<V>(x, p, p.n_kept, accesses);
#pragma unroll
        for (int v = 0; v < V; ++v) e[v] = apply_at<Map>(p, x, v);
      }
#pragma unroll 1
      for (;;) {
        const int until = __popc(__ballot_sync(kAllLanes, to <= upto));
        if (until == closed) break;
        const bool more = until == 32;  // in hand: others may end in this step
        const int stop = more ? of_vector(shuffle(to, 31, 32) - r) : all;
        const bool mine = lane >= closed && lane < until, some = mine && (from < begin ? begin : from) < to;
        if (some) marks[to - 1 - y] = static_cast<unsigned char>(lane + 1);
        __syncwarp();
        Marks *const own = reinterpret_cast<Marks *>(marks) + lane;
        const auto ends = __builtin_bit_cast(Vec<unsigned char, V>, *own);
        *own = Marks{};

        State s = F::identity(), earliest = s;  // since the last mark; up to the first
        int slot = -1;                          // the first mark's
#pragma unroll
        for (int v = 0; v < V; ++v) {
          if (v >= have && v < stop) s = F::append(s, e[v], r + v);
          if (ends.at[v]) {
            if (slot < 0) earliest = s, slot = ends.at[v] - 1;
            else results[ends.at[v] - 1] = s;
            s = F::identity();
          }
        }
        const unsigned enders = __ballot_sync(kAllLanes, slot >= 0);
        if (enders) {
          const int opens = __ffs(int(enders)) - 1, closes = 31 - __clz(int(enders));
          if (lane < opens) open = F::combine(open, s);
          if (lane == opens) open = F::combine(open, earliest);
          const State whole = combine_warp(open);
          const int target = shuffle(slot, opens, 32);
          if (lane == 0) results[target] = whole;
          open = lane < closes ? F::identity() : s;
          if (opens < closes) {
            const State carried = shuffle_up(scan_warp(s, last_of(enders, lane)), 1, 32);
            if (slot >= 0 && lane > opens) results[slot] = F::combine(carried, earliest);
          }
        } else {
          open = F::combine(open, s);
        }
        __syncwarp();
        if (mine) {
          const State result = some ? results[lane] : F::identity();
          if (window + lane == first && from < begin) *crossing = result;
          else finish(p, window + lane, from, to, result);
        }
        have = stop, closed = until;
        if (!more) return;
        slide(window + 32, shuffle(to, 31, 32));
      }
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (v >= have && v < all) open = F::append(open, e[v], r + v);
    }

    // Elements of which none is a segment's last, nor outside.
    TCU_DEVICE void vector(Pack<V, Inputs> &x, Index r) {
      spread_pack<V>(x, p, p.n_kept, accesses);
      if constexpr (F::kAppends || F::kPositions) {
#pragma unroll
        for (int v = 0; v < V; ++v) open = F::append(open, apply_at<Map>(p, x, v), r + v);
      } else {
        State s[V];
#pragma unroll
        for (int v = 0; v < V; ++v) s[v] = F::lift(apply_at<Map>(p, x, v), r + v);
        open = F::combine(open, combine_all<F>(s));
      }
    }

    TCU_DEVICE void run() {
      using T = first_of<Inputs>;
      constexpr int kLine = 8 * V;  // elements that a lane group's addresses are aligned to: 128 bytes of the widest input
      const Offsets<N, Index> o;
      const Index line = Index((reinterpret_cast<uint64_t>(p.in[0]) & (kLine * sizeof(T) - 1)) / sizeof(T));
      if constexpr (V > 1) accesses = find_accesses<V>(Inputs{}, p, o, p.n_kept, kLine - line);
      open = F::identity(), limit = last;
      ahead = first + lane < last ? offset(p, first + lane + 1, Index(0)) : Index(0);
      slide(first, head);
      Index y = (begin + line) / kLine * kLine - line;
#pragma unroll 1
      do {  // at least once: segments may end where there are no elements
        Pack<V, Inputs> x[kItems];
        const Index r = y + lane * V, next = y + kItems * kStep;
        const bool inner = y >= 0 && next <= end;
        if (inner && accesses == 0) {
#pragma unroll
          for (int k = 0; k < kItems; ++k) load_pack<V, true, true>(x[k], p, o, p.n_kept, r + k * kStep, 0);
        } else {
#pragma unroll
          for (int k = 0; k < kItems; ++k)
            if (readable(r + k * kStep) && r + k * kStep < end) load_pack<V, false, true>(x[k], p, o, p.n_kept, r + k * kStep, accesses);
        }
        if (inner && y >= begin && __popc(__ballot_sync(kAllLanes, to <= next)) == closed) {
#pragma unroll
          for (int k = 0; k < kItems; ++k) vector(x[k], r + k * kStep);
        } else {
#pragma unroll 1
          for (int k = 0; k < kItems; ++k) {  // the code of a step stands once: the vectors move up
            step(x[0], y + k * kStep);
            if (y + (k + 1) * kStep >= end) break;
#pragma unroll
            for (int j = 1; j < kItems; ++j) x[j - 1] = x[j];
          }
        }
        y = next;
      } while (y < end);
      open = combine_warp(open);
#pragma unroll 1
      for (Index segment = limit; segment < last; ++segment) alone(p, segment);
    }
  };

  // What the blocks leave for the last one.
  struct Left {
    int64_t *open;  // the segment at the block's end, twice, and 1 if it begins in the block; -1 if it is not where the path says
    int64_t *head;  // the segment at the block's begin if it began before and ends here, or -1
    State *tails, *heads;
    template <class P>
    TCU_DEVICE explicit Left(const P &p)
        : open(static_cast<int64_t *>(p.workspace)), head(open + gridDim.x), tails(reinterpret_cast<State *>(head + gridDim.x)),
          heads(tails + gridDim.x) {}
  };

  // Segments that cross blocks: a segmented scan over what the blocks have left open, some neighbouring blocks a thread.
  template <class P>
  TCU_DEVICE static void join(const P &p, const Path &path, const Left &left, State *sums, Index *cuts) {
    const int blocks = int(gridDim.x), each = (blocks + kThreads - 1) / kThreads;
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const int from = int(threadIdx.x) * each, to = from + each < blocks ? from + each : blocks;
    const auto onto = [&](State s, int b) {
      const int64_t open = left.open[b];
      return open < 0 || open & 1 ? left.tails[b] : F::combine(s, left.tails[b]);
    };
    const auto crosses = [&](int64_t segment) {
      return left.open[path.piece_of(Index(segment), offset(p, Index(segment), Index(0))) / kWarps] == 2 * segment + 1;
    };
    State s = F::identity();
    bool cut = false;
#pragma unroll 1
    for (int b = from; b < to; ++b) s = onto(s, b), cut |= left.open[b] < 0 || left.open[b] & 1;
    const unsigned cutting = __ballot_sync(kAllLanes, cut);
    s = scan_warp(s, last_of(cutting, lane));
    if (lane == 31) sums[warp] = s, cuts[warp] = cutting != 0;
    const State below = shuffle_up(s, 1, 32);
    __syncthreads();
    s = F::identity();
#pragma unroll 1
    for (int w = 0; w < warp; ++w) s = cuts[w] ? sums[w] : F::combine(s, sums[w]);
    if (lane > 0) s = last_of(cutting, lane - 1) >= 0 ? below : F::combine(s, below);
    bool bent = false;
#pragma unroll 1
    for (int b = from; b < to; ++b) {
      if (const int64_t segment = left.head[b]; segment >= 0) {
        const Index begin = offset(p, Index(segment), Index(0));
        if (crosses(segment)) finish(p, Index(segment), begin, offset(p, Index(segment) + 1, begin), F::combine(s, left.heads[b]));
        else bent = true;
      }
      s = onto(s, b);
    }
    if (!__syncthreads_or(bent)) return;
#pragma unroll 1
    for (int b = warp; b < blocks; b += kWarps)
      if (left.head[b] >= 0 && !crosses(left.head[b])) alone(p, Index(left.head[b]));
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(Marks, marks, kThreads);
    TCU_SHARED(State, results, kThreads);
    TCU_SHARED(State, tails, kWarps);    // of each warp: what it has of the segment that is open at its end,
    TCU_SHARED(State, heads, kWarps);    // and of the one at its begin that began before
    TCU_SHARED(Index, opens, kWarps);    // the former, or -1 if it is not where the path says
    TCU_SHARED(Index, crossing, 1);      // of the block: the segment at its begin that began before
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const Path path(p);
    const int64_t piece = int64_t(blockIdx.x) * kWarps + warp, step = (piece + lane / 16) * path.piece;
    const int64_t d = step < path.steps() ? step : path.steps();
    const Index ended = path.ended(p, d), element = path.low + Index(d - ended);
    const Index first = shuffle(ended, 0, 32), begin = shuffle(element, 0, 32);
    Walk<P> walk{p, first, shuffle(ended, 16, 32), begin, shuffle(element, 16, 32), path.low, offset(p, first, Index(0)),
                 reinterpret_cast<unsigned char *>(marks + warp * 32), results + warp * 32, heads + warp, lane};
    marks[threadIdx.x] = Marks{};
    if (threadIdx.x == 0) crossing[0] = -1;
    __syncwarp();
    walk.run();
    if (lane == 0) {
      tails[warp] = walk.open;
      opens[warp] = walk.limit < walk.last || (walk.first == walk.last && walk.head > walk.begin) ? Index(-1) : walk.last;
    }
    __syncthreads();

    const Left left(p);
    const int64_t block = int64_t(blockIdx.x) * kWarps;  // its first piece
    // What the warps from the one on in which `segment` begins have of it, up to warp end - 1.
    const auto gather = [&](Index segment, int64_t begins, int end, bool &straight) {
      State s = F::identity();
#pragma unroll 1
      for (int w = begins > block ? int(begins - block) : 0; w < end; ++w) straight &= opens[w] == segment, s = F::combine(s, tails[w]);
      return s;
    };
    if (walk.first < walk.limit && walk.head < walk.begin) {
      const int64_t begins = path.piece_of(walk.first, walk.head);
      bool straight = true;
      const State s = F::combine(gather(walk.first, begins, warp, straight), heads[warp]);
      if (!straight) {
        alone(p, walk.first);
      } else if (lane == 0) {
        if (begins >= block) finish(p, walk.first, walk.head, offset(p, walk.first + 1, walk.head), s);
        else left.heads[blockIdx.x] = s, crossing[0] = walk.first;
      }
    }
    if (gridDim.x == 1) return;
    if (threadIdx.x == kThreads - 1) {
      const Index segment = opens[kWarps - 1];
      bool straight = segment >= 0;
      const int64_t begins = straight ? path.piece_of(segment, offset(p, segment, Index(0))) : block;
      left.tails[blockIdx.x] = gather(segment, begins, kWarps, straight);
      left.open[blockIdx.x] = straight ? 2 * int64_t(segment) + (begins >= block) : -1;
    }
    __syncthreads();
    if (threadIdx.x == 0) left.head[blockIdx.x] = crossing[0];
    if (is_last(p.zeroed, 0, gridDim.x)) join(p, path, left, tails, opens);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct SegmentedBalanced {
  static int64_t steps(const Problem &p) { return p.kept() + p.reduced(); }
  static bool accepts(const Problem &p, const Device &) {
    if (p.modes.n_of(Role::R) != 1 || steps(p) < kBalancedWorth) return false;
    for (const Mode &m : p.modes)
      if (m.role == Role::K && m.stride[p.offsets_operand()] == 0) return false;
    return true;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.detail = p.offsets == DType::i64;
    c.grid = persistent_grid("segmented.balanced", p, d, ceil_div(steps(p), kBalancedPiece * (kThreads / 32)));
    if (c.grid > 1) {
      c.zeroed_bytes = 16, c.leaves_zero = true;
      c.workspace_bytes = c.zeroed_bytes + size_t(c.grid * 2 * (8 + state_bytes(p)));
    }
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "segmented_balanced");
  }
};

}  // namespace tcu::cuda::rows
#endif
