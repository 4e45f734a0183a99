// mean, var, std, norm and logsumexp on the CPU backend against their definitions in long double, on every row that accepts.
#include "tensors.h"

namespace {
using namespace cpu_test;
using tcu::Node;
using tcu::Op;
using tcu::ReduceOp;

struct OpCase {
  ReduceOp op;
  oracle::Fold fold;
};
const OpCase ops[] = {{ReduceOp::mean, oracle::Fold::mean},
                      {ReduceOp::var, oracle::Fold::var},
                      {ReduceOp::std, oracle::Fold::std},
                      {ReduceOp::norm, oracle::Fold::norm},
                      {ReduceOp::logsumexp, oracle::Fold::logsumexp}};

double epsilon(DType d) {
  switch (d) {
    case DType::bf16: return 0x1p-8;
    case DType::f16: return 0x1p-11;
    case DType::f8e4m3: return 0x1p-4;
    case DType::f8e5m2: return 0x1p-3;
    case DType::f32:
    case DType::c64: return 0x1p-24;
    default: return 0x1p-53;
  }
}
double normal(Rng &rng) {  // as good as
  double s = -6;
  for (int i = 0; i < 12; ++i) s += double(rng() >> 11) * 0x1p-53;
  return s;
}

// allowed: how far from `expected` an element may be, beside the rounding of what is stored.
// The greatest part of what is allowed that an element is off.
double compare_within(const Tensor &out, const std::vector<double> &expected, const std::vector<double> &allowed) {
  const std::vector<double> got = out.values();
  double worst = 0;
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double want = expected[i], stored = epsilon(out.dtype) * std::fabs(want) + (out.dtype == DType::f16 ? 0x1p-25 : 0);
    if (!(got[i] == want || (std::isnan(got[i]) && std::isnan(want)) || std::fabs(got[i] - want) <= allowed[i] + stored)) {
      CAPTURE(i, got[i], want, allowed[i]);
      FAIL("a wrong element");
    }
    if (out.dtype == DType::f64 && allowed[i] > 0 && std::isfinite(want)) worst = std::max(worst, std::fabs(got[i] - want) / allowed[i]);
  }
  REQUIRE(out.gaps_intact());
  return worst;
}

struct Spread {
  double mean, deviation;
};
// Everyday numbers, and the mean far above the deviation.
Spread spread_for(Rng &rng, DType d) {
  const tcu::Kind k = tcu::kind_of(d);
  if (k == tcu::Kind::Bool) return {0.5, 0.5};
  if (k == tcu::Kind::UInt) return {40, 10};
  if (k == tcu::Kind::Int) return {0, 10};
  if (k == tcu::Kind::Float && tcu::bytes_of(d) <= 2) return chance(rng, 50) ? Spread{0, 1} : Spread{5, 1};
  return chance(rng, 40) ? Spread{0, 1} : chance(rng, 50) ? Spread{1e6, 1} : Spread{-3, 20};
}

