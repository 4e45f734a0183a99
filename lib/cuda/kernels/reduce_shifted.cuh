// reduce.shifted: the fastest mode is kept, R is the next ('K R', 'K R K', ...), and rows begin anywhere in vectors (reduce.strided's).
// With V elements in a vector, every p.detail-th row begins at the same place in one: there are p.detail = V / gcd(row, V)
// alignments. A part (device/split.cuh) is p.chunk rows of one alignment. Read as whole vectors, from `shift` elements before its
// beginning on, a row has the same V outputs in a thread's vector as the part's others: a block works as in reduce.strided.
// A tile is p.lanes vectors and has the outputs of one fewer: they are in it whatever the shift, and parts meet tile by tile.
// The rows are one run of elements. What a vector holds of a neighbouring row is left out at the end; elements before the first
// row and behind the last may not be the tensor's, and are not read.
// Chosen before reduce.split and reduce.strided, which would read single elements; it costs p.detail states an output, or more.
#pragma once
#include "kernels/reduce_strided.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_shifted {
  using Strided = reduce_strided<Map, Op, Acc, Out, Index, true, 0>;
  using F = typename Strided::F;
  using State = typename F::State;
  using T = first_of<typename Map::Inputs>;
  static constexpr int V = Strided::V, N = 1, kResident = Strided::kResident, kItems = Strided::kItems;
  using AwaitsTurn = reduce_shifted;
  static_assert(Map::Inputs::size == 1 && V > 1);

  // Rows of a part, a thread's V outputs of each, `step` elements apart: from pointer to pointer, for with 64-bit indices there
  // are no registers for more beside what is in flight. kLast: n are left, and Items may be more.
  template <int Items, bool kLast, class P>
  TCU_DEVICE static void round(const P &p, State (&s)[V], const T *&from, Index step, int n, Index &position, Index positions) {
    Pack<V, typename Map::Inputs> x[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) {  // past the last the last again: a load that may not be would hold registers twice
      x[k].first = Raw<T, V>::template load<false>(from);  // not streamed: the next tile begins in the last sector of this one
      if (!kLast || k + 1 < n) from += step;
    }
    if constexpr (F::kAppends && sizeof(typename F::Post) <= 4 && !kLast) {  // of 8 bytes there are no registers for it
#pragma unroll
      for (int v = 0; v < V; ++v) append_column<F, Map>(p, s[v], x, v);
    } else {
#pragma unroll
      for (int k = 0; k < Items; ++k) {
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const State next = F::add(s[v], apply_at<Map>(p, x[k], v), position);  // not appended: see run
          s[v] = kLast && k >= n ? s[v] : next;  // no branch: the load would come after it
        }
        position += positions;
      }
    }
  }
  // Of the row at `from`, of its V elements from `element` on those in the fastest mode.
  template <class P>
  TCU_DEVICE static void edge(const P &p, State (&s)[V], const T *from, Index element, Index position) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (element + v < 0 || element + v >= Index(p.mode[0].extent)) continue;
      Pack<1, typename Map::Inputs> x;
      x.first = Raw<T, 1>::of({{from[v]}});
      s[v] = F::add(s[v], apply_at<Map>(p, x, 0), position);
    }
  }

  // A block for each part of each tile; these and rows are counted in 32 bits.
  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(State, shared, Strided::kShared);
    const int lanes = p.lanes, rows = quotient(kThreads, lanes), width = (lanes - 1) * V;
    const int t = int(threadIdx.x), x = remainder(t, lanes), y = quotient(t, lanes);
    const Index extent = Index(p.mode[0].extent);
    const int tiles = int((extent + width - 1) / width), cells = int(Index(p.kept) / extent) * tiles;
    const int part = int(blockIdx.x) / cells, cell = int(blockIdx.x) - part * cells, slab = cell / tiles;
    const int chunk = part / p.detail, top = part - chunk * p.detail;  // the first row of the part's alignment
    const Index first = Index(cell - slab * tiles) * width;
    Offsets<N, Index> o;
    decode(o, p, 1, p.n_kept, Index(slab));
    advance(o, p.mode[p.n_kept], Index(top));
    const T *from = static_cast<const T *>(p.in[0]) + o.in[0];
    const int shift = int(reinterpret_cast<uint64_t>(from) % (V * sizeof(T)) / sizeof(T));
    const int outputs = extent - first < width ? int(extent - first) : width;
    const Index to = o.out + first * Index(p.mode[0].out);
    State s[V];
