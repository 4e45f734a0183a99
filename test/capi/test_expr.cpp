// tcu_expr_*: tapes that are refused, the types that they have, and the values that they give.
#include <cmath>
#include <vector>

#include "capi/api.h"

using namespace api;

namespace {

tcu_status_t make(const std::vector<tcu_node_t> &nodes) {
  tcu_expr_t e = reinterpret_cast<tcu_expr_t>(&e);
  const tcu_status_t status = tcu_expr_create(&e, nodes.data(), int32_t(nodes.size()));
  if (status == TCU_OK)
    tcu_expr_destroy(e);
  else
    CHECK(e == nullptr);
  return status;
}

tcu_dtype_t type_of(const std::vector<tcu_node_t> &nodes, std::vector<tcu_dtype_t> inputs) {
  const Expr e(nodes);
  tcu_dtype_t d = 0;
  OK(tcu_expr_dtype(&d, e, int32_t(inputs.size()), inputs.data()));
  return d;
}

}  // namespace

TEST_CASE("expr: malformed tapes") {
  const tcu_node_t x = input(0);
  FAILS(TCU_ERROR_NULL, tcu_expr_create(nullptr, &x, 1));
  tcu_expr_t e = nullptr;
  FAILS(TCU_ERROR_NULL, tcu_expr_create(&e, nullptr, 1));
  FAILS(TCU_ERROR_EXPR, tcu_expr_create(&e, &x, -1));
  FAILS(TCU_ERROR_EXPR, tcu_expr_create(&e, &x, 0));
  FAILS(TCU_ERROR_EXPR, tcu_expr_create(&e, &x, TCU_MAX_EXPR_NODES + 1));
  FAILS(TCU_ERROR_EXPR, make({x, x, x, x, x}));  // four values may be left, five not
  CHECK(std::string(tcu_last_error()).find("leaves 5 values") != std::string::npos);
  FAILS(TCU_ERROR_EXPR, make({x, op(TCU_OP_ADD)}));
  CHECK(std::string(tcu_last_error()).find("node 1") != std::string::npos);
  FAILS(TCU_ERROR_EXPR, make({op(TCU_OP_TANH)}));
  FAILS(TCU_ERROR_EXPR, make({cast_to(TCU_FLOAT32)}));
  FAILS(TCU_ERROR_EXPR, make({input(TCU_MAX_INPUTS)}));
  FAILS(TCU_ERROR_EXPR, make({input(-1)}));
  FAILS(TCU_ERROR_EXPR, make({scalar(-1, TCU_FLOAT32)}));
  for (int32_t kind : {0, 6, -1, INT32_MAX}) FAILS(TCU_ERROR_EXPR, make({tcu_node_t{kind, 0, TCU_FLOAT32, 0, {}}}));
  for (int32_t o : {0, 19, -1, 1 << 20}) FAILS(TCU_ERROR_OP, make({x, op(o)}));
  for (int32_t d : {0, 18, -1, 268}) {
    FAILS(TCU_ERROR_DTYPE, make({x, cast_to(d)}));
    FAILS(TCU_ERROR_DTYPE, make({scalar(0, d)}));
    FAILS(TCU_ERROR_DTYPE, make({constant(d, real(1))}));
    CHECK(std::string(tcu_last_error()).find(std::to_string(d)) != std::string::npos);
  }
  FAILS(TCU_ERROR_EXPR, make({tcu_node_t{TCU_NODE_INPUT, 0, 0, 1, {}}}));
}

TEST_CASE("expr: result types") {
  CHECK(type_of({input(0), input(1), op(TCU_OP_ADD)}, {TCU_BOOL, TCU_BOOL}) == TCU_INT64);
  CHECK(type_of({input(0), input(1), op(TCU_OP_DIV)}, {TCU_INT32, TCU_INT32}) == TCU_FLOAT64);
  CHECK(type_of({input(0), input(1), op(TCU_OP_MUL)}, {TCU_FLOAT16, TCU_BFLOAT16}) == TCU_FLOAT32);
  CHECK(type_of({input(0), input(1), op(TCU_OP_LT)}, {TCU_FLOAT32, TCU_INT8}) == TCU_BOOL);
  CHECK(type_of({input(0), op(TCU_OP_ABS)}, {TCU_COMPLEX64}) == TCU_FLOAT32);
  CHECK(type_of({input(0), cast_to(TCU_FLOAT16)}, {TCU_FLOAT64}) == TCU_FLOAT16);
  CHECK(type_of({constant(TCU_INT8, integer(3))}, {}) == TCU_INT8);
  const Expr e({input(1)}), complex({input(0), op(TCU_OP_ERF)});
  tcu_dtype_t d = -9;
  const tcu_dtype_t in[2] = {TCU_COMPLEX64, 99};
  FAILS(TCU_ERROR_EXPR, tcu_expr_dtype(&d, e, 1, in));
  FAILS(TCU_ERROR_DTYPE, tcu_expr_dtype(&d, e, 2, in));
  FAILS(TCU_ERROR_DTYPE, tcu_expr_dtype(&d, complex, 1, in));
  FAILS(TCU_ERROR_EXPR, tcu_expr_dtype(&d, e, -1, in));
  FAILS(TCU_ERROR_EXPR, tcu_expr_dtype(&d, e, TCU_MAX_INPUTS + 1, in));
  FAILS(TCU_ERROR_NULL, tcu_expr_dtype(nullptr, e, 1, in));
  FAILS(TCU_ERROR_NULL, tcu_expr_dtype(&d, nullptr, 1, in));
  FAILS(TCU_ERROR_NULL, tcu_expr_dtype(&d, e, 1, nullptr));
  CHECK(d == -9);
}

