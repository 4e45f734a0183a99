// scan.split: few long lines that lie side by side ('K S', 'K S K').
// The lines are cut into p.split parts of p.chunk steps, a block each, taken in the order of the parts: a block waits for blocks
// only that have begun before it. p.lanes threads (a power of two up to a warp) lie across the lines; the block's rows of threads
// have neighbouring runs of steps. A block folds its part of every line and publishes that, adds up what the blocks before it
// have published, and reads its part once more to scan it: three accesses an element, where one that looks back tile by tile
// (scan_lookback.cuh) needs two.
// Zeroed workspace: the ticket, padded to 16 bytes; the folds' words (Published), part by part.
// In place: a thread writes the elements that it read.
#pragma once
#include "kernels/scan_across.cuh"
#include "kernels/scan_lookback.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index>
struct scan_split {
  using Across = scan_across<Map, Op, Acc, Out, Index, 1>;
  using F = typename Across::F;
  using W = Published<Acc>;
  static constexpr int kResident = 4, kItems = Across::kItems;

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(unsigned, ticket, 1);
    TCU_SHARED(Acc, folds, kThreads);    // of the threads' runs
    TCU_SHARED(Acc, earlier, kThreads);  // of the parts before this one, by thread
    const int t = int(threadIdx.x), lanes = p.lanes, rows = kThreads / lanes, column = t % lanes, y = t / lanes;
    const bool exclusive = (p.flags & kExclusive) != 0;
    uint64_t *const words = static_cast<uint64_t *>(p.zeroed) + 2;
    if (t == 0) ticket[0] = atomicAdd(static_cast<unsigned *>(p.zeroed), 1u);
    __syncthreads();
    const Index kept = Index(p.kept), tiles = (kept + lanes - 1) / lanes;
    const Index part = Index(ticket[0]) / tiles, tile = Index(ticket[0]) - part * tiles, line = tile * lanes + column;
    const typename Across::Lines lines(p, line < kept ? line : kept - 1);
    const auto published = [&](Index of) { return words + ((of * tiles + tile) * lanes + column) * W::kWords; };

    const Index begin = part * Index(p.chunk), end = least(begin + Index(p.chunk), Index(p.folded));
    const Index run = (end - begin + rows - 1) / rows, first = least(begin + y * run, end), last = least(first + run, end);
    const auto each = [&](auto &&use) {  // of the thread's elements, in order
#pragma unroll 1
      for (Index at = first; at < last; at += kItems) {
        typename Across::Step x[kItems];
        lines.fetch(p, at, x);
#pragma unroll
        for (int k = 0; k < kItems; ++k)
          if (at + k < last) use(at + k, F::lift(apply_at<Map>(p, x[k], 0), Index(0)));
      }
    };
    Acc own = F::identity();
    each([&](Index, Acc e) { own = F::combine(own, e); });
    folds[t] = own;
    __syncthreads();
    if (y == 0 && part + 1 < Index(p.split)) {
      Acc all = F::identity();
#pragma unroll 1
      for (int r = 0; r < rows; ++r) all = F::combine(all, folds[r * lanes + column]);
      W::publish(published(part), all);
    }
    Acc some = F::identity();
#pragma unroll 1
    for (Index k = y; k < part; k += rows) {
      W w = W::ask(published(k));
      while (!w.written()) {
        __nanosleep(20);
        w = W::ask(published(k));
      }
      some = F::combine(some, w.value());
    }
    earlier[t] = some;
    __syncthreads();
    Acc before = p.init.template as<Acc>();
#pragma unroll 1
    for (int r = 0; r < rows; ++r) before = F::combine(before, earlier[r * lanes + column]);
#pragma unroll 1
    for (int r = 0; r < y; ++r) before = F::combine(before, folds[r * lanes + column]);
    each([&](Index step, Acc e) {
      const Acc upto = F::combine(before, e), out[1] = {exclusive ? before : upto};
      if (line < kept) lines.store(p, step, out);
      before = upto;
    });
  }
  TCU_DEVICE static Index least(Index a, Index b) { return a < b ? a : b; }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ScanSplit {
  static constexpr int64_t kLeast = 64;  // steps of a thread's run
  static int lanes(const Problem &p) {
    int lanes = 1;
    while (lanes < 32 && lanes < p.kept()) lanes *= 2;
    return lanes;
  }
  static int64_t tiles(const Problem &p) { return ceil_div(p.kept(), lanes(p)); }
  static bool accepts(const Problem &p, const Device &d) {
    return ScanLines::accepts(p, d) && !ScanLines::contiguous(p) && d.processors > 1 && tiles(p) < d.processors &&
           fastest(p, Role::S)->extent >= 2 * kLeast * (kThreads / lanes(p));
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    const int64_t n = fastest(p, Role::S)->extent;
    c.block = kThreads, c.lanes = lanes(p);
    const int64_t most = n / (kLeast * (kThreads / c.lanes)), resident = persistent_grid("scan.split", p, d, INT32_MAX);
    c.chunk = ceil_div(n, std::clamp<int64_t>(resident / tiles(p), 2, most));
    c.split = ceil_div(n, c.chunk);
    c.grid = tiles(p) * c.split;
    c.zeroed_bytes = c.workspace_bytes = size_t(16 + c.grid * c.lanes * scan_words(bytes_of(p.acc)) * 8);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "scan_split", {fold_text(p.op), type_text(p.acc), storage_text(p.out), index_text(p)});
  }
};

}  // namespace tcu::cuda::rows
#endif
