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
  // `count` elements of lines from number `first` on, one after another from `place` on, wherever mode `lines` has them in memory: single elements or
  // words of 4 bytes, neighbours by neighbouring threads.
  template <class P, class Index>
  TCU_DEVICE void fetch_lines(const P &p, int lines, int mode, Index first, int place, int count) const {
    fetch_lines<0>(Inputs{}, p, lines, mode, first, start, place, count);
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
  template <int I, class P, class Index>
  TCU_DEVICE void fetch_lines(Types<>, const P &, int, int, Index, char *, int, int) const {}
  template <int I, class P, class Index, class T, class... R>
  TCU_DEVICE void fetch_lines(Types<T, R...>, const P &p, int lines, int mode, Index first, char *region, int place, int count) const {
    constexpr int W = sizeof(T) < 4 ? 4 / int(sizeof(T)) : 1;  // elements of a word of shared memory
    const Index apart = Index(p.mode[lines].in[I]), stride = Index(p.mode[mode].in[I]);
    const int n = int(p.mode[mode].extent);
    const T *const from = opaque(static_cast<const T *>(p.in[I]) + first * apart);
    T *const to = reinterpret_cast<T *>(region) + place;
    // Element `column` of a line lies at from[o]; the next one, or that after so many lines and elements of one.
    struct Walk {
      int column;
      Index o;
    };
    const Index back = apart - Index(n) * stride;  // from behind a line's end to the next line
    const auto step = [&](Walk &at, int columns, Index by) {
      at.column += columns, at.o += by;
      if (at.column >= n) at.column -= n, at.o += back;
    };
    const int start = int(threadIdx.x) * W - place % W, all = int(blockDim.x) * W;
    // Of the first thread's word the first elements may be of lines before the tile, W of these at most.
    const int line = int(divide(Index(start + W * n), p.mode[mode].divisor)) - W, lines_on = int(divide(Index(all), p.mode[mode].divisor));
    Walk at{start - line * n, Index(line) * apart + Index(start - line * n) * stride};
    const int columns = all - lines_on * n;
    const Index by = Index(lines_on) * apart + Index(columns) * stride;
    const bool words = alignof(T) == sizeof(T) && (W == 1 || (stride == 1 && place % W == 0 && n % W == 0 && apart % W == 0 && is_aligned<T, W>(from)));
    int i = start;
    const auto pass = [&] { step(at, columns, by), i += all; };  // to the thread's next word
    if (words) {
#pragma unroll 8
      for (; i < count; pass()) copy_ahead<W * sizeof(T)>(to + i, from + at.o);
    } else {  // words of single elements; the first and the last one have what is none of these beside them
      const auto word = [&](Walk one, int skip, int end) {
        Vec<T, W> e{};
#pragma unroll
        for (int w = 0; w < W; ++w, step(one, 1, stride))
          if (w >= skip && w < end) e.at[w] = Raw<T, 1>::load_one(from + one.o).get().at[0];
        return e;
      };
      const auto next = [&] {
        const Vec<T, W> e = word(at, 0, W);
        pass();
        return e;
      };
      if (i < 0) store_vector(to + i, word(at, -i, count - i)), pass();
      // Words that a thread has in flight. Of halves 16: scans of a view's lines took 0.84 to 0.89 of the time that they take with four (H200, float16, 130 MB).
      constexpr int kFew = 4, kMany = W == 2 ? 16 : kFew;
      while (i + (kMany - 1) * all + W <= count) put_words<kMany, true, W>(to + i, all, count - W - i, next);
      if constexpr (kMany > kFew)
        while (i + (kFew - 1) * all + W <= count) put_words<kFew, true, W>(to + i, all, count - W - i, next);
      while (i + W <= count) put_words<kFew, false, W>(to + i, all, count - W - i, next);
      if (i < count) store_vector(to + i, word(at, 0, count - i));
    }
    fetch_lines<I + 1>(Types<R...>{}, p, lines, mode, first, region + Room * int(sizeof(T)), place, count);
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
