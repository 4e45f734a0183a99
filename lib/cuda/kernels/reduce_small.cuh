// reduce.small: segments of up to some hundred elements ('R K').
// Variant 1, one R mode, contiguous, every segment whole vectors of 16 bytes: p.lanes threads (a power of two up to a warp) have
// the segment, 1 << p.detail vectors of it each, and as many segments as make kItems vectors in flight. Variant 2 is reduce_staged.cuh;
// variant 0 is the body of reduce.contiguous, with few lanes.
#pragma once
#include "kernels/reduce_contiguous.cuh"
#include "kernels/reduce_staged.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, unsigned kOnce>
struct reduce_small {
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kVector<typename Map::Inputs>;
  static constexpr int N = Map::Inputs::size;
  using AwaitsTurn = reduce_small;
  // What a lane holds of an output: a state or, where it does, the key of the first best, whose number tells a segment's elements apart.
  static constexpr bool kKeys = kHasKeys<F, Map, V>;
  using Lanes = select_t<kKeys, FoldOfKeys, F>;
  using Held = typename Lanes::State;
  static constexpr int kMost = sizeof(Held) > 8 ? 3 : sizeof(Held) > 4 ? 4 : 5;  // blocks that spill nothing
  static constexpr int kResident = resident<F, kTogether<F, Map> ? 1 : V>(kMost), kItems = 4;

  template <class P>
  TCU_DEVICE static State state(const P &p, Held held, Index position) {
    if constexpr (kKeys) {
      const Index at = Index(p.folded) - 1 - keys_of_t<F, Map>::after(held);
      return {keys_of_t<F, Map>::rank(held), position + at * Index(p.mode[p.n_kept].weight)};
    } else {
      return held;
    }
  }
  // A vector, from element `at` of its segment on.
  template <class P>
  TCU_DEVICE static Held fold_vector(const P &p, const Pack<V, typename Map::Inputs, kOnce> &x, Index position, Index at) {
    if constexpr (kKeys) {
      return first_best<F, Map, V, kOnce, 1>({x}) + int32_t(Index(p.folded) - V - at);  // what comes after the vector
    } else if constexpr (kTogether<F, Map>) {
      State s[1] = {F::identity()};
      append_vector<F, Map, true>(p, s, x, position, at);
      return s[0];
    } else {
      const Index weight = Index(p.mode[p.n_kept].weight);
      State e[V];
#pragma unroll
      for (int v = 0; v < V; ++v) e[v] = F::lift(apply_at<Map>(p, x, v), position + (at + v) * weight);
      return combine_all<F>(e);
    }
  }

