// Sums and scans of a warp by tensor cores, to be included in anyone's kernel: -I lib of this library, whose lib/tcu and lib/core it reads,
// C++20, compute capability 8.0; there is nothing to link. After Dakkak et al. 2019, "Accelerating reduction and scan using tensor core
// units", 4.1, 4.2, 5.1 and 5.2; for today's instruction, by whose layout no fragment passes through shared memory.
//
// T is tcu::f16_t or tcu::bf16_t (bits as __half's and __nv_bfloat16's); sums are float32. A Piece is a lane's eight neighbouring elements:
// lane l of the warp has elements 8l .. 8l + 7 of a tile of 256, as it loads them, 16 bytes at once. All 32 lanes call a function together,
// with the same n. Pointers to T are multiples of 16 bytes. There is no shared memory, and nothing to synchronize.
// A sum is within 2^-22 * (n + 8) of itself for elements of one sign (mma.cuh); the same input gives the same bits. A segment's sum
// depends on no element outside it, and an element's scan on none after it, whatever there is of Inf and NaN.
#pragma once
#include "core/scalar.h"
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
  const bool second = lane() & 2;
  RowSums<T> sums;
  sums.add_by_pairs(x, second);
  return sums.sum_of_pair(second);
}
// Reduction_256: of the whole tile, to every lane.
template <class T> TCU_WARP float reduce_256(const Piece &x) {
  RowSums<T> sums;
  sums.add(x);
  return sum_of_quads(sums.sum());
}
// Reduction_16N: of 16 segments of 16 n elements, the s-th at from + s * stride (elements; a multiple of 8). As reduce_16. The work-efficient
// variant of the paper: the products accumulate, and are added to a float32 sum as often as mma.cuh wants it.
template <class T> TCU_WARP float reduce_16n(const T *from, int64_t stride, int n) {
  const int l = lane();
  const bool second = l & 2;
  const T *const mine = from + (l / 2) * stride + (l & 1) * 8;
  float total = 0;
  for (int i = 0; i < n;) {
    RowSums<T> sums;
    for (const int end = chain_end<T>(i, n); i < end; ++i) sums.add_by_pairs(piece_at(mine + int64_t(i) * 16), second);
    total += sums.sum_of_pair(second);
  }
  return total;
}
// Reduction_256N: of 256 n neighbouring elements, to every lane.
template <class T> TCU_WARP float reduce_256n(const T *from, int n) {
  const T *const mine = from + lane() * 8;
  float total = 0;
  for (int i = 0; i < n;) {
    RowSums<T> sums;
    for (const int end = chain_end<T>(i, n); i < end; ++i) sums.add(piece_at(mine + int64_t(i) * 256));
    total += sums.sum();
  }
  return sum_of_quads(total);
}

// ---- scan

// Inclusive sums within groups of so many neighbouring lanes, a power of two; y[i] of the lane's element i.
// A quad's 32 elements are a row of A, in two products of 16 (the paper's A U): B has a one where an element comes before a sum, or is it. Its
// columns are in such an order that a lane gets the sums of its own elements, four products of two columns a lane. Quads are
// put together by shuffles, which keep float32 where the paper's L A 1 would round to 16 bits. Zeros of B carry an Inf or a NaN to sums
// before it; if there is one in the warp all is added up again, element by element.
template <class T, int kLanes>
TCU_WARP void scan(const Piece &x, float (&y)[8]) {
  static_assert(kLanes == 2 || kLanes == 32);
  const int l = lane(), n = l / 4;
  bool finite = true;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    float d[4] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Column k of A is element 8 (k % 8 / 2) + 4 half + 2 (k / 8) + k % 2 of the quad, column c of B element 8 (c / 2) + 2 j + c % 2.
      const auto b = mma::ConstantB<T>::of(l, [&](int k, int c) {
        const int element = 8 * (k % 8 / 2) + 4 * half + 2 * (k / 8) + k % 2, sum = 8 * (c / 2) + 2 * j + c % 2;
        return element <= sum && (kLanes > 2 || element / 16 == sum / 16);
      });
      const uint32_t a[4] = {x.word[2 * half], 0, x.word[2 * half + 1], 0};
      mma::Instruction<T>::multiply(d, a, b.words);
    }
    y[2 * j] = d[0], y[2 * j + 1] = d[1];
    finite = finite && d[0] - d[0] == 0 && d[1] - d[1] == 0;
  }
  if (__all_sync(kAll, finite)) {
    if constexpr (kLanes > 2) {
      float all = __shfl_sync(kAll, y[7], l | 3);
      for (int h = 1; h < 8; h *= 2) {
        const float before = __shfl_up_sync(kAll, all, unsigned(4 * h));
        if (n >= h) all += before;
      }
      const float before = __shfl_up_sync(kAll, all, 4u);
      if (n > 0)
        for (float &e : y) e += before;
    }
    return;
  }
  struct Elements {
    T at[8];
  };
  const Elements elements = __builtin_bit_cast(Elements, x);
#pragma unroll
  for (int i = 0; i < 8; ++i) y[i] = (i ? y[i - 1] : 0) + tcu::convert<float>(elements.at[i]);
  float all = y[7];
  for (int h = 1; h < kLanes; h *= 2) {
    const float before = __shfl_up_sync(kAll, all, unsigned(h), kLanes);
    if (l % kLanes >= h) all += before;
  }
  const float before = __shfl_up_sync(kAll, all, 1u, kLanes);
  if (l % kLanes > 0)
    for (float &e : y) e = before + e;
}

// Scan_16: inclusive sums within the tile's 16 segments of 16.
template <class T> TCU_WARP void scan_16(const Piece &x, float (&y)[8]) { scan<T, 2>(x, y); }
// Scan_256: over the whole tile, after a sum `before`; what follows it: before and all of the tile.
template <class T> TCU_WARP float scan_256(const Piece &x, float (&y)[8], float before = 0) {
  scan<T, 32>(x, y);
  for (float &e : y) e = before + e;
  return __shfl_sync(kAll, y[7], 31);
}
// Scan_16N: of 16 segments of 16 n elements, the s-th at from + s * stride, to the same places of `to`.
template <class T> TCU_WARP void scan_16n(const T *from, float *to, int64_t stride, int n) {
  const int l = lane();
  const int64_t mine = (l / 2) * stride + (l & 1) * 8;
  float before = 0;
  for (int i = 0; i < n; ++i) {
    float y[8];
    scan_16<T>(piece_at(from + mine + int64_t(i) * 16), y);
    for (int e = 0; e < 8; ++e) to[mine + int64_t(i) * 16 + e] = before + y[e];
    before += __shfl_sync(kAll, y[7], l | 1);
  }
}
// Scan_256N: of 256 n neighbouring elements.
template <class T> TCU_WARP void scan_256n(const T *from, float *to, int n) {
  const int64_t mine = lane() * 8;
  float before = 0;
  for (int i = 0; i < n; ++i) {
    float y[8];
    before = scan_256<T>(piece_at(from + mine + int64_t(i) * 256), y, before);
    for (int e = 0; e < 8; ++e) to[mine + int64_t(i) * 256 + e] = y[e];
  }
}

}  // namespace tcu::warp
#endif
