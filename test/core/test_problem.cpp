// Problem: what its fields say of a request, and how a bad request fails.
#include <functional>
#include <string>
#include <vector>

#include "core/problems.h"
#include "core/rewrites.h"

using namespace tcu;
using namespace support;

namespace {

constexpr DType f32 = DType::f32, f16 = DType::f16, i64 = DType::i64;

Code map_code(Call call) {
  return code_of([&] { call.map(); });
}
Code reduce_code(Call call, ReduceOp op, std::vector<int32_t> dims) {
  return code_of([&] { call.reduce(op, dims); });
}
Code scan_code(Call call, ReduceOp op, int dim) {
  return code_of([&] { call.scan(op, dim); });
}
Call options(Call call, const std::function<void(Request &)> &set) { return set(call.request), call; }
// A map of 6 float32 elements with these results beside out.
Call results(std::vector<DType> more) {
  Call call = Call().tensor(f32, {6}).tensor(f32, {6}).expr(std::vector<Node>(1 + more.size(), Node::input(0)));
  call.results = std::move(more);
  return call;
}
Call copy(Sizes out, Sizes in) { return Call().tensor(f32, std::move(out)).tensor(f32, std::move(in)); }

}  // namespace

TEST_CASE("problem: bytes count each distinct element once") {
  CHECK(copy({6, 5}, {6, 5}).map().bytes() == 240);
  CHECK(copy({6, 5}, {6}).map().bytes() == 120 + 24);
  CHECK(copy({6, 5}, {}).map().bytes() == 120 + 4);
  CHECK(Call().tensor(f16, {6, 5}).tensor(f32, {6, 5}).map().bytes() == 60 + 120);
  CHECK(options(copy({6, 5}, {6, 5}), [](Request &r) { r.reads_out = true; }).map().bytes() == 360);
  CHECK(copy({1, 5}, {6, 5}).reduce(ReduceOp::sum, {0}).bytes() == 120 + 20);
  CHECK(copy({}, {6, 5}).reduce(ReduceOp::sum, {0, 1}).bytes() == 120 + 4);
  CHECK(Call().tensor(i64, {1, 5}).tensor(f32, {6, 5}).reduce(ReduceOp::argmax, {0}).bytes() == 120 + 40);
  CHECK(copy({6, 5}, {6, 5}).scan(ReduceOp::sum, 0).bytes() == 240);
  CHECK(copy({0, 5}, {0, 5}).map().bytes() == 0);
  CHECK(results({f16, DType::f64, i64}).map().bytes() == 6 * (4 + 4 + 2 + 8 + 8));
  CHECK(copy({1, 5}, {6, 5}).result(f16).reduce(ReduceOp::extrema, {0}).bytes() == 120 + 20 + 10);
  // A stride of 0 reads one element again and again, a window view counts as its elements, and nothing overflows.
  CHECK(Call().tensor(f32, {6, 5}).tensor(f32, {6, 5}, {0, 1}).map().bytes() == 120 + 20);
  const int64_t n = int64_t(1) << 31;
  CHECK(Call().tensor(f32, {1, 1}).tensor(DType::f64, {n, n}, {1, 1}).reduce(ReduceOp::sum, {0, 1}).bytes() == INT64_MAX);
}

