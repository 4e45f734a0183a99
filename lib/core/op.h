// Op and ReduceOp: rows of ops.def and reduce_ops.def, with their result-type rules.
#pragma once
#include <array>
#include <cstdint>

#include "core/dtype.h"

namespace tcu {

enum class Op : uint16_t {
  none = 0,
#define TCU_OP(id, name, ...) name = id,
#include "core/ops.def"
#undef TCU_OP
};

// What the operands' promoted dtype may be, as a set of kinds; the names are the domain column of ops.def.
struct Domain {
  uint8_t kinds;
  bool has(Kind k) const { return kinds & uint8_t(k); }
};
enum class Result : uint8_t { Same, Arith, Float, RealPart, FloatReal, Bool, Select };

struct OpInfo {
  const char *name;
  int arity;
  Domain domain;
  Result result;
  const char *expression;
};
inline constexpr int kOpEnd = 1024, kReduceEnd = 32;  // past the ids
extern const std::array<OpInfo, kOpEnd> kOps;         // by id; an id without a row has no name
inline bool is_op(int32_t id) { return id > 0 && id < kOpEnd && kOps[id].name; }
inline const OpInfo &info(Op op) { return kOps[int(op)]; }
Op op_by_name(const char *name);  // none if there is no such row

// The dtype that an op's operands are converted to, and the dtype it yields. For ifelse the first operand is Bool.
struct OpTypes {
  DType operand, result;
};
// Fails with Code::dtype where the op is not defined on these.
OpTypes op_types(Op op, const DType *args);

enum class ReduceOp : uint8_t {
  none = 0,
#define TCU_REDUCE(id, NAME, name, ...) name = id,
#include "core/reduce_ops.def"
#undef TCU_REDUCE
};
enum class Accumulate : uint8_t { Widen, Same, Bool, Count, Index, Float, Real, Modulus };
enum class Second : uint8_t { None, Offered, Needed };
enum class Empty : uint8_t { Identity, NaN, Error };
enum class Scans : uint8_t { No, Yes, Only };

struct ReduceInfo {
  const char *name;
  Accumulate accumulate;
  int numbers;  // of the accumulator's dtype, in a state
  Second second;
  Empty empty;
  Scans scans;
};
extern const std::array<ReduceInfo, kReduceEnd> kReduceOps;
inline bool is_reduce_op(int32_t id) { return id > 0 && id < kReduceEnd && kReduceOps[id].name; }
inline const ReduceInfo &info(ReduceOp op) { return kReduceOps[int(op)]; }
ReduceOp reduce_op_by_name(const char *name);
inline bool is_arg(ReduceOp op) { return info(op).accumulate == Accumulate::Index; }

// Whether the result is made of the state at the end: a quotient, a root, a logarithm.
inline bool has_finish(ReduceOp op) { return info(op).accumulate >= Accumulate::Float; }
inline bool is_deviation(ReduceOp op) { return op == ReduceOp::var || op == ReduceOp::std; }

DType accumulator_of(ReduceOp op, DType element);
// Whether op can accumulate in acc, beside what it does by itself.
bool takes_accumulator(ReduceOp op, DType acc);
// The identity of op in accumulator dtype acc (for max the lowest value, -Inf for floats), where a state is one number.
Scalar identity_of(ReduceOp op, DType acc);
// What op gives for no elements, where that is not refused.
Scalar value_of_nothing(ReduceOp op, DType acc);

}  // namespace tcu
