// reduce.tcu.segmented: sums and means along a contiguous mode ('R K', 'R'), of elements or their products with weights, on tensor cores.
// A product of the elements with a column of ones has in each row the sum of what four neighbouring lanes, a quad, have read, 16 bytes
// each (tcu/row_sums.cuh). p.lanes threads (a power of two up to the block) have a segment: half a quad, a quad or several, whose sums
// are added as in every other kernel. These are the variants of Dakkak et al. 2019, 4 ("Accelerating reduction and scan using tensor core
// units"): Reduction_16 and Reduction_16N with 2 to 8 lanes, Reduction_256 and Reduction_256N with a warp, the block-level reduction with
// more, and the grid-level one with p.split > 1, in one launch and in a fixed order (device/split.cuh).
// p.lanes == 1: a segment is one piece, of 8- or 16-bit floats, and the second operand selects the lane (singles()); where a sum is not
// finite, which may be another lane's doing, the lanes add up their own elements. (For 8-bit integers too the kernel would have 65
// registers, and one block fewer a multiprocessor: 512 x 512 x 1024 over the first 76 us for 66.)
// p.detail >= 0: a thread has 1 << p.detail pieces of 16 bytes of a segment, and as many segments as make kItems pieces; < 0: all of a
// segment, kRound pieces at a time. kDense: segments lie one after another and begin anywhere; a piece that two share is read for
// both, zeros in place of what is not the segment's. Else every segment is whole pieces.
// Products accumulate as often as RowSums allows it, what they come to is added by ordinary additions, of a long segment's rounds to a Total.
// With two inputs, the second the same for every segment, each element is multiplied by its weight (2.4, their matrix times a vector).
#pragma once
#include "device/bulk.cuh"
#include "device/groups.cuh"
#include "device/piece.cuh"
#include "device/total.cuh"

namespace tcu::cuda {
// Blocks that spill nothing.
TCU_FN constexpr int tensor_resident(int inputs, bool float8, int element_bytes, int sum_bytes) {
  return inputs > 1 || float8 || element_bytes == 4 || sum_bytes > 4 ? 3 : 4;
}
inline constexpr int kTensorItems = 8;                                       // pieces of a thread's segments that are in flight
TCU_FN constexpr int tensor_round(int inputs) { return kTensorItems / inputs; }  // the same of a long segment, beside as many weights
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, bool kDense>
struct reduce_tcu_segmented {
  using T = first_of<typename Map::Inputs>;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  using Sums = RowSums<T>;
  static constexpr bool kWeighted = Map::Inputs::size == 2;
  static constexpr int kItems = kTensorItems, kRound = tensor_round(Map::Inputs::size), E = 16 / int(sizeof(T));
  static constexpr int kResident = tensor_resident(Map::Inputs::size, is_short_float<T> && sizeof(T) == 1, sizeof(T), sizeof(State));
  static constexpr bool kHasPairs = sizeof(T) < 4, kHasSingles = is_short_float<T> && !kWeighted && !kDense;

  // A segment, whose pieces lie in memory from `from` on, `ahead` elements before its first.
  struct Segment {
    const T *from;
    int ahead;
    bool there;
  };
  template <class P>
  TCU_DEVICE static Segment segment(const P &p, Index offset) {
    const T *const first = static_cast<const T *>(p.in[0]) + offset;
    const int ahead = kDense ? int(reinterpret_cast<uint64_t>(first) / sizeof(T) % E) : 0;
    return {first - ahead, ahead, true};
  }
  template <class P>
  TCU_DEVICE static Segment segment_of(const P &p, Index cell) {
    if (cell >= Index(p.kept)) return {nullptr, 0, false};
    Offsets<1, Index> o;
    decode(o, p, 0, p.n_kept, cell);
    return segment(p, o.in[0]);
  }
  template <class P>
  TCU_DEVICE static Piece load(const P &p, const Segment &s, Index at) {
    Piece x = {};
    const T *const from = s.from + at * E;
    if (!s.there || at * E - s.ahead >= Index(p.folded)) return x;
    if (kDense) {
      const T *const end = static_cast<const T *>(p.in[0]) + Index(p.kept) * Index(p.folded);
      if (end - from < E) {  // the last piece of all, of which some is not the tensor's
        Vec<T, E> e = {};
        for (int i = 0; i < int(end - from); ++i) e.at[i] = from[i];
        return __builtin_bit_cast(Piece, e);
      }
    }
    return __builtin_bit_cast(Piece, load_word<true>(reinterpret_cast<const uint4 *>(from)));
  }
  // Piece `at` without what is not the segment's.
  template <class P>
  TCU_DEVICE static void cut(const P &p, const Segment &s, Index at, Piece &x) {
    if constexpr (kDense) {
      const Index before = s.ahead - at * E, left = Index(p.folded) + before;  // elements of x that come before it, and up to its end
      constexpr int kBytes = int(sizeof(T));
      if (before > 0 || left < E) keep_bytes(x, before > 0 ? int(before) * kBytes : 0, left < E ? int(left) * kBytes : 16);
    }
  }

