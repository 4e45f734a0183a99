// Sums by tensor cores with the data as the other operand: ones times B sums B's columns. For segments that lie side by side (Dakkak et
// al. 2019, "Accelerating reduction and scan using tensor core units", 4), and for the first product of a sum by two (Carrasco et al. 2019,
// "Analyzing GPU tensor core potential for fast reductions", 3). A is ones throughout, so an Inf or a NaN stays in its column.
#pragma once
#include "tcu/row_sums.cuh"

#if defined(TCU_WARP)
namespace tcu {

// Of 16- and 8-bit elements whose rows lie one after another: a lane has kRows pieces, of as many rows, of its quad's kColumns neighbouring
// columns; the lanes of a quad have other rows. A register of B holds neighbours down a column, a piece neighbours along a row: the bytes
// of kPacked pieces are turned in registers, half an instruction a 16-bit element. All lanes of the warp call every function together.
template <class T>
struct ColumnSums {
  using I = mma::Instruction<T>;
  using Sum = typename I::Sum;
  static constexpr int kPacked = mma::kPacked<T>, kColumns = 4 * kPacked, kRows = 2 * kPacked, kMost = RowSums<T>::kMost;
  static constexpr int kOwn = kColumns / 4;  // sums that a lane ends with
  Sum d[kColumns][4] = {};

  TCU_WARP void add(const Piece (&x)[kRows]) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      uint32_t b[2][kPacked];
#pragma unroll
      for (int half = 0; half < 2; ++half) turn(&x[half * kPacked], w, b[half]);
#pragma unroll
      for (int c = 0; c < kPacked; ++c) I::multiply(d[w * kPacked + c], mma::ones_as_a<T>().words, {b[0][c], b[1][c]});
    }
  }
  // The i-th of a lane's own sums, kOwn of the tile's 8 * kColumns columns, and which column it is of. Every row of D is the same, so that
  // each quad can keep other columns of it.
  TCU_WARP static int column(int lane, int i) {
    return (2 * mma::member_of(lane) + (i & 1)) * kColumns + mma::quad_of(lane) + 8 * (i >> 1);
  }
  TCU_WARP Sum sum(int lane, int i) const {
    Sum s = d[8 * (i >> 1)][i & 1];
#pragma unroll
    for (int q = 1; q < 8; ++q)
      if (mma::quad_of(lane) == q) s = d[8 * (i >> 1) + q][i & 1];
    return s;
  }

  // Word w of kPacked pieces, a row of elements each, as words of a column each.
  TCU_WARP static void turn(const Piece *x, int w, uint32_t (&b)[kPacked]) {
    if constexpr (kPacked == 2) {
      b[0] = __byte_perm(x[0].word[w], x[1].word[w], 0x5410), b[1] = __byte_perm(x[0].word[w], x[1].word[w], 0x7632);
    } else {
      static_assert(kPacked == 4);
#pragma unroll
      for (int high = 0; high < 2; ++high) {  // two columns of two rows each, and then of four
        const uint32_t pick = high ? 0x7362 : 0x5140;
        const uint32_t upper = __byte_perm(x[0].word[w], x[1].word[w], pick), lower = __byte_perm(x[2].word[w], x[3].word[w], pick);
        b[2 * high] = __byte_perm(upper, lower, 0x5410), b[2 * high + 1] = __byte_perm(upper, lower, 0x7632);
      }
    }
  }
};

// The sum of all that a warp adds, by products alone: a chain of them sums columns (Navarro et al. 2020, "GPU tensor cores for fast
// arithmetic reductions", 4), and one more the row of column sums. That row is float32, which the last product takes in three parts
// of tf32 where the papers round it to 16 bits. kMost: pieces, whose halves are chains of as many products as in RowSums.
template <class T>
struct TileSum {
  using I = mma::Instruction<T>;
  static constexpr int kMost = 4;
  float d[2][4] = {};

  TCU_WARP void add(const Piece &x) {
#pragma unroll
    for (int half = 0; half < 2; ++half) I::multiply(d[half], mma::ones_as_a<T>().words, {x.word[2 * half], x.word[2 * half + 1]});
  }
  // To every lane.
  TCU_WARP float sum() const {
    const float both[4] = {d[0][0] + d[1][0], d[0][1] + d[1][1]};
    return tcu::row_sum(both);
  }
};
template <>
struct TileSum<float> {
  using I = mma::Instruction<tf32_t>;
  static constexpr int kMost = 1;
  float d[4] = {};

  TCU_WARP void add(const Piece &x) {
    const Tf32Parts parts(x);
#pragma unroll
    for (int k = 2; k >= 0; --k)
#pragma unroll
      for (int w = 0; w < 4; w += 2) I::multiply(d, mma::ones_as_a<tf32_t>().words, {parts.at[k][w], parts.at[k][w + 1]});
  }
  TCU_WARP float sum() const { return tcu::row_sum(d); }
};

}  // namespace tcu
#endif
