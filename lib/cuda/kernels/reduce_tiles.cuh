// reduce.tiles: what is kept has short rows before it, or none, and is met again and again ('R K R', 'K R', 'R K R K', 'R K R R'): the
// 7 x 7 pixels of 512 channels of every picture, planes of five numbers. kWithin: the fastest mode is a K mode, and a row has its outputs side by
// side ('K R K R'). kSkewed: steps are no run together, and begin anywhere in 16 bytes.
// A block has as many neighbouring outputs as the low twelve bits of p.detail say, or all of the fast K mode's: a step of the slow R mode is one run of
// their rows. Its last warp asks for a tile of as many steps as the high half says at once, to be copied to shared memory (device/tile_rows.cuh), where it
// does not matter how long a row is and where it begins, while the others add up a tile before it: as many as the four bits between say are there or on
// their way. p.lanes threads lie along a step, each with up to kPlaces elements of it, V neighbours and then p.lanes V further on; the block's other
// threads take other steps. So a thread's places stay the same, and what belongs to an output meets at the end only.
// All inputs that lie as the leading one does, the one with the most elements, are copied (kStaged, a bit each); of the others a thread reads what
// belongs to its elements: once, if that is the same in every step (kFixed), as of a factor a channel.
// Tiles go to p.split parts in turn, and the last block puts them together (combine_parts of reduce_strided).
#pragma once
#include "device/tile_rows.cuh"
#include "device/tiles.cuh"
#include "kernels/reduce_strided.cuh"

namespace tcu::cuda {
TCU_FN constexpr int lowest_bit(unsigned bits) { return bits & 1 ? 0 : 1 + lowest_bit(bits >> 1); }
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

TCU_FN constexpr int bytes_of_type(Types<>, int) { return 0; }
template <class T, class... R>
TCU_FN constexpr int bytes_of_type(Types<T, R...>, int i) { return i == 0 ? int(sizeof(T)) : bytes_of_type(Types<R...>{}, i - 1); }

template <class Map, class Op, class Acc, class Out, class Index, unsigned kStaged, bool kFixed, int V, bool kWithin, bool kSkewed>
struct reduce_tiles {
  using Strided = reduce_strided<Map, Op, Acc, Out, Index, false, 0>;  // how parts are put together
  using F = typename Strided::F;
  using State = typename F::State;
  using Inputs = typename Map::Inputs;
  static constexpr int N = Inputs::size, kPlaces = places_in_tile(sizeof(State)), kResident = resident<F, kPlaces>(4);
  static constexpr int kItems = steps_at_once(N, sizeof(first_of<Inputs>)), kVectors = kPlaces / V, kDense = lowest_bit(kStaged);
  static constexpr bool kAllStaged = kStaged == (1u << N) - 1;
  using AwaitsTurn = reduce_tiles;
  static constexpr int kRows = kWithin ? 1 : 0;  // the K mode whose steps are rows
  static constexpr int kSize = bytes_of_type(Inputs{}, kDense);
  static_assert(kStaged != 0 && (V == 1 || kFixed));

  // Outputs of a row.
  template <class P>
  TCU_DEVICE static int within(const P &p) { return kWithin ? int(p.mode[0].extent) : 1; }

  // Tiles at a time.
  template <class P>
  TCU_DEVICE static int stages_of(const P &p) { return p.detail >> 12 & 0xf; }

