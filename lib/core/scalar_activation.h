// namespace tcu::m: activations and their gradients. They are written so that no term overflows, cancels or meets
// 0 * Inf: at -Inf and Inf the value is the limit. Tails below 2^-6 of an activation are as exact as its terms, not 2 ulp.
#pragma once
#include "core/scalar_math.h"

namespace tcu::m {

template <class T> TCU_FN T bound_below(T x) { return x < limits<T>::lowest() ? limits<T>::lowest() : x; }
template <class T> TCU_FN T bound_both(T x, T b) { return x < -b ? -b : (x > b ? b : x); }

// NaN stays NaN; relu(-0.0) is 0.0, as max(x, 0.0) is.
template <class T> TCU_FN T relu(T x) { return x <= T(0) ? T(0) : x; }
template <class T> TCU_FN T relu6(T x) { return x <= T(0) ? T(0) : (x > T(6) ? T(6) : x); }
template <class T> TCU_FN T leaky_relu(T x, T slope) { return x > 0 ? x : x * slope; }

template <class T> TCU_FN T sigmoid(T x) {
  T e = m::exp(-abs_float(x));
  return (x < 0 ? e : T(1)) / (T(1) + e);
}
template <class T> TCU_FN T softplus(T x) { return (x > 0 ? x : T(0)) + m::log1p(m::exp(-abs_float(x))); }
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
  return x > 0 ? T(selu_lambda) * x : T(selu_lambda * selu_alpha) * m::expm1(x);
}

// x * Phi(x), by erfc: 1 + erf cancels for negative x.
template <class T> TCU_FN T erfc_fast(T x) {
  if constexpr (is_same<T, float>) return ::erfcf(x);
  else return ::erfc(x);
}
template <class T> TCU_FN T gelu(T x) {
  x = bound_below(x);
  return T(0.5) * x * erfc_fast(T(-0.70710678118654752440) * x);
}
// 0.5 x (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
template <class T> TCU_FN T gelu_tanh_2u(T x) {
  return x * (T(1.5957691216057307117) + T(0.071354816272600248) * x * x);
}
template <class T> TCU_FN T gelu_tanh(T x) {
  x = bound_below(x);
  return x * m::sigmoid(gelu_tanh_2u(x));
}
template <class T> TCU_FN T silu(T x) {
  x = bound_below(x);
  return x * m::sigmoid(x);
}
// tanh(log(1 + e)) = n / (n + 2), n = e (e + 2); it is 1 in double from x = 20 on.
template <class T> TCU_FN T mish_tanh(T x) {
  T e = m::exp(x < 20 ? x : T(20));
  T n = e * (e + T(2));
  return n / (n + T(2));
}
template <class T> TCU_FN T mish(T x) {
  x = bound_below(x);
  return x < 20 ? x * mish_tanh(x) : x;
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
template <class T> TCU_FN T softplus_grad(T dy, T x) { return dy * m::sigmoid(x); }
template <class T> TCU_FN T logsigmoid_grad(T dy, T x) { return dy * m::sigmoid(-x); }
template <class T> TCU_FN T softsign_grad(T dy, T x) {
  T d = T(1) + abs_float(x);
  return dy / d / d;
}
template <class T> TCU_FN T silu_grad(T dy, T x) {
  x = bound_both(x, limits<T>::max());
  return dy * (m::sigmoid(x) * (T(1) + x * m::sigmoid(-x)));
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
  return dy * (m::sigmoid(v) * (T(1) + x * dv * m::sigmoid(-v)));
}
// d/dx [x t(x)] = t + x sigmoid(x) (1 - t^2), t = tanh(softplus(x)); 1 - t^2 = 4 (n + 1) / (n + 2)^2.
template <class T> TCU_FN T mish_grad(T dy, T x) {
  x = bound_both(x, T(1000));
  T e = m::exp(x < 20 ? x : T(20));
  T n = e * (e + T(2));
  T t = x < 20 ? n / (n + T(2)) : T(1);
  T q = x < 20 ? T(4) * (n + T(1)) / ((n + T(2)) * (n + T(2))) : T(0);
  return dy * (t + x * m::sigmoid(x) * q);
}

}  // namespace tcu::m
