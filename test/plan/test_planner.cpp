// The planner over a backend made up here: rows that accept by simple rules and only count.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/problems.h"
#include "plan/planner.h"

using namespace tcu;
using namespace support;

namespace {

struct Log {
  std::atomic<int> prepared{0}, launched{0}, allocated{0}, released{0};
  std::string last;           // the kernel launched last
  void *workspace = nullptr, *zeroed = nullptr;  // that it was given
  bool was_zero = false;      // whether the part that must be zero was
  double constant = 0;        // of a plan whose expression has one
  size_t asked = 0;           // zeroed bytes of a scratch
  bool compiled = true;       // whether broadcast.general's function is there
  bool recording = false;
};
Log *log_of(Backend &);

constexpr size_t kWorkspace = 256, kZeroed = 64, kRest = 512;  // the last: of a stream's scratch

void launch(const Plan &plan, const Execution &e, Backend &backend) {
  Log &log = *log_of(backend);
  ++log.launched;
  log.last = plan.kernel->name, log.workspace = e.workspace, log.zeroed = e.zeroed;
  if (plan.config.workspace_bytes) {
    log.was_zero = true;
    for (size_t i = 0; i < kZeroed; ++i) log.was_zero &= static_cast<char *>(e.zeroed)[i] == 0;
  }
  if (plan.prepared) log.constant = *static_cast<const double *>(plan.prepared.get());
}
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &backend) {
  ++log_of(backend)->prepared;
  for (const Node &n : p.expr->nodes())
    if (n.kind == NodeKind::constant) return std::make_shared<const double>(n.value.f);
  return nullptr;
}
std::shared_ptr<const void> prepare_now(const Problem &, const LaunchConfig &, Backend &backend) {
  return log_of(backend)->compiled ? std::make_shared<const double>(0) : nullptr;
}
LaunchConfig plain(const Problem &, const Device &) { return {}; }
LaunchConfig scratch(const Problem &, const Device &) {
  LaunchConfig c;
  c.workspace_bytes = kWorkspace, c.zeroed_bytes = kZeroed;
  return c;
}
// The same, but zero again at the end; with more workspace than a stream's scratch has where the output has two elements.
LaunchConfig clean(const Problem &p, const Device &) {
  LaunchConfig c;
  c.zeroed_bytes = kZeroed, c.leaves_zero = true;
  c.workspace_bytes = kZeroed + (p.kept() == 2 ? kRest + 1 : kRest);
  return c;
}
bool always(const Problem &, const Device &) { return true; }
bool one_mode(const Problem &p, const Device &) { return p.modes.size() == 1; }
bool even(const Problem &p, const Device &) { return p.modes.size() == 1 && p.modes[0].extent % 2 == 0; }
bool small(const Problem &p, const Device &) { return p.kept() < 10; }
bool deep(const Problem &p, const Device &) { return p.reduced() > 1000; }

constexpr Kernel kRows[] = {
    {"broadcast.even", Family::broadcast, even, plain, prepare, launch, nullptr, small},
    {"broadcast.flat", Family::broadcast, one_mode, plain, prepare, launch},
    {"reduce.split", Family::reduce, deep, scratch, prepare, launch},
    {"reduce.general", Family::reduce, always, plain, prepare, launch},
    {"broadcast.general", Family::broadcast, always, plain, prepare, launch, nullptr, nullptr, prepare_now},
    {"broadcast.tape", Family::broadcast, small, plain, prepare, launch, nullptr, nullptr, nullptr, true},
    {"reduce.clean", Family::reduce, always, clean, prepare, launch},
};

class FakeBackend : public Backend {
 public:
  explicit FakeBackend(Log &log) : log(log) {}
  const Device &device() const override { return device_; }
  std::span<const Kernel> kernels() const override { return kRows; }
  void *allocate(size_t bytes, void *) override {
    ++log.allocated;
    return std::memset(::operator new(bytes), 0xff, bytes);
  }
  void release(void *data, void *) override { ++log.released, ::operator delete(data); }
  void zero(void *data, size_t bytes, void *) override { std::memset(data, 0, bytes); }
  void copy(void *to, const void *from, size_t bytes, void *) override { std::memcpy(to, from, bytes); }
  Scratch scratch(void *stream, size_t bytes, size_t others) override {
    log.asked = bytes;
    return stream ? Scratch{zeroed, others <= kRest ? rest : nullptr} : Scratch{};
  }
  void synchronize(void *) override {}
  bool is_recording(void *) override { return log.recording; }
  void *stream_create() override { return nullptr; }
  void stream_destroy(void *) override {}
  void *event_create() override { return nullptr; }
  void event_destroy(void *) override {}
  void event_record(void *, void *) override {}
  float event_elapsed(void *, void *) override { return 0; }
  void mark_segments(const SegmentMarks &, void *) override {}
  void matmul(const Matmul &, void *) override {}
  Log &log;
  char zeroed[kZeroed] = {}, rest[kRest];

