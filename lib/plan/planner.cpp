#include "plan/planner.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/hash.h"
#include "core/rewrites.h"
#include "plan/fastest.h"

namespace tcu {

Problem as_run(const Problem &asked, bool pinned) {
  if (is_empty_reduction(asked) || (!pinned && is_first_position(asked))) return as_fill(asked);
  return !pinned && is_map(asked) ? as_map(asked) : asked;
}
const Kernel *choose(std::span<const Kernel> rows, const Problem &p, const Device &d) {
  for (const Kernel &k : rows)
    if (k.family == p.family && k.accepts(p, d) && (!k.suits || k.suits(p, d))) return &k;
  return nullptr;
}

std::shared_ptr<const Plan> plan_on(const Kernel &row, const Problem &p, Backend &backend, bool now) {
  const auto plan = std::make_shared<Plan>(p);
  plan->post = p.op != ReduceOp::none && is_arg(p.op) ? DType::i64 : p.acc;
  plan->row = int(&row - backend.kernels().data());
  if (p.empty()) return plan;  // there is nothing to launch
  plan->kernel = &row;
  plan->config = row.configure(p, backend.device());
  now = now && row.prepare_now;
  plan->prepared = (now ? row.prepare_now : row.prepare)(p, plan->config, backend);
  return now && !plan->prepared ? nullptr : plan;
}

namespace {
bool is_off(const char *variable) {
  const char *value = std::getenv(variable);
  return value && std::string_view(value) == "off";
}
}  // namespace

Planner::Planner(std::unique_ptr<Backend> backend)
    : backend_(std::move(backend)), may_stand_in_(!is_off("TCUOPS_STAND_IN")), calls_(backend_->kernels().size()) {}
Planner::~Planner() {
  try {
    if (stream_) backend_->stream_destroy(stream_);
  } catch (const Error &) {  // the process is ending and the device has gone
  }
}

Planner::Asked Planner::asked(const Problem &problem, const char *pin) {
  if (!pin) pin = "";
  QuickHash hash;
  hash.add(problem.hash()), hash.add(problem.expr->constants_hash()), hash.add_text(pin);
  return {problem, pin, hash.value()};
}
std::shared_ptr<const Plan> Planner::keep(const Asked &asked, std::shared_ptr<const Plan> plan) {
  return cache_.insert({asked.problem, std::string(asked.pin), asked.hash}, std::move(plan));
}

std::shared_ptr<const Plan> Planner::plan(const Problem &problem, const char *pin) {
  const Asked a = asked(problem, pin);
  if (auto found = cache_.find(a)) return found;
  return keep(a, make(problem, a.pin, false));
}
std::shared_ptr<const Plan> Planner::plan_now(const Problem &problem, const char *pin, void *stream) {
  const Asked a = asked(problem, pin);
  if (auto found = cache_.find(a)) return found;
  if (auto made = make(problem, a.pin, may_stand_in_)) return keep(a, std::move(made));
  auto meanwhile = backend_->is_recording(stream) ? nullptr : stand_in(problem);
  return meanwhile ? meanwhile : keep(a, make(problem, a.pin, false));
}

std::shared_ptr<const Plan> Planner::make(const Problem &asked, std::string_view pin, bool now) {
  const bool pinned = !pin.empty() && pin != kMeasured;
  const Problem p = as_run(asked, pinned);
  if (pinned) return plan_on(named(pin, p), p, *backend_);
  const Kernel *chosen = choose(backend_->kernels(), p, backend_->device());
  if (!chosen) fail(Code::internal, "no kernel takes %s '%s'", name_of(p.family), p.pattern().c_str());
  return pin == kMeasured && !p.empty() && p.family != Family::segmented ? measured(p, *chosen) : plan_on(*chosen, p, *backend_, now);
}
std::shared_ptr<const Plan> Planner::stand_in(const Problem &asked) {
  const Problem p = as_run(asked, false);
  for (const Kernel &k : backend_->kernels())
    if (k.stands_in && k.family == p.family && k.accepts(p, backend_->device())) return plan(p, k.name);
  return nullptr;
}

const Kernel &Planner::named(std::string_view pin, const Problem &p) const {
  const std::span<const Kernel> rows = backend_->kernels();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Kernel &k) { return pin == k.name; });
  const std::string name(pin);
  if (found == rows.end()) fail(Code::kernel, "there is no kernel '%s' on this backend; tcu_kernel_name lists them", name.c_str());
  if (found->family != p.family || !found->accepts(p, backend_->device()))
    fail(Code::kernel, "kernel '%s' does not take this problem (%s %s)", name.c_str(), name_of(p.family), p.pattern().c_str());
  return *found;
}

std::shared_ptr<const Plan> Planner::measured(const Problem &p, const Kernel &chosen) {
  std::vector<std::shared_ptr<const Plan>> plans{plan_on(chosen, p, *backend_)};
  for (const Kernel &k : backend_->kernels()) {
    if (&k == &chosen || k.family != p.family || k.stands_in || !k.accepts(p, backend_->device())) continue;
    try {
      plans.push_back(plan_on(k, p, *backend_));
    } catch (const Error &) {  // what cannot be compiled here cannot be the fastest
    }
  }
  const std::lock_guard one_at_a_time(measuring_);
  if (!stream_) stream_ = backend_->stream_create();
  return plans[fastest(plans, 0, *backend_, stream_, [&](const Plan &plan, const Execution &e) { launch(plan, e, 0); })];
}

void Planner::execute(const Plan &plan, const Execution &given, size_t workspace_bytes) {
  if (!plan.kernel) return;
  launch(plan, given, workspace_bytes);
  calls_[size_t(plan.row)].fetch_add(1, std::memory_order_relaxed);
}

void Planner::launch(const Plan &plan, const Execution &given, size_t workspace_bytes) {
  const size_t need = plan.config.workspace_bytes;
  if (given.workspace && workspace_bytes < need)
    fail(Code::workspace, "the workspace has %zu bytes and the plan needs %zu; see tcu_plan_workspace", workspace_bytes, need);
  if (need == 0) return plan.kernel->launch(plan, given, *backend_);

  Execution e = given;
  const size_t zeroed = plan.config.zeroed_bytes, rest = need - zeroed;
  Scratch own;
  if (!given.workspace && plan.config.leaves_zero) own = backend_->scratch(e.stream, zeroed, rest);
  struct Pooled {
    Backend &backend;
    void *data, *stream;
    ~Pooled() {
      if (data) backend.release(data, stream);
    }
  } pooled{*backend_, nullptr, e.stream};
  if (own.zeroed) {
    if (!own.rest && rest) pooled.data = backend_->allocate(rest, e.stream);
    e.zeroed = own.zeroed, e.workspace = own.rest ? own.rest : pooled.data;
  } else {
    if (!given.workspace) pooled.data = backend_->allocate(need, e.stream);
    e.zeroed = pooled.data ? pooled.data : given.workspace;
    e.workspace = static_cast<char *>(e.zeroed) + zeroed;
    if (zeroed) backend_->zero(e.zeroed, zeroed, e.stream);
  }
  plan.kernel->launch(plan, e, *backend_);
}

}  // namespace tcu
