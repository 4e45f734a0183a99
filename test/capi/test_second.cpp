// options.second through the C API: what the second results are, where they may lie, and what is refused.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "capi/api.h"
#include "oracle.h"

using namespace api;

namespace {

const int32_t kFirst = 0;
const double kInf = std::numeric_limits<double>::infinity();

// Both results of the columns of x.
template <class R, class S, class T>
std::pair<std::vector<R>, std::vector<S>> both(tcu_reduce_op_t op, const Array<T> &x, int64_t columns, tcu_options_t o = options()) {
  Array<R> out({1, columns}, std::vector<R>(size_t(columns)));
  Array<S> second({1, columns}, std::vector<S>(size_t(columns)));
  o.second = &second.tensor;
  OK(tcu_reduce(context(), out, op, nullptr, 1, x, 1, &kFirst, &o));
  return {out.get(), second.get()};
}

// Both results of the lines of x along a dim, from the row that cuts them into parts. lines: what they are made of.
template <class R>
void check_parts(tcu_reduce_op_t op, oracle::Fold first, oracle::Fold second, const Array<float> &x, const Sizes &kept, int32_t dim,
                 const std::vector<std::vector<double>> &lines) {
  INFO(tcu_reduce_op_name(op) << " along " << dim);
  Array<R> out(kept, std::vector<R>(lines.size(), 99));
  Array<double> out2(kept, std::vector<double>(lines.size(), 99));
  tcu_options_t o = options();
  o.second = &out2.tensor;
  if (std::string(tcu_context_backend(context())) == "cpu") o.kernel = "reduce.split";
  OK(tcu_reduce(context(), out, op, nullptr, 1, x, 1, &dim, &o));
  const auto found = out.get();
  const auto found2 = out2.get();
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto check = [&](oracle::Fold fold, double y) {
      const auto least = std::min_element(lines[i].begin(), lines[i].end()), most = std::max_element(lines[i].begin(), lines[i].end());
      switch (fold) {
        case oracle::Fold::min: CHECK(y == *least); break;
        case oracle::Fold::max: CHECK(y == *most); break;
        case oracle::Fold::argmin: CHECK(y == double(least - lines[i].begin())); break;
        case oracle::Fold::argmax: CHECK(y == double(most - lines[i].begin())); break;
        default:
          CHECK(std::abs(y - oracle::statistic(fold, lines[i], 1)) <= oracle::statistic_error(fold, lines[i], 1, 0x1p-23));
      }
    };
    check(first, double(found[i])), check(second, found2[i]);
  }
}

}  // namespace

TEST_CASE("second: of columns, each op that has one") {
  const Array<float> x({3, 2}, {1, 2, 6, 5, 5, 5});
  const auto extrema = both<float, double>(TCU_REDUCE_EXTREMA, x, 2);
  CHECK(extrema.first == std::vector<float>{1, 5});
  CHECK(extrema.second == std::vector<double>{6, 5});
  const auto argmax = both<int64_t, float>(TCU_REDUCE_ARGMAX, x, 2);
  CHECK(argmax.first == std::vector<int64_t>{2, 0});
  CHECK(argmax.second == std::vector<float>{6, 5});
  CHECK(both<int32_t, float>(TCU_REDUCE_ARGMIN, x, 2).second == std::vector<float>{1, 5});
  const auto var = both<double, float>(TCU_REDUCE_VAR, x, 2);
  CHECK(var.first == std::vector<double>{7, 0});
  CHECK(var.second == std::vector<float>{3, 5});
  CHECK(both<float, float>(TCU_REDUCE_STD, x, 2).second == std::vector<float>{3, 5});
  const auto sum = both<double, float>(TCU_REDUCE_SUMEXP, x, 2);
  CHECK(std::abs(sum.first[0] - (std::exp(-5.0) + std::exp(-4.0) + 1)) < 1e-6);
  CHECK(sum.first[1] == 3);
  CHECK(sum.second == std::vector<float>{6, 5});
  CHECK(both<double, float>(TCU_REDUCE_LOGSUMEXP, x, 2).second == std::vector<float>{6, 5});
  const auto bytes = both<int8_t, int32_t>(TCU_REDUCE_EXTREMA, Array<int8_t>({2, 1}, {-128, 127}), 1);
  CHECK((bytes.first[0] == -128 && bytes.second[0] == 127));
}

