// scan.split: few long lines, mostly side by side ('K S', 'K S K'); cut into parts, read once.
// Blocks take parts in the order of a ticket: a block waits for blocks only that have begun before it. p.lanes threads of a warp
// (a power of two) lie across the lines, the warp's others along them. A thread has kItems elements, in shared memory: the warp's
// i-th items are neighbours, and its items and the block's warps follow each other along the line. A block adds up its part,
// publishes that, learns what comes before it, scans it and writes it. Meanwhile the other blocks read: what counts is how
// many parts there are in hand.
// What comes before is found over three levels, as the digits of the part's number say: the parts before it in its group
// of kFan, the groups before that in their group of kFan, and what comes before these, which is handed on from one to the
// next by the last part of each. So nobody asks for more than 2 * kFan words a line, and the order in which things are added
// is fixed: the result has the same bits on every run.
// Zeroed workspace: the ticket, padded to 16 bytes; the words (device/published.cuh) of the parts, of the groups, of their groups.
// In place: a thread writes the elements that it read.
#pragma once
#include "device/published.cuh"
#include "device/stages.cuh"
#include "kernels/scan_across.cuh"
#include "kernels/scan_lookback.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int kFan = 2;  // so that a small test has all levels
#else
inline constexpr int kFan = 16;
#endif
// Elements of a thread: of 128 bytes together, so that six blocks find room.
TCU_FN constexpr int split_items(int input_bytes) { return input_bytes <= 4 ? 32 : input_bytes < 128 ? 128 / input_bytes : 1; }
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_split {
  using Lines = typename scan_across<Map, Op, Acc, Out, Index, 1>::Lines;
  using F = ScanFold<Op, Acc, Index>;
  using W = Published<Acc>;
  using Inputs = typename Map::Inputs;
  static constexpr int kResident = 6, kWarps = kThreads / 32, kItems = split_items(bytes_of_all<Inputs>::value);
  using Items = Stages<Inputs, 1, kThreads, kItems>;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    TCU_SHARED(unsigned, ticket, 1);
    TCU_SHARED(Acc, warps, kWarps * 32);  // what the warps' items come to, by line
    TCU_SHARED(Acc, earlier, kFan * 32);  // what was published, by line
    const Items items(shared);
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, lanes = p.lanes, column = lane % lanes;
    if (threadIdx.x == 0) ticket[0] = atomicAdd(static_cast<unsigned *>(p.zeroed), 1u);
    __syncthreads();
    const Index kept = Index(p.kept), tiles = (kept + lanes - 1) / lanes;
    const Index part = Index(ticket[0]) / tiles, tile = Index(ticket[0]) - part * tiles, line = tile * lanes + column;
    const Lines lines(p, line < kept ? line : kept - 1);
    const int rows = 32 / lanes;
    const Index first = Index(part * kWarps + warp) * kItems * rows + lane / lanes;
    const Index left = (lines.n - first + rows - 1) >> (__ffs(rows) - 1);
    const int n = left < kItems ? int(left) : kItems;  // items of this thread; none past the line's end
    const Index by = lines.reverse ? -rows : rows;     // from one to the next
    Offsets<Inputs::size, Index> at = lines.place(p, first);
    const Index out = at.out;

#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (k < n) items.fetch(p, at, Index(0), 0, k);
      advance(at, p.mode[p.n_kept], by);
    }
    end_of_copies();
    await_copies<0>();
    const auto item = [&](int k) {
      if (k >= n) return F::identity();
      Pack<1, Inputs> x;
      items.read(x, 0, k);
      return F::lift(apply_at<Map>(p, x, 0), Index(0));
    };
    Acc own = item(0);
#pragma unroll 8
    for (int k = 1; k < kItems; ++k) own = F::combine(own, item(k));
#pragma unroll 1
    for (int h = lanes; h < 32; h *= 2) own = F::combine(own, shuffle_xor(own, h));
    if (lane < lanes) warps[warp * lanes + column] = own;
    __syncthreads();

    // The words of this thread's line, at a level.
    const Index parts = Index(p.split), groups = (parts + kFan - 1) / kFan;
    const auto word = [&](Index at) { return static_cast<uint64_t *>(p.zeroed) + 2 + ((at * tiles + tile) * lanes + column) * W::kWords; };
    const auto publish = [&](Index at, const Acc &x) {
      if (warp == 0 && lane < lanes) W::publish(word(at), x);
    };
    Acc upto = fold(warps, kWarps, lanes, column);  // what the part comes to, and then that with what comes before it
    publish(part, upto);
    const Index group = part / kFan, super = group / kFan;
    const Acc near = gather(word, group * kFan, int(part - group * kFan), earlier, lanes, column);
    upto = F::combine(near, upto);
    if (part % kFan == kFan - 1) publish(parts + group, upto);
    const Acc far = gather(word, parts + super * kFan, int(group - super * kFan), earlier, lanes, column);
    Acc before = p.init.template as<Acc>();
    if (super > 0) before = known(word(parts + groups + super - 1));
    before = F::combine(before, far);
    if ((part + 1) % (kFan * kFan) == 0) publish(parts + groups + super, F::combine(before, upto));
    before = F::combine(before, near);
