// The element function of a kernel ("Map") and how it is fed.
//   struct Map {
//     using Inputs = Types<f16_t, float>;          // as stored
//     using Element = float;                       // compute type of the result
//     template <class P> TCU_FN static Element apply(const P &p, float x0, float x1);   // on compute types
//     using More = Types<f16_t, bool>;             // only where there are several results, and Element is a Several: the others as stored
//   };
// Code generated at run time has one of these (codegen.cpp); those below are shipped.
#pragma once
#include "device/intrinsics.cuh"
#include "device/params.cuh"

namespace tcu::cuda {

template <class... T>
struct Types {
  static constexpr int size = sizeof...(T);
};

template <int I, class T> struct nth_type;
template <int I, class T, class... R> struct nth_type<I, Types<T, R...>> : nth_type<I - 1, Types<R...>> {};
template <class T, class... R> struct nth_type<0, Types<T, R...>> { using type = T; };
template <int I, class Inputs> using nth_of = typename nth_type<I, Inputs>::type;
template <class Inputs> using first_of = nth_of<0, Inputs>;

template <class T> struct largest_of;
template <> struct largest_of<Types<>> { static constexpr int bytes = 1; };
template <class T, class... R> struct largest_of<Types<T, R...>> {
  static constexpr int rest = largest_of<Types<R...>>::bytes;
  static constexpr int bytes = int(sizeof(T)) > rest ? int(sizeof(T)) : rest;
};
template <class Inputs> inline constexpr int least_of = 16;  // bytes of the narrowest
template <class T, class... R>
inline constexpr int least_of<Types<T, R...>> = int(sizeof(T)) < least_of<Types<R...>> ? int(sizeof(T)) : least_of<Types<R...>>;
// Elements of one step, such that no operand's access passes 16 bytes.
template <class Inputs, class Out = bool>
inline constexpr int kVector = 16 / (largest_of<Inputs>::bytes > int(sizeof(Out)) ? largest_of<Inputs>::bytes : int(sizeof(Out)));
// Vectors of a run from which on those that begin anywhere are read as two words each (load_anywhere): of shorter ones nearly every warp
// would have an end of the run, and go both ways.
inline constexpr int kLongRun = 64;

// What an expression leaves that leaves several values.
template <class T, class... R>
struct Several {
  T first;
  Several<R...> rest;
};
template <class T>
struct Several<T> {
  T first;
};

template <class More> inline constexpr int bytes_of_each = 0;
template <class... T> inline constexpr int bytes_of_each<Types<T...>> = (int(sizeof(T)) + ... + 0);
// Words that V elements of each of a map's results but the first are.
template <class Map, int V>
TCU_FN constexpr int words_beside() {
  if constexpr (requires { typename Map::More; }) return (V * bytes_of_each<typename Map::More> + 3) / 4;
  else return 0;
}
// Words that V elements take of the inputs in `which`, a bit each; of those in kOnce there are `each` elements.
template <int V, unsigned kOnce, int each = 1, class... T>
TCU_FN constexpr int words_read(unsigned which, Types<T...>) {
  int i = 0, words = 0;
  ((words += which >> i & 1 ? ((kOnce >> i & 1 ? each : V) * int(sizeof(T)) + 3) / 4 : 0, ++i), ...);
  return words;
}
// Blocks of so many threads that a multiprocessor is to hold where it can hold `most` of a map with one result: so few that a thread has
// registers for the others too, which are beside twice what the first is computed in, or three eighths of all. (With 32 registers
// broadcast.flat spilled 72 bytes of float16 with a float64 beside it, 96 of four float16, nothing of four float32.)
template <class Map, class Acc, int V>
TCU_FN constexpr int map_blocks(int most, int threads = kThreads) {
  constexpr int kBeside = words_beside<Map, V>(), kFirst = 2 * V * int(sizeof(Acc)) / 4 + 12;
  while (most > 1 && kBeside > 0 && (kFirst + kBeside) * most * threads > 65536) most /= 2;
  while (most > 1 && kBeside * most * threads > 65536 * 3 / 8) most /= 2;
  return most;
}

// Whether an element takes so little that registers leave room for all of a multiprocessor's threads.
template <class Map, class Acc> inline constexpr bool is_light = Map::Inputs::size <= 3 && sizeof(Acc) <= 4;

// The i-th number that the expression takes by value.
template <class T, class P>
TCU_FN T parameter(const P &p, int i) {
  return p.parameter[i].template as<T>();
}

template <class T>
struct Identity {
  using Inputs = Types<T>;
  using Element = compute_t<T>;
  template <class P> TCU_FN static Element apply(const P &, Element x) { return x; }
};
// Whether a map is its only input as it is.
template <class Map> inline constexpr bool is_identity = false;
template <class T> inline constexpr bool is_identity<Identity<T>> = true;

#if defined(TCU_KERNELS)

// V elements of every input, each as it was read: as one word where that is one access. It is taken apart where an element is
// used, not where it is read: taking it apart waits for it, and other loads are to be under way meanwhile.
// kOnce: the inputs, a bit each, that are one element all along the vector; of these there is that one.
template <int V, class Inputs, unsigned kOnce = 0> struct Pack;
template <int V, unsigned kOnce> struct Pack<V, Types<>, kOnce> {};
template <int V, class T, class... R, unsigned kOnce> struct Pack<V, Types<T, R...>, kOnce> {
  Raw<T, kOnce & 1 ? 1 : V> first;
  Pack<V, Types<R...>, (kOnce >> 1)> rest;
};

// A bool of any byte: what was read past the end, where that does no harm, may be no bool.
template <class T> TCU_DEVICE T loaded(const T &x) {
  if constexpr (is_bool<T>) return reinterpret_cast<const unsigned char &>(x) != 0;
  else return x;
}
// Element v of what was read, as it is computed in. Of 8-bit floats the conversion is of two: neighbours share it.
template <class T, int V>
TCU_DEVICE compute_t<T> computed(const Raw<T, V> &x, int v) {
  if constexpr (is_short_float<T> && sizeof(T) == 1 && V % 4 == 0) {
    const uint32_t two = halves_of<T>(__builtin_bit_cast(Words<V / 4>, x.get()).at[v / 4], v / 2 % 2);
    return widen(f16_t{uint16_t(v % 2 ? two >> 16 : two)});
  } else {
    return tcu::convert<compute_t<T>>(loaded(x.get().at[v]));
  }
}
template <class Map, class P, int V, unsigned kOnce, class... X>
TCU_DEVICE typename Map::Element apply_at(const P &p, const Pack<V, Types<>, kOnce> &, int, X... x) {
  return Map::apply(p, x...);
}
template <class Map, class P, int V, unsigned kOnce, class T, class... R, class... X>
TCU_DEVICE typename Map::Element apply_at(const P &p, const Pack<V, Types<T, R...>, kOnce> &pack, int v, X... x) {
  return apply_at<Map>(p, pack.rest, v, x..., computed(pack.first, kOnce & 1 ? 0 : v));
}

// Offsets of every operand, in elements.
template <int N, class Index>
struct Offsets {
  Index out = 0, weight = 0;
  Index in[N > 0 ? N : 1] = {};
};

template <int N, class Index, class M>
TCU_DEVICE void advance(Offsets<N, Index> &o, const M &mode, Index by) {
  o.out += by * Index(mode.out);
  o.weight += by * Index(mode.weight);
#pragma unroll
  for (int i = 0; i < N; ++i) o.in[i] += by * Index(mode.in[i]);
}

// The same by what `linear` is in this mode, the fastest of several; what it is in the others.
template <int N, class Index, class M>
TCU_DEVICE Index advance_part(Offsets<N, Index> &o, const M &mode, Index linear) {
  const Index q = divide(linear, mode.divisor);
  advance(o, mode, linear - q * Index(mode.extent));
  return q;
}

// Adds to o what the linear index over modes first..last-1 stands for.
template <int N, class Index, class P>
TCU_DEVICE void decode(Offsets<N, Index> &o, const P &p, int first, int last, Index linear) {
  if (first + 1 == last) return advance(o, p.mode[first], linear);  // the common case, mostly at a place known beforehand
  if (first == last) return;
  linear = advance_part(o, p.mode[first], linear);  // so is this one
  int m = first + 1;
#pragma unroll 1
  for (; m + 1 < last; m = opaque(m + 1)) linear = advance_part(o, p.mode[m], linear);
  advance(o, p.mode[m], linear);
}

// Loads elements at, at+1, ... of `mode` of every input. kPlain: all are contiguous there and aligned. Otherwise an input
// whose bit in `accesses` is set is read element by element, or, with a stride of 0, once: then spread_pack is to follow. (Where the
// pack's type says so, in kOnce, nothing is to follow.)
// kStreamed: what is read is used once. kOnly: the inputs, a bit each, that are loaded; the others stay what they are.
template <int V, bool kPlain, bool kStreamed = false, unsigned kOnly = ~0u, int I = 0, unsigned kOnce, class P, int N, class Index>
TCU_DEVICE void load_pack(Pack<V, Types<>, kOnce> &, const P &, const Offsets<N, Index> &, int, Index, unsigned) {}
template <int V, bool kPlain, bool kStreamed = false, unsigned kOnly = ~0u, int I = 0, unsigned kOnce, class P, int N, class Index, class T,
          class... R>
TCU_DEVICE void load_pack(Pack<V, Types<T, R...>, kOnce> &pack, const P &p, const Offsets<N, Index> &o, int mode, Index at,
                          unsigned accesses) {
  const T *from = static_cast<const T *>(p.in[I]) + o.in[I];
  if constexpr (!(kOnly >> I & 1)) {
  } else if constexpr (kOnce & 1) {
    pack.first = Raw<T, 1>::load_one(from);
  } else if constexpr (V == 1) {
    pack.first = Raw<T, V>::of({{from[at * Index(p.mode[mode].in[I])]}});
  } else if (kPlain || !(accesses >> I & 1)) {
    pack.first = Raw<T, V>::template load<kStreamed>(from + at);
  } else {
    const Index stride = Index(p.mode[mode].in[I]);
    Vec<T, V> e = {};
    e.at[0] = from[at * stride];
    if (stride != 0) {
#pragma unroll
      for (int v = 1; v < V; ++v) e.at[v] = from[(at + v) * stride];
    }
    pack.first = Raw<T, V>::of(e);
  }
  load_pack<V, kPlain, kStreamed, kOnly, I + 1>(pack.rest, p, o, mode, at, accesses);
}
// Whether input I has an element for every place. What many have in common they would all ask for, one after another: the sum of a matrix
// and a row of 1000, float16, took twice the time.
template <int I, class P>
TCU_DEVICE bool has_every_mode(const P &p) {
  bool all = true;
#pragma unroll 1
  for (int m = 0; m < p.n_kept + p.n_folded; ++m) all &= p.mode[m].in[I] != 0;
  return all;
}
// What load_pack will load first: vectors i, i + lanes, ..., as many as Items, of the `end` ones from element `from` on, to the second level cache.
// Before a launch's turn. Of threads side by side those ask whose vector may be the first of a line of memory.
template <int V, int Items, unsigned kOnce = 0, int I = 0, class P, int N, class Index>
TCU_DEVICE void look_ahead(Types<>, const P &, const Offsets<N, Index> &, int, Index, Index, Index, int) {}
template <int V, int Items, unsigned kOnce = 0, int I = 0, class P, int N, class Index, class T, class... R>
TCU_DEVICE void look_ahead(Types<T, R...>, const P &p, const Offsets<N, Index> &o, int mode, Index from, Index i, Index end, int lanes) {
  constexpr int kInLine = 128 / (V * int(sizeof(T)));
  if constexpr (!(kOnce >> I & 1)) {
#pragma unroll 1
    for (int k = int(threadIdx.x) % kInLine == 0 && (N == 1 || has_every_mode<I>(p)) ? 0 : Items; k < Items && i + k * lanes < end; ++k)
      ask_ahead(static_cast<const T *>(p.in[I]) + o.in[I] + (from + (i + k * lanes) * V) * Index(p.mode[mode].in[I]));
  }
  look_ahead<V, Items, kOnce, I + 1>(Types<R...>{}, p, o, mode, from, i, end, lanes);
}
// The same, of the vector at `element`.
template <int V, unsigned kOnce = 0, class Inputs, class P, int N, class Index>
TCU_DEVICE void look_ahead_at(Inputs inputs, const P &p, const Offsets<N, Index> &o, int mode, Index element) {
  look_ahead<V, 1, kOnce>(inputs, p, o, mode, element, Index(0), Index(1), 0);
}
// V neighbours, of 8 or 16 bytes, that begin `over` bytes after the first of two aligned words, which they lie in.
template <int V, class T>
TCU_DEVICE Raw<T, V> put_together(const Raw<T, V> &low, const Raw<T, V> &high, unsigned over) {
  constexpr int n = V * int(sizeof(T)) / 4;
  struct Two {
    Raw<T, V> low, high;
  };
  const auto w = __builtin_bit_cast(Words<2 * n>, Two{low, high});
  unsigned x[2 * n];
#pragma unroll
  for (int i = 0; i < 2 * n; ++i) x[i] = n == 4 && i + 2 < 2 * n && (over & 8) ? w.at[i + 2 < 2 * n ? i + 2 : i] : w.at[i];
  Words<n> y;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const unsigned one = over & 4 ? x[i + 1] : x[i], next = over & 4 ? x[i + 2] : x[i + 1];
    y.at[i] = sizeof(T) == 4 ? one : funnel_right(one, next, over % 4 * 8);
  }
  return __builtin_bit_cast(Raw<T, V>, y);
}
// V neighbours wherever they begin: the two aligned words that they lie in, put together, where both are of the run that `before` elements
// before the first and `after` from it on belong to, else one by one, as in short runs. (Of four elements and fewer two words are no gain.)
template <int V, class T, class Index>
TCU_DEVICE Raw<T, V> load_anywhere(const T *from, Index before, Index after) {
  constexpr int kBytes = V * int(sizeof(T));
  const unsigned over = unsigned(reinterpret_cast<uint64_t>(from)) % kBytes;
  if (over == 0) return Raw<T, V>::load(from);
  if constexpr (V >= 8) {
    const int skew = int(over / sizeof(T));
    if (before + after >= kLongRun * V && before >= skew && after >= 2 * V - skew)
      return put_together<V, T>(Raw<T, V>::load(from - skew), Raw<T, V>::load(from - skew + V), over);
  }
  Vec<T, V> e;
#pragma unroll
  for (int v = 0; v < V; ++v) e.at[v] = from[v];
  return Raw<T, V>::of(e);
}
// Gives every element of an input that was read once its value.
template <int V, int I = 0, class P>
TCU_DEVICE void spread_pack(Pack<V, Types<>> &, const P &, int, unsigned) {}
template <int V, int I = 0, class P, class T, class... R>
TCU_DEVICE void spread_pack(Pack<V, Types<T, R...>> &pack, const P &p, int mode, unsigned accesses) {
  if (V > 1 && (accesses >> I & 1) && p.mode[mode].in[I] == 0) {
    Vec<T, V> e = pack.first.get();
#pragma unroll
    for (int v = 1; v < V; ++v) e.at[v] = e.at[0];
    pack.first = Raw<T, V>::of(e);
  }
  spread_pack<V, I + 1>(pack.rest, p, mode, accesses);
}

