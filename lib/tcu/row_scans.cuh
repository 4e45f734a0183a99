// Scans by tensor cores: a row of A times an upper triangle of ones is the row's inclusive sums (Dakkak et al. 2019, "Accelerating
// reduction and scan using tensor core units", 5). What a quad of lanes has loaded, 16 neighbouring bytes each, is a row of A as it lies,
// in two products; the triangle's rows and columns are in such an order that a lane gets the sums of its own elements, two a product.
// The row eight further down is the same quad's: elements from where a line begins on go there, so that two lines may meet in a quad.
// Zeros of the triangle carry an Inf or a NaN to the sums before it. Then no sum of the row is finite, and the warp adds up again,
// element by element: a sum depends on no element after it, and on none of another line.
#pragma once
#include "core/scalar.h"
#include "tcu/row_sums.cuh"

#if defined(TCU_WARP)
namespace tcu {

// How quads are put together: by shuffles, or as published, by products (the paper's L A 1): A 1, the quads' own sums, are told to all by
// one product and added up by another, float32 in three parts of tf32 where the paper rounds to 16 bits.
enum class Across { shuffles, products };

// The triangle as B, of sums within groups of kGroup neighbouring elements. Register w of product `half` has kPacked neighbours of a lane,
// the q-th of its four words, q = 2 half + w; its column has sum 2 j or 2 j + 1 of a lane. All ones where the word comes before the sum,
// zeros where it comes after it, and some of both where the sum is of one of its elements.
template <class T, int kGroup>
struct Triangle {
  static constexpr int kPacked = mma::kPacked<T>, kElements = 4 * kPacked;
  uint32_t before, after, own[kPacked / 2];

  TCU_WARP explicit Triangle(int lane) {
    constexpr uint32_t ones = mma::Instruction<T>::kOne;
    const int from = mma::member_of(lane), to = mma::quad_of(lane) / 2, odd = mma::quad_of(lane) % 2;  // lanes of a quad
    const bool together = from * kElements / kGroup == to * kElements / kGroup;
    before = together && from <= to ? ones : 0;
    after = together && from < to ? ones : 0;
#pragma unroll
    for (int i = 0; i < kPacked / 2; ++i) own[i] = from == to ? ones >> (32 / kPacked * (kPacked - 1 - 2 * i - odd)) : after;
  }
  TCU_WARP uint32_t word(int q, int j) const {
    const int at = 2 * j / kPacked;
    return q < at ? before : q > at ? after : own[j % (kPacked / 2)];
  }
};

// A lane's kElements elements and their inclusive sums, from the start of its group of kGroup elements, or its quad, on.
template <class T>
struct RowScan {
  using I = mma::Instruction<T>;
  using Sum = typename I::Sum;
  static constexpr int kElements = 4 * mma::kPacked<T>, kQuad = 4 * kElements;

  // split: how many of the lane's elements come before a place in the quad from which on they are added up by themselves; kSplit: there
  // may be such a place. False: some element of the quad is not finite, or a sum is not, and sums mean nothing.
  template <int kGroup, bool kSplit>
  TCU_WARP static bool add_up(const Piece &x, int lane, int split, Sum (&y)[kElements]) {
    static_assert(sizeof(T) > 1 || is_int<T>, "what is not finite is looked for in 16-bit floats alone");
    constexpr int kBits = 128 / kElements;
    const Triangle<T, kGroup> ones(lane);
    uint32_t second[4] = {};
#pragma unroll
    for (int w = 0; w < 4; ++w)
      if (kSplit) second[w] = x.word[w] & ~lowest(split * kBits - 32 * w);
    bool finite = true;
#pragma unroll
    for (int j = 0; j < kElements / 2; ++j) {
      Sum d[4] = {};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int w = 2 * half;
        const uint32_t a[4] = {x.word[w] & ~second[w], second[w], x.word[w + 1] & ~second[w + 1], second[w + 1]};
        const uint32_t b[2] = {ones.word(w, j), ones.word(w + 1, j)};
        I::multiply(d, a, b);
      }
      y[2 * j] = !kSplit || 2 * j < split ? d[0] : d[2], y[2 * j + 1] = !kSplit || 2 * j + 1 < split ? d[1] : d[3];
      if (sizeof(T) > 1 && j == 0) {  // a row's sums are all finite, or none
        const Sum probe = kSplit ? d[0] + d[2] : d[0];
        finite = probe - probe == 0;
      }
    }
    return finite;
  }
  // Element by element, from the lane's first, or from the split-th, on.
  TCU_WARP static void add_singly(const Piece &x, int split, Sum (&y)[kElements]) {
    struct Elements {
      T at[kElements];
    };
    const Elements e = __builtin_bit_cast(Elements, x);
#pragma unroll
    for (int i = 0; i < kElements; ++i) y[i] = (i > 0 && i != split ? y[i - 1] : 0) + tcu::convert<Sum>(e.at[i]);
  }

 private:
  TCU_WARP static uint32_t lowest(int bits) { return bits <= 0 ? 0 : bits < 32 ? (1u << bits) - 1 : ~0u; }
};

