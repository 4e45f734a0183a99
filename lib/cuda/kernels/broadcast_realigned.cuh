// broadcast.realigned: permuted inputs of which a row is no whole vectors, or of out ('K K ...', permuted; of 1, 2 or 4 bytes, all as wide as out).
// A tile is a box of modes (device/tile_box.cuh), as broadcast.permute's is, of which all are full: at a mode's end the last one begins further back, and
// both write what they have in common. So does the last vector of a row: there are no parts of vectors and no parts of tiles.
// The guide's rows are read W elements at a time wherever they begin, as two aligned words that are put together, and go to shared memory as out goes through
// the tile; kBeside: what lies beside each other in a word there is turned in registers. Of a warp 8 threads have rows beside each other, of which 4 have
// neighbouring vectors: 64 bytes of memory, and other banks for each. Out's rows are written from there: kWhole, where they are vectors, so; else by a warp
// each, a word of four bytes a thread from the sector on in which the row begins, put together of two words, and then its two ends.
// (A 4-byte access with 16 bytes from thread to thread asks four times for a bank, and the ends of rows one by one for a sector each time: 17 x 31 x 61 x
// 2039 float16 reversed, H200, vectors by four such words and ends of up to eight elements 124 us; by words and ends of one 103; without a question
// for each word whether it is of the row 98.)
#pragma once
#include "device/map.cuh"
#include "device/tile_box.cuh"

namespace tcu::cuda {

// How a tile lies in shared memory, in elements of so many bytes: rows of out's `pitch` apart, every `vector` of those that a row of the guide's has
// `skew` further, so that 8 neighbours of 4 threads' columns lie in different banks; all of them `part` elements.
struct RealignedLayout {
  int pitch, skew, part;

  TCU_FN static RealignedLayout of(bool whole, int bytes, int length, int columns) {
    const int vector = 16 / bytes, pitch = whole ? (length + vector - 1) / vector * vector : row_pitch(length, bytes);
    const int words = vector * (pitch * bytes / 4) % 32;  // from one thread's columns to the next one's
    const int to_8 = (40 - words) % 32, to_24 = (56 - words) % 32, least = to_8 < to_24 ? to_8 : to_24;
    const int skew = (whole ? (to_8 % 4 == 0 ? to_8 : 0) : least) * 4 / bytes;
    return {pitch, skew, columns * pitch + (columns / vector + 1) * skew};
  }
};

#if defined(TCU_KERNELS)

template <class Map, class Acc, class Out, class Index, bool kWhole, bool kBeside>
struct broadcast_realigned {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, S = int(sizeof(Out)), W = 16 / S, V = kWhole ? W : in_word(S);
  static constexpr int G = kBeside ? 4 / S : 1, kItems = 4 / G, kWarps = kThreads / 32, kTogether = 4;
  static constexpr int kResident = map_blocks<Map, Acc, V>(S == 1 ? 3 : 4);
  using AwaitsTurn = broadcast_realigned;

  struct Row {
    Index offset;
    int place;
  };
  struct Shared {
    TileCounts elements;
    int place[kTileModes], column[kTileModes];  // of a mode, from one element to the next in shared memory, and in columns there
    RealignedLayout layout;
    TileCuts<Index> cuts;
    Index lowest[N], highest[N];  // of an input's elements
    Index first[N], last[N];      // where tiles begin of which each vector's words are the input's
  };
  struct Thread {
    int first, step;  // the row of the guide's that it begins with, and how many further the next one is; rows that it has none of are further than all
    int start;        // of its elements in a row
    int column[W];    // their places in shared memory, in bytes
  };

  template <class P>
  TCU_DEVICE static PackedWays ways_of(const P &p) { return {p.split, p.chunk, p.lanes}; }
  template <class P>
  TCU_DEVICE static Row *rows_of_guide(const P &p, Row *rows, int input) {
    return rows + ways_of(p).rows(0) + input * ways_of(p).rows(1);
  }