TEST_CASE("problem: 32-bit indices only where every offset and count is proven small") {
  const auto bits = [](Call call) { return int(call.map().index_bits); };
  CHECK(bits(copy({1000, 1000}, {1000, 1000})) == 32);
  CHECK(bits(copy({1 << 30}, {1 << 30})) == 32);
  CHECK(bits(copy({(1 << 30) + 1}, {(1 << 30) + 1})) == 64);
  CHECK(bits(Call().tensor(f32, {3}).tensor(f32, {3}, {int64_t(1) << 31})) == 64);
  CHECK(bits(Call().tensor(f32, {3}).tensor(f32, {3}, {-(int64_t(1) << 30)})) == 64);
  CHECK(bits(Call().tensor(f32, {3}).tensor(f32, {3}, {int64_t(1) << 20})) == 32);
  // Strides whose reaches are small alone and large together.
  CHECK(bits(Call().tensor(f32, {3, 3}).tensor(f32, {3, 3}, {int64_t(1) << 29, (int64_t(1) << 29) + 7})) == 64);
  // A broadcast of little to much: few bytes, many indices.
  CHECK(copy({1}, {1}).map().index_bits == 32);
  Call wide = Call().tensor(f32, {1}).tensor(f32, {int64_t(1) << 31}, {0});
  CHECK(wide.reduce(ReduceOp::sum, {0}).index_bits == 64);
  CHECK(copy({0, 1 << 20}, {0, 1 << 20}).map().index_bits == 32);
}

TEST_CASE("problem: alignment is the pointers', or the plan's promise, and never below the element's") {
  const auto classes = [](Call call) {
    const Problem p = call.map();
    return std::vector<int>{p.alignment[0], p.alignment[1]};
  };
  const auto at = [](uintptr_t out, uintptr_t in) {
    return Call().tensor(f32, {4}).at(out).tensor(f32, {4}).at(in);
  };
  CHECK(classes(at(1024, 4096)) == std::vector<int>{4, 4});
  CHECK(classes(at(1024 + 4, 4096 + 8)) == std::vector<int>{2, 3});
  const auto plan = [](int alignment) {
    return [=](Request &r) { r.need_data = false, r.alignment = alignment; };
  };
  CHECK(classes(options(at(0, 0), plan(0))) == std::vector<int>{4, 4});
  CHECK(classes(options(at(0, 0), plan(8))) == std::vector<int>{3, 3});
  CHECK(classes(options(at(0, 0), plan(1))) == std::vector<int>{2, 2});
  CHECK(classes(options(at(1024 + 4, 4096), plan(16))) == std::vector<int>{4, 4});
  CHECK(classes(options(at(1024 + 1, 4096), plan(0))) == std::vector<int>{2, 4});
  // In a call that runs at once the pointers are known, and a promise cannot make them better.
  CHECK(classes(options(at(1024 + 4, 4096), [](Request &r) { r.alignment = 16; })) == std::vector<int>{2, 4});
  for (int bad : {-1, 3, 12, INT32_MIN}) CHECK(map_code(options(at(1024, 4096), plan(bad))) == Code::option);
}

