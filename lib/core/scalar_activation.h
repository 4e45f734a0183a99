// namespace tcu::m: tanh, activations and their gradients. They are written so that no term overflows, cancels or meets
// 0 * Inf: at -Inf and Inf the value is the limit. float32 activations are within 2 ulp everywhere; float64 has the plain formulas,
// whose tails below 2^-6 are as exact as their terms. Gradients are plain formulas in both.
#pragma once
#include "core/scalar_math.h"

namespace tcu::m {

template <class T> TCU_FN T bound_below(T x) { return x < limits<T>::lowest() ? limits<T>::lowest() : x; }
template <class T> TCU_FN T bound_both(T x, T b) { return x < -b ? -b : (x > b ? b : x); }

// NaN stays NaN; relu(-0.0) is 0.0, as max(x, 0.0) is.
template <class T> TCU_FN T relu(T x) { return x <= T(0) ? T(0) : x; }
template <class T> TCU_FN T relu6(T x) { return x <= T(0) ? T(0) : (x > T(6) ? T(6) : x); }
template <class T> TCU_FN T leaky_relu(T x, T slope) { return x > 0 ? x : x * slope; }

// ---- float32 within 2 ulp ----
// A plain formula adds up the roundings of exp, of a sum, a product and a quotient; and of exp(y) a rounding of y is y ulp. So
// the functions below keep e^y = 2^k (1 + rest) unrounded, and a quotient takes the exact remainder of its first approximation
// (Markstein 1990, "Computation of elementary functions on the IBM RISC System/6000 processor"). That makes good an approximate
// reciprocal too, which saves the instructions of the division. All else is IEEE, the same bits on host and device. 16-bit ops
// go through the same functions: gelu_tanh and mish take eight instructions more than the plain formulas, the others one or fewer.

// Within 1 ulp, for normal d whose reciprocal is normal.
TCU_FN float reciprocal(float d) {
#if TCU_DEVICE_CODE
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  return r;
#else
  return 1 / d;
#endif
}

// e^(y + tail) = 2^-bias scale (1 + rest) for y in [-126 - bias, 0], |tail| <= 2^-16, NaN for NaN; the bias keeps scale normal.
// The error of rest is below 2^-24. ln2 in two parts (Cody and Waite 1980), and a minimax polynomial.
struct SplitExp {
  float scale, rest;
};
template <int bias> TCU_FN SplitExp split_exp(float y, float tail = 0) {
  constexpr float shift = 0x1.8p23f + (127 + bias);  // adding it rounds to an integer, whose low bits are the exponent of scale
  float t = m::fma(y, 0x1.715476p+0f, shift), k = t - shift;  // log2(e)
  float r = m::fma(k, -0x1.62e43p-1f, y) + m::fma(k, 0x1.05c61p-29f, tail);
  float p = m::fma(r, 0x1.6ad14ap-10f, 0x1.123f3p-7f);
  p = m::fma(r, p, 0x1.55584ep-5f);
  p = m::fma(r, p, 0x1.55548ap-3f);
  p = m::fma(r, p, 0x1.fffffcp-2f);
  return {from_bits(to_bits(t) << 23), m::fma(r * r, p, r)};
}
// The bias where results may be subnormal. Beyond kFar e^-|x|, and |x| times that, is rounded to 0.
inline constexpr int kExpBias = 64;
inline constexpr float kExpUnbias = 0x1p-64f, kFar = 110;
TCU_FN float joined(SplitExp e) { return m::fma(e.scale, e.rest, e.scale) * kExpUnbias; }

// v s(y), s the sigmoid and y <= 0, given as its exponential. For positive x, x s(x) is x - x s(-x).
TCU_FN float times_sigmoid(float v, SplitExp y) {
  float e = joined(y), r = reciprocal(1 + e), q = v * r;
  q = m::fma(q, y.rest, q);
  q = m::fma(m::fma(-q, e, m::fma(v, y.rest, v - q)), r, q);  // the remainder is v (1 + rest) - q (1 + e)
  return q * y.scale * kExpUnbias;
}

// ---- tanh ----
// Without branches and in fewer instructions than CUDA's functions take, which is what bounds a broadcast of small elements: 13 an
// element for 15 in float32, 45 for 100 in float64, 24 for 34 of them the float64 units' (sm_90, CUDA 13.0, tanh(x * w + b) in
// broadcast.general). In float32 a GPU differs from the host by two approximate instructions, 2^y and the reciprocal.

// 2^y for y >= 1, NaN for NaN. On a device the instruction that CUDA's exp2f is, of 2 ulp.
TCU_FN float exp2_near(float y) {
#if TCU_DEVICE_CODE
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(y));
  return r;
#else
  return ::exp2f(y);
#endif
}
// Below 1.09 x + x v (b0 + b1 v + b2 v^2) / (v + c) with v = x^2, a minimax fit: -c is near to -pi^2/4, the pole in v that is nearest
// to 0, so that three coefficients do. Beyond, 1 - 2c / (v + c) with v = c e^2|x|. One reciprocal serves both; what either gives where
// the other counts is dropped. fma(.., 0) where a product would do makes -0 into 0, or tanh(-0) were 0.
TCU_FN float tanh(float x) {
  constexpr float c = 0x1.3becf2p+1f, log2_c = 0x1.4dae4ep+0f, log2_e2 = 0x1.715476p+1f;
  float a = abs_float(x), square = x * x, power = exp2_near(m::fma(log2_e2, a, log2_c));
  bool near = a < 1.09f;
  float v = near ? square : power, r = reciprocal(v + c);
  float p = m::fma(m::fma(v, 0x1.1f3292p-13f, -0x1.164166p-8f), v, -0x1.a53beap-1f) * v;
  float below = m::fma(x, m::fma(p, r, 0.0f), x), beyond = copysign_float(m::fma(r, -2 * c, 1.0f), x);
  return near ? below : beyond;
}

