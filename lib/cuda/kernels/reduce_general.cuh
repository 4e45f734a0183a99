// reduce.general: any modes, any strides, no R mode too: what no other row takes; and reduce.tiny.
// p.lanes threads (a power of two up to the block) work on one output, element by element: each decodes its place among all
// R modes. Neighbouring lanes take neighbouring elements of the fastest R mode.
#pragma once
#include "device/map.cuh"
#include "device/fold.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {
// Elements of a thread that are appended to each other before they are to what came before them: each loses what is small against that.
#if defined(TCU_EMULATOR)
inline constexpr int kAppended = 16;  // so that a small test has several such
#else
inline constexpr int kAppended = 1024;
#endif

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_general {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int N = Map::Inputs::size;
  static constexpr int kResident = resident<F, 1>(4);
  using AwaitsTurn = reduce_general;

  // Elements r, r + lanes, ..., as many as Items, of the output at o.
  template <int Items, class P>
  TCU_DEVICE static void add(const P &p, State &s, const Offsets<N, Index> &o, Index r, int lanes) {
    Pack<1, typename Map::Inputs> x[Items];
    Index position[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      Offsets<N, Index> at = o;
      decode(at, p, p.n_kept, p.n_kept + p.n_folded, r + k * lanes);
      load_pack<1, false>(x[k], p, at, 0, Index(0), 0);  // the offsets say all
      position[k] = at.weight;
    }
#pragma unroll
    for (int k = 0; k < Items; ++k) s = F::add(s, apply_at<Map>(p, x[k], 0), position[k]);
  }

  // Every `lanes`-th from r on, up to `end`.
  template <class P>
  TCU_DEVICE static void add_all(const P &p, State &s, const Offsets<N, Index> &o, Index r, Index end, int lanes) {
#pragma unroll 1
    for (; r + lanes < end; r += 2 * lanes) add<2>(p, s, o, r, lanes);
    if (r < end) add<1>(p, s, o, r, lanes);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    if constexpr (!knows_modes<P>)  // fewer steps where there is one mode of either kind, as in most small sums
      if (p.n_kept == 1 && p.n_folded == 1) return run(of_modes<1, 1>(p));
    TCU_SHARED(State, shared, 32);
    const int lanes = p.lanes, groups = quotient(int(blockDim.x), lanes);
    const int group = quotient(int(threadIdx.x), lanes), lane = remainder(int(threadIdx.x), lanes);
    const Index n = Index(p.kept), folded = Index(p.folded), step = Index(gridDim.x) * groups;
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * groups; first < n; first += step) {
      const Index cell = first + group;
      Offsets<N, Index> o;
      State s = F::identity();
      decode(o, p, 0, p.n_kept, cell < n ? cell : 0);
      await_turn();
      if (cell < n) {
        if constexpr (F::kAppends) {
#pragma unroll 1
          for (Index begin = 0, end; begin < folded; begin = end) {
            end = folded - begin > Index(kAppended) * lanes ? begin + Index(kAppended) * lanes : folded;
            State part = F::identity();
            add_all(p, part, o, begin + lane, end, lanes);
            s = F::combine(s, part);
          }
        } else {
          add_all(p, s, o, lane, folded, lanes);
        }
      }
      s = combine_group<F>(s, lanes, shared);
      if (cell < n && lane == 0) store_result<F, Out>(p, o.out, s, p.folded);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_rows.cuh"
#include "kernels/reduce_strided.cuh"

namespace tcu::cuda::rows {

struct ReduceGeneral {
  static bool accepts(const Problem &, const Device &) { return true; }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.lanes = 1;
    // more lanes while the device is not full, or while elements are many; a block not for one or two elements of each thread
    const auto few = [&] { return c.lanes >= 128 && 4 * c.lanes >= p.reduced(); };
    while (c.lanes < kThreads && c.lanes < p.reduced() &&
           (p.kept() * c.lanes < int64_t(d.processors) * (few() ? 700 : 2048) || p.reduced() / c.lanes > 64))
      c.lanes *= 2;
    c.grid = persistent_grid("reduce.general", p, d, ceil_div(p.kept(), kThreads / c.lanes));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_general");
  }
};

// reduce.tiny: few outputs of few elements. What counts is how few steps there are one after another, and how little code. And outputs of
// one element, which are positions or need an end, up to as many as reduce.small is no faster for.
struct ReduceTiny : ReduceGeneral {
  static constexpr int64_t kSingle = 1 << 22;  // outputs of one element
  // Elements of an output that are few. Rows of 700 and more other rows read sooner, most of all reduce.contiguous: of 22 random problems these
  // were faster in 15, 0.88 to 1.01 of the time (H100 and H200).
  static int64_t few(const Problem &p) { return p.modes[0].role == Role::R ? 700 : 1024; }
  static int64_t most(const Problem &p) {  // elements in all
    const bool row = p.reduced() >= 64 && p.modes.n_of(Role::R) == 1 && ReduceRows::accepts(p);  // fast for shorter ones too
    if (p.reduced() <= few(p) && !row) return p.modes[0].role == Role::K && p.reduced() >= 8 ? 3 << 15 : 1 << 17;
    if (p.reduced() > few(p) && p.modes[0].role == Role::R && reads_along(p, p.modes[0])) return 0;
    return p.modes[0].role == Role::K && p.kept() >= 16 && !ReduceStrided::wide(p) ? 1 << 15 : 1 << 13;
  }
  static bool accepts(const Problem &p, const Device &) {
    if (p.kept() <= 1 || p.reduced() <= 1) return p.kept() > 1 && p.kept() <= kSingle && p.reduced() == 1;
    return p.kept() <= most(p) && p.reduced() <= most(p) / p.kept();
  }
};

}  // namespace tcu::cuda::rows
#endif