  // In shared memory.
  struct Place {
    int place = 0, column = 0;

    TCU_DEVICE Place beyond(const Shared &shared, int m, int at) const { return {place + at * shared.place[m], column + at * shared.column[m]}; }
    TCU_DEVICE int in(const RealignedLayout &layout) const { return place + column * layout.pitch + column / W * layout.skew; }
  };
  // Where element i of those that modes first..last-1 of a way number lies, in the operands and in shared memory.
  template <class P>
  TCU_DEVICE static Place find(const P &p, const PackedWays &ways, const Shared &shared, int way, int first, int last, int i, Offsets<N, Index> &o) {
    Place place;
#pragma unroll 1
    for (int k = first; k < last; ++k) {
      const int m = ways.mode(way, k), at = shared.elements.take(m, i);
      advance(o, p.mode[m], Index(at));
      place = place.beyond(shared, m, at);
    }
    return place;
  }
  template <class P>
  TCU_DEVICE static void lay_out(const P &p, const TileBox &box, const PackedWays &ways, Shared &shared) {
    int columns = 1, step = 1;
    unsigned in_row = 0;
#pragma unroll 1
    for (int k = 0; k < ways.n(); ++k) {
      const int m = ways.mode(0, k), count = box.count(m, p.mode[m].extent);
      shared.elements.set(m, count), shared.place[m] = step, shared.column[m] = 0;
      if (k < ways.in_row(0)) step *= count, in_row |= 1u << m;
    }
#pragma unroll 1
    for (int k = 0; k < ways.in_row(1); ++k) {
      const int m = ways.mode(1, k);
      if (in_row >> m & 1) continue;
      shared.place[m] = 0, shared.column[m] = columns, columns *= shared.elements.count[m];
    }
    shared.layout = RealignedLayout::of(kWhole, S, ways.length(0), columns);
    step = shared.layout.part;
#pragma unroll 1
    for (int k = ways.in_row(0); k < ways.n(); ++k) {
      const int m = ways.mode(0, k);
      if (shared.column[m] == 0) shared.place[m] = step, step *= shared.elements.count[m];
    }
  }
  // Of every input, by a thread each of the warps from number `warp` on.
  template <class P>
  TCU_DEVICE static void set_ends(const P &p, const TileBox &box, Shared &shared, int warp) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (int(threadIdx.x) != (warp + i) * 32) continue;
      Index first = W, last = -W, lowest = 0, highest = 0;
#pragma unroll 1
      for (int m = 0; m < p.n_kept; ++m) {
        const Index step = Index(p.mode[m].in[i]), extent = Index(p.mode[m].extent), rest = extent - box.count(m, p.mode[m].extent);
        (step < 0 ? first : last) += rest * step, (step < 0 ? lowest : highest) += (extent - 1) * step;
      }
      shared.first[i] = first, shared.last[i] = last, shared.lowest[i] = lowest, shared.highest[i] = highest;
    }
  }
  // As many at once as follow each other in the guide's fastest mode.
  template <class P>
  TCU_DEVICE static void set_columns(const P &p, const PackedWays &ways, const Shared &shared, Thread &thread) {
    const int m = ways.mode(1, 0), count = shared.elements.count[m];
#pragma unroll 1
    for (int done = 0, some; done < W; done += some) {
      int i = thread.start + done;
      some = count - shared.elements.take(m, i);
      Offsets<N, Index> any;
      const Place first = find(p, ways, shared, 1, 0, ways.in_row(1), thread.start + done, any);
#pragma unroll
      for (int w = 0; w < W; ++w)
        if (w >= done && w < done + some) thread.column[w] = first.beyond(shared, m, w - done).in(shared.layout) * S;
    }
  }
  template <class P>
  TCU_DEVICE static Thread begin(const P &p, const TileBox &box, const PackedWays &ways, Shared &shared, Row *rows) {
    const int t = int(threadIdx.x), lane = t % 32, warp = t / 32;
    if (t == 0) lay_out(p, box, ways, shared);
    shared.cuts.set(p, box, t);  // meanwhile, as these
    set_ends(p, box, shared, 3);
    __syncthreads();
#pragma unroll 1
    for (int r = t; r < ways.rows(0); r += kThreads) {
      Offsets<N, Index> o;
      const Place place = find(p, ways, shared, 0, ways.in_row(0), ways.n(), r, o);
      rows[r] = {o.out, place.in(shared.layout)};
    }
#pragma unroll 1
    for (int r = t; r < ways.rows(1); r += kThreads) {
      Offsets<N, Index> o;
      const int place = find(p, ways, shared, 1, ways.in_row(1), ways.n(), r, o).in(shared.layout);
#pragma unroll
      for (int i = 0; i < N; ++i) rows_of_guide(p, rows, i)[r] = {o.in[i], place};
    }
    const int length = ways.length(1), vectors = (length + W - 1) / W, abreast = (vectors + 3) / 4;  // warps that have all of a row
    const int vector = lane % 4 + warp % abreast * 4, at_once = kWarps / abreast, group = warp / abreast;
    Thread thread;
    thread.step = at_once * 8 * G;
    thread.first = group < at_once && vector < vectors ? (group * 8 + lane / 4) * G : ways.rows(1);
    thread.start = vector * W < length - W ? vector * W : length - W;
    set_columns(p, ways, shared, thread);
    __syncthreads();
    return thread;
  }

  // What the inputs have of a tile, to shared memory, one input after another.
  template <int I, class P>
  TCU_DEVICE static void turn(Types<>, const P &, const Offsets<N, Index> &, const Thread &, const Shared &, const Row *, SharedElements) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void turn(Types<T, R...>, const P &p, const Offsets<N, Index> &o, const Thread &thread, const Shared &shared, const Row *rows,
                              SharedElements tile) {
    const T *const all = static_cast<const T *>(p.in[I]), *const elements = all + o.in[I];
    if (o.in[I] >= shared.first[I] && o.in[I] <= shared.last[I]) turn_rows<false>(p, elements, {}, thread, rows, tile);
    else turn_rows<true>(p, elements, {all + shared.lowest[I], all + shared.highest[I] + 1}, thread, rows, tile);
    turn<I + 1>(Types<R...>{}, p, o, thread, shared, rows + ways_of(p).rows(1), tile.beyond(tile_part_bytes(ways_of(p).room, S)));
  }
  // kEnds: of a tile some of whose vectors' words are not all the input's, of which these are the elements; such vectors are read element by element.
  template <class T>
  struct Range {
    const T *begin = nullptr, *end = nullptr;
  };
  template <bool kEnds, class P, class T>
  TCU_DEVICE static void turn_rows(const P &p, const T *elements, Range<T> all, const Thread &thread, const Row *rows, SharedElements tile) {
    constexpr int kAtOnce = kEnds ? 1 : kItems;
    const int n = ways_of(p).rows(1);
#pragma unroll 1
    for (int first = thread.first; first < n; first += kAtOnce * thread.step) {
      Raw<T, W> low[kAtOnce][G], high[kAtOnce][G] = {};
      unsigned over[kAtOnce][G];  // bytes
      int place[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int row = first + k * thread.step;
#pragma unroll
        for (int g = 0; g < G; ++g) {
          const Row r = rows[row + g < n ? row + g : n - 1];
          if (g == 0) place[k] = r.place * S;
          const T *const from = elements + (thread.start + r.offset);
          over[k][g] = unsigned(reinterpret_cast<uint64_t>(from)) % 16;
          const T *const word = from - over[k][g] / S;
          if (kEnds && (word < all.begin || word + 2 * W > all.end)) {
            Vec<T, W> e;
#pragma unroll
            for (int w = 0; w < W; ++w) e.at[w] = from[w];
            low[k][g] = Raw<T, W>::of(e), over[k][g] = 0;
          } else {
            low[k][g] = Raw<T, W>::load(word);
            // No second one where the first is all: of bytes 0.83 to 1.0 of the time, of halves, for which there are no registers, 0.86 to 1.15.
            if constexpr (S > 1) high[k][g] = Raw<T, W>::load(over[k][g] == 0 ? word : word + W);
            else if (over[k][g] != 0) high[k][g] = Raw<T, W>::load(word + W);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k * thread.step >= n) continue;
        Raw<T, W> both[G];
#pragma unroll
        for (int g = 0; g < G; ++g) both[g] = put_together<W, T>(low[k][g], high[k][g], over[k][g]);
        put_columns(tile, place[k], thread.column, 1, both);
      }
    }
  }
  // K elements of every input from place `at` of the tile on, and `further` behind it, a multiple of words.
  template <int K, unsigned kOne, class P>
  TCU_DEVICE static void read(Pack<K, Types<>, kOne> &, const P &, SharedElements, int, int = 0) {}
  template <int K, unsigned kOne, class P, class T, class... R>
  TCU_DEVICE static void read(Pack<K, Types<T, R...>, kOne> &pack, const P &p, SharedElements tile, int at, int further = 0) {
    using Unit = select_t<(K * S == 16), Vec<T, K>, select_t<(K * S == 4), unsigned, T>>;
    if constexpr (K * S == 4 && S < 4) {
      const unsigned byte = unsigned(at * S);
      const int word = int(byte & ~3u) + further * S;
      pack.first = __builtin_bit_cast(Raw<T, K>, funnel_right(tile.get<unsigned>(word), tile.get<unsigned>(word + 4), byte % 4 * 8));
    } else {
      pack.first = __builtin_bit_cast(Raw<T, K>, tile.get<Unit>((at + further) * S));
    }
    read(pack.rest, p, tile.beyond(tile_part_bytes(ways_of(p).room, S)), at, further);
  }
  // A row of out, by a warp: its words, several a thread, and then its ends.
  template <class P>
  TCU_DEVICE static void write_row(const P &p, SharedElements tile, int place, Index to, int length) {
    constexpr int kAbreast = 32 * V;
    const int lane = int(threadIdx.x) % 32;
    Out *const out = static_cast<Out *>(p.out) + to;
    const int over = int(unsigned(reinterpret_cast<uint64_t>(out)) % 32) / S, head = over % V == 0 ? 0 : V - over % V;
    const int words = head + (length - head) / V * V;  // the end of the last one; of a row shorter than its head there is none
#pragma unroll 1
    for (int first = -over; first < words; first += kTogether * kAbreast) {
      const int e = first + lane * V;
      bool is_word[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) is_word[k] = (k > 0 || e >= head) && e + k * kAbreast < words;
      Pack<V, Inputs> x[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k)
        if (is_word[k]) read(x[k], p, tile, place + e, k * kAbreast);
      if (is_copied<Map, Out>(p)) {
#pragma unroll
        for (int k = 0; k < kTogether; ++k)
          if (is_word[k]) copy_pack(x[k], out + e + k * kAbreast);
      } else {
#pragma unroll
        for (int k = 0; k < kTogether; ++k)
          if (is_word[k]) put_pack<Map, Acc, Out>(p, x[k], to + e + k * kAbreast);
      }
    }
    if constexpr (V > 1) {
      const int at = lane < V ? lane : words + lane - V;
      if (lane < V ? at < head : at < length) {
        Pack<1, Inputs> x;
        read(x, p, tile, place + at);
        put_pack<Map, Acc, Out>(p, x, to + at);
      }
    }
  }
  template <class P>
  TCU_DEVICE static void write(const P &p, SharedElements tile, const Offsets<N, Index> &o, const Row *rows) {
    const int n = ways_of(p).rows(0), length = ways_of(p).length(0);
    if constexpr (kWhole) {
      const int vectors = length / V;
      const float row_of_one = 1.0f / float(vectors);
#pragma unroll 1
      for (int first = int(threadIdx.x); first < n * vectors; first += kTogether * kThreads) {
        Pack<V, Inputs> x[kTogether];
        int at[kTogether];
        Index to[kTogether];
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
          const int i = first + k * kThreads < n * vectors ? first + k * kThreads : first, row = quotient_by(i, row_of_one);
          const Row r = rows[row];
          at[k] = r.place + (i - row * vectors) * V, to[k] = o.out + r.offset + (i - row * vectors) * V;
        }
#pragma unroll
        for (int k = 0; k < kTogether; ++k) read(x[k], p, tile, at[k]);
#pragma unroll
        for (int k = 0; k < kTogether; ++k)
          if (first + k * kThreads < n * vectors) put_pack<Map, Acc, Out>(p, x[k], to[k]);
      }
    } else {
#pragma unroll 1
      for (int row = int(threadIdx.x) / 32; row < n; row += kWarps) write_row(p, tile, rows[row].place, o.out + rows[row].offset, length);
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(char, bytes);
    TCU_SHARED(Shared, shared, 1);
    const PackedWays ways = ways_of(p);
    const TileBox box = TileBox::of(p);
    Row *const rows = reinterpret_cast<Row *>(bytes + N * tile_part_bytes(ways.room, S));
    const SharedElements tile(bytes);
    const Thread thread = begin(p, box, ways, shared[0], rows);
    const Index n = shared[0].cuts.all(p, box);
    await_turn();
    TileClaims<Index> claims(p);
#pragma unroll 1
    for (Index number = blockIdx.x; number < n; number = claims.next()) {
      claims.ask();
      Offsets<N, Index> o;
      Index rest = number;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const auto &mode = p.mode[box.cut[c]];
        const Index first = shared[0].cuts.first(box, c, rest), last = Index(mode.extent) - box.some[c];
        advance(o, mode, first > last && !box.is_whole(box.cut[c]) ? last : first);
      }
#pragma unroll 1
      for (int m = 1; m < p.n_kept; ++m)
        if (!box.is_whole(m) && m != box.cut[0] && m != box.cut[1]) rest = advance_part(o, p.mode[m], rest);
      turn<0>(Inputs{}, p, o, thread, shared[0], rows_of_guide(p, rows, 0), tile);
      claims.tell(n);
      __syncthreads();
      write(p, tile, o, rows);
      __syncthreads();  // before the next tile's elements
    }
  }
};

