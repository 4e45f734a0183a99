// broadcast.channels: a few channels of many pixels, which lie pixel by pixel in one operand (the channels of a pixel beside each other),
// plane by plane in another, or are one number a channel ('K K ...').
// A thread has V neighbouring pixels in all of their C channels. Of each operand that is C vectors: one in each plane, or, where pixels
// follow each other, the next C (kBeside, a bit an input; out's is bit N); an input that is the same for all pixels (kOnce) is C elements.
// So all is read and written as vectors; what lies pixel by pixel is taken apart, or put together, in registers.
// The pixels' mode is p.detail & 0xff, the channels' p.detail >> 8.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, int C, int V, unsigned kOnce, unsigned kBeside>
struct broadcast_channels {
  using Inputs = typename Map::Inputs;
  using Elements = Pack<V, Inputs, kOnce>;
  using Word = Raw<Out, V>;
  static constexpr int N = Inputs::size;
  static constexpr bool kOutBeside = kBeside >> N & 1, kStaged = kOutBeside && words_beside<Map, V>() == 0;
  static constexpr int kWords = C * (N * V * largest_of<Inputs>::bytes / 4 + words_beside<Map, V>());
  static constexpr int kResident = kWords > 32 ? 2 : kWords > 20 ? 3 : is_light<Map, Acc> ? 6 : 4;  // registers are what limits it
  using AwaitsTurn = broadcast_channels;

  template <int I = 0, class P>
  TCU_DEVICE static void load(Pack<V, Types<>, (kOnce >> N)> &, const P &, const Offsets<N, Index> &, int, int) {}
  // Vector j of every input.
  template <int I = 0, class P, class T, class... R>
  TCU_DEVICE static void load(Pack<V, Types<T, R...>, (kOnce >> I)> &x, const P &p, const Offsets<N, Index> &o, int channels, int j) {
    const Index step = kBeside >> I & 1 ? Index(V) : Index(p.mode[channels].in[I]);
    const T *const from = static_cast<const T *>(p.in[I]) + (o.in[I] + Index(j) * step);
    if constexpr (kOnce >> I & 1) x.first = Raw<T, 1>::load_one(from);
    else x.first = Raw<T, V>::load(from);
    load<I + 1>(x.rest, p, o, channels, j);
  }
  template <int I = 0>
  TCU_DEVICE static void part(Pack<V, Types<>, (kOnce >> N)> *const (&)[C]) {}
  // What was read where pixels follow each other: to a vector a channel.
  template <int I = 0, class T, class... R>
  TCU_DEVICE static void part(Pack<V, Types<T, R...>, (kOnce >> I)> *const (&x)[C]) {
    if constexpr (kBeside >> I & 1) {
      Vec<T, V> read[C], e;
#pragma unroll
      for (int c = 0; c < C; ++c) read[c] = x[c]->first.get();
#pragma unroll
      for (int c = 0; c < C; ++c) {
#pragma unroll
        for (int v = 0; v < V; ++v) e.at[v] = read[(v * C + c) / V].at[(v * C + c) % V];
        x[c]->first = Raw<T, V>::of(e);
      }
    }
    Pack<V, Types<R...>, (kOnce >> (I + 1))> *rest[C];
#pragma unroll
    for (int c = 0; c < C; ++c) rest[c] = &x[c]->rest;
    part<I + 1>(rest);
  }

