// Sums on tensor cores (reduce.tensor): segments of any length, what is not finite in every position of a tile, and how far a sum is
// from float64's, by the experiment of the papers (Carrasco, Vega and Navarro 2019; Navarro et al. 2020).
#include <cmath>

#include "problems.h"

using namespace problems;

namespace {

struct Kind {
  tcu_reduce_op_t op;
  tcu_dtype_t in, out;
};
const Kind kinds[] = {{TCU_REDUCE_SUM, TCU_FLOAT16, TCU_FLOAT16}, {TCU_REDUCE_SUM, TCU_BFLOAT16, TCU_FLOAT32},
                      {TCU_REDUCE_MEAN, TCU_FLOAT16, TCU_FLOAT32}, {TCU_REDUCE_SUM, TCU_INT8, TCU_INT64},
                      {TCU_REDUCE_SUM, TCU_UINT8, TCU_INT64},     {TCU_REDUCE_SUM, TCU_FLOAT32, TCU_FLOAT32},
                      {TCU_REDUCE_SUM, TCU_FLOAT64, TCU_FLOAT64}};

// Segments of `length`, `gap` elements between them, on reduce.tensor; value(i) is element i of all of them. Fails unless every sum is the
// oracle's, to `relative` of the sum of magnitudes, and nothing else was written. False: the row does not take them.
template <class Value>
bool sums_are_right(const Kind &k, int64_t length, int64_t count, int64_t gap, double relative, Value value) {
  const size_t size = size_t(tcu_dtype_bytes(k.in)), out_size = size_t(tcu_dtype_bytes(k.out));
  const int64_t step = length + gap;
  std::vector<unsigned char> elements(size_t(step * count - gap) * size, 0x7f), results(size_t(count + 64) * out_size, 0x5a);
  std::vector<double> want(size_t(count), 0), magnitude(size_t(count), 0);
  for (int64_t s = 0; s < count; ++s)
    for (int64_t i = 0; i < length; ++i) {
      unsigned char *const at = elements.data() + size_t(s * step + i) * size;
      encode(k.in, at, value(s * length + i));
      const double x = decode(k.in, at);
      want[size_t(s)] += x, magnitude[size_t(s)] += std::abs(x);
    }
  if (k.op == TCU_REDUCE_MEAN)
    for (int64_t s = 0; s < count; ++s) want[size_t(s)] /= double(length), magnitude[size_t(s)] /= double(length);
  api::Memory x(elements), y(results);
  const int64_t extents[] = {length, count}, strides[] = {1, step}, kept[] = {1, count};
  const tcu_tensor_t in{x.data, extents, strides, k.in, 2}, out{static_cast<char *>(y.data) + 32 * out_size, kept, nullptr, k.out, 2};
  const int32_t dim = 0;
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.kernel = "reduce.tensor";
  const tcu_status_t status = tcu_reduce(context(), &out, k.op, nullptr, 1, &in, 1, &dim, &options);
  if (status == TCU_ERROR_KERNEL) return false;
  INFO(tcu_dtype_name(k.in) << ", " << count << " segments of " << length << ", gap " << gap << ": " << tcu_last_error());
  REQUIRE(tcu_status_name(status) == std::string("TCU_OK"));
  auto now = y.get<unsigned char>(results.size());
  size_t wrong = 0;
  std::string first;
  for (size_t s = 0; s < size_t(count); ++s) {
    unsigned char *const at = now.data() + (32 + s) * out_size;
    const double got = decode(k.out, at), right = relative == 0 ? rounded(k.out, want[s]) : want[s];
    const double far = relative == 0 ? 0 : relative * magnitude[s] + stored_error(k.out, want[s]);
    if (!(got == right || (got != got && right != right) || std::abs(got - right) <= far) && wrong++ == 0)
      first = "sum " + std::to_string(s) + " is " + std::to_string(got) + ", not " + std::to_string(right);
    std::memset(at, 0x5a, out_size);
  }
  INFO(first);
  REQUIRE(wrong == 0);
  REQUIRE((now == results));
  return true;
}

}  // namespace

TEST_CASE("cuda: sums on tensor cores, of segments of any length", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(20261123);
  int runs = 0;
  for (const int64_t length : {16, 17, 24, 31, 32, 33, 47, 48, 64, 96, 100, 127, 128, 129, 256, 257, 1000, 1023, 1024, 1025, 2049, 5000, 40960})
    for_cases(rng, kinds, [&](const Kind &k) {
      for (const int64_t count : {int64_t(1), int64_t(37), support::pick(rng, 38, 700)}) {
        if (count * length > (api::emulated() ? 20000 : 4000000)) continue;
        for (const int64_t gap : {0, 16, 3})
          runs += sums_are_right(k, length, count, gap, 0, [&](int64_t) { return double(support::pick(rng, k.in == TCU_UINT8 ? 0 : -4, 4)); });
      }
    });
  CHECK(runs > 100);
}

