// scan.staged: the fastest mode is kept and short, and so are the lines ('K S', 'K S K'); every operand is dense.
// Then the lines that begin side by side are a group of neighbours in memory, of extent(K) x extent(S) elements. A block has p.detail groups:
// it reads them in vectors of V, one after another, into shared memory; a thread scans a line there, where it lies, and takes the
// block's next one; the results are written in vectors as well. Elements lie in shared memory with a gap after every 128 bytes, so that the
// lines of a warp, of which one group's begin 128 bytes after another's or a power of two of them, do not all meet in a few banks.
// In place: a tile is read before it is written.
#pragma once
#include "device/scan.cuh"
#include "device/tile.cuh"

namespace tcu::cuda {
#if defined(TCU_EMULATOR)
inline constexpr int kGroupsTile = 2048;  // so that a small test has many tiles
#else
inline constexpr int kGroupsTile = 16 << 10;  // of a tile, at most
#endif
// Where element i of a tile is in shared memory, of so many bytes each.
TCU_FN constexpr int gapped_place(int i, int bytes) { return i + (i * bytes >> 7) * in_word(bytes); }
// Bytes that n of them take there.
TCU_FN constexpr int gapped_bytes(int n, int bytes) { return (gapped_place(n, bytes) * bytes + 15) & ~15; }
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int V>
struct scan_staged {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  using Value = typename F::Value;
  using Inputs = typename Map::Inputs;
  static constexpr int kItems = 4, kSteps = 4;  // vectors that a thread has in flight; steps of a line that it reads before it writes any
  static constexpr int kResident = 6;

  template <class T>
  using Unit = select_t<(sizeof(T) < 4 && V * sizeof(T) % 4 == 0), unsigned, T>;  // that a vector is moved by in shared memory
  template <class T>
  static constexpr int kUnits = V * int(sizeof(T)) / int(sizeof(Unit<T>));

  // A tile of n elements: every input, one after another, and the outputs in place of the first input that is as wide, or behind them.
  struct Staged {
    char *start;
    int n;

    template <class T>
    TCU_DEVICE static T *element(char *region, int i) { return reinterpret_cast<T *>(region) + gapped_place(i, int(sizeof(T))); }
    TCU_DEVICE Out *out(int i) const { return element<Out>(out_region(Inputs{}, start), i); }

    TCU_DEVICE char *out_region(Types<>, char *region) const { return region; }
    template <class T, class... R>
    TCU_DEVICE char *out_region(Types<T, R...>, char *region) const {
      if constexpr (sizeof(T) == sizeof(Out)) return region;
      else return out_region(Types<R...>{}, region + gapped_bytes(n, int(sizeof(T))));
    }
    // Elements first..first+count-1 of every input.
    template <int I = 0, class P>
    TCU_DEVICE void fetch(Types<>, const P &, Index, int, char *) const {}
    template <int I = 0, class P, class T, class... R>
    TCU_DEVICE void fetch(Types<T, R...>, const P &p, Index first, int count, char *region) const {
      const T *const from = static_cast<const T *>(p.in[I]) + first;
#pragma unroll 1
      for (int begin = int(threadIdx.x) * V; begin < count; begin += kItems * kThreads * V) {
        Raw<T, V> x[kItems];
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const int i = begin + k * kThreads * V;
          if (i + V > count) continue;
          if constexpr (V == 1) x[k] = Raw<T, V>::load_one(from + i);
          else x[k] = Raw<T, V>::load(from + i);
        }
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const int i = begin + k * kThreads * V;
          if (i + V <= count) {
            const auto units = __builtin_bit_cast(Vec<Unit<T>, kUnits<T>>, x[k].get());
#pragma unroll
            for (int u = 0; u < kUnits<T>; ++u) reinterpret_cast<Unit<T> *>(element<T>(region, i))[u] = units.at[u];
          } else {
            for (int e = i; e < count; ++e) *element<T>(region, e) = from[e];
          }
        }
      }
      fetch<I + 1>(Types<R...>{}, p, first, count, region + gapped_bytes(n, int(sizeof(T))));
    }
    TCU_DEVICE void read(Pack<1, Types<>> &, int, char *) const {}
    template <class T, class... R>
    TCU_DEVICE void read(Pack<1, Types<T, R...>> &pack, int i, char *region) const {
      pack.first = Raw<T, 1>::staged(element<T>(region, i));
      read(pack.rest, i, region + gapped_bytes(n, int(sizeof(T))));
    }
    TCU_DEVICE void drain(Out *to, int count) const {
#pragma unroll 4
      for (int i = int(threadIdx.x) * V; i < count; i += kThreads * V) {
        if (i + V <= count) {
          Vec<Unit<Out>, kUnits<Out>> units;
#pragma unroll
          for (int u = 0; u < kUnits<Out>; ++u) units.at[u] = reinterpret_cast<const Unit<Out> *>(out(i))[u];
          store_vector(to + i, __builtin_bit_cast(Vec<Out, V>, units));
        } else {
          for (int e = i; e < count; ++e) to[e] = *out(e);
        }
      }
    }
  };

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    const bool reverse = (p.flags & kReverse) != 0, exclusive = (p.flags & kExclusive) != 0, reads_out = p.reads_out();
    const int width = int(p.mode[0].extent), n = int(p.folded), group = width * n, groups = p.detail;
    const Index first = Index(blockIdx.x) * groups, left = Index(p.kept) / width - first;
    const int here = left < groups ? int(left) : groups, count = here * group;
    const Staged tile{reinterpret_cast<char *>(shared), groups * group};
    tile.fetch(Inputs{}, p, first * group, count, tile.start);
    __syncthreads();
    const int step = reverse ? -width : width;
