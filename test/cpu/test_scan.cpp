// Random scans on the CPU backend against the oracle, every row that accepts: exclusive, reverse, init, in place.
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
const OpCase ops[] = {{ReduceOp::sum, oracle::Fold::sum}, {ReduceOp::prod, oracle::Fold::prod},
                      {ReduceOp::max, oracle::Fold::max}, {ReduceOp::min, oracle::Fold::min}};

TEST_CASE("random scans agree with the oracle on every row") {
  Rng rng(5);
  for (int trial = 0; trial < 300; ++trial) {
    const OpCase &what = ops[trial % 4];
    Sizes extents = shape(rng, 4, 4000);
    const int dim = int(pick(rng, 0, std::max<int64_t>(int64_t(extents.size()) - 1, 0)));
    if (extents.size() > 0 && extents[size_t(dim)] > 300) extents[size_t(dim)] = pick(rng, 1, 300);  // the oracle is quadratic
    const bool fused = chance(rng, 30), in_place = !fused && chance(rng, 25), complex = what.op == ReduceOp::sum && !fused;
    const DType out_type = one_of(rng, std::vector<DType>{DType::i64, DType::f64, DType::f32, DType::i32});
    std::vector<Tensor> inputs;
    std::vector<tcu::TensorView> views;
    std::vector<oracle::Tensor> doubles;
    Tensor out(out_type, extents, layout(rng, extents, false));
    out.fill([&](const Sizes &) { return double(pick(rng, 0, 3)); });
    for (int i = 0; i < (fused ? 2 : 1); ++i) {
      const Sizes e = i == 0 ? extents : broadcastable(rng, extents);
      inputs.emplace_back(in_place ? out_type : one_of(rng, all_dtypes(complex)), e, in_place ? out.strides : layout(rng, e, true));
      const bool prod = what.op == ReduceOp::prod;
      inputs.back().fill([&](const Sizes &) { return prod ? (chance(rng, 1) ? 2.0 : 1.0) : double(pick(rng, 0, 3)); });
    }
    for (Tensor &t : inputs) views.push_back(t.view()), doubles.push_back(t.as_doubles());
    if (in_place) {
      std::memcpy(out.bytes.get(), inputs[0].bytes.get(), size_t(out.span * out.size()));
      views[0].data = out.view().data;
    }
    tcu::Request r;
    r.out = out.view(), r.n_inputs = int(views.size()), r.inputs = views.data();
    if (fused) r.expr = std::make_shared<const tcu::Expr>(std::vector<Node>{Node::input(0), Node::input(1), Node::op(Op::max)});
    const tcu::ScanFlags flags{chance(rng, 50), chance(rng, 50)};
    const tcu::Problem p = tcu::make_scan(r, what.op, dim, flags);
    if (p.acc == DType::bool_) continue;
    const bool given = chance(rng, 50);
    tcu::Execution e;
    e.at.out = r.out.data;
    for (size_t i = 0; i < views.size(); ++i) e.at.in[i] = views[i].data;
    e.alpha = number(p.acc, 1);
    e.init = given ? number(p.acc, 2) : tcu::identity_of(what.op, p.acc);
    unsigned char cell[16];
    tcu::store_compute(cell, p.acc, e.init);
    const double init = load(p.acc, cell);
    const auto expected = oracle::scan(what.fold, extents, doubles, {dim, flags.exclusive, flags.reverse}, init,
                                       [](const std::vector<double> &x) { return *std::max_element(x.begin(), x.end()); });
    bool fits = true;
    for (double v : expected) fits &= std::fabs(v) < 16777216.0 || std::isinf(v);
    if (!fits && !p.empty()) continue;
    CAPTURE(trial, tcu::info(what.op).name, p.pattern(), tcu::info(p.in[0]).name, tcu::info(p.acc).name, tcu::info(p.out).name,
            flags.exclusive, flags.reverse, in_place, fused);
    // The identity of max as an integer is its lowest value, which another integer dtype may not hold.
    bool identity_shows = flags.exclusive && !given && (what.op == ReduceOp::max || what.op == ReduceOp::min) && p.out != p.acc;
    if (identity_shows) continue;
    on_every_row(p, out, e, [&](const char *row) {
      CAPTURE(row);
      compare(out, expected);
    });
  }
}