  // The weights of piece `at`.
  template <class P>
  TCU_DEVICE static Piece weights(const P &p, Index at) {
    if (!kWeighted || at * E >= Index(p.folded)) return {};
    return __builtin_bit_cast(Piece, load_word<false>(reinterpret_cast<const uint4 *>(static_cast<const T *>(p.in[kWeighted]) + at * E)));
  }
  // The products that a piece takes part in, and what they come to. pairs: lanes work together by two.
  TCU_DEVICE static void multiply(Sums &sums, const Piece &x, const Piece &w, bool pairs) {
    if constexpr (kWeighted) sums.add_weighted(x, w);
    else if constexpr (kHasPairs) pairs ? sums.add_by_pairs(x, threadIdx.x & 2) : sums.add(x);
    else sums.add(x);
  }
  TCU_DEVICE static State sum_of(const Sums &sums, bool pairs) {
    if constexpr (kWeighted) return State(sums.weighted_sum(int(threadIdx.x) % 32));
    else if constexpr (kHasPairs) return State(pairs ? sums.sum_of_row(threadIdx.x & 2) : sums.sum());
    else return State(sums.sum());
  }

  // kItems / kEach segments for each group of lanes of a warp: outputs from `first` on.
  template <int kEach, class P>
  TCU_DEVICE static void tile(const P &p, Index first) {
    constexpr int kSegments = kItems / kEach;
    const int lanes = p.lanes, t = int(threadIdx.x) % 32, groups = quotient(32, lanes), lane = remainder(t, lanes);
    const auto cell = [&](int s) { return first + s * groups + quotient(t, lanes); };
    Segment segments[kSegments];
    Piece x[kItems], w[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) w[e] = weights(p, Index(e * lanes + lane));
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (k % kEach == 0) segments[k / kEach] = segment_of(p, cell(k / kEach));
      x[k] = load(p, segments[k / kEach], Index(k % kEach * lanes + lane));
    }
    State r[kSegments];
#pragma unroll
    for (int s = 0; s < kSegments; ++s) {
      Sums sums;
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const int k = s * kEach + e;
        cut(p, segments[s], Index(e * lanes + lane), x[k]);
        multiply(sums, x[k], w[e], lanes == 2);
        if ((e + 1) % Sums::kMost != 0 && e + 1 < kEach) continue;
        r[s] = e < Sums::kMost ? sum_of(sums, lanes == 2) : F::combine(r[s], sum_of(sums, lanes == 2));
        sums = {};
      }
    }
#pragma unroll 1
    for (int h = 4; h < lanes; h *= 2)
#pragma unroll
      for (int s = 0; s < kSegments; ++s) r[s] = F::combine(r[s], shuffle_xor(r[s], h));
    // A group's lanes all have its outputs, and share them out: a store is of neighbours.
#pragma unroll 1
    for (int s = lane; s < kSegments; s += lanes) {
      if (cell(s) >= Index(p.kept)) continue;
      State mine = r[0];
#pragma unroll
      for (int i = 1; i < kSegments; ++i)
        if (i == s) mine = r[i];
      Offsets<1, Index> to;
      decode(to, p, 0, p.n_kept, cell(s));
      store_result<F, Out>(p, to.out, mine, p.folded);
    }
  }
  // kItems segments of one piece for each lane.
  template <class P>
  TCU_DEVICE static void singles(const P &p, Index first) {
    const int t = int(threadIdx.x) % 32;
    const bool by_two = p.n_kept == 1 && p.mode[0].out == 1 && is_aligned<Out, 2>(static_cast<Out *>(p.out));
    const auto put = [&](Index cell, State sum) {
      if (cell >= Index(p.kept)) return;
      Offsets<1, Index> to;
      decode(to, p, 0, p.n_kept, cell);
      store_result<F, Out>(p, to.out, sum, p.folded);
    };
    const auto put_two = [&](Index cell, State a, State b) {  // cell is even
      if (by_two && cell + 1 < Index(p.kept))
        store(p, static_cast<Out *>(p.out) + cell, Vec<typename F::Post, 2>{{F::post(p, a, p.folded), F::post(p, b, p.folded)}});
      else put(cell, a), put(cell + 1, b);
    };
    const auto piece = [&](int k) { return load(p, segment_of(p, first + k * 32 + t), Index(0)); };
    Piece x[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) x[k] = piece(k);
    State r[kItems];
    bool finite = true;
#pragma unroll
    for (int k = 0; k < kItems; k += 2) {
      Sums sums;
      sums.add_by_lanes(x[k], x[k + 1], t);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        r[k + i] = State(sums.sum_of_lane(i));
        finite = finite && m::isfinite(r[k + i]);
      }
    }
    if (__all_sync(kAllLanes, finite)) {
#pragma unroll
      for (int k = 0; k < kItems; k += 2) put_two(first + (k + t % 4 / 2) * 32 + t / 4 * 4 + t % 2 * 2, r[k], r[k + 1]);
      return;
    }
