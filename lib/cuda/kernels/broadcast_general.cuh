// broadcast.general: any K modes, any strides ('K K ...').
// The elements are numbered in canonical order, out's fastest mode first. A thread takes V neighbours along that mode, decodes
// their place once, and reads each input there as one vector, as one element (a stride of 0), or one by one. V is the longest
// of 16 bytes, 8 bytes and one element that out's fastest mode allows: contiguous, aligned, and a multiple of V. With V = 1
// neighbouring threads have neighbouring elements. Which inputs are one element is in kOnce, a bit each: part of the kernel's type, so
// that there is nothing to ask where it is read. Bit i of p.detail is set where input i is to be read one by one; kPlain: none is.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, int V, unsigned kOnce, bool kPlain>
struct broadcast_general {
  using Elements = Pack<V, typename Map::Inputs, kOnce>;
  static constexpr int N = Map::Inputs::size;
  static constexpr int kResident = map_blocks<Map, Acc, V>(is_light<Map, Acc> ? 8 : 4);  // registers are what limits it
  using AwaitsTurn = broadcast_general;

  // Where step `at` lies: offsets without the fastest mode, and the element along that.
  template <class P>
  TCU_DEVICE static Index place(const P &p, Index at, Offsets<N, Index> &o) {
    if (p.n_kept == 0) return 0;
    Index element = at * V;
    if (p.n_kept > 1) {
      const Index row = divide(element, p.mode[0].divisor);
      element -= row * Index(p.mode[0].extent);
      decode(o, p, 1, p.n_kept, row);
    }
    return element;
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept) / V, step = Index(gridDim.x) * kThreads;
#pragma unroll 1
    for (Index at = Index(blockIdx.x) * kThreads + Index(threadIdx.x); at < n; at += step) {
      Elements x;
      Offsets<N, Index> o;
      const Index element = place(p, at, o);
      await_turn();
      load_pack<V, kPlain, false, kOnce>(x, p, o, 0, element, 0);  // first: behind a question the compiler would wait for the others
      load_pack<V, kPlain, false, ~kOnce>(x, p, o, 0, element, unsigned(p.detail));
      put_pack<Map, Acc, Out>(p, x, o.out + element * Index(p.mode[0].out));
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

// Whether instructions take longer than what moves: a function of float16, bfloat16 or float64 (tanh(x .* w .+ b) of 1024 x 100000 104, 107,
// 398 us for 111, 112, 435 on an H200), two of float32 (of one 204 us for 195). Not where the caches hold what moves.
inline bool is_heavy(const Problem &p, const Device &d) {
  if (p.kept() < int64_t(d.processors) << 16) return false;
  double work = 0;
  for (const Node &n : p.expr->nodes())
    if (n.kind == NodeKind::op) work += work_of(Op(n.index), bytes_of(p.acc));
  return 2 * work >= bytes_of(p.out);
}

struct BroadcastGeneral {
  static bool accepts(const Problem &, const Device &) { return true; }
  static int vector(const Problem &p) {
    const int full = vector_of(p, true);
    if (p.modes.size() == 0 || p.modes[0].stride[0] != 1) return 1;
    for (int v : {full, full / 2})
      if (v > 1 && rows_aligned(p, 0, 0, v)) return v;
    return 1;
  }
  static unsigned once(const Problem &p, int vector) { return vector > 1 ? once_along(p, p.modes[0], vector) : 0; }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.vector = vector(p);
    c.block = kThreads;
    for (int i = 0; i < p.n_inputs && c.vector > 1; ++i)
      c.detail |= (p.modes[0].stride[1 + i] != 1 || !rows_aligned(p, 0, 1 + i, c.vector)) << i;
    c.detail &= ~int(once(p, c.vector));
    const int64_t blocks = ceil_div(p.kept(), int64_t(kThreads) * c.vector);
    const bool full = c.vector > 1 && c.vector == vector_of(p, true);  // else steps are short
    c.grid = persistent_grid("broadcast.general", p, d, ceil_div(blocks, steps_of(blocks, full ? 2 : 4, d)));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_general", {std::to_string(c.vector), bits_text(once(p, c.vector)), c.detail == 0 ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
