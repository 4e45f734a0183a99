// Neighbours along one mode, of every input, in shared memory; and in their place what becomes of them.
#pragma once
#include "device/bulk.cuh"
#include "device/map.cuh"

namespace tcu::cuda {

// Bytes that an element's inputs take.
template <class Inputs> struct bytes_of_all;
template <> struct bytes_of_all<Types<>> { static constexpr int value = 0; };
template <class T, class... R> struct bytes_of_all<Types<T, R...>> {
  static constexpr int value = int(sizeof(T)) + bytes_of_all<Types<R...>>::value;
};

// Bytes of an element's inputs that lie before its output: the output takes the place of the first input that is as wide.
template <class Out>
TCU_FN constexpr int bytes_before_out(Types<>) { return 0; }
template <class Out, class T, class... R>
TCU_FN constexpr int bytes_before_out(Types<T, R...>) {
  return sizeof(T) == sizeof(Out) ? 0 : int(sizeof(T)) + bytes_before_out<Out>(Types<R...>{});
}

// That an element takes.
template <class Inputs, class Out>
TCU_FN constexpr int bytes_in_tile() {
  const int bytes = bytes_of_all<Inputs>::value;
  return bytes_before_out<Out>(Inputs{}) == bytes ? bytes + int(sizeof(Out)) : bytes;
}

#if defined(TCU_KERNELS)

// Where a tile's lines begin in memory: `apart` elements from one to the next, or, kFound, at places that stand in shared memory.
template <bool kFound, class Index>
struct LinesOf {
  struct At {
    int line, column;
    Index o;  // from the first line on; kFound: not kept
  };
  const Index *places;
  Index apart, stride;
  int n;  // elements of a line

  TCU_DEVICE At at(int line, int column) const { return {line, column, kFound ? Index(0) : Index(line) * apart + Index(column) * stride}; }
  TCU_DEVICE Index offset(const At &a) const {
    if constexpr (kFound) return places[a.line] + Index(a.column) * stride;
    else return a.o;
  }
  // So many lines and elements of one further on.
  struct Step {
    int lines, columns;
    Index o;
  };
  TCU_DEVICE Step step(int lines, int columns) const { return {lines, columns, at(lines, columns).o}; }
  TCU_DEVICE void go(At &a, const Step &by) const {
    a.line += by.lines, a.column += by.columns, a.o += by.o;
    if (a.column >= n) a.column -= n, ++a.line, a.o += apart - Index(n) * stride;
  }
};

// Room elements of every input, one input after another; a multiple of 128 bytes of each.
template <class Inputs, class Out, int V, int Room>
struct Tile {
  static constexpr int kLine = 8 * V;  // elements: 128 bytes of the widest operand
  char *start;

  TCU_DEVICE explicit Tile(Slot *shared) : start(reinterpret_cast<char *>(shared)) {}
  TCU_DEVICE Out *out() const { return reinterpret_cast<Out *>(start + bytes_before_out<Out>(Inputs{}) * Room); }

