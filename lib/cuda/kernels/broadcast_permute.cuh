// broadcast.permute: an input whose neighbours are not out's, whatever modes lie between them ('K K K ...', permuted).
// A tile is a box of modes (device/tile_box.cuh) that the host chooses: a run of out's and a run of the guide's, the first such input.
// Inputs that lie as the guide does, kTurned, are read along its rows and put into shared memory as out goes through the tile; then out is
// gone through along its own rows, and what is not turned is read as it lies. Where each row of the tile begins, in every operand and in
// shared memory, is found once a block. Elements are taken V at a time where all rows are whole vectors, else one by one. Which inputs are
// one element along out's fastest mode then is in kOnce.
// In place: an element is written by the thread that read it, after it did (an operand with out's layout is never turned).
#pragma once
#include "device/map.cuh"
#include "device/tile_box.cuh"

namespace tcu::cuda {
// That a thread has in flight.
TCU_FN constexpr int permute_items(int vector, int bytes) { return vector > 1 ? 4 : bytes == 1 ? 16 : 8; }
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Acc, class Out, class Index, int V, unsigned kOnce, unsigned kTurned>
struct broadcast_permute {
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, kItems = permute_items(V, largest_of<Inputs>::bytes), kResident = map_blocks<Map, Acc, V>(4);

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
    int count[kTileModes], place[kTileModes];  // of a mode: elements, and from one to the next in shared memory
    Index tiles[2];                            // along the modes that are cut
    Divisor by_tiles[2];                       // of 32 bits
    Row rows[N + 1][kTileRows];                // out's, and every input's by the way that it is gone through
  };
  struct Way {  // a thread's
    int first, step, rows;  // the row that it begins with, and how many further the next one is
    unsigned place;         // of its elements in a row
  };
  struct Thread {
    Way way[2];
    Offsets<N, Index> along;  // of its elements in a row
  };

