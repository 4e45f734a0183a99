// scan.columns: lines side by side ('K S', 'K S K'), read once.
// A block has one tile: `width` columns side by side, and as many steps as fill some 26 KB of shared memory. It adds the tile up,
// column by column; learns what comes before it; scans it where it lies and writes it. The machine itself copies a tile to shared memory
// and back (device/strip.cuh), as in scan.lookback. Threads lie across the columns, V neighbours each; what is left of a warp, and of the
// block, lies along the steps. Tiles below each other are a strip. They are numbered across first, so that neighbouring blocks read
// neighbouring memory, and as many blocks begin between a tile and the next of its strip as there are strips.
// What comes before a tile is handed down its strip in one of two ways, by p.detail % kPitchUnit.
//   0: from tile to tile. A tile takes what the one before it leads to, and publishes what it leads to itself. Such a hop takes
//     a microsecond on an H200, whose memory can move 80 tiles of 26 KB in one.
//   more: few strips; the first blocks look back for all, so many columns each, as scan.lookback's first block does.
// A row of a tile is p.detail / kPitchUnit elements longer than its columns are many: where rows begin anywhere in 16 bytes it begins there
// as it does in memory.
// Either way the order in which things are added is fixed: the result has the same bits on every run. p.at_once(): results go from
// registers to memory, not by way of shared memory, so that a tile makes room for the next one sooner.
// Blocks are taken to begin in the order of their numbers (block_in_order): they wait for blocks of lower numbers only. Those that look
// back must be resident at once, and one more.
// Workspace, zero at the launch and at the end: a counter, padded to 16 bytes; for each column a ring of words (device/tile_ring.cuh)
// for what comes before a tile, or what it leads to, and, where blocks look back, one for sums.
// In place: a tile is read before it is written.
#pragma once
#include "device/scan.cuh"
#include "device/strip.cuh"
#include "device/tile_ring.cuh"

namespace tcu::cuda {
inline constexpr int kColumnBlock = 128;  // threads, or twice as many (Shape::block)
inline constexpr int kPitchUnit = 256;    // in p.detail
#if defined(TCU_EMULATOR)
inline constexpr int kColumnBytes = 4096, kManyStrips = 2, kManyBytes = 4096;  // so that a small test has many tiles, and both ways
#else
inline constexpr int kColumnBytes = 26 << 10;  // of a tile: eight of them find room
inline constexpr int kManyStrips = 32;         // so many pass on what comes before the next tile
inline constexpr int kManyBytes = 48 << 20;    // of operands that keep tiles of many columns busy
#endif
inline constexpr int kFullStrips = 8 * kManyStrips;  // so many hardly wait for each other
// Words in a column's ring, a power of two. Where blocks look back no tile is to wait for a place. Where tiles pass on, several if they wait,
// lest all of a strip's ask for one word, but few, which the second level cache keeps.
TCU_FN constexpr int ring_slots(int64_t strips, int tiles, bool looks_back) {
  if (!looks_back) return strips < kFullStrips ? 4 : 1;
  int n = 2;
  while (n < tiles && n * strips < kRingSlots) n *= 2;
  return n;
}
// Rows of threads in a warp, where so many lie across; and groups of warps below each other.
TCU_FN constexpr int column_rows(int across) { return across < 32 ? 32 / across : 1; }
TCU_FN constexpr int column_groups(int across, int warps) {
  int abreast = 1;
  while (abreast * 32 < across && abreast < warps) abreast *= 2;
  return warps / abreast;
}
}

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class Map, class Op, class Acc, class Out, class Index, int V, int kBlock>
struct scan_columns {
  using F = ScanFold<Op, Acc, Index>;
  using State = typename F::State;
  using W = Published<State>;
  using Ring = TileRing<F>;
  using Inputs = typename Map::Inputs;
  static constexpr int kResident = 4;  // of kThreads; of kColumnBlock twice as many
  static constexpr int kWarps = kBlock / 32;
  using AwaitsTurn = scan_columns;
  // Of columns one by one a thread reads so many steps before it writes the first: of bytes, which are many steps, 0.9 of the time, of halves 0.9 to 1
  // (H200). Of vectors more would be too many registers (float16 1.05).
  static constexpr int kAhead = V > 1 || sizeof(State) > 4 ? 1 : largest_of<Inputs>::bytes == 1 ? 16 : 8;
  static constexpr int kSteps = sizeof(State) > 4 ? 2 : 4;  // of a thread at once: what is spilled goes to the L2 cache, a tenth of the time

