#include "case_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "check.h"
#include "measure.h"

namespace bench {
namespace {

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Where the operands of one set lie, in elements; every set and operand begins at a multiple of 256 bytes.
struct Arrangement {
  int64_t sets, set_elements = 0, out_elements;
  std::vector<int64_t> begins;

  Arrangement(const Case &c, int64_t cache_bytes) : sets(rotation(c.bytes(), cache_bytes)), out_elements(1) {
    for (const View &v : c.inputs) {
      begins.push_back(set_elements);
      set_elements += round_up(v.span, 256 / dtype_bytes(c.dtype));
    }
    for (int64_t e : c.out_shape()) out_elements *= e;
    out_elements = round_up(out_elements, 256 / dtype_bytes(c.out));
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

}  // namespace

// The case as a plan, and as the one-shot call; on any of its sets of operands.
struct CaseRunner::Call {
  Call(const Device &d, const Case &c, const Expression &e, const Options &o, const Pool &pool, const Buffer &out)
      : device(d), fold(e.fold), arrangement(c, d.cache_bytes()), out_extents(c.out_shape()) {
    options.stream = d.stream;
    if (!o.kernel.empty()) kernel_name = o.kernel, options.kernel = kernel_name.c_str();
    expr = make_expr(e, dtype_of(c.dtype));
    for (int dim : c.dims) dims.push_back(dim - 1);
    inputs_of = c.inputs;
    for (const View &v : inputs_of) {
      inputs.push_back(
          {nullptr, v.shape.data(), v.strides.data(), dtype_of(c.dtype), static_cast<int32_t>(v.shape.size())});
    }
    out_tensor = {nullptr, out_extents.data(), nullptr, dtype_of(c.out), static_cast<int32_t>(out_extents.size())};
    for (int64_t s = 0; s < arrangement.sets; s++) {
      outs.push_back(out.at(s * arrangement.out_elements * dtype_bytes(c.out)));
      for (size_t j = 0; j < inputs_of.size(); j++) {
        pointers.push_back(pool.device_at(s * arrangement.set_elements + arrangement.begins[j] + inputs_of[j].offset));
      }
    }
    is_scan = fold.rfind("cum", 0) == 0;
    if (is_scan) fold = fold.substr(3);
    if (!fold.empty() && !(op = tcu_reduce_op_by_name(fold.c_str())))
      throw std::invalid_argument("no fold '" + fold + "'");
    point_to(0);
    make_plan();
  }
  ~Call() {
    tcu_plan_destroy(plan);
    tcu_expr_destroy(expr);
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  void point_to(int64_t set) {
    out_tensor.data = outs[set];
    for (size_t j = 0; j < inputs.size(); j++) inputs[j].data = pointers[set * inputs.size() + j];
  }
  void make_plan() {
    int32_t n = static_cast<int32_t>(inputs.size()), n_dims = static_cast<int32_t>(dims.size());
    if (fold.empty())
      must(tcu_plan_map(&plan, device.context, &out_tensor, expr, n, inputs.data(), &options));
    else if (is_scan)
      must(tcu_plan_scan(&plan, device.context, &out_tensor, op, expr, n, inputs.data(), dims.at(0), &options));
    else
      must(tcu_plan_reduce(&plan, device.context, &out_tensor, op, expr, n, inputs.data(), n_dims, dims.data(),
                           &options));
  }
  void execute(int64_t k) const {
    int64_t set = k % arrangement.sets;
    const void *const *in = pointers.data() + set * inputs.size();
    must(tcu_plan_execute(plan, outs[set], static_cast<int32_t>(inputs.size()), in, &options));
  }
  void one_shot(int64_t k) {
    point_to(k % arrangement.sets);
    int32_t n = static_cast<int32_t>(inputs.size()), n_dims = static_cast<int32_t>(dims.size());
    if (fold.empty())
      must(tcu_map(device.context, &out_tensor, expr, n, inputs.data(), &options));
    else if (is_scan)
      must(tcu_scan(device.context, &out_tensor, op, expr, n, inputs.data(), dims.at(0), &options));
    else
      must(tcu_reduce(device.context, &out_tensor, op, expr, n, inputs.data(), n_dims, dims.data(), &options));
  }

  const Device &device;
  std::string fold, kernel_name;
  bool is_scan = false;
  tcu_reduce_op_t op = 0;
  Arrangement arrangement;
  std::vector<int64_t> out_extents;
  std::vector<View> inputs_of;
  std::vector<tcu_tensor_t> inputs;
  std::vector<int32_t> dims;
  tcu_tensor_t out_tensor;
  std::vector<void *> outs;
  std::vector<void *> pointers;
  tcu_options_t options = TCU_OPTIONS_INIT;
  tcu_expr_t expr = nullptr;
  tcu_plan_t plan = nullptr;
};

CaseRunner::CaseRunner(const Device &device, const Options &options, const std::vector<Case> &cases)
    : device_(device), options_(options), out_(device), plug_(device) {
  int64_t out_bytes = 0;
  for (const Case &c : cases) {
    Arrangement a(c, device.cache_bytes());
    int64_t &elements = pool_elements_[{dtype_of(c.dtype), c.data}];
    elements = std::max(elements, a.sets * a.set_elements);
    out_bytes = std::max(out_bytes, a.sets * a.out_elements * dtype_bytes(c.out));
  }
  out_.reserve(out_bytes);
  if (!device.is_cuda) return;
  plug_.reserve(2 * plug_bytes);
  events_.resize(2);
  for (void *&e : events_) must(tcu_event_create(device.context, &e));
}

CaseRunner::~CaseRunner() {
  for (void *e : events_) tcu_event_destroy(device_.context, e);
}

Row CaseRunner::run(const Case &c) {
  Row row;
  row.who = "tcuops";
  try {
    bool has_fold = c.family != "broadcast";
    Expression e = parse_expression(c.expr, has_fold);
    const auto of_data = std::make_pair(dtype_of(c.dtype), c.data);
    std::unique_ptr<Pool> &pool = pools_[of_data];
    if (!pool) pool = std::make_unique<Pool>(device_);
    pool->prepare(of_data.first, of_data.second, pool_elements_.at(of_data));
    Call call(device_, c, e, options_, *pool, out_);

    tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
    must(tcu_plan_info(call.plan, &info));
    row.kernel = info.kernel;
    if (info.bytes != c.bytes()) row.note = "the plan counts " + std::to_string(info.bytes) + " bytes";

    // Poison the outputs that will be looked at, run once, read them back.
    Samples samples = choose_samples(c);
    const int64_t size = dtype_bytes(c.out);
    const uint64_t poison = ~uint64_t{0};  // NaN as a float
    std::vector<double> out;
    for (int64_t p : samples.positions) {
      must(tcu_copy(device_.context, out_.at(p * size), &poison, size, device_.stream));
    }
    call.one_shot(0);
    for (int64_t p : samples.positions) {
      char element[8];
      must(tcu_copy(device_.context, element, out_.at(p * size), size, device_.stream));
      out.push_back(load_element(dtype_of(c.out), element));
    }
    check(c, e, samples, *pool, call.arrangement.begins, out, &row);
    if (device_.is_cuda)
      measure_cuda(call, c, &row);
    else
      measure_cpu(call, &row);
  } catch (const std::exception &e) {
    row.note = e.what();
    row.correct = 0;
  }
  return row;
}

// Device time of a plan's calls; then host time of a call that looks its plan up: each into an empty queue.
void CaseRunner::measure_cuda(Call &call, const Case &c, Row *row) {
  StreamClock clock(device_, plug_, events_);
  measure(clock, [&](int64_t k) { call.execute(k); }, c, options_, row);
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
