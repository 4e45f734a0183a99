#include "core/rewrites.h"

#include <algorithm>
#include <utility>

namespace tcu {
namespace {

void leave_kept(Modes &modes) {
  Mode *const first = modes.begin();
  modes.resize(int(std::remove_if(first, first + modes.size(), [](const Mode &m) { return m.role != Role::K; }) - first));
}
// An operand that has the kept modes alone, one element after another.
void lay_dense(Problem &p, int operand) {
  int64_t next = 1;
  for (Mode &m : p.modes) m.stride[operand] = m.role == Role::K ? std::exchange(next, next * m.extent) : 0;
}

}  // namespace

bool is_empty_reduction(const Problem &p) {
  return p.family == Family::reduce && std::any_of(p.modes.begin(), p.modes.end(), [](const Mode &m) {
           return m.role == Role::R && m.extent == 0;
         });
}

bool is_first_position(const Problem &p) {
  return p.family == Family::reduce && p.modes.n_of(Role::R) == 0 && is_arg(p.op) && p.n_more == 0;
}
Problem as_fill(const Problem &p) {
  Problem f = p;
  f.family = Family::broadcast, f.op = ReduceOp::none;
  f.n_inputs = 0;
  f.acc = f.element = is_arg(p.op) ? DType::i64 : p.acc;
  const Scalar value = is_arg(p.op) ? make_scalar(DType::i64, 0) : value_of_nothing(p.op, p.acc);
  f.expr = std::make_shared<const Expr>(std::vector<Node>{Node::constant(f.acc, value)});
  leave_kept(f.modes);
  order_modes(f);
  return f;
}

bool is_map(const Problem &p) {
  return p.family == Family::reduce && p.modes.n_of(Role::R) == 0 && !is_arg(p.op) && p.op != ReduceOp::count && !has_finish(p.op) &&
         p.n_more == 0;
}

Problem as_map(const Problem &p) {
  Problem f = p;
  f.family = Family::broadcast, f.op = ReduceOp::none;
  order_modes(f);
  return f;
}

bool holds_elements(const Problem &p) {
  const DType value = p.expr->is_identity() ? p.in[0] : compute_dtype(p.element);
  return !p.gated() && !p.reads_out && kind_of(p.out) == kind_of(value) && promote(p.out, value) == p.out;
}
Problem as_map_to_out(const Problem &p) {
  Problem f = p;
  f.family = Family::broadcast, f.op = ReduceOp::none, f.scan = {};
  f.acc = compute_dtype(p.element);
  for (Mode &m : f.modes) m.role = Role::K;
  order_modes(f);
  return f;
}
Problem as_scan_of_out(const Problem &p) {
  Problem f = p;
  f.expr = Expr::identity();
  f.n_inputs = 1, f.in[0] = f.element = p.out, f.alignment[1] = p.alignment[0];
  f.in_place = true;
  for (Mode &m : f.modes) m.stride[1] = m.stride[0];
  order_modes(f);
  return f;
}
Problem as_copy_to_out(const Problem &p, int k) {
  Problem f = p;
  f.expr = Expr::identity();
  f.n_inputs = 1, f.in[0] = f.element = p.dtype(k), f.alignment[1] = p.alignment[k];
  f.n_more = 0, f.acc = compute_dtype(f.element);
  for (Mode &m : f.modes) m.stride[1] = m.stride[k];
  order_modes(f);
  return f;
}
Problem as_map_of_out(const Problem &p, int k) {
  Problem f = p;
  f.alignment[k] = p.alignment[0];
  f.in_place = true;
  for (Mode &m : f.modes) m.stride[k] = m.stride[0];
  order_modes(f);
  return f;
}
DType room_dtype(const Problem &p) { return p.reads_out ? p.acc : p.out; }
Problem as_reduction_to_room(const Problem &p) {
  Problem f = p;
  f.out = room_dtype(p), f.alignment[0] = 4, f.reads_out = false;
  lay_dense(f, 0);
  order_modes(f);
  return f;
}
Problem as_map_of_room(const Problem &p) {
  Problem f = p;
  f.family = Family::broadcast, f.op = ReduceOp::none, f.expr = Expr::identity();
  f.n_inputs = 1, f.in[0] = f.element = room_dtype(p), f.alignment[1] = 4;
  f.acc = compute_dtype(f.element);
  lay_dense(f, 1);
  leave_kept(f.modes);
  order_modes(f);
  return f;
}

}  // namespace tcu
