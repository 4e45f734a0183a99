#include "plan/planner.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/hash.h"

namespace tcu {

Problem as_run(const Problem &asked, bool pinned) {
  return is_empty_reduction(asked) ? as_fill(asked) : !pinned && is_map(asked) ? as_map(asked) : asked;
}
const Kernel *choose(std::span<const Kernel> rows, const Problem &p, const Device &d) {
  for (const Kernel &k : rows)
    if (k.family == p.family && k.accepts(p, d) && (!k.suits || k.suits(p, d))) return &k;
  return nullptr;
}

Planner::Planner(std::unique_ptr<Backend> backend) : backend_(std::move(backend)), calls_(backend_->kernels().size()) {}

std::shared_ptr<const Plan> Planner::plan(const Problem &problem, const char *pin) {
  if (!pin) pin = "";
  QuickHash hash;
  hash.add(problem.hash()), hash.add(problem.expr->constants_hash()), hash.add_text(pin);
  const KeyOf<const Problem &, std::string_view> asked{problem, pin, hash.value()};
  if (auto found = cache_.find(asked)) return found;
  return cache_.insert({problem, pin, asked.hash}, make(problem, pin));
}

std::shared_ptr<const Plan> Planner::make(const Problem &asked, const char *pin) const {
  const bool pinned = *pin != 0;
  const auto plan = std::make_shared<Plan>(as_run(asked, pinned));
  const Problem &p = plan->problem;
  plan->post = p.op != ReduceOp::none && is_arg(p.op) ? DType::i64 : p.acc;

  const std::span<const Kernel> rows = backend_->kernels();
  const Device &device = backend_->device();
  if (!pinned) {
    plan->kernel = choose(rows, p, device);
    if (!plan->kernel) fail(Code::internal, "no kernel takes %s '%s'", name_of(p.family), p.pattern().c_str());
  } else {
    const auto named = std::find_if(rows.begin(), rows.end(), [&](const Kernel &k) { return std::strcmp(pin, k.name) == 0; });
    if (named == rows.end()) fail(Code::kernel, "there is no kernel '%s' on this backend; tcu_kernel_name lists them", pin);
    if (named->family != p.family || !named->accepts(p, device))
      fail(Code::kernel, "kernel '%s' does not take this problem (%s %s)", pin, name_of(p.family), p.pattern().c_str());
    plan->kernel = &*named;
  }
  plan->row = int(plan->kernel - rows.data());
  if (p.empty()) {
    plan->kernel = nullptr;  // the pin was checked; there is nothing to launch
    return plan;
  }
  plan->config = plan->kernel->configure(p, device);
  plan->prepared = plan->kernel->prepare(p, plan->config, *backend_);
  return plan;
}

void Planner::execute(const Plan &plan, const Execution &given, size_t workspace_bytes) {
  if (!plan.kernel) return;
  const size_t need = plan.config.workspace_bytes;
  if (given.workspace && workspace_bytes < need)
    fail(Code::workspace, "the workspace has %zu bytes and the plan needs %zu; see tcu_plan_workspace", workspace_bytes, need);
  calls_[size_t(plan.row)].fetch_add(1, std::memory_order_relaxed);
  if (need == 0) return plan.kernel->launch(plan, given, *backend_);

  Execution e = given;
  const size_t zeroed = plan.config.zeroed_bytes, rest = need - zeroed;
  Scratch own;
  if (!given.workspace && plan.config.leaves_zero) own = backend_->scratch(e.stream, zeroed);
  struct Pooled {
    Backend &backend;
    void *data, *stream;
    ~Pooled() {
      if (data) backend.release(data, stream);
    }
  } pooled{*backend_, nullptr, e.stream};
  if (own.zeroed) {
    if (rest > (own.rest ? Scratch::kRest : 0)) pooled.data = backend_->allocate(rest, e.stream);
    e.zeroed = own.zeroed, e.workspace = pooled.data ? pooled.data : own.rest;
  } else {
    if (!given.workspace) pooled.data = backend_->allocate(need, e.stream);
    e.zeroed = pooled.data ? pooled.data : given.workspace;
    e.workspace = static_cast<char *>(e.zeroed) + zeroed;
    if (zeroed) backend_->zero(e.zeroed, zeroed, e.stream);
  }
  plan.kernel->launch(plan, e, *backend_);
}

}  // namespace tcu
