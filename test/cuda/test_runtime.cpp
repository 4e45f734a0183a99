// Memory, streams, events, devices, threads and run-time compilation of the cuda backend, through the C API. Runs on a GPU
// and on the emulated library.
#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "api.h"

using namespace api;

namespace {

std::vector<float> ramp(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = float(i % 97);
  return values;
}

tcu_tensor_t vector_of(const Memory &m, const int64_t *n) { return {m.data, n, nullptr, TCU_FLOAT32, 1}; }

}  // namespace

TEST_CASE("cuda: the device") {
  int32_t count = 0;
  OK(tcu_device_count(&count, "cuda"));
  REQUIRE(count >= 1);
  tcu_device_info_t info = TCU_DEVICE_INFO_INIT;
  OK(tcu_device_info(&info, "cuda", 0));
  CHECK(std::strlen(info.name) > 0);
  CHECK(info.major >= 7);
  CHECK(info.processors > 0);
  CHECK(info.memory_bytes > 0);
  CHECK(tcu_device_info(&info, "cuda", count) == TCU_ERROR_DEVICE);
  CHECK(tcu_device_info(&info, "cuda", -1) == TCU_ERROR_DEVICE);
  tcu_context_t none = nullptr;
  CHECK(tcu_context_create(&none, "cuda", count) == TCU_ERROR_DEVICE);
  CHECK(none == nullptr);
  CHECK(std::string(tcu_context_backend(cuda())) == "cuda");
}

TEST_CASE("cuda: memory and copies in every direction") {
  void *stream = nullptr;
  OK(tcu_stream_create(cuda(), &stream));
  for (void *s : {static_cast<void *>(nullptr), stream}) {
    const std::vector<float> values = ramp(1000);
    Memory a(values, s), b(4000, s);
    CHECK(reinterpret_cast<uintptr_t>(a.data) % 256 == 0);
    OK(tcu_copy(cuda(), b.data, a.data, 4000, s));
    CHECK(b.get<float>(1000) == values);
    std::vector<float> host(1000);
    OK(tcu_copy(cuda(), host.data(), values.data(), 4000, s));  // host to host
    CHECK(host == values);
    OK(tcu_copy(cuda(), host.data(), values.data(), 0, s));
  }
  void *nothing = &stream;
  OK(tcu_malloc(cuda(), &nothing, 0, nullptr));
  CHECK(nothing == nullptr);
  OK(tcu_free(cuda(), nullptr, nullptr));
  OK(tcu_synchronize(cuda(), stream));
  OK(tcu_stream_destroy(cuda(), stream));
}

TEST_CASE("cuda: asking for more memory than there is fails, and nothing is broken after") {
  void *data = nullptr;
  CHECK(tcu_malloc(cuda(), &data, size_t(1) << 46, nullptr) == TCU_ERROR_OUT_OF_MEMORY);
  CHECK(std::string(tcu_last_error()).find("70368744177664 bytes") != std::string::npos);
  CHECK(data == nullptr);
  CHECK(Memory(ramp(10)).get<float>(10) == ramp(10));
}

TEST_CASE("cuda: events measure a stream") {
  void *stream = nullptr, *from = nullptr, *to = nullptr;
  OK(tcu_stream_create(cuda(), &stream));
  OK(tcu_event_create(cuda(), &from));
  OK(tcu_event_create(cuda(), &to));
  {
    Memory a(std::vector<float>(1 << 18, 1.0f), stream), b(1 << 20, stream);
    OK(tcu_event_record(cuda(), from, stream));
    for (int i = 0; i < 10; ++i) OK(tcu_copy(cuda(), b.data, a.data, 1 << 20, stream));
    OK(tcu_event_record(cuda(), to, stream));
  }
  float ms = -1;
  OK(tcu_event_elapsed(cuda(), &ms, from, to));
  CHECK(ms >= 0);
  CHECK(ms < 10000);
  OK(tcu_event_destroy(cuda(), from));
  OK(tcu_event_destroy(cuda(), to));
  OK(tcu_stream_destroy(cuda(), stream));
}