TEST_CASE("expr: tanh(x*w + b), broadcast three ways") {
  const Array<float> x({2, 3}, {1, 2, 3, 4, 5, 6}), w({1, 3}, {0.1f, 0.2f, 0.3f}), b({2}, {-0.5f, 0.5f});
  Array<float> out({2, 3}, repeated(6, 0.0f));
  const Expr e({input(0), input(1), op(TCU_OP_MUL), input(2), op(TCU_OP_ADD), op(TCU_OP_TANH)});
  const tcu_tensor_t in[] = {x.tensor, w.tensor, b.tensor};
  OK(tcu_map(context(), out, e, 3, in, nullptr));
  const auto got = out.get();
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 2; ++i) {
      const float want = std::tanh(float(1 + i + 2 * j) * 0.1f * float(j + 1) + (i ? 0.5f : -0.5f));
      CHECK(got[size_t(i + 2 * j)] == Approx(want).epsilon(1e-6));
    }
}

TEST_CASE("expr: scalars come with every call, constants with the expression") {
  const Array<float> x({3}, {1, 2, 3});
  Array<float> out({3}, {0, 0, 0});
  const Expr by_scalar({input(0), scalar(1, TCU_FLOAT32), op(TCU_OP_MUL), scalar(0, TCU_INT32), op(TCU_OP_ADD)});
  for (float factor : {2.0f, 3.0f}) {
    const tcu_scalar_t values[2] = {integer(10), real(factor)};
    tcu_options_t o = options();
    o.scalars = values, o.n_scalars = 2;
    OK(tcu_map(context(), out, by_scalar, 1, x, &o));
    CHECK(out.get() == std::vector<float>{factor + 10, 2 * factor + 10, 3 * factor + 10});
  }
  // Two expressions that differ in a constant alone are told apart, whichever came first.
  for (float add : {1.0f, 2.0f, 1.0f}) {
    const Expr e({input(0), constant(TCU_FLOAT32, real(add)), op(TCU_OP_ADD)});
    OK(tcu_map(context(), out, e, 1, x, nullptr));
    CHECK(out.get() == std::vector<float>{1 + add, 2 + add, 3 + add});
  }
  const Expr one({constant(TCU_FLOAT32, real(1))}), two({constant(TCU_FLOAT32, real(2))});
  Plan a, b;
  OK(tcu_plan_map(&a, context(), out, one, 0, nullptr, nullptr));
  OK(tcu_plan_map(&b, context(), out, two, 0, nullptr, nullptr));
  OK(tcu_plan_execute(a, out.data(), 0, nullptr, nullptr));
  CHECK(out.get() == std::vector<float>{1, 1, 1});
  OK(tcu_plan_execute(b, out.data(), 0, nullptr, nullptr));
  CHECK(out.get() == std::vector<float>{2, 2, 2});
}

TEST_CASE("expr: an input may be named often, and need not be named at all") {
  const Array<int32_t> x({4}, {1, 2, 3, 4}), y({4}, {10, 20, 30, 40});
  Array<int32_t> out({4}, {0, 0, 0, 0});
  const tcu_tensor_t in[] = {x.tensor, y.tensor};
  const Expr cube({input(0), input(0), op(TCU_OP_MUL), input(0), op(TCU_OP_MUL)}), second({input(1)});
  OK(tcu_map(context(), out, cube, 2, in, nullptr));
  CHECK(out.get() == std::vector<int32_t>{1, 8, 27, 64});
  OK(tcu_map(context(), out, second, 2, in, nullptr));
  CHECK(out.get() == std::vector<int32_t>{10, 20, 30, 40});
}

TEST_CASE("expr: 16-bit floats round once, at the store, unless a cast asks for it") {
  // 2048 + 1 has no float16; minus 2048 it has.
  const Array<uint16_t> x({1}, {0x6800}, TCU_FLOAT16);  // 2048
  Array<float> out({1}, {0});
  const tcu_node_t one = constant(TCU_FLOAT16, real(1)), big = constant(TCU_FLOAT16, real(2048));
  const Expr held({input(0), one, op(TCU_OP_ADD), big, op(TCU_OP_SUB)});
  OK(tcu_map(context(), out, held, 1, x, nullptr));
  CHECK(out.get()[0] == 1);
  const Expr rounded({input(0), one, op(TCU_OP_ADD), cast_to(TCU_FLOAT16), big, op(TCU_OP_SUB)});
  OK(tcu_map(context(), out, rounded, 1, x, nullptr));
  CHECK(out.get()[0] == 0);
}

TEST_CASE("expr: the longest tape runs") {
  std::vector<tcu_node_t> deep(128, input(0));
  for (int i = 0; i < 127; ++i) deep.push_back(op(TCU_OP_ADD));
  const Expr e(deep);
  const Array<int64_t> x({3}, {1, -2, 3});
  Array<int64_t> out({3}, {0, 0, 0});
  OK(tcu_map(context(), out, e, 1, x, nullptr));
  CHECK(out.get() == std::vector<int64_t>{128, -256, 384});
  // The deepest stack of values that are all different.
  std::vector<tcu_node_t> sum;
  for (int i = 0; i < 128; ++i) sum.push_back(constant(TCU_INT64, integer(i)));
  for (int i = 0; i < 127; ++i) sum.push_back(op(TCU_OP_ADD));
  const Expr wide(sum);
  OK(tcu_map(context(), out, wide, 0, nullptr, nullptr));
  CHECK(out.get() == std::vector<int64_t>(3, 127 * 64));
}
