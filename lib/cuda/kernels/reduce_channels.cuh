// reduce.channels: a few neighbours are kept, and what is reduced lies between them ('K R', 'K R K', 'K R K R'): three colours of every pixel,
// the two halves of complex numbers.
// The fast K mode and the R mode behind it are one run of elements, number e of which is of channel e % channels. p.lanes threads (a power
// of two from a warp to the block) walk an output's run in vectors, kItems in flight each. Of them as many work, the low half of p.detail, as
// have whole rows of channels: a thread's v-th element then is of the same channel in every vector. So is that of the thread `apart`
// lanes on, the high half, and a warp's such are put together by shuffles. What is left stands in shared memory as the elements do, row by
// row of channels; a lane adds one channel's. What comes before the first aligned element and behind the last whole vector the first lanes have.
// With p.split > 1 (lanes == block) rounds of the runs go to the parts in turn, and the last block puts them together (device/split.cuh).
#pragma once
#include "kernels/reduce_strided.cuh"

namespace tcu::cuda {
inline constexpr int kMostChannels = 32;
// Vectors that a thread reads before it folds them: where eight have registers, of 16-bit elements one fewer (the last would wait for the first).
TCU_FN constexpr int vectors_in_flight(int vector, int state_bytes, int element_bytes) {
  const int most = rows_in_flight(1, vector, state_bytes, element_bytes, false);
  return most == 8 && element_bytes == 2 ? 7 : most;
}
// Lanes after which a vector begins with the same channel.
TCU_FN constexpr int channels_apart(int channels, int vector) {
  int divisor = vector;  // the greatest common one: vectors are powers of two
  while (channels % divisor) divisor /= 2;
  return channels / divisor;
}
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct reduce_channels {
  using Strided = reduce_strided<Map, Op, Acc, Out, Index, true, 0>;
  using F = typename Strided::F;
  using State = typename F::State;
  using T = first_of<typename Map::Inputs>;
  static constexpr int V = Strided::V, N = 1, kResident = Strided::kResident, kItems = vectors_in_flight(V, sizeof(State), sizeof(T));
  using AwaitsTurn = reduce_channels;
  static constexpr int kWarps = kThreads / 32, kSlots = (kMostChannels + 2) * V;  // of a warp: its vectors of different channels, and ends
  static_assert(Map::Inputs::size == 1 && V > 1);

  // Vectors first, first + used, ..., as many as Items, of the run whose vectors begin at element `head`; clamped: but for those
  // from end on.
  template <int Items, bool kClamped, class P>
  TCU_DEVICE static void round(const P &p, State (&s)[V], const Offsets<N, Index> &o, Index head, Index first, Index end, int used) {
    Pack<V, typename Map::Inputs> x[Items];
    const Index none[Items] = {};
    const T *from = static_cast<const T *>(p.in[0]) + (o.in[0] + head + first * V);
#pragma unroll
    for (int k = 0; k < Items; ++k) {  // past the last the last again: a load that may not happen would hold its registers twice
      x[k].first = Raw<T, V>::template load<true>(from);
      if (!kClamped || first + (k + 1) * used < end) from += used * V;
    }
    append_rows<F, Map, false, !kClamped>(p, s, x, none, [&](int k) { return first + k * used < end; });
  }
  // This thread's vectors of round `number` of a run of `end`.
  template <class P>
  TCU_DEVICE static void one_round(const P &p, State (&s)[V], const Offsets<N, Index> &o, Index head, Index number, Index end, int lane,
                                   int used) {
    const Index all = Index(kItems) * used;
    Index first = number * all;  // the same for all lanes: where some take another way each of the ways is a trip to the memory
    if (first + all <= end) return round<kItems, false>(p, s, o, head, first + lane, end, used);
#pragma unroll 1
    for (; first < end; first += Index(4) * used)
      if (first + lane < end) round<4, true>(p, s, o, head, first + lane, end, used);
  }
  // The states of a warp's first `count` lanes, every apart-th of which are of the same channels: in its first `apart` lanes.
  TCU_DEVICE static void fold_warp(State (&s)[V], int lane, int count, int apart) {
    const int row = lane / apart;
    int half = 16;
#pragma unroll 1
    while (half * apart >= count) half /= 2;
#pragma unroll 1
    for (; half > 0; half /= 2)
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const State other = shuffle(s[v], lane + half * apart, 32);
        if (row < half && lane + half * apart < count) s[v] = F::combine(s[v], other);
      }
  }
  // Of n states, `step` apart, all, one after another.
  TCU_DEVICE static State add_up(const State *from, int n, int step) {
    State all = F::identity();
#pragma unroll 1
    for (int i = 0; i < n; i += 4) {
      State some[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) some[k] = from[(i + k < n ? i + k : i) * step];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (i + k < n) all = F::combine(all, some[k]);
    }
    return all;
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(State, shared, kWarps * (kSlots + kMostChannels));
    const int lanes = p.lanes, used = p.detail & 0xffff, apart = p.detail >> 16, groups = quotient(kThreads, lanes);
    const int group = quotient(int(threadIdx.x), lanes), lane = remainder(int(threadIdx.x), lanes), warp = lane / 32, in_warp = lane % 32;
    const int channels = int(p.mode[0].extent);
    const Index length = Index(p.mode[p.n_kept].extent) * channels, runs = divide(Index(p.folded), p.mode[p.n_kept].divisor);
    const Index split = Index(p.split), cells = divide(Index(p.kept), p.mode[0].divisor), n = cells * split;
    const Index step = Index(gridDim.x) * groups;
    const bool early = split > 1 && lane < used && begins_early<reduce_channels>();
#pragma unroll 1
    for (Index begin = Index(blockIdx.x) * groups; begin < n; begin += step) {
      const Index item = begin + group, cell = split == 1 ? item : item / split, part = item - cell * split;
      Offsets<N, Index> o;
      State s[V], edge = F::identity();
#pragma unroll
      for (int v = 0; v < V; ++v) s[v] = F::identity();
      // Elements of a run before its first aligned one, and from `behind` on, which are no whole vector: `edges` in all.
      int head = 0, edges = 0;
      Index behind = 0;
      decode(o, p, 1, p.n_kept, item < n ? cell : 0);
      const int over = int(reinterpret_cast<uint64_t>(static_cast<const T *>(p.in[0]) + o.in[0]) / sizeof(T) % V);
      head = over ? V - over : 0;  // less than the run has: the host has seen to it
      const Index vectors = (length - head) / V;
      if (item < n && early)  // of the first run
        look_ahead<V, kItems>(typename Map::Inputs{}, p, o, 0, Index(head), part * kItems * used + lane, vectors, used);
      await_turn();
      if (item < n) {
        behind = head + vectors * V, edges = head + int(length - behind);
        const Index of_run = vectors / (kItems * used) + 1;  // rounds, the last of which may be of no vectors
#pragma unroll 1
        for (Index i = part; i < runs * of_run; i += split) {
          const Index r = runs == 1 ? 0 : i / of_run;
          Offsets<N, Index> at = o;
          decode(at, p, p.n_kept + 1, p.n_kept + p.n_folded, r);
          Pack<1, typename Map::Inputs> x;  // read before the vectors: afterwards it would be another trip to the memory
          const bool has_edge = i == r * of_run && lane < edges;
          if (has_edge) load_pack<1, false>(x, p, at, 0, lane < head ? Index(lane) : behind + (lane - head), 0);
          if (lane < used) one_round(p, s, at, head, i - r * of_run, vectors, lane, used);
          if (has_edge) edge = F::add(edge, apply_at<Map>(p, x, 0), Index(0));
        }
      }
      const int count = used - warp * 32 < 32 ? used - warp * 32 : 32;
      fold_warp(s, in_warp, count, apart);
      State *const slots = shared + int(threadIdx.x) / 32 * kSlots, *const ends = slots + kMostChannels * V;
      if (in_warp < apart) {
#pragma unroll
        for (int v = 0; v < V; ++v) slots[in_warp * V + v] = s[v];
      }
      if (lane < 2 * V) ends[lane] = edge;
      __syncwarp();
      State mine = F::identity();
      if (in_warp < channels) {
        const int skip = (head + warp * 32 * V) % channels;  // channel of the warp's first slot
        mine = add_up(slots + (in_warp < skip ? in_warp + channels - skip : in_warp - skip), apart * V / channels, channels);
        if (warp == 0) {
          int channel = 0;
#pragma unroll 1
          for (int i = 0; i < edges; ++i) {
            if (i == head) channel = int(behind % channels);
            else if (channel == channels) channel = 0;
            if (channel == in_warp) mine = F::combine(mine, ends[i]);
            ++channel;
          }
        }
      }
      if (lanes > 32) {
        State *const totals = shared + kWarps * kSlots + group * quotient(lanes, 32) * kMostChannels;
        if (in_warp < channels) totals[warp * channels + in_warp] = mine;
        __syncthreads();
        if (lane < channels) mine = add_up(totals + lane, quotient(lanes, 32), channels);
      }
      if (split > 1) {
        int width = 1;
#pragma unroll 1
        while (width < channels) width *= 2;
        if (lane >= channels) mine = F::identity();
        if (Strided::combine_parts(p, mine, width, cell, int(part), shared) && lane < channels)
          store_result<F, Out>(p, o.out + lane * Index(p.mode[0].out), mine, p.folded);
        return;  // there are as many blocks as parts
      }
      if (item < n && lane < channels) store_result<F, Out>(p, o.out + lane * Index(p.mode[0].out), mine, p.folded);
      if (begin + step < n) __syncthreads();  // before the next states
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_split.cuh"

namespace tcu::cuda::rows {

struct ReduceChannels {
  static bool accepts(const Problem &p, const Device &) {
    const int v = ReduceStrided::widest(p);
    if (p.n_inputs != 1 || is_arg(p.op) || p.modes.size() < 2 || v == 1 || v * state_bytes(p) > ReduceStrided::kMostState) return false;
    const Mode &k = p.modes[0], &r = p.modes[1];
    if (k.role != Role::K || r.role != Role::R || k.stride[1] != 1 || r.stride[1] != k.extent) return false;
    for (int m = 2; m < p.modes.size(); ++m)  // a run begins at one place in a vector
      if (p.modes[m].role == Role::R && p.modes[m].stride[1] % v != 0) return false;
    return k.extent <= kMostChannels && (1 << p.alignment[1]) >= bytes_of(p.in[0]) && k.extent * r.extent >= v;
  }
  // Not short runs, nor little in all (H200, 26 problems); nor channels that are whole vectors, which reduce.strided reads as well, but where
  // reduce.split would have each output's run for itself ((8, 1536, 1776) int8: 19.5 us, 12.2 by this row). But one run of four bytes, however
  // short, and several of 768 KB: of 14 random problems this row was faster than reduce.split in ten, 0.61 to 1.17 of the time (H100, H200). And one run
  // of much: sums of 2 to 16 outputs of 16 MB (of words), 64 and 256 MB took 0.92 to 1.00 of the time, of 1 GB 0.94 to 1.01 (H200, 38 problems).
  static bool suits(const Problem &p, const Device &d) {
    const int64_t bytes = p.modes[0].extent * bytes_of(p.in[0]), threads = cells(p) * lanes(p, d);
    const bool word = bytes_of(p.in[0]) == 4 && !appends(p);
    const int least = cells(p) > 1 ? 768 : word ? 0 : bytes_of(p.in[0]) == 1 ? 3 << 10 : 16 << 10;  // KiB
    if (bytes > 64 || run(p) < 96 * ReduceStrided::widest(p) || p.bytes() < int64_t(least) << 10) return false;
    if (lanes(p, d) < kThreads && threads < int64_t(d.processors) * 128) return false;  // which parts would be for
    return !ReduceStrided::wide(p) || is_much_in_one(p) || (bytes <= 32 && p.modes.size() > 2 && ReduceStrided::waits(p, d));
  }
  // Outputs that are whole vectors, of one long run.
  static bool is_much_in_one(const Problem &p) {
    const int size = bytes_of(p.in[0]), least = size >= 4 && p.modes[0].extent * size <= 32 ? 12 : 48;  // MiB
    return ReduceStrided::wide(p) && p.modes.size() == 2 && !appends(p) && p.bytes() >= int64_t(least) << 20;
  }
  static int64_t run(const Problem &p) { return p.modes[0].extent * p.modes[1].extent; }  // elements of one
  static int64_t cells(const Problem &p) { return p.kept() / p.modes[0].extent; }
  static int apart(const Problem &p) { return channels_apart(int(p.modes[0].extent), ReduceStrided::widest(p)); }
  static int used(const Problem &p, int lanes) { return lanes / apart(p) * apart(p); }
  // A round or two for a thread, but no thread idle where there are few outputs; and seven of eight that work.
  static int lanes(const Problem &p, const Device &d) {
    const int64_t vectors = run(p) / ReduceStrided::widest(p), n = cells(p);
    int lanes = 32;
    while (lanes < kThreads && (16 * lanes <= vectors || (8 * lanes <= vectors && n * lanes < d.processors * 1024) ||
                                used(p, lanes) * 8 < lanes * 7))
      lanes *= 2;
    return lanes;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = ReduceStrided::widest(p), c.lanes = lanes(p, d), c.detail = used(p, c.lanes) | apart(p) << 16;
    const int64_t n = cells(p), resident = ReduceSplit::resident("reduce.channels", p, d, c.vector);
    const int items = vectors_in_flight(c.vector, state_bytes(p), bytes_of(p.in[0]));
    const int64_t rounds = (run(p) / (int64_t(items) * used(p, c.lanes) * c.vector) + 1) * (p.reduced() / p.modes[1].extent);
    if (c.lanes == kThreads && n > 0 && n < resident && rounds > 1) c.split = ReduceSplit::parts_for(n, resident, rounds);
    // Sums of outputs that have much each: several parts, of which the faster multiprocessors take more (H200, 512 pictures of 224 x 224 in three
    // colours: float32 76.5 us in one, 73.8 in 8; float16 40.5 and 46.4, int8 23.4 and 44; on an H100 variances took longer, too).
    const int64_t each = n > 0 ? p.bytes() / n : 0;
    if (c.lanes == kThreads && !appends(p) && bytes_of(p.in[0]) > 2 && each >= 256 << 10)
      c.split = std::max(c.split, std::min({rounds, each / (48 << 10), int64_t(16)}));
    c.grid = std::clamp<int64_t>(ceil_div(n * c.split, kThreads / c.lanes), 1, INT32_MAX);
    int width = 1;
    while (width < p.modes[0].extent) width *= 2;
    ReduceSplit::keep_parts(c, p, n, width);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_channels");
  }
};

}  // namespace tcu::cuda::rows
#endif
