// reduce.turned: inputs that lie across each other ('R', 'K R', 'R K', 'K K R'), or results that lie across what they are of ('K R K').
// A step is a tile of kA x kB elements along two modes, a and b (p.detail: two numbers of eight bits). Inputs that are contiguous along a, or one element
// all along it, are read as they lie, V neighbours at a time; those in kTurned, a bit each, are contiguous along b, are read along it, W at a time, and
// stand in shared memory as a goes through the tile.
// b is reduced, and a thread folds its rows of the tile onto V states; or both are kept (kKeepsB), and it has a state for each of its elements. Then results
// go through shared memory, S neighbours at a time, for they are contiguous along a or (kTurnsOut) along b.
// The steps of a tile of outputs are all that is reduced; with p.split > 1 a block has p.chunk of them, and the last one to finish puts the parts together
// (device/split.cuh).
#pragma once
#include "device/tile_box.cuh"
#include "kernels/reduce_strided.cuh"

namespace tcu::cuda {
// Bytes of an input's tile in shared memory.
TCU_FN constexpr int turned_bytes(int a, int b, int size) { return (b * row_pitch(a, size) * size + 15) / 16 * 16; }
// States of a tile, a row of `fast` after the other.
TCU_FN constexpr int turned_pitch(int fast) { return fast + 1; }
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int kA, int kB, int V, int W, unsigned kOnce, unsigned kTurned, bool kKeepsB,
          bool kTurnsOut, int S>
struct reduce_turned {
  using Inputs = typename Map::Inputs;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  using Strided = reduce_strided<Map, Op, Acc, Out, Index, false, 0>;  // how a block's rows are put together, and parts
  static constexpr int N = Inputs::size, kElements = kA * kB, kAcross = kA / V, kDown = kThreads / kAcross, kRows = kB / kDown;
  static constexpr int kHeld = kKeepsB ? kRows : 1;  // times V states
  static constexpr int kBytes = largest_of<Inputs>::bytes;
  // Where results alone are turned six and eight blocks in place of four take 0.79 to 0.97 of the time, where inputs are 1.05 to 2; of these, where narrow
  // elements come one by one, two leave registers for all of a step (int8 0.6 of the time, float16 0.92; H200).
  static constexpr bool kLean = kTurned == 0 && V > 1 && V * kHeld * sizeof(State) <= 64 && !F::kAppends, kSingly = kTurned != 0 && V == 1 && kBytes < 4;
  static constexpr int kResident = kLean ? kBytes == 2 ? 6 : 8 : resident<F, V * kHeld>(kSingly ? 2 : 4);
  using AwaitsTurn = reduce_turned;
  static_assert(kB % kDown == 0 && kRows > 0);

  struct Modes {
    int a, b;
    template <class P>
    TCU_DEVICE explicit Modes(const P &p) : a(p.detail & 0xff), b(p.detail >> 8) {}
  };
  struct Tile {
    Offsets<N, Index> from;  // of its first element
    int left[2];             // elements along a and b, from there on
  };
  // Where a thread is in a tile.
  struct Thread {
    int a, b;  // of its first row
    TCU_DEVICE Thread() : a(int(threadIdx.x) % kAcross * V), b(int(threadIdx.x) / kAcross) {}
  };

