// Random expressions of up to 16 inputs and 64 ops over random strided operands, on any context, against the same tape in float64: any
// dtypes, into views and in place, with alpha and beta, some with up to four results. The numbers are small multiples of powers of two, of
// which a float32 holds every intermediate result exactly, so that most comparisons are exact; some expressions end in a function that is
// not.
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

using support::chance, support::one_of, support::pick, support::Rng, support::Sizes;

// What is known of a value: |x| <= bound, and x is a multiple of 2^-bits.
struct Known {
  double bound;
  int bits;
  bool fits(int digits = 22) const { return std::log2(std::max(bound, 1.0)) + bits <= digits; }
};
inline Known greater(const Known &x, const Known &y) { return {std::max(x.bound, y.bound), std::max(x.bits, y.bits)}; }
inline Known sum(const Known &x, const Known &y) { return {x.bound + y.bound, std::max(x.bits, y.bits)}; }
inline Known product(const Known &x, const Known &y) { return {x.bound * y.bound, x.bits + y.bits}; }
inline constexpr Known truth{1, 0};
inline Known whole(const Known &x) { return {std::ceil(x.bound), 0}; }
inline Known as_stored(const Known &x, int digits) { return x.fits(digits) ? x : Known{HUGE_VAL, 0}; }

// What a row's operands need beyond numbers that fit, of the last one, which is then made for it: that its zeros have no sign, or that it
// is 1/2, 1, 2 or 4 or one of these negated.
enum class Last { any, leaf, divisor };

struct Operation {
  tcu_op_t id;         // or 0: a cast
  tcu_dtype_t cast;    // to this
  int arity;
  double (*value)(const double *x);
  Known (*known)(const Known *x);
  Last last = Last::any;
};
#define FUNCTIONS(value, known) \
  [](const double *x [[maybe_unused]]) -> double { return value; }, [](const Known *x [[maybe_unused]]) -> Known { return known; }
#define OP(name, arity, value, known) {TCU_OP_##name, 0, arity, FUNCTIONS(value, known)}
#define OP_LAST(name, arity, last, value, known) {TCU_OP_##name, 0, arity, FUNCTIONS(value, known), Last::last}
#define CAST(to, value, known) {0, TCU_##to, 1, FUNCTIONS(value, known)}

