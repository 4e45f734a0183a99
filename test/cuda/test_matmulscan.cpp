// scan.tcu.matmulscan*: sums of lines of any length around those of its tiles (16^3 = 8^4 elements) and of their rounds, against float64;
// what is not finite, in every position of a round; the same bits on every run. That it agrees with the other scans is tested with them
// (test_scan.cpp).
#include <cmath>
#include <limits>

#include "problems.h"

using namespace problems;

namespace {

struct Kind {
  const char *kernel;
  tcu_dtype_t in, out;
};
constexpr const char *by_16 = "scan.tcu.matmulscan", *by_8 = "scan.tcu.matmulscan_8";
const Kind kinds[] = {{by_16, TCU_FLOAT16, TCU_FLOAT32}, {by_16, TCU_BFLOAT16, TCU_FLOAT32}, {by_16, TCU_FLOAT16, TCU_FLOAT16},
                      {by_16, TCU_FLOAT32, TCU_FLOAT32}, {by_8, TCU_FLOAT16, TCU_FLOAT32},   {by_8, TCU_FLOAT32, TCU_FLOAT32}};
const Kind several[] = {kinds[0], kinds[3], kinds[4], kinds[5]};

// Lines of `length` elements that lie `gap` elements apart, and how they are scanned.
struct Lines {
  int64_t length, count = 1, gap = 0;
  bool exclusive = false, reverse = false;
  float init = 0;
};

constexpr int64_t kEdge = 32;  // canaries before and behind the results, in elements

struct Scanned {
  std::vector<double> got, want, magnitude;
};
// value(i) is element i of all lines. Nothing beside the results may be written. `want` is a serial sum in the order of the scan,
// `magnitude` one of its summands' magnitudes.
template <class Value>
Scanned scanned(const Kind &k, const Lines &lines, Value value) {
  const auto [length, count, gap, exclusive, reverse, init] = lines;
  const int64_t step = length + gap;
  const size_t size = size_t(tcu_dtype_bytes(k.in)), out_size = size_t(tcu_dtype_bytes(k.out));
  std::vector<unsigned char> elements(size_t(step * count) * size, 0x7f), results(size_t(step * count + 2 * kEdge) * out_size, 0x5a);
  Scanned all;
  const size_t n = size_t(length * count);
  all.got.resize(n), all.want.resize(n), all.magnitude.resize(n);
  for (int64_t line = 0; line < count; ++line) {
    double sum = init, magnitude = std::abs(init);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t j = reverse ? length - 1 - i : i;
      unsigned char *const at = elements.data() + size_t(line * step + j) * size;
      encode(k.in, at, value(line * length + i));
      const double x = decode(k.in, at), before = sum;
      sum += x, magnitude += std::abs(x);
      all.want[size_t(line * length + j)] = exclusive ? before : sum, all.magnitude[size_t(line * length + j)] = magnitude;
    }
  }
  api::Memory x(elements), y(results);
  const int64_t extents[] = {length, count}, strides[] = {1, step};
  const tcu_tensor_t in{x.data, extents, strides, k.in, 2};
  const tcu_tensor_t out{static_cast<char *>(y.data) + size_t(kEdge) * out_size, extents, strides, k.out, 2};
  tcu_options_t options = TCU_OPTIONS_INIT;
  tcu_scalar_t start{};
  start.f = init;
  options.kernel = k.kernel, options.init = &start;
  options.scan_flags = (exclusive ? TCU_SCAN_EXCLUSIVE : 0) | (reverse ? TCU_SCAN_REVERSE : 0);
  const tcu_status_t status = tcu_scan(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 0, &options);
  INFO(tcu_last_error());
  REQUIRE(tcu_status_name(status) == std::string("TCU_OK"));
  const auto now = y.get<unsigned char>(results.size());
  for (int64_t line = 0; line < count; ++line)
    for (int64_t i = 0; i < length; ++i) {
      const size_t at = size_t(kEdge + line * step + i) * out_size;
      all.got[size_t(line * length + i)] = decode(k.out, now.data() + at);
      std::copy_n(now.data() + at, out_size, results.data() + at);
    }
  REQUIRE((now == results));
  return all;
}

std::string text(const Kind &k, const Lines &l) {
  return std::string(k.kernel) + ", " + tcu_dtype_name(k.in) + " to " + tcu_dtype_name(k.out) + ", " + std::to_string(l.count) +
         " lines of " + std::to_string(l.length) + ", gap " + std::to_string(l.gap) + (l.exclusive ? " exclusive" : "") +
         (l.reverse ? " reverse" : "");
}