 private:
  Device device_;
};
Log *log_of(Backend &b) { return &static_cast<FakeBackend &>(b).log; }

struct Fixture {
  explicit Fixture(int = 0) {}
  Log log;
  Planner planner{std::make_unique<FakeBackend>(log)};
};

constexpr DType f32 = DType::f32;
Problem copy(Sizes extents) { return Call().tensor(f32, extents).tensor(f32, extents).map(); }
Problem transpose(int64_t m, int64_t n) { return Call().tensor(f32, {m, n}).tensor(f32, {m, n}, {n, 1}).map(); }
Problem sum(int64_t reduced, int64_t kept) {
  return Call().tensor(f32, {1, kept}).tensor(f32, {reduced, kept}).reduce(ReduceOp::sum, {0});
}
Problem plus(double constant) {
  return Call().tensor(f32, {5}).tensor(f32, {5})
      .expr({Node::input(0), Node::constant(f32, make_scalar(f32, constant)), Node::op(Op::add)}).map();
}

}  // namespace

TEST_CASE_METHOD(Fixture, "planner: the first row that accepts and is suited, of the problem's family") {
  CHECK(std::string(planner.plan(copy({6}), nullptr)->kernel->name) == "broadcast.even");
  CHECK(std::string(planner.plan(copy({5}), nullptr)->kernel->name) == "broadcast.flat");
  CHECK(std::string(planner.plan(copy({10}), nullptr)->kernel->name) == "broadcast.flat");  // does not suit broadcast.even
  CHECK(std::string(planner.plan(transpose(4, 6), nullptr)->kernel->name) == "broadcast.general");
  CHECK(std::string(planner.plan(sum(2000, 3), nullptr)->kernel->name) == "reduce.split");
  CHECK(std::string(planner.plan(sum(20, 3), nullptr)->kernel->name) == "reduce.general");
  const auto plan = planner.plan(copy({5}), nullptr);
  CHECK(plan->row == 1);
  CHECK(plan->problem.pattern() == "K:5");
  CHECK(plan->post == f32);
  CHECK(code_of([&] { planner.plan(Call().tensor(f32, {5}).tensor(f32, {5}).scan(ReduceOp::sum, 0), nullptr); }) ==
        Code::internal);
}

TEST_CASE_METHOD(Fixture, "planner: a pin takes its row, or fails") {
  CHECK(planner.plan(copy({6}), "broadcast.general")->row == 4);
  CHECK(planner.plan(copy({6}), nullptr)->row == 0);  // pinned and unpinned are kept apart
  CHECK(planner.plan(copy({6}), "")->row == 0);
  CHECK(planner.plan(copy({10}), "broadcast.even")->row == 0);  // a pin asks only whether it can
  CHECK(code_of([&] { planner.plan(copy({6}), "broadcast.nothing"); }) == Code::kernel);
  CHECK(code_of([&] { planner.plan(copy({5}), "broadcast.even"); }) == Code::kernel);     // does not accept
  CHECK(code_of([&] { planner.plan(copy({6}), "reduce.general"); }) == Code::kernel);     // another family
  CHECK(code_of([&] { planner.plan(copy({0}), "broadcast.nothing"); }) == Code::kernel);  // also when there is nothing to do
  try {
    planner.plan(copy({5}), "broadcast.even");
  } catch (const Error &e) {
    CHECK(std::string(e.what()).find("broadcast.even") != std::string::npos);
    CHECK(std::string(e.what()).find("K:5") != std::string::npos);
  }
}

struct StandIns : Fixture {
  StandIns() : Fixture(::unsetenv("TCUOPS_STAND_IN")) {}
  ~StandIns() { ::setenv("TCUOPS_STAND_IN", "off", 1); }
  std::string now(const Problem &p, const char *pin = nullptr) { return planner.plan_now(p, pin, nullptr)->kernel->name; }
};

