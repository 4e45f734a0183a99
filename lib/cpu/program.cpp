#include "cpu/program.h"

#include <algorithm>

#include "core/error.h"

namespace tcu::cpu {

Builder::Builder(const Expr &expr, const DType *inputs, int n) : typed(infer(expr, inputs, n)), n_inputs(n) {
  value = typed.value(), result = typed.result();
  typed.steps.resize(size_t(value) + 1);  // of several values, what follows is for the others
}

Builder Builder::first_of(const Expr &expr, const DType *inputs, int n) {
  Builder b;
  b.typed = infer(expr, inputs, n), b.n_inputs = n;
  b.value = b.typed.values[0], b.result = b.typed.results[0];
  b.typed.steps.resize(size_t(b.value) + 1);
  return b;
}

Builder Builder::all_of(const Expr &expr, const DType *inputs, int n, const DType *more) {
  Builder b;
  b.typed = infer(expr, inputs, n), b.n_inputs = n;
  for (int i = 1; i < b.typed.n_results; ++i) b.more.push_back({b.typed.values[i], more[i - 1]});
  b.value = b.typed.values[0], b.result = b.typed.results[0];
  b.unary(Op::identity, b.result);  // the result is what is computed last (Program::run)
  return b;
}

int Builder::input(int index, DType d) {
  Step s{Step::Kind::input};
  s.result = d, s.index = int16_t(index);
  n_inputs = std::max(n_inputs, index + 1);
  typed.steps.push_back(s);
  return int(typed.steps.size()) - 1;
}

int Builder::parameter(DType d, int slot) {
  Step s{Step::Kind::parameter};
  s.result = d, s.index = int16_t(typed.parameters.size());
  typed.parameters.push_back({d, slot, {}});
  typed.steps.push_back(s);
  return int(typed.steps.size()) - 1;
}

int Builder::cast(int step, DType from, DType to) {
  if (compute_dtype(from) == compute_dtype(to)) return step;
  Step s{Step::Kind::cast};
  s.operand = from, s.result = to, s.args[0] = int16_t(step);
  typed.steps.push_back(s);
  return int(typed.steps.size()) - 1;
}

void Builder::cast(DType to) {
  value = cast(value, result, to);
  result = to;
}

int Builder::binary(Op op, int a, int b, DType d) {
  Step s{Step::Kind::op};
  s.op = op, s.operand = d, s.result = d, s.args[0] = int16_t(a), s.args[1] = int16_t(b);
  typed.steps.push_back(s);
  return int(typed.steps.size()) - 1;
}

void Builder::unary(Op op, DType to) {
  Step s{Step::Kind::op};
  s.op = op, s.operand = result, s.result = to, s.args[0] = int16_t(value);
  typed.steps.push_back(s);
  value = int(typed.steps.size()) - 1, result = to;
}

void append_post(Builder &b, DType post, DType out, bool scaled, bool reads_out, int out_input) {
  b.cast(post);
  // A Bool has no arithmetic of its own, and no alpha.
  if (post == DType::bool_ || (!scaled && !reads_out)) return;
  b.value = b.binary(Op::mul, b.parameter(post, kAlpha), b.value, post);
  if (!reads_out) return;
  const int old = b.cast(b.input(out_input, out), out, post);
  b.value = b.binary(Op::add, b.value, b.binary(Op::mul, b.parameter(post, kBeta), old, post), post);
}

namespace {

struct Compiler {
  const Builder &b;
  Program p;
  std::vector<int> slot_of;    // by step
  std::vector<int> last_use;   // by step
  std::vector<int> free_list, register_of;

  explicit Compiler(const Builder &builder) : b(builder), slot_of(b.typed.steps.size(), -1), last_use(b.typed.steps.size(), -1) {
    p.n_inputs = b.n_inputs;
    p.parameters = b.typed.parameters;
    p.n_more = int(b.more.size());
    const int n = int(b.typed.steps.size());
    for (int i = 0; i < n; ++i)
      for (int a : b.typed.steps[size_t(i)].args)
        if (a >= 0) last_use[size_t(a)] = i;
    last_use[size_t(b.value)] = n;
  }

