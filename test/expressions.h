// Random expressions of up to 6 inputs and some 40 nodes over random strided operands, on any context, against the same tape in float64.
// The numbers are small multiples of powers of two, of which a float32 holds every intermediate result exactly, so that most comparisons
// are exact; some end in a function that is not.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tensor.h"

namespace expressions {

using support::Rng;
using support::Sizes;

// What is known of a value: |x| <= bound, and x is a multiple of 2^-bits.
struct Known {
  double bound;
  int bits;
  bool fits() const { return std::log2(std::max(bound, 1.0)) + bits <= 22; }
};

struct Operation {
  tcu_op_t id;
  int arity;
  double (*value)(const double *x);
  Known (*known)(const Known *x);
  bool compares = false;  // gives a Bool, which is asked at once: ifelse of it and two leaves
};
inline Known greater(const Known &x, const Known &y) { return {std::max(x.bound, y.bound), std::max(x.bits, y.bits)}; }
inline Known sum(const Known &x, const Known &y) { return {x.bound + y.bound, std::max(x.bits, y.bits)}; }
inline Known product(const Known &x, const Known &y) { return {x.bound * y.bound, x.bits + y.bits}; }
inline Known truth(const Known *) { return {1, 0}; }

inline const Operation operations[] = {
    {TCU_OP_ADD, 2, [](const double *x) { return x[0] + x[1]; }, [](const Known *x) { return sum(x[0], x[1]); }},
    {TCU_OP_SUB, 2, [](const double *x) { return x[0] - x[1]; }, [](const Known *x) { return sum(x[0], x[1]); }},
    {TCU_OP_MUL, 2, [](const double *x) { return x[0] * x[1]; }, [](const Known *x) { return product(x[0], x[1]); }},
    {TCU_OP_MAX, 2, [](const double *x) { return std::max(x[0], x[1]); }, [](const Known *x) { return greater(x[0], x[1]); }},
    {TCU_OP_MIN, 2, [](const double *x) { return std::min(x[0], x[1]); }, [](const Known *x) { return greater(x[0], x[1]); }},
    {TCU_OP_NEG, 1, [](const double *x) { return -x[0]; }, [](const Known *x) { return x[0]; }},
    {TCU_OP_ABS, 1, [](const double *x) { return std::abs(x[0]); }, [](const Known *x) { return x[0]; }},
    {TCU_OP_ABS2, 1, [](const double *x) { return x[0] * x[0]; }, [](const Known *x) { return product(x[0], x[0]); }},
    {TCU_OP_RELU, 1, [](const double *x) { return std::max(x[0], 0.0); }, [](const Known *x) { return x[0]; }},
    {TCU_OP_SIGN, 1, [](const double *x) { return double((x[0] > 0) - (x[0] < 0)); }, [](const Known *) { return Known{1, 0}; }},
    {TCU_OP_LT, 2, [](const double *x) { return double(x[0] < x[1]); }, truth, true},
    {TCU_OP_EQ, 2, [](const double *x) { return double(x[0] == x[1]); }, truth, true},
    {TCU_OP_FMA, 3, [](const double *x) { return x[0] * x[1] + x[2]; }, [](const Known *x) { return sum(product(x[0], x[1]), x[2]); }},
};
inline const Operation greatest = operations[3];  // of what fits it always does
inline const Operation choice = {TCU_OP_IFELSE, 3, [](const double *x) { return x[0] != 0 ? x[1] : x[2]; },
                                 [](const Known *x) { return greater(x[1], x[2]); }};
// At the end, of a number within 2^22; to 1e-5.
inline const Operation roots[] = {
    {TCU_OP_TANH, 1, [](const double *x) { return std::tanh(x[0]); }, nullptr},
    {TCU_OP_SIGMOID, 1, [](const double *x) { return 1 / (1 + std::exp(-x[0])); }, nullptr},
    {TCU_OP_ATAN, 1, [](const double *x) { return std::atan(x[0]); }, nullptr},
    {TCU_OP_COS, 1, [](const double *x) { return std::cos(x[0]); }, nullptr},
};

struct Tape {
  std::vector<tcu_node_t> nodes;
  std::vector<tcu_scalar_t> scalars;
  std::vector<std::function<void(std::vector<double> &, const std::vector<double> &)>> steps;
  Known result{};
  bool exact = true;

