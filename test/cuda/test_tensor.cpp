// Sums on tensor cores (reduce.tcu.*): segments of any length, one after another and side by side, sums of all as published, what is not
// finite in every position of a tile, and how far a sum is from float64's, by the experiment of the papers (Carrasco, Vega and Navarro
// 2019; Navarro et al. 2020).
#include <cmath>
#include <cstdio>
#include <functional>

#include "problems.h"

using namespace problems;

namespace {

struct Kind {
  tcu_reduce_op_t op;
  tcu_dtype_t in, out;
};
const char *const of_all[] = {"reduce.tcu.recurrence", "reduce.tcu.single_pass", "reduce.tcu.split"};
const char *const of_rows[] = {"reduce.tcu.segmented", "reduce.tcu.staged"};  // of segments one after another
const Kind kinds[] = {{TCU_REDUCE_SUM, TCU_FLOAT16, TCU_FLOAT16}, {TCU_REDUCE_SUM, TCU_BFLOAT16, TCU_FLOAT32},
                      {TCU_REDUCE_MEAN, TCU_FLOAT16, TCU_FLOAT32}, {TCU_REDUCE_SUM, TCU_INT8, TCU_INT64},
                      {TCU_REDUCE_SUM, TCU_UINT8, TCU_INT64},     {TCU_REDUCE_SUM, TCU_FLOAT32, TCU_FLOAT32},
                      {TCU_REDUCE_SUM, TCU_FLOAT64, TCU_FLOAT64}, {TCU_REDUCE_SUM, TCU_FLOAT8_E4M3, TCU_FLOAT32},
                      {TCU_REDUCE_MEAN, TCU_FLOAT8_E5M2, TCU_FLOAT32}};

// Where segments lie: `count` of `length` elements, `gap` elements between them; or side by side, the gap after each row of them.
struct Segments {
  int64_t length, count, gap = 0;
  bool side_by_side = false;
  int64_t step() const { return (side_by_side ? count : length) + gap; }
  int64_t at(int64_t segment, int64_t i) const { return side_by_side ? i * step() + segment : segment * step() + i; }
};
// value(i) is element i of all of them. Fails unless every sum is the oracle's, to `relative` of the sum of magnitudes, and nothing else
// was written. False: the row does not take them.
template <class Value>
bool sums_are_right(const char *kernel, const Kind &k, const Segments &segments, double relative, Value value,
                    tcu_determinism_t determinism = TCU_RUN_TO_RUN) {
  const auto [length, count, gap, side_by_side] = segments;
  const size_t size = size_t(tcu_dtype_bytes(k.in)), out_size = size_t(tcu_dtype_bytes(k.out));
  std::vector<unsigned char> elements(size_t(segments.at(count - 1, length - 1) + 1) * size, 0x7f);
  std::vector<unsigned char> results(size_t(count + 64) * out_size, 0x5a);
  std::vector<double> want(size_t(count), 0), magnitude(size_t(count), 0);
  for (int64_t s = 0; s < count; ++s)
    for (int64_t i = 0; i < length; ++i) {
      unsigned char *const at = elements.data() + size_t(segments.at(s, i)) * size;
      encode(k.in, at, value(s * length + i));
      const double x = decode(k.in, at);
      want[size_t(s)] += x, magnitude[size_t(s)] += std::abs(x);
    }
  if (k.op == TCU_REDUCE_MEAN)
    for (int64_t s = 0; s < count; ++s) want[size_t(s)] /= double(length), magnitude[size_t(s)] /= double(length);
  api::Memory x(elements), y(results);
  const int64_t extents[] = {length, count}, strides[] = {side_by_side ? segments.step() : 1, side_by_side ? 1 : segments.step()};
  const int64_t kept[] = {1, count};
  const tcu_tensor_t in{x.data, extents, strides, k.in, 2}, out{static_cast<char *>(y.data) + 32 * out_size, kept, nullptr, k.out, 2};
  const int32_t dim = 0;
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.kernel = kernel, options.determinism = determinism;
  const tcu_status_t status = tcu_reduce(context(), &out, k.op, nullptr, 1, &in, 1, &dim, &options);
  if (status == TCU_ERROR_KERNEL) return false;
  INFO(kernel << " " << tcu_dtype_name(k.in) << ", " << count << " segments of " << length << (side_by_side ? " side by side" : "")
              << ", gap " << gap << ": " << tcu_last_error());
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

// The largest number that tests add up, one near it that the dtype rounds, and what is little beside them and not rounded to zero.
double largest(tcu_dtype_t d) {
  return d == TCU_FLOAT8_E4M3 ? 448 : d == TCU_FLOAT8_E5M2 ? 57344 : d == TCU_FLOAT16 ? 65504 : 3e38;
}
double large(tcu_dtype_t d) { return d == TCU_FLOAT8_E4M3 ? 400 : d == TCU_FLOAT8_E5M2 ? 50000 : 60000; }
double little(tcu_dtype_t d) { return d == TCU_FLOAT8_E4M3 ? 0.1 : 1e-3; }

double small(Rng &rng, const Kind &k) { return double(support::pick(rng, k.in == TCU_UINT8 ? 0 : -4, 4)); }

}  // namespace

TEST_CASE("cuda: sums on tensor cores, of segments of any length", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(20261123);
  int runs = 0;
  for (const int64_t length : {8,   16,  17,  24,  31,  32,  33,   47,   48,   64,   96,   100,
                               127, 128, 129, 256, 257, 1000, 1023, 1024, 1025, 2049, 5000, 40960})
    for_cases(rng, kinds, [&](const Kind &k) {
      for (const int64_t count : {int64_t(1), int64_t(37), support::pick(rng, 38, 700)}) {
        if (count * length > (api::emulated() ? 20000 : 4000000)) continue;
        for (const int64_t gap : {0, 16, 3})
          for (const char *kernel : of_rows)
            runs += sums_are_right(kernel, k, {length, count, gap}, 0, [&](int64_t) { return small(rng, k); });
      }
    });
  CHECK(runs > 80);
}

TEST_CASE("cuda: the planner takes tiles for segments that begin anywhere", "[cuda][tensor]") {
  NEEDS_CUDA();
  const struct {
    int64_t length, count;
    bool tiles;
  } cases[] = {{1025, 16384, true}, {129, 131072, true}, {33, 262144, true}, {1024, 16384, false}, {100, 131072, false}, {129, 64, false}};
  for (const auto &c : cases) {
    api::Memory x(size_t(c.length * c.count) * 2), y(size_t(c.count) * 2);
    const int64_t extents[] = {c.length, c.count}, kept[] = {1, c.count};
    const tcu_tensor_t in{x.data, extents, nullptr, TCU_FLOAT16, 2}, out{y.data, kept, nullptr, TCU_FLOAT16, 2};
    const int32_t dim = 0;
    tcu_plan_t plan = nullptr;
    tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
    OK(tcu_plan_reduce(&plan, context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 1, &dim, nullptr));
    OK(tcu_plan_info(plan, &info));
    INFO(c.count << " segments of " << c.length << ": " << info.kernel);
    CHECK((std::string(info.kernel) == "reduce.tcu.staged") == c.tiles);
    OK(tcu_plan_destroy(plan));
  }
}

TEST_CASE("cuda: sums on tensor cores, of segments side by side", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(20261124);
  int runs = 0;
  for (const Kind &k : kinds) {
    if (tcu_dtype_bytes(k.in) > 2) continue;
    for (const int64_t count : {16, 64, 128, 208, 1040})
      for_cases(rng, std::vector<int64_t>{1, 5, 16, 31, 32, 33, 255, 256, 257, 1000, 5000, 70000}, [&](int64_t length) {
        if (count * length > (api::emulated() ? 40000 : 4000000)) return;
        runs += sums_are_right("reduce.tcu.strided", k, {length, count, length % 2 * 16, true}, 0, [&](int64_t) { return small(rng, k); });
      });
  }
  CHECK(runs > 10);
}

TEST_CASE("cuda: one sum on tensor cores as published", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(5);
  for (const Kind &k : {Kind{TCU_REDUCE_SUM, TCU_FLOAT16, TCU_FLOAT32}, Kind{TCU_REDUCE_MEAN, TCU_BFLOAT16, TCU_BFLOAT16}})
    for (const char *kernel : of_all)
      for (const int64_t length : {2, 7, 8, 255, 256, 257, 1280, 5000, 40003, 164000, 3000001}) {
        if (length > (api::emulated() ? 170000 : 4000000)) continue;  // reduce.tcu.split has more blocks than one has threads
        INFO(kernel);
        CHECK(sums_are_right(kernel, k, {length, 1}, 0, [&](int64_t) { return small(rng, k); }));
        CHECK(sums_are_right(kernel, k, {length, 1}, 0, [&](int64_t) { return small(rng, k); }, TCU_ANY_ORDER));
      }
}

// In the default order; what came in the order of atomic additions would differ in the lowest bits.
TEST_CASE("cuda: one sum on tensor cores has the same bits on every run", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(6);
  const int64_t n = api::emulated() ? 20001 : 3000001, one = 1;
  std::vector<unsigned char> elements(size_t(n) * 2);
  for (int64_t i = 0; i < n; ++i) encode(TCU_FLOAT16, elements.data() + i * 2, double(rng() >> 11) * 0x1p-53);
  api::Memory x(elements);
  const tcu_tensor_t in{x.data, &n, nullptr, TCU_FLOAT16, 1};
  const int32_t dim = 0;
  for (const char *kernel : of_all) {
    INFO(kernel);
    float first = 0;
    for (int i = 0; i < (api::emulated() ? 3 : repeats(1000)); ++i) {
      api::Memory y(std::vector<float>{-1});
      const tcu_tensor_t out{y.data, &one, nullptr, TCU_FLOAT32, 1};
      tcu_options_t options = TCU_OPTIONS_INIT;
      options.kernel = kernel;
      OK(tcu_reduce(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 1, &dim, &options));
      const float sum = y.get<float>(1)[0];
      if (i == 0) first = sum;
      REQUIRE(std::memcmp(&sum, &first, sizeof sum) == 0);
    }
  }
}

TEST_CASE("cuda: a matrix times a vector on tensor cores", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(3);
  const api::Expr product({api::input(0), api::input(1), api::op(TCU_OP_MUL)});
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.kernel = "reduce.tcu.segmented";
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
  const int step = api::emulated() ? 97 : api::under_sanitizer() ? 41 : api::test_scale() < 100 ? 5 : 1;
  for (const tcu_dtype_t in : {TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT32, TCU_FLOAT8_E4M3, TCU_FLOAT8_E5M2})
    for (const int64_t length : {8, 16, 24, 32, 100, 256}) {
      const Kind k{TCU_REDUCE_SUM, in, TCU_FLOAT32};
      const int64_t v = 16 / tcu_dtype_bytes(in);
      if (length != v && length < std::max<int64_t>(2 * v, 16)) continue;
      const int64_t count = 262 * v / length, all = 256 * v / length * length;
      for (int64_t at = support::pick(rng, 0, 5); at < all; at += step) {
        const double specials[] = {inf, -inf, inf - inf, largest(in)};
        const double special = specials[at % 4];
        const auto value = [&](int64_t i) { return i == at ? special : double(i % 9) - 4; };
        REQUIRE(sums_are_right("reduce.tcu.segmented", k, {length, count}, 0x1p-20, value));
        if (in != TCU_FLOAT32) REQUIRE(sums_are_right("reduce.tcu.staged", k, {length, count}, 0x1p-20, value));
        if (length % 8 || in == TCU_FLOAT32) continue;
        REQUIRE(sums_are_right("reduce.tcu.strided", k, {count / v * v, length, 0, true}, 0x1p-20, value));
        if (length == 16 && v == 8) REQUIRE(sums_are_right(of_all[at % 3], k, {all, 1}, 0x1p-20, value));
      }
    }
}

TEST_CASE("cuda: sums on tensor cores against float64", "[cuda][tensor]") {
  NEEDS_CUDA();
  Rng rng(11);
  const auto uniform = [&] { return double(rng() >> 11) * 0x1p-53; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); };
  const int64_t n = api::emulated() ? 1 << 15 : api::under_sanitizer() ? 1 << 16 : 1 << 20;
  for (const tcu_dtype_t in : {TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT32, TCU_FLOAT8_E4M3, TCU_FLOAT8_E5M2}) {
    const Kind k{TCU_REDUCE_SUM, in, TCU_FLOAT32};
    for (const int64_t length : {n, n / 64, n / 1024}) {
      // what is positive: 1e-6 of the sum; else log2(n) 1e-7 of the sum of magnitudes
      const double general = 1e-7 * std::log2(double(length));
      const auto check = [&](const char *kernel, bool side_by_side) {
        const Segments all{length, n / length, 0, side_by_side};
        CHECK(sums_are_right(kernel, k, all, 1e-6, [&](int64_t) { return uniform(); }));
        CHECK(sums_are_right(kernel, k, all, 1e-6, [&](int64_t) { return std::min(largest(in), 65504.0); }));
        CHECK(sums_are_right(kernel, k, all, general, [&](int64_t) { return normal(); }));
        CHECK(sums_are_right(kernel, k, all, general, [&](int64_t i) { return (i & 1 ? -1 : 1) * large(in) + uniform(); }));
        CHECK(sums_are_right(kernel, k, all, 1e-6, [&](int64_t i) { return i == length / 2 ? large(in) : uniform() * little(in); }));
      };
      check("reduce.tcu.segmented", false);
      if (length == n) check("reduce.split", false);
      if (in == TCU_FLOAT32) continue;
      if (length < n && length * tcu_dtype_bytes(in) <= 1 << 15) check("reduce.tcu.staged", false);
      if (length < n) check("reduce.tcu.strided", true);
      else if (tcu_dtype_bytes(in) == 2)
        for (const char *kernel : of_all) check(kernel, false);
    }
  }
}

