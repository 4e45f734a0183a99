// Sums and scans of a warp by tensor cores, to be included in anyone's kernel: -I lib of this library, whose lib/tcu and lib/core it reads,
// C++20, compute capability 8.0; there is nothing to link. After Dakkak et al. 2019, "Accelerating reduction and scan using tensor core
// units", 4.1, 4.2, 5.1 and 5.2; for today's instruction, by whose layout no fragment passes through shared memory.
//
// T is tcu::f16_t or tcu::bf16_t (bits as __half's and __nv_bfloat16's), of scans int8_t or uint8_t too, of reduce_256 and reduce_256n
// tcu::f8e4m3_t or tcu::f8e5m2_t (__nv_fp8_e4m3's, __nv_fp8_e5m2's); sums are float32, or int32_t. A Piece is a lane's eight neighbouring
// elements: lane l of the warp has elements 8l .. 8l + 7 of a tile of 256, as it loads them, 16 bytes at once; of 8 bits 16, and a tile
// is 512 where a name says 256. All 32 lanes call a function together, with the same n. Pointers to T are multiples of 16 bytes. There
// is no shared memory, and nothing to synchronize.
// A sum is within 2^-22 * (n + 8) of itself for elements of one sign (mma.cuh); the same input gives the same bits. A segment's sum
// depends on no element outside it, and an element's scan on none after it, whatever there is of Inf and NaN.
#pragma once
#include "core/scalar.h"
#include "tcu/row_scans.cuh"
#include "tcu/row_sums.cuh"

#if defined(TCU_WARP)
namespace tcu::warp {

inline constexpr unsigned kAll = 0xffffffffu;
TCU_WARP int lane() { return int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }
template <class T> TCU_WARP Piece piece_at(const T *p) {
  const uint4 w = *reinterpret_cast<const uint4 *>(p);
  return {{w.x, w.y, w.z, w.w}};
}
// Of products that accumulate, after the i-th of n.
template <class T> TCU_WARP int chain_end(int i, int n) { return n - i < RowSums<T>::kMost ? n : i + RowSums<T>::kMost; }
// Over the quads: x of a quad is the same in its lanes.
TCU_WARP float sum_of_quads(float x) {
  for (int h = 4; h < 32; h *= 2) x += __shfl_xor_sync(kAll, x, h);
  return x;
}

// ---- reduction

// Reduction_16: of the 16 segments of 16 in a tile. Lanes 2s and 2s + 1 get segment s's.
template <class T> TCU_WARP float reduce_16(const Piece &x) {
  static_assert(sizeof(T) == 2);
  const bool second = lane() & 2;
  RowSums<T> sums;
  sums.add_by_pairs(x, second);
  return sums.sum_of_row(second);
}
// Reduction_256: of the whole tile, to every lane.
template <class T> TCU_WARP float reduce_256(const Piece &x) {
  RowSums<T> sums;
  sums.add(x);
  return sum_of_quads(sums.sum());
}
// Reduction_16N: of 16 segments of 16 n elements, the s-th at from + s * stride (elements; a multiple of 8). As reduce_16. The
// work-efficient variant of the paper: the products accumulate, and are added to a float32 sum as often as mma.cuh wants it.
template <class T> TCU_WARP float reduce_16n(const T *from, int64_t stride, int n) {
  static_assert(sizeof(T) == 2);
  const int l = lane();
  const bool second = l & 2;
  const T *const mine = from + (l / 2) * stride + (l & 1) * 8;
  float total = 0;
  for (int i = 0; i < n;) {
    RowSums<T> sums;
    for (const int end = chain_end<T>(i, n); i < end; ++i) sums.add_by_pairs(piece_at(mine + int64_t(i) * 16), second);
    total += sums.sum_of_row(second);
  }
  return total;
}
// Reduction_256N: of n neighbouring tiles, to every lane.
template <class T> TCU_WARP float reduce_256n(const T *from, int n) {
  constexpr int E = 16 / int(sizeof(T));
  const T *const mine = from + lane() * E;
  float total = 0;
  for (int i = 0; i < n;) {
    RowSums<T> sums;
    for (const int end = chain_end<T>(i, n); i < end; ++i) sums.add(piece_at(mine + int64_t(i) * 32 * E));
    total += sums.sum();
  }
  return sum_of_quads(total);
}

// ---- scan

// T is an 8-bit integer as well; then sums are int32_t.
template <class T> inline constexpr int kElements = RowScan<T>::kElements;  // of a Piece
template <class T> using Sum = typename RowScan<T>::Sum;

// Scan_16: inclusive sums within the tile's segments of 16; y[i] of the lane's element i.
template <class T> TCU_WARP void scan_16(const Piece &x, Sum<T> (&y)[kElements<T>]) { scan_sixteens<T>(x, lane(), Sum<T>(0), y); }
// Scan_256: over the whole tile, after a sum `before`; what follows it: before and all of the tile. The quads' scans, A U, are put together
// by shuffles, or by products as in the paper (Across, tcu/row_scans.cuh).
template <class T, Across kAcross = Across::shuffles>
TCU_WARP Sum<T> scan_256(const Piece &x, Sum<T> (&y)[kElements<T>], Sum<T> before = 0) {
  scan_piece<T, kAcross, false>(x, lane(), 0, 0, before, Sum<T>(0), y);
  return __shfl_sync(kAll, y[kElements<T> - 1], 31);
}
// Scan_16N: of segments of 16 n elements, as many as a tile has of 16, the s-th at from + s * stride, to the same places of `to`.
template <class T> TCU_WARP void scan_16n(const T *from, Sum<T> *to, int64_t stride, int n) {
  constexpr int E = kElements<T>, kLanes = 16 / E;
  const int l = lane();
  const int64_t mine = l / kLanes * stride + l % kLanes * E;
  Sum<T> before = 0;
  for (int i = 0; i < n; ++i) {
    Sum<T> y[E];
    scan_16<T>(piece_at(from + mine + int64_t(i) * 16), y);
    for (int e = 0; e < E; ++e) to[mine + int64_t(i) * 16 + e] = before + y[e];
    before += __shfl_sync(kAll, y[E - 1], l | (kLanes - 1));
  }
}
// Scan_256N: of n neighbouring tiles.
template <class T, Across kAcross = Across::shuffles>
TCU_WARP void scan_256n(const T *from, Sum<T> *to, int n) {
  constexpr int E = kElements<T>;
  const int64_t mine = lane() * E;
  Sum<T> before = 0;
  for (int i = 0; i < n; ++i) {
    Sum<T> y[E];
    before = scan_256<T, kAcross>(piece_at(from + mine + int64_t(i) * 32 * E), y, before);
    for (int e = 0; e < E; ++e) to[mine + int64_t(i) * 32 * E + e] = y[e];
  }
}

}  // namespace tcu::warp
#endif
