#include "case_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <set>

#include "measure.h"
#include "once.h"

namespace bench {
namespace {

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Where the operands of one set lie, in elements; every set and operand begins at a multiple of 256 bytes.
struct Arrangement {
  int64_t sets, set_elements = 0, out_elements;  // out_elements: from one set's out to the next one's; between them its other results
  std::vector<int64_t> begins;

  Arrangement(const Case &c, int64_t cache_bytes)
      : sets(rotation(c.bytes(), cache_bytes)), out_elements(c.results() * round_up(c.into.span, 256 / dtype_bytes(c.out))) {
    for (const View &v : c.inputs) {
      begins.push_back(set_elements);
      set_elements += round_up(v.span, 256 / dtype_bytes(c.dtype));
    }
  }
};

class StreamClock : public Clock {
 public:
  StreamClock(const Device &device, const Buffer &plug, const std::vector<void *> &events)
      : device_(device), plug_(plug), events_(events) {}

  void plug(double us) override {
    for (double t = 0; t < us; t += plug_copy_us) {
      must(tcu_copy(device_.context, plug_.at(0), plug_.at(plug_bytes), plug_bytes, device_.stream));
    }
  }
  void start() override { must(tcu_event_record(device_.context, events_[0], device_.stream)); }
  double stop_us() override {
    must(tcu_event_record(device_.context, events_[1], device_.stream));
    device_.synchronize();
    float ms = 0;
    must(tcu_event_elapsed(device_.context, &ms, events_[0], events_[1]));
    return 1000.0 * ms;
  }
  void synchronize() override { device_.synchronize(); }
  void *stream() const override { return device_.stream; }

 private:
  const Device &device_;
  const Buffer &plug_;
  const std::vector<void *> &events_;
};

// Of calls that return when their work is done.
class WallClock : public Clock {
 public:
  void plug(double) override {}
  void start() override { start_ = now_us(); }
  double stop_us() override { return now_us() - start_; }
  void synchronize() override {}
  void *stream() const override { return nullptr; }

 private:
  double start_ = 0;
};

}  // namespace

// The case as a plan, and as the one-shot call; on any of its sets of operands.
struct CaseRunner::Call {
  // kernel: to pin, or empty. pool, out: where the operands' sets lie.
  Call(const Device &d, const Case &c, const Expression &e, const std::string &kernel, const Arrangement &a, char *pool, char *out)
      : device(d), fold(e.fold), kernel_name(kernel), arrangement(a), into(c.into) {
    options.stream = d.stream;
    if (!kernel_name.empty()) options.kernel = kernel_name.c_str();
    expr.handle = make_expr(e, dtype_of(c.dtype));
    for (int dim : c.dims) dims.push_back(dim - 1);
    inputs_of = c.inputs;
    for (const View &v : inputs_of) {
      inputs.push_back(
          {nullptr, v.shape.data(), v.strides.data(), dtype_of(c.dtype), static_cast<int32_t>(v.shape.size())});
    }
    out_tensor = {nullptr, into.shape.data(), into.strides.data(), dtype_of(c.out), static_cast<int32_t>(into.shape.size())};
    for (int64_t s = 0; s < arrangement.sets; s++) {
      outs.push_back(out + (s * arrangement.out_elements + into.offset) * dtype_bytes(c.out));
      for (int64_t r = 1; r < c.results(); r++) {
        more.push_back(out_tensor);
        more.back().data = out + (s * arrangement.out_elements + r * (arrangement.out_elements / c.results()) + into.offset) * dtype_bytes(c.out);
      }
      for (size_t j = 0; j < inputs_of.size(); j++) {
        pointers.push_back(pool + (s * arrangement.set_elements + arrangement.begins[j] + inputs_of[j].offset) * dtype_bytes(c.dtype));
      }
    }
    options.n_second = static_cast<int32_t>(c.results() - 1);
    is_scan = c.family == "scan" || c.family == "segmented_scan";
    if (fold.rfind("cum", 0) == 0) fold = fold.substr(3);
    if (!fold.empty() && !(op = tcu_reduce_op_by_name(fold.c_str())))
      throw std::invalid_argument("no fold '" + fold + "'");
    point_to(0);
    make_plan();
    tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
    must(tcu_plan_info(plan, &info));
    chosen = info.kernel, bytes = info.bytes;
  }
  ~Call() { tcu_plan_destroy(plan); }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  void point_to(int64_t set) {
    out_tensor.data = outs[set];
    if (!more.empty()) options.second = &more[set * options.n_second];
    for (size_t j = 0; j < inputs.size(); j++) inputs[j].data = pointers[set * inputs.size() + j];
  }
  void make_plan() {
    int32_t n = static_cast<int32_t>(inputs.size()), n_dims = static_cast<int32_t>(dims.size());
    if (fold.empty())
      must(tcu_plan_map(&plan, device.context, &out_tensor, expr.handle, n, inputs.data(), &options));
    else if (is_scan)
      must(tcu_plan_scan(&plan, device.context, &out_tensor, op, expr.handle, n, inputs.data(), dims.at(0), &options));
    else
      must(tcu_plan_reduce(&plan, device.context, &out_tensor, op, expr.handle, n, inputs.data(), n_dims, dims.data(),
                           &options));
  }
  void execute(int64_t k) {
    int64_t set = k % arrangement.sets;
    const void *const *in = pointers.data() + set * inputs.size();
    if (!more.empty()) options.second = &more[set * options.n_second];
    must(tcu_plan_execute(plan, outs[set], static_cast<int32_t>(inputs.size()), in, &options));
  }
  void one_shot(int64_t k) {
    point_to(k % arrangement.sets);
    int32_t n = static_cast<int32_t>(inputs.size()), n_dims = static_cast<int32_t>(dims.size());
    if (fold.empty())
      must(tcu_map(device.context, &out_tensor, expr.handle, n, inputs.data(), &options));
    else if (is_scan)
      must(tcu_scan(device.context, &out_tensor, op, expr.handle, n, inputs.data(), dims.at(0), &options));
    else
      must(tcu_reduce(device.context, &out_tensor, op, expr.handle, n, inputs.data(), n_dims, dims.data(), &options));
  }

