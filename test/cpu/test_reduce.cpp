// Random reductions on the CPU backend against the oracle, every row that accepts; accuracy; bits against thread counts.
#include <omp.h>

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
const OpCase ops[] = {{ReduceOp::sum, oracle::Fold::sum},       {ReduceOp::prod, oracle::Fold::prod},
                      {ReduceOp::max, oracle::Fold::max},       {ReduceOp::min, oracle::Fold::min},
                      {ReduceOp::any, oracle::Fold::any},       {ReduceOp::all, oracle::Fold::all},
                      {ReduceOp::count, oracle::Fold::count},   {ReduceOp::argmax, oracle::Fold::argmax},
                      {ReduceOp::argmin, oracle::Fold::argmin}};

struct Shape {
  Sizes extents;
  std::vector<int32_t> dims;
};
Shape random_case(Rng &rng, int trial) {
  Shape s;
  // Some of a size at which threads, splits and several levels of accumulators come in.
  s.extents = trial % 25 == 0 ? Sizes{pick(rng, 1, 9), pick(rng, 3000, 30000), pick(rng, 1, 5)} : shape(rng, 5, 20000);
  for (int m = 0; m < int(s.extents.size()); ++m)
    if (chance(rng, 50)) s.dims.push_back(m);
  return s;
}

TEST_CASE("random reductions agree with the oracle on every row") {
  Rng rng(3);
  for (int trial = 0; trial < 600; ++trial) {
    const OpCase &what = ops[trial % 9];
    const Shape s = random_case(rng, trial);
    const bool fused = chance(rng, 40), is_arg = tcu::is_arg(what.op);
    const bool ordered = is_arg || what.op == ReduceOp::max || what.op == ReduceOp::min;
    std::vector<Tensor> inputs;
    std::vector<tcu::TensorView> views;
    std::vector<oracle::Tensor> doubles;
    for (int i = 0; i < (fused ? 2 : 1); ++i) {
      const Sizes e = i == 0 ? s.extents : broadcastable(rng, s.extents);
      inputs.emplace_back(one_of(rng, all_dtypes(!ordered)), e, layout(rng, e, true));
      const bool prod = what.op == ReduceOp::prod;
      inputs.back().fill([&](const Sizes &) { return prod ? (chance(rng, 1) ? 2.0 : 1.0) : double(pick(rng, 0, chance(rng, 3) ? 3 : 1)); });
    }
    for (Tensor &t : inputs) views.push_back(t.view()), doubles.push_back(t.as_doubles());
    const Sizes kept = kept_of(s.extents, s.dims);
    const DType wide[] = {DType::i64, DType::f64, DType::f32, DType::i32};
    Tensor out(is_arg ? one_of(rng, std::vector<DType>{DType::i64, DType::i32, DType::u32}) : one_of(rng, wide), kept, layout(rng, kept, false));
    out.fill([&](const Sizes &) { return double(pick(rng, 0, 3)); });
    tcu::Request r;
    r.out = out.view(), r.n_inputs = int(views.size()), r.inputs = views.data();
    if (fused)
      r.expr = std::make_shared<const tcu::Expr>(
          std::vector<Node>{Node::input(0), Node::input(1), Node::op(what.op == ReduceOp::prod ? Op::mul : Op::add)});
    r.reads_out = chance(rng, 20) && tcu::info(what.op).accumulate != tcu::Accumulate::Bool && !is_arg;
    tcu::Problem p;
    try {
      p = tcu::make_reduce(r, what.op, int(s.dims.size()), s.dims.data());
    } catch (const tcu::Error &error) {
      REQUIRE((error.code == tcu::Code::empty || error.code == tcu::Code::option));  // beta of a Bool
      continue;
    }
    const DType post = is_arg ? DType::i64 : p.acc;
    const bool scaled = chance(rng, 30) && post != DType::bool_ && !is_arg;
    tcu::Execution e;
    e.at.out = r.out.data;
    for (size_t i = 0; i < views.size(); ++i) e.at.in[i] = views[i].data;
    e.alpha = number(post, scaled ? 2 : 1), e.beta = number(post, 3);
    const bool prod = what.op == ReduceOp::prod;
    std::vector<double> expected = oracle::reduce(what.fold, doubles, s.dims, [&](const std::vector<double> &x) {
      return x.size() == 1 ? x[0] : prod ? x[0] * x[1] : x[0] + x[1];
    });
    bool fits = true;  // a product may outgrow float32 or wrap
    const std::vector<double> old = out.values();
    for (size_t i = 0; i < expected.size(); ++i) {
      fits &= expected[i] < (p.acc == DType::f32 || out.dtype != DType::f64 ? 16777216.0 : 4e15);
      if (p.acc == DType::bool_ && !is_arg) expected[i] = expected[i] != 0;
      expected[i] = (scaled ? 2 : 1) * expected[i] + (r.reads_out ? 3 * old[i] : 0);
    }
    if (!fits) continue;
    CAPTURE(trial, tcu::info(what.op).name, p.pattern(), tcu::info(p.in[0]).name, tcu::info(p.acc).name, fused);
    on_every_row(p, out, e, [&](const char *row) {
      CAPTURE(row);
      compare(out, expected);
    });
  }
}

