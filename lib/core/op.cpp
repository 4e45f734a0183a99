#include "core/op.h"

#include <cstring>
#include <limits>

#include "core/error.h"

namespace tcu {
namespace {

constexpr uint8_t B = uint8_t(Kind::Bool), I = uint8_t(Kind::Int), U = uint8_t(Kind::UInt), F = uint8_t(Kind::Float),
                  C = uint8_t(Kind::Complex);
// The domain column's names.
namespace domain {
constexpr Domain Any{uint8_t(B | I | U | F | C)}, Real{uint8_t(B | I | U | F)}, Integral{uint8_t(B | I | U)};
}  // namespace domain

}  // namespace

constinit const std::array<OpInfo, kOpEnd> kOps = [] {
  std::array<OpInfo, kOpEnd> rows = {};
#define TCU_OP(id, name, arity, dom, result, julia, ...)      \
  static_assert(id > 0 && id < kOpEnd, "grow kOpEnd");        \
  rows[id] = {#name, arity, domain::dom, Result::result, #__VA_ARGS__};
#include "core/ops.def"
#undef TCU_OP
  return rows;
}();
constinit const std::array<ReduceInfo, kReduceEnd> kReduceOps = [] {
  std::array<ReduceInfo, kReduceEnd> rows = {};
#define TCU_REDUCE(id, NAME, name, accumulate, state, second, empty, scans, julia) \
  static_assert(id > 0 && id < kReduceEnd, "grow kReduceEnd");                     \
  rows[id] = {#name, Accumulate::accumulate, state, Second::second, Empty::empty, Scans::scans};
#include "core/reduce_ops.def"
#undef TCU_REDUCE
  return rows;
}();

Op op_by_name(const char *name) {
  for (int id = 1; id < kOpEnd; ++id)
    if (is_op(id) && std::strcmp(kOps[id].name, name) == 0) return Op(id);
  return Op::none;
}

ReduceOp reduce_op_by_name(const char *name) {
  for (int id = 1; id < kReduceEnd; ++id)
    if (is_reduce_op(id) && std::strcmp(kReduceOps[id].name, name) == 0) return ReduceOp(id);
  return ReduceOp::none;
}

OpTypes op_types(Op op, const DType *args) {
  const OpInfo &row = info(op);
  const bool select = row.result == Result::Select;
  DType p = args[select ? 1 : 0];
  for (int i = select ? 2 : 1; i < row.arity; ++i) p = promote(p, args[i]);
  if (select && kind_of(args[0]) != Kind::Bool)
    fail(Code::dtype, "%s asks whether a Bool is true, and its first operand is %s; compare it with something first",
         row.name, info(args[0]).name);
  if (!row.domain.has(kind_of(p))) fail(Code::dtype, "%s is not defined on %s", row.name, info(p).name);
  switch (row.result) {
    case Result::Same:
    case Result::Select: return {p, p};
    case Result::Arith: {
      const DType t = p == DType::bool_ ? DType::i64 : p;
      return {t, t};
    }
    case Result::Float: return {float_of(p), float_of(p)};
    case Result::RealPart: return {p, real_part_of(p)};
    case Result::FloatReal: return {float_of(p), real_part_of(float_of(p))};
    case Result::Bool: return {p, DType::bool_};
  }
  fail(Code::internal, "op %s has no result rule", row.name);
}

DType accumulator_of(ReduceOp op, DType element) {
  switch (info(op).accumulate) {
    case Accumulate::Widen: return widen_for_sum(element);
    case Accumulate::Same:
    case Accumulate::Index:
      if (kind_of(element) == Kind::Complex)
        fail(Code::dtype, "%s needs an order, and %s has none; reduce abs2 or real instead", info(op).name,
             info(element).name);
      return compute_dtype(element);
    case Accumulate::Bool: return DType::bool_;
    case Accumulate::Count: return DType::i64;
    case Accumulate::Real:
      if (kind_of(element) == Kind::Complex)
        fail(Code::dtype, "%s is of real numbers, and the elements are %s; reduce real, imag or abs of them", info(op).name,
             info(element).name);
      return compute_dtype(float_of(element));
    case Accumulate::Float: return compute_dtype(float_of(element));
    case Accumulate::Modulus: return compute_dtype(real_part_of(float_of(element)));
  }
  fail(Code::internal, "reduce op without an accumulator rule");
}

bool takes_accumulator(ReduceOp op, DType acc) {
  switch (info(op).accumulate) {
    case Accumulate::Widen:
    case Accumulate::Same: return true;
    case Accumulate::Float: return kind_of(acc) == Kind::Float || kind_of(acc) == Kind::Complex;
    case Accumulate::Real:
    case Accumulate::Modulus: return kind_of(acc) == Kind::Float;
    default: return false;
  }
}

namespace {
// The least and greatest value of an ordered dtype.
Scalar extreme(DType d, bool greatest) {
  Scalar s{};
  const int bits = 8 * bytes_of(d);
  switch (kind_of(d)) {
    case Kind::Bool: s.i = greatest; break;
    case Kind::Int: s.i = greatest ? int64_t(~uint64_t(0) >> (65 - bits)) : -int64_t(~uint64_t(0) >> (65 - bits)) - 1; break;
    case Kind::UInt: s.u = greatest ? ~uint64_t(0) >> (64 - bits) : 0; break;
    default: s.f = greatest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  }
  return s;
}
}  // namespace

Scalar identity_of(ReduceOp op, DType acc) {
  switch (op) {
    case ReduceOp::prod:
    case ReduceOp::all: return make_scalar(acc, 1);
    case ReduceOp::max:
    case ReduceOp::argmax:
    case ReduceOp::logsumexp: return extreme(acc, false);
    case ReduceOp::min:
    case ReduceOp::argmin: return extreme(acc, true);
    default: return make_scalar(acc, 0);
  }
}

Scalar value_of_nothing(ReduceOp op, DType acc) {
  if (info(op).empty != Empty::NaN) return identity_of(op, acc);
  Scalar s = make_scalar(acc, std::numeric_limits<double>::quiet_NaN());
  if (kind_of(acc) == Kind::Complex) s.c[1] = s.c[0];
  return s;
}

}  // namespace tcu