#pragma unroll 1
    for (int w = 0; w < warp; ++w) before = F::combine(before, warps[w * lanes + column]);

    const bool exclusive = (p.flags & kExclusive) != 0;
    const Index stride = by * Index(p.mode[p.n_kept].out);
    const int wanted = line < kept ? n : 0;
    Out *to = static_cast<Out *>(p.out) + out;
    if (rows == 1) {  // every lane has a line of its own
#pragma unroll 4
      for (int k = 0; k < wanted; ++k, to += stride) {
        const Acc upto = F::combine(before, item(k));
        store(p, to, Vec<Acc, 1>{{exclusive ? before : upto}});
        before = upto;
      }
      return;
    }
#pragma unroll 1
    for (int k = 0; k < kItems; ++k, to += stride) {
      Acc e = item(k);
#pragma unroll 1
      for (int h = lanes; h < 32; h *= 2) {
        const Acc below = shuffle_up(e, h, 32);
        if (lane >= h) e = F::combine(below, e);
      }
      const Acc upto = F::combine(before, e), below = shuffle_up(upto, lanes, 32);
      if (k < wanted) store(p, to, Vec<Acc, 1>{{!exclusive ? upto : lane < lanes ? before : below}});
      before = shuffle(upto, 32 - lanes + column, 32);
    }
  }

  TCU_DEVICE static Acc known(const uint64_t *at) { return W::ask(at).wait(at); }
  // What was published at `from` and the count - 1 words after it, in their order.
  template <class Word>
  TCU_DEVICE static Acc gather(const Word &word, Index from, int count, Acc *shared, int lanes, int column) {
    for (int k = int(threadIdx.x) / lanes; k < count; k += kThreads / lanes) shared[k * lanes + column] = known(word(from + k));
    __syncthreads();
    const Acc all = fold(shared, count, lanes, column);
    __syncthreads();
    return all;
  }
  TCU_DEVICE static Acc fold(const Acc *shared, int count, int lanes, int column) {
    Acc all = F::identity();
#pragma unroll 1
    for (int k = 0; k < count; ++k) all = F::combine(all, shared[k * lanes + column]);
    return all;
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ScanSplit {
  // Side by side as many as are there, up to a warp, or fewer where these leave fewer of a warp's lanes without a line.
  static int lanes(const Problem &p) {
    if (ScanLines::contiguous(p)) return 1;
    int lanes = 1;
    while (lanes < 32 && lanes < p.kept()) lanes *= 2;
    while (lanes > 8 && ceil_div(p.kept(), lanes / 2) * (lanes / 2) < ceil_div(p.kept(), lanes) * lanes) lanes /= 2;
    return lanes;
  }
  static int64_t tiles(const Problem &p) { return ceil_div(p.kept(), lanes(p)); }
  static int64_t steps(const Problem &p) { return kThreads / lanes(p) * split_items(ScanLookback::input_bytes(p)); }  // of a part
  static bool accepts(const Problem &p, const Device &d) {
    for (int k = 1; k <= p.n_inputs; ++k)
      if ((1 << p.alignment[k]) < bytes_of(p.in[k - 1])) return false;  // a complex number that is no one word
    return ScanLines::accepts(p, d) && tiles(p) < 4 * d.processors && fastest(p, Role::S)->extent > steps(p) &&
           ceil_div(fastest(p, Role::S)->extent, steps(p)) * tiles(p) < INT32_MAX &&
           kThreads * ScanLookback::input_bytes(p) <= d.shared_bytes - 8192;
  }
  // What scan.lookback does not take, and long lines that begin anywhere in 16 bytes: it reads them element by element.
  static bool suits(const Problem &p, const Device &d) {
    const bool aligned = std::all_of(p.alignment, p.alignment + 1 + p.n_inputs, [](int log) { return 1 << log >= 16; });
    return !ScanLookback::accepts(p, d) || (!aligned && fastest(p, Role::S)->extent >= 1 << 21);
  }
  static LaunchConfig configure(const Problem &p, const Device &) {
    LaunchConfig c;
    c.block = kThreads, c.lanes = lanes(p), c.split = ceil_div(fastest(p, Role::S)->extent, steps(p));
    c.grid = tiles(p) * c.split;
    c.shared_bytes = int(kThreads * split_items(ScanLookback::input_bytes(p)) * ScanLookback::input_bytes(p));
    const int64_t groups = ceil_div(c.split, kFan), words = c.split + groups + ceil_div(groups, kFan);
    c.zeroed_bytes = c.workspace_bytes = size_t(16 + words * tiles(p) * c.lanes * published_words(bytes_of(p.acc)) * 8);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_split", {fold_text(p), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