#pragma unroll 1
    for (int line = int(threadIdx.x); line < here * width; line += kThreads) {
      const int of = int(divide(Index(line), p.mode[0].divisor));
      int at = of * group + (line - of * width) + (reverse ? (n - 1) * width : 0);
      State upto = F::start(p);
#pragma unroll 1
      for (int s = 0; s < n; s += kSteps, at += kSteps * step) {
        State e[kSteps];
#pragma unroll
        for (int k = 0; k < kSteps; ++k) {
          if (s + k >= n) break;
          Pack<1, Inputs> x;
          tile.read(x, at + k * step, tile.start);
          e[k] = F::lift(p, apply_at<Map>(p, x, 0));
        }
#pragma unroll
        for (int k = 0; k < kSteps; ++k) {
          if (s + k >= n) break;
          const State before = upto;
          upto = F::combine(before, e[k]);
          const Value y = exclusive ? F::before(p, before, e[k]) : F::value(upto);
          if (reads_out) store_one<Out>(p, first * group + (at + k * step), y);
          else *tile.out(at + k * step) = tcu::convert<Out>(p.scales() ? m::mul(p.alpha.template as<Value>(), y) : y);
        }
      }
    }
    if (reads_out) return;
    __syncthreads();
    tile.drain(static_cast<Out *>(p.out) + first * group, count);
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include <numeric>

#include "kernels/scan_short.cuh"

namespace tcu::cuda::rows {

struct ScanStaged {
  static int64_t width(const Problem &p) { return p.modes[0].extent; }
  static int64_t group(const Problem &p) { return width(p) * fastest(p, Role::S)->extent; }
  // Elements of a tile at most.
  static int64_t room(const Problem &p) { return kGroupsTile / tile_bytes(p); }
  static bool accepts(const Problem &p, const Device &) {
    if (p.empty() || p.modes.size() < 2 || p.modes.size() > 3 || p.modes[0].role != Role::K || p.modes[1].role != Role::S) return false;
    for (int k = 0; k <= p.n_inputs; ++k)
      if (!is_dense(p, k)) return false;
    return group(p) <= room(p) && p.kept() / width(p) < INT32_MAX;
  }
  // Where threads that have a line each would read and write less than whole sectors, of what no longer is in the caches all the time. Of 426
  // such scans of 1 to 160 MB (H100) this is chosen for 174, in 0.64 of the time of the best of the others (geometric mean; 1.15 at most).
  static bool suits(const Problem &p, const Device &) {
    const int64_t n = fastest(p, Role::S)->extent, bytes = p.bytes();
    int widest = bytes_of(p.out);
    for (int i = 0; i < p.n_inputs; ++i) widest = std::max(widest, bytes_of(p.in[i]));
    const int64_t row = width(p) * widest;
    if (row >= (row % 32 == 0 ? 32 : 128) || bytes < 3500000) return false;
    if (bytes < 20000000) return row < 20 && n >= (bytes < 10000000 ? 8 : 5) && n <= 64;
    const bool vectors = row > 16 && row % 16 == 0 && widest < 4;
    const int64_t least = row >= 64 || vectors ? 8 : bytes >= 64000000 ? 2 : row < 16 ? 3 : 5;
    return n >= least && n <= (row < 16 ? 256 : 64);
  }
  // Groups of a tile: such that it begins where vectors do, and no more than leave two for every processor.
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    const int64_t groups = p.kept() / width(p), full = vector_of(p, true), step = full / std::gcd(full, group(p));
    const int64_t most = std::min(room(p) / group(p), std::max<int64_t>(ceil_div(groups, 2 * d.processors), 1));
    bool aligned = true;
    for (int k = 0; k <= p.n_inputs; ++k) aligned &= (1 << p.alignment[k]) >= full * bytes_of(p.dtype(k));
    const bool whole = aligned && step * group(p) <= room(p);
    c.block = kThreads, c.vector = whole ? int(full) : 1;
    c.detail = int(whole ? std::max<int64_t>(most / step, 1) * step : most);
    c.grid = ceil_div(groups, c.detail);
    const int elements = int(c.detail * group(p));
    bool has_out = false;
    for (int i = 0; i < p.n_inputs; ++i)
      c.shared_bytes += gapped_bytes(elements, bytes_of(p.in[i])), has_out |= bytes_of(p.in[i]) == bytes_of(p.out);
    if (!has_out) c.shared_bytes += gapped_bytes(elements, bytes_of(p.out));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "scan_staged", {std::to_string(c.vector)});
  }
};

}  // namespace tcu::cuda::rows
#endif
