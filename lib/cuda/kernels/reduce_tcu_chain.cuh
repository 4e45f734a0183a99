// reduce.tcu.recurrence, reduce.tcu.single_pass, reduce.tcu.split: one sum of all elements, on tensor cores as published; for pins.
// A warp sums a chain of groups, a piece of 16 bytes a lane each, by two kinds of products (TileSum of tcu/column_sums.cuh): the
// two-product recurrence of Carrasco et al. 2019 ("Analyzing GPU tensor core potential for fast reductions"), with the chains of R groups
// (of more than four, chains of four) and the three variants of Navarro et al. 2020 ("GPU tensor cores for fast arithmetic reductions",
// 5). R and the block's B threads are the tuning table's factor and block.
//   recurrence   what the warps' chains come to is the input of the next step. In one launch, where the paper has one a step: of the
//                warps whose sums are one chain of the next step, the last to finish takes that step. Sums between are float32.
//   single_pass  each block puts its warps' sums together by shuffles, and these meet in one atomic addition each; where the order
//                must be the same on every run, they are published and added in their order instead (device/split.cuh). There may
//                be a million, which float32 could not add up to 1e-6: they are float64.
//   split        as that, with R = 1; the first p.detail blocks sum on tensor cores, the others on ordinary ones
#pragma once
#include "device/map.cuh"
#include "device/split.cuh"
#include "tcu/column_sums.cuh"

namespace tcu::cuda {
inline constexpr int kChainPieces = 4;  // that a thread has in flight
// Elements of E in a group.
template <class E> inline constexpr int kGroup = 512 / int(sizeof(E));
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

enum class Chain { recurrence, single_pass, split };

template <class Map, class Op, class Acc, class Out, class Index, Chain kChain, bool kAnyOrder>
struct reduce_tcu_chain {
  using T = first_of<typename Map::Inputs>;
  using F = Fold<Op, Acc, Index, double>;
  using State = double;
  using Elements = Vec<T, 16 / int(sizeof(T))>;
  static constexpr int kMostThreads = 1024, kResident = 1;
  static_assert(kChainPieces % TileSum<T>::kMost == 0 && kChainPieces % TileSum<float>::kMost == 0);

  // Piece `at` of n elements; zeros where there are none.
  template <class E>
  TCU_DEVICE static Piece piece(const E *from, Index n, Index at) {
    constexpr int V = 16 / int(sizeof(E));
    const Index first = at * V;
    if (first + V <= n) return __builtin_bit_cast(Piece, load_word<false>(reinterpret_cast<const uint4 *>(from + first)));
    Vec<E, V> e = {};
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (first + v < n) e.at[v] = from[first + v];
    return __builtin_bit_cast(Piece, e);
  }
  // The sum of `length` groups of n elements from group `first` on, to every lane of the warp.
  template <class E>
  TCU_DEVICE static float chain(const E *from, Index n, Index first, int length) {
    const int lane = int(threadIdx.x) % 32;
    float total = 0;
    TileSum<E> sum;
#pragma unroll 1
    for (int r = 0; r < length; r += kChainPieces) {
      Piece x[kChainPieces];
#pragma unroll
      for (int k = 0; k < kChainPieces; ++k) x[k] = r + k < length ? piece(from, n, (first + r + k) * 32 + lane) : Piece{};
#pragma unroll
      for (int k = 0; k < kChainPieces; ++k) {
        sum.add(x[k]);
        if ((k + 1) % TileSum<E>::kMost == 0) total += sum.sum(), sum = {};
      }
    }
    return total;
  }
  // A thread's share of the same, on ordinary cores.
  TCU_DEVICE static float share(const T *from, Index n, Index first, int length) {
    float total = 0;
    for (int r = 0; r < length; ++r) {
      const auto e = __builtin_bit_cast(Elements, piece(from, n, (first + r) * 32 + int(threadIdx.x) % 32));
#pragma unroll
      for (const T &x : e.at) total += tcu::convert<float>(x);
    }
    return total;
  }

