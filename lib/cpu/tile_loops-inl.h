// The loop of a tile function, for any functor and type. Included once per SIMD target, inside HWY_NAMESPACE.
// The pragma says that iterations are independent: out may be an operand itself, never overlap it otherwise.

template <class F, class T> void loop1(void *out, const void *a, const void *, const void *, int64_t n) {
  using R = decltype(F::apply(T{}));
  cell_t<R> *o = static_cast<cell_t<R> *>(out);
  const cell_t<T> *x = static_cast<const cell_t<T> *>(a);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = put<R>(F::apply(get<T>(x[i])));
}
template <class F, class T> void loop2(void *out, const void *a, const void *b, const void *, int64_t n) {
  using R = decltype(F::apply(T{}, T{}));
  cell_t<R> *o = static_cast<cell_t<R> *>(out);
  const cell_t<T> *x = static_cast<const cell_t<T> *>(a), *y = static_cast<const cell_t<T> *>(b);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = put<R>(F::apply(get<T>(x[i]), get<T>(y[i])));
}
template <class F, class P, class T> void loop3(void *out, const void *a, const void *b, const void *c, int64_t n) {
  using R = decltype(F::apply(P{}, T{}, T{}));
  cell_t<R> *o = static_cast<cell_t<R> *>(out);
  const cell_t<P> *x = static_cast<const cell_t<P> *>(a);
  const cell_t<T> *y = static_cast<const cell_t<T> *>(b), *z = static_cast<const cell_t<T> *>(c);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = put<R>(F::apply(get<P>(x[i]), get<T>(y[i]), get<T>(z[i])));
}

// One entry of the table.
template <class F, int arity, Result rule, DType D> void enter(Table &t, int id) {
  using T = typename compute_of<D>::type;
  TileFn &f = t.op[id][int(D)];
  if constexpr (arity == 1) f = loop1<F, T>;
  else if constexpr (arity == 2) f = loop2<F, T>;
  else if constexpr (rule == Result::Select) f = loop3<F, bool, T>;
  else f = loop3<F, T, T>;
}
