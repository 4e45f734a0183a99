// 16 bytes of a lane (tcu/row_sums.cuh), cut where a segment begins or ends in them.
#pragma once
#include "device/intrinsics.cuh"
#include "tcu/row_sums.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Bytes `begin` to `end` as they are, zeros in place of the others; what is below 0 or above 16 is no end.
TCU_DEVICE void keep_bytes(Piece &x, int begin, int end) {
  if (end > 16) end = 16;
#pragma unroll
  for (int w = 0; w < 4; ++w) x.word[w] &= lowest_bits(8 * end - 32 * w) & ~lowest_bits(8 * begin - 32 * w);
}

// The same by a table of masks: of the lowest n bytes, and from kPieceBegins on of all but the lowest n. A warp fills it.
inline constexpr int kPieceBegins = 16, kPieceMasks = 32;
TCU_DEVICE void fill_masks(uint4 *masks) {
  const int t = int(threadIdx.x);
  if (t >= kPieceMasks) return;
  Piece x = {{~0u, ~0u, ~0u, ~0u}};
  if (t <= 16) keep_bytes(x, 0, t);
  else keep_bytes(x, t - kPieceBegins, 16);
  masks[t] = __builtin_bit_cast(uint4, x);
}
TCU_DEVICE void keep_bytes(Piece &x, const SharedLines &masks, int mask) {
  const Piece keep = __builtin_bit_cast(Piece, masks.at(16 * mask));
#pragma unroll
  for (int w = 0; w < 4; ++w) x.word[w] &= keep.word[w];
}

}  // namespace tcu::cuda
#endif