inline const Operation greatest = OP(MAX, 2, std::max(x[0], x[1]), greater(x[0], x[1]));  // of what fits it always does
inline const Operation asked = CAST(BOOL, x[0] != 0, truth);  // of a Bool, nothing; what a choice is made by is one
inline const Operation choice = OP(IFELSE, 3, x[0] != 0 ? x[1] : x[2], greater(x[1], x[2]));
inline const Operation operations[] = {
    greatest,
    OP(IDENTITY, 1, x[0], x[0]),
    OP(CONJ, 1, x[0], x[0]),
    OP(NEG, 1, -x[0], x[0]),
    OP(ABS, 1, std::abs(x[0]), x[0]),
    OP(ABS2, 1, x[0] * x[0], product(x[0], x[0])),
    OP(SIGN, 1, (x[0] > 0) - (x[0] < 0), truth),
    OP(FLOOR, 1, std::floor(x[0]), whole(x[0])),
    OP(CEIL, 1, std::ceil(x[0]), whole(x[0])),
    OP(TRUNC, 1, std::trunc(x[0]), whole(x[0])),
    OP(ROUND, 1, std::nearbyint(x[0]), whole(x[0])),
    OP(RELU, 1, std::max(x[0], 0.0), x[0]),
    OP(RELU6, 1, std::min(std::max(x[0], 0.0), 6.0), x[0]),
    OP(ADD, 2, x[0] + x[1], sum(x[0], x[1])),
    OP(SUB, 2, x[0] - x[1], sum(x[0], x[1])),
    OP(MUL, 2, x[0] * x[1], product(x[0], x[1])),
    OP(MIN, 2, std::min(x[0], x[1]), greater(x[0], x[1])),
    OP(SQDIFF, 2, (x[0] - x[1]) * (x[0] - x[1]), product(sum(x[0], x[1]), sum(x[0], x[1]))),
    OP_LAST(DIV, 2, divisor, x[0] / x[1], product(x[0], {2, 2})),
    OP_LAST(IDIV, 2, divisor, std::trunc(x[0] / x[1]), whole(product(x[0], {2, 2}))),
    OP_LAST(REM, 2, divisor, std::fmod(x[0], x[1]), greater(x[0], x[1])),
    OP_LAST(MOD, 2, divisor, x[0] - x[1] * std::floor(x[0] / x[1]), (Known{x[1].bound, std::max(x[0].bits, x[1].bits)})),
    OP_LAST(COPYSIGN, 2, leaf, std::copysign(x[0], x[1]), x[0]),
    OP(LEAKY_RELU, 2, x[0] > 0 ? x[0] : x[0] * x[1], greater(x[0], product(x[0], x[1]))),
    OP(RELU_GRAD, 2, x[1] > 0 ? x[0] : 0, x[0]),
    OP(RELU6_GRAD, 2, x[1] > 0 && x[1] < 6 ? x[0] : 0, x[0]),
    OP(FMA, 3, x[0] * x[1] + x[2], sum(product(x[0], x[1]), x[2])),
    OP(CLAMP, 3, x[0] > x[2] ? x[2] : std::max(x[0], x[1]), greater(x[0], greater(x[1], x[2]))),
    OP(LERP, 3, (1 - x[2]) * x[0] + x[2] * x[1], sum(product(sum(truth, x[2]), x[0]), product(x[2], x[1]))),
    OP(LEAKY_RELU_GRAD, 3, x[1] > 0 ? x[0] : x[0] * x[2], greater(x[0], product(x[0], x[2]))),
    CAST(INT32, std::trunc(x[0]), whole(x[0])),
    CAST(INT64, std::trunc(x[0]), whole(x[0])),
    CAST(FLOAT16, x[0], as_stored(x[0], 11)),
    CAST(BFLOAT16, x[0], as_stored(x[0], 8)),
    CAST(FLOAT32, x[0], x[0]),
    CAST(FLOAT64, x[0], x[0]),
};
// Of what they are asked of their answers keep little, so that they are drawn less often.
inline const Operation questions[] = {
    asked,
    OP(EQ, 2, x[0] == x[1], truth),
    OP(NE, 2, x[0] != x[1], truth),
    OP(LT, 2, x[0] < x[1], truth),
    OP(LE, 2, x[0] <= x[1], truth),
    OP(GT, 2, x[0] > x[1], truth),
    OP(GE, 2, x[0] >= x[1], truth),
    OP(LOGICAL_AND, 2, x[0] != 0 && x[1] != 0, truth),
    OP(LOGICAL_OR, 2, x[0] != 0 || x[1] != 0, truth),
    OP(LOGICAL_XOR, 2, (x[0] != 0) != (x[1] != 0), truth),
    OP(LOGICAL_NOT, 1, x[0] == 0, truth),
    OP_LAST(SIGNBIT, 1, leaf, x[0] < 0, truth),
    OP(ISFINITE, 1, 1, truth),
};
// At the end, of a number within 2^22; to 1e-5.
inline const Operation roots[] = {
    OP(TANH, 1, std::tanh(x[0]), truth), OP(SIGMOID, 1, 1 / (1 + std::exp(-x[0])), truth),
    OP(ATAN, 1, std::atan(x[0]), (Known{2, 0})), OP(ERF, 1, std::erf(x[0]), truth),
    OP(SIN, 1, std::sin(x[0]), truth), OP(COS, 1, std::cos(x[0]), truth),
    OP(SOFTSIGN, 1, x[0] / (1 + std::abs(x[0])), truth),
};
#undef FUNCTIONS
#undef OP
#undef OP_LAST
#undef CAST