// Groups of kLanes neighbouring lanes, each with a sum v, the same in all or right in its last lane; of those that are marked it is counted
// from them on only. Of a group: what the groups below it come to, since the last one that is marked, and whether none of them is.
template <class Sum>
struct Below {
  Sum sum;
  bool open;
};
template <int kLanes, bool kMarks, class Sum>
TCU_WARP Below<Sum> sum_below(Sum v, bool marked, int lane) {
  constexpr unsigned kAll = 0xffffffffu;
  const int first = lane & ~(kLanes - 1), group = lane / kLanes;
  const unsigned marks = kMarks ? __ballot_sync(kAll, marked) : 0, lower = marks & ((1u << first) - 1);
  const int last = marks & (1u << first) ? group : lower ? (31 - __clz(int(lower))) / kLanes : 0;
  if (kLanes > 1) v = __shfl_sync(kAll, v, lane | (kLanes - 1));
#pragma unroll
  for (int h = 1; h < 32 / kLanes; h *= 2) {
    const Sum below = __shfl_up_sync(kAll, v, unsigned(h * kLanes));
    if (h <= group - last) v += below;
  }
  const Sum below = __shfl_up_sync(kAll, v, unsigned(kLanes));
  return {group > 0 ? below : Sum(0), lower == 0};
}

// The same of quads by products, none of them marked; all lanes of a quad have its sum.
template <class Sum>
TCU_WARP Sum sum_below_by_products(Sum v, int lane) {
  // column q of B has the sum of quad q, in a row for each of its parts; D's rows are all the same
  const int member = mma::member_of(lane);
  const Tf32Parts parts(Piece{{Tf32Parts::bits_of(float(v))}});
  const uint32_t part = member == 0 ? parts.at[0][0] : member == 1 ? parts.at[1][0] : member == 2 ? parts.at[2][0] : 0, b[2] = {part, 0};
  float d[4] = {};
  mma::Instruction<tf32_t>::multiply(d, mma::ones_as_a<tf32_t>().words, b);
  // of which the row of A that is this quad's has those of the quads before it
#pragma unroll
  for (int i = 0; i < 2; ++i)
    if (2 * member + i >= mma::quad_of(lane)) d[i] = 0;
  return Sum(row_sum(d));
}

// A warp's elements, 16 bytes a lane one after another, and their inclusive sums from the line's start on. kLines: lines of n elements
// begin among them, n not less than a quad's elements; the lane's first element is its line's at-th. Else they are of one line.
// before: what comes before the warp's first element in its line; init: before the first element of a line.
template <class T, Across kAcross, bool kLines, class Acc>
TCU_WARP void scan_piece(const Piece &x, int lane, int at, int n, Acc before, Acc init, Acc (&y)[RowScan<T>::kElements]) {
  using Scan = RowScan<T>;
  using Sum = typename Scan::Sum;
  constexpr int E = Scan::kElements;
  Sum s[E];
  const auto finish = [&](int split, bool starts, const Below<Sum> &below) {
    const Acc first = starts ? init : m::add(below.open ? before : init, Acc(below.sum));
#pragma unroll
    for (int i = 0; i < E; ++i) y[i] = m::add(kLines && i >= split ? init : first, Acc(s[i]));
  };
  const int ahead = mma::member_of(lane) * E;  // elements of the quad before the lane's
  const int quad_at = at < ahead ? at - ahead + n : at - ahead, next = n - quad_at - ahead;  // from the lane's first to where a line begins
  const int split = !kLines || next > E ? E : next < 0 ? 0 : next;
  const bool finite = Scan::template add_up<Scan::kQuad, kLines>(x, lane, split, s);
  if (sizeof(T) == 1 || __all_sync(0xffffffffu, finite)) {
    const bool starts = kLines && quad_at == 0, marked = starts || (kLines && n - quad_at < Scan::kQuad);
    if constexpr (kAcross == Across::products && !kLines) {
      RowSums<T> quad;
      quad.add(x);
      finish(E, false, {sum_below_by_products(quad.sum(), lane), true});
    } else {
      finish(split, starts, sum_below<4, kLines>(s[E - 1], marked, lane));
    }
  } else {
    const bool starts = kLines && at == 0;
    const int split = kLines && n - at < E ? n - at : E;
    Scan::add_singly(x, split, s);
    finish(split, starts, sum_below<1, kLines>(s[E - 1], starts || split < E, lane));
  }
}

// The same of lines of 16 elements, a whole number of which a lane, or two, have: Scan_16.
template <class T, class Acc>
TCU_WARP void scan_sixteens(const Piece &x, int lane, Acc init, Acc (&y)[RowScan<T>::kElements]) {
  using Scan = RowScan<T>;
  constexpr int E = Scan::kElements;
  typename Scan::Sum s[E];
  const bool finite = Scan::template add_up<16, false>(x, lane, E, s);
  if (sizeof(T) > 1 && !__all_sync(0xffffffffu, finite)) {
    Scan::add_singly(x, E, s);
    const auto below = __shfl_up_sync(0xffffffffu, s[E - 1], 1u);
    if (lane % 2)
#pragma unroll
      for (int i = 0; i < E; ++i) s[i] = below + s[i];
  }
#pragma unroll
  for (int i = 0; i < E; ++i) y[i] = m::add(init, Acc(s[i]));
}

}  // namespace tcu
#endif