TEST_CASE("second: of lines that are cut into parts") {
  using oracle::Fold;
  struct {
    Sizes extents;
    int32_t dim;
  } const shapes[] = {{{140003}, 0}, {{70001, 2}, 0}, {{3, 50001}, 1}, {{40, 5, 700}, 2}};
  support::Rng rng(71);
  for (const auto &shape : shapes) {
    const Sizes strides = support::dense(shape.extents);
    Sizes kept = shape.extents;
    kept[size_t(shape.dim)] = 1;
    // Few values, so that the least and the most are there many times, in many parts.
    std::vector<float> values(size_t(support::product(shape.extents)));
    for (float &v : values) v = float(support::pick(rng, -60, 60)) / 8 + 3;
    std::vector<std::vector<double>> lines;
    support::for_each_index(kept, [&](const Sizes &i) {
      lines.emplace_back();
      for (int64_t k = 0; k < shape.extents[size_t(shape.dim)]; ++k)
        lines.back().push_back(values[size_t(support::offset(i, strides) + k * strides[size_t(shape.dim)])]);
    });
    const Array<float> x(shape.extents, values);
    check_parts<float>(TCU_REDUCE_EXTREMA, Fold::min, Fold::max, x, kept, shape.dim, lines);
    check_parts<int64_t>(TCU_REDUCE_ARGMAX, Fold::argmax, Fold::max, x, kept, shape.dim, lines);
    check_parts<int32_t>(TCU_REDUCE_ARGMIN, Fold::argmin, Fold::min, x, kept, shape.dim, lines);
    check_parts<double>(TCU_REDUCE_VAR, Fold::var, Fold::mean, x, kept, shape.dim, lines);
    check_parts<double>(TCU_REDUCE_STD, Fold::std, Fold::mean, x, kept, shape.dim, lines);
    check_parts<double>(TCU_REDUCE_SUMEXP, Fold::sumexp, Fold::max, x, kept, shape.dim, lines);
    check_parts<double>(TCU_REDUCE_LOGSUMEXP, Fold::logsumexp, Fold::max, x, kept, shape.dim, lines);
  }
}

TEST_CASE("second: NaN and infinities") {
  const double nan = std::nan("");
  const auto extrema = both<double, double>(TCU_REDUCE_EXTREMA, Array<double>({3, 2}, {1, nan, 2, kInf, -kInf, 0}), 2);
  CHECK((std::isnan(extrema.first[0]) && std::isnan(extrema.second[0])));
  CHECK((extrema.first[1] == -kInf && extrema.second[1] == kInf));
  const auto argmax = both<int64_t, double>(TCU_REDUCE_ARGMAX, Array<double>({2, 2}, {1, nan, -kInf, -kInf}), 2);
  CHECK((argmax.first[0] == 1 && std::isnan(argmax.second[0])));
  CHECK((argmax.first[1] == 0 && argmax.second[1] == -kInf));
  const auto sum = both<double, double>(TCU_REDUCE_SUMEXP, Array<double>({2, 3}, {kInf, 1, -kInf, -kInf, nan, 1}), 3);
  for (double s : sum.first) CHECK(std::isnan(s));
  std::vector<double> late(10000, 0.0);
  late[9000] = nan;
  for (tcu_reduce_op_t op : {TCU_REDUCE_LOGSUMEXP, TCU_REDUCE_SUMEXP})
    CHECK(std::isnan(both<double, double>(op, Array<double>({10000}, late), 1).second[0]));
}

