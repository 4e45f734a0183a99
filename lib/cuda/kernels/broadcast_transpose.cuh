// broadcast.transpose: an input whose fastest mode is not out's ('K K ...', permuted or transposed).
// Tiles of kSide x kSide elements, along out's fastest mode and along mode p.detail, in which such inputs are contiguous. An
// input of that kind is read along its own fastest mode and turned round in shared memory; the others are read as they lie.
// Either way a row of a tile is one contiguous piece of memory for kSide neighbouring threads.
// In place: an element is written by the thread that read it, after it did (an operand with out's layout is never turned).
#pragma once
#include "device/map.cuh"

namespace tcu::cuda {
// Of a tile, for elements of so many bytes: what fits the static shared memory.
TCU_FN constexpr int transpose_side(int bytes) { return bytes <= 4 ? 64 : 32; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index>
struct broadcast_transpose {
  static constexpr int N = Map::Inputs::size, kBytes = largest_of<typename Map::Inputs>::bytes;
  static constexpr int kResident = 4, kSide = transpose_side(kBytes), kRows = kThreads / kSide, kItems = kSide / kRows;
  static constexpr int kLine = kSide + 1;  // a column then lies in different banks

  struct Tile {
    Index at[2], left[2];  // first element along mode 0 and along the other mode; elements from there on
  };

  // at[k] of every input: element (x, y + k * kRows) of the tile.
  template <int I = 0, class P>
  TCU_DEVICE static void load(Pack<kItems, Types<>> &, const P &, const Offsets<N, Index> &, const Tile &, int, int, void *) {}
  template <int I = 0, class P, class T, class... R>
  TCU_DEVICE static void load(Pack<kItems, Types<T, R...>> &pack, const P &p, const Offsets<N, Index> &o, const Tile &tile,
                              int x, int y, void *shared) {
    const auto &fast = p.mode[0], &other = p.mode[p.detail];
    const T *from = static_cast<const T *>(p.in[I]) + (o.in[I] + tile.at[0] * Index(fast.in[I]) + tile.at[1] * Index(other.in[I]));
    const bool turned = is_turned(fast.in[I], other.in[I]);
    const Index along = Index(turned ? other.in[I] : fast.in[I]), across = Index(turned ? fast.in[I] : other.in[I]);
    Vec<T, kItems> mine;
    T(&e)[kItems] = mine.at;
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      e[k] = x < tile.left[turned] && y + k * kRows < tile.left[!turned] ? from[x * along + (y + k * kRows) * across] : T{};
    if (turned) {  // the same for every thread
      T *const line = static_cast<T *>(shared);
      __syncthreads();  // the last input's elements may still be being read
#pragma unroll
      for (int k = 0; k < kItems; ++k) line[(y + k * kRows) * kLine + x] = e[k];
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kItems; ++k) e[k] = line[x * kLine + (y + k * kRows)];
    }
    pack.first = Raw<T, kItems>::of(mine);
    load<I + 1>(pack.rest, p, o, tile, x, y, shared);
  }
  TCU_DEVICE static bool is_turned(int64_t fast, int64_t other) {
    return (other == 1 || other == -1) && (fast > 1 || fast < -1);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(Slot, shared, (kSide * kLine * kBytes + int(sizeof(Slot)) - 1) / int(sizeof(Slot)));
    const int x = int(threadIdx.x) % kSide, y = int(threadIdx.x) / kSide, t = p.detail;
    const Index extent[2] = {Index(p.mode[0].extent), Index(p.mode[t].extent)};
    const Index along = (extent[0] + kSide - 1) / kSide, tiles = along * ((extent[1] + kSide - 1) / kSide);
    const Index n = tiles * (Index(p.kept) / (extent[0] * extent[1]));
#pragma unroll 1
    for (Index item = blockIdx.x; item < n; item += gridDim.x) {
      Index outside = item / tiles;
      const Index inside = item - outside * tiles, j = inside / along, i = inside - j * along;
      const Tile tile = {{i * kSide, j * kSide}, {extent[0] - i * kSide, extent[1] - j * kSide}};
      Offsets<N, Index> o;
#pragma unroll 1
      for (int m = 1; m < p.n_kept; ++m) {
        if (m == t) continue;
        const Index q = divide(outside, p.mode[m].divisor);
        advance(o, p.mode[m], outside - q * Index(p.mode[m].extent));
        outside = q;
      }
      Pack<kItems, typename Map::Inputs> elements;
      load(elements, p, o, tile, x, y, shared);
      const Index start = o.out + tile.at[0] + x + tile.at[1] * Index(p.mode[t].out);
#pragma unroll
      for (int k = 0; k < kItems; ++k)
        if (x < tile.left[0] && y + k * kRows < tile.left[1])
          store_one<Out>(p, start + (y + k * kRows) * Index(p.mode[t].out), tcu::convert<Acc>(apply_at<Map>(p, elements, k)));
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct BroadcastTranspose {
  static bool is_unit(int64_t stride) { return stride == 1 || stride == -1; }
  // The mode in which an input is contiguous that is not so in out's fastest; 0 if there is none.
  static int other_mode(const Problem &p) {
    for (int k = 1; k <= p.n_inputs; ++k) {
      if (p.modes[0].stride[k] == 0 || is_unit(p.modes[0].stride[k])) continue;
      for (int m = 1; m < p.modes.size(); ++m)
        if (is_unit(p.modes[m].stride[k])) return m;
    }
    return 0;
  }
  static bool accepts(const Problem &p, const Device &) {
    if (p.modes.size() < 2 || p.modes[0].stride[0] != 1) return false;
    const int m = other_mode(p);
    return m > 0 && p.modes[0].extent >= 16 && p.modes[m].extent >= 16;
  }
  static int64_t side(const Problem &p) {
    int bytes = 1;
    for (int k = 1; k <= p.n_inputs; ++k) bytes = std::max(bytes, bytes_of(p.dtype(k)));
    return transpose_side(bytes);
  }
  // Where a row of out fills a tile's. Inputs are turned one after another; and what is short is in the L2 cache, whose lines
  // broadcast.general may touch several times.
  static bool suits(const Problem &p, const Device &) {
    return p.modes[0].extent >= side(p) && (p.n_inputs == 1 || (p.n_inputs == 2 && p.bytes() >= 4 << 20));
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    const int m = other_mode(p);
    const int64_t e0 = p.modes[0].extent, e1 = p.modes[m].extent;
    c.block = kThreads, c.detail = m;
    c.grid = persistent_grid("broadcast.transpose", p, d, ceil_div(e0, side(p)) * ceil_div(e1, side(p)) * (p.kept() / (e0 * e1)));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "broadcast_transpose", {type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
