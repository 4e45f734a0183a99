// What every op of ops.def should give: oracles in long double, __int128 and complex long double, each with its bounds in ulp;
// the arguments that it is tried on; and how far a result is from its oracle. Shared by the test of the host's arithmetic
// (core/test_ops.cpp) and that of a GPU's (cuda/test_ops.cpp).
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/scalar.h"
#include "support.h"

namespace ops_oracle {
using namespace tcu;
using L = long double;
using I = __int128;
using Z = std::complex<L>;

inline const L inf = std::numeric_limits<L>::infinity(), nan_ = std::numeric_limits<L>::quiet_NaN();
inline const L pi = 3.14159265358979323846264338327950288L;

// ---- the oracles ----

enum class Args { all, grad_y, grad_x };  // all: anything; grad: a dy of moderate size, then y in [-2, 2] or any x

struct Oracle {
  L ulp32 = 0.501L, ulp64 = 0.501L;  // bounds; 0.501 is 'correctly rounded'
  std::function<L(L, L, L)> real;
  std::function<I(I, I, I)> integer;
  std::function<Z(Z, Z, Z)> cplx;
  L ulp_complex = 4;                        // normwise: the larger error of the two parts in ulp of |result|
  bool any_size = false;                    // complex: nothing leaves the range on the way, so it is tried on all of it
  Args args = Args::all;
  L floor = 0;                              // errors are in ulp of max(|result|, size(x, y, z), and in float64 floor)
  std::function<L(L, L, L)> size = nullptr;
  std::function<L(Z, Z, Z)> size_complex = nullptr;
  bool tiny_factor = false;                 // x times what may be subnormal: also in ulp of |x| * the least normal number
  bool tiny_factor64 = false;               // the same, but of float64 only
};

inline L sigmoid(L x) { return 1 / (1 + expl(-x)); }
inline L softplus(L x) { return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x))); }
inline L dist(L x) { return expl(-x * x / 2) / sqrtl(2 * pi); }
inline L Phi(L x) { return erfcl(-x / sqrtl(2)) / 2; }
inline L gelu_u(L x) { return sqrtl(2 / pi) * (x + 0.044715L * x * x * x); }
inline L gelu_du(L x) { return sqrtl(2 / pi) * (1 + 3 * 0.044715L * x * x); }
inline L limit(L x, L b) { return x > b ? b : (x < -b ? -b : x); }
inline L sinpi_oracle(L x) {
  if (!std::isfinite(x)) return nan_;
  L r = remainderl(x, 2);
  if (r == rintl(r)) return copysignl(0, x);
  return fabsl(r) <= 0.5L ? sinl(pi * r) : copysignl(sinl(pi * (1 - fabsl(r))), r);
}
inline L cospi_oracle(L x) {
  if (!std::isfinite(x)) return nan_;
  L r = fabsl(remainderl(x, 2));
  return r == 0.5L ? 0 : sinl(pi * (0.5L - r));
}
inline L max_oracle(L x, L y) {
  if (std::isnan(x) || std::isnan(y)) return nan_;
  return x == y ? (std::signbit(x) ? y : x) : (x > y ? x : y);
}
inline L mod_oracle(L x, L y) {
  L r = fmodl(x, y);
  return r == 0 ? copysignl(0, y) : ((r > 0) != (y > 0) ? r + y : r);
}
inline I wrap_mul(I x, I y) { return I((unsigned __int128)x * (unsigned __int128)y); }
inline I mod_oracle(I x, I y) { return y == 0 ? 0 : ((x % y) + y) % y; }
inline I pow_oracle(I x, I n) {
  if (n < 0) return x == 1 ? 1 : (x == -1 ? (n % 2 ? -1 : 1) : 0);
  I r = 1;
  for (; n; n /= 2, x = wrap_mul(x, x))
    if (n % 2) r = wrap_mul(r, x);
  return r;
}
inline I shift_left(I x, I n) {
  if (n >= 0) return n > 126 ? 0 : I((unsigned __int128)x << int(n));
  return x >> int(std::min<I>(-n, 126));
}

