// tcu_choose [--device h100|h200] [--cases FILE] [--group G] [--case NAME] [--dtype D] [--family F]
// Which row of lib/cuda the planner would choose on such a card (an H200 if nothing is said), without one: a JSON line a case,
// {"case", "kernel"}. bench/tune --replay judges the answers by times that were measured on one. Links the rooms themselves: a context would need the device.
#include <cstdio>
#include <optional>

#include "cases.h"
#include "cuda/rows.h"
#include "data.h"
#include "expression.h"
#include "plan/planner.h"

namespace {

tcu::Device card(bool h100) {
  tcu::Device d;
  d.backend = "cuda", d.name = h100 ? "NVIDIA H100 80GB HBM3" : "NVIDIA H200";
  d.major = 9, d.processors = 132, d.threads_per_processor = 2048;
  d.shared_bytes = 232448, d.l2_bytes = h100 ? 52428800 : 62914560, d.memory_bytes = int64_t(h100 ? 80 : 141) << 30;
  return d;
}

std::shared_ptr<const tcu::Expr> expr_of(const bench::Expression &e, tcu::DType constants) {
  std::vector<tcu::Node> nodes;
  for (const std::vector<bench::Step> &tape : e.tapes)
    for (const bench::Step &s : tape) {
      if (s.kind == bench::Step::input) nodes.push_back(tcu::Node::input(s.index));
      else if (s.kind == bench::Step::constant) nodes.push_back(tcu::Node::constant(constants, tcu::Scalar{}));
      else nodes.push_back(tcu::Node::op(tcu::Op(s.index)));
    }
  return std::make_shared<const tcu::Expr>(nodes);
}

// Pointers that nothing is read from, far apart.
void *address(int operand, int64_t bytes) { return reinterpret_cast<void *>((int64_t(operand + 1) << 42) + bytes); }

std::optional<tcu::Problem> problem_of(const bench::Case &c) {
  const bench::Expression e = bench::parse_expression(c.expr, c.family != "broadcast");
  if (e.tapes.size() > 1) return std::nullopt;  // several results
  const tcu::DType in = tcu::DType(bench::dtype_of(c.dtype));
  std::vector<tcu::TensorView> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const bench::View &v = c.inputs[i];
    void *const data = address(int(i) + 1, v.offset * bench::dtype_bytes(c.dtype));
    inputs.push_back({data, in, int(v.shape.size()), v.shape.data(), v.strides.data()});
  }
  const std::vector<int64_t> out = c.out_shape();
  std::vector<int32_t> dims;
  for (int d : c.dims) dims.push_back(d - 1);
  tcu::Request r;
  r.out = {address(0, 0), tcu::DType(bench::dtype_of(c.out)), int(out.size()), out.data(), nullptr};
  r.expr = expr_of(e, in), r.n_inputs = int(inputs.size()), r.inputs = inputs.data();
  if (c.family == "broadcast") return make_broadcast(r);
  if (c.family == "reduce")
    return as_run(make_reduce(r, tcu::reduce_op_by_name(e.fold.c_str()), int(dims.size()), dims.data()), false);
  if (c.family == "scan") return make_scan(r, tcu::reduce_op_by_name(e.fold == "cummax" ? "max" : "sum"), dims[0], {});
  return std::nullopt;
}

}  // namespace

int main(int argc, char **argv) {
  const bench::Options options = bench::parse_options(argc, argv);
  const tcu::Device device = card(options.device == "h100");
  for (const bench::Case &c : bench::load_cases(options))
    if (const auto p = problem_of(c)) std::printf("{\"case\": \"%s\", \"kernel\": \"%s\"}\n", c.name.c_str(), choose(tcu::cuda::registry(), *p, device)->name);
}
