// broadcast.permute: an input whose neighbours are not out's, whatever modes lie between them ('K K K ...', permuted).
// A tile is a box of modes (device/tile_box.cuh) that the host chooses: a run of out's and a run of the guide's, the first such input.
// Inputs that lie as the guide does, kTurned, are read along its rows and put into shared memory as out goes through the tile; then out is
// gone through along its own rows, and what is not turned is read as it lies. Where each row of the tile begins, in every operand and in
// shared memory, is found once a block. Elements are taken V at a time along out's rows, and W along the guide's, where these are whole
// vectors, however many modes a vector lies in: three channels of 224 pixels are rows of 672. kBeside: what lies beside each other in a word of out
// is turned in registers, and stored as that word. Which inputs are one element all along out's vectors is in kOnce.
// In place: an element is written by the thread that read it, after it did (an operand with out's layout is never turned).
#pragma once
#include "device/map.cuh"
#include "device/tile_box.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, int V, int W, bool kBeside, unsigned kOnce, unsigned kTurned>
struct broadcast_permute {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, kBytes = largest_of<Inputs>::bytes, kResident = map_blocks<Map, Acc, V>(4);
  static constexpr int kUnit = least_of<Inputs>;  // bytes
  using AwaitsTurn = broadcast_permute;
  // The guide's rows, beside each other in shared memory, whose elements are a word.
  template <class T>
  static constexpr int kTogether = kBeside ? in_word(sizeof(T)) : 1;

  // A place in the tile, as one number: in shared memory (14 bits), and along the two modes that are cut (8 bits and an empty one each).
  static constexpr unsigned kRoom = kTileRoom, kBeyond = 1u << 22 | 1u << 31;
  TCU_DEVICE static unsigned along_cut(int c, unsigned at) { return at << (14 + 9 * c); }
  // Whether a tile of which so much is left along these, less one, has the place.
  TCU_DEVICE static bool has(unsigned left, unsigned place) { return ((left - place) & kBeyond) == kBeyond; }

  struct Row {
    Index offset;
    unsigned place;
  };
  struct Shared {
    TileCounts elements;
    int place[kTileModes];                     // of a mode, from one element to the next in shared memory
    int skewed, skew;                          // the mode of which every W elements lie further on, by so much; -1 if there is none
    TileCuts<Index> cuts;
    Row rows[N + 1][kTileRows];                // out's, and every input's by the way that it is gone through
  };
  struct Way {  // a thread's
    int first, step, rows;  // the row that it begins with, and how many further the next one is
    unsigned place;         // of its elements in a row
  };
  struct Thread {
    Way way[2];
    int column[W];            // of its elements in a row of the guide's: their places in shared memory, in kUnits
    Offsets<N, Index> along;  // of its elements in a row
  };