#define REAL(e) [](L x, L y, L z) -> L { return (void)x, (void)y, (void)z, (e); }
#define INT(e) [](I x, I y, I z) -> I { return (void)x, (void)y, (void)z, (e); }
#define CPLX(e) [](Z x, Z y, Z z) -> Z { return (void)x, (void)y, (void)z, (e); }

inline std::map<std::string, Oracle> make_oracles() {
  std::map<std::string, Oracle> t;
  auto lib = [&](const char *name, L ulp32, L ulp64, std::function<L(L, L, L)> real, std::function<Z(Z, Z, Z)> c = nullptr) {
    t[name] = {.ulp32 = ulp32, .ulp64 = ulp64, .real = real, .integer = nullptr, .cplx = c};
  };
  auto exact = [&](const char *name, std::function<L(L, L, L)> real, std::function<I(I, I, I)> i,
                   std::function<Z(Z, Z, Z)> c = nullptr) { t[name] = {.real = real, .integer = i, .cplx = c}; };

  exact("identity", REAL(x), INT(x), CPLX(x));
  exact("neg", REAL(-x), INT(-x), CPLX(-x));
  exact("abs", REAL(fabsl(x)), INT(x < 0 ? -x : x), CPLX(std::abs(x)));
  exact("abs2", REAL(x * x), INT(wrap_mul(x, x)), CPLX(x.real() * x.real() + x.imag() * x.imag()));
  exact("sign", REAL(x > 0 ? 1 : (x < 0 ? -1 : x)), INT((x > 0) - (x < 0)), CPLX(x == Z(0) ? x : x / std::abs(x)));
  exact("inv", REAL(1 / x), nullptr, CPLX(Z(1) / x));
  exact("sqrt", REAL(sqrtl(x)), nullptr, CPLX(std::sqrt(x)));
  lib("rsqrt", 1.6L, 1.6L, REAL(1 / sqrtl(x)));
  lib("cbrt", 1, 1, REAL(cbrtl(x)));
  lib("deg2rad", 0.501L, 1, REAL(x * (pi / 180)));
  lib("rad2deg", 0.501L, 1, REAL(x * (180 / pi)));

  lib("exp", 2, 2, REAL(expl(x)), CPLX(std::exp(x)));
  lib("exp2", 2, 2, REAL(exp2l(x)));
  lib("exp10", 2, 2, REAL(exp10l(x)));
  lib("expm1", 2, 2, REAL(expm1l(x)));
  lib("log", 2, 2, REAL(logl(x)), CPLX(std::log(x)));
  lib("log2", 2, 2, REAL(log2l(x)));
  lib("log10", 2, 2, REAL(log10l(x)));
  lib("log1p", 2, 2, REAL(log1pl(x)));
  lib("sin", 2, 2, REAL(sinl(x)), CPLX(std::sin(x)));
  lib("cos", 2, 2, REAL(cosl(x)), CPLX(std::cos(x)));
  lib("tan", 2, 2, REAL(tanl(x)), CPLX(std::tan(x)));
  lib("asin", 2, 2, REAL(asinl(x)));
  lib("acos", 2, 2, REAL(acosl(x)));
  lib("atan", 2, 2, REAL(atanl(x)));
  lib("sinh", 2, 2, REAL(sinhl(x)), CPLX(std::sinh(x)));
  lib("cosh", 2, 2, REAL(coshl(x)), CPLX(std::cosh(x)));
  lib("tanh", 2, 2.2L, REAL(tanhl(x)), CPLX(std::tanh(x)));
  t["tan"].ulp_complex = t["tanh"].ulp_complex = 8;
  lib("asinh", 2, 2, REAL(asinhl(x)));
  lib("acosh", 2, 2, REAL(acoshl(x)));
  lib("atanh", 2, 2, REAL(atanhl(x)));
  lib("sinpi", 2, 2, REAL(sinpi_oracle(x)));
  lib("cospi", 2, 2, REAL(cospi_oracle(x)));
  lib("erf", 2, 2, REAL(erfl(x)));
  lib("erfc", 0.6L, 5, REAL(erfcl(x)));
  lib("gamma", 0.6L, 10, REAL(tgammal(x)));
  lib("lgamma", 0.6L, 5, [](L x, L, L) {
    int s;
    return lgammal_r(x, &s);
  });

  exact("floor", REAL(floorl(x)), INT(x));
  exact("ceil", REAL(ceill(x)), INT(x));
  exact("round", REAL(rintl(x)), INT(x));
  exact("trunc", REAL(truncl(x)), INT(x));

  exact("relu", REAL(x <= 0 ? 0 : x), INT(x < 0 ? 0 : x));
  exact("relu6", REAL(x <= 0 ? 0 : (x > 6 ? 6 : x)), INT(x < 0 ? 0 : (x > 6 ? 6 : x)));
  lib("sigmoid", 2, 3, REAL(sigmoid(x)));
  lib("hardsigmoid", 1.6L, 1.6L, REAL(std::isnan(x) ? x : std::clamp((x + 3) / 6, L(0), L(1))));
  lib("logsigmoid", 2, 3, REAL(-softplus(-x)));
  lib("softplus", 2, 3, REAL(softplus(x)));
  lib("softsign", 1.6L, 1.6L, REAL(std::isinf(x) ? copysignl(1, x) : x / (1 + fabsl(x))));
  lib("elu", 2, 2, REAL(x > 0 ? x : expm1l(x)));
  lib("selu", 2, 3, REAL(1.05070098735548049342L * (x > 0 ? x : 1.67326324235437728482L * expm1l(x))));
  lib("gelu", 2, 6, REAL(x == -inf ? -0.0L : x * Phi(x)));
  lib("gelu_tanh", 2, 6, REAL(x == -inf ? -0.0L : x / (1 + expl(-2 * gelu_u(x)))));
  lib("silu", 2, 4, REAL(x == -inf ? -0.0L : x / (1 + expl(-x))));
  lib("mish", 2, 5, REAL(x == -inf ? -0.0L : x * tanhl(softplus(x))));
  lib("hardswish", 2, 2.1L, REAL(x <= -3 ? 0 : (x >= 3 ? x : x * (x + 3) / 6)));
  // In float64 the exponential of -x^2 / 2 magnifies the rounding of its argument; of the tails only the absolute error is bounded.
  for (const char *name : {"gelu", "gelu_tanh"}) t[name].floor = 0x1p-4L;
  for (const char *name : {"silu", "mish"}) t[name].tiny_factor64 = true;

  exact("isnan", REAL(std::isnan(x)), INT(0), CPLX(std::isnan(x.real()) || std::isnan(x.imag())));
  exact("isinf", REAL(std::isinf(x)), INT(0), CPLX(std::isinf(x.real()) || std::isinf(x.imag())));
  exact("isfinite", REAL(std::isfinite(x)), INT(1), CPLX(std::isfinite(x.real()) && std::isfinite(x.imag())));
  exact("signbit", REAL(std::signbit(x)), INT(x < 0));
  exact("logical_not", REAL(x == 0), INT(x == 0));
  exact("bit_not", nullptr, INT(~x));
  exact("real", REAL(x), INT(x), CPLX(x.real()));
  exact("imag", REAL(0), INT(0), CPLX(x.imag()));
  exact("conj", REAL(x), INT(x), CPLX(std::conj(x)));
  exact("arg", REAL(std::isnan(x) ? x : (std::signbit(x) ? pi : 0)), nullptr, CPLX(atan2l(x.imag(), x.real())));

  exact("add", REAL(x + y), INT(x + y), CPLX(x + y));
  exact("sub", REAL(x - y), INT(x - y), CPLX(x - y));
  exact("mul", REAL(x * y), INT(wrap_mul(x, y)), CPLX(x * y));
  exact("div", REAL(x / y), nullptr, CPLX(x / y));
  t["pow"] = {.ulp32 = 2, .ulp64 = 2, .real = REAL(powl(x, y)), .integer = INT(pow_oracle(x, y)), .cplx = CPLX(std::pow(x, y)),
              .ulp_complex = 100};  // |y log x| is up to 40 in the sample
  // Exact up to 2^22 (2^51).
  t["idiv"] = {.ulp32 = 2.1L, .ulp64 = 2.1L, .real = REAL(rintl((x - fmodl(x, y)) / y)), .integer = INT(y == 0 ? 0 : x / y), .cplx = nullptr};
  exact("rem", REAL(fmodl(x, y)), INT(y == 0 ? 0 : x % y));
  exact("mod", REAL(mod_oracle(x, y)), INT(mod_oracle(x, y)));
  exact("max", REAL(max_oracle(x, y)), INT(std::max(x, y)));
  exact("min", REAL(-max_oracle(-x, -y)), INT(std::min(x, y)));
  lib("hypot", 2, 2, REAL(hypotl(x, y)));
  lib("atan2", 2, 2, REAL(atan2l(x, y)));
  exact("copysign", REAL(copysignl(x, y)), INT((x < 0) != (y < 0) ? -x : x));
  lib("xlogy", 3, 3, REAL(x == 0 && !std::isnan(y) ? 0 : x * logl(y)));
  lib("logaddexp", 4, 4, REAL(x == y ? x + logl(2) : max_oracle(x, y) + log1pl(expl(-fabsl(x - y)))));
  t["logaddexp"].size = REAL(std::max(fabsl(max_oracle(x, y)), L(0.5)));
  t["sqdiff"] = {.ulp32 = 3, .ulp64 = 3, .real = REAL((x - y) * (x - y)), .integer = INT(wrap_mul(x - y, x - y)), .cplx = nullptr};
  exact("leaky_relu", REAL(x > 0 ? x : x * y), nullptr);

  exact("eq", REAL(x == y), INT(x == y), CPLX(x == y));
  exact("ne", REAL(x != y), INT(x != y), CPLX(x != y));
  exact("lt", REAL(x < y), INT(x < y));
  exact("le", REAL(x <= y), INT(x <= y));
  exact("gt", REAL(x > y), INT(x > y));
  exact("ge", REAL(x >= y), INT(x >= y));
  exact("logical_and", REAL(x != 0 && y != 0), INT(x != 0 && y != 0));
  exact("logical_or", REAL(x != 0 || y != 0), INT(x != 0 || y != 0));
  exact("logical_xor", REAL((x != 0) != (y != 0)), INT((x != 0) != (y != 0)));
  exact("bit_and", nullptr, INT(x & y));
  exact("bit_or", nullptr, INT(x | y));
  exact("bit_xor", nullptr, INT(x ^ y));
  exact("shl", nullptr, INT(shift_left(x, y)));
  exact("shr", nullptr, INT(shift_left(x, -y)));

  auto grad = [&](const char *name, Args args, L ulp, L floor, std::function<L(L, L, L)> f) {
    t[name] = {.ulp32 = ulp, .ulp64 = ulp, .real = f, .integer = nullptr, .cplx = nullptr};
    t[name].args = args;
    t[name].tiny_factor = true;
    if (floor > 0) t[name].size = [floor](L dy, L, L) { return floor * fabsl(dy); };
  };
  exact("relu_grad", REAL(y <= 0 ? 0 : x), INT(y <= 0 ? 0 : x));
  exact("relu6_grad", REAL(y <= 0 || y >= 6 ? 0 : x), INT(y <= 0 || y >= 6 ? 0 : x));
  grad("sigmoid_grad", Args::grad_y, 3, 0, REAL(x * y * (1 - y)));
  grad("tanh_grad", Args::grad_y, 4, 0, REAL(x * (1 - y) * (1 + y)));
  grad("elu_grad", Args::grad_y, 1.6L, 0, REAL(y > 0 ? x : x * (1 + y)));
  grad("selu_grad", Args::grad_y, 4, 1, REAL(x * (y > 0 ? 1.05070098735548049342L : y + 1.05070098735548049342L * 1.67326324235437728482L)));
  grad("hardsigmoid_grad", Args::grad_x, 0.501L, 0, REAL(y <= -3 || y >= 3 ? 0 : x / 6));
  grad("logsigmoid_grad", Args::grad_x, 4, 0, REAL(x * sigmoid(-y)));
  grad("softplus_grad", Args::grad_x, 4, 0, REAL(x * sigmoid(y)));
  grad("softsign_grad", Args::grad_x, 4, 0, REAL(x / ((1 + fabsl(y)) * (1 + fabsl(y)))));
  // Derivatives with a zero crossing, or an exponential of a square: in ulp of dy / 16.
  grad("gelu_grad", Args::grad_x, 20, 0.0625L, REAL(x * (Phi(limit(y, 100)) + limit(y, 100) * dist(limit(y, 100)))));
  grad("gelu_tanh_grad", Args::grad_x, 20, 0.0625L, [](L dy, L x, L) {
    x = limit(x, 100);
    L s = sigmoid(2 * gelu_u(x));
    return dy * (s + 2 * x * gelu_du(x) * s * sigmoid(-2 * gelu_u(x)));
  });
  grad("silu_grad", Args::grad_x, 20, 0.0625L, REAL(x * sigmoid(y) * (1 + (std::isinf(y) ? 0 : y) * sigmoid(-y))));
  grad("mish_grad", Args::grad_x, 12, 0.0625L, [](L dy, L x, L) {
    x = limit(x, 1000);
    L h = tanhl(softplus(x));
    return dy * (h + x * sigmoid(x) * (1 - h) * (1 + h));
  });
  grad("hardswish_grad", Args::grad_x, 3, 0.0625L, REAL(y <= -3 ? 0 : (y >= 3 ? x : x * (2 * y + 3) / 6)));

  exact("fma", REAL(fmal(x, y, z)), INT(I((unsigned __int128)wrap_mul(x, y) + (unsigned __int128)z)), CPLX(x * y + z));
  exact("ifelse", REAL(x != 0 ? y : z), INT(x ? y : z), CPLX(x != Z(0) ? y : z));
  exact("clamp", REAL(x > z ? z : (x < y ? y : x)), INT(x > z ? z : (x < y ? y : x)));
  t["lerp"] = {.ulp32 = 2.6L, .ulp64 = 2.6L, .real = REAL((1 - z) * x + z * y), .integer = nullptr, .cplx = nullptr,
               .size = REAL(std::max(fabsl((1 - z) * x), fabsl(z * y)))};
  exact("leaky_relu_grad", REAL(y > 0 ? x : x * z), nullptr);
  t["fma"].size_complex = [](Z x, Z y, Z z) { return std::max(std::abs(x * y), std::abs(z)); };
  for (const char *name : {"identity", "neg", "abs", "conj", "real", "imag", "add", "sub", "eq", "ne", "ifelse", "sqrt", "inv", "sign",
                           "div", "arg"})
    t[name].any_size = true;
  return t;
}

