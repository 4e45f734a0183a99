// namespace tcu::m for complex_t. complex float is computed in double and rounded, except for + - and *.
// Accuracy is normwise (the error is small against |result|), 4 ulp, 8 for tan and tanh; pow grows with |y log x|.
// Special values: exp, sinh and cosh as C99 annex G, sqrt and log of Inf and signed zero as Julia; a product or quotient is
// not recovered from NaN (Inf * Inf may be NaN, as in Julia).
#pragma once
#include "core/scalar_math.h"

namespace tcu {

template <class R> TCU_FN bool operator==(complex_t<R> x, complex_t<R> y) { return (x.re == y.re) & (x.im == y.im); }
template <class R> TCU_FN bool operator!=(complex_t<R> x, complex_t<R> y) { return !(x == y); }

namespace m {

TCU_FN c128_t widen(c64_t z) { return {double(z.re), double(z.im)}; }
TCU_FN c64_t narrow(c128_t z) { return {float(z.re), float(z.im)}; }

template <class R> TCU_FN bool isnan(complex_t<R> x) { return m::isnan(x.re) || m::isnan(x.im); }
template <class R> TCU_FN bool isinf(complex_t<R> x) { return m::isinf(x.re) || m::isinf(x.im); }
template <class R> TCU_FN bool isfinite(complex_t<R> x) { return m::isfinite(x.re) && m::isfinite(x.im); }
template <class R> TCU_FN bool eq(complex_t<R> x, complex_t<R> y) { return x == y; }
template <class R> TCU_FN bool ne(complex_t<R> x, complex_t<R> y) { return x != y; }

template <class R> TCU_FN R real(complex_t<R> x) { return x.re; }
template <class R> TCU_FN R imag(complex_t<R> x) { return x.im; }
template <class R> TCU_FN complex_t<R> conj(complex_t<R> x) { return {x.re, -x.im}; }
template <class R> TCU_FN complex_t<R> neg(complex_t<R> x) { return {-x.re, -x.im}; }
template <class R> TCU_FN R abs(complex_t<R> x) { return m::hypot(x.re, x.im); }
template <class R> TCU_FN R abs2(complex_t<R> x) { return x.re * x.re + x.im * x.im; }
template <class R> TCU_FN R arg(complex_t<R> x) { return m::atan2(x.im, x.re); }

template <class R> TCU_FN complex_t<R> add(complex_t<R> x, complex_t<R> y) { return {x.re + y.re, x.im + y.im}; }
template <class R> TCU_FN complex_t<R> sub(complex_t<R> x, complex_t<R> y) { return {x.re - y.re, x.im - y.im}; }
// Not contracted to fma: z * conj(z) has an imaginary part of exactly 0.
template <class R> TCU_FN complex_t<R> mul(complex_t<R> x, complex_t<R> y) {
  return {mul_exact(x.re, y.re) - mul_exact(x.im, y.im), mul_exact(x.re, y.im) + mul_exact(x.im, y.re)};
}
template <class R> TCU_FN complex_t<R> fma(complex_t<R> x, complex_t<R> y, complex_t<R> z) {
  return m::add(m::mul(x, y), z);
}

// 2^k for -1022 <= k <= 1023, and the k of the leading bit of x (0 for 0, Inf and NaN), between -1022 and 1022 so that
// 2^-k is normal.
TCU_FN double pow2(int k) { return from_bits(uint64_t(k + 1023) << 52); }
TCU_FN int exponent(double x) {
  int e = int((to_bits(x) >> 52) & 0x7ff);
  return e == 0x7ff || x == 0 ? 0 : (e == 0 ? -1022 : (e == 0x7fe ? 1022 : e - 1023));
}

// The divisor is scaled to [1, 2) by a power of two, so that its square is safe; so is the dividend, so that a
// quotient in range is reached without overflow on the way.
TCU_FN c128_t div(c128_t x, c128_t y) {
  if (m::isinf(y) && m::isfinite(x)) {  // a zero with the signs of x / (the direction of y)
    double c = copysign_float(m::isinf(y.re) ? 1.0 : 0.0, y.re), d = copysign_float(m::isinf(y.im) ? 1.0 : 0.0, y.im);
    return {0.0 * (x.re * c + x.im * d), 0.0 * (x.im * c - x.re * d)};
  }
  int ky = exponent(m::max(abs_float(y.re), abs_float(y.im)));
  int kx = exponent(m::max(abs_float(x.re), abs_float(x.im)));
  double sy = pow2(-ky), sx = pow2(-kx);
  x = {x.re * sx, x.im * sx};
  y = {y.re * sy, y.im * sy};
  double d = y.re * y.re + y.im * y.im;
  double re = (x.re * y.re + x.im * y.im) / d, im = (x.im * y.re - x.re * y.im) / d;
  int k = kx - ky;  // in two steps: k may be up to 2044
  double a = pow2(k / 2), b = pow2(k - k / 2);
  return {re * a * b, im * a * b};
}
TCU_FN c64_t div(c64_t x, c64_t y) {
  if (m::isinf(y)) return narrow(m::div(widen(x), widen(y)));
  double a = x.re, b = x.im, c = y.re, e = y.im, d = c * c + e * e;
  return {float((a * c + b * e) / d), float((b * c - a * e) / d)};
}
template <class R> TCU_FN complex_t<R> inv(complex_t<R> x) {
  // Julia: the inverse of an infinity is a zero of the conjugate's signs.
  if (m::isinf(x)) return {copysign_float(R(0), x.re), copysign_float(R(0), -x.im)};
  return m::div(complex_t<R>{1, 0}, x);
}
template <class R> TCU_FN complex_t<R> sign(complex_t<R> x) {
  R a = m::abs(x);
  return a == 0 ? x : complex_t<R>{x.re / a, x.im / a};
}

// sqrt((|z| + |re|) / 2) and im / (2 of it), on z scaled by an even power of two.
TCU_FN c128_t sqrt(c128_t z) {
  if (m::isinf(z.im)) return {limits<double>::inf(), z.im};
  if (m::isinf(z.re)) {
    double o = z.im != z.im ? z.im : 0.0;
    if (z.re > 0) return {z.re, z.im != z.im ? z.im : copysign_float(0.0, z.im)};
    return {o, copysign_float(limits<double>::inf(), z.im)};
  }
  double big = m::max(abs_float(z.re), abs_float(z.im));
  if (big == 0) return {0.0, z.im};
  int k = exponent(big) / 2;
  if (big < 0x1p-1022) k = -537;  // subnormal: brings it to 2^-1074 * 2^1074 or more
  double s = pow2(-k);
  z = {z.re * s * s, z.im * s * s};
  double t = ::sqrt(0.5 * (m::hypot(z.re, z.im) + abs_float(z.re)));
  double u = abs_float(z.im) / (2 * t);
  double r = pow2(k);
  if (z.re >= 0) return {t * r, copysign_float(u * r, z.im)};
  return {u * r, copysign_float(t * r, z.im)};
}

// exp(re) (cos im + i sin im); the exponential in two factors, so that exp(re) may pass the range where the product does not.
TCU_FN c128_t exp_polar(double re, double im) {
  double c = ::cos(im), s = ::sin(im);
  if (re > 709 && re < 1480) {
    double h = ::exp(0.5 * re);
    return {h * c * h, h * s * h};
  }
  double e = ::exp(re);
  return {e * c, e * s};
}
TCU_FN c128_t exp(c128_t z) {
  if (z.im == 0) return {::exp(z.re), z.im};
  if (!m::isfinite(z.im)) {
    if (z.re == -limits<double>::inf()) return {0.0, copysign_float(0.0, z.im)};
    double nan = z.im - z.im;
    return {z.re == limits<double>::inf() ? z.re : nan, nan};
  }
  return exp_polar(z.re, z.im);
}

// log|z|: near the unit circle |z|^2 - 1 is formed without cancelling; elsewhere from |z| scaled to [1, 3).
TCU_FN double log_abs(c128_t z) {
  double a = abs_float(z.re), b = abs_float(z.im);
  if (m::isinf(a) || m::isinf(b)) return limits<double>::inf();
  double hi = a > b ? a : b, lo = a > b ? b : a;
  if (z.re != z.re || z.im != z.im) return limits<double>::nan();
  if (hi == 0) return -limits<double>::inf();
  if (hi > 0.5 && hi < 2) {
    // hi^2 + lo^2 - 1 with the rounding errors of both squares added back.
    double p = hi * hi, pe = fma_float(hi, hi, -p), q = lo * lo, qe = fma_float(lo, lo, -q);
    double s = p - 1, se = (p - (s + 1));
    double r = s + q, re = s > q ? (s - r) + q : (abs_float(s) > q ? (s - r) + q : (q - r) + s);
    return 0.5 * m::log1p(r + (re + se + pe + qe));
  }
  int k = exponent(hi);
  double sc = pow2(-k);
  return ::log(m::hypot(hi * sc, lo * sc)) + k * 0.693147180559945309417;
}
TCU_FN c128_t log(c128_t z) { return {log_abs(z), m::atan2(z.im, z.re)}; }

// sinh x cos y + i cosh x sin y, from exp where both hyperbolics overflow. 0 * Inf is kept 0 (annex G).
TCU_FN double times0(double a, double b) { return a == 0 ? a * copysign_float(1.0, b) : a * b; }
TCU_FN c128_t sinh(c128_t z) {
  if (abs_float(z.re) > 700 && m::isfinite(z.re) && m::isfinite(z.im) && z.im != 0) {
    c128_t e = exp_polar(abs_float(z.re), z.im);
    return {copysign_float(0.5, z.re) * e.re, 0.5 * e.im};
  }
  double s = z.im == 0 ? z.im : ::sin(z.im), c = ::cos(z.im);
  double re = m::isinf(z.re) && !m::isfinite(z.im) ? z.re : times0(::sinh(z.re), c);
  return {re, times0(s, ::cosh(z.re))};
}
TCU_FN c128_t cosh(c128_t z) {
  if (abs_float(z.re) > 700 && m::isfinite(z.re) && m::isfinite(z.im) && z.im != 0) {
    c128_t e = exp_polar(abs_float(z.re), z.im);
    return {0.5 * e.re, copysign_float(0.5, z.re) * e.im};
  }
  double s = z.im == 0 ? z.im : ::sin(z.im), c = ::cos(z.im), sh = ::sinh(z.re);
  double re = m::isinf(z.re) && !m::isfinite(z.im) ? limits<double>::inf() : ::cosh(z.re) * c;
  return {re, s == 0 ? times0(s, sh) : times0(sh, s)};
}
// Kahan 1987, "Branch cuts for complex elementary functions".
TCU_FN c128_t tanh(c128_t z) {
  if (z.re == 0) return {z.re, z.im == 0 ? z.im : ::tan(z.im)};
  if (!m::isfinite(z.im) && !m::isinf(z.re)) return {z.im - z.im, z.im - z.im};
  if (abs_float(z.re) > 22) {
    double e = ::exp(-2 * abs_float(z.re));
    double im = m::isfinite(z.im) ? 4 * ::sin(z.im) * ::cos(z.im) * e : 0.0;
    return {copysign_float(1.0, z.re), im};
  }
  double t = ::tan(z.im), s = ::sinh(z.re), beta = 1 + t * t, rho = ::sqrt(1 + s * s);
  if (abs_float(t) > 1e150) return {rho / s, 1 / t};
  double d = 1 + beta * s * s;
  return {beta * rho * s / d, z.im == 0 ? z.im : t / d};
}
// sin z = -i sinh(iz), cos z = cosh(iz), tan z = -i tanh(iz).
TCU_FN c128_t sin(c128_t z) {
  c128_t r = m::sinh(c128_t{-z.im, z.re});
  return {r.im, -r.re};
}
TCU_FN c128_t cos(c128_t z) { return m::cosh(c128_t{-z.im, z.re}); }
TCU_FN c128_t tan(c128_t z) {
  c128_t r = m::tanh(c128_t{-z.im, z.re});
  return {r.im, -r.re};
}

// exp(y log x); a small integer y by squaring, as Julia does. x^0 is 1; 0^y is 0 for a positive real part of y.
TCU_FN c128_t pow(c128_t x, c128_t y) {
  if (y.re == 0 && y.im == 0) return {1.0, 0.0};
  if (x.re == 0 && x.im == 0) {
    double r = y.re > 0 ? 0.0 : limits<double>::nan();
    return {r, r};
  }
  if (y.im == 0 && abs_float(y.re) <= 1024 && y.re == ::rint(y.re)) {
    c128_t r{1.0, 0.0}, b = y.re < 0 ? m::inv(x) : x;
    for (int n = int(abs_float(y.re)); n > 0; n >>= 1) {
      if (n & 1) r = m::mul(r, b);
      if (n > 1) b = m::mul(b, b);
    }
    return r;
  }
  return m::exp(m::mul(y, m::log(x)));
}

TCU_FN c64_t sqrt(c64_t z) { return narrow(m::sqrt(widen(z))); }
TCU_FN c64_t exp(c64_t z) { return narrow(m::exp(widen(z))); }
TCU_FN c64_t log(c64_t z) { return narrow(m::log(widen(z))); }
TCU_FN c64_t sin(c64_t z) { return narrow(m::sin(widen(z))); }
TCU_FN c64_t cos(c64_t z) { return narrow(m::cos(widen(z))); }
TCU_FN c64_t tan(c64_t z) { return narrow(m::tan(widen(z))); }
TCU_FN c64_t sinh(c64_t z) { return narrow(m::sinh(widen(z))); }
TCU_FN c64_t cosh(c64_t z) { return narrow(m::cosh(widen(z))); }
TCU_FN c64_t tanh(c64_t z) { return narrow(m::tanh(widen(z))); }
TCU_FN c64_t pow(c64_t x, c64_t y) { return narrow(m::pow(widen(x), widen(y))); }

}  // namespace m
}  // namespace tcu