TEST_CASE("problem: equal requests are equal and hash alike, others differ") {
  const auto base = [] { return copy({1, 5}, {6, 5}); };
  const Problem p = base().reduce(ReduceOp::sum, {0});
  CHECK(p == base().reduce(ReduceOp::sum, {0}));
  CHECK(p.hash() == base().reduce(ReduceOp::sum, {0}).hash());
  // The same canonical problem from another rank, and with the modes that have no extent at another place.
  const Problem same = copy({1, 1, 5}, {2, 3, 5}).reduce(ReduceOp::sum, {1, 0});
  CHECK(p == same);
  CHECK(p.hash() == same.hash());

  const Problem others[] = {
      base().reduce(ReduceOp::prod, {0}),
      copy({1, 5}, {7, 5}).reduce(ReduceOp::sum, {0}),
      copy({6, 1}, {6, 5}).reduce(ReduceOp::sum, {1}),
      Call().tensor(f32, {1, 5}).tensor(f32, {6, 5}, {1, 7}).reduce(ReduceOp::sum, {0}),
      Call().tensor(DType::f64, {1, 5}).tensor(f32, {6, 5}).reduce(ReduceOp::sum, {0}),
      Call().tensor(f32, {1, 5}).tensor(f16, {6, 5}).reduce(ReduceOp::sum, {0}),
      base().at((uintptr_t(9) << 40) + 4).reduce(ReduceOp::sum, {0}),
      base().expr({Node::input(0), Node::op(Op::abs2)}).reduce(ReduceOp::sum, {0}),
      options(base(), [](Request &r) { r.accumulator = DType::f64; }).reduce(ReduceOp::sum, {0}),
      options(base(), [](Request &r) { r.determinism = Determinism::any_order; }).reduce(ReduceOp::sum, {0}),
      options(base(), [](Request &r) { r.reads_out = true; }).reduce(ReduceOp::sum, {0}),
      copy({6, 5}, {6, 5}).map(),
      copy({6, 5}, {6, 5}).scan(ReduceOp::sum, 0),
      copy({6, 5}, {6, 5}).scan(ReduceOp::sum, 0, {true, false}),
      copy({6, 5}, {6, 5}).scan(ReduceOp::sum, 0, {false, true}),
      results({f32}).map(),
      results({f16}).map(),
      results({f32, f32}).map(),
      results({f32, f16}).map(),
      results({f16, f32}).map(),
      results({f32, f32, f32}).map(),
      results({f32, f32, f16}).map(),
      copy({1, 5}, {6, 5}).result(f32).reduce(ReduceOp::extrema, {0}),
      copy({1, 5}, {6, 5}).result(f16).reduce(ReduceOp::extrema, {0}),
  };
  for (size_t i = 0; i < std::size(others); ++i) {
    INFO(i);
    CHECK_FALSE(p == others[i]);
    CHECK(p.hash() != others[i].hash());
    for (size_t j = 0; j < i; ++j) {
      CHECK_FALSE(others[i] == others[j]);
      CHECK(others[i].hash() != others[j].hash());
    }
  }
}

TEST_CASE("problem: empty outputs, empty reductions, and the fill that one becomes") {
  CHECK(copy({0, 5}, {0, 5}).map().empty());
  CHECK_FALSE(copy({}, {}).map().empty());
  CHECK(copy({0, 5}, {1, 5}).map().empty());
  CHECK(copy({5, 0}, {5, 0}).scan(ReduceOp::sum, 1).empty());

  const Problem sum = copy({1, 5}, {0, 5}).reduce(ReduceOp::sum, {0});
  CHECK(is_empty_reduction(sum));
  CHECK_FALSE(sum.empty());
  CHECK(copy({1, 0}, {6, 0}).reduce(ReduceOp::max, {0}).empty());
  CHECK_FALSE(is_empty_reduction(copy({1, 0}, {6, 0}).reduce(ReduceOp::max, {0})));
  for (ReduceOp op : {ReduceOp::max, ReduceOp::min}) CHECK(reduce_code(copy({1, 5}, {0, 5}), op, {0}) == Code::empty);
  for (ReduceOp op : {ReduceOp::argmax, ReduceOp::argmin})
    CHECK(reduce_code(Call().tensor(i64, {1, 5}).tensor(f32, {0, 5}), op, {0}) == Code::empty);
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::any, ReduceOp::all, ReduceOp::count})
    CHECK(reduce_code(copy({1, 5}, {0, 5}), op, {0}) == Code::ok);

  const Problem fill = as_fill(copy({1, 5}, {0, 5}).reduce(ReduceOp::prod, {0}));
  CHECK(fill.family == Family::broadcast);
  CHECK(fill.n_inputs == 0);
  CHECK(fill.pattern() == "K:5");
  REQUIRE(fill.expr->nodes().size() == 1);
  CHECK(fill.expr->nodes()[0].value.f == 1);
  CHECK(fill.element == DType::f32);
  CHECK_FALSE(fill.empty());
  CHECK(as_fill(copy({1, 0}, {0, 0}).reduce(ReduceOp::sum, {0})).empty());

  const Problem position = Call().tensor(i64, {1, 5}).tensor(f32, {1, 5}).reduce(ReduceOp::argmax, {0});
  CHECK(is_first_position(position));
  CHECK_FALSE(is_first_position(Call().tensor(i64, {1, 5}).tensor(f32, {2, 5}).reduce(ReduceOp::argmax, {0})));
  CHECK_FALSE(is_first_position(copy({1, 5}, {1, 5}).reduce(ReduceOp::max, {0})));
  CHECK(as_fill(position).pattern() == "K:5");
  CHECK(as_fill(position).acc == i64);
  CHECK(as_fill(position).expr->nodes()[0].value.i == 0);
}