TEST_CASE("second: two results in one array, scaled, and in a plan") {
  const Array<float> x({4}, {3, -1, 2, 0});
  Array<float> pair({2}, {9, 9});
  const int64_t one = 1, two = 2;
  const tcu_tensor_t first{pair.data(), &one, &two, TCU_FLOAT32, 1}, second{pair.data() + 1, &one, &two, TCU_FLOAT32, 1};
  const tcu_scalar_t alpha = real(10);
  tcu_options_t o = options();
  o.second = &second, o.alpha = &alpha;
  OK(tcu_reduce(context(), &first, TCU_REDUCE_EXTREMA, nullptr, 1, x, 1, &kFirst, &o));
  CHECK(pair.get() == std::vector<float>{-10, 3});
  o.alpha = nullptr;
  Plan plan;
  OK(tcu_plan_reduce(&plan, context(), &first, TCU_REDUCE_EXTREMA, nullptr, 1, x, 1, &kFirst, &o));
  Array<float> low({1}, {9}), high({1}, {9});
  const void *inputs[] = {x.data()};
  o.second = &high.tensor;
  OK(tcu_plan_execute(plan, low.data(), 1, inputs, &o));
  CHECK((low.get()[0] == -1 && high.get()[0] == 3));
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, low.data(), 1, inputs, nullptr));
  o.second = &low.tensor;
  FAILS(TCU_ERROR_OVERLAP, tcu_plan_execute(plan, low.data(), 1, inputs, &o));
}

TEST_CASE("second: of a map, a value and its derivative in one read") {
  const Array<float> x({2, 3}, {-2, -1, 0, 0.5f, 1, 30}), w({1, 3}, {1, 2, 0.5f});
  const std::vector<tcu_node_t> y{input(0), input(1), op(TCU_OP_MUL), op(TCU_OP_TANH)};
  std::vector<tcu_node_t> nodes = y;
  nodes.push_back(constant(TCU_FLOAT32, real(1)));
  nodes.insert(nodes.end(), y.begin(), y.end());
  nodes.insert(nodes.end(), {op(TCU_OP_ABS2), op(TCU_OP_SUB)});
  const Expr both(nodes), pair({input(0), input(1)});
  const tcu_tensor_t in[] = {x.tensor, w.tensor};
  Array<float> out({2, 3}, repeated(6, 9.0f));
  Array<double> slope({2, 3}, repeated(6, 9.0));
  const tcu_scalar_t alpha = real(2), beta = real(-1);
  tcu_options_t o = options();
  o.second = &slope.tensor;
  for (bool scaled : {false, true}) {  // alpha and beta are of out alone
    if (scaled) o.alpha = &alpha, o.beta = &beta;
    const std::vector<float> before = out.get();
    OK(tcu_map(context(), out, both, 2, in, &o));
    for (size_t i = 0; i < 6; ++i) {
      const double t = std::tanh(double(x.get()[i]) * double(w.get()[i / 2]));
      CHECK(out.get()[i] == Approx(scaled ? 2 * t - double(before[i]) : t).margin(1e-6));
      CHECK(slope.get()[i] == Approx(1 - t * t).margin(1e-6));
    }
  }
  // In place of an input that is a result too; and of an expression that is not given: both inputs.
  Array<float> same({3}, {1, 2, 3});
  Array<int32_t> copy({3}, {9, 9, 9});
  o = options(), o.second = &copy.tensor;
  const Expr negated({input(0), op(TCU_OP_NEG), input(0)});
  OK(tcu_map(context(), same, negated, 1, same, &o));
  CHECK((same.get() == std::vector<float>{-1, -2, -3} && copy.get() == std::vector<int32_t>{1, 2, 3}));
  const Array<float> a({3}, {1, 2, 3}), b({1}, {7});
  const tcu_tensor_t ab[] = {a.tensor, b.tensor};
  OK(tcu_map(context(), same, nullptr, 2, ab, &o));
  CHECK((same.get() == a.get() && copy.get() == std::vector<int32_t>{7, 7, 7}));
  // As a plan, and of no elements.
  Plan plan;
  OK(tcu_plan_map(&plan, context(), same, pair, 2, ab, &o));
  const void *inputs[] = {a.data(), b.data()};
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, same.data(), 2, inputs, nullptr));
  copy.set({0, 0, 0});
  OK(tcu_plan_execute(plan, same.data(), 2, inputs, &o));
  CHECK(copy.get() == std::vector<int32_t>{7, 7, 7});
  Array<float> none({0}, std::vector<float>{}), none2({0}, std::vector<float>{});
  o.second = &none2.tensor;
  const tcu_tensor_t nothing[] = {none.tensor, b.tensor};
  OK(tcu_map(context(), none, pair, 2, nothing, &o));
}

