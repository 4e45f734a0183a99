// Plans that are chosen by measuring, over a backend made up here whose kernels take as long as a test says.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "core/problems.h"
#include "plan/planner.h"

using namespace tcu;
using namespace support;

namespace {

struct Row {
  double milliseconds = 1;
  bool compiles = true;
  int launched = 0;
};

class TimedBackend : public Backend {
 public:
  TimedBackend() { device_.memory_bytes = 1 << 24, device_.l2_bytes = 1 << 12; }
  const Device &device() const override { return device_; }
  std::span<const Kernel> kernels() const override;
  void *allocate(size_t bytes, void *) override {
    char *const block = static_cast<char *>(::operator new(bytes));
    blocks[block] = bytes;
    return std::memset(block, 0xff, bytes);
  }
  void release(void *data, void *) override { blocks.erase(static_cast<char *>(data)), ::operator delete(data); }
  void zero(void *data, size_t bytes, void *) override { std::memset(data, 0, bytes); }
  void copy(void *to, const void *from, size_t bytes, void *) override { std::memcpy(to, from, bytes); }
  void synchronize(void *) override {}
  void *stream_create() override { return ++streams, this; }
  void stream_destroy(void *) override { --streams; }
  void *event_create() override { return new double(0); }
  void event_destroy(void *event) override { delete static_cast<double *>(event); }
  void event_record(void *event, void *) override { *static_cast<double *>(event) = clock; }
  float event_elapsed(void *from, void *to) override { return float(*static_cast<double *>(to) - *static_cast<double *>(from)); }
  void mark_segments(const SegmentMarks &, void *) override {}
  void matmul(const Matmul &, void *) override {}

  // Whether all that an operand's strides reach is in one block, and its pointer as aligned as the problem says and no better. Writes it.
  bool holds(const Problem &p, int operand, void *data) const {
    const int64_t size = bytes_of(p.dtype(operand));
    int64_t first = 0, last = size;
    for (const Mode &m : p.modes) {
      const int64_t reach = (m.extent - 1) * m.stride[operand] * size;
      (reach < 0 ? first : last) += reach;
    }
    char *const at = static_cast<char *>(data);
    const auto low = reinterpret_cast<uintptr_t>(data) % 16, aligned = uintptr_t(1) << p.alignment[operand];
    return low == aligned % 16 && std::any_of(blocks.begin(), blocks.end(), [&](const auto &block) {
             return at + first >= block.first && at + last <= block.first + block.second;
           });
  }

  double clock = 0;  // milliseconds
  std::map<std::string, Row> rows;
  std::map<char *, size_t> blocks;
  std::set<const void *> outs;  // that a kernel was launched on
  bool strayed = false, in_place = false;
  int streams = 0;

 private:
  Device device_;
};

TimedBackend &timed(Backend &b) { return static_cast<TimedBackend &>(b); }
bool always(const Problem &, const Device &) { return true; }
bool never(const Problem &, const Device &) { return false; }
LaunchConfig plain(const Problem &, const Device &) { return {}; }
LaunchConfig scratch(const Problem &, const Device &) {
  LaunchConfig c;
  c.workspace_bytes = 64;
  return c;
}
template <char name>
std::shared_ptr<const void> prepare(const Problem &, const LaunchConfig &, Backend &b) {
  if (!timed(b).rows[{name}].compiles) fail(Code::unsupported, "no compiler for %c", name);
  return nullptr;
}
template <char name>
void launch(const Plan &plan, const Execution &e, Backend &b) {
  TimedBackend &backend = timed(b);
  const Problem &p = plan.problem;
  ++backend.rows[{name}].launched;
  backend.clock += backend.rows[{name}].milliseconds;
  backend.outs.insert(e.at.out);
  backend.strayed |= !backend.holds(p, 0, e.at.out);
  for (int i = 0; i < p.n_inputs; ++i) {
    backend.strayed |= !backend.holds(p, 1 + i, const_cast<void *>(e.at.in[i]));
    backend.in_place |= e.at.in[i] == e.at.out;
  }
}
constexpr Kernel kRows[] = {
    {"a", Family::broadcast, always, plain, prepare<'a'>, launch<'a'>, nullptr, never},
    {"b", Family::broadcast, always, plain, prepare<'b'>, launch<'b'>},
    {"c", Family::broadcast, always, scratch, prepare<'c'>, launch<'c'>},
    {"d", Family::broadcast, never, plain, prepare<'d'>, launch<'d'>},
    {"e", Family::reduce, always, plain, prepare<'e'>, launch<'e'>},
};
std::span<const Kernel> TimedBackend::kernels() const { return kRows; }

struct Fixture {
  Fixture() { backend.rows["d"].milliseconds = backend.rows["e"].milliseconds = 0.01; }
  Planner planner{std::make_unique<TimedBackend>()};
  TimedBackend &backend = timed(planner.backend());
  std::string kernel(const Problem &p) { return planner.plan(p, "measured")->kernel->name; }
};

constexpr DType f32 = DType::f32;
Problem copy(Sizes extents) { return Call().tensor(f32, extents).tensor(f32, extents).map(); }

}  // namespace