TEST_CASE("cuda: a fused expression is compiled once, and constants do not count") {
  const int64_t n = 300;
  Memory x(ramp(size_t(n))), y(size_t(n) * 4);
  const tcu_tensor_t in = vector_of(x, &n), out = vector_of(y, &n);
  for (const double factor : {2.0, 3.0}) {
    const Expr e({input(0), constant(factor), op(TCU_OP_MUL), constant(1), op(TCU_OP_ADD), input(0), op(TCU_OP_MUL)});
    OK(tcu_map(cuda(), &out, e.handle, 1, &in, nullptr));
    const std::vector<float> got = y.get<float>(size_t(n));
    for (size_t i = 0; i < got.size(); ++i) {
      const float v = float(i % 97);
      REQUIRE(got[i] == (v * float(factor) + 1) * v);
    }
  }
  tcu_plan_t plan = nullptr;
  const Expr e({input(0), constant(7), op(TCU_OP_MUL), constant(1), op(TCU_OP_ADD), input(0), op(TCU_OP_MUL)});
  OK(tcu_plan_map(&plan, cuda(), &out, e.handle, 1, &in, nullptr));
  tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
  OK(tcu_plan_info(plan, &info));
  CHECK(info.compiled == 1);
  OK(tcu_plan_destroy(plan));
}

namespace {

// One in which rows stand in for others; calls that a kernel has had there.
struct StandIns {
  StandIns() {
    ::unsetenv("TCUOPS_STAND_IN");
    OK(tcu_context_create(&context, "cuda", 0));
  }
  StandIns(const StandIns &) = delete;
  ~StandIns() { ::setenv("TCUOPS_STAND_IN", "off", 1), tcu_context_destroy(context); }
  int64_t calls(const char *kernel) const {
    int64_t calls = 0;
    const char *name = nullptr;
    for (int32_t row = 0; tcu_kernel_name(context, row, &name) == TCU_OK; ++row)
      if (std::string(name) == kernel) tcu_kernel_calls(context, row, &calls);
    return calls;
  }
  tcu_context_t context = nullptr;
};

// An expression that nobody has had compiled, on this machine either: of one input, without NaN.
std::vector<tcu_node_t> new_expression() {
  std::random_device any;
  std::vector<tcu_node_t> nodes{input(0)};
  constexpr tcu_op_t kOps[] = {TCU_OP_ADD, TCU_OP_SUB, TCU_OP_MUL, TCU_OP_MAX, TCU_OP_MIN};
  for (int i = 0; i < 30; ++i) {
    nodes.push_back(any() % 2 ? input(0) : constant(1.25 + i));
    nodes.push_back(op(kOps[any() % 5]));
    if (i % 4 == 3) nodes.push_back(op(TCU_OP_TANH));
  }
  return nodes;
}

}  // namespace

TEST_CASE("cuda: a map whose function is not compiled yet runs off its tape, to the same bits") {
  const Expr e(new_expression());
  const int64_t n = 1000;
  Memory x(ramp(size_t(n))), y(std::vector<float>(size_t(n), 7)), z(std::vector<float>(size_t(n), 7));
  const tcu_tensor_t in = vector_of(x, &n), out = vector_of(y, &n), other = vector_of(z, &n);
  const StandIns on;
  OK(tcu_map(on.context, &out, e.handle, 1, &in, nullptr));
  CHECK(on.calls("broadcast.tape") == 1);
  tcu_plan_t plan = nullptr;
  OK(tcu_plan_map(&plan, on.context, &other, e.handle, 1, &in, nullptr));  // waits for the compiler
  tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
  OK(tcu_plan_info(plan, &info));
  CHECK(info.compiled == 1);
  OK(tcu_plan_destroy(plan));
  OK(tcu_map(on.context, &other, e.handle, 1, &in, nullptr));
  CHECK(on.calls("broadcast.tape") == 1);
  CHECK(z.get<uint32_t>(size_t(n)) == y.get<uint32_t>(size_t(n)));
}