namespace {

// x, -x, 2x and x > 2 of one read, as float32, float64, int32 and Bool.
struct Four {
  const std::vector<float> values{1, 2, 3, 4, 5};
  Array<float> x{{5}, values}, out{{5}, repeated(5, 9.0f)};
  Array<double> negated{{5}, repeated(5, 9.0)};
  Array<int32_t> doubled{{5}, repeated(5, 9)};
  Array<bool> greater{{5}, repeated(5, true)};
  const Expr expr{{input(0), input(0), op(TCU_OP_NEG), input(0), input(0), op(TCU_OP_ADD), input(0), constant(TCU_FLOAT32, real(2)),
                   op(TCU_OP_GT)}};
  tcu_tensor_t more[3] = {negated.tensor, doubled.tensor, greater.tensor};
  tcu_options_t o = options();
  Four() { o.second = more, o.n_second = 3; }

  tcu_status_t map() { return tcu_map(context(), out, expr, 1, x, &o); }
  bool untouched() const {
    return out.get() == repeated(5, 9.0f) && negated.get() == repeated(5, 9.0) && doubled.get() == repeated(5, 9) &&
           greater.get() == repeated(5, true) && x.get() == values;
  }
  bool holds_others() const {
    return negated.get() == std::vector<double>{-1, -2, -3, -4, -5} && doubled.get() == std::vector<int32_t>{2, 4, 6, 8, 10} &&
           greater.get() == std::vector<bool>{false, false, true, true, true};
  }
};

}  // namespace

TEST_CASE_METHOD(Four, "second: four results of a map, alpha and beta are of the first alone") {
  OK(map());
  CHECK((out.get() == values && holds_others()));
  const tcu_scalar_t alpha = real(10), beta = real(-1);
  o.alpha = &alpha, o.beta = &beta;
  greater.set(repeated(5, true)), doubled.set(repeated(5, 9));
  OK(map());
  CHECK((out.get() == std::vector<float>{9, 18, 27, 36, 45} && holds_others()));
  // In place of the input, which the others are made of too.
  o.alpha = o.beta = nullptr;
  negated.set(repeated(5, 9.0)), greater.set(repeated(5, true)), doubled.set(repeated(5, 9));
  const Expr last({input(0), constant(TCU_FLOAT32, real(1)), op(TCU_OP_ADD), input(0), op(TCU_OP_NEG), input(0), input(0), op(TCU_OP_ADD),
                   input(0), constant(TCU_FLOAT32, real(2)), op(TCU_OP_GT)});
  OK(tcu_map(context(), x, last, 1, x, &o));
  CHECK((x.get() == std::vector<float>{2, 3, 4, 5, 6} && holds_others()));
}