#undef REAL
#undef INT
#undef CPLX

// Null if there is none.
inline const Oracle *find_oracle(const std::string &name) {
  static const std::map<std::string, Oracle> table = make_oracles();
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

// ---- arguments ----

using Random = support::Rng;

template <class T>
std::vector<T> specials() {
  std::vector<T> v;
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    using N = std::numeric_limits<T>;
    for (int i : {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100}) v.push_back(T(i)), v.push_back(T(-i));
    for (T x : {N::min(), T(N::min() + 1), N::max(), T(N::max() - 1)}) v.push_back(x);
  } else {
    using N = std::numeric_limits<T>;
    for (T x : {T(0), N::denorm_min(), T(N::min() / 2), N::min(), N::epsilon(), T(0.25), T(0.5), T(1), T(1.5), T(2), T(2.5), T(3),
                T(6), T(1) + N::epsilon(), T(1) - N::epsilon(), T(4194304.5), T(1) / N::epsilon(), T(2) / N::epsilon(),
                T(1e30), N::max(), N::infinity(), T(pi), T(20), T(100)})
      v.push_back(x), v.push_back(-x);
    v.push_back(N::quiet_NaN());
  }
  return v;
}

template <class T>
T random_number(Random &r) {
  uint64_t u = r();
  if constexpr (std::is_same_v<T, bool>) {
    return u & 1;
  } else if constexpr (std::is_integral_v<T>) {
    int kind = u % 4;
    return kind == 0 ? T(int(r() % 40) - 20) : T(r() >> (kind == 1 ? r() % 60 : 0));
  } else {
    auto uniform = [&](L a) { return T(a * (2 * L(r() >> 1) / 0x1p63L - 1)); };
    switch (u % 8) {
      case 0:
      case 1: {
        bits_t<T> b = bits_t<T>(r());
        T x;
        std::memcpy(&x, &b, sizeof x);
        return x;
      }
      case 2: return uniform(2);
      case 3: return uniform(10);
      case 4: return uniform(100);
      case 5: return uniform(1000);
      case 6: return T(int(r() % 200) - 100) / 2;
      default: return T(ldexpl(uniform(1), int(r() % 60) - 40));
    }
  }
}
template <class T>
T moderate(Random &r, L range) {
  return T(range * (2 * L(r() >> 1) / 0x1p63L - 1));
}

