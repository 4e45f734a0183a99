// broadcast.shifted: out's rows, the runs along its fastest mode, begin anywhere ('K', 'K K ...'): a view, or what is not aligned.
// Rows are cut where out's memory is: V elements from an aligned address on are written as one vector, by one thread, and p.detail such
// pieces there are in a row at most. What is left at a row's two ends goes one by one (several at a time were slower:
// a block's registers are what there may be in flight). An input that lies under the same piece as out does is read as a vector; one that
// lies elsewhere as two, which are put together; one with a stride of 0 (kOnce, a bit an input) as one element; any other element by element.
// kShort: of rows so short that nearly every warp would have an end of one a block has p.detail: its threads take their vectors in whole
// sectors of 32 bytes, and then an element each of the sectors in which a row ends and the next begins, which so are written at once. What a
// sector has beside, the second level cache is asked for ahead, or it would ask only when it writes the sector to memory. (Rows of 100 in 101,
// a million on an H200, float16: a row's ends by whoever has its first and last vector 286 us; all vectors, then the ends 200; in whole
// sectors 187; asked for beside the store 159; before all else, as here, measured with an input more only: 186.)
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, unsigned kOnce, bool kShort>
struct broadcast_shifted {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, V = kVector<Inputs, Out>;
  static constexpr int kResident = map_blocks<Map, Acc, V>(is_light<Map, Acc> ? (kShort ? 6 : 8) : 4);  // registers are what limits it
  static constexpr int kSector = 32 / int(sizeof(Out)) > V ? 32 / int(sizeof(Out)) : V;  // elements
  using Piece = Pack<V, Inputs, kOnce>;

  // Elements at, at + 1, ... of every row's inputs but those of kOnce.
  template <int I = 0, unsigned kSingle, class P>
  TCU_DEVICE static void load_near(Pack<V, Types<>, kSingle> &, const P &, const Offsets<N, Index> &, Index) {}
  template <int I = 0, unsigned kSingle, class P, class T, class... R>
  TCU_DEVICE static void load_near(Pack<V, Types<T, R...>, kSingle> &x, const P &p, const Offsets<N, Index> &o, Index at) {
    if constexpr (!(kSingle & 1)) {
      const T *const from = static_cast<const T *>(p.in[I]) + o.in[I];
      const Index stride = Index(p.mode[0].in[I]);
      if (stride == 1) {
        x.first = load_anywhere<V>(from + at, at, Index(p.mode[0].extent) - at);
      } else {
        Vec<T, V> e;
#pragma unroll
        for (int v = 0; v < V; ++v) e.at[v] = from[(at + v) * stride];
        x.first = Raw<T, V>::of(e);
      }
    }
    load_near<I + 1>(x.rest, p, o, at);
  }

  // A row's offsets, and the elements of out from an address that is a multiple of W's up to its first.
  template <int W, class P>
  TCU_DEVICE static Index shift_of(const P &p, Offsets<N, Index> &o, Index row) {
    decode(o, p, 1, p.n_kept, row);
    return Index(reinterpret_cast<uint64_t>(static_cast<Out *>(p.out) + o.out) / sizeof(Out) % W);
  }
  template <class P>
  TCU_DEVICE static void load(const P &p, Piece &x, const Offsets<N, Index> &o, Index first) {
    load_pack<V, false, false, kOnce>(x, p, o, 0, first, 0);
    load_near(x, p, o, first);
  }

