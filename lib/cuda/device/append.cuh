// Several elements of an output onto a thread's state: a vector along a row, or one of each of several rows.
#pragma once
#include "device/fold.cuh"
#include "device/map.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// What folds the bytes of the only input as they were read, or void.
template <class F, class Map, bool = is_identity<Map>> struct bytes_fold { using type = void; };
template <class F, class Map> struct bytes_fold<F, Map, true> { using type = typename F::template Bytes<first_of<typename Map::Inputs>>; };
template <class F, class Map> using bytes_fold_t = typename bytes_fold<F, Map>::type;
template <class F, class Map> inline constexpr bool kByBytes = !is_same<bytes_fold_t<F, Map>, void>;
// Likewise, what finds the first best of the only input's elements.
template <class F, class Map, bool = is_identity<Map>> struct keys_of { using type = void; };
template <class F, class Map> struct keys_of<F, Map, true> { using type = typename F::template Keys<first_of<typename Map::Inputs>>; };
template <class F, class Map> using keys_of_t = typename keys_of<F, Map>::type;
template <class F, class Map> inline constexpr bool kByKeys = !is_same<keys_of_t<F, Map>, void>;
template <class Keys, int V> inline constexpr bool kInWords = V % Keys::kEach == 0;
template <int V> inline constexpr bool kInWords<void, V> = false;
template <class F, class Map, int V> inline constexpr bool kHasKeys = kInWords<keys_of_t<F, Map>, V>;  // of V elements, whole words
// Whether several elements are put together before they meet the state.
template <class F, class Map>
inline constexpr bool kTogether = kByBytes<F, Map> || kByKeys<F, Map> || F::kAppends || F::template kNarrow<typename Map::Element>;

// Bytes of registers that n states take.
template <class F> TCU_FN constexpr int register_bytes(int n) { return n * int(sizeof(typename F::State)); }
// States that a thread folds V elements of one output onto: enough that no addition waits for the last one, and that the errors of a
// sum grow slowly; not so many that no registers are left for loads.
template <class F, class Map, int V>
TCU_FN constexpr int states_of_one(int most_bytes = 32) {
  int n = kTogether<F, Map> ? 1 : V;
  while (register_bytes<F>(n) > (F::kPositions ? 16 : most_bytes) && n > 1) n /= 2;
  return n;
}

// The key of the first best of several vectors, each of which comes after those before it.
template <class F, class Map, int V, unsigned kOnce, int Items>
TCU_DEVICE int32_t first_best(const Pack<V, typename Map::Inputs, kOnce> (&x)[Items]) {
  using Keys = keys_of_t<F, Map>;
  constexpr int kWords = V / Keys::kEach, kLast = Items * V - 1;
  static_assert(kLast < Keys::kMost);
  unsigned best[2] = {Keys::kNone, Keys::kNone};
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const auto words = __builtin_bit_cast(Words<kWords>, x[k].first.word);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const unsigned ranks = Keys::ranks(words.at[w]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int first = kLast - (k * V + w * Keys::kEach + half);
        best[half] = Keys::greater(best[half], Keys::keys(ranks, half, first, first - 2));
      }
    }
  }
  return Keys::greatest(Keys::greater(best[0], best[1]));
}
// It onto a state.
template <class F, class Map, bool kInOrder, int V, unsigned kOnce, int Items, class P, class Index>
TCU_DEVICE void append_first_best(const P &p, typename F::State &s, const Pack<V, typename Map::Inputs, kOnce> (&x)[Items],
                                  const Index (&position)[Items], const Index (&at)[Items]) {
  const int32_t best = first_best<F, Map>(x);
  const int i = Items * V - 1 - keys_of_t<F, Map>::after(best);
  const Index weight = Index(p.mode[p.n_kept].weight);
  Index where = position[0] + at[0] * weight;
#pragma unroll
  for (int k = 1; k < Items; ++k)
    if (i >= k * V) where = position[k] + at[k] * weight;
  where += (i % V) * weight;
  const typename F::State b = {keys_of_t<F, Map>::rank(best), where};
  if constexpr (kInOrder) s = F::later(s, b);
  else s = F::combine(s, b);
}

// The same of V outputs, a row after the other, as far from each as the next from it. That some output has a better one than before is found
// first: there seldom is.
template <class F, class Map, int V, unsigned kOnce, int Items, class Index>
TCU_DEVICE void append_rows_by_keys(typename F::State (&s)[V], const Pack<V, typename Map::Inputs, kOnce> (&x)[Items],
                                    const Index (&position)[Items]) {
  using Keys = keys_of_t<F, Map>;
  constexpr int kWords = (V + Keys::kEach - 1) / Keys::kEach, kHalves = V > 1 ? 2 : 1;
  unsigned best[kWords][kHalves];
#pragma unroll
  for (int k = Items - 1; k >= 0; --k) {  // the last first: else ptxas puts loads after what is done with the first ones
    const auto words = words_of(x[k].first);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const unsigned ranks = Keys::ranks(words.at[w]);
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        const unsigned keys = Keys::keys(ranks, half, Items - 1 - k, Items - 1 - k);
        best[w][half] = k == Items - 1 ? keys : Keys::greater(best[w][half], keys);
      }
    }
  }
  const auto key = [&](int v) { return Keys::key(best[v / Keys::kEach][v % 2], v % Keys::kEach / 2); };
  bool better = false;
#pragma unroll
  for (int v = 0; v < V; ++v) better |= Keys::rank(key(v)) > s[v].rank;
  if (!better) return;
  const Index apart = position[1] - position[0];