TEST_CASE_METHOD(Four, "second: three results, of a plan, of inputs alone, and interleaved in one array") {
  o.n_second = 2;
  const Expr three({input(0), input(0), op(TCU_OP_NEG), input(0), input(0), op(TCU_OP_ADD)});
  Plan plan;
  OK(tcu_plan_map(&plan, context(), out, three, 1, x, &o));
  tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
  OK(tcu_plan_info(plan, &info));
  CHECK(info.bytes == 5 * (4 + 4 + 8 + 4));
  const void *inputs[] = {x.data()};
  OK(tcu_plan_execute(plan, out.data(), 1, inputs, &o));
  CHECK((out.get() == values && negated.get()[4] == -5 && doubled.get()[4] == 10 && greater.get() == repeated(5, true)));
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, out.data(), 1, inputs, nullptr));
  o.n_second = 1;
  FAILS(TCU_ERROR_SHAPE, tcu_plan_execute(plan, out.data(), 1, inputs, &o));
  o.n_second = 2;
  std::swap(more[1].data, more[0].data);  // another place is good, one that is not aligned or another's is not
  more[1].data = static_cast<char *>(more[1].data) + 1;
  FAILS(TCU_ERROR_ALIGNMENT, tcu_plan_execute(plan, out.data(), 1, inputs, &o));
  more[1].data = more[0].data;
  FAILS(TCU_ERROR_OVERLAP, tcu_plan_execute(plan, out.data(), 1, inputs, &o));
  CHECK(std::string(tcu_last_error()).find("options.second[1] overlaps options.second") != std::string::npos);
  more[1].data = nullptr;
  FAILS(TCU_ERROR_NULL, tcu_plan_execute(plan, out.data(), 1, inputs, &o));

  Array<float> all({15}, repeated(15, 9.0f));
  const int64_t five = 5, three_apart = 3;
  const tcu_tensor_t first{all.data(), &five, &three_apart, TCU_FLOAT32, 1};
  for (int i : {0, 1}) more[i] = first, more[i].data = all.data() + 1 + i;
  const Array<float> y({1}, {7}), z({5}, {0, 1, 0, 1, 0});
  const tcu_tensor_t in[] = {x.tensor, y.tensor, z.tensor};
  OK(tcu_map(context(), &first, nullptr, 3, in, &o));
  CHECK(all.get() == std::vector<float>{1, 7, 0, 2, 7, 1, 3, 7, 0, 4, 7, 1, 5, 7, 0});
}

TEST_CASE_METHOD(Four, "second: what is refused of several, by name") {
  const int64_t four = 4, five = 5, two = 2;
  const auto fails = [&](tcu_status_t want, const std::string &name) {
    const tcu_status_t status = map();
    INFO(tcu_last_error());
    CHECK(std::string(tcu_status_name(status)) == tcu_status_name(want));
    CHECK(std::string(tcu_last_error()).find(name) != std::string::npos);
  };
  const char *names[] = {"options.second ", "options.second[1] ", "options.second[2] "};
  for (int i : {0, 1, 2}) {
    INFO(i);
    const tcu_tensor_t good = more[i];
    const auto refused = [&](tcu_status_t want, const tcu_tensor_t &bad) {
      more[i] = bad;
      fails(want, names[i]);
      more[i] = good;
    };
    refused(TCU_ERROR_SHAPE, {good.data, &four, nullptr, good.dtype, 1});
    refused(TCU_ERROR_SHAPE, {good.data, &five, &two, good.dtype, 1});
    refused(TCU_ERROR_DTYPE, {good.data, &five, nullptr, 77, 1});
    refused(TCU_ERROR_OVERLAP, {out.data(), &five, nullptr, good.dtype, 1});
    refused(TCU_ERROR_OVERLAP, {x.data(), &five, nullptr, good.dtype, 1});
    const std::string name(names[i], std::strlen(names[i]) - 1);  // which ends the message, or is told beside another
    more[i] = {more[(i + 1) % 3].data, &five, nullptr, TCU_BOOL, 1};
    fails(TCU_ERROR_OVERLAP, name);
    more[i] = good, more[i].data = nullptr;
    fails(TCU_ERROR_NULL, name);
    more[i] = good;
  }
  o.n_second = 2;
  fails(TCU_ERROR_EXPR, "leaves 4 values and must leave 3");
  o.n_second = 0;  // one
  fails(TCU_ERROR_EXPR, "leaves 4 values and must leave 2");
  o.n_second = 3, o.struct_size = offsetof(tcu_options_t, n_second);  // a header that knows of one alone
  fails(TCU_ERROR_EXPR, "leaves 4 values and must leave 2");
  o = options(), o.n_second = 1;
  fails(TCU_ERROR_NULL, "options.second");
  o.second = more, o.n_second = 2;
  Array<float> one({1}, {9}), another({1}, {9});
  const tcu_tensor_t both[] = {another.tensor, another.tensor};
  o.second = both;
  FAILS(TCU_ERROR_OPTION, tcu_reduce(context(), one, TCU_REDUCE_EXTREMA, nullptr, 1, x, 1, &kFirst, &o));
  FAILS(TCU_ERROR_OPTION, tcu_scan(context(), out, TCU_REDUCE_SUM, nullptr, 1, x, 0, &o));
  CHECK((one.get()[0] == 9 && another.get()[0] == 9));
  CHECK(untouched());
  // Of a header that knows of one, with as many.
  o = options(), o.second = more, o.struct_size = offsetof(tcu_options_t, n_second);
  o.n_second = -7;
  const Expr pair({input(0), input(0), op(TCU_OP_NEG)});
  OK(tcu_map(context(), out, pair, 1, x, &o));
  CHECK((out.get() == values && negated.get() == std::vector<double>{-1, -2, -3, -4, -5}));
}

