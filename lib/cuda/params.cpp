#include "cuda/params.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/broadcast_tape.cuh"

namespace tcu::cuda {
namespace {

template <class P>
struct PreparedParams : Prepared {
  P params = {};
};

template <class P>
std::shared_ptr<const Prepared> make_prepared(const Function &function, ParamSize size, const Problem &p) {
  const auto made = std::make_shared<PreparedParams<P>>();
  made->function = function, made->size = size;
  P &to = made->params;
  to.n_kept = p.modes.n_of(Role::K), to.n_folded = p.modes.size() - to.n_kept;
  to.kept = p.kept();
  to.folded = p.modes.count(p.family == Family::scan ? Role::S : Role::R);
  int next[2] = {0, to.n_kept};
  for (const Mode &m : p.modes) {
    auto &mode = to.mode[next[m.role != Role::K]++];
    mode.extent = m.extent, mode.out = m.stride[0];
    for (int i = 0; i < p.n_inputs; ++i) mode.in[i] = m.stride[1 + i];
    mode.weight = p.n_operands() > p.position_operand() ? m.stride[p.position_operand()] : 0;
    if (m.extent > 0) mode.divisor = divisor(m.extent, p.index_bits);
  }
  to.flags = (p.reads_out ? kReadsOut : 0) | (p.scan.exclusive ? kExclusive : 0) | (p.scan.reverse ? kReverse : 0) |
             (p.op == ReduceOp::std ? kRoot : 0) | (p.op == ReduceOp::mean ? kMean : 0) | (p.op == ReduceOp::sumexp ? kNoLog : 0);
  to.selector = function.selector;
  if constexpr (std::is_same_v<P, ParamsTape>)
    if (!write_tape(p, to)) fail(Code::internal, "a tape without room");
  return made;
}

template <class P>
void fill_and_launch(const Prepared &prepared, const Plan &plan, const LaunchConfig &config, const Execution &e) {
  const Problem &p = plan.problem;
  P to = static_cast<const PreparedParams<P> &>(prepared).params;
  to.out = e.at.out, to.second = e.at.more[0], to.workspace = e.workspace, to.zeroed = e.zeroed;
  for (int i = 0; i < p.n_inputs; ++i) to.in[i] = e.at.in[i];
  if (p.family == Family::segmented) to.in[p.n_inputs] = e.at.offsets;
  for (int i = 1; i < p.n_more; ++i) to.in[p.n_inputs + i - 1] = e.at.more[i];
  to.split = config.split, to.together = config.together, to.groups = config.groups;
  to.lanes = config.lanes, to.detail = config.detail, to.wave = config.wave, to.apart = config.apart;
  to.chunk = to.split > 1 ? config.chunk : to.folded;  // uncut: all of it
  to.flags |= (plan.post != DType::bool_ && !is_one(e.alpha, plan.post) ? kScales : 0) | (config.floods ? kFloods : 0) |
              (config.at_once ? kAtOnce : 0);
  to.correction = e.correction;
  store_compute(to.alpha.bytes, plan.post, e.alpha);
  store_compute(to.beta.bytes, plan.post, e.beta);
  if (p.op != ReduceOp::none) store_compute(to.init.bytes, p.acc, e.init);
  auto *parameter = to.parameter;
  for (const Parameter &q : p.expr->parameters())
    store_compute((parameter++)->bytes, q.dtype, q.slot < 0 ? q.value : e.scalars[q.slot]);
  launch(prepared.function, config, &to, e.stream);
}

}  // namespace

ParamSize size_for(const Problem &p) {
  const size_t n_parameters = p.expr->parameters().size();
  const int pointers = p.n_inputs + (p.family == Family::segmented) + std::max(p.n_more - 1, 0);
  if (pointers <= 4 && p.modes.size() <= 8 && n_parameters <= 4) return ParamSize::small;
  if (p.modes.size() <= 8 && n_parameters <= 64) return ParamSize::medium;
  return ParamSize::large;
}

std::shared_ptr<const void> prepared(const Function &function, ParamSize size, const Problem &p) {
  switch (size) {
    case ParamSize::small: return make_prepared<ParamsSmall>(function, size, p);
    case ParamSize::medium: return make_prepared<ParamsMedium>(function, size, p);
    case ParamSize::large: return make_prepared<ParamsLarge>(function, size, p);
    case ParamSize::tape: return make_prepared<ParamsTape>(function, size, p);
  }
  return nullptr;
}

void launch_plan(const Prepared &prepared, const Plan &plan, const LaunchConfig &config, const Execution &e) {
  switch (prepared.size) {
    case ParamSize::small: return fill_and_launch<ParamsSmall>(prepared, plan, config, e);
    case ParamSize::medium: return fill_and_launch<ParamsMedium>(prepared, plan, config, e);
    case ParamSize::large: return fill_and_launch<ParamsLarge>(prepared, plan, config, e);
    case ParamSize::tape: return fill_and_launch<ParamsTape>(prepared, plan, config, e);
  }
}

}  // namespace tcu::cuda