  const Device &device;
  std::string fold, kernel_name, chosen;  // chosen: the plan's kernel
  int64_t bytes = 0;                      // as the plan counts them
  bool is_scan = false;
  tcu_reduce_op_t op = 0;
  const Arrangement &arrangement;
  View into;
  std::vector<View> inputs_of;
  std::vector<tcu_tensor_t> inputs;
  std::vector<int32_t> dims;
  tcu_tensor_t out_tensor;
  std::vector<void *> outs;
  std::vector<tcu_tensor_t> more;  // of each set the results but the first
  std::vector<void *> pointers;
  tcu_options_t options = TCU_OPTIONS_INIT;
  struct OwnedExpr {  // goes too where the plan is refused
    tcu_expr_t handle = nullptr;
    ~OwnedExpr() { tcu_expr_destroy(handle); }
  } expr;
  tcu_plan_t plan = nullptr;
};

CaseRunner::CaseRunner(const Device &device, const Options &options, const std::vector<Case> &cases)
    : device_(device), options_(options), cache_bytes_(options.once ? 0 : device.cache_bytes()), out_(device), plug_(device) {
  int64_t out_bytes = 0;
  for (const Case &c : cases) {
    Arrangement a(c, cache_bytes_);
    int64_t &elements = pool_elements_[{dtype_of(c.dtype), c.data}];
    elements = std::max(elements, a.sets * a.set_elements);
    out_bytes = std::max(out_bytes, a.sets * a.out_elements * dtype_bytes(c.out));
  }
  if (!options.parts) out_.reserve(out_bytes);
  kernels_ = options.kernels;
  if (kernels_.empty() || options.all_kernels || options.once) kernels_ = {""};
  int32_t n_kernels = 0;
  if (options.all_kernels || options.once) must(tcu_kernel_count(device.context, &n_kernels));
  for (int32_t k = 0; k < n_kernels; k++) {
    const char *name = nullptr;
    must(tcu_kernel_name(device.context, k, &name));
    kernels_.push_back(name);
  }
  if (!device.is_cuda || options.parts || options.once) return;
  plug_.reserve(2 * plug_bytes);
  events_.resize(2);
  for (void *&e : events_) must(tcu_event_create(device.context, &e));
}

CaseRunner::~CaseRunner() {
  for (void *e : events_) tcu_event_destroy(device_.context, e);
}

Pool &CaseRunner::pool_of(const Case &c) {
  const auto of_data = std::make_pair(dtype_of(c.dtype), c.data);
  std::unique_ptr<Pool> &pool = pools_[of_data];
  if (!pool) pool = std::make_unique<Pool>(device_);
  pool->prepare(of_data.first, of_data.second, pool_elements_.at(of_data));
  return *pool;
}

// Poisons the outputs that will be looked at, runs once, reads them back.
void CaseRunner::verify(Call &call, const Case &c, const Reference &reference, Row *row) {
  if (call.bytes != c.bytes()) row->note = "the plan counts " + std::to_string(call.bytes) + " bytes";
  const int64_t size = dtype_bytes(c.out);
  const uint64_t poison = ~uint64_t{0};  // NaN as a float
  std::vector<int64_t> places;
  for (int64_t result = 0; result < c.results(); result++) {
    for (int64_t p : reference.positions) places.push_back((c.into.at(p) + result * (call.arrangement.out_elements / c.results())) * size);
  }
  for (int64_t p : places) must(tcu_copy(device_.context, out_.at(p), &poison, size, device_.stream));
  call.one_shot(0);
  std::vector<double> out;
  for (int64_t p : places) {
    char element[8];
    must(tcu_copy(device_.context, element, out_.at(p), size, device_.stream));
    out.push_back(load_element(dtype_of(c.out), element));
  }
  check(reference, out, row);
}

void CaseRunner::plan(const Case &c) {
  char *const pool = reinterpret_cast<char *>(uintptr_t{1} << 20), *const out = reinterpret_cast<char *>(uintptr_t{1} << 40);
  for (const std::string &kernel : kernels_) {
    try {
      Call(device_, c, parse_expression(c.expr, c.family != "broadcast"), kernel, Arrangement(c, 0), pool, out);
    } catch (const std::exception &) {
    }
  }
}

std::vector<Row> CaseRunner::run(const Case &c) {
  const bool all = options_.all_kernels || options_.once;
  std::vector<Row> rows;
  size_t at = 0;  // the row that is worked on
  tried_++;
  try {
    const Expression e = parse_expression(c.expr, c.family != "broadcast");
    const Pool &pool = pool_of(c);
    const Arrangement arrangement(c, cache_bytes_);
    std::vector<std::unique_ptr<Call>> calls;
    for (const std::string &kernel : kernels_) {
      if (all && !calls.empty() && kernel == calls[0]->chosen) continue;
      at = rows.size();
      rows.emplace_back();
      rows.back().kernel = kernel, rows.back().pinned = !kernel.empty();
      try {
        calls.push_back(std::make_unique<Call>(device_, c, e, kernel, arrangement, static_cast<char *>(pool.device_at(0)), out_.at(0)));
        rows.back().kernel = calls.back()->chosen;
      } catch (const Failure &f) {
        if (kernel.empty() || f.status != TCU_ERROR_KERNEL) throw;
        rows.pop_back();  // it does not take the case
        if (!all && refused_[kernel].count++ == 0) refused_[kernel].first = c.name + ": " + f.what();
      }
    }
    if (calls.empty()) return rows;
    // Of all kernels in a row fewer outputs are recomputed.
    const Reference reference = all ? make_reference(c, e, pool, arrangement.begins, 32, int64_t{1} << 20)
                                    : make_reference(c, e, pool, arrangement.begins, 300, int64_t{1} << 25);
    for (at = 0; at < calls.size(); at++) verify(*calls[at], c, reference, &rows[at]);
    at = 0;
    if (options_.once) {
      profile_all(calls, rows);
    } else if (options_.all_kernels) {
      measure_all(calls, c, rows);
      rows[0].measured = Call(device_, c, e, TCU_KERNEL_MEASURED, arrangement, static_cast<char *>(pool.device_at(0)), out_.at(0)).chosen;
    } else {
      for (; at < calls.size(); at++) device_.is_cuda ? measure_cuda(*calls[at], c, &rows[at]) : measure_cpu(*calls[at], &rows[at]);
    }
  } catch (const std::exception &e) {
    if (rows.empty()) rows.emplace_back();
    rows.at(at).note = e.what();
    rows.at(at).correct = 0;
  }
  for (Row &row : rows) row.who = "tcuops";
  return rows;
}

std::vector<std::string> CaseRunner::refused() const {
  std::vector<std::string> lines;
  for (const auto &[kernel, r] : refused_) {
    lines.push_back(kernel + " does not take " + std::to_string(r.count) + " of " + std::to_string(tried_) + " cases; " + r.first);
  }
  return lines;
}

void CaseRunner::measure_all(const std::vector<std::unique_ptr<Call>> &calls, const Case &c, std::vector<Row> &rows) {
  StreamClock device_clock(device_, plug_, events_);
  WallClock wall_clock;
  std::vector<std::function<void(int64_t)>> functions;
  std::vector<Row *> pointers;
  for (const auto &call : calls) functions.push_back([&call](int64_t k) { call->execute(k); });
  for (Row &row : rows) pointers.push_back(&row);
  measure_in_turn(device_.is_cuda ? static_cast<Clock &>(device_clock) : wall_clock, functions, pointers);
  if (options_.energy != "all" || !device_.is_cuda) return;
  std::set<size_t> wanted = {0};  // the planner's, and the fastest on tensor cores and on ordinary ones
  for (const bool on_tensor_cores : {true, false}) {
    const Row *best = nullptr;
    for (const Row &row : rows) {
      const bool is_kind = (row.kernel.find(".tcu.") != std::string::npos) == on_tensor_cores;
      if (is_kind && row.correct == 1 && (!best || row.us < best->us)) best = &row;
    }
    if (best) wanted.insert(size_t(best - rows.data()));
  }
  for (const size_t i : wanted) measure_energy(device_clock, functions[i], c, &rows[i]);
}

// A row far behind the fastest is not profiled: of no use, and several times as long under a profiler.
void CaseRunner::profile_all(const std::vector<std::unique_ptr<Call>> &calls, std::vector<Row> &rows) {
  StreamClock device_clock(device_, plug_, events_);
  WallClock wall_clock;
  Clock &clock = device_.is_cuda ? static_cast<Clock &>(device_clock) : wall_clock;
  std::vector<double> seconds;
  for (const auto &call : calls) seconds.push_back(seconds_of(clock, [&](int64_t k) { call->execute(k); }));
  const double most = 10 * *std::min_element(seconds.begin(), seconds.end());
  for (size_t i = 0; i < calls.size(); i++) {
    if (rows[i].correct == 1) run_once(clock, [&](int64_t k) { calls[i]->execute(k); }, seconds[i], most, &rows[i]);
  }
}

// Device time of a plan's calls; then host time of a call that looks its plan up: each into an empty queue.
void CaseRunner::measure_cuda(Call &call, const Case &c, Row *row) {
  StreamClock clock(device_, plug_, events_);
  const auto execute = [&](int64_t k) { call.execute(k); };
  measure(clock, execute, options_, row);
  if (wants_energy(c, options_)) measure_energy(clock, execute, c, row);
  std::vector<double> times;
  for (int64_t k = 0; k < 33; k++) {
    if (k % 11 == 0) device_.synchronize();
    double start = now_us();
    call.one_shot(k);
    times.push_back(now_us() - start);
  }
  device_.synchronize();
  std::nth_element(times.begin(), times.begin() + 16, times.end());
  row->host_us = times[16];
}

// Wall time of the one-shot call, which returns when its work is done. Work under 2 ms is timed in batches that long.
void CaseRunner::measure_cpu(Call &call, Row *row) {
  auto batch_us = [&](int64_t from, int64_t n) {
    double start = now_us();
    for (int64_t k = from; k < from + n; k++) call.one_shot(k);
    return (now_us() - start) / n;
  };
  batch_us(0, 1);
  double us = std::min(batch_us(1, 1), batch_us(2, 1));
  const int64_t n = std::clamp<int64_t>(std::ceil(2000 / us), 1, 10000);
  const double seconds = options_.quick ? 0.4 : 1.5;  // per case, but three samples at least
  const int64_t samples = std::clamp<int64_t>(seconds * 1e6 / (us * n), 3, 31);
  std::vector<double> times;
  for (int64_t s = 0, k = 3; s < samples; s++, k += n) times.push_back(batch_us(k, n));
  summarize(times, row);
  row->method = "wall";
}

}  // namespace bench