// Within 2^-19.
TCU_FN double reciprocal_near(double d) {
#if TCU_DEVICE_CODE
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d));
  return r;
#else
  return 1 / d;
#endif
}
// 2|x| = k ln2 + 2h, and with s = 2^k and t = tanh h (a minimax polynomial)
// tanh |x| = (s (1 + t) - (1 - t)) / (s (1 + t) + (1 - t)) = ((s - 1) + t (s + 1)) / ((s + 1) + t (s - 1)),
// which for small x, where s is 1, is t itself. The numerator n and the denominator d are rounded, the remainder of their quotient
// is of what they are rounded from. k is 1 only from |x| = 0.27 on, h in [-0.076, 0.271]: with h in [-0.17, 0.17] the error of h would
// be 1 ulp of the result there. From 19.1 on the result is 1. ln2 / 2 needs no second part: its float64 is off by 2^-56.
TCU_FN double tanh_divided(double x) {
  constexpr double shift = 0x1.8p48 + 1023;  // adding it rounds to sixteenths, of which 1 - 3.5 / 16 is to make k 1
  double a = from_bits(abs_float(x) > 20 ? to_bits(20.0) : to_bits(x) & ~(uint64_t(1) << 63));
  uint64_t sum = to_bits(m::fma(a, 0x1.71547p+1, shift + 0.1875)) & ~uint64_t(15);  // 2 / ln2 to 21 bits: an immediate operand
  double k = from_bits(sum) - shift, h = m::fma(k, -0x1.62e42fefa39efp-2, a), z = h * h;
  double p = m::fma(z, -0x1.53a4p-10, 0x1.d468f3a8b4d9cp-9);
  p = m::fma(z, p, -0x1.2264de4761d56p-7);
  p = m::fma(z, p, 0x1.664f20a81b1a3p-6);
  p = m::fma(z, p, -0x1.ba1ba15ef050ep-5);
  p = m::fma(z, p, 0x1.11111110df8e5p-3);
  p = m::fma(z, p, -0x1.5555555555432p-2);
  double t = m::fma(h * z, p, h), s = from_bits(sum << 48), less = s - 1, more = s + 1;
  double n = m::fma(t, more, less), d = m::fma(t, less, more);
  double r = reciprocal_near(d);
  r = m::fma(m::fma(-d, r, 1.0), r, r);  // Newton: within 2^-38
  double q = n * r, remainder = m::fma(t, m::fma(-q, less, more), m::fma(-q, more, less));
  return copysign_float(m::fma(remainder, r, q), x);
}
// A host without instructions for fma is faster by its libm.
#if TCU_DEVICE_CODE
TCU_FN double tanh(double x) { return tanh_divided(x); }
#else
TCU_FN double tanh(double x) { return ::tanh(x); }
#endif