TEST_CASE("random means, variances, norms and logarithms of sums agree with their definitions on every row") {
  Rng rng(31);
  double worst[5] = {};
  for (int trial = 0; trial < 700; ++trial) {
    const OpCase &what = ops[trial % 5];
    Sizes extents = trial % 25 == 0 ? Sizes{pick(rng, 1, 9), pick(rng, 3000, 30000), pick(rng, 1, 5)} : shape(rng, 5, 20000);
    std::vector<int32_t> dims;
    for (int m = 0; m < int(extents.size()); ++m)
      if (chance(rng, 50)) dims.push_back(m);
    const bool fused = chance(rng, 30), complex = what.op == ReduceOp::mean || what.op == ReduceOp::norm;
    std::vector<Tensor> inputs;
    std::vector<tcu::TensorView> views;
    std::vector<oracle::Tensor> doubles;
    for (int i = 0; i < (fused ? 2 : 1); ++i) {
      const Sizes e = i == 0 ? extents : broadcastable(rng, extents);
      inputs.emplace_back(one_of(rng, all_dtypes(complex)), e, layout(rng, e, true));
      const Spread s = spread_for(rng, inputs.back().dtype);
      const double least = tcu::kind_of(inputs.back().dtype) == tcu::Kind::UInt ? 0 : -1e300;
      inputs.back().fill([&](const Sizes &) { return std::max(s.mean + s.deviation * normal(rng), least); });
    }
    for (Tensor &t : inputs) views.push_back(t.view()), doubles.push_back(t.as_doubles());
    const Sizes kept = kept_of(extents, dims);
    const DType outs[] = {DType::f64, DType::f64, DType::f32, DType::f16, DType::bf16, DType::c128};
    Tensor out(one_of(rng, outs), kept, layout(rng, kept, false));
    out.fill([&](const Sizes &) { return double(pick(rng, 0, 3)); });
    tcu::Request r;
    r.out = out.view(), r.n_inputs = int(views.size()), r.inputs = views.data();
    if (fused) r.expr = std::make_shared<const tcu::Expr>(std::vector<Node>{Node::input(0), Node::input(1), Node::op(Op::sub)});
    r.reads_out = chance(rng, 20);
    if (chance(rng, 20)) r.accumulator = DType::f64;
    const tcu::Problem p = tcu::make_reduce(r, what.op, int(dims.size()), dims.data());
    // Unsigned integers wrap where they are subtracted, and expressions round as they go: the oracle sees neither.
    if (fused && (p.element != DType::f64 && tcu::kind_of(p.element) != tcu::Kind::Int)) continue;
    const bool scaled = chance(rng, 30);
    tcu::Execution e;
    e.at.out = r.out.data;
    for (size_t i = 0; i < views.size(); ++i) e.at.in[i] = views[i].data;
    e.alpha = number(p.acc, scaled ? 2 : 1), e.beta = number(p.acc, 3);
    e.correction = one_of(rng, std::vector<double>{1, 1, 0, 2.5});
    const oracle::Function f = [](const std::vector<double> &x) { return x.size() == 1 ? x[0] : x[0] - x[1]; };
    const double eps = epsilon(p.acc);
    std::vector<double> expected = oracle::statistics(what.fold, doubles, dims, e.correction, f);
    std::vector<double> allowed = oracle::statistic_errors(what.fold, doubles, dims, e.correction, eps, f);
    const std::vector<double> old = out.values();
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i] = (scaled ? 2 : 1) * expected[i] + (r.reads_out ? 3 * old[i] : 0);
      allowed[i] = (scaled ? 2 : 1) * allowed[i] + 2 * eps * std::fabs(expected[i]);
      if (out.dtype == DType::f16 && std::fabs(expected[i]) > 65000) expected[i] = rounded(DType::f16, expected[i]);
    }
    CAPTURE(trial, tcu::info(what.op).name, p.pattern(), tcu::info(p.in[0]).name, tcu::info(p.acc).name, tcu::info(out.dtype).name);
    CAPTURE(fused, e.correction, scaled, r.reads_out);
    on_every_row(p, out, e, [&](const char *row) {
      CAPTURE(row);
      worst[trial % 5] = std::max(worst[trial % 5], compare_within(out, expected, allowed));
    });
  }
  if (std::getenv("TCU_TEST_ULP"))
    for (int i = 0; i < 5; ++i) std::printf("%s: %.2f of the bound\n", tcu::info(ops[i].op).name, worst[i]);
}

// A reduction of everything in one call, in the accumulator that the dtype has.
double of_all(ReduceOp op, const Tensor &x, double correction = 1, DType out_dtype = DType::f64) {
  Tensor out(out_dtype, {1}, {1});
  const tcu::TensorView view = x.view();
  tcu::Request r;
  r.out = out.view(), r.n_inputs = 1, r.inputs = &view;
  const int32_t dim = 0;
  const tcu::Problem p = tcu::make_reduce(r, op, 1, &dim);
  tcu::Execution e;
  e.at.out = r.out.data, e.at.in[0] = view.data, e.alpha = number(p.acc, 1), e.correction = correction;
  double result = 0;
  bool first = true;
  on_every_row(p, out, e, [&](const char *) {
    const double y = out.values()[0];
    if (first) result = y;
    first = false;
    CAPTURE(y, result);
    REQUIRE(((std::isnan(y) && std::isnan(result)) || y == result || std::fabs(y - result) <= 1e-5 * std::fabs(result)));
  });
  return result;
}
Tensor vector_of(DType d, const std::vector<double> &values) {
  Tensor x(d, {int64_t(values.size())}, {1});
  x.fill([&](const Sizes &i) { return values[size_t(i[0])]; });
  return x;
}