// For a process in which nothing can be compiled (test/CMakeLists.txt).
TEST_CASE("cuda: maps run off their tape where there is no compiler", "[.][no_compiler]") {
  const int64_t n = 1000;
  Memory x(ramp(size_t(n))), y(std::vector<float>(size_t(n), 7));
  const tcu_tensor_t in = vector_of(x, &n), out = vector_of(y, &n);
  const Expr e({input(0), constant(3), op(TCU_OP_MUL), constant(1), op(TCU_OP_ADD), input(0), op(TCU_OP_MUL)});
  const StandIns on;
  for (int64_t calls = 1; calls <= 3; ++calls) {
    OK(tcu_map(on.context, &out, e.handle, 1, &in, nullptr));
    CHECK(on.calls("broadcast.tape") == calls);
    const std::vector<float> got = y.get<float>(size_t(n));
    for (size_t i = 0; i < got.size(); ++i) {
      const float v = float(i % 97);
      REQUIRE(got[i] == (v * 3 + 1) * v);
    }
    tcu_plan_t plan = nullptr;  // waits, and is told
    CHECK(tcu_plan_map(&plan, on.context, &out, e.handle, 1, &in, nullptr) == TCU_ERROR_LIBRARY);
  }
}

TEST_CASE("cuda: threads go over to a function when it is compiled, and none of them waits") {
  const std::vector<tcu_node_t> nodes = new_expression();
  const StandIns on;
  constexpr int kThreads = 3;
  const int64_t n = 500;
  std::vector<std::unique_ptr<Memory>> x, y;
  for (int t = 0; t < kThreads; ++t) x.emplace_back(new Memory(ramp(size_t(n)))), y.emplace_back(new Memory(size_t(n) * 4));
  bool right[kThreads] = {};
  std::thread threads[kThreads];
  for (int t = 0; t < kThreads; ++t)
    threads[t] = std::thread([&, t] {
      tcu_expr_t e = nullptr;
      if (tcu_expr_create(&e, nodes.data(), int32_t(nodes.size())) != TCU_OK) return;
      const tcu_tensor_t in = vector_of(*x[size_t(t)], &n), out = vector_of(*y[size_t(t)], &n);
      const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
      for (bool is_last = false; !is_last;) {
        is_last = on.calls("broadcast.flat") > 0;
        if (tcu_map(on.context, &out, e, 1, &in, nullptr) != TCU_OK || std::chrono::steady_clock::now() > end) return;
      }
      right[t] = tcu_expr_destroy(e) == TCU_OK;
    });
  for (std::thread &t : threads) t.join();
  for (int t = 0; t < kThreads; ++t) {
    CHECK(right[t]);
    CHECK(y[size_t(t)]->get<uint32_t>(size_t(n)) == y[0]->get<uint32_t>(size_t(n)));
  }
  CHECK(on.calls("broadcast.tape") > 0);
}

TEST_CASE("cuda: rows shorter than a vector: kernels where they are shipped, and not where they would be compiled and broadcast.general not") {
  // No vectors, an operand that stays along the second mode, and more elements than there are threads; out without gaps and with some.
  const int64_t extents[] = {3, 4000, 30}, strides[] = {1, 0, 3}, dense[] = {1, 3, 12000}, gaps[] = {1, 3, 12001};
  Memory x(std::vector<int32_t>(360000, 2)), b(std::vector<int32_t>(90, 1)), y(std::vector<int32_t>(360030, 7));
  const tcu_tensor_t in[] = {{x.data, extents, nullptr, TCU_INT32, 3}, {b.data, extents, strides, TCU_INT32, 3}};
  const struct {
    const int64_t *strides;
    tcu_op_t id;
    const char *kernel;
  } cases[] = {{dense, TCU_OP_ADD, "broadcast.short"},
               {gaps, TCU_OP_ADD, "broadcast.sliding_register"},
               {dense, TCU_OP_POW, "broadcast.general"},
               {gaps, TCU_OP_POW, "broadcast.general"}};
  for (const auto &c : cases) {
    const Expr e({input(0), input(1), op(c.id)});
    const tcu_tensor_t out{y.data, extents, c.strides, TCU_INT32, 3};
    tcu_plan_t plan = nullptr;
    OK(tcu_plan_map(&plan, cuda(), &out, e.handle, 2, in, nullptr));
    tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
    OK(tcu_plan_info(plan, &info));
    CHECK(std::string(info.kernel) == c.kernel);
    CHECK(info.compiled == 0);
    OK(tcu_plan_destroy(plan));
  }
  const Expr sum({input(0), input(1), op(TCU_OP_ADD)});
  const tcu_tensor_t out{y.data, extents, gaps, TCU_INT32, 3};
  OK(tcu_map(cuda(), &out, sum.handle, 2, in, nullptr));
  const std::vector<int32_t> got = y.get<int32_t>(360030);
  for (size_t i = 0; i < got.size(); ++i) REQUIRE(got[i] == (i % 12001 == 12000 ? 7 : 3));
}

