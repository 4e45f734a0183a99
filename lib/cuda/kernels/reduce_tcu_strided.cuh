// reduce.tcu.strided: sums and means of segments that lie side by side ('K R', 'K R K'), on tensor cores (tcu/column_sums.cuh).
// A warp takes tiles of rows, kRows pieces of 16 bytes a lane, 128 neighbouring bytes of each row; the block's warps take turns down the
// rows of one tile of columns. Their sums meet in shared memory; then a thread has one output of the tile.
// With p.split > 1 there are so many parts, which take turns too, and the last block to finish puts them together (device/split.cuh).
#pragma once
#include "device/total.cuh"
#include "kernels/reduce_strided.cuh"
#include "tcu/column_sums.cuh"

namespace tcu::cuda {
inline constexpr int kStridedPieces = 8;  // that a thread has in flight
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_tcu_strided {
  using T = first_of<typename Map::Inputs>;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  using Sums = ColumnSums<T>;
  using Parts = reduce_strided<Map, Op, Acc, Out, Index, true, 0>;
  static constexpr int kResident = 2, kWarps = kThreads / 32, kProducts = kStridedPieces / Sums::kRows;
  static constexpr int kWidth = 8 * Sums::kColumns, kRound = 4 * kStridedPieces;  // columns of a tile; rows of a warp's turn
  static_assert(kProducts <= Sums::kMost);

  // Of rows p.split * kWarps * kRound apart, and kRound of them at a time, from `first` on. from: the lane's columns in row 0, or null.
  template <class P>
  TCU_DEVICE static void rows(const P &p, Total<F> (&own)[Sums::kOwn], const T *from, Index first) {
    const int lane = int(threadIdx.x) % 32;
    const Index stride = Index(p.mode[p.n_kept].in[0]), n = Index(p.folded);
#pragma unroll 1
    for (; first < n; first += Index(p.split) * (kWarps * kRound)) {
      Piece x[kProducts][Sums::kRows];
#pragma unroll
      for (int k = 0; k < kStridedPieces; ++k) {
        const Index row = first + 4 * k + mma::member_of(lane);
        Piece &piece = x[k / Sums::kRows][k % Sums::kRows];
        piece = {};
        if (from && row < n) piece = __builtin_bit_cast(Piece, load_word<true>(reinterpret_cast<const uint4 *>(from + row * stride)));
      }
      Sums sums;
#pragma unroll
      for (int k = 0; k < kProducts; ++k) sums.add(x[k]);
#pragma unroll
      for (int i = 0; i < Sums::kOwn; ++i) own[i].add(State(sums.sum(lane, i)));
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(State, shared, kWarps * kWidth > kThreads ? kWarps * kWidth : kThreads);
    const int t = int(threadIdx.x), lane = t % 32, warp = t / 32;
    const Index kept = Index(p.kept), tiles = (kept + kWidth - 1) / kWidth, items = tiles * Index(p.split);
#pragma unroll 1
    for (Index item = blockIdx.x; item < items; item += gridDim.x) {
      const Index part = item / tiles, tile = item - part * tiles, column = tile * kWidth + mma::quad_of(lane) * Sums::kColumns;
      Offsets<1, Index> o;
      if (column < kept) decode(o, p, 0, p.n_kept, column);
      Total<F> own[Sums::kOwn];
      rows(p, own, column < kept ? static_cast<const T *>(p.in[0]) + o.in[0] : nullptr, (part * kWarps + warp) * kRound);
      __syncthreads();  // the last tile's sums may still be being read
#pragma unroll
      for (int i = 0; i < Sums::kOwn; ++i) shared[warp * kWidth + Sums::column(lane, i)] = own[i].all();
      __syncthreads();
      State mine = F::identity();
      if (t < kWidth)
        for (int w = 0; w < kWarps; ++w) mine = F::combine(mine, shared[w * kWidth + t]);
      if (!Parts::combine_parts(p, mine, kWidth, tile, int(part), shared)) continue;
      if (t < kWidth && tile * kWidth + t < kept) {
        Offsets<1, Index> to;
        decode(to, p, 0, p.n_kept, tile * kWidth + t);
        store_result<F, Out>(p, to.out, mine, p.folded);
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_tcu_segmented.cuh"

namespace tcu::cuda::rows {

struct ReduceTcuStrided {
  static bool accepts(const Problem &p, const Device &d) {
    if (!on_tensor_cores(p, d) || p.n_inputs != 1 || bytes_of(p.in[0]) > 2) return false;
    return p.modes.size() >= 2 && p.modes[0].role == Role::K && p.modes.n_of(Role::R) == 1 && p.modes[0].stride[1] == 1 &&
           rows_aligned(p, 0, 1, 16 / bytes_of(p.in[0]));
  }
  // Long segments of 8-bit elements: ordinary cores take an instruction for each integer (docs/performance.md), and more for each
  // float (not measured). Not where most of a tile's columns are none. And segments of 1280 and more where all is little: of eight
  // random problems of 0.3 to 5 MB this row was faster in all, 0.57 to 0.92 of the time (H100 and H200; but of 1024 x 1024 bytes 1.14).
  // Nothing is compiled for that.
  static bool suits(const Problem &p, const Device &d) {
    if (p.modes[0].extent < 64 || p.reduced() < 1280) return false;
    if (bytes_of(p.in[0]) == 1 && p.reduced() >= 4096) return true;
    return p.bytes() < 8 << 20 && is_shipped(instance(p, configure(p, d)));
  }

  static LaunchConfig configure(const Problem &p, const Device &d) {
    const int64_t width = 128 / bytes_of(p.in[0]), tiles = ceil_div(p.kept(), width), resident = 2 * d.processors;
    const int64_t turns = ceil_div(p.reduced(), 4 * kStridedPieces * kThreads / 32);  // of a block's warps
    LaunchConfig c;
    c.block = kThreads, c.vector = 16 / bytes_of(p.in[0]);
    c.split = tiles < resident && turns > 1 ? ReduceSplit::parts_for(tiles, resident, turns) : 1;
    c.grid = std::min<int64_t>(tiles * c.split, INT32_MAX);
    ReduceSplit::keep_parts(c, p, tiles, width);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_tcu_strided");
  }
};

}  // namespace tcu::cuda::rows
#endif
