#include "plan/matmul.h"

#include <algorithm>

#include "core/error.h"

namespace tcu {
namespace {

struct Matrix {
  Layout layout;
  int64_t rows, columns, lead;
  bool transposed;  // its rows are contiguous, not its columns
};

Matrix matrix(const TensorView &t, const char *name) {
  Matrix m;
  m.layout = check_tensor(t, name, true);
  if (m.layout.rank > 2) fail(Code::rank, "%s has rank %d and must be a matrix", name, m.layout.rank);
  m.rows = m.layout.extent(0), m.columns = m.layout.extent(1);
  const int64_t s0 = m.layout.stride(0), s1 = m.layout.stride(1);
  // A mode of extent 1 has no stride that matters.
  const auto fits = [](int64_t inner, int64_t outer, int64_t s_inner, int64_t s_outer) {
    return (inner <= 1 || s_inner == 1) && (outer <= 1 || s_outer >= std::max<int64_t>(inner, 1));
  };
  if (fits(m.rows, m.columns, s0, s1))
    m.transposed = false, m.lead = m.columns > 1 ? s1 : std::max<int64_t>(m.rows, 1);
  else if (fits(m.columns, m.rows, s1, s0))
    m.transposed = true, m.lead = m.rows > 1 ? s0 : std::max<int64_t>(m.columns, 1);
  else
    fail(Code::shape, "%s has strides %lld and %lld; a matrix product needs one of them 1 and no overlap: copy it first", name,
         (long long)s0, (long long)s1);
  return m;
}

}  // namespace

Backend::Matmul make_matmul(const TensorView &c, const TensorView &a, const TensorView &b) {
  const Matrix mc = matrix(c, "c"), ma = matrix(a, "a"), mb = matrix(b, "b");
  if (a.dtype != c.dtype || b.dtype != c.dtype)
    fail(Code::dtype, "c is %s, a %s and b %s; a matrix product needs one dtype", info(c.dtype).name, info(a.dtype).name,
         info(b.dtype).name);
  const Kind kind = kind_of(c.dtype);
  if (kind != Kind::Float && kind != Kind::Complex)
    fail(Code::dtype, "there is no matrix product of %s; convert to a float first", info(c.dtype).name);
  if (ma.rows != mc.rows || mb.columns != mc.columns || ma.columns != mb.rows)
    fail(Code::shape, "a is (%lld,%lld), b (%lld,%lld) and c (%lld,%lld); they must be (m,k), (k,n) and (m,n)",
         (long long)ma.rows, (long long)ma.columns, (long long)mb.rows, (long long)mb.columns, (long long)mc.rows,
         (long long)mc.columns);
  check_no_self_overlap(mc.layout, "c");
  if (may_overlap(c.data, mc.layout, a.data, ma.layout)) fail(Code::overlap, "c overlaps a; write to a copy");
  if (may_overlap(c.data, mc.layout, b.data, mb.layout)) fail(Code::overlap, "c overlaps b; write to a copy");

  Backend::Matmul m{};
  m.dtype = c.dtype;
  m.k = ma.columns;
  m.c = c.data, m.ldc = mc.lead;
  if (!mc.transposed) {
    m.m = mc.rows, m.n = mc.columns;
    m.a = a.data, m.lda = ma.lead, m.trans_a = ma.transposed;
    m.b = b.data, m.ldb = mb.lead, m.trans_b = mb.transposed;
  } else {  // c' = b' a'
    m.m = mc.columns, m.n = mc.rows;
    m.a = b.data, m.lda = mb.lead, m.trans_a = !mb.transposed;
    m.b = a.data, m.ldb = ma.lead, m.trans_b = !ma.transposed;
  }
  return m;
}

}  // namespace tcu