// Every sum must be the oracle's, to `relative` of the sum of magnitudes and the rounding of what is stored.
template <class Value>
void check(const Kind &k, const Lines &lines, double relative, Value value) {
  INFO(text(k, lines));
  const Scanned all = scanned(k, lines, value);
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < all.got.size(); ++i) {
    const double got = all.got[i], want = relative == 0 ? rounded(k.out, all.want[i]) : all.want[i];
    const double far = relative == 0 ? 0 : relative * all.magnitude[i] + stored_error(k.out, want);
    const bool overflows = std::isinf(got) && got == rounded(k.out, want);
    if (!(got == want || overflows || (got != got && want != want) || std::abs(got - want) <= far) && wrong++ == 0)
      first = "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(want);
  }
  INFO(first);
  REQUIRE(wrong == 0);
}

double uniform(Rng &rng) { return double(rng() >> 11) * 0x1p-53; }

}  // namespace

TEST_CASE("cuda: matmulscan of lines of any length", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(20261125);
  for (const int64_t length : {1,   2,   7,   8,   9,   15,   16,   17,   63,   64,   65,    255,  256,
                               257, 511, 512, 513, 1000, 4095, 4096, 4097, 8192, 12289, 65536, 70001})
    for_cases(rng, kinds, [&](const Kind &k) {
      for (const int64_t count : {1, 3}) {
        if (length * count > (api::emulated() ? 75000 : 1 << 30)) continue;
        Lines lines{length, count, support::pick(rng, 0, 5) * int64_t(count > 1)};
        lines.exclusive = support::chance(rng, 30), lines.reverse = support::chance(rng, 30);
        if (support::chance(rng, 50)) lines.init = k.out == TCU_FLOAT32 ? 12345679 : 3;  // all of 24 bits
        check(k, lines, 0, [&](int64_t) { return double(support::pick(rng, -4, 4)); });
      }
    });
}

// A line of more tiles than a tile has elements: three levels, that of the elements, 4096 times fewer sums, and one more.
TEST_CASE("cuda: matmulscan of a line of three levels", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  if (api::emulated() && api::test_scale() <= 100) return;  // four minutes
  Rng rng(7);
  const auto value = [&](int64_t) { return double(support::pick(rng, -1, 1)); };
  for (const Kind &k : several) check(k, {(1 << 24) + 5000}, 0, value);
}

// A sum goes through at most eight rounds a level, each of six products, of each of which a tensor core cuts off 2^-23 (mma.cuh).
TEST_CASE("cuda: matmulscan is as near to float64 as float32 sums in so many rounds", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(8);
  const int64_t n = api::emulated() ? 20000 : 3000000;
  for (const Kind &k : kinds)
    for (const bool normal : {false, true})
      check(k, {n}, 2 * 8 * 6 * 0x1p-23, [&](int64_t) {
        if (!normal) return uniform(rng);
        return std::sqrt(-2 * std::log(1 - uniform(rng))) * std::cos(6.283185307179586 * uniform(rng));
      });
}

TEST_CASE("cuda: matmulscan has what is not finite where a serial scan has it", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  Rng rng(9);
  for (const Kind &k : several)
    for (const int64_t at : {0, 1, 15, 16, 17, 254, 255, 256, 271, 4094, 4095, 4096, 4097, 8191, 8192, 9000})
      for (const double what : {inf, nan}) {
        if (!is_chosen(rng)) continue;
        const int64_t length = 9001;
        Lines lines{length, 2};
        lines.exclusive = at % 3 == 0, lines.reverse = at % 5 == 1;
        INFO("at " << at << " of the second line");
        // an opposite Inf further on, of some: from there on a NaN
        const int64_t second = at % 2 ? length + at + 300 : -1;
        check(k, lines, 0, [&](int64_t i) { return i == length + at ? what : i == second ? -inf : double(i % 3 - 1); });
      }
}

TEST_CASE("cuda: matmulscan has the same bits on every run", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(10);
  const int64_t n = 12500;
  std::vector<double> x(static_cast<size_t>(n));
  for (double &v : x) v = uniform(rng);
  for (const Kind &k : {kinds[0], kinds[5]}) {
    const auto value = [&](int64_t i) { return x[size_t(i)]; };
    const std::vector<double> first = scanned(k, {n}, value).got;
    for (int i = 1; i < (api::emulated() ? 10 : repeats(1000)); ++i) REQUIRE((scanned(k, {n}, value).got == first));
  }
}