template <class T>
using Arguments = std::array<T, 3>;

// What an op of that arity is tried on, the same in every call.
template <class T>
std::vector<Arguments<T>> arguments(int arity, const Oracle &o) {
  std::vector<Arguments<T>> tuples;
  Arguments<T> a;
  if constexpr (is_complex<T>) {
    using R = real_t<T>;
    Random r(3);
    for (int i = 0; i < 20000; ++i) {
      for (T &x : a) {
        L range = i % 4 == 0 ? 1 : 8;
        x = {moderate<R>(r, range), moderate<R>(r, range)};
        if (i % 16 == 5) x.im = 0;
        if (i % 16 == 6) x.re = 0;
        if (i % 16 == 7) x = {R(int(r() % 9) - 4), R(int(r() % 9) - 4)};
        int e = std::numeric_limits<R>::max_exponent - 3;
        if (o.any_size && i % 4 == 2) x = {R(ldexpl(x.re, int(r() % (2 * e)) - e)), R(ldexpl(x.im, int(r() % (2 * e)) - e))};
      }
      if (i % 8 == 1) a[1] = a[0];
      tuples.push_back(a);
    }
  } else {
    Random r(is_float<T> ? 2 : 1);
    const std::vector<T> s = specials<T>();
    const int n = int(s.size()), special = arity == 1 ? n : (arity == 2 ? n * n : 4 * n * n);
    for (int i = 0; i < special + (arity == 1 ? 40000 : 20000); ++i) {
      if (i < special) {
        a[0] = s[i % n];
        a[1] = s[i / n % n];
        a[2] = s[r() % n];
      } else {
        for (T &x : a) x = random_number<T>(r);
        if (r() % 8 == 0) a[1] = a[0];
      }
      if constexpr (is_float<T>) {
        if (o.args != Args::all) a[0] = moderate<T>(r, 8);
        if (o.args == Args::grad_y) a[1] = i % 16 == 0 ? T(i / 16 % 3 - 1) : moderate<T>(r, 2);
      }
      tuples.push_back(a);
    }
  }
  return tuples;
}