TEST_CASE("problem: a scan as a map and a scan in place") {
  const Problem turned = Call().tensor(f32, {6, 5}).tensor(f32, {6, 5}, {5, 1}).scan(ReduceOp::sum, 1);
  REQUIRE(holds_elements(turned));
  const Problem map = as_map_to_out(turned), scan = as_scan_of_out(turned);
  CHECK(map.family == Family::broadcast);
  CHECK(map.pattern() == "K:6 K:5");  // in the order of out, and not of the input
  CHECK(scan.family == Family::scan);
  CHECK(scan.pattern() == "K:6 S:5");
  CHECK(scan.in_place);
  CHECK((scan.modes[0].stride[1] == 1 && scan.modes[1].stride[1] == 6));

  const auto holds = [](DType out, DType in, ReduceOp op) { return holds_elements(Call().tensor(out, {5}).tensor(in, {5}).scan(op, 0)); };
  CHECK(holds(f16, f16, ReduceOp::sum));
  CHECK(holds(i64, DType::i8, ReduceOp::sum));
  CHECK(holds(f32, f16, ReduceOp::max));
  CHECK_FALSE(holds(f16, f32, ReduceOp::sum));
  CHECK_FALSE(holds(DType::i8, i64, ReduceOp::sum));
  CHECK_FALSE(holds(i64, f32, ReduceOp::count));
  CHECK_FALSE(holds(f16, DType::bf16, ReduceOp::sum));
}

TEST_CASE("problem: a map as a copy of an input and a map in place") {
  const Problem crossed = Call().tensor(f32, {6, 5, 4}).tensor(f16, {6, 5, 4}, {20, 4, 1}).tensor(f32, {6, 5, 4}, {5, 1, 30})
                              .expr({Node::input(0), Node::input(1), Node::op(Op::add)}).map();
  const Problem copied = as_copy_to_out(crossed, 2), map = as_map_of_out(crossed, 2);
  CHECK((copied.n_inputs == 1 && copied.in[0] == f32 && copied.acc == f32 && copied.expr->is_identity()));
  CHECK((lies_as(copied, 0, 0) && copied.modes[0].stride[0] == 1 && copied.modes[0].stride[1] == 5));
  CHECK(map.in_place);
  CHECK((map.n_inputs == 2 && lies_as(map, 2, 0) && !lies_as(map, 1, 0)));
  CHECK(map.pattern() == "K:6 K:5 K:4");
}

TEST_CASE("problem: the input that leads") {
  CHECK(leading_input(Call().tensor(f32, {1, 5}).tensor(f32, {6, 5}).reduce(ReduceOp::sum, {0})) == 1);
  const auto product = [](const Sizes &a, const Sizes &b) {
    return Call().tensor(f32, {1, 5}).tensor(f32, a).tensor(f32, b).expr({Node::input(0), Node::input(1), Node::op(Op::mul)}).reduce(ReduceOp::sum, {0});
  };
  CHECK(leading_input(product({6, 5}, {6, 5})) == 1);
  CHECK(leading_input(product({6, 5}, {6, 1})) == 1);
  CHECK(leading_input(product({1, 5}, {6, 5})) == 2);
}