// For float64, and for gradients.
template <class T> TCU_FN T sigmoid_plain(T x) {
  T e = m::exp(-abs_float(x));
  return (x < 0 ? e : T(1)) / (T(1) + e);
}
template <class T> TCU_FN T sigmoid(T x) {
  if constexpr (is_same<T, float>) {
    float s = times_sigmoid(1, split_exp<kExpBias>(-m::min(abs_float(x), kFar)));
    return x < 0 ? s : 1 - s;
  } else {
    return sigmoid_plain(x);
  }
}
// float32: log1p(e) = e (1 + e w) for e = e^-|x| <= 1, w by a minimax polynomial in e - 1/2.
template <class T> TCU_FN T softplus(T x) {
  if constexpr (is_same<T, float>) {
    SplitExp y = split_exp<kExpBias>(-m::min(abs_float(x), kFar));
    float n = 1 + y.rest, e = n * y.scale * kExpUnbias, c = e - 0.5f, w = m::fma(c, -0x1.965856p-9f, 0x1.c0a35cp-8f);
    w = m::fma(c, w, -0x1.5031b6p-7f);
    w = m::fma(c, w, 0x1.11620ap-6f);
    w = m::fma(c, w, -0x1.d96d98p-6f);
    w = m::fma(c, w, 0x1.a27fep-5f);
    w = m::fma(c, w, -0x1.7de106p-4f);
    w = m::fma(c, w, 0x1.6f0d7cp-3f);
    w = m::fma(c, w, -0x1.833704p-2f);
    float v = m::fma(n * e, w, y.rest);
    return (x > 0 ? x : 0.0f) + m::fma(y.scale, v, y.scale) * kExpUnbias;
  } else {
    return (x > 0 ? x : T(0)) + m::log1p(m::exp(-abs_float(x)));
  }
}
template <class T> TCU_FN T logsigmoid(T x) { return -softplus(-x); }
template <class T> TCU_FN T hardsigmoid(T x) { return x <= -3 ? T(0) : (x >= 3 ? T(1) : (x + T(3)) / T(6)); }
template <class T> TCU_FN T hardswish(T x) { return x <= -3 ? T(0) : (x >= 3 ? x : x * ((x + T(3)) / T(6))); }
template <class T> TCU_FN T softsign(T x) {
  T a = abs_float(x);
  return a > limits<T>::max() ? copysign_float(T(1), x) : x / (T(1) + a);
}
template <class T> TCU_FN T elu(T x) { return x > 0 ? x : m::expm1(x); }

// Klambauer et al. 2017, "Self-Normalizing Neural Networks".
inline constexpr double selu_lambda = 1.0507009873554804934, selu_alpha = 1.6732632423543772848;
template <class T> TCU_FN T selu(T x) {
  if constexpr (is_same<T, float>) {
    constexpr float factor = float(selu_lambda * selu_alpha), factor_low = float(selu_lambda * selu_alpha - factor);
    SplitExp y = split_exp<0>(-m::min(abs_float(x), 30.0f));
    float less = y.scale - 1, more = y.scale * y.rest;  // e^y - 1 = less + more, both exact
    float high = less + more, low = (less - high) + more;
    float negative = m::fma(factor, high, m::fma(factor, low, factor_low * high));
    return x < 0 ? negative : float(selu_lambda) * x;
  } else {
    return x > 0 ? T(selu_lambda) * x : T(selu_lambda * selu_alpha) * m::expm1(x);
  }
}

