// tcu_matmul against three loops. A machine without a BLAS refuses it with TCU_ERROR_LIBRARY, and that is no failure.
#include <complex>
#include <vector>

#include "capi/api.h"

using namespace api;

namespace {

template <class T>
void fill(std::vector<T> &v, int seed) {
  for (size_t i = 0; i < v.size(); ++i) {
    const int x = int((i * 7 + size_t(seed)) % 11) - 5;
    if constexpr (std::is_floating_point_v<T>)
      v[i] = T(x);
    else
      v[i] = T(float(x), float(x % 3));
  }
}

bool has_blas() {
  static const bool has = [] {
    Array<double> c({1, 1}, {0}), a({1, 1}, {2});
    const tcu_status_t status = tcu_matmul(context(), c, a, a, nullptr);
    if (status == TCU_ERROR_LIBRARY) WARN("no BLAS here: " << tcu_last_error());
    return status != TCU_ERROR_LIBRARY;
  }();
  return has;
}

struct Major {
  bool row;
  int64_t pad;
  Sizes strides(int64_t rows, int64_t columns) const { return row ? Sizes{columns + pad, 1} : Sizes{1, rows + pad}; }
  size_t size(int64_t rows, int64_t columns) const { return size_t(row ? rows * (columns + pad) : columns * (rows + pad)); }
};

template <class T>
void check(tcu_dtype_t d, int64_t m, int64_t n, int64_t k, Major ma, Major mb, Major mc, const tcu_options_t *o, T alpha, T beta) {
  std::vector<T> a(ma.size(m, k)), b(mb.size(k, n)), c(mc.size(m, n));
  fill(a, 1), fill(b, 2), fill(c, 3);
  const Sizes sa = ma.strides(m, k), sb = mb.strides(k, n), sc = mc.strides(m, n);
  std::vector<T> want = c;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a[size_t(i * sa[0] + l * sa[1])] * b[size_t(l * sb[0] + j * sb[1])];
      T &w = want[size_t(i * sc[0] + j * sc[1])];
      w = alpha * sum + (beta == T(0) ? T(0) : beta * w);
    }
  Array<T> dc({m, n}, sc, c, 0, d), da({m, k}, sa, a, 0, d), db({k, n}, sb, b, 0, d);
  OK(tcu_matmul(context(), dc, da, db, o));
  CHECK(dc.get() == want);  // small integers: exact, the padding untouched
}

}  // namespace

TEMPLATE_TEST_CASE("matmul: any mix of layouts", "", float, double) {
  if (!has_blas()) return;
  const Major majors[] = {{false, 0}, {true, 0}, {false, 3}, {true, 2}};
  for (const Major &a : majors)
    for (const Major &b : majors)
      for (const Major &c : majors) {
        check<TestType>(dtype_of<TestType>(), 4, 3, 5, a, b, c, nullptr, 1, 0);
        check<TestType>(dtype_of<TestType>(), 1, 6, 1, a, b, c, nullptr, 1, 0);
      }
  const tcu_scalar_t alpha = real(2), beta = real(-3);
  tcu_options_t o = options();
  o.alpha = &alpha, o.beta = &beta;
  check<TestType>(dtype_of<TestType>(), 7, 2, 4, {false, 0}, {true, 0}, {false, 1}, &o, 2, -3);
}

TEST_CASE("matmul: complex") {
  if (!has_blas()) return;
  tcu_scalar_t alpha{}, beta{};
  alpha.c[0] = 1, alpha.c[1] = 2, beta.c[0] = 0, beta.c[1] = -1;
  tcu_options_t o = options();
  o.alpha = &alpha, o.beta = &beta;
  check<std::complex<float>>(TCU_COMPLEX64, 3, 4, 5, {false, 0}, {true, 1}, {false, 0}, &o, {1, 2}, {0, -1});
  check<std::complex<double>>(TCU_COMPLEX128, 3, 4, 5, {true, 0}, {false, 0}, {true, 0}, &o, {1, 2}, {0, -1});
}

TEST_CASE("matmul: no output, and a product over nothing") {
  if (!has_blas()) return;
  Array<double> none({0, 3}, std::vector<double>{}), thin({0, 2}, std::vector<double>{});
  const Array<double> b({2, 3}, {1, 2, 3, 4, 5, 6});
  OK(tcu_matmul(context(), none, thin, b, nullptr));
  Array<double> c({2, 2}, {1, 2, 3, 4});
  const Array<double> a0({2, 0}, std::vector<double>{}), b0({0, 2}, std::vector<double>{});
  const tcu_scalar_t beta = real(10);
  tcu_options_t o = options();
  o.beta = &beta;
  OK(tcu_matmul(context(), c, a0, b0, &o));
  CHECK(c.get() == std::vector<double>{10, 20, 30, 40});
  OK(tcu_matmul(context(), c, a0, b0, nullptr));
  CHECK(c.get() == std::vector<double>{0, 0, 0, 0});
}

TEST_CASE("matmul: bad input") {
  const std::vector<double> canary(4, -9.5);
  Array<double> c({2, 2}, canary), cube({1, 2, 2}, canary), strided({2, 2}, {2, 4}, repeated(8, 1.0));
  const Array<double> a({2, 2}, canary), tall({3, 2}, repeated(6, 1.0));
  const Array<float> narrow({2, 2}, repeated(4, 1.0f));
  const Array<int64_t> whole({2, 2}, repeated(4, int64_t(1)));
  Array<int64_t> counts({2, 2}, repeated(4, int64_t(7)));
  FAILS(TCU_ERROR_SHAPE, tcu_matmul(context(), c, tall, a, nullptr));
  FAILS(TCU_ERROR_SHAPE, tcu_matmul(context(), c, strided, a, nullptr));
  FAILS(TCU_ERROR_RANK, tcu_matmul(context(), c, cube, a, nullptr));
  FAILS(TCU_ERROR_DTYPE, tcu_matmul(context(), c, narrow, a, nullptr));
  FAILS(TCU_ERROR_DTYPE, tcu_matmul(context(), counts, whole, whole, nullptr));
  FAILS(TCU_ERROR_OVERLAP, tcu_matmul(context(), c, c, a, nullptr));
  FAILS(TCU_ERROR_OVERLAP, tcu_matmul(context(), c, a, c, nullptr));
  tcu_tensor_t t = c.tensor;
  t.dtype = 77;
  FAILS(TCU_ERROR_DTYPE, tcu_matmul(context(), &t, a, a, nullptr));
  t = c.tensor, t.data = nullptr;
  FAILS(TCU_ERROR_NULL, tcu_matmul(context(), &t, a, a, nullptr));
  const int64_t zero[2] = {1, 0};
  t = c.tensor, t.strides = zero;
  FAILS(TCU_ERROR_SHAPE, tcu_matmul(context(), &t, a, a, nullptr));
  CHECK(c.get() == canary);
  CHECK(counts.get()[0] == 7);
}