#pragma unroll
    for (int v = 0; v < V; ++v) s[v] = F::identity();
    const Index element = first + x * V - shift;
    Index step = Index(p.detail) * Index(p.mode[p.n_kept].in[0]), positions = Index(p.detail) * Index(p.mode[p.n_kept].weight);
    const int all = (int(p.folded) - top + p.detail - 1) / p.detail;
    int begin = chunk * int(p.chunk), end = all - begin > int(p.chunk) ? begin + int(p.chunk) : all;
    const bool reads = x * V < outputs + shift;
    if (reads && x % (128 / (V * int(sizeof(T)))) == 0 && begins_early<reduce_shifted>()) {
#pragma unroll 1
      for (int r = begin + y; r < end && r < begin + kItems * rows; r += rows) ask_ahead(from + element + r * step);
    }
    await_turn();
    if (reads) {
      // A row of this lane whose vector is not the tensor's: at most one, for no row is that short.
      const bool before = element < 0 && part == 0;
      const bool behind = element + V > extent && begin < end && top + (end - 1) * p.detail == int(p.folded) - 1;
      begin += before, end -= behind;
      from += element;
      if ((before || behind) && y == 0) {  // first, though it may be the last row: afterwards it would cost the loop registers
        const Index row = before ? 0 : end;
        edge(p, s, from + row * step, element, o.weight + row * positions);
      }
      from += (begin + y) * step;
      Index position = o.weight + (begin + y) * positions;
      step *= rows, positions *= rows;
      int left = (end - begin - y + rows - 1) / rows;
#pragma unroll 1
      for (; left >= kItems; left -= kItems) round<kItems, false>(p, s, from, step, left, position, positions);
#pragma unroll 1
      for (; left > 0; left -= 4) round<4, true>(p, s, from, step, left, position, positions);
    }
    State mine = Strided::fold_rows(s, lanes, shared, shift);
    if (!Strided::combine_parts(p, mine, lanes * V, cell, part, shared) || t >= outputs) return;
    store_result<F, Out>(p, to + t * Index(p.mode[0].out), mine, p.folded);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include <numeric>

#include "kernels/reduce_split.cuh"

