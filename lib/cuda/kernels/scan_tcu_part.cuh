// What scan.tcu.* share: a warp's part of a tile in shared memory, pieces of 16 bytes a lane one after another, added up and scanned on
// tensor cores (tcu/row_scans.cuh; Dakkak et al. 2019, "Accelerating reduction and scan using tensor core units", 5: Scan_256N). Block
// level (their 5.2): every warp adds its part up, and then scans it from what the warps before it come to. Where they keep a warp's scan
// until that is known, a part is read from shared memory once more, so that it may be longer than registers hold.
// Of a long line's whole tiles it is known by then what comes before each quad, and whether all is finite: no piece waits for another.
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
  using Sum = typename RowScan<T>::Sum;
  static constexpr int V = kVector<Inputs, Out>, kBytes = bytes_in_tile<Inputs, Out>(), kWarps = kScanBlock / 32;
  static constexpr int E = RowScan<T>::kElements, kPiece = 32 * E;
  static constexpr int kPieces = tensor_pieces(sizeof(T), kBytes, kBytes > int(sizeof(Out))), kTile = kWarps * kPieces * kPiece;
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

  // What the lane has of the k-th piece, in the order of memory.
  TCU_DEVICE Piece piece_at(int k) const {
    const uint4 w = *reinterpret_cast<const uint4 *>(data.start + (reverse ? room - E - place(k) : place(k)) * int(sizeof(T)));
    return {{w.x, w.y, w.z, w.w}};
  }
  // In the order of the scan; zeros before `from` and where there are no elements.
  TCU_DEVICE Piece read(int k, int from) const {
    const int at = place(k);
    Piece x = piece_at(k);
    if (reverse) {
      constexpr unsigned turned = sizeof(T) == 1 ? 0x0123 : 0x1032;
      const Piece w = x;
#pragma unroll
      for (int i = 0; i < 4; ++i) x.word[i] = __byte_perm(w.word[3 - i], 0, turned);
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
  // What whole parts have in registers between the two: what the part's quads before the lane's come to; of four pieces, one each for the
  // lanes of a quad.
  struct Quads {
    Sum below[(kPieces + 3) / 4];
    bool finite;  // all elements of the warp's
  };
  // The sum of the warp's elements, to every lane: all its places hold some, in the order of memory.
  template <Across kAcross>
  TCU_DEVICE Acc sum_whole(Quads &quads) const {
    const int member = lane() % 4;
    Sum all = 0;
#pragma unroll
    for (int k = 0; k < kPieces; k += 4) {
      Sum own = 0, below = 0;
#pragma unroll
      for (int i = 0; i < 4 && k + i < kPieces; ++i) {
        RowSums<T> quad;
        quad.add(piece_at(k + i));
        if (i == member) own = quad.sum();
        if constexpr (kAcross == Across::products)
          if (const Sum b = sum_below_by_products(quad.sum(), lane()); i == member) below = b;
      }
      if constexpr (kAcross == Across::shuffles) below = sum_below_lane<4, 32>(own, lane());
      const Sum piece = shuffle(below + own, 28 + member, 32), earlier = sum_below_lane<1, 4>(piece, member);
      quads.below[k / 4] = (all + earlier) + below;
      all += shuffle(earlier + piece, 3, 4);
      __syncwarp();  // without it all pieces are read first, and there are no registers for them
    }
    quads.finite = sizeof(T) == 1 || all - all == 0;
    return Acc(all);
  }
  // Over every kApart-th of kWidth lanes, of which this is the lane-th: the sum of those below it.
  template <int kApart, int kWidth>
  TCU_DEVICE static Sum sum_below_lane(Sum v, int lane) {
#pragma unroll
    for (int h = kApart; h < kWidth; h *= 2) {
      const Sum below = shuffle_up(v, h, kWidth);
      if (lane >= h) v += below;
    }
    const Sum below = shuffle_up(v, kApart, kWidth);
    return lane < kApart ? 0 : below;
  }
  // Their scan, to the tile: of finite elements.
  TCU_DEVICE void scan_whole(const Quads &quads, Acc before) const {
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      Sum s[E];
      RowScan<T>::template add_up<RowScan<T>::kQuad, false>(piece_at(k), lane(), E, s);
      const Acc first = F::combine(before, Acc(shuffle(quads.below[k / 4], k % 4, 4)));
      if (k % 2) __syncwarp();  // two pieces at a time: with more it spills
#pragma unroll
      for (int i = 0; i < E; i += V) {
        Vec<Out, V> y;
#pragma unroll
        for (int v = 0; v < V; ++v) y.at[v] = tcu::convert<Out>(F::combine(first, Acc(s[i + v])));
        store_vector(data.out() + place(k) + i, y);
      }
    }
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
    const int start = int(threadIdx.x) / 32 * (Part::kPieces * Part::kPiece);
    return {tile.data, start, Part::kPieces, tile.begin, tile.end, kTile, tile.line.reverse};
  }
  // Whether its places all hold elements and lie in the order of the scan.
  TCU_DEVICE static bool is_whole(const Tile &tile) { return tile.count == kTile && !tile.line.reverse; }
  // The sum of a part, to every lane.
  template <Across kAcross>
  TCU_DEVICE static Acc sum(const Tile &tile, const Part &part, typename Part::Quads &quads) {
    quads.finite = false;
    return is_whole(tile) ? part.template sum_whole<kAcross>(quads) : part.sum(part.begin);
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
  TCU_DEVICE static void scan(const P &p, const Tile &tile, const Part &part, const typename Part::Quads &quads, Acc before) {
    if (is_whole(tile) && quads.finite && (p.flags & (kExclusive | kScales | kReadsOut)) == 0) return part.scan_whole(quads, before);
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
    return p.op == ReduceOp::sum && p.n_inputs == 1 && bytes_of(p.in[0]) <= 2 && !is_float8(p.in[0]) && rows::on_tensor_cores(p, d);
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
