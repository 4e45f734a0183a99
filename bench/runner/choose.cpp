// tcu_choose [--cases FILE] [--group G] [--case NAME] [--dtype D] [--family F]
// Which row of lib/cuda the planner would choose on an H200, without one: a JSON line a case, {"case", "kernel"}. bench/tune --replay
// judges the answers by times that were measured on one. Links the rooms themselves: a context would need the device.
#include <cstdio>
#include <optional>

#include "cases.h"
#include "core/problem.h"
#include "cuda/rows.h"
#include "expression.h"

namespace {

tcu::Device h200() {
  tcu::Device d;
  d.backend = "cuda", d.name = "NVIDIA H200";
  d.major = 9, d.processors = 132, d.threads_per_processor = 2048;
  d.shared_bytes = 232448, d.l2_bytes = 62914560, d.memory_bytes = int64_t(141) << 30;
  return d;
}

tcu::DType dtype_of(const std::string &name) {
  const std::pair<const char *, tcu::DType> names[] = {
      {"f16", tcu::DType::f16}, {"bf16", tcu::DType::bf16}, {"f32", tcu::DType::f32}, {"f64", tcu::DType::f64},
      {"i8", tcu::DType::i8},   {"i32", tcu::DType::i32},   {"i64", tcu::DType::i64}, {"bool", tcu::DType::bool_}};
  for (const auto &[text, d] : names)
    if (name == text) return d;
  return tcu::DType::none;
}

std::shared_ptr<const tcu::Expr> expr_of(const bench::Expression &e, tcu::DType constants) {
  std::vector<tcu::Node> nodes;
  for (const bench::Step &s : e.tape) {
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
  const tcu::DType in = dtype_of(c.dtype);
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
  r.out = {address(0, 0), dtype_of(c.out), int(out.size()), out.data(), nullptr};
  r.expr = expr_of(e, in), r.n_inputs = int(inputs.size()), r.inputs = inputs.data();
  if (c.family == "broadcast") return make_broadcast(r);
  if (c.family == "reduce") {
    const tcu::Problem p = make_reduce(r, tcu::reduce_op_by_name(e.fold.c_str()), int(dims.size()), dims.data());
    return is_map(p) ? as_map(p) : p;
  }
  if (c.family == "scan") return make_scan(r, tcu::reduce_op_by_name(e.fold == "cummax" ? "max" : "sum"), dims[0], {});
  return std::nullopt;
}

const char *choice(const tcu::Problem &p, const tcu::Device &d) {
  for (const tcu::Kernel &k : tcu::cuda::registry())
    if (k.family == p.family && k.accepts(p, d) && (!k.suits || k.suits(p, d))) return k.name;
  return "";
}

}  // namespace

int main(int argc, char **argv) {
  const tcu::Device device = h200();
  for (const bench::Case &c : bench::load_cases(bench::parse_options(argc, argv)))
    if (const auto p = problem_of(c)) std::printf("{\"case\": \"%s\", \"kernel\": \"%s\"}\n", c.name.c_str(), choice(*p, device));
}
