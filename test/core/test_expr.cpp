// The tape's checks, its hash, and the typed form that backends run.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/problems.h"

using namespace tcu;
using support::code_of;
using Tape = std::vector<Node>;

namespace {

Code made(Tape tape) {
  return code_of([&] { Expr e(std::move(tape)); });
}
Node in(int i) { return Node::input(i); }
Node op(Op o) { return Node::op(o); }
Node number(DType d, double v) { return Node::constant(d, make_scalar(d, v)); }

// "i0 p0 cast(int8->float32)0 add(0,2)": one word a step, arguments by step number.
std::string text(const TypedExpr &t) {
  std::string s;
  for (const Step &step : t.steps) {
    if (!s.empty()) s += ' ';
    switch (step.kind) {
      case Step::Kind::input: s += "i" + std::to_string(step.index); break;
      case Step::Kind::parameter: s += "p" + std::to_string(step.index); break;
      case Step::Kind::cast:
        s += std::string("cast(") + info(step.operand).enum_name + "->" + info(step.result).enum_name + ")" +
             std::to_string(step.args[0]);
        break;
      case Step::Kind::op:
        s += std::string(info(step.op).name) + ":" + info(step.operand).enum_name + "(";
        for (int i = 0; i < info(step.op).arity; ++i) s += (i ? "," : "") + std::to_string(step.args[i]);
        s += ")";
    }
  }
  return s + " -> " + info(t.result()).enum_name;
}
std::string typed(Tape tape, std::vector<DType> inputs) {
  const Expr e(std::move(tape));
  const TypedExpr t = infer(e, inputs.data(), int(inputs.size()));
  CHECK(t.result() == infer_result(e, inputs.data(), int(inputs.size())));
  return text(t);
}

}  // namespace

TEST_CASE("a number becomes an 8- or 16-bit float by one rounding") {
  for (const DType d : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const int digits = d == DType::f16 ? 10 : d == DType::bf16 ? 7 : d == DType::f8e4m3 ? 3 : 2;
    const double half = std::ldexp(1.0, -digits - 1);  // to float32 first, what is just above it would be it, and go to 1
    for (const auto &[value, want] : {std::pair{1 + half + 0x1p-40, 1 + 2 * half}, {1 + half, 1.0}, {1 + half - 0x1p-40, 1.0}}) {
      Scalar s{};
      s.f = value;
      float held = 0;
      store_compute(&held, d, s);
      CHECK(double(held) == want);
    }
  }
}

TEST_CASE("expr: each malformed tape has its code") {
  CHECK(made({in(0)}) == Code::ok);
  CHECK(made({in(0), in(1), op(Op::mul), in(2), op(Op::add), op(Op::tanh)}) == Code::ok);
  CHECK(made({}) == Code::expr);
  CHECK(made(Tape(257, in(0))) == Code::expr);
  CHECK(made(Tape(kMaxResults, in(0))) == Code::ok);
  CHECK(made(Tape(kMaxResults + 1, in(0))) == Code::expr);  // too many values are left
  CHECK(made({op(Op::tanh)}) == Code::expr);           // the stack runs empty
  CHECK(made({in(0), op(Op::add)}) == Code::expr);
  CHECK(made({in(0), in(1), op(Op::fma)}) == Code::expr);
  CHECK(made({Node::cast(DType::f32)}) == Code::expr);
  CHECK(made({in(-1)}) == Code::expr);
  CHECK(made({in(kMaxInputs)}) == Code::expr);
  CHECK(made({in(kMaxInputs - 1)}) == Code::ok);
  CHECK(made({Node::scalar(-1, DType::f32)}) == Code::expr);
  CHECK(made({Node::scalar(kMaxNodes, DType::f32)}) == Code::expr);
  CHECK(made({Node::scalar(0, DType::none)}) == Code::dtype);
  CHECK(made({Node::constant(DType(77), {})}) == Code::dtype);
  CHECK(made({in(0), Node::cast(DType(kDTypeEnd))}) == Code::dtype);
  CHECK(made({in(0), op(Op(0))}) == Code::op);
  CHECK(made({in(0), op(Op(999))}) == Code::op);
  CHECK(made({in(0), Node{NodeKind::op, -1, DType::none, {}}}) == Code::op);
  CHECK(made({in(0), Node{NodeKind::op, INT32_MAX, DType::none, {}}}) == Code::op);
  for (int kind : {0, 6, -1, INT32_MAX, INT32_MIN}) CHECK(made({Node{NodeKind(kind), 0, DType::f32, {}}}) == Code::expr);
}

TEST_CASE("expr: the longest tape, and the deepest stack") {
  Tape deep(128, in(0));
  for (int i = 0; i < 127; ++i) deep.push_back(op(Op::add));
  deep.push_back(op(Op::neg));
  REQUIRE(deep.size() == size_t(kMaxNodes));
  const Expr e(deep);
  const DType f32 = DType::f32;
  CHECK(infer_result(e, &f32, 1) == DType::f32);
  const TypedExpr t = infer(e, &f32, 1);
  CHECK(t.steps.size() == 1 + 127 + 1);  // the input is loaded once
  deep.push_back(op(Op::neg));
  CHECK(made(deep) == Code::expr);
}

