// MatMulScan (cpu/matmul_scan.h) against a serial sum of long double, its products and its depth against what Zouzias and McColl state, and
// the row scan.matmulscan. That the row agrees with the oracle on any strides is tested with all the others (test_scan.cpp).
//
// The paper states (arXiv 2411.17887; the formula for the number of products of Lemma 1 is lost in the text we have, and is derived):
//   Lemma 1      n = s^k: depth 2k - 1 (k rounds, and k - 1). The t-th round of the first phase has at most ceil(n / s^(t+2)) products,
//                and so has that of the second: at most ceil(2n / s(s-1)) + 2k - 1 in all. It is 2 (s^(k-1) - 1) / (s-1) + 1.
//   Corollary 1  any n: depth at most 2 floor(log_s n), O(n / s^2) products. The depth supposes that the scan of the chunks' ends is
//                done when the second phase is, which the paper says of "large enough" n: 2q <= k for s^q >= the number of chunks. Below
//                that it is k + 2q.
#include <cmath>
#include <limits>

#include "cpu/matmul_scan.h"
#include "tensors.h"

namespace {
using namespace cpu_test;
using tcu::cpu::MatmulCounts, tcu::cpu::MatmulScan;

constexpr int sizes[] = {2, 3, 4, 5, 8, 16, 32};

int64_t power(int64_t s, int64_t k) { return k == 0 ? 1 : s * power(s, k - 1); }
int64_t log_floor(int64_t s, int64_t n) {
  int64_t k = 0;
  while (power(s, k + 1) <= n) ++k;
  return k;
}
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Small whole numbers, so that sums are exact, and once more any numbers, to `relative` of the sum of magnitudes.
template <class T>
MatmulCounts counts_of(int s, int64_t n) {
  Rng rng{unsigned(n) * 64 + unsigned(s)};
  MatmulScan<T> scan(s);
  MatmulCounts counts;
  for (const bool whole : {true, false}) {
    std::vector<T> x(size_t(n) + 2);
    for (T &v : x) v = whole ? T(pick(rng, -8, 8)) : T(double(rng() >> 11) * 0x1p-53 - 0.25);
    const std::vector<T> in = x;
    counts = scan.scan(x.data() + 1, n);
    CAPTURE(s, n, whole);
    REQUIRE((x.front() == in.front() && x.back() == in.back()));
    // An element is added up in `depth` levels of at most s terms each. (A serial sum of 65537 float64 is further off than that.)
    const double relative = whole ? 0 : std::numeric_limits<T>::epsilon() * double(std::max<int64_t>(counts.depth, 1)) * s;
    long double sum = 0, magnitude = 0;
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += in[size_t(i) + 1], magnitude += std::fabs(in[size_t(i) + 1]);
      wrong += std::fabs(x[size_t(i) + 1] - sum) > relative * magnitude;
    }
    REQUIRE(wrong == 0);
  }
  return counts;
}

TEST_CASE("matmulscan: powers of s have the products and the depth of Lemma 1", "[scan][matmulscan]") {
  for (const int s : sizes)
    for (int64_t k = 0; power(s, k) <= 40000; ++k) {
      const int64_t n = power(s, k);
      const MatmulCounts c = counts_of<double>(s, n);
      CAPTURE(s, k, n);
      if (k == 0) {
        CHECK((c.products == 0 && c.depth == 0));
        continue;
      }
      CHECK(c.depth == 2 * k - 1);
      CHECK(c.products == 2 * (power(s, k - 1) - 1) / (s - 1) + 1);
      CHECK(c.products <= ceil_div(2 * n, s * (s - 1)) + 2 * k - 1);
    }
}

