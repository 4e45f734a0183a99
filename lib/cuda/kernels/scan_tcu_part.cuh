// What scan.tcu.* share: a warp's part of a tile in shared memory, pieces of 16 bytes a lane one after another, added up and scanned on
// tensor cores (tcu/row_scans.cuh; Dakkak et al. 2019, "Accelerating reduction and scan using tensor core units", 5: Scan_256N). Block
// level (their 5.2): every warp adds its part up, and then scans it from what the warps before it come to. Where they keep a warp's scan
// until that is known, a part is read from shared memory once more, so that it may be longer than registers hold.
#pragma once
#include "device/scan.cuh"
#include "device/tile.cuh"
#include "kernels/scan_lookback.cuh"
#include "tcu/row_scans.cuh"

namespace tcu::cuda {
// Pieces of a warp in a tile: as many bytes as in scan.lookback (scan_items), of whatever number: lanes read neighbouring words.
TCU_FN constexpr int tensor_pieces(int in_bytes, int element_bytes, bool several) {
  const int n = (several ? 416 : 208) * in_bytes / (16 * element_bytes);
  return n < 1 ? 1 : n;
}
TCU_FN constexpr int tensor_tile(int in_bytes, int element_bytes, bool several) {
  return kScanBlock * (16 / in_bytes) * tensor_pieces(in_bytes, element_bytes, several);
}
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class F, class Out>
struct TensorPart {
  using Inputs = typename Map::Inputs;
  using T = first_of<Inputs>;
  using Acc = typename F::State;
  static constexpr int V = kVector<Inputs, Out>, kBytes = bytes_in_tile<Inputs, Out>(), kWarps = kScanBlock / 32;
  static constexpr int E = RowScan<T>::kElements, kPiece = 32 * E;
  static constexpr int kTile = tensor_tile(sizeof(T), kBytes, kBytes > int(sizeof(Out)));
  static constexpr int kResident = sizeof(T) > 1 ? 4 : 3;  // of kThreads, twice as many of kScanBlock: that spill nothing, or little
  using Data = Tile<Inputs, Out, V, kTile>;
  static_assert(is_identity<Map> && E % V == 0);

  const Data &data;
  int start, pieces;     // places in the order of the scan, from the warp's first on
  int begin, end, room;  // of the tile's places, those that hold elements; and how many there are
  bool reverse;

  TCU_DEVICE static int lane() { return int(threadIdx.x) % 32; }
  // The lane's place in the warp's k-th piece.
  TCU_DEVICE int place(int k) const { return start + k * kPiece + lane() * E; }
  TCU_DEVICE bool is_there(int k) const { return k < pieces && start + k * kPiece < end; }

  // The lane's elements of the k-th piece, in the order of the scan; zeros before `from` and where there are none.
  TCU_DEVICE Piece read(int k, int from) const {
    const int at = place(k);
    const uint4 w = *reinterpret_cast<const uint4 *>(data.start + (reverse ? room - E - at : at) * int(sizeof(T)));
    Piece x{{w.x, w.y, w.z, w.w}};
    if (reverse) {
      constexpr unsigned turned = sizeof(T) == 1 ? 0x0123 : 0x1032;
      x = {{__byte_perm(w.w, 0, turned), __byte_perm(w.z, 0, turned), __byte_perm(w.y, 0, turned), __byte_perm(w.x, 0, turned)}};
    }
    if (at < from || at + E > end) {
      constexpr int kBits = 8 * int(sizeof(T));
#pragma unroll
      for (int i = 0; i < 4; ++i) x.word[i] &= lowest_bits((end - at) * kBits - 32 * i) & ~lowest_bits((from - at) * kBits - 32 * i);
    }
    return x;
  }
  // The sum of the warp's elements from place `from` on, to every lane.
  TCU_DEVICE Acc sum(int from) const {
    Acc total = F::identity();
#pragma unroll 1
    for (int k = from > start ? (from - start) / kPiece : 0; is_there(k);) {
      RowSums<T> sums;
#pragma unroll 4
      for (int i = 0; i < RowSums<T>::kMost && is_there(k); ++i, ++k) sums.add(read(k, from));
      total = F::combine(total, Acc(sums.sum()));
    }
#pragma unroll
    for (int h = 4; h < 32; h *= 2) total = F::combine(total, shuffle_xor(total, h));
    return total;
  }
  // From sums of elements and all before them to sums of those before them. before: the warp's first element.
  TCU_DEVICE static void exclude(Acc (&y)[E], Acc before) {
    const Acc below = shuffle_up(y[E - 1], 1, 32);
#pragma unroll
    for (int i = E - 1; i > 0; --i) y[i] = y[i - 1];
    y[0] = lane() > 0 ? below : before;
  }
  // Results in the order of the scan, to the lane's places of the k-th piece, elements or not.
  template <class P>
  TCU_DEVICE void put(const P &p, int k, const Acc (&y)[E]) const {
    Out *const to = data.out() + (reverse ? room - E - place(k) : place(k));
#pragma unroll
    for (int i = 0; i < E; i += V) {
      Vec<Out, V> r;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const Acc one = reverse ? y[E - 1 - i - v] : y[i + v];
        r.at[v] = tcu::convert<Out>(p.scales() ? m::mul(p.alpha.template as<Acc>(), one) : one);
      }
      store_vector(to + i, r);
    }
  }
};