  template <class P>
  TCU_DEVICE static PackedWays ways_of(const P &p) { return {p.split, p.chunk, p.lanes}; }
  // Where element `at` of mode m lies in shared memory.
  TCU_DEVICE static int place_of(const Shared &shared, int m, int at) {
    return at * shared.place[m] + (m == shared.skewed ? at / W * shared.skew : 0);
  }
  // Where element i of those that modes first..last-1 of a way number lies.
  template <class P>
  TCU_DEVICE static void find(const P &p, const TileBox &box, const PackedWays &ways, const Shared &shared, int way, int first, int last,
                              int i, Offsets<N, Index> &o, unsigned &place) {
    place = 0;
#pragma unroll 1
    for (int k = first; k < last; ++k) {
      const int m = ways.mode(way, k), at = shared.elements.take(m, i);
      advance(o, p.mode[m], Index(at));
      place += unsigned(place_of(shared, m, at));
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if (m == box.cut[c] && !box.is_whole(m)) place += along_cut(c, unsigned(at));
    }
  }
  template <class P>
  TCU_DEVICE static Thread begin(const P &p, const TileBox &box, const PackedWays &ways, Shared &shared) {
    const int t = int(threadIdx.x);
    if (t == 0) {
      int step = 1;
      shared.skewed = -1;
#pragma unroll 1
      for (int k = 0; k < ways.n(); ++k) {
        const int m = ways.mode(0, k);
        if (k == ways.in_row(0)) {
          step = row_pitch(step, kUnit);
          if (m == ways.mode(1, 0)) shared.skewed = m, shared.skew = column_skew(step, ways.length(1) / W, W, kUnit);
        }
        const int count = box.count(m, p.mode[m].extent);
        shared.elements.set(m, count), shared.place[m] = step, step *= count;
        if (m == shared.skewed) step += count / W * shared.skew;
      }
    }
    shared.cuts.set(p, box, t);  // meanwhile
    __syncthreads();
    Thread thread;
#pragma unroll
    for (int way = 0; way < 2; ++way) {
      const int vector = way == 0 ? V : W, threads = ways.length(way) / vector, row = t / threads, i = (t - row * threads) * vector;
      Way &w = thread.way[way];
      w.step = kThreads / threads, w.rows = ways.rows(way);
      w.first = row < w.step ? row : kTileRows;  // or none
      Offsets<N, Index> along, across;
      unsigned place;
      find(p, box, ways, shared, way, 0, ways.in_row(way), i, along, w.place);
      if (way == 1) set_column(p, box, ways, shared, i, thread);
      find(p, box, ways, shared, way, ways.in_row(way), ways.n(), t, across, place);
      if (way == 0) {
        thread.along.out = along.out;
        if (t < w.rows) shared.rows[0][t] = {across.out, place};
      }
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (int(kTurned >> i & 1) != way) continue;
        thread.along.in[i] = along.in[i];
        if (t < w.rows) shared.rows[1 + i][t] = {across.in[i], place};
      }
    }
    __syncthreads();
    return thread;
  }

  // The places of elements i, i + 1, ... of a row of the guide's, of whose fastest mode a vector has one end at most.
  template <class P>
  TCU_DEVICE static void set_column(const P &p, const TileBox &box, const PackedWays &ways, const Shared &shared, int i, Thread &thread) {
    int rest = i;
    const int m = ways.mode(1, 0), at = shared.elements.take(m, rest), end = shared.elements.count[m] - at;
    const int start = int(thread.way[1].place & kRoom) - place_of(shared, m, at);
    int next = 0;  // what `start` is after the end
    if (end < W) {
      Offsets<N, Index> any;
      unsigned place;
      find(p, box, ways, shared, 1, 0, ways.in_row(1), i + end, any, place);
      next = int(place & kRoom);
    }
#pragma unroll
    for (int w = 0; w < W; ++w)
      thread.column[w] = (w < end ? start + place_of(shared, m, at + w) : next + place_of(shared, m, w - end)) * kUnit;
  }

  // What the turned inputs have of a tile, to shared memory, one input after another.
  template <int I, class P>
  TCU_DEVICE static void turn(Types<>, const P &, const Offsets<N, Index> &, const Thread &, const Shared &, unsigned, SharedElements) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void turn(Types<T, R...>, const P &p, const Offsets<N, Index> &o, const Thread &thread, const Shared &shared, unsigned left,
                              SharedElements tile) {
    if constexpr (kTurned >> I & 1) {
      constexpr int G = kTogether<T>, kItems = permute_items(W, kBytes) / G;
      const Way w = thread.way[1];
      const T *const start = opaque(static_cast<const T *>(p.in[I]) + o.in[I]);
#pragma unroll 1
      for (int first = w.first * G, done = 0; done < w.rows; done += kItems * G * w.step, first += kItems * G * w.step) {
        Raw<T, W> x[kItems][G];
        int place[kItems];  // of the row
        bool there[kItems];
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const int row = first + k * G * w.step, known = row < w.rows ? row : w.rows - G;
          const Row *const r = shared.rows[1 + I] + known;
          place[k] = int(r->place & kRoom);
          there[k] = (row < w.rows) & has(left, r->place + w.place);
#pragma unroll
          for (int g = 0; g < G; ++g) {
            // The tile's first element in place of one that is not there: loads that may not happen wait for one another.
            const T *const from = start + (there[k] ? thread.along.in[I] + r[g].offset : Index(0));
            if constexpr (W == 1) x[k][g] = Raw<T, W>::load_one(from);
            else x[k][g] = Raw<T, W>::load(from);
          }
        }
#pragma unroll
        for (int k = 0; k < kItems; ++k)
          if (there[k]) put_columns(tile, place[k] * int(sizeof(T)), thread.column, int(sizeof(T)) / kUnit, x[k]);
      }
      tile = tile.beyond(tile_part_bytes(ways_of(p).room, int(sizeof(T))));
    }
    turn<I + 1>(Types<R...>{}, p, o, thread, shared, left, tile);
  }
  // What out needs of every input at a place of row `row`.
  template <int I = 0, unsigned kOne, class P>
  TCU_DEVICE static void read(Pack<V, Types<>, kOne> &, const P &, const Offsets<N, Index> &, const Thread &, const Shared &, int, bool,
                              unsigned, SharedElements) {}
  template <int I = 0, unsigned kOne, class P, class T, class... R>
  TCU_DEVICE static void read(Pack<V, Types<T, R...>, kOne> &pack, const P &p, const Offsets<N, Index> &o, const Thread &thread,
                              const Shared &shared, int row, bool there, unsigned place, SharedElements tile) {
    if constexpr (kTurned >> I & 1) {
      const int byte = int(place & kRoom) * int(sizeof(T));
      pack.first = Raw<T, V>::of(neighbours_at<T, V>(tile, byte));
      tile = tile.beyond(tile_part_bytes(ways_of(p).room, int(sizeof(T))));
    } else {
      const Index offset = there ? thread.along.in[I] + shared.rows[1 + I][row].offset : Index(0);
      const T *const from = static_cast<const T *>(p.in[I]) + (o.in[I] + offset);
      if constexpr ((kOne & 1) != 0 || V == 1) pack.first = Raw<T, 1>::load_one(from);
      else pack.first = Raw<T, V>::load(from);
    }
    read<I + 1>(pack.rest, p, o, thread, shared, row, there, place, tile);
  }

  // Where tile number `tile` begins, and how much of it there is.
  template <class P>
  TCU_DEVICE static unsigned locate(const P &p, const TileBox &box, const Shared &shared, Index tile, Offsets<N, Index> &o) {
    unsigned left = kBeyond | kRoom;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const auto &mode = p.mode[box.cut[c]];
      const Index first = shared.cuts.first(box, c, tile), beyond = Index(mode.extent) - first;
      advance(o, mode, first);
      left += along_cut(c, unsigned(beyond < kTileCut ? beyond : Index(kTileCut)) - 1);
    }
