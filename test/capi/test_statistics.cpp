// MEAN, VAR, STD, NORM and LOGSUMEXP through the C API: what they compute, their option, and what they refuse.
#include <cmath>
#include <cstddef>
#include <limits>

#include "capi/api.h"

using namespace api;

namespace {

const int32_t kFirst = 0;
const double kInf = std::numeric_limits<double>::infinity();

template <class T>
double value(tcu_reduce_op_t op, const Array<T> &x, const tcu_options_t *o = nullptr) {
  Array<double> out({1}, {-99});
  OK(tcu_reduce(context(), out, op, nullptr, 1, x, 1, &kFirst, o));
  return out.get()[0];
}

}  // namespace

TEST_CASE("statistics: of columns, with Julia's types") {
  const Array<float> x({4, 2}, {1, 2, 3, 6, 5, 5, 5, 5});
  Array<double> out({1, 2}, {0, 0});
  const auto of = [&](tcu_reduce_op_t op) {
    OK(tcu_reduce(context(), out, op, nullptr, 1, x, 1, &kFirst, nullptr));
    return out.get();
  };
  CHECK(of(TCU_REDUCE_MEAN) == std::vector<double>{3, 5});
  CHECK(std::abs(of(TCU_REDUCE_VAR)[0] - 14.0 / 3) < 1e-6);
  CHECK(of(TCU_REDUCE_VAR)[1] == 0);
  CHECK(std::abs(of(TCU_REDUCE_STD)[0] - std::sqrt(14.0 / 3)) < 1e-6);
  CHECK(std::abs(of(TCU_REDUCE_NORM)[0] - std::sqrt(50.0)) < 1e-6);
  CHECK(of(TCU_REDUCE_NORM)[1] == 10);
  CHECK(std::abs(of(TCU_REDUCE_LOGSUMEXP)[1] - (5 + std::log(4.0))) < 1e-6);
  // integers and Bool in float64, 16-bit floats in float32
  CHECK(value(TCU_REDUCE_MEAN, Array<int8_t>({3}, {127, 127, 126})) == 380.0 / 3);
  CHECK(value(TCU_REDUCE_MEAN, Array<bool>({4}, {true, false, false, false})) == 0.25);
  CHECK(value(TCU_REDUCE_VAR, Array<uint8_t>({2}, {0, 255})) == 255.0 * 255 / 2);
  CHECK(value(TCU_REDUCE_NORM, Array<uint16_t>({2}, {0x78e2, 0x78e2}, TCU_FLOAT16)) == double(std::sqrt(2 * 40000.0f * 40000.0f)));
}

TEST_CASE("statistics: correction, as an option and in structs that do not have it") {
  const Array<double> x({3}, {1, 2, 6});
  tcu_options_t o = options();
  CHECK(value(TCU_REDUCE_VAR, x) == 7);
  CHECK(value(TCU_REDUCE_VAR, x, &o) == 7);
  double correction = 0;
  o.correction = &correction;
  CHECK(value(TCU_REDUCE_VAR, x, &o) == 14.0 / 3);
  CHECK(value(TCU_REDUCE_MEAN, x, &o) == 3);  // which it is not for
  o.struct_size = offsetof(tcu_options_t, correction);  // of an older header: what lies there is not looked at
  CHECK(value(TCU_REDUCE_VAR, x, &o) == 7);
  o.struct_size = sizeof o;
  correction = 3;
  CHECK(value(TCU_REDUCE_VAR, x, &o) == kInf);
  const Array<double> equal({3}, {2, 2, 2});
  CHECK(std::isnan(value(TCU_REDUCE_STD, equal, &o)));
  // given with each execution of a plan
  Array<double> out({1}, {0});
  Plan plan;
  OK(tcu_plan_reduce(&plan, context(), out, TCU_REDUCE_VAR, nullptr, 1, x, 1, &kFirst, nullptr));
  const void *inputs[] = {x.data()};
  OK(tcu_plan_execute(plan, out.data(), 1, inputs, nullptr));
  CHECK(out.get()[0] == 7);
  correction = 0;
  OK(tcu_plan_execute(plan, out.data(), 1, inputs, &o));
  CHECK(out.get()[0] == 14.0 / 3);
}

