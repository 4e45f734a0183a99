// What the scan kernels share: a line (the elements along the S mode at one place of the K modes) read and written V
// neighbours at a time in the order of the scan, and the scan of a row of threads.
#pragma once
#include "device/fold.cuh"
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// What a scan runs with. The accumulator is held as it is, for it comes out at every element.
//   Value                 what comes out
//   State, identity(), combine(a, b)    as in Fold, but that combine is commutative only where kCommutes says so
//   start(p)              what comes before a line's first element
//   lift(p, element)
//   value(state)          what comes out of a scan up to there
//   before(p, a, b)       what comes out of an exclusive one, after a, for the last element of those with state b
template <class Op, class Acc, class Position>
struct ScanFold : Fold<Op, Acc, Position, Acc> {
  static constexpr bool kCommutes = true;
  using Value = Acc;
  template <class P> TCU_DEVICE static Acc start(const P &p) { return p.init.template as<Acc>(); }
  template <class P, class E> TCU_DEVICE static Acc lift(const P &, E e) { return Acc(Op::template lift<Acc>(e)); }
  TCU_DEVICE static Acc value(Acc s) { return s; }
  template <class P> TCU_DEVICE static Acc before(const P &, Acc a, Acc) { return a; }
};

// What elements make of what comes before them, y: factor * y + term (Blelloch 1990, "Prefix Sums and Their Applications", 1.4.1).
template <class A>
struct Affine {
  A factor, term;
};
namespace fold {
struct recurrence;
template <class Op> struct segmented;
}
template <class Acc, class Position>
struct ScanFold<fold::recurrence, Acc, Position> {
  static constexpr bool kCommutes = false;
  using State = Affine<Acc>;
  using Value = Acc;
  TCU_DEVICE static State identity() { return {identity_prod<Acc>(), identity_sum<Acc>()}; }
  TCU_DEVICE static State combine(const State &a, const State &b) {
    return {m::mul(a.factor, b.factor), m::add(m::mul(b.factor, a.term), b.term)};
  }
  template <class P> TCU_DEVICE static State start(const P &p) { return {identity_prod<Acc>(), p.init.template as<Acc>()}; }
  template <class P, class E> TCU_DEVICE static State lift(const P &, const E &e) {
    return {tcu::convert<Acc>(e.first), tcu::convert<Acc>(e.rest.first)};
  }
  TCU_DEVICE static Acc value(const State &s) { return s.term; }
  template <class P> TCU_DEVICE static Acc before(const P &, const State &a, const State &) { return a.term; }
};

// The fold since the last element with which a segment begins (the same, 1.5), or of all.
template <class A>
struct SinceBegin {
  A value;
  uint32_t begins;  // bit 0: a segment does in these elements; bit 1: with the last of them
};
template <class Op, class Acc, class Position>
struct ScanFold<fold::segmented<Op>, Acc, Position> {
  static constexpr bool kCommutes = false;
  using Whole = ScanFold<Op, Acc, Position>;
  using State = SinceBegin<Acc>;
  using Value = Acc;
  TCU_DEVICE static State identity() { return {Whole::identity(), 0}; }
  TCU_DEVICE static State combine(const State &a, const State &b) {
    return {b.begins ? b.value : Whole::combine(a.value, b.value), (a.begins & 1) | b.begins};
  }
  template <class P> TCU_DEVICE static State start(const P &p) { return {Whole::start(p), 0}; }
  template <class P, class E> TCU_DEVICE static State lift(const P &p, const E &e) {
    const Acc x = Whole::lift(p, e.rest.first);
    const bool begins = tcu::convert<bool>(e.first);
    return {begins ? Whole::combine(Whole::start(p), x) : x, begins ? 3u : 0u};
  }
  TCU_DEVICE static Acc value(const State &s) { return s.value; }
  template <class P> TCU_DEVICE static Acc before(const P &p, const State &a, const State &b) {
    return b.begins & 2 ? Whole::start(p) : a.value;
  }
};

template <class Map, class F, class Out, class Index, int V>
struct Line {
  using State = typename F::State;
  using Value = typename F::Value;
  static constexpr int N = Map::Inputs::size;
  Offsets<N, Index> o;
  Index n;
  bool reverse, plain;  // plain: whole steps are one access of every operand

  TCU_DEVICE Line() {}

  template <class P>
  TCU_DEVICE Line(const P &p, Index line) : n(Index(p.folded)), reverse((p.flags & kReverse) != 0), plain(false) {
    decode(o, p, 0, p.n_kept, line);
    if constexpr (V > 1) {
      if (n >= V) {
        const Index at = memory(0, V);
        plain = p.mode[p.n_kept].out == 1 && is_aligned<Out, V>(static_cast<const Out *>(p.out) + (o.out + at)) &&
                find_accesses<V>(typename Map::Inputs{}, p, o, p.n_kept, at) == 0;
      }
    }
  }
  // plain: what all_plain(p) says.
  template <class P>
  TCU_DEVICE Line(const P &p, Index line, bool plain) : n(Index(p.folded)), reverse((p.flags & kReverse) != 0), plain(plain) {
    decode(o, p, 0, p.n_kept, line);
  }
  // Whether every line is whole vectors of every operand.
  template <class P>
  TCU_DEVICE static bool all_plain(const P &p) {
    bool plain = whole_vectors<V>(typename Map::Inputs{}, p, Offsets<N, Index>{}, p.n_kept, 0, p.n_kept) &&
                 p.mode[p.n_kept].out == 1 && is_aligned<Out, V>(static_cast<const Out *>(p.out));
#pragma unroll 1
    for (int m = 0; m < p.n_kept; m = opaque(m + 1)) plain &= p.mode[m].out % V == 0;
    return plain;
  }
  // Where the elements from..from+count-1 of the scan start in memory, in steps of the S mode.
  TCU_DEVICE Index memory(Index from, int count) const { return reverse ? n - from - count : from; }

