// tcu_plan_*: made once, executed on many pointers; what is checked again at each execution; what a plan tells of itself.
#include <string>
#include <thread>
#include <vector>

#include "capi/api.h"

using namespace api;

namespace {

tcu_options_t with(const tcu_scalar_t *alpha, const tcu_scalar_t *beta) {
  tcu_options_t o = options();
  return o.alpha = alpha, o.beta = beta, o;
}

tcu_plan_info_t info_of(tcu_plan_t plan) {
  tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
  OK(tcu_plan_info(plan, &info));
  return info;
}

const int32_t kFirst = 0;

}  // namespace

TEST_CASE("plan: made without data, executed on any") {
  const int64_t in[2] = {4, 3}, to[2] = {1, 3};
  const tcu_tensor_t x{nullptr, in, nullptr, TCU_FLOAT32, 2}, out{nullptr, to, nullptr, TCU_FLOAT64, 2};
  Plan plan;
  OK(tcu_plan_reduce(&plan, context(), &out, TCU_REDUCE_SUM, nullptr, 1, &x, 1, &kFirst, nullptr));
  for (float scale : {1.0f, 2.0f}) {
    std::vector<float> values;
    for (int i = 0; i < 12; ++i) values.push_back(scale * float(i));
    const Array<float> a({4, 3}, values);
    Array<double> b({1, 3}, {9, 9, 9});
    const void *inputs[] = {a.data()};
    OK(tcu_plan_execute(plan, b.data(), 1, inputs, nullptr));
    CHECK(b.get() == std::vector<double>{6 * scale, 22 * scale, 38 * scale});
  }
  const tcu_plan_info_t info = info_of(plan);
  CHECK(std::string(info.modes) == "R:4 K:3");
  CHECK(std::string(info.kernel).rfind("reduce.", 0) == 0);
  CHECK(info.bytes == 12 * 4 + 3 * 8);
  CHECK(info.index_bits == 32);
  size_t bytes = SIZE_MAX;
  OK(tcu_plan_workspace(plan, &bytes));
  CHECK(bytes == size_t(info.workspace_bytes));
}

TEST_CASE("plan: scans and maps") {
  const Array<int32_t> x({5}, {1, 2, 3, 4, 5});
  Array<int32_t> out({5}, {0, 0, 0, 0, 0});
  tcu_options_t o = options();
  o.scan_flags = TCU_SCAN_REVERSE;
  Plan scan, map;
  OK(tcu_plan_scan(&scan, context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 0, &o));
  const Expr triple({input(0), constant(TCU_INT32, integer(3)), op(TCU_OP_MUL)});
  OK(tcu_plan_map(&map, context(), out, triple, 1, x, nullptr));
  const void *inputs[] = {x.data()};
  OK(tcu_plan_execute(scan, out.data(), 1, inputs, nullptr));
  CHECK(out.get() == std::vector<int32_t>{15, 14, 12, 9, 5});
  OK(tcu_plan_execute(map, out.data(), 1, inputs, nullptr));
  CHECK(out.get() == std::vector<int32_t>{3, 6, 9, 12, 15});
}

TEST_CASE("plan: null arguments") {
  const Array<float> x({3}, {1, 2, 3});
  Array<float> out({3}, {7, 7, 7});
  const void *inputs[] = {x.data()}, *nothing[] = {nullptr};
  FAILS(TCU_ERROR_NULL, tcu_plan_map(nullptr, context(), out, nullptr, 1, x, nullptr));
  Plan plan;
  FAILS(TCU_ERROR_NULL, tcu_plan_map(&plan, nullptr, out, nullptr, 1, x, nullptr));
  CHECK(tcu_plan_t(plan) == nullptr);
  OK(tcu_plan_map(&plan, context(), out, nullptr, 1, x, nullptr));
  size_t bytes;
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(nullptr, out.data(), 1, inputs, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, nullptr, 1, inputs, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, out.data(), 1, nullptr, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, out.data(), 1, nothing, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_plan_workspace(nullptr, &bytes));
  FAILS(TCU_ERROR_NULL, tcu_plan_workspace(plan, nullptr));
  tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
  FAILS(TCU_ERROR_NULL, tcu_plan_info(nullptr, &info));
  FAILS(TCU_ERROR_NULL, tcu_plan_info(plan, nullptr));
  FAILS(TCU_ERROR_SHAPE, tcu_plan_execute(plan, out.data(), 0, inputs, nullptr));
  CHECK(out.get() == std::vector<float>{7, 7, 7});
}