// x Phi(x), by erfc: 1 + erf cancels for negative x.
template <class T> TCU_FN T erfc_fast(T x) {
  if constexpr (is_same<T, float>) return ::erfcf(x);
  else return ::erfc(x);
}
// float32: for a = |x|, Phi(-a) = e^(-a^2/2) (1 + p) / (2 (1.25 + a)), p by a minimax polynomial in (a - 3.625) / (a + 3.625)
// (after Shepherd and Laframboise 1981, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf"). From 14.5 on the
// product with a is 0. 1.25 makes p flat at 0, where the error of its argument would count most.
template <class T> TCU_FN T gelu(T x) {
  if constexpr (is_same<T, float>) {
    float a = m::min(abs_float(x), 14.5f), z = a * a;
    SplitExp y = split_exp<kExpBias>(-0.5f * z, -0.5f * m::fma(a, a, -z));
    float q = (a - 3.625f) * reciprocal(a + 3.625f), p = m::fma(q, 0x1.5103f4p-12f, 0x1.48p-11f);
    p = m::fma(q, p, -0x1.463bfp-9f);
    p = m::fma(q, p, -0x1.3469bcp-9f);
    p = m::fma(q, p, 0x1.8051f8p-6f);
    p = m::fma(q, p, -0x1.a449bap-5f);
    p = m::fma(q, p, 0x1.41da24p-5f);
    p = m::fma(q, p, 0x1.26012p-4f);
    p = m::fma(q, p, -0x1.257b32p-2f);
    p = m::fma(q, p, 0x1.56af6ep-8f);
    float w = m::fma(1 + y.rest, p, y.rest), d = 1.25f + a, d_low = 1.25f - d + a, r = reciprocal(d);
    float v = a * r;
    v = m::fma(v, w, v);
    float rest = m::fma(-v, d_low, m::fma(a, w, m::fma(-v, d, a)));
    v = m::fma(rest, r, v) * y.scale * (0.5f * kExpUnbias);
    return x < 0 ? -v : x - v;
  } else {
    x = bound_below(x);
    return T(0.5) * x * erfc_fast(T(-0.70710678118654752440) * x);
  }
}
// 0.5 x (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
template <class T> TCU_FN T gelu_tanh_2u(T x) {
  return x * (T(1.5957691216057307117) + T(0.071354816272600248) * x * x);
}
template <class T> TCU_FN T gelu_tanh(T x) {
  if constexpr (is_same<T, float>) {
    // 2u in two parts. The high part of the first coefficient is short, so that nothing is lost where it is taken from g.
    constexpr float c0 = 0x1.98845p+0f, c0_low = 0x1.9ea1b2p-23f, c2 = 0x1.2444f2p-4f, c2_low = 0x1.49b16ap-29f;
    float a = m::min(abs_float(x), 11.0f), z = a * a, z_low = m::fma(a, a, -z);
    float g = m::fma(c2, z, c0), g_low = m::fma(c2, z, c0 - g) + m::fma(c2, z_low, m::fma(c2_low, z, c0_low));
    float u = -a * g, u_low = -m::fma(a, g_low, m::fma(a, g, u));
    float v = times_sigmoid(a, split_exp<kExpBias>(u, u_low));
    return x < 0 ? -v : x - v;
  } else {
    x = bound_below(x);
    return x * sigmoid_plain(gelu_tanh_2u(x));
  }
}
template <class T> TCU_FN T silu(T x) {
  if constexpr (is_same<T, float>) {
    float a = m::min(abs_float(x), kFar), v = times_sigmoid(a, split_exp<kExpBias>(-a));
    return x < 0 ? -v : x - v;
  } else {
    x = bound_below(x);
    return x * sigmoid_plain(x);
  }
}
// tanh(log(1 + e)) = n / (n + 2), n = e (e + 2); it is 1 in double from x = 20 on.
template <class T> TCU_FN T mish_tanh(T x) {
  T e = m::exp(x < 20 ? x : T(20));
  T n = e * (e + T(2));
  return n / (n + T(2));
}
// float32, with e = e^-|x|: that is e (1 + f) / (1 + 2 f (1 + f)) with f = e / 2 for negative x, else (1 + 2 f) / (1 + 2 f (1 + f))
// with f = e.
template <class T> TCU_FN T mish(T x) {
  if constexpr (is_same<T, float>) {
    float a = m::min(abs_float(x), kFar);
    SplitExp y = split_exp<kExpBias>(-a);
    float e = joined(y), twice = x < 0 ? e : e + e, f = 0.5f * twice, square = f * twice;  // 2 f and 2 f^2
    float g = x < 0 ? f : twice, w = x < 0 ? m::fma(y.rest, g, g) + y.rest : g;
    float r = reciprocal(1 + twice + square), q = a * r;
    q = m::fma(q, w, q);
    q = m::fma(m::fma(-q, square, m::fma(-q, twice, m::fma(a, w, a - q))), r, q);
    q = x < 0 ? q * y.scale * kExpUnbias : q;
    return x < kFar ? copysign_float(q, x) : x;
  } else {
    x = bound_below(x);
    return x < 20 ? x * mish_tanh(x) : x;
  }
}

