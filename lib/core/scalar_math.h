// namespace tcu::m: the functions that the rows of ops.def call, for real types. T is the compute type: bool, an integer,
// float or double. No fast math. On the host the simple ones are free of branches, so that loops over them vectorize.
//
// float32 is within 2 ulp: where CUDA's own float function is not (CUDA C++ Programming Guide, "Mathematical Functions":
// tan, sinh, asinh, acosh, atanh, atan2, hypot, pow, erfc, tgamma, lgamma), it is computed in double and rounded.
// float64 is what the platform's libm gives: 2 ulp but for erfc (5), asinh and acosh (3), tgamma (10) and lgamma (4, and
// only an absolute bound near its zeros).
#pragma once
#include "core/scalar_types.h"

namespace tcu::m {

// ---- floats: libm ----

#define TCU_LIBM(name, f32, f64)                     \
  TCU_FN float name(float x) { return ::f32(x); }    \
  TCU_FN double name(double x) { return ::f64(x); }
#define TCU_LIBM_BY_DOUBLE(name, f64)                             \
  TCU_FN float name(float x) { return float(::f64(double(x))); }  \
  TCU_FN double name(double x) { return ::f64(x); }
#if TCU_DEVICE_CODE
#define TCU_LIBM_DEVICE_BY_DOUBLE(name, f32, f64) TCU_LIBM_BY_DOUBLE(name, f64)
#else
#define TCU_LIBM_DEVICE_BY_DOUBLE(name, f32, f64) TCU_LIBM(name, f32, f64)
#endif

TCU_LIBM(sqrt, sqrtf, sqrt)
TCU_LIBM(exp, expf, exp)
TCU_LIBM(exp2, exp2f, exp2)
TCU_LIBM(exp10, exp10f, exp10)
TCU_LIBM(expm1, expm1f, expm1)
TCU_LIBM(log, logf, log)
TCU_LIBM(log2, log2f, log2)
TCU_LIBM(log10, log10f, log10)
TCU_LIBM(log1p, log1pf, log1p)
TCU_LIBM(sin, sinf, sin)
TCU_LIBM(cos, cosf, cos)
TCU_LIBM_DEVICE_BY_DOUBLE(tan, tanf, tan)
TCU_LIBM(asin, asinf, asin)
TCU_LIBM(acos, acosf, acos)
TCU_LIBM(atan, atanf, atan)
TCU_LIBM_DEVICE_BY_DOUBLE(sinh, sinhf, sinh)
TCU_LIBM(cosh, coshf, cosh)
TCU_LIBM_DEVICE_BY_DOUBLE(asinh, asinhf, asinh)
TCU_LIBM_DEVICE_BY_DOUBLE(acosh, acoshf, acosh)
TCU_LIBM_DEVICE_BY_DOUBLE(atanh, atanhf, atanh)
TCU_LIBM(erf, erff, erf)
TCU_LIBM_BY_DOUBLE(erfc, erfc)
TCU_LIBM_BY_DOUBLE(gamma, tgamma)
#if TCU_DEVICE_CODE
TCU_LIBM_BY_DOUBLE(lgamma, lgamma)
#else
// lgamma_r: glibc's lgamma writes the global signgam, a data race between threads.
TCU_FN double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
TCU_FN float lgamma(float x) { return float(m::lgamma(double(x))); }
#endif

#if TCU_DEVICE_CODE
TCU_LIBM(cbrt, cbrtf, cbrt)
TCU_LIBM(rsqrt, rsqrtf, rsqrt)
TCU_LIBM(sinpi, sinpif, sinpi)
TCU_LIBM(cospi, cospif, cospi)
#else
TCU_FN float cbrt(float x) { return ::cbrtf(x); }
// glibc's is within 4 ulp; a Newton step on the exact residual makes that 1. Tiny x are scaled, or the cube would be subnormal.
TCU_FN double cbrt(double x) {
  bool tiny = __builtin_fabs(x) < 0x1p-900;
  double v = tiny ? x * 0x1p180 : x, r = ::cbrt(v), t = r * r;
  double residual = __builtin_fma(t, r, -v) + __builtin_fma(r, r, -t) * r;
  double refined = (r - residual / (3 * t)) * (tiny ? 0x1p-60 : 1.0);
  return x != 0 && __builtin_fabs(x) <= limits<double>::max() ? refined : r;
}
TCU_FN float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
TCU_FN double rsqrt(double x) { return 1.0 / ::sqrt(x); }
// r in [-1, 1] is x less an even number, r = n/2 + t with |t| <= 1/4: all exact.
TCU_FN double sinpi(double x) {
  double r = x - 2 * ::rint(x * 0.5), n = ::rint(2 * r), t = (r - 0.5 * n) * 3.14159265358979323846;
  double s = n == 0 ? ::sin(t) : (n == 1 ? ::cos(t) : (n == -1 ? -::cos(t) : -::sin(t)));
  return s == 0 ? __builtin_copysign(0.0, x) : s;
}
TCU_FN double cospi(double x) {
  double a = __builtin_fabs(x);
  double r = a - 2 * ::rint(a * 0.5), n = ::rint(2 * r), t = (r - 0.5 * n) * 3.14159265358979323846;
  return n == 0 ? ::cos(t) : (n == 1 ? 0.0 - ::sin(t) : (n == -1 ? 0.0 + ::sin(t) : -::cos(t)));
}
TCU_FN float sinpi(float x) { return float(m::sinpi(double(x))); }
TCU_FN float cospi(float x) { return float(m::cospi(double(x))); }
#endif

// ---- floats: bits ----

#if TCU_DEVICE_CODE
TCU_FN float copysign_float(float x, float y) { return ::copysignf(x, y); }
TCU_FN double copysign_float(double x, double y) { return ::copysign(x, y); }
TCU_FN float abs_float(float x) { return ::fabsf(x); }
TCU_FN double abs_float(double x) { return ::fabs(x); }
#else
TCU_FN float copysign_float(float x, float y) { return __builtin_copysignf(x, y); }
TCU_FN double copysign_float(double x, double y) { return __builtin_copysign(x, y); }
TCU_FN float abs_float(float x) { return __builtin_fabsf(x); }
TCU_FN double abs_float(double x) { return __builtin_fabs(x); }
#endif

template <class T> TCU_FN bool isnan(T x) {
  if constexpr (is_float<T>) return x != x;
  else return false;
}
template <class T> TCU_FN bool isinf(T x) {
  if constexpr (is_float<T>) return abs_float(x) > limits<T>::max();
  else return false;
}
template <class T> TCU_FN bool isfinite(T x) {
  if constexpr (is_float<T>) return abs_float(x) <= limits<T>::max();
  else return true;
}
template <class T> TCU_FN bool signbit(T x) {
  if constexpr (is_float<T>) return (to_bits(x) >> (8 * sizeof(T) - 1)) != 0;
  else if constexpr (is_signed_int<T>) return x < 0;
  else return false;
}

// ---- floats: rounding (integers are unchanged) ----

TCU_FN float floor_float(float x) { return ::floorf(x); }
TCU_FN double floor_float(double x) { return ::floor(x); }
TCU_FN float ceil_float(float x) { return ::ceilf(x); }
TCU_FN double ceil_float(double x) { return ::ceil(x); }
TCU_FN float trunc_float(float x) { return ::truncf(x); }
TCU_FN double trunc_float(double x) { return ::trunc(x); }
TCU_FN float rint_float(float x) { return ::rintf(x); }
TCU_FN double rint_float(double x) { return ::rint(x); }
#define TCU_ROUNDING(name, f)                      \
  template <class T> TCU_FN T name(T x) {          \
    if constexpr (is_float<T>) return f(x);        \
    else return x;                                 \
  }
TCU_ROUNDING(floor, floor_float)
TCU_ROUNDING(ceil, ceil_float)
TCU_ROUNDING(trunc, trunc_float)
TCU_ROUNDING(round, rint_float)

// ---- arithmetic ----

// Integers are computed in wrap_t, so that they wrap in their own type; bool + bool is not asked for (Arith makes it int64).
template <class T> TCU_FN T add(T x, T y) {
  if constexpr (is_float<T>) return x + y;
  else return T(wrap_t<T>(x) + wrap_t<T>(y));
}
template <class T> TCU_FN T sub(T x, T y) {
  if constexpr (is_float<T>) return x - y;
  else return T(wrap_t<T>(x) - wrap_t<T>(y));
}
template <class T> TCU_FN T mul(T x, T y) {
  if constexpr (is_float<T>) return x * y;
  else return T(wrap_t<T>(x) * wrap_t<T>(y));
}
template <class T> TCU_FN T neg(T x) {
  if constexpr (is_float<T>) return -x;
  else return T(wrap_t<T>(0) - wrap_t<T>(x));
}
template <class T> TCU_FN T abs(T x) {
  if constexpr (is_float<T>) return abs_float(x);
  else if constexpr (is_signed_int<T>) return x < 0 ? m::neg(x) : x;
  else return x;
}
template <class T> TCU_FN T abs2(T x) { return m::mul(x, x); }
template <class T> TCU_FN T sign(T x) {
  if constexpr (is_float<T>) return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  else if constexpr (is_signed_int<T>) return T((x > 0) - (x < 0));
  else return T(x != T(0));
}
template <class T> TCU_FN T inv(T x) { return T(1) / x; }
template <class T> TCU_FN T div(T x, T y) { return x / y; }
template <class T> TCU_FN T sqdiff(T x, T y) { return m::abs2(m::sub(x, y)); }
template <class T> TCU_FN T bit_not(T x) {
  if constexpr (is_bool<T>) return !x;
  else return T(~x);
}
TCU_FN float deg2rad(float x) { return float(double(x) * 0.017453292519943295769); }
TCU_FN double deg2rad(double x) { return x * 0.017453292519943295769; }
TCU_FN float rad2deg(float x) { return float(double(x) * 57.295779513082320877); }
TCU_FN double rad2deg(double x) { return x * 57.295779513082320877; }

#if TCU_DEVICE_CODE
TCU_FN float fma_float(float x, float y, float z) { return ::fmaf(x, y, z); }
TCU_FN double fma_float(double x, double y, double z) { return ::fma(x, y, z); }
// A product that the compiler may not contract with the addition that uses it.
TCU_FN float mul_exact(float x, float y) { return __fmul_rn(x, y); }
TCU_FN double mul_exact(double x, double y) { return __dmul_rn(x, y); }
#else
TCU_FN float fma_float(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
TCU_FN double fma_float(double x, double y, double z) { return __builtin_fma(x, y, z); }
TCU_FN float mul_exact(float x, float y) { return x * y; }
TCU_FN double mul_exact(double x, double y) { return x * y; }
#endif
template <class T> TCU_FN T fma(T x, T y, T z) {
  if constexpr (is_float<T>) return fma_float(x, y, z);
  else return m::add(m::mul(x, y), z);
}

// NaN wins; -0.0 < 0.0. For equal operands the and (or) of the bits is either of them, or the zero that is wanted.
template <class T> TCU_FN T max(T x, T y) {
  if constexpr (is_float<T>) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 800
    if constexpr (is_same<T, float>) {
      float r;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
      return r;
    }
#endif
    T r = x > y ? x : y;
    r = x == y ? from_bits(to_bits(x) & to_bits(y)) : r;
    return x != x ? x : r;
  } else {
    return x > y ? x : y;
  }
}
template <class T> TCU_FN T min(T x, T y) {
  if constexpr (is_float<T>) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 800
    if constexpr (is_same<T, float>) {
      float r;
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
      return r;
    }
#endif
    T r = x < y ? x : y;
    r = x == y ? from_bits(to_bits(x) | to_bits(y)) : r;
    return x != x ? x : r;
  } else {
    return x < y ? x : y;
  }
}
// The larger; of a number and NaN the number.
TCU_FN float larger_number(float x, float y) { return ::fmaxf(x, y); }
TCU_FN double larger_number(double x, double y) { return ::fmax(x, y); }
// argmax and argmin: does y, found later, replace the best x? NaN beats all, the first NaN stays, -0.0 < 0.0 as in max.
template <class T> TCU_FN bool beats_max(T y, T x) {
  if constexpr (is_float<T>)
    return (y > x) | ((y != y) & (x == x)) | ((y == x) & (m::signbit(y) < m::signbit(x)));
  else return y > x;
}
template <class T> TCU_FN bool beats_min(T y, T x) {
  if constexpr (is_float<T>)
    return (y < x) | ((y != y) & (x == x)) | ((y == x) & (m::signbit(y) > m::signbit(x)));
  else return y < x;
}
template <class T> TCU_FN T ifelse(bool c, T x, T y) { return bool_bits(c) != 0 ? x : y; }
template <class T> TCU_FN T clamp(T x, T lo, T hi) { return x > hi ? hi : (x < lo ? lo : x); }