  int take() {
    if (free_list.empty()) return p.register_slot(p.n_registers++);
    const int r = free_list.back();
    free_list.pop_back();
    return r;
  }
  void drop(int slot) {
    if (slot >= p.register_slot(0)) free_list.push_back(slot);
  }
  void emit(TileFn fn, int out, int x, int y = -1, int z = -1) {
    if (!fn) fail(Code::internal, "the cpu backend lacks a tile function");
    p.code.push_back({fn, int16_t(out), {int16_t(x), int16_t(y), int16_t(z)}});
  }
  void widen(DType d) { p.widest = std::max(p.widest, bytes_of(d)); }
};

}  // namespace

Program compile(const Builder &b, DType out) {
  const Table &t = table();
  Compiler c(b);
  const auto &steps = b.typed.steps;
  for (int i = 0; i < int(steps.size()); ++i) {
    const Step &s = steps[size_t(i)];
    int &slot = c.slot_of[size_t(i)];
    const DType held = compute_dtype(s.result);
    c.widen(held);
    const auto arg = [&](int k) { return s.args[k] < 0 ? -1 : c.slot_of[size_t(s.args[k])]; };
    switch (s.kind) {
      case Step::Kind::input:
        slot = s.index;
        c.p.reads |= 1u << s.index;
        if (held != s.result) {  // an 8- or 16-bit float is held in float32
          slot = c.take();
          c.emit(t.cast[int(s.result)][int(held)], slot, s.index);
        }
        break;
      case Step::Kind::parameter: slot = c.p.parameter_slot(s.index); break;
      case Step::Kind::cast: {
        const DType from = compute_dtype(s.operand);
        int value = arg(0);
        slot = c.take();
        if (from != s.result) c.emit(t.cast[int(from)][int(s.result)], slot, value), value = slot;
        if (held != s.result) {  // rounded to what it is cast to and held in float32 again
          const int wide = c.take();
          c.emit(t.cast[int(s.result)][int(held)], wide, value);
          c.drop(slot);
          slot = wide;
        }
        break;
      }
      case Step::Kind::op:
        slot = c.take();
        c.emit(t.op[int(s.op)][int(compute_dtype(s.operand))], slot, arg(0), arg(1), arg(2));
        break;
    }
    for (int k = 0; k < 3; ++k) {
      const int a = s.args[k];
      if (a < 0 || c.last_use[size_t(a)] != i) continue;
      bool again = false;  // x * x: one value, dropped once
      for (int j = 0; j < k; ++j) again |= s.args[j] == a;
      if (!again) c.drop(c.slot_of[size_t(a)]);
    }
    for (int k = 0; k < int(b.more.size()); ++k) {  // in a register of its own: an input may be written over as out
      const auto [value, out] = b.more[size_t(k)];
      if (value != i) continue;
      c.widen(out);
      const int to = c.p.more[k] = c.take();
      c.emit(held == out ? t.op[int(Op::identity)][int(held)] : t.cast[int(held)][int(out)], to, slot);
    }
    if (c.last_use[size_t(i)] < 0) c.drop(slot);
  }
  Program p = std::move(c.p);
  p.result = c.slot_of[size_t(b.value)];
  const DType held = compute_dtype(b.result);
  if (held != out) {
    const int slot = p.register_slot(p.n_registers++);
    c.p = std::move(p);
    c.emit(t.cast[int(held)][int(out)], slot, c.p.result);
    p = std::move(c.p);
    p.result = slot;
  }
  // A value that is computed and is not the last one computed cannot be (the tape's last step makes it), but an input or
  // parameter may be returned as it is; then nothing was worth computing.
  if (p.result < p.register_slot(0)) p.code.clear();
  p.result_dtype = out;
  p.widest = std::max(p.widest, bytes_of(out));
  return p;
}

}  // namespace tcu::cpu
