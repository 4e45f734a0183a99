// scan.tcu.segmented: sums along lines that lie one after another in memory ('S', 'S K'), 16-bit floats and 8-bit integers, on tensor
// cores; whole lines to a tile, each read once. Segmented scans of Dakkak et al. 2019 ("Accelerating reduction and scan using tensor core
// units", 5): Scan_16 (kSixteens), and of longer lines, of any length, Scan_16N, Scan_256 and Scan_256N, which are one here, for lines
// begin anywhere among a warp's pieces. For pins.
// A block copies p.detail lines to shared memory at once (device/bulk.cuh). A warp has pieces of 16 bytes a lane, one after another. It
// adds up what it has of the line that its last element is of; then it scans its part from what the warps before it have of its first
// line (kernels/scan_tcu_part.cuh), a piece in which no line begins as a piece of a long line. It waits for no other block, and has no
// workspace.
// In place: a tile is read before it is written.
#pragma once
#include "kernels/scan_tcu_part.cuh"
#include "kernels/scan_tiles.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, Across kAcross, bool kSixteens>
struct scan_tcu_segmented {
  using F = ScanFold<Op, Acc, Index>;
  using Part = TensorPart<Map, F, Out>;
  using T = typename Part::T;
  static constexpr int kResident = Part::kResident, kWarps = Part::kWarps, E = Part::E, kPiece = Part::kPiece;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    TCU_SHARED(uint64_t, barrier, 1);
    TCU_SHARED(Acc, sums, kWarps);
    TCU_SHARED(bool, open, kWarps);  // whether the line that a warp ends in began before the warp
    const Arrival arrival(barrier);
    const bool reverse = (p.flags & kReverse) != 0;
    const int n = int(p.folded);
    const Index line = Index(blockIdx.x) * p.detail, left = Index(p.kept) - line, memory = line * n;
    const int count = (left < p.detail ? int(left) : p.detail) * n;
    const typename Part::Data data(shared);
    int skew = data.skew(p, Offsets<1, Index>(), p.n_kept, reverse ? memory + count : memory, reverse);
    if (kSixteens) skew &= ~15;
    const int end = skew + count, pieces = tile_pieces(p.detail * n, Part::V, kPiece), room = kWarps * pieces * kPiece;
    const int place = reverse ? room - end : skew, warp = int(threadIdx.x) / 32, lane = Part::lane();
    data.fetch(arrival, p, Offsets<1, Index>(), p.n_kept, memory, place, count);
    arrival.wait();
    const Part part{data, warp * pieces * kPiece, pieces, skew, end, room, reverse};
    const Acc init = p.init.template as<Acc>();
    Acc before = init;
    // The place where the line begins that has an element at `place`.
    const auto line_of = [&](int place) { return int(divide(Index(place - skew), p.mode[p.n_kept].divisor)) * n + skew; };

    if constexpr (!kSixteens) {
      const int last = part.start + pieces * kPiece < end ? part.start + pieces * kPiece : end;  // after the warp's last element
      const int tail = last > part.start ? line_of(last - 1) : end;
      const Acc sum = part.sum(tail > part.start ? tail : part.start > skew ? part.start : skew);
      if (lane == 0) sums[warp] = sum, open[warp] = tail < part.start;
      __syncthreads();
      Acc earlier = F::identity();
#pragma unroll
      for (int w = 0; w < kWarps - 1; ++w)
        if (w < warp) earlier = open[w] ? F::combine(earlier, sums[w]) : sums[w];
      before = F::combine(init, earlier);
    }

    const bool exclusive = (p.flags & kExclusive) != 0, reads_out = p.reads_out();
    const int step = kPiece - int(divide(Index(kPiece), p.mode[p.n_kept].divisor)) * n;
    int at = part.place(0) - skew;  // where in its line the lane's first element is; before the first line, as if there were one
    while (at < 0) at += n;
    at -= int(divide(Index(at), p.mode[p.n_kept].divisor)) * n;
#pragma unroll 1
    for (int k = 0; part.is_there(k); ++k) {
      const Piece x = part.read(k, skew);
      Acc y[E];
      if constexpr (kSixteens) {
        scan_sixteens<T>(x, lane, init, y);
      } else {
        const int first = shuffle(at, 0, 32);
        if (first > 0 && first + kPiece <= n) scan_piece<T, kAcross, false>(x, lane, at, n, before, init, y);
        else scan_piece<T, kAcross, true>(x, lane, at, n, before, init, y);
      }
      const Acc next = shuffle(y[E - 1], 31, 32);
      if (exclusive) {
        Part::exclude(y, before);
#pragma unroll
        for (int i = 0; i < E; ++i)
          if (at + i == n || at + i == 0) y[i] = init;
      }
      before = next, at += step;
      if (at >= n) at -= n;
      if (!reads_out) {
        part.put(p, k, y);
        continue;
      }
#pragma unroll
      for (int i = 0; i < E; ++i) {
        const int to = part.place(k) + i - skew;
        if (to >= 0 && to < count) store_one<Out>(p, memory + (reverse ? count - 1 - to : to), y[i]);
      }
    }
    if (reads_out) return;
    data.drain(static_cast<Out *>(p.out) + memory, Index(1), place, count);
    await_drain();
  }

  // Of a warp, in a tile of so many elements that begins anywhere in 128 bytes.
  TCU_DEVICE static int tile_pieces(int elements, int vector, int piece) {
    return (elements + 8 * vector + kWarps * piece - 1) / (kWarps * piece);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ScanTcuSegmented : ScanTcu {
  static int room(const Problem &p) { return int(tile(p)) - 8 * vector_of(p, true); }  // elements of a tile at most
  // Lines of 16, and those of which no more than two meet in the elements of four lanes.
  static bool accepts(const Problem &p, const Device &d) {
    const int64_t n = fastest(p, Role::S)->extent;
    return on_tensor_cores(p, d) && ScanTiles::dense(p) && (n == 16 || n >= 64 / bytes_of(p.in[0])) && n <= room(p) && fits(p, d) &&
           ceil_div(p.kept(), ScanTiles::at_once(p, d, ScanTiles::lines(p), room(p))) <= INT32_MAX;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c = launch("scan.tcu.segmented", p, d);
    c.detail = ScanTiles::at_once(p, d, ScanTiles::lines(p), room(p));
    c.grid = ceil_div(p.kept(), c.detail);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "scan_tcu_segmented", {across(c), fastest(p, Role::S)->extent == 16 ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
