// Sums by tensor cores: a row of A times a column of ones (Dakkak et al. 2019, "Accelerating reduction and scan using tensor core units",
// 4.1; Navarro et al. 2020, "GPU tensor cores for fast arithmetic reductions", 4). The order of a row's elements does not matter
// to its sum, so what a lane has loaded, 16 neighbouring bytes, is its registers of A as it is: no permutation has to be undone. B is
// ones throughout and each quad of lanes has its own rows, so an Inf or a NaN stays in its quad's sum; a product with a selector of ones
// and zeros, as add_by_lanes has, carries 0 * Inf into others'.
#pragma once
#include "tcu/layout.cuh"

#if defined(TCU_WARP)
namespace tcu {

// 16 bytes of a lane.
struct Piece {
  uint32_t word[4];
};

// All lanes of the warp call every function together. kMost: pieces that may be added before sum() is to be taken, such that a sum of
// numbers of one sign is within 2^-21 of itself (all but one may be cut off of the 64 that add brings to one register), and integers do not wrap.
template <class T>
struct RowSums {
  using I = mma::Instruction<T>;
  using Sum = typename I::Sum;
  static constexpr int kMost = (is_float<Sum> ? 4 : 8) / I::kProducts;
  Sum d[4] = {};

  TCU_WARP void add(const Piece &x) { I::multiply(d, x.word, mma::ConstantB<T>::ones().words); }
  // Of the quad; all its lanes have it.
  TCU_WARP Sum sum() const { return d[0] + d[2]; }
  // Of one of its two rows: 0, of words 0 and 2 of its lanes' pieces, or 1, of words 1 and 3.
  TCU_WARP Sum sum_of_row(int row) const { return row ? d[2] : d[0]; }

  // Each element times the one at its place in w (Dakkak et al., 2.4). B's column q is what quad q has, so that the sum of a quad with its
  // own weights is on D's diagonal; the elements are in row q alone, since the row eight further down would want a second column. Not to be
  // mixed with add.
  TCU_WARP void add_weighted(const Piece &x, const Piece &w) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const uint32_t a[4] = {x.word[i], 0, x.word[i + 1], 0}, b[2] = {w.word[i], w.word[i + 1]};
      I::multiply(d, a, b);
    }
  }
  TCU_WARP Sum weighted_sum(int lane) const {
    const int quad = mma::quad_of(lane);
    return __shfl_sync(0xffffffffu, quad & 1 ? d[1] : d[0], 4 * quad + quad / 2);
  }

  // For half a quad each, lanes 0 and 1 and lanes 2 and 3: the first pair's elements go to the quad's row 0, the second's to row 1, zeros
  // where they would meet (sum_of_row). Not to be mixed with add.
  TCU_WARP void add_by_pairs(const Piece &x, bool second) {
    const uint32_t mask = second ? ~0u : 0u;
#pragma unroll
    for (int w = 0; w < 4; w += 2) {
      const uint32_t a[4] = {x.word[w] & ~mask, x.word[w] & mask, x.word[w + 1] & ~mask, x.word[w + 1] & mask};
      I::multiply(d, a, mma::ConstantB<T>::ones().words);
    }
  }

  // For each lane by itself, two pieces x0 and x1 of each: D's column q is what lane q of the quad has in x0, column 4 + q what it has in
  // x1. B's columns select: a quad's sums are all NaN where one of its elements is not finite. Not to be mixed with add.
  TCU_WARP void add_by_lanes(const Piece &x0, const Piece &x1, int lane) {
    const int own = lane % 4, column = lane / 4;  // the lane whose elements this one's registers of B meet, and where
    const uint32_t first[2] = {column == own ? I::kOne : 0, column == own ? I::kOne : 0};
    const uint32_t second[2] = {column == 4 + own ? I::kOne : 0, column == 4 + own ? I::kOne : 0};
    I::multiply(d, x0.word, first);
    I::multiply(d, x1.word, second);
  }
  // Of lanes 2 (lane % 2) and the next of the quad, in x0 to lanes 0 and 1 of it, in x1 to lanes 2 and 3.
  TCU_WARP Sum sum_of_lane(int i) const { return d[i] + d[2 + i]; }
};

// float32 in three parts of 11, 11 and 2 bits, which are exact as tf32, so that their sum is as float32's own but for what a tensor core
// cuts off (mma.cuh). What is not finite has one part.
struct Tf32Parts {
  uint32_t at[3][4];
  TCU_WARP explicit Tf32Parts(const Piece &x) {
    constexpr uint32_t kHigh = 0xffffe000, kExponent = 0x7f800000;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const uint32_t bits = x.word[w];
      const bool finite = (bits & kExponent) != kExponent, nan = (bits & ~(1u << 31)) > kExponent;
      at[0][w] = nan ? bits | 1u << 22 : bits & kHigh;  // a NaN whose bits are all low would be cut to an Inf
      const float rest = finite ? number(bits) - number(at[0][w]) : 0;
      at[1][w] = bits_of(rest) & kHigh;
      at[2][w] = bits_of(rest - number(at[1][w]));
    }
  }
  TCU_WARP static float number(uint32_t bits) { return __builtin_bit_cast(float, bits); }
  TCU_WARP static uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
};

template <>
struct RowSums<float> {
  using I = mma::Instruction<tf32_t>;
  using Sum = float;
  static constexpr int kMost = 8;
  Sum d[4] = {};

  TCU_WARP void add(const Piece &x) {
    const Tf32Parts parts(x);
#pragma unroll
    for (int k = 2; k >= 0; --k) I::multiply(d, parts.at[k], mma::ConstantB<tf32_t>::ones().words);
  }
  TCU_WARP Sum sum() const { return d[0] + d[2]; }
};

// Of a D whose rows are all the same: of one of its rows, to every lane. D's registers are those of A, its columns in another order.
TCU_WARP float row_sum(const float (&d)[4]) {
  RowSums<float> row;
  row.add({{Tf32Parts::bits_of(d[0]), 0, Tf32Parts::bits_of(d[1]), 0}});
  return row.sum();
}

// float64 as it is: its tensor cores round as fma does.
template <>
struct RowSums<double> {
  using I = mma::Instruction<double>;
  using Sum = double;
  static constexpr int kMost = 64;
  Sum d[2] = {};

  TCU_WARP void add(const Piece &x) {
    struct Two {
      double at[2];
    };
    const Two two = __builtin_bit_cast(Two, x);
#pragma unroll
    for (int i = 0; i < 2; ++i) I::multiply(d, two.at[i], 1.0);
  }
  TCU_WARP Sum sum() const { return d[0]; }
};

}  // namespace tcu
#endif