TEST_CASE("cuda: a matrix times a vector on tensor cores", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(3);
  const api::Expr product({api::input(0), api::input(1), api::op(TCU_OP_MUL)});
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.kernel = "reduce.tensor";
  for (const tcu_dtype_t dtype : {TCU_FLOAT16, TCU_BFLOAT16})
    for (const int64_t length : {32, 40, 64, 96, 128, 520, 1024, 4096, 30000})
      for (const int64_t count : {1, 5, 33, 260}) {
        if (length * count > (api::emulated() ? 20000 : 4000000)) continue;
        std::vector<unsigned char> x(size_t(length * count * 2)), w(size_t(length * 2));
        std::vector<double> values, weights, want(size_t(count), 0);
        for (int64_t i = 0; i < length; ++i) encode(dtype, w.data() + i * 2, weights.emplace_back(double(support::pick(rng, -4, 4))));
        for (int64_t i = 0; i < length * count; ++i) {
          encode(dtype, x.data() + i * 2, values.emplace_back(double(support::pick(rng, -4, 4)) / 2));
          want[size_t(i / length)] += values.back() * weights[size_t(i % length)];
        }
        // an Inf in one segment, which meets no zero, and NaN in another
        const double inf = std::numeric_limits<double>::infinity();
        if (count > 1 && weights[7] > 0) encode(dtype, x.data() + (length + 7) * 2, inf), want[1] = inf;
        api::Memory dx(x), dw(w), dy(std::vector<float>(size_t(count + 2), -7));
        const int64_t extents[] = {length, count}, one[] = {length}, kept[] = {1, count};
        const tcu_tensor_t in[] = {{dx.data, extents, nullptr, dtype, 2}, {dw.data, one, nullptr, dtype, 1}};
        const tcu_tensor_t out{static_cast<float *>(dy.data) + 1, kept, nullptr, TCU_FLOAT32, 2};
        const int32_t dim = 0;
        INFO(tcu_dtype_name(dtype) << " " << length << " x " << count);
        OK(tcu_reduce(context(), &out, TCU_REDUCE_SUM, product.handle, 2, in, 1, &dim, &options));
        const auto y = dy.get<float>(size_t(count + 2));
        CHECK((y.front() == -7 && y.back() == -7));
        for (size_t i = 0; i < size_t(count); ++i) {
          INFO("row " << i);
          REQUIRE(double(y[i + 1]) == want[i]);
        }
      }
}

TEST_CASE("cuda: sums on tensor cores, one element that is not finite, in every position of a tile", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(7);
  const double inf = std::numeric_limits<double>::infinity();
  for (const Kind &k : {Kind{TCU_REDUCE_SUM, TCU_FLOAT16, TCU_FLOAT32}, Kind{TCU_REDUCE_SUM, TCU_BFLOAT16, TCU_FLOAT32}, Kind{TCU_REDUCE_SUM, TCU_FLOAT32, TCU_FLOAT32}})
    for (const int64_t length : {16, 24, 32, 100, 256}) {
      const int64_t count = 2100 / length, all = 2048 / length * length;
      for (int64_t at = support::pick(rng, 0, 5); at < all; at += api::emulated() ? 97 : api::under_sanitizer() ? 41 : 1) {
        const double specials[] = {inf, -inf, inf - inf, k.in == TCU_FLOAT16 ? 65504 : 3e38};
        const double special = specials[at % 4];
        REQUIRE(sums_are_right(k, length, count, 0, 0x1p-20, [&](int64_t i) { return i == at ? special : double(i % 9) - 4; }));
      }
    }
}

TEST_CASE("cuda: sums on tensor cores against float64", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(11);
  const auto uniform = [&] { return double(rng() >> 11) * 0x1p-53; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); };
  const int64_t n = api::emulated() ? 1 << 15 : api::under_sanitizer() ? 1 << 18 : 1 << 24;
  for (const tcu_dtype_t in : {TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT32}) {
    const Kind k{TCU_REDUCE_SUM, in, TCU_FLOAT32};
    for (const int64_t length : {n, n / 64, n / 1024}) {
      // what is positive: 1e-6 of the sum; else log2(n) 1e-7 of the sum of magnitudes
      const double general = 1e-7 * std::log2(double(length));
      CHECK(sums_are_right(k, length, n / length, 0, 1e-6, [&](int64_t) { return uniform(); }));
      CHECK(sums_are_right(k, length, n / length, 0, 1e-6, [&](int64_t) { return 65504.0; }));
      CHECK(sums_are_right(k, length, n / length, 0, general, [&](int64_t) { return normal(); }));
      CHECK(sums_are_right(k, length, n / length, 0, general, [&](int64_t i) { return (i & 1 ? -1 : 1) * 60000 + uniform(); }));
      CHECK(sums_are_right(k, length, n / length, 0, general, [&](int64_t i) { return i == length / 2 ? 60000 : uniform() * 1e-3; }));
    }
  }
}