  // The rows from `first` on that are a block's.
  template <class P>
  TCU_DEVICE static void short_rows(const P &p, Index first, int rows) {
    const int extent = int(p.mode[0].extent), pieces = (extent + kSector - 1 + V - 1) / V;
    const float row_of_one = 1.0f / float(pieces);
    if (int(threadIdx.x) < 2 * rows) {
      Offsets<N, Index> o;
      shift_of<kSector>(p, o, first + threadIdx.x / 2);
      ask_ahead(static_cast<Out *>(p.out) + (o.out + (threadIdx.x % 2 ? extent - 1 : 0)));
    }
#pragma unroll 1
    for (int i = int(threadIdx.x); i < rows * pieces; i += kThreads) {
      const int row = quotient_by(i, row_of_one), piece = i - row * pieces;
      Offsets<N, Index> o;
      const int shift = int(shift_of<kSector>(p, o, first + row)), sector = piece * V / kSector * kSector - shift;
      if (sector < 0 || sector + kSector > extent) continue;
      Piece x;
      load(p, x, o, Index(piece * V - shift));
      put_pack<Map, Acc, Out>(p, x, o.out + (piece * V - shift));
    }
    // Slots: what is left of a row at its end, and of the next at its beginning.
#pragma unroll 1
    for (int i = int(threadIdx.x) + kSector; i < rows * (2 * kSector) + kSector; i += kThreads) {
      const int j = i % (2 * kSector), row = i / (2 * kSector) - (j < kSector);
      Offsets<N, Index> o;
      const int shift = int(shift_of<kSector>(p, o, first + row)), begun = shift > 0 ? kSector - shift : 0;
      const int head = begun < extent ? begun : extent;
      const int at = j < kSector ? head + (extent - head) / kSector * kSector + j : j - kSector;
      if (at >= (j < kSector ? extent : head)) continue;
      Pack<1, Inputs> x;
      load_pack<1, false>(x, p, o, 0, Index(at), 0);
      put_pack<Map, Acc, Out>(p, x, o.out + at);
    }
  }
  // A piece, or what it is of a row's ends.
  template <class P>
  TCU_DEVICE static void piece_of_row(const P &p, Index at) {
    const Index extent = Index(p.mode[0].extent), pieces = Index(p.detail), row = at / pieces;
    Offsets<N, Index> o;
    const Index first = (at - row * pieces) * V - shift_of<V>(p, o, row);
    if (first >= 0 && first + V <= extent) {
      Piece x;
      load(p, x, o, first);
      put_pack<Map, Acc, Out>(p, x, o.out + first);
    } else {
#pragma unroll 1
      for (Index e = first < 0 ? 0 : first; e < first + V && e < extent; ++e) {
        Pack<1, Inputs> x;
        load_pack<1, false>(x, p, o, 0, e, 0);
        put_pack<Map, Acc, Out>(p, x, o.out + e);
      }
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index rows = Index(p.kept) / Index(p.mode[0].extent);
    if constexpr (kShort) {
      const Index each = Index(p.detail);
#pragma unroll 1
      for (Index first = Index(blockIdx.x) * each; first < rows; first += Index(gridDim.x) * each)
        short_rows(p, first, int(rows - first < each ? rows - first : each));
    } else {
      const Index n = rows * Index(p.detail);
#pragma unroll 1
      for (Index at = Index(blockIdx.x) * kThreads + Index(threadIdx.x); at < n; at += Index(gridDim.x) * kThreads) piece_of_row(p, at);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/broadcast_dense.cuh"

namespace tcu::cuda::rows {

struct BroadcastShifted {
  static int64_t pieces(const Problem &p) { return ceil_div(p.modes[0].extent + vector_of(p, true) - 1, vector_of(p, true)); }
  static bool accepts(const Problem &p, const Device &) {
    const int v = vector_of(p, true);
    return v > 1 && p.modes.size() > 0 && p.modes[0].stride[0] == 1 && p.modes[0].extent >= v && pieces(p) <= INT32_MAX;
  }
  // Where broadcast.general would take less than vectors, and rows are long enough for some; or would read 16 elements of a run one by one.
  static bool suits(const Problem &p, const Device &d) {
    const int v = vector_of(p, true), taken = BroadcastGeneral::vector(p);
    if (taken < v) return p.modes[0].extent >= 4 * v && !(BroadcastDense::dense(p, 0) && BroadcastDense::leaves(p, d));
    bool apart = false;  // contiguous and not whole vectors
    for (int k = 1; k <= p.n_inputs; ++k) apart |= p.modes[0].stride[k] == 1 && !rows_aligned(p, 0, k, v);
    return v == 16 && apart && p.modes[0].extent >= kLongRun * v;
  }
  static bool has_short_rows(const Problem &p) { return p.modes[0].extent < kLongRun * vector_of(p, true); }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads, c.vector = vector_of(p, true);
    const int64_t rows = p.kept() / p.modes[0].extent;
    int64_t blocks;
    if (has_short_rows(p)) {
      c.detail = int(std::max<int64_t>(kThreads / pieces(p), 1));
      blocks = ceil_div(rows, c.detail);
    } else {
      c.detail = int(pieces(p));
      blocks = ceil_div(rows * c.detail, kThreads);
    }
    c.grid = persistent_grid("broadcast.shifted", p, d, ceil_div(blocks, steps_of(blocks, c.vector >= 8 ? 2 : 1, d)));  // of few bytes more
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_shifted", {bits_text(BroadcastGeneral::once(p, c.vector)), has_short_rows(p) ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