// Real parts of a real number.
template <class T> TCU_FN T real(T x) { return x; }
template <class T> TCU_FN T imag(T) { return T(0); }
template <class T> TCU_FN T conj(T x) { return x; }
template <class T> TCU_FN bool eq(T x, T y) { return x == y; }
template <class T> TCU_FN bool ne(T x, T y) { return x != y; }

// ---- division with a remainder ----

// The divisor that never traps: 0 and (signed) -1 are answered apart.
template <class T> TCU_FN T idiv(T x, T y) {
  if constexpr (is_float<T>) {
    return rint_float((x - (sizeof(T) == 4 ? T(::fmodf(float(x), float(y))) : T(::fmod(double(x), double(y))))) / y);
  } else if constexpr (is_bool<T>) {
    return x & y;
  } else {
    bool odd = y == T(0) || (is_signed_int<T> && y == T(-1));
    T q = T(x / (odd ? T(1) : y));
    return y == T(0) ? T(0) : odd ? m::neg(x) : q;
  }
}
template <class T> TCU_FN T rem(T x, T y) {
  if constexpr (is_same<T, float>) return ::fmodf(x, y);
  else if constexpr (is_same<T, double>) return ::fmod(x, y);
  else if constexpr (is_bool<T>) return false;
  else {
    bool odd = y == T(0) || (is_signed_int<T> && y == T(-1));
    return T(x % (odd ? T(1) : y));
  }
}
template <class T> TCU_FN T mod(T x, T y) {
  T r = m::rem(x, y);
  if constexpr (is_float<T>) return r == 0 ? copysign_float(r, y) : ((r > 0) != (y > 0) ? r + y : r);
  else if constexpr (is_signed_int<T>) return r != 0 && (r < 0) != (y < 0) ? T(r + y) : r;
  else return r;
}