  // kItems vectors of each thread of a warp, and what they come to: outputs from `first` on, kItems >> log for each group of lanes. kEven:
  // all of them are there, in one mode, and each has so many vectors as its lanes take.
  template <bool kEven, bool kStreamed, class P>
  TCU_DEVICE static void tile(const P &p, Index first) {
    const int lanes = p.lanes, log = p.detail;
    const int t = int(threadIdx.x) % 32, groups = quotient(32, lanes), lane = remainder(t, lanes), each = 1 << log;
    const Index n = Index(p.kept), vectors = Index(p.folded) / V;
    const auto cell = [&](int k) { return first + (k >> log) * groups + quotient(t, lanes); };
    const auto vector = [&](int k) { return Index((k & (each - 1)) * lanes + lane); };
    const auto there = [&](int k) { return kEven || (cell(k) < n && vector(k) < vectors); };
    Pack<V, typename Map::Inputs, kOnce> x[kItems];
    Offsets<N, Index> o[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (!there(k)) continue;
      if constexpr (kEven) advance(o[k], p.mode[0], cell(k));
      else decode(o[k], p, 0, p.n_kept, cell(k));
      load_pack<V, true, kStreamed>(x[k], p, o[k], p.n_kept, vector(k) * V, 0);
    }
    Held s[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) s[k] = there(k) ? fold_vector(p, x[k], o[k].weight, vector(k) * V) : Lanes::identity();
#pragma unroll
    for (int h = 1; h < kItems; h *= 2)
      if (h < each) {
#pragma unroll
        for (int k = 0; k + h < kItems; k += 2 * h) s[k] = Lanes::combine(s[k], s[k + h]);
      }
#pragma unroll 1
    for (int h = lanes / 2; h > 0; h /= 2)
#pragma unroll
      for (int bit = kItems; bit > 0; bit /= 2) {  // outputs are at multiples of `each`: those of lower bits are none
        if (bit < each) break;
#pragma unroll
        for (int k = bit % kItems; k < kItems; k += 2 * bit) s[k] = Lanes::combine(s[k], shuffle_xor(s[k], h));
      }
    // A group's lanes all have its outputs, and share them out: a store is of neighbours.
#pragma unroll 1
    for (int k = lane << log; k < kItems && (kEven || cell(k) < n); k += lanes << log) {
      Held mine = s[0];
#pragma unroll
      for (int i = 1; i < kItems; ++i)
        if (i == k) mine = s[i];
      Offsets<N, Index> to;
      if constexpr (kEven) advance(to, p.mode[0], cell(k));
      else decode(to, p, 0, p.n_kept, cell(k));
      store_result<F, Out>(p, to.out, state(p, mine, to.weight), p.folded);
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept), outputs = Index(quotient(32, p.lanes)) * (kItems >> p.detail), warps = kThreads / 32;
    const bool even = p.n_kept == 1 && Index(p.lanes << p.detail) * V == Index(p.folded);
    const Index own = (Index(blockIdx.x) * warps + threadIdx.x / 32) * outputs;
    const int t = int(threadIdx.x) % 32;
    if (const Index cell = own + quotient(t, p.lanes); cell < n && begins_early<reduce_small>()) {
      Offsets<N, Index> o;
      decode(o, p, 0, p.n_kept, cell);
      look_ahead<V, 1, kOnce>(typename Map::Inputs{}, p, o, p.n_kept, Index(0), Index(remainder(t, p.lanes)), Index(p.folded) / V, 1);
    }
    await_turn();
#pragma unroll 1
    for (Index first = own; first < n; first += Index(gridDim.x) * warps * outputs) {
      if (!even || first + outputs > n) tile<false, true>(p, first);
      else if (p.floods()) tile<true, false>(p, first);
      else tile<true, true>(p, first);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ReduceSmall : ReduceContiguous {
  static constexpr int kItems = 4, kLanes = 32;
  static bool accepts(const Problem &p, const Device &d) {
    const int64_t v = vector_of(p, false), most = kItems * kLanes * v;  // of whole vectors, by lanes
    if (p.reduced() > most) return ReduceStaged::accepts(p) && p.reduced() % v != 0 && ReduceStaged::segments(p) > 1;
    return ReduceContiguous::accepts(p, d) || ReduceStaged::accepts(p);
  }
  static bool suits(const Problem &p, const Device &d) {
    // Of a few segments of vectors reduce.contiguous has more in flight.
    const bool few = ReduceRows::accepts(p) && (p.kept() == 1 || (p.reduced() >= 64 && p.reduced() * p.kept() < 1 << 18));
    // Element by element is faster. (Six and more of 4 and 8 bytes, in line, are this row's from 1 MiB on: of six random problems it was
    // faster in all, 0.50 to 0.91 of the time, H100 and H200.)
    const int64_t bytes = p.reduced() * p.kept() * bytes_of(p.in[0]);
    const bool early = p.reduced() >= 6 && bytes_of(p.in[0]) >= 4 && ReduceStaged::accepts(p);
    const int enough = early ? 1 : p.reduced() <= 3 ? 24 : p.reduced() < 8 ? 8 : 4;  // MiB
    const bool short_work = p.reduced() < 16 && bytes < int64_t(enough) << 20;
    const int modes = p.modes.n_of(Role::R);
    if (modes == 0) return ReduceStaged::accepts(p);
    // Long ones that are no whole vectors: two tiles and more for each multiprocessor (H200, 513 to 6001 elements of 4 to 100 MB: 0.34 to 1.06 of the
    // time of reduce.contiguous).
    const int64_t v = vector_of(p, false);
    const bool staged = ReduceStaged::accepts(p), long_ones = p.reduced() > 96 * v && p.reduced() % v != 0;
    if (staged && long_ones && p.kept() < 2 * d.processors * ReduceStaged::segments(p)) return false;
    // A lane would read here and there: such as are not in line; of 4 MB and more all of less than 64 bytes, but of single bytes (of five random
    // problems reduce.general was faster in all, 0.50 to 0.81 of the time, H100 and H200).
    const bool far = modes == 1 && bytes >= 4 << 20 && bytes_of(p.in[0]) > 1 && p.reduced() * bytes_of(p.in[0]) < 64;
    const bool apart = !ReduceStaged::accepts(p) && (p.reduced() < 8 || far);
    if (few || short_work || apart) return false;
    const Mode &r = *fastest(p, Role::R);
    // Several rows of an output: such as begin anywhere, or so few vectors in all that a warp for an output would be idle.
    const bool vectors = ReduceRows::accepts(p), brief = p.reduced() <= 10 * vector_of(p, false);
    // Not of 8 bytes: by reduce.general 0.44 to 0.99 of the time in eight of eight random problems.
    // (Rows of 5 to 15 float32, 5 and 20 of them, of 8 to 100 MB: by reduce.general 0.57 to 1.00 in 40 of 45, 1.19 at most, H100.)
    const int least = bytes_of(p.in[0]) < 4 ? 6 : 16;
    const bool worth = vectors ? brief && p.kept() >= 20000 : p.n_inputs == 1 && r.extent >= least && p.kept() >= 1500;
    const bool rows = modes == 1 || (worth && bytes_of(p.in[0]) < 8);
    return rows && (ReduceStaged::accepts(p) || !jumps_along(p, r));
  }
  // One row an output, and vectors throughout; through shared memory rather than by lanes that have nothing to read, where folding takes longer than
  // reading, and where rows are lines of 128 bytes and their results more than the L2 cache keeps (2^30 float16 503 to 505 us for 506).
  static bool whole(const Problem &p, const Device &d) {
    if (!ReduceRows::accepts(p) || p.modes.n_of(Role::R) != 1 || p.reduced() % vector_of(p, false) != 0) return false;
    if (!ReduceStaged::accepts(p)) return true;
    if (ReduceStaged::outruns(p)) return false;
    const int64_t vectors = p.reduced() / vector_of(p, false);
    if (vectors == 8 && bytes_of(p.in[0]) == 2 && ReduceStaged::floods(p, d)) return false;
    return (vectors & (vectors - 1)) == 0 && !(vectors == 2 && kind_of(p.in[0]) == Kind::Float && bytes_of(p.in[0]) == 1);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    if (!whole(p, d)) {
      if (!ReduceStaged::accepts(p)) return configure_lanes("reduce.small", p, d, lanes_for(p, d, kLanes));
      LaunchConfig c = ReduceStaged::configure(p, d);
      c.variant = 2;
      return c;
    }
    const int64_t vectors = p.reduced() / vector_of(p, false);
    int lanes = 1;  // what a warp reads at once is whole lines of 128 bytes
    while (lanes < vectors && (lanes < 8 || lanes * kItems < vectors)) lanes *= 2;
    LaunchConfig c;
    c.floods = ReduceStaged::floods(p, d);
    c.variant = 1, c.block = kThreads, c.lanes = lanes, c.vector = vector_of(p, false), c.detail = 0;
    while ((lanes << c.detail) < vectors) ++c.detail;
    c.grid = persistent_grid("reduce.small", p, d, ceil_div(p.kept(), int64_t(kThreads / lanes) * (kItems >> c.detail)));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    if (c.variant == 2) return make_instance(p, "reduce_staged");
    return make_instance(p, c.variant ? "reduce_small" : "reduce_contiguous", {ReduceRows::once(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
