// scan.tcu.matmulscan, scan.tcu.matmulscan_8: a sum along any mode by MatMulScan with 16 x 16 or 8 x 8 matrices, on tensor cores, as
// published; for pins.
// (Zouzias and McColl 2023, "A Parallel Scan Algorithm in the Tensor Core Unit Model", Algorithm 1; lib/cpu/matmul_scan.h: the reference.)
// A block has a tile of 16^3 = 8^4 elements as float32 in shared memory. Three rounds of products by L (ones on and below the diagonal)
// lead to the sums of every 16, 256 and 4096 elements; three by B (ones on the diagonal and in the first column) add to the others what
// comes before them. What comes before the tile lies before its first element, so that the first of these adds it as it does all else.
// 8 x 8: four rounds each, and two products, one under the other, where there is one of 16 x 16. They are not one instruction, by a
// constant of two blocks: its zeros would carry an Inf from one to the other.
// A line of several tiles: their sums are a line of float32 for the next level, 4096 times as short, in the workspace. Launches, one after
// another: for each level from the lowest the sums of its tiles, then, from the highest, which has one tile a line, the scans. So a
// line is read twice and written once; 2^28 elements are five launches.
// 16-bit elements are one factor as they are. float32, that of the input and that between the rounds, is never rounded to 16 bits: it is
// split in three parts of tf32 (Tf32Parts of tcu/row_sums.cuh), each multiplied and all of them added up in float32. The order of all
// additions is fixed.
// The zeros of L and B carry an Inf or a NaN to sums before it: a tile that has one after the rounds of L is added up again by ordinary
// additions, in the order of its elements. (A sum of a whole tile is a row of ones: it needs no second look.)
// p.detail: 2 * level, and 1 where that level is scanned. In place: a tile's elements are read before they are written.
#pragma once
#include "device/scan.cuh"
#include "tcu/row_sums.cuh"