// ---- comparing ----

// The columns domain and result of ops.def, and the type that comes out.
enum class Domain { Any, Real, Integral };
enum class Result { Same, Arith, Float, RealPart, FloatReal, Bool, Select };
template <Result rule, class T>
using result_of = std::conditional_t<rule == Result::Bool, bool,
                                     std::conditional_t<rule == Result::RealPart || rule == Result::FloatReal, real_t<T>, T>>;

template <class T>
bool has_oracle(const Oracle &o) {
  if constexpr (is_complex<T>) return bool(o.cplx);
  else if constexpr (is_float<T>) return bool(o.real);
  else return bool(o.integer);
}
template <class T>
L bound_of(const Oracle &o) {
  if constexpr (is_integral<T>) return 0;
  else if constexpr (is_complex<T>) return o.ulp_complex;
  else return sizeof(T) == 4 ? o.ulp32 : o.ulp64;
}

template <class T>
L ulp_of(L x) {
  int e;
  frexpl(fabsl(x), &e);
  return ldexpl(1, std::clamp(e, std::numeric_limits<T>::min_exponent, std::numeric_limits<T>::max_exponent) -
                       std::numeric_limits<T>::digits);
}
// The distance in ulp, where Inf counts as the power of two after the largest number, so that a result may round to it.
template <class T>
L error_in_ulp(T got, L want, L size) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : inf;
  if (want == 0 && size == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : inf;
  const L top = ldexpl(1, std::numeric_limits<T>::max_exponent);
  L g = std::isinf(got) ? copysignl(top, got) : L(got), w = fabsl(want) > top ? copysignl(top, want) : want;
  return std::isnan(got) ? inf : fabsl(g - w) / ulp_of<T>(std::max(fabsl(w), std::min(size, top)));
}

