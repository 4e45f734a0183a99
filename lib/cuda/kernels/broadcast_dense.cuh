// broadcast.dense: out is dense from an aligned address on, but its rows, the runs along its fastest mode, are no whole vectors
// ('K K ...').
// A thread takes V neighbouring elements of out as one vector wherever the rows end: they lie in one row or in two. An input that is laid
// out as out is (its bit in p.detail is not set) is read as one vector too; of one that is the same all along a row (kOnce, a bit an input)
// the element of this row and that of the next are read; one that is contiguous along the row as two vectors, which are put together; any
// other, and where a row ends, element by element, in the row that the element is in. The last elements, fewer than V, go one by one.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/rows.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, unsigned kOnce>
struct broadcast_dense {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, V = kVector<Inputs, Out>;
  static constexpr int kResident = map_blocks<Map, Acc, V>(is_light<Map, Acc> ? 8 : 4);  // registers are what limits it
  using AwaitsTurn = broadcast_dense;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept), step = Index(gridDim.x) * kThreads * V;
#pragma unroll 1
    for (Index at = (Index(blockIdx.x) * kThreads + Index(threadIdx.x)) * V; at < n; at += step) {
      if (at + V > n) {
        await_turn();
        put_singles<Map, Acc, Out>(p, at, n);
        continue;
      }
      const Index row = divide(at, p.mode[0].divisor);
      Place<N, Index> to(p, at - row * Index(p.mode[0].extent));
      to.template move<V>(p, row);
      RowPack<V, Inputs, kOnce> x;
      await_turn();
      load_rows<V>(x, p, to, at, unsigned(p.detail));
      put_rows<Map, Acc, Out>(p, x, to.left, at);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include <bit>

#include "kernels/broadcast_sliding.cuh"

namespace tcu::cuda::rows {

struct BroadcastDense {
  // Whether operand k starts aligned and is laid out as out would be if it were dense.
  static bool dense(const Problem &p, int k) {
    return (1 << p.alignment[k]) >= vector_of(p, true) * bytes_of(p.dtype(k)) && is_dense(p, k);
  }
  static bool accepts(const Problem &p, const Device &) {
    const int v = vector_of(p, true);
    return v > 1 && p.modes.size() > 1 && p.modes[0].extent >= v && BroadcastGeneral::vector(p) < v && dense(p, 0);
  }
  // Bits of the inputs that are laid out otherwise.
  static int apart(const Problem &p) {
    int inputs = 0;
    for (int k = 1; k <= p.n_inputs; ++k) inputs |= !dense(p, k) << (k - 1);
    return inputs;
  }
  static bool none_as_out(const Problem &p) { return apart(p) + 1 == 1 << p.n_inputs; }
  // Whether rows are whole numbers of half a vector, and broadcast.general or broadcast.sliding_register, which take them by such, is the faster one: an
  // input that is laid out otherwise than out is one access for each half there, and mostly one for each element here. (H200, 153 problems of 128 MB,
  // rows of 10 to 2044 elements: of 16 bits 0.67 to 1.07 of the time, 0.84 in the mean, of 8 bits 0.36 to 0.96, 0.63, of 32 bits 0.91 to 1.07, 0.98.)
  static bool halves_do(const Problem &p) {
    const int v = vector_of(p, true), half = BroadcastGeneral::vector(p);
    if (half < 2 || 2 * half != v) return false;
    const int once = int(BroadcastGeneral::once(p, half)), apart = BroadcastDense::apart(p) & ~once;
    const int64_t extent = p.modes[0].extent;
    const bool long_rows = extent >= kLongRun * v;
    bool whole = false;  // some input that is laid out otherwise has an element for each of out
    for (int k = 1; k <= p.n_inputs; ++k) {
      if (!(apart >> (k - 1) & 1)) continue;
      if (p.modes[0].stride[k] != 1 || (long_rows && !rows_aligned(p, 0, k, half))) return false;
      whole |= has_every_mode(p, k);
    }
    const bool several = std::popcount(unsigned(apart)) > 1, alone = none_as_out(p);
    const struct {
      bool is, faster;
    } kinds[] = {
        {v == 16, apart != 0 || std::popcount(unsigned(once)) > 1},  // of bytes an element takes longest
        {alone && p.n_inputs > 1, true},                              // two parts of one tensor, several outer products
        {several, p.n_inputs > 3 || (v == 8 && (whole || !long_rows))},
        {once != 0 && apart != 0 && !whole, v == 8 && extent < 32 * v},  // a factor for each row and a term for each column
        {v < 8 || apart == 0, false},
        {whole, !long_rows},                        // else read in two words (load_anywhere)
        {true, alone && extent < 24 * v},           // what the caches hold
    };
    return first_kind(kinds).faster;
  }
  // Whether no input is laid out as out is, so that instructions take the time, of which broadcast.sliding_register has fewer: of what broadcast.periodic,
  // which comes before, leaves. (H200, sums over a grid of three inputs: 0.51 to 0.76 of the time.)
  static bool slides(const Problem &p, const Device &d) {
    const int v = vector_of(p, true);
    return v <= 4 && p.n_inputs >= (v == 2 ? 2 : 3) && none_as_out(p) && BroadcastSlidingRegister::suits(p, d);
  }
  static bool leaves(const Problem &p, const Device &d) { return halves_do(p) || slides(p, d); }
  static bool suits(const Problem &p, const Device &d) { return !leaves(p, d); }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true), c.detail = apart(p);
    const int64_t blocks = ceil_div(p.kept(), int64_t(kThreads) * c.vector);
    c.grid = persistent_grid("broadcast.dense", p, d, ceil_div(blocks, steps_of(blocks, c.vector >= 8 ? 2 : 1, d)));  // of few bytes more
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_dense", {bits_text(BroadcastGeneral::once(p, c.vector))});
  }
};

}  // namespace tcu::cuda::rows
#endif
