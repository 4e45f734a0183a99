// reduce.small (variant 2): segments of any length that lie one after another in memory ('R K', or 'K' where a segment is one
// element). A block copies p.detail segments to shared memory at once (device/bulk.cuh), and p.lanes threads (a power of two up to a
// warp) fold each of them from there: how long a segment is, and where it starts, the memory does not notice.
#pragma once
#include "device/append.cuh"
#include "device/bulk.cuh"

namespace tcu::cuda {
inline constexpr int kStagedBytes = 16 << 10;  // of a block
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Elements from a multiple of 16 bytes on, copied to shared memory by all threads of a block, to the same place of 128 bytes; where they lie there.
template <class T>
TCU_DEVICE const T *stage(uint4 *lines, const T *from, int count, bool floods) {
  constexpr int V = kVector<Types<T>>;
  const int t = int(threadIdx.x), whole = count / V * V;
  uint4 *const staged = lines + (reinterpret_cast<uint64_t>(from) / 16 & 7);
  T *const elements = reinterpret_cast<T *>(staged);
  if (t < count - whole) elements[whole + t] = from[whole + t];
  fill_shared(staged, from, whole * int(sizeof(T)), !floods);
  return elements;
}

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_staged {
  using T = first_of<typename Map::Inputs>;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kVector<Types<T>>, kResident = resident<F, 1>(8);

  // A lane's part of the segment at `from`, in words of W elements or, where it is not so many times W long, of fewer.
  template <int W, class P>
  TCU_DEVICE static State fold(const P &p, const T *from, int extent, int lane, int lanes) {
    if constexpr (W > 1)
      if (extent % W) return fold<W / 2>(p, from, extent, lane, lanes);
    State s[states_of_one<F, Map, W>()];
#pragma unroll
    for (State &one : s) one = F::identity();
#pragma unroll 2
    for (int i = lane * W; i < extent; i += lanes * W) {
      Pack<W, Types<T>> x;
      x.first = Raw<T, W>::staged(from + i);
      append_vector<F, Map, true>(p, s, x, Index(0), Index(i));
    }
    return combine_all<F>(s);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED_LINES(uint4, lines, kStagedBytes / 16 + 7);
    const int t = int(threadIdx.x), lanes = p.lanes, groups = quotient(kThreads, lanes), lane = remainder(t, lanes);
    const Index kept = Index(p.kept), extent = Index(p.folded), chunk = Index(p.detail);
    const Index first = Index(blockIdx.x) * chunk;
    const int here = int(kept - first < chunk ? kept - first : chunk), count = here * int(extent);
    const T *const elements = stage(lines, static_cast<const T *>(p.in[0]) + first * extent, count, p.floods());
#pragma unroll 1
    for (int base = 0; base < here; base += groups) {
      const int segment = base + quotient(t, lanes);
      State s = F::identity();
      if (segment < here) s = fold<V>(p, elements + segment * int(extent), int(extent), lane, lanes);
      s = combine_group<F>(s, lanes, static_cast<State *>(nullptr));
      if (segment < here && lane == 0) store_result<F, Out>(p, (first + segment) * Index(p.mode[0].out), s, p.folded);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ReduceStaged {
  // Segments of one input, one after another, the first at a multiple of 16 bytes.
  static bool in_line(const Problem &p) {
    if (p.n_inputs != 1 || p.modes.n_of(Role::K) != 1 || p.modes.n_of(Role::R) > 1 || (1 << p.alignment[1]) < 16) return false;
    const Mode *const r = fastest(p, Role::R);
    return (!r || r->stride[1] == 1) && fastest(p, Role::K)->stride[1] == p.reduced();
  }
  static bool accepts(const Problem &p) { return in_line(p) && p.reduced() * 16 <= kStagedBytes; }
  // Whether what is read once may drive the results out of the L2 cache: where it cannot hold them, or they are many for what is read.
  static bool floods(const Problem &p, const Device &d) {
    return p.kept() * bytes_of(p.out) > d.l2_bytes / 3 || p.reduced() * bytes_of(p.in[0]) < 16 * bytes_of(p.out);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.floods = floods(p, d);
    const int64_t extent = p.reduced(), v = vector_of(p, false);
    c.block = kThreads, c.vector = int(v), c.lanes = 1;
    const int64_t word = std::min<int64_t>(extent & -extent, v);
    while (c.lanes < 32 && (word == 1 ? 16 : 8) * c.lanes * word <= extent) c.lanes *= 2;
    c.detail = int(kStagedBytes / 16 / extent * v);  // a tile starts on a vector
    c.grid = ceil_div(p.kept(), c.detail);
    return c;
  }
};

}  // namespace tcu::cuda::rows
#endif