// The last piece of a long segment, of which some is not the segment's: all is 0 but the last three elements. Needs a GPU with 2 GB;
// test_cuda "[large]".
TEST_CASE("cuda: sums on tensor cores, the end of a long segment", "[.][large]") {
  NEEDS_CUDA();
  for (const int64_t n : {(int64_t(3) << 26) + 3, (int64_t(1) << 28) + 5, (int64_t(7) << 26) + 7}) {
    std::vector<uint16_t> elements(size_t(n), 0);
    std::fill(elements.end() - 3, elements.end(), 0x3c00);
    const int64_t single = 1;
    api::Memory all(elements), y(std::vector<float>{-1});
    const tcu_tensor_t in{all.data, &n, nullptr, TCU_FLOAT16, 1}, out{y.data, &single, nullptr, TCU_FLOAT32, 1};
    for (const std::string &kernel : kernels("reduce")) {
      const int32_t dim = 0;
      tcu_options_t options = TCU_OPTIONS_INIT;
      if (!kernel.empty()) options.kernel = kernel.c_str();
      if (tcu_reduce(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 1, &dim, &options) == TCU_ERROR_KERNEL) continue;
      INFO((kernel.empty() ? "the planner's" : kernel) << ", " << n << " elements");
      CHECK(y.get<float>(1)[0] == 3);
    }
  }
}

