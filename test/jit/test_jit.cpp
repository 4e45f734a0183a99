// Generated code under NVRTC, without a GPU: this executable holds the registry, the code generator and the compiler of
// lib/cuda, and instead of loading a function (resolve) notes which one a row asked for. Tests whose name ends in
// [nvrtc] are skipped where libnvrtc is not installed.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "core/problems.h"
#include "cuda/compiler.h"
#include "cuda/embedded.h"
#include "cuda/function.h"
#include "cuda/nvrtc.h"
#include "cuda/rows.h"
#include "device/params.cuh"
#include "device/tile_box.cuh"
#include "device/tile_rows.cuh"
#include "plan/planner.h"

using namespace tcu;
using namespace support;

// ---- in place of function.cpp, launch.cpp and shipped.cpp

namespace tcu::cuda {
namespace {
thread_local Instance asked;
}
Function resolve(const Instance &f, int, const LaunchConfig &, bool) {
  asked = f;
  Function none;
  none.compiled = true;
  return none;
}
void launch(const Function &, const LaunchConfig &, const void *, void *) { std::abort(); }
bool is_shipped(const Instance &) { return false; }
}  // namespace tcu::cuda

namespace {

class NoBackend final : public Backend {
 public:
  NoBackend() {
    device_.backend = "cuda", device_.name = "as an H200", device_.major = 9;
    device_.processors = 132, device_.threads_per_processor = 2048, device_.shared_bytes = 227 * 1024;
    device_.l2_bytes = 50 << 20, device_.memory_bytes = int64_t(140) << 30;
  }
  const Device &device() const override { return device_; }
  std::span<const Kernel> kernels() const override { return cuda::registry(); }
  void *allocate(size_t, void *) override { std::abort(); }
  void release(void *, void *) override { std::abort(); }
  void copy(void *, const void *, size_t, void *) override { std::abort(); }
  void zero(void *, size_t, void *) override { std::abort(); }
  void synchronize(void *) override { std::abort(); }
  void *stream_create() override { std::abort(); }
  void stream_destroy(void *) override { std::abort(); }
  void *event_create() override { std::abort(); }
  void event_destroy(void *) override { std::abort(); }
  void event_record(void *, void *) override { std::abort(); }
  float event_elapsed(void *, void *) override { std::abort(); }
  void mark_segments(const SegmentMarks &, void *) override {}
  void matmul(const Matmul &, void *) override { std::abort(); }

 private:
  Device device_;
};

// ---- random expressions

constexpr DType kTypes[] = {DType::f16, DType::bf16,  DType::f32, DType::f32, DType::f64, DType::i32,  DType::i64,   DType::u8,
                            DType::bool_, DType::i8, DType::u32, DType::c64, DType::c128, DType::f8e4m3, DType::f8e5m2};

struct Generator {
  Rng rng;
  std::vector<DType> inputs;
  std::vector<Node> nodes;

  DType leaf(DType wanted = DType::none) {
    const int what = int(pick(rng, 0, 9));
    const int i = int(pick(rng, 0, int64_t(inputs.size()) - 1));
    if (what < 7 && (wanted == DType::none || inputs[size_t(i)] == wanted))
      return nodes.push_back(Node::input(i)), inputs[size_t(i)];
    const DType d = wanted == DType::none ? one_of(rng, kTypes) : wanted;
    nodes.push_back(what == 8 ? Node::scalar(int(pick(rng, 0, 2)), d) : Node::constant(d, make_scalar(d, 1)));
    return d;
  }
  // Appends a tree of at most this depth; its dtype.
  DType tree(int depth, Op root = Op::none) {
    if (depth == 0) return leaf();
    if (root == Op::none && chance(rng, 10)) {
      tree(depth - 1);
      const DType to = one_of(rng, kTypes);
      return nodes.push_back(Node::cast(to)), to;
    }
    const size_t start = nodes.size();
    for (int attempt = 0; attempt < 200; ++attempt) {
      Op op = root;
      while (op == Op::none) {
        const int id = int(pick(rng, 1, 450));
        if (is_op(id)) op = Op(id);
      }
      DType args[3] = {};
      for (int k = 0; k < info(op).arity; ++k)
        args[k] = info(op).result == Result::Select && k == 0 ? leaf(DType::bool_) : tree(depth > 2 && chance(rng, 50) ? 1 : depth - 1);
      try {
        const DType result = op_types(op, args).result;
        nodes.push_back(Node::op(op));
        return result;
      } catch (const Error &) {  // not defined on these
        nodes.resize(start);
      }
    }
    return leaf();
  }
};

struct Task {
  std::string row, source;
};

std::vector<DType> random_inputs(Rng &rng) {
  std::vector<DType> list(size_t(pick(rng, 1, 4)));
  const DType common = one_of(rng, kTypes);
  for (DType &d : list) d = chance(rng, 60) ? common : one_of(rng, kTypes);
  return list;
}

// A problem of random family over random strides, with this tree as its expression.
Problem random_problem(Rng &rng, Op root) {
  for (;;) {
    Generator g{rng, random_inputs(rng), {}};
    const DType element = g.tree(int(pick(rng, 1, 3)), root);
    const int family = int(pick(g.rng, 0, 2)), n_more = family == 0 && chance(g.rng, 30) ? int(pick(g.rng, 1, kMaxResults - 1)) : 0;
    for (int i = 0; i < n_more; ++i) g.tree(int(pick(g.rng, 0, 2)));
    rng = g.rng;
    if (g.nodes.size() > size_t(kMaxNodes)) continue;
    const Sizes extents{pick(rng, 1, 100), pick(rng, 2, 9), pick(rng, 1, 1000)};
    Sizes out = extents;
    const bool whole = family == 1 && chance(rng, 30);
    if (family == 1) out[0] = 1;
    if (whole) out[2] = 1;
    Call call;
    call.tensor(chance(rng, 70) ? element : one_of(rng, kTypes), out);
    const bool strided = chance(rng, 50);
    for (const DType d : g.inputs) {
      Sizes mine = extents;
      if (family == 0 && chance(rng, 40)) mine[size_t(pick(rng, 0, 2))] = 1;
      if (strided && chance(rng, 60)) call.tensor(d, mine, {mine[1], 1, mine[0] * mine[1]});
      else call.tensor(d, mine);
    }
    call.expr(g.nodes);
    try {
      if (family == 0) {
        for (int i = 0; i < n_more; ++i) call.result(one_of(rng, kTypes));
        return call.map();
      }
      constexpr ReduceOp scans[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min};
      if (family == 2) return call.scan(one_of(rng, scans), int(pick(rng, 0, 2)), {chance(rng, 20), chance(rng, 20)});
      const auto op = ReduceOp(pick(rng, 1, int64_t(ReduceOp::sumexp)));
      if (is_arg(op)) call.tensors.front().dtype = DType::i64;
      if (info(op).second != Second::None && chance(rng, 50)) call.result(one_of(rng, kTypes));
      return call.reduce(op, whole ? std::vector<int32_t>{0, 2} : std::vector<int32_t>{0});
    } catch (const Error &e) {
      if (e.code == Code::internal) throw;
    }
  }
}

// The rows that take a problem, as source.
std::vector<Task> tasks_of(const Problem &p) {
  static NoBackend backend;
  std::vector<Task> tasks;
  for (const Kernel &row : backend.kernels()) {
    if (row.family != p.family || row.stands_in || !row.accepts(p, backend.device())) continue;  // what stands in is never compiled
    row.prepare(p, row.configure(p, backend.device()), backend);
    tasks.push_back({row.name, cuda::source_of(cuda::asked)});
  }
  return tasks;
}

// Of this thread: other work on the machine is not counted.
double cpu_ms() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

// What the compiler took for each, in ms, by row; and the names of the functions.
using Times = std::map<std::string, std::vector<std::pair<double, std::string>>>;

// The messages of those that do not compile. To machine code where the times are asked for; else to PTX, which is sooner done.
std::vector<std::string> compile_all(const std::vector<Task> &tasks, Times *times = nullptr) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> failures;
  const auto work = [&] {
    for (size_t i; (i = next++) < tasks.size();) {
      const double start = cpu_ms();
      std::string failure;
      try {
        if (cuda::nvrtc_compile(tasks[i].source, times ? "sm_90" : "compute_90").empty()) failure = "no code";
      } catch (const Error &e) {
        failure = e.what();
      }
      const double ms = cpu_ms() - start;
      std::lock_guard lock(mutex);
      if (times) (*times)[tasks[i].row].push_back({ms, tasks[i].source.substr(3, tasks[i].source.find('\n') - 3)});
      if (!failure.empty()) failures.push_back(tasks[i].row + ": " + failure + "\n" + tasks[i].source);
    }
  };
  std::thread other(work);
  work();
  other.join();
  return failures;
}

bool skipped() {
  if (cuda::nvrtc_available()) return false;
  std::printf("skipped: libnvrtc is not here\n");
  return true;
}

Device card(int major = 9, int processors = 132) {
  Device device = NoBackend().device();
  device.major = major, device.processors = processors;
  return device;
}
// The row that the planner takes on such a card.
std::string chosen(const Problem &p, int major = 9, int processors = 132) { return choose(cuda::registry(), p, card(major, processors))->name; }

}  // namespace

TEST_CASE("jit: every embedded header compiles alone [nvrtc]") {
  if (skipped()) return;
  std::vector<Task> tasks;
  for (int i = 0; i < cuda::n_embedded_headers; ++i) {
    const std::string name = cuda::embedded_headers[i].name;
    if (name.ends_with(".def")) continue;  // rows of a table: meaningless alone
    tasks.push_back({name, "#include \"" + name + "\"\nextern \"C\" __global__ void kernel() {}\n"});
  }
  CHECK(tasks.size() > 5);
  for (const std::string &failure : compile_all(tasks)) FAIL_CHECK(failure);
}

TEST_CASE("jit: every op, and random expressions, under every row that takes them [nvrtc]") {
  if (skipped()) return;
  Rng rng(20260);
  std::vector<Task> tasks;
  std::set<std::string> rows;
  std::set<Op> compiled;  // in a tree of this op or of another
  const auto add = [&](Op root) {
    Problem problem = random_problem(rng, root);
    if (chance(rng, 25)) problem.index_bits = 64;  // as if it were large
    const std::vector<Task> all = tasks_of(problem);
    if (all.empty()) return;
    const auto name = [&](const Task &t) { return t.row + std::to_string(problem.index_bits); };
    // One of them, and each row that has had none yet with indices of this width.
    size_t chosen = size_t(pick(rng, 0, int64_t(all.size()) - 1));
    for (size_t i = 0; i < all.size(); ++i)
      if (!rows.count(name(all[i]))) chosen = i;
    rows.insert(name(all[chosen]));
    tasks.push_back(all[chosen]);
    const TypedExpr map = cuda::asked.map();
    for (const Step &step : map.steps)
      if (step.kind == Step::Kind::op) compiled.insert(step.op);
  };
  for (int id = 1; id < 450; ++id)
    if (is_op(id) && !compiled.count(Op(id))) add(Op(id));
  while (tasks.size() < 100) add(Op::none);
  Times times;
  for (const std::string &failure : compile_all(tasks, &times)) FAIL_CHECK(failure);
  for (auto &[row, list] : times) {
    std::sort(list.begin(), list.end());
    std::printf("%-24s %3zu functions, ms to compile: least %.0f, median %.0f, most %.0f for %s\n", row.c_str(), list.size(),
                list[0].first, list[list.size() / 2].first, list.back().first, list.back().second.c_str());
  }
}

