// Every row of ops.def against its oracle in ops_oracle.h, and convert<To>(from). A row without an oracle fails.
// TCU_TEST_ULP=1 prints the worst error of every row.
#include "catch.h"
#include "core/functors.h"
#include "ops_oracle.h"

namespace {
using namespace ops_oracle;

// ---- one row, one type: the first wrong result is reported ----

#define FAIL_ONE(message) [&] { FAIL_CHECK(message); }()

template <class F, Result rule, class T>
auto apply(const Arguments<T> &a) {
  if constexpr (rule == Result::Select) return F::apply(a[0] != T{}, a[1], a[2]);
  else if constexpr (F::arity == 1) return F::apply(a[0]);
  else if constexpr (F::arity == 2) return F::apply(a[0], a[1]);
  else return F::apply(a[0], a[1], a[2]);
}
// A row for one type, as a pointer: the check is compiled once a type and not once a row.
template <class G, class T>
using Function = G (*)(const Arguments<T> &);

template <class G, class T>
void check(const char *name, int arity, const Oracle &o, Function<G, T> call) {
  REQUIRE(has_oracle<T>(o));
  L worst = 0;
  for (const Arguments<T> &a : arguments<T>(arity, o)) {
    const G got = call(a);
    const L error = error_of(o, a, got);
    if (error > bound_of<T>(o)) return FAIL_ONE(describe(name, arity, o, a, got));
    worst = std::max(worst, error);
  }
  print_worst<T>(name, o, worst);
}

template <class F, Result rule, class T>
void check_type(const char *name, const Oracle &o) {
  using G = result_of<rule, T>;
  static_assert(std::is_same_v<decltype(apply<F, rule, T>({})), G>);
  check<G, T>(name, F::arity, o, apply<F, rule, T>);
}

template <class F, int arity, Domain domain, Result rule>
void check_row(const char *name) {
  static_assert(F::arity == arity);
  INFO("op " << name);
  const Oracle *o = find_oracle(name);
  if (!o) FAIL("ops.def has a row " << name << " that has no oracle in ops_oracle.h");
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

TEST_CASE("ops: tanh of float64, as devices compute it, is within 1.4 ulp", "[core][ops]") {
  Random rng(1);
  double worst = 0, worst_at = 0;
  const auto look = [&](double x) {
    const L want = tanhl(L(x));
    int exponent;
    frexpl(want, &exponent);
    const double error = double(fabsl(m::tanh_divided(x) - want) / ldexpl(1, std::max(exponent, -1021) - 53));
    if (!(error <= worst)) worst = error, worst_at = x;
  };
  for (int exponent = -1074; exponent < 1024; ++exponent)
    for (int i = exponent < -20 || exponent > 4 ? 20 : 8000; i > 0; --i) {
      const double x = std::ldexp(1 + double(rng() >> 12) * 0x1p-52, exponent);
      look(i % 2 ? x : -x);
    }
  for (int k = 0; k < 60; ++k)  // where the range reduction goes from one k to the next, and where it leaves nothing
    for (double at : {(k + 0.78125) * 0.34657359027997264, k * 0.34657359027997264})
      for (int i = -100; i < 100; ++i) look(at * (1 + i * 0x1p-40));
  INFO("at " << worst_at);
  CHECK(worst < 1.4);
  for (double x : {0.0, 1e-310, 19.5, 20.0, 1e300, double(INFINITY)}) {
    CHECK(m::tanh_divided(x) == std::tanh(x));
    CHECK(m::tanh_divided(-x) == -std::tanh(x));
    CHECK(std::signbit(m::tanh_divided(-x)));
  }
  CHECK(std::isnan(m::tanh_divided(NAN)));
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
// Micikevicius et al. 2022, "FP8 formats for deep learning", table 1.
L value_of(f8e4m3_t h) {
  int e = h.bits >> 3 & 15, f = h.bits & 7;
  L v = e == 15 && f == 7 ? nan_ : (e == 0 ? ldexpl(f, -9) : ldexpl(8 + f, e - 10));
  return h.bits >> 7 ? -v : v;
}
L value_of(f8e5m2_t h) {
  int e = h.bits >> 2 & 31, f = h.bits & 3;
  L v = e == 31 ? (f ? nan_ : inf) : (e == 0 ? ldexpl(f, -16) : ldexpl(4 + f, e - 17));
  return h.bits >> 7 ? -v : v;
}
template <class H> H of_bits(int bits) { return H{decltype(H::bits)(bits)}; }
template <class H> constexpr int sign_bit = 1 << (8 * sizeof(H) - 1);

template <class H>
int rounded(L x) {
  static const std::vector<L> all = [] {
    std::vector<L> v;
    for (int b = 0; std::isfinite(value_of(of_bits<H>(b))); ++b) v.push_back(value_of(of_bits<H>(b)));
    v.push_back(2 * v.back() - v[v.size() - 2]);  // Inf stands for the next number, or, where there is no Inf, NaN
    return v;
  }();
  L a = fabsl(x);
  size_t i = size_t(std::lower_bound(all.begin(), all.end(), a) - all.begin());
  if (i == all.size()) i = all.size() - 1;
  else if (all[i] != a) {
    L down = a - all[i - 1], up = all[i] - a;
    if (down < up || (down == up && i % 2 == 1)) --i;
  }
  return int(i) | (std::signbit(x) ? sign_bit<H> : 0);
}

template <class H>
void check_short_float() {
  for (int b = 0; b < 2 * sign_bit<H>; ++b) {
    H h = of_bits<H>(b);
    L want = value_of(h);
    float got = convert<float>(h);
    if (std::isnan(want)) {
      CHECK(std::isnan(got));
      CHECK(std::isnan(convert<double>(h)));
      CHECK(std::isnan(value_of(convert<H>(got))));
    } else if (L(got) != want || std::signbit(got) != std::signbit(want) || convert<H>(got).bits != b || convert<H>(double(got)).bits != b) {
      FAIL("bits " << b << " widen to " << got);
    }
  }
  Random r(4);
  auto check = [](auto x) {
    int got = convert<H>(x).bits, want = rounded<H>(L(x));
    if (got != want) FAIL(text(L(x)) << " of " << sizeof(x) << " bytes rounds to bits " << got << ", not " << want);
  };
  // Midpoints and their neighbours in float, and in double, which two roundings would get wrong.
  auto check_midpoint_after = [&](int b) {
    L lo = value_of(of_bits<H>(b)), hi = value_of(of_bits<H>(b + 1));
    if (!std::isfinite(lo)) return;
    if (!std::isfinite(hi)) hi = 2 * lo - value_of(of_bits<H>(b - 1));
    double mid = double((lo + hi) / 2);
    if (!(mid < 3.4e38)) return;
    for (double x : {double(lo), mid, double(hi)})
      for (double y : {x, -x}) {
        check(y), check(std::nextafter(y, 0.0)), check(std::nextafter(y, 1e300)), check(std::nextafter(y, -1e300));
        float f = float(y);
        check(f), check(std::nextafter(f, 0.0f)), check(std::nextafter(f, 3e38f)), check(std::nextafter(f, -3e38f));
      }
    if (mid > 64 && mid < 4e18) check(int64_t(mid)), check(int64_t(mid) + 1), check(int64_t(mid) - 1), check(-int64_t(mid) - 1);
  };
  for (int i = 0; i < 300000; ++i) {
    float f = random_number<float>(r);
    double d = random_number<double>(r);
    if (f == f) check(f), check(-f);
    if (d == d) check(d);
    check(random_number<int64_t>(r)), check(random_number<uint64_t>(r)), check(random_number<int32_t>(r)), check(random_number<uint32_t>(r)), check(random_number<uint16_t>(r));
    if (sizeof(H) > 1) check_midpoint_after(int(r() % sign_bit<H>));
  }
  for (int b = 0; sizeof(H) == 1 && b < sign_bit<H>; ++b) check_midpoint_after(b);
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

TEST_CASE("convert: floats of 8 and 16 bits, all bit patterns and one rounding from any type", "[core][ops]") {
  check_short_float<f16_t>();
  check_short_float<bf16_t>();
  check_short_float<f8e4m3_t>();
  check_short_float<f8e5m2_t>();
}

TEST_CASE("convert: what is too large for 8 bits is Inf in e5m2 and NaN in e4m3, with its sign", "[core][ops]") {
  const float inf_ = float(inf);
  struct Row {
    float x;
    int e4m3, e5m2;
  };
  const Row rows[] = {{448, 0x7e, 0x5f},      {464, 0x7e, 0x5f}, {std::nextafter(464.0f, inf_), 0x7f, 0x5f}, {-480, 0xff, 0xe0},
                      {57344, 0x7f, 0x7b},    {std::nextafter(61440.0f, 0.0f), 0x7f, 0x7b}, {61440, 0x7f, 0x7c}, {-61440, 0xff, 0xfc},
                      {inf_, 0x7f, 0x7c},     {-inf_, 0xff, 0xfc}, {3.4e38f, 0x7f, 0x7c}, {-0.0f, 0x80, 0x80}};
  for (const Row &r : rows) {
    INFO(r.x);
    CHECK(int(convert<f8e4m3_t>(r.x).bits) == r.e4m3);
    CHECK(int(convert<f8e5m2_t>(r.x).bits) == r.e5m2);
    CHECK(int(convert<f8e4m3_t>(double(r.x)).bits) == r.e4m3);
    CHECK(int(convert<f8e5m2_t>(double(r.x)).bits) == r.e5m2);
  }
  for (const float nan : {float(nan_), -float(nan_)}) {
    CHECK((convert<f8e4m3_t>(nan).bits & 0x7f) == 0x7f);
    CHECK((convert<f8e5m2_t>(nan).bits & 0x7f) > 0x7c);
  }
  CHECK(convert<f8e4m3_t>(int64_t(465)).bits == 0x7f);
  CHECK(convert<f8e5m2_t>(uint64_t(1) << 63).bits == 0x7c);
  CHECK(convert<f8e4m3_t>(f16_t{0x7c00}).bits == 0x7f);
  CHECK(convert<f8e4m3_t>(c64_t{448, 1}).bits == 0x7e);
  CHECK(convert<int8_t>(f8e4m3_t{0xff}) == 0);
  CHECK(convert<bool>(f8e5m2_t{0x01}));
  CHECK_FALSE(convert<bool>(f8e4m3_t{0x80}));
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
