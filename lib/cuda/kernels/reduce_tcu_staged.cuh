// reduce.tcu.staged: sums and means of segments that lie one after another in memory and begin anywhere ('R K', a segment up to a tile), of
// 8 and 16 bits, on tensor cores. A block copies p.detail segments to shared memory at once (device/bulk.cuh), and reads them from there by
// aligned pieces of 16 bytes, with zeros in place of what is not the segment's in the first and the last. A segment is p.lanes parts (a
// power of two up to 16), each of which is a row of A, whose pieces four lanes have (tcu/row_sums.cuh): so segments never meet, whatever is
// not finite in them, and how long one is, and where it starts, the memory does not notice.
// (Dakkak et al. 2019, 4, has segments of multiples of 16 alone, others padded; what begins anywhere is ours.)
#pragma once
#include "device/bulk.cuh"
#include "device/map.cuh"
#include "device/piece.cuh"
#include "device/total.cuh"

namespace tcu::cuda {
inline constexpr int kTcuStagedBytes = 20 << 10, kTcuStagedMost = 32 << 10;  // of a tile, and of one of long segments
inline constexpr int kTcuStagedThreads = 128, kTcuStagedRows = 16;           // of a block; of a warp
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_tcu_staged {
  using T = first_of<typename Map::Inputs>;
  using F = fold_t<Op, Acc, Index>;
  using State = typename F::State;
  using Sums = RowSums<T>;
  static constexpr int kResident = 4, kBytes = int(sizeof(T));

  // A row's pieces that a lane has: every fourth from byte `at` of the tile on, of which `begin` to `end` are the segment's. A segment has
  // 16 bytes at least, so that no piece is cut twice, and begins in a first piece if anywhere in one.
  struct Row {
    int at, begin, end;
    template <bool kFirst>
    TCU_DEVICE Piece piece(int turn, const SharedLines &tile, const SharedLines &masks) const {
      const int from = at + 64 * turn, left = end - from;
      if (left <= 0) return {};
      Piece x = __builtin_bit_cast(Piece, tile.at(from));
      if (kFirst && from < begin) keep_bytes(x, masks, kPieceBegins + begin - from);
      else if (left < 16) keep_bytes(x, masks, left);
      return x;
    }
  };
  // The sums of so many pieces of each of two rows, at most kMost.
  TCU_DEVICE static void sum_up(State (&s)[2], Row (&row)[2], int pieces, const SharedLines &tile, const SharedLines &masks) {
    Sums sums[2];
#pragma unroll
    for (int turn = 0; turn < Sums::kMost; ++turn) {
      if (turn >= pieces) break;
      const Piece a = turn ? row[0].template piece<false>(turn, tile, masks) : row[0].template piece<true>(0, tile, masks);
      const Piece b = turn ? row[1].template piece<false>(turn, tile, masks) : row[1].template piece<true>(0, tile, masks);
#pragma unroll
      for (int w = 0; w < 2; ++w) sums[w].add({{a.word[2 * w], b.word[2 * w], a.word[2 * w + 1], b.word[2 * w + 1]}});
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      s[i] = m::add(State(sums[0].sum_of_row(i)), State(sums[1].sum_of_row(i)));
      row[i].at += 64 * Sums::kMost;
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(uint4, lines);
    TCU_SHARED(uint4, masks, kPieceMasks);
    const Index kept = Index(p.kept), chunk = Index(p.detail), first = Index(blockIdx.x) * chunk;
    const int here = int(kept - first < chunk ? kept - first : chunk), bytes = int(p.folded) * kBytes;
    const T *const tile = static_cast<const T *>(p.in[0]) + first * Index(p.folded);
    const int ahead = int(reinterpret_cast<uint64_t>(tile) % 16), all = ahead + here * bytes;  // the tensor begins with a multiple of 16
    const char *const from = reinterpret_cast<const char *>(tile) - ahead;
    uint4 *const staged = lines + (reinterpret_cast<uint64_t>(from) / 16 & 7);  // at the same place of 128
    // Nothing is read after the tensor.
    const int whole = first + here == kept ? all / 16 * 16 : (all + 15) / 16 * 16, t = int(threadIdx.x);
    if (t < (all - whole) / kBytes)
      reinterpret_cast<T *>(staged)[whole / kBytes + t] = reinterpret_cast<const T *>(from)[whole / kBytes + t];
    fill_masks(masks);
    fill_shared(staged, from, whole, !p.floods());

    const SharedLines lined(staged), masked(masks);
    const int parts = p.lanes, lane = opaque(t % 32), quad = quotient(lane, 4), own = remainder(lane, 4);
    const int aligned = bytes & -bytes, most_ahead = aligned < 16 ? 16 - aligned : 0;             // in a segment's first piece
    const int each = quotient(quotient(most_ahead + bytes + 15, 16) + 4 * parts - 1, 4 * parts);  // pieces of a lane
#pragma unroll 1
    for (int base = quotient(t, 32) * kTcuStagedRows; base < here * parts; base += kTcuStagedThreads / 32 * kTcuStagedRows) {
      Row row[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int number = base + 8 * i + quad, segment = quotient(number, parts);
        row[i].begin = ahead + segment * bytes;
        row[i].at = (row[i].begin & ~15) + (remainder(number, parts) * 4 * each + own) * 16;
        row[i].end = row[i].begin + bytes;
        if (segment >= here) row[i] = {0, 0, 0};
      }
      State s[2];  // all lanes of a quad have them
      sum_up(s, row, each, lined, masked);
      if (each > Sums::kMost) {
        Total<F> total[2];
        for (int i = 0; i < 2; ++i) total[i].add(s[i]);
#pragma unroll 1
        for (int done = Sums::kMost; done < each; done += Sums::kMost) {
          sum_up(s, row, each - done, lined, masked);
          for (int i = 0; i < 2; ++i) total[i].add(s[i]);
        }
        for (int i = 0; i < 2; ++i) s[i] = total[i].all();
      }
#pragma unroll 1
      for (int h = 1; h < parts && h < 8; h *= 2)
#pragma unroll
        for (State &one : s) one = F::combine(one, shuffle_xor(one, 4 * h));
      if (parts == kTcuStagedRows) s[0] = F::combine(s[0], s[1]);
      const int number = base + 8 * own + quad, segment = quotient(number, parts);
      if (own < 2 && remainder(number, parts) == 0 && segment < here)
        store_result<F, Out>(p, (first + segment) * Index(p.mode[0].out), own ? s[1] : s[0], p.folded);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_staged.cuh"
#include "kernels/reduce_tcu_segmented.cuh"

namespace tcu::cuda::rows {

struct ReduceTcuStaged {
  static bool accepts(const Problem &p, const Device &d) {
    if (p.n_inputs != 1 || p.modes.n_of(Role::R) != 1 || !ReduceStaged::in_line(p) || bytes_of(p.in[0]) > 2) return false;
    return segment_bytes(p) >= 16 && segment_bytes(p) <= kTcuStagedMost && on_tensor_cores(p, d);
  }
  // What is read as fast wherever it begins, on an H200: 2^28 float16 in segments of 33, 129, 257, 1025 took 182, 209, 215, 179 us on
  // ordinary cores and take 147, 122, 122, 120. Not where these read 8 bytes at a time in short segments and add what they read with
  // little work (float16 of 100: 121 for 122); nor what is so little that waiting for one tile is long (2 MB: 4.6 for 3.3), or what
  // reduce.tcu.segmented has in flight at once (8 MB, segments of 2000 bytes: 5.7 for 4.8). But what is less than 2 MB is one tile for a
  // block: of nine random problems this row was faster than that one in seven, 0.84 to 0.99 of the time, and as fast in two (H100, H200).
  static bool suits(const Problem &p, const Device &d) {
    const int64_t bytes = segment_bytes(p), all = p.kept() * bytes, aligned = bytes & -bytes;
    if (all < 2 << 20) return bytes <= 4096 && ReduceTcuSegmented::accepts(p, d) && ReduceTcuSegmented::suits(p, d);
    if (p.reduced() < 32 || all < 4 << 20 || (all < 16 << 20 && bytes > 512)) return false;
    if (aligned >= 16) return suits_whole(p, d);
    return is_float8(p.in[0]) || aligned < 8 || bytes > 512;
  }
  // Of whole pieces 8-bit floats where these are no power of two; 8-bit integers where they come from the memory (2^31 bytes in segments of
  // 64 and 256: 548 and 512 us for 587 and 555); 16 bits in numbers that leave many lanes of reduce.contiguous without work (91567 of
  // 1032: 46.8 for 54.7).
  static bool suits_whole(const Problem &p, const Device &d) {
    const int64_t bytes = segment_bytes(p), all = p.kept() * bytes;
    if (is_float8(p.in[0])) return (bytes & (bytes - 1)) != 0 && bytes >= 64;
    if (bytes_of(p.in[0]) == 1) return bytes >= 64 && bytes <= 512 && all >= 4 * d.l2_bytes;
    return bytes > 2048 && bytes < 4096 && bytes % 512 != 0 && all >= 16 << 20;
  }

  static int64_t segment_bytes(const Problem &p) { return p.reduced() * bytes_of(p.in[0]); }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kTcuStagedThreads, c.vector = 16 / bytes_of(p.in[0]);
    // As many as a tile holds, of long ones two, and as leave a tile to all blocks that the device has room for.
    const int64_t bytes = segment_bytes(p), pieces = ReduceTcuSegmented::pieces(p);
    const int64_t blocks = d.processors * (d.shared_bytes / kTcuStagedBytes);
    const int64_t most = std::max(kTcuStagedBytes / bytes, std::min<int64_t>(kTcuStagedMost / bytes, 2));
    c.detail = int(std::clamp<int64_t>(p.kept() / blocks, 1, most));
    // The parts with which a block is done first: turns of its warps, each of so many pieces of a lane, and of what takes as long as one.
    int64_t least = INT64_MAX;
    for (int parts = 1; parts <= kTcuStagedRows; parts *= 2) {
      const int64_t turns = ceil_div(c.detail * parts, kTcuStagedThreads / 32 * kTcuStagedRows) * (ceil_div(pieces, 4 * parts) + 1);
      if (turns < least) least = turns, c.lanes = parts;
    }
    c.shared_bytes = int((c.detail * bytes + 15) / 16 * 16) + 16 + 112;  // begins anywhere in 16, and in 128
    c.floods = ReduceStaged::floods(p, d);
    c.grid = ceil_div(p.kept(), c.detail);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) { return make_instance(p, "reduce_tcu_staged"); }
};

}  // namespace tcu::cuda::rows
#endif