// One by one, ones are lost from 2^24 on.
TEST_CASE("float32 sums along a line count on where single steps would be lost, on every row") {
  for (const auto &[extents, dim] : {std::pair{Sizes{3000}, 0}, {Sizes{2, 3000}, 1}, {Sizes{700, 3000}, 1}, {Sizes{3, 800, 5}, 1}})
    for (const bool exclusive : {false, true}) {
      Tensor in(DType::f32, extents, dense(extents)), out(DType::f32, extents, dense(extents));
      in.fill([](const Sizes &) { return 1.0; });
      out.fill([](const Sizes &) { return 0.0; });
      const tcu::TensorView view = in.view();
      tcu::Request r;
      r.out = out.view(), r.n_inputs = 1, r.inputs = &view;
      const tcu::Problem p = tcu::make_scan(r, ReduceOp::sum, dim, {exclusive, false});
      tcu::Execution e;
      e.at.out = r.out.data, e.at.in[0] = view.data;
      e.alpha = number(p.acc, 1), e.init = number(p.acc, 16777216);
      on_every_row(p, out, e, [&, dim = dim](const char *row) {
        double worst = 0;
        for_each_index(out.extents, [&](const Sizes &i) {
          worst = std::max(worst, std::fabs(load(DType::f32, out.at(i)) - 16777216 - double(i[size_t(dim)] + !exclusive)));
        });
        CAPTURE(row, p.pattern(), exclusive);
        CHECK(worst <= 32);  // not 3000
      });
    }
}

TEST_CASE("segments by flags, and recurrences, agree with the oracle on every row") {
  Rng rng(15);
  for (int trial = 0; trial < 200; ++trial) {
    const bool recurrence = trial % 3 == 0;
    const OpCase what = recurrence ? OpCase{ReduceOp::recurrence, {}} : ops[trial % 4];
    const Sizes extents = shape(rng, 4, 4000);
    const int dim = int(pick(rng, 0, std::max<int64_t>(int64_t(extents.size()) - 1, 0)));
    const DType out_type = one_of(rng, std::vector<DType>{DType::i64, DType::f64, DType::f32});
    const Sizes gates = chance(rng, 30) ? broadcastable(rng, extents) : extents;
    Tensor out(out_type, extents, layout(rng, extents, false));
    Tensor gate(one_of(rng, all_dtypes(recurrence)), gates, layout(rng, gates, true));
    Tensor in(one_of(rng, all_dtypes(what.op == ReduceOp::sum || recurrence)), extents, layout(rng, extents, true));
    gate.fill([&](const Sizes &) { return recurrence ? double(chance(rng, 70)) : double(chance(rng, 10)); });
    const bool prod = what.op == ReduceOp::prod;
    in.fill([&](const Sizes &) { return prod ? (chance(rng, 1) ? 2.0 : 1.0) : double(pick(rng, 0, 3)); });
    out.fill([&](const Sizes &) { return 1.0; });
    const tcu::TensorView views[] = {gate.view(), in.view()};
    tcu::Request r;
    r.out = out.view(), r.n_inputs = 2, r.inputs = views;
    const tcu::ScanFlags flags{chance(rng, 40), chance(rng, 40), !recurrence};
    const tcu::Problem p = tcu::make_scan(r, what.op, dim, flags);
    if (p.acc == DType::bool_) continue;
    tcu::Execution e;
    e.at.out = r.out.data, e.at.in[0] = views[0].data, e.at.in[1] = views[1].data;
    e.alpha = number(p.acc, 1), e.init = number(p.acc, 2);
    const std::vector<oracle::Tensor> doubles{gate.as_doubles(), in.as_doubles()};
    const oracle::Scan how{dim, flags.exclusive, flags.reverse};
    const auto expected = recurrence ? oracle::scan_lines(extents, doubles, how, 2, oracle::recurrence())
                                     : oracle::scan_lines(extents, doubles, how, 2, oracle::segmented(what.fold, 2));
    bool fits = true;
    for (double v : expected) fits &= std::fabs(v) < 16777216.0;
    if (!fits) continue;
    CAPTURE(trial, tcu::info(what.op).name, p.pattern(), tcu::info(p.in[0]).name, tcu::info(p.in[1]).name, tcu::info(p.acc).name,
            tcu::info(p.out).name, flags.exclusive, flags.reverse);
    on_every_row(p, out, e, [&](const char *row) {
      CAPTURE(row);
      compare(out, expected);
    });
  }
}