namespace tcu::cuda {
inline constexpr int kMatmulTile = 16 * 16 * 16;
TCU_FN constexpr int64_t matmul_tiles(int64_t n) { return (n + kMatmulTile - 1) / kMatmulTile; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int S>
struct scan_tcu_matmulscan {
  using T = first_of<typename Map::Inputs>;
  using F = ScanFold<Op, Acc, Index>;
  static_assert(is_identity<Map> && is_same<Acc, float> && (S == 8 || S == 16));
  static constexpr int kResident = 4, kWarps = kThreads / 32, kMine = kMatmulTile / kThreads;
  static constexpr int V = 4, kItems = kMine / V;
  static constexpr bool kHalf = sizeof(T) == 2;
  using Row = Line<Map, F, Out, Index, V>;

  // Where element i is, from -1 (what comes before the tile) on. Steps of 16 words do not meet in one bank.
  static constexpr int kWords = kMatmulTile + 1 + kMatmulTile / 32 * 4 + 4;
  TCU_DEVICE static int place(int i) { return i + 1 + (i + 1) / 32 * 4; }
  // Element of a thread's k-th vector: the warp's 128 neighbours, which are eight columns of 16.
  TCU_DEVICE static int vector(int k) { return (k * kThreads + int(threadIdx.x)) * V; }

  // A matrix of ones where is_one(row, column), and zeros, as A.
  template <class E, class IsOne>
  TCU_DEVICE static void constant(uint32_t (&a)[4], IsOne is_one) {
    const int lane = int(threadIdx.x) % 32;
    constexpr uint32_t kMask = sizeof(E) == 4 ? ~0u : 0xffffu;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      a[w] = 0;
#pragma unroll
      for (int e = 0; e < mma::kPacked<E>; ++e) {
        const mma::Place at = mma::place_in_a<E>(lane, w, e);
        if (is_one(at.row, at.column)) a[w] |= (mma::Instruction<E>::kOne & kMask) << (16 * e);
      }
    }
  }
  TCU_DEVICE static bool in_l(int row, int column) { return column <= row && column / S == row / S; }
  TCU_DEVICE static bool in_b(int row, int column) { return column == row || column == row / S * S; }
  // D, or the upper half of one and the lower half of another, to columns of 16, from the first-th on, of so many elements, which lie from
  // element `from` on, `step` apart.
  TCU_DEVICE static void put(float *x, int from, int step, int first, int elements, const float (&d)[2][4]) {
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const mma::Place at = mma::place_in_d(lane, i);
      const int element = 16 * (first + at.column) + at.row;
      if (element < elements) x[place(from + element * step)] = d[S == 8 ? i / 2 : 0][i];
    }
  }
  // BatchMatMul of the paper: elements from, from + step, ... as columns, each times L (kSums) or B, by the whole block.
  template <bool kSums>
  TCU_DEVICE static void multiply(float *x, int from, int step) {
    const int elements = kMatmulTile / step;
    const int lane = int(threadIdx.x) % 32, quad = mma::quad_of(lane), member = mma::member_of(lane);
    uint32_t a[2][4];  // for rows 0..7 of a column and for rows 8..15 of it
#pragma unroll
    for (int h = 0; h < 2; ++h)
      constant<tf32_t>(a[h], [&](int row, int k) { return kSums ? in_l(row, 8 * h + k) : in_b(row, 8 * h + k); });
#pragma unroll 1
    for (int first = int(threadIdx.x) / 32 * 8; 16 * first < elements; first += 8 * kWarps) {
      Piece column = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int element = 16 * (first + quad) + member + 4 * i;
        if (element < elements) column.word[i] = Tf32Parts::bits_of(x[place(from + element * step)]);
      }
      const Tf32Parts parts(column);
      float d[2][4] = {};
#pragma unroll
      for (int k = 2; k >= 0; --k)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const uint32_t b[2] = {parts.at[k][2 * h], parts.at[k][2 * h + 1]};
          mma::Instruction<tf32_t>::multiply(d[S == 8 ? h : 0], a[h], b);
        }
      __syncwarp();  // these columns are this warp's alone
      put(x, from, step, first, elements, d);
    }
    __syncthreads();
  }
  // L times the columns of neighbours, from registers: a lane's four elements are four rows of its quad's column.
  TCU_DEVICE static void multiply_elements(float *x, const float (&e)[kItems][V]) {
    uint32_t a[4];  // whose k-th column is for the row that B has there
    constant<T>(a, [](int row, int k) { return in_l(row, k % 8 / 2 * 4 + k / 8 * 2 + k % 2); });
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      struct Elements {
        T at[V];
      } y;
#pragma unroll
      for (int v = 0; v < V; ++v) y.at[v] = tcu::convert<T>(e[k][v]);
      const auto words = __builtin_bit_cast(uint2, y);
      float d[2][4] = {};
#pragma unroll
      for (int h = 0; h < 16 / S; ++h) {
        const bool mine = S == 16 || mma::member_of(int(threadIdx.x) % 32) / 2 == h;
        const uint32_t b[2] = {mine ? words.x : 0, mine ? words.y : 0};
        mma::Instruction<T>::multiply(d[h], a, b);
      }
      put(x, 0, 1, vector(k) / 128 * 8, kMatmulTile, d);
    }
    __syncthreads();
  }

  // The tile's elements: of a line of the input, or of sums.
  struct Source {
    Row line;
    const float *sums;  // null: of the line
    int64_t first, n;
    template <class P>
    TCU_DEVICE void read(const P &p, float (&e)[kItems][V]) const {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (!sums) {
          line.load(p, Index(first + vector(k)), e[k]);
        } else {
#pragma unroll
          for (int v = 0; v < V; ++v) e[k][v] = first + vector(k) + v < n ? sums[first + vector(k) + v] : 0;
        }
      }
    }
  };
  TCU_DEVICE static void put_elements(float *x, const float (&e)[kItems][V]) {
#pragma unroll
    for (int k = 0; k < kItems; ++k)
#pragma unroll
      for (int v = 0; v < V; ++v) x[place(vector(k) + v)] = e[k][v];
    __syncthreads();
  }
  // The sums after `before`, by ordinary additions: a thread has kMine neighbours.
  TCU_DEVICE static void add_up(float *x, float before) {
    TCU_SHARED(float, ends, kThreads);
    const int t = int(threadIdx.x);
    float sum = 0;
#pragma unroll 1
    for (int i = t * kMine; i < (t + 1) * kMine; ++i) x[place(i)] = sum = sum + x[place(i)];
    ends[t] = sum;
    __syncthreads();
    if (t == 0)
#pragma unroll 1
      for (int k = 0; k < kThreads; ++k) {
        const float next = before + ends[k];
        ends[k] = before, before = next;
      }
    __syncthreads();
#pragma unroll 1
    for (int i = t * kMine; i < (t + 1) * kMine; ++i) x[place(i)] = ends[t] + x[place(i)];
    __syncthreads();
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(float, x, kWords);
    const int level = p.detail / 2;
    const bool scans = p.detail % 2 != 0;
    int64_t n = p.folded;  // elements of a line of this level
    float *own = nullptr, *above = static_cast<float *>(p.workspace);  // this level's lines, where they are sums; the next one's
    for (int l = 0; l < level; ++l) n = matmul_tiles(n), own = above, above += p.kept * n;
    const int64_t tiles = matmul_tiles(n), line = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    above += line * tiles;

    Source source{{}, nullptr, tile * kMatmulTile, n};
    if (level == 0) source.line = Row(p, Index(line));
    else own += line * n, source.sums = own;
    float e[kItems][V];
    source.read(p, e);
    const bool from_registers = kHalf && level == 0;
    if constexpr (kHalf) {
      if (from_registers) multiply_elements(x, e);
    }
    if (!from_registers) {
      put_elements(x, e);
      multiply<true>(x, 0, 1);
    }
#pragma unroll 1
    for (int step = S; step < kMatmulTile; step *= S) multiply<true>(x, step - 1, step);
    if (!scans) {
      if (threadIdx.x == 0) above[tile] = x[place(kMatmulTile - 1)];
      return;
    }

    const float start = level == 0 ? p.init.template as<float>() : 0.0f;
    const float before = tile > 0 ? start + above[tile - 1] : start;
    bool finite = true;
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const float y = x[place(int(threadIdx.x) + i * kThreads)];
      finite = finite && y - y == 0;
    }
    if (__syncthreads_and(finite)) {
      if (threadIdx.x == 0) {
        x[place(-1)] = before;
        float &last = x[place(kMatmulTile - 1)];  // no product of these rounds has it: it is of the next level, if there is one
        last = tiles > 1 ? start + above[tile] : before + last;
      }
      __syncthreads();
#pragma unroll 1
      for (int step = kMatmulTile / S; step > 0; step /= S) multiply<false>(x, -1, step);
    } else {
      source.read(p, e);
      put_elements(x, e);
      if (threadIdx.x == 0) x[place(-1)] = before;
      add_up(x, before);
    }

    const int shift = level == 0 && (p.flags & kExclusive) != 0;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = vector(k);
      float y[V];