// The tile of a line: each warp's part of it.
template <class Map, class F, class Out, class Index>
struct TensorLine {
  using Part = TensorPart<Map, F, Out>;
  using Acc = typename F::State;
  static constexpr int kTile = Part::kTile;
  using Tile = LineTile<Map, F, Out, Index, Part::V, kTile>;

  TCU_DEVICE static Part part(const Tile &tile) {
    constexpr int kMine = kTile / Part::kWarps;
    return {tile.data, int(threadIdx.x) / 32 * kMine, kMine / Part::kPiece, tile.begin, tile.end, kTile, tile.line.reverse};
  }
  // What comes before the warp's part, of what comes before the tile.
  TCU_DEVICE static Acc before(Acc earlier, const Acc *sums) {
#pragma unroll
    for (int w = 0; w < Part::kWarps - 1; ++w)
      if (w < int(threadIdx.x) / 32) earlier = F::combine(earlier, sums[w]);
    return earlier;
  }
  // A part's scan from there on, to the tile or, where out is read, to its place in memory.
  template <Across kAcross, class P>
  TCU_DEVICE static void scan(const P &p, const Tile &tile, const Part &part, Acc before) {
    const bool exclusive = (p.flags & kExclusive) != 0, reads_out = p.reads_out();
#pragma unroll 1
    for (int k = 0; part.is_there(k); ++k) {
      Acc y[Part::E];
      scan_piece<typename Part::T, kAcross, false>(part.read(k, part.begin), Part::lane(), 0, 0, before, before, y);
      const Acc next = shuffle(y[Part::E - 1], 31, 32);
      if (exclusive) Part::exclude(y, before);
      before = next;
      if (!reads_out) {
        part.put(p, k, y);
        continue;
      }
#pragma unroll
      for (int i = 0; i < Part::E; ++i) {
        const int at = part.place(k) + i;
        if (at < part.begin || at >= part.end) continue;
        store_one<Out>(p, tile.line.o.out + tile.line.memory(tile.first + at, 1) * Index(p.mode[p.n_kept].out), y[i]);
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_tcu_segmented.cuh"

namespace tcu::cuda::rows {

// What the rows scan.tcu.* have in common on the host. They stand behind scan.general: only a pin reaches them.
struct ScanTcu {
  static bool on_tensor_cores(const Problem &p, const Device &d) {
    return p.op == ReduceOp::sum && p.n_inputs == 1 && bytes_of(p.in[0]) <= 2 && rows::on_tensor_cores(p, d);
  }
  static int64_t tile(const Problem &p) {
    const int element = tile_bytes(p);
    return tensor_tile(bytes_of(p.in[0]), element, element > bytes_of(p.out));
  }
  // How quads are put together: the tuning table's factor, 1 by shuffles, 2 by products.
  static std::string across(const LaunchConfig &c) { return c.variant == 2 ? "Across::products" : "Across::shuffles"; }
  static LaunchConfig launch(const char *row, const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kScanBlock, c.vector = vector_of(p, true), c.chunk = tile(p), c.variant = tuning(row, d, bytes_of(p.in[0])).factor;
    c.shared_bytes = int(c.chunk * tile_bytes(p));
    return c;
  }
  static bool fits(const Problem &p, const Device &d) { return tile(p) * tile_bytes(p) <= d.shared_bytes - 2048; }
  static std::vector<std::string> arguments(const Problem &p, const LaunchConfig &c) {
    return {fold_text(p), type_text(p.acc), storage_text(p.out), index_text(p), across(c)};
  }
};

// Of those that scan long lines, a tile a block.
struct ScanTcuLine : ScanTcu {
  static int64_t parts(const Problem &p) { return ceil_div(fastest(p, Role::S)->extent + 8 * vector_of(p, true) - 1, tile(p)); }
  static bool accepts(const Problem &p, const Device &d) {
    return on_tensor_cores(p, d) && ScanLines::contiguous(p) && fastest(p, Role::S)->stride[1] == 1 && parts(p) * p.kept() < INT32_MAX &&
           fits(p, d) && d.processors > 1;
  }
  static LaunchConfig launch(const char *row, const Problem &p, const Device &d) {
    LaunchConfig c = ScanTcu::launch(row, p, d);
    c.split = parts(p), c.detail = !ScanLookback::lines_aligned(p);
    return c;
  }
};

}  // namespace tcu::cuda::rows
#endif
