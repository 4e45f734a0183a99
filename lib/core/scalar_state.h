// States of reductions that are several numbers, and what a state comes to at the end. Shared by both backends.
//   A: the accumulator, float or double where nothing else is said; every member is one.
//   kNumbers      members: the column 'state' of reduce_ops.def
//   identity(), lift(x), combine(a, b)    as in device/fold.cuh; combine is associative up to rounding
//   append(a, x)  combine(a, lift(x)), for less
//   append(a, x[n])    the same of n elements, for less than n times that; kAtOnce: so many, where there are as many
//   a.as_many_as(b)    a, of which it is known that it holds as many elements as b: neighbours then need one count
#pragma once
#include "core/scalar_math.h"

namespace tcu {

// 1 / n for a whole number n >= 1, within 2 ulp: what weights are made of, which need no more.
TCU_FN float reciprocal(float n) {
#if TCU_DEVICE_CODE
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(n));
  return r;
#else
  return 1 / n;
#endif
}
TCU_FN double reciprocal(double n) { return 1 / n; }
// exp(x) of x <= 0, within (2 - x) units of rounding: weights in a sum that is at least 1.
TCU_FN float weight_of(float x) {
#if TCU_DEVICE_CODE
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504f));
  return r;
#else
  return m::exp(x);
#endif
}
TCU_FN double weight_of(double x) { return m::exp(x); }

// x[0] + ... + x[n - 1] by a tree.
template <class A, int n> TCU_FN A sum_of(const A (&x)[n]) {
  A s[n];
  for (int i = 0; i < n; ++i) s[i] = x[i];
  for (int h = 1; h < n; h *= 2)
    for (int i = 0; i + h < n; i += 2 * h) s[i] = s[i] + s[i + h];
  return s[0];
}

// The mean, and the sum of squared distances from it, of `count` elements. One element is added as in Welford 1962 ("Note on a
// method for calculating corrected sums of squares and products"), states are combined as in Chan, Golub and LeVeque 1983
// ("Algorithms for computing the sample variance: analysis and recommendations").
// The mean is origin + mean, where origin is the first element: so its rounding is measured by the spread of the elements and
// not by their size. A float32 mean of 1e6 alone would stop moving after some thirty elements of standard deviation 1.
template <class A>
struct Moments {
  static constexpr int kNumbers = 4, kAtOnce = 16;
  A origin, mean, m2, count;

  TCU_FN static Moments identity() { return {A(0), A(0), A(0), A(0)}; }
  TCU_FN static Moments lift(A x) { return {x, A(0), x - x, A(1)}; }  // m2: NaN where x is not finite
  TCU_FN static Moments append(Moments a, A x) {
    const A origin = a.count > 0 ? a.origin : x, n = a.count + 1;
    const A d = (x - origin) - a.mean, step = d * reciprocal(n);
    return {origin, a.mean + step, a.m2 + d * (d - step), n};
  }
  // Squares of distances from the mean so far, less what the mean moves, which is never nearly all of them: it moves by a part of the
  // distances. The first elements' mean is taken before: from one of them, far from all others, it would be nearly all. Distances are
  // measured from origin + mean as it is rounded, and the sums of them then moved by what the rounding took.
  template <int n> TCU_FN static Moments append(Moments a, const A (&x)[n]) {
    A d[n], squares = 0;
    if (!(a.count > 0)) {
      for (int i = 0; i < n; ++i) d[i] = x[i] - x[0];
      a.origin = x[0], a.mean = sum_of(d) * A(1.0 / n);
    }
    const A center = a.origin + a.mean, rest = a.mean - (center - a.origin);
    for (int i = 0; i < n; ++i) {
      d[i] = x[i] - center;
      squares = m::fma(d[i], d[i], squares);
    }
    const A count = a.count + n, near = sum_of(d), sum = m::fma(A(-n), rest, near), step = sum * reciprocal(count);
    squares = m::fma(-rest, near + sum, squares);
    return {a.origin, a.mean + step, a.m2 + m::fma(-sum, step, squares), count};
  }
  TCU_FN Moments as_many_as(const Moments &b) const { return {origin, mean, m2, b.count}; }
  // Both may be empty: then the weight is 0, and every product with it.
  TCU_FN static Moments combine(Moments a, Moments b) {
    const A origin = a.count > 0 ? a.origin : b.origin, n = a.count + b.count;
    const A weight = b.count * reciprocal(n > 1 ? n : A(1));
    const A d = (b.origin - origin) + (b.mean - a.mean);
    return {origin, a.mean + d * weight, (a.m2 + b.m2) + d * (d * (a.count * weight)), n};
  }
  // NaN (0/0) or infinity where n <= correction.
  TCU_FN A variance(int64_t n, double correction) const {
    const double freedom = double(n) - correction;
    return m2 / A(freedom > 0 ? freedom : 0);
  }
  TCU_FN A center() const { return count > 0 ? origin + mean : limits<A>::nan(); }
};