#pragma unroll 1
    for (int m = 1; m < p.n_kept; ++m)
      if (!box.is_whole(m) && m != box.cut[0] && m != box.cut[1]) tile = advance_part(o, p.mode[m], tile);
    return left;
  }
  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(char, elements);
    TCU_SHARED(Shared, shared, 1);
    const SharedElements turned(elements);
    const TileBox box = TileBox::of(p);
    const Thread thread = begin(p, box, ways_of(p), shared[0]);
    const Index n = shared[0].cuts.all(p, box);
    await_turn();
    TileClaims<Index> claims(p);
#pragma unroll 1
    for (Index tile = blockIdx.x; tile < n; tile = claims.next()) {
      claims.ask();
      Offsets<N, Index> o;
      const unsigned left = locate(p, box, shared[0], tile, o);
      turn<0>(Inputs{}, p, o, thread, shared[0], left, turned);
      claims.tell(n);
      __syncthreads();
      constexpr int kItems = permute_items(V, kBytes);
      const Way w = thread.way[0];
#pragma unroll 1
      for (int first = w.first, done = 0; done < w.rows; done += kItems * w.step, first += kItems * w.step) {
        Pack<V, Inputs, kOnce> x[kItems];
        Index to[kItems];
        bool there[kItems];
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const int row = first + k * w.step, known = row < w.rows ? row : w.rows - 1;
          const Row r = shared[0].rows[0][known];
          there[k] = (row < w.rows) & has(left, r.place + w.place);
          to[k] = o.out + thread.along.out + r.offset;
          read(x[k], p, o, thread, shared[0], known, there[k], r.place + w.place, turned);
        }
#pragma unroll
        for (int k = 0; k < kItems; ++k)
          if (there[k]) put_pack<Map, Acc, Out>(p, x[k], to[k]);
      }
      __syncthreads();  // before the next tile's elements
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/permute_box.h"
#include "kernels/broadcast_short.cuh"
#include "kernels/broadcast_transpose.cuh"