  // Whether elements from..from+V-1 are one access of every operand.
  TCU_DEVICE bool whole(Index from) const { return V > 1 && plain && from + V <= n; }
  template <class P>
  TCU_DEVICE void fetch(const P &p, Index from, Pack<V, typename Map::Inputs> &x) const {
    load_pack<V, true>(x, p, o, p.n_kept, memory(from, V), 0);
  }
  // The same, to the second level cache: before the launch's turn.
  template <class P>
  TCU_DEVICE void look_ahead(const P &p, Index from) const {
    look_ahead_at<V>(typename Map::Inputs{}, p, o, p.n_kept, memory(from, V));
  }
  template <class P>
  TCU_DEVICE void lift(const P &p, const Pack<V, typename Map::Inputs> &x, State (&e)[V]) const {
    State t[V];
#pragma unroll
    for (int v = 0; v < V; ++v) t[v] = F::lift(p, apply_at<Map>(p, x, v));
#pragma unroll
    for (int v = 0; v < V; ++v) e[v] = reverse ? t[V - 1 - v] : t[v];
  }
  // Elements from..from+V-1; the identity past the end.
  template <class P>
  TCU_DEVICE void load(const P &p, Index from, State (&e)[V]) const {
    if (whole(from)) {
      Pack<V, typename Map::Inputs> x;
      fetch(p, from, x);
      lift(p, x, e);
    } else {
      load_singly(p, from, e);
    }
  }
  template <class P>
  TCU_DEVICE void load_singly(const P &p, Index from, State (&e)[V]) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      e[v] = F::identity();
      if (from + v < n) {
        Pack<1, typename Map::Inputs> x;
        load_pack<1, false>(x, p, o, p.n_kept, memory(from + v, 1), 0);
        e[v] = F::lift(p, apply_at<Map>(p, x, 0));
      }
    }
  }
  template <class P>
  TCU_DEVICE void store(const P &p, Index from, const Value (&y)[V]) const {
    if (whole(from)) store_whole(p, memory(from, V), y);
    else store_singly(p, from, y);
  }
  // at: in memory.
  template <class P>
  TCU_DEVICE void store_whole(const P &p, Index at, const Value (&y)[V]) const {
    Vec<Value, V> r;
#pragma unroll
    for (int v = 0; v < V; ++v) r.at[v] = reverse ? y[V - 1 - v] : y[v];
    tcu::cuda::store(p, static_cast<Out *>(p.out) + (o.out + at), r);
  }
  // Those of them that are of the line.
  template <class P>
  TCU_DEVICE void store_singly(const P &p, Index from, const Value (&y)[V]) const {
    const Index stride = Index(p.mode[p.n_kept].out);
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (from + v >= 0 && from + v < n) store_one<Out>(p, o.out + memory(from + v, 1) * stride, y[v]);
  }
};

// Items of V elements of `lanes` neighbouring lanes each. In place: e[k][v] becomes the fold of e[k][0..v]; below[k]: the
// fold of the lanes below, in item k (in lane 0 it is the lane's own and means nothing); all[k]: that of all lanes. The items
// do not wait for each other. Every lane of the warp calls it.
template <class F, int V, int K>
TCU_DEVICE void scan_lanes(typename F::State (&e)[K][V], typename F::State (&below)[K], typename F::State (&all)[K], int lane,
                           int lanes) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int v = 1; v < V; ++v) e[k][v] = F::combine(e[k][v - 1], e[k][v]);
    all[k] = e[k][V - 1];
  }
#pragma unroll 1
  for (int h = 1; h < lanes; h *= 2) {
#pragma unroll
    for (int k = 0; k < K; ++k) below[k] = shuffle_up(all[k], h, lanes);
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (lane >= h) all[k] = F::combine(below[k], all[k]);
  }
#pragma unroll
  for (int k = 0; k < K; ++k) below[k] = shuffle_up(all[k], 1, lanes);
#pragma unroll
  for (int k = 0; k < K; ++k) all[k] = shuffle(all[k], lanes - 1, lanes);
}

// What is stored, y, of e as scan_lanes leaves it.
template <class F, int V, class P>
TCU_DEVICE void put_before(const P &p, const typename F::State (&e)[V], typename F::State before, bool exclusive,
                           typename F::Value (&y)[V]) {
#pragma unroll
  for (int v = 0; v < V; ++v)
    y[v] = exclusive ? F::before(p, v == 0 ? before : F::combine(before, e[v > 0 ? v - 1 : 0]), e[v]) : F::value(F::combine(before, e[v]));
}

}  // namespace tcu::cuda
#endif