  // Results where pixels follow each other in out, which begin at `start`: the warp's, those of its first `there` threads, go through shared
  // memory, so that what it writes at once lies beside each other. (Each thread's C vectors one after the other took up to twice the time.)
  template <class P>
  TCU_DEVICE static void put_beside(const P &p, const Elements (&x)[C], Index start, Index there, Word *shared) {
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int j = 0; j < C; ++j) {
      Vec<Out, V> y;
#pragma unroll
      for (int v = 0; v < V; ++v)
        y.at[v] = tcu::convert<Out>(tcu::convert<Acc>(apply_at<Map>(p, x[(j * V + v) % C], (j * V + v) / C)));
      shared[slot(lane * C + j)] = Word::of(y);
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < C; ++j) {
      const int i = j * 32 + lane, from = i / C;
      const Index to = shuffle(start, from, 32) + (i - from * C) * V;
      if (from < there) store_vector(static_cast<Out *>(p.out) + to, shared[slot(i)].get());
    }
    __syncwarp();
  }
  // Where vector i of a warp stands: for 2, 4 and 8 channels such that eight lanes meet in no bank.
  TCU_FN static constexpr int slot(int i) { return (C & (C - 1)) == 0 ? i ^ (i >> 3 & 7) : i; }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(Word, shared, kStaged ? kThreads * C : 1);
    const int pixels = p.detail & 0xff, channels = p.detail >> 8, t = int(threadIdx.x), warp = t / 32;
    const Index n = Index(p.kept) / (C * V), step = Index(gridDim.x) * kThreads;
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * kThreads + warp * 32; first < n; first += step) {
      const Index at = first + t % 32 < n ? first + t % 32 : n - 1;  // who has none reads the last again
      Offsets<N, Index> o;
      Index others = advance_part(o, p.mode[pixels], at * V);
#pragma unroll 1
      for (int m = 1; m < p.n_kept; m = opaque(m + 1))
        if (m != pixels && m != channels) others = advance_part(o, p.mode[m], others);
      Elements x[C], *all[C];
      await_turn();
#pragma unroll
      for (int c = 0; c < C; ++c) load(x[c], p, o, channels, c), all[c] = x + c;
      part(all);
      if constexpr (kStaged) {
        if (!p.scales() && !p.reads_out()) {
          put_beside(p, x, o.out, n - first, shared + warp * 32 * C);
          continue;
        }
      }
      if (first + t % 32 >= n) continue;
#pragma unroll
      for (int j = 0; j < C; ++j) {
        if constexpr (kOutBeside)
          put_elements<Map, Acc, Out, V>(p, o.out + j * V, [&](int v) { return apply_at<Map>(p, x[(j * V + v) % C], (j * V + v) / C); });
        else
          put_pack<Map, Acc, Out>(p, x[j], o.out + Index(j) * Index(p.mode[channels].out));
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_dense.cuh"

namespace tcu::cuda::rows {

struct BroadcastChannels {
  static constexpr bool kShort = true;  // suits() asks for threads enough
  static constexpr int kMost = 12;  // channels: what a block's threads have fills 48 KB
  struct Shape {
    int pixels, channels;  // modes
    int vector;            // 0: it is none of these
    unsigned once, beside;
  };
  // Out lies plane by plane, or pixel by pixel.
  static Shape shape(const Problem &p) {
    for (int m = 1; m < p.modes.size(); ++m)
      if (const Shape s = shape(p, 0, m); s.vector > 0) return s;
    return p.modes.size() > 1 ? shape(p, 1, 0) : Shape{};
  }
  static Shape shape(const Problem &p, int pixels, int channels) {
    Shape s{pixels, channels, 0, 0, 0};
    const int64_t c = p.modes[channels].extent;
    if (c < 2 || c > kMost) return s;
    int v = vector_of(p, true);
    unsigned planes = 0;
    for (int k = 0; k <= p.n_inputs; ++k) {
      const int64_t stride = p.modes[pixels].stride[k];
      const unsigned bit = 1u << (k > 0 ? k - 1 : p.n_inputs);  // out's is the last
      if (k > 0 && stride == 0) s.once |= bit;
      else if (stride == 1) planes |= bit;
      else if (stride == c && p.modes[channels].stride[k] == 1) s.beside |= bit;
      else return s;
      if (stride == 0) continue;
      while (v > 1 && !whole(p, s, k, stride != 1, v)) v /= 2;
    }
    if (s.beside && planes && v > 1) s.vector = v;
    return s;
  }
  // Whether all that a thread reads or writes of an operand is vectors of v.
  static bool whole(const Problem &p, const Shape &s, int operand, bool beside, int v) {
    if (p.modes[s.pixels].extent % v != 0 || (1 << p.alignment[operand]) < v * bytes_of(p.dtype(operand))) return false;
    for (int m = 0; m < p.modes.size(); ++m) {
      const int64_t stride = p.modes[m].stride[operand];
      if (m != s.pixels && !(m == s.channels && beside) && stride % v != 0) return false;
    }
    return true;
  }
  static bool accepts(const Problem &p, const Device &) { return shape(p).vector > 0; }
  // Where there are threads for half of the device. (Of 104 random problems of an H200, 52 with fewer: another row was faster in 41, up to 3.7
  // times; 52 with more: in one by more than 5 %.) But nothing is compiled for it where broadcast.general's function is there.
  static bool suits(const Problem &p, const Device &d) {
    const LaunchConfig own = configure(p, d);
    if (is_for_rows(p, own)) return false;
    if (p.kept() < int64_t(own.vector) * own.lanes * kThreads * d.processors / 2) return false;
    return is_shipped(instance(p, own)) || !is_shipped(BroadcastGeneral::instance(p, BroadcastGeneral::configure(p, d)));
  }
  // Whether rows of out are read as they lie, some input being laid out as out is: such as are vectors or longer, of 8 bits such as are half a vector; and
  // short ones of few pixels, of which this row's own vectors are small. (H200, 102 problems of 128 MB: 0.52 to 1.12 of the time, 0.86 in the mean.) Of
  // outer products, too, such as are longer than a vector (0.77 to 0.995), but not several of them, of which no input stays for broadcast.periodic.
  static bool is_for_rows(const Problem &p, const LaunchConfig &own) {
    if (jumps_along(p, p.modes[0]) || !BroadcastDense::dense(p, 0)) return false;
    const int v = vector_of(p, true);
    const int64_t extent = p.modes[0].extent;
    if (BroadcastDense::none_as_out(p)) return p.n_inputs == 2 && p.modes.size() == 2 && extent > v && v < 16;
    const bool in_vectors = BroadcastGeneral::vector(p) > 1;
    if (extent >= v) return extent > v || in_vectors;
    if (v == 16 && in_vectors) return true;
    return 2 * own.vector < v && p.modes[own.detail & 255].extent < 64 && (p.n_inputs <= 2 || in_vectors);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const Shape s = shape(p);
    LaunchConfig c;
    c.block = kThreads, c.vector = s.vector, c.lanes = int(p.modes[s.channels].extent), c.detail = s.channels << 8 | s.pixels;
    c.grid = persistent_grid("broadcast.channels", p, d, ceil_div(p.kept(), int64_t(kThreads) * c.vector * c.lanes));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    const Shape s = shape(p);
    return make_instance(p, "broadcast_channels", {std::to_string(c.lanes), std::to_string(c.vector), bits_text(s.once), bits_text(s.beside)});
  }
};

}  // namespace tcu::cuda::rows
#endif
