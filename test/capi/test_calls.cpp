// map, reduce and scan through the one-shot calls, against the oracle: right answers on strided, broadcast, reversed
// tensors, with alpha, beta and accumulators. Values are small integers, so that every dtype holds them exactly.
#include <cmath>
#include <limits>
#include <vector>

#include "capi/api.h"
#include "oracle.h"

using namespace api;
using namespace support;
using oracle::Fold;

namespace {

// A tensor on the device and its twin of doubles.
template <class T>
struct Twin {
  Array<T> array;
  oracle::Tensor tensor;
  Twin(Sizes e, Sizes s, const std::vector<T> &values, int64_t base)
      : array(e, s, values, base), tensor(e, s, std::vector<double>(values.begin(), values.end()), base) {}
};

struct Strides {
  Sizes strides;
  int64_t base, count;
};
// Modes in random order, padded here and there, some of them reversed; 0 where `zeros` allows it.
Strides random_strides(Rng &rng, const Sizes &extents, bool zeros) {
  Strides r{Sizes(extents.size(), 0), 0, 0};
  std::vector<size_t> order(extents.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (chance(rng, 50))
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[size_t(pick(rng, 0, int64_t(i) - 1))]);
  int64_t step = chance(rng, 20) ? 2 : 1;
  for (size_t m : order) {
    if (zeros && chance(rng, 10)) continue;
    r.strides[m] = step;
    step *= extents[m];
    if (chance(rng, 20)) step += pick(rng, 1, 3);
    if (chance(rng, 20)) r.base += (extents[m] - 1) * r.strides[m], r.strides[m] = -r.strides[m];
  }
  r.count = step + 1;
  return r;
}

template <class T>
Twin<T> random_twin(Rng &rng, const Sizes &extents, bool zeros, int64_t low = -4, int64_t high = 4) {
  const Strides s = random_strides(rng, extents, zeros);
  std::vector<T> values(static_cast<size_t>(s.count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = T(std::is_unsigned_v<T> ? pick(rng, 0, high) : pick(rng, low, high));
  return Twin<T>(extents, s.strides, values, s.base);
}

Sizes random_extents(Rng &rng, int64_t low) {
  static const int64_t some[] = {1, 2, 3, 5, 8, 17, 33};
  Sizes e;
  int64_t total = 1;
  for (int64_t n = pick(rng, low, 4); n > 0; --n) {
    e.push_back(one_of(rng, some));
    if ((total *= e.back()) > 4000) e.back() = 1, total /= 33;
  }
  return e;
}

// An input's extents for a space: modes of extent 1 and missing trailing ones are broadcast.
Sizes broadcast_of(Rng &rng, const Sizes &space) {
  Sizes e = space;
  for (int64_t &n : e)
    if (chance(rng, 20)) n = 1;
  while (!e.empty() && chance(rng, 15)) e.pop_back();
  return e;
}

// Compares an output with what it should hold; what lies between its elements must be as it was.
template <class T>
void check_output(const Twin<T> &out, const std::vector<double> &want) {
  std::vector<T> expected(out.tensor.data.begin(), out.tensor.data.end());
  size_t n = 0;
  for_each_index(out.tensor.extents, [&](const Sizes &i) {
    expected[size_t(out.tensor.base + offset(i, out.tensor.strides))] = T(want[n++]);
  });
  CHECK(out.array.get() == expected);
}

std::vector<double> post(const oracle::Tensor &out, std::vector<double> result, double alpha, double beta) {
  size_t n = 0;
  for_each_index(out.extents, [&](const Sizes &i) { result[n] = alpha * result[n] + beta * out.at(i), ++n; });
  return result;
}

template <class T>
tcu_scalar_t number(double v) {
  return std::is_floating_point_v<T> ? real(v) : integer(int64_t(v));
}

}  // namespace

TEMPLATE_TEST_CASE("map: a*b + a over random layouts", "", int8_t, int32_t, int64_t, float, double) {
  Rng rng(11);
  const Expr e({input(0), input(1), op(TCU_OP_MUL), input(0), op(TCU_OP_ADD)});
  for (int round = 0; round < 40; ++round) {
    const Sizes space = random_extents(rng, 0);
    const auto a = random_twin<TestType>(rng, space, true), b = random_twin<TestType>(rng, broadcast_of(rng, space), true);
    const auto out = random_twin<TestType>(rng, space, false);
    const double alpha = double(pick(rng, -2, 2)), beta = double(pick(rng, -1, 1));
    const tcu_scalar_t s[2] = {number<TestType>(alpha), number<TestType>(beta)};
    tcu_options_t o = options();
    const bool scaled = chance(rng, 50);
    if (scaled) o.alpha = &s[0], o.beta = &s[1];
    const tcu_tensor_t in[] = {a.array.tensor, b.array.tensor};
    OK(tcu_map(context(), out.array, e, 2, in, &o));
    auto want = oracle::map(space, {a.tensor, b.tensor}, [](const auto &x) { return x[0] * x[1] + x[0]; });
    if (scaled) want = post(out.tensor, want, alpha, beta);
    INFO("round " << round);
    check_output(out, want);
  }
}

TEST_CASE("map: in place, fill, copy with conversion") {
  Array<float> x({2, 3}, {1, 2, 3, 4, 5, 6});
  const Expr square({input(0), input(0), op(TCU_OP_MUL)});
  OK(tcu_map(context(), x, square, 1, x, nullptr));
  CHECK(x.get() == std::vector<float>{1, 4, 9, 16, 25, 36});
  const Array<double> seven({}, {7.75});
  OK(tcu_map(context(), x, nullptr, 1, seven, nullptr));
  CHECK(x.get() == std::vector<float>(6, 7.75f));
  // Float to integer: toward zero, saturating, NaN to 0.
  const Array<double> wild({5}, {-1.9, 300, -300, NAN, INFINITY});
  Array<int8_t> bytes({5}, {9, 9, 9, 9, 9});
  OK(tcu_map(context(), bytes, nullptr, 1, wild, nullptr));
  CHECK(bytes.get() == std::vector<int8_t>{-1, 127, -128, 0, 127});
  Array<bool> flags({3}, {false, false, true});
  const Array<float> values({3}, {2, -1, 0});
  OK(tcu_map(context(), flags, nullptr, 1, values, nullptr));
  CHECK(flags.get() == std::vector<bool>{true, true, false});
}

TEST_CASE("map: nothing to do is done, and 64 modes are not too many") {
  Array<float> none({0, 3}, std::vector<float>{});
  OK(tcu_map(context(), none, nullptr, 1, none, nullptr));
  const Array<float> x(Sizes(64, 1), {3});
  Array<float> out(Sizes(64, 1), {0});
  OK(tcu_map(context(), out, nullptr, 1, x, nullptr));
  CHECK(out.get()[0] == 3);
  // More canonical modes than kernels take at once: a bit reversal of 12 modes.
  Sizes reversed(12), twos(12, 2);
  for (size_t m = 0; m < 12; ++m) reversed[m] = int64_t(1) << (11 - m);
  std::vector<int32_t> values(4096), want(4096);
  for (size_t i = 0; i < 4096; ++i) {
    values[i] = int32_t(i);
    for (int bit = 0; bit < 12; ++bit) want[i] |= int32_t((i >> bit & 1) << (11 - bit));
  }
  const Array<int32_t> from(twos, reversed, values);
  Array<int32_t> to(twos, repeated(4096, 0));
  OK(tcu_map(context(), to, nullptr, 1, from, nullptr));
  CHECK(to.get() == want);
}

TEMPLATE_TEST_CASE("reduce: every op over random layouts and dims", "", int32_t, float, double) {
  Rng rng(12);
  const Fold folds[] = {Fold::sum, Fold::prod, Fold::max, Fold::min, Fold::any, Fold::all, Fold::count, Fold::argmax, Fold::argmin};
  for (int round = 0; round < 150; ++round) {
    const Sizes space = random_extents(rng, 1);
    const Fold fold = one_of(rng, folds);
    const bool product = fold == Fold::prod, small = fold == Fold::any || fold == Fold::all;
    const auto x = random_twin<TestType>(rng, space, true, product || small ? 0 : -4, product || small ? 1 : 4);
    std::vector<int32_t> dims;
    Sizes kept = space;
    for (size_t m = 0; m < space.size(); ++m)
      if (chance(rng, 50)) dims.push_back(int32_t(m)), kept[m] = 1;
    std::reverse(dims.begin(), dims.end());
    const auto out = random_twin<int64_t>(rng, kept, false);
    INFO("round " << round << " fold " << int(fold));
    OK(tcu_reduce(context(), out.array, int32_t(fold) + 1, nullptr, 1, x.array, int32_t(dims.size()), dims.data(), nullptr));
    check_output(out, oracle::reduce(fold, {x.tensor}, dims));
  }
}

TEST_CASE("an input that the expression does not name, wider than all that it does") {
  const int64_t n = 20000, one = 1, two = 2, zero = 0;
  const int32_t first = 0;
  const Array<int8_t> x({n}, repeated(size_t(n), int8_t(-3)));
  const Array<double> wide({2 * n}, repeated(size_t(2 * n), 7.0));
  Array<int8_t> y({n}, repeated(size_t(n), int8_t(0)));
  Array<int64_t> sum({1}, {9}), sums({n}, repeated(size_t(n), int64_t(9)));
  const Expr negated({input(0), op(TCU_OP_NEG)});
  for (const int64_t *stride : {&zero, &two}) {  // one number; every other one
    const tcu_tensor_t in[] = {x.tensor, {wide.data(), stride == &zero ? &one : &n, stride, TCU_FLOAT64, 1}};
    OK(tcu_map(context(), y, negated, 2, in, nullptr));
    for (int8_t e : y.get()) REQUIRE(e == 3);
    OK(tcu_map(context(), y, nullptr, 2, in, nullptr));
    for (int8_t e : y.get()) REQUIRE(e == -3);
    OK(tcu_reduce(context(), sum, TCU_REDUCE_SUM, negated, 2, in, 1, &first, nullptr));
    CHECK(sum.get()[0] == 3 * n);
    OK(tcu_scan(context(), sums, TCU_REDUCE_SUM, negated, 2, in, 0, nullptr));
    const auto s = sums.get();
    for (int64_t i = 0; i < n; ++i) REQUIRE(s[size_t(i)] == 3 * (i + 1));
  }
}

TEST_CASE("reduce: an expression of broadcast inputs, alpha, beta and an accumulator") {
  Rng rng(13);
  const Expr squares({input(0), input(1), op(TCU_OP_SUB), op(TCU_OP_ABS2)});
  for (int round = 0; round < 60; ++round) {
    const Sizes space = random_extents(rng, 1);
    Sizes means = space;
    means[0] = 1;
    const auto x = random_twin<float>(rng, space, true), m = random_twin<float>(rng, means, false);
    const auto out = random_twin<double>(rng, means, false);
    const tcu_scalar_t alpha = real(0.5), beta = real(2);
    tcu_options_t o = options();
    o.alpha = &alpha, o.beta = &beta, o.accumulator = chance(rng, 50) ? TCU_FLOAT64 : 0;
    const tcu_tensor_t in[] = {x.array.tensor, m.array.tensor};
    const int32_t dim = 0;
    OK(tcu_reduce(context(), out.array, TCU_REDUCE_SUM, squares, 2, in, 1, &dim, &o));
    const auto f = [](const std::vector<double> &v) { return (v[0] - v[1]) * (v[0] - v[1]); };
    INFO("round " << round);
    // The input may be broadcast along a whole mode of extent 1, so the oracle's own output extents are these.
    check_output(out, post(out.tensor, oracle::reduce(Fold::sum, {x.tensor, m.tensor}, {0}, f), 0.5, 2));
  }
}

TEST_CASE("reduce: NaN, signed zero, wide sums, narrow types") {
  const int32_t dim = 0;
  const float nan = NAN, inf = INFINITY;
  const Array<float> x({4, 3}, {1, nan, 3, nan, -inf, 2, 2, -inf, -0.0f, 0.0f, -0.0f, -0.0f});
  Array<float> out({1, 3}, {9, 9, 9});
  Array<int32_t> where({1, 3}, {9, 9, 9});
  OK(tcu_reduce(context(), out, TCU_REDUCE_MAX, nullptr, 1, x, 1, &dim, nullptr));
  auto got = out.get();
  CHECK((std::isnan(got[0]) && got[1] == 2 && got[2] == 0 && !std::signbit(got[2])));
  OK(tcu_reduce(context(), out, TCU_REDUCE_MIN, nullptr, 1, x, 1, &dim, nullptr));
  got = out.get();
  CHECK((std::isnan(got[0]) && got[1] == -inf && got[2] == 0 && std::signbit(got[2])));
  OK(tcu_reduce(context(), where, TCU_REDUCE_ARGMAX, nullptr, 1, x, 1, &dim, nullptr));
  CHECK((where.get()[0] == 1 && where.get()[1] == 1));
  OK(tcu_reduce(context(), where, TCU_REDUCE_ARGMIN, nullptr, 1, x, 1, &dim, nullptr));
  CHECK((where.get()[0] == 1 && where.get()[1] == 0));

  const Array<int8_t> bytes({300}, repeated(300, int8_t(127)));
  Array<int64_t> total({1}, {0});
  OK(tcu_reduce(context(), total, TCU_REDUCE_SUM, nullptr, 1, bytes, 1, &dim, nullptr));
  CHECK(total.get()[0] == 300 * 127);
  const Array<uint16_t> halves({5000}, repeated(5000, uint16_t(0x3c00)), TCU_FLOAT16);  // ones
  Array<float> wide({1}, {0});
  OK(tcu_reduce(context(), wide, TCU_REDUCE_SUM, nullptr, 1, halves, 1, &dim, nullptr));
  CHECK(wide.get()[0] == 5000);
  const Array<uint16_t> large({1000}, repeated(1000, uint16_t(0x78e2)), TCU_FLOAT16);  // 40000s
  Array<uint16_t> mean({1}, {0}, TCU_FLOAT16);
  const tcu_scalar_t alpha = real(1e-3);
  tcu_options_t o = options();
  o.alpha = &alpha;
  OK(tcu_reduce(context(), mean, TCU_REDUCE_SUM, nullptr, 1, large, 1, &dim, &o));
  CHECK(mean.get()[0] == 0x78e2);
}

TEST_CASE("reduce: over nothing is the identity, with alpha and beta too") {
  const Array<float> x({0, 3}, std::vector<float>{});
  Array<float> out({1, 3}, {5, 6, 7});
  const int32_t dim = 0;
  const tcu_scalar_t alpha = real(4), beta = real(10);
  tcu_options_t o = options();
  o.alpha = &alpha, o.beta = &beta;
  OK(tcu_reduce(context(), out, TCU_REDUCE_PROD, nullptr, 1, x, 1, &dim, &o));
  CHECK(out.get() == std::vector<float>{54, 64, 74});
  OK(tcu_reduce(context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 1, &dim, nullptr));
  CHECK(out.get() == std::vector<float>{0, 0, 0});
  Array<bool> all({1, 3}, {false, false, false});
  OK(tcu_reduce(context(), all, TCU_REDUCE_ALL, nullptr, 1, x, 1, &dim, nullptr));
  CHECK(all.get() == std::vector<bool>{true, true, true});
  Array<float> none({0, 1}, std::vector<float>{});
  const Array<float> wide({0, 3}, std::vector<float>{});
  const int32_t other = 1;
  OK(tcu_reduce(context(), none, TCU_REDUCE_MAX, nullptr, 1, wide, 1, &other, nullptr));
}

TEMPLATE_TEST_CASE("scan: every op, direction and start over random layouts", "", int64_t, double) {
  Rng rng(14);
  const Fold folds[] = {Fold::sum, Fold::prod, Fold::max, Fold::min};
  for (int round = 0; round < 120; ++round) {
    const Sizes space = random_extents(rng, 1);
    const Fold fold = one_of(rng, folds);
    const bool product = fold == Fold::prod;
    const auto x = random_twin<TestType>(rng, space, true, product ? -1 : -4, product ? 1 : 4);
    const auto out = random_twin<TestType>(rng, space, false);
    oracle::Scan how{int(pick(rng, 0, int64_t(space.size()) - 1)), chance(rng, 30), chance(rng, 30)};
    tcu_options_t o = options();
    o.scan_flags = (how.exclusive ? uint32_t(TCU_SCAN_EXCLUSIVE) : 0) | (how.reverse ? uint32_t(TCU_SCAN_REVERSE) : 0);
    const bool extreme = fold == Fold::max || fold == Fold::min;
    const double start = extreme ? double(pick(rng, -2, 2)) : fold == Fold::prod ? -2 : 3;
    const tcu_scalar_t init = number<TestType>(start);
    const bool started = chance(rng, 40) || (extreme && how.exclusive);  // else the first would be an integer's extreme
    if (started) o.init = &init;
    INFO("round " << round << " fold " << int(fold) << " dim " << how.dim << " flags " << o.scan_flags);
    OK(tcu_scan(context(), out.array, int32_t(fold) + 1, nullptr, 1, x.array, how.dim, &o));
    check_output(out, oracle::scan(fold, space, {x.tensor}, how, started ? start : oracle::identity(fold)));
  }
}

TEST_CASE("scan: in place, accumulated into, and in float32 under a float16 output") {
  Array<int32_t> x({5}, {1, 2, 3, 4, 5});
  OK(tcu_scan(context(), x, TCU_REDUCE_SUM, nullptr, 1, x, 0, nullptr));
  CHECK(x.get() == std::vector<int32_t>{1, 3, 6, 10, 15});
  const Array<float> y({3}, {1, 2, 3});
  Array<float> out({3}, {100, 100, 100});
  const tcu_scalar_t alpha = real(2), beta = real(1);
  tcu_options_t o = options();
  o.alpha = &alpha, o.beta = &beta;
  const Expr square({input(0), op(TCU_OP_ABS2)});
  OK(tcu_scan(context(), out, TCU_REDUCE_SUM, square, 1, y, 0, &o));
  CHECK(out.get() == std::vector<float>{102, 110, 128});
  const Array<uint16_t> ones({4098}, repeated(4098, uint16_t(0x3c00)), TCU_FLOAT16);
  Array<uint16_t> sums({4098}, repeated(4098, uint16_t(0)), TCU_FLOAT16);
  OK(tcu_scan(context(), sums, TCU_REDUCE_SUM, nullptr, 1, ones, 0, nullptr));
  CHECK(sums.get()[4095] == 0x6c00);  // 4096: a float16 sum would have stuck at 2048
}

TEST_CASE("scan: an input is broadcast, along the scanned mode too") {
  const Array<float> row({1, 3}, {1, 2, 3}), x({2, 3}, {1, 2, 3, 4, 5, 6});
  Array<float> out({2, 3}, repeated(6, 0.0f));
  OK(tcu_scan(context(), out, TCU_REDUCE_SUM, nullptr, 1, row, 0, nullptr));
  CHECK(out.get() == std::vector<float>{1, 2, 2, 4, 3, 6});
  const Expr product({input(0), input(1), op(TCU_OP_MUL)});
  const tcu_tensor_t both[] = {*static_cast<const tcu_tensor_t *>(x), *static_cast<const tcu_tensor_t *>(row)};
  OK(tcu_scan(context(), out, TCU_REDUCE_SUM, product, 2, both, 1, nullptr));
  CHECK(out.get() == std::vector<float>{1, 2, 7, 10, 22, 28});
}
