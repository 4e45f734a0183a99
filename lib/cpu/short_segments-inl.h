// Segments that are too short for lanes of their own. Included once per SIMD target, inside HWY_NAMESPACE.
// A segment is read as blocks of U = 2^K elements (8, or the greatest power of two that fits); the blocks are folded in their
// order onto U lanes, the last ones, fewer than U, onto the last lanes. The lanes are then folded as neighbours, K times. Lanes
// of neighbouring segments lie side by side, so that a fold of neighbours takes two whole vectors to one, and N segments leave
// N results in a vector. The tree is that of the lanes, whatever N: the same bits on every target.
// (Chains along each segment in plain loops are a trap: g++ 12.2 vectorizes them as one reduction and, for integers, drops terms;
// test_tiles.cpp has the case.)

#if HWY_TARGET != HWY_SCALAR
// Segments of which this is known at compile time: blocks of 2^K elements, whether there is more than one, and whether any are left.
template <int K, bool several, bool rest> struct Blocks {
  static constexpr int64_t U = 1 << K;
  static constexpr size_t kMost = several || rest ? U : 64;  // lanes; blocks without gaps may share a vector

  // The lanes v * N and on; s goes on to the next segment when those of this one are through.
  template <class P, class T> static HWY_INLINE typename P::V lanes(const T *&s, int64_t extent, int64_t v) {
    const int64_t n = P::lanes(), lane = v * n % U;
    const T *const at = s + lane;
    typename P::V x = P::load(at);
    int64_t r = U;
    if constexpr (several) {
#pragma GCC unroll 1
      for (; r + U <= extent; r += U) x = P::fold(x, P::load(at + r));
    }
    if constexpr (rest) x = P::from(r + U - extent - lane, P::fold(x, P::load(at + extent - U)), x);
    s += n >= U ? n / U * extent : (v + 1) * n % U == 0 ? extent : 0;
    return x;
  }
  template <class P, int level = K, class T> static HWY_INLINE typename P::V fold(const T *&s, int64_t extent, int64_t v = 0) {
    if constexpr (level == 0) {
      return lanes<P>(s, extent, v);
    } else {
      const typename P::V x = fold<P, level - 1>(s, extent, v);
      return P::neighbours(x, fold<P, level - 1>(s, extent, v + (1 << (level - 1))));
    }
  }
};
// Of three elements: one block and a rest, but a vector would hold little of them.
struct Threes {
  static constexpr size_t kMost = 64;
  template <class P, class T> static HWY_INLINE typename P::V fold(const T *&s, int64_t) {
    typename P::V x, y, z;
    P::load(s, x, y, z);
    s += 3 * P::lanes();
    return P::fold(x, P::fold(y, z));
  }
};

// As many of the segments as come in whole vectors of results; returns how many. What is read some way on is fetched meanwhile: 67 MB
// of segments of 16 float32 take one thread 2.3 ms if it is 512 bytes on, 2.2 at 1024, 2.05 at 2048, 1.8 from 4096 to 8192, where
// reading alone takes 1.75 (Zen 5).
template <class Op, class S, class T> int64_t groups(T *o, const T *s, int64_t extent, int64_t count, bool stream) {
  using P = Vector<Op, T, S::kMost>;
  constexpr int64_t kAhead = 6144;
  const int64_t n = P::lanes(), bytes = n * extent * int64_t(sizeof(T));
  int64_t k = 0;
  for (; k + n <= count; k += n) {
    for (int64_t b = 0; b < bytes; b += 64) hwy::Prefetch(reinterpret_cast<const char *>(s) + kAhead + b);
    const typename P::V x = S::template fold<P>(s, extent);
    if (stream) P::stream(x, o + k);
    else P::store(x, o + k);
  }
  return k;
}
template <class Op, class T> int64_t groups_of(T *o, const T *s, int64_t extent, int64_t count, bool stream) {
  const auto fold = [=](auto shape) { return groups<Op, decltype(shape)>(o, s, extent, count, stream); };
  if (extent == 2) return fold(Blocks<1, false, false>());
  if (extent == 3) return fold(Threes());
  if (extent == 4) return fold(Blocks<2, false, false>());
  if (extent < 8) return fold(Blocks<2, false, true>());
  if (extent == 8) return fold(Blocks<3, false, false>());
  if (extent < 16) return fold(Blocks<3, false, true>());
  if (extent % 8 == 0) return fold(Blocks<3, true, false>());
  return fold(Blocks<3, true, true>());
}
#endif

