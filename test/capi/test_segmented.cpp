// tcu_segmented_reduce: what it computes, and what it refuses.
#include <limits>

#include "capi/api.h"

using namespace api;

TEST_CASE("segments: sums of rows of any length, along any mode") {
  const Array<float> x({7}, {1, 2, 3, 4, 5, 6, 7});
  const Array<int32_t> offsets({5}, {0, 2, 2, 6, 7});
  Array<float> sums({4}, {-1, -1, -1, -1});
  OK(tcu_segmented_reduce(context(), sums, TCU_REDUCE_SUM, nullptr, 1, x, 0, offsets, nullptr));
  CHECK(sums.get() == std::vector<float>{3, 0, 18, 7});
  const Array<float> rows({2, 3}, {1, 10, 2, 20, 3, 30});
  const Array<int64_t> two({3}, {0, 1, 3});
  Array<float> out({2, 2}, {0, 0, 0, 0});
  OK(tcu_segmented_reduce(context(), out, TCU_REDUCE_SUM, nullptr, 1, rows, 1, two, nullptr));
  CHECK(out.get() == std::vector<float>{1, 10, 5, 50});
  const Array<int64_t> one({3}, {0, 0, 2});
  Array<float> columns({2, 3}, repeated(6, 0.0f));
  OK(tcu_segmented_reduce(context(), columns, TCU_REDUCE_SUM, nullptr, 1, rows, 0, one, nullptr));
  CHECK(columns.get() == std::vector<float>{0, 11, 0, 22, 0, 33});
}

TEST_CASE("segments: of an expression of several inputs, accumulated into") {
  const Array<float> x({4}, {1, 2, 3, 4}), scale({1}, {10});
  const Array<int32_t> offsets({3}, {0, 3, 4});
  Array<float> out({2}, {1, 2});
  const Expr product({input(0), input(1), op(TCU_OP_MUL)});
  const tcu_tensor_t both[] = {*static_cast<const tcu_tensor_t *>(x), *static_cast<const tcu_tensor_t *>(scale)};
  const tcu_scalar_t alpha = real(2), beta = real(100);
  tcu_options_t o = options();
  o.alpha = &alpha, o.beta = &beta;
  OK(tcu_segmented_reduce(context(), out, TCU_REDUCE_SUM, product, 2, both, 0, offsets, &o));
  CHECK(out.get() == std::vector<float>{220, 280});
}

TEST_CASE("segments: the identity of an empty one, positions from a segment's start") {
  const Array<float> x({5}, {3, 1, 2, 9, 9});
  const Array<int32_t> offsets({4}, {0, 0, 2, 5});
  Array<float> most({3}, {0, 0, 0});
  OK(tcu_segmented_reduce(context(), most, TCU_REDUCE_MAX, nullptr, 1, x, 0, offsets, nullptr));
  CHECK(most.get() == std::vector<float>{-std::numeric_limits<float>::infinity(), 3, 9});
  Array<int64_t> where({3}, {7, 7, 7});
  OK(tcu_segmented_reduce(context(), where, TCU_REDUCE_ARGMAX, nullptr, 1, x, 0, offsets, nullptr));
  CHECK(where.get() == std::vector<int64_t>{0, 0, 1});
}

TEST_CASE("segments: offsets that are wrong read nothing outside") {
  const Array<float> x({4}, {1, 2, 3, 4});
  const Array<int32_t> offsets({5}, {-5, 2, 1, 3, 99});
  Array<float> sums({4}, repeated(4, 0.0f));
  OK(tcu_segmented_reduce(context(), sums, TCU_REDUCE_SUM, nullptr, 1, x, 0, offsets, nullptr));
  CHECK(sums.get() == std::vector<float>{3, 0, 5, 4});  // 0..2, 2..2, 1..3, 3..4
}

TEST_CASE("segments: one long one beside many short ones, as a plan") {
  std::vector<float> values(100000, 1.0f);
  std::vector<int64_t> at{0, 90000};
  while (at.back() < 100000) at.push_back(at.back() + 3 < 100000 ? at.back() + 3 : 100000);
  const Array<float> x({100000}, values);
  const Array<int64_t> offsets({int64_t(at.size())}, at);
  Array<float> sums({int64_t(at.size()) - 1}, repeated(at.size() - 1, 0.0f));
  tcu_plan_t plan = nullptr;
  OK(tcu_plan_segmented_reduce(&plan, context(), sums, TCU_REDUCE_SUM, nullptr, 1, x, 0, offsets, nullptr));
  const auto data = [](const tcu_tensor_t *t) { return t->data; };
  const void *inputs[] = {data(x), data(offsets)};
  FAILS(TCU_ERROR_SHAPE, tcu_plan_execute(plan, data(sums), 1, inputs, nullptr));
  OK(tcu_plan_execute(plan, data(sums), 2, inputs, nullptr));
  const auto got = sums.get();
  for (size_t s = 0; s + 1 < at.size(); ++s) REQUIRE(got[s] == float(at[s + 1] - at[s]));
  inputs[1] = nullptr;
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, data(sums), 2, inputs, nullptr));
  OK(tcu_plan_destroy(plan));
}