#endif
}  // namespace tcu::cuda

#if !defined(__CUDACC__)
#include "cuda/rows.h"
#include "kernels/broadcast_dense.cuh"
#include "kernels/broadcast_general.cuh"
#include "kernels/broadcast_permute.cuh"
#include "kernels/broadcast_transpose.cuh"

namespace tcu::cuda::rows {

struct BroadcastRealigned : PermuteBox {
  static constexpr int kBytes = 40 << 10;  // of a tile and its rows: of more the first cache keeps too little for words that two vectors share
  static constexpr int kMostRows = 1024, kMostInRow = 8191;  // of a tile

  static bool accepts(const Problem &p, const Device &d) {
    if (p.in_place || p.reads_out || p.n_inputs > 2 || bytes_of(p.out) > 4 || !BroadcastPermute::accepts(p, d)) return false;
    const int g = guide(p), along = order(p, g).mode[0];
    for (int k = 1; k <= p.n_inputs; ++k)
      if (bytes_of(p.dtype(k)) != bytes_of(p.out) || !is_turned(p, g, k) || p.modes[along].stride[k] != 1) return false;
    return search(p, true).speed > 0;
  }
  // By the bytes of an element: of a problem, and of what tiles promise, the least; and of tiles where out's neighbours lie in the lines that its rows read.
  struct Least {
    int64_t bytes;
    double speed, speed_in_lines;
  };
  static constexpr Least kLeast[5] = {{}, {12000000, 5, 10}, {40000000, 4, 5.25}, {}, {40000000, 2.7, 1e9}};
  // Copies that broadcast.permute takes, or would take, in one or two elements at a time one way or the other. Of 273 odd permutations of 15 to 300 MB (H200)
  // 137, for which it takes 0.26 to 1.06 of the time of the row that had them, 0.67 in the mean, and 1.32 for one.
  static bool suits(const Problem &p, const Device &d) {
    const int bytes = bytes_of(p.out);
    const Least &least = kLeast[bytes];
    if (p.n_inputs > 1 || p.bytes() < least.bytes) return false;
    const PermuteBox::Chosen there = PermuteBox::choose(p);
    const Chosen here = choose(p);
    const int vector = std::min(there.vector[0], there.vector[1]), g = guide(p), sector = BroadcastPermute::sector_of(p, g);
    const bool in_lines = 3 * BroadcastPermute::used_beside(p, g, sector) > sector;
    // Halves in fours that lie in several modes are read one by one by broadcast.general (96 x 55 x 55 x 220: 97 us, by this 81).
    const int most = bytes == 4 ? 1 : 2;
    const bool across = bytes == 2 && vector == 4 && p.modes[order(p, g).mode[0]].extent % 4 != 0;
    if (here.speed < (in_lines ? least.speed_in_lines : least.speed) || (vector > most && !across)) return false;
    const auto other = row_without(Family::broadcast, accepts, p, d).accepts;
    if (vector > most && other != BroadcastGeneral::accepts) return false;
    if (other == BroadcastPermute::accepts) return here.beside || bytes == 4 || vector == 1;
    if (other == BroadcastDense::accepts) return in_lines;
    if (other == BroadcastTranspose::accepts) return here.beside;
    return other == BroadcastGeneral::accepts && here.beside && p.modes[0].extent * bytes >= kSector;
  }

