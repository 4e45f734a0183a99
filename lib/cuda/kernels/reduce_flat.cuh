// reduce.flat: several inputs, one of which has an output's elements one after another, in the order of its reduced modes ('R R', 'R R K', ...),
// while others stay along some of these modes, or jump: weights that come again every so many elements, or are one for as many.
// That one, number kFlat, is read in vectors, whatever the modes' extents; of the others each element of a vector, from where a decoding and steps
// along the fastest mode lead: mostly they are in the first level cache. Rows of the fastest mode, which reduce.contiguous walks, may be short.
// A thread has kItems vectors in flight, and p.lanes threads an output, or p.split parts of p.chunk vectors each a block (device/split.cuh).
#pragma once
#include "device/append.cuh"
#include "device/groups.cuh"
#include "device/total.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int kFlat>
struct reduce_flat {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int N = Map::Inputs::size, V = kVector<typename Map::Inputs>, S = states_of_one<F, Map, V>(), kItems = 2;
  static constexpr int kResident = resident<F, S>(4);
  using AwaitsTurn = reduce_flat;
  using Own = Running<F, S>;
  static_assert(N > 1 && !F::kPositions);

  // Where the inputs have elements e to e + W - 1 of the output at o.
  template <int W, class P>
  TCU_DEVICE static void places(const P &p, const Offsets<N, Index> &o, Index e, Offsets<N, Index> (&at)[W]) {
    const auto &mode = p.mode[p.n_kept];
    const Index extent = Index(mode.extent);
    Index row = divide(e, mode.divisor), element = e - row * extent;
    const auto row_at = [&] {
      Offsets<N, Index> here = o;
      decode(here, p, p.n_kept + 1, p.n_kept + p.n_folded, row);
      return here;
    };
    Offsets<N, Index> here = row_at();
    advance(here, mode, element);
#pragma unroll
    for (int w = 0; w < W; ++w) {
      at[w] = here;
      if (w + 1 == W) break;
      if (++element < extent) {
        advance(here, mode, Index(1));
      } else {
        element = 0, ++row;
        here = row_at();
      }
    }
  }

  // What input kFlat has, which is one access of W elements, and what the others have.
  template <int W, int I, class P>
  TCU_DEVICE static void load_flat(Pack<W, Types<>> &, const P &, const Offsets<N, Index> &, Index) {}
  template <int W, int I, class P, class T, class... R>
  TCU_DEVICE static void load_flat(Pack<W, Types<T, R...>> &x, const P &p, const Offsets<N, Index> &o, Index e) {
    const T *const from = static_cast<const T *>(p.in[I]) + (o.in[I] + e);
    if constexpr (I == kFlat && W == 1) x.first = Raw<T, 1>::of({{*from}});
    else if constexpr (I == kFlat) x.first = Raw<T, W>::template load<true>(from);
    else load_flat<W, I + 1>(x.rest, p, o, e);
  }
  template <int W, int I, class P>
  TCU_DEVICE static void load_others(Pack<W, Types<>> &, const P &, const Offsets<N, Index> (&)[W]) {}
  template <int W, int I, class P, class T, class... R>
  TCU_DEVICE static void load_others(Pack<W, Types<T, R...>> &x, const P &p, const Offsets<N, Index> (&at)[W]) {
    if constexpr (I != kFlat) {
      Vec<T, W> e;
#pragma unroll
      for (int w = 0; w < W; ++w) e.at[w] = static_cast<const T *>(p.in[I])[at[w].in[I]];
      x.first = Raw<T, W>::of(e);
    }
    load_others<W, I + 1>(x.rest, p, at);
  }

