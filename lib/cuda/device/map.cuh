// The element function of a kernel ("Map") and how it is fed.
//   struct Map {
//     using Inputs = Types<f16_t, float>;          // as stored
//     using Element = float;                       // compute type of the result
//     template <class P> TCU_FN static Element apply(const P &p, float x0, float x1);   // on compute types
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

template <class T> struct largest_of;
template <> struct largest_of<Types<>> { static constexpr int bytes = 1; };
template <class T, class... R> struct largest_of<Types<T, R...>> {
  static constexpr int rest = largest_of<Types<R...>>::bytes;
  static constexpr int bytes = int(sizeof(T)) > rest ? int(sizeof(T)) : rest;
};
// Elements of one step, such that no operand's access passes 16 bytes.
template <class Inputs, class Out = bool>
inline constexpr int kVector = 16 / (largest_of<Inputs>::bytes > int(sizeof(Out)) ? largest_of<Inputs>::bytes : int(sizeof(Out)));

// The i-th number that the expression takes by value.
template <class T, class P>
TCU_FN T parameter(const P &p, int i) {
  return p.parameter[i].template as<T>();
}

#if defined(TCU_KERNELS)

// V elements of every input.
template <int V, class Inputs> struct Pack;
template <int V> struct Pack<V, Types<>> {};
template <int V, class T, class... R> struct Pack<V, Types<T, R...>> {
  Vec<T, V> first;
  Pack<V, Types<R...>> rest;
};

template <class Map, class P, int V, class... X>
TCU_DEVICE typename Map::Element apply_at(const P &p, const Pack<V, Types<>> &, int, X... x) {
  return Map::apply(p, x...);
}
template <class Map, class P, int V, class T, class... R, class... X>
TCU_DEVICE typename Map::Element apply_at(const P &p, const Pack<V, Types<T, R...>> &pack, int v, X... x) {
  return apply_at<Map>(p, pack.rest, v, x..., tcu::convert<compute_t<T>>(pack.first.at[v]));
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

template <class M>
TCU_DEVICE int32_t divide(int32_t n, const M &mode) {
#if defined(__CUDA_ARCH__) || defined(TCU_EMULATOR)
  return int32_t((__umulhi(uint32_t(n), mode.multiplier) + uint32_t(n)) >> mode.shift);
#else
  return n / int32_t(mode.extent);
#endif
}
template <class M>
TCU_DEVICE int64_t divide(int64_t n, const M &mode) {
  return n / mode.extent;
}

// Adds to o what the linear index over modes first..last-1 stands for.
template <int N, class Index, class P>
TCU_DEVICE void decode(Offsets<N, Index> &o, const P &p, int first, int last, Index linear) {
#pragma unroll 1
  for (int m = first; m < last; ++m) {
    Index at = linear;
    if (m + 1 < last) {
      const Index q = divide(linear, p.mode[m]);
      at = linear - q * Index(p.mode[m].extent);
      linear = q;
    }
    advance(o, p.mode[m], at);
  }
}

// Loads elements at, at+1, ... of `mode` of every input. kPlain: all are contiguous there and aligned.
template <int V, bool kPlain, int I = 0, class P, int N, class Index>
TCU_DEVICE void load_pack(Pack<V, Types<>> &, const P &, const Offsets<N, Index> &, int, Index, unsigned) {}
template <int V, bool kPlain, int I = 0, class P, int N, class Index, class T, class... R>
TCU_DEVICE void load_pack(Pack<V, Types<T, R...>> &pack, const P &p, const Offsets<N, Index> &o, int mode, Index at,
                          unsigned accesses) {
  const T *from = static_cast<const T *>(p.in[I]) + o.in[I];
  if constexpr (V == 1) {
    pack.first.at[0] = from[at * Index(p.mode[mode].in[I])];
  } else if constexpr (kPlain) {
    pack.first = load_vector<V>(from + at);
  } else {
    if (!(accesses >> I & 1)) {
      pack.first = load_vector<V>(from + at);
    } else {
      const Index stride = Index(p.mode[mode].in[I]);  // 0: the same element V times, out of the cache
#pragma unroll
      for (int v = 0; v < V; ++v) pack.first.at[v] = from[(at + v) * stride];
    }
  }
  load_pack<V, kPlain, I + 1>(pack.rest, p, o, mode, at, accesses);
}

// Bit i is set where input i cannot be read as vectors from element `at` of `mode` on.
template <int V, int I = 0, class P, int N, class Index>
TCU_DEVICE unsigned find_accesses(Types<>, const P &, const Offsets<N, Index> &, int, Index) {
  return 0;
}
template <int V, int I = 0, class P, int N, class Index, class T, class... R>
TCU_DEVICE unsigned find_accesses(Types<T, R...>, const P &p, const Offsets<N, Index> &o, int mode, Index at) {
  const bool plain = p.mode[mode].in[I] == 1 && is_aligned<T, V>(static_cast<const T *>(p.in[I]) + (o.in[I] + at));
  return unsigned(!plain) << I | find_accesses<V, I + 1>(Types<R...>{}, p, o, mode, at);
}

// out = alpha * value + beta * out and the cast to what is stored, for V neighbours or one element.
template <int V, class Out, class Post, class P>
TCU_DEVICE void store(const P &p, Out *to, Vec<Post, V> r) {
  if (p.scales()) {
#pragma unroll
    for (int v = 0; v < V; ++v) r.at[v] = m::mul(p.alpha.template as<Post>(), r.at[v]);
  }
  if (p.reads_out()) {
    const Vec<Out, V> old = load_vector<V>(to);
#pragma unroll
    for (int v = 0; v < V; ++v)
      r.at[v] = m::add(r.at[v], m::mul(p.beta.template as<Post>(), tcu::convert<Post>(old.at[v])));
  }
  Vec<Out, V> y;
#pragma unroll
  for (int v = 0; v < V; ++v) y.at[v] = tcu::convert<Out>(r.at[v]);
  store_vector(to, y);
}
template <class Out, class Post, class P, class Index>
TCU_DEVICE void store_one(const P &p, Index offset, Post value) {
  store(p, static_cast<Out *>(p.out) + offset, Vec<Post, 1>{{value}});
}

#endif  // TCU_KERNELS

// ---- shipped maps ----

template <class T>
struct Identity {
  using Inputs = Types<T>;
  using Element = compute_t<T>;
  template <class P> TCU_FN static Element apply(const P &, Element x) { return x; }
};

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