namespace tcu::cuda::rows {

struct ReduceShifted {
  static constexpr int kLeast = 8;  // rows of a thread in a part: as many as are in flight
  static int64_t alignments(const Problem &p) {
    const int64_t v = ReduceStrided::widest(p);
    return v / std::gcd(p.modes[0].extent, v);
  }
  // Threads across: a row, or as many as there is an output for a thread; or half of them, a quarter, ..., where more of these have something to read,
  // in pieces of 256 bytes and more. Statistics of 16 bits wait for instructions, and pieces of 128 bytes do. (H200, 100 MB: logsumexp of 129, 151, 257,
  // 333 columns float16 0.75, 0.81, 0.76, 0.83 of the time, of 151 and 257 float32 0.93, 0.94, sums 0.94 to 0.98.)
  static int lanes(const Problem &p) {
    const int64_t v = ReduceStrided::widest(p), bytes = bytes_of(p.in[0]), piece = appends(p) && bytes == 2 ? 128 : 256;
    int lanes = 2;
    while (lanes * v < kThreads && (lanes - 1) * v < p.modes[0].extent) lanes *= 2;
    for (int fewer = lanes / 2; fewer * v * bytes >= piece; fewer /= 2)
      if (vectors(p, fewer) * 17 < vectors(p, lanes) * 16) lanes = fewer;
    return lanes;
  }
  // Vectors of a row's tiles.
  static int64_t vectors(const Problem &p, int lanes) { return lanes * tiles(p, lanes); }
  static int64_t tiles(const Problem &p, int lanes) { return ceil_div(p.modes[0].extent, (lanes - 1) * int64_t(ReduceStrided::widest(p))); }
  static int64_t tiles(const Problem &p) { return tiles(p, lanes(p)); }
  // Rows of eight vectors and more (of shorter ones too much is read that is their neighbours'), enough for a part of each alignment.
  static bool accepts(const Problem &p, const Device &) {
    const int v = ReduceStrided::widest(p);
    if (p.n_inputs != 1 || p.modes.size() < 2 || v == 1 || v * state_bytes(p) > ReduceStrided::kMostState) return false;
    const Mode &k = p.modes[0], &r = p.modes[1];
    if (k.role != Role::K || r.role != Role::R || p.modes.n_of(Role::R) != 1 || r.extent > INT32_MAX) return false;
    if (k.stride[1] != 1 || r.stride[1] != k.extent || k.extent < 8 * v) return false;
    return !ReduceStrided::wide(p) && (1 << p.alignment[1]) >= bytes_of(p.in[0]) &&
           p.reduced() >= kLeast * alignments(p) * (kThreads / lanes(p));
  }
  // Much, of which the parts' states, which are written and read, are no more than a sixteenth: what is in the caches is read as fast in single
  // elements, and so is what is wide, or takes long to add up: variances, but of many narrow columns. Of columns that are long, or all there is
  // (H100, 33 to 333 of 30, 100 and 200 MB), 49 of the 53 that this is chosen for took 0.70 to 1.00 of the time of the best other row, four up to
  // 1.13; of others, which have their parts put together for every index of the slow modes, those that keep most threads busy.
  static bool suits(const Problem &p, const Device &d) {
    const int bytes = bytes_of(p.in[0]), state = state_bytes(p);
    const bool variance = appends(p) && state > 8, tall = ReduceStrided::only_columns(p) || p.reduced() >= 24 << 10;
    if (bytes > 4 || (variance && (bytes > 2 || p.modes[0].extent <= 128 || !tall))) return false;
    const struct {
      bool is;
      int64_t least;  // bytes, of all
      int eighths;    // of the threads, that are to have something to read
    } kinds[] = {
        {variance, d.l2_bytes, 5},
        {is_arg(p.op), bytes <= 2 ? d.l2_bytes / 4 : d.l2_bytes, 6},
        {tall && bytes == 1, d.l2_bytes / 4, 4},
        {tall && bytes == 2, d.l2_bytes / 4, 0},
        {tall, appends(p) ? d.l2_bytes / 2 : d.l2_bytes, 0},
        {bytes > 2, d.l2_bytes, 6},
        {appends(p), d.l2_bytes / 4, 6},
        {true, d.l2_bytes / 4, 5},
    };
    const auto &kind = first_kind(kinds);
    return p.bytes() >= kind.least && p.modes[0].extent * 8 >= vectors(p, lanes(p)) * ReduceStrided::widest(p) * kind.eighths &&
           p.kept() <= p.bytes() / (32 * alignments(p) * state);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.lanes = lanes(p), c.vector = ReduceStrided::widest(p), c.detail = int(alignments(p));
    const int64_t rows = ceil_div(p.reduced(), c.detail), width = c.lanes * c.vector;
    const int64_t cells = p.kept() / p.modes[0].extent * tiles(p);
    const int64_t resident = ReduceSplit::resident("reduce.shifted", p, d, c.vector);
    const int64_t most = std::max<int64_t>(rows / (kLeast * (kThreads / c.lanes)), 1);
    c.chunk = ceil_div(rows, ReduceSplit::parts_for(cells * c.detail, resident, most, 0.9375));
    c.split = c.detail * ceil_div(rows, c.chunk);
    c.grid = cells * c.split;
    ReduceSplit::keep_parts(c, p, cells, width);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_shifted");
  }
};

}  // namespace tcu::cuda::rows
#endif
