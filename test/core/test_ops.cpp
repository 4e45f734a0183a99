// Every row of ops.def against an oracle in long double, __int128 or complex long double, over special values, random
// bit patterns and random numbers; and convert<To>(from). A row without an oracle fails. TCU_TEST_ULP=1 prints the worst
// error of every row.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <algorithm>
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

#include "core/functors.h"

namespace {
using namespace tcu;
using L = long double;
using I = __int128;
using Z = std::complex<L>;

const L inf = std::numeric_limits<L>::infinity(), nan_ = std::numeric_limits<L>::quiet_NaN();
const L pi = 3.14159265358979323846264338327950288L;

// ---- the oracles ----

enum class Args { all, grad_y, grad_x };  // all: anything; grad: a dy of moderate size, then y in [-2, 2] or any x

struct Oracle {
  L ulp32 = 0.501L, ulp64 = 0.501L;  // bounds; 0.501 is 'correctly rounded'
  std::function<L(L, L, L)> real;
  std::function<I(I, I, I)> integer;
  std::function<Z(Z, Z, Z)> cplx;
  L ulp_complex = 4;
  Args args = Args::all;
  L floor = 0;                              // errors are in ulp of max(|result|, floor, size(x, y, z))
  std::function<L(L, L, L)> size = nullptr;
  bool tiny_factor = false;                 // x times what may be subnormal: also in ulp of |x| * the least normal number
};

L sigmoid(L x) { return 1 / (1 + expl(-x)); }
L softplus(L x) { return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x))); }
L dist(L x) { return expl(-x * x / 2) / sqrtl(2 * pi); }
L Phi(L x) { return erfcl(-x / sqrtl(2)) / 2; }
L gelu_u(L x) { return sqrtl(2 / pi) * (x + 0.044715L * x * x * x); }
L gelu_du(L x) { return sqrtl(2 / pi) * (1 + 3 * 0.044715L * x * x); }
L limit(L x, L b) { return x > b ? b : (x < -b ? -b : x); }
L sinpi_oracle(L x) {
  if (!std::isfinite(x)) return nan_;
  L r = remainderl(x, 2);
  if (r == rintl(r)) return copysignl(0, x);
  return fabsl(r) <= 0.5L ? sinl(pi * r) : copysignl(sinl(pi * (1 - fabsl(r))), r);
}
L cospi_oracle(L x) {
  if (!std::isfinite(x)) return nan_;
  L r = fabsl(remainderl(x, 2));
  return r == 0.5L ? 0 : sinl(pi * (0.5L - r));
}
L max_oracle(L x, L y) {
  if (std::isnan(x) || std::isnan(y)) return nan_;
  return x == y ? (std::signbit(x) ? y : x) : (x > y ? x : y);
}
L mod_oracle(L x, L y) {
  L r = fmodl(x, y);
  return r == 0 ? copysignl(0, y) : ((r > 0) != (y > 0) ? r + y : r);
}
I wrap_mul(I x, I y) { return I((unsigned __int128)x * (unsigned __int128)y); }
I mod_oracle(I x, I y) { return y == 0 ? 0 : ((x % y) + y) % y; }
I pow_oracle(I x, I n) {
  if (n < 0) return x == 1 ? 1 : (x == -1 ? (n % 2 ? -1 : 1) : 0);
  I r = 1;
  for (; n; n /= 2, x = wrap_mul(x, x))
    if (n % 2) r = wrap_mul(r, x);
  return r;
}
I shift_left(I x, I n) {
  if (n >= 0) return n > 126 ? 0 : I((unsigned __int128)x << int(n));
  return x >> int(std::min<I>(-n, 126));
}

#define REAL(e) [](L x, L y, L z) -> L { return (void)x, (void)y, (void)z, (e); }
#define INT(e) [](I x, I y, I z) -> I { return (void)x, (void)y, (void)z, (e); }
#define CPLX(e) [](Z x, Z y, Z z) -> Z { return (void)x, (void)y, (void)z, (e); }