TEST_CASE("plan: alignment is the tensors', or what was promised") {
  const Array<float> x({9}, repeated(9, 1.0f));
  Array<float> out({8}, repeated(8, 7.0f));
  const int64_t eight[1] = {8};
  tcu_tensor_t from = x.tensor, to = out.tensor;
  from.extents = eight;
  const void *aligned[] = {x.data()}, *shifted[] = {x.data() + 1};
  Plan strict, promised, loose;
  OK(tcu_plan_map(&strict, context(), &to, nullptr, 1, &from, nullptr));
  FAILS(TCU_ERROR_ALIGNMENT, tcu_plan_execute(strict, out.data(), 1, shifted, nullptr));
  OK(tcu_plan_execute(strict, out.data(), 1, aligned, nullptr));

  tcu_options_t o = options();
  o.alignment = 4, from.data = to.data = nullptr;
  OK(tcu_plan_map(&loose, context(), &to, nullptr, 1, &from, &o));
  OK(tcu_plan_execute(loose, out.data(), 1, shifted, nullptr));
  o.alignment = 16;
  OK(tcu_plan_map(&promised, context(), &to, nullptr, 1, &from, &o));
  FAILS(TCU_ERROR_ALIGNMENT, tcu_plan_execute(promised, out.data(), 1, shifted, nullptr));

  // Less than an element's own alignment cannot be asked for.
  o.alignment = 1;
  Plan bytes;
  OK(tcu_plan_map(&bytes, context(), &to, nullptr, 1, &from, &o));
  const void *odd[] = {reinterpret_cast<const char *>(x.data()) + 1};
  FAILS(TCU_ERROR_ALIGNMENT, tcu_plan_execute(bytes, out.data(), 1, odd, nullptr));
  // In a call that runs at once there is nothing to promise: the pointers are there.
  from.data = x.data() + 1, to.data = out.data(), o.alignment = 16;
  OK(tcu_map(context(), &to, nullptr, 1, &from, &o));
}

