// What reductions and scans fold with: the ops of reduce_ops.def, and states that travel between threads.
#pragma once
#include "device/intrinsics.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Op is a struct of namespace fold, Acc the accumulator's type. Position: int32_t or int64_t.
//   State              what is folded: Acc, or a rank and a position
//   identity(), lift(element, position), combine(a, b)    combine is associative up to rounding, and commutative
//   append(a, element, position)    combine(a, lift(element, position)) for an element after all that a holds
//   post(state)        what alpha and beta are applied to
template <class Op, class Acc, class Position>
struct Fold {
  static constexpr bool kPositions = false;
  using State = Acc;
  using Post = Acc;
  TCU_DEVICE static State identity() { return Op::template identity<Acc>(); }
  template <class E> TCU_DEVICE static State lift(E e, Position) { return Op::template lift<Acc>(e); }
  template <class E> TCU_DEVICE static State append(State a, E e, Position at) { return combine(a, lift(e, at)); }
  TCU_DEVICE static State combine(State a, State b) { return Op::combine(a, b); }
  TCU_DEVICE static Post post(State s) { return s; }
};

// A whole number for each value, in the values' order: -0 below +0, and NaN above all.
template <class T>
TCU_DEVICE auto ranked(T x) {
  if constexpr (is_float<T>) {
    using Rank = select_t<is_same<T, float>, int32_t, int64_t>;
    const Rank bits = __builtin_bit_cast(Rank, x);
    return x != x ? limits<Rank>::max() : Rank(bits ^ ((bits >> (8 * sizeof(T) - 1)) & limits<Rank>::max()));
  } else if constexpr (is_same<T, bool>) {
    return uint8_t(bool_bits(x));
  } else {
    return x;
  }
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
  static constexpr bool kPositions = true;
  using Rank = decltype(ranked(Acc{}));
  using State = Best<Rank, Position>;
  using Post = int64_t;
  TCU_DEVICE static State identity() { return {limits<Rank>::lowest(), limits<Position>::max()}; }
  template <class E> TCU_DEVICE static State lift(E e, Position at) { return {Op::rank(tcu::convert<Acc>(e)), at}; }
  template <class E> TCU_DEVICE static State append(State a, E e, Position at) {
    const State b = lift(e, at);
    return b.rank > a.rank ? b : a;
  }
  TCU_DEVICE static State combine(State a, State b) {
    return (b.rank > a.rank) | ((b.rank == a.rank) & (b.position < a.position)) ? b : a;
  }
  TCU_DEVICE static Post post(State s) { return s.position == limits<Position>::max() ? 0 : int64_t(s.position); }
};

namespace fold {
struct converts {
  template <class A, class E> TCU_DEVICE static A lift(E e) { return tcu::convert<A>(e); }
};
struct sum : converts {
  template <class A> TCU_DEVICE static A identity() { return identity_sum<A>(); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return m::add(a, b); }
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
struct count {
  template <class A> TCU_DEVICE static A identity() { return A(0); }
  template <class A, class E> TCU_DEVICE static A lift(E e) { return tcu::convert<A>(tcu::convert<bool>(e)); }
  template <class A> TCU_DEVICE static A combine(A a, A b) { return m::add(a, b); }
};
struct argmax {
  template <class A> TCU_DEVICE static auto rank(A x) { return ranked(x); }
};
struct argmin {  // the order turned round, but for NaN
  template <class A> TCU_DEVICE static auto rank(A x) {
    const auto r = ranked(x);
    return x != x ? r : decltype(r)(~r);
  }
};
}  // namespace fold

template <class Op, class Acc, class Position> struct fold_of { using type = Fold<Op, Acc, Position>; };
template <class A, class P> struct fold_of<fold::argmax, A, P> { using type = ArgFold<fold::argmax, A, P>; };
template <class A, class P> struct fold_of<fold::argmin, A, P> { using type = ArgFold<fold::argmin, A, P>; };
template <class Op, class Acc, class Position> using fold_t = typename fold_of<Op, Acc, Position>::type;

// A thread's V states as one, by a tree.
template <class F, int V>
TCU_DEVICE typename F::State combine_all(typename F::State (&s)[V]) {
#pragma unroll
  for (int h = V / 2; h > 0; h /= 2)
#pragma unroll
    for (int v = 0; v < h; ++v) s[v] = F::combine(s[v], s[v + h]);
  return s[0];
}

// The states of each group of `lanes` neighbouring threads, a power of two that divides the block, as one, by a tree.
// Every thread of the block calls it; the result is right in each group's first thread. shared: 32 states.
template <class F>
TCU_DEVICE typename F::State combine_group(typename F::State s, int lanes, typename F::State *shared) {
#pragma unroll 1
  for (int h = (lanes < 32 ? lanes : 32) / 2; h > 0; h /= 2) s = F::combine(s, shuffle_xor(s, h));
  if (lanes <= 32) return s;
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, warps = lanes / 32;
  __syncthreads();  // the last call's states may still be being read
  if (lane == 0) shared[warp] = s;
  __syncthreads();
  s = lane < warps ? shared[warp / warps * warps + lane] : F::identity();
#pragma unroll 1
  for (int h = warps / 2; h > 0; h /= 2) s = F::combine(s, shuffle_xor(s, h));
  return s;
}

}  // namespace tcu::cuda
#endif