TEST_CASE("cuda: threads, each with its own stream, context and expressions") {
  constexpr int kThreads = 4;
  bool right[kThreads] = {};
  std::thread threads[kThreads];
  for (int t = 0; t < kThreads; ++t)
    threads[t] = std::thread([t, &right] {
      // No Catch assertions here: they are not for several threads.
      tcu_context_t c = nullptr;
      void *stream = nullptr, *x = nullptr, *y = nullptr;
      const int64_t n = 500 + t;
      std::vector<float> values = ramp(size_t(n)), got(values.size());
      // The same expression everywhere: one of them compiles it and the others wait.
      const tcu_node_t nodes[] = {input(0), constant(t), op(TCU_OP_ADD), op(TCU_OP_ABS2), op(TCU_OP_NEG)};
      tcu_expr_t e = nullptr;
      bool ok = tcu_context_create(&c, "cuda", 0) == TCU_OK && tcu_stream_create(c, &stream) == TCU_OK &&
                tcu_malloc(c, &x, values.size() * 4, stream) == TCU_OK && tcu_malloc(c, &y, values.size() * 4, stream) == TCU_OK &&
                tcu_expr_create(&e, nodes, 5) == TCU_OK && tcu_copy(c, x, values.data(), values.size() * 4, stream) == TCU_OK;
      tcu_options_t options = TCU_OPTIONS_INIT;
      options.stream = stream;
      const tcu_tensor_t in{x, &n, nullptr, TCU_FLOAT32, 1}, out{y, &n, nullptr, TCU_FLOAT32, 1};
      for (int round = 0; ok && round < 20; ++round) ok = tcu_map(c, &out, e, 1, &in, &options) == TCU_OK;
      ok = ok && tcu_copy(c, got.data(), y, got.size() * 4, stream) == TCU_OK;
      for (size_t i = 0; ok && i < got.size(); ++i) ok = got[i] == -(values[i] + float(t)) * (values[i] + float(t));
      ok = tcu_free(c, x, stream) == TCU_OK && tcu_free(c, y, stream) == TCU_OK && ok;
      ok = tcu_expr_destroy(e) == TCU_OK && tcu_stream_destroy(c, stream) == TCU_OK && tcu_context_destroy(c) == TCU_OK && ok;
      right[t] = ok;
    });
  for (std::thread &t : threads) t.join();
  for (const bool r : right) CHECK(r);
}