  // What tiles lie in, and in their place the states.
  TCU_DEVICE static char *memory() {
    TCU_DYNAMIC_SHARED(Slot, shared);
    return reinterpret_cast<char *>(shared);
  }
  // A tile: n steps, from `begin` on, of a run; where that begins, of every input and of positions; and at which byte of memory() they will lie, of every
  // input that is copied.
  struct Steps {
    Index in[N], weight, begin;
    int n, at[N];
  };
  // Of every input that is copied, where its elements are (Span).
  template <int I, class P>
  TCU_DEVICE static void find_ends(Types<>, const P &, Span<char> *) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void find_ends(Types<T, R...>, const P &p, Span<char> *ends) {
    if constexpr (kStaged >> I & 1) {
      const Span<T> all = Span<T>::template of<I>(p);
      ends[I] = {reinterpret_cast<const char *>(all.begin), reinterpret_cast<const char *>(all.end)};
    }
    find_ends<I + 1>(Types<R...>{}, p, ends);
  }
  // Steps of `count` elements, so far from one to the next in memory and `pitch` here, to shared memory from byte `room` on, with so many elements to
  // an input. The threads that ask call it.
  template <int I, class P>
  TCU_DEVICE static void fetch(Types<>, const Arrival &, const P &, const Span<char> *, Steps &, int, int, int, int, Index) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void fetch(Types<T, R...>, const Arrival &arrival, const P &p, const Span<char> *ends, Steps &s, int room, int most, int count,
                               int pitch, Index apart) {
    if constexpr (kStaged >> I & 1) {
      constexpr int kSize = int(sizeof(T));
      const T *const from = static_cast<const T *>(p.in[I]) + s.in[I] + s.begin * apart;
      s.at[I] = room + int(reinterpret_cast<uint64_t>(from) & 127);  // at the same place of 128 bytes
      T *const to = reinterpret_cast<T *>(memory() + s.at[I]);
      if constexpr (kSkewed) {
        const Span<T> all{reinterpret_cast<const T *>(ends[I].begin), reinterpret_cast<const T *>(ends[I].end)};
        TileRows<Index>{count, s.n, pitch, 1, apart}.fetch_around(arrival, all, to, from);
      } else if (apart != count) {  // whole words of 16 bytes
        await_turn();
        arrival.fetch(to, from, count * kSize, s.n, pitch * kSize, int64_t(apart) * kSize);
      } else {
        const WholeWords words(from, to, s.n * count, kSize);
        await_turn();
        arrival.fetch(next_16(to), next_16(from), words.count * kSize);
        if (const int i = arrival.thread; i < s.n * count - words.count) to[words.skip(i)] = from[words.skip(i)];
      }
      room += tile_room(most * kSize);
    }
    fetch<I + 1>(Types<R...>{}, arrival, p, ends, s, room, most, count, pitch, apart);
  }
  // The same steps, to the second level cache: before this launch's turn.
  template <int I, class P>
  TCU_DEVICE static void look_ahead(Types<>, const P &, const Steps &, int, Index) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void look_ahead(Types<T, R...>, const P &p, const Steps &s, int count, Index apart) {
    constexpr int kSize = int(sizeof(T));
    if constexpr (kStaged >> I & 1)
      ask_ahead(static_cast<const T *>(p.in[I]) + s.in[I] + s.begin * apart, count * kSize, s.n, int64_t(apart) * kSize);
    look_ahead<I + 1>(Types<R...>{}, p, s, count, apart);
  }
  // What belongs to V places of the inputs that are not copied: where it is in every step, or the elements themselves.
  struct Beside {
    Offsets<N, Index> at;
    Pack<V, Inputs> held;
  };
  template <int I, class P>
  TCU_DEVICE static void hold(Pack<V, Types<>> &, const P &, const Offsets<N, Index> &, const Offsets<N, Index> (&)[V]) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void hold(Pack<V, Types<T, R...>> &x, const P &p, const Offsets<N, Index> &o, const Offsets<N, Index> (&at)[V]) {
    if constexpr ((kStaged >> I & 1) == 0) {
      Vec<T, V> elements;
#pragma unroll
      for (int v = 0; v < V; ++v)
        elements.at[v] = Raw<T, 1>::load_one(static_cast<const T *>(p.in[I]) + o.in[I] + at[v].in[I]).get().at[0];
      x.first = Raw<T, V>::of(elements);
    }
    hold<I + 1>(x.rest, p, o, at);
  }
  // Of `count` places V from `place` on, of cell `o`.
  template <class P>
  TCU_DEVICE static void find(Beside &beside, const P &p, const Offsets<N, Index> &o, int place, int count, int width, int along) {
    Offsets<N, Index> at[V] = {};
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int of = place + v < count ? place + v : count - 1, row = of / width, in_row = of - row * width, deep = in_row / within(p);
      advance(at[v], p.mode[kRows], Index(row));
      if constexpr (kWithin) advance(at[v], p.mode[0], Index(in_row - deep * within(p)));
      decode(at[v], p, p.n_kept, along, Index(deep));
    }
    if constexpr (kFixed) hold<0>(beside.held, p, o, at);
    else beside.at = at[0];
  }
  // Of every input V elements in step `step` of the run: `further` times i behind `place` in what is copied.
  template <int I, class P>
  TCU_DEVICE static void read(Pack<V, Types<>> &, const Pack<V, Types<>> &, const P &, const Steps &, int, int, int,
                              const Offsets<N, Index> &, int, Index) {}
  template <int I, class P, class T, class... R>
  TCU_DEVICE static void read(Pack<V, Types<T, R...>> &x, const Pack<V, Types<T, R...>> &held, const P &p, const Steps &s, int place, int i,
                              int further, const Offsets<N, Index> &beside, int along, Index step) {
    if constexpr (kStaged >> I & 1)
      x.first = Raw<T, V>::staged(reinterpret_cast<const T *>(memory() + s.at[I]) + place + further * i);
    else if constexpr (kFixed)
      x.first = held.first;
    else
      x.first = Raw<T, V>::load_one(static_cast<const T *>(p.in[I]) + s.in[I] + beside.in[I] + step * Index(p.mode[along].in[I]));
    read<I + 1>(x.rest, held.rest, p, s, place, i, further, beside, along, step);
  }