  // What a thread reads of a tile of each input: kRows vectors along a, or `kRead` times a word's rows along b.
  template <class Those, int I = 0> struct Read;
  template <int I> struct Read<Types<>, I> {
    template <class P> TCU_DEVICE void load(const P &, const Modes &, const Tile &, const Thread &) {}
    TCU_DEVICE void turn(SharedElements) const {}
    template <unsigned kOne> TCU_DEVICE void get(Pack<V, Types<>, kOne> &, const Thread &, int, SharedElements) const {}
  };
  template <int I, class T, class... R> struct Read<Types<T, R...>, I> {
    static constexpr bool kIsTurned = (kTurned >> I & 1) != 0;
    static constexpr int G = kIsTurned ? in_word(sizeof(T)) : 1, E = kIsTurned ? W : kOnce >> I & 1 ? 1 : V;
    static constexpr int kRead = kIsTurned ? kElements / (kThreads * W * G) : kRows, kPitch = row_pitch(kA, sizeof(T));
    static constexpr int kVectors = kB / W;  // along b
    static_assert(!kIsTurned || (kElements % (kThreads * W * G) == 0 && kRead > 0));
    Raw<T, E> x[kRead][G];
    Read<Types<R...>, I + 1> rest;

    // Elements that are not there are others again: loads that may not happen wait for one another.
    template <class P>
    TCU_DEVICE void load(const P &p, const Modes &modes, const Tile &tile, const Thread &thread) {
      const T *const start = static_cast<const T *>(p.in[I]) + tile.from.in[I];
      const Index along = Index(p.mode[modes.a].in[I]), across = Index(p.mode[modes.b].in[I]);
#pragma unroll
      for (int k = 0; k < kRead; ++k)
#pragma unroll
        for (int g = 0; g < G; ++g) {
          const int item = int(threadIdx.x) + k * kThreads;
          const int a = kIsTurned ? item / kVectors * G + g : thread.a, b = kIsTurned ? item % kVectors * W : thread.b + k * kDown;
          const T *const at = start + (a < tile.left[0] && b < tile.left[1] ? a * along + b * across : Index(0));
          if constexpr (E == 1) x[k][g] = Raw<T, 1>::load_one(at);
          else x[k][g] = Raw<T, E>::template load<true>(at);
        }
      rest.load(p, modes, tile, thread);
    }
    // To shared memory.
    TCU_DEVICE void turn(SharedElements to) const {
      if constexpr (kIsTurned) {
        int column[W];
#pragma unroll
        for (int w = 0; w < W; ++w) column[w] = w * kPitch;
#pragma unroll
        for (int k = 0; k < kRead; ++k) {
          const int item = int(threadIdx.x) + k * kThreads, b = item % kVectors * W, a = item / kVectors * G;
          put_columns(to, (a + b * kPitch) * int(sizeof(T)), column, int(sizeof(T)), x[k]);
        }
        rest.turn(to.beyond(turned_bytes(kA, kB, sizeof(T))));
      } else {
        rest.turn(to);
      }
    }
    // The k-th row's vector.
    template <unsigned kOne>
    TCU_DEVICE void get(Pack<V, Types<T, R...>, kOne> &pack, const Thread &thread, int k, SharedElements from) const {
      if constexpr (kIsTurned) {
        pack.first = Raw<T, V>::of(neighbours_at<T, V>(from, (thread.a + (thread.b + k * kDown) * kPitch) * int(sizeof(T))));
        rest.get(pack.rest, thread, k, from.beyond(turned_bytes(kA, kB, sizeof(T))));
      } else {
        pack.first = x[k][0];
        rest.get(pack.rest, thread, k, from);
      }
    }
  };

  // Adds to o what `linear` is among modes first..last-1 but a and b.
  template <class P>
  TCU_DEVICE static void decode_others(Offsets<N, Index> &o, const P &p, const Modes &modes, int first, int last, Index linear) {
#pragma unroll 1
    for (int m = first; m < last; ++m)
      if (m != modes.a && m != modes.b) linear = advance_part(o, p.mode[m], linear);
  }
  // The tile's next place along a mode, of which there are `linear` before it; what is left of `linear` for the modes after it.
  template <class P>
  TCU_DEVICE static Index place(Tile &tile, const P &p, int mode, int which, int size, Index linear) {
    const Index extent = Index(p.mode[mode].extent), n = (extent - 1) / size + 1, rest = linear / n, first = (linear - rest * n) * size;
    advance(tile.from, p.mode[mode], first);
    tile.left[which] = extent - first < size ? int(extent - first) : size;
    return rest;
  }

  // A tile's elements onto the states; kWhole: all are there.
  template <bool kWhole, class P>
  TCU_DEVICE static void fold(const P &p, const Modes &modes, const Tile &tile, const Thread &thread, const Read<Inputs> &read, SharedElements turned,
                              State (&s)[kHeld][V]) {
    Pack<V, Inputs, kOnce> x[kRows];
    Index position[kRows];
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      read.get(x[k], thread, k, turned);
      position[k] = tile.from.weight + thread.a * Index(p.mode[modes.a].weight) + (thread.b + k * kDown) * Index(p.mode[modes.b].weight);
    }
    const auto there = [&](int k) { return kWhole || (thread.a < tile.left[0] && thread.b + k * kDown < tile.left[1]); };
    if constexpr (!kKeepsB) {
      append_rows<F, Map, false, kWhole>(p, s[0], x, position, there);
    } else {
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const Pack<V, Inputs, kOnce> one[1] = {x[k]};
        const Index where[1] = {position[k]};
        append_rows<F, Map, false, kWhole>(p, s[k], one, where, [&](int) { return there(k); });
      }
    }
  }

  // The states of a tile of outputs that are one each: through shared memory, so that neighbouring threads store neighbours.
  template <class P>
  TCU_DEVICE static void store_tile(const P &p, const Modes &modes, const Tile &tile, const Thread &thread, const State (&s)[kHeld][V], State *shared) {
    constexpr int kFast = kTurnsOut ? kB : kA, kPitch = turned_pitch(kFast), kVectors = kFast / S;
    __syncthreads();  // what was there may still be being read
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const int a = thread.a + v, b = thread.b + k * kDown;
        shared[kTurnsOut ? a * kPitch + b : b * kPitch + a] = s[k][v];
      }
    __syncthreads();
    const auto &fast = p.mode[kTurnsOut ? modes.b : modes.a], &slow = p.mode[kTurnsOut ? modes.a : modes.b];