TEST_CASE("segments: what is refused") {
  const Array<float> x({4}, {1, 2, 3, 4});
  const Array<int32_t> offsets({3}, {0, 1, 4});
  const Array<float> floats({3}, {0, 1, 4});
  const Array<int32_t> square({3, 3}, std::vector<int32_t>(9, 0));
  Array<float> out({2}, {5, 6}), three({3}, {0, 0, 0});
  const auto call = [&](const tcu_tensor_t *o, tcu_reduce_op_t op, const tcu_tensor_t *in, int dim, const tcu_tensor_t *at) {
    return tcu_segmented_reduce(context(), o, op, nullptr, 1, in, dim, at, nullptr);
  };
  FAILS(TCU_ERROR_DTYPE, call(out, TCU_REDUCE_SUM, x, 0, floats));
  FAILS(TCU_ERROR_SHAPE, call(out, TCU_REDUCE_SUM, x, 0, square));
  FAILS(TCU_ERROR_SHAPE, call(three, TCU_REDUCE_SUM, x, 0, offsets));
  FAILS(TCU_ERROR_NULL, call(out, TCU_REDUCE_SUM, x, 0, nullptr));
  FAILS(TCU_ERROR_NULL, call(nullptr, TCU_REDUCE_SUM, x, 0, offsets));
  FAILS(TCU_ERROR_DIM, call(out, TCU_REDUCE_SUM, x, -1, offsets));
  FAILS(TCU_ERROR_DIM, call(out, TCU_REDUCE_SUM, x, 64, offsets));
  FAILS(TCU_ERROR_OP, call(out, 77, x, 0, offsets));
  FAILS(TCU_ERROR_DTYPE, call(out, TCU_REDUCE_ARGMAX, x, 0, offsets));  // positions into floats
  FAILS(TCU_ERROR_EXPR, tcu_segmented_reduce(context(), out, TCU_REDUCE_SUM, nullptr, 0, x, 0, offsets, nullptr));
  CHECK(out.get() == std::vector<float>{5, 6});
}

TEST_CASE("segments: scans of each for itself") {
  const Array<float> x({7}, {1, 2, 3, 4, 5, 6, 7});
  const Array<int32_t> offsets({4}, {0, 2, 2, 6});  // the last element is behind them: a segment of its own
  Array<float> sums({7}, repeated(7, -1.0f));
  const auto scanned = [&](uint32_t flags, tcu_reduce_op_t op = TCU_REDUCE_SUM) {
    tcu_options_t o = options();
    o.scan_flags = flags;
    OK(tcu_segmented_scan(context(), sums, op, nullptr, 1, x, 0, offsets, &o));
    return sums.get();
  };
  CHECK(scanned(0) == std::vector<float>{1, 3, 3, 7, 12, 18, 7});
  CHECK(scanned(TCU_SCAN_EXCLUSIVE) == std::vector<float>{0, 1, 0, 3, 7, 12, 0});
  CHECK(scanned(TCU_SCAN_REVERSE) == std::vector<float>{3, 2, 18, 15, 11, 6, 7});
  CHECK(scanned(TCU_SCAN_REVERSE | TCU_SCAN_EXCLUSIVE) == std::vector<float>{2, 0, 15, 11, 6, 0, 0});
  CHECK(scanned(0, TCU_REDUCE_PROD) == std::vector<float>{1, 2, 3, 12, 60, 360, 7});
  const Array<int64_t> wild({4}, {-3, 5, 1, 99});
  OK(tcu_segmented_scan(context(), sums, TCU_REDUCE_SUM, nullptr, 1, x, 0, wild, nullptr));
  CHECK(sums.get() == std::vector<float>{1, 2, 5, 9, 14, 6, 13});

  const Array<float> rows({2, 3}, {1, 10, 2, 20, 3, 30});
  const Array<int64_t> two({3}, {0, 1, 3});
  Array<float> out({2, 3}, repeated(6, 0.0f));
  const Expr twice({input(0), input(0), op(TCU_OP_ADD)});
  OK(tcu_segmented_scan(context(), out, TCU_REDUCE_SUM, twice, 1, rows, 1, two, nullptr));
  CHECK(out.get() == std::vector<float>{2, 20, 4, 40, 10, 100});
}