// A sum in float32 with the identity, on the planner's row.
float sum_of(const std::vector<float> &x) {
  float out = 0;
  const int64_t n = int64_t(x.size());
  const int32_t dim = 0;
  tcu::TensorView in{const_cast<float *>(x.data()), DType::f32, 1, &n, nullptr};
  tcu::Request r;
  r.out = {&out, DType::f32, 0, nullptr, nullptr};
  r.n_inputs = 1, r.inputs = &in;
  const tcu::Problem p = tcu::make_reduce(r, ReduceOp::sum, 1, &dim);
  tcu::Execution e;
  e.at.out = &out, e.at.in[0] = x.data(), e.alpha = number(DType::f32, 1);
  planner().execute(*planner().plan(p, nullptr), e, 0);
  return out;
}

TEST_CASE("a long float32 sum is exact to 1e-6, and the same for any number of threads") {
  std::vector<float> x((1 << 25) + 11);
  Rng rng(4);
  long double exact = 0;
  for (float &v : x) v = float(rng() >> 40) * 0x1p-24f, exact += v;
  const float got = sum_of(x);
  REQUIRE(std::fabs(got - double(exact)) <= 1e-6 * double(exact));
  const int threads = omp_get_max_threads();
  for (int n : {1, 2, 3, 5}) {
    omp_set_num_threads(n);
    REQUIRE(sum_of(x) == got);
  }
  omp_set_num_threads(threads);
}

// Several kept boxes before the next reduced one: they are folded side by side (ReducePlan::abreast), by threads that start anywhere.
TEST_CASE("kept boxes side by side: operands in place and computed, values and positions, any number of threads") {
  struct Kept {
    Sizes extents;
    std::vector<int32_t> dims;
  };
  const Kept shapes[] = {{{16, 33, 17, 41, 5}, {0, 2, 4}}, {{4111, 9, 7}, {1, 2}}, {{16, 700, 40}, {0, 2}}, {{3, 1100, 3, 37, 3}, {0, 2, 4}}};
  const int threads = omp_get_max_threads();
  Rng rng(21);
  for (const Kept &s : shapes)
    for (const DType d : {DType::f32, DType::f16, DType::i32}) {
      Tensor in(d, s.extents, dense(s.extents));
      in.fill([&](const Sizes &) { return double(pick(rng, 0, 9)); });
      Sizes kept = s.extents;
      for (int32_t dim : s.dims) kept[size_t(dim)] = 1;
      for (const OpCase &what : {ops[0], ops[2], ops[8]}) {
        Tensor out(DType::i64, kept, dense(kept));
        const tcu::TensorView view = in.view();
        tcu::Request r;
        r.out = out.view(), r.n_inputs = 1, r.inputs = &view;
        const tcu::Problem p = tcu::make_reduce(r, what.op, int(s.dims.size()), s.dims.data());
        tcu::Execution e;
        e.at.out = r.out.data, e.at.in[0] = view.data, e.alpha = number(tcu::is_arg(what.op) ? DType::i64 : p.acc, 1);
        const auto expected = oracle::reduce(what.fold, {in.as_doubles()}, s.dims, [](const std::vector<double> &x) { return x[0]; });
        for (int n : {1, 2, 3, 5}) {
          omp_set_num_threads(n);
          CAPTURE(tcu::info(what.op).name, p.pattern(), tcu::info(d).name, n);
          on_every_row(p, out, e, [&](const char *row) {
            CAPTURE(row);
            compare(out, expected);
          });
        }
      }
    }
  omp_set_num_threads(threads);
}

