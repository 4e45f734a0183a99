// The C ABI: guard, translate, call. What an operation means is in core, which kernel runs is decided in plan.
#include "tcuops.h"

#include <cstring>

#include "handles.h"
#include "plan/matmul.h"
#include "plan/segment_flags.h"

using namespace tcu;
using namespace tcu::capi;

namespace {

using Made = std::shared_ptr<const Plan>;

Planner &planner(tcu_context_t context) { return need(context, "context")->planner; }
Backend &backend(tcu_context_t context) { return planner(context).backend(); }

ReduceOp reduce_op(tcu_reduce_op_t op) {
  if (!is_reduce_op(op)) fail(Code::op, "unknown reduce op %d; see TCU_REDUCE_*", op);
  return ReduceOp(op);
}

// Plans and runs a problem at once.
void run(tcu_context_t context, const Problem &problem, const Call &call, const tcu_options_t &o, const void *offsets = nullptr,
         const SegmentFlags *flags = nullptr) {
  Planner &p = planner(context);
  const Made plan = p.plan_now(problem, o.kernel, o.stream);
  Execution e = execution(*plan, *problem.expr, o);
  e.at.out = call.request.out.data;
  for (int i = 0; i < problem.n_inputs; ++i) e.at.in[i] = call.inputs[i].data;
  e.at.offsets = offsets;
  if (flags) flags->mark();
  p.execute(*plan, e, o.workspace_bytes);
}

TensorView offsets_of(const tcu_tensor_t *offsets) { return view(*need(offsets, "offsets"), "offsets"); }

void keep(tcu_plan_t *out, tcu_context_t context, const Problem &problem, const tcu_options_t &o) {
  const Made plan = planner(context).plan(problem, o.kernel);
  *need(out, "plan") = new tcu_plan{context, plan, plan->problem.pattern()};
}

}  // namespace

