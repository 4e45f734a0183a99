// make_matmul: the layouts a BLAS takes, told apart from those that it does not.
#include <vector>

#include "core/problems.h"
#include "plan/matmul.h"

using namespace tcu;
using namespace support;

namespace {

struct Matrix {
  Sizes extents, strides;
  uintptr_t at;
  DType dtype = DType::f64;
  TensorView view() const { return {fake_address(at), dtype, int(extents.size()), extents.data(), strides.data()}; }
};
Backend::Matmul made(const Matrix &c, const Matrix &a, const Matrix &b) { return make_matmul(c.view(), a.view(), b.view()); }
Code code(const Matrix &c, const Matrix &a, const Matrix &b) {
  return code_of([&] { made(c, a, b); });
}
constexpr uintptr_t C = 1 << 20, A = 2 << 20, B = 3 << 20;

// Runs what a BLAS would on buffers of small integers and compares with the definition.
void check_against_loops(Matrix c, Matrix a, Matrix b) {
  const auto fill = [](Matrix &m, std::vector<double> &data) {
    int64_t reach = 1;
    for (size_t i = 0; i < m.extents.size(); ++i) reach += (m.extents[i] - 1) * m.strides[i];
    for (int64_t i = 0; i < reach; ++i) data.push_back(double(i % 7 - 3));
    m.at = reinterpret_cast<uintptr_t>(data.data());
  };
  std::vector<double> dc, da, db;
  fill(c, dc), fill(a, da), fill(b, db);
  std::vector<double> want = dc;
  for_each_index({c.extents[0], c.extents[1], a.extents[1]}, [&](const Sizes &i) {
    if (i[2] == 0) want[size_t(offset({i[0], i[1]}, c.strides))] = 0;
  });
  for_each_index({c.extents[0], c.extents[1], a.extents[1]}, [&](const Sizes &i) {
    want[size_t(offset({i[0], i[1]}, c.strides))] +=
        da[size_t(offset({i[0], i[2]}, a.strides))] * db[size_t(offset({i[2], i[1]}, b.strides))];
  });
  const Backend::Matmul m = made(c, a, b);
  for (int64_t i = 0; i < m.m; ++i)
    for (int64_t j = 0; j < m.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < m.k; ++k)
        sum += static_cast<const double *>(m.a)[m.trans_a ? k + i * m.lda : i + k * m.lda] *
               static_cast<const double *>(m.b)[m.trans_b ? j + k * m.ldb : k + j * m.ldb];
      static_cast<double *>(m.c)[i + j * m.ldc] = sum;
    }
  CHECK(dc == want);
  CHECK(m.lda >= (m.trans_a ? m.k : m.m));
  CHECK(m.ldb >= (m.trans_b ? m.n : m.k));
  CHECK(m.ldc >= m.m);
}

}  // namespace

TEST_CASE("matmul: every mix of row- and column-major, padded and not, is the product") {
  for (int64_t pad : {0, 3})
    for (int mix = 0; mix < 8; ++mix)
      for (const Sizes &s : {Sizes{4, 3, 5}, Sizes{1, 3, 5}, Sizes{4, 1, 5}, Sizes{4, 3, 1}, Sizes{1, 1, 1}}) {
        const auto matrix = [&](int64_t rows, int64_t columns, bool row_major) {
          return Matrix{{rows, columns}, row_major ? Sizes{columns + pad, 1} : Sizes{1, rows + pad}, 0};
        };
        INFO("pad " << pad << " mix " << mix << " m " << s[0] << " n " << s[1] << " k " << s[2]);
        check_against_loops(matrix(s[0], s[1], mix & 1), matrix(s[0], s[2], mix & 2), matrix(s[2], s[1], mix & 4));
      }
}

TEST_CASE("matmul: what does not fit has its code") {
  const Matrix c{{4, 3}, {1, 4}, C}, a{{4, 5}, {1, 4}, A}, b{{5, 3}, {1, 5}, B};
  CHECK(code(c, a, b) == Code::ok);
  CHECK(code(c, b, a) == Code::shape);
  CHECK(code({{4, 2}, {1, 4}, C}, a, b) == Code::shape);
  CHECK(code(c, {{4, 5}, {2, 8}, A}, b) == Code::shape);    // neither stride is 1
  CHECK(code(c, {{4, 5}, {1, -4}, A}, b) == Code::shape);
  CHECK(code(c, {{4, 5}, {1, 0}, A}, b) == Code::shape);
  CHECK(code(c, {{4, 5, 1}, {1, 4, 20}, A}, b) == Code::rank);
  CHECK(code({{4, 3}, {1, 4}, C, DType::f32}, a, b) == Code::dtype);
  CHECK(code({{4, 3}, {1, 4}, C, DType::i64}, {{4, 5}, {1, 4}, A, DType::i64}, {{5, 3}, {1, 5}, B, DType::i64}) == Code::dtype);
  CHECK(code({{4, 3}, {1, 4}, A}, a, b) == Code::overlap);
  CHECK(code({{4, 3}, {1, 4}, B + 8 * 5}, a, b) == Code::overlap);
  CHECK(code({{4, 3}, {1, 4}, 0}, a, b) == Code::null);
  CHECK(code({{0, 3}, {1, 1}, 0}, {{0, 5}, {1, 1}, 0}, b) == Code::ok);
}