TEST_CASE("problem: the types that it names") {
  const Problem p = Call().tensor(f16, {1, 5}).tensor(DType::i8, {6, 5}).reduce(ReduceOp::sum, {0});
  CHECK((p.out == f16 && p.in[0] == DType::i8 && p.element == DType::i8 && p.acc == i64));
  CHECK(Call().tensor(f16, {5}).tensor(f16, {5}).map().acc == f32);
  CHECK(options(copy({1}, {5}), [](Request &r) { r.accumulator = DType::f64; }).reduce(ReduceOp::sum, {0}).acc == DType::f64);
  const auto acc = [](DType d) { return [=](Request &r) { r.accumulator = d; }; };
  CHECK(reduce_code(options(copy({1}, {5}), acc(f16)), ReduceOp::sum, {0}) == Code::dtype);
  CHECK(reduce_code(options(copy({1}, {5}), acc(DType(40))), ReduceOp::sum, {0}) == Code::dtype);
  CHECK(reduce_code(options(copy({1}, {5}), acc(f32)), ReduceOp::count, {0}) == Code::dtype);
  CHECK(reduce_code(options(copy({1}, {5}), acc(DType::c64)), ReduceOp::max, {0}) == Code::dtype);
  CHECK(reduce_code(Call().tensor(f32, {1}).tensor(DType::c64, {5}), ReduceOp::max, {0}) == Code::dtype);
  CHECK(reduce_code(copy({1}, {5}), ReduceOp::argmax, {0}) == Code::dtype);  // a float position
}

TEST_CASE("problem: shapes and dims that do not fit") {
  CHECK(map_code(copy({6, 5}, {6, 4})) == Code::shape);
  CHECK(map_code(copy({6, 1}, {6, 5})) == Code::shape);
  CHECK(map_code(copy({6}, {6, 5})) == Code::shape);
  CHECK(map_code(copy({6}, {6, 1})) == Code::ok);
  CHECK(map_code(copy({6, 1}, {6})) == Code::ok);
  CHECK(map_code(copy({0}, {5})) == Code::shape);
  CHECK(map_code(copy({5}, {0})) == Code::shape);
  CHECK(map_code(copy({6, 5}, {6, 5}).tensor(f32, {6, 3}).expr(sum_of_inputs(2))) == Code::shape);
  CHECK(map_code(Call().tensor(f32, {5})) == Code::expr);  // the identity of nothing

  CHECK(reduce_code(copy({6, 5}, {6, 5}), ReduceOp::sum, {0}) == Code::reduced_mode);
  CHECK(reduce_code(copy({1, 4}, {6, 5}), ReduceOp::sum, {0}) == Code::shape);
  CHECK(reduce_code(copy({1}, {6, 5}), ReduceOp::sum, {0}) == Code::shape);
  CHECK(reduce_code(copy({1, 5, 2}, {6, 5}), ReduceOp::sum, {0}) == Code::shape);
  CHECK(reduce_code(copy({6}, {6, 5}), ReduceOp::sum, {1}) == Code::ok);
  CHECK(reduce_code(copy({6, 5}, {6, 5}), ReduceOp::sum, {7}) == Code::ok);  // a mode beyond the rank has extent 1
  CHECK(reduce_code(copy({1, 5}, {6, 5}), ReduceOp::sum, {0, 0}) == Code::dim);
  CHECK(reduce_code(copy({1, 5}, {6, 5}), ReduceOp::sum, {-1}) == Code::dim);
  CHECK(reduce_code(copy({1, 5}, {6, 5}), ReduceOp::sum, {64}) == Code::dim);
  CHECK(reduce_code(copy({1, 5}, {6, 5}), ReduceOp::sum, std::vector<int32_t>(65, 0)) == Code::dim);
  const int64_t n = int64_t(1) << 40;
  Call huge = Call().tensor(f32, {}).tensor(f32, {n}, {0}).tensor(f32, {1, n}, {0, 0}).expr(sum_of_inputs(2));
  CHECK(reduce_code(huge, ReduceOp::sum, {0, 1}) == Code::overflow);
  Call huge_and_empty = Call().tensor(i64, {}).tensor(f32, {n}, {0}).tensor(f32, {1, n}, {0, 0}).tensor(f32, {1, 1, 0});
  CHECK(reduce_code(huge_and_empty.expr(sum_of_inputs(3)), ReduceOp::argmax, {0, 1, 2}) == Code::overflow);

  CHECK(scan_code(copy({6, 5}, {6, 4}), ReduceOp::sum, 0) == Code::shape);
  CHECK(scan_code(copy({6, 5}, {6, 5}), ReduceOp::sum, -1) == Code::dim);
  CHECK(scan_code(copy({6, 5}, {6, 5}), ReduceOp::sum, 64) == Code::dim);
  CHECK(scan_code(copy({6, 5}, {6, 5}), ReduceOp::sum, 5) == Code::ok);
  for (ReduceOp op : {ReduceOp::argmax, ReduceOp::argmin, ReduceOp::mean, ReduceOp::var, ReduceOp::logsumexp, ReduceOp::extrema})
    CHECK(scan_code(copy({6, 5}, {6, 5}), op, 0) == Code::op);
  CHECK(reduce_code(copy({1, 5}, {6, 5}), ReduceOp::recurrence, {0}) == Code::op);
}