TEST_CASE("NaN, infinities and the first best") {
  const float inf = INFINITY, nan = NAN;
  for (int64_t n : {1, 2, 63, 64, 65, 129, 5000, 300000}) {
    for (int64_t at : {int64_t(0), n / 2, n - 1}) {
      Tensor x(DType::f32, {n}, {1});
      auto *v = reinterpret_cast<float *>(x.bytes.get());
      for (ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::argmax, ReduceOp::argmin}) {
        for (float special : {inf, -inf, nan}) {
          for (int64_t i = 0; i < n; ++i) v[i] = float(i % 7);
          v[at] = special;
          if (at + 1 < n) v[n - 1] = special;  // a second one: the first must win
          Tensor out(tcu::is_arg(op) ? DType::i64 : DType::f32, {1}, {1});
          tcu::TensorView view = x.view();
          tcu::Request r;
          r.out = out.view(), r.n_inputs = 1, r.inputs = &view;
          const int32_t dim = 0;
          const tcu::Problem p = tcu::make_reduce(r, op, 1, &dim);
          tcu::Execution e;
          e.at.out = r.out.data, e.at.in[0] = view.data, e.alpha = number(tcu::is_arg(op) ? DType::i64 : DType::f32, 1);
          oracle::Fold fold = oracle::Fold::max;
          for (const OpCase &o : ops) fold = o.op == op ? o.fold : fold;
          const auto expected = oracle::reduce(fold, {x.as_doubles()}, {0});
          CAPTURE(n, at, special, tcu::info(op).name);
          on_every_row(p, out, e, [&](const char *row) {
            CAPTURE(row);
            compare(out, expected);
          });
        }
      }
    }
  }
}

// A fold over dimension 0 of n elements by `count`, both starting off a vector's boundary.
struct Folded {
  int64_t n, count, offset = 0, stride = 1;  // of the outputs, in elements
  DType out = DType::f32;
  double alpha = 1, beta = 0;
};
template <class Want> void check_folded(ReduceOp op, const Folded &c, Want &&want) {
  CAPTURE(tcu::info(op).name, c.n, c.count, c.offset, c.stride, tcu::info(c.out).name, c.alpha, c.beta);
  std::vector<float> x(size_t(c.n * c.count + 1));
  for (size_t i = 0; i < x.size(); ++i) x[i] = float((i * 7 + i / 5) % 11);
  if (op == ReduceOp::max) x[x.size() / 2] = NAN, x[x.size() / 3] = INFINITY, x[1] = -INFINITY;
  const int size = tcu::bytes_of(c.out);
  std::vector<unsigned char> out(size_t((c.offset + c.stride * c.count + 1) * size));
  const int64_t extents[] = {c.n, c.count}, kept[] = {1, c.count}, strides[] = {0, c.stride};
  const int32_t dim = 0;
  tcu::TensorView in{x.data() + 1, DType::f32, 2, extents, nullptr};
  tcu::Request r;
  r.out = {out.data() + c.offset * size, c.out, 2, kept, strides};
  r.n_inputs = 1, r.inputs = &in, r.reads_out = c.beta != 0;
  const tcu::Problem p = tcu::make_reduce(r, op, 1, &dim);
  tcu::Execution e;
  e.at.out = r.out.data, e.at.in[0] = in.data, e.alpha = number(p.acc, c.alpha), e.beta = number(p.acc, c.beta);
  for (const char *row : {static_cast<const char *>(nullptr), "reduce.general"}) {
    std::memset(out.data(), 0xA5, out.size());
    for (int64_t k = 0; k < c.count; ++k) save(c.out, out.data() + (c.offset + k * c.stride) * size, 2);
    planner().execute(*planner().plan(p, row), e, 0);
    int64_t wrong = 0;
    for (int64_t k = 0; k < c.count; ++k) {
      unsigned char *const at = out.data() + (c.offset + k * c.stride) * size;
      const double y = c.alpha * want(&x[size_t(1 + k * c.n)]) + c.beta * 2, got = load(c.out, at);
      wrong += !(got == y || (std::isnan(got) && std::isnan(y)));
      std::memset(at, 0xA5, size_t(size));
    }
    REQUIRE(wrong == 0);
    REQUIRE(std::all_of(out.begin(), out.end(), [](unsigned char b) { return b == 0xA5; }));  // nothing beside the results
  }
}
double sum_of_run(const float *s, int64_t n) {
  double y = 0;
  for (int64_t r = 0; r < n; ++r) y += s[r];
  return y;
}
double max_of_run(const float *s, int64_t n) {
  double y = s[0];
  for (int64_t r = 1; r < n; ++r) y = std::isnan(y) || s[r] <= y ? y : s[r];
  return y;
}