// ---- powers ----

#if TCU_DEVICE_CODE
TCU_FN float pow_float(float x, float y) { return float(::pow(double(x), double(y))); }
#else
TCU_FN float pow_float(float x, float y) { return ::powf(x, y); }
#endif
TCU_FN double pow_float(double x, double y) { return ::pow(x, y); }
template <class T> TCU_FN T pow(T x, T y) {
  if constexpr (is_float<T>) {
    return pow_float(x, y);
  } else if constexpr (is_bool<T>) {
    return x | !y;
  } else {
    if (m::signbit(y)) return x == T(1) ? T(1) : (is_signed_int<T> && x == T(-1) ? T((y & 1) ? -1 : 1) : T(0));
    wrap_t<T> r = 1, b = wrap_t<T>(x), e = wrap_t<T>(y);
    while (e != 0) {
      r = (e & 1) ? r * b : r;
      b *= b;
      e >>= 1;
    }
    return T(r);
  }
}

// ---- shifts ----

// Shifts x left by n >= 0 or right by -n.
template <class T> TCU_FN T shift(T x, bool left, wrap_t<T> n) {
  constexpr unsigned width = 8 * sizeof(T);
  if (left) return n >= width ? T(0) : T(wrap_t<T>(x) << n);
  if (is_unsigned_int<T> && n >= width) return T(0);
  return T(x >> (n >= width ? width - 1 : unsigned(n)));
}
template <class T> TCU_FN T shl(T x, T n) {
  bool back = m::signbit(n);
  return m::shift(x, !back, back ? wrap_t<T>(0) - wrap_t<T>(n) : wrap_t<T>(n));
}
template <class T> TCU_FN T shr(T x, T n) {
  bool back = m::signbit(n);
  return m::shift(x, back, back ? wrap_t<T>(0) - wrap_t<T>(n) : wrap_t<T>(n));
}