#pragma unroll
  for (int v = 0; v < V; ++v)
    s[v] = F::later(s[v], {Keys::rank(key(v)), position[Items - 1] - Index(Keys::after(key(v))) * apart});
}

// V elements of one output, from element `at` of a row on: number v onto state v % S. kInOrder: they come after all that s holds.
template <class F, class Map, bool kInOrder, int V, unsigned kOnce, int S, class P, class Index>
TCU_DEVICE void append_vector(const P &p, typename F::State (&s)[S], const Pack<V, typename Map::Inputs, kOnce> &x, Index position, Index at) {
  using State = typename F::State;
  if constexpr (V % 4 == 0 && kByBytes<F, Map>) {
    const auto words = __builtin_bit_cast(Words<V / 4>, x.first.word);
    s[0] = F::combine(s[0], State(bytes_fold_t<F, Map>::across(words.at)));
  } else if constexpr (kHasKeys<F, Map, V>) {
    append_first_best<F, Map, kInOrder>(p, s[0], {x}, {position}, {at});
  } else if constexpr (V > 1 && F::template kNarrow<typename Map::Element>) {
    int32_t sum = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) sum += F::narrow(apply_at<Map>(p, x, v));
    s[0] = F::combine(s[0], State(sum));
  } else if constexpr (V > 1 && F::kAppends) {
    typename Map::Element e[V];
#pragma unroll
    for (int v = 0; v < V; ++v) e[v] = apply_at<Map>(p, x, v);
    s[0] = F::append_all(s[0], e);
  } else {
    const Index weight = Index(p.mode[p.n_kept].weight);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const auto e = apply_at<Map>(p, x, v);
      const Index where = position + (at + v) * weight;
      s[v % S] = kInOrder ? F::append(s[v % S], e, where) : F::add(s[v % S], e, where);
    }
  }
}
// Several vectors of one output, as append_vector.
template <class F, class Map, bool kInOrder, int V, unsigned kOnce, int Items, int S, class P, class Index>
TCU_DEVICE void append_vectors(const P &p, typename F::State (&s)[S], const Pack<V, typename Map::Inputs, kOnce> (&x)[Items],
                               const Index (&position)[Items], const Index (&at)[Items]) {
  if constexpr (F::kAppends) {
    constexpr int n = Items * V < F::State::kAtOnce ? Items * V : F::State::kAtOnce;
#pragma unroll
    for (int begin = 0; begin < Items * V; begin += n) {
      typename Map::Element e[n];
#pragma unroll
      for (int i = 0; i < n; ++i) e[i] = apply_at<Map>(p, x[(begin + i) / V], (begin + i) % V);
      s[0] = F::append_all(s[0], e);
    }
  } else if constexpr (kInOrder && kHasKeys<F, Map, V>) {
    append_first_best<F, Map, true>(p, s[0], x, position, at);
  } else {
#pragma unroll
    for (int k = 0; k < Items; ++k) append_vector<F, Map, kInOrder>(p, s, x[k], position[k], at[k]);
  }
}

// Number v's elements of as many rows as Items, onto its state.
template <class F, class Map, int V, unsigned kOnce, int Items, class P>
TCU_DEVICE void append_column(const P &p, typename F::State &s, const Pack<V, typename Map::Inputs, kOnce> (&x)[Items], int v) {
  typename Map::Element e[Items];
#pragma unroll
  for (int k = 0; k < Items; ++k) e[k] = apply_at<Map>(p, x[k], v);
  s = F::append_all(s, e);
}
// V outputs: number v's elements of as many rows as Items, for which there(k), onto state v; kAll: there is no other. A row that is
// not there is one of the others again.
template <class F, class Map, bool kInOrder, bool kAll, int V, unsigned kOnce, int Items, class P, class Index, class There>
TCU_DEVICE void append_rows(const P &p, typename F::State (&s)[V], const Pack<V, typename Map::Inputs, kOnce> (&x)[Items],
                            const Index (&position)[Items], There there) {
  using State = typename F::State;
  if constexpr (F::kAppends) {
#pragma unroll
    for (int v = 1; v < V; ++v) s[v] = s[v].as_many_as(s[0]);
  }
  if constexpr (V % 4 == 0 && kByBytes<F, Map>) {
    using Bytes = bytes_fold_t<F, Map>;
#pragma unroll
    for (int j = 0; j < V / 4; ++j) {
      unsigned w[Items];
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        w[k] = __builtin_bit_cast(Words<V / 4>, x[k].first.word).at[j];
        if (!kAll && !Bytes::kAgain && !there(k)) w[k] = 0;
      }
      int32_t of[4];
      Bytes::down(w, of);
#pragma unroll
      for (int b = 0; b < 4; ++b) s[4 * j + b] = F::combine(s[4 * j + b], State(of[b]));
    }
  } else if constexpr (F::template kNarrow<typename Map::Element>) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      int32_t sum = 0;
#pragma unroll
      for (int k = 0; k < Items; ++k)
        if (kAll || there(k)) sum += F::narrow(apply_at<Map>(p, x[k], v));
      s[v] = F::combine(s[v], State(sum));
    }
  } else if constexpr (kInOrder && kAll && Items > 1 && kByKeys<F, Map>) {
    append_rows_by_keys<F, Map>(s, x, position);
  } else if constexpr (F::kAppends && kAll) {
#pragma unroll
    for (int v = 0; v < V; ++v) append_column<F, Map>(p, s[v], x, v);
  } else {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if (!kAll && !there(k)) continue;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const auto e = apply_at<Map>(p, x[k], v);
        s[v] = kInOrder ? F::append(s[v], e, position[k]) : F::add(s[v], e, position[k]);
      }
    }
  }
}

}  // namespace tcu::cuda
#endif
