// What reductions and scans fold with: the ops of reduce_ops.def, and states that travel between threads.
#pragma once
#include "core/scalar_state.h"
#include "device/bytes.cuh"
#include "device/keys.cuh"
#include "device/params.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Op is a struct of namespace fold, Acc the accumulator's type. Position: int32_t or int64_t.
//   kPositions         positions count
//   kCuts              additions are of float32, and cut off what is small against what there is
//   kAppends           neighbours are appended one after another, which is less work than to combine them as a tree
//   State              what is folded: Acc (held_t), a rank and a position, or several numbers (core/scalar_state.h)
//   identity(), lift(element, position), combine(a, b)    combine is associative up to rounding, and commutative
//   append(a, element, position)    combine(a, lift(element, position)) for an element after all that a holds
//   append_all(a, elements)         the same of several, where F appends
//   add(a, element, position)       the same for any element
//   kNarrow<E>         sums of 8 and 16 bits in 64: some of them are an int32_t, added up of narrow(element)
//   Bytes<E>           void, or what folds 8-bit elements in words of four (device/bytes.cuh)
//   Keys<E>            void, or what finds the first best of several elements (device/keys.cuh)
//   post(p, state, n)  what alpha and beta are applied to; n: how many elements the state holds
//   beyond(s, by)      of positions: that of the same elements `by` further on
//   kSecond            there is a second result, second(state), stored as a Second (store_result)
namespace fold {
struct sum;
struct max;
struct min;
struct count;
struct norm;
struct argmin;
}  // namespace fold
template <class Op, class T> struct word_fold { using type = void; };
template <class T> struct word_fold<fold::sum, T> { using type = SumOfBytes<T>; };
template <class T> struct word_fold<fold::max, T> { using type = ExtremeOfBytes<T, true>; };
template <class T> struct word_fold<fold::min, T> { using type = ExtremeOfBytes<T, false>; };
// What an accumulator is folded in: registers have 32 bits, and what is narrower would be cut off at every step.
template <class Acc> using held_t = select_t<(sizeof(Acc) < 4), int32_t, Acc>;
template <class Op, class Acc, class Position, class Held = held_t<Acc>>
struct Fold {
  template <class E>
  static constexpr bool kNarrow = is_same<Op, fold::count> || (is_same<Op, fold::sum> && is_integral<Acc> && sizeof(Acc) == 8 &&
                                                               is_integral<E> && sizeof(E) <= 2);
  template <class E> TCU_DEVICE static int32_t narrow(E e) {
    if constexpr (is_same<Op, fold::count>) return tcu::convert<bool>(e);
    else return tcu::convert<int32_t>(e);
  }
  static constexpr bool kPositions = false, kAppends = false, kSecond = false;
  static constexpr bool kCuts = is_same<Held, float> && (is_same<Op, fold::sum> || is_same<Op, fold::norm>);
  template <class E> using Bytes = select_t<is_integral<Acc> && !is_bool<Acc> && is_integral<E> && !is_bool<E> && sizeof(E) == 1,
                                            typename word_fold<Op, E>::type, void>;
  template <class E> using Keys = void;
  using State = Held;
  using Post = Acc;
  TCU_DEVICE static State identity() { return State(Op::template identity<Acc>()); }
  template <class E> TCU_DEVICE static State lift(E e, Position) { return State(Op::template lift<Acc>(e)); }
  template <class E> TCU_DEVICE static State append(State a, E e, Position at) { return combine(a, lift(e, at)); }
  template <class E> TCU_DEVICE static State add(State a, E e, Position at) { return combine(a, lift(e, at)); }
  TCU_DEVICE static State combine(State a, State b) { return Op::combine(a, b); }
  template <class P> TCU_DEVICE static Post post(const P &p, State s, int64_t n) { return Op::post(p, Acc(s), n); }
};
// The same for a state of several numbers, `S` of core/scalar_state.h.
template <class Op, class S, class Acc, class Position>
struct StateFold {
  template <class E> static constexpr bool kNarrow = false;
  template <class E> using Bytes = void;
  template <class E> using Keys = void;
  static constexpr bool kPositions = false, kCuts = false, kAppends = true, kSecond = false;
  using State = S;
  using Post = Acc;
  TCU_DEVICE static State identity() { return S::identity(); }
  template <class E> TCU_DEVICE static State lift(E e, Position) { return S::lift(tcu::convert<Acc>(e)); }
  template <class E> TCU_DEVICE static State append(State a, E e, Position) { return S::append(a, tcu::convert<Acc>(e)); }
  template <class E> TCU_DEVICE static State add(State a, E e, Position) { return S::append(a, tcu::convert<Acc>(e)); }
  template <class E, int n> TCU_DEVICE static State append_all(State a, const E (&e)[n]) {
    Acc x[n];
#pragma unroll
    for (int i = 0; i < n; ++i) x[i] = tcu::convert<Acc>(e[i]);
    return S::append(a, x);
  }
  TCU_DEVICE static State combine(State a, State b) { return S::combine(a, b); }
  template <class P> TCU_DEVICE static Post post(const P &p, State s, int64_t n) { return Op::post(p, s, n); }
  TCU_DEVICE static Acc second(State s) { return Op::second(s); }
};