// A map that leaves so many values of two inputs of a dtype, stored as these: out's and the others'.
std::vector<Task> maps_of(int n_results, DType in, const DType *stored, bool wide = false) {
  std::vector<Task> tasks;
  // A line; rows that are no whole vectors, of inputs and of an outer product; whole vectors; transposed, and in a view; rows shorter than a
  // vector; pixels of three channels, to planes and back; both inputs transposed; across each other.
  struct {
    Sizes out, first, last, strides, strides_of_first = {};
  } const shapes[] = {{{30011}, {30011}, {30011}, {1}},         {{31, 257}, {31, 257}, {31, 1}, {1, 31}},
                      {{31, 257}, {31, 1}, {1, 257}, {1, 1}},   {{64, 257}, {64, 257}, {1, 257}, {1, 1}},
                      {{128, 64}, {128, 64}, {128, 64}, {64, 1}}, {{99}, {99}, {99}, {2}},
                      {{3, 257}, {3, 257}, {3, 1}, {1, 3}},     {{64, 3}, {64, 3}, {64, 3}, {3, 1}},
                      {{3, 64}, {3, 64}, {3, 64}, {64, 1}},     {{33, 65}, {33, 65}, {33, 65}, {65, 1}, {65, 1}},
                      {{20, 17, 30}, {20, 17, 30}, {20, 17, 30}, {510, 1, 17}, {30, 600, 1}}};
  for (const auto &shape : shapes) {
    Call call;
    call.tensor(stored[0], shape.out).tensor(in, shape.first, shape.strides_of_first).tensor(in, shape.last, shape.strides);
    std::vector<Node> nodes = sum_of_inputs(2);
    for (int i = 1; i < n_results; ++i) {
      const Node more[] = {Node::input(i % 2), Node::op(i == 1 ? Op::tanh : Op::abs2)};
      nodes.insert(nodes.end(), more, more + (i < 3 ? 2 : 1));
      call.result(stored[i]);
    }
    Problem p = call.expr(nodes).map();
    if (wide) p.index_bits = 64;
    for (Task &t : tasks_of(p)) tasks.push_back(std::move(t));
  }
  return tasks;
}

TEST_CASE("jit: maps of two, three and four results, under every row that takes them [nvrtc]") {
  if (skipped()) return;
  constexpr DType f16 = DType::f16, f32 = DType::f32, f64 = DType::f64, i8 = DType::i8;
  struct {
    DType in, stored[kMaxResults];
  } const types[] = {{f32, {f32, f32, f32, f32}}, {f16, {f16, f64, f32, i8}}, {f64, {f32, f16, f64, DType::bool_}}};
  std::vector<Task> tasks;
  std::set<std::string> rows, sources;
  for (int n = 2; n <= kMaxResults; ++n)
    for (int t = 0; t < int(std::size(types)); ++t)
      for (const Task &task : maps_of(n, types[t].in, types[t].stored, t == 2)) {
        // Of each row a function of each number of results, and of the other dtypes one with the most.
        if (t > 0 && n < kMaxResults) continue;
        if (!rows.insert(task.row + std::to_string(n) + std::to_string(t)).second || !sources.insert(task.source).second) continue;
        CHECK(task.source.find("Several<") != std::string::npos);
        tasks.push_back(task);
      }
  for (const Kernel &row : cuda::registry())
    for (int n = 2; n <= kMaxResults && row.family == Family::broadcast; ++n) {
      if (row.stands_in || std::string(row.name) == "broadcast.copied") continue;  // which run others' functions, or their own
      INFO(row.name << " of " << n);
      CHECK(rows.count(row.name + std::to_string(n) + "0"));
    }
  for (const std::string &failure : compile_all(tasks)) FAIL_CHECK(failure);
}

TEST_CASE("jit: functions differ by what their results are and by how these are stored") {
  const DType stored[] = {DType::f32, DType::f16, DType::f16, DType::f64};
  std::set<std::string> sources;
  const auto add = [&](const std::vector<Node> &nodes, std::vector<DType> more) {
    Call call;
    call.tensor(DType::f32, {100}).tensor(DType::f32, {100}).expr(nodes);
    for (DType d : more) call.result(d);
    const std::string source = tasks_of(call.map()).at(0).source;
    CHECK((source.find("Identity<") == std::string::npos) == !more.empty());
    CHECK((source.find("Several<") != std::string::npos) == !more.empty());
    sources.insert(source.substr(source.find('\n')));  // but for the name
  };
  const Node x = Node::input(0), minus = Node::op(Op::neg);
  add({x}, {});
  add({x, x}, {stored[0]});  // of one step; and no plain copy
  add({x, x}, {stored[1]});
  add({x, x, x}, {stored[0], stored[1]});
  add({x, x, x}, {stored[1], stored[0]});
  add({x, x, x, x}, {stored[0], stored[1], stored[2]});
  add({x, x, x, x}, {stored[0], stored[1], stored[3]});
  add({x, x, minus, x}, {stored[0], stored[0]});
  add({x, x, x, minus}, {stored[0], stored[0]});
  add({x, minus, x, x}, {stored[0], stored[0]});
  CHECK(sources.size() == 10);
}

TEST_CASE("jit: functions differ by how many modes there are, and by whether an input is read one by one") {
  const auto source = [](const Sizes &shape, const Sizes &in, const Sizes &strides) {
    Call call;
    call.tensor(DType::f32, shape);
    strides.empty() ? call.tensor(DType::f32, in) : call.tensor(DType::f32, in, strides);
    const std::vector<Task> rows = tasks_of(call.tensor(DType::f32, shape).expr(support::sum_of_inputs(2)).map());
    return std::find_if(rows.begin(), rows.end(), [](const Task &row) { return row.row == "broadcast.general"; })->source;
  };
  const std::string plain = source({64, 100}, {64, 1}, {}), larger = source({128, 30}, {128, 1}, {}), three = source({64, 10, 20}, {64, 1, 20}, {});
  const std::string apart = source({64, 100}, {64, 100}, {1, 65});
  CHECK(plain == larger);
  CHECK(plain.find("OfModes<ParamsSmall, 2, 0>") != std::string::npos);
  CHECK(three.find("OfModes<ParamsSmall, 3, 0>") != std::string::npos);
  CHECK(plain.find(", true>;") != std::string::npos);
  CHECK(apart.find(", false>;") != std::string::npos);
}

TEST_CASE("jit: the pointers of a third and fourth result count for the size of the parameters") {
  const auto size = [](int n_inputs, int n_results) {
    Call call;
    for (int i = 0; i <= n_inputs; ++i) call.tensor(DType::f32, {100});
    for (int i = 1; i < n_results; ++i) call.result(DType::f32);
    std::vector<Node> nodes = sum_of_inputs(n_inputs);
    nodes.resize(nodes.size() + size_t(n_results) - 1, Node::input(0));
    tasks_of(call.expr(nodes).map());
    return cuda::asked.size;
  };
  CHECK(size(4, 2) == cuda::ParamSize::small);
  CHECK(size(3, 3) == cuda::ParamSize::small);
  CHECK(size(2, 4) == cuda::ParamSize::small);
  CHECK(size(4, 3) == cuda::ParamSize::medium);
  CHECK(size(3, 4) == cuda::ParamSize::medium);
  CHECK(size(14, 4) == cuda::ParamSize::medium);
}

// No random expression is what these take.
TEST_CASE("jit: sums and scans of what tensor cores multiply, under every row that takes them [nvrtc]") {
  if (skipped()) return;
  std::vector<Task> tasks;
  std::set<std::string> rows, names;
  const auto add = [&](Problem p) {
    for (const int bits : {32, 64}) {
      if (bits == 64 && p.in[0] != DType::f16) continue;
      p.index_bits = bits;
      for (const Task &t : tasks_of(p))
        if (t.row.find(".tcu.") != std::string::npos && names.insert(t.source).second) rows.insert(t.row), tasks.push_back(t);
    }
  };
  const std::vector<Node> product = {Node::input(0), Node::input(1), Node::op(Op::mul)};
  const auto sum = [&](DType in, const Sizes &extents, const std::vector<int32_t> &dims, bool weighted = false) {
    Call call;
    call.tensor(kind_of(in) == Kind::Int || kind_of(in) == Kind::UInt ? DType::i64 : in, kept_of(extents, dims)).tensor(in, extents);
    if (weighted) call.tensor(in, {extents[0], 1}).expr(product);
    else call.expr({Node::input(0)});
    add(call.reduce(ReduceOp::sum, dims));
  };
  for (const DType in : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8, DType::u8, DType::f8e4m3, DType::f8e5m2}) {
    sum(in, {1 << 20, 3}, {0});
    sum(in, {1001, 300}, {0});
    sum(in, {1 << 20}, {0});
    sum(in, {640, 300}, {1});
    sum(in, {256, 300}, {0}, in == DType::f16 || in == DType::bf16);
  }
  const auto scan = [&](DType in, DType out, const Sizes &extents) {
    Call call;
    call.tensor(out, extents).tensor(in, extents).expr({Node::input(0)});
    add(call.scan(ReduceOp::sum, 0, {}));
  };
  for (const DType in : {DType::f16, DType::bf16, DType::f32, DType::i8, DType::u8})
    for (const DType out : {in, kind_of(in) == Kind::Float ? DType::f32 : DType::i64})
      for (const Sizes &extents : {Sizes{16, 300}, {100, 300}, {1 << 20, 3}}) scan(in, out, extents);
  for (const Kernel &row : cuda::registry()) CHECK((std::string(row.name).find(".tcu.") == std::string::npos || rows.count(row.name)));
  for (const std::string &failure : compile_all(tasks)) FAIL_CHECK(failure);
}

TEST_CASE("jit: scans of two to eight interleaved lines, in tiles and cut into tiles [nvrtc]") {
  if (skipped()) return;
  std::vector<Task> tasks;
  for (const DType d : {DType::f32, DType::f16, DType::f64})
    for (int64_t lines = 2; lines <= (d == DType::f64 ? 4 : 8); ++lines)
      for (const Sizes &extents : {Sizes{lines, 100000}, {lines, 100, 1000}}) {
        Call call;
        const size_t before = tasks.size();
        const Problem p = call.tensor(d, extents).tensor(d, extents).expr({Node::input(0)}).scan(ReduceOp::prod, 1, {});
        for (const Task &t : tasks_of(p))
          if (t.row == "scan.interleaved") tasks.push_back(t);
        CHECK(tasks.size() == before + 1);
      }
  for (const std::string &failure : compile_all(tasks)) FAIL_CHECK(failure);
}

TEST_CASE("rows: a cluster's lines are those that all begin at once, on a device that has clusters") {
  const auto row_along = [](int dim, DType d, const Sizes &extents, int major, int processors) {
    Call call;
    const Problem p = call.tensor(d, extents).tensor(d, extents).expr({Node::input(0)}).scan(ReduceOp::sum, dim, {});
    return chosen(p, major, processors);
  };
  const auto row = [&](DType d, const Sizes &extents, int major = 9, int processors = 132) { return row_along(0, d, extents, major, processors); };
  const auto across = [&](DType d, const Sizes &extents, int major = 9) { return row_along(1, d, extents, major, 132); };
  CHECK(across(DType::i32, {248, 204}) == "scan.cluster");
  CHECK(across(DType::i32, {248, 204}, 8) != "scan.cluster");
  CHECK(across(DType::f32, {248, 100}) == "scan.cluster");
  CHECK(across(DType::f32, {400, 100}) != "scan.cluster");      // few steps of more lines
  CHECK(across(DType::f32, {248, 20}) != "scan.cluster");       // very few
  CHECK(across(DType::f64, {301, 1700}) == "scan.cluster");     // long rows that are no words of 16 bytes
  CHECK(across(DType::f32, {301, 1700}) == "scan.columns");     // of which the machine copies what is
  CHECK(across(DType::bf16, {98, 5361}) == "scan.columns");     // that are short, or of much: copied whole
  CHECK(across(DType::f16, {301, 2000, 100}) == "scan.columns");
  CHECK(across(DType::f16, {301, 600, 34}) == "scan.lines");
  CHECK(across(DType::i8, {1396, 2, 8505}) == "scan.short");
  CHECK(across(DType::bf16, {96, 5361}) == "scan.columns");
  CHECK(across(DType::bf16, {118, 38896}) == "scan.columns");   // too much for so few in a nanosecond
  CHECK(across(DType::f16, {7644, 754}) == "scan.lines");       // parts of rows that begin anywhere, of little
  CHECK(across(DType::f16, {7644, 7540}) == "scan.columns");
  CHECK(across(DType::f16, {6351, 121, 6}) == "scan.lines");
  CHECK(across(DType::f16, {6351, 121, 60}) == "scan.columns");
  CHECK(across(DType::bf16, {3822225, 20}) == "scan.columns");
  CHECK(across(DType::i8, {3415, 76, 28}) == "scan.columns");   // of narrower elements less is enough
  CHECK(across(DType::f32, {400001, 128}) == "scan.columns");
  CHECK(across(DType::i32, {23058, 728}) == "scan.columns");    // a word at a time
  for (const Sizes &extents : {Sizes{512}, {1000}, {65536}, {65536, 16}, {8192, 256}, {100003}, {262144}}) {
    CHECK(row(DType::f16, extents) == "scan.cluster");
    CHECK(row(DType::f16, extents, 8) != "scan.cluster");
    CHECK(row(DType::f16, extents, 9, 8) != "scan.cluster");
  }
  CHECK(row(DType::f32, {262144}) == "scan.lookback");      // more than 16 blocks of 512 threads
  CHECK(row(DType::f16, {262144, 16}) == "scan.lookback");  // more blocks than begin at once
  CHECK(row(DType::f16, {100003, 4}) == "scan.lookback");   // lines that begin anywhere
  CHECK(row(DType::bf16, {51587}) == "scan.cluster");       // but for 8192 threads
  CHECK(row(DType::f16, {500, 4}) == "scan.cluster");       // few lines that are no whole pieces
  CHECK(row(DType::f16, {500, 400}) == "scan.tiles");
  CHECK(row(DType::f16, {1024, 1 << 18}) == "scan.tiles");
  CHECK(row(DType::f32, {16384, 1 << 14}) == "scan.tiles");   // three times as many threads
  CHECK(row(DType::f32, {16384, 200}) != "scan.tiles");       // not as many lines as these blocks
  CHECK(row(DType::f32, {19000, 1 << 14}) != "scan.tiles");   // two blocks on a multiprocessor
  CHECK(row(DType::f16, {65536}, 12) == "scan.cluster");    // eight blocks
  CHECK(row(DType::f16, {262144}, 12) == "scan.lookback");
}