  template <class P>
  TCU_DEVICE static PackedWays ways_of(const P &p) { return {p.split, p.chunk, p.lanes}; }
  // Where element i of those that modes first..last-1 of a way number lies.
  template <class P>
  TCU_DEVICE static void find(const P &p, const TileBox &box, const PackedWays &ways, const Shared &shared, int way, int first, int last,
                              int i, Offsets<N, Index> &o, unsigned &place) {
    place = 0;
#pragma unroll 1
    for (int k = first; k < last; ++k) {
      const int m = ways.mode(way, k), n = shared.count[m], q = i / n, at = i - q * n;
      i = q;
      advance(o, p.mode[m], Index(at));
      place += unsigned(at * shared.place[m]);
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
#pragma unroll 1
      for (int k = 0; k < ways.n(); ++k) {
        const int m = ways.mode(0, k);
        if (k == ways.in_row(0)) step = row_pitch(step, least_of<Inputs>);
        shared.count[m] = box.count(m, p.mode[m].extent), shared.place[m] = step, step *= shared.count[m];
      }
    }
    if (t == 32 || t == 64) {  // meanwhile
      const int c = t / 32 - 1;
      shared.tiles[c] = box.tiles(c, Index(p.mode[box.cut[c]].extent));
      if constexpr (sizeof(Index) == 4) shared.by_tiles[c] = divisor_of(uint32_t(shared.tiles[c]));
    }
    __syncthreads();
    Thread thread;
#pragma unroll
    for (int way = 0; way < 2; ++way) {
      const int threads = ways.length(way) / V, row = t / threads;
      Way &w = thread.way[way];
      w.step = kThreads / threads, w.rows = ways.rows(way);
      w.first = row < w.step ? row : kTileRows;  // or none
      Offsets<N, Index> along, across;
      unsigned place;
      find(p, box, ways, shared, way, 0, ways.in_row(way), (t - row * threads) * V, along, w.place);
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

  // What the turned inputs have of a tile, to shared memory, one input after another.
  template <int I, class P>
  TCU_DEVICE static void turn(Types<>, const P &, const Offsets<N, Index> &, const Thread &, const Shared &, unsigned, SharedElements) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void turn(Types<T, R...>, const P &p, const Offsets<N, Index> &o, const Thread &thread, const Shared &shared, unsigned left,
                              SharedElements tile) {
    if constexpr (kTurned >> I & 1) {
      const Way w = thread.way[1];
      const T *const start = opaque(static_cast<const T *>(p.in[I]) + o.in[I]);
      const int step = shared.place[ways_of(p).mode(1, 0)];
#pragma unroll 1
      for (int first = w.first, done = 0; done < w.rows; done += kItems * w.step, first += kItems * w.step) {
        Raw<T, V> x[kItems];
        unsigned place[kItems];
        bool there[kItems];
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          const int row = first + k * w.step;
          const Row r = shared.rows[1 + I][row < w.rows ? row : w.rows - 1];
          place[k] = r.place + w.place;
          there[k] = (row < w.rows) & has(left, place[k]);
          // The tile's first element in place of one that is not there: loads that may not happen wait for one another.
          const T *const from = start + (there[k] ? thread.along.in[I] + r.offset : Index(0));
          if constexpr (V == 1) x[k] = Raw<T, V>::load_one(from);
          else x[k] = Raw<T, V>::load(from);
        }
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          if (!there[k]) continue;
          const Vec<T, V> e = x[k].get();
#pragma unroll
          for (int v = 0; v < V; ++v) tile.put((int(place[k] & kRoom) + v * step) * int(sizeof(T)), e.at[v]);
        }
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
      using Unit = select_t<(sizeof(T) < 4 && V * sizeof(T) % 4 == 0), unsigned, T>;  // that is read at a time
      constexpr int kUnits = V * int(sizeof(T)) / int(sizeof(Unit));
      Vec<Unit, kUnits> units;
#pragma unroll
      for (int u = 0; u < kUnits; ++u) units.at[u] = tile.get<Unit>(int(place & kRoom) * int(sizeof(T)) + u * int(sizeof(Unit)));
      pack.first = Raw<T, V>::of(__builtin_bit_cast(Vec<T, V>, units));
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
      const Index tiles = shared.tiles[c];
      Index q;
      if constexpr (sizeof(Index) == 4) q = divide(tile, shared.by_tiles[c]);
      else q = tile / tiles;
      const Index first = (tile - q * tiles) * box.some[c], beyond = Index(mode.extent) - first;
      advance(o, mode, first);
      left += along_cut(c, unsigned(beyond < kTileCut ? beyond : Index(kTileCut)) - 1);
      tile = q;
    }
#pragma unroll 1
    for (int m = 1; m < p.n_kept; ++m)
      if (!box.is_whole(m) && m != box.cut[0] && m != box.cut[1]) tile = advance_part(o, p.mode[m], tile);
    return left;
  }
  template <class P>
  TCU_DEVICE static Index tiles(const P &p, const TileBox &box, const Shared &shared) {
    Index n = 1;
#pragma unroll 1
    for (int m = 0; m < p.n_kept; ++m)
      n *= box.is_whole(m) ? 1 : m == box.cut[0] ? shared.tiles[0] : m == box.cut[1] ? shared.tiles[1] : Index(p.mode[m].extent);
    return n;
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(char, elements);
    TCU_SHARED(Shared, shared, 1);
    const SharedElements turned(elements);
    const TileBox box = TileBox::of(p.detail);
    const Thread thread = begin(p, box, ways_of(p), shared[0]);
    const Index n = tiles(p, box, shared[0]);
#pragma unroll 1
    for (Index tile = blockIdx.x; tile < n; tile += gridDim.x) {
      Offsets<N, Index> o;
      const unsigned left = locate(p, box, shared[0], tile, o);
      turn<0>(Inputs{}, p, o, thread, shared[0], left, turned);
      __syncthreads();
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
#include "kernels/broadcast_short.cuh"
#include "kernels/broadcast_transpose.cuh"

namespace tcu::cuda::rows {

struct BroadcastPermute {
  static constexpr int kBytes = 24 << 10;     // of what is turned of a tile
  // Elements of out: what lies so close is read while the first cache has it. (Of 8 bytes a sector has few. Of fewer, 22 problems where it lies 128 to
  // 900 apart took 0.28 to 1.02 of the time by this row, H100.)
  static constexpr int kBeside = 128, kBesideWide = 900;
  static constexpr int kSector = 32;          // bytes that are read at a time
  static constexpr int64_t kMuch = 12000000;  // bytes of a problem

  static int64_t far(const Problem &p, int mode, int k) { return distance(p.modes[mode].stride[k]); }
  // The modes along which operand k is not one element, its closest neighbours' first.
  struct Order {
    int mode[kTileModes] = {}, n = 0;
  };
  static Order order(const Problem &p, int k) {
    Order o;
    for (int m = 0; m < p.modes.size(); ++m) {
      if (far(p, m, k) == kFar) continue;
      int at = o.n++;
      for (; at > 0 && far(p, m, k) < far(p, o.mode[at - 1], k); --at) o.mode[at] = o.mode[at - 1];
      o.mode[at] = m;
    }
    return o;
  }
  // The first input whose neighbours are not along out's fastest mode; or only few of them, and the next ones not along the next mode. Inputs
  // are numbered from 1 on, as operands; 0 if there is none.
  static int guide(const Problem &p) {
    const auto moves = [&](int k) { return p.modes[0].stride[k] != 0; };
    for (int k = 1; k <= p.n_inputs; ++k)
      if (moves(k) && order(p, k).mode[0] != 0) return k;
    for (int k = 1; k <= p.n_inputs; ++k) {
      const bool few = p.modes[0].extent * bytes_of(p.dtype(k)) < kSector;
      if (const Order o = order(p, k); moves(k) && few && o.n > 1 && o.mode[1] > 1) return k;
    }
    return 0;
  }
  // Whether input k is read along the guide's rows.
  static bool is_turned(const Problem &p, int g, int k) { return k == g || (jumps(p, k) && far(p, order(p, g).mode[0], k) == 1); }
  static bool jumps(const Problem &p, int k) { return p.modes[0].stride[k] != 0 && far(p, 0, k) > 1; }

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
  // Whether all rows are whole vectors of v, out's and those of inputs along the mode that they are read along.
  static bool whole(const Problem &p, int v) {
    const int g = guide(p), t = order(p, g).mode[0];
    if (!rows_aligned(p, 0, 0, v)) return false;
    for (int k = 1; k <= p.n_inputs; ++k) {
      if (p.modes[0].stride[k] == 0) continue;
      const int m = is_turned(p, g, k) ? t : 0;
      if (p.modes[m].stride[k] != 1 || !rows_aligned(p, m, k, v)) return false;
    }
    return true;
  }
  static int vector(const Problem &p) {
    for (int v : {vector_of(p, true), 2})
      if (v > 1 && v <= vector_of(p, true) && whole(p, v)) return v;
    return 1;
  }

  struct Chosen {
    TileBox box;
    TileWays ways;
    double speed = 0;  // elements that a multiprocessor makes in a cycle, roughly
  };
  // Of boxes with runs of so many elements, the one that seems to take the least time.
  static Chosen choose(const Problem &p, int v) {
    const int g = guide(p), n = p.modes.size();
    const Order orders[] = {order(p, 0), order(p, g)};
    int turned = 0, least = 16;  // bytes of an element in shared memory, of all inputs that are turned, and of the narrowest input
    for (int k = 1; k <= p.n_inputs; ++k) {
      least = std::min(least, bytes_of(p.dtype(k)));
      if (is_turned(p, g, k)) turned += bytes_of(p.dtype(k));
    }
    Chosen best;
    for (int64_t along : {16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 4096})
      for (int64_t across : {16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 4096}) {
        Chosen c;
        int cuts = 0;
        c.box = {}, c.box.guide = g - 1;
        take(p, c.box, cuts, orders[0], along, v);
        take(p, c.box, cuts, orders[1], across, v);
        for (; cuts < 2; ++cuts)
          for (c.box.some[cuts] = 1; c.box.cut[cuts] + 1 < n && !c.box.is_whole(c.box.cut[cuts]);) ++c.box.cut[cuts];
        if (fits(p, c, v, turned, least) && (c.speed = speed(p, c, v)) > best.speed) best = c;
      }
    return best;
  }
  // Adds a run of `target` elements along these modes to the box.
  static void take(const Problem &p, TileBox &box, int &cuts, const Order &order, int64_t target, int v) {
    int64_t length = 1;
    for (int i = 0; i < order.n; ++i) {
      const int m = order.mode[i];
      const int64_t e = p.modes[m].extent, want = std::max<int64_t>(target / length, 1);
      if (!box.is_whole(m) && e > want) {
        const int64_t even = ceil_div(e, ceil_div(e, want)), some = std::min<int64_t>(i == 0 ? ceil_div(even, v) * v : even, kTileCut);
        if (some < e) {
          for (int c = 0; c < cuts; ++c)
            if (box.cut[c] == m) return void(box.some[c] = std::max(box.some[c], int(some)));
          if (some > 1 && cuts < 2) box.cut[cuts] = m, box.some[cuts] = int(some), ++cuts;
          return;
        }
      }
      box.whole |= 1 << m, length *= e;
    }
  }
  static bool fits(const Problem &p, Chosen &c, int v, int turned, int least) {
    int64_t all = turned;
    for (int m = 0; m < p.modes.size() && all <= kBytes; ++m) all *= c.box.count(m, p.modes[m].extent);
    if (all > kBytes) return false;
    c.ways.find(c.box, p.modes.size(), v, least, [&](int m) { return p.modes[m].extent; },
                [&](int m) { return far(p, m, c.box.guide + 1); });
    bool fits = c.ways.room <= kTileRoom;
    for (int way = 0; way < 2; ++way)
      fits = fits && c.ways.in_row[way] > 0 && c.ways.rows[way] <= kTileRows && c.ways.length[way] % v == 0;
    return fits;
  }
  // From counted instructions and bytes. Of the problems of 16 MB and more in an early run on an H100 the middle made 0.8 of it, eight of ten
  // 0.46 to 1.39; functions make less.
  static double speed(const Problem &p, const Chosen &c, int v) {
    const TileWays &w = c.ways;
    int widest = 1;
    for (int k = 1; k <= p.n_inputs; ++k) widest = std::max(widest, bytes_of(p.dtype(k)));
    const int items = permute_items(v, widest);
    const int64_t all = int64_t(w.length[0]) * w.rows[0];
    double there = double(all);  // elements of a tile, on the average
    for (int i = 0; i < 2; ++i) {
      const int64_t e = p.modes[c.box.cut[i]].extent, tiles = c.box.tiles(i, e);
      if (!c.box.is_whole(c.box.cut[i])) there *= double(e) / double(tiles * c.box.some[i]);
    }
    double instructions = 150 * kThreads, bytes = 0;  // a thread's, for each tile
    for (int way = 0; way < 2; ++way) {
      const int k = way == 0 ? 0 : c.box.guide + 1, turn = kThreads / (w.length[way] / v) * items;
      const int of_item = way == 0 ? 24 + 8 * p.n_inputs + 4 * v : 18 + 2 * v;
      instructions += double(ceil_div(w.rows[way], turn) * items * kThreads) * of_item;
      int64_t run = 1;  // elements that are neighbours in memory
      for (int i = 0; i < w.n && far(p, w.mode[way][i], k) == run; ++i) {
        run *= w.count[w.mode[way][i]];
        if (!c.box.is_whole(w.mode[way][i])) break;
      }
      bytes += double(all) * (bytes_of(p.dtype(k)) + double(kSector) / double(run));
    }
    const double moving = bytes / 14, counting = instructions / 100;
    return there / (std::max(moving, counting) + 0.3 * std::min(moving, counting));
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
    const TileBox box = choose(p, vector(p)).box;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (jumps(p, k) && !is_turned(p, g, k) && 3 * used(p, k, sector_of(p, k), [&](int m) { return box.count(m, p.modes[m].extent); }) < sector_of(p, k))
        return false;
    return true;
  }
  // Where out's neighbours would each read a sector of the guide of which the others' elements are far away, sooner than these would come from
  // the second level cache, or the memory, again and again; and broadcast.transpose has no tiles that are nearly full. By 202 problems on an
  // H100: in the 44 that it is chosen for it took 0.53 of the time of what was chosen before, 1.17 at most. Of the others it was the
  // best by more than a fifth in seven, 1.9 times at most, three of them of less than 16 MB.
  static bool suits(const Problem &p, const Device &d) {
    const int g = guide(p), bytes = bytes_of(p.dtype(g));
    int64_t size = bytes;
    for (const Mode &m : p.modes) size *= m.stride[g] != 0 ? m.extent : 1;
    if (crosses(p)) return scatters(p) && uses_sectors(p);
    if (p.bytes() < kMuch || size < (BroadcastShort::accepts(p, d) ? 4000000 : 2000000) || BroadcastTranspose::repeats(p)) return false;
    const int v = vector(p), beside = used_beside(p, g, sector_of(p, g));
    if (beside * 3 > sector_of(p, g)) return false;
    const bool squares = BroadcastTranspose::accepts(p, d) && BroadcastTranspose::suits(p, d) && BroadcastTranspose::filled(p) >= 0.65;
    if (squares && (p.n_inputs <= 2 || v > 2)) return false;
    return 0.8 * choose(p, v).speed > (size > int64_t(d.l2_bytes) / 2 ? 0.2 : 0.45) * beside;
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
    c.block = kThreads, c.vector = vector(p);
    const Chosen chosen = choose(p, c.vector);
    const PackedWays ways = PackedWays::of(chosen.ways);
    c.detail = chosen.box.packed(), c.split = ways.orders, c.chunk = ways.sizes, c.lanes = ways.room;
    for (int k = 1; k <= p.n_inputs; ++k)
      if (is_turned(p, g, k)) c.shared_bytes += tile_part_bytes(chosen.ways.room, bytes_of(p.dtype(k)));
    int64_t tiles = 1;
    for (int m = 0; m < p.modes.size(); ++m) tiles *= ceil_div(p.modes[m].extent, chosen.box.count(m, p.modes[m].extent));
    c.grid = persistent_grid("broadcast.permute", p, d, tiles);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    unsigned turned = 0;
    for (int k = 1; k <= p.n_inputs; ++k) turned |= unsigned(is_turned(p, guide(p), k)) << (k - 1);
    return make_instance(p, "broadcast_permute",
                         {std::to_string(c.vector), bits_text(BroadcastGeneral::once(p, c.vector)), bits_text(turned)});
  }
};

}  // namespace tcu::cuda::rows
#endif