  // How far from a line's end the first input's element `at` of `mode`, from o on, lies: where a tile that begins there (ends there:
  // backwards) is to leave places free, so that what the machine copies begins in memory and in the tile at the same place of a line.
  template <class P, int N, class Index>
  TCU_DEVICE static int skew(const P &p, const Offsets<N, Index> &o, int mode, Index at, bool backwards) {
    using T = first_of<Inputs>;
    if (p.mode[mode].in[0] != 1) return 0;
    return skew(static_cast<const T *>(p.in[0]) + (o.in[0] + at), backwards);
  }
  template <class T>
  TCU_DEVICE static int skew(const T *at, bool backwards) {
    const int over = int(unsigned(reinterpret_cast<uint64_t>(at)) / sizeof(T)) & (kLine - 1);
    return backwards ? -over & (kLine - 1) : over;
  }
  // Elements at..at+count-1 of `mode` of every input, from o on, to `place` and after it: by the machine's own copy where they are
  // contiguous and lie at the same place of 16 bytes here and there, else one by one.
  template <class P, int N, class Index>
  TCU_DEVICE void fetch(const Arrival &arrival, const P &p, const Offsets<N, Index> &o, int mode, Index at, int place, int count) const {
    fetch<0>(Inputs{}, arrival, p, o, mode, at, start, place, count);
  }
  // `count` elements of lines from number `first` on, one after another from `place` on, wherever they lie in memory: single elements or words of
  // 4 bytes, neighbours by neighbouring threads. mode: of a line's elements. Of lines along several modes `places` has room for an offset of each, for every
  // input. Every thread of the block calls it.
  template <class P, class Index>
  TCU_DEVICE void fetch_lines(const P &p, Index first, int lines, Index *places, int mode, int place, int count) const {
    if (p.n_kept == 1) return fetch_lines<false, 0>(Inputs{}, p, first, lines, places, mode, start, place, count);
    for (int l = int(threadIdx.x); l < lines; l += int(blockDim.x)) {
      Offsets<Inputs::size, Index> o;
      decode(o, p, 0, p.n_kept, first + l);
#pragma unroll
      for (int i = 0; i < Inputs::size; ++i) places[i * lines + l] = o.in[i];
    }
    __syncthreads();
    fetch_lines<true, 0>(Inputs{}, p, Index(0), lines, places, mode, start, place, count);
  }
  // The same elements, where they are one run, to the second level cache: before the launch's turn.
  template <class P, int N, class Index>
  TCU_DEVICE void look_ahead(const P &p, const Offsets<N, Index> &o, int mode, Index at, int count) const {
    look_ahead<0>(Inputs{}, p, o, mode, at, count);
  }
  // V elements of every input from `place` on, a multiple of V.
  TCU_DEVICE void read(Pack<V, Inputs> &pack, int place) const { read_from(pack, start, place); }
  // The outputs at `place` and after it, to `to`, by so many from one to the next. Every thread of the block calls it; then
  // await_drain().
  template <class Index>
  TCU_DEVICE void drain(Out *to, Index stride, int place, int count) const {
    const Out *const from = out() + place;
    const WholeWords words = stride == 1 ? WholeWords(to, from, count, int(sizeof(Out))) : WholeWords();
    drain_shared(next_16(to), next_16(from), words.count * int(sizeof(Out)));
    for (int i = int(threadIdx.x); i < count - words.count; i += int(blockDim.x)) {
      const int k = words.skip(i);
      to[k * stride] = from[k];
    }
  }