#pragma unroll
      for (int v = 0; v < V; ++v) y[v] = x[place(i + v - shift)];
      if (level == 0) {
        if constexpr (sizeof(Out) * V > 16) source.line.store_singly(p, Index(source.first + i), y);
        else source.line.store(p, Index(source.first + i), y);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (source.first + i + v < n) own[source.first + i + v] = y[v];
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_tcu_segmented.cuh"

namespace tcu::cuda::rows {

template <int S>
struct ScanTcuMatmulscan {
  static bool accepts(const Problem &p, const Device &d) {
    const Mode *const s = fastest(p, Role::S);
    return on_tensor_cores(p, d) && p.n_inputs == 1 && p.acc == DType::f32 && !is_float8(p.in[0]) && s &&
           matmul_tiles(s->extent) * p.kept() <= INT32_MAX;
  }
  static bool suits(const Problem &, const Device &) { return false; }
  static LaunchConfig configure(const Problem &p, const Device &) {
    LaunchConfig c;
    c.block = kThreads, c.vector = 4;
    int64_t n = matmul_tiles(fastest(p, Role::S)->extent);
    c.grid = n * p.kept();
    for (; n > 1; n = matmul_tiles(n)) c.workspace_bytes += size_t(n * p.kept()) * sizeof(float);
    return c;
  }
  // Each of a plan's launches, in their order.
  template <class Launch>
  static void each_launch(const Plan &plan, Launch launch) {
    const int64_t extent = fastest(plan.problem, Role::S)->extent;
    const auto launch_level = [&](int level, bool scans) {
      LaunchConfig c = plan.config;
      int64_t tiles = extent;
      for (int l = 0; l <= level; ++l) tiles = matmul_tiles(tiles);
      c.grid = tiles * plan.problem.kept(), c.detail = 2 * level + scans;
      launch(c);
    };
    int top = 0;
    for (int64_t tiles = matmul_tiles(extent); tiles > 1; tiles = matmul_tiles(tiles)) launch_level(top++, false);
    for (int level = top; level >= 0; --level) launch_level(level, true);
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_tcu_matmulscan", {std::to_string(S)});
  }
};

}  // namespace tcu::cuda::rows
#endif