#pragma unroll 1
    for (int k = 0; k < kItems; ++k) {
      const auto e = __builtin_bit_cast(Vec<T, E>, piece(k));
      State sum = F::identity();
#pragma unroll
      for (int i = 0; i < E; ++i) sum = F::combine(sum, State(tcu::convert<compute_t<T>>(e.at[i])));
      put(first + k * 32 + t, sum);
    }
  }
  template <class P>
  TCU_DEVICE static void tiles(const P &p) {
    const int warps = kThreads / 32;
    const Index outputs = Index(quotient(32, p.lanes)) * (kItems >> p.detail);
#pragma unroll 1
    for (Index first = (Index(blockIdx.x) * warps + threadIdx.x / 32) * outputs; first < Index(p.kept);
         first += Index(gridDim.x) * warps * outputs) {
      if constexpr (kHasSingles) {
        if (p.lanes == 1) {
          singles(p, first);
          continue;
        }
      }
      if (p.detail == 0) tile<1>(p, first);
      else if (p.detail == 1) tile<2>(p, first);
      else tile<4>(p, first);
    }
  }

  // A lane's share of a segment's sum, or of part `part` of it.
  template <class P>
  TCU_DEVICE static State share(const P &p, const Segment &s, Index part, int lane, int lanes) {
    const Index all = Index(kRound) * lanes, pieces = kDense ? (Index(p.folded) + 2 * E - 2) / E : Index(p.folded) / E;  // at most
    Total<F> total;
#pragma unroll 1
    for (Index first = part * all; first < pieces; first += Index(p.split) * all) {
      Piece x[kRound], w[kRound];
#pragma unroll
      for (int k = 0; k < kRound; ++k) {
        x[k] = load(p, s, first + k * lanes + lane);
        w[k] = weights(p, first + k * lanes + lane);
      }
      Sums sums;
      State round = F::identity();
#pragma unroll
      for (int k = 0; k < kRound; ++k) {
        cut(p, s, first + k * lanes + lane, x[k]);
        multiply(sums, x[k], w[k], false);
        if ((k + 1) % Sums::kMost == 0 || k + 1 == kRound) round = F::combine(round, sum_of(sums, false)), sums = {};
      }
      total.add(round);
    }
    return lane % 4 == 0 ? total.all() : F::identity();  // a quad's lanes all have its sum
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    if (p.detail >= 0) {
      // Nearly always there is one mode of either kind: then where a segment lies is no loop, between a load and the next.
      if constexpr (!knows_modes<P>)
        if (p.n_kept == 1) return tiles(of_modes<1, 1>(p));
      return tiles(p);
    }
    for_groups<F, Out, kWeighted + 1, Index>(p, [&](const Offsets<kWeighted + 1, Index> &o, Index part, int lane, int lanes) {
      return share(p, segment(p, o.in[0]), part, lane, lanes);
    });
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_split.cuh"

namespace tcu::cuda::rows {

inline bool is_product(const TypedExpr &map) {
  return map.steps.size() == 3 && map.steps[0].kind == Step::Kind::input && map.steps[1].kind == Step::Kind::input &&
         map.steps[0].index != map.steps[1].index && map.steps[2].kind == Step::Kind::op && map.steps[2].op == Op::mul;
}
inline bool is_float8(DType d) { return kind_of(d) == Kind::Float && bytes_of(d) == 1; }
// Sums and means of what tensor cores multiply, one result each.
inline bool on_tensor_cores(const Problem &p, const Device &d) {
  const auto multiplies = [](DType in, DType acc) {
    switch (in) {
      case DType::f16: case DType::bf16: case DType::f32: case DType::f8e4m3: case DType::f8e5m2: return acc == DType::f32;
      case DType::f64: return acc == DType::f64;
      case DType::i8: case DType::u8: return acc == DType::i32 || acc == DType::i64 || acc == DType::u32 || acc == DType::u64;
      default: return false;
    }
  };
  if (d.major < 8 || p.n_inputs < 1 || p.gated() || p.n_more > 0) return false;
  if ((p.op != ReduceOp::sum && p.op != ReduceOp::mean) || !multiplies(p.in[0], p.acc)) return false;
  if (p.expr->is_identity()) return p.n_inputs == 1;
  const TypedExpr map = infer(*p.expr, p.in, p.n_inputs);
  return p.n_inputs == 1 ? map.steps.size() == 1 && map.steps[0].kind == Step::Kind::input : p.n_inputs == 2 && is_product(map);
}

struct ReduceTcuSegmented {
  static bool accepts(const Problem &p, const Device &d) {
    if (p.modes.n_of(Role::R) != 1 || p.modes[0].role != Role::R || p.modes[0].stride[1] != 1 || !on_tensor_cores(p, d)) return false;
    if (p.reduced() < fewest_lanes(p) * elements(p)) return false;
    return p.n_inputs == 2 ? weighs(p) && whole(p) : whole(p) || dense(p);
  }
  // What ordinary cores are slower at, on an H200 (docs/performance.md): rows of up to 2048 bytes times a vector, 1.3 to 1.4 times; segments of 8-bit
  // integers of lengths that reduce.small takes long for, up to 1.1 times where they come from the memory; and 8-bit floats, of which
  // ordinary cores take some three instructions each and these ten for 16 (eight conversions, two products): of 64 and 1024, 2^30 in all,
  // 266 and 243 us for 478 and 464; not of 48, which are three pieces for four lanes, 308 for 269, nor of 32, 343 for 280.
  // Of float64 in 16, 32, 64 and 128, 2^28 in all, 532, 515, 511 and 475 us for 568, 536, 515 and 506.
  // And rows of 8 and 16 bits that begin anywhere, where reduce.tcu.staged is not faster: 2 to 8 MB of odd lengths, of 65 elements 3.7 to
  // 5.0 us for 4.5 to 6.7, of 777 3.3 to 6.6 for 3.2 to 9.6; of other lengths from 1500 on 3.2 to 6.8 for 3.9 to 7.2.
  static bool suits(const Problem &p, const Device &d) {
    if (!whole(p)) {
      const int64_t n = p.reduced(), bytes = bytes_of(p.in[0]), least = n % 2 ? 64 : 1024;
      if (p.n_inputs > 1 || bytes > 2 || n <= least) return false;
      return !(ReduceSplit::accepts(p, d) && ReduceSplit::suits(p, d));
    }
    const int64_t bytes = p.reduced() * bytes_of(p.in[0]);
    if (p.n_inputs == 2) return bytes <= 2048;
    if (bytes_of(p.in[0]) == 8) return bytes >= 128 && bytes <= 1024 && (bytes & (bytes - 1)) == 0 && p.kept() * bytes >= 4 * d.l2_bytes;
    if (bytes_of(p.in[0]) != 1 || p.kept() * bytes < 4 * d.l2_bytes) return false;
    return is_float8(p.in[0]) ? bytes != 48 && bytes != 32 : bytes >= 1024 && bytes <= 4096;
  }

  // Whether the second input is the same for every segment; products of 16-bit floats are float32, as those of the tensor cores.
  static bool weighs(const Problem &p) {
    if ((p.in[0] != DType::f16 && p.in[0] != DType::bf16) || p.in[1] != p.in[0]) return false;
    if (p.modes[0].stride[2] != 1 || (1 << p.alignment[2]) < 16) return false;
    return std::all_of(p.modes.begin() + 1, p.modes.end(), [](const Mode &m) { return m.stride[2] == 0; });
  }
  static int fewest_lanes(const Problem &p) {
    if (bytes_of(p.in[0]) >= 4 || p.n_inputs > 1) return 4;
    return kind_of(p.in[0]) == Kind::Float && p.reduced() == elements(p) && whole(p) ? 1 : 2;
  }
  static int64_t elements(const Problem &p) { return 16 / bytes_of(p.in[0]); }  // of a piece
  static bool whole(const Problem &p) { return rows_aligned(p, 0, 1, int(elements(p))); }
  static bool dense(const Problem &p) {
    return (1 << p.alignment[1]) >= 16 && (p.modes.size() == 1 || (p.modes.size() == 2 && p.modes[1].stride[1] == p.modes[0].extent));
  }
  static int64_t pieces(const Problem &p) {
    const int64_t e = elements(p), extent = p.reduced();
    return whole(p) ? extent / e : (extent + 2 * e - 1 - std::min(extent & -extent, e)) / e;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const int64_t most = 32 * kTensorItems / 2;  // pieces of which a warp has two segments in flight
    LaunchConfig c;
    const int64_t n = pieces(p);
    c.block = kThreads, c.vector = int(elements(p)), c.detail = 0;
    if (n <= most && p.kept() * 4 >= d.processors) {
      const int line = p.n_inputs > 1 ? 4 : 8;  // lanes that read whole lines of 128 bytes; of products half, for a quad's sum takes long
      c.lanes = fewest_lanes(p);
      while (c.lanes < n && (c.lanes < line || c.lanes * kTensorItems / 2 < n)) c.lanes *= 2;
      while ((c.lanes << c.detail) < n) ++c.detail;
      c.grid = persistent_grid("reduce.tcu.segmented", p, d, ceil_div(p.kept(), int64_t(kThreads / c.lanes) * (kTensorItems >> c.detail)));
      return c;
    }
    c.detail = -1, c.lanes = 32;
    const int round = tensor_round(p.n_inputs);
    const auto few = [&] { return round * c.lanes < n && p.kept() * c.lanes < d.processors * 1024; };
    while (c.lanes < kThreads && (4 * round * c.lanes <= n || few())) c.lanes *= 2;
    c.grid = persistent_grid("reduce.tcu.segmented", p, d, ceil_div(p.kept(), kThreads / c.lanes));
    const int64_t units = n / (round * kThreads), resident = d.processors * tensor_resident(p.n_inputs, is_float8(p.in[0]), bytes_of(p.in[0]), bytes_of(p.acc));
    if (c.lanes == kThreads && p.kept() < resident && units > 1) {
      c.split = ReduceSplit::parts_for(p.kept(), resident, units);
      c.grid = p.kept() * c.split;
      ReduceSplit::keep_parts(c, p, p.kept(), 1, true);
    }
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_tcu_segmented", {whole(p) ? "false" : "true"});
  }
};

}  // namespace tcu::cuda::rows
#endif