  double operator()(const std::vector<double> &inputs) const {
    std::vector<double> stack;
    for (const auto &step : steps) step(stack, inputs);
    return stack.at(0);
  }
};

inline Tape random_tape(Rng &rng, int n_inputs) {
  Tape t;
  std::vector<Known> stack;
  const auto leaf = [&](int i) {
    if (i < n_inputs) {
      t.nodes.push_back({TCU_NODE_INPUT, i, 0, 0, {}});
      t.steps.push_back([i](auto &s, const auto &in) { s.push_back(in[size_t(i)]); });
      stack.push_back({4, 0});
      return;
    }
    const bool half = support::chance(rng, 50);
    const double v = double(support::pick(rng, -6, 6)) / (half ? 2 : 1);
    tcu_scalar_t number{};
    number.f = v;
    if (support::chance(rng, 50)) {
      t.nodes.push_back({TCU_NODE_SCALAR, int32_t(t.scalars.size()), TCU_FLOAT32, 0, {}});
      t.scalars.push_back(number);
    } else {
      t.nodes.push_back({TCU_NODE_CONSTANT, 0, TCU_FLOAT32, 0, number});
    }
    t.steps.push_back([v](auto &s, const auto &) { s.push_back(v); });
    stack.push_back({std::abs(v), half ? 1 : 0});
  };
  const auto apply = [&](const Operation &o) {
    t.nodes.push_back({TCU_NODE_OP, o.id, 0, 0, {}});
    const size_t n = size_t(o.arity);
    t.steps.push_back([n, f = o.value](auto &s, const auto &) {
      const double y = f(s.data() + (s.size() - n));
      s.resize(s.size() - n), s.push_back(y);
    });
    if (o.known) {
      const Known k = o.known(stack.data() + (stack.size() - n));
      stack.resize(stack.size() - n), stack.push_back(k);
    }
  };
  const auto any_leaf = [&] { leaf(int(support::pick(rng, 0, n_inputs))); };
  const auto takes = [&](const Operation &o) {
    const size_t n = size_t(o.arity);
    return stack.size() >= n && o.known(stack.data() + (stack.size() - n)).fits();
  };
  int next = 0;
  for (int64_t left = support::pick(rng, 1, 24); left > 0 || next < n_inputs || stack.size() > 1; --left) {
    const bool ends = left <= 0 && next == n_inputs;  // what there is is only put together
    const Operation &o = operations[size_t(support::pick(rng, 0, int64_t(std::size(operations)) - 1))];
    if (stack.empty() || (next < n_inputs && stack.size() < 5 && support::chance(rng, 40))) {
      leaf(next++);
    } else if (takes(o) && (!ends || o.arity > 1)) {
      apply(o);
      if (o.compares) any_leaf(), any_leaf(), apply(choice);
    } else if (stack.size() > 1) {
      apply(greatest);
    } else {
      any_leaf();
    }
  }
  t.result = stack.back();
  if (support::chance(rng, 10)) leaf(0), apply(operations[10]), t.result = {1, 0};  // a Bool
  else if (support::chance(rng, 25)) apply(roots[size_t(support::pick(rng, 0, int64_t(std::size(roots)) - 1))]), t.exact = false;
  return t;
}

// One random expression; `elements`, at most, of the output.
inline void check_one(Rng &rng, tcu_context_t context, int64_t elements) {
  const tcu_dtype_t types[] = {TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT64, TCU_FLOAT16, TCU_BFLOAT16, TCU_INT32, TCU_INT64};
  const int n = int(support::pick(rng, 1, 6));
  const Tape tape = random_tape(rng, n);
  Sizes extents(size_t(support::pick(rng, 0, 4)));
  int64_t left = elements;
  for (auto &e : extents) e = std::min<int64_t>(left, support::one_of(rng, Sizes{1, 2, 3, 7, 8, 16, 17, 33, 64, 100})), left /= e;
  const tcu_dtype_t mostly = support::one_of(rng, types);
  std::vector<std::unique_ptr<tensors::Tensor>> inputs;
  std::vector<oracle::Tensor> values;
  std::vector<tcu_tensor_t> views;
  for (int i = 0; i < n; ++i) {
    Sizes e = extents;
    for (auto &x : e)
      if (support::chance(rng, 20)) x = 1;
    const tcu_dtype_t type = support::chance(rng, 70) ? mostly : support::one_of(rng, types);
    inputs.push_back(std::make_unique<tensors::Tensor>(context, rng, type, e, true, false));
    inputs.back()->fill([&] { return double(support::pick(rng, -4, 4)); });
    values.push_back(inputs.back()->values()), views.push_back(inputs.back()->view());
  }
  const tcu_dtype_t outs[] = {TCU_FLOAT32, TCU_FLOAT64, TCU_INT64};
  tensors::Tensor out(context, rng, outs[support::pick(rng, 0, tape.exact && tape.result.bits == 0 ? 2 : 1)], extents, false, false);
  out.upload();
  tcu_expr_t expr = nullptr;
  INFO(tape.nodes.size() << " nodes, " << n << " inputs");
  REQUIRE(tcu_expr_create(&expr, tape.nodes.data(), int32_t(tape.nodes.size())) == TCU_OK);
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.scalars = tape.scalars.data(), options.n_scalars = int32_t(tape.scalars.size());
  const tcu_tensor_t o = out.view();
  const tcu_status_t status = tcu_map(context, &o, expr, n, views.data(), &options);
  tcu_expr_destroy(expr);
  INFO(tcu_last_error());
  REQUIRE(std::string(tcu_status_name(status)) == "TCU_OK");
  const std::vector<unsigned char> now = out.download();
  const std::vector<double> expected = oracle::map(extents, values, tape);
  size_t n_seen = 0, wrong = 0;
  double found = 0, wanted = 0;
  support::for_each_index(extents, [&](const Sizes &i) {
    const size_t at = size_t(base_of(out, i));
    const double y = tensors::decode(out.dtype, &now[at]), want = expected[n_seen++];
    if (!(tape.exact ? y == want : std::abs(y - want) <= 1e-5) && wrong++ == 0) found = y, wanted = want;
    std::memcpy(&out.bytes[at], &now[at], out.size);
  });
  INFO(found << " in place of " << wanted);
  REQUIRE(wrong == 0);
  REQUIRE((now == out.bytes));  // nothing beside the output was written
}

}  // namespace expressions