  // What comes before every tile, in `each` columns (a power of two) from `first_column` on. Threads lie across the columns; what is
  // left of a warp, and of the block, along the tiles, kItems neighbours each. A warp's tiles are a batch: it keeps that until it knows all
  // their sums and what comes before them. Batches are chained through shared memory.
  template <int kItems, class P>
  TCU_APART static void look_back(const P &p, Ring ring, int each, int64_t first_column, int tiles, Slot *shared) {
    State *const totals = reinterpret_cast<State *>(shared);                // of batches, by parity of the round
    int *const whole_of = reinterpret_cast<int *>(totals + 2 * kBlock);  // whether all sums of a batch are known
    int *const more = whole_of + 2 * kBlock;                             // whether a tile is left, by the round modulo 3
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const int lanes = each < 32 ? each : 32, abreast = quotient(each, lanes), rows = quotient(32, lanes);
    const int groups = quotient(kWarps, abreast), group = quotient(warp, abreast), beside = remainder(warp, abreast);
    const int mine = remainder(lane, lanes), y = quotient(lane, lanes), batch = rows * kItems;
    const int64_t column = first_column + beside * 32 + mine;
    const unsigned own = (~0u / lowest_bits(lanes)) << mine;  // lanes of this column
    State carry = F::start(p);                            // what the batches before group `front`'s lead to
    int front = 0, round = 0, told = 0;                       // told: of this thread's tiles
    int first = column < ring.columns ? group * batch : tiles;  // of this warp's batch
    W w[kItems] = {};
    if (threadIdx.x < 3) more[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (int parity = 0;; parity ^= kBlock) {
      const int t = first + y * kItems;
#pragma unroll
      for (int b = 0; b < kItems; ++b)
        if (t + b < tiles && !w[b].written(Ring::tag(t + b))) w[b] = W::ask(ring.sum(t + b, column));
      int known = 0;
      State s[kItems];
#pragma unroll
      for (int b = 0; b < kItems; ++b) {
        const bool real = t + b < tiles;  // past the end all is known
        if (known == b && (!real || w[b].written(Ring::tag(t + b)))) ++known;
        s[b] = real && known > b ? w[b].value() : F::identity();
        if (b > 0) s[b] = F::combine(s[b - 1], s[b]);
      }
      const unsigned missing = ~__ballot_sync(kAllLanes, known == kItems) & own;
      State upto = s[kItems - 1];
#pragma unroll 1
      for (int h = 1; h < rows; h *= 2) {
        const State below = shuffle_up(upto, h * lanes, 32);
        if (y >= h) upto = F::combine(below, upto);
      }
      const State below = shuffle_up(upto, remainder(lanes, 32), 32);
      if (y == rows - 1) totals[parity + warp * 32 + mine] = upto, whole_of[parity + warp * 32 + mine] = missing == 0;
      if (first < tiles) more[round] = 1;
      __syncthreads();
      if (!more[round]) return;
      round = round == 2 ? 0 : round + 1;
      if (threadIdx.x == 0) more[round == 2 ? 0 : round + 1] = 0;  // which nobody asks for any longer, nor sets before the next barrier

      State total[kWarps], start = carry;
      bool is_whole[kWarps];
#pragma unroll
      for (int i = 0; i < kWarps; ++i) {
        const int from = parity + (remainder(front + i, groups) * abreast + beside) * 32 + mine;
        if (i < groups) total[i] = totals[from], is_whole[i] = whole_of[from] != 0;
      }
      const int position = remainder(group - front + groups, groups);
      int whole = 0;
#pragma unroll
      for (int i = 0; i < kWarps; ++i)
        if (i < groups && whole == i) {
          if (i == position) start = carry;
          if (is_whole[i]) carry = F::combine(carry, total[i]), ++whole;
        }
      // Of what this thread knows it tells what no unknown tile comes before, in the batches or in the lanes.
      if (position <= whole && (missing & lowest_bits(lane)) == 0) {
        const State earlier = y > 0 ? F::combine(start, below) : start;
#pragma unroll
        for (int b = 0; b < kItems; ++b)
          if (told <= b && b < known && t + b < tiles) {
            W::publish(ring.before(t + b, column), b == 0 ? earlier : F::combine(earlier, s[b > 0 ? b - 1 : 0]), Ring::tag(t + b));
            if (t + b >= tiles - ring.slots) W::clear(ring.sum(t + b, column));
          }
        told = known;
      }
      if (position < whole && first < tiles) {
        first += groups * batch, told = 0;
#pragma unroll
        for (int b = 0; b < kItems; ++b) w[b] = W{};
      }
      front = remainder(front + whole, groups);
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_DYNAMIC_SHARED(Slot, shared);
    TCU_SHARED(uint64_t, barrier, 1);
    const Arrival arrival(barrier);
    const int across = p.lanes, width = across * V, height = int(p.chunk), tiles = int(p.split);  // tiles: of a strip
    const int each = p.detail % kPitchUnit, pitch = width + p.detail / kPitchUnit;
    const Index extent = Index(p.mode[0].extent);
    const unsigned in_row = unsigned((extent - 1) / width) + 1, outers = p.n_kept == 1 ? 1 : unsigned(Index(p.kept) / extent);
    const unsigned strips = in_row * outers;
    const bool looks_back = each > 0;
    const Ring ring{static_cast<uint64_t *>(p.zeroed) + 2, int64_t(strips) * width, ring_slots(strips, tiles, looks_back),
                    looks_back && each < 8};
    unsigned block = block_in_order(static_cast<unsigned *>(p.zeroed));
    if (looks_back) {
      const unsigned lookers = unsigned((ring.columns + each - 1) / each);
      if (block < lookers) {
        await_turn();
        if (each < 4) look_back<1>(p, ring, each, int64_t(block) * each, tiles, shared);
        else look_back<4>(p, ring, each, int64_t(block) * each, tiles, shared);
        return;
      }
      block -= lookers;
    }

    const int tile = int(block / strips), strip = int(block - unsigned(tile) * strips), outer = int(unsigned(strip) / in_row);
    Offsets<Inputs::size, Index> o;
    if (p.n_kept > 1) decode(o, p, 1, p.n_kept, Index(outer));
    const bool reverse = (p.flags & kReverse) != 0, exclusive = (p.flags & kExclusive) != 0;
    const Index n = Index(p.folded), first = Index(tile) * height;
    StripPlace<Index> at;
    at.column = Index(strip - outer * int(in_row)) * width, at.along = p.n_kept;
    at.width = extent - at.column < width ? int(extent - at.column) : width;
    at.height = n - first < height ? int(n - first) : height;
    at.step = reverse ? n - first - at.height : first;
    Strip<Inputs, Out, V> data(shared, pitch, height);
    arrival.open();
    if (begins_early<scan_columns>()) data.look_ahead(p, o, at);
    await_turn();
    begin_apart(p, int(block));
    data.fetch(arrival, p, o, at);

    // Thread x, of those across, and its run of steps, in the scan's order: y-th of the warp's in the group's.
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const int rows = column_rows(across), groups = column_groups(across, kWarps), abreast = quotient(kWarps, groups);
    const int group = quotient(warp, abreast);
    const int y = across < 32 ? lane / across : 0, x = remainder(warp, abreast) * 32 + lane - y * across;
    const int run = (height + groups * rows - 1) / (groups * rows), from = (group * rows + y) * run;
    const bool idle = y >= rows || x >= across;
    const int to = idle ? from : from + run < at.height ? from + run : at.height, step = reverse ? -pitch : pitch;
    const auto place = [&](int x, int row) { return x * V + (reverse ? at.height - 1 - row : row) * pitch; };
    arrival.wait();
    const auto read = [&](int place, State (&e)[V]) {
      Pack<V, Inputs> pack;
      data.read(pack, place);
#pragma unroll
      for (int v = 0; v < V; ++v) e[v] = F::lift(p, apply_at<Map>(p, pack, v));
    };
    // Scans a thread's steps in the vector x from acc on.
    const auto scan = [&](int x, State (&acc)[V]) {
      int k = place(x, from);
      if (p.reads_out()) {
        const Index out = o.out + at.column * Index(p.mode[0].out) + at.step * Index(p.mode[at.along].out);
#pragma unroll 1
        for (int row = from; row < to; ++row, k += step) {
          State e[V];
          read(k, e);
#pragma unroll
          for (int v = 0; v < V; ++v) {
            const State next = F::combine(acc[v], e[v]);
            if (x * V + v < at.width)
              store_one<Out>(p, out + Index(reverse ? at.height - 1 - row : row) * Index(p.mode[at.along].out) +
                                    Index(x * V + v) * Index(p.mode[0].out), exclusive ? F::before(p, acc[v], e[v]) : F::value(next));
            acc[v] = next;
          }
        }
        return;
      }
      const auto down = [&](Out *out, Index apart) {
        const auto put = [&](const State (&e)[V]) {
          Vec<typename F::Value, V> r;
#pragma unroll
          for (int v = 0; v < V; ++v) {
            const State next = F::combine(acc[v], e[v]);
            r.at[v] = exclusive ? F::before(p, acc[v], e[v]) : F::value(next), acc[v] = next;
          }
          overwrite(p, out, r);
          out += apart;
        };
        int row = from;
        if constexpr (kAhead > 1) {
          State e[kAhead][V];
#pragma unroll 1
          for (; row + kAhead <= to; row += kAhead, k += kAhead * step) {
#pragma unroll
            for (int i = 0; i < kAhead; ++i) read(k + i * step, e[i]);
#pragma unroll
            for (int i = 0; i < kAhead; ++i) put(e[i]);
          }
        }
#pragma unroll kSteps
        for (; row < to; ++row, k += step) {
          State e[V];
          read(k, e);
          put(e);
        }
      };
      if (!p.at_once()) return down(data.out() + k, Index(step));
      const Index along = Index(p.mode[at.along].out), first = at.step + (reverse ? at.height - 1 - from : from);
      if (x * V < at.width)
        down(static_cast<Out *>(p.out) + (o.out + at.column + first * along + x * V), reverse ? -along : along);
    };

    // Nobody else has steps of a thread's columns, of which there may be several.
    const bool alone = across > kBlock || (tiles == 1 && groups * rows == 1);
    State *const totals = reinterpret_cast<State *>(data.end()), *const earlier = totals + groups * width;  // of groups; of tiles before
    State below[V];  // the runs before a thread's in its group
    if (tiles > 1 || !alone) {
      const auto add_up = [&](int x, State (&upto)[V]) {
#pragma unroll
        for (int v = 0; v < V; ++v) upto[v] = F::identity();
        int k = place(x, from);
#pragma unroll kSteps
        for (int row = from; row < to; ++row, k += step) {
          State e[V];
          read(k, e);
#pragma unroll
          for (int v = 0; v < V; ++v) upto[v] = F::combine(upto[v], e[v]);
        }
      };
      const auto put_total = [&](int x, const State (&upto)[V]) {
#pragma unroll
        for (int v = 0; v < V; ++v) totals[group * width + x * V + v] = upto[v];
      };
      State upto[V];
      if (alone) {
#pragma unroll 1
        for (int i = x; i < across; i += kBlock) add_up(i, upto), put_total(i, upto);
      } else {
        add_up(x, upto);
#pragma unroll 1
        for (int h = 1; h < rows; h *= 2) {
#pragma unroll
          for (int v = 0; v < V; ++v) below[v] = shuffle_up(upto[v], h * across, 32);
#pragma unroll
          for (int v = 0; v < V; ++v)
            if (y >= h) upto[v] = F::combine(below[v], upto[v]);
        }
#pragma unroll
        for (int v = 0; v < V; ++v) below[v] = shuffle_up(upto[v], across < 32 ? across : 0, 32);
        if (y == rows - 1 && !idle) put_total(x, upto);
      }
      __syncthreads();
#pragma unroll 1
      for (int c = int(threadIdx.x); c < width; c += kBlock) {
        State total = totals[c];
#pragma unroll 1
        for (int g = 1; g < groups; ++g) total = F::combine(total, totals[g * width + c]);
        const int64_t column = int64_t(strip) * width + c;
        const State init = F::start(p);
        earlier[c] = tiles == 1 ? init : looks_back ? ring.ask_back(tile, tiles, column, total, ring.place(tile, column)) :
                     ring.pass_on(tile, tiles, column, total, init);
      }
      __syncthreads();
    }
    State acc[V];
    if (alone) {
#pragma unroll 1
      for (int i = x; i < across; i += kBlock) {
#pragma unroll
        for (int v = 0; v < V; ++v) acc[v] = tiles == 1 ? F::start(p) : earlier[i * V + v];
        scan(i, acc);
      }
    } else if (!idle) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        acc[v] = earlier[x * V + v];
#pragma unroll 1
        for (int g = 0; g < group; ++g) acc[v] = F::combine(acc[v], totals[g * width + x * V + v]);
        if (y > 0) acc[v] = F::combine(acc[v], below[v]);
      }
      scan(x, acc);
    }
    if (!p.reads_out() && !p.at_once()) {
      data.drain(p, o.out, at);
      await_drain();
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "kernels/scan_across.cuh"

namespace tcu::cuda::rows {

struct ScanColumns {
  static constexpr int kWholeRow = 192;  // bytes of a row, up to which a tile always has all of it
  struct Shape {
    int64_t width, pitch, height, tiles, strips;
    int vector, across, block, detail, shared_bytes;
    bool by_machine;  // all operands' tiles are copied so
    bool ragged;      // long rows, whole all the same
    bool skewed;      // parts of rows that begin anywhere
    bool at_once;     // results go to memory from registers
  };
  // Whether the operand is contiguous across, and a tile's rows, where they do not follow each other, are whole words of 16 bytes.
  static bool by_machine(const Problem &p, int operand, bool flat) {
    const int bytes = bytes_of(p.dtype(operand));
    if (p.modes[0].stride[operand] != 1) return false;
    return flat || (p.modes[0].extent * bytes % 16 == 0 && in_16(p, operand));
  }
  // Whether rows of mode 0 begin where 16 bytes do.
  static bool in_16(const Problem &p, int operand) { return starts_aligned(p, 0, operand, std::max(16 / bytes_of(p.dtype(operand)), 1)); }

  static Shape shape(const Problem &p, const Device &d) {
    Shape s{};
    int widest = bytes_of(p.out), least = widest;
    for (int i = 0; i < p.n_inputs; ++i) widest = std::max(widest, bytes_of(p.in[i])), least = std::min(least, bytes_of(p.in[i]));
    const Mode &along = *fastest(p, Role::S);
    const int64_t extent = p.modes[0].extent, outer = p.kept() / extent, n = along.extent;
    const int element = tile_bytes(p), state = scan_state_bytes(p);
    const int in_registers = p.gated() || widest == 1 ? 32 : 16;  // bytes of a vector's states
    const int full = std::max(1, std::min(vector_of(p, true), in_registers / std::max(state, 4)));
    const bool several = p.n_inputs > 1;
    const auto plenty = [&](int64_t strips) { return !several && strips >= 2 * kFullStrips; };  // none waits for another
    const int64_t word = std::max(16 / least, 1);  // elements in 16 bytes
    bool flat = true, aligned = true, narrow = false, whole_words = true, contiguous = true, alike = true;
    for (int k = 0; k <= p.n_inputs; ++k) {
      flat &= along.stride[k] == extent, aligned &= in_16(p, k), whole_words &= by_machine(p, k, false);
      contiguous &= p.modes[0].stride[k] == 1, alike &= (along.stride[k] - along.stride[0]) % word == 0;
    }
    // Rows that begin anywhere begin at the same byte of 16 in a tile, and the machine copies their words; 8-byte elements as fast one by one.
    s.skewed = !whole_words && contiguous && alike && widest < 8;
    // All of a row, where it is short, or is no whole lines of memory: the machine copies such a tile at one go, wherever it begins. But what
    // comes before a tile of many columns is long in coming, so there is to be much of it, and of long rows many strips. Else strips of a row,
    // of 256 bytes of each operand, or 128 where there would be few: copies of 128 bytes move 6 % less in the same time; and of one input's very
    // long rows 512 (H200, (65536,4096) float64 0.98 of the time, (131072,1024) float16 0.95; rows of 64 and 128 KB 0.985 to 1.08, of 16 and 32
    // KB 1.08 to 1.54).
    const auto strips_of = [&](int64_t width) { return ceil_div(extent, width) * outer; };
    const int64_t row = extent * widest;
    const bool fits = flat && (extent <= kColumnBlock || !aligned || extent % full != 0 || extent <= kColumnBlock * full);
    const bool big = p.bytes() >= kManyBytes, apart = !aligned || extent * least % 16 != 0;
    s.ragged = fits && row > kWholeRow && row % 128 != 0 &&
               (row <= 512 ? big || (apart && widest < 8) : big && row <= std::min<int64_t>(2048, 2 * kManyStrips * outer));
    if (row <= kWholeRow || s.ragged || (fits && row <= 512 && extent <= kColumnBlock && outer >= kFullStrips)) s.width = extent;
    else if (flat = false, s.skewed) s.width = std::min(256, 512 / widest);
    else if (s.width = std::min(512 / least, 1024 / widest); !plenty(extent / s.width))
      s.width /= 2, narrow = strips_of(s.width) < kManyStrips, s.width /= narrow ? 2 : 1;
    s.skewed &= !flat;
    // A thread a column, though elements are narrow: 0.69 to 0.92 of the time of two columns a thread (H100); of wider ones no gain.
    s.block = s.skewed && widest <= 2 ? 2 * kColumnBlock : kColumnBlock;
    s.by_machine = true;
    for (int k = 0; k <= p.n_inputs; ++k) s.by_machine &= s.skewed || by_machine(p, k, flat);
    s.vector = s.width % full == 0 && (flat ? aligned : !s.skewed) ? full : 1;
    const auto pitch = [&] { return s.skewed ? pitch_from(around(int(s.width), least), least, along.stride[0], 16) : s.width; };
    const int64_t strips = strips_of(s.width), columns = strips * s.width;
    const int looked_for = strips < kManyStrips ? lookers(columns, strips, state, d) : 0;
    const bool looks_back = looked_for > 0;

    // With few strips tiles are larger, lest those that look back, or pass on, fall behind; and where elements are several inputs'. With many, of
    // one input's long rows, results go to memory sooner too (H200: float16 0.95 to 1 of the time, others 0.98 to 1; 26 and 39 KB as long).
    const bool sooner = s.width * widest >= (looks_back ? 64 : plenty(strips) ? 256 : 0);
    s.at_once = (s.skewed || (sooner && s.by_machine && s.vector > 1)) && !p.reads_out;
    const struct {
      bool is;
      double tiles;  // of kColumnBytes
    } sizes[] = {
        {s.block > kColumnBlock, 2},
        {looks_back, columns <= 4 ? 1.0 : 1.5},
        {s.at_once && strips < 4 * kManyStrips, 2.5},
        {s.at_once && several, 2},
        {s.at_once, plenty(strips) ? 1.25 : 1.5},
        {narrow, 1.5},
        {true, strips < kFullStrips ? 2.0 : 1.0},
    };
    const auto room = int64_t(kColumnBytes * first_kind(sizes).tiles);
    s.across = int(s.width / s.vector);
    const auto beside = [&] { return (column_groups(s.across, s.block / 32) + 1) * s.width * state + 256 + 128 * p.n_inputs; };
    const auto runs = [&] { return int64_t(column_rows(s.across)) * column_groups(s.across, s.block / 32); };
    int64_t run = std::max<int64_t>((room - beside()) / (pitch() * element) / runs(), 1);
    if (s.across < 8 && run % 2 == 0) --run;  // odd, so that the threads of a warp meet in no bank of shared memory
    s.height = run * runs();
    const bool whole = s.width * widest % 16 == 0;
    if (!whole && s.height > 16) s.height = s.height / 16 * 16;
    if (s.height >= n) {
      s.height = n, s.tiles = 1;
      while (!flat && s.width < extent && 2 * s.width * n * element + beside() <= room) s.width *= 2, s.across *= 2;
    } else {
      s.tiles = ceil_div(n, s.height);
      if (whole && s.across >= 8) s.height = ceil_div(n, s.tiles);  // all as high
    }
    s.strips = strips_of(s.width);
    if (s.tiles > 1) s.detail = looked_for;
    else if (s.skewed || plenty(s.strips)) s.at_once = false;  // no tile waits for it, and the machine writes words
    s.pitch = pitch();
    const int64_t elements = s.pitch * s.height;
    bool has_out = false;
    for (int i = 0; i < p.n_inputs; ++i) {
      s.shared_bytes += strip_bytes(elements, bytes_of(p.in[i]));
      has_out |= bytes_of(p.in[i]) == bytes_of(p.out);
    }
    if (!has_out) s.shared_bytes += strip_bytes(elements, bytes_of(p.out));
    if (s.tiles > 1 || runs() > 1) s.shared_bytes += int((column_groups(s.across, s.block / 32) + 1) * s.width * state);
    if (looks_back) s.shared_bytes = std::max(s.shared_bytes, 2 * s.block * (state + 4) + 16);
    return s;
  }
  // Columns for each block that looks back, a power of two: so many that such blocks are few, for a tile waits for the slowest of them, and
  // so few that each asks for enough tiles at once. They are resident together and leave most of the device to the others; 0: too many.
  static int lookers(int64_t columns, int64_t strips, int state, [[maybe_unused]] const Device &d) {
#if defined(TCU_EMULATOR)
    const int most = 1;
#else
    const int most = d.processors / 2;
#endif
    int each = columns < 4 * std::max(state, 4) ? 1 : 4;
    while (each > 1 && each < 32 && each * 16 <= columns && 2 * each * state <= 32 * strips) each *= 2;
    while (each <= kColumnBlock && ceil_div(columns, each) > most) each *= 2;
    return most > 0 && each <= kColumnBlock ? each : 0;
  }

  static bool accepts(const Problem &p, const Device &d) {
    if (p.empty() || ScanLines::contiguous(p) || !ScanLines::accepts(p, d)) return false;  // shape() divides by extents
    const Shape s = shape(p, d);
    return s.tiles * s.strips < INT32_MAX / 2 && s.shared_bytes <= d.shared_bytes - 2048;
  }
  // Not short columns, of which a tile would hold few elements, nor rows of less than words that begin anywhere, where threads enough read
  // them one by one: here they do so with few in flight (7644 lines of 754 float16 on an H200: 42.9 us, by scan.lines 19; words are copied).
  static bool suits(const Problem &p, const Device &d) {
    const Shape s = shape(p, d);
    if (s.skewed ? is_brief_part(p) : brief(p, d, s)) return false;
    const bool long_enough = s.width * s.height * tile_bytes(p) >= kColumnBytes / 4;
    return (long_enough || tall(p)) && (s.by_machine || 16 / vector_of(p, true) >= 4 || p.kept() < int64_t(d.processors) * 32);
  }
  // Whether threads go down their columns, as scan.lines' do, before a block has its tile and has handed on what that leads to. Of 135
  // random problems with more than 16 steps scan.lines was faster in 118, slower in 6 (H200).
  static bool brief(const Problem &p, const Device &d, const Shape &s) {
    const int64_t n = fastest(p, Role::S)->extent;
    if (n > 720 || tall(p)) return false;
    if (takes_halves(p)) return n <= (p.modes[0].extent >= 256 ? 450 : 256);
    // Tiles that the machine copies, of lines not so short: of eleven random problems up to 210 MB they were faster in ten, 0.63 to 1.00 (H100
    // and H200); of (128, 4096, 512) over 3, 1 and 2 GB, not, 1.03 and 1.05. Whole rows that begin anywhere: bench/experiments/h100.md.
    const bool many = n >= 24 * bytes_of(p.out) && s.strips >= 2 * kManyStrips && p.bytes() >= kManyBytes;
    if (s.ragged ? many : s.by_machine && n >= 192 && p.bytes() < 256 << 20) return false;
    if (n > 288) return !whole_rows(p) && 2 * ScanLines::configure(p, d).grid >= d.processors;
    // Threads with several inputs' elements have few of them in flight. (H200, 68 problems of 12 to 144 MB, sums of products and recurrences: 0.32 to 1.38 of
    // the time of scan.lines, 0.58 in the mean; of 5 MB 0.72 to 1.5.)
    if (p.n_inputs > 1) return p.bytes() < 6 << 20;
    // Of 16 bits whole vectors in 80 steps and more (0.84 to 1.01 of the time, 192 MB; in 32 and 64 steps 0.92 to 1.07).
    const int v = vector_of(p, true);
    return v <= 4 || (v == 8 && n >= 80 && p.modes[0].extent % v == 0) || p.bytes() < 20 << 20;
  }
  // Rows of 16 bits, one input's, that are vectors of 8 bytes and not of 16: a tile is copied element by element. (H200, 36 problems of 80 and 192 MB with
  // rows of 140 to 700 elements, 50 to 420 steps: 0.59 to 0.98 of the time; of 140 in 300 and 420 steps 0.99 to 1.08.)
  static bool takes_halves(const Problem &p) {
    return p.n_inputs == 1 && bytes_of(p.out) == 2 && vector_of(p, true) == 8 && p.modes[0].extent % 8 == 4 && p.modes[0].extent >= 128;
  }
  // The same of parts of rows that begin anywhere (H100, 200 random problems and 45 others).
  static bool is_brief_part(const Problem &p) {
    const int64_t n = fastest(p, Role::S)->extent, bytes = p.bytes();
    const bool words = bytes_of(p.out) == 4;
    if (n <= 2) return false;  // what scan.short leaves
    if (n >= (words ? 192 : 512)) return n <= (words ? 720 : 900) && bytes < 24 << 20;
    if (words) return n < 96 || bytes < 64 << 20;
    return bytes < (bytes_of(p.out) == 1 ? 8 : 32) << 20;
  }
  static bool whole_rows(const Problem &p) { return p.modes[0].extent * 16 / vector_of(p, true) <= kWholeRow; }
  // A few columns of narrow elements, in which scan.lines' threads would take turns.
  static bool tall(const Problem &p) { return whole_rows(p) && vector_of(p, true) >= 4 && fastest(p, Role::S)->extent >= 144; }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const Shape s = shape(p, d);
    LaunchConfig c;
    c.block = s.block, c.vector = s.vector, c.lanes = s.across, c.split = s.tiles, c.chunk = s.height;
    c.detail = s.detail + int(s.pitch - s.width) * kPitchUnit;
    c.shared_bytes = s.shared_bytes, c.at_once = s.at_once;
    const int64_t columns = s.strips * s.width;
    const bool looks_back = s.detail > 0;
    c.grid = s.tiles * s.strips + (looks_back ? ceil_div(columns, s.detail) : 0);
    if (s.tiles > 1) begin_apart(c, d);
    const int64_t words = (looks_back ? 2 : 1) * columns * ring_slots(s.strips, int(s.tiles), looks_back) * published_words(scan_state_bytes(p));
    c.leaves_zero = true;
    c.zeroed_bytes = c.workspace_bytes = size_t(16 + (s.tiles > 1 ? words * 8 : 0));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    return make_instance(p, "scan_columns", {std::to_string(c.vector), std::to_string(c.block)});
  }
};

}  // namespace tcu::cuda::rows
#endif