inline bool is_whole(double v) { return v == std::trunc(v); }
inline tcu_scalar_t scalar(tcu_dtype_t d, double v) {
  tcu_scalar_t s{};
  if (d == TCU_INT32 || d == TCU_INT64) s.i = int64_t(v);
  else s.f = v;
  return s;
}

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
  std::string text() const {
    std::string s;
    for (const tcu_node_t &n : nodes) {
      const tcu_scalar_t v = n.kind == TCU_NODE_SCALAR ? scalars[size_t(n.index)] : n.value;
      const double number = n.dtype == TCU_INT32 || n.dtype == TCU_INT64 ? double(v.i) : v.f;
      s += n.kind == TCU_NODE_INPUT  ? "x" + std::to_string(n.index)
           : n.kind == TCU_NODE_OP   ? tcu_op_name(n.index)
           : n.kind == TCU_NODE_CAST ? tcu_dtype_name(n.dtype)
                                     : tcu_dtype_name(n.dtype) + ("(" + std::to_string(number) + ")");
      s += " ";
    }
    return s;
  }
};

// At most `ops` operations, or as many as it takes to put n_inputs together.
inline Tape random_tape(Rng &rng, int n_inputs, int ops) {
  Tape t;
  t.exact = !chance(rng, 20);
  std::vector<Known> stack;
  int next = 0, left = t.exact ? ops : ops - 1;
  const auto input = [&](int i) {
    t.nodes.push_back({TCU_NODE_INPUT, i, 0, 0, {}});
    t.steps.push_back([i](auto &s, const auto &in) { s.push_back(in[size_t(i)]); });
    stack.push_back({4, 0});
  };
  const auto number = [&](double v) {
    const tcu_dtype_t types[] = {TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT16, TCU_FLOAT64, TCU_INT32, TCU_INT64};
    const tcu_dtype_t d = types[pick(rng, 0, is_whole(v) ? 6 : 4)];
    if (chance(rng, 50)) {
      t.nodes.push_back({TCU_NODE_SCALAR, int32_t(t.scalars.size()), d, 0, {}});
      t.scalars.push_back(scalar(d, v));
    } else {
      t.nodes.push_back({TCU_NODE_CONSTANT, 0, d, 0, scalar(d, v)});
    }
    t.steps.push_back([v](auto &s, const auto &) { s.push_back(v); });
    stack.push_back({std::abs(v), is_whole(v) ? 0 : 1});
  };
  const auto leaf = [&] {
    if (const int i = int(pick(rng, 0, n_inputs)); i < n_inputs) input(i);
    else number(double(pick(rng, -6, 6)) / double(pick(rng, 1, 2)));
  };
  const auto takes = [&](const Operation &o) {
    const size_t n = size_t(o.arity);
    return stack.size() >= n && o.known(stack.data() + (stack.size() - n)).fits();
  };
  const auto apply = [&](const Operation &o) {
    const size_t n = size_t(o.arity);
    t.nodes.push_back(o.id ? tcu_node_t{TCU_NODE_OP, o.id, 0, 0, {}} : tcu_node_t{TCU_NODE_CAST, 0, o.cast, 0, {}});
    t.steps.push_back([n, f = o.value](auto &s, const auto &) {
      const double y = f(s.data() + (s.size() - n));
      s.resize(s.size() - n), s.push_back(y);
    });
    const Known k = o.known(stack.data() + (stack.size() - n));
    stack.resize(stack.size() - n), stack.push_back(k), --left;
  };
  const auto needed = [&] { return int(stack.size()) + n_inputs - next - 1; };  // to put together what there is
  for (;;) {
    const bool ends = left <= needed();
    if (ends && next == n_inputs && stack.size() == 1) break;
    const bool asks = chance(rng, 15);
    const Operation o = asks ? one_of(rng, questions) : one_of(rng, operations);
    if (stack.empty() || (next < n_inputs && (ends ? stack.size() < 2 : stack.size() < 5 && chance(rng, 40)))) {
      input(next++);
      continue;
    }
    const size_t own = o.last == Last::any ? 0 : 1, others = size_t(o.arity) - own;
    if (ends && (o.arity == 1 || own || others > stack.size())) continue;
    while (stack.size() < others) leaf();
    if (o.last == Last::leaf) leaf();
    if (o.last == Last::divisor) number(one_of(rng, std::vector<double>{0.5, 1, 2, 4}) * (chance(rng, 50) ? -1 : 1));
    if (takes(o)) apply(o);
    else if (stack.size() > 1) apply(greatest);
    else leaf();
    if (asks && left >= needed() + 2 && chance(rng, 50)) apply(asked), leaf(), leaf(), apply(choice);
  }
  if (!t.exact) apply(one_of(rng, roots));
  t.result = stack.back();
  return t;
}