TEST_CASE("statistics: of expressions, accumulated into, with another accumulator") {
  const Array<float> x({3}, {1, 2, 6}), scale({1}, {2});
  Array<double> out({1}, {10});
  const Expr product({input(0), input(1), op(TCU_OP_MUL)});
  const tcu_tensor_t both[] = {x.tensor, scale.tensor};
  const tcu_scalar_t alpha = real(3), beta = real(0.5);
  tcu_options_t o = options();
  o.alpha = &alpha, o.beta = &beta, o.accumulator = TCU_FLOAT64;
  OK(tcu_reduce(context(), out, TCU_REDUCE_VAR, product, 2, both, 1, &kFirst, &o));
  CHECK(out.get()[0] == 3 * 28 + 5);
  // a float32 sum of squares would overflow
  const Array<float> large({2}, {3e30f, 4e30f});
  tcu_options_t wide = options();
  CHECK(value(TCU_REDUCE_NORM, large, &wide) == kInf);
  wide.accumulator = TCU_FLOAT64;
  CHECK(std::abs(value(TCU_REDUCE_NORM, large, &wide) - 5e30) < 1e24);
}

TEST_CASE("statistics: of nothing, and of segments of nothing") {
  const Array<double> none({0}, std::vector<double>{});
  for (tcu_reduce_op_t op : {TCU_REDUCE_MEAN, TCU_REDUCE_VAR, TCU_REDUCE_STD}) CHECK(std::isnan(value(op, none)));
  CHECK(value(TCU_REDUCE_NORM, none) == 0);
  CHECK(value(TCU_REDUCE_LOGSUMEXP, none) == -kInf);
  const Array<float> x({3}, {1, 3, 5});
  const Array<int32_t> offsets({4}, {0, 2, 2, 3});
  Array<float> out({3}, {0, 0, 0});
  const auto of = [&](tcu_reduce_op_t op) {
    OK(tcu_segmented_reduce(context(), out, op, nullptr, 1, x, 0, offsets, nullptr));
    return out.get();
  };
  const auto mean = of(TCU_REDUCE_MEAN), var = of(TCU_REDUCE_VAR), norm = of(TCU_REDUCE_NORM), log = of(TCU_REDUCE_LOGSUMEXP);
  CHECK((mean[0] == 2 && std::isnan(mean[1]) && mean[2] == 5));
  CHECK((var[0] == 2 && std::isnan(var[1]) && std::isnan(var[2])));
  CHECK((norm[1] == 0 && norm[2] == 5));
  CHECK((log[1] == float(-kInf) && log[2] == 5));
}

TEST_CASE("statistics: what is refused") {
  const Array<float> x({2}, {1, 2}), pair({2, 1}, {1, 2});
  const int64_t one = 1;
  const tcu_tensor_t complex{pair.data(), &one, nullptr, TCU_COMPLEX64, 1};
  Array<float> out({1}, {5});
  tcu_options_t o = options();
  const auto call = [&](tcu_reduce_op_t op, const tcu_tensor_t *in) {
    return tcu_reduce(context(), out, op, nullptr, 1, in, 1, &kFirst, &o);
  };
  for (tcu_reduce_op_t op : {TCU_REDUCE_VAR, TCU_REDUCE_STD, TCU_REDUCE_LOGSUMEXP}) {
    FAILS(TCU_ERROR_DTYPE, call(op, &complex));
    CHECK(std::string(tcu_last_error()).find("real numbers") != std::string::npos);
  }
  OK(call(TCU_REDUCE_NORM, &complex));
  CHECK(std::abs(out.get()[0] - std::sqrt(5.0f)) < 1e-6);
  out.set({5});
  for (tcu_dtype_t d : {TCU_INT64, TCU_FLOAT16, TCU_COMPLEX64}) {
    o.accumulator = d;
    FAILS(TCU_ERROR_DTYPE, call(TCU_REDUCE_VAR, x));
    FAILS(TCU_ERROR_DTYPE, call(TCU_REDUCE_NORM, x));
  }
  o = options();
  const tcu_scalar_t init = real(1);
  o.init = &init;
  for (tcu_reduce_op_t op : {TCU_REDUCE_MEAN, TCU_REDUCE_VAR, TCU_REDUCE_STD, TCU_REDUCE_NORM, TCU_REDUCE_LOGSUMEXP}) {
    FAILS(TCU_ERROR_OPTION, call(op, x));
    CHECK(std::string(tcu_last_error()).find("init") != std::string::npos);
  }
  CHECK(out.get()[0] == 5);
}