  template <class P>
  TCU_DEVICE static void steps(const P &p) {
    const int lane = int(threadIdx.x) % 32, length = p.detail;
    const Index per = Index(length) * kGroup<float>;  // sums that are one chain of the next step
    Index count = (Index(p.folded) + Index(length) * kGroup<T> - 1) / (Index(length) * kGroup<T>);
    Index mine = Index(blockIdx.x) * Index(blockDim.x / 32) + threadIdx.x / 32;
    if (mine >= count) return;
    float *sums = static_cast<float *>(p.workspace);
    unsigned *tickets = static_cast<unsigned *>(p.zeroed);
    float s = chain(static_cast<const T *>(p.in[0]), Index(p.folded), mine * length, length);
#pragma unroll 1
    while (count > 1) {
      const Index next = (count + per - 1) / per, to = mine / per, members = count - to * per < per ? count - to * per : per;
      unsigned before = 0;
      if (lane == 0) sums[mine] = s, before = count_up<true>(tickets + to);
      if (shuffle(before, 0, 32) + 1 != unsigned(members)) return;
      if (lane == 0) tickets[to] = 0;
      s = chain<float>(sums, count, to * length, length);
      sums += (count + 3) / 4 * 4, tickets += next, mine = to, count = next;
    }
    if (lane == 0) store_result<F, Out>(p, Index(0), State(s), p.folded);
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    if constexpr (kChain == Chain::recurrence) {
      steps(p);
    } else {
      TCU_SHARED(State, shared, 32);
      const int threads = int(blockDim.x), length = kChain == Chain::split ? 1 : p.detail;
      const Index first = (Index(blockIdx.x) * Index(threads / 32) + threadIdx.x / 32) * length;
      const T *const from = static_cast<const T *>(p.in[0]);
      const unsigned begun = kAnyOrder ? 0 : begin_part(p, 0);
      State s = F::identity();
      if (kChain == Chain::split && int(blockIdx.x) >= p.detail) s = State(share(from, Index(p.folded), first, length));
      else if (const float all = chain(from, Index(p.folded), first, length); threadIdx.x % 32 == 0) s = State(all);
      if constexpr (!kAnyOrder) {
        end_part<F, Out>(p, Index(0), s, Index(0), Index(blockIdx.x), begun, shared, threads);
      } else {
        s = combine_group<F>(s, threads, shared);
        if (threadIdx.x != 0) return;
        State *const sum = static_cast<State *>(p.zeroed) + 1;
        unsigned *const ticket = static_cast<unsigned *>(p.zeroed);
        atomicAdd(sum, s);
        if (count_up<true>(ticket) + 1 != gridDim.x) return;
        store_result<F, Out>(p, Index(0), atomicAdd(sum, State(0)), p.folded);
        *sum = 0, *ticket = 0;
      }
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/reduce_tcu_segmented.cuh"

namespace tcu::cuda::rows {

struct ReduceTcuChain {
  static bool accepts(const Problem &p, const Device &d) {
    const bool is_half = p.in[0] == DType::f16 || p.in[0] == DType::bf16;
    return is_half && on_tensor_cores(p, d) && p.n_inputs == 1 && p.modes.size() == 1 && p.modes[0].role == Role::R &&
           p.modes[0].stride[1] == 1 && (1 << p.alignment[1]) >= 16;
  }
  static bool suits(const Problem &, const Device &) { return false; }
  static int64_t groups(const Problem &p) { return ceil_div(p.reduced(), kGroup<uint16_t>); }
};

struct ReduceTcuRecurrence : ReduceTcuChain {
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const Tuning t = tuning("reduce.tcu.recurrence", d, bytes_of(p.in[0]));
    LaunchConfig c;
    c.block = t.block, c.detail = t.factor, c.vector = 16 / bytes_of(p.in[0]);
    int64_t count = ceil_div(groups(p), t.factor), tickets = 0, sums = 0;
    c.grid = ceil_div(count, t.block / 32);
    while (count > 1) sums += ceil_div(count, 4) * 4, count = ceil_div(count, t.factor * kGroup<float>), tickets += count;
    c.zeroed_bytes = size_t(counter_bytes(tickets)), c.leaves_zero = true;
    c.workspace_bytes = c.zeroed_bytes + size_t(sums) * sizeof(float);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_tcu_chain", {"Chain::recurrence", "false"});
  }
};

template <bool kSplit>
struct ReduceTcuOnePass : ReduceTcuChain {
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const Tuning t = tuning(kSplit ? "reduce.tcu.split" : "reduce.tcu.single_pass", d, bytes_of(p.in[0]));
    const int length = kSplit ? 1 : t.factor;
    LaunchConfig c;
    c.block = t.block, c.vector = 16 / bytes_of(p.in[0]);
    c.grid = ceil_div(groups(p), int64_t(length) * (t.block / 32));
    c.detail = kSplit ? int(c.grid * t.factor / 100) : length;
    c.split = c.grid;
    const bool any_order = p.determinism == Determinism::any_order;
    c.zeroed_bytes = any_order ? 16 : size_t(counter_bytes(1) + c.grid * published_words(sizeof(double)) * 8);
    c.workspace_bytes = c.zeroed_bytes, c.leaves_zero = true;
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    return make_instance(p, "reduce_tcu_chain", {kSplit ? "Chain::split" : "Chain::single_pass",
                                                 p.determinism == Determinism::any_order ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