extern "C" {

tcu_status_t tcu_context_create(tcu_context_t *context, const char *name, int32_t device) {
  return guard([&] {
    *need(context, "context") = nullptr;
    const std::string asked = name ? name : cuda_device_count() > 0 ? "cuda" : "cpu";
    if (asked != "cpu" && asked != "cuda") fail(Code::device, "there is no backend '%s'; there are 'cpu' and 'cuda'", asked.c_str());
    const int count = asked == "cpu" ? cpu_device_count() : cuda_device_count();
    if (device < 0 || device >= count)
      fail(Code::device, "there is no %s device %d here; this machine has %d", asked.c_str(), device, count);
    *context = new tcu_context(asked == "cpu" ? make_cpu_backend(device) : make_cuda_backend(device));
  });
}

tcu_status_t tcu_context_destroy(tcu_context_t context) {
  return guard([&] { delete need(context, "context"); });
}

const char *tcu_context_backend(tcu_context_t context) {
  return context ? context->planner.backend().device().backend.c_str() : nullptr;
}

/* ---- expressions ---- */

tcu_status_t tcu_expr_create(tcu_expr_t *expr, const tcu_node_t *nodes, int32_t n_nodes) {
  return guard([&] {
    *need(expr, "expr") = nullptr;
    if (n_nodes < 0 || n_nodes > kMaxNodes) fail(Code::expr, "%d nodes; an expr has 1 to %d", n_nodes, kMaxNodes);
    if (n_nodes > 0) need(nodes, "nodes");
    std::vector<Node> tape;
    for (int i = 0; i < n_nodes; ++i) {
      const int32_t kind = nodes[i].kind;
      const bool typed = kind == TCU_NODE_SCALAR || kind == TCU_NODE_CONSTANT || kind == TCU_NODE_CAST;
      if (typed && !is_dtype(nodes[i].dtype)) fail(Code::dtype, "node %d: %d is no dtype", i, nodes[i].dtype);
      if (nodes[i].reserved) fail(Code::expr, "node %d: reserved is %d and must be 0", i, nodes[i].reserved);
      Node n{NodeKind(kind), nodes[i].index, typed ? DType(nodes[i].dtype) : DType::none, {}};
      std::memcpy(&n.value, &nodes[i].value, sizeof n.value);
      tape.push_back(n);
    }
    *expr = new tcu_expr{std::make_shared<const Expr>(std::move(tape))};
  });
}

tcu_status_t tcu_expr_destroy(tcu_expr_t expr) {
  return guard([&] { delete need(expr, "expr"); });
}

tcu_status_t tcu_expr_dtype(tcu_dtype_t *dtype, tcu_expr_t expr, int32_t n_inputs, const tcu_dtype_t *inputs) {
  return guard([&] {
    need(dtype, "dtype"), need(expr, "expr");
    if (n_inputs < 0 || n_inputs > kMaxInputs) fail(Code::expr, "%d inputs; a call takes 0 to %d", n_inputs, kMaxInputs);
    if (n_inputs > 0) need(inputs, "inputs");
    DType in[kMaxInputs];
    for (int i = 0; i < n_inputs; ++i) {
      if (!is_dtype(inputs[i])) fail(Code::dtype, "inputs[%d] is unknown dtype %d", i, inputs[i]);
      in[i] = DType(inputs[i]);
    }
    *dtype = tcu_dtype_t(infer_result(*expr->expr, in, n_inputs));
  });
}

/* ---- map, reduce, scan, matmul: one-shot and as plans ---- */

tcu_status_t tcu_map(tcu_context_t context, const tcu_tensor_t *out, tcu_expr_t expr, int32_t n_inputs,
                     const tcu_tensor_t *inputs, const tcu_options_t *options) {
  return guard([&] {
    const tcu_options_t o = read_options(options);
    const Call call(out, expr, n_inputs, inputs, o, true);
    run(context, make_broadcast(call.request), call, o);
  });
}

tcu_status_t tcu_reduce(tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op, tcu_expr_t expr,
                        int32_t n_inputs, const tcu_tensor_t *inputs, int32_t n_dims, const int32_t *dims,
                        const tcu_options_t *options) {
  return guard([&] {
    const tcu_options_t o = read_options(options);
    const Call call(out, expr, n_inputs, inputs, o, true);
    run(context, make_reduce(call.request, reduce_op(op), n_dims, dims), call, o);
  });
}

tcu_status_t tcu_segmented_reduce(tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op, tcu_expr_t expr,
                                  int32_t n_inputs, const tcu_tensor_t *inputs, int32_t dim, const tcu_tensor_t *offsets,
                                  const tcu_options_t *options) {
  return guard([&] {
    const tcu_options_t o = read_options(options);
    const Call call(out, expr, n_inputs, inputs, o, true);
    const TensorView at = offsets_of(offsets);
    run(context, make_segmented(call.request, reduce_op(op), dim, at), call, o, at.data);
  });
}

tcu_status_t tcu_scan(tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op, tcu_expr_t expr, int32_t n_inputs,
                      const tcu_tensor_t *inputs, int32_t dim, const tcu_options_t *options) {
  return guard([&] {
    const tcu_options_t o = read_options(options);
    const Call call(out, expr, n_inputs, inputs, o, true);
    run(context, make_scan(call.request, reduce_op(op), dim, scan_flags(o)), call, o);
  });
}

tcu_status_t tcu_segmented_scan(tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op, tcu_expr_t expr, int32_t n_inputs,
                                const tcu_tensor_t *inputs, int32_t dim, const tcu_tensor_t *offsets, const tcu_options_t *options) {
  return guard([&] {
    const tcu_options_t o = read_options(options);
    Call call(out, expr, n_inputs, inputs, o, true);
    if (n_inputs < 1 || n_inputs >= kMaxInputs) fail(Code::expr, "%d inputs; segments take 1 to %d", n_inputs, kMaxInputs - 1);
    const ReduceOp fold = reduce_op(op);
    ScanFlags how = scan_flags(o);
    if (how.segmented) fail(Code::option, "segments are given by offsets, and not by TCU_SCAN_SEGMENTED too");
    if (fold == ReduceOp::recurrence) fail(Code::option, "a recurrence takes no segments; make its factor 0 where one begins");
    make_scan(call.request, fold, dim, how);  // for what it refuses, before there is memory for flags
    how.segmented = true;
    const int64_t steps = dim < call.request.out.rank ? call.request.out.extents[dim] : 1;
    const SegmentFlags flags(backend(context), offsets_of(offsets), dim, steps, how.reverse, o.stream);
    call.add_input(flags.view());
    call.request.expr = behind_flag(call.request.expr, n_inputs);
    run(context, make_scan(call.request, fold, dim, how), call, o, nullptr, &flags);
  });
}

tcu_status_t tcu_matmul(tcu_context_t context, const tcu_tensor_t *c, const tcu_tensor_t *a, const tcu_tensor_t *b,
                        const tcu_options_t *options) {
  return guard([&] {
    const tcu_options_t o = read_options(options);
    Backend &device = backend(context);
    Backend::Matmul m = make_matmul(view(*need(c, "c"), "c"), view(*need(a, "a"), "a"), view(*need(b, "b"), "b"));
    m.alpha = make_scalar(m.dtype, 1), m.beta = make_scalar(m.dtype, 0);
    if (o.alpha) std::memcpy(&m.alpha, o.alpha, sizeof m.alpha);
    if (o.beta) std::memcpy(&m.beta, o.beta, sizeof m.beta);
    if (m.m > 0 && m.n > 0) device.matmul(m, o.stream);
  });
}

tcu_status_t tcu_plan_map(tcu_plan_t *plan, tcu_context_t context, const tcu_tensor_t *out, tcu_expr_t expr,
                          int32_t n_inputs, const tcu_tensor_t *inputs, const tcu_options_t *options) {
  return guard([&] {
    *need(plan, "plan") = nullptr;
    const tcu_options_t o = read_options(options);
    const Call call(out, expr, n_inputs, inputs, o, false);
    keep(plan, context, make_broadcast(call.request), o);
  });
}

tcu_status_t tcu_plan_reduce(tcu_plan_t *plan, tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op,
                             tcu_expr_t expr, int32_t n_inputs, const tcu_tensor_t *inputs, int32_t n_dims,
                             const int32_t *dims, const tcu_options_t *options) {
  return guard([&] {
    *need(plan, "plan") = nullptr;
    const tcu_options_t o = read_options(options);
    const Call call(out, expr, n_inputs, inputs, o, false);
    keep(plan, context, make_reduce(call.request, reduce_op(op), n_dims, dims), o);
  });
}

tcu_status_t tcu_plan_segmented_reduce(tcu_plan_t *plan, tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op,
                                       tcu_expr_t expr, int32_t n_inputs, const tcu_tensor_t *inputs, int32_t dim,
                                       const tcu_tensor_t *offsets, const tcu_options_t *options) {
  return guard([&] {
    *need(plan, "plan") = nullptr;
    const tcu_options_t o = read_options(options);
    const Call call(out, expr, n_inputs, inputs, o, false);
    keep(plan, context, make_segmented(call.request, reduce_op(op), dim, offsets_of(offsets)), o);
  });
}

tcu_status_t tcu_plan_scan(tcu_plan_t *plan, tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op,
                           tcu_expr_t expr, int32_t n_inputs, const tcu_tensor_t *inputs, int32_t dim,
                           const tcu_options_t *options) {
  return guard([&] {
    *need(plan, "plan") = nullptr;
    const tcu_options_t o = read_options(options);
    const Call call(out, expr, n_inputs, inputs, o, false);
    keep(plan, context, make_scan(call.request, reduce_op(op), dim, scan_flags(o)), o);
  });
}

tcu_status_t tcu_plan_workspace(tcu_plan_t plan, size_t *bytes) {
  return guard([&] { *need(bytes, "bytes") = need(plan, "plan")->plan->config.workspace_bytes; });
}

tcu_status_t tcu_plan_execute(tcu_plan_t plan, void *out, int32_t n_inputs, const void *const *inputs,
                              const tcu_options_t *options) {
  return guard([&] {
    const tcu_options_t o = read_options(options);
    const Plan &made = *need(plan, "plan")->plan;
    const Problem &p = made.problem;
    if (o.beta && !p.reads_out) fail(Code::option, "options.beta is given and the plan was made without one");
    // A plan of an empty reduction has become a fill and reads no input.
    const bool segmented = p.family == Family::segmented;
    if (n_inputs < p.n_inputs + segmented)
      fail(Code::shape, "%d inputs; the plan has %d%s", n_inputs, p.n_inputs, segmented ? " and the offsets" : "");
    if (p.n_inputs > 0) need(inputs, "inputs");
    Execution e = execution(made, *p.expr, o);
    e.at.out = out;
    for (int i = 0; i < p.n_inputs; ++i) e.at.in[i] = inputs[i];
    if (segmented) e.at.offsets = inputs[p.n_inputs];
    check_pointers(p, e.at);
    plan->context->planner.execute(made, e, o.workspace_bytes);
  });
}

tcu_status_t tcu_plan_destroy(tcu_plan_t plan) {
  return guard([&] { delete need(plan, "plan"); });
}

/* ---- memory, streams, events ---- */

tcu_status_t tcu_malloc(tcu_context_t context, void **data, size_t bytes, void *stream) {
  return guard([&] {
    *need(data, "data") = nullptr;
    Backend &b = backend(context);
    if (bytes > size_t(INT64_MAX)) fail(Code::out_of_memory, "%zu bytes are more than any device has", bytes);
    if (bytes) *data = b.allocate(bytes, stream);
  });
}
tcu_status_t tcu_free(tcu_context_t context, void *data, void *stream) {
  return guard([&] {
    Backend &b = backend(context);
    if (data) b.release(data, stream);
  });
}
tcu_status_t tcu_copy(tcu_context_t context, void *to, const void *from, size_t bytes, void *stream) {
  return guard([&] {
    Backend &b = backend(context);
    if (bytes) b.copy(need(to, "to"), need(from, "from"), bytes, stream);
  });
}
tcu_status_t tcu_synchronize(tcu_context_t context, void *stream) {
  return guard([&] { backend(context).synchronize(stream); });
}
tcu_status_t tcu_stream_create(tcu_context_t context, void **stream) {
  return guard([&] {
    *need(stream, "stream") = nullptr;  // an assignment runs its right side first: nothing may be made for a null
    *stream = backend(context).stream_create();
  });
}
tcu_status_t tcu_stream_destroy(tcu_context_t context, void *stream) {
  return guard([&] { backend(context).stream_destroy(need(stream, "stream")); });
}
tcu_status_t tcu_event_create(tcu_context_t context, void **event) {
  return guard([&] {
    *need(event, "event") = nullptr;  // an assignment runs its right side first: nothing may be made for a null
    *event = backend(context).event_create();
  });
}
tcu_status_t tcu_event_destroy(tcu_context_t context, void *event) {
  return guard([&] { backend(context).event_destroy(need(event, "event")); });
}
tcu_status_t tcu_event_record(tcu_context_t context, void *event, void *stream) {
  return guard([&] { backend(context).event_record(need(event, "event"), stream); });
}
tcu_status_t tcu_event_elapsed(tcu_context_t context, float *milliseconds, void *from, void *to) {
  return guard([&] {
    *need(milliseconds, "milliseconds") = backend(context).event_elapsed(need(from, "from"), need(to, "to"));
  });
}

}  // extern "C"