// Puts a tape behind others: what leaves its result too. The scalars are those of all.
inline void put_behind(std::vector<tcu_node_t> &nodes, std::vector<tcu_scalar_t> &scalars, const Tape &tape) {
  for (tcu_node_t n : tape.nodes) {
    if (n.kind == TCU_NODE_SCALAR) n.index += int32_t(scalars.size());
    nodes.push_back(n);
  }
  scalars.insert(scalars.end(), tape.scalars.begin(), tape.scalars.end());
}

// The tensor has the expected elements, and what was there before everywhere else.
inline void check_result(const tensors::Tensor &t, const Tape &tape, const std::vector<double> &expected) {
  const std::vector<unsigned char> now = t.download();
  std::vector<unsigned char> want = t.bytes;
  size_t n = 0, wrong = 0;
  double found = 0, wanted = 0;
  support::for_each_index(t.extents, [&](const Sizes &i) {
    const size_t at = size_t(base_of(t, i));
    const double y = tensors::decode(t.dtype, &now[at]), x = tensors::rounded(t.dtype, expected[n++]);
    if (!(tape.exact ? y == x : std::abs(y - x) <= 1e-5) && wrong++ == 0) found = y, wanted = x;
    std::memcpy(&want[at], &now[at], t.size);
  });
  INFO(found << " in place of " << wanted);
  REQUIRE(wrong == 0);
  REQUIRE((now == want));
}