std::map<std::string, Oracle> make_oracles() {
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
  lib("tanh", 2, 2, REAL(tanhl(x)), CPLX(std::tanh(x)));
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
  lib("sigmoid", 3, 3, REAL(sigmoid(x)));
  lib("hardsigmoid", 1.6L, 1.6L, REAL(std::isnan(x) ? x : std::clamp((x + 3) / 6, L(0), L(1))));
  lib("logsigmoid", 3, 3, REAL(-softplus(-x)));
  lib("softplus", 3, 3, REAL(softplus(x)));
  lib("softsign", 1.6L, 1.6L, REAL(std::isinf(x) ? copysignl(1, x) : x / (1 + fabsl(x))));
  lib("elu", 2, 2, REAL(x > 0 ? x : expm1l(x)));
  lib("selu", 3, 3, REAL(1.05070098735548049342L * (x > 0 ? x : 1.67326324235437728482L * expm1l(x))));
  lib("gelu", 5, 5, REAL(x == -inf ? -0.0L : x * Phi(x)));
  lib("gelu_tanh", 5, 5, REAL(x == -inf ? -0.0L : x / (1 + expl(-2 * gelu_u(x)))));
  lib("silu", 4, 4, REAL(x == -inf ? -0.0L : x / (1 + expl(-x))));
  lib("mish", 4, 4, REAL(x == -inf ? -0.0L : x * tanhl(softplus(x))));
  lib("hardswish", 2.1L, 2.1L, REAL(x <= -3 ? 0 : (x >= 3 ? x : x * (x + 3) / 6)));
  // The exponential of -x^2 / 2 magnifies the rounding of its argument; of the tails only the absolute error is bounded.
  for (const char *name : {"gelu", "gelu_tanh"}) t[name].floor = 0x1p-4L;

  for (const char *name : {"silu", "mish"}) t[name].tiny_factor = true;

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
              .ulp_complex = 60};  // |y log x| is up to 40 in the sample
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
  grad("mish_grad", Args::grad_x, 20, 0.0625L, [](L dy, L x, L) {
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
  return t;
}

const Oracle *find_oracle(const std::string &name) {
  static const std::map<std::string, Oracle> table = make_oracles();
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

// ---- comparing ----

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

std::string text(L x) {
  char s[64];
  snprintf(s, sizeof s, "%.21Lg", x);
  return s;
}

// ---- arguments ----

using Random = std::mt19937_64;

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

// Fills a with the i-th tuple of arguments; false at the end.
template <class T>
bool arguments(int i, int arity, Args kind, Random &r, T *a) {
  static const std::vector<T> s = specials<T>();
  int n = int(s.size()), tuples = arity == 1 ? n : (arity == 2 ? n * n : 4 * n * n);
  if (i >= tuples + (arity == 1 ? 40000 : 20000)) return false;
  if (i < tuples) {
    a[0] = s[i % n];
    a[1] = s[i / n % n];
    a[2] = s[r() % n];
  } else {
    for (int k = 0; k < 3; ++k) a[k] = random_number<T>(r);
    if (r() % 8 == 0) a[1] = a[0];
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (kind != Args::all) a[0] = moderate<T>(r, 8);
    if (kind == Args::grad_y) a[1] = i % 16 == 0 ? T(i / 16 % 3 - 1) : moderate<T>(r, 2);
  }
  return true;
}

// ---- one row, one type: the first wrong result is reported ----

#define FAIL_ONE(message) [&] { FAIL_CHECK(message); }()

enum class Domain { Any, Real, Integral };
enum class Result { Same, Arith, Float, RealPart, FloatReal, Bool, Select };

template <class F, Result rule, class T>
auto apply(const T *a) {
  if constexpr (rule == Result::Select) return F::apply(a[0] != T{}, a[1], a[2]);
  else if constexpr (F::arity == 1) return F::apply(a[0]);
  else if constexpr (F::arity == 2) return F::apply(a[0], a[1]);
  else return F::apply(a[0], a[1], a[2]);
}
template <Result rule, class T>
using result_of = std::conditional_t<rule == Result::Bool, bool,
                                     std::conditional_t<rule == Result::RealPart || rule == Result::FloatReal, real_t<T>, T>>;
// A row for one type, as a pointer: the checks below are compiled once a type and not once a row.
template <class R, class T>
using Function = R (*)(const T *);

template <class G, class T>
void check_integer(const char *name, int arity, const Oracle &o, Function<G, T> call) {
  REQUIRE(o.integer);
  Random r(1);
  T a[3];
  for (int i = 0; arguments(i, arity, o.args, r, a); ++i) {
    I want = o.integer(a[0], a[1], a[2]);
    G got = call(a);
    bool ok = std::is_same_v<G, bool> ? got == G(want & 1) : got == G(want);
    if (!ok) return FAIL_ONE(name << "(" << +a[0] << ", " << +a[1] << ", " << +a[2] << ") is " << +got << " in " << sizeof(T) << " bytes");
  }
}

template <class G, class T>
void check_real(const char *name, int arity, const Oracle &o, Function<G, T> call) {
  REQUIRE(o.real);
  Random r(2);
  T a[3];
  L bound = sizeof(T) == 4 ? o.ulp32 : o.ulp64, worst = 0;
  for (int i = 0; arguments(i, arity, o.args, r, a); ++i) {
    L want = o.real(a[0], a[1], a[2]);
    G got = call(a);
    L error;
    if constexpr (std::is_same_v<G, bool>) {
      error = L(got) == want ? 0 : inf;
    } else {
      L size = o.size ? o.size(a[0], a[1], a[2]) : 0;
      if (size > std::numeric_limits<T>::max() / 4) continue;  // a term overflows
      if (o.tiny_factor && want != 0) size = std::max(size, fabsl(a[0]) * std::numeric_limits<T>::min());
      error = error_in_ulp(got, want, std::isfinite(size) ? std::max(size, want == 0 ? 0 : o.floor) : 0);
    }
    worst = std::max(worst, error);
    if (error > bound)
      return FAIL_ONE(name << "(" << text(a[0]) << ", " << text(a[1]) << ", " << text(a[2]) << ") is " << text(got) << ", not " << text(want)
                << ": " << text(error) << " ulp of float" << 8 * sizeof(T));
  }
  if (std::getenv("TCU_TEST_ULP")) printf("%-18s float%d %6.3Lf ulp (bound %.3Lg)\n", name, int(8 * sizeof(T)), worst, bound);
}

// Normwise: the larger error of the two parts in ulp of |result|.
template <class G, class T>
void check_complex(const char *name, int, const Oracle &o, Function<G, T> call) {
  REQUIRE(o.cplx);
  using R = real_t<T>;
  Random r(3);
  const bool algebraic = std::string("identity neg abs conj real imag add sub eq ne ifelse sqrt inv sign div arg").find(name) != std::string::npos;
  L worst = 0;
  for (int i = 0; i < 20000; ++i) {
    T a[3];
    for (T &x : a) {
      L range = i % 4 == 0 ? 1 : 8;
      x = {moderate<R>(r, range), moderate<R>(r, range)};
      if (i % 16 == 5) x.im = 0;
      if (i % 16 == 6) x.re = 0;
      if (i % 16 == 7) x = {R(int(r() % 9) - 4), R(int(r() % 9) - 4)};
      // What need not leave the range on the way is tried on all of it.
      int e = std::numeric_limits<R>::max_exponent - 3;
      if (algebraic && i % 4 == 2) x = {R(ldexpl(x.re, int(r() % (2 * e)) - e)), R(ldexpl(x.im, int(r() % (2 * e)) - e))};
    }
    if (i % 8 == 1) a[1] = a[0];
    Z z[3];
    for (int k = 0; k < 3; ++k) z[k] = {a[k].re, a[k].im};
    Z want = o.cplx(z[0], z[1], z[2]);
    G got = call(a);
    L error;
    if constexpr (std::is_same_v<G, bool>) {
      error = L(got) == want.real() ? 0 : inf;
    } else {
      T g;
      if constexpr (std::is_same_v<G, T>) g = got;
      else g = {got, 0};
      if (std::isnan(want.real()) || std::isnan(want.imag()) || std::abs(want) > std::numeric_limits<R>::max() / 4) continue;
      L size = std::abs(want);
      if (std::string(name) == "fma") size = std::max(std::abs(z[0] * z[1]), std::abs(z[2]));
      error = size == 0 ? (g.re == 0 && g.im == 0 ? 0 : inf)
                        : std::max(error_in_ulp(g.re, want.real(), size), error_in_ulp(g.im, want.imag(), size));
    }
    worst = std::max(worst, error);
    if (error > o.ulp_complex)
      return FAIL_ONE(name << "(" << text(a[0].re) << " + " << text(a[0].im) << "i, " << text(a[1].re) << " + " << text(a[1].im) << "i) is not "
                << text(want.real()) << " + " << text(want.imag()) << "i: " << text(error) << " ulp of " << sizeof(T) << " bytes");
  }
  if (std::getenv("TCU_TEST_ULP")) printf("%-18s complex%d %6.3Lf ulp (bound %.3Lg)\n", name, int(8 * sizeof(T)), worst, o.ulp_complex);
}

template <class F, Result rule, class T>
void check_type(const char *name, const Oracle &o) {
  using G = result_of<rule, T>;
  static_assert(std::is_same_v<decltype(apply<F, rule, T>(nullptr)), G>);
  if constexpr (is_complex<T>) check_complex<G, T>(name, F::arity, o, apply<F, rule, T>);
  else if constexpr (is_float<T>) check_real<G, T>(name, F::arity, o, apply<F, rule, T>);
  else check_integer<G, T>(name, F::arity, o, apply<F, rule, T>);
}

template <class F, int arity, Domain domain, Result rule>
void check_row(const char *name) {
  static_assert(F::arity == arity);
  INFO("op " << name);
  const Oracle *o = find_oracle(name);
  if (!o) FAIL("ops.def has a row " << name << " that has no oracle in test_ops.cpp");
  if constexpr (rule != Result::Float && rule != Result::FloatReal) {
    if constexpr (rule != Result::Arith) check_type<F, rule, bool>(name, *o);
    check_type<F, rule, int8_t>(name, *o);
    check_type<F, rule, int16_t>(name, *o);
    check_type<F, rule, int32_t>(name, *o);
    check_type<F, rule, int64_t>(name, *o);
    check_type<F, rule, uint8_t>(name, *o);
    check_type<F, rule, uint16_t>(name, *o);
    check_type<F, rule, uint32_t>(name, *o);
    check_type<F, rule, uint64_t>(name, *o);
  }
  if constexpr (domain != Domain::Integral) {
    check_type<F, rule, float>(name, *o);
    check_type<F, rule, double>(name, *o);
  }
  if constexpr (domain == Domain::Any) {
    check_type<F, rule, c64_t>(name, *o);
    check_type<F, rule, c128_t>(name, *o);
  }
}

}  // namespace

TEST_CASE("ops: every row agrees with its oracle", "[core][ops]") {
#define TCU_OP(id, name, arity, domain, result, julia, ...) \
  check_row<tcu::fn::name, arity, Domain::domain, Result::result>(#name);
#include "core/ops.def"
#undef TCU_OP
}

TEST_CASE("ops: ids are unique and in the range of their arity", "[core][ops]") {
  struct Row {
    int id, arity;
    std::string name;
  };
  std::vector<Row> rows;
#define TCU_OP(id, name, arity, domain, result, julia, ...) rows.push_back({id, arity, #name});
#include "core/ops.def"
#undef TCU_OP
  std::map<int, int> ids;
  std::map<std::string, int> names;
  for (const Row &r : rows) {
    INFO(r.name);
    CHECK(++ids[r.id] == 1);
    CHECK(++names[r.name] == 1);
    CHECK((r.id < 200 ? 1 : (r.id < 400 ? 2 : 3)) == r.arity);
  }
  // Pinned: an id is never given to another op.
  for (const auto &pin : std::map<std::string, int>{{"identity", 1}, {"exp", 20}, {"tanh", 48}, {"relu", 90}, {"isnan", 130},
                                                    {"add", 200}, {"mul", 202}, {"max", 208}, {"eq", 240}, {"shr", 264},
                                                    {"relu_grad", 300}, {"fma", 400}, {"ifelse", 401}})
    CHECK(std::count_if(rows.begin(), rows.end(), [&](const Row &r) { return r.name == pin.first && r.id == pin.second; }) == 1);
}

TEST_CASE("ops: complex functions at Inf, NaN and signed zeros are those of C99", "[core][ops]") {
  const double v[] = {0.0, -0.0, 1, -1, 1e308, -1e308, INFINITY, -INFINITY, NAN};
  // A zero whose sign, or an Inf whose sign, annex G leaves open is compared without it.
  auto same = [](double got, double want, bool sign) {
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
    if (std::isinf(want) || std::isinf(got) || want == 0) return sign ? got == want && std::signbit(got) == std::signbit(want) : fabs(got) == fabs(want);
    return fabs(got - want) <= 1e-15 * fabs(want);
  };
  struct Function {
    const char *name;
    c128_t (*ours)(c128_t);
    std::complex<double> (*theirs)(const std::complex<double> &);
  };
  const Function functions[] = {
      {"exp", [](c128_t z) { return fn::exp::apply(z); }, std::exp},    {"log", [](c128_t z) { return fn::log::apply(z); }, std::log},
      {"sqrt", [](c128_t z) { return fn::sqrt::apply(z); }, std::sqrt}, {"sinh", [](c128_t z) { return fn::sinh::apply(z); }, std::sinh},
      {"cosh", [](c128_t z) { return fn::cosh::apply(z); }, std::cosh}, {"tanh", [](c128_t z) { return fn::tanh::apply(z); }, std::tanh},
  };
  for (const Function &f : functions)
    for (double re : v)
      for (double im : v) {
        c128_t got = f.ours({re, im});
        std::complex<double> want = f.theirs({re, im});
        bool sign = std::isfinite(re) && std::isfinite(im);
        INFO(f.name << "(" << re << ", " << im << ") is " << got.re << ", " << got.im << ", not " << want.real() << ", " << want.imag());
        CHECK(same(got.re, want.real(), sign));
        CHECK(same(got.im, want.imag(), sign));
      }
}

TEST_CASE("ops: the candidate that replaces an argmax is the first NaN, else the first best", "[core][ops]") {
  const std::vector<std::vector<float>> cases = {{1, 3, 3, 2}, {1, NAN, 3, NAN}, {-0.0f, 0.0f, -0.0f}, {NAN, 1}, {-INFINITY, -INFINITY}, {0, -0.0f}};
  const size_t max_at[] = {1, 1, 1, 0, 0, 0}, min_at[] = {0, 1, 0, 0, 0, 1};
  for (size_t c = 0; c < cases.size(); ++c) {
    size_t a = 0, b = 0;
    for (size_t i = 1; i < cases[c].size(); ++i) {
      if (m::beats_max(cases[c][i], cases[c][a])) a = i;
      if (m::beats_min(cases[c][i], cases[c][b])) b = i;
    }
    CHECK(a == max_at[c]);
    CHECK(b == min_at[c]);
  }
  CHECK(m::max(identity_max<float>(), -INFINITY) == -INFINITY);
  CHECK(m::max(identity_max<int8_t>(), int8_t(-128)) == -128);
  CHECK(m::min(identity_min<uint64_t>(), ~uint64_t(0)) == ~uint64_t(0));
  CHECK(identity_prod<c64_t>() == c64_t{1, 0});
}

// ---- convert ----

namespace {

// Obviously: the value of the fields; and for rounding, the nearer of two neighbours in the list of all finite values.
L value_of(f16_t h) {
  int e = h.bits >> 10 & 31, f = h.bits & 1023;
  L v = e == 31 ? (f ? nan_ : inf) : (e == 0 ? ldexpl(f, -24) : ldexpl(1024 + f, e - 25));
  return h.bits >> 15 ? -v : v;
}
L value_of(bf16_t h) {
  int e = h.bits >> 7 & 255, f = h.bits & 127;
  L v = e == 255 ? (f ? nan_ : inf) : (e == 0 ? ldexpl(f, -133) : ldexpl(128 + f, e - 134));
  return h.bits >> 15 ? -v : v;
}
template <class H>
uint16_t rounded(L x) {
  static const std::vector<L> all = [] {
    std::vector<L> v;
    for (int b = 0; std::isfinite(value_of(H{uint16_t(b)})); ++b) v.push_back(value_of(H{uint16_t(b)}));
    v.push_back(2 * v.back() - v[v.size() - 2]);  // Inf stands for the next number
    return v;
  }();
  L a = fabsl(x);
  size_t i = size_t(std::lower_bound(all.begin(), all.end(), a) - all.begin());
  if (i == all.size()) i = all.size() - 1;
  else if (all[i] != a) {
    L down = a - all[i - 1], up = all[i] - a;
    if (down < up || (down == up && i % 2 == 1)) --i;
  }
  return uint16_t(i | (std::signbit(x) ? 0x8000 : 0));
}

template <class H>
void check_half() {
  for (int b = 0; b < 65536; ++b) {
    H h{uint16_t(b)};
    L want = value_of(h);
    float got = convert<float>(h);
    if (std::isnan(want)) {
      CHECK(std::isnan(got));
      CHECK(std::isnan(value_of(convert<H>(got))));
    } else if (L(got) != want || std::signbit(got) != std::signbit(want) || convert<H>(got).bits != b || convert<H>(double(got)).bits != b) {
      FAIL("bits " << b << " widen to " << got);
    }
  }
  Random r(4);
  auto check = [](auto x) {
    uint16_t got = convert<H>(x).bits, want = rounded<H>(L(x));
    if (got != want) FAIL(text(L(x)) << " of " << sizeof(x) << " bytes rounds to bits " << got << ", not " << want);
  };
  for (int i = 0; i < 300000; ++i) {
    float f = random_number<float>(r);
    double d = random_number<double>(r);
    if (f == f) check(f), check(-f);
    if (d == d) check(d);
    check(random_number<int64_t>(r)), check(random_number<uint64_t>(r)), check(random_number<int32_t>(r)), check(random_number<uint32_t>(r)), check(random_number<uint16_t>(r));
    // Midpoints and their neighbours in double, which two roundings would get wrong.
    uint16_t b = uint16_t(r() & 0x7fff);
    L lo = value_of(H{b}), hi = value_of(H{uint16_t(b + 1)});
    if (!std::isfinite(lo) || !std::isfinite(hi)) continue;
    double mid = double((lo + hi) / 2);
    check(mid), check(std::nextafter(mid, 0.0)), check(std::nextafter(mid, 1e300)), check(float(mid));
    if (mid > 64 && mid < 4e18) check(int64_t(mid)), check(int64_t(mid) + 1), check(int64_t(mid) - 1), check(-int64_t(mid) - 1);
  }
  for (double x : {65504.0, 65519.99999, 65520.0, 65536.0, 3.3895313892515355e38, 3.3961775292304957e38, 3.4e38, 1e300, HUGE_VAL, 2.98e-8, 2.9802322387695312e-8, 1e-300, 0.0, -0.0}) check(x);
}

template <class To, class From>
void check_float_to_int(From x) {
  using N = std::numeric_limits<To>;
  To want = std::isnan(x) ? To(0) : (L(x) >= L(N::max()) ? N::max() : (L(x) <= L(N::min()) ? N::min() : To(L(x))));
  To got = convert<To>(x);
  if (got != want) FAIL(text(L(x)) << " becomes " << +got << ", not " << +want);
}

template <class From>
void check_all_float_to_int() {
  Random r(5);
  std::vector<From> v = specials<From>();
  for (int i = 0; i < 100000; ++i) v.push_back(random_number<From>(r));
  for (int e = 0; e < 66; ++e)
    for (From x : {From(ldexp(1, e)), std::nextafter(From(ldexp(1, e)), From(0)), std::nextafter(From(ldexp(1, e)), From(INFINITY))}) v.push_back(x), v.push_back(-x);
  for (From x : v) {
    check_float_to_int<int8_t>(x), check_float_to_int<int16_t>(x), check_float_to_int<int32_t>(x), check_float_to_int<int64_t>(x);
    check_float_to_int<uint8_t>(x), check_float_to_int<uint16_t>(x), check_float_to_int<uint32_t>(x), check_float_to_int<uint64_t>(x);
  }
}

}  // namespace

TEST_CASE("convert: float16 and bfloat16, all bit patterns and one rounding from any type", "[core][ops]") {
  check_half<f16_t>();
  check_half<bf16_t>();
}

TEST_CASE("convert: floats to integers truncate and saturate, NaN gives 0", "[core][ops]") {
  check_all_float_to_int<float>();
  check_all_float_to_int<double>();
  CHECK(convert<int8_t>(convert<f16_t>(-1000.0)) == -128);
}

TEST_CASE("convert: integers wrap, bool is 'not zero', complex keeps the real part", "[core][ops]") {
  CHECK(convert<int8_t>(int32_t(200)) == -56);
  CHECK(convert<uint16_t>(int64_t(-1)) == 65535);
  CHECK(convert<uint64_t>(int8_t(-1)) == ~uint64_t(0));
  CHECK(convert<bool>(0.25f));
  CHECK(convert<bool>(NAN));
  CHECK_FALSE(convert<bool>(-0.0));
  CHECK(convert<bool>(int64_t(1) << 40));
  CHECK_FALSE(convert<bool>(f16_t{0x8000}));
  CHECK(convert<bool>(c64_t{0, 1}));
  CHECK(convert<double>(c64_t{2.5f, 7}) == 2.5);
  CHECK(convert<int32_t>(c128_t{-2.5, 7}) == -2);
  CHECK(convert<c128_t>(int8_t(-3)) == c128_t{-3, 0});
  CHECK(convert<c64_t>(c128_t{0.1, 1e300}) == c64_t{0.1f, INFINITY});
  CHECK(convert<c64_t>(true) == c64_t{1, 0});
  CHECK(convert<float>(uint64_t(1) << 63) == 0x1p63f);
  CHECK(convert<float>(16777217) == 16777216.0f);
}