TEST_CASE_METHOD(Fixture, "measured: the fastest of the rows that accept, suited or not, and once") {
  backend.rows["a"].milliseconds = 0.5;
  CHECK(std::string(planner.plan(copy({6}), nullptr)->kernel->name) == "b");
  CHECK(kernel(copy({6})) == "a");
  CHECK(std::string(planner.plan(copy({6}), nullptr)->kernel->name) == "b");
  backend.rows["a"].milliseconds = 2, backend.rows["c"].milliseconds = 0.25;
  CHECK(kernel(copy({6})) == "a");  // as it was found
  CHECK(kernel(copy({7})) == "c");
  CHECK((backend.rows["d"].launched == 0 && backend.rows["e"].launched == 0));
  for (int row = 0; row < 5; ++row) CHECK(planner.calls(row) == 0);
  CHECK(backend.streams == 1);
  CHECK(backend.blocks.empty());
}

TEST_CASE_METHOD(Fixture, "measured: what is no faster by 2 % leaves the rule's choice") {
  backend.rows["a"].milliseconds = 0.985, backend.rows["c"].milliseconds = 0.99;
  CHECK(kernel(copy({6})) == "b");
  backend.rows["a"].milliseconds = 0.975;
  CHECK(kernel(copy({7})) == "a");
  backend.rows["a"].milliseconds = backend.rows["b"].milliseconds = backend.rows["c"].milliseconds = 0;  // what no clock sees
  CHECK(kernel(copy({8})) == "b");
}

TEST_CASE_METHOD(Fixture, "measured: what is far behind is not tried again, short kernels are called often") {
  backend.rows["a"].milliseconds = 10, backend.rows["b"].milliseconds = 0.001;
  CHECK(kernel(copy({6})) == "b");
  CHECK(backend.rows["a"].launched == 2);
  CHECK(backend.rows["b"].launched > 50);
}

TEST_CASE_METHOD(Fixture, "measured: a row that cannot be made is left out, but the rule's own says why") {
  backend.rows["a"].milliseconds = 0.5, backend.rows["a"].compiles = false;
  CHECK(kernel(copy({6})) == "b");
  backend.rows["b"].compiles = false;
  CHECK(code_of([&] { kernel(copy({7})); }) == Code::unsupported);
  CHECK(backend.blocks.empty());
}

TEST_CASE_METHOD(Fixture, "measured: on memory of its own, laid out and aligned as the operands are") {
  const Problem problems[] = {
      copy({5}),
      copy({3000}),
      Call().tensor(f32, {4, 6}, {-1, 9}).at(0x10000004).tensor(f32, {4, 6}, {6, -1}).at(0x20000008).map(),
      Call().tensor(DType::f16, {40, 6}).at(0x10000002).tensor(DType::i8, {40, 1}).at(0x20000001).tensor(f32, {1, 6}).expr(sum_of_inputs(2)).map(),
      Call().tensor(DType::c64, {7}).tensor(DType::c64, {7}, {2}).at(0x20000008).map(),
      Call().tensor(f32, {7}).result(DType::f64).tensor(f32, {7}).expr({Node::input(0), Node::input(0)}).map(),
      Call().tensor(f32, {1, 6}).tensor(f32, {1, 6}).reduce(ReduceOp::sum, {0}),
  };
  for (const Problem &p : problems) {
    INFO(p.pattern());
    kernel(p);
    CHECK_FALSE(backend.strayed);
    CHECK_FALSE(backend.in_place);
  }
  backend.outs.clear();
  kernel(copy({900}));
  CHECK(backend.outs.size() == 1);  // a set is as large as what is left of the caches
  backend.outs.clear();
  backend.rows["b"].milliseconds = 0.001;
  kernel(copy({50}));
  CHECK(backend.outs.size() == 16);

  backend.outs.clear();
  kernel(Call().tensor(f32, {60}).at(0x10000000).tensor(f32, {60}).at(0x10000000).map());
  CHECK((backend.in_place && !backend.strayed));
  CHECK(backend.blocks.empty());
}

TEST_CASE_METHOD(Fixture, "measured: operands that the device has no room for") {
  CHECK(code_of([&] { kernel(copy({1 << 22})); }) == Code::out_of_memory);
  CHECK(std::string(planner.plan(copy({1 << 22}), nullptr)->kernel->name) == "b");
}

TEST_CASE_METHOD(Fixture, "measured: no output, nothing is launched; one row, nothing is measured") {
  CHECK(planner.plan(copy({0}), "measured")->kernel == nullptr);
  CHECK(kernel(Call().tensor(f32, {1, 6}).tensor(f32, {5, 6}).reduce(ReduceOp::sum, {0})) == "e");
  CHECK((backend.clock == 0 && backend.rows["e"].launched == 0));
}