#pragma unroll(S > 1 ? 2 : 4)
    for (int i = int(threadIdx.x); i < kElements / S; i += kThreads) {
      const int f = i % kVectors * S, r = i / kVectors;
      if (f >= tile.left[kTurnsOut] || r >= tile.left[!kTurnsOut]) continue;
      const State *const of = shared + r * kPitch + f;
      const Index to = tile.from.out + f * Index(fast.out) + r * Index(slow.out);
      if constexpr (S == 1) {
        store_result<F, Out>(p, to, *of, p.folded);
      } else {
        Vec<typename F::Post, S> all;
#pragma unroll
        for (int v = 0; v < S; ++v) all.at[v] = F::post(p, of[v], p.folded);
        store(p, static_cast<Out *>(p.out) + to, all);
      }
    }
  }
  // The same where a thread's are of one output, or of kA.
  template <class P>
  TCU_DEVICE static void store_combined(const P &p, const Modes &modes, const Tile &tile, State (&s)[V], Index cell, Index part, State *shared) {
    const bool keeps_a = modes.a < p.n_kept;
    const int width = keeps_a ? kA : 1, t = int(threadIdx.x);
    State mine;
    if (keeps_a) {
      mine = Strided::template fold_rows<V>(s, kAcross, shared);
    } else {
      if constexpr (F::kPositions) {
#pragma unroll
        for (int v = 1; v < V; ++v) s[v] = F::beyond(s[v], v * Index(p.mode[modes.a].weight));
      }
      mine = combine_group<F>(combine_all<F>(s), kThreads, shared);
    }
    if (p.split > 1) {
      const auto all = Strided::combine_apart(mine, Strided::parts_of(p, width, cell, int(part)), width, shared);
      if (!all.is_last) return;
      mine = all.mine;
    }
    if (t < width && (!keeps_a || t < tile.left[0])) store_result<F, Out>(p, tile.from.out + t * Index(p.mode[modes.a].out), mine, p.folded);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(char, room);
    TCU_SHARED(State, shared, kKeepsB ? 1 : kThreads / 32 * kA < kThreads ? kThreads : kThreads / 32 * kA);
    const SharedElements turned(room);
    const Modes modes(p);
    const Thread thread;
    const bool keeps_a = modes.a < p.n_kept;
    Index cells = Index(p.kept), steps = Index(p.folded);  // elements, and then tiles of them
    const auto cut = [&](Index &n, int mode, int size) {
      const Index extent = Index(p.mode[mode].extent);
      n = n / extent * ((extent - 1) / size + 1);
    };
    cut(keeps_a ? cells : steps, modes.a, kA), cut(kKeepsB ? cells : steps, modes.b, kB);
    const Index n = cells * Index(p.split), chunk = Index(p.chunk);
    await_turn();
#pragma unroll 1
    for (Index item = blockIdx.x; item < n; item += gridDim.x) {
      const Index part = item / cells, cell = item - part * cells, begin = part * chunk, end = steps - begin > chunk ? begin + chunk : steps;
      Tile first{};
      Index rest = cell;
      if constexpr (kTurnsOut) rest = place(first, p, modes.b, 1, kB, rest);
      if (keeps_a) rest = place(first, p, modes.a, 0, kA, rest);
      if constexpr (kKeepsB && !kTurnsOut) rest = place(first, p, modes.b, 1, kB, rest);
      decode_others(first.from, p, modes, 0, p.n_kept, rest);
      const auto at = [&](Index step) {
        Tile tile = first;
        if constexpr (!kKeepsB) step = place(tile, p, modes.b, 1, kB, step);
        if (!keeps_a) step = place(tile, p, modes.a, 0, kA, step);
        decode_others(tile.from, p, modes, p.n_kept, p.n_kept + p.n_folded, step);
        return tile;
      };
      State s[kHeld][V];
#pragma unroll
      for (int k = 0; k < kHeld; ++k)
#pragma unroll
        for (int v = 0; v < V; ++v) s[k][v] = F::identity();
#pragma unroll 1
      for (Index step = begin; step < end; ++step) {
        const Tile tile = at(step);
        Read<Inputs> read;
        read.load(p, modes, tile, thread);
        if constexpr (kTurned != 0) {
          __syncthreads();  // the last step's elements may still be being read
          read.turn(turned);
          __syncthreads();
        }
        if (tile.left[0] == kA && tile.left[1] == kB) fold<true>(p, modes, tile, thread, read, turned, s);
        else fold<false>(p, modes, tile, thread, read, turned, s);
      }
      if constexpr (kKeepsB) store_tile(p, modes, first, thread, s, reinterpret_cast<State *>(room));
      else store_combined(p, modes, first, s[0], cell, part, shared);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_general.cuh"
#include "kernels/reduce_split.cuh"

namespace tcu::cuda::rows {

struct ReduceTurned {
  // The two modes of a tile, the inputs that are turned, a bit each, and whether out is; a < 0: there are none.
  struct Ways {
    int a = -1, b = -1;
    unsigned turned = 0;
    bool out = false;
  };
  static int along(const Problem &p, int operand) {
    for (int m = 0; m < p.modes.size(); ++m)
      if (p.modes[m].stride[operand] == 1) return m;
    return -1;
  }
  static bool is_turned(const Problem &p, int operand, int a) { return p.modes[a].stride[operand] != 0 && p.modes[a].stride[operand] != 1; }
  static Ways ways(const Problem &p) {
    Ways w;
    w.a = along(p, leading_input(p));
    if (w.a < 0) return {};
    for (int k = 1; k <= p.n_inputs && w.b < 0; ++k)
      if (is_turned(p, k, w.a) && (w.b = along(p, k)) < 0) return {};
    if (w.b < 0 && p.modes[w.a].role == Role::K && is_turned(p, 0, w.a)) w.b = along(p, 0);
    if (w.b < 0) return {};
    if (p.modes[w.a].role == Role::R && p.modes[w.b].role == Role::K) std::swap(w.a, w.b);
    for (int k = 1; k <= p.n_inputs; ++k) {
      if (!is_turned(p, k, w.a)) continue;
      if (p.modes[w.b].stride[k] != 1) return {};
      w.turned |= 1u << (k - 1);
    }
    w.out = p.modes[w.b].role == Role::K && is_turned(p, 0, w.a) && p.modes[w.b].stride[0] == 1;
    return w.turned != 0 || w.out ? w : Ways{};
  }
  static bool keeps_b(const Problem &p, const Ways &w) { return p.modes[w.b].role == Role::K; }

  struct Shape {
    int a = 0, b = 0, v = 1, w = 1, s = 1;  // elements of a tile, of accesses along each, and of stores; a is 0 where there is none
  };
  static Shape shape(const Problem &p, const Ways &w) {
    const bool keeps = keeps_b(p, w);
    int widest = 1, narrowest = 16;  // the latter of those that are turned
    for (int k = 1; k <= p.n_inputs; ++k) {
      widest = std::max(widest, bytes_of(p.dtype(k)));
      if (w.turned >> (k - 1) & 1) narrowest = std::min(narrowest, bytes_of(p.dtype(k)));
    }
    Shape s{128, 64};
    const auto smaller = [&] { (s.a > s.b ? s.a : s.b) /= 2; };
    while (s.a * s.b * widest > 8192) smaller();
    while (keeps && s.a * s.b / kThreads * state_bytes(p) > 64 && s.a * s.b > kThreads) smaller();
    const auto widest_along = [&](int mode, int most, bool turned) {
      for (int v = most; v > 1; v /= 2) {
        bool whole = true;
        for (int k = 1; k <= p.n_inputs; ++k) {
          const bool own = turned ? (w.turned >> (k - 1) & 1) != 0 : p.modes[mode].stride[k] == 1;
          whole &= !own || rows_aligned(p, mode, k, v);
        }
        if (whole) return v;
      }
      return 1;
    };
    const int each = s.a * s.b / kThreads;  // elements of a thread
    s.v = widest_along(w.a, std::min({vector_of(p, false), most_columns(appends(p)), each}), false);
    if (w.turned) s.w = widest_along(w.b, std::min(vector_of(p, false), each / in_word(narrowest)), true);
    if (each < in_word(narrowest)) return {};
    if (const int fast = w.out ? w.b : w.a; keeps && p.n_more == 0 && p.modes[fast].stride[0] == 1)
      for (s.s = std::min(16 / bytes_of(p.out), 8); s.s > 1 && !rows_aligned(p, fast, 0, s.s);) s.s /= 2;
    return s;
  }
  static bool accepts(const Problem &p, const Device &) {
    if (p.modes.size() < 2 || p.n_inputs < 1 || p.n_inputs > 4 || p.empty() || p.modes.n_of(Role::R) == 0 || p.reduced() == 0) return false;
    const Ways w = ways(p);
    return w.a >= 0 && shape(p, w).a > 0;
  }
  // Tiles of outputs, and steps of each; how much of a step's tile there is.
  struct Work {
    int64_t cells = 1, steps = 1;
    double filled = 1;
  };
  static Work work(const Problem &p, const Ways &w, const Shape &s) {
    Work all;
    for (int m = 0; m < p.modes.size(); ++m) {
      const int64_t extent = p.modes[m].extent, size = m == w.a ? s.a : m == w.b ? s.b : 1, n = ceil_div(extent, size);
      (p.modes[m].role == Role::K ? all.cells : all.steps) *= n;
      all.filled *= double(extent) / double(n * size);
    }
    return all;
  }
  // Where tiles are full, and there is something to read. (H200, time over that of the row that there was, 150 random problems of two and three inputs
  // across each other: of the 52 that this takes, 0.08 to 0.95 in 46, up to 1.1 in six. Of tiles that are less full up to 18, and where both modes are kept
  // and tiles are few up to 137. Results that lie across, of two and three elements each, 0.5 to 0.85; of eight reduce.copied takes less where they have one
  // or two bytes.)
  static bool suits(const Problem &p, const Device &d) {
    const Ways w = ways(p);
    const Work all = work(p, w, shape(p, w));
    if (w.turned == 0) return p.reduced() <= 4 && !appends(p) && all.filled >= 0.6 && all.cells >= 4 * d.processors;
    if (p.modes[w.a].role == Role::R) return all.filled >= 0.25 && p.bytes() >= 1 << 20;
    return all.filled >= 0.6 && p.bytes() >= 4 << 20 && (!keeps_b(p, w) || 2 * all.cells >= 3 * d.processors);
  }

  // The mode's number in Params: the K modes first.
  static int number(const Problem &p, int mode) {
    int n = p.modes[mode].role == Role::K ? 0 : p.modes.n_of(Role::K);
    for (int m = 0; m < mode; ++m) n += p.modes[m].role == p.modes[mode].role;
    return n;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const Ways w = ways(p);
    const Shape s = shape(p, w);
    const bool keeps = keeps_b(p, w), keeps_a = p.modes[w.a].role == Role::K;
    LaunchConfig c;
    c.block = kThreads, c.vector = s.v, c.detail = number(p, w.a) | number(p, w.b) << 8;
    const auto [cells, steps, filled] = work(p, w, s);
    for (int k = 1; k <= p.n_inputs; ++k)
      if (w.turned >> (k - 1) & 1) c.shared_bytes += turned_bytes(s.a, s.b, bytes_of(p.dtype(k)));
    if (keeps)
      c.shared_bytes = std::max(c.shared_bytes, (w.out ? s.a * turned_pitch(s.b) : s.b * turned_pitch(s.a)) * state_bytes(p));
    const int64_t parts = keeps ? 1 : ReduceSplit::parts_for(cells, ReduceSplit::resident("reduce.turned", p, d, s.v), steps);
    c.chunk = ceil_div(steps, parts), c.split = ceil_div(steps, c.chunk);
    c.grid = std::min<int64_t>(cells * c.split, INT32_MAX);
    ReduceSplit::keep_parts(c, p, cells, keeps_a ? s.a : 1);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    const Ways w = ways(p);
    const Shape s = shape(p, w);
    const auto text = [](int n) { return std::to_string(n); };
    return make_instance(p, "reduce_turned", {text(s.a), text(s.b), text(s.v), text(s.w), bits_text(once_along(p, p.modes[w.a], s.v) & ~w.turned),
                                              bits_text(w.turned), keeps_b(p, w) ? "true" : "false", w.out ? "true" : "false", text(s.s)});
  }
};

}  // namespace tcu::cuda::rows
#endif