TEST_CASE("expr: what it counts") {
  const Expr e({in(3), Node::scalar(5, DType::f32), op(Op::add), number(DType::f32, 2), op(Op::mul)});
  CHECK(e.n_inputs() == 4);
  CHECK(e.n_scalars() == 6);
  CHECK_FALSE(e.is_identity());
  CHECK(Expr({in(0)}).is_identity());
  CHECK_FALSE(Expr({in(1)}).is_identity());
  CHECK(Expr::identity()->is_identity());
}

TEST_CASE("expr: types that do not fit fail when they are known") {
  const DType c64 = DType::c64, f32 = DType::f32;
  CHECK(code_of([&] { infer_result(Expr({in(0), op(Op::erf)}), &c64, 1); }) == Code::dtype);
  CHECK(code_of([&] { infer(Expr({in(0), in(0), op(Op::lt)}), &c64, 1); }) == Code::dtype);
  CHECK(code_of([&] { infer_result(Expr({in(0), op(Op::bit_not)}), &f32, 1); }) == Code::dtype);
  CHECK(code_of([&] { infer_result(Expr({in(0), in(0), in(0), op(Op::ifelse)}), &f32, 1); }) == Code::dtype);
  CHECK(code_of([&] { infer_result(Expr({in(1)}), &f32, 1); }) == Code::expr);
  CHECK(code_of([&] { infer_result(*Expr::identity(), nullptr, 0); }) == Code::expr);
}

TEST_CASE("infer: single assignment, each input once, every conversion a step") {
  const DType f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, i8 = DType::i8, b = DType::bool_, f64 = DType::f64;
  CHECK(typed({in(0)}, {f16}) == "i0 -> f16");
  CHECK(typed({in(0), in(0), op(Op::mul), in(0), op(Op::add)}, {f32}) == "i0 mul:f32(0,0) add:f32(1,0) -> f32");
  CHECK(typed({in(1), in(0), op(Op::sub)}, {f32, f32}) == "i1 i0 sub:f32(0,1) -> f32");
  CHECK(typed({in(0), in(1), op(Op::add)}, {i8, f32}) == "i0 i1 cast(i8->f32)0 add:f32(2,1) -> f32");
  CHECK(typed({in(0), in(0), op(Op::add)}, {b}) == "i0 cast(bool_->i64)0 add:i64(1,1) -> i64");
  CHECK(typed({in(0), op(Op::sqrt)}, {i8}) == "i0 cast(i8->f64)0 sqrt:f64(1) -> f64");
  // Values of 16-bit floats are float32 already: no conversion between them, unless the tape asks for the rounding.
  CHECK(typed({in(0), in(1), op(Op::add)}, {f16, bf16}) == "i0 i1 add:f32(0,1) -> f32");
  CHECK(typed({in(0), in(1), op(Op::add)}, {f16, f32}) == "i0 i1 add:f32(0,1) -> f32");
  CHECK(typed({in(0), Node::cast(f32)}, {f16}) == "i0 -> f32");
  CHECK(typed({in(0), Node::cast(f16)}, {f32}) == "i0 cast(f32->f16)0 -> f16");
  CHECK(typed({in(0), in(0), op(Op::mul), Node::cast(f16)}, {f16}) == "i0 mul:f16(0,0) cast(f16->f16)1 -> f16");
  CHECK(typed({in(0), Node::cast(f64)}, {f64}) == "i0 -> f64");
  // ifelse: a Bool, and two of one dtype.
  CHECK(typed({in(0), in(1), in(2), op(Op::ifelse)}, {b, i8, f64}) ==
        "i0 i1 i2 cast(i8->f64)1 ifelse:f64(0,3,2) -> f64");
  CHECK(typed({in(0), in(1), op(Op::lt), in(0), in(1), op(Op::ifelse)}, {f32, f32}) ==
        "i0 i1 lt:f32(0,1) ifelse:f32(2,0,1) -> f32");
}

TEST_CASE("infer: what a tape names twice is one step, but for constants") {
  const DType f32 = DType::f32;
  const Tape y{in(0), in(1), op(Op::mul), op(Op::tanh)};
  Tape both = y;
  both.push_back(number(f32, 1));
  both.insert(both.end(), y.begin(), y.end());
  both.insert(both.end(), {op(Op::abs2), number(f32, 1), op(Op::mul), op(Op::sub)});
  const DType inputs[] = {f32, f32};
  const TypedExpr t = infer(Expr(both), inputs, 2);
  CHECK(text(t) == "i0 i1 mul:f32(0,1) tanh:f32(2) p0 abs2:f32(3) p1 mul:f32(5,6) sub:f32(4,7) -> f32");
  CHECK((t.n_results == 2 && t.results[0] == f32 && t.values[0] == 3 && t.values[1] == 8));
  const TypedExpr scalars = infer(Expr({in(0), Node::scalar(0, f32), op(Op::mul), in(0), Node::scalar(0, f32), op(Op::mul)}), &f32, 1);
  CHECK((scalars.values[0] == 2 && scalars.values[1] == 2 && scalars.parameters.size() == 1));
  const DType mixed[] = {DType::i32, DType::f16};
  const TypedExpr four = infer(Expr({in(1), in(0), op(Op::neg), in(0), in(1), op(Op::add), number(DType::f64, 2)}), mixed, 2);
  CHECK(text(four) == "i1 i0 neg:i32(1) cast(i32->f32)1 add:f16(3,0) p0 -> f64");
  CHECK((four.n_results == 4 && four.values[0] == 0 && four.values[1] == 2 && four.values[2] == 4 && four.values[3] == 5));
  CHECK((four.results[0] == DType::f16 && four.results[1] == DType::i32 && four.results[2] == DType::f16 && four.results[3] == DType::f64));
  const ResultTypes types = infer_results(Expr({in(0), in(1), in(0)}), mixed, 2);
  CHECK((types.results[0] == DType::i32 && types.results[1] == DType::f16 && types.results[2] == DType::i32));
}