TEST_CASE("problem: the post-step where it has no meaning") {
  const auto beta = [](Request &r) { r.reads_out = true; };
  const auto bools = [] { return Call().tensor(DType::bool_, {5}).tensor(DType::bool_, {5}); };
  CHECK(map_code(options(bools(), beta)) == Code::option);
  CHECK(code_of([&] { options(bools(), beta).scan(ReduceOp::max, 0); }) == Code::option);
  CHECK(code_of([&] { options(bools(), beta).scan(ReduceOp::sum, 0); }) == Code::ok);  // accumulates in int64
  CHECK(reduce_code(options(copy({1}, {5}), beta), ReduceOp::any, {0}) == Code::option);
  CHECK(reduce_code(options(Call().tensor(i64, {1}).tensor(f32, {5}), beta), ReduceOp::argmin, {0}) == Code::option);
}

TEST_CASE("problem: overlap is refused but for the very same elements") {
  const auto pair = [](uintptr_t out, uintptr_t in, Sizes strides, DType d = f32) {
    return Call().tensor(f32, {6}, {1}).at(out).tensor(d, {6}, std::move(strides)).at(in);
  };
  CHECK(pair(1024, 1024, {1}).map().in_place);
  CHECK_FALSE(pair(1024, 2048, {1}).map().in_place);
  CHECK(pair(1024, 1024, {1}, DType::i32).map().in_place);
  CHECK(map_code(pair(1024, 1028, {1})) == Code::overlap);
  CHECK(map_code(pair(1024, 1024, {2})) == Code::overlap);
  CHECK(map_code(pair(1024, 1044, {-1})) == Code::overlap);  // a reversal in place
  CHECK(map_code(pair(1024, 1024, {0})) == Code::overlap);
  CHECK(map_code(pair(1024, 1024, {1}, f16)) == Code::overlap);
  CHECK(map_code(pair(1024, 1048, {1})) == Code::ok);  // next to each other
  CHECK(code_of([&] { pair(1024, 1024, {1}).scan(ReduceOp::sum, 0); }) == Code::ok);
  CHECK(code_of([&] { pair(1024, 1024, {1}).reduce(ReduceOp::sum, {}); }) == Code::overlap);
  CHECK(map_code(Call().tensor(f32, {6, 5}, {0, 1}).tensor(f32, {6, 5})) == Code::alias);
}

