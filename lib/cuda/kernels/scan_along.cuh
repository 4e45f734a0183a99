// scan.lines (variant 0), scan.general: threads lie along the S mode ('S K', and any other pattern).
// p.lanes neighbouring threads (a power of two up to a warp) scan a line: each takes V neighbours, and the lanes are scanned by
// shuffles. A thread has kItems such pieces in flight: of one line, whose rounds hand on a carry, or, where a piece of every
// lane is a whole line, of as many lines. Lines of a warp run side by side. Elements are read and written in vectors of 16
// bytes where the line is contiguous and aligned, else one by one.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/scan.cuh"

namespace tcu::cuda {
inline constexpr int kScanPieces = 4;  // that a thread has in flight
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_along {
  using F = Fold<Op, Acc, Index>;
  static constexpr int V = kVector<typename Map::Inputs, Out>;
  static constexpr int kResident = 4, kItems = kScanPieces;
  using Piece = Line<Map, F, Out, Index, V>;

  // Lines first, first + apart, ... of which the group's own pieces are read, scanned and written; `many` says whether a piece
  // of every lane is a line. Lines from `lines` on are read as the last one and not written.
  template <bool many, class P>
  TCU_DEVICE static void scan(const P &p, Index first, Index apart, Index lines, int lane, int lanes, bool plain) {
    constexpr int kLines = many ? kItems : 1;
    const bool exclusive = (p.flags & kExclusive) != 0;
    const Index last = lines - 1, n = Index(p.folded), round = Index(lanes) * V * (kItems / kLines);
    const auto index = [&](int k) { return first + k * apart < lines ? first + k * apart : last; };
    const Piece line = many ? Piece(p, index(0), plain) : Piece(p, index(0));
    Acc carry = p.init.template as<Acc>();
#pragma unroll 1
    for (Index at = 0; at < n; at += round) {
      Acc e[kItems][V], below[kItems], all[kItems];
      const auto from = [&](int k) { return at + (Index(many ? 0 : k) * lanes + lane) * V; };
#pragma unroll
      for (int k = 0; k < kItems; ++k) (many && k ? Piece(p, index(k), plain) : line).load(p, from(k), e[k]);
      scan_lanes<F>(e, below, all, lane, lanes);
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        put_before<F>(e[k], lane == 0 ? carry : F::combine(carry, below[k]), exclusive);
        if (first + (many ? k : 0) * apart < lines) (many && k ? Piece(p, index(k), plain) : line).store(p, from(k), e[k]);
        if (!many) carry = F::combine(carry, all[k]);
      }
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const int lanes = p.lanes, groups = kThreads / lanes, group = int(threadIdx.x) / lanes, lane = int(threadIdx.x) % lanes;
    const bool many = Index(p.folded) <= Index(lanes) * V, plain = many && Piece::all_plain(p);
    const Index lines = Index(p.kept), here = Index(groups) * (many ? kItems : 1), step = Index(gridDim.x) * here;
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * here; first < lines; first += step) {
      if (many) scan<true>(p, first + group, Index(groups), lines, lane, lanes, plain);
      else scan<false>(p, first + group, Index(groups), lines, lane, lanes, plain);
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
    const bool many = fastest(p, Role::S)->extent <= int64_t(c.lanes) * c.vector;
    c.grid = persistent_grid(name, p, d, ceil_div(p.kept(), kThreads / c.lanes * (many ? kScanPieces : 1)));
    return c;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) { return configure_row("scan.general", p, d); }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_along", {fold_text(p.op), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