TEST_CASE("short segments of every extent, from anywhere to anywhere") {
  for (int64_t n = 1; n <= 257; n += n == 70 ? 57 : n == 129 ? 126 : 1)
    for (const int64_t count : {1, 15, 37, 4099})
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max})
        check_folded(op, {n, count, n % 5}, [&](const float *s) { return op == ReduceOp::sum ? sum_of_run(s, n) : max_of_run(s, n); });
}

TEST_CASE("short segments with more results than the caches hold") {
  const int64_t many = (8 << 20) / 4 + 77;  // above kStreamBytes, and no multiple of anything
  for (const int64_t n : {2, 3, 5, 8, 12})
    for (const int64_t offset : {0, 3}) check_folded(ReduceOp::sum, {n, many, offset}, [&](const float *s) { return sum_of_run(s, n); });
  const auto pairs = [](const float *s) { return sum_of_run(s, 2); };
  check_folded(ReduceOp::max, {4, many, 1}, [](const float *s) { return max_of_run(s, 4); });
  check_folded(ReduceOp::sum, {2, many, 1, 2}, pairs);                    // results with gaps
  check_folded(ReduceOp::sum, {2, many, 1, 1, DType::f64}, pairs);        // of another dtype
  check_folded(ReduceOp::sum, {2, 2 * many, 1, 1, DType::f16}, pairs);
  check_folded(ReduceOp::sum, {2, many, 1, 1, DType::f32, 2, 0}, pairs);  // alpha
  check_folded(ReduceOp::sum, {2, many, 1, 1, DType::f32, 1, 3}, pairs);  // beta
}

TEST_CASE("complex sums and products keep both parts") {
  const int64_t n = 1003;
  std::vector<tcu::c64_t> x(n, tcu::c64_t{1, 2});
  tcu::c64_t out{};
  const int32_t dim = 0;
  tcu::TensorView in{x.data(), DType::c64, 1, &n, nullptr};
  tcu::Request r;
  r.out = {&out, DType::c64, 0, nullptr, nullptr};
  r.n_inputs = 1, r.inputs = &in;
  tcu::Execution e;
  e.at.out = &out, e.at.in[0] = x.data(), e.alpha.c[0] = 1, e.alpha.c[1] = 0;
  for (const tcu::Kernel &k : planner().backend().kernels()) {
    const tcu::Problem p = tcu::make_reduce(r, ReduceOp::sum, 1, &dim);
    if (k.family != tcu::Family::reduce || !k.accepts(p, planner().backend().device())) continue;
    planner().execute(*planner().plan(p, k.name), e, 0);
    REQUIRE(out.re == 1003);
    REQUIRE(out.im == 2006);
  }
}

}  // namespace