// A whole number for each value, in the values' order: -0 below +0, and NaN above all. Those of 8- and 16-bit types are signed numbers of as many
// bits (device/keys.cuh).
template <class T> inline constexpr bool kShortRank = is_short_float<T> || (is_int<T> && sizeof(T) <= 2);
template <class T>
using rank_t = select_t<is_same<T, double>, int64_t, select_t<is_same<T, float> || kShortRank<T>, int32_t, select_t<is_same<T, bool>, uint8_t, T>>>;
template <class T> inline constexpr bool kHasNaN = is_float<T> || is_short_float<T>;
template <class T> inline constexpr rank_t<T> kRankOfNaN = is_short_float<T> ? rank_t<T>(0x7fff) : limits<rank_t<T>>::max();
template <class T> inline constexpr int32_t kRankOfZero = is_signed_int<T> ? 0 : -(1 << (8 * sizeof(T) - 1));  // of a short integer
template <class T>
TCU_DEVICE rank_t<T> ranked(T x) {
  using Rank = rank_t<T>;
  if constexpr (is_float<T>) {
    const Rank bits = __builtin_bit_cast(Rank, x);
    return x != x ? kRankOfNaN<T> : Rank(bits ^ ((bits >> (8 * sizeof(T) - 1)) & limits<Rank>::max()));
  } else if constexpr (is_short_float<T>) {
    constexpr int kInfinity = is_same<T, f16_t> ? 0x7c00 : 0x7f80;
    const Rank bits = __builtin_bit_cast(int16_t, x);
    return (bits & 0x7fff) > kInfinity ? kRankOfNaN<T> : bits ^ ((bits >> 15) & 0x7fff);
  } else if constexpr (kShortRank<T>) {
    return Rank(x) + kRankOfZero<T>;
  } else if constexpr (is_same<T, bool>) {
    return uint8_t(bool_bits(x));
  } else {
    return x;
  }
}
// The number of type T that has this rank; of NaN one of them.
template <class T, class Rank>
TCU_DEVICE T unranked(Rank r) {
  if constexpr (is_float<T>) return __builtin_bit_cast(T, Rank(r ^ ((r >> (8 * sizeof(T) - 1)) & limits<Rank>::max())));
  else if constexpr (is_short_float<T>) return __builtin_bit_cast(T, int16_t(r ^ ((r >> 15) & 0x7fff)));
  else if constexpr (kShortRank<T>) return T(r - kRankOfZero<T>);
  else return T(r);
}
template <class Rank, class Position>
struct Best {
  Rank rank;
  Position position;
};
// The first best, the first NaN before it. An identity's position is past every element's; it stays only where every element
// ranks lowest, and then the first is the answer.
template <class Op, class Acc, class Position>
struct ArgFold {
  template <class E> static constexpr bool kNarrow = false;
  template <class E> using Bytes = void;
  // Of elements that are ranked as they are: a key has the rank that a state has.
  template <class E>
  using Keys = select_t<is_same<E, Acc> && ((is_int<E> && sizeof(E) <= 2) || is_same<E, f16_t> || is_same<E, bf16_t>),
                        KeysOf<E, is_same<Op, fold::argmin>>, void>;
  static constexpr bool kPositions = true, kCuts = false, kAppends = false, kSecond = false;
  using Rank = rank_t<Acc>;
  using State = Best<Rank, Position>;
  using Post = int64_t;
  TCU_DEVICE static State identity() { return {limits<Rank>::lowest(), limits<Position>::max()}; }
  template <class E> TCU_DEVICE static State lift(E e, Position at) { return {Op::rank(tcu::convert<Acc>(e)), at}; }
  template <class E> TCU_DEVICE static State append(State a, E e, Position at) { return later(a, lift(e, at)); }
  template <class E> TCU_DEVICE static State add(State a, E e, Position at) { return combine(a, lift(e, at)); }
  // Of elements that all come after those of a.
  TCU_DEVICE static State later(State a, State b) { return b.rank > a.rank ? b : a; }
  TCU_DEVICE static State combine(State a, State b) {
    return (b.rank > a.rank) | ((b.rank == a.rank) & (b.position < a.position)) ? b : a;
  }
  // What was so far into something that begins `by` further on.
  TCU_DEVICE static State beyond(State s, Position by) {
    if (s.position != limits<Position>::max()) s.position += by;
    return s;
  }
  template <class P> TCU_DEVICE static Post post(const P &, State s, int64_t) {
    return s.position == limits<Position>::max() ? 0 : int64_t(s.position);
  }
  TCU_DEVICE static Acc second(State s) { return Op::template value<Acc>(s.rank); }
};

