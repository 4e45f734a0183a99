// The tables of tile functions: every op and dtype against the scalar functor that defines it, every cast against convert(),
// and the float32 functions that are computed in their own way against long double, over all exponents.
#include <map>

#include "cpu/cell.h"
#include "cpu/combine.h"
#include "cpu/table.h"
#include "tensors.h"

namespace {
using namespace cpu_test;
using tcu::Op;
using tcu::Result;
using L = long double;

template <class T> T value(Rng &rng) {
  if constexpr (tcu::is_complex<T>) {
    return {value<decltype(T::re)>(rng), value<decltype(T::re)>(rng)};
  } else if constexpr (tcu::is_float<T>) {
    const T special[] = {T(0), T(-0.0), T(1), T(-1), T(0.5), T(INFINITY), T(-INFINITY), T(NAN), tcu::limits<T>::max(), T(1e-40)};
    return chance(rng, 30) ? one_of(rng, special) : T(double(pick(rng, -4000, 4000)) / 256);
  } else if constexpr (tcu::is_bool<T>) {
    return chance(rng, 50);
  } else {
    return T(chance(rng, 30) ? rng() : uint64_t(pick(rng, -9, 9)));
  }
}
template <class T> bool same(T a, T b) {
  if constexpr (tcu::is_complex<T>) return same(a.re, b.re) && same(a.im, b.im);
  else return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

// What tile_math.cpp computes in its own way, to be checked by its error.
const Op own_way[] = {Op::exp,  Op::exp2,  Op::exp10,     Op::expm1, Op::log,      Op::log2,     Op::log10,
                      Op::log1p, Op::tanh, Op::sinh,      Op::cosh,  Op::erf,      Op::erfc,     Op::sigmoid,
                      Op::softplus, Op::logsigmoid, Op::silu, Op::gelu, Op::gelu_tanh, Op::mish, Op::elu,
                      Op::selu, Op::gelu_grad, Op::silu_grad, Op::softplus_grad, Op::sin, Op::cos, Op::pow};
bool is_own_way(Op op, DType d) { return d == DType::f32 && std::find(std::begin(own_way), std::end(own_way), op) != std::end(own_way); }

constexpr int kCount = 211;  // several vectors of any target and a tail

template <class F, class P, class T> void check(Op op, DType d) {
  const tcu::cpu::TileFn fn = tcu::cpu::table().op[int(op)][int(d)];
  CAPTURE(tcu::info(op).name, tcu::info(d).name);
  REQUIRE(fn != nullptr);
  if (is_own_way(op, d)) return;
  Rng rng(uint64_t(op) * 100 + uint64_t(d));
  P a[kCount];
  T x[kCount], y[kCount];
  for (int i = 0; i < kCount; ++i) a[i] = value<P>(rng), x[i] = value<T>(rng), y[i] = value<T>(rng);
  const auto scalar = [&](int i) {
    if constexpr (F::arity == 1) return F::apply(a[i]);
    else if constexpr (F::arity == 2) return F::apply(a[i], x[i]);
    else return F::apply(a[i], x[i], y[i]);
  };
  using R = decltype(scalar(0));
  unsigned char out[(kCount + 1) * sizeof(R)];
  std::memset(out, 0xA5, sizeof out);
  fn(out, a, x, y, kCount);
  for (int i = 0; i < kCount; ++i) {
    R got;
    std::memcpy(&got, out + size_t(i) * sizeof(R), sizeof got);
    if (!same(got, scalar(i))) {
      CAPTURE(i);
      FAIL("differs from the scalar functor");
    }
  }
  REQUIRE(out[kCount * sizeof(R)] == 0xA5);
  if constexpr (std::is_same_v<R, P>) {  // on top of an operand
    fn(a, a, x, y, kCount);
    REQUIRE(std::memcmp(a, out, kCount * sizeof(R)) == 0);
  }
}

template <class F, uint8_t kinds, Result rule> void check_row(Op op) {
#define X(d)                                                                                   \
  if constexpr (tcu::cpu::in_domain<DType::d>(kinds, rule)) {                                  \
    using T = tcu::cpu::compute_of<DType::d>::type;                                            \
    check<F, std::conditional_t<rule == Result::Select, bool, T>, T>(op, DType::d);            \
  }
  TCU_REAL_CELLS(X)
  TCU_COMPLEX_CELLS(X)
#undef X
}

TEST_CASE("every row's tile functions equal its scalar functor, for every dtype that it takes") {
#define TCU_OP(id, name, arity, dom, result, ...) check_row<tcu::fn::name, tcu::cpu::domain::dom, Result::result>(Op::name);
#include "core/ops.def"
#undef TCU_OP
}

template <class From> void check_casts(DType from) {
  const char *const source = tcu::info(from).name;
  Rng rng(8);
  alignas(16) unsigned char in[kCount * sizeof(From)], out[(kCount + 1) * 16];
  for (auto &b : in) b = (unsigned char)(tcu::is_bool<From> ? rng() & 1 : rng());
#define TCU_DTYPE(id, NAME, name, storage, ...)                                        \
  if (from != DType::name) {                                                           \
    CAPTURE(source, #name);                                                            \
    std::memset(out, 0xA5, sizeof out);                                                \
    tcu::cpu::table().cast[int(from)][id](out, in, nullptr, nullptr, kCount);          \
    for (size_t i = 0; i < kCount; ++i) {                                              \
      From x;                                                                          \
      std::memcpy(&x, in + i * sizeof x, sizeof x);                                    \
      const storage want = tcu::convert<storage>(x);                                   \
      storage got;                                                                     \
      std::memcpy(&got, out + i * sizeof got, sizeof got);                             \
      const bool nan = load(DType::name, &want) != load(DType::name, &want);           \
      if (std::memcmp(&got, &want, sizeof got) != 0 && !nan) FAIL("differs from convert()"); \
    }                                                                                  \
    REQUIRE(out[kCount * sizeof(storage)] == 0xA5);                                    \
  }
#include "core/dtypes.def"
#undef TCU_DTYPE
}
TEST_CASE("every cast equals convert()") {
#define TCU_DTYPE(id, NAME, name, storage, ...) check_casts<storage>(DType::name);
#include "core/dtypes.def"
#undef TCU_DTYPE
}

template <class T> void check_folds(DType d) {
  using tcu::ReduceOp;
  CAPTURE(tcu::info(d).name);
  for (int64_t n = 1; n < 2500; n += n < 140 ? 1 : n < 300 ? 31 : 491) {
    constexpr int64_t count = 21;
    std::vector<T> x(size_t(n * count)), got(count + 1), rows(size_t(n) + 1);
    // Small numbers: every order of additions is exact.
    for (size_t i = 0; i < x.size(); ++i) x[i] = tcu::convert<T>(double((i * 7 + i / 5) % 11));
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
      if (op != ReduceOp::sum && tcu::is_complex<T>) continue;
      const tcu::cpu::Folds &f = tcu::cpu::folds(tcu::cpu::table(), op, d);
      const auto fold = [&](double a, double b) { return op == ReduceOp::sum ? a + b : op == ReduceOp::max ? std::max(a, b) : std::min(a, b); };
      const auto exact = [](double v) {  // integers wrap
        if constexpr (tcu::is_int<T>) return T(int64_t(v));
        else return tcu::convert<T>(v);
      };
      const T canary = got[count] = tcu::convert<T>(99.0);
      f.segments(got.data(), x.data(), n, count, false);
      f.rows(rows.data(), x.data(), n, count, n, true);
      for (int64_t k = 0; k < count; ++k) {
        double want = tcu::convert<double>(x[size_t(k * n)]);
        for (int64_t r = 1; r < n; ++r) want = fold(want, tcu::convert<double>(x[size_t(k * n + r)]));
        CAPTURE(n, k, tcu::info(op).name);
        REQUIRE(same(got[size_t(k)], exact(want)));
      }
      REQUIRE(same(got[count], canary));
      for (int64_t j = 0; j < n; ++j) {
        double want = tcu::convert<double>(x[size_t(j)]);
        for (int64_t r = 1; r < count; ++r) want = fold(want, tcu::convert<double>(x[size_t(r * n + j)]));
        REQUIRE(same(rows[size_t(j)], exact(want)));
      }
    }
  }
}
TEST_CASE("folds of every extent, for every accumulator") {
#define X(d) check_folds<tcu::cpu::compute_of<DType::d>::type>(DType::d);
  X(i8) X(i16) X(i32) X(i64) X(u8) X(u16) X(u32) X(u64) X(f32) X(f64) X(c64) X(c128)
#undef X
}

// The tree of docs/numerics.md for segments of fewer than 256 elements.
template <class Op, class T> T tree_of(const T *s, int64_t n) {
  const int64_t lanes = n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1, whole = n / lanes * lanes;
  T x[8];
  for (int64_t i = 0; i < n; ++i) {
    T &lane = x[i < whole ? i % lanes : i - n + lanes];
    lane = i < lanes ? s[i] : Op::f(lane, s[i]);
  }
  for (int64_t half = lanes / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j) x[j] = Op::f(x[2 * j], x[2 * j + 1]);
  return x[0];
}
// That of longer ones: rows of 64 lanes, the first one, then eight at a time, then one; the rest; then the upper half onto the lower.
template <class Op, class T> T long_tree_of(const T *s, int64_t n) {
  T lane[64], run[64];
  int64_t at = 0;
  for (int64_t rows = 1; at + 64 <= n; rows = n - at >= 8 * 64 ? 8 : 1) {
    for (int64_t r = 0; r < rows; ++r, at += 64)
      for (int j = 0; j < 64; ++j) run[j] = r == 0 ? s[at + j] : Op::f(run[j], s[at + j]);
    for (int j = 0; j < 64; ++j) lane[j] = at == 64 ? run[j] : Op::f(lane[j], run[j]);
  }
  for (int j = 0; at < n; ++j, ++at) lane[j] = Op::f(lane[j], s[at]);
  for (int half = 32; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) lane[j] = Op::f(lane[j], lane[j + half]);
  return lane[0];
}
// Inputs and outputs that begin anywhere, odd counts, NaN and infinities; through the caches and past them.
template <class Op, class T> void check_segments(tcu::ReduceOp op, DType d) {
  CAPTURE(tcu::info(d).name, tcu::info(op).name);
  Rng rng{uint64_t(d)};
  for (int64_t n = 1; n < 2000; n += n < 258 ? 1 : 203) {
    const int64_t count = n % 16 == 0 ? 150 : pick(rng, 1, 80), from = pick(rng, 0, 9), to = pick(rng, 0, 70);
    // Blocks of exactly this size: a sanitizer sees what is read beyond.
    const std::unique_ptr<T[]> x(new T[size_t(from + n * count)]);
    std::vector<T> got(size_t(to + count + 1)), want(got.size());
    for (int64_t i = 0; i < from + n * count; ++i) x[size_t(i)] = value<T>(rng);
    for (int64_t k = 0; k < count; ++k) {
      const T *const s = &x[size_t(from + k * n)];
      want[size_t(k)] = n < 256 ? tree_of<Op>(s, n) : long_tree_of<Op>(s, n);
    }
    for (const bool stream : {false, true}) {
      CAPTURE(n, count, from, to, stream);
      std::memset(static_cast<void *>(got.data()), 0xA5, got.size() * sizeof(T));
      tcu::cpu::folds(tcu::cpu::table(), op, d).segments(got.data() + to, x.get() + from, n, count, stream);
      for (int64_t k = 0; k < count; ++k)
        if (!same(got[size_t(to + k)], want[size_t(k)])) {
          CAPTURE(k);
          FAIL("not the bits of the tree");
        }
      const auto *bytes = reinterpret_cast<const unsigned char *>(got.data());
      const auto canary = [](unsigned char b) { return b == 0xA5; };
      REQUIRE(std::all_of(bytes, bytes + size_t(to) * sizeof(T), canary));
      REQUIRE(std::all_of(bytes + size_t(to + count) * sizeof(T), bytes + got.size() * sizeof(T), canary));
    }
  }
}
TEST_CASE("segments have the bits of one tree for each extent, for every operation and accumulator") {
  using namespace tcu::cpu;
#define X(d)                                                                  \
  {                                                                           \
    using T = compute_of<DType::d>::type;                                     \
    check_segments<Sum, T>(tcu::ReduceOp::sum, DType::d);               \
    check_segments<Prod, T>(tcu::ReduceOp::prod, DType::d);             \
    if constexpr (!tcu::is_complex<T>) {                                      \
      check_segments<Max, T>(tcu::ReduceOp::max, DType::d);             \
      check_segments<Min, T>(tcu::ReduceOp::min, DType::d);             \
    }                                                                         \
  }
  X(i8) X(i16) X(i32) X(i64) X(u8) X(u16) X(u32) X(u64) X(f32) X(f64) X(c64) X(c128)
#undef X
}

// The error in units of the last place of float32 (subnormal: of the least one).
double ulps(float got, L want) {
  const float nearest = float(want);
  if (std::isnan(nearest)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(nearest) || got == nearest) return got == nearest ? 0 : INFINITY;
  int e;
  std::frexp(want, &e);
  return double(std::fabs(L(got) - want) / std::ldexp(L(1), std::max(e - 24, -149)));
}
L softplus(L x) { return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x))); }
L sigmoid(L x) { return 1 / (1 + expl(-x)); }
L times(L x, L y) { return std::isinf(x) && x < 0 ? 0 : x * y; }  // y dies faster than x grows