// max, and the sum of exp(x - max): their logarithm cannot overflow before the result does. All -Inf: {-Inf, some count or 0};
// +Inf: max is it; NaN: the sum is.
template <class A>
struct LogSum {
  static constexpr int kNumbers = 2, kAtOnce = 8;
  A max, sum;

  TCU_FN static LogSum identity() { return {-limits<A>::inf(), A(0)}; }
  TCU_FN static LogSum lift(A x) { return {x, A(1)}; }
  TCU_FN static LogSum append(LogSum a, A x) {
    const A e = decay(a.max, x);
    return x > a.max ? LogSum{x, a.sum * e + 1} : LogSum{a.max, a.sum + e};
  }
  // An infinity as greatest is no distance from anything: weights are then of the numbers themselves, 0 of -Inf and Inf of Inf.
  template <int n> TCU_FN static LogSum append(LogSum a, const A (&x)[n]) {
    A max = a.max, e[n];
    for (int i = 0; i < n; ++i) max = m::larger_number(max, x[i]);
    const A base = m::isfinite(max) ? max : A(0);
    for (int i = 0; i < n; ++i) e[i] = weight_of(x[i] - base);
    return {max, a.sum * weight_of(a.max - base) + sum_of(e)};
  }
  TCU_FN static LogSum combine(LogSum a, LogSum b) {
    const A e = decay(a.max, b.max);
    return b.max > a.max ? LogSum{b.max, a.sum * e + b.sum} : LogSum{a.max, a.sum + b.sum * e};
  }
  TCU_FN LogSum as_many_as(const LogSum &) const { return *this; }
  TCU_FN A greatest() const { return sum == sum ? max : sum; }
  TCU_FN A value() const { return max + m::log(sum); }
  // The sum alone, of n elements: NaN where an infinity is less itself.
  TCU_FN A relative(int64_t n) const { return n == 0 ? A(0) : m::isfinite(max) ? sum : limits<A>::nan(); }

 private:
  // exp(-|x - y|), where two equal infinities are no distance apart.
  TCU_FN static A decay(A x, A y) { return weight_of(x == y ? A(0) : -m::abs_float(x - y)); }
};

// Of any numbers that have an order. NaN where one is.
template <class A>
struct Extrema {
  static constexpr int kNumbers = 2, kAtOnce = 32;
  A min, max;

  TCU_FN static Extrema identity() { return {identity_min<A>(), identity_max<A>()}; }
  TCU_FN static Extrema lift(A x) { return {x, x}; }
  TCU_FN static Extrema append(Extrema a, A x) { return {m::min(a.min, x), m::max(a.max, x)}; }
  template <int n> TCU_FN static Extrema append(Extrema a, const A (&x)[n]) {
    for (int i = 0; i < n; ++i) a = append(a, x[i]);
    return a;
  }
  TCU_FN Extrema as_many_as(const Extrema &) const { return *this; }
  TCU_FN static Extrema combine(Extrema a, Extrema b) { return {m::min(a.min, b.min), m::max(a.max, b.max)}; }
};

// sum / n, of a real or complex sum.
template <class A> TCU_FN A divided(A sum, int64_t n) {
  using R = real_t<A>;
  if constexpr (is_complex<A>) return A{sum.re / R(n), sum.im / R(n)};
  else return sum / R(n);
}

}  // namespace tcu