TEST_CASE("cuda: matrix product against the obvious loop") {
  if (emulated()) {
    WARN("skipped: the emulator has no cuBLAS");
    return;
  }
  const int64_t m = 33, n = 17, k = 65;
  std::vector<float> a = ramp(size_t(m * k)), b = ramp(size_t(k * n));
  Memory da(a), db(b), dc(size_t(m * n) * 4);
  for (const bool transposed : {false, true}) {
    const int64_t ea[] = {m, k}, eb[] = {k, n}, ec[] = {m, n}, sa[] = {k, 1};
    const tcu_tensor_t ta{da.data, ea, transposed ? sa : nullptr, TCU_FLOAT32, 2}, tb{db.data, eb, nullptr, TCU_FLOAT32, 2};
    const tcu_tensor_t tc{dc.data, ec, nullptr, TCU_FLOAT32, 2};
    OK(tcu_matmul(cuda(), &tc, &ta, &tb, nullptr));
    const std::vector<float> got = dc.get<float>(size_t(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += double(a[size_t(transposed ? i * k + l : l * m + i)]) * b[size_t(l + j * k)];
        REQUIRE(got[size_t(i + j * m)] == Approx(sum).epsilon(1e-5));
      }
  }
}

// A kernel may begin before the one before it has ended (lib/cuda/launch.cpp), and then waits.
TEST_CASE("cuda: calls one after another, each on what the one before it has written") {
  const Stream owner;
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.stream = owner.handle;
  const Expr plus({input(0), input(1), op(TCU_OP_ADD)});
  const int64_t one = 1;
  const int32_t dim = 0;
  for (const int64_t n : {5, 1000, 100003, 1 << 20}) {
    const int steps = emulated() ? (n > 1000 ? 1 : 3) : under_sanitizer() ? 4 : 100;
    std::vector<uint64_t> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = i * i + 1;
    Memory mx(x, owner.handle), my(size_t(n) * 8, owner.handle), ms(8, owner.handle);
    const tcu_tensor_t tx{mx.data, &n, nullptr, TCU_INT64, 1}, ty{my.data, &n, nullptr, TCU_INT64, 1}, ts{ms.data, &one, nullptr, TCU_INT64, 1};
    const tcu_tensor_t x_and_sum[] = {tx, ts}, y_and_sum[] = {ty, ts};
    for (int i = 0; i < steps; ++i) {
      OK(tcu_reduce(cuda(), &ts, TCU_REDUCE_SUM, nullptr, 1, &tx, 1, &dim, &options));
      OK(tcu_map(cuda(), &tx, plus.handle, 2, x_and_sum, &options));
      OK(tcu_scan(cuda(), &ty, TCU_REDUCE_SUM, nullptr, 1, &tx, 0, &options));
      OK(tcu_map(cuda(), &tx, plus.handle, 2, y_and_sum, &options));
    }
    for (int i = 0; i < steps; ++i) {
      uint64_t sum = 0, running = 0;
      for (const uint64_t v : x) sum += v;
      for (uint64_t &v : x) running += v + sum, v = running + sum;
    }
    OK(tcu_synchronize(cuda(), owner.handle));
    CHECK(mx.get<uint64_t>(size_t(n)) == x);
  }
}

// By the driver's own calls, so that this test links no CUDA: a stream is the same thing to both.
TEST_CASE("cuda: calls recorded into a graph, and the graph run again on changed data") {
  void *driver = emulated() ? nullptr : ::dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    WARN("skipped: graph capture needs the CUDA driver");
    return;
  }
  const auto begin = reinterpret_cast<int (*)(void *, int)>(::dlsym(driver, "cuStreamBeginCapture_v2"));
  const auto end = reinterpret_cast<int (*)(void *, void **)>(::dlsym(driver, "cuStreamEndCapture"));
  const auto instantiate = reinterpret_cast<int (*)(void **, void *, unsigned long long)>(::dlsym(driver, "cuGraphInstantiateWithFlags"));
  const auto run = reinterpret_cast<int (*)(void *, void *)>(::dlsym(driver, "cuGraphLaunch"));
  REQUIRE((begin && end && instantiate && run));

  constexpr int64_t n = 1 << 20, k = 64;
  const int64_t one = 1, square[] = {k, k};
  void *graph = nullptr, *ready = nullptr;
  const Stream owner, aside;  // outlive the memory that is freed on them
  void *const stream = owner.handle;
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.stream = stream;
  tcu_options_t measured = options;
  measured.kernel = TCU_KERNEL_MEASURED;
  // One that nothing has compiled yet, a reduction that takes workspace, a scan whose kernel is looked for meanwhile, a product, an
  // allocation and a copy.
  const Expr e({input(0), op(TCU_OP_ABS2), input(0), op(TCU_OP_SUB), constant(5), op(TCU_OP_ADD)});
  // (sums has values beforehand because initcheck does not see what a kernel writes by the machine's own copies.)
  Memory x(std::vector<float>(n, 1.0f), stream), sums(std::vector<float>(n, 0.0f), stream);
  Memory y(n * 4, stream), sum(4, stream), c(k * k * 4, stream);
  const tcu_tensor_t tx = vector_of(x, &n), ty = vector_of(y, &n), ts{sum.data, &one, nullptr, TCU_FLOAT32, 1};
  const tcu_tensor_t tscan = vector_of(sums, &n), ta{x.data, square, nullptr, TCU_FLOAT32, 2}, tc{c.data, square, nullptr, TCU_FLOAT32, 2};
  const int32_t dim = 0;
  OK(tcu_synchronize(cuda(), stream));

  constexpr int kGlobal = 0;
  REQUIRE(begin(stream, kGlobal) == 0);
  void *scratch = nullptr;
  CHECK(tcu_malloc(cuda(), &scratch, n * 4, stream) == TCU_OK);
  const tcu_tensor_t tt{scratch, &n, nullptr, TCU_FLOAT32, 1};
  CHECK(tcu_map(cuda(), &tt, e.handle, 1, &tx, &options) == TCU_OK);
  CHECK(tcu_copy(cuda(), y.data, scratch, n * 4, stream) == TCU_OK);
  CHECK(tcu_free(cuda(), scratch, stream) == TCU_OK);
  CHECK(tcu_reduce(cuda(), &ts, TCU_REDUCE_SUM, nullptr, 1, &ty, 1, &dim, &options) == TCU_OK);
  CHECK(tcu_scan(cuda(), &tscan, TCU_REDUCE_SUM, nullptr, 1, &tx, 0, &measured) == TCU_OK);
  CHECK(tcu_matmul(cuda(), &tc, &ta, &ta, &options) == TCU_OK);
  void *elsewhere = nullptr;  // on a stream that nobody records, more than the pool has
  CHECK(tcu_malloc(cuda(), &elsewhere, size_t(1) << 30, aside.handle) == TCU_OK);
  CHECK(tcu_free(cuda(), elsewhere, aside.handle) == TCU_OK);
  CHECK(tcu_synchronize(cuda(), aside.handle) == TCU_OK);
  INFO(tcu_last_error());
  REQUIRE(end(stream, &graph) == 0);
  REQUIRE(instantiate(&ready, graph, 0) == 0);
  for (const float v : {2.0f, 3.0f}) {
    const std::vector<float> values(n, v);
    OK(tcu_copy(cuda(), x.data, values.data(), n * 4, stream));
    REQUIRE(run(ready, stream) == 0);
    CHECK(y.get<float>(n) == std::vector<float>(n, v * v - v + 5));
    CHECK(sum.get<float>(1)[0] == (v * v - v + 5) * float(n));
    CHECK(sums.get<float>(n).back() == v * float(n));
    CHECK(c.get<float>(k * k) == std::vector<float>(k * k, v * v * float(k)));
  }
  // The graph on another stream while this one works: they share nothing.
  const Stream other;
  Memory eager(4, stream);
  const tcu_tensor_t te{eager.data, &one, nullptr, TCU_FLOAT32, 1};
  OK(tcu_synchronize(cuda(), stream));
  for (int i = 0; i < (under_sanitizer() ? 4 : 200); ++i) {
    REQUIRE(run(ready, other.handle) == 0);
    OK(tcu_reduce(cuda(), &te, TCU_REDUCE_SUM, nullptr, 1, &tx, 1, &dim, &options));
  }
  OK(tcu_synchronize(cuda(), other.handle));
  OK(tcu_synchronize(cuda(), stream));
  CHECK(sum.get<float>(1)[0] == 11 * float(n));  // 3 * 3 - 3 + 5
  CHECK(eager.get<float>(1)[0] == 3 * float(n));
}