TEST_CASE("the float32 functions of tile_math.cpp are within 0.6 ulp, tanh within 1.35") {
  const L root = sqrtl(2.0L), pi = 3.14159265358979323846264338327950288L;
  const std::map<Op, std::function<L(L)>> exact = {
      {Op::exp, [](L x) { return expl(x); }},     {Op::exp2, [](L x) { return exp2l(x); }},
      {Op::exp10, [](L x) { return powl(10, x); }}, {Op::expm1, [](L x) { return expm1l(x); }},
      {Op::log, [](L x) { return logl(x); }},     {Op::log2, [](L x) { return log2l(x); }},
      {Op::log10, [](L x) { return log10l(x); }}, {Op::log1p, [](L x) { return log1pl(x); }},
      {Op::tanh, [](L x) { return tanhl(x); }},   {Op::sinh, [](L x) { return sinhl(x); }},
      {Op::cosh, [](L x) { return coshl(x); }},   {Op::erf, [](L x) { return erfl(x); }},
      {Op::erfc, [](L x) { return erfcl(x); }},   {Op::sigmoid, sigmoid},
      {Op::softplus, softplus},                   {Op::logsigmoid, [](L x) { return -softplus(-x); }},
      {Op::silu, [](L x) { return times(x, sigmoid(x)); }},
      {Op::gelu, [&](L x) { return times(x, erfcl(-x / root) / 2); }},
      {Op::gelu_tanh, [&](L x) { return times(x, sigmoid(2 * sqrtl(2 / pi) * (x + 0.044715L * x * x * x))); }},
      {Op::mish, [](L x) { return times(x, tanhl(softplus(x))); }},
      {Op::elu, [](L x) { return x > 0 ? x : expm1l(x); }},
      {Op::selu, [](L x) { return 1.05070098735548049342L * (x > 0 ? x : 1.67326324235437728482L * expm1l(x)); }},
      {Op::sin, [](L x) { return sinl(x); }},     {Op::cos, [](L x) { return cosl(x); }}};
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 60013) x.push_back(tcu::from_bits(uint32_t(bits)));
  for (int i = -30000; i < 30000; ++i) x.push_back(float(i) * 0.004f);
  for (float f : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -1.0f, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0.625f,
                  -0.625f, 88.72284f, 88.8f, -103.97f, -104.0f})
    x.push_back(f);
  std::vector<float> y(x.size());
  for (const auto &[op, f] : exact) {
    // Tiles of a size at which a far argument sends few others to libm.
    for (size_t i = 0; i < x.size(); i += 100)
      tcu::cpu::table().op[int(op)][int(DType::f32)](&y[i], &x[i], nullptr, nullptr, int64_t(std::min<size_t>(100, x.size() - i)));
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = ulps(y[i], f(x[i]));
      if (!(e <= worst)) worst = e, at = x[i];
      if (x[i] == 0 && y[i] == 0 && std::signbit(y[i]) != std::signbit(f(x[i]))) worst = INFINITY, at = x[i];
    }
    CAPTURE(tcu::info(op).name, at, worst);
    REQUIRE(worst <= (op == Op::tanh ? 1.35 : 0.6));
  }
}