// ---- gradients ----

template <class T> TCU_FN T relu_grad(T dy, T y) { return y <= T(0) ? T(0) : dy; }
template <class T> TCU_FN T relu6_grad(T dy, T y) { return ((y <= T(0)) | (y >= T(6))) ? T(0) : dy; }
template <class T> TCU_FN T leaky_relu_grad(T dy, T x, T slope) { return x > 0 ? dy : dy * slope; }
template <class T> TCU_FN T sigmoid_grad(T dy, T y) { return dy * (y * (T(1) - y)); }
template <class T> TCU_FN T tanh_grad(T dy, T y) { return dy * ((T(1) - y) * (T(1) + y)); }
template <class T> TCU_FN T elu_grad(T dy, T y) { return y > 0 ? dy : dy * (T(1) + y); }
template <class T> TCU_FN T selu_grad(T dy, T y) {
  return dy * (y > 0 ? T(selu_lambda) : y + T(selu_lambda * selu_alpha));
}
template <class T> TCU_FN T hardsigmoid_grad(T dy, T x) { return ((x <= -3) | (x >= 3)) ? T(0) : dy / T(6); }
template <class T> TCU_FN T hardswish_grad(T dy, T x) {
  return x <= -3 ? T(0) : (x >= 3 ? dy : dy * ((T(2) * x + T(3)) / T(6)));
}
template <class T> TCU_FN T softplus_grad(T dy, T x) { return dy * sigmoid_plain(x); }
template <class T> TCU_FN T logsigmoid_grad(T dy, T x) { return dy * sigmoid_plain(-x); }
template <class T> TCU_FN T softsign_grad(T dy, T x) {
  T d = T(1) + abs_float(x);
  return dy / d / d;
}
template <class T> TCU_FN T silu_grad(T dy, T x) {
  x = bound_both(x, limits<T>::max());
  return dy * (sigmoid_plain(x) * (T(1) + x * sigmoid_plain(-x)));
}
template <class T> TCU_FN T gelu_grad(T dy, T x) {
  x = bound_both(x, T(100));
  T phi = T(0.39894228040143267794) * m::exp(T(-0.5) * x * x);
  return dy * (T(0.5) * erfc_fast(T(-0.70710678118654752440) * x) + x * phi);
}
template <class T> TCU_FN T gelu_tanh_grad(T dy, T x) {
  x = bound_both(x, T(100));
  T v = gelu_tanh_2u(x);
  T dv = T(1.5957691216057307117) + T(3 * 0.071354816272600248) * x * x;
  return dy * (sigmoid_plain(v) * (T(1) + x * dv * sigmoid_plain(-v)));
}
// d/dx [x t(x)] = t + x sigmoid(x) (1 - t^2), t = tanh(softplus(x)): that is e w / (n + 2)^2, w = e^3 + 4 e^2 + (6 + 4 x) e + 4 (1 + x),
// where what w loses around its zero is lost of small numbers. It is 1 from x = 20 on.
template <class T> TCU_FN T mish_grad(T dy, T x) {
  x = bound_both(x, T(1000));
  T e = m::exp(x < 20 ? x : T(20)), d = m::fma(e, e + T(2), T(2));
  T w = m::fma(e, m::fma(e, e + T(4), m::fma(T(4), x, T(6))), T(4) * (T(1) + x));
  return dy * (x > 20 ? T(1) : e * w / (d * d));
}

}  // namespace tcu::m
