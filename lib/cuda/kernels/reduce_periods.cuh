// reduce.periods: outputs of a few elements that lie between each other's, the same again and again ('K R K', 'R K R K'): the columns of
// many small matrices, sums over the middle of three short modes.
// A block copies p.detail periods, of some outputs each, to shared memory at once (device/bulk.cuh); a thread has an output, whose elements
// it finds there by one or two R modes. kAround: many periods begin at the same banks of shared memory, so the threads of each begin a step further
// on than those of the one before, and come to their first elements last.
#pragma once
#include "device/append.cuh"
#include "device/bulk.cuh"
#include "kernels/reduce_staged.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, bool kAround>
struct reduce_periods {
  using T = first_of<typename Map::Inputs>;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int kResident = resident<F, 1>(8), kItems = 4;
  using AwaitsTurn = reduce_periods;
  static_assert(Map::Inputs::size == 1 && !(kAround && F::kPositions));

  // n elements from `at` on, `step` from one to the next, whose positions are `weight` apart; kAround: those from the `first` on, and then the others.
  template <class P>
  TCU_DEVICE static void add(const P &p, State (&s)[1], const T *at, int n, int step, int first, Index position, Index weight) {
    const auto next = [&](int i) {
      const T *const here = kAround ? at + (first + i < n ? first + i : first + i - n) * step : at;
      if constexpr (!kAround) at += step;
      return Raw<T, 1>::staged(here);
    };
    Pack<1, typename Map::Inputs> x[kItems];
    Index where[kItems];
    int i = 0;
#pragma unroll 1
    for (; i + kItems <= n; i += kItems) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) x[k].first = next(i + k), where[k] = position + (i + k) * weight;
      append_rows<F, Map, false, true>(p, s, x, where, [](int) { return true; });
    }
