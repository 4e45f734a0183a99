// Expr: an element-wise function as a postfix tape, and its typed form, which backends run.
#pragma once
#include <memory>
#include <vector>

#include "core/op.h"

namespace tcu {

inline constexpr int kMaxInputs = 16;
inline constexpr int kMaxNodes = 256;
inline constexpr int kMaxResults = 4;  // values that an expression leaves, at most

enum class NodeKind : int32_t { input = 1, scalar = 2, constant = 3, op = 4, cast = 5 };

struct Node {
  NodeKind kind;
  int32_t index;  // input number, scalar slot, or Op
  DType dtype;    // of a scalar, constant or cast
  Scalar value;   // of a constant

  static Node input(int i) { return {NodeKind::input, i, DType::none, {}}; }
  static Node scalar(int slot, DType d) { return {NodeKind::scalar, slot, d, {}}; }
  static Node constant(DType d, Scalar v) { return {NodeKind::constant, 0, d, v}; }
  static Node op(Op o) { return {NodeKind::op, int32_t(o), DType::none, {}}; }
  static Node cast(DType d) { return {NodeKind::cast, 0, d, {}}; }
};

// A number that an expression takes by value: a caller's scalar, or a constant of the tape.
struct Parameter {
  DType dtype;
  int slot;        // of the caller's scalars, or -1
  Scalar value{};  // when slot is -1
};

// Immutable and well-formed by construction. Two Exprs are equal when their tapes are, values of constants apart: those
// travel by value with every launch, so that a changed constant compiles nothing.
class Expr {
 public:
  explicit Expr(std::vector<Node> nodes);  // fails with Code::expr, dtype or op
  const std::vector<Node> &nodes() const { return nodes_; }
  int n_inputs() const { return n_inputs_; }    // one past the highest input named
  int n_scalars() const { return n_scalars_; }  // likewise; constants are not counted
  int n_results() const { return n_results_; }  // values that it leaves: 1 to kMaxResults
  bool is_identity() const { return nodes_.size() == 1 && nodes_[0].kind == NodeKind::input && nodes_[0].index == 0; }
  // In the tape's order, a scalar once for each dtype that it is named with.
  const std::vector<Parameter> &parameters() const { return parameters_; }
  uint64_t hash() const { return hash_; }
  bool operator==(const Expr &other) const;
  // Of the constants' values alone; `other` is equal.
  uint64_t constants_hash() const { return constants_hash_; }
  bool same_constants(const Expr &other) const;

  static const std::shared_ptr<const Expr> &identity();
  static const std::shared_ptr<const Expr> &inputs(int n);  // leaves inputs 0 to n - 1; n: 1 to kMaxResults

 private:
  std::vector<Node> nodes_;
  std::vector<Parameter> parameters_;
  int n_inputs_ = 0, n_scalars_ = 0, n_results_ = 0;
  uint64_t hash_ = 0, constants_hash_ = 0;
};

// One step of a typed expression in single-assignment form: step i makes value i, in compute_dtype(result).
struct Step {
  enum class Kind : uint8_t { input, parameter, op, cast } kind;
  Op op = Op::none;
  DType operand = DType::none;  // op: what its arguments are; cast: what is converted
  DType result = DType::none;
  int16_t index = 0;            // input number, or parameter number
  int16_t args[3] = {-1, -1, -1};
  bool operator==(const Step &) const = default;
};

// The tape with every conversion explicit: op arguments are already of the op's operand dtype (ifelse: Bool first).
// A value of an 8- or 16-bit float is held in float32 and not rounded; only a cast to that dtype, and the store, round.
struct TypedExpr {
  std::vector<Step> steps;
  std::vector<Parameter> parameters;  // the tape's
  // What the tape leaves, in its order, and the steps whose values that is: a map's results; of a gated scan, what it does with what came
  // before the element, and the element.
  int n_results = 0;
  DType results[kMaxResults] = {};
  int values[kMaxResults] = {};

  DType result() const { return results[n_results - 1]; }  // of several, the last
  int value() const { return values[n_results - 1]; }
};
TypedExpr infer(const Expr &expr, const DType *inputs, int n_inputs);
// The dtypes alone, without building the steps' list. No allocation for tapes of up to kMaxNodes.
struct ResultTypes {
  DType results[kMaxResults] = {};  // expr.n_results() of them
};
ResultTypes infer_results(const Expr &expr, const DType *inputs, int n_inputs);
inline DType infer_result(const Expr &expr, const DType *inputs, int n_inputs) {  // of several, the last
  return infer_results(expr, inputs, n_inputs).results[expr.n_results() - 1];
}

}  // namespace tcu