TEST_CASE_METHOD(StandIns, "planner: a row stands in for one whose compiler is at work") {
  const Problem p = transpose(2, 3);
  log.compiled = false;
  CHECK(now(p) == "broadcast.tape");
  CHECK(now(p) == "broadcast.tape");
  CHECK(log.prepared == 1);                   // the stand-in, once
  CHECK(now(copy({5})) == "broadcast.flat");  // has no such compiler
  CHECK(now(sum(20, 3)) == "reduce.general");
  log.compiled = true;
  CHECK(now(p) == "broadcast.general");
  log.compiled = false;
  CHECK(now(p) == "broadcast.general");  // and stays
}

TEST_CASE_METHOD(StandIns, "planner: none stands in for a plan, a pin, a recording, or what it does not accept") {
  log.compiled = false;
  CHECK(now(transpose(4, 6)) == "broadcast.general");
  CHECK(now(transpose(2, 2), "broadcast.general") == "broadcast.general");
  CHECK(std::string(planner.plan(transpose(2, 3), nullptr)->kernel->name) == "broadcast.general");
  log.recording = true;
  CHECK(now(transpose(2, 4)) == "broadcast.general");
  log.recording = false;
  CHECK(now(transpose(3, 2)) == "broadcast.tape");
}

TEST_CASE_METHOD(Fixture, "planner: TCUOPS_STAND_IN=off") {
  log.compiled = false;
  CHECK(std::string(planner.plan_now(transpose(2, 3), nullptr, nullptr)->kernel->name) == "broadcast.general");
}

TEST_CASE_METHOD(Fixture, "planner: one plan for equal problems, prepared once") {
  const auto a = planner.plan(copy({2, 3, 4}), nullptr), b = planner.plan(copy({24}), nullptr);
  CHECK(a == b);
  CHECK(log.prepared == 1);
  CHECK(planner.plan(copy({26}), nullptr) != a);
}

TEST_CASE_METHOD(Fixture, "planner: problems that differ in a constant's value do not share its plan") {
  const Execution e;
  for (double value : {1.0, 2.0, 1.0}) {
    planner.execute(*planner.plan(plus(value), nullptr), e, 0);
    CHECK(log.constant == value);
  }
  CHECK(log.prepared == 2);
}

TEST_CASE_METHOD(Fixture, "planner: forgets the plan that was not asked for longest") {
  const std::weak_ptr<const Plan> first = planner.plan(copy({1001}), nullptr), second = planner.plan(copy({1002}), nullptr);
  for (int64_t i = 0; i < int64_t(Planner::kCapacity) - 2; ++i) planner.plan(copy({2000 + i}), nullptr);
  CHECK_FALSE(first.expired());
  planner.plan(copy({1001}), nullptr);
  planner.plan(copy({1}), nullptr);
  CHECK_FALSE(first.expired());
  CHECK(second.expired());
  const int prepared = log.prepared;
  planner.plan(copy({1002}), nullptr);
  CHECK(log.prepared == prepared + 1);
}

TEST_CASE_METHOD(Fixture, "planner: threads that ask for one problem get one plan") {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::shared_ptr<const Plan>> got(8);
    std::vector<std::thread> threads;
    for (auto &mine : got)
      threads.emplace_back([&, round] {
        for (int64_t other = 0; other < 5; ++other) planner.plan(copy({100 + other}), nullptr);
        mine = planner.plan(copy({1000 + round}), nullptr);
      });
    for (std::thread &t : threads) t.join();
    for (const auto &p : got) CHECK(p == got[0]);
  }
}

TEST_CASE_METHOD(Fixture, "execute: calls are counted by row, those that fail are not") {
  const Execution e;
  const auto flat = planner.plan(copy({5}), nullptr), split = planner.plan(sum(2000, 3), nullptr);
  for (int i = 0; i < 3; ++i) planner.execute(*flat, e, 0);
  planner.execute(*split, e, 0);
  CHECK((planner.calls(0) == 0 && planner.calls(1) == 3 && planner.calls(2) == 1));
  CHECK(log.last == "reduce.split");

  char small[kWorkspace - 1];
  Execution given;
  given.workspace = small;
  CHECK(code_of([&] { planner.execute(*split, given, sizeof small); }) == Code::workspace);
  CHECK(planner.calls(2) == 1);
  CHECK(log.launched == 4);
}

