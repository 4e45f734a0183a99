// scan.lines (variant 0), scan.general: threads lie along the S mode ('S K', and any other pattern).
// p.lanes neighbouring threads (a power of two up to a warp) scan a line: each takes V neighbours, and the lanes are scanned by
// shuffles. A thread has kItems such pieces in flight: of one line, whose rounds hand on a carry, or, where a line is one piece
// of every lane, or two, of as many lines. Lines of a warp run side by side. Elements are read and written in vectors of 16
// bytes where the line is contiguous and aligned, else one by one.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
inline constexpr int kScanPieces = 4;  // that a thread has in flight
// Those that are of one line of n elements, where a piece of every lane is so long.
TCU_FN constexpr int scan_pieces(int64_t n, int64_t piece) { return n <= piece ? 1 : n <= 2 * piece ? 2 : kScanPieces; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_along {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  static constexpr int V = kVector<typename Map::Inputs, Out>;
  static constexpr int kResident = 4, kItems = kScanPieces;
  using AwaitsTurn = scan_along;
  using Piece = Line<Map, F, Out, Index, V>;

  // Lines first, first + apart, ... as many as are in flight with kEach pieces of each: read, scanned and written by the group.
  // Lines from `lines` on are read as the last one and not written. plain: what all_plain says; not used for a single line.
  template <int kEach, class P>
  TCU_DEVICE static void scan(const P &p, Index first, Index apart, Index lines, int lane, int lanes, bool plain) {
    constexpr int kLines = kItems / kEach;
    const bool exclusive = (p.flags & kExclusive) != 0;
    const Index last = lines - 1, n = Index(p.folded), round = Index(lanes) * V * kEach;
    const auto line = [&](int j) {
      const Index number = first + j * apart < lines ? first + j * apart : last;
      return kLines > 1 ? Piece(p, number, plain) : Piece(p, number);
    };
    const Piece only = line(0);
    State carry = F::start(p);
#pragma unroll 1
    for (Index at = 0; at < n; at += round) {
      State e[kItems][V], below[kItems], all[kItems];
      const auto from = [&](int k) { return at + (Index(k % kEach) * lanes + lane) * V; };
#pragma unroll
      for (int k = 0; k < kItems; ++k) (k < kEach ? only : line(k / kEach)).load(p, from(k), e[k]);
      scan_lanes<F>(e, below, all, lane, lanes);
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (k % kEach == 0 && kLines > 1) carry = F::start(p);
        typename F::Value y[V];
        put_before<F>(p, e[k], lane == 0 ? carry : F::combine(carry, below[k]), exclusive, y);
        if (first + k / kEach * apart < lines) (k < kEach ? only : line(k / kEach)).store(p, from(k), y);
        carry = F::combine(carry, all[k]);
      }
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const int lanes = p.lanes, groups = kThreads / lanes, group = int(threadIdx.x) / lanes, lane = int(threadIdx.x) % lanes;
    const int each = scan_pieces(p.folded, int64_t(lanes) * V);
    const bool plain = each < kItems && Piece::all_plain(p);
    const Index lines = Index(p.kept), here = Index(groups) * (kItems / each), step = Index(gridDim.x) * here;
    if (const Index own = Index(blockIdx.x) * here + group; own < lines && begins_early<scan_along>())
      if (const Piece line(p, own); line.whole(Index(lane) * V)) line.look_ahead(p, Index(lane) * V);
    await_turn();
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * here; first < lines; first += step) {
      if (each == 1) scan<1>(p, first + group, Index(groups), lines, lane, lanes, plain);
      else if (each == 2) scan<2>(p, first + group, Index(groups), lines, lane, lanes, plain);
      else scan<kItems>(p, first + group, Index(groups), lines, lane, lanes, plain);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/row.h"

namespace tcu::cuda::rows {

struct ScanGeneral {
  static bool accepts(const Problem &, const Device &) { return true; }
  static LaunchConfig configure_row(const char *name, const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true), c.lanes = 1;
    while (c.lanes < 32 && int64_t(c.lanes) * c.vector < fastest(p, Role::S)->extent) c.lanes *= 2;
    const int each = scan_pieces(fastest(p, Role::S)->extent, int64_t(c.lanes) * c.vector);
    c.grid = persistent_grid(name, p, d, ceil_div(p.kept(), kThreads / c.lanes * (kScanPieces / each)));
    return c;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) { return configure_row("scan.general", p, d); }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_along");
  }
};

}  // namespace tcu::cuda::rows
#endif