// The same without vectors. Of fewer than 8 elements: in one loop over the segments.
template <class Op, class T, int E> void each(T *o, const T *s, int64_t count) {
  constexpr int U = E < 4 ? 2 : 4;
#pragma GCC ivdep
  for (int64_t k = 0; k < count; ++k) {
    T x[U];
    for (int j = 0; j < U; ++j) x[j] = s[E * k + j];
    for (int j = U; j < E; ++j) x[j - (E - U)] = Op::f(x[j - (E - U)], s[E * k + j]);
    o[k] = U == 2 ? Op::f(x[0], x[1]) : Op::f(Op::f(x[0], x[1]), Op::f(x[U - 2], x[U - 1]));
  }
}
// Of more: some at a time, whose lanes go to a buffer, where one flat loop after the other folds neighbours.
template <class Op, class T> void lanes(T *o, const T *s, int64_t extent, int64_t count) {
  const int64_t rest = extent % 8;
  for (int64_t k = 0; k < count; ++k, s += extent, o += 8) {
    T x[8];
    for (int j = 0; j < 8; ++j) x[j] = s[j];
    for (int64_t r = 8; r + 8 <= extent; r += 8)
      for (int j = 0; j < 8; ++j) x[j] = Op::f(x[j], s[r + j]);
    if (rest == 0)
      for (int j = 0; j < 8; ++j) o[j] = x[j];
    else
      for (int j = 0; j < 8; ++j) o[j] = j < 8 - rest ? x[j] : Op::f(x[j], s[extent - 8 + j]);
  }
}
template <class Op, class T> HWY_NOINLINE void halve(T *o, const T *s, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = Op::f(s[2 * i], s[2 * i + 1]);
}
template <class Op, class T> HWY_NOINLINE void in_steps(T *o, const T *s, int64_t extent, int64_t count) {
  constexpr int64_t kBuffer = 512;
  alignas(64) T buffer[kBuffer];
  const int64_t step = kBuffer / extent;
  for (int64_t k = 0; k < count; k += step, s += step * extent) {
    const int64_t here = step < count - k ? step : count - k;
    for (int64_t j = 0; j < step * extent; j += 64 / int64_t(sizeof(T))) hwy::Prefetch(s + step * extent + j);
    switch (extent) {
      case 2: halve<Op, T>(o + k, s, here); continue;
      case 3: each<Op, T, 3>(o + k, s, here); continue;
      case 4: each<Op, T, 4>(o + k, s, here); continue;
      case 5: each<Op, T, 5>(o + k, s, here); continue;
      case 6: each<Op, T, 6>(o + k, s, here); continue;
      case 7: each<Op, T, 7>(o + k, s, here); continue;
    }
    if (extent > 8) lanes<Op, T>(buffer, s, extent, here);
    halve<Op, T>(buffer, extent > 8 ? buffer : s, 4 * here);
    halve<Op, T>(buffer, buffer, 2 * here);
    halve<Op, T>(o + k, buffer, here);
  }
}

template <class Op, class T> void short_segments(T *o, const T *s, int64_t extent, int64_t count, bool stream) {
  int64_t k = 0;
  if constexpr (kVectors<Op, T>) {
    if (stream) k = int64_t(-reinterpret_cast<uintptr_t>(o) & 63) / int64_t(sizeof(T));  // to where a cache line begins
    if (k > count) k = count;
    if (k) in_steps<Op>(o, s, extent, k);
    k += groups_of<Op>(o + k, s + k * extent, extent, count - k, stream);
  }
  if (k < count) in_steps<Op>(o + k, s + k * extent, extent, count - k);
}