TEST_CASE_METHOD(Fixture, "execute: a workspace is the caller's or the pool's, and its head is zero") {
  const auto split = planner.plan(sum(2000, 3), nullptr);
  CHECK(split->config.workspace_bytes == kWorkspace);
  planner.execute(*split, {}, 0);
  CHECK((log.allocated == 1 && log.released == 1 && log.was_zero));

  std::vector<char> mine(kWorkspace, 0x55);
  Execution e;
  e.workspace = mine.data();
  planner.execute(*split, e, mine.size());
  CHECK((log.allocated == 1 && log.zeroed == mine.data() && log.was_zero));
  CHECK(mine[kZeroed] == 0x55);

  planner.execute(*planner.plan(copy({5}), nullptr), {}, 0);
  CHECK(log.allocated == 1);
  CHECK(log.workspace == nullptr);
}

TEST_CASE_METHOD(Fixture, "execute: a kernel that leaves zero behind takes its stream's scratch") {
  const auto one = planner.plan(sum(2000, 1), "reduce.clean"), two = planner.plan(sum(2000, 2), "reduce.clean");
  const auto &backend = static_cast<FakeBackend &>(planner.backend());
  Execution e;
  planner.execute(*one, e, 0);  // this stream has none
  CHECK((log.allocated == 1 && log.released == 1 && log.was_zero && log.workspace == static_cast<char *>(log.zeroed) + kZeroed));
  e.stream = &e;
  planner.execute(*one, e, 0);
  CHECK((log.allocated == 1 && log.zeroed == backend.zeroed && log.workspace == backend.rest));
  CHECK(log.asked == kZeroed);
  planner.execute(*two, e, 0);  // too large for it: only what it has not
  CHECK((log.allocated == 2 && log.released == 2 && log.was_zero && log.zeroed == backend.zeroed && log.workspace && log.workspace != backend.rest));
  std::vector<char> mine(one->config.workspace_bytes, 1);
  e.workspace = mine.data();
  planner.execute(*one, e, mine.size());
  CHECK((log.allocated == 2 && log.was_zero && log.zeroed == mine.data() && log.workspace == mine.data() + kZeroed));
}

TEST_CASE_METHOD(Fixture, "execute: nothing is launched for no output") {
  for (const Problem &p : {copy({0}), copy({3, 0, 4}), sum(5, 0), sum(0, 0)}) {
    const auto plan = planner.plan(p, nullptr);
    CHECK(plan->kernel == nullptr);
    planner.execute(*plan, {}, 0);
  }
  CHECK((log.prepared == 0 && log.launched == 0));
}

TEST_CASE_METHOD(Fixture, "execute: an empty reduction is a fill") {
  const auto plan = planner.plan(sum(0, 6), nullptr);
  REQUIRE(plan->kernel != nullptr);
  CHECK(std::string(plan->kernel->name) == "broadcast.even");
  CHECK(plan->problem.family == Family::broadcast);
  planner.execute(*plan, {}, 0);
  CHECK(log.launched == 1);
  CHECK(planner.plan(sum(0, 6), nullptr) == plan);
}

TEST_CASE_METHOD(Fixture, "execute: a reduction over modes of extent 1 is a map, unless a kernel is pinned") {
  CHECK(std::string(planner.plan(sum(1, 6), nullptr)->kernel->name) == "broadcast.even");
  CHECK(std::string(planner.plan(sum(1, 6), "reduce.general")->kernel->name) == "reduce.general");
  const auto reduce = [](ReduceOp op, DType out) {
    return Call().tensor(out, {4, 1, 6}).tensor(f32, {4, 1, 6}, {6, 24, 1}).reduce(op, {1});
  };
  CHECK(planner.plan(reduce(ReduceOp::max, f32), nullptr)->problem.pattern() ==
        planner.plan(transpose(4, 6), nullptr)->problem.pattern());
  CHECK(planner.plan(reduce(ReduceOp::argmax, DType::i64), nullptr)->problem.n_inputs == 0);  // the position is 0
  CHECK(std::string(planner.plan(reduce(ReduceOp::argmax, DType::i64), "reduce.general")->kernel->name) == "reduce.general");
  // these give something else than the element
  CHECK(planner.plan(reduce(ReduceOp::count, DType::i64), nullptr)->problem.family == Family::reduce);
  for (const ReduceOp op : {ReduceOp::mean, ReduceOp::var, ReduceOp::norm})
    CHECK(planner.plan(reduce(op, f32), nullptr)->problem.family == Family::reduce);
}