// Bit i is set where input i cannot be read as vectors from element `at` of `mode` on. (Those of kOnce need not be.)
template <int V, unsigned kOnce = 0, int I = 0, class P, int N, class Index>
TCU_DEVICE unsigned find_accesses(Types<>, const P &, const Offsets<N, Index> &, int, Index) {
  return 0;
}
template <int V, unsigned kOnce = 0, int I = 0, class P, int N, class Index, class T, class... R>
TCU_DEVICE unsigned find_accesses(Types<T, R...>, const P &p, const Offsets<N, Index> &o, int mode, Index at) {
  const bool plain = kOnce >> I & 1 || (p.mode[mode].in[I] == 1 && is_aligned<T, V>(static_cast<const T *>(p.in[I]) + (o.in[I] + at)));
  return unsigned(!plain) << I | find_accesses<V, kOnce, I + 1>(Types<R...>{}, p, o, mode, at);
}

// The same, wherever modes first..last-1 lead from o.
template <int V, unsigned kOnce = 0, class Inputs, class P, int N, class Index>
TCU_DEVICE unsigned find_accesses(Inputs, const P &p, const Offsets<N, Index> &o, int mode, Index at, int first, int last) {
  unsigned accesses = find_accesses<V, kOnce>(Inputs{}, p, o, mode, at);
#pragma unroll 1
  for (int m = first; m < last; m = opaque(m + 1))
#pragma unroll
    for (int i = 0; i < N; ++i) accesses |= unsigned(p.mode[m].in[i] % V != 0) << i;
  return accesses & ~kOnce;
}