TEST_CASE("plan: overlap is checked at every execution, and in place where it was planned so") {
  Array<float> x({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Array<float> y({4}, {10, 20, 30, 40});
  const int64_t four[1] = {4};
  tcu_tensor_t from[2] = {x.tensor, y.tensor}, to = x.tensor;
  to.extents = from[0].extents = four;
  const Expr add({input(0), input(1), op(TCU_OP_ADD)});
  tcu_options_t o = options();
  o.alignment = 4;
  Plan in_place, apart;
  OK(tcu_plan_map(&in_place, context(), &to, add, 2, from, &o));
  to.data = x.data() + 4;
  OK(tcu_plan_map(&apart, context(), &to, add, 2, from, &o));
  const void *inputs[] = {x.data(), y.data()};
  OK(tcu_plan_execute(in_place, x.data(), 2, inputs, nullptr));
  CHECK(x.get() == std::vector<float>{11, 22, 33, 44, 5, 6, 7, 8});
  OK(tcu_plan_execute(in_place, x.data() + 4, 2, inputs, nullptr));
  CHECK(x.get() == std::vector<float>{11, 22, 33, 44, 21, 42, 63, 84});
  FAILS(TCU_ERROR_OVERLAP, tcu_plan_execute(in_place, x.data() + 2, 2, inputs, nullptr));
  FAILS(TCU_ERROR_OVERLAP, tcu_plan_execute(apart, x.data(), 2, inputs, nullptr));
  CHECK(x.get() == std::vector<float>{11, 22, 33, 44, 21, 42, 63, 84});
}

TEST_CASE("plan: alpha and beta come with the execution, beta only if the plan knows of it") {
  const Array<float> x({3}, {1, 2, 3});
  Array<float> out({3}, {10, 10, 10});
  const tcu_scalar_t two = real(2), three = real(3);
  const tcu_options_t scaled = with(&two, nullptr), both = with(&two, &three);
  const void *inputs[] = {x.data()};
  Plan plain, accumulating;
  OK(tcu_plan_map(&plain, context(), out, nullptr, 1, x, nullptr));
  FAILS(TCU_ERROR_OPTION, tcu_plan_execute(plain, out.data(), 1, inputs, &both));
  CHECK(out.get() == std::vector<float>{10, 10, 10});
  OK(tcu_plan_execute(plain, out.data(), 1, inputs, &scaled));
  CHECK(out.get() == std::vector<float>{2, 4, 6});
  OK(tcu_plan_map(&accumulating, context(), out, nullptr, 1, x, &both));
  OK(tcu_plan_execute(accumulating, out.data(), 1, inputs, &both));
  CHECK(out.get() == std::vector<float>{8, 16, 24});
  // Without a beta it is 0.
  OK(tcu_plan_execute(accumulating, out.data(), 1, inputs, nullptr));
  CHECK(out.get() == std::vector<float>{1, 2, 3});
}

TEST_CASE("plan: a beta of nothing does not read the output, and a plan for one may be run without") {
  const Array<float> x({2}, {1, 2});
  Array<float> out({2}, {NAN, INFINITY});
  OK(tcu_map(context(), out, nullptr, 1, x, nullptr));
  CHECK(out.get() == std::vector<float>{1, 2});
}

TEST_CASE("plan: too little workspace is refused, enough is used") {
  // One long sum: rows that split it over blocks or threads need scratch. All rows are tried, by pins.
  const size_t n = size_t(1) << 20;
  const Array<float> x({int64_t(n)}, repeated(n, 1.0f));
  Array<float> out({1}, {-1});
  const void *inputs[] = {x.data()};
  int32_t rows = 0, seen = 0;
  OK(tcu_kernel_count(context(), &rows));
  for (int32_t i = 0; i < rows; ++i) {
    tcu_options_t o = options();
    OK(tcu_kernel_name(context(), i, &o.kernel));
    tcu_plan_t made = nullptr;
    const tcu_status_t status = tcu_plan_reduce(&made, context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 1, &kFirst, &o);
    INFO(o.kernel);
    if (status != TCU_OK) {
      CHECK(status == TCU_ERROR_KERNEL);
      continue;
    }
    size_t bytes = 0;
    OK(tcu_plan_workspace(made, &bytes));
    out.set({-1});
    OK(tcu_plan_execute(made, out.data(), 1, inputs, nullptr));  // from the pool
    CHECK(out.get()[0] == float(n));
    CHECK(std::string(info_of(made).kernel) == o.kernel);
    if (bytes > 0) {
      ++seen;
      const Array<uint8_t> scratch({int64_t(bytes)}, repeated(bytes, uint8_t(0xff)));
      o.workspace = scratch.data(), o.workspace_bytes = bytes - 1;
      out.set({-1});
      FAILS(TCU_ERROR_WORKSPACE, tcu_plan_execute(made, out.data(), 1, inputs, &o));
      CHECK(out.get()[0] == -1);
      o.workspace_bytes = bytes;
      for (int again = 0; again < 2; ++again) {
        OK(tcu_plan_execute(made, out.data(), 1, inputs, &o));
        CHECK(out.get()[0] == float(n));
      }
    }
    OK(tcu_plan_destroy(made));
  }
  CHECK(seen > 0);
}

TEST_CASE("plan: an empty reduction's plan fills, an empty map's does nothing") {
  const int64_t in[2] = {0, 3}, to[2] = {1, 3};
  const tcu_tensor_t x{nullptr, in, nullptr, TCU_FLOAT32, 2};
  Array<float> out({1, 3}, {7, 7, 7});
  tcu_tensor_t target = out.tensor;
  target.extents = to;
  Plan sum, none;
  OK(tcu_plan_reduce(&sum, context(), &target, TCU_REDUCE_SUM, nullptr, 1, &x, 1, &kFirst, nullptr));
  const void *inputs[] = {nullptr};
  OK(tcu_plan_execute(sum, out.data(), 1, inputs, nullptr));
  CHECK(out.get() == std::vector<float>{0, 0, 0});
  OK(tcu_plan_map(&none, context(), &x, nullptr, 1, &x, nullptr));
  CHECK(std::string(info_of(none).kernel) == "none");
  CHECK(info_of(none).bytes == 0);
  OK(tcu_plan_execute(none, nullptr, 1, inputs, nullptr));
}

TEST_CASE("plan: a kernel that is chosen by measuring") {
  tcu_options_t o = options();
  o.kernel = TCU_KERNEL_MEASURED;
  const tcu_scalar_t one = real(1);
  const auto kernel_of = [](const Plan &plan) { return std::string(info_of(plan).kernel); };
  const auto calls_of = [](const std::string &kernel) {
    int32_t rows = 0;
    int64_t calls = -1;
    OK(tcu_kernel_count(context(), &rows));
    for (int32_t row = 0; row < rows; ++row) {
      const char *name = nullptr;
      OK(tcu_kernel_name(context(), row, &name));
      if (name == kernel) OK(tcu_kernel_calls(context(), row, &calls));
    }
    return calls;
  };
  const Array<float> x({30, 4}, repeated(120, 2.0f)), b({1, 4}, {1, 2, 3, 4});
  SECTION("a reduction, into what is there") {
    o.beta = &one;
    Array<float> out({1, 4}, {1, 2, 3, 4});
    Plan plan, again;
    OK(tcu_plan_reduce(&plan, context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 1, &kFirst, &o));
    CHECK(out.get() == std::vector<float>{1, 2, 3, 4});
    const std::string kernel = kernel_of(plan);
    CHECK(kernel.rfind("reduce.", 0) == 0);
    const int64_t before = calls_of(kernel);
    OK(tcu_reduce(context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 1, &kFirst, &o));
    CHECK(out.get() == std::vector<float>{61, 62, 63, 64});
    CHECK(calls_of(kernel) == before + 1);
    OK(tcu_plan_reduce(&again, context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 1, &kFirst, &o));
    CHECK(kernel_of(again) == kernel);
  }
  SECTION("an expression with a scalar, in place") {
    const Expr e({input(0), input(1), op(TCU_OP_ADD), scalar(0, TCU_FLOAT32), op(TCU_OP_MUL)});
    const tcu_scalar_t three = real(3);
    o.scalars = &three, o.n_scalars = 1;
    Array<float> y({30, 4}, repeated(120, 1.0f));
    const tcu_tensor_t inputs[] = {y.tensor, b.tensor};
    OK(tcu_map(context(), y, e, 2, inputs, &o));
    const std::vector<float> got = y.get();
    for (size_t i = 0; i < 120; ++i) CHECK(got[i] == 3.0f * float(2 + i / 30));
  }
  SECTION("a scan, backwards") {
    o.scan_flags = TCU_SCAN_REVERSE;
    Array<float> out({30, 4}, repeated(120, 0.0f));
    OK(tcu_scan(context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 0, &o));
    const std::vector<float> got = out.get();
    for (size_t i = 0; i < 120; ++i) CHECK(got[i] == 2.0f * float(30 - i % 30));
  }
  SECTION("segments, by the rules") {
    const Array<int32_t> offsets({5}, {0, 1, 7, 7, 30});
    Array<float> out({4, 4}, repeated(16, 9.0f));
    Plan by_rule, plan;
    OK(tcu_plan_segmented_reduce(&by_rule, context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 0, offsets, nullptr));
    OK(tcu_plan_segmented_reduce(&plan, context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 0, offsets, &o));
    CHECK(kernel_of(plan) == kernel_of(by_rule));
    OK(tcu_segmented_reduce(context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 0, offsets, &o));
    const std::vector<float> of_a_row = {2, 12, 0, 46};
    const std::vector<float> got = out.get();
    for (size_t i = 0; i < 16; ++i) CHECK(got[i] == of_a_row[i % 4]);
  }
}

TEST_CASE("plan: any thread may execute it, and each keeps its own last error") {
  const Array<float> x({1000}, repeated(1000, 1.0f));
  Array<float> unused({1}, {0});
  Plan plan;
  OK(tcu_plan_reduce(&plan, context(), unused, TCU_REDUCE_SUM, nullptr, 1, x, 1, &kFirst, nullptr));
  constexpr int kThreads = 4;
  std::vector<std::unique_ptr<Array<float>>> outs;
  for (int t = 0; t < kThreads; ++t) outs.push_back(std::make_unique<Array<float>>(Sizes{1}, std::vector<float>{0}));
  std::vector<int> bad(kThreads, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const void *inputs[] = {x.data()};
      for (int i = 0; i < 50; ++i) {
        const bool fail = (i + t) % 2;
        const tcu_status_t status = tcu_plan_execute(plan, fail ? nullptr : outs[size_t(t)]->data(), 1, inputs, nullptr);
        const bool message = *tcu_last_error() != 0;
        bad[size_t(t)] += (status == TCU_OK) == fail || message != fail;
      }
    });
  for (std::thread &t : threads) t.join();
  OK(tcu_synchronize(context(), nullptr));
  CHECK(bad == std::vector<int>(kThreads, 0));
  for (const auto &out : outs) CHECK(out->get()[0] == 1000);
}