TEST_CASE("float32 powers are within 0.6 ulp, and libm's where they are special") {
  Rng rng(9);
  std::vector<float> x, y;
  for (int i = 0; i < 100000; ++i) {
    x.push_back(tcu::from_bits(uint32_t(rng() % 0x7f800000u)));
    y.push_back(float(pick(rng, -10000, 10000)) * (i % 3 ? 1e-3f : 1e-5f));
  }
  for (float a : {0.0f, -0.0f, 1.0f, -1.0f, -2.0f, 2.0f, float(INFINITY), -float(INFINITY), float(NAN)})
    for (float b : {0.0f, 1.0f, -1.0f, 2.0f, 3.0f, 0.5f, -0.5f, float(INFINITY), -float(INFINITY), float(NAN)}) x.push_back(a), y.push_back(b);
  std::vector<float> got(x.size());
  tcu::cpu::table().op[int(Op::pow)][int(DType::f32)](got.data(), x.data(), y.data(), nullptr, int64_t(x.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(got[i], powl(x[i], y[i])));
  REQUIRE(worst <= 0.6);
}

TEST_CASE("float32 gradients of activations") {
  for (float x = -12; x < 12; x += 0.37f) {
    const float dy = 1.5f;
    const L phi = expl(-L(x) * x / 2) / sqrtl(2 * 3.14159265358979323846L), s = sigmoid(x);
    const std::map<Op, L> exact = {{Op::softplus_grad, dy * s},
                                   {Op::silu_grad, dy * (s * (1 + x * (1 - s)))},
                                   {Op::gelu_grad, dy * (erfcl(-x / sqrtl(2)) / 2 + x * phi)}};
    for (const auto &[op, want] : exact) {
      float got;
      tcu::cpu::table().op[int(op)][int(DType::f32)](&got, &dy, &x, nullptr, 1);
      CAPTURE(tcu::info(op).name, x, got, double(want));
      REQUIRE(std::fabs(got - double(want)) <= 2e-7 * std::fabs(double(want)) + 1e-12);
    }
  }
}

}  // namespace