namespace fold {
struct is_result {
  template <class P, class A> TCU_DEVICE static A post(const P &, A s, int64_t) { return s; }
};
struct converts : is_result {
  template <class A, class E> TCU_DEVICE static A lift(E e) { return tcu::convert<A>(e); }
};
struct sum : converts {
  template <class A> TCU_DEVICE static A identity() { return identity_sum<A>(); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return m::add(a, b); }
  template <class P, class A> TCU_DEVICE static A post(const P &p, A s, int64_t n) {
    if constexpr (is_float<A> || is_complex<A>) return p.flags & kMean ? divided(s, n) : s;
    else return s;
  }
};
struct prod : converts {
  template <class A> TCU_DEVICE static A identity() { return identity_prod<A>(); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return m::mul(a, b); }
};
struct max : converts {
  template <class A> TCU_DEVICE static A identity() { return identity_max<A>(); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return m::max(a, b); }
};
struct min : converts {
  template <class A> TCU_DEVICE static A identity() { return identity_min<A>(); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return m::min(a, b); }
};
struct any : converts {
  template <class A> TCU_DEVICE static A identity() { return A(0); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return A(a | b); }
};
struct all : converts {
  template <class A> TCU_DEVICE static A identity() { return A(1); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return A(a & b); }
};
struct count : is_result {
  template <class A> TCU_DEVICE static A identity() { return A(0); }
  template <class A, class E> TCU_DEVICE static A lift(E e) { return tcu::convert<A>(tcu::convert<bool>(e)); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return m::add(a, b); }
};
struct norm : sum {
  template <class A, class E> TCU_DEVICE static A lift(E e) {
    if constexpr (is_complex<E>) return m::abs2(tcu::convert<complex_t<A>>(e));
    else return m::abs2(tcu::convert<A>(e));
  }
  template <class P, class A> TCU_DEVICE static A post(const P &, A s, int64_t) { return m::sqrt(s); }
};
struct var {
  template <class P, class A> TCU_DEVICE static A post(const P &p, const Moments<A> &s, int64_t n) {
    const A v = s.variance(n, p.correction);
    return p.flags & kRoot ? m::sqrt(v) : v;
  }
  template <class A> TCU_DEVICE static A second(const Moments<A> &s) { return s.center(); }
};
struct logsumexp {
  template <class P, class A> TCU_DEVICE static A post(const P &p, const LogSum<A> &s, int64_t n) {
    return p.flags & kNoLog ? s.relative(n) : s.value();
  }
  template <class A> TCU_DEVICE static A second(const LogSum<A> &s) { return s.greatest(); }
};
struct extrema {
  template <class P, class A> TCU_DEVICE static A post(const P &, const Extrema<A> &s, int64_t) { return s.min; }
  template <class A> TCU_DEVICE static A second(const Extrema<A> &s) { return s.max; }
};
struct argmax {
  template <class A> TCU_DEVICE static auto rank(A x) { return ranked(x); }
  template <class A, class R> TCU_DEVICE static A value(R rank) {
    if (kHasNaN<A> && rank == limits<R>::lowest()) return tcu::convert<A>(identity_max<compute_t<A>>());  // no element ranks as low
    return unranked<A>(rank);
  }
};
struct argmin {  // the order turned round, but for NaN
  template <class A> TCU_DEVICE static auto rank(A x) {
    const auto r = ranked(x);
    return kHasNaN<A> && r == kRankOfNaN<A> ? r : decltype(r)(~r);
  }
  template <class A, class R> TCU_DEVICE static A value(R rank) {
    if (kHasNaN<A> && rank == limits<R>::lowest()) return tcu::convert<A>(identity_min<compute_t<A>>());
    return unranked<A>(kHasNaN<A> && rank == kRankOfNaN<A> ? rank : R(~rank));
  }
};
// Op, with its second result stored as an S.
template <class Op, class S> struct both {};
}  // namespace fold

