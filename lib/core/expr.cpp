#include "core/expr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "core/hash.h"

namespace tcu {
namespace {

// Whether anything of the node but a constant's value differs.
bool same_node(const Node &a, const Node &b) { return a.kind == b.kind && a.index == b.index && a.dtype == b.dtype; }

void check_dtype(const Node &n, int at) {
  if (!is_dtype(int32_t(n.dtype))) fail(Code::dtype, "expr node %d has unknown dtype %d", at, int(n.dtype));
}

// The number of a scalar's or constant's parameter, which is added where it is not there. (Constants stay apart: an equal tape may have
// others.)
int number_of(const Node &n, std::vector<Parameter> &parameters) {
  const int slot = n.kind == NodeKind::scalar ? n.index : -1;
  const auto there = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter &p) { return slot >= 0 && p.slot == slot && p.dtype == n.dtype; });
  const int number = int(there - parameters.begin());
  if (there == parameters.end()) parameters.push_back({n.dtype, slot, n.value});
  return number;
}

}  // namespace

Expr::Expr(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  if (nodes_.empty()) fail(Code::expr, "an expr needs at least one node; for the identity pass no expr at all");
  if (nodes_.size() > size_t(kMaxNodes))
    fail(Code::expr, "expr has %zu nodes and may have %d; split it", nodes_.size(), kMaxNodes);
  int depth = 0;
  Hash hash;
  QuickHash constants;
  for (int at = 0; at < int(nodes_.size()); ++at) {
    Node &n = nodes_[at];
    switch (n.kind) {
      case NodeKind::input:
        if (n.index < 0 || n.index >= kMaxInputs)
          fail(Code::expr, "expr node %d names input %d; inputs are numbered 0..%d", at, n.index, kMaxInputs - 1);
        n_inputs_ = std::max(n_inputs_, n.index + 1);
        n.dtype = DType::none;
        ++depth;
        break;
      case NodeKind::scalar:
        check_dtype(n, at);
        if (n.index < 0 || n.index >= kMaxNodes)
          fail(Code::expr, "expr node %d names scalar %d; scalars are numbered 0..%d", at, n.index, kMaxNodes - 1);
        n_scalars_ = std::max(n_scalars_, n.index + 1);
        number_of(n, parameters_);
        ++depth;
        break;
      case NodeKind::constant:
        check_dtype(n, at);
        n.index = 0;
        if (kind_of(n.dtype) != Kind::Complex) n.value.c[1] = 0;  // what is there means nothing, and values are compared
        number_of(n, parameters_);
        constants.add(std::bit_cast<uint64_t>(n.value.c[0])), constants.add(std::bit_cast<uint64_t>(n.value.c[1]));
        ++depth;
        break;
      case NodeKind::cast:
        check_dtype(n, at);
        n.index = 0;
        if (depth < 1) fail(Code::expr, "expr node %d casts, and the stack is empty", at);
        break;
      case NodeKind::op: {
        if (!is_op(n.index)) fail(Code::op, "expr node %d has unknown op %d", at, n.index);
        n.dtype = DType::none;
        const OpInfo &row = info(Op(n.index));
        if (depth < row.arity)
          fail(Code::expr, "expr node %d (%s) takes %d operands and the stack holds %d", at, row.name, row.arity, depth);
        depth -= row.arity - 1;
        break;
      }
      default: fail(Code::expr, "expr node %d has unknown kind %d", at, int(n.kind));
    }
    hash.add((uint64_t(n.kind) << 40) ^ (uint64_t(n.dtype) << 32) ^ uint32_t(n.index));
  }
  if (depth > kMaxResults) fail(Code::expr, "expr leaves %d values on the stack and may leave %d", depth, kMaxResults);
  n_results_ = depth;
  hash_ = hash.value(), constants_hash_ = constants.value();
}

bool Expr::operator==(const Expr &other) const {
  return this == &other ||
         (hash_ == other.hash_ && std::equal(nodes_.begin(), nodes_.end(), other.nodes_.begin(), other.nodes_.end(), same_node));
}

bool Expr::same_constants(const Expr &other) const {
  return this == &other || std::equal(parameters_.begin(), parameters_.end(), other.parameters_.begin(), [](const auto &a, const auto &b) {
           return a.slot >= 0 || std::memcmp(&a.value, &b.value, sizeof a.value) == 0;
         });
}

const std::shared_ptr<const Expr> &Expr::identity() { return inputs(1); }