// Whether mode `mode` is whole vectors of every input, wherever modes first..last-1 lead from o.
template <int V, class Inputs, class P, int N, class Index>
TCU_DEVICE bool whole_vectors(Inputs, const P &p, const Offsets<N, Index> &o, int mode, int first, int last) {
  if (V == 1 || N == 0 || Index(p.mode[mode].extent) % V != 0) return false;
  return find_accesses<V>(Inputs{}, p, o, mode, Index(0), first, last) == 0;
}

template <int V, class Post, class P>
TCU_DEVICE void scale(const P &p, Vec<Post, V> &r) {
  if (!p.scales()) return;
#pragma unroll
  for (int v = 0; v < V; ++v) r.at[v] = m::mul(p.alpha.template as<Post>(), r.at[v]);
}
template <int V, class Out, class Post>
TCU_DEVICE void store_converted(Out *to, const Vec<Post, V> &r) {
  Vec<Out, V> y;
#pragma unroll
  for (int v = 0; v < V; ++v) y.at[v] = tcu::convert<Out>(r.at[v]);
  store_vector(to, y);
}
// out = alpha * value + beta * out and the cast to what is stored, for V neighbours or one element. The first question is for what most calls have,
// neither: the others' answers alone the compiler makes predicates of, and every vector goes through all of it.
template <int V, class Out, class Post, class P>
TCU_DEVICE void store(const P &p, Out *to, Vec<Post, V> r) {
  if (V == 1 || (p.flags & (kScales | kReadsOut)) != 0) {
    scale(p, r);
    if (p.reads_out()) {
      const auto old = __builtin_bit_cast(Vec<Out, V>, *reinterpret_cast<const word_t<Out, V> *>(to));
#pragma unroll
      for (int v = 0; v < V; ++v)
        r.at[v] = m::add(r.at[v], m::mul(p.beta.template as<Post>(), tcu::convert<Post>(old.at[v])));
    }
  }
  store_converted(to, r);
}
// The same where out is known not to be read. Of single elements, in a loop, the compiler would ask for each (scans of 101 and 151 columns of float16 take
// 0.84 and 0.865 of the time); of vectors the question above is enough.
template <int V, class Out, class Post, class P>
TCU_DEVICE void overwrite(const P &p, Out *to, Vec<Post, V> r) {
  if constexpr (V > 1) return store(p, to, r);
  scale(p, r);
  store_converted(to, r);
}
template <class Out, class Post, class P, class Index>
TCU_DEVICE void store_one(const P &p, Index offset, Post value) {
  store(p, static_cast<Out *>(p.out) + offset, Vec<Post, 1>{{value}});
}
// V neighbours to wherever that is.
template <class T, int V>
TCU_DEVICE void store_anywhere(T *to, const Vec<T, V> &x) {
  constexpr int W = V * int(sizeof(T)) > 16 ? 16 / int(sizeof(T)) : V;  // elements of one access
  if (is_aligned<T, W>(to)) {
#pragma unroll
    for (int v = 0; v < V; v += W) {
      Vec<T, W> part;
#pragma unroll
      for (int w = 0; w < W; ++w) part.at[w] = x.at[v + w];
      store_vector(to + v, part);
    }
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v) to[v] = x.at[v];
  }
}
// V neighbours of each of a map's results but the first, as stored.
template <int V, class More> struct Others {};
template <int V, class T, class... R> struct Others<V, Types<T, R...>> {
  Vec<T, V> first;
  Others<V, Types<R...>> rest;

  template <class E>
  TCU_DEVICE void set(int v, const E &values) {
    first.at[v] = tcu::convert<T>(values.first);
    if constexpr (sizeof...(R) > 0) rest.set(v, values.rest);
  }
  // N: the map's inputs, behind which the pointers are. I: which of the others the first of these is.
  template <int N, int I = 0, class P, class Index>
  TCU_DEVICE void store(const P &p, Index at) const {
    void *to;
    if constexpr (I == 0) to = p.second;
    else to = const_cast<void *>(p.in[N + I - 1]);
    store_anywhere(static_cast<T *>(to) + at, first);
    if constexpr (sizeof...(R) > 0) rest.template store<N, I + 1>(p, at);
  }
};
// What `element(v)` comes to for V neighbours, to element `at` of out and those after it; of a map with several results, to all of them.
template <class Map, class Acc, class Out, int V, class P, class Index, class E>
TCU_DEVICE void put_elements(const P &p, Index at, E element) {
  Vec<Acc, V> y;
  Out *const to = static_cast<Out *>(p.out) + at;
  if constexpr (requires { typename Map::More; }) {
    Others<V, typename Map::More> others;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const auto all = element(v);
      y.at[v] = tcu::convert<Acc>(all.first), others.set(v, all.rest);
    }
    others.template store<Map::Inputs::size>(p, at);
    store(p, to, y);
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v) y.at[v] = tcu::convert<Acc>(element(v));
    store(p, to, y);
  }
}
// Whether what is read of a map's only input is stored as it is; and to store it so.
template <class Map, class Out, class P>
TCU_DEVICE bool is_copied(const P &p) { return is_same<Map, Identity<Out>> && (p.flags & (kScales | kReadsOut)) == 0; }
template <int V, class T, class... R, unsigned kOnce, class Out>
TCU_DEVICE void copy_pack(const Pack<V, Types<T, R...>, kOnce> &x, Out *to) {
  if constexpr (is_same<T, Out>) store_vector(to, x.first.get());
}
// The same of the expression of V elements that were read. What is copied as it is, is not taken apart.
template <class Map, class Acc, class Out, int V, unsigned kOnce, class P, class Index>
TCU_DEVICE void put_pack(const P &p, const Pack<V, typename Map::Inputs, kOnce> &x, Index at) {
  if constexpr (is_same<Map, Identity<Out>> && kOnce == 0) {
    if (is_copied<Map, Out>(p)) return copy_pack(x, static_cast<Out *>(p.out) + at);
  }
  put_elements<Map, Acc, Out, V>(p, at, [&](int v) { return apply_at<Map>(p, x, v); });
}
// Params of a call that sets no flag, to those that ask for them.
struct NoFlags {
  static constexpr int32_t flags = 0;
  double correction;
};
// What a fold F of n elements comes to. Short segments have few instructions for each: the common case asks for its flags once.
template <class F, class Out, class P, class Index>
TCU_DEVICE void store_result(const P &p, Index offset, typename F::State state, int64_t n) {
  if ((p.flags & ~kFloods) == 0) {
    const auto value = F::post(NoFlags{p.correction}, state, n);
    store_vector(static_cast<Out *>(p.out) + offset, Vec<Out, 1>{{tcu::convert<Out>(value)}});
  } else store_one<Out>(p, offset, F::post(p, state, n));
  if constexpr (F::kSecond) static_cast<typename F::Second *>(p.second)[offset] = tcu::convert<typename F::Second>(F::second(state));
}