TEST_CASE("second: as many inputs as four results leave room for") {
  constexpr int kMost = TCU_MAX_INPUTS + 2 - TCU_MAX_RESULTS;
  std::vector<std::unique_ptr<Array<float>>> inputs;
  std::vector<tcu_tensor_t> in;
  for (int i = 0; i <= kMost; ++i) {
    inputs.push_back(std::make_unique<Array<float>>(Sizes{3}, std::vector<float>{float(i), float(2 * i), 1}));
    in.push_back(inputs.back()->tensor);
  }
  std::vector<tcu_node_t> nodes{input(0)};
  for (int i = 1; i < kMost; ++i) nodes.insert(nodes.end(), {input(i), op(TCU_OP_ADD)});
  for (int i : {kMost - 1, 0, 1}) nodes.push_back(input(i));
  const Expr expr(nodes);
  Array<float> out({3}, {9, 9, 9}), a({3}, {9, 9, 9}), b({3}, {9, 9, 9}), c({3}, {9, 9, 9});
  const tcu_tensor_t more[] = {a.tensor, b.tensor, c.tensor};
  tcu_options_t o = options();
  o.second = more, o.n_second = 3;
  FAILS(TCU_ERROR_EXPR, tcu_map(context(), out, expr, kMost + 1, in.data(), &o));
  OK(tcu_map(context(), out, expr, kMost, in.data(), &o));
  const float sum = float(kMost * (kMost - 1) / 2);
  CHECK(out.get() == std::vector<float>{sum, 2 * sum, kMost});
  CHECK((a.get() == std::vector<float>{kMost - 1, 2 * (kMost - 1), 1} && b.get() == std::vector<float>{0, 0, 1}));
  CHECK(c.get() == std::vector<float>{1, 2, 1});
}

TEST_CASE("second: of segments") {
  const Array<float> x({4}, {3, -1, 2, 8});
  const Array<int32_t> offsets({4}, {0, 3, 3, 4});
  Array<double> out({3}, {0, 0, 0}), second({3}, {0, 0, 0});
  tcu_options_t o = options();
  o.second = &second.tensor;
  OK(tcu_segmented_reduce(context(), out, TCU_REDUCE_EXTREMA, nullptr, 1, x, 0, offsets, &o));
  CHECK(out.get() == std::vector<double>{-1, kInf, 8});
  CHECK(second.get() == std::vector<double>{3, -kInf, 8});
  OK(tcu_segmented_reduce(context(), out, TCU_REDUCE_VAR, nullptr, 1, x, 0, offsets, &o));
  CHECK((std::abs(second.get()[0] - 4.0 / 3) < 1e-6 && std::isnan(second.get()[1]) && second.get()[2] == 8));
}