TEST_CASE("problem: as many values as there are results") {
  CHECK(map_code(results({f32, f16, i64})) == Code::ok);
  CHECK(map_code(results({f32, f16}).result(i64)) == Code::expr);  // three for four
  Call more = results({f32, f16, i64});
  more.results.pop_back();
  CHECK(map_code(more) == Code::expr);  // four for three
  CHECK(reduce_code(results({f32, f32}), ReduceOp::extrema, {0}) == Code::expr);
  CHECK(reduce_code(copy({1}, {6}).result(f32).result(f32), ReduceOp::extrema, {0}) == Code::option);
  CHECK(scan_code(copy({6}, {6}).result(f32), ReduceOp::sum, 0) == Code::option);
  // Without an expression, an input for each.
  const auto inputs = [](int n, int n_results) {
    Call call;
    for (int i = 0; i <= n; ++i) call.tensor(f32, {6});
    for (int i = 1; i < n_results; ++i) call.result(f32);
    return call;
  };
  CHECK(inputs(4, 4).map().expr->n_results() == 4);
  CHECK(map_code(inputs(3, 4)) == Code::expr);
  // The pointers of the third and fourth result are among the inputs'.
  CHECK(map_code(inputs(16, 2)) == Code::ok);
  CHECK(map_code(inputs(15, 3)) == Code::ok);
  CHECK(map_code(inputs(16, 3)) == Code::expr);
  CHECK(map_code(inputs(14, 4)) == Code::ok);
  CHECK(map_code(inputs(15, 4)) == Code::expr);
}

TEST_CASE("problem: results are apart, in their pointers too") {
  const Problem p = results({f32, DType::f64, f16}).map();
  const auto run = [&](uintptr_t out, uintptr_t in, std::vector<uintptr_t> more) {
    Pointers at;
    at.out = fake_address(out), at.in[0] = fake_address(in);
    for (size_t i = 0; i < more.size(); ++i) at.more[i] = fake_address(more[i]);
    return code_of([&] { check_pointers(p, at); });
  };
  CHECK(run(1024, 2048, {4096, 5120, 6144}) == Code::ok);
  CHECK(run(1024, 2048, {4096, 4096 + 24, 4096 + 72}) == Code::ok);  // side by side
  for (size_t i : {0, 1, 2}) {
    INFO(i);
    const auto with = [&](uintptr_t place) {
      std::vector<uintptr_t> more{4096, 5120, 6144};
      more[i] = place;
      return run(1024, 2048, more);
    };
    CHECK(with(0) == Code::null);
    CHECK(with(7169) == Code::alignment);
    CHECK(with(1024 + 16) == Code::overlap);
    CHECK(with(2048 + 16) == Code::overlap);
    if (i != 0) CHECK(with(4096 + 16) == Code::overlap);
    if (i != 1) CHECK(with(5120 + 40) == Code::overlap);
    if (i != 2) CHECK(with(6144 + 8) == Code::overlap);
  }
}

TEST_CASE("problem: a plan's pointers are checked again") {
  Call call = Call().tensor(f32, {6}).at(1024).tensor(f32, {6}).at(1024).tensor(f16, {6}).at(4096);
  const Problem in_place = call.expr(sum_of_inputs(2)).map();
  const auto run = [](const Problem &p, uintptr_t out, uintptr_t a, uintptr_t b) {
    Pointers at;
    at.out = fake_address(out), at.in[0] = fake_address(a), at.in[1] = fake_address(b);
    return code_of([&] { check_pointers(p, at); });
  };
  CHECK(run(in_place, 1024, 1024, 4096) == Code::ok);
  CHECK(run(in_place, 1024, 2048, 4096) == Code::ok);
  CHECK(run(in_place, 1024, 1040, 4096) == Code::overlap);
  CHECK(run(in_place, 1024, 2048, 1024) == Code::overlap);  // the same strides in elements of another width
  CHECK(run(in_place, 0, 2048, 4096) == Code::null);
  CHECK(run(in_place, 1024, 0, 4096) == Code::null);
  CHECK(run(in_place, 1028, 2048, 4096) == Code::alignment);
  CHECK(run(in_place, 1024, 2048, 4097) == Code::alignment);
  call.tensors[1].data = fake_address(8192);
  const Problem apart = call.map();
  CHECK(run(apart, 1024, 1024, 4096) == Code::overlap);
  CHECK(run(apart, 1024, 2048, 2048) == Code::ok);  // inputs may share memory
}