#pragma unroll 1
    for (; i < n; ++i) {
      x[0].first = next(i);
      s[0] = F::add(s[0], apply_at<Map>(p, x[0], 0), position + i * weight);
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED_LINES(uint4, lines, kStagedBytes / 16 + 7);
    const auto &inner = p.mode[0], &outer = p.mode[1];
    const int each = int(inner.extent), period = int(outer.in[0]), t = int(threadIdx.x);
    const Index periods = Index(outer.extent), chunk = Index(p.detail), first = Index(blockIdx.x) * chunk;
    const int here = int(periods - first < chunk ? periods - first : chunk), count = here * period;
    const T *const from = static_cast<const T *>(p.in[0]) + first * period;
    if (begins_early<reduce_periods>()) ask_ahead(from, count * int(sizeof(T)), 1, 0);
    await_turn();
    const T *const elements = stage(lines, from, count, p.floods());
    // Along the longer of two R modes, so that more is under way at once.
    const bool several = p.n_folded > 1;
    const int longer = several && p.mode[3].extent > p.mode[2].extent;
    const auto &r = p.mode[2 + longer], &across = p.mode[3 - longer];
    const int rows = several ? int(across.extent) : 1, apart = int(across.in[0]);
    const int n = int(r.extent), step = int(r.in[0]);
#pragma unroll 1
    for (int i = t; i < here * each; i += kThreads) {
      const int of = int(divide(Index(i), inner.divisor)), k = i - of * each;
      State s[1] = {F::identity()};
#pragma unroll 1
      for (int row = 0; row < rows; ++row)
        add(p, s, elements + of * period + k * int(inner.in[0]) + row * apart, n, step, kAround ? of % n : 0, row * Index(across.weight), Index(r.weight));
      store_result<F, Out>(p, (first + of) * Index(outer.out) + k * Index(inner.out), s[0], p.folded);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include <numeric>

namespace tcu::cuda::rows {

struct ReducePeriods {
  // Two K modes, the outer of which leads from a period to the next, and within it nothing but its outputs' elements.
  static bool accepts(const Problem &p, const Device &) {
    const int n = p.modes.size(), folded = p.modes.n_of(Role::R);
    if (p.n_inputs != 1 || p.empty() || folded < 1 || folded > 2 || n - folded != 2 || p.modes[n - 1].role != Role::K) return false;
    if ((1 << p.alignment[1]) < 16) return false;
    int64_t period = 1;
    for (const Mode &m : p.modes) {
      if (m.stride[1] != period) return false;
      if (&m != &p.modes[n - 1]) period *= m.extent;
    }
    return chunk(p) > 0 && periods(p) < INT32_MAX;
  }
  static int64_t period(const Problem &p) { return p.modes[p.modes.size() - 1].stride[1]; }
  static int64_t periods(const Problem &p) { return p.modes[p.modes.size() - 1].extent; }
  // After how many a period begins where 16 bytes do; and how many of these a tile has at most.
  static int64_t unit(const Problem &p) { return 16 / std::gcd(int64_t(16), period(p) * bytes_of(p.in[0])); }
  static int64_t chunk(const Problem &p) { return kStagedBytes / (period(p) * bytes_of(p.in[0])) / unit(p) * unit(p); }
  // Of 105 random problems (H100) it was faster in 85, 0.24 to 0.97 of the time; of the others most are little, or whole vectors, which
  // reduce.strided and reduce.contiguous read. Of short rows before one R mode these are slower too: of 176 problems of 2 to 16 columns of 16 to 200
  // elements, 8 and 128 MB (H100), this is chosen for 146, of which 137 took 0.38 to 1.02 of the time of the best other row, nine up to 1.19.
  // Of 2 bytes (rows of 30, 50 and 100 before 16 to 128 of one R mode, 128 MB, H200) positions took 1.2 to 1.7 times as long as by reduce.strided, and
  // variances 1.1 to 1.5 where rows are of 100 bytes and more, and periods of 3 KB.
  static bool suits(const Problem &p, const Device &) {
    const Mode &fast = p.modes[0];
    const int64_t outputs = chunk(p) * (p.kept() / periods(p)), row = fast.extent * bytes_of(p.in[0]);
    const bool much = p.bytes() >= 32 << 20, columns = fast.role == Role::K && p.modes.size() == 3 && !is_arg(p.op);
    const bool between = fast.role == Role::K && p.modes.size() == 3 && bytes_of(p.in[0]) == 2 && much;
    if (between && (is_arg(p.op) || (appends(p) && row >= 100 && 2 * period(p) >= 3 << 10))) return false;
    if (p.bytes() < 3 << 19 || outputs < (columns && much && !appends(p) ? 12 : 32)) return false;
    if (row % 16 != 0) return true;
    if (columns) return much ? suits_columns(p, row) : row <= 32 && p.reduced() >= 24 && p.reduced() <= 100;
    if (fast.role != Role::R || p.modes.n_of(Role::R) != 2 || fast.extent > 8 || p.reduced() > 100) return false;
    return much || (p.bytes() >= 4 << 20 && outputs >= 64);
  }
  // Columns in rows that are whole vectors. (90 problems of whole vectors of 100 MB, H200: 0.71 to 0.99 of the time of reduce.strided, of others up to 1.14;
  // of rows of R that are chosen above 0.385 to 0.92 of the time of the best other row, from 4 MB on 0.41 to 0.84, of others up to 14 times.)
  static bool suits_columns(const Problem &p, int64_t row) {
    const int64_t n = p.reduced();
    const bool bytes = bytes_of(p.in[0]) == 1;
    const struct {
      bool is, faster;
    } kinds[] = {
        {row <= 32, n >= 8},
        {row <= 64, n >= (bytes ? 8 : 12)},
        {row <= 128, n >= (bytes ? 8 : 32) && n < 64},
        {true, false},
    };
    return first_kind(kinds).faster;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    const int64_t some = ceil_div(ceil_div(periods(p), int64_t(d.processors) * 8), unit(p)) * unit(p);  // for all blocks that find room
    c.block = kThreads, c.detail = int(std::min(chunk(p), some)), c.floods = ReduceStaged::floods(p, d);
    c.grid = ceil_div(periods(p), c.detail);
    return c;
  }
  // Whether a warp's threads would meet in the banks of shared memory: of periods that are whole lines of them, and have few outputs.
  static bool around(const Problem &p) {
    return !is_arg(p.op) && p.modes[0].role == Role::K && p.modes[0].extent <= 4 && period(p) * bytes_of(p.in[0]) % 128 == 0;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_periods", {around(p) ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