// One random expression; `elements`, at most, of the output.
// `also`: a kernel that must give the same bits, if it takes the problem; whether it did.
inline bool check_one(Rng &rng, tcu_context_t context, int64_t elements, const char *also = nullptr) {
  const tcu_dtype_t types[] = {TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT64, TCU_FLOAT16, TCU_BFLOAT16, TCU_INT32, TCU_INT64, TCU_BOOL};
  const int n = int(chance(rng, 10) ? TCU_MAX_INPUTS : chance(rng, 20) ? pick(rng, 7, TCU_MAX_INPUTS) : pick(rng, 1, 6));
  const Tape tape = random_tape(rng, n, int(chance(rng, 15) ? pick(rng, 16, 64) : pick(rng, 1, 16)));
  Sizes extents(size_t(pick(rng, 0, 4)));
  int64_t left = elements;
  for (auto &e : extents) e = std::min<int64_t>(left, one_of(rng, Sizes{1, 2, 3, 7, 8, 16, 17, 33, 64, 100})), left /= e;
  const auto small = [&] { return double(pick(rng, -4, 4)); };
  // Of what is exact the store may round, once.
  const auto result_type = [&](const Tape &t) { return t.exact ? one_of(rng, types) : chance(rng, 50) ? TCU_FLOAT32 : TCU_FLOAT64; };
  tensors::Tensor out(context, rng, result_type(tape), extents, false, false);
  out.fill(small);
  const int in_place = chance(rng, 20) ? int(pick(rng, 0, n - 1)) : -1;
  const tcu_dtype_t mostly = one_of(rng, types);
  std::vector<std::unique_ptr<tensors::Tensor>> inputs;
  std::vector<oracle::Tensor> values;
  std::vector<tcu_tensor_t> views;
  std::vector<tcu_dtype_t> dtypes;
  for (int i = 0; i < n; ++i) {
    Sizes e = extents;
    for (auto &x : e)
      if (chance(rng, 20)) x = 1;
    if (chance(rng, 10)) e.resize(size_t(pick(rng, 0, int64_t(e.size()))));
    const tcu_dtype_t type = chance(rng, 70) ? mostly : one_of(rng, types);
    inputs.push_back(std::make_unique<tensors::Tensor>(context, rng, type, e, true, false));
    inputs.back()->fill(small);
    const tensors::Tensor &x = i == in_place ? out : *inputs.back();
    values.push_back(x.values()), views.push_back(x.view()), dtypes.push_back(x.dtype);
  }
  // More results, each of an expression of its own over the same inputs, or of the same one, as long as there is room.
  struct Result {
    Tape tape;
    tensors::Tensor tensor;
  };
  std::vector<tcu_node_t> nodes = tape.nodes;
  std::vector<tcu_scalar_t> scalars = tape.scalars;
  std::vector<std::unique_ptr<Result>> more;
  std::string more_text;
  const int wanted = chance(rng, 40) ? int(pick(rng, 1, std::min(TCU_MAX_RESULTS - 1, TCU_MAX_INPUTS + 1 - n))) : 0;
  while (int(more.size()) < wanted) {
    const Tape other = chance(rng, 15) ? tape : random_tape(rng, n, int(pick(rng, 1, 16)));
    if (nodes.size() + other.nodes.size() > TCU_MAX_EXPR_NODES) break;
    put_behind(nodes, scalars, other);
    more.emplace_back(new Result{other, {rng, result_type(other), out}});
    more.back()->tensor.fill(small);
    more_text += ", result " + std::to_string(more.size() + 1) + " " + more.back()->tensor.text() + ": " + other.text();
  }

  INFO(n << " inputs, one written to: " << in_place << ", out " << out.text() << ": " << tape.text() << more_text);
  const auto made = [](const std::vector<tcu_node_t> &nodes) {
    tcu_expr_t e = nullptr;
    REQUIRE(tcu_expr_create(&e, nodes.data(), int32_t(nodes.size())) == TCU_OK);
    return std::unique_ptr<tcu_expr, decltype(&tcu_expr_destroy)>(e, tcu_expr_destroy);
  };
  const auto alone = made(tape.nodes), expr = made(nodes);
  std::vector<tcu_tensor_t> more_views;
  for (const auto &r : more) more_views.push_back(r->tensor.view());
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.scalars = scalars.data(), options.n_scalars = int32_t(scalars.size());
  if (!more.empty()) options.second = more_views.data(), options.n_second = int32_t(more.size());

  // alpha * result + beta * out, of what the result's dtype holds. A Bool has neither.
  tcu_dtype_t element = 0;
  const tcu_status_t typed = tcu_expr_dtype(&element, alone.get(), n, dtypes.data());
  INFO(tcu_last_error());
  REQUIRE(typed == TCU_OK);
  const double step = element == TCU_INT32 || element == TCU_INT64 ? 1 : 0.5, alpha = step * small(), beta = step * small();
  const tcu_scalar_t scales[] = {scalar(element, alpha), scalar(element, beta)};
  const Known scaled = sum(product(tape.result, {std::abs(alpha), 1}), {4 * std::abs(beta), 1});
  const bool scales_it = element != TCU_BOOL && chance(rng, 30) && scaled.fits();
  if (scales_it) options.alpha = &scales[0], options.beta = &scales[1];
  std::vector<std::vector<double>> expected_more;
  for (const auto &r : more) expected_more.push_back(oracle::map(extents, values, r->tape));
  values.push_back(out.values());
  const std::vector<double> expected = oracle::map(extents, values, [&](const std::vector<double> &x) {
    return scales_it ? alpha * tape(x) + beta * x.back() : tape(x);
  });

  const tcu_tensor_t o = out.view();
  const tcu_status_t status = tcu_map(context, &o, expr.get(), n, views.data(), &options);
  INFO(tcu_last_error());
  REQUIRE(std::string(tcu_status_name(status)) == "TCU_OK");
  check_result(out, tape, expected);
  for (size_t i = 0; i < more.size(); ++i) {
    INFO("result " << i + 2);
    check_result(more[i]->tensor, more[i]->tape, expected_more[i]);
  }
  if (!also) return false;

  std::vector<tensors::Tensor *> results{&out};
  for (const auto &r : more) results.push_back(&r->tensor);
  std::vector<std::vector<unsigned char>> chosen;
  for (tensors::Tensor *r : results) chosen.push_back(r->download()), r->upload();
  options.kernel = also;
  const tcu_status_t pinned = tcu_map(context, &o, expr.get(), n, views.data(), &options);
  if (pinned == TCU_ERROR_KERNEL) return false;
  INFO(also << ": " << tcu_last_error());
  REQUIRE(std::string(tcu_status_name(pinned)) == "TCU_OK");
  for (size_t i = 0; i < results.size(); ++i) REQUIRE((results[i]->download() == chosen[i]));
  return true;
}

}  // namespace expressions