  // Items steps, `apart` ones from one to the next, from step k on, of a thread's places of `count` ones, of which the first is at `place`; steps
  // lie `pitch` elements apart.
  template <int Items, class P>
  TCU_DEVICE static void add(const P &p, State (&s)[kVectors][V], const Steps &steps, const Beside *beside, int along, int k, int apart,
                             int place, int count, int pitch) {
    Index position[Items] = {};  // of a place's elements in its row it does not count
    if constexpr (F::kPositions) {
#pragma unroll
      for (int i = 0; i < Items; ++i) position[i] = steps.weight + (steps.begin + k + i * apart) * Index(p.mode[along].weight);
    }
    const int first = k * pitch + place, further = apart * pitch;
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
      if (place + j * p.lanes * V >= count) break;
      const Beside &own = beside[kAllStaged ? 0 : j];
      Pack<V, Inputs> x[Items];
#pragma unroll
      for (int i = 0; i < Items; ++i)
        read<0>(x[i], own.held, p, steps, first + j * p.lanes * V, i, further, own.at, along, steps.begin + k + i * apart);
      append_rows<F, Map, F::kPositions, true>(p, s[j], x, position, [](int) { return true; });
    }
  }
  // What a thread has of place `at` of a row, as a state of the row's.
  template <class P>
  TCU_DEVICE static State in_row(const P &p, State s, int at, int along) {
    if constexpr (F::kPositions) {
      Offsets<N, Index> row;
      decode(row, p, p.n_kept, along, Index(at / within(p)));
      s = F::beyond(s, row.weight);
    }
    return s;
  }
  TCU_DEVICE static int room_for_all(Types<>, int) { return 0; }
  template <class T, class... R>
  TCU_DEVICE static int room_for_all(Types<T, R...>, int most) {
    constexpr int I = N - 1 - int(sizeof...(R));
    return (kStaged >> I & 1 ? tile_room(most * int(sizeof(T))) : 0) + room_for_all(Types<R...>{}, most);
  }
  // Output first + t of `here` from the first on in thread t: what `groups` groups have of its row put together, one group's `count` states after
  // another's, by as many threads an output as there are, a power of two. A row has `inner` outputs side by side. inverse: 65536 / n + 1, of the n
  // elements that an output has in a row, by which few threads are divided.
  TCU_DEVICE static State fold(State *states, int first, int here, int width, int inner, int inverse, int groups, int count) {
    const int spare = log2_up(kThreads) - log2_up(here), shift = spare < 5 ? spare : 5, lanes = 1 << shift;
    const int t = int(threadIdx.x), output = t >> shift, lane = t & (lanes - 1);
    const int row = kWithin ? (first + output) / inner : first + output, begin = row * width + (first + output - row * inner);
    const int deep = kWithin ? width / inner : width;
    State mine = F::identity();
    __syncthreads();
    if (output < here) {
      const int groups_on = lanes * inverse >> 16, on = lanes - groups_on * deep;
      int group = lane * inverse >> 16, i = lane - group * deep;
#pragma unroll 2
      while (group < groups) {
        mine = F::combine(mine, states[group * count + begin + i * inner]);
        group += groups_on, i += on;
        if (i >= deep) i -= deep, ++group;
      }
    }
#pragma unroll 1
    for (int h = lanes / 2; h > 0; h /= 2) mine = F::combine(mine, shuffle_xor(mine, h));
    __syncthreads();
    if (lane == 0 && output < here) states[output] = mine;
    __syncthreads();
    return t < here ? states[t] : F::identity();
  }
  // What a block has: of cell `cell` `here` rows from row `first` on, which are `count` elements of every step; and of its steps part `part`.
  struct Work {
    int inner, width, along;  // outputs and elements of a row; the mode of steps
    int each, chunk;          // rows, if they are not the last ones; steps of a tile
    int here, count, pitch;   // pitch: from step to step in shared memory
    int inverse;              // as fold asks for it, found where other things are under way
    Index steps, apart, chunks, turns, cell, part, first;  // apart: from step to step; chunks: tiles of a run; turns: of a cell
    Offsets<N, Index> o;

    template <class P>
    TCU_DEVICE explicit Work(const P &p)
        : inner(within(p)), width(inner), along(p.n_kept), each(p.detail & 0xfff), chunk(p.detail >> 16) {
      // A row is of one mode or, where not all inputs have them as one, several.
#pragma unroll 1
      for (; p.mode[along].in[kDense] == width; ++along) width *= int(p.mode[along].extent);
      const Index extent = Index(p.mode[kRows].extent), ranges = (extent + each - 1) / each;
      Index cells = divide(Index(p.kept), p.mode[0].divisor);
      if constexpr (kWithin) cells = divide(cells, p.mode[1].divisor);
      cells *= ranges;
      part = Index(blockIdx.x) / cells, cell = Index(blockIdx.x) - part * cells;
      const Index outer = cell / ranges;
      first = (cell - outer * ranges) * each;
      here = extent - first < each ? int(extent - first) : each, count = here * width;
      steps = Index(p.mode[along].extent), apart = Index(p.mode[along].in[kDense]);
      pitch = step_pitch(count, kSize, apart, kSkewed);
      chunks = (steps + chunk - 1) / chunk, turns = Index(p.folded) / (steps * (width / inner)) * chunks;
      inverse = 65536 / (width / inner) + 1;
      decode(o, p, kRows + 1, p.n_kept, outer);
      advance(o, p.mode[kRows], first);
    }
  };
  // A part's tiles, one after another: piece `piece` of run number `run`. They come to stages in turn, whose tiles are told to all in `told`.
  struct Tiles {
    const Arrival arrivals;
    Steps *const told;
    const Span<char> *const ends;
    const int split, stages, most, stage_bytes;  // most: elements of a tile of one input
    const Index runs_on, pieces_on;
    Index next, run, piece;
    int stage = 0;  // of the next one

    template <class P>
    TCU_DEVICE Tiles(const P &p, const Work &w, const Arrival &arrivals, Steps *told, const Span<char> *ends)
        : arrivals(arrivals), told(told), ends(ends), split(int(p.split)), stages(stages_of(p)),
          most(w.chunk * most_step_pitch(w.each * w.width, kSize, w.apart, kSkewed)), stage_bytes(room_for_all(Inputs{}, most)),
          runs_on(split / w.chunks), pieces_on(split - runs_on * w.chunks), next(w.part), run(w.part / w.chunks), piece(w.part - run * w.chunks) {}
    template <class P>
    TCU_DEVICE Steps locate(const P &p, const Work &w) const {
      Offsets<N, Index> at = w.o;
      decode(at, p, w.along + 1, p.n_kept + p.n_folded, run);
      Steps tile;
#pragma unroll
      for (int k = 0; k < N; ++k) tile.in[k] = at.in[k];
      tile.weight = at.weight, tile.begin = piece * w.chunk;
      tile.n = int(w.steps - tile.begin < w.chunk ? w.steps - tile.begin : w.chunk);
      return tile;
    }
    // The next one, if there is one.
    template <class P>
    TCU_DEVICE void ask(const P &p, const Work &w) {
      if (next >= w.turns) return;
      Steps tile = locate(p, w);
      fetch<0>(Inputs{}, arrivals[stage], p, ends, tile, stage * stage_bytes, most, w.count, w.pitch, w.apart);
      if (arrivals.thread == 0) told[stage] = tile;
      arrivals[stage].close();
      if (++stage == stages) stage = 0;
      next += split, run += runs_on, piece += pieces_on;
      if (piece >= w.chunks) piece -= w.chunks, ++run;
    }
  };
  TCU_DEVICE static void clear(State (&s)[kVectors][V]) {
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) s[i / V][i % V] = F::identity();
  }
  template <class P>
  TCU_DEVICE static void run(const P &p) {
    TCU_SHARED(uint64_t, barriers, kMostTiles);
    TCU_SHARED(Steps, told, kMostTiles);
    TCU_SHARED(Span<char>, ends, N);
    const int t = int(threadIdx.x);
    const int stages = stages_of(p);
    const Arrival arrivals(barriers, kAdding, stages);
    const Work w(p);
    const int group = t / p.lanes, place = (t - group * p.lanes) * V, groups = kAdding / p.lanes;  // of the warp that asks none is
    Beside beside[kAllStaged ? 1 : kVectors];
    if constexpr (!kAllStaged) {
      await_turn();
#pragma unroll
      for (int j = 0; j < kVectors; ++j) find(beside[j], p, w.o, place + j * p.lanes * V, w.count, w.width, w.along);
    }
    Tiles tiles(p, w, arrivals, told, ends);
    if (kSkewed && t == kAdding) find_ends<0>(Inputs{}, p, ends);
    if constexpr (kAllStaged)  // else its turn has come
      if (w.part < w.turns && begins_early<reduce_tiles>()) look_ahead<0>(Inputs{}, p, tiles.locate(p, w), w.count, w.apart);
    __syncthreads();  // barriers and ends are there
    if (t >= kAdding) tiles.ask(p, w);
    await_turn();
    __syncthreads();  // the first tile is asked for

    State s[kVectors][V];
    clear(s);
    int stage = 0, to_ask = stages - 1;
    unsigned parity = 0;
#pragma unroll 1
    for (Index i = w.part; i < w.turns; i += tiles.split) {
      if (t >= kAdding) {
#pragma unroll 1
        for (; to_ask > 0; --to_ask) tiles.ask(p, w);
        to_ask = 1;
      }
      if (group < groups) {
        arrivals[stage].await(parity);
        const Steps tile = told[stage];
        State of_tile[kVectors][V];  // what is small is cut off against what a tile comes to, not all
        if constexpr (F::kCuts) clear(of_tile);
        State(&to)[kVectors][V] = F::kCuts ? of_tile : s;
        int k = group;
#pragma unroll 1
        for (; k + (kItems - 1) * groups < tile.n; k += kItems * groups)
          add<kItems>(p, to, tile, beside, w.along, k, groups, place, w.count, w.pitch);
#pragma unroll 1
        for (; k < tile.n; k += groups) add<1>(p, to, tile, beside, w.along, k, groups, place, w.count, w.pitch);
        if constexpr (F::kCuts) {
#pragma unroll
          for (int i = 0; i < kPlaces; ++i) s[i / V][i % V] = F::combine(s[i / V][i % V], of_tile[i / V][i % V]);
        }
      }
      if (++stage == stages) stage = 0, parity ^= 1;
      __syncthreads();  // more is asked for, and another tile, or the states, may come in this one's place
    }

    State *const states = reinterpret_cast<State *>(memory());
    if (group < groups) {
#pragma unroll
      for (int i = 0; i < kPlaces; ++i)
        if (const int at = place + i / V * p.lanes * V + i % V; at < w.count)
          states[group * w.count + at] = in_row(p, s[i / V][i % V], at - at / w.width * w.width, w.along);
    }
    const int inner = w.inner, all = w.each * inner, outputs = all < kThreads ? 1 << log2_up(all) : kThreads;
    const Index batches = Index((all - 1) / kThreads + 1);  // of outputs, one a thread
#pragma unroll 1
    for (int batch = 0; batch * kThreads < w.here * inner; ++batch) {
      const int at = batch * kThreads, some = w.here * inner - at < kThreads ? w.here * inner - at : kThreads;
      State mine = fold(states, at, some, w.width, inner, w.inverse, groups, w.count);
      if (!Strided::combine_parts(p, mine, outputs, int64_t(w.cell) * batches + batch, int(w.part), states)) continue;
      if (t >= some) continue;
      const int row = (at + t) / inner, in_row = at + t - row * inner;
      store_result<F, Out>(p, w.o.out + row * Index(p.mode[kRows].out) + in_row * Index(p.mode[0].out), mine, p.folded);
    }
  }
};

}  // namespace tcu::cuda
#endif