TEST_CASE("segments: scans across lines of several tiles, and of views") {
  const int64_t lines = 3000, steps = 4, gap = 2;
  const Array<float> x({lines * gap, steps}, repeated(size_t(lines * gap * steps), 1.0f));
  const Array<int32_t> offsets({3}, {0, 2, 4});
  Array<float> out({lines, steps}, repeated(size_t(lines * steps), -1.0f));
  const int64_t extents[] = {lines, steps}, dense[] = {1, lines}, apart[] = {gap, lines * gap};
  for (const int64_t *strides : {dense, apart}) {
    const tcu_tensor_t in{x.data(), extents, strides, TCU_FLOAT32, 2};
    OK(tcu_segmented_scan(context(), out, TCU_REDUCE_SUM, nullptr, 1, &in, 1, offsets, nullptr));
    const auto y = out.get();
    for (size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == float(1 + i / size_t(lines) % 2));
  }
}

TEST_CASE("segments: a plan takes and refuses the pointers that a call does") {
  const Array<int32_t> offsets({3}, {0, 0, 0});
  Array<int32_t> x({4}, {0, 1, 2, 3}), out({2}, {9, 9}), own({3}, {0, 2, 4});
  const int64_t none = 0, one = 1;
  const tcu_tensor_t empty{nullptr, &none, &one, TCU_INT32, 1};
  Plan plan, other;
  OK(tcu_plan_segmented_reduce(&plan, context(), out, TCU_REDUCE_SUM, nullptr, 1, &empty, 0, offsets, nullptr));
  const void *nothing[] = {nullptr, offsets.data()};
  OK(tcu_plan_execute(plan, out.data(), 2, nothing, nullptr));
  CHECK(out.get() == std::vector<int32_t>{0, 0});
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, nullptr, 2, nothing, nullptr));  // of nothing too there are results
  const void *at_own[] = {nullptr, own.data()};
  FAILS(TCU_ERROR_OVERLAP, tcu_plan_execute(plan, own.data(), 2, at_own, nullptr));
  OK(tcu_plan_segmented_reduce(&other, context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 0, own, nullptr));
  const void *inputs[] = {x.data(), own.data()};
  FAILS(TCU_ERROR_OVERLAP, tcu_plan_execute(other, own.data(), 2, inputs, nullptr));
  FAILS(TCU_ERROR_OVERLAP, tcu_plan_execute(other, own.data() + 1, 2, inputs, nullptr));
  CHECK(own.get() == std::vector<int32_t>{0, 2, 4});
  OK(tcu_plan_execute(other, out.data(), 2, inputs, nullptr));
  CHECK(out.get() == std::vector<int32_t>{1, 5});
}

TEST_CASE("segments: what a scan of them refuses") {
  const Array<float> x({4}, {1, 2, 3, 4});
  const Array<int32_t> offsets({2}, {0, 4});
  const Array<int16_t> narrow({2}, {0, 4});
  Array<float> out({4}, repeated(4, -1.0f));
  const auto status = [&](tcu_reduce_op_t op, const tcu_tensor_t *at, int32_t dim, uint32_t flags = 0, int32_t n = 1) {
    tcu_options_t o = options();
    o.scan_flags = flags;
    return std::string(tcu_status_name(tcu_segmented_scan(context(), out, op, nullptr, n, x, dim, at, &o)));
  };
  CHECK(status(TCU_REDUCE_SUM, nullptr, 0) == "TCU_ERROR_NULL");
  CHECK(status(TCU_REDUCE_SUM, narrow, 0) == "TCU_ERROR_DTYPE");
  CHECK(status(TCU_REDUCE_SUM, offsets, -1) == "TCU_ERROR_DIM");
  CHECK(status(TCU_REDUCE_MEAN, offsets, 0) == "TCU_ERROR_OP");
  CHECK(status(TCU_REDUCE_RECURRENCE, offsets, 0) == "TCU_ERROR_OPTION");
  CHECK(status(TCU_REDUCE_SUM, offsets, 0, TCU_SCAN_SEGMENTED) == "TCU_ERROR_OPTION");
  CHECK(status(TCU_REDUCE_SUM, offsets, 0, 0, 0) == "TCU_ERROR_EXPR");
  CHECK(out.get() == repeated(4, -1.0f));
}