#endif  // TCU_KERNELS

// ---- shipped maps ----

// Whether it is that, or a few additions and products (generated maps say so): little beside what moves.
template <class Map> inline constexpr bool is_brief = is_identity<Map> || requires { requires Map::kBrief; };

// One op of one or two inputs of dtype In, computed in Operand.
template <class F, class In, class Operand, class Result>
struct Unary {
  using Inputs = Types<In>;
  using Element = Result;
  template <class P> TCU_FN static Element apply(const P &, compute_t<In> x) { return F::apply(tcu::convert<Operand>(x)); }
};
template <class F, class In, class Operand, class Result>
struct Binary {
  using Inputs = Types<In, In>;
  using Element = Result;
  template <class P> TCU_FN static Element apply(const P &, compute_t<In> x, compute_t<In> y) {
    return F::apply(tcu::convert<Operand>(x), tcu::convert<Operand>(y));
  }
};

#if defined(TCU_KERNELS)
// A map whose code is too long to stand once for every element that a thread has in flight.
template <class Map, class P, class... X>
__device__ __noinline__ typename Map::Element called(X... x) {
  struct Nothing {};
  return Map::apply(Nothing{}, x...);
}
template <class Map>
struct Called {
  using Inputs = typename Map::Inputs;
  using Element = typename Map::Element;
  template <class P, class... X> TCU_DEVICE static Element apply(const P &, X... x) { return called<Map, void>(x...); }
};
#endif

}  // namespace tcu::cuda
