// What reductions and scans fold with: the ops of reduce_ops.def, and states that travel between threads.
#pragma once
#include "device/intrinsics.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Op is a struct of namespace fold, Acc the accumulator's type. Position: int32_t or int64_t.
//   State              what is folded: Acc, or Acc with a position
//   identity(), lift(element, position), combine(a, b)    combine is associative up to rounding, and commutative
//   post(state)        what alpha and beta are applied to
template <class Op, class Acc, class Position>
struct Fold {
  using State = Acc;
  using Post = Acc;
  TCU_DEVICE static State identity() { return Op::template identity<Acc>(); }
  template <class E> TCU_DEVICE static State lift(E e, Position) { return Op::template lift<Acc>(e); }
  TCU_DEVICE static State combine(State a, State b) { return Op::combine(a, b); }
  TCU_DEVICE static Post post(State s) { return s; }
};

template <class Acc, class Position>
struct Best {
  Acc value;
  Position position;
};
// The first best, the first NaN before it. An identity's position is past every element's.
template <class Op, class Acc, class Position>
struct ArgFold {
  using State = Best<Acc, Position>;
  using Post = int64_t;
  TCU_DEVICE static State identity() { return {Op::template identity<Acc>(), limits<Position>::max()}; }
  template <class E> TCU_DEVICE static State lift(E e, Position at) { return {tcu::convert<Acc>(e), at}; }
  TCU_DEVICE static State combine(State a, State b) {
    const bool later = Op::beats(b.value, a.value);
    const bool tie = !later & !Op::beats(a.value, b.value) & (b.position < a.position);
    return (later | tie) ? b : a;
  }
  TCU_DEVICE static Post post(State s) { return int64_t(s.position); }
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
  template <class A> TCU_DEVICE static A identity() { return identity_max<A>(); }
  template <class A> TCU_DEVICE static bool beats(A y, A x) { return m::beats_max(y, x); }
};
struct argmin {
  template <class A> TCU_DEVICE static A identity() { return identity_min<A>(); }
  template <class A> TCU_DEVICE static bool beats(A y, A x) { return m::beats_min(y, x); }
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