namespace tcu::cuda::rows {

struct BroadcastPermute : PermuteBox {
  // Elements of out: what lies so close is read while the first cache has it. (Of 8 bytes a sector has few. Of fewer, 22 problems where it lies 128 to
  // 900 apart took 0.28 to 1.02 of the time by this row, H100.)
  static constexpr int kBeside = 128, kBesideWide = 900;
  static constexpr int64_t kMuch = 12000000;  // bytes of a problem
  // Speed from which on it is faster than broadcast.transpose is in single elements: 31 problems on an H100 took 0.75 of its time (geometric mean), 25 of
  // them less than it, 1.22 times at most.
  static constexpr double kFaster = 1.5;

  // Whether an input lies across out and across the guide, too.
  static bool crosses(const Problem &p) {
    const int g = guide(p);
    for (int k = 1; k <= p.n_inputs; ++k)
      if (jumps(p, k) && !is_turned(p, g, k)) return true;
    return false;
  }

  static bool accepts(const Problem &p, const Device &) {
    return p.modes.size() >= 2 && p.modes.size() <= kTileModes && p.n_inputs <= 4 && p.modes[0].stride[0] == 1 && p.kept() >= kThreads &&
           guide(p) > 0;
  }
  // Whether much is read across out and across itself, so that what the planner's other rows read of some input's sectors is little.
  static bool scatters(const Problem &p) {
    if (!crosses(p) || p.bytes() < kMuch) return false;
    bool some = false;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (jumps(p, k)) some |= bytes_of(p.dtype(k)) < 8 && 3 * used_beside(p, k, sector_of(p, k)) <= sector_of(p, k);
    return some;
  }
  // Whether the tile has use for a third of the sectors that it reads of an input that lies across the guide. Of 102 random problems (H100) those
  // of kMuch and more that scatter took 0.69 of the time, if they are this row's where it has, and broadcast.copied's where not.
  static bool uses_sectors(const Problem &p) {
    const int g = guide(p);
    const TileBox box = choose(p).box;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (jumps(p, k) && !is_turned(p, g, k) && 3 * used(p, k, sector_of(p, k), [&](int m) { return box.count(m, p.modes[m].extent); }) < sector_of(p, k))
        return false;
    return true;
  }
  // Where out's neighbours would each read a sector of the guide of which the others' elements are far away, sooner than these would come from
  // the second level cache, or the memory, again and again; and broadcast.transpose has no tiles that are nearly full. Of 360 problems
  // of 40 to 100 MB on an H100 it is chosen for 198, in 0.60 of the time of the best other row (geometric mean; more than 1.05 in 34, 2.2 at most).
  // Of the others it was the best by more than a fifth in eleven, 1.9 times at most.
  static bool suits(const Problem &p, const Device &d) {
    const int g = guide(p), bytes = bytes_of(p.dtype(g));
    int64_t size = bytes;
    for (const Mode &m : p.modes) size *= m.stride[g] != 0 ? m.extent : 1;
    if (crosses(p)) return scatters(p) && uses_sectors(p);
    if (p.bytes() < kMuch || size < (BroadcastShort::accepts(p, d) ? 4000000 : 2000000) || BroadcastTranspose::repeats(p)) return false;
    const int beside = used_beside(p, g, sector_of(p, g));
    const double filled = BroadcastTranspose::accepts(p, d) ? BroadcastTranspose::filled(p) : 0;
    const bool turns = filled >= 0.65 && BroadcastTranspose::suits(p, d), full = turns && filled >= 0.85;
    if (beside * 3 > sector_of(p, g)) return suits_in_a_line(p, bytes, filled, full);
    const Chosen chosen = choose(p);
    const bool squares = turns && (full || bytes >= 4 || chosen.speed <= kFaster);
    const bool faster = BroadcastTranspose::is_singly(p) && chosen.speed > kFaster;
    if (squares && !faster && (p.n_inputs <= 2 || BroadcastTranspose::vector(p) > 2)) return false;
    return 0.8 * chosen.speed > (size > int64_t(d.l2_bytes) / 2 ? 0.2 : 0.45) * beside;
  }
  // Of what out's neighbours read in a line that the first level cache holds: others take bytes and halves one by one all the same where rows are no whole
  // vectors. Boxes that promise so much, in such rows of no squares, and of squares that are not full (H200, 23 problems of 128 to 200 MB: 0.36 to 0.98 of
  // the time, 0.73 in the mean; of less promise up to 4.8, of whole vectors 0.89 to 1.54).
  static bool suits_in_a_line(const Problem &p, int bytes, double filled, bool full) {
    const int v = BroadcastGeneral::vector(p);
    const bool singly = filled == 0 && v == 1, partly = filled >= 0.55 && !full && v < vector_of(p, true);
    constexpr double kLeast[2][5] = {{0, 3.5, 1.75}, {0, 3.8, 2.1, 0, 1.3}};  // by bytes of an element
    const double least = bytes <= 4 && (singly || partly) ? kLeast[singly][bytes] : 0;
    return least > 0 && choose(p).speed > least;
  }
  static int sector_of(const Problem &p, int k) { return kSector / bytes_of(p.dtype(k)); }  // elements
  // Of the elements of a sector, those that are needed at about the same time, if of mode m there are count(m).
  template <class Count>
  static int used(const Problem &p, int k, int64_t sector, Count count) {
    int64_t used = 1, filled = 1;
    const Order o = order(p, k);
    for (int i = 0; i < o.n && filled < sector; ++i) {
      const int m = o.mode[i];
      used *= std::min<int64_t>(count(m), ceil_div(sector, far(p, m, k)));
      filled = std::max(filled, far(p, m, k) * p.modes[m].extent);
    }
    return int(used);
  }
  static int used_beside(const Problem &p, int k, int64_t sector) {
    const int64_t beside = bytes_of(p.dtype(k)) < 8 ? kBeside : kBesideWide;
    return used(p, k, sector, [&](int m) { return p.modes[m].stride[0] < beside ? p.modes[m].extent : 1; });
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    const int g = guide(p);
    const Chosen chosen = choose(p);
    c.block = kThreads, c.vector = chosen.vector[0], c.variant = 2 * chosen.vector[1] + chosen.beside;
    const PackedWays ways = PackedWays::of(chosen.ways);
    chosen.box.pack(c);
    c.split = ways.orders, c.chunk = ways.sizes, c.lanes = ways.room;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (is_turned(p, g, k)) c.shared_bytes += tile_part_bytes(chosen.ways.room, bytes_of(p.dtype(k)));
    c.grid = persistent_grid("broadcast.permute", p, d, tiles(p, chosen.box));
    claim_tiles(c);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    unsigned turned = 0;
    for (int k = 1; k <= p.n_inputs; ++k) turned |= unsigned(is_turned(p, guide(p), k)) << (k - 1);
    return make_instance(p, "broadcast_permute",
                         {std::to_string(c.vector), std::to_string(c.variant / 2), c.variant % 2 ? "true" : "false", bits_text(BroadcastGeneral::once(p, c.vector)), bits_text(turned)});
  }
};

}  // namespace tcu::cuda::rows
#endif