 private:
  template <int I, class P, int N, class Index>
  TCU_DEVICE static void look_ahead(Types<>, const P &, const Offsets<N, Index> &, int, Index, int) {}
  template <int I, class P, int N, class Index, class T, class... R>
  TCU_DEVICE static void look_ahead(Types<T, R...>, const P &p, const Offsets<N, Index> &o, int mode, Index at, int count) {
    if (count > 0 && p.mode[mode].in[I] == 1) ask_ahead(static_cast<const T *>(p.in[I]) + (o.in[I] + at), count * int(sizeof(T)), 1, 0);
    look_ahead<I + 1>(Types<R...>{}, p, o, mode, at, count);
  }
  template <int I, class P, int N, class Index>
  TCU_DEVICE void fetch(Types<>, const Arrival &, const P &, const Offsets<N, Index> &, int, Index, char *, int, int) const {}
  template <int I, class P, int N, class Index, class T, class... R>
  TCU_DEVICE void fetch(Types<T, R...>, const Arrival &arrival, const P &p, const Offsets<N, Index> &o, int mode, Index at, char *region,
                        int place, int count) const {
    const Index stride = Index(p.mode[mode].in[I]);
    const T *const from = static_cast<const T *>(p.in[I]) + (o.in[I] + at * stride);
    T *const to = reinterpret_cast<T *>(region) + place;
    const WholeWords words = stride == 1 ? WholeWords(from, to, count, int(sizeof(T))) : WholeWords();
    arrival.fetch(next_16(to), next_16(from), words.count * int(sizeof(T)));
#pragma unroll 4
    for (int i = int(threadIdx.x); i < count - words.count; i += int(blockDim.x)) {
      const int k = words.skip(i);
      if constexpr (sizeof(T) >= 4 && alignof(T) == sizeof(T)) copy_ahead<sizeof(T)>(to + k, from + k * stride);
      else to[k] = from[k * stride];
    }
    fetch<I + 1>(Types<R...>{}, arrival, p, o, mode, at, region + Room * int(sizeof(T)), place, count);
  }
  // So many words of W elements from `to` on, `all` further on from one to the next, or as many of them as begin no more than `left` further on. next():
  // what the next one holds.
  template <int kItems, bool kWhole, int W, class T, class Next>
  TCU_DEVICE static void put_words(T *to, int all, int left, const Next &next) {
    Vec<T, W> e[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      if (kWhole || k * all <= left) e[k] = next();
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      if (kWhole || k * all <= left) store_vector(to + k * all, e[k]);
  }
  template <bool kFound, int I, class P, class Index>
  TCU_DEVICE void fetch_lines(Types<>, const P &, Index, int, const Index *, int, char *, int, int) const {}
  template <bool kFound, int I, class P, class Index, class T, class... R>
  TCU_DEVICE void fetch_lines(Types<T, R...>, const P &p, Index first, int lines, const Index *places, int mode, char *region, int place, int count) const {
    constexpr int W = in_word(sizeof(T));  // elements of a word of shared memory
    const LinesOf<kFound, Index> of{places + I * lines, Index(p.mode[0].in[I]), Index(p.mode[mode].in[I]), int(p.mode[mode].extent)};
    const T *const from = opaque(static_cast<const T *>(p.in[I]) + first * of.apart);
    T *const to = reinterpret_cast<T *>(region) + place;
    bool words = alignof(T) == sizeof(T);
    if (W > 1) {
      words &= of.stride == 1 && place % W == 0 && of.n % W == 0 && is_aligned<T, W>(from);
#pragma unroll 1
      for (int m = 0; m < p.n_kept; m = opaque(m + 1)) words &= p.mode[m].in[I] % W == 0;
    }
    if (words) {
      const auto all = int(blockDim.x) * W;
      auto at = begin(of, p.mode[mode].divisor, int(threadIdx.x) * W);
      const auto on = step_of(of, p.mode[mode].divisor, all);
#pragma unroll 8
      for (int i = int(threadIdx.x) * W; i < count; of.go(at, on), i += all) copy_ahead<W * sizeof(T)>(to + i, from + of.offset(at));
    } else {
      copy_words(of, p.mode[mode].divisor, from, to, place, count);
    }
    fetch_lines<kFound, I + 1>(Types<R...>{}, p, first, lines, places, mode, region + Room * int(sizeof(T)), place, count);
  }
  // A tile's element number i, which may be a few before the first.
  template <bool kFound, class Index>
  TCU_DEVICE static auto begin(const LinesOf<kFound, Index> &of, const Divisor &n, int i) {
    const int line = int(divide(Index(i + 16 * of.n), n)) - 16;
    return of.at(line, i - line * of.n);
  }
  template <bool kFound, class Index>
  TCU_DEVICE static auto step_of(const LinesOf<kFound, Index> &of, const Divisor &n, int elements) {
    const int lines = int(divide(Index(elements), n));
    return of.step(lines, elements - lines * of.n);
  }
  // W elements from where `at` is, of which only those from number `skip` on, before `end`, are the tile's.
  template <int W, class Lines, class At, class T>
  TCU_DEVICE static Vec<T, W> one_by_one(const Lines &of, At at, const T *from, int skip, int end) {
    Vec<T, W> e{};
    const auto on = of.step(0, 1);
#pragma unroll
    for (int w = 0; w < W; ++w, of.go(at, on))
      if (w >= skip && w < end) e.at[w] = Raw<T, 1>::load_one(from + of.offset(at)).get().at[0];
    return e;
  }
  // Words of single elements; the first and the last one have what is none of the tile's beside them.
  template <class Lines, class T>
  TCU_DEVICE static void copy_words(const Lines &of, const Divisor &n, const T *from, T *to, int place, int count) {
    constexpr int W = in_word(sizeof(T));
    const int all = int(blockDim.x) * W;
    int i = int(threadIdx.x) * W - place % W;
    auto at = begin(of, n, i);
    const auto on = step_of(of, n, all);
    const auto pass = [&] { of.go(at, on), i += all; };  // to the thread's next word
    const auto next = [&] {
      const Vec<T, W> e = one_by_one<W>(of, at, from, 0, W);
      pass();
      return e;
    };
    if (i < 0) store_vector(to + i, one_by_one<W>(of, at, from, -i, count - i)), pass();
    // Words that a thread has in flight. Of halves 16: scans of a view's lines took 0.84 to 0.89 of the time that they take with four (H200, float16, 130 MB).
    constexpr int kFew = 4, kMany = W == 2 ? 16 : kFew;
    while (i + (kMany - 1) * all + W <= count) put_words<kMany, true, W>(to + i, all, count - W - i, next);
    if constexpr (kMany > kFew)
      while (i + (kFew - 1) * all + W <= count) put_words<kFew, true, W>(to + i, all, count - W - i, next);
    while (i + W <= count) put_words<kFew, false, W>(to + i, all, count - W - i, next);
    if (i < count) store_vector(to + i, one_by_one<W>(of, at, from, 0, count - i));
  }
  TCU_DEVICE void read_from(Pack<V, Types<>> &, const char *, int) const {}
  template <class T, class... R>
  TCU_DEVICE void read_from(Pack<V, Types<T, R...>> &pack, const char *region, int place) const {
    pack.first = Raw<T, V>::staged(reinterpret_cast<const T *>(region) + place);
    read_from(pack.rest, region + Room * int(sizeof(T)), place);
  }
};

// A thread's places in a tile of `room` places that is scanned from its first to its last, or backwards. lo..hi-1 of them, counted from
// the thread's first, hold elements.
template <class Map, class F, class Out, int V, int Room>
struct TilePart {
  using State = typename F::State;
  using Value = typename F::Value;
  const Tile<typename Map::Inputs, Out, V, Room> &tile;
  int start, lo, hi, room;
  bool reverse;