TEST_CASE("rows: scans of a few lines whose elements alternate") {
  const auto row = [](DType d, const Sizes &extents, const Sizes &strides = {}) {
    Call call;
    call.tensor(d, extents);
    if (strides.empty()) call.tensor(d, extents);
    else call.tensor(d, extents, strides);
    const Problem p = call.expr({Node::input(0)}).scan(ReduceOp::sum, 1, {});
    return chosen(p);
  };
  for (const DType d : {DType::f16, DType::f32, DType::f64}) CHECK(row(d, {2, 1 << 20}) == "scan.interleaved");
  CHECK(row(DType::f16, {3, 100000}) == "scan.interleaved");
  CHECK(row(DType::f16, {6, 1 << 20}) == "scan.interleaved");
  CHECK(row(DType::f32, {4, 20000, 100}) == "scan.interleaved");
  CHECK(row(DType::i8, {2, 65536}) == "scan.interleaved");
  CHECK(row(DType::f32, {2, 16384}) == "scan.cluster");             // a cluster a line is sooner done
  CHECK(row(DType::i8, {2, 40000}) == "scan.cluster");
  CHECK(row(DType::f32, {2, 16384, 4}) == "scan.interleaved");      // of eight not
  CHECK(row(DType::f32, {6, 1 << 20}) == "scan.columns");           // more sums than a thread has registers for, of much
  CHECK(row(DType::f32, {6, 1 << 18}) == "scan.interleaved");
  CHECK(row(DType::f16, {8, 1 << 20}) == "scan.columns");
  CHECK(row(DType::f32, {9, 1 << 18}) == "scan.columns");
  CHECK(row(DType::f32, {2, 1 << 20}, {1, 3}) != "scan.interleaved");  // gaps
  CHECK(row(DType::f32, {3, 65537, 8}) != "scan.interleaved");      // long groups that begin anywhere, of lines that fill no vector
  CHECK(row(DType::f32, {3, 333, 1000}) == "scan.interleaved");     // groups of which a tile has several
  CHECK(row(DType::f16, {8, 200, 10000}) == "scan.interleaved");
  CHECK(row(DType::f16, {8, 200, 600}) != "scan.interleaved");
  CHECK(row(DType::f32, {4, 32, 100000}) == "scan.staged");         // short lines
  CHECK(row(DType::f16, {2, 12, 700000}) == "scan.interleaved");
  CHECK(row(DType::i8, {3, 300, 10000}) != "scan.interleaved");
  CHECK(row(DType::f32, {4, 65537, 8}) == "scan.interleaved");
}

TEST_CASE("rows: reductions whose results lie in another order than what they are of") {
  const auto row = [](DType d, const Sizes &extents, const Sizes &in, int dim, ReduceOp op = ReduceOp::sum) {
    Call call;
    Sizes kept = extents;
    kept[size_t(dim)] = 1;
    return chosen(call.tensor(is_arg(op) ? DType::i64 : d, kept).tensor(d, extents, in).expr({Node::input(0)}).reduce(op, {dim}));
  };
  CHECK(row(DType::f32, {408, 3, 19672}, {59016, 19672, 1}, 1) == "reduce.turned");
  CHECK(row(DType::f32, {408, 3, 196}, {588, 196, 1}, 1) != "reduce.turned");                        // few tiles
  CHECK(row(DType::f16, {20, 3, 401200}, {1203600, 401200, 1}, 1) != "reduce.turned");               // a third of each
  CHECK(row(DType::f32, {408, 3, 19672}, {59016, 19672, 1}, 1, ReduceOp::var) != "reduce.turned");
  CHECK(row(DType::f16, {408, 9, 19672}, {177048, 19672, 1}, 1) == "reduce.copied");
  CHECK(row(DType::f16, {408, 19672, 3}, {59016, 3, 1}, 2) == "reduce.copied");
  CHECK(row(DType::f16, {408, 19672, 64}, {1259008, 64, 1}, 2) == "reduce.copied");
  CHECK(row(DType::f16, {408, 64, 19672}, {1259008, 19672, 1}, 1) != "reduce.copied");               // many elements each
  CHECK(row(DType::f32, {408, 3, 196}, {588, 196, 1}, 1) != "reduce.copied");                        // few results
  CHECK(row(DType::f32, {20000, 9, 20000}, {180000, 20000, 1}, 1) != "reduce.copied");               // more than there may be room for
  CHECK(row(DType::f32, {19672, 3, 408}, {1, 19672, 59016}, 1) != "reduce.copied");                  // as they lie
  CHECK(row(DType::f32, {4, 3, 802000}, {3, 1, 12}, 1) != "reduce.copied");                          // in what is a sector
  CHECK(row(DType::f16, {408, 9, 19672}, {177048, 19672, 1}, 1, ReduceOp::argmax) == "reduce.copied");
}

TEST_CASE("rows: reductions of inputs that lie across each other") {
  const auto row = [](DType d, const Sizes &extents, const Sizes &first, const Sizes &second, const std::vector<int32_t> &dims) {
    Call call;
    call.tensor(d, kept_of(extents, dims)).tensor(d, extents, first).tensor(d, extents, second);
    return chosen(call.expr({Node::input(0), Node::input(1), Node::op(Op::mul)}).reduce(ReduceOp::sum, dims));
  };
  const auto matrix = [&](DType d, const Sizes &extents, const std::vector<int32_t> &dims) {
    return row(d, extents, {1, extents[0]}, {extents[1], 1}, dims);
  };
  for (const DType d : {DType::f16, DType::f32, DType::f64, DType::i8})
    for (const std::vector<int32_t> &dims : {std::vector<int32_t>{0}, {1}, {0, 1}}) CHECK(matrix(d, {4096, 2048}, dims) == "reduce.turned");
  CHECK(matrix(DType::f32, {512, 512}, {0, 1}) == "reduce.turned");
  CHECK(matrix(DType::f32, {512, 512}, {0}) != "reduce.turned");        // little
  CHECK(matrix(DType::f32, {262144, 16}, {0, 1}) == "reduce.turned");   // half of a tile
  CHECK(matrix(DType::f32, {262144, 16}, {0}) != "reduce.turned");
  CHECK(row(DType::f32, {512, 8, 4096}, {1, 512, 4096}, {32768, 4096, 1}, {1}) == "reduce.turned");  // both kept
  CHECK(row(DType::f32, {128, 16384, 64}, {1, 128, 2097152}, {64, 8192, 1}, {1}) != "reduce.turned");  // of few tiles
  CHECK(row(DType::f32, {4096, 2048}, {1, 4096}, {1, 4096}, {0}) != "reduce.turned");                 // beside each other
}

TEST_CASE("jit: reductions in tiles of what lies across, under the row that takes them [nvrtc]") {
  if (skipped()) return;
  std::vector<Task> tasks;
  std::set<std::string> sources;
  const std::vector<Node> product = {Node::input(0), Node::input(1), Node::op(Op::mul)};
  const auto add = [&](ReduceOp op, DType d, const Sizes &extents, const std::vector<int32_t> &dims, int bits) {
    for (const int n_inputs : {1, 2}) {  // one that lies across out, or two across each other
      Call call;
      const Sizes across = {extents[1] * extents[2], extents[2], 1};
      call.tensor(is_arg(op) ? DType::i64 : d, kept_of(extents, dims)).tensor(d, extents, across);
      if (n_inputs == 2) call.tensor(d, extents);
      Problem p = call.expr(n_inputs == 2 ? product : std::vector<Node>{Node::input(0)}).reduce(op, dims);
      p.index_bits = uint8_t(bits);
      for (const Task &t : tasks_of(p))
        if (t.row == "reduce.turned" && sources.insert(t.source).second) tasks.push_back(t);
    }
  };
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::var, ReduceOp::argmax})
    for (const DType d : {DType::f16, DType::f32, DType::i8, DType::f64}) {
      if (op == ReduceOp::var && d == DType::i8) continue;
      const int bits = d == DType::f16 ? 64 : 32;
      add(op, d, {64, 3, 128}, {1}, bits);  // both modes of a tile kept, one, and none
      add(op, d, {64, 3, 128}, {0}, bits);
      add(op, d, {63, 3, 127}, {0, 1, 2}, bits);
    }
  CHECK(tasks.size() >= 40);
  for (const std::string &failure : compile_all(tasks)) FAIL_CHECK(failure);
}

TEST_CASE("rows: reductions of few long rows that begin anywhere") {
  const auto row = [](DType d, const Sizes &extents, std::optional<DType> out = {}, const Sizes &strides = {}, ReduceOp op = ReduceOp::sum) {
    Call call;
    call.tensor(out.value_or(d), kept_of(extents, {1}));
    return chosen((strides.empty() ? call.tensor(d, extents) : call.tensor(d, extents, strides)).expr({Node::input(0)}).reduce(op, {1}));
  };
  for (const int64_t rows : {2, 3, 12, 40}) CHECK(row(DType::f16, {3000001, rows}) == "reduce.abreast");
  CHECK(row(DType::bf16, {3000001, 12}, {}, {}, ReduceOp::max) == "reduce.abreast");
  CHECK(row(DType::f16, {3000001, 12}, DType::f32, {}, ReduceOp::var) == "reduce.abreast");
  CHECK(row(DType::i8, {3000001, 7}, DType::i64) == "reduce.abreast");
  CHECK(row(DType::i8, {3000000, 7}, DType::i64) == "reduce.strided");        // whole vectors
  CHECK(row(DType::i8, {12000000, 3}, DType::i64) == "reduce.abreast");       // of which a thread would store many
  CHECK(row(DType::f16, {4001, 6, 1397}) == "reduce.abreast");
  CHECK(row(DType::f16, {4000, 6, 1397}, {}, {1, 4001, 24006}) == "reduce.abreast");
  CHECK(row(DType::f32, {3000001, 30}) == "reduce.abreast");
  CHECK(row(DType::f32, {3000001, 40}) != "reduce.abreast");                  // many rows
  CHECK(row(DType::f32, {100001, 8}) != "reduce.abreast");                    // few pieces
  CHECK(row(DType::f64, {3000001, 3}) == "reduce.abreast");
  CHECK(row(DType::f64, {3000001, 9}) != "reduce.abreast");
  CHECK(row(DType::f16, {101, 5, 66444}) != "reduce.abreast");                // short rows
  CHECK(row(DType::f16, {3000001, 5}, {}, {5, 1}) != "reduce.abreast");  // that lie across
}

TEST_CASE("rows: reductions of products with factors that come again") {
  const auto row = [](DType d, const Sizes &extents, const Sizes &second, const std::vector<int32_t> &dims, ReduceOp op = ReduceOp::sum) {
    Call call;
    call.tensor(is_arg(op) ? DType::i64 : d, kept_of(extents, dims)).tensor(d, extents).tensor(d, second);
    return chosen(call.expr({Node::input(0), Node::input(1), Node::op(Op::mul)}).reduce(op, dims));
  };
  for (const DType d : {DType::f16, DType::f32, DType::f64}) {
    CHECK(row(d, {5, 1000000}, {5, 1}, {0, 1}) == "reduce.flat");
    CHECK(row(d, {109, 40000}, {109, 1}, {0, 1}) == "reduce.flat");
    CHECK(row(d, {5, 1000000}, {1, 1000000}, {0, 1}) == "reduce.flat");
    CHECK(row(d, {3, 40, 400, 600}, {3, 1, 400, 600}, {0, 1, 2}) == "reduce.flat");
    CHECK(row(d, {64, 40000}, {64, 1}, {0, 1}) == "reduce.split");         // whole vectors
    CHECK(row(d, {100001, 30}, {100001, 1}, {0, 1}) == "reduce.split");    // few ends of rows
    CHECK(row(d, {5, 1000}, {5, 1}, {0, 1}) != "reduce.flat");             // little
    CHECK(row(d, {5, 1000000}, {5, 1000000}, {0, 1}) == "reduce.split");   // one mode
    CHECK(row(d, {5, 1000000}, {5, 1}, {0, 1}, ReduceOp::argmax) != "reduce.flat");
  }
}

