// How broadcast.dense and broadcast.periodic read: V neighbouring elements of a dense out, which lie in one of its rows or in two. A row
// is a run along the fastest mode, of V elements at least.
#pragma once
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// From element `column` of a row on, of which `left` are in this row and the others in the next.
template <int N, class Index>
struct Place {
  Index column, left;
  Offsets<N, Index> here, next;  // of the two rows

  template <class P>
  TCU_DEVICE Place(const P &p, Index column) : column(column), left(Index(p.mode[0].extent) - column) {}
  template <int V, class P>
  TCU_DEVICE void move(const P &p, Index row) {
    here = {}, next = {};
    if (p.n_kept == 2) {  // the common case
      advance(here, p.mode[1], row);
      advance(next, p.mode[1], row + 1);
    } else {
      decode(here, p, 1, p.n_kept, row);
      if (left < V) decode(next, p, 1, p.n_kept, row + 1);
    }
  }
};

// Of an input that is the same all along a row this row's element and the next one's. They stay two words until they are used: one made of
// both, or one that may be the other, would wait for the first while the second, and what follows, could be under way.
template <class T>
struct InTwoRows {
  Raw<T, 1> here, next;
};
// What was read for V elements; kOnce: the inputs, a bit each, that are the same all along a row.
template <int V, class Inputs, unsigned kOnce> struct RowPack;
template <int V, unsigned kOnce> struct RowPack<V, Types<>, kOnce> {};
template <int V, class T, class... R, unsigned kOnce> struct RowPack<V, Types<T, R...>, kOnce> {
  select_t<(kOnce & 1) != 0, InTwoRows<T>, Raw<T, V>> first;
  RowPack<V, Types<R...>, (kOnce >> 1)> rest;
};

// The inputs of kOnly; those whose bit in `apart` is set in the row that the element is in, the others, which are laid out as out is, as
// vectors, from element `at` of out on.
template <int V, unsigned kOnly = ~0u, int I = 0, unsigned kOnce, class P, int N, class Index>
TCU_DEVICE void load_rows(RowPack<V, Types<>, kOnce> &, const P &, const Place<N, Index> &, Index, unsigned) {}
template <int V, unsigned kOnly = ~0u, int I = 0, unsigned kOnce, class P, int N, class Index, class T, class... R>
TCU_DEVICE void load_rows(RowPack<V, Types<T, R...>, kOnce> &pack, const P &p, const Place<N, Index> &to, Index at, unsigned apart) {
  const T *const from = static_cast<const T *>(p.in[I]);
  if constexpr (!(kOnly >> I & 1)) {
  } else if constexpr (kOnce & 1) {
    const Index here = to.here.in[I], next = to.left < V ? to.next.in[I] : here;
    pack.first = {Raw<T, 1>::load_one(from + here), Raw<T, 1>::load_one(from + next)};
  } else if (apart >> I & 1) {
    const Index stride = Index(p.mode[0].in[I]);
    const T *const here = from + (to.here.in[I] + to.column * stride), *const next = from + (to.next.in[I] - to.left * stride);
    if (stride == 1 && to.left >= V) {
      pack.first = load_anywhere<V>(here, to.column, to.left);
    } else {
      Vec<T, V> e;
#pragma unroll
      for (int v = 0; v < V; ++v) e.at[v] = (v < to.left ? here : next)[v * stride];
      pack.first = Raw<T, V>::of(e);
    }
  } else {
    pack.first = Raw<T, V>::load(from + at);
  }
  load_rows<V, kOnly, I + 1>(pack.rest, p, to, at, apart);
}

template <class Map, class P, int V, unsigned kOnce, class Index, class... X>
TCU_DEVICE typename Map::Element apply_in_rows(const P &p, const RowPack<V, Types<>, kOnce> &, int, Index, X... x) {
  return Map::apply(p, x...);
}
template <class Map, class P, int V, unsigned kOnce, class Index, class T, class... R, class... X>
TCU_DEVICE typename Map::Element apply_in_rows(const P &p, const RowPack<V, Types<T, R...>, kOnce> &pack, int v, Index left, X... x) {
  using C = compute_t<T>;
  if constexpr (kOnce & 1) {
    const C here = tcu::convert<C>(pack.first.here.get().at[0]), next = tcu::convert<C>(pack.first.next.get().at[0]);
    return apply_in_rows<Map>(p, pack.rest, v, left, x..., v < left ? here : next);
  } else {
    return apply_in_rows<Map>(p, pack.rest, v, left, x..., tcu::convert<C>(pack.first.get().at[v]));
  }
}

template <class Map, class Acc, class Out, int V, unsigned kOnce, class P, class Index>
TCU_DEVICE void put_rows(const P &p, const RowPack<V, typename Map::Inputs, kOnce> &x, Index left, Index at) {
  put_elements<Map, Acc, Out, V>(p, at, [&](int v) { return apply_in_rows<Map>(p, x, v, left); });
}
// Elements at, at + 1, ... n - 1 of out, one by one.
template <class Map, class Acc, class Out, class P, class Index>
TCU_DEVICE void put_singles(const P &p, Index at, Index n) {
#pragma unroll 1
  for (; at < n; ++at) {
    Pack<1, typename Map::Inputs> x;
    Offsets<Map::Inputs::size, Index> o;
    decode(o, p, 0, p.n_kept, at);
    load_pack<1, false>(x, p, o, 0, Index(0), 0);
    put_pack<Map, Acc, Out>(p, x, at);
  }
}

}  // namespace tcu::cuda
#endif
