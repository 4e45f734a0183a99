// Bad input of every kind: its own status, a message of one line, and not a byte of the output written.
#include <functional>
#include <vector>

#include "capi/api.h"

using namespace api;

namespace {

constexpr int64_t kHuge = int64_t(1) << 62;

// out (4,3) <- x (4,3) and y (4,3), float32; each test spoils something. The output's bytes are compared afterwards.
struct Fixture {
  const std::vector<float> canary = repeated(12, -123.5f);
  Array<float> out{{4, 3}, canary}, x{{4, 3}, repeated(12, 1.0f)}, y{{4, 3}, repeated(12, 2.0f)};
  tcu_tensor_t to = out.tensor;
  tcu_tensor_t from[2] = {x.tensor, y.tensor};
  tcu_options_t o = options();
  tcu_context_t c = context();
  std::vector<int32_t> dims{0};

  ~Fixture() { CHECK(out.get() == canary); }

  tcu_status_t map(tcu_expr_t expr = nullptr, int32_t n = 1) { return tcu_map(c, &to, expr, n, from, &o); }
  tcu_status_t reduce(tcu_reduce_op_t op = TCU_REDUCE_SUM) {
    return tcu_reduce(c, &to, op, nullptr, 1, from, int32_t(dims.size()), dims.data(), &o);
  }
  tcu_status_t scan(tcu_reduce_op_t op = TCU_REDUCE_SUM, int32_t dim = 0) {
    return tcu_scan(c, &to, op, nullptr, 1, from, dim, &o);
  }
  // A map, a scan and a plan fail alike.
  void fails_everywhere(tcu_status_t want) {
    tcu_plan_t plan = reinterpret_cast<tcu_plan_t>(this);
    const std::function<tcu_status_t()> calls[] = {
        [&] { return map(); }, [&] { return scan(); }, [&] { return tcu_plan_map(&plan, c, &to, nullptr, 1, from, &o); },
        [&] { return tcu_plan_scan(&plan, c, &to, TCU_REDUCE_SUM, nullptr, 1, from, 0, &o); }};
    for (const auto &call : calls) {
      const std::string got = tcu_status_name(call());
      INFO(tcu_last_error());
      CHECK(got == tcu_status_name(want));
      CHECK_FALSE(std::string(tcu_last_error()).empty());
    }
    CHECK(plan == nullptr);
  }
  // For a reduction over mode 0.
  int64_t reduced_extents[2] = {1, 3};
  void make_reduction() { to.extents = reduced_extents, to.strides = nullptr; }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "bad input: null pointers") {
  FAILS(TCU_ERROR_NULL, tcu_map(nullptr, &to, nullptr, 1, from, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_map(c, nullptr, nullptr, 1, from, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_map(c, &to, nullptr, 1, nullptr, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_reduce(nullptr, &to, TCU_REDUCE_SUM, nullptr, 1, from, 0, nullptr, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_reduce(c, nullptr, TCU_REDUCE_SUM, nullptr, 1, from, 0, nullptr, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_reduce(c, &to, TCU_REDUCE_SUM, nullptr, 1, from, 1, nullptr, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_reduce(c, &to, TCU_REDUCE_SUM, nullptr, 1, nullptr, 0, nullptr, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_scan(nullptr, &to, TCU_REDUCE_SUM, nullptr, 1, from, 0, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_scan(c, nullptr, TCU_REDUCE_SUM, nullptr, 1, from, 0, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_matmul(nullptr, &to, from, from, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_matmul(c, nullptr, from, from, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_matmul(c, &to, nullptr, from, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_matmul(c, &to, from, nullptr, nullptr));
  o.n_scalars = 1;
  fails_everywhere(TCU_ERROR_NULL);
}

TEST_CASE_METHOD(Fixture, "bad input: tensors without data or extents") {
  SECTION("out") { to.data = nullptr; }
  SECTION("input") { from[0].data = nullptr; }
  SECTION("out's extents") { to.extents = nullptr; }
  SECTION("input's extents") { from[0].extents = nullptr; }
  FAILS(TCU_ERROR_NULL, map());
  FAILS(TCU_ERROR_NULL, scan());
  FAILS(TCU_ERROR_NULL, reduce());
}

TEST_CASE_METHOD(Fixture, "bad input: unknown dtypes") {
  SECTION("out") { to.dtype = GENERATE(0, -1, 18, 268, INT32_MAX, INT32_MIN); }
  SECTION("input") { from[0].dtype = GENERATE(0, -1, 18, 268, INT32_MAX, INT32_MIN); }
  SECTION("accumulator") { o.accumulator = GENERATE(-1, 18, 268); }
  SECTION("too narrow an accumulator") { o.accumulator = GENERATE(int32_t(TCU_FLOAT16), int32_t(TCU_BFLOAT16), int32_t(TCU_FLOAT8_E5M2)); }
  fails_everywhere(TCU_ERROR_DTYPE);
}

TEST_CASE_METHOD(Fixture, "bad input: dtypes that the operation is not defined on") {
  const Expr bits({input(0), op(TCU_OP_BIT_NOT)});
  FAILS(TCU_ERROR_DTYPE, map(bits));
  make_reduction();
  FAILS(TCU_ERROR_DTYPE, reduce(TCU_REDUCE_ARGMAX));  // positions into a float
}

TEST_CASE_METHOD(Fixture, "bad input: unknown ops") {
  for (int32_t op : {0, -1, 18, 99, INT32_MAX, INT32_MIN}) {
    FAILS(TCU_ERROR_OP, reduce(op));
    FAILS(TCU_ERROR_OP, scan(op));
  }
  for (int32_t op : {TCU_REDUCE_ARGMAX, TCU_REDUCE_MEAN, TCU_REDUCE_VAR, TCU_REDUCE_LOGSUMEXP, TCU_REDUCE_EXTREMA})
    FAILS(TCU_ERROR_OP, scan(op));
  make_reduction();
  FAILS(TCU_ERROR_OP, reduce(TCU_REDUCE_RECURRENCE));
}

TEST_CASE_METHOD(Fixture, "bad input: expressions that leave one value where two are asked for, or two where one is") {
  const Expr one({input(0)}), two({input(0), input(0)});
  FAILS(TCU_ERROR_EXPR, map(two));
  FAILS(TCU_ERROR_EXPR, tcu_scan(c, &to, TCU_REDUCE_SUM, two, 1, from, 0, &o));
  FAILS(TCU_ERROR_EXPR, tcu_scan(c, &to, TCU_REDUCE_RECURRENCE, one, 1, from, 0, &o));
  FAILS(TCU_ERROR_EXPR, tcu_scan(c, &to, TCU_REDUCE_RECURRENCE, nullptr, 1, from, 0, &o));
  o.scan_flags = TCU_SCAN_SEGMENTED;
  FAILS(TCU_ERROR_EXPR, tcu_scan(c, &to, TCU_REDUCE_SUM, one, 1, from, 0, &o));
  FAILS(TCU_ERROR_OPTION, tcu_scan(c, &to, TCU_REDUCE_RECURRENCE, two, 1, from, 0, &o));
}

TEST_CASE_METHOD(Fixture, "bad input: expressions that ask for what is not there") {
  FAILS(TCU_ERROR_EXPR, map(nullptr, 0));
  FAILS(TCU_ERROR_EXPR, map(nullptr, -1));
  std::vector<tcu_tensor_t> many(TCU_MAX_INPUTS + 1, x.tensor);
  FAILS(TCU_ERROR_EXPR, tcu_map(c, &to, nullptr, TCU_MAX_INPUTS + 1, many.data(), nullptr));
  const Expr second({input(1)}), numbers({input(0), scalar(1, TCU_FLOAT32), op(TCU_OP_ADD)});
  FAILS(TCU_ERROR_EXPR, map(second, 1));
  FAILS(TCU_ERROR_EXPR, map(numbers));
  const tcu_scalar_t one = real(1);
  o.scalars = &one, o.n_scalars = 1;
  FAILS(TCU_ERROR_EXPR, map(numbers));
}

TEST_CASE_METHOD(Fixture, "bad input: ranks") {
  const int32_t rank = GENERATE(-1, TCU_MAX_RANK + 1, INT32_MAX, INT32_MIN);
  const std::vector<int64_t> ones(TCU_MAX_RANK + 1, 1);
  SECTION("out") { to = {to.data, ones.data(), nullptr, TCU_FLOAT32, rank}; }
  SECTION("input") { from[0] = {to.data, ones.data(), nullptr, TCU_FLOAT32, rank}; }
  fails_everywhere(TCU_ERROR_RANK);
}

TEST_CASE_METHOD(Fixture, "bad input: extents below zero") {
  const int64_t extents[2] = {4, GENERATE(int64_t(-1), INT64_MIN)};
  SECTION("out") { to.extents = extents; }
  SECTION("input") { from[0].extents = extents; }
  fails_everywhere(TCU_ERROR_EXTENT);
}

TEST_CASE_METHOD(Fixture, "bad input: extents and strides past an int64") {
  const int64_t extents[2] = {kHuge, 3}, square[2] = {INT64_MAX, INT64_MAX}, up[2] = {1, INT64_MAX}, down[2] = {1, INT64_MIN},
                none[2] = {0, 0};
  SECTION("dense out") { to.extents = extents, to.strides = nullptr; }
  SECTION("dense input") { from[0].extents = extents, from[0].strides = nullptr; }
  SECTION("more elements than a count holds") { from[0].extents = square, from[0].strides = none; }
  SECTION("stride up") { to.strides = up; }
  SECTION("stride down") { to.strides = down; }
  SECTION("input's stride") { from[0].strides = down; }
  fails_everywhere(TCU_ERROR_OVERFLOW);
}

TEST_CASE_METHOD(Fixture, "bad input: shapes that do not fit") {
  const int64_t extents[2] = {4, 2};
  SECTION("input") { from[0].extents = extents; }
  SECTION("out") { to.extents = extents; }
  fails_everywhere(TCU_ERROR_SHAPE);
  const Expr add({input(0), input(1), op(TCU_OP_ADD)});
  from[0] = x.tensor, from[1].extents = extents, to = out.tensor;
  FAILS(TCU_ERROR_SHAPE, map(add, 2));
  make_reduction(), reduced_extents[1] = 2;
  FAILS(TCU_ERROR_SHAPE, reduce());
}

TEST_CASE_METHOD(Fixture, "bad input: outputs that alias themselves") {
  const int64_t zero[2] = {1, 0}, meet[2] = {1, 2}, same[2] = {1, 1}, back[2] = {1, -2};
  for (const int64_t *strides : {zero, meet, same, back}) {
    to.strides = strides;
    fails_everywhere(TCU_ERROR_ALIAS);
  }
}

TEST_CASE_METHOD(Fixture, "bad input: outputs that overlap an input of another layout") {
  const int64_t row_major[2] = {3, 1}, three[2] = {3, 3}, two_by_two[2] = {2, 2};
  SECTION("transposed") {
    from[0].data = to.data, from[0].strides = row_major;
    fails_everywhere(TCU_ERROR_OVERLAP);
  }
  SECTION("shifted") {
    to.extents = three, from[0].extents = three, to.strides = from[0].strides = nullptr;
    from[0].data = static_cast<float *>(to.data) + 1;
    fails_everywhere(TCU_ERROR_OVERLAP);
  }
  SECTION("another width") {
    to.extents = two_by_two, from[0] = to, from[0].dtype = TCU_INT16;
    fails_everywhere(TCU_ERROR_OVERLAP);
  }
  SECTION("a reduction has no place of its own") {
    make_reduction();
    from[0].data = to.data;
    FAILS(TCU_ERROR_OVERLAP, reduce());
  }
}

TEST_CASE_METHOD(Fixture, "bad input: dims") {
  make_reduction();
  for (const std::vector<int32_t> &bad : {std::vector<int32_t>{-1}, {64}, {INT32_MAX}, {INT32_MIN}, {0, 0}, {0, 1, 0}}) {
    dims = bad;
    FAILS(TCU_ERROR_DIM, reduce());
  }
}

TEST_CASE_METHOD(Fixture, "bad input: counts of dims, and a scan's dim") {
  FAILS(TCU_ERROR_DIM, tcu_reduce(c, &to, TCU_REDUCE_SUM, nullptr, 1, from, -1, dims.data(), nullptr));
  FAILS(TCU_ERROR_DIM, tcu_reduce(c, &to, TCU_REDUCE_SUM, nullptr, 1, from, INT32_MAX, dims.data(), nullptr));
  for (int32_t dim : {-1, 64, INT32_MIN, INT32_MAX}) FAILS(TCU_ERROR_DIM, scan(TCU_REDUCE_SUM, dim));
}

TEST_CASE_METHOD(Fixture, "bad input: a reduced mode that the output still has") { FAILS(TCU_ERROR_REDUCED_MODE, reduce()); }

TEST_CASE_METHOD(Fixture, "bad input: the best of nothing") {
  make_reduction();
  const int64_t empty[2] = {0, 3};
  from[0].extents = empty;
  FAILS(TCU_ERROR_EMPTY, reduce(TCU_REDUCE_MAX));
  FAILS(TCU_ERROR_EMPTY, reduce(TCU_REDUCE_MIN));
  to.dtype = TCU_INT32;
  FAILS(TCU_ERROR_EMPTY, reduce(TCU_REDUCE_ARGMAX));
  FAILS(TCU_ERROR_EMPTY, reduce(TCU_REDUCE_ARGMIN));
}

TEST_CASE_METHOD(Fixture, "bad input: option structs that were not initialised") {
  o.struct_size = GENERATE(size_t(0), size_t(8), offsetof(tcu_options_t, correction) - 8, offsetof(tcu_options_t, reserved2),
                           sizeof(tcu_options_t) - 1, sizeof(tcu_options_t) + 1, SIZE_MAX);
  fails_everywhere(TCU_ERROR_STRUCT_SIZE);
  FAILS(TCU_ERROR_STRUCT_SIZE, tcu_matmul(c, &to, from, from, &o));
}

TEST_CASE_METHOD(Fixture, "bad input: option values that are not one of their kind") {
  SECTION("determinism") { o.determinism = GENERATE(-1, 2); }
  SECTION("scan_flags") { o.scan_flags = GENERATE(8u, 0x80000000u); }
  SECTION("reserved") { o.reserved = 1; }
  SECTION("reserved2") { o.reserved2 = 1; }
  SECTION("n_second") { o.second = &to, o.n_second = GENERATE(-1, TCU_MAX_RESULTS, INT32_MAX); }
  SECTION("n_scalars") { o.n_scalars = -1; }
  SECTION("alignment") { o.alignment = GENERATE(-16, 3, 24); }
  const double wrong = GENERATE(-1.0, NAN, INFINITY);
  SECTION("correction") { o.correction = &wrong; }
  fails_everywhere(TCU_ERROR_OPTION);
}

TEST_CASE("bad input: alpha and beta where the result is a truth value or a position") {
  Array<bool> flags({2}, {true, false}), any({1}, {true});
  Array<int32_t> where({1}, {-7});
  const tcu_scalar_t one = integer(1);
  tcu_options_t o = options();
  SECTION("alpha") { o.alpha = &one; }
  SECTION("beta") { o.beta = &one; }
  const int32_t dim = 0;
  FAILS(TCU_ERROR_OPTION, tcu_reduce(context(), any, TCU_REDUCE_ALL, nullptr, 1, flags, 1, &dim, &o));
  CHECK(any.get() == std::vector<bool>{true});
  if (!o.beta) return;
  FAILS(TCU_ERROR_OPTION, tcu_reduce(context(), where, TCU_REDUCE_ARGMAX, nullptr, 1, flags, 1, &dim, &o));
  CHECK(where.get()[0] == -7);
}

TEST_CASE_METHOD(Fixture, "bad input: kernels that are unknown or do not accept") {
  SECTION("unknown") { o.kernel = "broadcast.teleport"; }
  SECTION("of another family") { o.kernel = "reduce.general"; }
  FAILS(TCU_ERROR_KERNEL, map());
  CHECK(std::string(tcu_last_error()).find(o.kernel) != std::string::npos);
  FAILS(TCU_ERROR_KERNEL, scan());
}

TEST_CASE_METHOD(Fixture, "bad input: a misaligned element") {
  const int64_t two[1] = {2};
  to = {static_cast<char *>(out.tensor.data) + 2, two, nullptr, TCU_FLOAT32, 1};
  from[0].extents = two, from[0].strides = nullptr, from[0].rank = 1;
  FAILS(TCU_ERROR_ALIGNMENT, map());
  to.data = out.tensor.data, from[0].data = static_cast<char *>(x.tensor.data) + 1;
  FAILS(TCU_ERROR_ALIGNMENT, map());
}

TEST_CASE("bad input: devices and backends that do not exist") {
  tcu_context_t c = context();
  FAILS(TCU_ERROR_DEVICE, tcu_context_create(&c, "cpu", 1));
  CHECK(c == nullptr);
  FAILS(TCU_ERROR_DEVICE, tcu_context_create(&c, "cpu", -1));
  FAILS(TCU_ERROR_DEVICE, tcu_context_create(&c, "cuda", 4096));
  FAILS(TCU_ERROR_DEVICE, tcu_context_create(&c, "abacus", 0));
  FAILS(TCU_ERROR_NULL, tcu_context_create(nullptr, "cpu", 0));
  int32_t count = -5;
  FAILS(TCU_ERROR_DEVICE, tcu_device_count(&count, "abacus"));
  FAILS(TCU_ERROR_NULL, tcu_device_count(&count, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_device_count(nullptr, "cpu"));
  CHECK(count == -5);
  tcu_device_info_t info = TCU_DEVICE_INFO_INIT;
  FAILS(TCU_ERROR_DEVICE, tcu_device_info(&info, "cpu", 7));
  FAILS(TCU_ERROR_NULL, tcu_device_info(nullptr, "cpu", 0));
  info.struct_size = 0;
  FAILS(TCU_ERROR_STRUCT_SIZE, tcu_device_info(&info, "cpu", 0));
}

TEST_CASE("bad input: destroying null") {
  FAILS(TCU_ERROR_NULL, tcu_context_destroy(nullptr));
  FAILS(TCU_ERROR_NULL, tcu_expr_destroy(nullptr));
  FAILS(TCU_ERROR_NULL, tcu_plan_destroy(nullptr));
  FAILS(TCU_ERROR_NULL, tcu_stream_destroy(context(), nullptr));
  FAILS(TCU_ERROR_NULL, tcu_event_destroy(context(), nullptr));
}