TEST_CASE("rows: reductions of rows that begin anywhere over several modes") {
  const auto row = [](DType d, const Sizes &extents, ReduceOp op = ReduceOp::sum, const Sizes &strides = {}) {
    Call call;
    call.tensor(is_arg(op) ? DType::i64 : d, kept_of(extents, {1, 3}));
    return chosen((strides.empty() ? call.tensor(d, extents) : call.tensor(d, extents, strides)).expr({Node::input(0)}).reduce(op, {1, 3}));
  };
  for (const DType d : {DType::f16, DType::f32}) CHECK(row(d, {2049, 3, 5, 1000}) == "reduce.abreast");
  CHECK(row(DType::i8, {5003, 3, 2, 1000}, ReduceOp::max) == "reduce.abreast");
  CHECK(row(DType::f64, {2049, 3, 5, 1000}) != "reduce.abreast");
  CHECK(row(DType::f16, {2048, 3, 5, 1000}) != "reduce.abreast");                      // whole vectors
  CHECK(row(DType::f16, {2048, 3, 5, 1000}, ReduceOp::sum, {1, 2049, 6147, 30735}) == "reduce.abreast");
  CHECK(row(DType::f16, {131, 3, 50, 1000}) != "reduce.abreast");                      // short rows
  CHECK(row(DType::f16, {2049, 100, 5, 100}) == "reduce.tiles");                       // many that lie one after another
  CHECK(row(DType::f16, {2049, 6, 5, 1000}, ReduceOp::argmax) == "reduce.abreast");
  CHECK(row(DType::f16, {2049, 12, 5, 1000}, ReduceOp::argmax) != "reduce.abreast");
  CHECK(row(DType::f16, {2049, 12, 5, 1000}, ReduceOp::logsumexp) != "reduce.abreast");
}

TEST_CASE("jit: reductions of few long rows, under the row that takes them [nvrtc]") {
  if (skipped()) return;
  std::vector<Task> tasks;
  std::set<std::string> sources;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::var, ReduceOp::argmax, ReduceOp::max})
    for (const DType d : {DType::f16, DType::f32, DType::i8, DType::f64})
      for (const int64_t rows : {2, 3, 8, 300}) {
        if (op == ReduceOp::var && d == DType::i8) continue;  // four of which are no word
        if (rows == 300 && d != DType::f16 && d != DType::i8) continue;  // shared
        Call call;
        call.tensor(is_arg(op) || (op == ReduceOp::sum && d == DType::i8) ? DType::i64 : d, {333, 1, 5}).tensor(d, {333, rows, 5});
        Problem p = call.expr({Node::input(0)}).reduce(op, {1});
        p.index_bits = d == DType::f16 ? 64 : 32;
        for (const Task &t : tasks_of(p))
          if (t.row == "reduce.abreast" && sources.insert(t.source).second) tasks.push_back(t);
      }
  CHECK(tasks.size() == 52);
  for (const std::string &failure : compile_all(tasks)) FAIL_CHECK(failure);
}

TEST_CASE("jit: reductions of products with factors that come again, under the row that takes them [nvrtc]") {
  if (skipped()) return;
  std::vector<Task> tasks;
  std::set<std::string> sources;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::var, ReduceOp::max})
    for (const DType d : {DType::f16, DType::f32, DType::f64})
      for (const bool first : {true, false}) {
        if (op == ReduceOp::max && first) continue;
        const Sizes whole = {5, 7, 3}, weights = {5, 1, 3};
        Call call;
        call.tensor(d, {1, 1, 3}).tensor(d, first ? whole : weights).tensor(d, first ? weights : whole);
        Problem p = call.expr({Node::input(0), Node::input(1), Node::op(Op::mul)}).reduce(op, {0, 1});
        p.index_bits = d == DType::f16 ? 64 : 32;
        for (const Task &t : tasks_of(p))
          if (t.row == "reduce.flat" && sources.insert(t.source).second) tasks.push_back(t);
      }
  CHECK(tasks.size() == 15);
  for (const std::string &failure : compile_all(tasks)) FAIL_CHECK(failure);
}

TEST_CASE("rows: scans between tensors whose modes lie in another order, and of lines with gaps between them") {
  const auto row = [](DType d, const Sizes &extents, const Sizes &in, int dim, int major = 9) {
    Call call;
    const Problem p = call.tensor(d, extents).tensor(d, extents, in).expr({Node::input(0)}).scan(ReduceOp::sum, dim, {});
    return chosen(p, major);
  };
  // a line is a row of out, and lies across in the input
  CHECK(row(DType::i32, {15, 40981}, {40983, 1}, 0) == "scan.copied");
  CHECK(row(DType::f64, {15, 40981}, {40983, 1}, 0) == "scan.copied");  // of wide elements too
  CHECK(row(DType::i32, {8, 409816}, {409818, 1}, 0) == "scan.copied");  // much
  CHECK(row(DType::i32, {8, 1000}, {1000, 1}, 0) == "scan.short");  // little
  CHECK(row(DType::i32, {3, 409816}, {409818, 1}, 0) == "scan.copied");
  CHECK(row(DType::i32, {3, 101816}, {101818, 1}, 0) == "scan.short");
  CHECK(row(DType::i32, {409816, 15}, {1, 409818}, 1) == "scan.short");  // across in both
  // lines of one step lie side by side, whatever their stride
  CHECK(row(DType::bf16, {1, 5000000}, {1, 1}, 0) == "scan.short");
  CHECK(row(DType::bf16, {3000, 1, 9000}, {1, 3000, 3000}, 1) == "scan.short");
  CHECK(row(DType::i8, {40, 1, 2991493}, {1, 119659720, 40}, 1) == "scan.short");  // no words for scan.columns to copy
  // the other way round: some hundred lines are a cluster's each, of a block
  CHECK(row(DType::bf16, {1241, 488}, {488, 1}, 1) == "scan.cluster");
  CHECK(row(DType::bf16, {5410, 488}, {488, 1}, 1) == "scan.turned");  // and many a thread's
  CHECK(row(DType::bf16, {12410, 488}, {488, 1}, 1) == "scan.turned");
  CHECK(row(DType::f32, {8192, 8192}, {8192, 1}, 1) == "scan.turned");
  CHECK(row(DType::f32, {2048, 32768}, {32768, 1}, 1) == "scan.turned");
  CHECK(row(DType::f32, {1000, 65536}, {65536, 1}, 1) == "scan.copied");  // few lines, and long
  CHECK(row(DType::f32, {8192, 8192}, {8195, 1}, 1) == "scan.turned");    // that begin anywhere
  CHECK(row(DType::f64, {8192, 8192}, {8195, 1}, 1) == "scan.turned");
  CHECK(row(DType::i8, {8192, 8192}, {8192, 1}, 1) == "scan.turned");
  // lines of out whose neighbours lie side by side in the input, in whole accesses and not
  CHECK(row(DType::f32, {8192, 8192}, {8192, 1}, 0) == "scan.turned");
  CHECK(row(DType::f32, {2001, 30001}, {30001, 1}, 0) == "scan.turned");
  CHECK(row(DType::f16, {2001, 30001}, {30001, 1}, 0) == "scan.copied");
  CHECK(row(DType::f32, {5001, 4097}, {4097, 1}, 0) == "scan.copied");   // few of those that come one by one
  CHECK(row(DType::f16, {16000, 4224}, {4224, 1}, 0) == "scan.turned");
  CHECK(row(DType::f16, {65536, 2048}, {2048, 1}, 0) == "scan.copied");   // few, and long
  CHECK(row(DType::f16, {100, 335536}, {335536, 1}, 0) == "scan.copied");  // results that would go one by one
  CHECK(row(DType::f16, {200, 167760}, {167760, 1}, 0) == "scan.turned");
  CHECK(row(DType::i8, {8192, 8192}, {8192, 1}, 0) == "scan.turned");
  CHECK(row(DType::i8, {1024, 65536}, {65536, 1}, 0) == "scan.turned");
  CHECK(row(DType::f32, {1000000, 16}, {16, 1}, 1) == "scan.copied");     // short ones
  CHECK(row(DType::f64, {400000, 12}, {12, 1}, 1) == "scan.turned");
  CHECK(row(DType::f32, {1000000, 14}, {14, 1}, 1) == "scan.general");    // of which a warp has all that it reads
  CHECK(row(DType::f32, {1000000, 14}, {16, 1}, 1) == "scan.copied");
  CHECK(row(DType::f16, {1000000, 14}, {14, 1}, 1) == "scan.copied");
  CHECK(row(DType::i8, {16, 10, 80, 130, 7}, {7, 14560, 145600, 112, 1}, 1) != "scan.copied");  // out's neighbours lie side by side
  // lines that lie in another order: shorter than two sectors, and longer
  CHECK(row(DType::f16, {5, 2, 3, 128, 632, 9}, {1, 5760, 7280640, 45, 11520, 5}, 0) == "scan.copied");
  CHECK(row(DType::f32, {14, 2, 2432, 391}, {1, 13312768, 5474, 14}, 0) == "scan.copied");
  CHECK(row(DType::f32, {32, 2, 2432, 391}, {1, 30429184, 12512, 32}, 0) == "scan.tiles");
  CHECK(row(DType::bf16, {108, 20, 72, 80, 6}, {1, 108, 172800, 2160, 12441600}, 0) == "scan.tiles");
  CHECK(row(DType::f16, {5, 12, 400000}, {1, 2000000, 5}, 0) == "scan.tiles");   // neighbours in memory that a tile has, too
  CHECK(row(DType::i8, {5, 12, 400000}, {1, 2000000, 5}, 0) == "scan.copied");
  CHECK(row(DType::f16, {5, 1200, 4000}, {1, 20000, 5}, 0) == "scan.copied");
  for (const int64_t n : {16, 192}) CHECK(row(DType::f16, {n, 7, 840000 / n}, {1, 840000, n}, 0) == "scan.lines");  // vectors, not much of them
  CHECK(row(DType::f32, {104, 30, 50}, {1, 5200, 104}, 0) != "scan.tiles");      // little
  // gaps, after which lines begin anywhere
  CHECK(row(DType::i32, {496, 12, 6}, {1, 496, 5953}, 0) == "scan.cluster");
  CHECK(row(DType::i32, {496, 12, 6}, {1, 496, 5953}, 0, 8) == "scan.lines");
  CHECK(row(DType::i32, {496, 600}, {1, 496}, 0, 8) == "scan.tiles");
  for (const DType d : {DType::f16, DType::f32, DType::f64}) CHECK(row(d, {100, 300000}, {1, 103}, 0) == "scan.tiles");
  CHECK(row(DType::f32, {1000, 100000}, {1, 1024}, 0) == "scan.tiles");
  CHECK(row(DType::f32, {1000, 50, 2000}, {1, 1024, 55000}, 0) == "scan.tiles");  // of planes, too
  CHECK(row(DType::f16, {1000, 100000}, {1, 1024}, 0) == "scan.tiles");
  CHECK(row(DType::f16, {1000, 10000}, {1, 1024}, 0) == "scan.lines");   // vectors of narrow elements, not much of them
  CHECK(row(DType::f32, {1000, 30000}, {2, 2000}, 0) == "scan.tiles");   // every second element
  CHECK(row(DType::f32, {1000, 30000}, {16, 16000}, 0) != "scan.tiles"); // few of a line of memory
  CHECK(row(DType::f16, {50000, 2000}, {1, 50001}, 0) == "scan.lookback");
}