  // Elements from e on, W of each of Items vectors, `step` elements apart.
  template <int W, int Items, class P>
  TCU_DEVICE static void round(const P &p, Own &own, const Offsets<N, Index> &o, Index e, Index step) {
    Pack<W, typename Map::Inputs> x[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) load_flat<W, 0>(x[k], p, o, e + k * step);
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      Offsets<N, Index> at[W];
      places(p, o, e + k * step, at);
      load_others<W, 0>(x[k], p, at);
    }
    own.round([&](State (&s)[S]) {
#pragma unroll
      for (int k = 0; k < Items; ++k) append_vector<F, Map, false>(p, s, x[k], Index(0), Index(0));
    });
  }

  template <class T, class P>
  TCU_DEVICE static int before_vectors(const P &p, const Offsets<N, Index> &o) {
    const uint64_t off = reinterpret_cast<uint64_t>(static_cast<const T *>(p.in[kFlat]) + o.in[kFlat]) / sizeof(T) % V;
    return off ? V - int(off) : 0;
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    for_groups<F, Out, N, Index>(p, [&](const Offsets<N, Index> &o, Index part, int lane, int lanes) {
      const Index folded = Index(p.folded), head = before_vectors<nth_of<kFlat, typename Map::Inputs>>(p, o);
      const Index vectors = folded < head ? Index(0) : (folded - head) / V, chunk = Index(p.chunk), first = part * chunk;
      const Index end = vectors - first > chunk ? first + chunk : vectors;
      Own own;
      // Before the first whole vector and after the last, one by one: of the first part.
      if (part == 0) {
        const Index before = folded < head ? folded : head, singles = folded - vectors * V;
#pragma unroll 1
        for (Index i = lane; i < singles; i += lanes) round<1, 1>(p, own, o, i < before ? i : i + vectors * V, Index(0));
      }
      Index i = first + lane;
#pragma unroll 1
      for (; i + (kItems - 1) * lanes < end; i += kItems * lanes) round<V, kItems>(p, own, o, head + i * V, Index(lanes) * V);
      if (i < end) round<V, 1>(p, own, o, head + i * V, Index(0));
      return own.all();
    });
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_split.cuh"

namespace tcu::cuda::rows {

struct ReduceFlat {
  // The first input that has an output's elements one after another; 0 if none has.
  static int flat(const Problem &p) {
    for (int k = 1; k <= p.n_inputs; ++k) {
      int64_t stride = 1;
      bool is = true;
      for (const Mode &m : p.modes) {
        if (m.role != Role::R) continue;
        is = is && m.stride[k] == stride;
        stride *= m.extent;
      }
      if (is && (1 << p.alignment[k]) >= bytes_of(p.in[k - 1])) return k;
    }
    return 0;
  }
  static bool accepts(const Problem &p, const Device &) {
    return p.n_inputs > 1 && p.modes.n_of(Role::R) > 1 && !is_arg(p.op) && vector_of(p, false) > 1 && !p.empty() && flat(p);
  }
  // Rows of the fastest mode that are no whole vectors: others reduce.split and reduce.contiguous read as such, 0.3 to 1.0 of this one's time. (Of 129
  // pinned products of two, 8 to 220 MB, H200, it is chosen for 57; 52 took 0.21 to 0.99 of the time of the best other row, half less than 0.61,
  // five 1.01 to 1.12.)
  static bool suits(const Problem &p, const Device &) {
    const int64_t row = fastest(p, Role::R)->extent;
    return bytes_of(p.in[0]) > 1 && row % vector_of(p, false) && row <= 4096 && p.reduced() >= 4096 && p.reduced() * p.kept() >= 1 << 20;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = c.lanes = kThreads, c.vector = vector_of(p, false);
    const int64_t vectors = p.reduced() / c.vector, resident = ReduceSplit::resident("reduce.flat", p, d, 1);
    const int64_t most = std::clamp<int64_t>(vectors / (4 * kThreads), 1, INT32_MAX / std::max<int64_t>(p.kept(), 1));
    c.chunk = ceil_div(std::max<int64_t>(vectors, 1), ReduceSplit::parts_for(p.kept(), resident, most));
    c.split = ceil_div(std::max<int64_t>(vectors, 1), c.chunk);
    while (c.split == 1 && c.lanes > 32 && c.lanes * c.vector > p.reduced()) c.lanes /= 2;
    c.grid = c.split > 1 ? p.kept() * c.split : persistent_grid("reduce.flat", p, d, ceil_div(p.kept(), kThreads / c.lanes));
    ReduceSplit::keep_parts(c, p, p.kept(), 1, true);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_flat", {std::to_string(flat(p) - 1)});
  }
};

}  // namespace tcu::cuda::rows
#endif