// ---- functions of two reals ----

#if TCU_DEVICE_CODE
TCU_FN float hypot(float x, float y) { return float(::hypot(double(x), double(y))); }
TCU_FN float atan2(float x, float y) { return float(::atan2(double(x), double(y))); }
#else
TCU_FN float hypot(float x, float y) { return ::hypotf(x, y); }
TCU_FN float atan2(float x, float y) { return ::atan2f(x, y); }
#endif
TCU_FN double hypot(double x, double y) { return ::hypot(x, y); }
TCU_FN double atan2(double x, double y) { return ::atan2(x, y); }

// The angle of a real number: 0 or pi.
template <class T> TCU_FN T arg(T x) { return m::atan2(T(0), x); }

template <class T> TCU_FN T copysign(T x, T y) {
  if constexpr (is_float<T>) return copysign_float(x, y);
  else if constexpr (is_signed_int<T>) return (x < 0) != (y < 0) ? m::neg(x) : x;
  else return x;
}
template <class T> TCU_FN T xlogy(T x, T y) { return x == 0 && y == y ? T(0) : x * m::log(y); }
template <class T> TCU_FN T logaddexp(T x, T y) {
  // Equal operands apart: Inf - Inf is NaN.
  return x == y ? x + T(0.693147180559945309417) : m::max(x, y) + m::log1p(m::exp(-abs_float(x - y)));
}
// Exact at t = 0 and t = 1, and y - x cannot overflow.
template <class T> TCU_FN T lerp(T x, T y, T t) {
  return (T(1) - t) * x + t * y;
}

#undef TCU_LIBM
#undef TCU_LIBM_BY_DOUBLE
#undef TCU_LIBM_DEVICE_BY_DOUBLE
#undef TCU_ROUNDING

}  // namespace tcu::m
