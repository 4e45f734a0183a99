// Random maps on the CPU backend against the oracle: shapes, layouts, dtypes, expressions, alpha and beta, in place; every
// row that accepts. Values are small integers, so that each dtype holds every intermediate exactly.
#include "tensors.h"

namespace {
using namespace cpu_test;
using tcu::Node;
using tcu::Op;

struct Formula {
  std::vector<Node> nodes;
  int inputs;
  oracle::Function f;
};

Formula formula(Rng &rng) {
  const auto in = [](int i) { return Node::input(i); };
  const auto op = [](Op o) { return Node::op(o); };
  switch (pick(rng, 0, 7)) {
    case 0: return {{in(0)}, 1, [](auto &x) { return x[0]; }};
    case 1: return {{in(0), in(1), op(Op::add)}, 2, [](auto &x) { return x[0] + x[1]; }};
    case 2: return {{in(0), in(1), op(Op::mul), in(2), op(Op::add)}, 3, [](auto &x) { return x[0] * x[1] + x[2]; }};
    case 3: return {{in(0), in(0), op(Op::mul), in(1), op(Op::max)}, 2, [](auto &x) { return std::max(x[0] * x[0], x[1]); }};
    case 4:
      return {{in(0), in(1), op(Op::lt), in(2), in(3), op(Op::ifelse)}, 4, [](auto &x) { return x[0] < x[1] ? x[2] : x[3]; }};
    case 5: return {{Node::constant(DType::i8, number(DType::i8, 5))}, 0, [](auto &) { return 5.0; }};
    case 6:
      return {{in(0), Node::scalar(1, DType::u8), op(Op::add), Node::cast(DType::f16), in(1), op(Op::add)}, 2,
              [](auto &x) { return x[0] + 7 + x[1]; }};
    default: {
      Formula many{{in(0)}, 16, [](auto &x) { double s = 0; for (double v : x) s += v; return s; }};
      for (int i = 1; i < 16; ++i) many.nodes.push_back(in(i)), many.nodes.push_back(op(Op::add));
      return many;
    }
  }
}

TEST_CASE("random maps agree with the oracle on every row") {
  Rng rng(1);
  const tcu::Scalar scalars[2] = {{}, number(DType::u8, 7)};
  for (int trial = 0; trial < 400; ++trial) {
    const Formula what = formula(rng);
    const Sizes extents = shape(rng, 5, what.inputs > 4 ? 2000 : 20000);
    const bool complex = chance(rng, 20) && what.nodes.size() <= 5 && what.inputs != 2;
    std::vector<Tensor> inputs;
    std::vector<tcu::TensorView> views;
    std::vector<oracle::Tensor> doubles;
    for (int i = 0; i < what.inputs; ++i) {
      const Sizes e = broadcastable(rng, extents);
      inputs.emplace_back(one_of(rng, all_dtypes(complex)), e, layout(rng, e, true));
      inputs.back().fill([&](const Sizes &) { return double(pick(rng, 0, 3)); });
    }
    for (Tensor &t : inputs) views.push_back(t.view()), doubles.push_back(t.as_doubles());
    Tensor out(one_of(rng, all_dtypes()), extents, layout(rng, extents, false));
    out.fill([&](const Sizes &) { return double(pick(rng, 0, 3)); });

    tcu::Request r;
    r.out = out.view();
    r.expr = std::make_shared<const tcu::Expr>(what.nodes);
    r.n_inputs = what.inputs, r.inputs = views.data();
    r.reads_out = chance(rng, 30);
    tcu::Problem p;
    try {
      p = tcu::make_broadcast(r);
    } catch (const tcu::Error &) {
      continue;  // a dtype that the op is not defined on
    }
    const bool truth = p.acc == DType::bool_;
    const double alpha = !truth && chance(rng, 30) ? 2 : 1, beta = truth ? 0 : 3;
    tcu::Execution e;
    e.at.out = r.out.data;
    for (int i = 0; i < what.inputs; ++i) e.at.in[i] = views[size_t(i)].data;
    e.scalars = scalars;
    e.alpha = number(p.acc, alpha), e.beta = number(p.acc, beta);

    std::vector<double> expected = oracle::map(extents, doubles, what.f);
    const std::vector<double> old = out.values();
    // A Bool element is 0 or 1 before alpha meets it; small sums do not wrap in any dtype.
    for (size_t i = 0; i < expected.size(); ++i) {
      if (truth) expected[i] = expected[i] != 0;
      else expected[i] = alpha * expected[i] + (r.reads_out ? beta * old[i] : 0);
    }
    CAPTURE(trial, p.pattern(), tcu::info(p.out).name, tcu::info(p.element).name, r.reads_out);
    on_every_row(p, out, e, [&](const char *row) {
      CAPTURE(row);
      compare(out, expected);
    });
  }
}

TEST_CASE("a map in place") {
  Rng rng(2);
  for (int trial = 0; trial < 60; ++trial) {
    const Sizes extents = shape(rng, 3, 40000);
    // int32 seen as float32 too: another type in the same bytes.
    const DType in = trial % 2 ? DType::f32 : DType::i32;
    Tensor out(DType::f32, extents, layout(rng, extents, false));
    const Sizes others = broadcastable(rng, extents);
    Tensor alias(in, extents, out.strides), other(DType::f32, others, layout(rng, others, true));
    other.fill([&](const Sizes &) { return double(pick(rng, 0, 9)); });
    alias.fill([&](const Sizes &) { return double(pick(rng, 0, 9)); });
    std::memcpy(out.bytes.get(), alias.bytes.get(), size_t(out.span) * 4);
    tcu::TensorView views[2] = {alias.view(), other.view()};
    const auto x = alias.as_doubles(), y = other.as_doubles();
    views[0].data = out.view().data;
    tcu::Request r;
    r.out = out.view();
    r.expr = std::make_shared<const tcu::Expr>(
        std::vector<Node>{Node::input(0), Node::input(1), Node::op(Op::mul), Node::input(0), Node::op(Op::sub)});
    r.n_inputs = 2, r.inputs = views;
    const tcu::Problem p = tcu::make_broadcast(r);
    REQUIRE((p.in_place || p.empty()));
    tcu::Execution e;
    e.at.out = r.out.data, e.at.in[0] = views[0].data, e.at.in[1] = views[1].data;
    e.alpha = number(p.acc, 1);
    const auto expected = oracle::map(extents, {x, y}, [](auto &v) { return v[0] * v[1] - v[0]; });
    on_every_row(p, out, e, [&](const char *row) {
      CAPTURE(trial, row, p.pattern());
      compare(out, expected);
    });
  }
}

TEST_CASE("64 modes that do not merge") {
  Sizes extents, strides, out_strides;
  int64_t at = 1, to = 1;
  for (int m = 0; m < 64; ++m) {
    extents.push_back(m % 5 == 0 && m < 60 ? 2 : 1);
    strides.push_back(at), out_strides.push_back(to);
    at = at * extents.back() + (extents.back() > 1), to *= extents.back();
  }
  Tensor in(DType::i32, extents, strides), out(DType::i64, extents, out_strides);
  int64_t n = 0;
  in.fill([&](const Sizes &) { return double(n++); });
  tcu::TensorView view = in.view();
  tcu::Request r;
  r.out = out.view(), r.n_inputs = 1, r.inputs = &view;
  const tcu::Problem p = tcu::make_broadcast(r);
  REQUIRE(p.modes.size() > 8);
  tcu::Execution e;
  e.at.out = r.out.data, e.at.in[0] = view.data, e.alpha = number(p.acc, 1);
  on_every_row(p, out, e, [&](const char *) { compare(out, in.values()); });
}

// Outputs of 8 MiB and more, which go past the caches in small tiles while the next tile's inputs are fetched.
TEST_CASE("large outputs, past the caches: ragged ends, any alignment, operands that repeat") {
  struct Shape {
    Sizes extents, second;  // strides of the second input
  };
  const int64_t n = (1 << 22) + 1237;
  const Shape shapes[] = {{{1 << 22}, {1}},      {{n}, {1}},           {{n}, {0}},
                          {{1237, 3391}, {1, 0}}, {{1237, 3391}, {0, 1}}, {{56, 56, 37, 40}, {0, 0, 1, 0}}};
  for (const Shape &shape : shapes)
    for (const auto &[first, shift] : {std::pair{DType::f32, 0}, {DType::f32, 5}, {DType::i16, 1}, {DType::f64, 1}}) {
      const int64_t count = product(shape.extents);
      const Sizes strides = dense(shape.extents);
      Tensor x(first, {count + shift}, {1}), y(DType::f32, {count + shift}, {1}), out(DType::f32, {count + 2 * shift}, {1});
      x.fill([&](const Sizes &i) { return double(i[0] % 1000); });
      y.fill([&](const Sizes &i) { return double(i[0] % 777); });
      tcu::TensorView views[2] = {x.view(), y.view()}, to = out.view();
      for (tcu::TensorView *v : {&views[0], &views[1], &to}) {
        v->data = static_cast<char *>(v->data) + shift * tcu::bytes_of(v->dtype);
        v->rank = int(shape.extents.size()), v->extents = shape.extents.data();
        v->strides = v == &views[1] ? shape.second.data() : strides.data();
      }
      tcu::Request r;
      r.out = to, r.n_inputs = 2, r.inputs = views;
      r.expr = std::make_shared<const tcu::Expr>(std::vector<Node>{Node::input(0), Node::input(1), Node::op(Op::add)});
      const tcu::Problem p = tcu::make_broadcast(r);
      tcu::Execution e;
      e.at.out = r.out.data, e.at.in[0] = views[0].data, e.at.in[1] = views[1].data, e.alpha = number(p.acc, 1);
      planner().execute(*planner().plan(p, nullptr), e, 0);
      const auto *got = reinterpret_cast<const float *>(out.bytes.get()) + shift;
      int64_t wrong = 0, i = 0;
      for_each_index(shape.extents, [&](const Sizes &index) {
        const float want = float((i + shift) % 1000 + (offset(index, shape.second) + shift) % 777);
        wrong += got[i++] != want;
      });
      CAPTURE(p.pattern(), count, shift, tcu::info(first).name);
      REQUIRE(wrong == 0);
      const auto untouched = [&](const unsigned char *from, int64_t bytes) {
        return std::all_of(from, from + bytes, [](unsigned char b) { return b == 0xA5; });
      };
      REQUIRE(untouched(out.bytes.get(), 4 * shift));
      REQUIRE(untouched(out.bytes.get() + 4 * (count + shift), 4 * shift + 1));
    }
}

TEST_CASE("two large results of one map, past the caches, of different sizes") {
  const int64_t rows = 1237, columns = 2391, count = rows * columns;
  for (const Sizes &second : {Sizes{1, 0}, Sizes{0, 1}}) {
    Tensor x(DType::f32, {rows, columns}, {1, rows}), y(DType::f32, {rows, columns}, second);
    Tensor sum(DType::f32, {rows, columns}, {1, rows}), difference(DType::f64, {rows, columns}, {1, rows});
    x.fill([](const Sizes &i) { return double((3 * i[0] + i[1]) % 1000); });
    y.fill([&](const Sizes &i) { return double(second[0] ? i[0] : i[1]); });
    const tcu::TensorView views[2] = {x.view(), y.view()}, more = difference.view();
    tcu::Request r;
    r.out = sum.view(), r.n_inputs = 2, r.inputs = views, r.n_more = 1, r.more = &more;
    r.expr = std::make_shared<const tcu::Expr>(std::vector<Node>{Node::input(0), Node::input(1), Node::op(Op::add), Node::input(0),
                                                                 Node::input(1), Node::op(Op::sub)});
    const tcu::Problem p = tcu::make_broadcast(r);
    tcu::Execution e;
    e.at.out = r.out.data, e.at.in[0] = views[0].data, e.at.in[1] = views[1].data, e.at.more[0] = more.data, e.alpha = number(p.acc, 1);
    planner().execute(*planner().plan(p, nullptr), e, 0);
    int64_t wrong = 0;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = k % rows, j = k / rows;
      const double a = double((3 * i + j) % 1000), b = double(second[0] ? i : j);
      wrong += load(DType::f32, sum.bytes.get() + 4 * k) != a + b || load(DType::f64, difference.bytes.get() + 8 * k) != a - b;
    }
    CAPTURE(p.pattern());
    REQUIRE(wrong == 0);
    REQUIRE((sum.gaps_intact() && difference.gaps_intact()));
  }
}

}  // namespace