// The same to 2^31 elements, which are 2^20 random ones again and again. Needs a GPU with 16 GB; test_cuda "[large]".
TEST_CASE("cuda: sums on tensor cores against float64, to 2^31 elements", "[.][large]") {
  NEEDS_CUDA();
  Rng rng(13);
  const auto uniform = [&] { return double(rng() >> 11) * 0x1p-53; };
  const int64_t block = 1 << 20, most = int64_t(1) << 31;
  struct Data {
    const char *name;
    bool positive;
    std::function<double(tcu_dtype_t, int64_t)> value;
  };
  const Data data[] = {
      {"uniform", true, [&](tcu_dtype_t, int64_t) { return uniform(); }},
      {"normal", false,
       [&](tcu_dtype_t, int64_t) { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }},
      {"alternating", false, [&](tcu_dtype_t d, int64_t i) { return (i & 1 ? -1 : 1) * large(d) + large(d) / 600 * uniform(); }},
      {"outlier", true, [&](tcu_dtype_t d, int64_t i) { return i == block / 2 ? large(d) : uniform() * little(d); }},
      {"largest", true, [](tcu_dtype_t d, int64_t) { return std::min(largest(d), 65504.0); }},
  };
  std::string told;
  for (const tcu_dtype_t dtype : {TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT32, TCU_FLOAT8_E4M3, TCU_FLOAT8_E5M2}) {
    const size_t size = size_t(tcu_dtype_bytes(dtype));
    api::Memory all(size_t(most) * size);
    for (const Data &d : data) {
      std::vector<unsigned char> elements(size_t(block) * size);
      double sum = 0, magnitude = 0;
      for (int64_t i = 0; i < block; ++i) {
        encode(dtype, elements.data() + size_t(i) * size, d.value(dtype, i));
        const double x = decode(dtype, elements.data() + size_t(i) * size);
        sum += x, magnitude += std::abs(x);
      }
      api::Memory one(elements), y(std::vector<float>{-1});
      const int64_t extents[] = {block, most / block}, single = 1;
      const tcu_tensor_t from{one.data, extents, nullptr, dtype, 1}, to{all.data, extents, nullptr, dtype, 2};
      OK(tcu_map(context(), &to, nullptr, 1, &from, nullptr));
      for (const int log2n : {20, 24, 28, 30, 31})
        for (const std::string &kernel : kernels("reduce")) {
          const int64_t n = int64_t(1) << log2n;
          const tcu_tensor_t in{all.data, &n, nullptr, dtype, 1}, out{y.data, &single, nullptr, TCU_FLOAT32, 1};
          const int32_t dim = 0;
          tcu_options_t options = TCU_OPTIONS_INIT;
          if (!kernel.empty()) options.kernel = kernel.c_str();
          if (!kernel.empty() && kernel.rfind("reduce.tcu.", 0) != 0) continue;
          if (tcu_reduce(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 1, &dim, &options) == TCU_ERROR_KERNEL) continue;
          const double times = double(n / block), error = std::abs(double(y.get<float>(1)[0]) - sum * times);
          const double part = error / magnitude / times;
          INFO(kernel << " " << tcu_dtype_name(dtype) << " " << d.name << " 2^" << log2n);
          CHECK(part <= (d.positive ? 1e-6 : 1e-7 * log2n));
          char line[160];
          std::snprintf(line, sizeof line, "error %s %s %s %d %.2e\n", kernel.empty() ? "planner" : kernel.c_str(), tcu_dtype_name(dtype),
                        d.name, log2n, part);
          told += line;
        }
    }
  }
  WARN(told);
}