template <class Op, class Acc, class Position> struct fold_of { using type = Fold<Op, Acc, Position>; };
template <class A, class P> struct fold_of<fold::var, A, P> { using type = StateFold<fold::var, Moments<A>, A, P>; };
template <class A, class P> struct fold_of<fold::logsumexp, A, P> { using type = StateFold<fold::logsumexp, LogSum<A>, A, P>; };
template <class A, class P> struct fold_of<fold::argmax, A, P> { using type = ArgFold<fold::argmax, A, P>; };
template <class A, class P> struct fold_of<fold::argmin, A, P> { using type = ArgFold<fold::argmin, A, P>; };
template <class A, class P> struct fold_of<fold::extrema, A, P> { using type = StateFold<fold::extrema, Extrema<A>, A, P>; };
template <class F, class S>
struct BothFold : F {
  static constexpr bool kSecond = true;
  using Second = S;
};
template <class Op, class S, class A, class P> struct fold_of<fold::both<Op, S>, A, P> {
  using type = BothFold<typename fold_of<Op, A, P>::type, S>;
};
template <class Op, class Acc, class Position> using fold_t = typename fold_of<Op, Acc, Position>::type;

// resident_blocks of a kernel whose threads hold V states.
template <class F, int V>
TCU_FN constexpr int resident(int most) {
  return resident_blocks(most, F::kAppends, V, sizeof(typename F::State), sizeof(typename F::Post));
}

// A thread's V states as one, by a tree.
template <class F, int V>
TCU_DEVICE typename F::State combine_all(typename F::State (&s)[V]) {
#pragma unroll
  for (int h = V / 2; h > 0; h /= 2)
#pragma unroll
    for (int v = 0; v < h; ++v) s[v] = F::combine(s[v], s[v + h]);
  return s[0];
}

// The states of each group of `lanes` neighbouring threads, a power of two up to a warp, as one, by a tree. Every thread of the warp calls it.
template <class F>
TCU_DEVICE typename F::State combine_lanes(typename F::State s, int lanes) {
#pragma unroll 1
  for (int h = lanes / 2; h > 0; h /= 2) s = F::combine(s, shuffle_xor(s, h));
  return s;
}
// The same, of up to a block. Every thread of the block calls it; the result is right in each group's first thread. shared: 32 states.
template <class F>
TCU_DEVICE typename F::State combine_group(typename F::State s, int lanes, typename F::State *shared) {
  s = combine_lanes<F>(s, lanes < 32 ? lanes : 32);
  if (lanes <= 32) return s;
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, warps = lanes / 32;
  __syncthreads();  // the last call's states may still be being read
  if (lane == 0) shared[warp] = s;
  __syncthreads();
  return combine_lanes<F>(lane < warps ? shared[warp - remainder(warp, warps) + lane] : F::identity(), warps);
}

}  // namespace tcu::cuda
#endif