inline std::string text(L x, int digits = 21) {
  char s[64];
  snprintf(s, sizeof s, "%.*Lg", digits, x);
  return s;
}
inline std::string text(Z z) { return text(z.real()) + " + " + text(z.imag()) + "i"; }
template <class R>
std::string text(complex_t<R> z) { return text(Z(z.re, z.im)); }

template <class T>
std::string type_name() {
  if constexpr (is_bool<T>) return "bool";
  const char *kind = is_complex<T> ? "complex" : (is_float<T> ? "float" : (is_signed_int<T> ? "int" : "uint"));
  return kind + std::to_string(8 * sizeof(T));
}

// The oracle's answer: of G itself for integers, else in long double.
template <class G, class T>
auto expected(const Oracle &o, const Arguments<T> &a) {
  if constexpr (is_complex<T>) {
    return o.cplx(Z(a[0].re, a[0].im), Z(a[1].re, a[1].im), Z(a[2].re, a[2].im));
  } else if constexpr (is_float<T>) {
    return o.real(a[0], a[1], a[2]);
  } else {
    const I want = o.integer(a[0], a[1], a[2]);
    return is_bool<G> ? G(want & 1) : G(want);
  }
}

// Floats in ulp; what must be exact is 0 or Inf.
template <class G, class T>
L error_of(const Oracle &o, const Arguments<T> &a, G got) {
  const auto want = expected<G>(o, a);
  if constexpr (is_integral<T>) {
    return got == want ? 0 : inf;
  } else if constexpr (is_bool<G>) {
    return Z(L(got)) == Z(want) ? 0 : inf;
  } else if constexpr (is_float<T>) {
    L size = o.size ? o.size(a[0], a[1], a[2]) : 0;
    if (size > std::numeric_limits<T>::max() / 4) return 0;  // a term overflows
    const bool wide = is_same<T, double>;
    if ((o.tiny_factor || (o.tiny_factor64 && wide)) && want != 0) size = std::max(size, fabsl(a[0]) * std::numeric_limits<T>::min());
    return error_in_ulp(got, want, std::isfinite(size) ? std::max(size, want == 0 || !wide ? 0 : o.floor) : 0);
  } else {
    using R = real_t<T>;
    T g;
    if constexpr (is_complex<G>) g = got;
    else g = {got, 0};
    if (std::isnan(want.real()) || std::isnan(want.imag()) || std::abs(want) > std::numeric_limits<R>::max() / 4) return 0;
    L size = std::abs(want);
    if (o.size_complex) size = o.size_complex(Z(a[0].re, a[0].im), Z(a[1].re, a[1].im), Z(a[2].re, a[2].im));
    return size == 0 ? (g.re == 0 && g.im == 0 ? 0 : inf)
                     : std::max(error_in_ulp(g.re, want.real(), size), error_in_ulp(g.im, want.imag(), size));
  }
}

template <class G, class T>
std::string describe(const char *name, int arity, const Oracle &o, const Arguments<T> &a, G got) {
  std::string s = std::string(name) + "(";
  for (int k = 0; k < arity; ++k) s += (k ? ", " : "") + text(a[k]);
  return s + ") is " + text(got) + ", not " + text(expected<G>(o, a)) + ": " + text(error_of(o, a, got), 4) + " ulp of " + type_name<T>() +
         ", and the bound is " + text(bound_of<T>(o), 4);
}

// If TCU_TEST_ULP is set; what must be exact is left out.
template <class T>
void print_worst(const char *name, const Oracle &o, L worst) {
  if (!is_integral<T> && std::getenv("TCU_TEST_ULP"))
    printf("%-18s %s %6.3Lf ulp (bound %.3Lg)\n", name, type_name<T>().c_str(), worst, bound_of<T>(o));
}

}  // namespace ops_oracle