  // Of `mine` places from `start` on; begin..end-1: those of the tile that hold elements.
  TCU_DEVICE TilePart(const Tile<typename Map::Inputs, Out, V, Room> &tile, int start, int mine, int begin, int end, int room, bool reverse)
      : tile(tile), start(start), lo(within(begin - start, mine)), hi(within(end - start, mine)), room(room), reverse(reverse) {}
  // Where the thread's k-th V places are in the tile, in the order of memory.
  TCU_DEVICE int place(int k) const { return reverse ? room - V - (start + k * V) : start + k * V; }
  // What they hold, in the order of memory; the identity where that is no element. whole: all are.
  template <class P>
  TCU_DEVICE void read(const P &p, int k, bool whole, State (&e)[V]) const {
    Pack<V, typename Map::Inputs> x;
    tile.read(x, place(k));
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int at = k * V + (reverse ? V - 1 - v : v);
      e[v] = F::identity();
      if (whole || (at >= lo && at < hi)) e[v] = F::lift(p, apply_at<Map>(p, x, v));
    }
  }
  // What V elements in the order of memory come to.
  TCU_DEVICE State folded(const State (&e)[V]) const {
    State sum = F::kCommutes ? e[0] : in_order(e, 0);
#pragma unroll
    for (int v = 1; v < V; ++v) sum = F::combine(sum, F::kCommutes ? e[v] : in_order(e, v));
    return sum;
  }
  // Results in the order of the scan, to its k-th V places, elements or not; nothing is read for them.
  template <class P>
  TCU_DEVICE void put(const P &p, int k, const Value (&y)[V]) const {
    Vec<Out, V> r;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const Value one = in_order(y, v);
      r.at[v] = tcu::convert<Out>(p.scales() ? m::mul(p.alpha.template as<Value>(), one) : one);
    }
    store_vector(tile.out() + place(k), r);
  }
  // The v-th in the order of the scan of V in that of memory, and the other way round.
  template <class T> TCU_DEVICE T in_order(const T (&e)[V], int v) const { return reverse ? e[V - 1 - v] : e[v]; }
  // f(k, whole) of the k-th V places, one after another, as far as there are elements. whole: all V are, and f is not to take them singly.
  template <class Do>
  TCU_DEVICE void each(bool singly, const Do &f) const {
#pragma unroll 1
    for (int k = lo / V; k * V < hi; ++k) {
      if (!singly && k * V >= lo) {
#pragma unroll 2
        for (; (k + 1) * V <= hi; ++k) f(k, true);
      }
      if (k * V < hi) f(k, false);
    }
  }

 private:
  TCU_DEVICE static int within(int n, int most) { return n < 0 ? 0 : n < most ? n : most; }
};

#endif
}  // namespace tcu::cuda