TEST_CASE("elements that are all equal have no variance, wherever they lie") {
  for (double value : {0.1, 1e6 + 0.3, -3e-30, 1e30})
    for (int64_t n : {2, 3, 7, 64, 2049, 300001}) {
      const Tensor x = vector_of(DType::f32, std::vector<double>(size_t(n), value));
      CAPTURE(value, n);
      REQUIRE(of_all(ReduceOp::var, x) == 0);
      REQUIRE(of_all(ReduceOp::std, x, 0) == 0);
    }
}

TEST_CASE("few elements: the correction, and what is no number") {
  const double inf = INFINITY, nan = NAN;
  for (DType d : {DType::f32, DType::f64, DType::f16, DType::i32}) {
    const Tensor one = vector_of(d, {7}), none = vector_of(d, {}), two = vector_of(d, {1, 4});
    for (ReduceOp op : {ReduceOp::var, ReduceOp::std}) {
      REQUIRE(std::isnan(of_all(op, one)));
      REQUIRE(of_all(op, one, 0) == 0);
      REQUIRE(std::isnan(of_all(op, none, 0)));
      REQUIRE(std::isnan(of_all(op, none, 1)));
      REQUIRE(of_all(op, two, 2) == inf);
      REQUIRE(of_all(op, two, 5) == inf);
    }
    REQUIRE(of_all(ReduceOp::var, two) == 4.5);
    REQUIRE(of_all(ReduceOp::var, two, 0) == 2.25);
    REQUIRE(of_all(ReduceOp::mean, two) == 2.5);
    REQUIRE(of_all(ReduceOp::mean, one) == 7);
    REQUIRE(of_all(ReduceOp::norm, one) == 7);
    REQUIRE(of_all(ReduceOp::logsumexp, one) == 7);
    REQUIRE(std::isnan(of_all(ReduceOp::mean, none)));
    REQUIRE(of_all(ReduceOp::norm, none) == 0);
    REQUIRE(of_all(ReduceOp::logsumexp, none) == -inf);
  }
  for (DType d : {DType::f32, DType::f64}) {
    for (int64_t n : {1, 2, 65, 5000, 300000}) {
      for (int64_t at : {int64_t(0), n / 2, n - 1}) {
        std::vector<double> x(static_cast<size_t>(n), 1.0);
        const auto with = [&](ReduceOp op, double special) { return x[size_t(at)] = special, of_all(op, vector_of(d, x), 0); };
        CAPTURE(n, at);
        for (double special : {inf, -inf, nan})
          for (ReduceOp op : {ReduceOp::var, ReduceOp::std}) REQUIRE(std::isnan(with(op, special)));
        REQUIRE(with(ReduceOp::mean, inf) == inf);
        REQUIRE(with(ReduceOp::norm, -inf) == inf);
        REQUIRE(with(ReduceOp::logsumexp, inf) == inf);
        REQUIRE(std::isnan(with(ReduceOp::logsumexp, nan)));
        const double rest = with(ReduceOp::logsumexp, -inf);
        if (n > 1) REQUIRE(std::fabs(rest - (1 + std::log(double(n - 1)))) < 1e-5);
        else REQUIRE(rest == -inf);
        REQUIRE(of_all(ReduceOp::logsumexp, vector_of(d, std::vector<double>(size_t(n), -inf))) == -inf);
        x[size_t(at)] = inf, x.back() = nan;
        if (n > 1) REQUIRE(std::isnan(of_all(ReduceOp::logsumexp, vector_of(d, x))));
      }
    }
  }
  // exp alone would overflow, and underflow
  REQUIRE(std::fabs(of_all(ReduceOp::logsumexp, vector_of(DType::f32, {1000, 1000})) - (1000 + std::log(2.0))) < 1e-4);
  REQUIRE(std::fabs(of_all(ReduceOp::logsumexp, vector_of(DType::f32, {-1000, -1000, -2000})) - (-1000 + std::log(2.0))) < 1e-4);
}

