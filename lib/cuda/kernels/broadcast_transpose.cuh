// broadcast.transpose: an input whose fastest mode is not out's ('K K ...', permuted or transposed).
// Tiles of kAcross x kDown elements, along out's fastest mode and along mode p.detail, in which such inputs are contiguous. An
// input of that kind is read along its own fastest mode and turned round in shared memory; the others are read as they lie.
// Either way a row of a tile is one contiguous piece of memory, and a thread has vectors of V neighbours of it where all rows are whole
// vectors, or V = 1. Which inputs are one element along out's fastest mode then is in kOnce, a bit each.
// In place: an element is written by the thread that read it, after it did (an operand with out's layout is never turned).
#pragma once
#include "device/map.cuh"

namespace tcu::cuda {
inline constexpr int kByteSide = 128;  // of a square tile of bytes, in vectors of 16
// Of any other, for elements of so many bytes: what fits the static shared memory.
TCU_FN constexpr int transpose_side(int bytes, int vector) { return vector == 16 ? kByteSide : bytes <= 4 ? 64 : 32; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, int V, unsigned kOnce, int kAcross>
struct broadcast_transpose {
  using Inputs = typename Map::Inputs;
  using Elements = Pack<V, Inputs, kOnce>;
  static constexpr int N = Inputs::size, kBytes = largest_of<Inputs>::bytes;
  static constexpr int kSide = transpose_side(kBytes, V), kElements = kSide * kSide, kDown = kElements / kAcross;  // of a tile
  static constexpr int kItems = kElements / (kThreads * V);
  // Vectors of bytes are turned by words of four: then a thread's rows of out are neighbours.
  static constexpr bool kByWords = V == 16;
  static constexpr int kResident = map_blocks<Map, Acc, V>(kByWords ? 3 : 4);  // 64 registers are too few for bytes
  using AwaitsTurn = broadcast_transpose;
  static_assert(!kByWords || kItems == 4);
  // Between lines of T in shared memory, in elements: four bytes more than they have at least, so that the elements of a column lie in
  // different banks; and by words more between the lines of two vectors, so that the words of a warp's columns do.
  template <class T>
  static constexpr int kLine = kDown + in_word(sizeof(T));
  static constexpr int kBetween = kByWords ? 128 * V / kAcross : 0;
  template <class T>
  TCU_DEVICE static int place(int l) { return l * kLine<T> + l / V * kBetween; }

  // Where a thread is, in elements: in a tile's rows of out, and in the lines of an input that is turned.
  struct Thread {
    int in_row, first_row, in_line, first_line;
    TCU_DEVICE explicit Thread(int t)
        : in_row(t % (kAcross / V) * V), first_row(t / (kAcross / V)), in_line(t % (kDown / V) * V), first_line(t / (kDown / V)) {}
    TCU_DEVICE int row(int k) const { return kByWords ? first_row * kItems + k : first_row + k * (kThreads / (kAcross / V)); }
    TCU_DEVICE int line(int k) const { return first_line + k * (kThreads / (kDown / V)); }
  };

  struct Tile {
    Index at[2], left[2];  // first element along mode 0 and along the other mode; elements from there on
  };

  TCU_DEVICE static bool is_turned(int64_t fast, int64_t other) {
    return (other == 1 || other == -1) && (fast > 1 || fast < -1);
  }
  // A thread's k-th vectors.
  template <int I = 0, unsigned kOne, class P>
  TCU_DEVICE static void load(Pack<V, Types<>, kOne> &, const P &, const Offsets<N, Index> &, const Tile &, const Thread &, int) {}
  template <int I = 0, unsigned kOne, class P, class T, class... R>
  TCU_DEVICE static void load(Pack<V, Types<T, R...>, kOne> &pack, const P &p, const Offsets<N, Index> &o, const Tile &tile,
                              const Thread &thread, int k) {
    constexpr int W = kOne & 1 ? 1 : V;
    const Index fast = Index(p.mode[0].in[I]), other = Index(p.mode[p.detail].in[I]);
    const bool turned = is_turned(p.mode[0].in[I], p.mode[p.detail].in[I]);
    const int x = turned ? thread.in_line : thread.in_row, y = turned ? thread.line(k) : thread.row(k);
    const Index along = turned ? other : fast, across = turned ? fast : other;
    const T *const from = static_cast<const T *>(p.in[I]) + (o.in[I] + tile.at[0] * fast + tile.at[1] * other + x * along + y * across);
    pack.first = Raw<T, W>::of(Vec<T, W>{});
    if (x < tile.left[turned] && y < tile.left[!turned]) {
      if constexpr (W == 1) pack.first = Raw<T, W>::load_one(from);
      else pack.first = Raw<T, W>::load(from);
    }
    load<I + 1>(pack.rest, p, o, tile, thread, k);
  }

  // Input I of the items, whose packs after the inputs before it these are.
  template <class T, unsigned kOne, class... R>
  TCU_DEVICE static void turn(Pack<V, Types<T, R...>, kOne> *const (&packs)[kItems], const Thread &thread, void *shared) {
    using Unit = select_t<(sizeof(T) < 4 && V * sizeof(T) % 4 == 0), unsigned, T>;  // that is stored at a time
    constexpr int kUnits = V * int(sizeof(T)) / int(sizeof(Unit));
    T *const start = static_cast<T *>(shared);
    __syncthreads();  // the last input's elements may still be being read
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const auto units = __builtin_bit_cast(Vec<Unit, kUnits>, packs[k]->first.get());
#pragma unroll
      for (int u = 0; u < kUnits; ++u) reinterpret_cast<Unit *>(start + place<T>(thread.line(k)) + thread.in_line)[u] = units.at[u];
    }
    __syncthreads();
    if constexpr (kByWords) {
      Words<kItems> columns[V / 4];  // of the four rows
#pragma unroll
      for (int v = 0; v < V; v += 4) {
        unsigned w[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) w[i] = *reinterpret_cast<const unsigned *>(start + place<T>(thread.in_row + v + i) + thread.row(0));
        columns[v / 4] = turn_bytes(w);
      }
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        Words<V / 4> row;
#pragma unroll
        for (int i = 0; i < V / 4; ++i) row.at[i] = columns[i].at[k];
        packs[k]->first = Raw<T, V>::of(__builtin_bit_cast(Vec<T, V>, row));
      }
    } else {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        Vec<T, V> e;
#pragma unroll
        for (int v = 0; v < V; ++v) e.at[v] = start[place<T>(thread.in_row + v) + thread.row(k)];
        packs[k]->first = Raw<T, V>::of(e);
      }
    }
  }
  template <int I, unsigned kOne, class P>
  TCU_DEVICE static void turn_all(Pack<V, Types<>, kOne> *const (&)[kItems], const P &, const Thread &, void *) {}
  template <int I, unsigned kOne, class P, class T, class... R>
  TCU_DEVICE static void turn_all(Pack<V, Types<T, R...>, kOne> *const (&packs)[kItems], const P &p, const Thread &thread, void *shared) {
    if constexpr (!(kOne & 1)) {
      if (is_turned(p.mode[0].in[I], p.mode[p.detail].in[I])) turn(packs, thread, shared);  // the same for every thread
    }
    Pack<V, Types<R...>, (kOne >> 1)> *rest[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) rest[k] = &packs[k]->rest;
    turn_all<I + 1>(rest, p, thread, shared);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    constexpr int kRoom = (kAcross * (kDown + 4) + kAcross / V * kBetween) * kBytes;
    TCU_SHARED(Slot, shared, (kRoom + int(sizeof(Slot)) - 1) / int(sizeof(Slot)));
    const Thread thread(int(threadIdx.x));
    const int t = p.detail;
    const Index extent[2] = {Index(p.mode[0].extent), Index(p.mode[t].extent)};
    const Index along = (extent[0] + kAcross - 1) / kAcross, tiles = along * ((extent[1] + kDown - 1) / kDown);
    const Index n = tiles * (Index(p.kept) / (extent[0] * extent[1]));
#pragma unroll 1
    for (Index item = blockIdx.x; item < n; item += gridDim.x) {
      Index outside = item / tiles;
      const Index inside = item - outside * tiles, j = inside / along, i = inside - j * along;
      const Tile tile = {{i * kAcross, j * kDown}, {extent[0] - i * kAcross, extent[1] - j * kDown}};
      Offsets<N, Index> o;
#pragma unroll 1
      for (int m = 1; m < p.n_kept; ++m) {
        if (m == t) continue;
        const Index q = divide(outside, p.mode[m].divisor);
        advance(o, p.mode[m], outside - q * Index(p.mode[m].extent));
        outside = q;
      }
      Elements elements[kItems], *packs[kItems];
      await_turn();
#pragma unroll
      for (int k = 0; k < kItems; ++k) load(elements[k], p, o, tile, thread, k), packs[k] = elements + k;
      turn_all<0>(packs, p, thread, shared);
      const Index start = o.out + tile.at[0] + thread.in_row + tile.at[1] * Index(p.mode[t].out);
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (thread.in_row >= tile.left[0] || thread.row(k) >= tile.left[1]) continue;
        put_pack<Map, Acc, Out>(p, elements[k], start + thread.row(k) * Index(p.mode[t].out));
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_general.cuh"

namespace tcu::cuda::rows {

struct BroadcastTranspose {
  static bool is_unit(int64_t stride) { return stride == 1 || stride == -1; }
  // The mode in which an input is contiguous that is not so in out's fastest; 0 if there is none.
  static int other_mode(const Problem &p) {
    for (int k = 1; k <= p.n_inputs; ++k) {
      if (p.modes[0].stride[k] == 0 || is_unit(p.modes[0].stride[k])) continue;
      for (int m = 1; m < p.modes.size(); ++m)
        if (is_unit(p.modes[m].stride[k])) return m;
    }
    return 0;
  }
  static bool accepts(const Problem &p, const Device &) {
    if (p.modes.size() < 2 || p.modes[0].stride[0] != 1) return false;
    const int m = other_mode(p);
    return m > 0 && p.modes[0].extent >= 16 && p.modes[m].extent >= 16;
  }
  // Whether all rows are whole vectors of v, out's and those of inputs along their own fastest mode.
  static bool whole(const Problem &p, int v) {
    const int t = other_mode(p);
    if (!rows_aligned(p, 0, 0, v)) return false;
    for (int k = 1; k <= p.n_inputs; ++k) {
      const int64_t fast = p.modes[0].stride[k];
      if (fast == 0) continue;
      if ((fast != 1 && p.modes[t].stride[k] != 1) || !rows_aligned(p, fast == 1 ? 0 : t, k, v)) return false;
    }
    return true;
  }
  static int vector(const Problem &p) {
    for (int v : {vector_of(p, true), 2})
      if (v > 1 && v <= vector_of(p, true) && whole(p, v)) return v;
    return 1;
  }
  // Of a square tile.
  static int64_t side(const Problem &p) {
    return transpose_side(widest(p), vector(p));
  }
  struct Sides {
    int64_t across, down;
  };
  // A tile's: square, but of bytes such that more of it is filled.
  static Sides sides(const Problem &p) {
    const int64_t side = BroadcastTranspose::side(p);
    Sides best{side, side};
    if (side == kByteSide)
      for (const Sides s : {Sides{side / 2, side * 2}, Sides{side * 2, side / 2}})
        if (filled(p, s) > 1.15 * filled(p, best)) best = s;
    return best;
  }
  // Whether all inputs that jump along out's fastest mode stay along another: little is read, again and again (H100: broadcast.general or
  // broadcast.sliding_register took 0.25 to 0.9 of the time in four of four).
  static bool repeats(const Problem &p) {
    const auto moves = [&](const Mode &m) {
      for (int k = 1; k <= p.n_inputs; ++k)
        if (p.modes[0].stride[k] != 0 && !is_unit(p.modes[0].stride[k]) && m.stride[k] != 0) return true;
      return false;
    };
    return moves(p.modes[0]) && std::any_of(p.modes.begin() + 1, p.modes.end(), [&](const Mode &m) { return m.extent >= 8 && !moves(m); });
  }
  static int widest(const Problem &p) {
    int bytes = 1;
    for (int k = 1; k <= p.n_inputs; ++k) bytes = std::max(bytes, bytes_of(p.dtype(k)));
    return bytes;
  }
  // Whether a tile would be read one or two bytes at a time.
  static bool is_singly(const Problem &p) { return vector(p) * widest(p) <= 2; }
  // Whether it would, of what lies beside each other where out's neighbours read it while the first cache has it (H100, (96,55,55,220), (64,197,12,440)
  // and (77,77,8,1400) in several orders, and seven of int8 in vectors of two: another row took 0.17 to 0.86 of the time in 19 of 19).
  static bool is_beside(const Problem &p) { return is_singly(p) && distance(p.modes[other_mode(p)].stride[0]) * widest(p) <= 192; }
  // How much of its tiles there is.
  static double filled(const Problem &p, const Sides &s) {
    const int64_t e0 = p.modes[0].extent, e1 = p.modes[other_mode(p)].extent;
    return double(e0) / double(ceil_div(e0, s.across) * s.across) * (double(e1) / double(ceil_div(e1, s.down) * s.down));
  }
  static double filled(const Problem &p) { return filled(p, sides(p)); }
  // Where a row of out fills a tile's, and registers hold what a thread reads, or the caches do not hold what others would read again.
  // What is short is in the L2 cache, whose lines broadcast.general may touch several times, and it waits at no barriers.
  static bool suits(const Problem &p, const Device &d) {
    if (repeats(p) || filled(p) < 0.25 || is_beside(p)) return false;
    const int64_t least = std::min<int64_t>(side(p), 64);
    const bool beyond_cache = p.bytes() > d.l2_bytes && p.modes[other_mode(p)].extent * 2 >= least;
    if (p.modes[0].extent < least || (p.n_inputs > 2 && vector(p) == 1 && !beyond_cache)) return false;
    return p.bytes() >= (p.n_inputs == 1 ? 2 << 20 : 4 << 20);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    const int m = other_mode(p);
    const int64_t e0 = p.modes[0].extent, e1 = p.modes[m].extent;
    const Sides s = sides(p);
    c.block = kThreads, c.detail = m, c.vector = vector(p), c.lanes = int(s.across);
    c.grid = persistent_grid("broadcast.transpose", p, d, ceil_div(e0, s.across) * ceil_div(e1, s.down) * (p.kept() / (e0 * e1)));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_transpose", {std::to_string(c.vector), bits_text(BroadcastGeneral::once(p, c.vector)),
                                                    std::to_string(c.lanes)});
  }
};

}  // namespace tcu::cuda::rows
#endif
