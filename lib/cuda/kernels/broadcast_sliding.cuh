// broadcast.sliding_register, broadcast.sliding_shared: an input that has a stride of 0 along a mode of out, and so stays while out
// moves ('K K ...', a scalar beside 'K').
// A thread has one vector of out in all modes but one, its place, and slides along that one mode: what stays there it reads once, and
// uses it at each of up to p.chunk steps, the sliding factor (Dikbayir et al., "Fast multidimensional reduction and broadcast operations
// on GPU for machine learning", 3.2.2; there for a matrix and a vector). sliding_register keeps what stays in registers.
// sliding_shared reads it once a block, into shared memory, for all threads that have the place. What moves is read at each step, some
// steps ahead of its use.
// A block is p.lanes threads along out's fastest mode by kThreads / p.lanes across it. Where the mode slid along (p.detail >> 16) is that
// one, the lanes slide side by side and each row has a place; else each lane has a place and the rows slide side by side. A step of a
// block is so one piece of memory, or a few. The mode slid along is cut into p.split parts, a block each. Elements are read as in
// broadcast.general: V of them, by kOnce and bits 0-15 of p.detail.
// In place: an element is written by the thread that read it, after it did (what stays is never where out is).
#pragma once
#include "device/map.cuh"

namespace tcu::cuda {
// Places of a block, at most.
TCU_FN constexpr int sliding_places(bool shared) { return shared ? 64 : kThreads; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// kStays: a bit for every input that stays.
template <class Map, class Acc, class Out, class Index, int V, unsigned kOnce, unsigned kStays, bool kShared>
struct broadcast_sliding {
  using Inputs = typename Map::Inputs;
  using Elements = Pack<V, Inputs, kOnce>;
  static constexpr int N = Inputs::size, kPlaces = sliding_places(kShared);
  static constexpr unsigned kMoves = ~kStays & ((1u << N) - 1);

  // Steps whose elements are under way at once.
  static constexpr int kMoving = words_read<V, kOnce>(kMoves, Inputs{});
  static constexpr int kAhead = V > 1 && kMoving <= 2 ? 8 : kMoving <= 4 ? 4 : kMoving <= 16 ? 2 : 1;
  // Registers are what limits it: those of vectors.
  static constexpr int kWords = kMoving * kAhead + (kShared ? 0 : words_read<V, kOnce>(kStays, Inputs{})) + words_beside<Map, V>();
  static constexpr int kResident = map_blocks<Map, Acc, V>(kWords > 40 ? 2 : V > 8 || kWords > 24 ? 3 : kWords > 20 || kAhead > 4 ? 4 : 5);
  using AwaitsTurn = broadcast_sliding;

  // In shared memory: of each input that stays kPlaces vectors.
  template <class... T>
  TCU_FN static constexpr int bytes_of(Types<T...>) {
    int i = 0, bytes = 0;
    ((bytes += kStays >> i++ & 1 ? int(sizeof(T)) : 0), ...);
    return bytes * V * kPlaces;
  }
  static constexpr int kSlots = kShared ? bytes_of(Inputs{}) / int(sizeof(Slot)) : 1;

  template <int I = 0, unsigned kOne>
  TCU_DEVICE static void stage(const Pack<V, Types<>, kOne> &, char *, int) {}
  template <int I = 0, unsigned kOne, class T, class... R>
  TCU_DEVICE static void stage(const Pack<V, Types<T, R...>, kOne> &pack, char *shared, int place) {
    constexpr bool kMine = kStays >> I & 1;
    if constexpr (kMine) reinterpret_cast<Raw<T, kOne & 1 ? 1 : V> *>(shared)[place] = pack.first;
    stage<I + 1>(pack.rest, shared + kMine * kPlaces * V * int(sizeof(T)), place);
  }
  template <int I = 0, unsigned kOne>
  TCU_DEVICE static void read_staged(Pack<V, Types<>, kOne> &, const char *, int) {}
  template <int I = 0, unsigned kOne, class T, class... R>
  TCU_DEVICE static void read_staged(Pack<V, Types<T, R...>, kOne> &pack, const char *shared, int place) {
    constexpr bool kMine = kStays >> I & 1;
    constexpr int W = kOne & 1 ? 1 : V;
    if constexpr (kMine) pack.first = Raw<T, W>::staged(reinterpret_cast<const T *>(shared) + place * W);
    read_staged<I + 1>(pack.rest, shared + kMine * kPlaces * V * int(sizeof(T)), place);
  }

  // Where a place is: vector `at` of all modes but s.
  template <class P>
  TCU_DEVICE static Offsets<N, Index> locate(const P &p, int s, Index at) {
    Offsets<N, Index> o;
    if (s > 0) at = advance_part(o, p.mode[0], at * V);
#pragma unroll 1
    for (int m = 1; m < p.n_kept; m = opaque(m + 1))
      if (m != s) at = advance_part(o, p.mode[m], at);
    return o;
  }

  // What a thread does: steps from, from + sliders, ... of the mode slid along, from a place on; `left` in units of that mode.
  struct Course {
    Index from, unit;  // unit: elements
    int left, sliders, place;
  };
  // kPlain: all that moves is read as vectors.
  template <bool kPlain, class P>
  TCU_DEVICE static void slide(const P &p, const Course &c, const Offsets<N, Index> &o, const Elements &held, char *staged) {
    const auto &mode = p.mode[p.detail >> 16];
    const unsigned accesses = unsigned(p.detail) & 0xffff;
#pragma unroll 1
    for (int step = 0; step < c.left; step += kAhead * c.sliders) {
      Elements x[kAhead];
      Offsets<N, Index> to[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const int here = step + k * c.sliders;
        to[k] = o;
        advance(to[k], mode, (c.from + (here < c.left ? here : step)) * c.unit);
        if constexpr (!kShared) x[k] = held;
        load_pack<V, kPlain, false, kMoves>(x[k], p, to[k], 0, Index(0), accesses);
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (step + k * c.sliders >= c.left) continue;
        if constexpr (kShared) read_staged(x[k], staged, c.place);
        put_pack<Map, Acc, Out>(p, x[k], to[k].out);
      }
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const int s = p.detail >> 16, t = int(threadIdx.x), lanes = p.lanes, rows = kThreads / lanes, row = t / lanes, lane = t - row * lanes;
    const int sliders = s ? rows : lanes, start = s ? row : lane;
    const int places = s ? lanes : rows < kPlaces ? rows : kPlaces, place = s ? lane : row;
    // Blocks beside each other are so along out's fastest mode.
    const int block = int(blockIdx.x), parts = int(p.split), tiles = int(gridDim.x) / parts;
    const int part = s ? block / tiles : block % parts, tile = s ? block % tiles : block / parts;

    const Index unit = s ? 1 : V, extent = Index(p.mode[s].extent) / unit;
    const Index at = Index(tile) * places + place, all = divide(Index(p.kept), p.mode[s].divisor) / (s ? V : 1);
    const bool there = place < places && start < sliders && at < all;
    const Index span = parts > 1 ? Index(p.chunk) * sliders : extent, first = part * span;
    const int left = there ? int(extent - first < span ? extent - first : span) - start : 0;

    const Offsets<N, Index> o = locate(p, s, there ? at : 0);
    TCU_SHARED(Slot, shared, kSlots);
    char *const staged = reinterpret_cast<char *>(shared);
    Elements held;
    await_turn();
    if (there && (!kShared || start == 0)) {
      load_pack<V, false, false, kStays>(held, p, o, 0, Index(0), unsigned(p.detail) & 0xffff);
      if constexpr (kShared) stage(held, staged, place);
    }
    if constexpr (kShared) __syncthreads();

    const Course c = {first + start, unit, left, sliders, place};
    if (V == 1 || (unsigned(p.detail) & kMoves) == 0) slide<true>(p, c, o, held, staged);
    else if constexpr (V > 1) slide<false>(p, c, o, held, staged);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_general.cuh"

namespace tcu::cuda::rows {

template <bool kShared>
struct BroadcastSliding {
  static constexpr const char *kName = kShared ? "broadcast.sliding_shared" : "broadcast.sliding_register";
  static constexpr bool kShort = kShared;  // as broadcast.channels

  static unsigned staying(const Problem &p, int mode) {
    unsigned inputs = 0;
    for (int i = 0; i < p.n_inputs; ++i) inputs |= unsigned(p.modes[mode].stride[1 + i] == 0) << i;
    return inputs;
  }
  static bool accepts(const Problem &p, const Device &) {
    for (int m = 0; m < p.modes.size(); ++m)
      if (staying(p, m)) return true;
    return false;
  }

  // How one would slide along a mode.
  struct Slide {
    int mode = 0, lanes = 1;
    int64_t tiles = 1, parts = 1, steps = 1;
    double saved = -1;  // bytes of a vector of out that are not read again
  };
  // Of n things taken so many at a time, the share of what is taken that is there.
  static double filled(int64_t n, int64_t at_once) { return double(n) / double(ceil_div(n, at_once) * at_once); }
  // Lanes: all there are along where a fifth of the threads at most have nothing to do then, for a row is one piece of memory; else the most of which
  // an eighth at most have nothing to do; else those that leave the fewest so.
  static int lanes_for(int64_t along, int64_t across, int64_t least, int64_t most) {
    const auto filled_by = [&](int64_t n) {
      return filled(along, n) * filled(across, kThreads / n) * double(kThreads / n * n) / kThreads;
    };
    if (along <= most && filled_by(along) >= 0.8) return int(along);
    int best = 1;
    double busy = 0;
    for (int64_t n = std::min(most, along); n >= std::min({least, most, along}) && busy < 0.875; --n)
      if (const double of_these = filled_by(n); of_these > busy) busy = of_these, best = int(n);
    return best;
  }
  static Slide along(const Problem &p, const Device &d, int mode) {
    constexpr int kPlaces = sliding_places(kShared);
    Slide s;
    s.mode = mode;
    const int v = BroadcastGeneral::vector(p);
    const int64_t extent = p.modes[mode].extent / (mode ? 1 : v), places = p.kept() / v / extent;
    const int64_t factor = tuning(kName, d, v * bytes_of(p.out)).factor, least = 128 / (v * bytes_of(p.out));  // a line of 128 bytes
    int64_t sliders, of_block;
    if (mode == 0) {  // no more lanes than leave each that many steps
      sliders = s.lanes = lanes_for(extent, places, least, std::clamp<int64_t>(extent / factor, least, kThreads));
      of_block = std::min(kThreads / s.lanes, kPlaces);
    } else {
      int64_t before = 1;  // places that are followed, along out, by the next step: no more, if there are steps enough for the others
      for (int m = 0; m < mode; ++m) before *= p.modes[m].extent;
      before = std::max(before / v, ceil_div(kThreads, extent));
      of_block = s.lanes = lanes_for(places, extent, least, std::min<int64_t>(before, kPlaces));
      sliders = kThreads / s.lanes;
    }
    s.tiles = ceil_div(places, of_block);
    // As many parts as the factor says, or as leave each processor four blocks; and then even ones.
    const int64_t most = ceil_div(extent, sliders);
    s.parts = std::min(most, std::max(ceil_div(most, factor), ceil_div(4 * d.processors, s.tiles)));
    s.steps = ceil_div(most, s.parts);
    s.parts = ceil_div(most, s.steps);
    s.saved = 0;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (p.modes[mode].stride[k] == 0)
        s.saved += bytes_of(p.dtype(k)) * (p.modes[0].stride[k] ? v : 1) * (1 - 1 / double(s.steps));
    return s;
  }
  // Inputs may stay along different modes: the one along which most bytes are saved, and of equal ones the fastest.
  static Slide chosen(const Problem &p, const Device &d) {
    Slide best;
    for (int m = 0; m < p.modes.size(); ++m) {
      if (!staying(p, m)) continue;
      if (const Slide s = along(p, d, m); s.saved > best.saved) best = s;
    }
    return best;
  }

  // Where broadcast.general takes single elements and divides for each, and there are steps to slide; and, with vectors that stay, where out is made of these
  // and of single elements, as in an outer product, or is heavy, or has rows of half vectors: then instructions are what takes time. But nothing is
  // compiled for it where that row's function is there.
  static bool suits(const Problem &p, const Device &d) {
    if (p.empty() || p.modes.size() == 1) return false;
    if (kShared) return turns(p, d) && is_ready(p, d);
    const int v = BroadcastGeneral::vector(p);
    const bool busy = v < vector_of(p, true) || is_heavy(p, d);
    if (v > 1 && !busy) {  // no mode is chosen where none would do (below)
      unsigned inputs = BroadcastGeneral::once(p, v);
      for (int m = 1; m < p.modes.size(); ++m) inputs |= staying(p, m);
      if (inputs + 1 != 1u << p.n_inputs) return false;
    }
    const LaunchConfig own = configure(p, d);
    const int mode = own.detail >> 16;
    if (p.modes[mode].extent < 8) return false;
    // Not where the two modes have little for a block (outer products of 20 to 64 and 40 or 64, one after another: 0.40 to 0.67 of the time without, H200).
    if (p.modes.size() > 2 && p.modes[0].extent / own.vector * p.modes[mode].extent < 4 * kThreads) return false;
    if (own.vector > 1) {
      const unsigned once = BroadcastGeneral::once(p, own.vector), stays = staying(p, mode) & ~once;
      const unsigned moves = ((1u << p.n_inputs) - 1) & ~(stays | once);
      if (mode == 0 || stays == 0) return false;
      if (moves && ((moves & (moves - 1)) || own.chunk < 8 || !busy)) return false;  // no more than one
    }
    return is_ready(p, d);
  }
  static bool is_ready(const Problem &p, const Device &d) {
    return is_shipped(instance(p, configure(p, d))) || !is_shipped(BroadcastGeneral::instance(p, BroadcastGeneral::configure(p, d)));
  }
  // Whether a block slides along neighbours of an input that are far apart along out's fastest mode, with a full row of lanes: what a lane
  // reads next is in a line that it has just read. Of ten random problems of 500,000 elements and more it was faster than what was
  // chosen before in nine, 0.50 to 0.98 of the time, and as fast in one (H100 and H200).
  static bool turns(const Problem &p, const Device &d) {
    const auto &apart = p.modes[0].stride;
    if (p.kept() < 500000 || std::none_of(apart + 1, apart + 1 + p.n_inputs, [](int64_t stride) { return stride > 1; })) return false;
    const Slide s = chosen(p, d);
    const Mode &m = p.modes[s.mode];
    if (s.mode == 0 || s.lanes < sliding_places(kShared) || m.extent < 16) return false;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (m.stride[k] == 1 && p.modes[0].stride[k] > 1) return true;
    return false;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const Slide s = chosen(p, d);
    LaunchConfig c = BroadcastGeneral::configure(p, d);  // its vectors and how inputs are read
    c.detail |= s.mode << 16;
    c.lanes = s.lanes, c.split = s.parts, c.chunk = s.steps, c.grid = s.tiles * s.parts;
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_sliding", {std::to_string(c.vector), bits_text(BroadcastGeneral::once(p, c.vector)),
                                                  bits_text(staying(p, c.detail >> 16)), kShared ? "true" : "false"});
  }
};
using BroadcastSlidingRegister = BroadcastSliding<false>;
using BroadcastSlidingShared = BroadcastSliding<true>;

}  // namespace tcu::cuda::rows
#endif