TEST_CASE("a first element far from all others costs no more digits than its share of the variance") {
  Rng rng(33);
  std::vector<double> x(5000);
  for (double &v : x) v = normal(rng);
  x[0] = 1e4;
  const Tensor t = vector_of(DType::f32, x);
  const double want = oracle::statistic(oracle::Fold::var, t.as_doubles().data, 1);
  REQUIRE(std::fabs(of_all(ReduceOp::var, t) - want) <= 1e-5 * want);
}

TEST_CASE("complex elements: mean of both parts, norm of the modulus") {
  const int64_t n = 1003;
  std::vector<tcu::c64_t> x(n, tcu::c64_t{3, -4});
  tcu::c64_t mean{};
  float norm = 0;
  const int32_t dim = 0;
  tcu::TensorView in{x.data(), DType::c64, 1, &n, nullptr};
  tcu::Request r;
  r.n_inputs = 1, r.inputs = &in;
  const auto run = [&](ReduceOp op, void *out, DType d) {
    r.out = {out, d, 0, nullptr, nullptr};
    const tcu::Problem p = tcu::make_reduce(r, op, 1, &dim);
    tcu::Execution e;
    e.at.out = out, e.at.in[0] = x.data(), e.alpha = tcu::make_scalar(p.acc, 1);
    planner().execute(*planner().plan(p, nullptr), e, 0);
  };
  run(ReduceOp::mean, &mean, DType::c64);
  REQUIRE((mean.re == 3 && mean.im == -4));
  run(ReduceOp::norm, &norm, DType::f32);
  REQUIRE(std::fabs(norm - 5 * std::sqrt(1003.0)) < 1e-4);
}

TEST_CASE("statistics of segments of every small length") {
  Rng rng(34);
  for (DType d : {DType::f32, DType::f64, DType::f16, DType::i32}) {
    std::vector<int64_t> at{0};
    for (int64_t length = 0; length <= 70; ++length) at.push_back(at.back() + length);
    at.push_back(at.back() + 5000);
    const int64_t segments = int64_t(at.size()) - 1, n = at.back(), rows = 3;
    Tensor x(d, {rows, n}, chance(rng, 50) ? Sizes{1, rows} : Sizes{n, 1});
    x.fill([&](const Sizes &) { return 100 + 8 * normal(rng); });
    Tensor out(DType::f64, {rows, segments}, {1, rows});
    const tcu::TensorView view = x.view();
    const int64_t count = segments + 1;
    for (const OpCase &what : ops) {
      tcu::Request r;
      r.out = out.view(), r.n_inputs = 1, r.inputs = &view;
      const tcu::Problem p = tcu::make_segmented(r, what.op, 1, {at.data(), DType::i64, 1, &count, nullptr});
      tcu::Execution e;
      e.at.out = r.out.data, e.at.in[0] = view.data, e.at.offsets = at.data(), e.alpha = number(p.acc, 1);
      std::vector<double> expected, allowed;
      for_each_index({rows, segments}, [&](const Sizes &i) {
        std::vector<double> elements;
        for (int64_t k = at[size_t(i[1])]; k < at[size_t(i[1]) + 1]; ++k) elements.push_back(load(d, x.at({i[0], k})));
        expected.push_back(oracle::statistic(what.fold, elements, 1));
        allowed.push_back(oracle::statistic_error(what.fold, elements, 1, epsilon(p.acc)));
      });
      CAPTURE(tcu::info(what.op).name, tcu::info(d).name);
      on_every_row(p, out, e, [&](const char *) { compare_within(out, expected, allowed); });
    }
  }
}

}  // namespace