TEST_CASE("second: what is refused, before anything is written") {
  const Array<float> x({2, 2}, {1, 2, 3, 4}), none({0, 2}, std::vector<float>{});
  Array<float> out({1, 2}, {9, 9}), second({1, 2}, {9, 9}), longer({1, 3}, {9, 9, 9});
  Array<float> apart({1, 4}, {9, 9, 9, 9});
  const int64_t extents[] = {1, 2}, strides[] = {1, 2};
  const tcu_tensor_t gaps{apart.data(), extents, strides, TCU_FLOAT32, 2};
  const auto call = [&](tcu_reduce_op_t op, const Array<float> &in, const tcu_tensor_t *to) {
    tcu_options_t o = options();
    o.second = to;
    return tcu_reduce(context(), out, op, nullptr, 1, in, 1, &kFirst, &o);
  };
  FAILS(TCU_ERROR_NULL, call(TCU_REDUCE_EXTREMA, x, nullptr));
  FAILS(TCU_ERROR_OPTION, call(TCU_REDUCE_SUM, x, &second.tensor));
  FAILS(TCU_ERROR_SHAPE, call(TCU_REDUCE_EXTREMA, x, &longer.tensor));
  FAILS(TCU_ERROR_SHAPE, call(TCU_REDUCE_EXTREMA, x, &gaps));
  FAILS(TCU_ERROR_OVERLAP, call(TCU_REDUCE_EXTREMA, x, &out.tensor));
  const tcu_tensor_t inside{x.tensor.data, extents, nullptr, TCU_FLOAT32, 2};
  FAILS(TCU_ERROR_OVERLAP, call(TCU_REDUCE_EXTREMA, x, &inside));
  for (tcu_reduce_op_t op : {TCU_REDUCE_EXTREMA, TCU_REDUCE_VAR, TCU_REDUCE_SUMEXP}) FAILS(TCU_ERROR_EMPTY, call(op, none, &second.tensor));
  tcu_options_t o = options();
  o.second = &second.tensor, o.struct_size = offsetof(tcu_options_t, second);  // of an older header
  FAILS(TCU_ERROR_NULL, tcu_reduce(context(), out, TCU_REDUCE_EXTREMA, nullptr, 1, x, 1, &kFirst, &o));
  const Array<float> row({1, 2}, {1, 2});
  o = options(), o.second = &second.tensor;
  const Expr pair({input(0), input(0)});
  FAILS(TCU_ERROR_EXPR, tcu_map(context(), out, nullptr, 1, row, &o));  // one value for two results
  FAILS(TCU_ERROR_EXPR, tcu_map(context(), out, pair, 1, row, nullptr));
  const struct {
    tcu_tensor_t place;
    tcu_status_t status;
  } refused[] = {{out.tensor, TCU_ERROR_OVERLAP},
                 {row.tensor, TCU_ERROR_OVERLAP},
                 {longer.tensor, TCU_ERROR_SHAPE},
                 {gaps, TCU_ERROR_SHAPE},
                 {{nullptr, extents, nullptr, TCU_FLOAT32, 2}, TCU_ERROR_NULL},
                 {{second.data(), extents, nullptr, 77, 2}, TCU_ERROR_DTYPE}};
  for (const auto &r : refused) {
    o.second = &r.place;
    const tcu_status_t status = tcu_map(context(), out, pair, 1, row, &o);
    CHECK(std::string(tcu_status_name(status)) == tcu_status_name(r.status));
  }
  o.second = &second.tensor;
  FAILS(TCU_ERROR_OPTION, tcu_scan(context(), out, TCU_REDUCE_SUM, nullptr, 1, row, 1, &o));
  CHECK((out.get() == std::vector<float>{9, 9} && second.get() == std::vector<float>{9, 9}));
  FAILS(TCU_ERROR_OP, tcu_scan(context(), x, TCU_REDUCE_EXTREMA, nullptr, 1, x, 0, nullptr));
}