TEST_CASE("matmulscan: any length has the products and the depth of Corollary 1", "[scan][matmulscan]") {
  bool as_stated = false;
  for (const int s : sizes) {
    std::vector<int64_t> lengths{0, 1, 2, 3, 7, 100, 1000, 4097, 65537};
    for (int64_t k = 1; k <= 3; ++k)
      for (const int64_t more : {-1, 0, 1}) lengths.push_back(power(s, k) + more);
    for (const int64_t n : lengths) {
      const MatmulCounts c = counts_of<double>(s, n);
      counts_of<float>(s, n);
      CAPTURE(s, n);
      if (n == 0) {
        CHECK((c.products == 0 && c.depth == 0));
        continue;
      }
      const int64_t k = log_floor(s, n);
      int64_t chunks = 0;
      for (int64_t left = n; left > 0; left /= s) chunks += left % s;
      if (chunks == 1) continue;  // a power
      int64_t q = 1;
      while (power(s, q) < chunks) ++q;
      CHECK(c.depth == std::max(2 * k, k + 2 * q));
      if (2 * q <= k) {
        CHECK(c.depth == 2 * k);
        as_stated = true;
      }
      // The sum over the chunks of Lemma 1's, the scan of their ends, and one more pass; what is not n / s^2 grows with s log^2.
      CHECK(c.products <= 3 * ceil_div(n, s * (s - 1)) + (s - 1) * (k + 1) * (k + 1) + 2 * (k + 1) + 2 * q);
      CHECK(c.products >= ceil_div(n, s * s));
    }
  }
  CHECK(as_stated);
}

// Before a NaN or an Inf nothing is touched, after it there is what a serial sum has.
TEST_CASE("matmulscan: an Inf and a NaN are seen by what follows them alone", "[scan][matmulscan]") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const int s : {2, 3, 16})
    for (const int64_t n : {16, 81, 300})
      for (int64_t at = 0; at < n; ++at)
        for (const double what : {inf, -inf, std::nan("")}) {
          std::vector<double> x(size_t(n), 1);
          x[size_t(at)] = what;
          if (at + 5 < n) x[size_t(at) + 5] = -inf;
          std::vector<double> want = x;
          for (size_t i = 1; i < want.size(); ++i) want[i] += want[i - 1];
          MatmulScan<double>(s).scan(x.data(), n);
          int64_t wrong = 0;
          for (size_t i = 0; i < x.size(); ++i) wrong += !(x[i] == want[i] || (std::isnan(x[i]) && std::isnan(want[i])));
          CAPTURE(s, n, at, what);
          REQUIRE(wrong == 0);
        }
}

TEST_CASE("scan.matmulscan: lines of any length, for pins alone", "[scan][matmulscan]") {
  for (const int64_t n : {1, 2, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 70001})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true}) {
        const Sizes extents{2, n};
        Tensor x(DType::f16, extents, {n + 1, 1}), out(DType::f32, extents, {1, 2});
        Rng rng(9);
        x.fill([&](const Sizes &) { return double(pick(rng, -4, 4)); });
        std::vector<double> expected(size_t(2 * n));
        for (int64_t line = 0; line < 2; ++line) {
          double sum = 3;
          for (int64_t i = 0; i < n; ++i) {
            const int64_t j = reverse ? n - 1 - i : i;
            const double next = sum + load(DType::f16, x.at({line, j}));
            expected[size_t(line + 2 * j)] = exclusive ? sum : next;
            sum = next;
          }
        }
        tcu::TensorView view = x.view();
        tcu::Request r;
        r.out = out.view(), r.n_inputs = 1, r.inputs = &view;
        const tcu::Problem p = tcu::make_scan(r, tcu::ReduceOp::sum, 1, {exclusive, reverse});
        tcu::Execution e;
        e.at.out = r.out.data, e.at.in[0] = view.data, e.alpha = number(p.acc, 1), e.init = number(p.acc, 3);
        planner().execute(*planner().plan(p, "scan.matmulscan"), e, 0);
        CAPTURE(n, exclusive, reverse, p.pattern());
        compare(out, expected);
        CHECK(out.gaps_intact());
        CHECK(planner().plan(p, nullptr)->kernel->name != std::string("scan.matmulscan"));
      }
}

}  // namespace