TEST_CASE("rows: scans along a mode whose lines lie side by side, of several inputs and of rows of half vectors") {
  const auto row = [](DType d, const Sizes &extents, int inputs) {
    Call call;
    call.tensor(d, extents).tensor(d, extents);
    if (inputs == 2) call.tensor(d, extents).expr({Node::input(0), Node::input(1), Node::op(Op::mul)});
    else call.expr({Node::input(0)});
    return chosen(call.scan(ReduceOp::sum, 1, {}));
  };
  for (const DType d : {DType::f16, DType::f32}) {
    CHECK(row(d, {256, 128, 1000}, 2) == "scan.columns");
    CHECK(row(d, {256, 128, 10}, 2) == "scan.lines");     // little
    CHECK(row(d, {256, 128, 1000}, 1) == "scan.lines");
  }
  CHECK(row(DType::f16, {256, 64, 2000}, 1) == "scan.columns");  // short lines
  CHECK(row(DType::f16, {90, 100, 4000}, 1) == "scan.columns");  // a thread has no vectors
  CHECK(row(DType::f16, {700, 300, 300}, 1) == "scan.lines");    // and halves of some
  CHECK(row(DType::f16, {140, 420, 900}, 1) == "scan.columns");
}

TEST_CASE("rows: broadcasts in rows that are no whole vectors, but halves, or not even those") {
  const auto row = [](DType d, const Sizes &out, const std::vector<std::pair<Sizes, Sizes>> &inputs) {
    Call call;
    call.tensor(d, out);
    for (const auto &[extents, strides] : inputs) strides.empty() ? call.tensor(d, extents) : call.tensor(d, extents, strides);
    return chosen(call.expr(support::sum_of_inputs(int(inputs.size()))).map());
  };
  constexpr int64_t n = 500000;
  CHECK(row(DType::f16, {100, n}, {{{100, n}, {}}, {{100, 1}, {}}}) == "broadcast.dense");  // one that the caches hold
  CHECK(row(DType::f16, {100, n}, {{{100, n}, {}}, {{1, n}, {}}}) == "broadcast.dense");
  CHECK(row(DType::f16, {100, n}, {{{100, n}, {}}, {{100, 1}, {}}, {{100, 1}, {}}}) == "broadcast.periodic");  // which are read once
  CHECK(row(DType::f16, {100, n}, {{{100, n}, {}}, {{1, n}, {}}, {{1, n}, {}}, {{100, 1}, {}}, {{100, 1}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f16, {100, n}, {{{100, n}, {}}, {{1, n}, {}}, {{100, 1}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f16, {300, n / 3}, {{{300, n / 3}, {}}, {{1, n / 3}, {}}, {{300, 1}, {}}}) == "broadcast.dense");
  CHECK(row(DType::f16, {100, n}, {{{100, n}, {}}, {{100, n}, {}}, {{100, 1}, {}}, {{100, 1}, {}}}) == "broadcast.periodic");  // two that move
  CHECK(row(DType::f16, {1004, n / 10}, {{{1004, n / 10}, {}}, {{1004, 1}, {}}, {{1004, 1}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f16, {1004, n / 10}, {{{1004, n / 10}, {}}, {{1, n / 10}, {}}, {{1004, 1}, {}}}) == "broadcast.dense");  // read in whole words
  CHECK(row(DType::f32, {102, n}, {{{102, n}, {}}, {{1, n}, {}}, {{102, 1}, {}}, {{102, 1}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f32, {102, n}, {{{102, n}, {}}, {{102, 1}, {}}, {{102, 1}, {}}}) == "broadcast.dense");
  CHECK(row(DType::f16, {100, 20, n / 20}, {{{100, 20, n / 20}, {}}, {{1, 20, 1}, {}}, {{1, 1, n / 20}, {}}, {{100, 1, 1}, {}}, {{100, 1, 1}, {}}}) ==
        "broadcast.sliding_register");  // modes to divide by
  CHECK(row(DType::f16, {100, n}, {{{100, n}, {1, 104}}}) == "broadcast.general");
  CHECK(row(DType::f16, {1004, n / 10}, {{{1004, n / 10}, {1, 1012}}}) == "broadcast.dense");
  CHECK(row(DType::f16, {101, n}, {{{101, n}, {1, 104}}}) == "broadcast.dense");  // no halves
  CHECK(row(DType::i8, {200, n}, {{{200, n}, {}}, {{200, 1}, {}}}) == "broadcast.sliding_register");
  CHECK(row(DType::i8, {200, n}, {{{200, n}, {}}, {{1, n}, {}}}) == "broadcast.dense");
  // rows that are no halves either: where inputs stay they are read once a thread, not for every row
  CHECK(row(DType::f16, {101, n}, {{{101, n}, {}}, {{101, 1}, {}}, {{101, 1}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f16, {101, n}, {{{101, n}, {}}, {{101, 1}, {}}}) == "broadcast.dense");
  CHECK(row(DType::f16, {101, n}, {{{101, n}, {}}, {{1, n}, {}}, {{101, 1}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f16, {333, n}, {{{333, n}, {}}, {{1, n}, {}}, {{333, 1}, {}}}) == "broadcast.dense");
  CHECK(row(DType::f32, {101, n}, {{{101, n}, {}}, {{101, 1}, {}}, {{101, 1}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f64, {101, n}, {{{101, n}, {}}, {{101, 1}, {}}, {{101, 1}, {}}}) == "broadcast.dense");
  CHECK(row(DType::i8, {101, n}, {{{101, n}, {}}, {{101, 1}, {}}}) == "broadcast.periodic");
  // outer products, and a grid of three
  CHECK(row(DType::f16, {13, 4 * n}, {{{13, 1}, {}}, {{1, 4 * n}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f16, {300, n / 3}, {{{300, 1}, {}}, {{1, n / 3}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f16, {20, 2 * n}, {{{20, 1}, {}}, {{1, 2 * n}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f32, {10, 4 * n}, {{{10, 1}, {}}, {{1, 4 * n}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f32, {101, n}, {{{101, 1}, {}}, {{1, n}, {}}, {{1, n}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f16, {1001, n / 10}, {{{1001, 1}, {}}, {{1, n / 10}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f32, {49, 40, n / 40}, {{{49, 1, 1}, {}}, {{1, 40, 1}, {}}, {{1, 1, n / 40}, {}}}) == "broadcast.periodic");
  CHECK(row(DType::f32, {50, 40, n / 40}, {{{50, 1, 1}, {}}, {{1, 40, 1}, {}}, {{1, 1, n / 40}, {}}}) == "broadcast.sliding_register");
  CHECK(row(DType::f32, {32, 64, n / 40}, {{{32, 1, n / 40}, {}}, {{1, 64, n / 40}, {}}}) == "broadcast.general");
  // few channels beside each other: rows that are vectors need no other order
  CHECK(row(DType::f16, {8, 8 * n}, {{{8, 8 * n}, {}}, {{1, 8 * n}, {}}}) == "broadcast.general");
  CHECK(row(DType::f16, {12, 4 * n}, {{{12, 4 * n}, {}}, {{1, 4 * n}, {}}}) == "broadcast.dense");
  CHECK(row(DType::f16, {3, 16 * n}, {{{3, 16 * n}, {}}, {{1, 16 * n}, {}}}) == "broadcast.channels");
  CHECK(row(DType::f16, {8, 8 * n}, {{{8, 8 * n}, {8 * n, 1}}}) == "broadcast.channels");  // planes to pixels
  // several outer products: none of their inputs stays
  CHECK(row(DType::f32, {10, 512, n / 128}, {{{10, 1, n / 128}, {}}, {{1, 512, n / 128}, {}}}) == "broadcast.channels");
  CHECK(row(DType::f16, {9, 1024, n / 128}, {{{9, 1, n / 128}, {}}, {{1, 1024, n / 128}, {}}}) == "broadcast.channels");
}

TEST_CASE("rows: permuted inputs whose neighbours lie in the lines that a row of out reads") {
  const auto row = [](DType d, const Sizes &out, const Sizes &strides) {
    Call call;
    return chosen(call.tensor(d, out).tensor(d, out, strides).expr({Node::input(0)}).map());
  };
  CHECK(row(DType::f16, {100, 167772}, {167772, 1}) == "broadcast.permute");        // tiles that are filled to three quarters
  CHECK(row(DType::f32, {100, 167772}, {167772, 1}) == "broadcast.transpose");      // of wider elements they do
  CHECK(row(DType::i8, {100, 671088}, {671088, 1}) == "broadcast.permute");
  CHECK(row(DType::i8, {33, 3050402}, {3050402, 1}) == "broadcast.dense");          // nor would boxes be
  CHECK(row(DType::f16, {3, 224, 224, 334}, {1, 672, 3, 150528}) == "broadcast.permute");  // pixels of three channels, from columns to rows
  CHECK(row(DType::f16, {8, 30, 200000}, {1, 1600000, 8}) == "broadcast.general");  // whole vectors
}

TEST_CASE("rows: tiles of a scan that begin together ask for their data as fast as the memory can bring it, where they are many") {
  const auto config = [](const Sizes &extents, int dim, double bytes_a_cycle) {
    Call call;
    const Problem p = call.tensor(DType::f32, extents).tensor(DType::f32, extents).expr({Node::input(0)}).scan(ReduceOp::sum, dim, {});
    Device device = NoBackend().device();
    device.bytes_a_cycle = bytes_a_cycle;
    return choose(cuda::registry(), p, device)->configure(p, device);
  };
  for (const auto &[extents, dim] : {std::pair{Sizes{1 << 24}, 0}, {Sizes{4096, 4096}, 1}}) {
    const LaunchConfig c = config(extents, dim, 1690);
    CHECK(c.wave > 2 * 132);
    CHECK(c.wave <= c.grid);
    CHECK(c.wave * c.block <= 132 * 2048);
    CHECK(c.apart > 0);
    CHECK(c.apart * 1690 <= c.shared_bytes);
    CHECK(config(extents, dim, 3380).apart <= c.apart / 2 + 1);
    CHECK(config(extents, dim, 0).wave == 0);  // not known
  }
  CHECK(config({1 << 18}, 0, 1690).wave == 0);  // few
}

TEST_CASE("rows: reductions between the few channels of many elements") {
  const auto row = [](DType d, const Sizes &extents) {
    Sizes kept = extents;
    kept[1] = 1;
    Call call;
    const Problem p = call.tensor(d, kept).tensor(d, extents).expr({Node::input(0)}).reduce(ReduceOp::sum, {1});
    return chosen(p);
  };
  CHECK(row(DType::f32, {3, 50176, 256}) == "reduce.channels");
  CHECK(row(DType::f16, {2, 8192, 1024}) == "reduce.channels");
  CHECK(row(DType::f32, {5, 11628}) == "reduce.tiles");             // little
  CHECK(row(DType::i32, {20, 10416}) == "reduce.tiles");
  CHECK(row(DType::i32, {200, 2000}) != "reduce.tiles");            // long rows
  const auto of = [](DType d, const Sizes &extents, const std::vector<int32_t> &dims, ReduceOp op) {
    Call call;
    return chosen(call.tensor(is_arg(op) ? DType::i64 : d, kept_of(extents, dims)).tensor(d, extents).expr({Node::input(0)}).reduce(op, dims));
  };
  CHECK(of(DType::f32, {225, 12, 158}, {0, 2}, ReduceOp::var) == "reduce.tiles");               // around outputs
  CHECK(of(DType::bf16, {5, 496, 4, 16}, {1, 3}, ReduceOp::sum) == "reduce.tiles");             // in modes that reduce.split would divide for
  CHECK(of(DType::i8, {3, 1116, 6, 5, 160}, {0, 2, 4}, ReduceOp::argmax) == "reduce.tiles");    // or reduce.general would
  CHECK(of(DType::f32, {3, 50176, 174}, {1}, ReduceOp::var) == "reduce.tiles");
  CHECK(of(DType::f16, {5, 12000, 873}, {1}, ReduceOp::var) == "reduce.tiles");
  CHECK(of(DType::f16, {5, 150000, 69}, {1}, ReduceOp::var) == "reduce.channels");              // long ones of halves
  CHECK(of(DType::f32, {3, 1000000, 8}, {1}, ReduceOp::var) == "reduce.channels");
  CHECK(row(DType::f32, {3, 60, 256}) != "reduce.channels");        // short runs
  CHECK(row(DType::f32, {3, 2000, 4}) != "reduce.channels");        // little
  CHECK(row(DType::f32, {33, 5000, 100}) != "reduce.channels");     // too many channels
  CHECK(row(DType::i8, {8, 1536, 1776}) == "reduce.channels");     // whole vectors, which reduce.split would have
  CHECK(row(DType::f32, {8, 1536, 8000}) == "reduce.strided");      // and would not
  CHECK(row(DType::f32, {16, 50000, 200}) == "reduce.split");       // rows of 64 bytes
  CHECK(row(DType::f32, {2, 1 << 23}) == "reduce.channels");        // one run of much
  CHECK(row(DType::f16, {4, 1 << 23}) == "reduce.channels");
  CHECK(row(DType::f32, {2, 1 << 20}) == "reduce.split");           // and of less: several rows as one
  CHECK(row(DType::f64, {8, 1 << 18}) == "reduce.split");
}

TEST_CASE("rows: short rows of what is kept, again and again") {
  const auto row = [](DType d, const Sizes &extents, ReduceOp op = ReduceOp::sum) {
    Sizes kept = extents;
    kept[0] = kept[2] = 1;
    Call call;
    const Problem p = call.tensor(is_arg(op) ? DType::i64 : d, kept).tensor(d, extents).expr({Node::input(0)}).reduce(op, {0, 2});
    return chosen(p);
  };
  CHECK(row(DType::f16, {7, 512, 7000}) == "reduce.tiles");
  CHECK(row(DType::f16, {49, 512, 256}) == "reduce.tiles");
  CHECK(row(DType::f32, {49, 512, 1000}) == "reduce.tiles");
  CHECK(row(DType::f32, {5, 3, 100000}) == "reduce.tiles");
  CHECK(row(DType::i8, {49, 64, 30000}) == "reduce.tiles");
  CHECK(row(DType::f32, {7, 250, 14000}) == "reduce.tiles");        // steps that are no words
  CHECK(row(DType::f16, {2, 333, 50000}) == "reduce.tiles");        // and more outputs than threads
  CHECK(row(DType::f32, {3, 601, 14000}) == "reduce.tiles");
  CHECK(row(DType::f32, {3, 601, 150}) != "reduce.tiles");          // but of little
  CHECK(row(DType::f32, {8, 64, 65536}) == "reduce.tiles");         // rows of a few vectors, of much
  CHECK(row(DType::f32, {8, 64, 6553}) != "reduce.tiles");
  CHECK(row(DType::f32, {7, 4001, 1000}) == "reduce.tiles");        // some of the outputs of such
  CHECK(row(DType::f16, {2, 5001, 5000}) == "reduce.tiles");
  CHECK(row(DType::i8, {98, 501, 2000}) == "reduce.tiles");
  CHECK(row(DType::i8, {257, 1001, 389}) == "reduce.tiles");
  CHECK(row(DType::i8, {257, 1001, 93}) != "reduce.tiles");         // of little
  CHECK(row(DType::i8, {200, 501, 2000}) != "reduce.tiles");        // rows that are long enough
  CHECK(row(DType::f32, {7, 20001, 36}) != "reduce.tiles");         // too little for four bytes
  CHECK(row(DType::f32, {7, 1001, 3568}, ReduceOp::logsumexp) == "reduce.tiles");
  CHECK(row(DType::f32, {7, 20001, 179}, ReduceOp::logsumexp) != "reduce.tiles");  // few steps of what is long in being added up
  CHECK(row(DType::f16, {7, 595239, 12}) == "reduce.tiles");        // few steps of narrow elements
  CHECK(row(DType::f32, {7, 297619, 12}) != "reduce.tiles");
  CHECK(row(DType::f16, {16, 520832, 12}) != "reduce.tiles");       // of vectors
  CHECK(row(DType::f16, {7, 64, 20, 1000}) == "reduce.tiles");      // again for every output of a slow mode
  CHECK(row(DType::f16, {49, 512, 256}, ReduceOp::argmax) == "reduce.tiles");
  CHECK(row(DType::f16, {7, 64, 5, 4000}) != "reduce.tiles");       // of small tiles
  CHECK(row(DType::f16, {56, 64, 14000}) != "reduce.tiles");        // whole vectors
  CHECK(row(DType::f32, {49, 16, 100}) != "reduce.tiles");          // little
  CHECK(row(DType::f32, {200, 16, 10000}) != "reduce.tiles");       // rows that are long enough
  CHECK(row(DType::f64, {37, 144, 536}) == "reduce.tiles");         // odd ones of 8 bytes, of few outputs
  CHECK(row(DType::f64, {37, 14400, 36}) != "reduce.tiles");
  CHECK(row(DType::f64, {38, 144, 536}) != "reduce.tiles");
  CHECK(row(DType::f16, {5, 17, 9, 65000}) == "reduce.periods");    // each period has all of its outputs' elements
  CHECK(row(DType::f16, {16, 17, 9, 65000}) != "reduce.periods");   // whole vectors
  CHECK(row(DType::f16, {5, 17, 9, 500}) != "reduce.periods");      // little
  CHECK(row(DType::f32, {4, 6, 9, 100000}) == "reduce.periods");    // whole vectors, but of few elements
  CHECK(row(DType::f16, {8, 6, 9, 100000}) == "reduce.periods");
  CHECK(row(DType::f32, {4, 6, 9, 6000}) == "reduce.periods");      // less
  CHECK(row(DType::f32, {8, 6, 9, 4000}) != "reduce.periods");      // with outputs for few threads
  CHECK(row(DType::f16, {8, 5, 20, 60000}) != "reduce.periods");    // many for an output
  const auto down = [](DType d, const Sizes &extents, ReduceOp op = ReduceOp::sum) {  // over the second dimension of three
    Call call;
    const Problem p = call.tensor(d, {extents[0], 1, extents[2]}).tensor(d, extents).expr({Node::input(0)}).reduce(op, {1});
    return chosen(p);
  };
  CHECK(down(DType::i8, {401, 300, 831}) == "reduce.tiles");                 // columns of bytes, and of 16 bits
  CHECK(down(DType::i8, {401, 40, 6234}) != "reduce.tiles");                 // slabs of little
  CHECK(down(DType::i8, {3, 50176, 512}) == "reduce.channels");
  CHECK(down(DType::f16, {333, 300, 501}) == "reduce.tiles");
  CHECK(down(DType::f16, {333, 1000, 150}) != "reduce.tiles");               // reduce.shifted's
  CHECK(down(DType::f16, {97, 300, 1718}, ReduceOp::logsumexp) != "reduce.tiles");
  CHECK(down(DType::f16, {2, 64, 524288}) == "reduce.periods");
  CHECK(down(DType::f32, {3, 333, 33588}) == "reduce.periods");              // twelve outputs of a tile
  CHECK(down(DType::f32, {3, 333, 2000}) != "reduce.periods");               // of little more
  CHECK(down(DType::f32, {2, 333, 50000}, ReduceOp::logsumexp) != "reduce.periods");
  CHECK(down(DType::f32, {4, 64, 131072}) == "reduce.periods");              // rows that are whole vectors too, where they are short
  CHECK(down(DType::f16, {8, 33, 8000}) == "reduce.periods");
  CHECK(down(DType::f16, {8, 200, 1300}) != "reduce.periods");
  CHECK(down(DType::f32, {32, 64, 16384}) != "reduce.periods");
  CHECK(down(DType::f32, {32, 40, 20000}) == "reduce.periods");
  CHECK(down(DType::f32, {32, 12, 65000}) != "reduce.periods");
  CHECK(down(DType::i8, {64, 10, 160000}) == "reduce.periods");
  CHECK(down(DType::f64, {2, 8, 800000}) == "reduce.periods");

  const auto between = [](DType d, const Sizes &extents, ReduceOp op = ReduceOp::sum) {  // over the second and fourth of four dimensions
    Call call;
    const Problem p = call.tensor(is_arg(op) ? DType::i64 : d, {extents[0], 1, extents[2], 1}).tensor(d, extents).expr({Node::input(0)}).reduce(op, {1, 3});
    return chosen(p);
  };
  // of a few outputs side by side
  CHECK(between(DType::i8, {35, 1491, 9, 40}, ReduceOp::max) == "reduce.tiles");
  CHECK(between(DType::f16, {26, 194, 122, 49}, ReduceOp::max) == "reduce.tiles");
  CHECK(between(DType::f16, {24, 194, 122, 49}, ReduceOp::max) != "reduce.tiles");   // whole vectors
  CHECK(between(DType::i8, {7, 13, 343, 878}, ReduceOp::max) == "reduce.tiles");
  CHECK(between(DType::i8, {7, 300, 343, 38}, ReduceOp::max) != "reduce.tiles");     // tiles of a few elements
  CHECK(between(DType::i8, {35, 1491, 9, 10}, ReduceOp::max) == "reduce.tiles");     // little, that reduce.split would have
  // of a few outputs within each row
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::argmax, ReduceOp::var}) CHECK(between(DType::f16, {7, 7, 2048, 640}, op) == "reduce.tiles");
  CHECK(between(DType::f32, {3, 224, 224, 430}) == "reduce.tiles");
  CHECK(between(DType::f32, {8, 7, 64, 18724}) == "reduce.tiles");      // whole vectors, of few outputs
  CHECK(between(DType::f32, {8, 7, 2048, 640}) != "reduce.tiles");      // and of many
  CHECK(between(DType::f16, {64, 7, 64, 2340}) != "reduce.tiles");      // rows that are lines
  CHECK(between(DType::f16, {7, 7, 2048, 10}) != "reduce.tiles");       // few steps
  CHECK(between(DType::f32, {17, 31, 61, 2039}) == "reduce.tiles");     // steps that begin anywhere
  const auto side_by_side = [](DType d, int64_t n, int64_t steps, ReduceOp op) {
    Call call;
    const Problem p = call.tensor(is_arg(op) ? DType::i64 : d, {n, 1}).tensor(d, {n, steps}).expr({Node::input(0)}).reduce(op, {1});
    return chosen(p);
  };
  CHECK(side_by_side(DType::i8, 10, 3561792, ReduceOp::argmax) == "reduce.tiles");
  CHECK(side_by_side(DType::i8, 10, 3561792, ReduceOp::max) != "reduce.tiles");
  CHECK(side_by_side(DType::i8, 10, 356179, ReduceOp::argmax) != "reduce.tiles");
  CHECK(side_by_side(DType::f16, 35, 1000000, ReduceOp::sum) == "reduce.tiles");
  CHECK(side_by_side(DType::f16, 64, 1000000, ReduceOp::sum) != "reduce.tiles");
  CHECK(side_by_side(DType::f32, 35, 1000000, ReduceOp::sum) != "reduce.tiles");
  CHECK(side_by_side(DType::f16, 35, 300000, ReduceOp::sum) != "reduce.tiles");        // of little
  CHECK(side_by_side(DType::f16, 13, 1230769, ReduceOp::sum) == "reduce.channels");    // few outputs, of less than 64 MiB
  CHECK(side_by_side(DType::f16, 13, 1230769, ReduceOp::logsumexp) == "reduce.channels");
  CHECK(side_by_side(DType::f16, 129, 387596, ReduceOp::sum) == "reduce.shifted");     // rows of eight vectors and more
  CHECK(side_by_side(DType::f32, 129, 193798, ReduceOp::sum) == "reduce.shifted");
  CHECK(side_by_side(DType::f32, 129, 62015, ReduceOp::sum) == "reduce.split");        // which the caches hold
  CHECK(side_by_side(DType::f32, 77, 862400, ReduceOp::logsumexp) == "reduce.shifted");
  CHECK(side_by_side(DType::f16, 333, 48048, ReduceOp::logsumexp) == "reduce.shifted");
  CHECK(side_by_side(DType::f16, 77, 415584, ReduceOp::var) == "reduce.tiles");        // what takes long to add up
  CHECK(side_by_side(DType::f16, 333, 150150, ReduceOp::var) == "reduce.shifted");
  CHECK(side_by_side(DType::f32, 169, 295857, ReduceOp::var) == "reduce.split");
  CHECK(down(DType::f16, {169, 384, 990}) == "reduce.tiles");  // rows that others follow, too long to copy
  CHECK(down(DType::f16, {34, 180, 10272}) != "reduce.tiles");

  const auto product = [](const Sizes &a, const Sizes &b) {
    Call call;
    const Problem p = call.tensor(DType::f16, {1, 512, 1}).tensor(DType::f16, a).tensor(DType::f16, b)
                          .expr({Node::input(0), Node::input(1), Node::op(Op::mul)}).reduce(ReduceOp::sum, {0, 2});
    return chosen(p);
  };
  const Sizes all{49, 512, 4096};
  for (const Sizes &factor : {all, {1, 512, 1}, {49, 1, 1}, {49, 512, 1}, {1, 1, 4096}}) {
    CHECK(product(all, factor) == "reduce.tiles");
    CHECK(product(factor, all) == "reduce.tiles");
  }
}

TEST_CASE("rows: many parts are put together in groups, a power of two in each, and few at once") {
  const auto config = [](DType d, int64_t n, int64_t steps, ReduceOp op) {
    Call call;
    const Problem p = call.tensor(d, {n, 1}).tensor(d, {n, steps}).expr({Node::input(0)}).reduce(op, {1});
    return choose(cuda::registry(), p, card())->configure(p, card());
  };
  const LaunchConfig many[] = {config(DType::f16, 504, 126984, ReduceOp::var), config(DType::f16, 333, 150150, ReduceOp::logsumexp),
                               config(DType::f32, 200, 40000, ReduceOp::var), config(DType::f16, 33, 969696, ReduceOp::var)};
  for (const LaunchConfig &c : many) {
    CHECK(std::has_single_bit(unsigned(c.together)));
    CHECK(c.groups > 1);
    CHECK(c.together * c.groups >= c.split);
    CHECK(c.together * (c.groups - 1) < c.split);
  }
  const LaunchConfig few[] = {config(DType::f32, 4096, 4096, ReduceOp::sum), config(DType::f32, 1024, 65536, ReduceOp::sum)};
  for (const LaunchConfig &c : few) {
    CHECK(c.split > 1);
    CHECK(c.groups == 0);
    CHECK(c.together >= c.split);
  }
}

TEST_CASE("rows: reduce.shifted has as many threads across as have something to read") {
  const auto lanes = [](DType d, int64_t n, int64_t steps, ReduceOp op) {
    Call call;
    const Problem p = call.tensor(d, {n, 1}).tensor(d, {n, steps}).expr({Node::input(0)}).reduce(op, {1});
    const Kernel &k = *choose(cuda::registry(), p, card());
    CHECK(std::string(k.name) == "reduce.shifted");
    return k.configure(p, card()).lanes;
  };
  CHECK(lanes(DType::f16, 333, 150150, ReduceOp::logsumexp) == 32);  // 84 vectors: three tiles, not two of 64
  CHECK(lanes(DType::f16, 129, 387596, ReduceOp::logsumexp) == 16);
  CHECK(lanes(DType::f16, 201, 250000, ReduceOp::logsumexp) == 64);  // which 64 have
  CHECK(lanes(DType::f16, 129, 387596, ReduceOp::sum) == 32);        // pieces of 256 bytes
  CHECK(lanes(DType::f32, 257, 97000, ReduceOp::sum) == 16);
}

TEST_CASE("rows: blocks of reduce.tiles fill the device, in as few rounds as they can") {
  const auto configured = [](DType d, const Sizes &extents, std::initializer_list<int> dims) {
    Sizes kept = extents;
    for (int dim : dims) kept[size_t(dim)] = 1;
    Call call;
    const Problem p = call.tensor(d, kept).tensor(d, extents).expr({Node::input(0)}).reduce(ReduceOp::max, dims);
    const Kernel &k = *choose(cuda::registry(), p, card());
    CHECK(std::string(k.name) == "reduce.tiles");
    Device less = card();
    less.shared_bytes = 99 << 10;
    CHECK((k.configure(p, less).detail >> 12 & 0xf) == 2);  // two tiles at a time, where there may be no room for more
    return k.configure(p, card());
  };
  const auto split = [&](DType d, const Sizes &extents, std::initializer_list<int> dims) { return configured(d, extents, dims).split; };
  CHECK(split(DType::i8, {777, 300, 429}, {1}) == 1);  // 429 of 528 blocks
  CHECK(split(DType::i8, {7, 333, 4290}, {0, 2}) > 8);  // few cells
  const auto blocks = [&](DType d, const Sizes &extents, std::initializer_list<int> dims) { return configured(d, extents, dims).grid; };
  CHECK(blocks(DType::f16, {49, 13, 80000}, {0, 2}) == 264);     // two a multiprocessor, of one cell
  CHECK(blocks(DType::f16, {49, 512, 4096}, {0, 2}) == 256);     // of sixteen
  CHECK(blocks(DType::f16, {7, 512, 28672}, {0, 2}) == 528);     // four: threads in two groups
  CHECK(blocks(DType::f16, {3, 154587, 108}, {0, 2}) == 528);    // not 604
  CHECK(blocks(DType::f16, {3, 224, 224, 430}, {1, 3}) == 224);  // room for those of the next launch
  CHECK(blocks(DType::i8, {3, 224, 448, 430}, {1, 3}) == 448);   // one round, though not all of it
  CHECK(blocks(DType::i8, {5, 195, 80, 441}, {1, 3}) == 240);    // tiles of half as many bytes as there is room for
}

TEST_CASE("rows: a tile's rows begin in shared memory at the same of 16 or 128 bytes as in memory, and do not overlap") {
  for (const int place : {16, 128})
    for (const int bytes : {1, 2, 4, 8})
      for (const int least : {1, 16, 49, 784, 1569})
        for (const int64_t along : {-100001, -128, 0, 7, 784, 100352, 100353}) {
          const int64_t pitch = cuda::pitch_from(least, bytes, along, place);
          CAPTURE(place, bytes, least, along, pitch);
          CHECK((pitch - along) * bytes % place == 0);
          CHECK(pitch >= least);
          CHECK(pitch <= cuda::most_pitch_from(least, bytes, place));
        }
}

TEST_CASE("rows: segments in shared memory have as many lanes as there are elements for, and no more threads than segments") {
  const auto configured = [](DType d, int64_t n, int64_t segments, ReduceOp op) {
    Call call;
    const Problem p = call.tensor(d, {1, segments}).tensor(d, {n, segments}).expr({Node::input(0)}).reduce(op, {0});
    const Kernel &k = *choose(cuda::registry(), p, card());
    CHECK(std::string(k.name) == "reduce.small");
    const LaunchConfig c = k.configure(p, card());
    CHECK(c.variant == 2);
    return c;
  };
  const auto lanes = [&](DType d, int64_t n, int64_t segments, ReduceOp op) { return configured(d, n, segments, op).lanes; };
  CHECK(lanes(DType::f16, 33, 1500000, ReduceOp::var) == 1);
  CHECK(lanes(DType::f16, 333, 150150, ReduceOp::var) == 4);
  CHECK(lanes(DType::f16, 333, 150150, ReduceOp::max) == 4);
  CHECK(lanes(DType::f32, 577, 43327, ReduceOp::var) == 8);
  CHECK(lanes(DType::f32, 577, 43327, ReduceOp::sum) == 16);
  CHECK(lanes(DType::f16, 333, 20000, ReduceOp::var) == 8);   // less in all
  CHECK(lanes(DType::f16, 333, 1500, ReduceOp::max) == 8);    // few tiles
  CHECK(lanes(DType::f16, 64, 1 << 24, ReduceOp::sum) == 2);  // whole vectors
  CHECK(lanes(DType::f16, 40, 1 << 20, ReduceOp::sum) == 1);
  const auto segments = [&](DType d, int64_t n, int64_t segments, ReduceOp op) { return configured(d, n, segments, op).detail; };
  CHECK(segments(DType::f16, 577, 86655, ReduceOp::var) == 14);
  CHECK(segments(DType::f32, 577, 10900, ReduceOp::sum) == 4);  // less in all: half of 7
  CHECK(segments(DType::i8, 100, 1000000, ReduceOp::max) == 160);  // no warp of three
  const auto threads = [&](DType d, int64_t n, int64_t segments, ReduceOp op) { return configured(d, n, segments, op).block; };
  CHECK(threads(DType::f16, 577, 86655, ReduceOp::var) == 128);  // 14 segments of 8 lanes
  CHECK(threads(DType::f16, 129, 300000, ReduceOp::max) == 128);
  CHECK(threads(DType::f16, 33, 1500000, ReduceOp::var) == 256);
  CHECK(threads(DType::f32, 129, 20000, ReduceOp::sum) == 256);  // ten tiles a multiprocessor
}

TEST_CASE("rows: segments of some hundreds that are no whole vectors") {
  const auto row = [](DType d, int64_t n, int64_t segments, ReduceOp op) {
    Call call;
    const Problem p = call.tensor(is_arg(op) ? DType::i64 : d, {1, segments}).tensor(d, {n, segments}).expr({Node::input(0)}).reduce(op, {0});
    return chosen(p);
  };
  CHECK(row(DType::f32, 577, 43327, ReduceOp::sum) == "reduce.small");
  CHECK(row(DType::f32, 577, 3466, ReduceOp::var) == "reduce.small");
  CHECK(row(DType::f32, 901, 1000, ReduceOp::sum) == "reduce.contiguous");  // tiles for few multiprocessors
  CHECK(row(DType::f32, 576, 43327, ReduceOp::sum) == "reduce.contiguous"); // whole vectors
  CHECK(row(DType::f32, 1501, 16667, ReduceOp::argmax) == "reduce.small");
  CHECK(row(DType::f32, 4001, 6250, ReduceOp::sum) == "reduce.contiguous");  // a tile for each
  CHECK(row(DType::f16, 4001, 12500, ReduceOp::var) == "reduce.small");
  CHECK(row(DType::f16, 769, 1500, ReduceOp::var) == "reduce.contiguous");
}

TEST_CASE("rows: whole rows that are folded slower than they are read go through shared memory, where there is much") {
  const auto variant = [](DType d, int64_t n, int64_t segments, ReduceOp op) {
    Call call;
    const Problem p = call.tensor(is_arg(op) ? DType::i64 : d, {1, segments}).tensor(d, {n, segments}).expr({Node::input(0)}).reduce(op, {0});
    const Kernel &k = *choose(cuda::registry(), p, card());
    CHECK(std::string(k.name) == "reduce.small");
    return k.configure(p, card()).variant;
  };
  CHECK(variant(DType::f16, 1024, 1 << 17, ReduceOp::var) == 2);
  CHECK(variant(DType::f16, 1024, 1 << 12, ReduceOp::var) == 1);
  CHECK(variant(DType::f32, 16, 1 << 21, ReduceOp::logsumexp) == 2);
  CHECK(variant(DType::f16, 1024, 1 << 17, ReduceOp::argmax) == 2);
  CHECK(variant(DType::f16, 1024, 1 << 14, ReduceOp::argmax) == 1);
  CHECK(variant(DType::i8, 1024, 1 << 18, ReduceOp::argmax) == 1);
  CHECK(variant(DType::f16, 1024, 1 << 17, ReduceOp::max) == 1);
}

TEST_CASE("rows: columns of bytes, and positions of float64, are read from tiles; of float16 between two modes they are not") {
  const auto row = [](DType d, const Sizes &extents, ReduceOp op) {
    Sizes kept = extents;
    kept[1] = 1;
    Call call;
    return chosen(call.tensor(is_arg(op) || (op == ReduceOp::sum && d == DType::i8) ? DType::i64 : d, kept).tensor(d, extents).expr({Node::input(0)}).reduce(op, {1}));
  };
  CHECK(row(DType::i8, {50, 2684354}, ReduceOp::sum) == "reduce.tiles");
  CHECK(row(DType::i8, {50, 2684354}, ReduceOp::max) == "reduce.tiles");
  CHECK(row(DType::i8, {500, 268435}, ReduceOp::sum) == "reduce.tiles");
  CHECK(row(DType::i8, {500, 268435}, ReduceOp::max) == "reduce.shifted");
  CHECK(row(DType::i8, {20, 6710886}, ReduceOp::max) == "reduce.channels");
  CHECK(row(DType::i8, {5143209, 32}, ReduceOp::sum) != "reduce.tiles");  // few steps
  CHECK(row(DType::f64, {256, 65536}, ReduceOp::argmax) == "reduce.tiles");
  CHECK(row(DType::f64, {257, 65281}, ReduceOp::argmax) == "reduce.split");
  CHECK(row(DType::f16, {100, 64, 10485}, ReduceOp::argmax) == "reduce.strided");
  CHECK(row(DType::f16, {100, 64, 10485}, ReduceOp::var) == "reduce.strided");
  CHECK(row(DType::f16, {100, 64, 10485}, ReduceOp::sum) == "reduce.periods");
  CHECK(row(DType::f16, {30, 64, 34952}, ReduceOp::var) == "reduce.periods");
}

// A copy of a tensor whose modes lie in that order in memory, numbered from 1 on; and to it a column added, of the first mode alone.
static Problem permuted(DType d, const Sizes &extents, const std::vector<int> &order, bool with_bias = false) {
  Sizes strides(extents.size()), bias(extents.size(), 0);
  int64_t step = 1;
  for (int m : order) strides[size_t(m - 1)] = step, step *= extents[size_t(m - 1)];
  bias[0] = 1;
  Call call;
  call.tensor(d, extents).tensor(d, extents, strides);
  return with_bias ? call.tensor(d, extents, bias).expr({Node::input(0), Node::input(1), Node::op(Op::add)}).map() : call.expr({Node::input(0)}).map();
}

TEST_CASE("rows: permuted tensors of short modes") {
  const auto row = [](DType d, const Sizes &extents, const std::vector<int> &order) {
    const Problem p = permuted(d, extents, order);
    return chosen(p);
  };
  // what out's neighbours read of a sector is far from each other in out
  CHECK(row(DType::f16, {3, 224, 224, 430}, {3, 2, 4, 1}) == "broadcast.permute");
  CHECK(row(DType::f16, {28, 28, 512, 160}, {3, 1, 4, 2}) == "broadcast.permute");
  CHECK(row(DType::f32, {5, 5, 16, 163840}, {4, 2, 3, 1}) == "broadcast.permute");
  CHECK(row(DType::f16, {7, 7, 2048, 640}, {3, 2, 4, 1}) != "broadcast.permute");   // or near
  CHECK(row(DType::f16, {3, 224, 224, 16}, {3, 2, 4, 1}) != "broadcast.permute");   // or little
  // tiles that would be read in single elements, of what the first cache has
  for (DType d : {DType::f16, DType::i8}) CHECK(row(d, {64, 197, 12, 440}, {2, 4, 3, 1}) == "broadcast.realigned");
  CHECK(row(DType::f16, {96, 55, 55, 220}, {2, 4, 3, 1}) == "broadcast.realigned");
  CHECK(row(DType::i8, {56, 2321429}, {2, 1}) == "broadcast.permute");  // whose tiles are no rows
  CHECK(row(DType::f32, {64, 197, 12, 440}, {2, 4, 3, 1}) == "broadcast.transpose");
  CHECK(row(DType::f16, {64, 192, 12, 440}, {2, 4, 3, 1}) == "broadcast.transpose");  // in words
  // rows that are no whole vectors one way, or either
  CHECK(row(DType::f16, {513, 513, 257}, {2, 1, 3}) == "broadcast.realigned");
  CHECK(row(DType::f16, {513, 513, 17}, {2, 1, 3}) == "broadcast.transpose");  // of 40 MB
  CHECK(row(DType::f32, {513, 513, 257}, {2, 1, 3}) == "broadcast.transpose");
  for (DType d : {DType::f16, DType::i8}) CHECK(row(d, {17, 31, 61, 2039}, {4, 3, 2, 1}) == "broadcast.realigned");
  CHECK(row(DType::i8, {103, 56, 224, 77}, {3, 1, 4, 2}) == "broadcast.realigned");
  CHECK(row(DType::f16, {64, 1000, 5, 55}, {4, 3, 2, 1}) == "broadcast.realigned");
  // and those that broadcast.permute turns in words
  CHECK(row(DType::i8, {744, 8, 112, 6, 25}, {3, 5, 4, 2, 1}) == "broadcast.permute");
  CHECK(row(DType::i8, {80, 50, 80, 312}, {2, 1, 4, 3}) != "broadcast.transpose");  // of what the first cache has
}

TEST_CASE("rows: vectors of permuted tensors, whatever modes they lie in") {
  const auto rows = cuda::registry();
  const auto k = std::find_if(rows.begin(), rows.end(), [](const Kernel &k) { return std::string(k.name) == "broadcast.permute"; });
  REQUIRE(k != rows.end());
  // elements along out, along the input, and whether words are turned
  const auto vectors = [&](DType d, const Sizes &extents, const std::vector<int> &order, bool with_bias) {
    Problem p = permuted(d, extents, order, with_bias);
    if (info(d).kind == Kind::Complex) p.alignment[0] = p.alignment[1] = 2;  // to their parts alone
    REQUIRE(k->accepts(p, card()));
    const LaunchConfig c = k->configure(p, card());
    return std::vector<int>{c.vector, c.variant / 2, c.variant % 2};
  };
  CHECK(vectors(DType::f16, {3, 224, 224, 430}, {3, 2, 4, 1}, false) == std::vector<int>{8, 8, 1});
  CHECK(vectors(DType::f16, {28, 28, 512, 160}, {3, 1, 4, 2}, false) == std::vector<int>{8, 8, 1});
  CHECK(vectors(DType::f32, {28, 28, 512, 160}, {3, 1, 4, 2}, false) == std::vector<int>{4, 4, 0});
  CHECK(vectors(DType::i8, {28, 28, 512, 160}, {3, 1, 4, 2}, false) == std::vector<int>{16, 16, 1});
  CHECK(vectors(DType::f16, {64, 197, 12, 441}, {2, 4, 3, 1}, false)[1] == 1);                         // nothing along the input
  CHECK(vectors(DType::f16, {17, 31, 61, 2039}, {4, 3, 2, 1}, false) == std::vector<int>{1, 1, 0});   // nor out
  CHECK(vectors(DType::f16, {3, 224, 224, 430}, {3, 2, 4, 1}, true)[0] == 1);  // what is no vector of the other input
  CHECK(vectors(DType::c64, {28, 28, 512, 40}, {3, 1, 4, 2}, false) == std::vector<int>{1, 1, 0});
}

TEST_CASE("rows: of a permuted copy's tile a thread asks for all that it reads at once") {
  const auto rounds = [](DType d, const Sizes &extents, const std::vector<int> &order) {
    const Problem p = permuted(d, extents, order);
    const Kernel &k = *choose(cuda::registry(), p, card());
    REQUIRE(std::string(k.name) == "broadcast.permute");
    const LaunchConfig c = k.configure(p, card());
    const cuda::PackedWays ways{c.split, c.chunk, c.lanes};
    const int vector = c.variant / 2, rows = c.block / (ways.length(1) / vector) * cuda::permute_items(vector, bytes_of(d));
    return (ways.rows(1) + rows - 1) / rows;
  };
  CHECK(rounds(DType::f16, {3, 224, 224, 430}, {3, 2, 4, 1}) == 1);  // in tiles of 3 x 32 x 112 two, and 1.06 of the time (H200)
  CHECK(rounds(DType::f16, {100, 200, 2500}, {2, 1, 3}) == 1);       // of 100 x 104 two, and 1.05
}

TEST_CASE("rows: inputs that lie across out, and across each other") {
  const auto row = [](DType d, DType other, const Sizes &extents, const Sizes &a, const Sizes &b, bool in_place = false) {
    Call call;
    Problem p = call.tensor(d, extents).tensor(d, extents, a).tensor(other, extents, b).expr({Node::input(0), Node::input(1), Node::op(Op::add)}).map();
    p.in_place = in_place;
    return chosen(p);
  };
  const Sizes cube{256, 300, 200}, last{60000, 200, 1}, middle{300, 1, 76800};
  CHECK(row(DType::f32, DType::f32, cube, last, middle) == "broadcast.crossed");
  CHECK(row(DType::f16, DType::f16, cube, middle, last) == "broadcast.crossed");
  CHECK(row(DType::f64, DType::f64, cube, middle, last) == "broadcast.crossed");
  CHECK(row(DType::f32, DType::f16, cube, last, middle) == "broadcast.crossed");
  CHECK(row(DType::f32, DType::f32, cube, last, last) != "broadcast.crossed");  // across in the same way
  CHECK(row(DType::f32, DType::f32, {16, 20, 30}, {600, 30, 1}, {20, 1, 320}) != "broadcast.crossed");  // little
  // Of a tile little would be there: modes of 8 and 12.
  const Sizes thin{1000, 8, 1000, 12}, second{8, 1, 8000, 8000000}, fourth{12, 12000, 96000, 1};
  CHECK(row(DType::f16, DType::f16, thin, second, fourth) == "broadcast.copied");
  CHECK(row(DType::f16, DType::f16, thin, second, fourth, true) != "broadcast.copied");  // what it would be copied over is read
}

TEST_CASE("rows: vectors of inputs that lie across each other") {
  const auto of = [](DType d, const Sizes &extents, const Sizes &a, const Sizes &b) {
    Call call;
    call.tensor(d, extents).tensor(d, extents, a).tensor(d, extents, b).expr({Node::input(0), Node::input(1), Node::op(Op::add)});
    for (const Task &t : tasks_of(call.map()))
      if (t.row == "broadcast.crossed") return t.source;
    return std::string();
  };
  const auto has = [](const std::string &source, const char *arguments) { return source.find(arguments) != std::string::npos; };
  CHECK(has(of(DType::f16, {512, 300, 400}, {120000, 400, 1}, {300, 1, 153600}), "32, 16, 16, 8, 8, 4, "));  // rows of 300: words of four
  CHECK(has(of(DType::f16, {511, 301, 397}, {119497, 397, 1}, {301, 1, 153811}), "32, 16, 16, 1, 1, 1, "));
  CHECK(has(of(DType::f16, {48, 1000, 1008}, {1008000, 1008, 1}, {1000, 1, 48000}), "16, 16, 32, 8, 8, 8, "));  // three such tiles, or one and a half
}

TEST_CASE("jit: constants and scalars are not part of the code") {
  const auto source = [](double constant, int slot) {
    Call call;
    call.tensor(DType::f32, {100}).tensor(DType::f32, {100});
    call.expr({Node::input(0), Node::constant(DType::f32, make_scalar(DType::f32, constant)), Node::op(Op::mul),
               Node::scalar(slot, DType::f32), Node::op(Op::add)});
    return tasks_of(call.map()).at(0).source;
  };
  CHECK(source(1, 0) == source(2, 5));
}

TEST_CASE("jit: names tell functions apart, and sources follow names") {
  Rng rng(7);
  std::map<std::string, std::string> known;
  for (int i = 0; i < 300; ++i) {
    const Problem p = random_problem(rng, Op::none);
    if (tasks_of(p).empty()) continue;
    const std::string source = cuda::source_of(cuda::asked);
    const auto [at, added] = known.emplace(cuda::name_of(cuda::asked), source);
    CHECK(at->second == source);
  }
  std::set<std::string> sources;
  for (const auto &[name, source] : known) sources.insert(source);
  CHECK(sources.size() == known.size());
}

TEST_CASE("jit: keys of cached code tell architectures apart") {
  CHECK(cuda::code_key({9, 0}) != cuda::code_key({8, 0}));
  CHECK(cuda::code_key({1, 23}) != cuda::code_key({12, 3}));
  CHECK(cuda::code_key({9, 0}) == cuda::code_key({9, 0}));
}

TEST_CASE("jit: an error says what NVRTC said, in one line [nvrtc]") {
  if (skipped()) return;
  try {
    cuda::nvrtc_compile("extern \"C\" __global__ void kernel() { nonsense(); }\n", "sm_90");
    FAIL("it compiled");
  } catch (const Error &e) {
    CHECK(e.code == Code::internal);
    CHECK(std::string(e.what()).find("\"nonsense\" is undefined") != std::string::npos);
    CHECK(std::string(e.what()).find('\n') == std::string::npos);
  }
}

TEST_CASE("jit: machine code for architectures that NVRTC knows, PTX of the nearest for newer ones [nvrtc]") {
  if (skipped()) return;
  CHECK(cuda::nvrtc_architecture(9, 0) == "sm_90");
  const std::string newer = cuda::nvrtc_architecture(99, 9);
  CHECK(newer.substr(0, 8) == "compute_");
  const std::string ptx = cuda::nvrtc_compile("extern \"C\" __global__ void kernel() {}\n", newer);
  CHECK(ptx.find(".entry kernel") != std::string::npos);
  CHECK(code_of([] { cuda::nvrtc_architecture(3, 5); }) == Code::unsupported);
  CHECK(cuda::substitute_key({9, 0}).empty());
  CHECK(cuda::substitute_key({99, 9}) == cuda::nvrtc_version() + " " + newer + " ");
}

TEST_CASE("a divisor's product is the quotient") {
  Rng rng(11);
  const auto check = [&](int64_t most, auto index) {
    using Index = decltype(index);
    std::vector<int64_t> numbers = {1, 2, 3, 5, 7, 10, 641, 65535, 65536, 65537, most / 2, most / 2 + 1, most - 1, most};
    for (int i = 0; i < 200; ++i) numbers.push_back(1 + pick(rng, 0, most - 1) / (int64_t(1) << pick(rng, 0, 40)));
    bool right = true;
    for (int64_t d : numbers) {
      if (d < 1 || d > most) continue;
      const cuda::Divisor by = cuda::divisor(d, 8 * int(sizeof(Index)));
      for (int64_t n : numbers)
        for (int64_t near : {n - 1, n, n / d * d - 1, n / d * d, most - most % d, most - most % d - 1})
          if (near >= 0 && near <= most) right = right && cuda::divide(Index(near), by) == Index(near / d);
    }
    CHECK(right);
  };
  check(INT32_MAX, int32_t());
  check(INT64_MAX, int64_t());
}