#if !defined(__CUDACC__)
#include "cuda/rows.h"
#include "cuda/tiles_shape.h"
#include "kernels/reduce_channels.cuh"
#include "kernels/reduce_general.cuh"
#include "kernels/reduce_shifted.cuh"
#include "kernels/reduce_staged.cuh"

namespace tcu::cuda::rows {

struct ReduceTiles : TilesShape {
  // Whether a thread goes from position to position upwards.
  static bool in_order(const Problem &p) {
    int64_t last = 0;
    for (const Mode &m : p.modes) {
      if (m.role != Role::R) continue;
      if (m.stride[p.position_operand()] < last) return false;
      last = m.stride[p.position_operand()];
    }
    return true;
  }
  static bool accepts(const Problem &p, const Device &d) {
    if (p.n_inputs == 0 || p.empty() || p.reduced() == 0) return false;
    const Shape s = shape(p);
    return s.at_once > 0 && (!is_arg(p.op) || in_order(p)) && s.cells < INT32_MAX && shared_bytes(p, s) <= d.shared_bytes - 2048;
  }
  static bool suits(const Problem &p, const Device &d) {
    const Shape s = shape(p);
    if (relieves(p, d, s)) return true;
    if (s.each * s.within > kThreads && p.bytes() < (s.each * s.within) << 15) return false;  // whose parts are long in being put together
    return s.within > 1 ? suits_within(p, s) : p.modes[0].role == Role::K ? suits_columns(p, d, s) : suits_rows(p, s);
  }
  // Whether the row that would have it is slower (H200, random problems). Of up to 3 MB in columns of short rows or rows around outputs, reduce.split, which
  // puts parts together in several steps (39: 0.65 to 1.01 of the time), and what reads long columns with few threads (six: 0.58 to 0.89); in four modes and
  // more, of some thousand tiles, reduce.split (21: 0.46 to 1.00); of long sums in three modes and more, reduce.general (13: 0.42 to 0.91).
  static bool relieves(const Problem &p, const Device &d, const Shape &s) {
    const bool little = is_little(p), several = p.modes.size() >= 4 && !s.skewed && s.turns * s.cells <= 2600;
    const bool long_sums = p.modes.size() >= 3 && p.reduced() >= 1350 && tile_bytes(s) >= kRoom / 8;
    if (little && p.modes.size() == 2 && p.modes[1].extent >= 1900) return true;
    const auto other = little || several || long_sums ? row_without(Family::reduce, accepts, p, d).accepts : nullptr;
    return ((little || several) && other == ReduceSplit::accepts) || (long_sums && other == ReduceGeneral::accepts);
  }
  static bool is_little(const Problem &p) {
    if (p.n_inputs != 1 || p.bytes() > 3 << 20 || !is_dense(p, 1)) return false;
    const int64_t row = p.modes[0].extent * bytes_of(p.in[0]);
    if (p.modes.size() == 2) return p.modes[0].role == Role::K && row <= 450;
    const bool around = p.modes.size() == 3 && p.modes[0].role == Role::R && p.modes[1].role == Role::K;
    return around && (row % 16 == 0 ? p.bytes() <= 2 << 20 : p.modes[0].extent < 1000);  // whole vectors: from 2 MB on 0.9 to 1.3
  }
  // Of some outputs in a row, 240 pinned sums of 128 and 256 MB (2 to 64 outputs, 3 to 112 deep, 64 and 512 rows): rows of outputs that are no whole
  // vectors took 0.33 to 0.79 of the best other time (132); those that are 0.9 to 1.13. Steps that begin anywhere, 160 of 24 and 100 MB (2 to 30
  // outputs, 5 and 31 deep, 99 and 2001 rows) and others: of 190 that it is chosen for 181 0.21 to 1.00, the others up to 1.22. Random problems (H200): four
  // of 5 to 39 MB in eight to twelve steps of rows that are no vectors 0.25 to 0.79, two of 46 MB in rows of 64 and 192 bytes 0.67 and 0.75, and 5 x 195 x 80 x
  // 441 int8, whose tiles have 7.6 KB, 0.22; a small one 1.04.
  static bool suits_within(const Problem &p, const Shape &s) {
    const int64_t row = s.within * s.size, bytes = p.bytes();
    const bool vectors = row % 16 == 0, fits = vectors ? row <= (bytes >= 28 << 20 ? 192 : 32) && p.kept() <= 2048 : row < 128;
    return fits && s.steps >= (vectors ? 16 : 8) && tile_bytes(s) >= kRoom * 7 / 16 && bytes >= (appends(p) ? 8 : 2) << 20;
  }
  // Short rows, which other rows read an element at a time, of many steps and a tile that is not small. Not whole vectors, but
  // single ones of much: these others read as fast. Of the 102 random problems (H100) that it is chosen for it was faster in 86, 0.24 to 1.33
  // of the time; states of several numbers are longer in being put together. Products of two inputs, 61 that it is chosen for: 0.14 to
  // 0.98 of the time. Steps that begin anywhere, pinned problems of 8 to 100 MB (2 to 1001 elements a row, 4 to 10^5 steps; bench/experiments/h100.md):
  // of 371 that it is chosen for 351 0.13 to 1.00, the others up to 1.18. Of little, and more than 224 steps, of 15 random problems of less than 1 MB
  // 12 were faster, 0.47 to 0.97, three slower, 1.05 to 1.48.
  static bool suits_rows(const Problem &p, const Shape &s) {
    const int64_t row = s.width * s.size, bytes = p.bytes();
    const bool much = bytes >= 64 << 20, single = s.skewed && s.size == 4;
    const struct {
      bool is;
      int steps;  // at least
    } in_steps[] = {
        {s.size <= 2 && s.width >= 3 && row <= 32 && row % 16 != 0, 8},
        {single && is_dear(p), much ? 200 : 1000},
        {single && !much, 200},
        {true, 16},
    };
    if (s.steps < first_kind(in_steps).steps || tile_bytes(s) < kRoom * 7 / 16) return false;
    // An odd number of 8 bytes, in few cells: 13 random problems of 0.25 to 23 MB took 0.41 to 1.0 of the time of the best other row, but for two, 1.1 and 1.55.
    if (s.size == 8 && row % 16 != 0) return s.cells <= 300;
    // Sums in rows of 32 and 64 bytes, of elements of two and four, 5 to 333 rows, of 64 and 128 MB: 0.52 to 0.93 of the time of reduce.split.
    // (Of bytes reduce.contiguous is faster: (64,64,64,1024) over 1 and 3 89 us, by this 104.)
    const bool plain = p.n_inputs == 1 && !appends(p) && !is_arg(p.op);
    const bool vectors = plain && row <= 64 && (s.size == 2 || s.size == 4) && much;
    if (row % 16 == 0) return (row == 16 && bytes >= 16 << 20) || vectors;
    const bool deep = p.modes.size() == 3 && s.steps >= 225;
    const struct {
      bool is;
      int kib;  // at least
    } in_all[] = {
        {deep && row <= 32 && s.size <= 4, 32},
        {appends(p), row <= 16 ? 4 << 10 : 16 << 10},
        {true, row <= 40 ? 1 << 10 : 8 << 10},
    };
    const struct {
      bool is;
      int bytes;  // of a row, at most
    } in_rows[] = {
        {s.skewed && row % 8 == 0, 132},
        {s.skewed && s.size <= 2 && much && s.steps >= 32, 264},
        {s.skewed && s.size == 1 && !much, 164},
        {s.size == 1 || much, 200},
        {true, 132},
    };
    return bytes >= int64_t(first_kind(in_all).kib) << 10 && row <= first_kind(in_rows).bytes;
  }
  // logsumexp, which takes longest to add up.
  static bool is_dear(const Problem &p) { return appends(p) && state_bytes(p) <= 8; }
  // Of outputs side by side that are no whole vectors. With their elements in several modes: of 21 random problems 20 were faster, 0.27 to 0.96 of
  // the time, one slower, 1.04. In one mode, what reduce.shifted leaves: sums in 33 of float16 0.76 and 0.63 (30 and 100 MB), variances in 33,
  // 77, 129 of float16 0.72 to 0.86 and 0.60 to 0.69, of float32 0.91, 1.02, 1.15 (100 MB, H100); positions in 4 and 10 of int8 0.63 and 0.48
  // (50 and 36 MB), in 38 of float16 0.77. And others follow, where no other row copies them: 169 of 384 float16 0.79, products of two 0.73, of
  // 3 and 17 0.5 and 0.89; columns of 16 and 8 bits, 97 to 1001 of 40 to 1000, 100 MB, of 57 that it is chosen for 56 0.68 to 1.00, one 1.27.
  // Columns of 8 bits, 50 to 50257, 64 to 192 MB (H200): sums 0.44 to 0.99 of the time of the best other row in 14 of 15, 1.1 in one, extrema where
  // reduce.shifted is not chosen 0.46 to 0.63 of the one's that was; positions in an even number of float64, 20 to 1500, 0.57 to 0.79 (in 257, where a
  // thread of the others has one column, 2.0).
  static bool suits_columns(const Problem &p, const Device &d, const Shape &s) {
    const int size = s.size;
    const int64_t k = p.modes[0].extent;
    const bool position = is_arg(p.op), variance = appends(p) && state_bytes(p) > 8, only = ReduceStrided::only_columns(p);
    const bool pairs = only && position && size == 8 && k % 2 == 0;  // of positions of 16 bytes
    const bool bytes = only && size == 1 && p.n_inputs == 1 && k > kMostChannels && p.reduced() >= 128;
    if (only && p.reduced() < 64) return false;  // few: of 72 pinned problems of 2 to 48 rows (H200) 70 took 1.15 to 10 times as long
    if (tile_bytes(s) < 4 << 10 || (!pairs && (size == 8 || k * size % 16 == 0))) return false;
    const int64_t least_steps = is_dear(p) ? 512 : variance ? 256 : 150, widest = appends(p) || s.steps >= 512 ? 200 : 340;  // of 16 bits
    const bool alone = p.n_inputs > 1 || (k > kMostChannels && k * s.steps * size > kStagedBytes);  // no other row copies them
    const int all = kOutputs, some = kThreads, usual = position ? 20 : 64;
    const struct {
      bool is;
      int most, least;  // outputs of a block; MiB
    } kinds[] = {
        {p.modes.n_of(Role::R) > 1, all, 8},
        {pairs, some, 64},
        {bytes && p.op == ReduceOp::sum && kind_of(p.in[0]) != Kind::Float, all, 64},
        {only && !position && ReduceShifted::accepts(p, d) && ReduceShifted::suits(p, d), 0, 0},
        {only && !position && ReduceChannels::accepts(p, d) && ReduceChannels::is_much_in_one(p), 0, 0},
        {bytes && !appends(p), some, usual},
        {only && !position && size == 2 && p.n_inputs == 1 && k > kMostChannels, some, 24},
        {only && (position ? size <= 2 : size == 2), some, usual},
        {only && (variance ? k <= 100 : appends(p)), some, usual},
        {variance && is_of_pixels(p), all, 20},
        {p.modes.size() == 3 && size == 2 && alone && s.steps >= least_steps && k <= widest, all, usual},
        {p.modes.size() == 3 && size == 1 && alone && !position && !appends(p) && s.each == k && k * s.steps >= 28 << 10, all, usual},
        {true, 0, 0},
    };
    const auto &kind = first_kind(kinds);
    return s.each <= kind.most && p.bytes() >= int64_t(kind.least) << 20;
  }
  // A few channels of several pictures, whose variances reduce.channels would have: of 3, 5 and 7 channels and 12000 to 600000 pixels, 24 and 100 MB, they
  // took 0.69 to 1.00 of its time in float32 (24 problems), and of up to 50176 pixels 0.725 to 1.02 in float16 (12; of more up to 1.14). (H200)
  static bool is_of_pixels(const Problem &p) {
    const int64_t pixels = p.reduced(), most = bytes_of(p.in[0]) == 4 ? 600000 : bytes_of(p.in[0]) == 2 ? 50176 : 0;
    return p.modes.size() == 3 && p.n_inputs == 1 && p.modes[0].extent >= 3 && p.modes[0].extent <= 7 && pixels >= 12000 && pixels <= most;
  }
  // Parts of a cell: as many as fill three quarters of one round of `resident` blocks, or more, or half of it where threads have little to do, for then
  // the next launch's blocks find room; else as many as let all be done in the fewest rounds, each as long as its tiles and one more. (Sums of 3 x 224
  // x K x N, 120 MB, K of 180 to 800: of 42 problems 17 changed, 14 to 0.77 to 0.98 of the time, three to 1.03 to 1.05. 429 cells of 19 tiles, maxima of int8
  // 777 x 300 x 429 over 2: six parts 87 us, one 51.)
  static int64_t parts(const Problem &p, const Shape &s, int64_t resident) {
    const int64_t one = resident / s.cells, half = resident / 2 / s.cells;
    const auto fills = [&](int64_t parts, int64_t blocks) { return parts > 0 && 4 * parts * s.cells >= 3 * blocks; };
    if (s.size == 2 && half <= 2 && !appends(p) && !is_arg(p.op) && fills(half, resident / 2)) return std::min(half, s.turns);
    if (fills(one, resident)) return std::min(one, s.turns);
    const auto takes = [&](int64_t parts) { return ceil_div(s.cells * parts, resident) * (ceil_div(s.turns, parts) + 1) + (parts > 1); };
    int64_t best = ReduceSplit::parts_for(s.cells, resident, s.turns);
    for (int64_t parts = best - 1; parts > 0; --parts)
      if (takes(parts) < takes(best)) best = parts;
    return best;
  }
  // Whether two blocks a multiprocessor (kFew) do, whose parts are sooner put together than four's: of cells that come out even so, and something to do for
  // each. Not where instructions are what takes time: threads that read bytes of short rows one by one, or lie along a step in several groups, as those of
  // products in rows of 7 (1.2 of the time), but of logsumexp. Of 118 problems of 4 to 400 MB (H200) that it is chosen for logsumexp took 0.68 to 0.82 of the
  // time, in one 1.0; sums, extrema, variances and positions 0.81 to 1.06, 0.96 in the mean, and one 1.19 (maxima of 16 MB of int8, 5 x 1000 x N).
  static bool suits_few(const Problem &p, const Shape &s, int64_t few) {
    const bool by_bytes = s.size == 1 && s.vector == 1 && s.width < 5, in_groups = 2 * lanes(s) <= kAdding && !is_dear(p);
    return !by_bytes && !in_groups && 2 * s.cells * s.turns >= few && 8 * (few / s.cells) * s.cells >= 7 * few;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const int64_t resident = ReduceSplit::resident("reduce.tiles", p, d, 1), few = kFew.blocks * d.processors;
    Shape s = shape(p, resident);
    const bool is_few = d.shared_bytes >= kRoomOfAll && suits_few(p, s, few);
    if (is_few) set_tiles(p, s, kFew);
    LaunchConfig c;
    c.block = kThreads, c.vector = s.vector, c.lanes = int(lanes(s));
    c.detail = int(s.each | s.tiles << 12 | s.at_once << 16);
    c.shared_bytes = shared_bytes(p, s);
    if (s.cells < resident && s.turns > 1) c.split = is_few ? std::min(few / s.cells, s.turns) : parts(p, s, resident);
    // A fifth is there where the compiler finds 48 registers: 7 x 512 x 28672 float16 82.5 us, without it 76; 401 x 300 x 831 int8 0.89 of the time.
    limit_resident(c, d, is_few ? kFew.blocks : usual(p).blocks);
    c.grid = s.cells * c.split;
    int64_t outputs = 1;
    while (outputs < s.each * s.within && outputs < kThreads) outputs *= 2;
    ReduceSplit::keep_parts(c, p, s.cells * ceil_div(s.each * s.within, kThreads), outputs);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    const Shape s = shape(p);
    const auto flag = [](bool on) { return std::string(on ? "true" : "false"); };
    Instance f = make_instance(p, "reduce_tiles", {bits_text(staged(p)), flag(s.fixed), std::to_string(c.vector), flag(s.within > 1), flag(s.skewed)});
    f.n_kept = Instance::kAny, f.n_folded = 0;  // where they were known 21 cases took 1.007 of the time
    return f;
  }
};

}  // namespace tcu::cuda::rows
#endif
