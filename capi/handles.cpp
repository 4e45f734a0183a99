#include "handles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace tcu::capi {
namespace {
// Fixed storage: reporting an error must not be able to fail.
thread_local char last_error[1024];
constexpr uint32_t kScanFlags = TCU_SCAN_EXCLUSIVE | TCU_SCAN_REVERSE | TCU_SCAN_SEGMENTED;
// Options only ever grow at the end: their sizes so far, the oldest first.
constexpr size_t kOptionsSizes[] = {offsetof(tcu_options_t, correction), offsetof(tcu_options_t, second), offsetof(tcu_options_t, n_second),
                                    sizeof(tcu_options_t)};
static_assert(kMaxResults == TCU_MAX_RESULTS);
}  // namespace

tcu_status_t report(Code code, const char *message) noexcept {
  std::strncpy(last_error, message, sizeof last_error - 1);
  return tcu_status_t(code);
}
void clear_error() noexcept { last_error[0] = 0; }
const char *error_text() noexcept { return last_error; }

tcu_options_t read_options(const tcu_options_t *given) {
  tcu_options_t o = TCU_OPTIONS_INIT;
  if (!given) return o;
  if (std::find(std::begin(kOptionsSizes), std::end(kOptionsSizes), given->struct_size) == std::end(kOptionsSizes))
    fail(Code::struct_size, "options.struct_size is %zu; initialise options with TCU_OPTIONS_INIT", given->struct_size);
  std::memcpy(&o, given, given->struct_size);
  if (o.determinism != TCU_RUN_TO_RUN && o.determinism != TCU_ANY_ORDER)
    fail(Code::option, "options.determinism is %d and must be TCU_RUN_TO_RUN or TCU_ANY_ORDER", o.determinism);
  if (o.scan_flags & ~kScanFlags) fail(Code::option, "options.scan_flags has unknown bits (0x%x)", o.scan_flags);
  if (o.reserved) fail(Code::option, "options.reserved is %d and must be 0", o.reserved);
  if (o.correction && !(*o.correction >= 0 && std::isfinite(*o.correction)))
    fail(Code::option, "options.correction is %g and must be a finite number >= 0", *o.correction);
  if (o.reserved2) fail(Code::option, "options.reserved2 is %d and must be 0", o.reserved2);
  if (o.n_second < 0 || o.n_second >= kMaxResults)
    fail(Code::option, "options.n_second is %d and must be 0 to %d", o.n_second, kMaxResults - 1);
  if (o.n_second > 0) need(o.second, "options.second");
  if (o.second && o.n_second == 0) o.n_second = 1;
  if (o.n_scalars < 0) fail(Code::option, "options.n_scalars is %d", o.n_scalars);
  if (o.n_scalars > 0) need(o.scalars, "options.scalars");
  return o;
}

TensorView view(const tcu_tensor_t &t, const char *name, int number) {
  if (!is_dtype(t.dtype)) {
    if (number < 0) fail(Code::dtype, "%s has unknown dtype %d", name, t.dtype);
    fail(Code::dtype, "%s %d has unknown dtype %d", name, number, t.dtype);
  }
  return {t.data, DType(t.dtype), t.rank, t.extents, t.strides};
}

Call::Call(const tcu_tensor_t *out, tcu_expr_t expr, int32_t n_inputs, const tcu_tensor_t *given,
           const tcu_options_t &options, bool need_data) {
  request.out = view(*need(out, "out"), "out");
  if (n_inputs > 0) need(given, "inputs");
  for (int i = 0; i < n_inputs && i < kMaxInputs; ++i) inputs[i] = view(given[i], "input", i);
  request.n_inputs = n_inputs;
  request.inputs = inputs;
  if (expr) request.expr = expr->expr;
  if (options.accumulator != 0 && !is_dtype(options.accumulator))
    fail(Code::dtype, "options.accumulator is unknown dtype %d", options.accumulator);
  request.accumulator = DType(options.accumulator);
  request.determinism = Determinism(options.determinism);
  request.reads_out = options.beta != nullptr;
  request.alignment = options.alignment;
  for (int i = 0; i < options.n_second; ++i) more[i] = view(options.second[i], more_name(i));
  request.n_more = options.n_second, request.more = more;
  request.need_data = need_data;
}

ScanFlags scan_flags(const tcu_options_t &o) {
  return {(o.scan_flags & TCU_SCAN_EXCLUSIVE) != 0, (o.scan_flags & TCU_SCAN_REVERSE) != 0, (o.scan_flags & TCU_SCAN_SEGMENTED) != 0};
}

namespace {
Scalar scalar(const tcu_scalar_t *given, const Scalar &otherwise) {
  Scalar s = otherwise;
  if (given) std::memcpy(&s, given, sizeof s);
  return s;
}
}  // namespace

Execution execution(const Plan &plan, const Expr &expr, const tcu_options_t &o) {
  static_assert(sizeof(Scalar) == sizeof(tcu_scalar_t));
  if (expr.n_scalars() > o.n_scalars)
    fail(Code::expr, "expr names scalar %d and options.n_scalars is %d", expr.n_scalars() - 1, o.n_scalars);
  const Problem &p = plan.problem;
  if (o.alpha && plan.post == DType::bool_) fail(Code::option, "alpha makes no sense for a Bool result");
  Execution e;
  e.stream = o.stream;
  e.scalars = reinterpret_cast<const Scalar *>(o.scalars);
  e.alpha = scalar(o.alpha, make_scalar(plan.post, 1));
  e.beta = scalar(o.beta, make_scalar(plan.post, 0));
  if (p.family == Family::scan) e.init = scalar(o.init, identity_of(p.op, p.acc));
  else if (o.init && p.op != ReduceOp::none && has_finish(p.op))
    fail(Code::option, "init makes no sense for %s, which is no fold of its results", info(p.op).name);
  if (o.correction) e.correction = *o.correction;
  e.workspace = o.workspace;
  if (p.n_more > 0) need(o.second, "options.second");
  if (o.n_second < p.n_more)
    fail(Code::shape, "options.n_second is %d; the plan has %d results beside out", o.n_second, p.n_more);
  for (int i = 0; i < p.n_more; ++i) e.at.more[i] = o.second[i].data;
  return e;
}

}  // namespace tcu::capi