  struct Chosen {
    TileBox box;
    TileWays ways;
    bool whole = false, beside = false;
    int bytes = 0;     // of shared memory
    double speed = 0;  // elements that a multiprocessor makes in a nanosecond
  };
  static Chosen choose(const Problem &p) { return remembered(p, [](const Problem &p) { return search(p, false); }); }
  // Of tiles with runs of so many elements the one that should take the least time; any: the first that there is.
  static Chosen search(const Problem &p, bool any) {
    const int g = guide(p), n = p.modes.size(), vector = 16 / bytes_of(p.out);
    const Order orders[] = {order(p, 0), order(p, g)};
    Chosen best;
    for (int64_t along : {16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096})
      for (int64_t across : {16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096}) {
        Chosen c;
        int cuts = 0;
        c.box = {}, c.box.guide = g - 1;
        take(p, c.box, cuts, orders[0], along, 1, kMostInRow);
        take(p, c.box, cuts, orders[1], across, 1, kMostInRow);
        fill_cuts(c.box, cuts, n);
        for (const int most : {kThreads * vector, kMostInRow})
          if (fits(p, c, most) && (c.speed = speed(p, c)) > best.speed) best = c;
        if (any && best.speed > 0) return best;
      }
    return best;
  }
  // most: elements of a row of out.
  static bool fits(const Problem &p, Chosen &c, int most) {
    const int bytes = bytes_of(p.out), vector = 16 / bytes;
    int64_t all = bytes * p.n_inputs;
    for (int m = 0; m < p.modes.size() && all <= kBytes; ++m) all *= c.box.count(m, p.modes[m].extent);
    if (all > kBytes) return false;
    const auto follows = [&](int way, int m, int64_t length) {
      for (int k = way; k <= way * p.n_inputs; ++k)
        if (p.modes[m].stride[k] != length) return false;
      return true;
    };
    TileWays &w = c.ways;
    w.find(c.box, p.modes.size(), {most, 32 * vector}, [&](int m) { return p.modes[m].extent; },
           [&](int m) { return far(p, m, c.box.guide + 1); }, follows);
    for (int way = 0; way < 2; ++way)
      if (w.length[way] < vector || w.rows[way] > kMostRows) return false;
    int columns = 1;
    for (int k = 0; k < w.in_row[1]; ++k) columns *= w.is_in_row(0, w.mode[1][k]) ? 1 : w.count[w.mode[1][k]];
    c.whole = has_vectors(p, c, vector), c.beside = bytes < 4 && has_words(c, 4 / bytes);
    w.room = RealignedLayout::of(c.whole, bytes, w.length[0], columns).part * (w.rows[0] / columns) + 4 / bytes;  // a word more is read
    const int row = p.index_bits == 32 ? 8 : 16;
    c.bytes = p.n_inputs * tile_part_bytes(w.room, bytes) + (w.rows[0] + p.n_inputs * w.rows[1]) * row;
    return c.bytes <= kBytes;
  }
  // Whether out's rows are whole vectors, aligned, in every tile.
  static bool has_vectors(const Problem &p, const Chosen &c, int v) {
    const TileWays &w = c.ways;
    unsigned within = 0;
    for (int i = 0; i < w.in_row[0]; ++i) {
      const int m = w.mode[0][i];
      within |= 1u << m;
      if (!c.box.is_whole(m) && (p.modes[m].extent * p.modes[m].stride[0] % v != 0 || w.count[m] * p.modes[m].stride[0] % v != 0)) return false;
    }
    return w.length[0] % v == 0 && runs_aligned(p, within, 0, v);
  }
  // Whether so many of the guide's rows, one after another, are a word in shared memory; but at their end, where a row of out's ends.
  static bool has_words(const Chosen &c, int together) {
    const TileWays &w = c.ways;
    int run = 1;
    for (int k = 0; k < w.in_row[0] && !w.is_in_row(1, w.mode[0][k]); ++k) run *= w.count[w.mode[0][k]];
    return run > 1 && (run % together == 0 || (run == w.length[0] && run == w.rows[1]));
  }
  // A least squares fit to the times of 608 tiles of 44 copies on an H200: the nanoseconds that a multiprocessor takes for one, with the blocks that it has,
  // of which the middle error is a thirteenth.
  static double speed(const Problem &p, const Chosen &c) {
    const TileWays &w = c.ways;
    const int bytes = bytes_of(p.out), vector = 16 / bytes, together = c.beside ? 4 / bytes : 1, items = 4 / together, n = p.n_inputs;
    const int64_t all = int64_t(w.length[0]) * w.rows[0];
    const int abreast = int(ceil_div(ceil_div(w.length[1], vector), 4)), at_once = kThreads / 32 / abreast * 8 * together;
    const double turns = double(ceil_div(w.rows[1], at_once * items) * items * together);
    double time = 0.0134 * double(all * bytes * (n + 1)) + n * 93 * turns;
    if (c.whole) time += 89 * double(ceil_div(all / vector, kThreads)) + 0.62 * w.rows[0];
    else time += double(ceil_div(w.rows[0], kThreads / 32)) * (79 + 15 * double(ceil_div(int64_t(w.length[0]) * bytes / 4 + 8, 32)));
    return elements_there(p, c.box, all) / time;
  }

  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    const Chosen chosen = choose(p);
    const PackedWays ways = PackedWays::of(chosen.ways);
    c.block = kThreads, c.variant = 2 * chosen.whole + chosen.beside, c.shared_bytes = chosen.bytes;
    chosen.box.pack(c);
    c.split = ways.orders, c.chunk = ways.sizes, c.lanes = ways.room;
    c.grid = persistent_grid("broadcast.realigned", p, d, tiles(p, chosen.box));
    claim_tiles(c);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "broadcast_realigned", {c.variant / 2 ? "true" : "false", c.variant % 2 ? "true" : "false"});
  }
};

}  // namespace tcu::cuda::rows
#endif