TEST_CASE("infer: an integer that meets a 16-bit float is converted without a rounding to 16 bits") {
  // 2049 has no float16, but the operand is held in float32 and rounds at the store only.
  const std::string t = typed({in(0), in(1), op(Op::add)}, {DType::i32, DType::f16});
  CHECK(t == "i0 i1 cast(i32->f32)0 add:f16(2,1) -> f16");
}

TEST_CASE("infer: scalars and constants are parameters, in order, with their slot or value") {
  const Expr e({in(0), Node::scalar(1, DType::f32), op(Op::mul), number(DType::i64, 7), op(Op::add)});
  const DType f32 = DType::f32;
  const TypedExpr t = infer(e, &f32, 1);
  CHECK(text(t) == "i0 p0 mul:f32(0,1) p1 cast(i64->f32)3 add:f32(2,4) -> f32");
  REQUIRE(t.parameters.size() == 2);
  CHECK((t.parameters[0].slot == 1 && t.parameters[0].dtype == DType::f32));
  CHECK((t.parameters[1].slot == -1 && t.parameters[1].dtype == DType::i64 && t.parameters[1].value.i == 7));
  REQUIRE(e.parameters().size() == 2);
  CHECK((e.parameters()[0].slot == 1 && e.parameters()[1].value.i == 7));
}

TEST_CASE("expr: constants' values are told apart, by what of them counts") {
  const auto plus = [](DType d, Scalar v) { return Expr({in(0), Node::constant(d, v), op(Op::add)}); };
  Scalar one = make_scalar(DType::c64, 1), noisy = one;
  noisy.c[1] = 5;
  const Expr e = plus(DType::f32, one);
  for (const DType d : {DType::f32, DType::c64}) {
    const Expr a = plus(d, one), b = plus(d, noisy);
    CHECK(a.same_constants(b) == (d == DType::f32));
    CHECK((a.constants_hash() == b.constants_hash()) == (d == DType::f32));
  }
  CHECK_FALSE(e.same_constants(plus(DType::f32, make_scalar(DType::f32, 2))));
  CHECK(e.constants_hash() != plus(DType::f32, make_scalar(DType::f32, 2)).constants_hash());
  const auto scaled = [](int slot) { return Expr({in(0), Node::scalar(slot, DType::f32), op(Op::mul)}); };
  CHECK(scaled(3).same_constants(scaled(3)));
}

TEST_CASE("expr: equal but for constants' values is equal, and hashes alike") {
  const auto plus = [](double v) { return Expr({in(0), number(DType::f32, v), op(Op::add)}); };
  CHECK(plus(1) == plus(2));
  CHECK(plus(1).hash() == plus(2).hash());
  const Expr others[] = {Expr({in(0), number(DType::f64, 1), op(Op::add)}), Expr({in(1), number(DType::f32, 1), op(Op::add)}),
                         Expr({in(0), number(DType::f32, 1), op(Op::sub)}), Expr({number(DType::f32, 1), in(0), op(Op::add)}),
                         Expr({in(0), Node::scalar(0, DType::f32), op(Op::add)}), Expr({in(0)}),
                         Expr({in(0), number(DType::f32, 1), op(Op::add), Node::cast(DType::f32)})};
  for (const Expr &o : others) {
    CHECK_FALSE(plus(1) == o);
    CHECK(plus(1).hash() != o.hash());
  }
  // Fields that a node's kind does not use do not count.
  Node noisy = in(0);
  noisy.dtype = DType::c128, noisy.value.i = 99;
  CHECK(Expr({noisy}) == *Expr::identity());
  CHECK(Expr({noisy}).hash() == Expr::identity()->hash());
}

TEST_CASE("expr: hashes are pinned: disk caches outlive a build") {
  CHECK(Expr::identity()->hash() == 0xe20ac05505793235u);
  CHECK(Expr({in(0), in(1), op(Op::mul), in(2), op(Op::add), op(Op::tanh)}).hash() == 0xe42f83aa5c307d1au);
  CHECK(Expr({in(0), Node::scalar(0, DType::f32), op(Op::mul), Node::cast(DType::f16)}).hash() == 0xecb8736e19dad842u);
}