const std::shared_ptr<const Expr> &Expr::inputs(int n) {
  static const auto all = [] {
    std::array<std::shared_ptr<const Expr>, kMaxResults> exprs;
    std::vector<Node> nodes;
    for (int i = 0; i < kMaxResults; ++i) nodes.push_back(Node::input(i)), exprs[size_t(i)] = std::make_shared<const Expr>(nodes);
    return exprs;
  }();
  return all[size_t(n - 1)];
}

namespace {

// Walks the tape once; Sink receives the steps or, for infer_results, nothing, and what the tape leaves.
template <class Sink>
void walk(const Expr &expr, const DType *inputs, int n_inputs, Sink &&sink) {
  struct Value {
    int id;
    DType dtype;
  } stack[kMaxNodes];
  int depth = 0;
  if (expr.n_inputs() > n_inputs)
    fail(Code::expr, "expr names input %d and the call has %d inputs", expr.n_inputs() - 1, n_inputs);
  for (const Node &n : expr.nodes()) {
    switch (n.kind) {
      case NodeKind::input:
        stack[depth++] = {sink.input(n.index, inputs[n.index]), inputs[n.index]};
        break;
      case NodeKind::scalar:
      case NodeKind::constant:
        stack[depth++] = {sink.parameter(n), n.dtype};
        break;
      case NodeKind::cast:
        stack[depth - 1] = {sink.cast(stack[depth - 1].id, stack[depth - 1].dtype, n.dtype, true), n.dtype};
        break;
      case NodeKind::op: {
        const Op op = Op(n.index);
        const int arity = info(op).arity;
        DType args[3];
        int ids[3] = {-1, -1, -1};
        depth -= arity;
        for (int i = 0; i < arity; ++i) args[i] = stack[depth + i].dtype;
        const OpTypes types = op_types(op, args);
        const bool select = info(op).result == Result::Select;
        for (int i = 0; i < arity; ++i)
          ids[i] = select && i == 0 ? stack[depth].id
                                    : sink.cast(stack[depth + i].id, args[i], types.operand, false);
        stack[depth++] = {sink.op(op, types, ids), types.result};
        break;
      }
    }
  }
  for (int i = 0; i < depth; ++i) sink.leave(i, stack[i].id, stack[i].dtype);
}

struct NoSteps {
  ResultTypes types;
  int input(int, DType) { return 0; }
  int parameter(const Node &) { return 0; }
  int cast(int, DType, DType, bool) { return 0; }
  int op(Op, const OpTypes &, const int *) { return 0; }
  void leave(int i, int, DType result) { types.results[i] = result; }
};

// What the tape computes twice is computed once: postfix has no other way to say that two results share a value.
struct Steps {
  TypedExpr out;

  int push(const Step &s) {
    const auto there = std::find(out.steps.begin(), out.steps.end(), s);
    if (there == out.steps.end()) return out.steps.push_back(s), int(out.steps.size()) - 1;
    return int(there - out.steps.begin());
  }
  int input(int i, DType d) {
    Step s{Step::Kind::input};
    s.result = d, s.index = int16_t(i);
    return push(s);
  }
  int parameter(const Node &n) {
    Step s{Step::Kind::parameter};
    s.result = n.dtype, s.index = int16_t(number_of(n, out.parameters));
    return push(s);
  }
  // Between two dtypes held in the same type a conversion is nothing, unless the tape asks for it, to round.
  int cast(int value, DType from, DType to, bool asked) {
    const bool rounds = asked && to != compute_dtype(to);
    if (from == to && !rounds) return value;
    if (compute_dtype(from) == compute_dtype(to) && !rounds) return value;
    Step s{Step::Kind::cast};
    s.operand = from, s.result = to, s.args[0] = int16_t(value);
    if (!rounds && to != compute_dtype(to)) s.result = compute_dtype(to);  // widen without rounding
    return push(s);
  }
  int op(Op op, const OpTypes &types, const int *ids) {
    Step s{Step::Kind::op};
    s.op = op, s.operand = types.operand, s.result = types.result;
    for (int i = 0; i < 3; ++i) s.args[i] = int16_t(ids[i]);
    return push(s);
  }
  void leave(int i, int value, DType result) { out.values[i] = value, out.results[i] = result, out.n_results = i + 1; }
};

}  // namespace

TypedExpr infer(const Expr &expr, const DType *inputs, int n_inputs) {
  Steps steps;
  walk(expr, inputs, n_inputs, steps);
  return std::move(steps.out);
}

ResultTypes infer_results(const Expr &expr, const DType *inputs, int n_inputs) {
  NoSteps none;
  walk(expr, inputs, n_inputs, none);
  return none.types;
}

}  // namespace tcu