TEST_CASE("long lines, by any number of threads, also in place") {
  const int threads = omp_get_max_threads();
  for (const Sizes &extents : {Sizes{700001}, Sizes{3, 200003}, Sizes{300001, 2}, Sizes{5, 60000, 2}}) {
    const int dim = extents.size() == 1 || extents[0] > 10 ? 0 : 1;
    Tensor x(DType::i32, extents, dense(extents));
    Rng rng(6);
    x.fill([&](const Sizes &) { return double(pick(rng, -3, 3)); });
    // One pass along the lines: the oracle's meaning, not its quadratic way.
    std::vector<double> expected(size_t(product(extents)));
    int64_t inner = 1;
    for (int m = 0; m < dim; ++m) inner *= extents[size_t(m)];
    const auto values = x.values();
    for (size_t i = 0; i < values.size(); ++i) {
      const bool first = int64_t(i) / inner % extents[size_t(dim)] == 0;
      expected[i] = values[i] + (first ? 0 : expected[i - size_t(inner)]);
    }
    for (int n : {1, 2, 3, 4}) {
      omp_set_num_threads(n);
      Tensor out(DType::i64, extents, dense(extents));
      tcu::TensorView view = x.view();
      tcu::Request r;
      r.out = out.view(), r.n_inputs = 1, r.inputs = &view;
      const tcu::Problem p = tcu::make_scan(r, ReduceOp::sum, dim, {});
      tcu::Execution e;
      e.at.out = r.out.data, e.at.in[0] = view.data, e.alpha = number(DType::i64, 1), e.init = number(DType::i64, 0);
      on_every_row(p, out, e, [&](const char *row) {
        CAPTURE(row, n, p.pattern());
        compare(out, expected);
      });
      Tensor same(DType::i64, extents, dense(extents));
      same.fill([&](const Sizes &i) { return load(DType::i32, x.at(i)); });
      tcu::TensorView self = same.view();
      r.out = same.view(), r.inputs = &self;
      const tcu::Problem q = tcu::make_scan(r, ReduceOp::sum, dim, {});
      REQUIRE(q.in_place);
      e.at.out = self.data, e.at.in[0] = self.data;
      on_every_row(q, same, e, [&](const char *row) {
        CAPTURE(row, n, q.pattern());
        compare(same, expected);
      });
    }
  }
  omp_set_num_threads(threads);
}

// Float32 sums of small integers, exact in any order; then of random numbers, the same bits on every run.
TEST_CASE("a long running sum of float32: many chunks, past the caches, any alignment") {
  const int threads = omp_get_max_threads();
  const int64_t n = (1 << 21) + 4099;
  for (const int64_t shift : {0, 3})
    for (const int team : {1, 2, 3})
      for (const bool reverse : {false, true}) {
        omp_set_num_threads(team);
        Tensor x(DType::f32, {n + shift}, {1}), out(DType::f32, {n + shift}, {1});
        tcu::TensorView view = x.view(), to = out.view();
        const Sizes extents{n};
        view.data = static_cast<float *>(view.data) + shift, to.data = static_cast<float *>(to.data) + shift;
        view.extents = to.extents = extents.data();
        auto *in = static_cast<float *>(view.data), *got = static_cast<float *>(to.data);
        for (int64_t i = 0; i < n; ++i) in[i] = float(i * 7 % 5 - 2);
        tcu::Request r;
        r.out = to, r.n_inputs = 1, r.inputs = &view;
        const tcu::Problem p = tcu::make_scan(r, ReduceOp::sum, 0, {false, reverse});
        tcu::Execution e;
        e.at.out = to.data, e.at.in[0] = view.data, e.alpha = number(p.acc, 1), e.init = number(p.acc, 3);
        const auto run = [&] { planner().execute(*planner().plan(p, nullptr), e, 0); };
        run();
        int64_t wrong = 0;
        float sum = 3;
        for (int64_t k = 0; k < n; ++k) {
          const int64_t i = reverse ? n - 1 - k : k;
          sum += in[i];
          wrong += got[i] != sum;
        }
        CAPTURE(shift, team, reverse, p.pattern());
        REQUIRE(wrong == 0);

        Rng rng(7);
        for (int64_t i = 0; i < n; ++i) in[i] = float(pick(rng, -1000, 1000)) * 0.001f;
        run();
        const std::vector<float> once(got, got + n);
        for (int again = 0; again < 3; ++again) {
          run();
          REQUIRE(std::memcmp(once.data(), got, size_t(n) * 4) == 0);
        }
      }
  omp_set_num_threads(threads);
}

}  // namespace
