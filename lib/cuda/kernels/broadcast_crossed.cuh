// broadcast.crossed: inputs that lie across out, and across each other ('K K K ...', each contiguous along another mode).
// A tile has kA x kB x kC elements: along out's fastest mode, along the one in which the first such input is contiguous, and along the one in which
// another is (p.detail: two numbers of eight bits). Each of them is read along its own fastest mode, kWB or kWC neighbours at a time, and put into shared
// memory as out goes through the tile; kAlongB and kAlongC say which, a bit each. Then out is gone through, V neighbours at a time, and what is not
// turned is read as it lies, or once a vector (kOnce).
// A block has one tile. They are numbered in columns of kStrip x kStrip tiles, along out's fastest mode, so that those which have parts of the same
// lines of any operand are there at about the same time.
// In place: an element is written by the thread that read it, after it did (an operand with out's layout is never turned).
#pragma once
#include "device/map.cuh"
#include "device/tile_box.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int kStrip = 2;  // so that a small test has several
#else
inline constexpr int kStrip = 8;
#endif
// How many of four bits are set.
TCU_FN constexpr int bits_in(unsigned n) { return int((n & 1) + (n >> 1 & 1) + (n >> 2 & 1) + (n >> 3 & 1)); }
// Elements in shared memory from one plane of rows along out to the next: an odd number of words, as from row to row (row_pitch), so that what a warp
// stores at once lies in different banks; and bytes of all planes.
TCU_FN constexpr int crossed_plane(int a, int b, int size) { return b * row_pitch(a, size) + in_word(size); }
TCU_FN constexpr int crossed_bytes(int a, int b, int c, int size) { return (c * crossed_plane(a, b, size) * size + 15) / 16 * 16; }
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, int kA, int kB, int kC, int V, int kWB, int kWC, unsigned kOnce, unsigned kAlongB,
          unsigned kAlongC>
struct broadcast_crossed {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, kBytes = largest_of<Inputs>::bytes, kElements = kA * kB * kC, kResident = map_blocks<Map, Acc, V>(4);
  static constexpr unsigned kTurned = kAlongB | kAlongC;
  using AwaitsTurn = broadcast_crossed;
  // Elements that make a word; and, in shared memory, from one row to the next, and from one plane.
  template <class T> static constexpr int kTogether = in_word(sizeof(T));
  template <class T> static constexpr int kRow = row_pitch(kA, sizeof(T));
  template <class T> static constexpr int kPlane = crossed_plane(kA, kB, sizeof(T));

  // Vectors of W of each of kTogether rows that a thread has of a tile of an input; and that it has in flight.
  template <class T, int W> static constexpr int kEach = kElements / (W * kTogether<T> * kThreads);
  template <class T, int W> static constexpr int kMost = permute_items(W, kBytes) / (bits_in(kTurned) > 2 ? 2 : 1) / kTogether<T>;
  template <class T, int W> static constexpr int kItems = kMost<T, W> < 1 ? 1 : kMost<T, W> < kEach<T, W> ? kMost<T, W> : kEach<T, W>;
  // How many times all inputs are asked, till each has given all of a tile.
  template <int I>
  TCU_FN static constexpr int rounds(Types<>) { return 1; }
  template <int I, class T, class... R>
  TCU_FN static constexpr int rounds(Types<T, R...>) {
    constexpr int W = kAlongC >> I & 1 ? kWC : kWB, kOwn = kTurned >> I & 1 ? kEach<T, W> / kItems<T, W> : 1, kOthers = rounds<I + 1>(Types<R...>{});
    return kOwn > kOthers ? kOwn : kOthers;
  }

  struct Tile {
    Offsets<N, Index> from;  // of its first element
    int left[3];             // elements along each of the three, from there on
  };
  struct Modes {
    int b, c;
    template <class P>
    TCU_DEVICE explicit Modes(const P &p) : b(p.detail & 0xff), c(p.detail >> 8) {}
  };
  template <class P>
  TCU_DEVICE static Index tiles(const P &p, const Modes &modes) {
    const Index a = Index(p.mode[0].extent), b = Index(p.mode[modes.b].extent), c = Index(p.mode[modes.c].extent);
    return Index(p.kept) / (a * b * c) * (((a - 1) / kA + 1) * ((b - 1) / kB + 1) * ((c - 1) / kC + 1));
  }
  // Where a tile is.
  template <class P>
  TCU_DEVICE static Tile locate(const P &p, const Modes &modes, Index tile) {
    Tile at{};
    const int mode[3] = {0, modes.b, modes.c}, size[3] = {kA, kB, kC};
    Index n[3], number[3];  // of tiles along each; of this one
#pragma unroll
    for (int i = 0; i < 3; ++i) n[i] = (Index(p.mode[mode[i]].extent) - 1) / size[i] + 1;
    const Index all = n[0] * n[1] * n[2], outer = tile / all;
    Index rest = tile - outer * all, wide[3];  // of this column
#pragma unroll
    for (int i = 2; i > 0; --i) {
      const Index beside = n[0] * (i == 2 ? n[1] : wide[2]), strip = rest / (beside * kStrip), first = strip * kStrip;
      rest -= first * beside, wide[i] = n[i] - first < kStrip ? n[i] - first : kStrip, number[i] = first;
    }
    number[0] = rest / (wide[1] * wide[2]), rest -= number[0] * (wide[1] * wide[2]);
    number[1] += rest / wide[2], number[2] += rest % wide[2];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const auto &m = p.mode[mode[i]];
      const Index first = number[i] * size[i], left = Index(m.extent) - first;
      advance(at.from, m, first);
      at.left[i] = left < size[i] ? int(left) : size[i];
    }
    tile = outer;
#pragma unroll 1
    for (int m = 1; m < p.n_kept; ++m)
      if (m != modes.b && m != modes.c) tile = advance_part(at.from, p.mode[m], tile);
    return at;
  }

  // What the turned inputs have of a tile, to shared memory: one of rounds(). Every input's elements are asked for before any are waited for.
  template <int I, class P>
  TCU_DEVICE static void turn(Types<>, const P &, const Modes &, const Tile &, int, SharedElements) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void turn(Types<T, R...>, const P &p, const Modes &modes, const Tile &tile, int round, SharedElements to) {
    if constexpr (kTurned >> I & 1) {
      constexpr bool kDeep = kAlongC >> I & 1;
      constexpr int W = kDeep ? kWC : kWB, G = kTogether<T>, kVectors = (kDeep ? kC : kB) / W, kGroups = kA / G, kSome = kItems<T, W>;
      static_assert(kElements % (W * G * kThreads) == 0 && kEach<T, W> % kSome == 0);
      const auto &beside = p.mode[kDeep ? modes.b : modes.c];
      const int left = tile.left[kDeep ? 2 : 1], left_beside = tile.left[kDeep ? 1 : 2];
      const Index down = Index(p.mode[0].in[I]), other = Index(beside.in[I]);
      const T *const start = static_cast<const T *>(p.in[I]) + tile.from.in[I];
      Raw<T, W> x[kSome][G];
      int place[kSome];
#pragma unroll
      for (int k = 0; k < kSome; ++k) {
        const int item = int(threadIdx.x) + (round * kSome + k) * kThreads;
        const int row = item / kVectors, l = item % kVectors * W, a = row % kGroups * G, o = row / kGroups;
        place[k] = a + l * (kDeep ? kPlane<T> : kRow<T>) + o * (kDeep ? kRow<T> : kPlane<T>);
        const bool there = l < left && o < left_beside;
#pragma unroll
        for (int g = 0; g < G; ++g) {
          // The tile's first element in place of one that is not there: loads that may not happen wait for one another.
          const T *const from = start + (there && a + g < tile.left[0] ? l + (a + g) * down + o * other : Index(0));
          if constexpr (W == 1) x[k][g] = Raw<T, W>::load_one(from);
          else x[k][g] = Raw<T, W>::load(from);
        }
      }
      turn<I + 1>(Types<R...>{}, p, modes, tile, round, to.beyond(crossed_bytes(kA, kB, kC, sizeof(T))));
      int column[W];
#pragma unroll
      for (int w = 0; w < W; ++w) column[w] = w * (kDeep ? kPlane<T> : kRow<T>);
      if (round < kEach<T, W> / kSome) {
#pragma unroll
        for (int k = 0; k < kSome; ++k) put_columns(to, place[k] * int(sizeof(T)), column, int(sizeof(T)), x[k]);
      }
    } else {
      turn<I + 1>(Types<R...>{}, p, modes, tile, round, to);
    }
  }
  // V neighbours along out, at (a, b, c) of the tile.
  template <int I = 0, unsigned kOne, class P>
  TCU_DEVICE static void read(Pack<V, Types<>, kOne> &, const P &, const Modes &, const Tile &, int, int, int, SharedElements) {}
  template <int I = 0, unsigned kOne, class P, class T, class... R>
  TCU_DEVICE static void read(Pack<V, Types<T, R...>, kOne> &pack, const P &p, const Modes &modes, const Tile &tile, int a, int b, int c, SharedElements from) {
    if constexpr (kTurned >> I & 1) {
      pack.first = Raw<T, V>::of(neighbours_at<T, V>(from, (c * kPlane<T> + b * kRow<T> + a) * int(sizeof(T))));
      from = from.beyond(crossed_bytes(kA, kB, kC, sizeof(T)));
    } else {
      const Index offset = a * Index(p.mode[0].in[I]) + b * Index(p.mode[modes.b].in[I]) + c * Index(p.mode[modes.c].in[I]);
      const T *const at = static_cast<const T *>(p.in[I]) + (tile.from.in[I] + offset);
      if constexpr ((kOne & 1) != 0 || V == 1) pack.first = Raw<T, 1>::load_one(at);
      else pack.first = Raw<T, V>::load(at);
    }
    read<I + 1>(pack.rest, p, modes, tile, a, b, c, from);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(char, elements);
    const SharedElements turned(elements);
    const Modes modes(p);
    const Index across = Index(p.mode[modes.b].out), deep = Index(p.mode[modes.c].out);
    await_turn();
    const Index n = tiles(p, modes);
#pragma unroll 1
    for (Index i = blockIdx.x; i < n; i += gridDim.x) {  // more than once where there are more than a grid can have
      const Tile tile = locate(p, modes, i);
#pragma unroll 1
      for (int round = 0; round < rounds<0>(Inputs{}); ++round) turn<0>(Inputs{}, p, modes, tile, round, turned);
      __syncthreads();
      constexpr int kVectors = kA / V, kAll = kElements / V, kLong = permute_items(V, kBytes), kSome = kLong < kAll / kThreads ? kLong : kAll / kThreads;
      static_assert(kAll % (kSome * kThreads) == 0);
#pragma unroll 1
      for (int first = int(threadIdx.x); first < kAll; first += kSome * kThreads) {
        Pack<V, Inputs, kOnce> x[kSome];
        Index to[kSome];
        bool there[kSome];
#pragma unroll
        for (int k = 0; k < kSome; ++k) {
          const int item = first + k * kThreads, a = item % kVectors * V, row = item / kVectors, b = row % kB, c = row / kB;
          there[k] = a < tile.left[0] && b < tile.left[1] && c < tile.left[2];
          to[k] = tile.from.out + a + b * across + c * deep;
          read(x[k], p, modes, tile, there[k] ? a : 0, there[k] ? b : 0, there[k] ? c : 0, turned);
        }
#pragma unroll
        for (int k = 0; k < kSome; ++k)
          if (there[k]) put_pack<Map, Acc, Out>(p, x[k], to[k]);
      }
      __syncthreads();  // before the next tile's elements
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_permute.cuh"

namespace tcu::cuda::rows {

struct BroadcastCrossed {
  // The modes in which the first input that lies across out is contiguous, and one that lies across that, too; 0: there is none.
  struct Modes {
    int b = 0, c = 0;
  };
  static bool turned(const Problem &p, int k) { return p.modes[0].stride[k] != 0 && p.modes[0].stride[k] != 1; }
  // The mode in which input k is contiguous; 0 if there is none.
  static int along(const Problem &p, int k) {
    for (int m = 1; m < p.modes.size(); ++m)
      if (p.modes[m].stride[k] == 1) return m;
    return 0;
  }
  static Modes modes(const Problem &p) {
    Modes found;
    for (int k = 1; k <= p.n_inputs; ++k) {
      if (!turned(p, k)) continue;
      const int m = along(p, k);
      if (m == 0) return {};
      if (found.b == 0) found.b = m;
      else if (m != found.b && found.c == 0) found.c = m;
      else if (m != found.b && m != found.c) return {};
    }
    return found.c != 0 ? found : Modes{};
  }
  static bool accepts(const Problem &p, const Device &) {
    return p.modes.size() >= 3 && p.n_inputs <= 4 && p.modes[0].stride[0] == 1 && p.kept() >= kThreads && modes(p).c != 0;
  }
  // Where an input is read across out, and across another, by sectors of which no more than a third are used, and three fifths of a tile are there. Of 23
  // random problems (H200, two and three inputs of 1 to 8 bytes, 16 to 480 MB) it was faster in 19 than the row that would have had them, 0.47 to 0.96 of the
  // time, in four slower, 1.24 to 1.56; of seven whose tiles are less full four took longer, up to 1.32.
  static bool suits(const Problem &p, const Device &) {
    if (p.bytes() < BroadcastPermute::kMuch || filled(p, shape(p)) < 0.6) return false;
    for (int k = 1; k <= p.n_inputs; ++k) {
      const int sector = BroadcastPermute::sector_of(p, k);
      if (turned(p, k) && 3 * BroadcastPermute::used_beside(p, k, sector) <= sector) return true;
    }
    return false;
  }

  struct Shape {
    int a, b, c;  // elements of a tile along each
  };
  // How much of its tiles there is.
  static double filled(const Problem &p, const Shape &s) {
    const Modes m = modes(p);
    const auto part = [&](int mode, int size) { return double(p.modes[mode].extent) / double(ceil_div(p.modes[mode].extent, size) * size); };
    return part(0, s.a) * part(m.b, s.b) * part(m.c, s.c);
  }
  // By the widest element that is turned; the first, but another where a sixth more of it is filled. (H200: tiles twice as large took 1.1 to 1.7 of the time,
  // of 16 bits and more.)
  static Shape shape(const Problem &p) {
    int widest = 1;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (turned(p, k)) widest = std::max(widest, bytes_of(p.dtype(k)));
    static constexpr Shape kShapes[][3] = {
        {{32, 32, 16}, {32, 16, 32}, {16, 32, 32}},
        {{32, 16, 16}, {16, 16, 32}, {16, 32, 16}},
        {{16, 16, 16}, {16, 16, 16}, {16, 16, 16}},
        {{8, 16, 16}, {16, 8, 16}, {16, 16, 8}},
    };
    const auto &shapes = kShapes[widest == 1 ? 0 : widest == 2 ? 1 : widest == 4 ? 2 : 3];
    Shape best = shapes[0];
    for (const Shape &s : shapes)
      if (filled(p, s) > filled(p, best) * 7 / 6) best = s;
    return best;
  }
  // The widest vectors that operands' rows along mode m are whole ones of: out's and what is read beside it (m = 0), or that of the inputs which are turned.
  static int vector(const Problem &p, int m) {
    for (int v = vector_of(p, true); v > 1; v /= 2) {
      bool whole = true;
      for (int k = 0; k <= p.n_inputs; ++k) {
        const bool own = k == 0 ? m == 0 : turned(p, k) ? along(p, k) == m : m == 0 && p.modes[0].stride[k] == 1;
        whole &= !own || rows_aligned(p, m, k, v);
      }
      if (whole) return v;
    }
    return 1;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const Shape s = shape(p);
    const Modes m = modes(p);
    LaunchConfig c;
    c.block = kThreads, c.vector = vector(p, 0), c.detail = m.b | m.c << 8;
    int64_t tiles = ceil_div(p.modes[0].extent, s.a) * ceil_div(p.modes[m.b].extent, s.b) * ceil_div(p.modes[m.c].extent, s.c);
    for (int i = 1; i < p.modes.size(); ++i)
      if (i != m.b && i != m.c) tiles *= p.modes[i].extent;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (turned(p, k)) c.shared_bytes += crossed_bytes(s.a, s.b, s.c, bytes_of(p.dtype(k)));
    c.grid = persistent_grid("broadcast.crossed", p, d, tiles);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    const Shape s = shape(p);
    const Modes m = modes(p);
    unsigned at[2] = {};
    for (int k = 1; k <= p.n_inputs; ++k)
      if (turned(p, k)) at[along(p, k) != m.b] |= 1u << (k - 1);
    const auto text = [](int n) { return std::to_string(n); };
    return make_instance(p, "broadcast_crossed", {text(s.a), text(s.b), text(s.c), text(c.vector), text(vector(p, m.b)), text(vector(p, m.c)),
                                                  bits_text(BroadcastGeneral::once(p, c.vector)), bits_text(at[0]), bits_text(at[1])});
  }
};

}  // namespace tcu::cuda::rows
#endif
